/*
** Named trackers over several connections and threads: what a shared name promises, what happens to
** it when its owner goes, and that an extension loaded many times keeps its parts apart.
*/
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "effort.h"
#include "tranche.h"

static sqlite3 *open_db(void) {
  sqlite3 *db;
  assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
  assert_int_equal(sqlite3_tranche_init(db, NULL, NULL), SQLITE_OK);
  return db;
}

/* The first column of the first row as text ("NULL" for NULL), or the error's text. */
static char *ask(sqlite3 *db, const char *sql) {
  sqlite3_stmt *stmt;
  char *answer;
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
  switch (sqlite3_step(stmt)) {
  case SQLITE_ROW: {
    const char *text = (const char *)sqlite3_column_text(stmt, 0);
    answer = sqlite3_mprintf("%s", text == NULL ? "NULL" : text);
    break;
  }
  case SQLITE_DONE: answer = sqlite3_mprintf("no row"); break;
  default: answer = sqlite3_mprintf("%s", sqlite3_errmsg(db));
  }
  sqlite3_finalize(stmt);
  assert_non_null(answer);
  return answer;
}

static void assert_answer(sqlite3 *db, const char *sql, const char *expected) {
  char *answer = ask(db, sql);
  assert_string_equal(answer, expected);
  sqlite3_free(answer);
}

static void a_shared_name_goes_with_its_owner(void **state) {
  (void)state;
  sqlite3 *owner = open_db(), *other = open_db();
  assert_answer(owner, "SELECT tracker_open('shared:t', offset_range(0, 10))",
                "{\"from\":0,\"to\":10}");
  assert_answer(other, "SELECT tracker_try_claim('shared:t', 3)", "1");
  assert_answer(owner, "SELECT last_claimed FROM range_trackers", "3");
  assert_answer(other, "SELECT tracker_close('shared:t')",
                "tracker_close: tracker 'shared:t' was opened by another connection");
  assert_int_equal(sqlite3_close(owner), SQLITE_OK);
  assert_answer(other, "SELECT tracker_size('shared:t')",
                "tracker_size: no tracker 'shared:t' is open");
  assert_answer(other, "SELECT count(*) FROM range_trackers", "0");
  assert_answer(other, "SELECT tracker_open('shared:t', offset_range(5, 6))",
                "{\"from\":5,\"to\":6}");
  assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

static void a_private_name_is_its_connections_own(void **state) {
  (void)state;
  sqlite3 *a = open_db(), *b = open_db();
  assert_answer(a, "SELECT tracker_open('t', offset_range(0, 10))", "{\"from\":0,\"to\":10}");
  assert_answer(b, "SELECT tracker_open('t', offset_range(0, 20))", "{\"from\":0,\"to\":20}");
  assert_answer(a, "SELECT tracker_current_restriction('t')", "{\"from\":0,\"to\":10}");
  assert_answer(b, "SELECT count(*) FROM range_trackers", "1");
  sqlite3_close(a);
  sqlite3_close(b);
}

/* Loading again must not give the connection a second set of trackers. */
static void loading_twice_changes_nothing(void **state) {
  (void)state;
  sqlite3 *db = open_db();
  assert_answer(db, "SELECT tracker_open('t', offset_range(0, 10))", "{\"from\":0,\"to\":10}");
  assert_int_equal(sqlite3_tranche_init(db, NULL, NULL), SQLITE_OK);
  assert_answer(db, "SELECT name FROM range_trackers", "t");
  assert_answer(db, "SELECT tracker_size('t')", "10.0");
  sqlite3_close(db);
}

/* A function that the program defined before us keeps doing what it did. */
static void forty_two(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc, (void)argv;
  sqlite3_result_int(context, 42);
}

static int refuse_to_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                             sqlite3_vtab **table, char **message) {
  (void)db, (void)aux, (void)argc, (void)argv, (void)table;
  *message = sqlite3_mprintf("theirs");
  return SQLITE_ERROR;
}

/* SQLite compares names without case. */
static void names_that_are_there_are_left_alone(void **state) {
  (void)state;
  static const sqlite3_module theirs = {.xConnect = refuse_to_connect};
  sqlite3 *db;
  assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
  sqlite3_create_function(db, "range_contains", 2, SQLITE_UTF8, NULL, forty_two, NULL, NULL);
  sqlite3_create_function(db, "Offset_Range", -1, SQLITE_UTF8, NULL, forty_two, NULL, NULL);
  sqlite3_create_module(db, "Range_Split", &theirs, NULL);
  assert_int_equal(sqlite3_tranche_init(db, NULL, NULL), SQLITE_OK);
  assert_answer(db, "SELECT range_contains('x', 'y') + offset_range(1, 2)", "84");
  assert_int_equal(sqlite3_exec(db, "SELECT * FROM range_split", NULL, NULL, NULL), SQLITE_ERROR);
  assert_string_equal(sqlite3_errmsg(db), "theirs");
  assert_answer(db, "SELECT json_extract(tranche_debug(), '$.left_alone')",
                "[\"offset_range\",\"range_contains\",\"range_split\"]");
  assert_answer(db, "SELECT range_fraction('{\"from\":0,\"to\":4}', 1)", "0.25");
  sqlite3_close(db);
}

#define SHARED_KEYS 20000

/* What the threads below share: the tracker's owner claims, the others split. */
typedef struct shared_work {
  int taken[SHARED_KEYS]; /* how often each key was claimed or is in a residual */
  pthread_mutex_t mutex;
} shared_work;

static void *split_from_another_connection(void *argument) {
  shared_work *work = argument;
  sqlite3 *db = open_db();
  for (;;) {
    char *residual = ask(db, "SELECT tracker_try_split('shared:busy', 0.9)");
    int is_over = strstr(residual, "no tracker") != NULL;
    long from, to;
    if (sscanf(residual, "{\"from\":%ld,\"to\":%ld}", &from, &to) == 2) {
      pthread_mutex_lock(&work->mutex);
      for (long key = from; key < to; key++) work->taken[key]++;
      pthread_mutex_unlock(&work->mutex);
    }
    sqlite3_free(residual);
    if (is_over) break;
    sqlite3_free(ask(db, "SELECT group_concat(restriction || last_claimed) FROM range_trackers"));
  }
  sqlite3_close(db);
  return NULL;
}

static void splitting_a_running_scan_from_other_threads_loses_nothing(void **state) {
  (void)state;
  static shared_work work = {.mutex = PTHREAD_MUTEX_INITIALIZER};
  pthread_t splitters[3];
  int keys = (int)test_effort(SHARED_KEYS);
  sqlite3 *db = open_db();
  sqlite3_stmt *claim;
  char *opened = ask(db, "SELECT tracker_open('shared:busy', offset_range(0, 20000))");
  sqlite3_free(opened);
  /* One key is ours before anybody splits: a tracker that never claimed has no checkpoint. */
  assert_answer(db, "SELECT tracker_try_claim('shared:busy', 0)", "1");
  work.taken[0] = 1;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(pthread_create(&splitters[i], NULL, split_from_another_connection, &work), 0);
  }
  sqlite3_prepare_v2(db, "SELECT tracker_try_claim('shared:busy', ?1)", -1, &claim, NULL);
  for (int key = 1; key < keys; key++) {
    sqlite3_bind_int(claim, 1, key);
    assert_int_equal(sqlite3_step(claim), SQLITE_ROW);
    int is_claimed = sqlite3_column_int(claim, 0);
    sqlite3_reset(claim);
    if (!is_claimed) break;
    pthread_mutex_lock(&work.mutex);
    work.taken[key]++;
    pthread_mutex_unlock(&work.mutex);
  }
  sqlite3_finalize(claim);
  /* Whatever is left goes to the checkpoint's residual, and with the owner the tracker. */
  char *residual = ask(db, "SELECT tracker_checkpoint('shared:busy')");
  long from = 0, to = 0;
  assert_int_equal(sscanf(residual, "{\"from\":%ld,\"to\":%ld}", &from, &to), 2);
  sqlite3_free(residual);
  sqlite3_close(db);
  for (int i = 0; i < 3; i++) pthread_join(splitters[i], NULL);
  for (long key = from; key < to; key++) work.taken[key]++;
  for (int key = 0; key < SHARED_KEYS; key++) {
    if (work.taken[key] != 1) fail_msg("key %d was taken %d times", key, work.taken[key]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_shared_name_goes_with_its_owner),
      cmocka_unit_test(a_private_name_is_its_connections_own),
      cmocka_unit_test(loading_twice_changes_nothing),
      cmocka_unit_test(names_that_are_there_are_left_alone),
      cmocka_unit_test(splitting_a_running_scan_from_other_threads_loses_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

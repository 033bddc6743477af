/*
** Sixteen threads open, load, query and close at once, two hundred times each (pthread).
**
** Loading registers on one connection, but the shared trackers and SQLite's own list of loaded
** libraries belong to the process; here they are used by all threads together.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "effort.h"

enum { THREADS = 16, ROUNDS = 200 };

typedef struct worker {
  int number;
  char error[256]; /* empty: all went well */
} worker;

/* Runs a statement. Returns its first value if it has a row, or -1, with a text, if it fails. */
static int64_t run(sqlite3 *db, const char *sql, char error[256]) {
  sqlite3_stmt *stmt = NULL;
  int64_t value = 0;
  int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
  while (rc == SQLITE_OK || rc == SQLITE_ROW) {
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) value = sqlite3_column_int64(stmt, 0);
  }
  if (rc != SQLITE_DONE) {
    snprintf(error, 256, "%s: %s", sql, sqlite3_errmsg(db));
    value = -1;
  }
  sqlite3_finalize(stmt);
  return value;
}

static void one_round(worker *w, int round) {
  const char *path = getenv("TRANCHE");
  sqlite3 *db = NULL;
  char *message = NULL;
  char sql[160];
  if (sqlite3_open(":memory:", &db) != SQLITE_OK) snprintf(w->error, sizeof w->error, "open");
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
  if (sqlite3_load_extension(db, path ? path : "./tranche", NULL, &message) != SQLITE_OK) {
    snprintf(w->error, sizeof w->error, "load: %s", message);
  } else {
    /* Every thread's own shared name, and a look at everybody's. */
    snprintf(sql, sizeof sql, "SELECT tracker_open('shared:%d', offset_range(0, %d))", w->number,
             round + 2);
    run(db, sql, w->error);
    snprintf(sql, sizeof sql, "SELECT tracker_try_claim('shared:%d', 1)", w->number);
    if (run(db, sql, w->error) != 1) snprintf(w->error, sizeof w->error, "%s: no claim", sql);
    run(db, "SELECT count(*) FROM range_trackers", w->error);
    if (run(db, "SELECT range_interpolate(offset_range(0, 10100), 0.5)", w->error) != 5050) {
      snprintf(w->error, sizeof w->error, "wrong sum");
    }
  }
  sqlite3_free(message);
  if (sqlite3_close(db) != SQLITE_OK) snprintf(w->error, sizeof w->error, "close");
}

static void *work(void *argument) {
  worker *w = argument;
  int rounds = (int)test_effort(ROUNDS);
  for (int round = 0; round < rounds && w->error[0] == '\0'; round++) one_round(w, round);
  return NULL;
}

static void threads_load_and_close_at_once(void **state) {
  (void)state;
  static worker workers[THREADS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){.number = i};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < THREADS; i++) assert_string_equal(workers[i].error, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_load_and_close_at_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

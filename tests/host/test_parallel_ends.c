/*
** How a run of group_by_fields on several threads ends, well or badly. No thread outlives it,
** whoever closes what and when. A worker that is stopped or fails stops the others within their
** current pieces. A child process that is forked in the middle can exit, and one that is forked
** between two rows can do everything.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "database.h"
#include "effort.h"

enum { WORKERS = 3, MOST_ROWS = 1000000 };

/* How many entries a folder of /proc/self has. */
static int count_entries(const char *folder) {
  int count = 0;
  DIR *entries = opendir(folder);
  assert_non_null(entries);
  while (readdir(entries) != NULL) count++;
  closedir(entries);
  return count;
}

static int count_threads(void) {
  return count_entries("/proc/self/task");
}

static char path[512];
static long rows;

/*
** A table of `rows` rows, and the table o that groups them on three threads. Each row takes a
** while.
*/
static sqlite3 *open_filled(long row_count) {
  char sql[400];
  sqlite3 *db = database_open(database_path("parallel_ends", path), 10000);
  rows = row_count;
  snprintf(sql, sizeof sql,
           "PRAGMA synchronous = off; CREATE TABLE t(id INTEGER PRIMARY KEY, g INT, x TEXT);"
           "INSERT INTO t SELECT value, value %% 7, printf('%%0200d', value) "
           "FROM counting_input(%ld, 1)",
           rows + 1);
  database_must(db, sql);
  database_must(db, "CREATE VIRTUAL TABLE temp.o USING group_by_fields(t, by_field_names(g),"
                    " count(*) AS c, sum(length(hex(zeroblob(3000 + id % 2)))) AS s, workers(3))");
  return db;
}

static void assert_was_parallel(sqlite3 *db) {
  assert_string_equal(database_text(db, "SELECT coalesce(reason, workers) FROM tranche_last_run()"),
                      "3");
}

/* --- in the middle of a run -------------------------------------------------------------- */

/*
** Does what must be observed in the middle of a run, over more and more rows, since a short run may
** be over before anybody looked. Each `see_` function returns whether it was observed.
*/
static void see(int (*see_run)(long row_count), long row_count) {
  while (!see_run(row_count)) {
    row_count *= 4;
    assert_true(row_count < MOST_ROWS);
  }
}

/* What the progress handler of the caller, who waits for the workers, sees and does. */
typedef struct observer {
  sqlite3 *other;   /* a connection to ask how far the run is */
  int64_t rows;     /* when it was last asked */
  int most_threads; /* seen at once */
  int forks, stops; /* what to do as soon as there are rows */
  pid_t child;
} observer;

static int observe(void *pointer) {
  observer *o = pointer;
  int threads = count_threads();
  if (threads > o->most_threads) o->most_threads = threads;
  int64_t done = database_integer(o->other, "SELECT rows FROM tranche_progress");
  if (done <= 0) return 0;
  o->rows = done;
  if (o->forks && o->child == 0) {
    o->child = fork();
    if (o->child == 0) syscall(SYS_exit_group, 0); /* as _exit does, but no sanitizer looks back */
  }
  return o->stops;
}

static int see_threads(long row_count) {
  sqlite3 *db = open_filled(row_count);
  observer o = {.other = database_open(path, 10000)};
  sqlite3_stmt *stmt;
  int before = count_threads();
  database_must(db,
                "SELECT count(*) FROM o WHERE g = 1000"); /* connections are there from now on */
  assert_int_equal(count_threads(), before);
  assert_int_equal(sqlite3_prepare_v2(db, "SELECT c FROM o ORDER BY g", -1, &stmt, NULL),
                   SQLITE_OK);
  sqlite3_progress_handler(db, 1, observe, &o);
  assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
  assert_int_equal(count_threads(), before); /* between two rows there are none */
  while (sqlite3_step(stmt) == SQLITE_ROW) continue;
  assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
  sqlite3_progress_handler(db, 0, NULL, NULL);
  assert_was_parallel(db);
  assert_int_equal(count_threads(), before);
  assert_int_equal(sqlite3_close(o.other), SQLITE_OK);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  assert_int_equal(count_threads(), before);
  database_remove(path);
  return o.most_threads >= before + WORKERS;
}

static void threads_live_only_while_a_query_runs(void **state) {
  (void)state;
  see(see_threads, test_effort(60000) + 3000);
}

/*
** Pieces that are being read when the run is stopped may be counted, if they end at that moment. No
** others may.
*/
static int see_stop(long row_count) {
  enum { MOST_OF_A_PIECE = 2 * 8192 }; /* twice what worker_pool.c hands out */
  sqlite3 *db = open_filled(row_count);
  observer o = {.other = database_open(path, 10000), .stops = 1};
  int before = count_threads();
  sqlite3_progress_handler(db, 1, observe, &o);
  int rc = database_run(db, "SELECT count(c) FROM o");
  assert_int_equal(rc, o.rows > 0 ? SQLITE_INTERRUPT : SQLITE_OK);
  if (rc != SQLITE_OK) assert_string_equal(sqlite3_errmsg(db), "interrupted");
  sqlite3_progress_handler(db, 0, NULL, NULL);
  int64_t done = database_integer(db, "SELECT rows FROM tranche_last_run()");
  if (rc != SQLITE_OK) assert_true(done - o.rows <= WORKERS * MOST_OF_A_PIECE);
  assert_int_equal(count_threads(), before);
  assert_int_equal(database_integer(db, "SELECT sum(c) FROM o"), rows);
  assert_was_parallel(db);
  sqlite3_close(o.other);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  database_remove(path);
  return rc != SQLITE_OK;
}

static void who_is_stopped_stops_all(void **state) {
  (void)state;
  see(see_stop, test_effort(200000) + 3000);
}

static void closing_with_a_statement_left_leaves_nothing(void **state) {
  (void)state;
  sqlite3 *db = open_filled(3000);
  int files = count_entries("/proc/self/fd"), before = count_threads();
  sqlite3_int64 memory = sqlite3_memory_used();
  sqlite3_stmt *stmt;
  sqlite3_close(db);
  for (int steps = 0; steps < 3; steps++) {
    db = open_filled(3000);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT c FROM o", -1, &stmt, NULL), SQLITE_OK);
    for (int i = 0; i < steps; i++) assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_int_equal(sqlite3_close(db), SQLITE_BUSY);
    assert_int_equal(sqlite3_close_v2(db), SQLITE_OK);
    assert_int_equal(count_threads(), before);
    /*
    ** SQLite compiles nothing for a closed connection, so a run that has not begun cannot begin
    ** now.
    */
    assert_int_equal(sqlite3_step(stmt), steps == 0 ? SQLITE_MISUSE : SQLITE_ROW);
    assert_int_equal(count_threads(), before);
    assert_int_equal(sqlite3_finalize(stmt), steps == 0 ? SQLITE_MISUSE : SQLITE_OK);
    assert_true(count_entries("/proc/self/fd") < files);
    assert_true(sqlite3_memory_used() < memory);
    database_remove(path);
  }
}

/* --- late rows --------------------------------------------------------------------------- */

/*
** The same with a group for every two rows: so many that the last rows are added while groups are
** returned.
*/
static sqlite3 *open_many_groups(void) {
  sqlite3 *db = open_filled(200000);
  database_must(
      db, "CREATE VIRTUAL TABLE temp.many USING group_by_fields(t, by_field_names(id / 2 AS h),"
          " count(*) AS c, workers(3))");
  return db;
}

/* How many groups there are is known when the last was given out. */
static void groups_are_counted_at_the_end(void **state) {
  (void)state;
  static const char count[] = "SELECT coalesce(groups, 'not known') FROM tranche_last_run()";
  sqlite3 *db = open_many_groups();
  sqlite3_stmt *all;
  database_must(db, "SELECT c FROM many LIMIT 10");
  assert_was_parallel(db);
  assert_string_equal(database_text(db, count), "not known");
  assert_int_equal(database_integer(db, "SELECT sum(c) FROM many"), rows);
  assert_int_equal(database_integer(db, count), rows / 2 + 1);
  /* Of two runs at a time the later one is the last. */
  assert_int_equal(sqlite3_prepare_v2(db, "SELECT c FROM many", -1, &all, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(all), SQLITE_ROW);
  assert_int_equal(database_integer(db, "SELECT count(*) FROM o"), 7);
  while (sqlite3_step(all) == SQLITE_ROW) continue;
  assert_int_equal(database_integer(db, count), 7);
  assert_int_equal(sqlite3_finalize(all), SQLITE_OK);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  database_remove(path);
}

/* Ending a query after some rows waits for no more than a thread's step, and leaves no thread. */
static void late_rows_leave_no_threads(void **state) {
  (void)state;
  sqlite3 *db = open_many_groups();
  sqlite3_stmt *stmt;
  int before = count_threads();
  for (int steps = 1; steps < 100000; steps *= 10) {
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT c FROM many", -1, &stmt, NULL), SQLITE_OK);
    for (int i = 0; i < steps; i++) assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_true(count_threads() <= before + WORKERS - 1);
    if (steps % 3 == 1) sqlite3_interrupt(db);
    if (steps % 3 == 1) assert_int_equal(sqlite3_step(stmt), SQLITE_INTERRUPT);
    sqlite3_finalize(stmt);
    assert_int_equal(count_threads(), before);
    assert_was_parallel(db);
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  database_remove(path);
}

/* --- forks ------------------------------------------------------------------------------- */

static void assert_child_is_well(pid_t child) {
  int status;
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

/*
** While other threads are inside SQLite, a child process cannot free its locks. As POSIX has it,
** the child may exit or become another program, and nothing else.
*/
static int see_child(long row_count) {
  sqlite3 *db = open_filled(row_count);
  observer o = {.other = database_open(path, 10000), .forks = 1};
  sqlite3_progress_handler(db, 1, observe, &o);
  assert_int_equal(database_integer(db, "SELECT sum(c) FROM o"), rows);
  sqlite3_progress_handler(db, 0, NULL, NULL);
  assert_was_parallel(db);
  if (o.rows > 0) assert_child_is_well(o.child);
  sqlite3_close(o.other);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  database_remove(path);
  return o.rows > 0;
}

static void a_child_of_the_middle_may_exit(void **state) {
  (void)state;
  see(see_child, test_effort(60000) + 3000);
}

static void a_child_between_two_rows_may_do_all(void **state) {
  (void)state;
  sqlite3 *db = open_filled(3000);
  sqlite3_stmt *stmt;
  int before = count_threads(), count = 1;
  assert_int_equal(sqlite3_prepare_v2(db, "SELECT c FROM o", -1, &stmt, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
  pid_t child = fork();
  if (child == 0) {
    int own_threads = count_threads();
    sqlite3 *own = database_open(path, 10000);
    database_must(own, "CREATE VIRTUAL TABLE temp.o USING group_by_fields(t, by_field_names(g),"
                       " count(*) AS c, workers(3))");
    int is_right = database_integer(own, "SELECT sum(c) FROM o") == rows &&
                   database_integer(own, "SELECT reason IS NULL FROM tranche_last_run()") == 1;
    is_right = is_right && sqlite3_close(own) == SQLITE_OK && count_threads() == own_threads;
    _exit(is_right ? 0 : 1);
  }
  assert_child_is_well(child);
  while (sqlite3_step(stmt) == SQLITE_ROW) count++;
  assert_int_equal(count, 7);
  assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
  assert_was_parallel(db);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  assert_int_equal(count_threads(), before);
  database_remove(path);
}

/* --- errors ------------------------------------------------------------------------------ */

/* Overwrites the page in the middle of the file with bytes that are no page. */
static void damage_file(void) {
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  long size = ftell(file);
  assert_int_equal(fseek(file, size / 2 / 4096 * 4096, SEEK_SET), 0);
  for (int i = 0; i < 4096; i++) fputc(0x77, file);
  assert_int_equal(fclose(file), 0);
}

static void a_damaged_page_is_told(void **state) {
  (void)state;
  sqlite3 *db = open_filled(20000);
  int before = count_threads();
  assert_int_equal(database_integer(db, "SELECT sum(c) FROM o"), rows);
  assert_was_parallel(db);
  sqlite3_close(db);
  damage_file();
  db = database_open(path, 10000);
  for (int workers = 1; workers <= 4; workers += 3) {
    char sql[200];
    snprintf(sql, sizeof sql,
             "CREATE VIRTUAL TABLE temp.o%d USING group_by_fields(t, by_field_names(g),"
             " count(*) AS c, max(x) AS m, workers(%d))",
             workers, workers);
    database_must(db, sql);
    snprintf(sql, sizeof sql, "SELECT sum(c) FROM o%d", workers);
    assert_int_equal(database_run(db, sql) & 0xff, SQLITE_CORRUPT);
    assert_string_equal(sqlite3_errmsg(db), "group_by_fields: database disk image is malformed");
    assert_int_equal(count_threads(), before);
  }
  assert_int_equal(database_integer(db, "SELECT workers FROM tranche_last_run()"), 4);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  database_remove(path);
}

static void *do_nothing(void *none) {
  return none;
}

/* A sanitizer's own thread comes with the first one, and stays. */
static int start_sanitizer(void **state) {
  (void)state;
  pthread_t thread;
  int rc = pthread_create(&thread, NULL, do_nothing, NULL);
  return rc != 0 ? rc : pthread_join(thread, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_live_only_while_a_query_runs),
      cmocka_unit_test(who_is_stopped_stops_all),
      cmocka_unit_test(closing_with_a_statement_left_leaves_nothing),
      cmocka_unit_test(groups_are_counted_at_the_end),
      cmocka_unit_test(late_rows_leave_no_threads),
      cmocka_unit_test(a_child_of_the_middle_may_exit),
      cmocka_unit_test(a_child_between_two_rows_may_do_all),
      cmocka_unit_test(a_damaged_page_is_told),
  };
  return cmocka_run_group_tests(tests, start_sanitizer, NULL);
}

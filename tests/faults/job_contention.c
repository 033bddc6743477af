/*
** Eight processes claim bundles in a loop, in WAL and in rollback mode. None sees an error, and no
** bundle is given to two of them. JOB_SECONDS says for how long in each mode (2). Each process ends
** at least one bundle.
**
** Each claim is noted in a table whose primary key is the bundle, in the transaction that calls
** job_done. So a bundle that was given twice would be refused there. A process that finds nothing
** free adds rows at the end of the source, so there is always more to do.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>

#include "effort.h"
#include "database.h"

enum { WORKERS = 8, BUSY_MILLISECONDS = 120000 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int is_ok(sqlite3 *db, int rc) {
  if (rc == SQLITE_OK) return 1;
  fprintf(stderr, "%d: %s\n", rc, sqlite3_errmsg(db));
  return 0;
}

/* 0 if all went well. */
static int work(const char *path, int number, double until) {
  sqlite3 *db = database_open(path, BUSY_MILLISECONDS);
  sqlite3_stmt *claim;
  sqlite3_stmt *note;
  sqlite3_stmt *done;
  int failed = 0, ended = 0;
  char bundle[256];
  database_must(db, "PRAGMA synchronous = OFF");
  sqlite3_prepare_v2(db, "SELECT job_claim('job', 'worker ' || ?1, 10, 1000)", -1, &claim, NULL);
  sqlite3_prepare_v2(db,
                     "INSERT INTO notes SELECT ?1, ?2, count(*) FROM job WHERE restriction = ?1",
                     -1, &note, NULL);
  sqlite3_prepare_v2(db, "SELECT job_done('job', ?1)", -1, &done, NULL);
  while (!failed && (ended == 0 || now() < until)) {
    sqlite3_bind_int(claim, 1, number);
    int rc = sqlite3_step(claim);
    const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(claim, 0) : NULL;
    snprintf(bundle, sizeof bundle, "%s", text == NULL ? "" : text);
    failed |= !is_ok(db, sqlite3_reset(claim));
    if (bundle[0] == '\0') {
      failed |= !is_ok(
          db, database_run(db, "INSERT INTO events(v) SELECT value FROM counting_input(200)"));
      continue;
    }
    sqlite3_bind_int(note, 2, number);
    failed |= !is_ok(db, database_run(db, "BEGIN IMMEDIATE"));
    failed |= !is_ok(db, database_step(note, bundle, NULL));
    failed |= !is_ok(db, database_step(done, bundle, NULL));
    failed |= !is_ok(db, database_run(db, "COMMIT"));
    ended++;
  }
  sqlite3_finalize(claim);
  sqlite3_finalize(note);
  sqlite3_finalize(done);
  sqlite3_close(db);
  return failed;
}

static void eight_processes(void **state) {
  const char *mode = *state;
  const char *given = getenv("JOB_SECONDS");
  double seconds = given == NULL ? (double)test_effort(2000) / 1000 : strtod(given, NULL);
  char path[512];
  char sql[128];
  pid_t workers[WORKERS];
  database_path("job_contention", path);
  sqlite3 *db = database_open(path, BUSY_MILLISECONDS);
  snprintf(sql, sizeof sql, "PRAGMA journal_mode = %s", mode);
  database_must(db, sql);
  database_must(db, "CREATE TABLE events(id INTEGER PRIMARY KEY, v);"
                    "CREATE TABLE notes(bundle TEXT PRIMARY KEY, worker, rows);"
                    "CREATE VIRTUAL TABLE job USING scan_job(events)");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  double until = now() + seconds;
  fflush(NULL);
  for (int i = 0; i < WORKERS; i++) {
    workers[i] = fork();
    if (workers[i] == 0) _exit(work(path, i, until));
  }
  for (int i = 0; i < WORKERS; i++) {
    int status;
    assert_int_equal(waitpid(workers[i], &status, 0), workers[i]);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
  }
  db = database_open(path, BUSY_MILLISECONDS);
  int64_t claims = database_integer(db, "SELECT count(*) FROM notes");
  int64_t rows = database_integer(db, "SELECT sum(rows) FROM notes");
  /*
  ** Every done bundle has its note, and the bundles contain all rows up to the position exactly
  ** once.
  */
  assert_int_equal(database_integer(db, "SELECT done FROM job_progress('job')"), claims);
  assert_int_equal(database_integer(db, "SELECT rows FROM job_progress('job')"), rows);
  assert_int_equal(rows + database_integer(db, "SELECT remaining FROM job_progress('job')"),
                   database_integer(db, "SELECT count(*) FROM events"));
  assert_true(claims > 0);
  print_message("%s: %lld bundles by %lld of %d processes in %.1f s\n", mode, (long long)claims,
                (long long)database_integer(db, "SELECT count(DISTINCT worker) FROM notes"),
                WORKERS, seconds);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  database_remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(eight_processes, (void *)"WAL"),
      cmocka_unit_test_prestate(eight_processes, (void *)"DELETE"),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

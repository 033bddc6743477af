/*
** Workers of a job are killed at random moments, a thousand times; afterwards every row's effect is there
** exactly once.
**
** Four worker processes claim, write a row of output for each row and commit it with job_done. This
** process kills one after another (SIGKILL) and starts another in its place. Leases are so short that
** bundles are also taken from workers that are alive: what those then commit must be refused. When all is
** done the output is counted and a new job begun, until so many were killed. JOB_KILLS says how many (1000).
**
** Not under valgrind: it starts thousands of processes.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>

#include "effort.h"
#include "database.h"

enum { WORKERS = 4, ROWS = 20000, BUSY_MILLISECONDS = 60000 };

static uint64_t next_random(uint64_t *state) {
  *state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t x = *state;
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

static void pause_for(int64_t microseconds) {
  struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
  nanosleep(&time, NULL);
}

/* --- A worker ---------------------------------------------------------------------------------- */

/* 1: claimed, the bundle is in `bundle`; 0: nothing is free; else exits. */
static int claim(sqlite3 *db, sqlite3_stmt *stmt, uint64_t *seed, char *bundle, size_t size) {
  sqlite3_bind_int(stmt, 1, (int)getpid());
  sqlite3_bind_int64(stmt, 2, 1 + (int64_t)(next_random(seed) % 60));
  sqlite3_bind_double(stmt, 3, (double)(next_random(seed) % 30) / 1000);
  if (sqlite3_step(stmt) != SQLITE_ROW) {
    fprintf(stderr, "claim: %s\n", sqlite3_errmsg(db));
    exit(1);
  }
  const char *text = (const char *)sqlite3_column_text(stmt, 0);
  snprintf(bundle, size, "%s", text == NULL ? "" : text);
  sqlite3_reset(stmt);
  return bundle[0] != '\0';
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *stmt = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
    fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
    exit(1);
  }
  return stmt;
}

/* A refusal of job_done is what a fence is for; any other error is not. */
static int is_refusal(sqlite3 *db) {
  const char *message = sqlite3_errmsg(db);
  return strncmp(message, "job_done: bundle ", 17) == 0;
}

static void work(const char *path, uint64_t seed) {
  char bundle[256];
  sqlite3 *db = database_open(path, BUSY_MILLISECONDS);
  database_must(db, "PRAGMA synchronous = OFF"); /* the system does not fall, only processes do */
  sqlite3_stmt *claims = prepare(db, "SELECT job_claim('job', 'worker ' || ?, ?, ?)");
  sqlite3_stmt *rows = prepare(db, "INSERT INTO out SELECT id, ?2 FROM job WHERE restriction = ?1");
  sqlite3_stmt *done = prepare(db, "SELECT job_done('job', ?1)");
  for (;;) {
    if (!claim(db, claims, &seed, bundle, sizeof bundle)) {
      if (database_integer(db, "SELECT pending + claimed FROM job_progress('job')") == 0) break;
      pause_for(1000); /* others hold what is left, until they are done or their leases run out */
      continue;
    }
    if (next_random(&seed) % 8 == 0) pause_for(500);
    database_must(db, "BEGIN IMMEDIATE");
    if (database_step(rows, bundle, "x") != SQLITE_OK) {
      fprintf(stderr, "output: %s\n", sqlite3_errmsg(db));
      exit(1);
    }
    if (database_step(done, bundle, NULL) == SQLITE_OK) {
      database_must(db, "COMMIT");
    } else if (is_refusal(db)) {
      database_must(db, "ROLLBACK");
    } else {
      fprintf(stderr, "done: %s\n", sqlite3_errmsg(db));
      exit(1);
    }
  }
  sqlite3_finalize(claims);
  sqlite3_finalize(rows);
  sqlite3_finalize(done);
  sqlite3_close(db);
}

static pid_t start_worker(const char *path, uint64_t seed) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid != 0) return pid;
  work(path, seed);
  _exit(0);
}

/* --- The test ---------------------------------------------------------------------------------- */

static void create(const char *path, const char *mode) {
  char sql[256];
  sqlite3 *db = database_open(path, BUSY_MILLISECONDS);
  snprintf(sql, sizeof sql, "PRAGMA journal_mode = %s", mode);
  database_must(db, sql);
  snprintf(sql, sizeof sql,
           "CREATE TABLE events(id INTEGER PRIMARY KEY);"
           "INSERT INTO events SELECT value * 3 FROM counting_input(%d);"
           "CREATE TABLE out(id, worker);"
           "CREATE VIRTUAL TABLE job USING scan_job(events, max_attempts(1000));",
           ROWS);
  database_must(db, sql);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void check(const char *path) {
  sqlite3 *db = database_open(path, BUSY_MILLISECONDS);
  assert_int_equal(database_integer(db, "SELECT count(*) FROM out"), ROWS);
  assert_int_equal(database_integer(db, "SELECT count(DISTINCT id) FROM out"), ROWS);
  assert_int_equal(database_integer(db, "SELECT count(*) FROM events JOIN out USING (id)"), ROWS);
  assert_int_equal(database_integer(db, "SELECT rows FROM job_progress('job')"), ROWS);
  assert_int_equal(database_integer(db, "SELECT failed FROM job_progress('job')"), 0);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* One job from its beginning to its end; how many workers were killed, at most `limit`. */
static long run_job(const char *path, uint64_t *seed, long limit) {
  pid_t workers[WORKERS];
  int is_finished[WORKERS] = {0};
  long killed = 0;
  for (int i = 0; i < WORKERS; i++) workers[i] = start_worker(path, next_random(seed));
  while (killed < limit) {
    int i = (int)(next_random(seed) % WORKERS);
    int status;
    pause_for((int64_t)(next_random(seed) % 3000));
    kill(workers[i], SIGKILL);
    assert_int_equal(waitpid(workers[i], &status, 0), workers[i]);
    if (WIFEXITED(status)) {
      /* It had ended before: the job is done, or it failed. */
      assert_int_equal(WEXITSTATUS(status), 0);
      is_finished[i] = 1;
      break;
    }
    killed++;
    workers[i] = start_worker(path, next_random(seed));
  }
  for (int i = 0; i < WORKERS; i++) {
    int status;
    if (is_finished[i]) continue;
    assert_int_equal(waitpid(workers[i], &status, 0), workers[i]);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
  }
  return killed;
}

static void killed_workers(void **state) {
  const char *mode = *state;
  const char *given = getenv("JOB_KILLS");
  long goal = (given == NULL ? test_effort(1000) : atol(given)) / 2 + 1;
  long killed = 0;
  int jobs = 0;
  char path[512];
  uint64_t seed = (uint64_t)time(NULL);
  print_message("%s: seed %llu\n", mode, (unsigned long long)seed);
  for (; killed < goal; jobs++) {
    database_path("job_kills", path);
    create(path, mode);
    killed += run_job(path, &seed, goal - killed);
    check(path);
    database_remove(path);
  }
  print_message("%s: %ld workers killed in %d jobs of %d rows\n", mode, killed, jobs, ROWS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(killed_workers, (void *)"WAL"),
      cmocka_unit_test_prestate(killed_workers, (void *)"DELETE"),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

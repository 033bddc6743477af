/*
** Workers of a job are killed at random moments, a thousand times. Afterwards every row's effect is
** there exactly once.
**
** Four worker processes claim, write a row of output for each row and commit it with job_done or
** job_next. They read the rows from the job's table or by job_rowids, at random. This process kills
** one after another (SIGKILL) and starts another in its place. Leases are so short that bundles are
** also taken from workers that are alive. What those then commit must be refused. When everything
** is done, the output is counted and a new job begins, until enough workers were killed. JOB_KILLS
** says how many (1000).
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

/* --- A worker ---------------------------------------------------------------------------- */

/*
** Runs a claim. `done` is the bundle that it ends, or NULL. `bundle` becomes what it returned, or
** "". Returns SQLite's code.
*/
static int claim(sqlite3_stmt *stmt, uint64_t *seed, const char *done, char bundle[256]) {
  char next[256] = "";
  sqlite3_bind_int(stmt, 1, (int)getpid());
  sqlite3_bind_int64(stmt, 2, 1 + (int64_t)(next_random(seed) % 60));
  sqlite3_bind_double(stmt, 3, (double)(next_random(seed) % 30) / 1000);
  if (done != NULL) sqlite3_bind_text(stmt, 4, done, -1, SQLITE_TRANSIENT);
  if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL) {
    snprintf(next, sizeof next, "%s", (const char *)sqlite3_column_text(stmt, 0));
  }
  int rc = sqlite3_reset(stmt);
  if (rc == SQLITE_OK) memcpy(bundle, next, sizeof next);
  return rc;
}

static void must(sqlite3 *db, const char *what, int rc) {
  if (rc == SQLITE_OK) return;
  fprintf(stderr, "%s: %d, %s\n", what, rc, sqlite3_errmsg(db));
  exit(1);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *stmt = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
    fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
    exit(1);
  }
  return stmt;
}

/* A fence may say that the bundle is no longer ours. Any other error is a failure of the test. */
static int is_refusal(sqlite3 *db) {
  static const char *const refusals[] = {"job_done: bundle ", "job_next: bundle ",
                                         "job_rowids: bundle ", "job_rowids: this bundle "};
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    if (strncmp(sqlite3_errmsg(db), refusals[i], strlen(refusals[i])) == 0) return 1;
  }
  return 0;
}

static void work(const char *path, uint64_t seed) {
  char bundle[256] = "";
  char next[256] = "";
  sqlite3 *db = database_open(path, BUSY_MILLISECONDS);
  database_must(db, "PRAGMA synchronous = OFF"); /* the system does not fall, only processes do */
  sqlite3_stmt *claims = prepare(db, "SELECT job_claim('job', 'worker ' || ?, ?, ?)");
  sqlite3_stmt *rows[] = {
      prepare(db, "INSERT INTO out SELECT id, ?2 FROM job WHERE restriction = ?1"),
      prepare(db, "INSERT INTO out SELECT id, ?2 FROM job_rowids('job', ?1) AS r"
                  " CROSS JOIN events ON id BETWEEN r.first AND r.last"),
  };
  sqlite3_stmt *done = prepare(db, "SELECT job_done('job', ?1)");
  sqlite3_stmt *goes_on = prepare(db, "SELECT job_next('job', ?4, 'worker ' || ?1, ?2, ?3)");
  for (;;) {
    if (bundle[0] == '\0') must(db, "claim", claim(claims, &seed, NULL, bundle));
    if (bundle[0] == '\0') {
      if (database_integer(db, "SELECT pending + claimed FROM job_progress('job')") == 0) break;
      pause_for(1000); /* others hold what is left, until they are done or their leases run out */
      continue;
    }
    if (next_random(&seed) % 8 == 0) pause_for(500);
    database_must(db, "BEGIN IMMEDIATE");
    int rc = database_step(rows[next_random(&seed) % 2], bundle, "x");
    next[0] = '\0';
    if (rc == SQLITE_OK) {
      rc = next_random(&seed) % 2 == 0 ? database_step(done, bundle, NULL)
                                       : claim(goes_on, &seed, bundle, next);
    }
    if (rc != SQLITE_OK && !is_refusal(db)) must(db, "output", rc);
    database_must(db, rc == SQLITE_OK ? "COMMIT" : "ROLLBACK");
    memcpy(bundle, next, sizeof next); /* nothing, where it was refused or ended alone */
  }
  sqlite3_finalize(claims);
  for (int i = 0; i < 2; i++) sqlite3_finalize(rows[i]);
  sqlite3_finalize(done);
  sqlite3_finalize(goes_on);
  sqlite3_close(db);
}

static pid_t start_worker(const char *path, uint64_t seed) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid != 0) return pid;
  work(path, seed);
  _exit(0);
}

/* --- The test ---------------------------------------------------------------------------- */

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

/* Runs one job from beginning to end. Returns how many workers were killed, at most `limit`. */
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

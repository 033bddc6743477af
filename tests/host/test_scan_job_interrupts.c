/*
** scan_job: calls that are stopped at each of their steps, by an interrupt or by a failed
** allocation. A call happens as a whole or not at all and leaves no transaction open. If a call
** returns its answer, it has happened.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "database.h"
#include "effort.h"

/* Stops at the `at`-th call, by the means that `how` names. */
typedef struct stopper {
  sqlite3 *db;
  int calls;
  int at;
  int how;
  /* SQLite was asked to keep what the call has done: its COMMIT, or RELEASE, has begun */
  int is_kept;
  int was_kept_before;
} stopper;

enum { STOP_ONCE, STOP_FROM_THEN_ON, INTERRUPT, WAYS };

static int stop(void *data) {
  stopper *s = data;
  s->calls++;
  if (s->calls == s->at) s->was_kept_before = s->is_kept;
  if (s->how == INTERRUPT) {
    if (s->calls == s->at) sqlite3_interrupt(s->db);
    return 0;
  }
  return s->how == STOP_ONCE ? s->calls == s->at : s->calls >= s->at;
}

static int note_statement(unsigned event, void *data, void *stmt, void *text) {
  (void)event, (void)text;
  stopper *s = data;
  const char *sql = sqlite3_sql(stmt);
  if (strcmp(sql, "COMMIT") == 0 || strncmp(sql, "RELEASE", 7) == 0) s->is_kept = 1;
  return 0;
}

/*
** A job with bundles in all states: pending, of 'w', failed, done with a new key in it, and the
** rest.
*/
static sqlite3 *with_names(void) {
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE names(name TEXT PRIMARY KEY) WITHOUT ROWID;"
                    "INSERT INTO names SELECT printf('n%03d', value) FROM counting_input(12);"
                    "CREATE TABLE out(v);"
                    "CREATE VIRTUAL TABLE job USING scan_job(names, max_attempts(1));"
                    "SELECT job_claim('job', 'dead', 4, 0); SELECT job_claim('job', 'w', 4, 60);"
                    "SELECT job_fail('job', job_claim('job', 'v', 1), 'no');"
                    "SELECT job_done('job', job_claim('job', 'v', 2));"
                    "INSERT INTO names VALUES ('n009a');"
                    "CREATE TEMP TABLE bundles AS SELECT * FROM job_bundles");
  return db;
}

static const char as_before[] =
    "BEGIN; DROP TABLE IF EXISTS added; DELETE FROM out; DELETE FROM job_bundles;"
    "INSERT INTO job_bundles SELECT * FROM bundles; COMMIT";

/*
** After this SQLite prepares all statements of the connection again, each when it is next stepped.
*/
static const char any_change[] = "CREATE TEMP TABLE change(x); DROP TABLE change";

/* All that the job's tables say, but for what is random and the time. */
static const char *contents(sqlite3 *db) {
  return database_text(
      db, "SELECT group_concat(hex(start_key) || state || ifnull(keys, '-') || failures || "
          "ifnull(worker, '-') || ifnull(until - since > 600000000, '-'), ' ') "
          "FROM (SELECT * FROM job_bundles ORDER BY start_key)");
}

/* What the job's tables say when nobody stops the statement. */
static void contents_after(const char *sql, char after[2048]) {
  sqlite3 *db = with_names();
  database_must(db, sql);
  snprintf(after, 2048, "%s", contents(db));
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Runs the call with an interrupt at some point. Returns its code. */
static int run_stopped(sqlite3 *db, const char *sql, stopper *s, int *is_answered) {
  sqlite3_stmt *stmt;
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
  sqlite3_progress_handler(db, 1, stop, s);
  sqlite3_trace_v2(db, SQLITE_TRACE_STMT, note_statement, s);
  int rc = sqlite3_step(stmt);
  *is_answered = rc == SQLITE_ROW;
  if (*is_answered) rc = sqlite3_step(stmt);
  sqlite3_trace_v2(db, 0, NULL, NULL);
  sqlite3_progress_handler(db, 0, NULL, NULL);
  sqlite3_finalize(stmt);
  return rc;
}

/*
** A call that returns its answer has made the change. Without an answer there is no change, except
** that a progress handler is called once more while the row is returned, after the call. What it
** stops then is only the answer.
*/
static void check_stopped(sqlite3 *db, const stopper *s, int is_answered, const char *before,
                          const char *after) {
  const char *now = contents(db);
  int is_whole = strcmp(now, after) == 0;
  if (is_answered && !is_whole) fail_msg("answered, and has not happened: %s", now);
  if (!is_answered && strcmp(now, before) != 0) {
    if (!is_whole) fail_msg("half-done: %s", now);
    assert_int_not_equal(s->how, INTERRUPT);
    assert_true(s->was_kept_before);
  }
}

/* Stops a statement at every point (TEST_EFFORT=10: at every tenth), until it gets through. */
static void stop_everywhere(const char *sql, int how, int in_transaction, int is_stale) {
  char before[2048], after[2048];
  contents_after("SELECT 1", before);
  contents_after(sql, after);
  assert_string_not_equal(before, after);
  int is_through = 0, stride = (int)(100 / test_effort(100));
  sqlite3 *db = with_names();
  for (int at = 1; !is_through; at += stride < 1 ? 1 : stride) {
    database_must(db, as_before);
    if (is_stale) database_must(db, any_change);
    stopper s = {.db = db, .at = at, .how = how};
    int is_answered;
    if (in_transaction) database_must(db, "BEGIN; INSERT INTO out VALUES (1)");
    if (in_transaction && is_stale) database_must(db, "CREATE TABLE added(x)");
    int rc = run_stopped(db, sql, &s, &is_answered);
    int is_open = !sqlite3_get_autocommit(db);
    if (!in_transaction && is_open) fail_msg("%s: a transaction is open after stop %d", sql, at);
    /* Nothing continues as if it had not been stopped, in a transaction of its own. */
    if (rc == SQLITE_DONE) assert_int_equal(is_open, in_transaction);
    if (rc != SQLITE_DONE) assert_int_equal(rc & 0xff, SQLITE_INTERRUPT);
    /* The caller's transaction is as it was, or was rolled back with the rest. */
    assert_int_equal(database_integer(db, "SELECT count(*) FROM out"), is_open);
    check_stopped(db, &s, is_answered, before, after);
    is_through = rc == SQLITE_DONE && s.calls < at;
    if (is_open) database_must(db, "COMMIT");
    assert_int_equal(sqlite3_get_autocommit(db), 1);
    database_must(db, "BEGIN; COMMIT");
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

#define OF_W "(SELECT byte_key_range(start_key, end_key) FROM job_bundles WHERE worker = 'w')"

static const char retry_each[] =
    "SELECT job_retry('job', byte_key_range(start_key, end_key)) FROM job_bundles "
    "WHERE state = 'failed'";

static const char *const statements[] = {
    "SELECT job_claim('job', 'u', 100, 60)",
    "SELECT job_fail('job', " OF_W ", 'why', 'w')",
    "SELECT job_done('job', " OF_W ", 'w')",
    "SELECT job_release('job', " OF_W ", 'w')",
    "SELECT job_heartbeat('job', " OF_W ", 5000, 'w')",
    "SELECT job_next('job', " OF_W ", 'w', 3)",
    "SELECT job_retry('job')",
    retry_each,
    "SELECT job_rescan('job')",
};

enum { STATEMENTS = sizeof statements / sizeof statements[0] };

static void each_call_happens_or_does_not_however_it_is_interrupted(void **state) {
  (void)state;
  for (size_t i = 0; i < STATEMENTS; i++) {
    for (int how = 0; how < WAYS; how++) {
      for (int j = 0; j < 4; j++) stop_everywhere(statements[i], how, j & 1, j >> 1);
    }
  }
}

/*
** It works in several transactions. What the first of them found stays, and the next call finds the
** rest.
*/
static void a_rescan_that_is_stopped_is_called_again_for_the_rest(void **state) {
  (void)state;
  enum { BUNDLES = 5, STEP = 20 };
  int stopped_between = 0;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY);"
                    "INSERT INTO t SELECT value * 2 FROM counting_input(75000);"
                    "CREATE VIRTUAL TABLE job USING scan_job(t)");
  for (int i = 0; i < BUNDLES; i++) {
    database_must(db, "SELECT job_done('job', job_claim('job', 'w', 15000))");
  }
  database_must(db, "INSERT INTO t SELECT value * 30000 + 5 FROM counting_input(5)");
  for (int at = STEP, rc = SQLITE_INTERRUPT; rc != SQLITE_OK; at += STEP) {
    stopper s = {.db = db, .at = at, .how = STOP_FROM_THEN_ON};
    sqlite3_progress_handler(db, 1000, stop, &s);
    rc = database_run(db, "SELECT job_rescan('job')");
    sqlite3_progress_handler(db, 0, NULL, NULL);
    assert_int_equal(sqlite3_get_autocommit(db), 1);
    int64_t pending = database_integer(
        db, "SELECT total(keys) FROM job_bundles WHERE state = 'pending' AND keys IS NOT NULL");
    if (rc == SQLITE_OK) assert_int_equal(pending, BUNDLES);
    if (rc != SQLITE_OK && pending > 0 && pending < BUNDLES) stopped_between = 1;
  }
  assert_int_equal(stopped_between, 1);
  assert_int_equal(database_integer(db, "SELECT job_rescan('job')"), 0);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/*
** A call that is refused undoes the little that it has done. If an interrupt prevents that, the
** caller's transaction is gone. Then the caller must not only be told of the refusal, since it
** would continue without a transaction.
*/
static void a_refusal_leaves_the_transaction_open(void **state) {
  (void)state;
  static const char *const refused[] = {
      "SELECT job_done('job', byte_key_range(x'', x'00'), 'w')",
      "SELECT job_next('job', " OF_W ", 'u')",
      "SELECT job_release('job', " OF_W ", 'u')",
      "SELECT job_heartbeat('job', " OF_W ", -1, 'w')",
      "SELECT job_retry('job', " OF_W ")",
  };
  int refusals = 0, interrupts = 0;
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    for (int how = 0; how < WAYS; how++) {
      sqlite3 *db = with_names();
      stopper s = {.db = db, .how = how};
      do {
        int at = s.at + 1, is_answered;
        s = (stopper){.db = db, .how = how, .at = at};
        database_must(db, "BEGIN; INSERT INTO out VALUES (1)");
        int rc = run_stopped(db, refused[i], &s, &is_answered);
        int is_open = !sqlite3_get_autocommit(db);
        assert_int_equal(database_integer(db, "SELECT count(*) FROM out"), is_open);
        if (rc == SQLITE_ERROR) assert_true(is_open);
        if (rc != SQLITE_ERROR) assert_int_equal(rc, SQLITE_INTERRUPT);
        refusals += rc == SQLITE_ERROR;
        interrupts += rc == SQLITE_INTERRUPT;
        if (is_open) database_must(db, "ROLLBACK");
      } while (s.calls >= s.at);
      assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
  }
  assert_true(refusals > 0 && interrupts > 0);
}

/*
** Memory is limited for real, as a program would do it. A call that failed leaves the job and the
** caller's transaction as they were.
*/
static void run_short_of_memory(const char *sql, int in_transaction, int is_stale) {
  enum { STEP = 1023, ENOUGH = 100000 };
  char before[2048], after[2048];
  int failures = 0, is_through = 0;
  contents_after("SELECT 1", before);
  contents_after(sql, after);
  for (int more = 0; !is_through; more += STEP) {
    sqlite3 *db = with_names();
    if (is_stale) database_must(db, any_change);
    if (in_transaction) database_must(db, "BEGIN; INSERT INTO out VALUES (1)");
    sqlite3_hard_heap_limit64(sqlite3_memory_used() + more);
    int rc = database_run(db, sql);
    sqlite3_hard_heap_limit64(0);
    int is_open = !sqlite3_get_autocommit(db);
    if (is_open && !in_transaction) fail_msg("%s: a transaction is open", sql);
    assert_int_equal(database_integer(db, "SELECT count(*) FROM out"), is_open);
    if (rc != SQLITE_OK) {
      failures++;
      assert_int_equal(rc & 0xff, SQLITE_NOMEM);
    }
    assert_string_equal(contents(db), rc == SQLITE_OK ? after : before);
    is_through = rc == SQLITE_OK;
    assert_in_range(more, 0, ENOUGH);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
  assert_true(failures > 0);
}

static void each_call_happens_or_does_not_where_memory_runs_out(void **state) {
  (void)state;
  for (size_t i = 0; i < STATEMENTS; i++) {
    for (int j = 0; j < 4; j++) run_short_of_memory(statements[i], j & 1, j >> 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_call_happens_or_does_not_however_it_is_interrupted),
      cmocka_unit_test(a_refusal_leaves_the_transaction_open),
      cmocka_unit_test(a_rescan_that_is_stopped_is_called_again_for_the_rest),
      cmocka_unit_test(each_call_happens_or_does_not_where_memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

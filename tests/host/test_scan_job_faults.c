/*
** scan_job: what goes wrong. Fences, changed keys, claims that were undone, statements that cannot
** be rolled back, damaged tables, jobs that are made anew. No row is lost without an error.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/utf8.h"
#include "database.h"

static void close_database(sqlite3 *db) {
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void assert_refused(const char *answer, const char *why) {
  if (strncmp(answer, "error: ", 7) != 0 || strstr(answer, why) == NULL) {
    fail_msg("'%s' instead of an error with '%s'", answer, why);
  }
}

/* A value by a query with a printf form, whose texts hold no quotes. */
static const char *ask(sqlite3 *db, const char *form, const char *first, const char *second) {
  char sql[500];
  snprintf(sql, sizeof sql, form, first, second);
  return database_text(db, sql);
}

/* --- Keys that are another --------------------------------------------------------------- */

static void a_key_that_is_another_is_noticed_by_every_use(void **state) {
  (void)state;
  static const char *const uses[] = {
      "SELECT count(*) FROM job WHERE restriction = '%s'",
      "SELECT count(*) FROM job",
      "SELECT job_done('job', '%s', 'w')",
      "SELECT job_heartbeat('job', '%s', 9, 'w')",
      "SELECT job_release('job', '%s', 'w')",
      "SELECT job_fail('job', '%s', 'no', 'w')",
      "SELECT job_retry('job', '%s')",
      "SELECT job_retry('job')",
      "SELECT job_claim('job', 'w')",
      "SELECT job_rescan('job')",
  };
  char path[512];
  char bundle[200];
  sqlite3 *db = database_open(database_path("another_key", path), 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, v);"
                    "INSERT INTO t SELECT value, 0 FROM counting_input(20);"
                    "CREATE VIRTUAL TABLE job USING scan_job(t)");
  snprintf(bundle, sizeof bundle, "%s", database_text(db, "SELECT job_claim('job', 'w', 5)"));
  database_must(db, "DROP TABLE t; CREATE TABLE t(id TEXT PRIMARY KEY, v) WITHOUT ROWID;"
                    "INSERT INTO t SELECT value, 0 FROM counting_input(20)");
  sqlite3 *other = database_open(path, 0);
  for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
    assert_refused(ask(db, uses[i], bundle, ""), "the key of t is now text(id)");
    assert_refused(ask(other, uses[i], bundle, ""), "the key of t is now text(id)");
  }
  assert_int_equal(database_integer(db, "SELECT count(*) FROM job_bundles WHERE state = 'claimed'"),
                   1);
  close_database(db);
  close_database(other);
  database_remove(path);
}

/* --- Retrying ---------------------------------------------------------------------------- */

/*
** A bundle that is pending again has no owner and nothing is left of its last end, however it
** became so.
*/
static void a_retry_of_all_is_that_of_each(void **state) {
  (void)state;
  char rows[2][2048];
  for (int is_each = 0; is_each < 2; is_each++) {
    sqlite3 *db = database_open(":memory:", 0);
    database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3);"
                      "CREATE VIRTUAL TABLE job USING scan_job(t, max_attempts(1));"
                      "SELECT job_fail('job', job_claim('job', 'w', 1), 'no');"
                      "SELECT job_fail('job', job_claim('job', 'w', 1), 'no')");
    assert_int_equal(
        database_integer(db, is_each ? "SELECT sum(job_retry('job', byte_key_range(start_key, "
                                       "end_key))) FROM job_bundles WHERE state = 'failed'"
                                     : "SELECT job_retry('job')"),
        2);
    snprintf(rows[is_each], sizeof rows[is_each], "%s",
             database_text(
                 db,
                 "SELECT group_concat(hex(start_key) || state || failures || "
                 "ifnull(worker, '-') || ifnull(lease, '-') || ifnull(boot, '-') || "
                 "ifnull(since, '-') || ifnull(until, '-') || ifnull(lease_length, "
                 "'-') || ifnull(claimed_at, '-') || ifnull(finished_at, '-'), ' ') "
                 "FROM (SELECT * FROM job_bundles WHERE state = 'pending' ORDER BY start_key)"));
    close_database(db);
  }
  assert_string_equal(rows[0], rows[1]);
}

/* --- Claims that came to nothing --------------------------------------------------------- */

static void what_a_dead_claim_saw_is_new_when_it_comes_again(void **state) {
  (void)state;
  for (int is_released = 0; is_released < 2; is_released++) {
    sqlite3 *db = database_open(":memory:", 0);
    database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3);"
                      "CREATE VIRTUAL TABLE job USING scan_job(t)");
    const char *bundle = database_text(db, "SELECT job_claim('job', 'w', 9, 0)");
    if (is_released)
      assert_string_equal(ask(db, "SELECT job_release('job', '%s')", bundle, ""), "1");
    database_must(db, "DELETE FROM t; INSERT INTO t VALUES (100)");
    const char *rest = database_text(db, "SELECT job_claim('job', 'w', 9, 60)");
    assert_string_equal(ask(db, "SELECT job_done('job', '%s')", rest, ""), "1");
    database_must(db, "SELECT job_claim('job', 'w', 9, 60); INSERT INTO t VALUES (1), (2), (3)");
    assert_int_equal(database_integer(db, "SELECT job_rescan('job')"), 3);
    close_database(db);
  }
}

static void only_the_connection_that_claimed_needs_no_name(void **state) {
  (void)state;
  char path[512];
  char bundle[200], now[200];
  sqlite3 *db = database_open(database_path("fences", path), 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY);"
                    "INSERT INTO t SELECT value FROM counting_input(5000);"
                    "CREATE VIRTUAL TABLE job USING scan_job(t)");
  sqlite3 *other = database_open(path, 0);
  /* The claim is rolled back, and another connection claims the same. */
  database_must(db, "BEGIN");
  snprintf(bundle, sizeof bundle, "%s", database_text(db, "SELECT job_claim('job', 'w1', 2)"));
  database_must(db, "ROLLBACK");
  snprintf(now, sizeof now, "%s", database_text(other, "SELECT job_claim('job', 'w2', 2)"));
  assert_non_null(strstr(bundle, "\"end\":\"8000000000000002\""));
  assert_non_null(strstr(now, "\"end\":\"8000000000000002\""));
  static const char *const uses[] = {
      "SELECT job_done('job', '%s')", "SELECT job_release('job', '%s')",
      "SELECT job_heartbeat('job', '%s')", "SELECT job_fail('job', '%s', 'no')"};
  for (int i = 0; i < 4; i++) {
    assert_refused(ask(db, uses[i], bundle, ""), "by worker 'w2'");
    assert_refused(ask(db, uses[i], now, ""), "by worker 'w2', and not by this connection");
  }
  assert_string_equal(ask(other, "SELECT job_done('job', '%s')", now, ""), "1");
  /* A connection remembers as many claims as it makes. */
  snprintf(bundle, sizeof bundle, "%s", database_text(db, "SELECT job_claim('job', 'w1', 2)"));
  database_must(db,
                "BEGIN; SELECT max(job_claim('job', 'w1', 2)) FROM counting_input(2000); COMMIT");
  assert_string_equal(ask(db, "SELECT job_done('job', '%s')", bundle, ""), "1");
  close_database(db);
  close_database(other);
  database_remove(path);
}

static void a_row_beside_a_failed_one_has_not_failed(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES (10), (20), (30);"
                    "CREATE VIRTUAL TABLE job USING scan_job(t, max_attempts(1));"
                    "SELECT job_done('job', job_claim('job', 'w', 1))");
  const char *bundle = database_text(db, "SELECT job_claim('job', 'w', 1)");
  assert_string_equal(ask(db, "SELECT job_fail('job', '%s', 'no')", bundle, ""), "failed");
  database_must(db, "INSERT INTO t VALUES (15)");
  assert_int_equal(database_integer(db, "SELECT job_rescan('job')"), 1);
  database_must(db, "SELECT job_done('job', job_claim('job', 'w', 1))"); /* 30 */
  assert_int_equal(
      database_integer(db, "SELECT id FROM job WHERE restriction = job_claim('job', 'w', 1)"), 15);
  assert_int_equal(database_integer(db, "SELECT id FROM job WHERE restriction = (SELECT "
                                        "byte_key_range(start_key, end_key) FROM job_bundles "
                                        "WHERE state = 'failed')"),
                   20);
  assert_int_equal(database_integer(db, "SELECT count(*) FROM (SELECT start_key, lag(end_key, 1, "
                                        "x'') OVER (ORDER BY start_key) AS before FROM "
                                        "job_bundles) WHERE start_key <> before"),
                   0);
  close_database(db);
}

/* --- Statements that write --------------------------------------------------------------- */

static void a_statement_that_may_fail_alone_cannot_end_a_bundle(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2);"
                    "CREATE TABLE o(x UNIQUE, y); INSERT INTO o VALUES ('x', 0);"
                    "CREATE VIRTUAL TABLE job USING scan_job(t)");
  const char *bundle = database_text(db, "SELECT job_claim('job', 'w', 1)");
  database_must(db, "BEGIN");
  assert_refused(ask(db, "INSERT INTO o VALUES ('x', job_done('job', '%s'))", bundle, ""),
                 "a SELECT of its own");
  database_must(db, "COMMIT");
  /* Alone the statement is the transaction, and takes it back. */
  assert_refused(ask(db, "INSERT INTO o VALUES ('x', job_done('job', '%s'))", bundle, ""),
                 "UNIQUE constraint failed");
  assert_string_equal(ask(db, "SELECT job_done('job', '%s')", bundle, ""), "1");
  close_database(db);
}

/*
** While it writes no savepoint can begin, and what a call has written would stay if the rest fails.
*/
static void a_call_beside_a_statement_that_writes_is_refused(void **state) {
  (void)state;
  static const char *const around[][2] = {{"SELECT 1", "SELECT 1"}, {"BEGIN", "COMMIT"}};
  for (int i = 0; i < 2; i++) {
    sqlite3 *db = database_open(":memory:", 0);
    sqlite3_stmt *writes = NULL;
    database_must(db,
                  "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2);"
                  "CREATE TABLE o(x); CREATE VIRTUAL TABLE job USING scan_job(t, max_attempts(1));"
                  "CREATE TEMP TABLE mine AS SELECT job_claim('job', 'w', 1) AS bundle;"
                  "CREATE TEMP TRIGGER no AFTER INSERT ON job_bundles WHEN new.state = 'done' "
                  "BEGIN SELECT RAISE(ABORT, 'no'); END;"
                  "UPDATE t SET id = 3 WHERE id = 2; INSERT INTO t VALUES (-5)");
    const char *before = database_text(db, "SELECT group_concat(state) FROM job_bundles");
    database_must(db, around[i][0]);
    assert_int_equal(
        sqlite3_prepare_v2(db, "INSERT INTO o VALUES (1), (2) RETURNING x", -1, &writes, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(writes), SQLITE_ROW);
    static const char *const calls[] = {"SELECT job_fail('job', bundle, 'm') FROM mine",
                                        "SELECT job_done('job', bundle) FROM mine",
                                        "SELECT job_claim('job', 'w')", "SELECT job_rescan('job')"};
    for (size_t j = 0; j < sizeof calls / sizeof calls[0]; j++) {
      assert_refused(database_text(db, calls[j]),
                     "another statement of this connection is writing; end it first");
    }
    assert_string_equal(database_text(db, "SELECT group_concat(state) FROM job_bundles"), before);
    sqlite3_finalize(writes);
    database_must(db, "DROP TRIGGER no");
    assert_string_equal(database_text(db, "SELECT job_done('job', bundle) FROM mine"), "1");
    database_must(db, around[i][1]);
    close_database(db);
  }
}

/* --- After a crash ----------------------------------------------------------------------- */

/* Each claim needs one bundle, and shall not halve for that what a hundred dead workers had. */
static void one_claim_halves_one_lost_bundle(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY);"
                    "INSERT INTO t SELECT value FROM counting_input(1000);"
                    "CREATE VIRTUAL TABLE job USING scan_job(t, max_attempts(1))");
  for (int i = 0; i < 100; i++) {
    database_must(db, "SELECT job_claim('job', 'dead', 10, 1000)");
  }
  database_must(db, "UPDATE job_bundles SET until = since WHERE state = 'claimed'");
  assert_int_equal(database_integer(db, "SELECT count(*) FROM job_bundles WHERE state = 'claimed'"),
                   100);
  for (int claims = 1; claims <= 100; claims++) {
    assert_string_not_equal(database_text(db, "SELECT job_claim('job', 'w', 10, 1000)"), "");
    assert_int_equal(
        database_integer(db, "SELECT count(*) FROM job_bundles WHERE worker LIKE 'dead%'"),
        100 - claims);
  }
  /* All rows come, each once, whatever was halved. */
  database_must(db, "CREATE TABLE out(id INTEGER PRIMARY KEY);"
                    "INSERT INTO out SELECT id FROM job_bundles, job WHERE state = 'claimed' "
                    "AND job.restriction = byte_key_range(start_key, end_key);");
  database_must(db, "SELECT job_done('job', byte_key_range(start_key, end_key)) FROM "
                    "(SELECT * FROM job_bundles WHERE state = 'claimed' ORDER BY start_key)");
  const char *bundle;
  while ((bundle = database_text(db, "SELECT job_claim('job', 'w', 10)"))[0] == '{') {
    ask(db, "INSERT INTO out SELECT id FROM job WHERE restriction = '%s'", bundle, "");
    assert_string_equal(ask(db, "SELECT job_done('job', '%s')", bundle, ""), "1");
  }
  assert_string_equal(bundle, "");
  assert_int_equal(database_integer(db, "SELECT count(*) FROM out"), 1000);
  close_database(db);
}

/*
** Nothing is pending, and none of the lost bundles can be halved. Then the claim looks through them
** all.
*/
static void what_was_lost_is_found_behind_what_has_failed(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3);"
                    "CREATE VIRTUAL TABLE job USING scan_job(t, max_attempts(1));"
                    "SELECT job_claim('job', 'dead', 1, 9); SELECT job_claim('job', 'dead', 1, 9);"
                    "SELECT job_claim('job', 'dead', 1, 9);"
                    "UPDATE job_bundles SET until = since WHERE state = 'claimed'");
  assert_string_equal(database_text(db, "SELECT job_claim('job', 'w', 1)"), "");
  assert_int_equal(database_integer(db, "SELECT failed FROM job_progress('job')"), 3);
  close_database(db);
}

static void job_fail_says_what_became_of_the_bundle(void **state) {
  (void)state;
  static const struct {
    int64_t keys;
    const char *meanwhile;
    const char *answer;
  } cases[] = {
      {1, "SELECT 1", "failed"},
      {1, "DELETE FROM t WHERE id = 10", "done"},
      {1, "INSERT INTO t VALUES (8)", "halved"},
      {2, "SELECT 1", "halved"},
      {2, "DELETE FROM t WHERE id = 10", "failed"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char sql[200];
    sqlite3 *db = database_open(":memory:", 0);
    database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES (10), (20);"
                      "CREATE VIRTUAL TABLE job USING scan_job(t, max_attempts(1))");
    snprintf(sql, sizeof sql,
             "CREATE TEMP TABLE mine AS SELECT job_claim('job', 'w', %d) AS bundle",
             (int)cases[i].keys);
    database_must(db, sql);
    database_must(db, cases[i].meanwhile);
    assert_string_equal(database_text(db, "SELECT job_fail('job', bundle, 'm') FROM mine"),
                        cases[i].answer);
    close_database(db);
  }
}

/* --- Damage ------------------------------------------------------------------------------ */

static void a_damaged_open_end_is_an_error_and_no_loop(void **state) {
  (void)state;
  static const char *const damages[] = {
      "UPDATE job_bundles SET keys = 1 WHERE end_key = x''",
      "UPDATE job_bundles SET state = 'claimed', keys = 1, worker = 'w', lease = 1, claims = 1, "
      "since = 0, "
      "until = 1, lease_length = 1, claimed_at = 1, boot = 'x' WHERE end_key = x''"};
  for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
    sqlite3 *db = database_open(":memory:", 0);
    database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY);"
                      "CREATE VIRTUAL TABLE job USING scan_job(t)");
    database_must(db, damages[i]);
    assert_refused(database_text(db, "SELECT job_claim('job', 'w')"), "has no end");
    assert_int_equal(sqlite3_get_autocommit(db), 1);
    if (sqlite3_libversion_number() >= 3044000) {
      assert_non_null(strstr(database_text(db, "PRAGMA integrity_check"), "has no end"));
    }
    close_database(db);
  }
}

/* --- Made anew --------------------------------------------------------------------------- */

static void a_job_made_anew_is_found_while_statements_are_kept(void **state) {
  (void)state;
  char path[512];
  sqlite3 *db = database_open(database_path("kept", path), 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3);"
                    "CREATE VIRTUAL TABLE job USING scan_job(t)");
  sqlite3 *other = database_open(path, 0);
  sqlite3_stmt *kept = NULL;
  assert_int_equal(sqlite3_prepare_v2(other, "SELECT count(*) FROM job", -1, &kept, NULL),
                   SQLITE_OK);
  assert_int_equal(database_step(kept, NULL, NULL), SQLITE_OK);
  assert_string_not_equal(database_text(other, "SELECT job_claim('job', 'w', 1)"), "");
  for (int round = 0; round < 3; round++) {
    database_must(db, "DROP TABLE job; CREATE VIRTUAL TABLE job USING scan_job(t)");
    if (round == 1) {
      assert_int_equal(database_integer(other, "SELECT done FROM job_progress('job')"), 0);
    }
    const char *bundle = database_text(other, "SELECT job_claim('job', 'w', 1)");
    assert_string_equal(bundle, "{\"start\":\"\",\"end\":\"8000000000000002\",\"claim\":1}");
    assert_string_equal(ask(other, "SELECT job_done('job', '%s')", bundle, ""), "1");
  }
  assert_int_equal(database_step(kept, NULL, NULL), SQLITE_OK);
  sqlite3_finalize(kept);
  close_database(other);
  close_database(db);
  database_remove(path);
}

/*
** A program that reads messages as UTF-8 (Python) fails on half a character and never sees the
** message.
*/
static void messages_are_cut_between_characters(void **state) {
  (void)state;
  static const char *const characters[] = {"char(233)", "char(8364)", "char(128512)",
                                           "CAST(x'ff' AS TEXT)"};
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1);"
                    "CREATE VIRTUAL TABLE job USING scan_job(t)");
  for (size_t i = 0; i < sizeof characters / sizeof characters[0]; i++) {
    for (int before = 0; before < 4; before++) {
      char sql[300];
      snprintf(sql, sizeof sql,
               "SELECT job_claim('job', substr('abcd', 1, %d) || replace('%060d', '0', %s), 1, 60)",
               before, 0, characters[i]);
      database_must(db, sql);
      const char *answer = database_text(
          db, "SELECT job_done('job', '{\"start\":\"\",\"end\":\"8000000000000002\"}', 'w')");
      assert_refused(answer, "is now claimed by worker '");
      char copy[2048];
      snprintf(copy, sizeof copy, "%s", answer);
      tr_utf8_make_valid(copy);
      assert_string_equal(answer, copy);
      if (i < 3) assert_null(strchr(answer, '?'));
      database_must(db, "SELECT job_release('job', byte_key_range(start_key, end_key)) "
                        "FROM job_bundles WHERE state = 'claimed'");
    }
  }
  close_database(db);
}

/*
** Writes then return a row, which is no error. And no method returns SQLITE_ROW, which would never
** end.
*/
static void writes_that_give_their_counts_are_writes(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db,
                "CREATE TABLE t(id INTEGER PRIMARY KEY);"
                "INSERT INTO t SELECT value FROM counting_input(10);"
                "PRAGMA count_changes = 1;"
                "CREATE VIRTUAL TABLE made USING scan_job(t, max_attempts(1), target_seconds(9));"
                "ALTER TABLE made RENAME TO job");
  assert_string_equal(database_text(db, "SELECT job_fail('job', job_claim('job', 'w', 5), 'm')"),
                      "halved");
  assert_int_equal(database_integer(db, "SELECT job_done('job', job_claim('job', 'w', 5))"), 1);
  assert_int_equal(database_integer(db, "SELECT job_retry('job')"), 0);
  database_must(db, "INSERT INTO t VALUES (-5)");
  assert_int_equal(database_integer(db, "SELECT job_rescan('job')"), 0);
  database_must(db, "CREATE TABLE out(v); INSERT INTO out SELECT id FROM job; DROP TABLE job");
  close_database(db);
}

/* --- Progress ---------------------------------------------------------------------------- */

static void the_rest_of_a_large_table_is_estimated(void **state) {
  (void)state;
  static const char *const sources[] = {
      "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t SELECT value * 3 FROM "
      "counting_input(60000);",
      "CREATE TABLE t(k TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO t SELECT printf('%08d', "
      "value) "
      "FROM counting_input(60000);",
      "CREATE TABLE t(k TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO t SELECT printf('k-%06d', "
      "value + "
      "300000) FROM counting_input(60000);",
  };
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
    sqlite3 *db = database_open(":memory:", 0);
    database_must(db, sources[i]);
    database_must(db, "CREATE VIRTUAL TABLE job USING scan_job(t)");
    for (int done = 0; done < 30000; done += 10000) {
      int64_t remaining = database_integer(db, "SELECT remaining FROM job_progress('job')");
      assert_in_range(remaining, (60000 - done) * 9 / 10, (60000 - done) * 11 / 10);
      assert_in_range(database_integer(db, "SELECT fraction * 1000 FROM job_progress('job')"),
                      done / 60 * 9 / 10, done / 60 * 11 / 10 + 1);
      database_must(db, "SELECT job_done('job', job_claim('job', 'w', 10000))");
    }
    close_database(db);
  }
}

/* --- Arguments and defensive mode -------------------------------------------------------- */

static void null_means_the_default(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY);"
                    "INSERT INTO t SELECT value FROM counting_input(1500);"
                    "CREATE VIRTUAL TABLE job USING scan_job(t)");
  assert_int_equal(database_integer(db, "SELECT count(*) FROM job WHERE restriction = "
                                        "job_claim('job', 'w', NULL, NULL)"),
                   1000);
  assert_int_equal(
      database_integer(db, "SELECT lease_length FROM job_bundles WHERE state = 'claimed'"),
      60000000);
  close_database(db);
}

static void loading_does_not_read_the_file_first(void **state) {
  (void)state;
  char path[512];
  sqlite3 *db = database_open(database_path("defensive", path), 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY);"
                    "CREATE VIRTUAL TABLE job USING scan_job(t)");
  close_database(db);
  /* SQLite marks shadow tables as it reads the schema, if it knows the module by then. */
  db = database_open(path, 0);
  assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL), SQLITE_OK);
  assert_refused(database_text(db, "UPDATE job_bundles SET state = 'done'"), "may not be modified");
  assert_refused(database_text(db, "DELETE FROM job_job"), "may not be modified");
  close_database(db);
  database_remove(path);
}

/*
** A statement that is kept holds the virtual table, and nothing tells us that the table is dropped.
*/
static void a_job_that_became_an_ordinary_table_is_none(void **state) {
  (void)state;
  static const struct {
    const char *change;
    const char *why;
  } cases[] = {{"DROP TABLE job; CREATE TABLE job(x)", "this table is not a scan_job"},
               {"DROP TABLE job", "there is no such job"},
               {"ALTER TABLE job RENAME TO jobs", "there is no such job"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char path[512];
    sqlite3 *db = database_open(database_path("ordinary", path), 0);
    database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1);"
                      "CREATE VIRTUAL TABLE job USING scan_job(t)");
    static const char *const calls[] = {"SELECT job_claim('job', 'w')",
                                        "SELECT rows FROM job_progress('job')",
                                        "SELECT job_rescan('job')"};
    for (size_t j = 0; j < sizeof calls / sizeof calls[0]; j++) {
      sqlite3 *other = database_open(path, 0);
      sqlite3_stmt *kept = NULL;
      assert_int_equal(sqlite3_prepare_v2(other, "SELECT count(*) FROM job", -1, &kept, NULL),
                       SQLITE_OK);
      assert_int_equal(database_step(kept, NULL, NULL), SQLITE_OK);
      assert_string_not_equal(database_text(other, "SELECT job_claim('job', 'w', 1, 9)"), "");
      database_must(db, cases[i].change);
      for (int again = 0; again < 2; again++) {
        assert_refused(database_text(other, calls[j]), cases[i].why);
      }
      sqlite3_finalize(kept);
      close_database(other);
      database_must(db, "DROP TABLE IF EXISTS job; DROP TABLE IF EXISTS jobs;"
                        "CREATE VIRTUAL TABLE job USING scan_job(t)");
    }
    close_database(db);
    database_remove(path);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_key_that_is_another_is_noticed_by_every_use),
      cmocka_unit_test(a_retry_of_all_is_that_of_each),
      cmocka_unit_test(what_a_dead_claim_saw_is_new_when_it_comes_again),
      cmocka_unit_test(only_the_connection_that_claimed_needs_no_name),
      cmocka_unit_test(a_row_beside_a_failed_one_has_not_failed),
      cmocka_unit_test(a_statement_that_may_fail_alone_cannot_end_a_bundle),
      cmocka_unit_test(a_call_beside_a_statement_that_writes_is_refused),
      cmocka_unit_test(one_claim_halves_one_lost_bundle),
      cmocka_unit_test(what_was_lost_is_found_behind_what_has_failed),
      cmocka_unit_test(job_fail_says_what_became_of_the_bundle),
      cmocka_unit_test(a_job_that_became_an_ordinary_table_is_none),
      cmocka_unit_test(a_damaged_open_end_is_an_error_and_no_loop),
      cmocka_unit_test(a_job_made_anew_is_found_while_statements_are_kept),
      cmocka_unit_test(messages_are_cut_between_characters),
      cmocka_unit_test(writes_that_give_their_counts_are_writes),
      cmocka_unit_test(the_rest_of_a_large_table_is_estimated),
      cmocka_unit_test(null_means_the_default),
      cmocka_unit_test(loading_does_not_read_the_file_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

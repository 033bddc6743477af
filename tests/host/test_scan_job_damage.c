/*
** scan_job: tables with contents that no job can have, written by another program or damaged on
** disk. Each use is an error that names the value. None hangs or computes with the value (run under
** UBSan), and PRAGMA integrity_check finds it.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "database.h"

/* Three bundles of 4 keys: done, claimed (its lease is over), pending again; then the rest. */
static sqlite3 *with_job(const char *source) {
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, source);
  database_must(db,
                "CREATE VIRTUAL TABLE job USING scan_job(t, max_attempts(2), target_seconds(5));"
                "SELECT job_done('job', job_claim('job', 'w', 4));"
                "CREATE TEMP TABLE mine AS SELECT job_claim('job', 'w', 4, 0) AS bundle");
  return db;
}

static const char rowids[] = "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t SELECT value * "
                             "2 FROM counting_input(40)";
static const char texts[] = "CREATE TABLE t(id TEXT PRIMARY KEY) WITHOUT ROWID;"
                            "INSERT INTO t SELECT printf('k%02d', value) FROM counting_input(40)";

static const char *const uses[] = {
    "SELECT job_claim('job', 'v', 4, 60)",
    "SELECT job_done('job', bundle, 'w') FROM mine",
    "SELECT job_fail('job', bundle, 'm', 'w') FROM mine",
    "SELECT job_heartbeat('job', bundle, 5, 'w') FROM mine",
    "SELECT job_release('job', bundle, 'w') FROM mine",
    "SELECT job_retry('job')",
    "SELECT job_rescan('job')",
    "SELECT count(*) FROM mine, job WHERE job.restriction = mine.bundle",
    "SELECT bar FROM job_progress('job')",
};

enum { USES = sizeof uses / sizeof uses[0], CLAIM = 0, RESCAN = 6, PROGRESS = 8, NONE = -1 };

static void assert_says(const char *answer, const char *why, const char *sql) {
  if (strncmp(answer, "error: ", 7) != 0 || strstr(answer, why) == NULL) {
    fail_msg("%s: '%s' instead of an error with '%s'", sql, answer, why);
  }
}

#define CLAIMED " WHERE state = 'claimed'"
#define DONE " WHERE state = 'done'"

/* A bundle that no statement looks for must not look like one that is done. */
static void a_state_that_there_is_not_is_named(void **state) {
  (void)state;
  static const char *const states[] = {"'Pending'", "'x'", "0", "''"};
  static const char *const questions[] = {"SELECT job_claim('job', 'v', 100, 60)",
                                          "SELECT job_retry('job')", "SELECT job_rescan('job')",
                                          "SELECT bar FROM job_progress('job')"};
  for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
    char sql[200];
    sqlite3 *db = with_job(rowids);
    snprintf(sql, sizeof sql, "UPDATE job_bundles SET state = %s WHERE state = 'claimed'",
             states[i]);
    database_must(db, sql);
    database_must(db, "SELECT job_done('job', job_claim('job', 'w', 100, 60))");
    for (size_t j = 0; j < sizeof questions / sizeof *questions; j++) {
      assert_says(database_text(db, questions[j]), "has the state '", questions[j]);
    }
    sqlite3_close(db);
  }
}

static void damaged_values_are_named(void **state) {
  (void)state;
  static const struct {
    const char *damage;
    int use; /* that must say so */
    const char *why;
  } cases[] = {
      {"claims = 9223372036854775807" CLAIMED, CLAIM, "claims = 9223372036854775807"},
      {"claims = -1" CLAIMED, CLAIM, "claims = -1"},
      {"failures = 9223372036854775807" CLAIMED, CLAIM, "failures = 9223372036854775807"},
      {"claimed_at = -9223372036854775808" CLAIMED, CLAIM, "claimed_at = -9223372036854775808"},
      {"claimed_at = NULL" CLAIMED, CLAIM, "claimed_at = NULL"},
      {"since = -9223372036854775808" CLAIMED, CLAIM, "since = -9223372036854775808"},
      {"since = NULL" CLAIMED, CLAIM, "since = NULL"},
      {"until = NULL" CLAIMED, CLAIM, "until = NULL"},
      {"until = 'abc'" CLAIMED, CLAIM, "until = 'abc'"},
      {"until = x'7a'" CLAIMED, CLAIM, "until = x'7a'"},
      {"until = 9223372036854775807" CLAIMED, CLAIM, "until = 9223372036854775807"},
      {"until = NULL, boot = 'other'" CLAIMED, CLAIM, "until = NULL"},
      {"until = 'abc', boot = 'other'" CLAIMED, CLAIM, "until = 'abc'"},
      {"until = 9223372036854775807, boot = 'other'" CLAIMED, CLAIM, "until = 9223372036854775807"},
      {"boot = NULL" CLAIMED, CLAIM, "boot = NULL"},
      {"worker = NULL" CLAIMED, CLAIM, "worker = NULL"},
      {"lease = NULL" CLAIMED, CLAIM, "lease = NULL"},
      {"lease_length = 9223372036854775807" CLAIMED, CLAIM, "lease_length = 9223372036854775807"},
      {"keys = 'abc'" CLAIMED, CLAIM, "keys = 'abc'"},
      {"keys = NULL" CLAIMED, CLAIM, "was never counted"},
      {"record = x'7a7a'" CLAIMED, CLAIM, "record"},
      {"record = 'r'" CLAIMED, CLAIM, "record = 'r'"},
      {"seconds = 'abc'" CLAIMED, CLAIM, "seconds = 'abc'"},
      {"end_key = 'abc'" CLAIMED, CLAIM, "end_key = 'abc'"},
      {"end_key = start_key" CLAIMED, CLAIM, "holds no key"},
      {"start_key = x'ffffffffffffffff'" DONE, RESCAN, "holds no key"},
      {"finished_at = 'abc'" DONE, RESCAN, "finished_at = 'abc'"},
      {"finished_at = 9223372036854775807" DONE, PROGRESS, "finished_at = 9.22"},
      {"claimed_at = -9223372036854775808" DONE, PROGRESS, "claimed_at = -9.22"},
      {"keys = 9223372036854775807" DONE, PROGRESS, "keys = 9.22"},
      {"keys = 9223372036854775807", PROGRESS, "keys = "},
      {"keys = -9223372036854775808" DONE, PROGRESS, "keys = -9.22"},
  };
  for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
    size_t c = i / 2;
    char sql[300];
    snprintf(sql, sizeof sql, "UPDATE job_bundles SET %s", cases[c].damage);
    for (int u = 0; u < USES; u++) {
      sqlite3 *db = with_job(i % 2 == 0 ? rowids : texts);
      database_must(db, sql);
      const char *answer = database_text(db, uses[u]); /* whatever it is, it comes */
      if (u == cases[c].use) assert_says(answer, cases[c].why, sql);
      assert_int_equal(sqlite3_get_autocommit(db), 1);
      if (u == 0 && cases[c].use != NONE && sqlite3_libversion_number() >= 3044000) {
        assert_string_not_equal(database_text(db, "PRAGMA integrity_check"), "ok");
      }
      database_must(db, "DROP TABLE job");
      assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
  }
}

/*
** The rows of a bundle are those of its record. A record that breaks off would leave out rows
** without anybody knowing.
*/
static void a_record_that_breaks_off_loses_no_row(void **state) {
  (void)state;
  static const char *const records[] = {"x'72'||x'80'", "x'7280'", "x'728080808080808080800180'",
                                        "substr(record, 1, length(record) - 1)",
                                        "record || x'ffffffffffffffffff01ff'"};
  for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
    char sql[300];
    sqlite3 *db = with_job(rowids);
    snprintf(sql, sizeof sql, "UPDATE job_bundles SET record = CAST(%s AS BLOB)" CLAIMED,
             records[i]);
    database_must(db, sql);
    if (i != 4) { /* damage after the last row of the bundle is not read */
      assert_says(database_text(db, "SELECT group_concat(id) FROM mine, job "
                                    "WHERE job.restriction = mine.bundle"),
                  "has a record that is damaged", sql);
    }
    assert_says(database_text(db, "SELECT count(*) FROM mine, job_rowids('job', mine.bundle)"),
                "has a record that is damaged", sql);
    database_must(db, "UPDATE job_bundles SET state = 'done', finished_at = 1" CLAIMED);
    if (i != 4) {
      assert_says(database_text(db, "SELECT job_rescan('job')"), "has a record that is damaged",
                  sql);
    }
    if (sqlite3_libversion_number() >= 3044000) {
      assert_non_null(strstr(database_text(db, "PRAGMA integrity_check"), "record"));
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

/* The lowest rowid as the end of a range: below it there is none. */
static void a_range_below_the_lowest_rowid_is_empty(void **state) {
  (void)state;
  sqlite3 *db = with_job(rowids);
  database_must(db, "UPDATE job_bundles SET state = 'pending', end_key = x'0000000000000000', "
                    "keys = 1000 WHERE start_key = x''");
  assert_string_not_equal(database_text(db, "SELECT job_claim('job', 'v', 1000)"), "");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/*
** Bundles that overlap or leave a gap. What is next to them is neither claimed again nor passed
** over.
*/
static void bundles_must_border_on_each_other(void **state) {
  (void)state;
  static const char *const damages[] = {
      "UPDATE job_bundles SET end_key = (SELECT end_key FROM job_bundles" CLAIMED ")" DONE,
      "UPDATE job_bundles SET end_key = (SELECT CAST(max(start_key) || x'00' AS BLOB) FROM "
      "job_bundles)" CLAIMED,
      "DELETE FROM job_bundles WHERE state = 'done'",
      "DELETE FROM job_bundles WHERE state = 'pending'",
  };
  for (size_t i = 0; i < 2 * sizeof damages / sizeof damages[0]; i++) {
    sqlite3 *db = with_job(i % 2 == 0 ? rowids : texts);
    database_must(db, damages[i / 2]);
    assert_says(database_text(db, uses[CLAIM]), "does not end where the next one begins",
                damages[i / 2]);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

/* The record of a larger bundle may have rows outside of this one, which are not this one's. */
static void rowids_are_those_of_the_bundle(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, rowids);
  database_must(db, "CREATE VIRTUAL TABLE job USING scan_job(t);"
                    "SELECT job_done('job', job_claim('job', 'w', 10));"
                    "INSERT INTO t VALUES (7), (13); SELECT job_rescan('job')");
  assert_string_equal(
      database_text(db, "SELECT group_concat(first || '-' || last) FROM"
                        " job_rowids('job', '{\"start\":\"\",\"end\":\"8000000000000007\"}')"),
      "0-0,2-2,4-4,6-6");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int ignore_writes(void *context, int action, const char *a, const char *b, const char *c,
                         const char *d) {
  (void)context, (void)b, (void)c, (void)d;
  int is_write = action == SQLITE_INSERT || action == SQLITE_UPDATE || action == SQLITE_DELETE;
  return is_write && a != NULL && strcmp(a, "job_bundles") == 0 ? SQLITE_IGNORE : SQLITE_OK;
}

/* A statement that did nothing because of an authorizer does not count as done, and is not kept. */
static void what_is_not_written_is_an_error(void **state) {
  (void)state;
  static const int calls[] = {1, 2, 3, 4};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    sqlite3 *db = with_job(rowids);
    sqlite3_set_authorizer(db, ignore_writes, NULL);
    assert_says(database_text(db, uses[calls[i]]), "", uses[calls[i]]);
    sqlite3_set_authorizer(db, NULL, NULL);
    assert_string_equal(database_text(db, "SELECT state FROM job_bundles WHERE worker = 'w'"
                                          " AND state <> 'done'"),
                        "claimed");
    assert_string_equal(database_text(db, uses[1]), "1");
    assert_says(database_text(db, uses[1]), "done already", uses[1]);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_state_that_there_is_not_is_named),
      cmocka_unit_test(damaged_values_are_named),
      cmocka_unit_test(a_record_that_breaks_off_loses_no_row),
      cmocka_unit_test(a_range_below_the_lowest_rowid_is_empty),
      cmocka_unit_test(bundles_must_border_on_each_other),
      cmocka_unit_test(rowids_are_those_of_the_bundle),
      cmocka_unit_test(what_is_not_written_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

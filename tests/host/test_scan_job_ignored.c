/*
** scan_job under an authorizer that makes SQLite ignore one column, which then reads as NULL. No
** row is lost, no call gives a wrong answer, and everything works again once the authorizer is
** gone.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "database.h"

/* --- A column that is ignored --------------------------------------------------------------- */

typedef struct column {
  const char *table;
  const char *name;
} column;

static int authorize(void *context, int action, const char *table, const char *name,
                     const char *schema, const char *inside) {
  (void)schema, (void)inside;
  const column *ignored = context;
  if (action != SQLITE_READ || table == NULL || name == NULL) return SQLITE_OK;
  return strcmp(table, ignored->table) == 0 && strcmp(name, ignored->name) == 0 ? SQLITE_IGNORE
                                                                                : SQLITE_OK;
}

static void disobey(sqlite3 *db, const column *ignored) {
  sqlite3_set_authorizer(db, authorize, (void *)(uintptr_t)ignored);
}

static void obey(sqlite3 *db) {
  sqlite3_set_authorizer(db, NULL, NULL);
}

/* --- Jobs ----------------------------------------------------------------------------------- */

static const char *const sources[] = {
    "CREATE TABLE s(id INTEGER PRIMARY KEY); INSERT INTO s SELECT value FROM counting_input(20)",
    "CREATE TABLE s(id TEXT NOT NULL PRIMARY KEY);"
    "INSERT INTO s SELECT printf('k%02d', value) FROM counting_input(20)",
    "CREATE TABLE s(id BLOB PRIMARY KEY) WITHOUT ROWID;"
    "INSERT INTO s SELECT CAST(printf('k%02d', value) AS BLOB) FROM counting_input(20)",
};

enum { SOURCES = sizeof sources / sizeof sources[0] };

/*
** Of 20 rows, 5 are done, 5 failed in a bundle of their own, 5 released, and 5 claimed with a lease
** that is over.
*/
static sqlite3 *with_job(int source) {
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, sources[source]);
  database_must(
      db, "CREATE VIRTUAL TABLE j USING scan_job(s, key(id), max_attempts(1));"
          "CREATE TEMP TABLE mine AS SELECT job_claim('j', 'w', 5) AS done;"
          "ALTER TABLE mine ADD COLUMN failed; UPDATE mine SET failed = job_claim('j', 'w', 1);"
          "ALTER TABLE mine ADD COLUMN given; UPDATE mine SET given = job_claim('j', 'w', 5);"
          "ALTER TABLE mine ADD COLUMN lost; UPDATE mine SET lost = job_claim('j', 'w', 5, 0);"
          "SELECT job_done('j', done) FROM mine; SELECT job_fail('j', failed, 'm') FROM mine;"
          "SELECT job_release('j', given) FROM mine");
  return db;
}

static void assert_is_ignored(sqlite3 *db, const char *sql, const column *ignored) {
  const char *answer = database_text(db, sql);
  if (strncmp(answer, "error: ", 7) == 0 && strstr(answer, "does an authorizer have it ignored?")) {
    return;
  }
  fail_msg("%s, without %s.%s: '%s'", sql, ignored->table, ignored->name, answer);
}

/* --- Tests ---------------------------------------------------------------------------------- */

static const column key = {"s", "id"};
static const column bundle_state = {"j_bundles", "state"};
static const column bundle_keys = {"j_bundles", "keys"};
static const column job_id = {"j_job", "id"};

static const char states[] = "SELECT group_concat(hex(start_key) || state || ifnull(keys, ''))"
                             " FROM (SELECT * FROM j_bundles ORDER BY start_key)";

/* What cannot be seen is not done. */
static void a_key_that_is_ignored_loses_no_row(void **state) {
  (void)state;
  static const char *const calls[] = {
      "SELECT job_claim('j', 'w', 5)",
      "SELECT job_fail('j', lost, 'm', 'w') FROM mine",
      "SELECT job_next('j', NULL, 'w', 5)",
      "SELECT remaining FROM job_progress('j')",
      "SELECT count(*) FROM mine, j WHERE j.restriction = mine.lost",
  };
  for (size_t i = 0; i < SOURCES * sizeof calls / sizeof calls[0]; i++) {
    const char *call = calls[i / SOURCES];
    char before[1000];
    sqlite3 *db = with_job((int)(i % SOURCES));
    snprintf(before, sizeof before, "%s", database_text(db, states));
    disobey(db, &key);
    assert_is_ignored(db, call, &key);
    obey(db);
    assert_string_equal(database_text(db, states), before);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

static void what_is_ignored_is_an_error(void **state) {
  (void)state;
  static const struct {
    const column *ignored;
    const char *sql;
  } cases[] = {
      {&bundle_state, "SELECT job_claim('j', 'w', 5)"},
      {&bundle_state, "SELECT job_retry('j')"},
      {&bundle_state, "SELECT job_rescan('j')"},
      {&bundle_state, "SELECT rows FROM job_progress('j')"},
      {&bundle_state, "SELECT job_done('j', lost, 'w') FROM mine"},
      {&bundle_keys, "SELECT rows FROM job_progress('j')"},
      {&job_id, "SELECT job_retry('j')"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    sqlite3 *db = with_job(0);
    disobey(db, cases[i].ignored);
    assert_is_ignored(db, cases[i].sql, cases[i].ignored);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

/*
** Whichever column it was and whatever was called meanwhile, the answers are those of a connection
** without an authorizer.
*/
static void all_is_right_when_the_authorizer_is_gone(void **state) {
  (void)state;
  static const column ignored[] = {
      {"s", "id"},           {"j_bundles", "state"},  {"j_bundles", "start_key"},
      {"j_bundles", "keys"}, {"j_bundles", "claims"}, {"j_bundles", "end_key"},
      {"j_job", "id"},       {"j_job", "source_key"},
  };
  static const char *const calls[] = {
      "SELECT job_claim('j', 'w', 5)",
      "SELECT job_next('j', done, 'v', 5) FROM mine",
      "SELECT job_fail('j', lost, 'm', 'v') FROM mine",
      "SELECT job_retry('j', given) FROM mine",
      "SELECT rows FROM job_progress('j')",
      "SELECT count(*) FROM mine, j WHERE j.restriction = mine.lost",
      "SELECT count(*) FROM mine, job_rowids('j', mine.lost)",
  };
  static const char *const afterwards[] = {
      "SELECT job_retry('j')",
      "SELECT job_rescan('j')",
      "SELECT job_done('j', lost, 'w') FROM mine",
      "SELECT count(*) FROM mine, j WHERE j.restriction = mine.lost",
      "SELECT count(*) FROM mine, job_rowids('j', mine.lost)",
      "SELECT job_claim('j', 'w', 5) IS NULL",
      "SELECT rows || ' ' || remaining FROM job_progress('j')",
  };
  enum { IGNORED = sizeof ignored / sizeof ignored[0], CALLS = sizeof calls / sizeof calls[0] };
  for (size_t i = 0; i < (size_t)IGNORED * CALLS; i++) {
    sqlite3 *db = with_job(0);
    sqlite3 *undisturbed = with_job(0);
    database_must(db, "BEGIN");
    disobey(db, &ignored[i / CALLS]);
    database_text(db, calls[i % CALLS]);
    obey(db);
    database_must(db, "ROLLBACK");
    for (size_t k = 0; k < sizeof afterwards / sizeof afterwards[0]; k++) {
      char expected[1000];
      snprintf(expected, sizeof expected, "%s", database_text(undisturbed, afterwards[k]));
      const char *answer = database_text(db, afterwards[k]);
      if (strcmp(answer, expected) == 0) continue;
      fail_msg("%s without %s.%s, then %s: '%s' instead of '%s'", calls[i % CALLS],
               ignored[i / CALLS].table, ignored[i / CALLS].name, afterwards[k], answer, expected);
    }
    assert_int_equal(sqlite3_close(undisturbed), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_key_that_is_ignored_loses_no_row),
      cmocka_unit_test(what_is_ignored_is_an_error),
      cmocka_unit_test(all_is_right_when_the_authorizer_is_gone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
** Has an authorizer refuse everything that the surfaces do, once at every point where it is asked.
**
** SQLite asks an authorizer about each table, column and function that a statement uses, and in the
** same way about the statements that the extension runs on the caller's connection. The blocks of
** statements.sql are run with the k-th of these questions answered by SQLITE_DENY, then by
** SQLITE_IGNORE, and then with all from the k-th on answered so, for k = 1, 2, ... until a run asks
** fewer questions. Only every third k is tried, unless TEST_EFFORT=300.
**
** After SQLITE_DENY a run must end in an error that has a text, or in success with the values of an
** undisturbed run, if what was denied was only a hint. After SQLITE_IGNORE SQLite gives NULL for
** the column, so any values may come, or an error. In either case the connection works as before,
** every byte is given back, and the database is sound.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>
#include <string.h>

#include "effort.h"
#include "sql_blocks.h"

/* --- An authorizer that objects on request ---------------------------------------------------- */

static struct {
  int answer; /* SQLITE_DENY or SQLITE_IGNORE */
  long at;    /* the number of the question; 0: never */
  int is_on;  /* so to all after it */
  long asked;
  int has_objected;
  int has_spoilt_schema; /* SQLite was to ignore something of its own work on sqlite_master */
} authorizer;

/*
** A CREATE or DROP is SQLite's own work on its schema, and so are its writes to the schema table.
*/
static int is_of_schema(int action, const char *table) {
  int is_table = table != NULL &&
                 (strcmp(table, "sqlite_master") == 0 || strcmp(table, "sqlite_temp_master") == 0);
  return action < SQLITE_DELETE || is_table || action == SQLITE_DROP_VTABLE ||
         action == SQLITE_CREATE_VTABLE || (action > SQLITE_DELETE && action < SQLITE_INSERT);
}

/*
** SQLite (3.53, too) reads a null pointer if a WITHOUT ROWID table is not allowed its primary key.
** For that it asks whether it may insert into sqlite_master and create sqlite_autoindex_... .
*/
static int is_fatal_to_ignore(int action, const char *name) {
  static const char index[] = "sqlite_autoindex_";
  if (name == NULL) return 0;
  return (action == SQLITE_INSERT && strcmp(name, "sqlite_master") == 0) ||
         (action == SQLITE_CREATE_INDEX && strncmp(name, index, strlen(index)) == 0);
}

static int authorize(void *none, int action, const char *a, const char *b, const char *schema,
                     const char *inside) {
  (void)none, (void)action, (void)a, (void)b, (void)schema, (void)inside;
  authorizer.asked++;
  if (authorizer.at == 0 || authorizer.asked < authorizer.at) return SQLITE_OK;
  if (authorizer.asked > authorizer.at && !authorizer.is_on) return SQLITE_OK;
  authorizer.has_objected = 1;
  if (authorizer.answer == SQLITE_IGNORE && is_fatal_to_ignore(action, a)) return SQLITE_OK;
  authorizer.has_spoilt_schema |= authorizer.answer == SQLITE_IGNORE && is_of_schema(action, a);
  return authorizer.answer;
}

static const char *answer_name(void) {
  return authorizer.answer == SQLITE_DENY ? "denied" : "ignored";
}

/* --- A run ------------------------------------------------------------------------------- */

static sql_blocks blocks;

static void must(sqlite3 *db, const char *what, const char *sql, uint64_t *answers) {
  if (sql_blocks_run(db, sql, answers) == SQLITE_OK) return;
  fail_msg("%s: %s %ld%s: %s", what, answer_name(), authorizer.at,
           authorizer.is_on ? " and on" : "", sqlite3_errmsg(db));
}

/*
** What must hold for an error of the block: it is an error and has a text. (If a CREATE was made to
** ignore some of its own work, SQLite says that the schema is malformed.)
*/
static void check_error(sqlite3 *db, const sql_block *b, int rc) {
  const char *text = sqlite3_errmsg(db);
  int code = rc & 0xff;
  int is_expected = code == SQLITE_AUTH || code == SQLITE_ERROR || code == SQLITE_CONSTRAINT ||
                    (code == SQLITE_CORRUPT && authorizer.answer == SQLITE_IGNORE);
  if (is_expected && text[0] != '\0' && strcmp(text, "not an error") != 0) return;
  fail_msg("%s: %s %ld%s: %d (%s)", b->name, answer_name(), authorizer.at,
           authorizer.is_on ? " and on" : "", rc, text);
}

/*
** Whether the block's answers show how it was done. It may be done in another way if a hint was
** denied.
*/
static int tells_how(const sql_block *b) {
  return strstr(b->sql, "tranche_last_run") != NULL;
}

/*
** One run. Returns 1 if the authorizer refused something, so that the caller continues with the
** next question. With `at` 0 it refuses nothing, and `*expected` is set.
*/
static int run_once(const sql_block *b, int answer, long at, int is_on, uint64_t *expected) {
  sqlite3_int64 before = sqlite3_memory_used();
  uint64_t answers = 0, none, sound, is_ok;
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
  assert_int_equal(sql_blocks_load(db), SQLITE_OK);
  must(db, "set-up", blocks.items[0].sql, &none);
  if (b->before != NULL) must(db, b->name, b->before, &none);

  memset(&authorizer, 0, sizeof authorizer);
  authorizer.answer = answer;
  authorizer.at = at;
  authorizer.is_on = is_on;
  sqlite3_set_authorizer(db, authorize, NULL);
  int rc = sql_blocks_run(db, b->sql, &answers);
  int has_objected = authorizer.has_objected;
  if (rc != SQLITE_OK) check_error(db, b, rc);
  sqlite3_set_authorizer(db, NULL, NULL);

  if (!has_objected) assert_int_equal(rc, SQLITE_OK);
  if (at == 0) *expected = answers;
  if (rc == SQLITE_OK && answer == SQLITE_DENY && answers != *expected && !tells_how(b)) {
    fail_msg("%s: denied %ld%s: success, with other values", b->name, at, is_on ? " and on" : "");
  }
  if (!sqlite3_get_autocommit(db)) must(db, "ROLLBACK", "ROLLBACK", &none);
  if (!authorizer.has_spoilt_schema) {
    must(db, "afterwards", "SELECT offset_range(0, 9), (SELECT count(*) FROM t)", &none);
    must(db, "afterwards", "SELECT * FROM sqlite_master", &none);
    must(db, "afterwards", "PRAGMA integrity_check", &sound);
    must(db, "afterwards", "SELECT 'ok'", &is_ok);
    /* Where an UPDATE's old value was ignored SQLite writes NULL for it, NOT NULL or not. */
    if (sound != is_ok && answer == SQLITE_DENY)
      fail_msg("%s: %s %ld: not sound", b->name, answer_name(), at);
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  if (sqlite3_memory_used() != before) {
    fail_msg("%s: %s %ld%s: %lld bytes are lost", b->name, answer_name(), at,
             is_on ? " and on" : "", (long long)(sqlite3_memory_used() - before));
  }
  return has_objected;
}

static void sweep(const sql_block *b, int answer, long stride) {
  uint64_t expected = 0;
  long runs = 0;
  run_once(b, answer, 0, 0, &expected); /* what the process keeps is there afterwards */
  run_once(b, answer, 0, 0, &expected);
  for (int is_on = 0; is_on <= 1; is_on++) {
    for (long at = 1; run_once(b, answer, at, is_on, &expected); at += stride) runs++;
  }
  print_message("%s: %ld questions %s\n", b->name, runs, answer_name());
  assert_true(runs > 0 || authorizer.asked == 0);
}

/* All of them take a quarter of a minute. */
enum { EVERY = 3 };

static void every_statement(int answer) {
  long stride = 100 * EVERY / test_effort(100);
  assert_true(blocks.count > 1);
  for (int i = 1; i < blocks.count; i++) sweep(&blocks.items[i], answer, stride < 1 ? 1 : stride);
}

static void every_statement_is_denied(void **state) {
  (void)state;
  every_statement(SQLITE_DENY);
}

static void every_statement_is_ignored(void **state) {
  (void)state;
  every_statement(SQLITE_IGNORE);
}

int main(void) {
  sql_blocks_read(&blocks, "tests/faults/statements.sql");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_statement_is_denied),
      cmocka_unit_test(every_statement_is_ignored),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  sql_blocks_free(&blocks);
  return failed;
}

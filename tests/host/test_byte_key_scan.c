/*
** byte_key_scan while other things happen: another thread splits it, another connection commits or
** changes the schema, the caller stops early, interrupts, or comes back after a restart.
*/
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "effort.h"
#include "tranche.h"

/* --- Helpers ------------------------------------------------------------------------------ */

static char path[500];

static int make_folder(void **state) {
  (void)state;
  const char *folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/test_byte_key_scan_%ld", folder != NULL ? folder : ".",
           (long)getpid());
  if (mkdir(path, 0700) != 0) return -1;
  strcat(path, "/a.db");
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  char other[520];
  const char *const ends[] = {"", "-wal", "-shm", "-journal"};
  for (size_t i = 0; i < 4; i++) {
    snprintf(other, sizeof other, "%s%s", path, ends[i]);
    unlink(other);
  }
  *strrchr(path, '/') = '\0';
  return rmdir(path);
}

static sqlite3 *open_flags(const char *name, int flags) {
  sqlite3 *db;
  assert_int_equal(sqlite3_open_v2(name, &db, flags | SQLITE_OPEN_URI, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_tranche_init(db, NULL, NULL), SQLITE_OK);
  sqlite3_busy_timeout(db, 10000);
  return db;
}

static sqlite3 *open_db(const char *name) {
  return open_flags(name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

static void execute(sqlite3 *db, const char *sql) {
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK) return;
  fprintf(stderr, "%s\n%s\n", sqlite3_errmsg(db), sql);
  fail();
}

/* The first column of the first row as text, or the error's text. */
static char *ask(sqlite3 *db, const char *sql) {
  sqlite3_stmt *stmt = NULL;
  char *answer = NULL;
  int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_step(stmt);
  if (rc == SQLITE_ROW) {
    const char *text = (const char *)sqlite3_column_text(stmt, 0);
    answer = sqlite3_mprintf("%s", text == NULL ? "NULL" : text);
  } else if (rc == SQLITE_DONE) {
    answer = sqlite3_mprintf("no row");
  } else {
    answer = sqlite3_mprintf("%s", sqlite3_errmsg(db));
  }
  sqlite3_finalize(stmt);
  assert_non_null(answer);
  return answer;
}

static void assert_answer(sqlite3 *db, const char *sql, const char *expected) {
  char *answer = ask(db, sql);
  assert_string_equal(answer, expected);
  sqlite3_free(answer);
}

/*
** Steps a statement of one integer column up to `limit` times. Returns how often, and the last
** value.
*/
static long step_rows(sqlite3_stmt *stmt, long limit, sqlite3_int64 *last) {
  long count = 0;
  while (count < limit && sqlite3_step(stmt) == SQLITE_ROW) {
    *last = sqlite3_column_int64(stmt, 0);
    count++;
  }
  return count;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *stmt;
  int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
  if (rc != SQLITE_OK) fprintf(stderr, "%s\n", sqlite3_errmsg(db));
  assert_int_equal(rc, SQLITE_OK);
  return stmt;
}

/* --- Splits of a running scan ------------------------------------------------------------- */

/* Keys of each form over one table; the scan's order differs from the ids'. */
static const char *const keys[] = {"", ", key(uuid)", ", key(hash)", ", key(g, id)"};

static void make_table(sqlite3 *db, long rows) {
  char sql[1000];
  snprintf(
      sql, sizeof sql,
      "DROP TABLE IF EXISTS t; CREATE TABLE t(id INTEGER PRIMARY KEY, uuid TEXT UNIQUE, "
      "hash BLOB NOT NULL UNIQUE, g INT, UNIQUE (g, id));"
      "INSERT INTO t SELECT value, printf('%%08x-%%d', value * 2654435761 & 0xffffffff, value), "
      "CAST(printf('%%08x', value * 40503 & 0xffffffff) AS BLOB), value %% 3 "
      "FROM counting_input(%ld, 0)",
      rows);
  execute(db, sql);
}

typedef struct worker {
  sqlite3 *db;
  unsigned char *seen; /* by id: how often */
  atomic_long count;
  atomic_int has_ended;
} worker;

/* Reads all rows of `SELECT id ...`. */
static void read_all(worker *w, const char *sql) {
  sqlite3_stmt *stmt = prepare(w->db, sql);
  int rc;
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    w->seen[sqlite3_column_int64(stmt, 0)]++;
    atomic_fetch_add(&w->count, 1);
  }
  assert_int_equal(rc, SQLITE_DONE);
  sqlite3_finalize(stmt);
}

static void *scan(void *argument) {
  worker *w = argument;
  read_all(w, "SELECT id FROM s WHERE tracker = 'shared:running'");
  atomic_store(&w->has_ended, 1);
  return NULL;
}

static void split_while_it_runs(const char *key, long rows) {
  sqlite3 *db = open_db(path);
  execute(db, "PRAGMA journal_mode = WAL");
  make_table(db, rows);
  char create[200];
  snprintf(create, sizeof create, "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t%s)", key);
  worker a = {.db = open_db(path), .seen = calloc((size_t)rows, 1)};
  worker b = {.db = db, .seen = calloc((size_t)rows, 1)};
  execute(a.db, create);
  execute(b.db, create);
  execute(b.db, "CREATE TEMP TABLE residual(r)");
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, scan, &a), 0);
  while (atomic_load(&a.count) == 0 && !atomic_load(&a.has_ended)) usleep(10);
  for (int i = 0; i < 8 && !atomic_load(&a.has_ended); i++) {
    execute(b.db, "INSERT INTO residual SELECT tracker_try_split('shared:running', 0.6)");
  }
  pthread_join(thread, NULL);
  read_all(&b, "SELECT id FROM residual CROSS JOIN s WHERE restriction = r");
  for (long i = 0; i < rows; i++) assert_int_equal(a.seen[i] + b.seen[i], 1);
  assert_answer(a.db, "SELECT tracker_check_done('shared:running')", "1");
  assert_int_equal(sqlite3_close(a.db), SQLITE_OK);
  assert_int_equal(sqlite3_close(b.db), SQLITE_OK);
  free(a.seen);
  free(b.seen);
}

static void another_thread_splits_a_running_scan(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    split_while_it_runs(keys[i], test_effort(60000) + 100);
  }
}

/* --- Stopping and going on ---------------------------------------------------------------- */

static void what_was_not_fetched_was_not_claimed(void **state) {
  (void)state;
  sqlite3 *db = open_db(":memory:");
  make_table(db, 100);
  execute(db, "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t)");
  sqlite3_stmt *stmt = prepare(db, "SELECT id FROM s WHERE tracker = 'w'");
  sqlite3_int64 last = -1;
  assert_int_equal(step_rows(stmt, 10, &last), 10);
  assert_answer(db, "SELECT hex(last_claimed) FROM range_trackers", "8000000000000009");
  assert_answer(db, "SELECT id FROM s WHERE tracker = 'w'",
                "byte_key_scan(): tracker 'w' is in use by another scan");
  sqlite3_finalize(stmt);
  assert_answer(db, "SELECT min(id) || ' ' || count(*) FROM s WHERE tracker = 'w'", "10 90");
  assert_answer(db, "SELECT tracker_check_done('w')", "1");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* What is left of a key of three columns, written down, read by another process' connection. */
static void a_residual_is_read_after_a_restart(void **state) {
  (void)state;
  static const char create[] = "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(k3)";
  sqlite3 *db = open_db(path);
  execute(
      db,
      "DROP TABLE IF EXISTS k3; DROP TABLE IF EXISTS left_over;"
      "CREATE TABLE k3(a TEXT, b REAL, c, id INT, PRIMARY KEY(a, b, c)) WITHOUT ROWID;"
      "INSERT INTO k3 SELECT char(97 + value / 40), value % 40 / 10 / 4.0, x'00' || value, value "
      "FROM counting_input(200, 0); CREATE TABLE left_over(r TEXT)");
  execute(db, create);
  assert_answer(db, "SELECT count(*) FROM (SELECT 1 FROM s WHERE tracker = 'w' LIMIT 77)", "77");
  execute(db, "INSERT INTO left_over VALUES (tracker_checkpoint('w'))");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  for (int i = 0; i < 2; i++) { /* trying again with the same text changes nothing */
    db = open_db(path);
    execute(db, create);
    assert_answer(
        db,
        "SELECT count(*) || ' ' || (SELECT count(*) FROM (SELECT id FROM k3 ORDER BY a, b, c "
        "LIMIT -1 OFFSET 77) AS n WHERE n.id IN (SELECT id FROM s, left_over "
        "WHERE restriction = r)) FROM s, left_over WHERE restriction = r",
        "123 123");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

static int stop_at_once(void *wanted) {
  return *(int *)wanted;
}

static void an_interrupted_scan_goes_on_where_it_was(void **state) {
  (void)state;
  int wanted = 0;
  sqlite3 *db = open_db(":memory:");
  make_table(db, 5000);
  execute(db, "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t)");
  sqlite3_stmt *stmt = prepare(db, "SELECT id FROM s WHERE tracker = 'w'");
  sqlite3_int64 last = -1;
  assert_int_equal(step_rows(stmt, 10, &last), 10);
  sqlite3_progress_handler(db, 10, stop_at_once, &wanted);
  wanted = 1;
  long more = step_rows(stmt, 5000, &last);
  assert_true(more < 100);
  assert_int_equal(sqlite3_finalize(stmt), SQLITE_INTERRUPT);
  wanted = 0;
  /*
  ** The row that was about to be returned may already be claimed: nobody can say that it was not
  ** used.
  */
  char sql[150];
  snprintf(
      sql, sizeof sql,
      "SELECT min(id) - %ld IN (0, 1) AND count(*) = 5000 - min(id) FROM s WHERE tracker = 'w'",
      10 + more);
  assert_answer(db, sql, "1");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* --- Changes meanwhile -------------------------------------------------------------------- */

static void rows_behind_are_not_met_and_rows_ahead_not_missed(void **state) {
  (void)state;
  sqlite3 *db = open_db(":memory:");
  make_table(db, 100);
  execute(db, "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t)");
  sqlite3_stmt *stmt = prepare(db, "SELECT id FROM s");
  sqlite3_int64 last = -1;
  assert_int_equal(step_rows(stmt, 50, &last), 50);
  execute(db, "DELETE FROM t WHERE id BETWEEN 60 AND 69; DELETE FROM t WHERE id = 10;"
              "INSERT INTO t VALUES (-1, 'behind', x'01', 0)");
  assert_int_equal(step_rows(stmt, 1000, &last), 40);
  assert_int_equal(last, 99);
  assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_scan_sees_one_snapshot(void **state) {
  (void)state;
  sqlite3 *db = open_db(path), *writer = open_db(path);
  execute(db, "PRAGMA journal_mode = WAL");
  make_table(db, 100);
  execute(db, "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t)");
  sqlite3_stmt *stmt = prepare(db, "SELECT id FROM s");
  sqlite3_int64 last = -1;
  assert_int_equal(step_rows(stmt, 5, &last), 5);
  execute(writer, "DELETE FROM t WHERE id > 50; INSERT INTO t VALUES (1000, 'n', x'02', 0)");
  assert_int_equal(step_rows(stmt, 1000, &last), 95);
  assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
  assert_answer(db, "SELECT count(*) || ' ' || max(id) FROM s", "52 1000");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  assert_int_equal(sqlite3_close(writer), SQLITE_OK);
}

/* The scan's connection keeps its temp schema, and with it what it knew of the table. */
static void another_connection_changes_the_schema(void **state) {
  (void)state;
  sqlite3 *db = open_db(path), *other = open_db(path);
  make_table(db, 10);
  execute(db, "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t, key(uuid), columns(id, g))");
  assert_answer(db, "SELECT count(*) FROM s WHERE g = 1", "3");
  execute(other, "CREATE TABLE unrelated(x)");
  assert_answer(db, "SELECT count(*) FROM s WHERE g = 1", "3");
  execute(other, "ALTER TABLE t ADD COLUMN later DEFAULT 'x'");
  assert_answer(db, "SELECT count(*) FROM s WHERE g = 1", "3");
  execute(other, "ALTER TABLE t RENAME COLUMN g TO h");
  assert_answer(db, "SELECT count(*) FROM s WHERE g = 1",
                "byte_key_scan: table t has changed: it has no column g where it was");
  execute(other, "ALTER TABLE t RENAME COLUMN h TO g");
  assert_answer(db, "SELECT count(*) FROM s WHERE g = 1", "3");
  execute(other, "DROP TABLE t");
  assert_answer(db, "SELECT count(*) FROM s WHERE g = 1", "byte_key_scan: table main.t is gone");
  execute(other, "CREATE TABLE t(id, uuid TEXT, hash BLOB, g INT)");
  char *answer = ask(db, "SELECT count(*) FROM s");
  assert_non_null(strstr(answer, "key(uuid): not unique"));
  sqlite3_free(answer);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

/* --- Cost --------------------------------------------------------------------------------- */

static int count_steps(void *counter) {
  ++*(long *)counter;
  return 0;
}

/* How many steps of SQLite's virtual machine a query takes. */
static long steps_of(sqlite3 *db, const char *sql) {
  long steps = 0;
  sqlite3_progress_handler(db, 1, count_steps, &steps);
  sqlite3_free(ask(db, sql));
  sqlite3_progress_handler(db, 0, NULL, NULL);
  return steps;
}

/* Continuing near the end of many rows that share the first column is a descent, not a walk. */
static void resuming_is_one_descent(void **state) {
  (void)state;
  sqlite3 *db = open_db(":memory:");
  execute(db, "CREATE TABLE t(a INT NOT NULL, b TEXT NOT NULL, c INT, UNIQUE(a, b));"
              "INSERT INTO t SELECT 1, printf('%06d', value), value FROM counting_input(20000, 0);"
              "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t, key(a, b));"
              "CREATE TABLE n(k TEXT UNIQUE, v);"
              "INSERT INTO n SELECT NULL, value FROM counting_input(20000, 0);"
              "CREATE VIRTUAL TABLE temp.sn USING byte_key_scan(n, key(k));"
              "CREATE VIRTUAL TABLE temp.sr USING byte_key_scan(t)");
  static const char *const queries[] = {
      "SELECT c FROM s WHERE restriction = byte_key_range(byte_key(1, '019990'), x'') LIMIT 1",
      "SELECT c FROM s WHERE restriction = byte_key_range(byte_key(1, '019990') || x'00', x'') "
      "LIMIT 1",
      "SELECT c FROM s WHERE a = 1 AND b > '019990' LIMIT 1",
      "SELECT c FROM s WHERE (a, b) = (1, '019990')",
      "SELECT v FROM sn WHERE restriction = byte_key_range(x'00' || byte_key(NULL, 19990), x'') "
      "LIMIT 1",
      "SELECT c FROM sr WHERE rowid > 19990 LIMIT 1",
      "SELECT c FROM sr WHERE byte_key > x'8000000000004e16' LIMIT 1",
      "SELECT row FROM byte_key_scan('t') WHERE byte_key = x'8000000000004e16'",
  };
  for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
    char *answer = ask(db, queries[i]);
    assert_string_not_equal(answer, "no row");
    sqlite3_free(answer);
    long steps = steps_of(db, queries[i]);
    if (steps > 2000) fprintf(stderr, "%ld steps: %s\n", steps, queries[i]);
    assert_true(steps <= 2000);
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/*
** Byte keys are BLOBs, which are above all numbers and text and never equal to NULL. So a term with
** such a value needs no scan, or all of it, and finds what SQLite finds, which `+byte_key` asks.
*/
static void byte_keys_beside_other_types(void **state) {
  (void)state;
  enum { ROWS = 2000 };
  static const char *const sources[] = {"byte_key_scan('t')", "s"};
  static const char *const operators[] = {"=", "<", "<=", ">", ">=", "IS", "IN"};
  static const char *const values[] = {"NULL",  "5",     "5.5", "''",
                                       "'abc'", "x'80'", "x''", "x'8000000000000005'"};
  sqlite3 *db = open_db(":memory:");
  make_table(db, ROWS);
  execute(db, "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t)");
  for (size_t i = 0; i < 2 * 7 * 8; i++) {
    const char *source = sources[i % 2], *op = operators[i / 2 % 7], *value = values[i / 14];
    char *sql =
        sqlite3_mprintf("SELECT count(*) FROM %s WHERE byte_key %s (%s)", source, op, value);
    char *plain =
        sqlite3_mprintf("SELECT count(*) FROM %s WHERE +byte_key %s (%s)", source, op, value);
    char *expected = ask(db, plain);
    assert_answer(db, sql, expected);
    /* With an upper bound below all keys it is not begun. */
    int is_null = strcmp(op, "IS") == 0 && value[0] == 'N'; /* IS NULL is no term of ours */
    int is_empty = strchr(op, '>') == NULL && value[0] != 'x' && !is_null;
    long steps = steps_of(db, sql);
    if (is_empty && steps >= ROWS) fail_msg("%ld steps: %s", steps, sql);
    sqlite3_free(expected);
    sqlite3_free(plain);
    sqlite3_free(sql);
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* --- Odd places --------------------------------------------------------------------------- */

static void read_only_and_immutable_files(void **state) {
  (void)state;
  sqlite3 *db = open_db(path);
  execute(db, "PRAGMA journal_mode = DELETE");
  make_table(db, 50);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  char uri[600];
  snprintf(uri, sizeof uri, "file:%s?immutable=1", path);
  const char *const names[] = {path, uri};
  for (int i = 0; i < 2; i++) {
    db = open_flags(names[i], SQLITE_OPEN_READONLY);
    execute(db, "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t, key(uuid))");
    assert_answer(db,
                  "SELECT count(DISTINCT id) FROM scan_splits('t', 4, 'uuid') AS p "
                  "CROSS JOIN s ON s.restriction = p.restriction",
                  "50");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

/* A scan by name reads the table's ends first. What SQLite says there is the error. */
static void why_the_ends_cannot_be_read_is_said(void **state) {
  (void)state;
  static const char shared[] = "file:ends?mode=memory&cache=shared";
  sqlite3 *writer = open_db(shared), *db = open_db(shared);
  sqlite3_stmt *stmt;
  sqlite3_busy_timeout(db, 0);
  sqlite3_extended_result_codes(db, 1);
  execute(writer, "CREATE TABLE t(id INTEGER PRIMARY KEY)");
  execute(db, "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t)");
  execute(writer, "BEGIN; INSERT INTO t VALUES (1)");
  assert_int_equal(
      sqlite3_prepare_v2(db, "SELECT id FROM s WHERE tracker = 'ends'", -1, &stmt, NULL),
      SQLITE_OK);
  assert_int_equal(sqlite3_step(stmt), SQLITE_LOCKED_SHAREDCACHE);
  assert_string_equal(sqlite3_errmsg(db), "database table is locked: t");
  sqlite3_finalize(stmt);
  sqlite3_close(db);
  sqlite3_close(writer);
}

static void in_utf16_text_is_no_key_but_the_rowid_is(void **state) {
  (void)state;
  sqlite3 *db = open_db(":memory:");
  execute(db, "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT UNIQUE, "
              "b BLOB NOT NULL UNIQUE); INSERT INTO t VALUES (1, 'gr\xc3\xbc\xc3\x9f', x'01')");
  execute(db, "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t)");
  assert_answer(db, "SELECT k FROM s WHERE k = 'gr\xc3\xbc\xc3\x9f'", "gr\xc3\xbc\xc3\x9f");
  assert_answer(db, "SELECT row FROM byte_key_scan('t')",
                "{\"id\":1,\"k\":\"gr\xc3\xbc\xc3\x9f\",\"b\":\"01\"}");
  assert_answer(
      db, "SELECT count(*) FROM scan_splits('t', 2, 'k')",
      "scan_splits: main.t: key(k): the database is UTF-16, where text is not in the order of "
      "its UTF-8 bytes");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The last bit of what SQLite says is used stands for all columns from the 64th on. */
static void tables_of_many_columns(void **state) {
  (void)state;
  sqlite3 *db = open_db(":memory:");
  sqlite3_str *sql = sqlite3_str_new(NULL);
  sqlite3_str_appendall(sql, "CREATE TABLE t(c0 INTEGER PRIMARY KEY");
  for (int i = 1; i < 100; i++) sqlite3_str_appendf(sql, ", c%d INT DEFAULT %d", i, i);
  sqlite3_str_appendall(sql, "); INSERT INTO t(c0) VALUES (1), (2)");
  char *text = sqlite3_str_finish(sql);
  execute(db, text);
  sqlite3_free(text);
  execute(db, "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t)");
  assert_answer(db, "SELECT c62 || ' ' || c63 || ' ' || c64 || ' ' || c99 FROM s WHERE c80 = 80",
                "62 63 64 99");
  assert_answer(
      db, "SELECT json_extract(row, '$.c99') + json_extract(row, '$.c39') FROM byte_key_scan('t')",
      "138");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/*
** A column that was added has its default in the statement and not in the row. What the outer query
** keeps of it must outlive the inner statement, which is prepared again for each shape of range.
*/
static void values_outlive_the_inner_statement(void **state) {
  (void)state;
  sqlite3 *db = open_db(":memory:");
  execute(
      db,
      "CREATE TABLE t(k TEXT PRIMARY KEY, v); INSERT INTO t VALUES ('a', 1), ('b', 2), (NULL, 3);"
      "ALTER TABLE t ADD COLUMN d TEXT DEFAULT 'a default value of some length';"
      "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t, key(k));"
      "CREATE TABLE r(r); INSERT INTO r VALUES (byte_key_range('a', 'b')), (byte_key_range('b', "
      "'')), "
      "(byte_key_range('', 'a')), (byte_key_range('b', 'c'))");
  assert_answer(db, "SELECT max(d) || count(*) FROM r CROSS JOIN s WHERE restriction = r",
                "a default value of some length4");
  assert_answer(db,
                "SELECT group_concat(d, '-') FROM (SELECT d FROM r CROSS JOIN s "
                "WHERE restriction = r ORDER BY d, v LIMIT 2)",
                "a default value of some length-a default value of some length");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/*
** For a statement that returns many rows, the place of its values is found only once. All rows must
** still be right, for every form of key, when the statement is run again or prepared again, or when
** the schema changes meanwhile.
*/
static void a_long_scan(void **state) {
  (void)state;
  static const char *const key_columns[] = {"id", "text", "blob", "a, b"};
  static const char *const changes[] = {"SELECT 1", "CREATE TABLE other(x)",
                                        "CREATE INDEX by_b ON t(b, a)", "ANALYZE"};
  for (size_t i = 0; i < sizeof key_columns / sizeof *key_columns; i++) {
    char sql[1000], expected[24];
    sqlite3_int64 last = 0;
    sqlite3 *db = open_db(":memory:");
    snprintf(sql, sizeof sql,
             "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, "
             "  text TEXT NOT NULL UNIQUE, blob BLOB NOT NULL UNIQUE, v, UNIQUE(a, b));"
             "WITH RECURSIVE n(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n WHERE n < 10000) "
             "INSERT INTO t SELECT n, n %% 100, n, printf('%%x', n * 7919 %% 10007), "
             "  CAST(printf('%%x', n * 7907 %% 10007) AS BLOB), "
             "  iif(n %% 4 = 0, n, iif(n %% 4 = 1, n / 8.0, iif(n %% 4 = 2, 'v' || n, NULL))) "
             "FROM n;"
             "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t, key(%s))",
             key_columns[i]);
    execute(db, sql);
    for (size_t j = 0; j < sizeof changes / sizeof *changes; j++) {
      snprintf(sql, sizeof sql,
               "SELECT (SELECT group_concat(quote(v) || id) FROM s) = "
               "(SELECT group_concat(quote(v) || id) FROM (SELECT v, id FROM t ORDER BY %s))",
               key_columns[i]);
      assert_answer(db, sql, "1");
      assert_answer(db, "SELECT count(DISTINCT byte_key) FROM s", "10000");
      sqlite3_stmt *stmt = prepare(db, "SELECT id FROM s WHERE v IS NOT 0");
      assert_int_equal(step_rows(stmt, 5000, &last), 5000);
      execute(db, changes[j]);
      assert_int_equal(step_rows(stmt, 10000, &last), 5000);
      snprintf(expected, sizeof expected, "%lld", last);
      snprintf(sql, sizeof sql, "SELECT id FROM t ORDER BY %s LIMIT 1 OFFSET 9999", key_columns[i]);
      assert_answer(db, sql, expected);
      assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

/* In a file a name means that file's table, whatever the user has in temp. */
static void names_in_a_file_are_of_that_file(void **state) {
  (void)state;
  sqlite3 *db = open_db(path);
  execute(db, "CREATE TABLE named(id INTEGER PRIMARY KEY, x);"
              "INSERT INTO named VALUES (1, 'of the file');"
              "CREATE VIRTUAL TABLE named_scan USING byte_key_scan(named)");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  db = open_db(path);
  execute(db, "CREATE TEMP TABLE named(id INTEGER PRIMARY KEY, x);"
              "INSERT INTO temp.named VALUES (2, 'of temp')");
  char *answer = ask(db, "SELECT group_concat(x) FROM named_scan");
  assert_string_equal(answer, "of the file");
  sqlite3_free(answer);
  execute(db, "CREATE VIRTUAL TABLE temp.mine USING byte_key_scan(named)");
  answer = ask(db, "SELECT group_concat(x) FROM mine");
  assert_string_equal(answer, "of temp");
  sqlite3_free(answer);
  execute(db, "DROP TABLE temp.mine; DROP TABLE temp.named; DROP TABLE named_scan;"
              "DROP TABLE named");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(another_thread_splits_a_running_scan),
      cmocka_unit_test(what_was_not_fetched_was_not_claimed),
      cmocka_unit_test(a_residual_is_read_after_a_restart),
      cmocka_unit_test(an_interrupted_scan_goes_on_where_it_was),
      cmocka_unit_test(rows_behind_are_not_met_and_rows_ahead_not_missed),
      cmocka_unit_test(a_scan_sees_one_snapshot),
      cmocka_unit_test(another_connection_changes_the_schema),
      cmocka_unit_test(resuming_is_one_descent),
      cmocka_unit_test(byte_keys_beside_other_types),
      cmocka_unit_test(read_only_and_immutable_files),
      cmocka_unit_test(why_the_ends_cannot_be_read_is_said),
      cmocka_unit_test(in_utf16_text_is_no_key_but_the_rowid_is),
      cmocka_unit_test(tables_of_many_columns),
      cmocka_unit_test(values_outlive_the_inner_statement),
      cmocka_unit_test(a_long_scan),
      cmocka_unit_test(names_in_a_file_are_of_that_file),
  };
  return cmocka_run_group_tests_name("byte_key_scan", tests, make_folder, remove_folder);
}

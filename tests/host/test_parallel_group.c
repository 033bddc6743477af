/*
** group_by_fields on several threads. It gives the same rows as on one, byte for byte. It uses
** several threads only if that is proved. And the caller's authorizer, interrupt, progress handler
** and closing work as ever.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "effort.h"
#include "tranche.h"

/* --- databases --------------------------------------------------------------------------- */

/* A folder of the test's own, removed with what is in it. */
static char folder[200];

static char *path_of(const char *name) {
  static char path[300];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int make_folder(void **state) {
  (void)state;
  const char *parent = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/parallel_group_XXXXXX", parent == NULL ? "/tmp" : parent);
  return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
  (void)state;
  char command[300];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

static sqlite3 *open_with(const char *name, int flags) {
  sqlite3 *db;
  if (sqlite3_open_v2(name, &db, flags | SQLITE_OPEN_URI, NULL) != SQLITE_OK) {
    fail_msg("%s: %s", name, sqlite3_errmsg(db));
  }
  sqlite3_busy_timeout(db, 10000); /* loading reads the file, and may have to wait */
  assert_int_equal(sqlite3_tranche_init(db, NULL, NULL), SQLITE_OK);
  return db;
}

static sqlite3 *open_db(const char *name) {
  return open_with(path_of(name), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

static void run(sqlite3 *db, const char *sql) {
  char *message = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
}

/* All rows as text, each value with its type: what is equal here is equal to the byte. */
static char *rows_of(sqlite3 *db, const char *sql) {
  sqlite3_stmt *stmt;
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
    return sqlite3_mprintf("error: %s", sqlite3_errmsg(db));
  }
  sqlite3_str *text = sqlite3_str_new(NULL);
  int rc;
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
      int type = sqlite3_column_type(stmt, i);
      sqlite3_str_appendf(text, "%c", " ifsbn"[type]);
      if (type == SQLITE_BLOB) {
        const unsigned char *bytes = sqlite3_column_blob(stmt, i);
        for (int j = 0; j < sqlite3_column_bytes(stmt, i); j++) {
          sqlite3_str_appendf(text, "%02x", bytes[j]);
        }
      } else if (type == SQLITE_FLOAT) {
        sqlite3_str_appendf(text, "%!.17g", sqlite3_column_double(stmt, i));
      } else {
        sqlite3_str_appendf(text, "%s", (const char *)sqlite3_column_text(stmt, i));
      }
      sqlite3_str_appendchar(text, 1, '|');
    }
    sqlite3_str_appendchar(text, 1, '\n');
  }
  if (rc != SQLITE_DONE) {
    sqlite3_str_reset(text);
    sqlite3_str_appendf(text, "error: %s", sqlite3_errmsg(db));
  }
  sqlite3_finalize(stmt);
  char *all = sqlite3_str_finish(text);
  return all == NULL ? sqlite3_mprintf("") : all;
}

static void assert_rows(sqlite3 *db, const char *sql, const char *expected) {
  char *rows = rows_of(db, sql);
  if (strcmp(rows, expected) != 0)
    fail_msg("%s:\n%.2000s\ninstead of\n%.2000s", sql, rows, expected);
  sqlite3_free(rows);
}

/* Rows of i = 1 to n: an integer, a REAL, text, mixed types, and NULLs here and there. */
static void fill(sqlite3 *db, const char *table, long n) {
  char *sql = sqlite3_mprintf(
      "INSERT INTO %s SELECT value, (value * 7919) %% 13, "
      "CASE WHEN value %% 11 = 0 THEN NULL ELSE (value * 31337 %% 1000003) / 8.0 END, "
      "printf('name %%d', value * 7 %% 101), "
      "CASE value %% 5 WHEN 0 THEN value %% 10 WHEN 1 THEN (value %% 10) * 1.0 "
      "WHEN 2 THEN printf('%%d', value %% 10) WHEN 3 THEN NULL ELSE CAST(value %% 10 AS BLOB) END, "
      "CASE WHEN value %% 3 = 0 THEN 'Ab ' ELSE 'aB' END "
      "FROM counting_input(%ld, 1)",
      table, n + 1);
  run(db, sql);
  sqlite3_free(sql);
}

#define COLUMNS \
  "id INTEGER PRIMARY KEY, g INT, r REAL, name TEXT, mixed, folded TEXT COLLATE NOCASE"

/* --- the same rows ----------------------------------------------------------------------- */

typedef struct query {
  const char *by; /* clauses of the key */
  const char *aggregates;
  const char *order;  /* that makes rows comparable */
  const char *native; /* SQLite's own query for the same, or NULL */
} query;

static const query queries[] = {
    {"by_field_names(g)", "count(*) AS c, sum(id) AS s, min(r) AS lo, max(r) AS hi", "1",
     "SELECT g, count(*), sum(id), min(r), max(r) FROM t GROUP BY g ORDER BY 1"},
    {"by_field_names(g, name)", "count(r) AS c, sum(id) AS s", "1, 2",
     "SELECT g, name, count(r), sum(id) FROM t GROUP BY g, name ORDER BY 1, 2"},
    {"by_field_names(id)", "sum(g) AS s", "1", "SELECT id, sum(g) FROM t GROUP BY id ORDER BY 1"},
    {"by_field_names(mixed)", "count(*) AS c, sum(id) AS s", "1",
     "SELECT mixed, count(*), sum(id) FROM t GROUP BY mixed ORDER BY 1"},
    {"by_field_names(folded)", "count(*) AS c", "1",
     "SELECT folded, count(*) FROM t GROUP BY folded ORDER BY 1"},
    {"by_field_names(id % 7 AS e)", "count(*) AS c", "1",
     "SELECT id % 7, count(*) FROM t GROUP BY 1 ORDER BY 1"},
    {"by_field_names(lower(name) AS e)", "count(*) AS c", "1",
     "SELECT lower(name), count(*) FROM t GROUP BY 1 ORDER BY 1"},
    {"globally()", "count(*) AS c, sum(id) AS s", "1", "SELECT count(*), sum(id) FROM t"},
    {"by_field_names(g)", "count(*) AS c, where(r > 50000 AND name LIKE '%7')", "1",
     "SELECT g, count(*) FROM t WHERE r > 50000 AND name LIKE '%7' GROUP BY g ORDER BY 1"},
    {"by_field_names(g)", "count(*) AS c, where(0)", "1",
     "SELECT g, count(*) FROM t WHERE 0 GROUP BY g"},
    {"globally()", "count(*) AS c, sum(id) AS s, where(0)", "1",
     "SELECT count(*), sum(id) FROM t WHERE 0"},
    {"by_field_names(g)",
     "sum(r) AS s, mean(r) AS m, var_samp(r) AS v, stddev_pop(r) AS d, bit_xor(id) AS x", "1",
     NULL},
    {"by_field_names(g)",
     "top_largest(r, 3) AS t, top_smallest(name, 2) AS u, max_by(name, r) AS b, latest(name, id) "
     "AS l",
     "1", NULL},
    {"by_field_names(g)",
     "sample(id, 5) AS s, any_value(name) AS a, approx_count_distinct(id) AS d", "1", NULL},
    {"by_field_names(name)", "sum(r) AS s, mean(id) AS m, emit(accumulators)", "1", NULL},
    {"by_field_names(g)", "max(name) AS m, min(mixed) AS n, max(mixed) AS x", "1", NULL},
};
#define QUERIES (sizeof queries / sizeof *queries)

/* The rows of a query over `source` with so many workers. */
static char *group(sqlite3 *db, const char *source, const query *q, int workers) {
  char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE temp.o USING group_by_fields(%s, %s, %s, "
                              "workers(%d))",
                              source, q->by, q->aggregates, workers);
  run(db, sql);
  sqlite3_free(sql);
  sql = sqlite3_mprintf("SELECT * FROM o ORDER BY %s", q->order);
  char *rows = rows_of(db, sql);
  sqlite3_free(sql);
  run(db, "DROP TABLE temp.o");
  return rows;
}

/* Whether the last run was parallel: else the reason why not. */
static const char *last_reason(sqlite3 *db) {
  static char reason[200];
  char *rows =
      rows_of(db, "SELECT iif(reason IS NULL, 'parallel', reason) FROM tranche_last_run()");
  snprintf(reason, sizeof reason, "%.*s", (int)strcspn(rows + 1, "|"), rows + 1);
  sqlite3_free(rows);
  return reason;
}

static const char descends[] = "the primary key does not lie in ascending order";

static void same_rows_with_any_number_of_workers(void **state) {
  (void)state;
  static const struct {
    const char *sql, *reason;
  } sources[] = {
      {"CREATE TABLE t(" COLUMNS ")", "parallel"},
      {"CREATE TABLE t(id INT, g INT, r REAL, name TEXT, mixed, folded TEXT COLLATE NOCASE, "
       "PRIMARY KEY(name, id)) WITHOUT ROWID",
       "parallel"},
      {"CREATE TABLE t(id INT, g INT, r REAL, name TEXT, mixed, folded TEXT COLLATE NOCASE, "
       "PRIMARY KEY(name DESC, g DESC, id DESC)) WITHOUT ROWID",
       descends},
  };
  static const int workers[] = {2, 3, 16};
  for (size_t s = 0; s < sizeof sources / sizeof *sources; s++) {
    sqlite3 *db = open_db("same.db");
    run(db, "PRAGMA synchronous = off; DROP TABLE IF EXISTS t");
    run(db, sources[s].sql);
    fill(db, "t", test_effort(40000) + 2000);
    for (size_t i = 0; i < QUERIES; i++) {
      char *one = group(db, "t", &queries[i], 1);
      if (queries[i].native != NULL) assert_rows(db, queries[i].native, one);
      for (size_t w = 0; w < sizeof workers / sizeof *workers; w++) {
        char *many = group(db, "t", &queries[i], workers[w]);
        assert_string_equal(last_reason(db), sources[s].reason);
        if (strcmp(one, many) != 0) {
          fail_msg("%s, %s with %d workers:\n%.1000s\ninstead of\n%.1000s", queries[i].by,
                   queries[i].aggregates, workers[w], many, one);
        }
        sqlite3_free(many);
      }
      sqlite3_free(one);
    }
    sqlite3_close(db);
  }
}

/* --- where it may be parallel, and where not --------------------------------------------- */

#define SMALL 3000

static void to_text(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  sqlite3_result_value(context, argv[0]);
}

static int by_length(void *none, int a_size, const void *a, int b_size, const void *b) {
  (void)none, (void)a, (void)b;
  return a_size - b_size;
}

static int ignore_r(void *none, int action, const char *a, const char *b, const char *c,
                    const char *d) {
  (void)none, (void)a, (void)c, (void)d;
  return action == SQLITE_READ && b != NULL && strcmp(b, "r") == 0 ? SQLITE_IGNORE : SQLITE_OK;
}

static void have_function(sqlite3 *db) {
  sqlite3_create_function(db, "own", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, to_text, NULL,
                          NULL);
}

static void have_own_lower(sqlite3 *db) {
  sqlite3_create_function(db, "lower", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, to_text, NULL,
                          NULL);
}

static void have_collation(sqlite3 *db) {
  sqlite3_create_collation(db, "by_length", SQLITE_UTF8, NULL, by_length);
}

static void have_authorizer(sqlite3 *db) {
  sqlite3_set_authorizer(db, ignore_r, NULL);
}

static void have_temp_table(sqlite3 *db) {
  run(db, "CREATE TABLE other(x); INSERT INTO other VALUES (1); "
          "CREATE TEMP TABLE other(x); INSERT INTO temp.other VALUES (2)");
}

static void have_main_table(sqlite3 *db) {
  run(db, "CREATE TABLE other(x); INSERT INTO other VALUES (1)");
}

static void have_temp_source(sqlite3 *db) {
  run(db, "CREATE TEMP TABLE u AS SELECT * FROM t");
}

static void have_index(sqlite3 *db) {
  run(db, "CREATE INDEX t_g ON t(g)");
}

static void have_covering_index(sqlite3 *db) {
  run(db, "CREATE INDEX t_g_id ON t(g, id)");
}

static void have_virtual_table(sqlite3 *db) {
  run(db, "CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t)");
}

static void have_view(sqlite3 *db) {
  run(db, "CREATE VIEW v AS SELECT * FROM t");
}

static void have_transaction(sqlite3 *db) {
  run(db, "BEGIN; INSERT INTO t(id, g) VALUES (-5, 99)");
}

static void have_read_transaction(sqlite3 *db) {
  run(db, "BEGIN; SELECT count(*) FROM t");
}

static void have_wal(sqlite3 *db) {
  run(db, "PRAGMA journal_mode = wal");
}

static void have_wal_and_read(sqlite3 *db) {
  run(db, "PRAGMA journal_mode = wal; BEGIN; SELECT count(*) FROM t");
}

static void have_exclusive_lock(sqlite3 *db) {
  run(db, "PRAGMA locking_mode = exclusive; UPDATE t SET g = g WHERE id = 1");
}

static void have_attached(sqlite3 *db) {
  char *sql = sqlite3_mprintf("ATTACH %Q AS more", path_of("attached.db"));
  run(db, sql);
  sqlite3_free(sql);
  run(db, "CREATE TABLE IF NOT EXISTS more.u(" COLUMNS "); DELETE FROM more.u; "
          "INSERT INTO more.u SELECT * FROM t");
}

static void have_moved_file(sqlite3 *db) {
  char from[300];
  snprintf(from, sizeof from, "%s", sqlite3_db_filename(db, "main"));
  assert_int_equal(rename(from, path_of("elsewhere.db")), 0);
}

static void have_case_sensitive_like(sqlite3 *db) {
  run(db, "PRAGMA case_sensitive_like = on");
}

/* The lowest integer, as such and as a REAL, which no affinity turns into an integer. */
static void have_two_looks(sqlite3 *db) {
  run(db, "UPDATE t SET g = CASE WHEN id < 1600 THEN -9223372036854775807 - 1 "
          "ELSE -9223372036854775808.0 END");
}

static void have_shared_cache(sqlite3 *db) {
  run(db, "PRAGMA read_uncommitted = on");
}

static const struct {
  const char *what;
  void (*prepare)(sqlite3 *db);
  const char *source, *by, *aggregates;
  const char *reason;
} places[] = {
    {"a plain file", NULL, "t", "by_field_names(g)", "count(*) AS c", "parallel"},
    {"WAL", have_wal, "t", "by_field_names(g)", "count(*) AS c", "parallel"},
    {"a transaction that reads", have_read_transaction, "t", "by_field_names(g)", "count(*) AS c",
     "parallel"},
    {"the same in WAL", have_wal_and_read, "t", "by_field_names(g)", "count(*) AS c",
     "the file is being written, and one snapshot for all could not be proved"},
    {"an attached file", have_attached, "more.u", "by_field_names(g)", "count(*) AS c", "parallel"},
    {"a subquery in the same file", have_main_table, "t", "by_field_names(g)",
     "count(*) AS c, where(EXISTS (SELECT 1 FROM other WHERE x = g))", "parallel"},
    {"changes that are not committed", have_transaction, "t", "by_field_names(g)", "count(*) AS c",
     "the connection has changes that are not committed"},
    {"a temp table", have_temp_source, "u", "by_field_names(g)", "count(*) AS c",
     "the database is in memory or temporary"},
    {"a temp table that hides another", have_temp_table, "t", "by_field_names(g)",
     "count(*) AS c, where(g IN (SELECT x FROM other))",
     "another connection would run another program"},
    {"a locked file", have_exclusive_lock, "t", "by_field_names(g)", "count(*) AS c",
     "another connection cannot read the file (locked, encrypted, or not permitted)"},
    {"a moved file", have_moved_file, "t", "by_field_names(g)", "count(*) AS c",
     "the file was moved or deleted"},
    {"a function of the program", have_function, "t", "by_field_names(own(g) AS o)",
     "count(*) AS c", "another connection cannot prepare the statement"},
    {"a function in place of SQLite's", have_own_lower, "t", "by_field_names(lower(name) AS l)",
     "count(*) AS c", "a function is the program's own, or not deterministic"},
    {"another LIKE", have_case_sensitive_like, "t", "by_field_names(g)",
     "count(*) AS c, where(name LIKE 'NAME%')",
     "a function is the program's own, or not deterministic"},
    {"a collation of the program", have_collation, "t",
     "by_field_names(name COLLATE by_length AS n)", "count(*) AS c",
     "the order of rows shows in the result"},
    {"a column that the authorizer blanks", have_authorizer, "t", "by_field_names(g)",
     "sum(r) AS s", "another connection would run another program"},
    {"random()", NULL, "t", "by_field_names(g)", "count(*) AS c, where(random() IS NOT NULL)",
     "a function is the program's own, or not deterministic"},
    {"changes()", NULL, "t", "by_field_names(changes() AS n)", "count(*) AS c",
     "a function is the program's own, or not deterministic"},
    {"the present time", NULL, "t", "by_field_names(date('now') > '2000' AS n)", "count(*) AS c",
     "the present time is read"},
    {"no time at all", NULL, "t", "by_field_names(strftime('%Y') > '2000' AS n)", "count(*) AS c",
     "the present time is read"},
    {"no time, in capitals", NULL, "t", "by_field_names(STRFTIME('%Y') > '2000' AS n)",
     "count(*) AS c", "the present time is read"},
    {"no time, a comma in the format", NULL, "t",
     "by_field_names(\"strftime\"('%Y,%m') > '2000' AS n)", "count(*) AS c",
     "the present time is read"},
    {"no time, in fractions of a second", NULL, "t",
     "by_field_names(julianday( 'SubSec' ) > 1 AS n)", "count(*) AS c", "the present time is read"},
    {"the same with a format", NULL, "t",
     "by_field_names(strftime('%Y', 'subsecond', 'subsec') > '2000' AS n)", "count(*) AS c",
     "the present time is read"},
    {"a time in fractions of a second", NULL, "t",
     "by_field_names(strftime('%Y', id, 'subsec') AS n)", "count(*) AS c", "parallel"},
    {"a time that is a call", NULL, "t",
     "by_field_names(strftime('%Y', abs(id), 'unixepoch') AS n)", "count(*) AS c", "parallel"},
    {"another time", NULL, "t", "by_field_names(strftime('%Y', id) AS n)", "count(*) AS c",
     "parallel"},
    {"rows by an index", have_index, "t", "by_field_names(g)", "count(*) AS c, where(g = 3)",
     "SQLite finds the rows by an index"},
    {"an index that has all", have_covering_index, "t", "by_field_names(g)", "sum(id) AS s",
     "SQLite reads an index in place of the table"},
    {"a view", have_view, "v", "by_field_names(g)", "count(*) AS c", "the source is a view"},
    {"a virtual table", have_virtual_table, "s", "by_field_names(g)", "count(*) AS c",
     "the source is a virtual table"},
    {"rows in their order", NULL, "t", "by_field_names(g)", "where(id < 50)",
     "the order of rows shows in the result"},
    {"keys that look different", have_two_looks, "t", "by_field_names(g)", "count(*) AS c",
     "a group has keys that are equal and look different, and shows the first"},
    {"reading uncommitted changes", have_shared_cache, "t", "by_field_names(g)", "count(*) AS c",
     "the connection reads uncommitted changes of others, or may not be asked"},
};

static void parallel_only_where_it_is_the_same(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    char name[40];
    snprintf(name, sizeof name, "place%d.db", (int)i);
    sqlite3 *db = open_db(name);
    run(db, "PRAGMA synchronous = off; CREATE TABLE t(" COLUMNS ")");
    fill(db, "t", SMALL);
    if (places[i].prepare != NULL) places[i].prepare(db);
    query q = {places[i].by, places[i].aggregates, "1", NULL};
    char *many = group(db, places[i].source, &q, 3);
    if (strcmp(last_reason(db), places[i].reason) != 0) {
      fail_msg("%s: %s instead of %s (%.200s)", places[i].what, last_reason(db), places[i].reason,
               many);
    }
    char *one = group(db, places[i].source, &q, 1);
    if (strcmp(one, many) != 0) fail_msg("%s:\n%s\ninstead of\n%s", places[i].what, many, one);
    sqlite3_free(one);
    sqlite3_free(many);
    sqlite3_close(db);
  }
}

/* The ways a file can be opened. */
/*
** A primary key that is not stored in ascending order. Rows would come out of a sorter, and the
** first row is the one with the last key.
*/
static void descending_keys(void **state) {
  (void)state;
  static const char *const keys[] = {"a DESC, b", "a, b DESC", "a DESC, b DESC", "b DESC, a"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    for (int workers = 1; workers <= 16; workers *= 4) {
      sqlite3 *db = open_db("descending.db");
      char *sql = sqlite3_mprintf(
          "DROP TABLE IF EXISTS t;"
          "CREATE TABLE t(a TEXT, b INTEGER, v, PRIMARY KEY(%s)) WITHOUT ROWID;"
          "INSERT INTO t SELECT 'x' || (value %% 3), value, "
          "CASE WHEN value < 100 THEN 1.0 * (value %% 7) ELSE value %% 7 END "
          "FROM counting_input(%ld);"
          "CREATE VIRTUAL TABLE temp.o USING group_by_fields(t, by_field_names(v), count(*) AS n, "
          "sum(b) AS s, workers(%d));"
          "CREATE VIRTUAL TABLE temp.p USING group_by_fields(t, by_field_names(v), count(*) AS n, "
          "sum(b) AS s, where(b %% 2 = 0), workers(%d))",
          keys[i], test_effort(28000) + 2000, workers, workers);
      run(db, sql);
      sqlite3_free(sql);
      char *expected = rows_of(db, "SELECT v, count(*), sum(b) FROM t GROUP BY v ORDER BY v");
      assert_rows(db, "SELECT * FROM o ORDER BY v", expected);
      sqlite3_free(expected);
      assert_string_equal(last_reason(db), workers == 1 ? "there is one worker" : descends);
      expected = rows_of(db, "SELECT v, count(*), sum(b) FROM t WHERE b % 2 = 0 GROUP BY v "
                             "ORDER BY v");
      assert_rows(db, "SELECT * FROM p ORDER BY v", expected);
      sqlite3_free(expected);
      assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
  }
}

/*
** A worker that takes a range from another meets later rows first. So it cannot know which look of
** a key comes first.
*/
static void looks_do_not_depend_on_who_steals(void **state) {
  (void)state;
  sqlite3 *db = open_db("looks.db");
  long rows = test_effort(90000) + 10000, other = rows / 100 * 55;
  char *fill_table = sqlite3_mprintf(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, g INTEGER);"
      "INSERT INTO t SELECT value, CASE WHEN value BETWEEN %ld AND %ld "
      "THEN -9223372036854775808.0 ELSE 1 END FROM counting_input(%ld);"
      "INSERT INTO t SELECT 200000 + value, -9223372036854775807 - 1 FROM counting_input(100);",
      other, other + 9, rows);
  run(db, fill_table);
  sqlite3_free(fill_table);
  char *expected = rows_of(db, "SELECT g, count(*) FROM t GROUP BY g ORDER BY g");
  for (int workers = 1; workers <= 16; workers++) {
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE temp.o USING group_by_fields(t, "
                                "by_field_names(g), count(*) AS n, workers(%d))",
                                workers);
    run(db, sql);
    sqlite3_free(sql);
    for (long i = test_effort(5); i > 0; i--) {
      assert_rows(db, "SELECT * FROM o ORDER BY g", expected);
    }
    run(db, "DROP TABLE temp.o");
  }
  sqlite3_free(expected);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A statement that is kept, as Python keeps them, is proved again each time, however old it is. */
static void a_kept_statement_stays_parallel(void **state) {
  (void)state;
  sqlite3 *db = open_db("kept.db"), *writer = open_db("kept.db");
  run(db, "PRAGMA journal_mode = wal; CREATE TABLE t(" COLUMNS ")");
  fill(db, "t", 20000);
  run(db, "CREATE VIRTUAL TABLE temp.o USING group_by_fields(t, by_field_names(g), count(*) AS n, "
          "workers(2))");
  sqlite3_stmt *stmt;
  assert_int_equal(sqlite3_prepare_v2(db, "SELECT sum(n) FROM o", -1, &stmt, NULL), SQLITE_OK);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(stmt, 0), 20000 + i);
    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    assert_int_equal(sqlite3_reset(stmt), SQLITE_OK);
    assert_string_equal(last_reason(db), "parallel");
    run(writer, "INSERT INTO t(g) VALUES (1)");
  }
  sqlite3_finalize(stmt);
  assert_int_equal(sqlite3_close(writer), SQLITE_OK);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void assert_no_log(const char *name) {
  char path[340];
  snprintf(path, sizeof path, "%s-wal", path_of(name));
  assert_int_equal(access(path, F_OK), -1);
}

/*
** The last connection to a file in WAL mode writes the log back and removes it, which a connection
** for reading cannot. So ours are closed before the caller's, and do not outlive the tables of
** groups. Afterwards the file alone has everything.
*/
static void the_log_is_written_back(void **state) {
  (void)state;
  static const struct {
    const char *query;
    int is_attached;
  } uses[] = {
      {"CREATE VIRTUAL TABLE temp.o USING group_by_fields(t, by_field_names(g), count(*) AS n, "
       "workers(2)); SELECT sum(n) FROM o",
       0},
      {"CREATE VIRTUAL TABLE temp.o USING group_by_fields(t, by_field_names(g), count(*) AS n); "
       "EXPLAIN SELECT sum(n) FROM o",
       0},
      {"SELECT sum(value) FROM group_by_fields('t', 'g', 'count(*)')", 0},
      {"CREATE VIRTUAL TABLE temp.o USING group_by_fields(s.t, by_field_names(g), count(*) AS n, "
       "workers(2)); SELECT sum(n) FROM o; DROP TABLE o; DETACH s",
       1},
  };
  for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
    char name[40];
    snprintf(name, sizeof name, "log%d.db", (int)i);
    sqlite3 *db = open_db(name);
    run(db, "PRAGMA journal_mode = wal; CREATE TABLE t(" COLUMNS ")");
    fill(db, "t", 20000);
    if (uses[i].is_attached) {
      assert_int_equal(sqlite3_close(db), SQLITE_OK);
      char *attach = sqlite3_mprintf("ATTACH '%q' AS s", path_of(name));
      db = open_db("other.db");
      run(db, attach);
      run(db, "INSERT INTO s.t(g) VALUES (1)");
      sqlite3_free(attach);
    }
    run(db, uses[i].query);
    if (!uses[i].is_attached) {
      run(db, "INSERT INTO t(g) VALUES (1)");
      assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
    assert_no_log(name);
    if (uses[i].is_attached) assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

/*
** An index in another order than the table's: the first row is that of the index, with any number
** of workers.
*/
static void the_first_row_is_the_one_that_sqlite_meets(void **state) {
  (void)state;
  sqlite3 *db = open_db("covering.db");
  run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, b, name TEXT COLLATE NOCASE, pad);"
          "INSERT INTO t SELECT value, -value, CASE WHEN value < 10000 THEN 'ann' ELSE 'Ann' END, "
          "zeroblob(100) FROM counting_input(20000);"
          "CREATE INDEX i ON t(b, name)");
  char *expected = rows_of(db, "SELECT name, count(*) FROM t GROUP BY name");
  for (int workers = 1; workers <= 16; workers *= 2) {
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE temp.o USING group_by_fields(t, "
                                "by_field_names(name), count(*) AS n, workers(%d))",
                                workers);
    run(db, sql);
    sqlite3_free(sql);
    assert_rows(db, "SELECT * FROM o", expected);
    run(db, "DROP TABLE temp.o");
  }
  sqlite3_free(expected);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/*
** Otherwise it would be computed for each piece. A subquery that depends on the row is no reason.
*/
static void subqueries_are_worked_out_once(void **state) {
  (void)state;
  static const struct {
    const char *where, *reason;
  } cases[] = {
      {"r IN (SELECT r FROM t WHERE g = 1)",
       "a subquery is worked out once, and would be for each piece"},
      {"r > (SELECT r FROM t ORDER BY id LIMIT 1)",
       "a subquery is worked out once, and would be for each piece"},
      {"EXISTS (SELECT 1 FROM t AS u WHERE u.id = t.id + 1)", "parallel"},
      {"g IN (1, 2, 3, 5, 7)", "parallel"},
  };
  sqlite3 *db = open_db("subqueries.db");
  run(db, "CREATE TABLE t(" COLUMNS ")");
  fill(db, "t", 5000);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE temp.o USING group_by_fields(t, "
                                "by_field_names(g), count(*) AS n, where(%s), workers(2))",
                                cases[i].where);
    run(db, sql);
    sqlite3_free(sql);
    sql =
        sqlite3_mprintf("SELECT g, count(*) FROM t WHERE %s GROUP BY g ORDER BY g", cases[i].where);
    char *expected = rows_of(db, sql);
    sqlite3_free(sql);
    assert_rows(db, "SELECT * FROM o ORDER BY g", expected);
    assert_string_equal(last_reason(db), cases[i].reason);
    sqlite3_free(expected);
    run(db, "DROP TABLE temp.o");
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void files_opened_in_other_ways(void **state) {
  (void)state;
  static const struct {
    const char *parameters;
    int flags;
    const char *reason;
  } ways[] = {
      {"", SQLITE_OPEN_READONLY, "parallel"},
      {"?mode=ro", SQLITE_OPEN_READWRITE, "parallel"},
      {"?immutable=1", SQLITE_OPEN_READONLY, "parallel"},
      {"?cache=shared", SQLITE_OPEN_READWRITE, "parallel"},
      {"?vfs=unix", SQLITE_OPEN_READWRITE, "parallel"},
      {"?nolock=1", SQLITE_OPEN_READWRITE, "the file is opened without locks (nolock)"},
      {"?vfs=unix-none", SQLITE_OPEN_READWRITE, "the file's VFS is not one of SQLite's own"},
  };
  sqlite3 *db = open_db("a b%c.db");
  run(db, "CREATE TABLE t(" COLUMNS ")");
  fill(db, "t", SMALL);
  sqlite3_close(db);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    char uri[400];
    snprintf(uri, sizeof uri, "file:%s/a%%20b%%25c.db%s", folder, ways[i].parameters);
    db = open_with(uri, ways[i].flags);
    char *one = group(db, "t", &queries[0], 1), *many = group(db, "t", &queries[0], 2);
    if (strcmp(last_reason(db), ways[i].reason) != 0) {
      fail_msg("%s: %s", ways[i].parameters, last_reason(db));
    }
    assert_string_equal(one, many);
    sqlite3_free(one);
    sqlite3_free(many);
    sqlite3_close(db);
  }
  db = open_with(":memory:", SQLITE_OPEN_READWRITE);
  run(db, "CREATE TABLE t(" COLUMNS ")");
  fill(db, "t", SMALL);
  sqlite3_free(group(db, "t", &queries[0], 2));
  assert_string_equal(last_reason(db), "the database is in memory or temporary");
  sqlite3_close(db);
}

static void results_can_be_stored(void **state) {
  (void)state;
  sqlite3 *db = open_db("stored.db");
  run(db, "CREATE TABLE t(" COLUMNS ")");
  fill(db, "t", SMALL);
  run(db, "CREATE VIRTUAL TABLE temp.o USING group_by_fields(t, by_field_names(g), count(*) AS c, "
          "workers(2)); CREATE TABLE kept AS SELECT * FROM o");
  assert_string_equal(last_reason(db), "the connection has changes that are not committed");
  run(db, "CREATE TEMP TABLE kept_for_now AS SELECT * FROM o");
  assert_string_equal(last_reason(db), "parallel");
  assert_rows(db, "SELECT count(*) FROM (SELECT * FROM kept EXCEPT SELECT * FROM kept_for_now)",
              "i0|\n");
  assert_rows(db,
              "SELECT count(*), sum(value ->> 'c') FROM group_by_fields('t', 'g', 'count(*) AS c', "
              "NULL, 2)",
              "i13|i3000|\n");
  assert_string_equal(last_reason(db), "parallel");
  sqlite3_close(db);
}

/* --- one snapshot ------------------------------------------------------------------------ */

/*
** Another process that moves amounts between distant rows and adds rows in pairs. It makes one
** commit after another until it is told to end, either with a pause after each, some thousand times
** a second, or as fast as it can.
*/
static pid_t start_writer(const char *name, const char *mode, int pauses) {
  pid_t writer = fork();
  if (writer != 0) return writer;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* never longer than the test */
  sqlite3 *db;
  char sql[300];
  int rc = sqlite3_open(path_of(name), &db);
  sqlite3_busy_timeout(db, 10000);
  snprintf(sql, sizeof sql, "PRAGMA journal_mode = %s; PRAGMA synchronous = off", mode);
  if (rc == SQLITE_OK) rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
  for (int i = 0; rc == SQLITE_OK && i < 1000000; i++) {
    snprintf(sql, sizeof sql,
             "BEGIN IMMEDIATE; UPDATE account SET v = v + %d WHERE id = %d;"
             "UPDATE account SET v = v - %d WHERE id = %d; INSERT INTO account VALUES (%d, %d), "
             "(%d, %d);"
             "COMMIT",
             i, 1 + i * 7 % 100, i, 19900 + i * 3 % 100, -1 - i, i, 1000000 + i, -i);
    rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    struct timespec pause = {.tv_nsec = 300000};
    if (pauses) nanosleep(&pause, NULL);
  }
  _exit(rc == SQLITE_OK ? 0 : 1);
}

static void totals_are_of_one_committed_state(void **state) {
  (void)state;
  static const char *const modes[] = {"wal", "delete", "wal", "delete"};
  for (size_t m = 0; m < 4; m++) {
    int pauses = m < 2;
    char name[40], sql[200];
    snprintf(name, sizeof name, "writer%d.db", (int)m);
    sqlite3 *db = open_db(name);
    snprintf(sql, sizeof sql, "PRAGMA journal_mode = %s; PRAGMA synchronous = off", modes[m]);
    run(db, sql);
    run(db, "CREATE TABLE account(id INTEGER PRIMARY KEY, v INT);"
            "INSERT INTO account SELECT value, 100 FROM counting_input(20001, 1)");
    sqlite3_close(db);
    pid_t writer = start_writer(name, modes[m], pauses);
    assert_true(writer > 0);
    db = open_db(name);
    run(db, "CREATE VIRTUAL TABLE temp.o USING group_by_fields(account, globally(),"
            " sum(v) AS s, count(*) AS c, workers(3))");
    int parallel = 0, total = (int)test_effort(300);
    for (int i = 0; i < total; i++) {
      assert_rows(db, "SELECT s, c % 2 FROM o", "i2000000|i0|\n");
      parallel += strcmp(last_reason(db), "parallel") == 0;
    }
    kill(writer, SIGKILL);
    int status;
    waitpid(writer, &status, 0);
    print_message("  %s, %s: %d of %d runs were parallel\n", modes[m],
                  pauses ? "a commit now and then" : "commits without a pause", parallel, total);
    if (m == 0) assert_true(parallel > 0);
    sqlite3_close(db);
  }
}

/* --- what the caller has a say in -------------------------------------------------------- */

/* A query that takes a while: every row hashes some text. */
#define SLOW_QUERY                                                              \
  "CREATE VIRTUAL TABLE temp.slow USING group_by_fields(t, by_field_names(g), " \
  "sum(length(hex(zeroblob(20000 + id % 2)))) AS s, workers(3))"

typedef struct watcher {
  const char *name;
  sqlite3 *caller;
  int interrupts;
  atomic_int is_seen;
} watcher;

/* Waits until the run is in tranche_progress of another connection, with some rows done. */
static void *watch(void *pointer) {
  watcher *w = pointer;
  sqlite3 *db = open_db(w->name);
  for (int i = 0; i < 100000 && !w->is_seen; i++) {
    char *rows = rows_of(db, "SELECT source, workers, rows > 0, fraction > 0 AND fraction <= 1, "
                             "rows_per_second > 0, seconds_left >= 0 FROM tranche_progress");
    w->is_seen = strcmp(rows, "smain.t|i3|i1|i1|i1|i1|\n") == 0;
    sqlite3_free(rows);
    struct timespec pause = {.tv_nsec = 200000};
    nanosleep(&pause, NULL);
  }
  if (w->interrupts) sqlite3_interrupt(w->caller);
  sqlite3_close(db);
  return NULL;
}

static int threads_alive(void) {
  struct stat status;
  return stat("/proc/self/task", &status) == 0 ? (int)status.st_nlink - 2 : 1;
}

static sqlite3 *open_slow(const char *name) {
  sqlite3 *db = open_db(name);
  run(db, "PRAGMA synchronous = off; DROP TABLE IF EXISTS t; CREATE TABLE t(" COLUMNS ")");
  fill(db, "t", test_effort(20000) + 2000);
  run(db, SLOW_QUERY);
  return db;
}

static void others_see_progress_and_may_interrupt(void **state) {
  (void)state;
  for (int interrupts = 0; interrupts < 2; interrupts++) {
    sqlite3 *db = open_slow("watched.db");
    int threads_before = threads_alive();
    watcher w = {"watched.db", db, interrupts, 0};
    pthread_t thread;
    pthread_create(&thread, NULL, watch, &w);
    char *rows = rows_of(db, "SELECT count(s) FROM slow");
    pthread_join(thread, NULL);
    assert_true(w.is_seen);
    assert_string_equal(rows, interrupts ? "error: interrupted" : "i13|\n");
    sqlite3_free(rows);
    assert_int_equal(threads_alive(), threads_before);
    /* And it can be asked again. */
    assert_rows(db, "SELECT count(*) FROM slow WHERE g = 100", "i0|\n");
    sqlite3_close(db);
  }
}

static int stop_soon(void *calls) {
  return ++*(int *)calls > 20;
}

static void a_progress_handler_stops_all(void **state) {
  (void)state;
  sqlite3 *db = open_slow("handler.db");
  int calls = 0;
  sqlite3_stmt *stmt;
  assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(s) FROM slow", -1, &stmt, NULL), SQLITE_OK);
  sqlite3_progress_handler(db, 100, stop_soon, &calls);
  assert_int_equal(sqlite3_step(stmt), SQLITE_INTERRUPT);
  assert_int_equal(sqlite3_finalize(stmt), SQLITE_INTERRUPT);
  sqlite3_progress_handler(db, 0, NULL, NULL);
  sqlite3_close(db);
}

static int deny_r(void *none, int action, const char *a, const char *b, const char *c,
                  const char *d) {
  return ignore_r(none, action, a, b, c, d) == SQLITE_IGNORE ? SQLITE_DENY : SQLITE_OK;
}

static int deny_other(void *none, int action, const char *a, const char *b, const char *c,
                      const char *d) {
  (void)none, (void)b, (void)c, (void)d;
  return action == SQLITE_READ && a != NULL && strcmp(a, "other") == 0 ? SQLITE_DENY : SQLITE_OK;
}

static int deny_lower(void *none, int action, const char *a, const char *b, const char *c,
                      const char *d) {
  (void)none, (void)a, (void)c, (void)d;
  return action == SQLITE_FUNCTION && strcmp(b, "lower") == 0 ? SQLITE_DENY : SQLITE_OK;
}

static void the_authorizer_decides(void **state) {
  (void)state;
  sqlite3 *db = open_db("authorizer.db");
  run(db, "CREATE TABLE t(" COLUMNS ")");
  fill(db, "t", SMALL);
  run(db, "CREATE VIRTUAL TABLE temp.o USING group_by_fields(t, by_field_names(g), sum(r) AS s, "
          "workers(2))");
  sqlite3_set_authorizer(db, deny_r, NULL);
  assert_rows(db, "SELECT count(*), sum(s) FROM o",
              "error: group_by_fields: access to t.r is prohibited");
  sqlite3_set_authorizer(db, ignore_r, NULL);
  assert_rows(db, "SELECT count(*), sum(s) FROM o", "i13|n|\n");
  /* Another table, and a function, that only the workers' statement would read. */
  sqlite3_set_authorizer(db, NULL, NULL);
  run(db, "CREATE TABLE other(x); INSERT INTO other VALUES (1), (2);"
          "CREATE VIRTUAL TABLE temp.p USING group_by_fields(t, by_field_names(g), count(*) AS c,"
          " where(EXISTS (SELECT 1 FROM other WHERE x = g)), workers(2));"
          "CREATE VIRTUAL TABLE temp.q USING group_by_fields(t, by_field_names(lower(name) AS l),"
          " count(*) AS c, workers(2))");
  assert_rows(db, "SELECT count(*) FROM p", "i2|\n");
  assert_string_equal(last_reason(db), "parallel");
  assert_rows(db, "SELECT count(*) FROM q", "i101|\n");
  assert_string_equal(last_reason(db), "parallel");
  sqlite3_set_authorizer(db, deny_other, NULL);
  assert_rows(db, "SELECT count(*) FROM p",
              "error: group_by_fields: access to other.x is prohibited");
  sqlite3_set_authorizer(db, deny_lower, NULL);
  assert_rows(
      db, "SELECT count(*) FROM q",
      "error: group_by_fields: key field (lower(name)): not authorized to use function: lower");
  sqlite3_close(db);
}

static void the_error_of_a_worker_is_told(void **state) {
  (void)state;
  sqlite3 *db = open_db("error.db");
  run(db, "CREATE TABLE t(" COLUMNS ")");
  fill(db, "t", SMALL);
  run(db, "UPDATE t SET name = '{bad' WHERE id = 2222");
  run(db, "UPDATE t SET name = '{}' WHERE id <> 2222");
  query q = {"by_field_names(json_extract(name, '$.a') AS a)", "count(*) AS c", "1", NULL};
  char *one = group(db, "t", &q, 1), *many = group(db, "t", &q, 3);
  assert_string_equal(one, "error: group_by_fields: malformed JSON");
  assert_string_equal(many, one);
  sqlite3_free(one);
  sqlite3_free(many);
  /* The limit of memory is one for all workers. */
  q = (query){"by_field_names(id)", "count(*) AS c, memory(60000)", "1", NULL};
  one = group(db, "t", &q, 1);
  many = group(db, "t", &q, 3);
  assert_string_equal(one,
                      "error: group_by_fields: the groups need more than the limit of 60000 bytes");
  assert_string_equal(many, one);
  sqlite3_free(one);
  sqlite3_free(many);
  sqlite3_close(db);
}

static void a_fork_is_survived(void **state) {
  (void)state;
  static sqlite3 *db; /* reachable in the child too, which must not close it */
  db = open_db("fork.db");
  run(db, "CREATE TABLE t(" COLUMNS ")");
  fill(db, "t", SMALL);
  char *before = group(db, "t", &queries[0], 3);
  assert_string_equal(last_reason(db), "parallel");
  int threads_before = threads_alive();
  pid_t child = fork();
  if (child == 0) {
    /* The parent's connection is not the child's to use, but its own is as good as any. */
    sqlite3 *own = open_db("fork.db");
    char *rows = group(own, "t", &queries[0], 3);
    int is_right = strcmp(rows, before) == 0 && strcmp(last_reason(own), "parallel") == 0;
    sqlite3_free(rows);
    sqlite3_close(own);
    _exit(is_right ? 0 : 1);
  }
  char *after = group(db, "t", &queries[0], 3);
  assert_string_equal(after, before);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  sqlite3_free(before);
  sqlite3_free(after);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  assert_int_equal(threads_alive(), threads_before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_rows_with_any_number_of_workers),
      cmocka_unit_test(parallel_only_where_it_is_the_same),
      cmocka_unit_test(descending_keys),
      cmocka_unit_test(looks_do_not_depend_on_who_steals),
      cmocka_unit_test(a_kept_statement_stays_parallel),
      cmocka_unit_test(the_log_is_written_back),
      cmocka_unit_test(the_first_row_is_the_one_that_sqlite_meets),
      cmocka_unit_test(subqueries_are_worked_out_once),
      cmocka_unit_test(files_opened_in_other_ways),
      cmocka_unit_test(results_can_be_stored),
      cmocka_unit_test(totals_are_of_one_committed_state),
      cmocka_unit_test(others_see_progress_and_may_interrupt),
      cmocka_unit_test(a_progress_handler_stops_all),
      cmocka_unit_test(the_authorizer_decides),
      cmocka_unit_test(the_error_of_a_worker_is_told),
      cmocka_unit_test(a_fork_is_survived),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

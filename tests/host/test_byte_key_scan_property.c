/*
** byte_key_scan against a plain SELECT from the table, which is always right. Tables are random:
** keys of every kind, columns of every affinity with values of every type. So are WHERE terms,
** joins, restrictions and splits.
*/
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "effort.h"
#include "test_random.h"
#include "tranche.h"
#include "wide_reals.h"

/* --- SQL ---------------------------------------------------------------------------------- */

/* cmocka cuts long messages, and these are what there is to go by. */
static void complain(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vfprintf(stderr, format, values);
  va_end(values);
  fputc('\n', stderr);
  fail();
}

static void execute(sqlite3 *db, const char *sql) {
  char *message = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
    complain("%s\n%s", message, sql);
  }
}

/* All rows of a query, a line each, columns as SQL literals. NULL if it fails. */
static char *rows_of(sqlite3 *db, const char *sql, int *count) {
  sqlite3_stmt *stmt;
  sqlite3_str *text = sqlite3_str_new(NULL);
  *count = 0;
  int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
  if (rc != SQLITE_OK) complain("%s\n%s", sqlite3_errmsg(db), sql);
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    sqlite3_str_appendf(text, "%s\n", (const char *)sqlite3_column_text(stmt, 0));
    ++*count;
  }
  sqlite3_finalize(stmt);
  char *rows = sqlite3_str_finish(text);
  if (rows == NULL) rows = sqlite3_mprintf("%s", "");
  if (rc == SQLITE_DONE) return rows;
  sqlite3_free(rows);
  return NULL;
}

/* --- Random tables ------------------------------------------------------------------------ */

/* A key: the table's declaration around it, and how it is named. */
typedef struct key_kind {
  const char *table; /* CREATE TABLE t(%s) %s, with the other columns */
  const char *key;   /* the clause, or "" */
  const char *columns[3];
  int holds_blobs_alone; /* raw blobs: other values are an error */
} key_kind;

static const key_kind kinds[] = {
    {"id INTEGER PRIMARY KEY, %s", "", {"id"}, 0},
    {"%s", "", {"q.rowid"}, 0},
    {"k TEXT PRIMARY KEY, %s", ", key(k)", {"k"}, 0},
    {"k TEXT NOT NULL UNIQUE, %s", ", key(k)", {"k"}, 0},
    {"k TEXT PRIMARY KEY, %s", ", key(byte_key(k))", {"k"}, 0},
    {"k BLOB PRIMARY KEY, %s", ", key(k)", {"k"}, 1},
    {"k BLOB NOT NULL UNIQUE, %s", ", key(byte_key(k))", {"k"}, 0},
    {"k UNIQUE, %s", ", key(k)", {"k"}, 0},
    {"k INT UNIQUE, %s", ", key(k)", {"k"}, 0},
    {"k REAL NOT NULL, UNIQUE(k DESC), %s", ", key(k)", {"k"}, 0},
    {"k NUMERIC, l, UNIQUE(k, l), %s", ", key(k, l)", {"k", "l"}, 0},
    {"k TEXT, l INT, m, UNIQUE(k, l, m), %s", ", key(k, l, m)", {"k", "l", "m"}, 0},
    {"k INT NOT NULL, l TEXT, UNIQUE(k, l DESC), %s", ", key(k, l)", {"k", "l"}, 0},
    {"k TEXT PRIMARY KEY, %s, WITHOUT", "", {"k"}, 0},
    {"k BLOB PRIMARY KEY, %s, WITHOUT", "", {"k"}, 1},
    {"k INT, l TEXT, PRIMARY KEY(k, l), %s, WITHOUT", "", {"k", "l"}, 0},
    {"k, l, PRIMARY KEY(l DESC, k), %s, WITHOUT", "", {"l", "k"}, 0},
    {"k TEXT COLLATE NOCASE, l, UNIQUE(k COLLATE BINARY, l), %s", ", key(k, l)", {"k", "l"}, 0},
};

static const char *const data_columns = "a INTEGER, b TEXT, c, d TEXT COLLATE NOCASE, e REAL";
static const char *const data_names[] = {"a", "b", "c", "d", "e"};

/* A value as an SQL literal. Few different ones, so that terms hit rows. */
static const char *literal(test_random *random) {
  static const char *const literals[] = {"NULL",
                                         "0",
                                         "1",
                                         "-1",
                                         "2",
                                         "3",
                                         "1.0",
                                         "1.5",
                                         "-0.0",
                                         "2.5",
                                         "9e999",
                                         "-9e999",
                                         "'a'",
                                         "'A'",
                                         "'b'",
                                         "'aa'",
                                         "''",
                                         "'1'",
                                         "'1.0'",
                                         "' 2'",
                                         "'-1'",
                                         "'3x'",
                                         "'~'",
                                         "x''",
                                         "x'00'",
                                         "x'61'",
                                         "x'ff'",
                                         "x'0000'",
                                         "x'31'",
                                         "x'6100'",
                                         "char(0)",
                                         "char(0,97)",
                                         "9007199254740993",
                                         "9007199254740992.0",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "9223372036854775808.0",
                                         "-9.3e18",
                                         "CAST(x'ff61' AS TEXT)",
                                         "CAST(x'80' AS TEXT)",
                                         "'zz'",
                                         "char(97,0,98)"};
  const char *chosen;
  do {
    chosen = literals[test_random_below(random, sizeof literals / sizeof literals[0])];
  } while (!is_comparable(chosen));
  return chosen;
}

static const char *key_literal(test_random *random, const key_kind *kind) {
  static const char *const blobs[] = {"x'00'",   "x'0000'", "x'01'", "x'61'", "x'6100'",
                                      "x'61ff'", "x'7f'",   "x'80'", "x'ff'", "x'ffff'"};
  /* Now and then something else, which must be refused and not lost. */
  if (kind->holds_blobs_alone && test_random_below(random, 60) != 0) {
    return blobs[test_random_below(random, sizeof blobs / sizeof blobs[0])];
  }
  return literal(random);
}

static int is_rowid_key(const key_kind *kind) {
  return strcmp(kind->columns[0], "id") == 0 || strcmp(kind->columns[0], "q.rowid") == 0;
}

static int key_columns(const key_kind *kind) {
  int count = 0;
  while (count < 3 && kind->columns[count] != NULL) count++;
  return count;
}

static void fill(sqlite3 *db, test_random *random, const key_kind *kind) {
  long rows = (long)test_random_below(random, 60);
  for (long i = 0; i < rows; i++) {
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendall(sql, "INSERT OR IGNORE INTO t(");
    for (int c = 0; c < key_columns(kind); c++) {
      sqlite3_str_appendf(sql, "%s, ", kind->columns[c][1] == '.' ? "rowid" : kind->columns[c]);
    }
    sqlite3_str_appendall(sql, "a, b, c, d, e) VALUES(");
    for (int c = 0; c < key_columns(kind); c++) {
      if (is_rowid_key(kind)) {
        static const char *const ids[] = {"-9223372036854775808", "9223372036854775807", "0"};
        if (test_random_below(random, 8) == 0) {
          sqlite3_str_appendf(sql, "%s, ", ids[test_random_below(random, 3)]);
        } else {
          sqlite3_str_appendf(sql, "%d, ", (int)test_random_below(random, 100) - 50);
        }
      } else {
        sqlite3_str_appendf(sql, "%s, ", key_literal(random, kind));
      }
    }
    for (int c = 0; c < 5; c++) {
      sqlite3_str_appendf(sql, "%s%s", literal(random), c < 4 ? ", " : ")");
    }
    char *text = sqlite3_str_finish(sql);
    execute(db, text);
    sqlite3_free(text);
  }
}

static void create(sqlite3 *db, test_random *random, const key_kind *kind) {
  char *columns = sqlite3_mprintf(kind->table, data_columns);
  char *without = strstr(columns, ", WITHOUT");
  if (without != NULL) *without = '\0';
  /* Constraints come after columns. */
  char *constraint = strstr(columns, ", UNIQUE(");
  if (constraint == NULL) constraint = strstr(columns, ", PRIMARY KEY(");
  char *sql;
  if (constraint != NULL) {
    char *end = strchr(constraint, ')');
    sql = sqlite3_mprintf("CREATE TABLE t(%.*s%s%.*s)%s", (int)(constraint - columns), columns,
                          end + 1, (int)(end + 1 - constraint), constraint,
                          without != NULL ? " WITHOUT ROWID" : "");
  } else {
    sql = sqlite3_mprintf("CREATE TABLE t(%s)%s", columns, without != NULL ? " WITHOUT ROWID" : "");
  }
  execute(db, sql);
  sqlite3_free(sql);
  sqlite3_free(columns);
  if (test_random_below(random, 3) == 0) execute(db, "CREATE INDEX t_b ON t(b)");
  if (test_random_below(random, 3) == 0) execute(db, "CREATE INDEX t_d ON t(d, a)");
  fill(db, random, kind);
  if (test_random_below(random, 3) == 0) execute(db, "ANALYZE");
  execute(db, "CREATE TABLE j(x INTEGER, y TEXT, z)");
  for (int i = 0; i < 4; i++) {
    /*
    ** The numeric column holds no text: a virtual table cannot know what that would mean beside a
    ** TEXT column (host/key_constraints.h).
    */
    char *row = sqlite3_mprintf("INSERT INTO j VALUES(CAST(%s AS NUMERIC), %s, %s)",
                                literal(random), literal(random), literal(random));
    execute(db, row);
    sqlite3_free(row);
  }
  sql = sqlite3_mprintf("CREATE VIRTUAL TABLE temp.s USING byte_key_scan(t%s)", kind->key);
  execute(db, sql);
  sqlite3_free(sql);
}

/* --- Random terms ------------------------------------------------------------------------- */

static const char *any_column(test_random *random, const key_kind *kind) {
  if (test_random_below(random, 2) == 0) {
    return kind->columns[test_random_below(random, (uint64_t)key_columns(kind))];
  }
  return data_names[test_random_below(random, 5)];
}

static const char *const comparisons[] = {"=", "<", "<=", ">", ">=", "<>", "IS", "IS NOT"};

enum { COMPARISONS = sizeof comparisons / sizeof comparisons[0] };

static void append_term(sqlite3_str *sql, test_random *random, const key_kind *kind) {
  const char *column = any_column(random, kind);
  const char *operator= comparisons[test_random_below(random, COMPARISONS)];
  switch (test_random_below(random, 14)) {
  case 0:
    sqlite3_str_appendf(sql, "%s BETWEEN %s AND %s", column, literal(random), literal(random));
    break;
  case 1:
    sqlite3_str_appendf(sql, "%s IN (%s, %s, %s)", column, literal(random), literal(random),
                        literal(random));
    break;
  case 2: sqlite3_str_appendf(sql, "%s %s NULL", column, operator); break;
  case 3: sqlite3_str_appendf(sql, "%s LIKE %%s'a%%'", column); break;
  case 4:
    sqlite3_str_appendf(sql, "%s %s %s COLLATE NOCASE", column, operator, literal(random));
    break;
  case 5:
    sqlite3_str_appendf(sql, "%s %s CAST(%s AS TEXT)", column, operator, literal(random));
    break;
  case 6:
    sqlite3_str_appendf(sql, "%s %s CAST(%s AS INT)", column, operator, literal(random));
    break;
  case 7:
    sqlite3_str_appendf(sql, "(%s %s %s OR %s = %s)", column, operator, literal(random),
                        any_column(random, kind), literal(random));
    break;
  case 8: sqlite3_str_appendf(sql, "%s GLOB %%s'a*'", column); break;
  case 9: sqlite3_str_appendf(sql, "%s LIKE 'a%%%%' ESCAPE '!'", column); break;
  case 10: sqlite3_str_appendf(sql, "%s COLLATE BINARY GLOB 'a*'", column); break;
  default: sqlite3_str_appendf(sql, "%s %s %s", column, operator, literal(random));
  }
}

/*
** A join with j, on either side. What is in the ON of an outer join removes no row from the side
** that is kept, although SQLite offers some of it to virtual tables as if it were in WHERE.
*/
static void append_join(sqlite3_str *sql, test_random *random, const key_kind *kind) {
  static const char *const joins[] = {"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"};
  static const char *const joined[] = {"x", "y", "z"};
  const char *join = joins[test_random_below(random, 4)];
  int is_first = test_random_below(random, 2) == 0;
  sqlite3_str_appendf(sql, is_first ? " FROM %%w AS q %s j ON " : " FROM j %s %%w AS q ON ", join);
  uint64_t form = test_random_below(random, 3);
  if (form > 0) {
    sqlite3_str_appendf(sql, "%s %s %s", any_column(random, kind),
                        comparisons[test_random_below(random, COMPARISONS)],
                        joined[test_random_below(random, 3)]);
  }
  if (form == 2) sqlite3_str_appendall(sql, " AND ");
  if (form != 1) append_term(sql, random, kind);
}

/*
** A SELECT from %w, the same for the table and for the scan, except that for the table each %s
** becomes a +. One %s is before the columns of its ORDER BY: SQLite takes a column that equals a
** constant for ordered, which is wrong if '1' and '1.0' equal 1. One is before patterns: if SQLite
** 3.40 reads the range of a pattern's beginning, it loses the rows of a RIGHT JOIN that have no
** match. The caller frees the text.
*/
static char *random_query(test_random *random, const key_kind *kind, int *is_ordered) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  uint64_t shape = test_random_below(random, 8);
  int has_join = shape == 0 || shape >= 5;
  sqlite3_str_appendall(sql, "SELECT ");
  for (int c = 0; c < key_columns(kind); c++) {
    sqlite3_str_appendf(sql, "quote(%s) || '|' || ", kind->columns[c]);
  }
  if (shape == 1) {
    sqlite3_str_appendall(sql, "''");
  } else {
    sqlite3_str_appendall(sql, "quote(a) || quote(b) || quote(c) || quote(d) || quote(e)");
  }
  if (has_join) sqlite3_str_appendall(sql, " || quote(x) || quote(y) || quote(z)");
  if (has_join) {
    append_join(sql, random, kind);
  } else {
    sqlite3_str_appendall(sql, " FROM %w AS q");
  }
  uint64_t terms = test_random_below(random, 4);
  for (uint64_t i = 0; i < terms; i++) {
    sqlite3_str_appendall(sql, i == 0 ? " WHERE " : " AND ");
    append_term(sql, random, kind);
  }
  *is_ordered = !has_join && test_random_below(random, 2) == 0;
  if (*is_ordered) {
    sqlite3_str_appendall(sql, " ORDER BY ");
    for (int c = 0; c < key_columns(kind); c++) {
      sqlite3_str_appendf(sql, "%s%%s%s COLLATE BINARY%s", c == 0 ? "" : ", ", kind->columns[c],
                          test_random_below(random, 6) == 0 ? " DESC" : "");
    }
    sqlite3_str_appendall(sql, ", 1");
  } else {
    sqlite3_str_appendall(sql, " ORDER BY 1");
  }
  return sqlite3_str_finish(sql);
}

/* Puts the table's name in, and `plus` before what is ordered by. */
static char *put_table(const char *query, const char *table, const char *plus) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  for (const char *at = query; *at != '\0'; at++) {
    if (at[0] != '%' || (at[1] != 'w' && at[1] != 's')) {
      sqlite3_str_appendchar(sql, 1, *at);
    } else {
      sqlite3_str_appendall(sql, *++at == 'w' ? table : plus);
    }
  }
  return sqlite3_str_finish(sql);
}

/* Whether the table has rows that its key cannot have. */
static int has_refused_rows(sqlite3 *db, const key_kind *kind) {
  int count = 0;
  if (!kind->holds_blobs_alone) return 0;
  sqlite3_free(rows_of(db, "SELECT 1 FROM t WHERE typeof(k) <> 'blob' OR k = x''", &count));
  return count > 0;
}

static void check_queries(sqlite3 *db, test_random *random, const key_kind *kind, long *compared) {
  for (int i = 0; i < 12; i++) {
    int is_ordered;
    char *query = random_query(random, kind, &is_ordered);
    char *native = put_table(query, "t", "+");
    char *scan = put_table(query, "s", "");
    int native_count, scan_count;
    char *expected = rows_of(db, native, &native_count);
    char *got = rows_of(db, scan, &scan_count);
    char *message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    assert_non_null(expected);
    if (got == NULL && strstr(message, "use key(byte_key(...))") != NULL) {
      assert_true(has_refused_rows(db, kind));
    } else if (got == NULL || strcmp(got, expected) != 0) {
      complain("key: %s%s\n%s\nnative:\n%sscan:\n%s%s", kind->table, kind->key, scan, expected,
               got == NULL ? message : got, "");
    } else {
      ++*compared;
    }
    sqlite3_free(message);
    sqlite3_free(expected);
    sqlite3_free(got);
    sqlite3_free(native);
    sqlite3_free(scan);
    sqlite3_free(query);
  }
}

/* --- Restrictions ------------------------------------------------------------------------- */

static const char all_rows[] =
    "SELECT group_concat(r, char(10)) FROM (SELECT %s AS r FROM %s AS q ORDER BY 1)";

/* The rows' keys and data as one expression. */
static char *row_expression(const key_kind *kind) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  for (int c = 0; c < key_columns(kind); c++) {
    sqlite3_str_appendf(sql, "quote(%s) || ", kind->columns[c]);
  }
  sqlite3_str_appendall(sql, "quote(a) || quote(b) || quote(c)");
  return sqlite3_str_finish(sql);
}

static void assert_same_as_table(sqlite3 *db, const key_kind *kind, const char *what) {
  char *row = row_expression(kind);
  char *sql = sqlite3_mprintf(all_rows, row, "t");
  int count;
  char *expected = rows_of(db, sql, &count);
  sqlite3_free(sql);
  sql = sqlite3_mprintf(all_rows, "r", "read");
  char *got = rows_of(db, sql, &count);
  sqlite3_free(sql);
  if (strcmp(expected, got) != 0) {
    complain("%s, key: %s%s\ntable:\n%s\nread:\n%s", what, kind->table, kind->key, expected, got);
  }
  sqlite3_free(expected);
  sqlite3_free(got);
  sqlite3_free(row);
  execute(db, "DELETE FROM read");
}

/* Random bounds: keys of rows, with something appended or cut off, and any bytes. */
static void make_bounds(sqlite3 *db, test_random *random) {
  execute(db, "DELETE FROM bound");
  uint64_t count = test_random_below(random, 6);
  for (uint64_t i = 0; i < count; i++) {
    char *sql;
    uint64_t byte = test_random_below(random, 256);
    switch (test_random_below(random, 5)) {
    case 0:
      sql = sqlite3_mprintf("INSERT INTO bound SELECT byte_key FROM s ORDER BY random() LIMIT 1");
      break;
    case 1:
      sql = sqlite3_mprintf("INSERT INTO bound SELECT CAST(byte_key || x'%02x' AS BLOB) FROM s "
                            "ORDER BY random() LIMIT 1",
                            (int)byte);
      break;
    case 2:
      sql = sqlite3_mprintf("INSERT INTO bound SELECT substr(byte_key, 1, %d) FROM s "
                            "ORDER BY random() LIMIT 1",
                            1 + (int)test_random_below(random, 12));
      break;
    case 3:
      sql = sqlite3_mprintf(
          "INSERT INTO bound VALUES(range_interpolate('{\"start\":\"\",\"end\":\"\"}',"
          "%d/256.0))",
          (int)byte);
      break;
    default:
      sql =
          sqlite3_mprintf("INSERT INTO bound VALUES(substr(byte_key(%s, %s), 1, %d))",
                          literal(random), literal(random), 1 + (int)test_random_below(random, 20));
    }
    execute(db, sql);
    sqlite3_free(sql);
  }
}

static void check_restrictions(sqlite3 *db, const key_kind *kind, test_random *random) {
  char *row = row_expression(kind);
  make_bounds(db, random);
  char *sql = sqlite3_mprintf(
      "INSERT INTO read SELECT %s FROM (WITH b(k) AS (SELECT DISTINCT k FROM bound WHERE k <> x'' "
      "UNION SELECT x'' ) "
      "SELECT byte_key_range(k, coalesce(lead(k) OVER (ORDER BY k), x'')) AS piece FROM b) "
      "CROSS JOIN s AS q ON q.restriction = piece",
      row);
  execute(db, sql);
  sqlite3_free(sql);
  assert_same_as_table(db, kind, "restrictions");
  sqlite3_free(row);
}

/* A walk in steps by name, which is split now and then. The residuals are read afterwards. */
static void check_walk(sqlite3 *db, const key_kind *kind, test_random *random) {
  char *row = row_expression(kind);
  char *step =
      sqlite3_mprintf("INSERT INTO read SELECT %s FROM s AS q WHERE tracker = 'w' LIMIT %d", row,
                      1 + (int)test_random_below(random, 9));
  execute(db, "DELETE FROM residual");
  int count = 1;
  while (count > 0) {
    execute(db, step);
    count = sqlite3_changes(db);
    if (test_random_below(random, 4) == 0) {
      execute(db, test_random_below(random, 3) == 0
                      ? "INSERT INTO residual SELECT tracker_checkpoint('w')"
                      : "INSERT INTO residual SELECT tracker_try_split('w', 0.3)");
    }
  }
  execute(db, "SELECT tracker_check_done('w'), tracker_close('w')");
  char *rest = sqlite3_mprintf(
      "INSERT INTO read SELECT %s FROM residual CROSS JOIN s AS q ON q.restriction = residual.r",
      row);
  execute(db, rest);
  assert_same_as_table(db, kind, "walk");
  sqlite3_free(rest);
  sqlite3_free(step);
  sqlite3_free(row);
}

static void any_query_of_any_table(void **state) {
  (void)state;
  test_random random = test_random_begin("byte_key_scan and native SELECT");
  long compared = 0;
  long tables = test_effort(2000);
  for (long i = 0; i < tables; i++) {
    const key_kind *kind = &kinds[test_random_below(&random, sizeof kinds / sizeof kinds[0])];
    sqlite3 *db;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_tranche_init(db, NULL, NULL), SQLITE_OK);
    create(db, &random, kind);
    check_queries(db, &random, kind, &compared);
    if (!has_refused_rows(db, kind)) {
      execute(db, "CREATE TEMP TABLE read(r); CREATE TEMP TABLE bound(k); "
                  "CREATE TEMP TABLE residual(r)");
      for (int j = 0; j < 3; j++) check_restrictions(db, kind, &random);
      check_walk(db, kind, &random);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
  printf("%ld queries over %ld tables\n", compared, tables);
  assert_true(compared > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_query_of_any_table),
  };
  return cmocka_run_group_tests_name("byte_key_scan by properties", tests, NULL, NULL);
}

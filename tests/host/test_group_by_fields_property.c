/*
** group_by_fields against SQLite's own GROUP BY, over random schemas, rows and queries: the same
** rows, each value of the same type, in any order. Also conditions on key fields, in every way in
** which the query can compare them, and paths into JSON against json_extract.
**
** The rows avoid what SQLite does not promise: REAL sums that round, and the key that a group shows
** beside min() or max(). (SQLite then shows the row of the minimum, we show the first one.)
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <time.h>

#include "database.h"
#include "effort.h"
#include "wide_reals.h"

static sqlite3 *db;
static uint64_t random_state;

static unsigned below(unsigned n) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (unsigned)(random_state >> 33) % n;
}

static const char *pick(const char *const *from, unsigned count) {
  return from[below(count)];
}
#define PICK(array) pick(array, sizeof(array) / sizeof *(array))

/* --- texts that are built and compared -------------------------------------------------------- */

typedef struct lines {
  char **items;
  size_t count, capacity;
} lines;

static void lines_add(lines *l, char *item) {
  if (l->count == l->capacity) {
    l->capacity = l->capacity == 0 ? 16 : 2 * l->capacity;
    l->items = realloc(l->items, l->capacity * sizeof *l->items);
    if (l->items == NULL) abort();
  }
  l->items[l->count++] = item;
}

static void lines_free(lines *l) {
  for (size_t i = 0; i < l->count; i++) sqlite3_free(l->items[i]);
  free(l->items);
  *l = (lines){0};
}

static int compare_lines(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
** All rows of a query, each as one text with types, sorted. `values` are bound to its parameters.
*/
static lines rows_of(const char *sql, sqlite3_value *const *values) {
  lines rows = {0};
  sqlite3_stmt *stmt;
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
    fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  }
  for (int i = 0; i < sqlite3_bind_parameter_count(stmt); i++) {
    sqlite3_bind_value(stmt, i + 1, values[i]);
  }
  int rc;
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    sqlite3_str *row = sqlite3_str_new(NULL);
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
      int type = sqlite3_column_type(stmt, i);
      sqlite3_str_appendf(row, "%s%d:", i == 0 ? "" : "|", type);
      if (type == SQLITE_FLOAT) {
        sqlite3_str_appendf(row, "%!.17g", sqlite3_column_double(stmt, i));
        continue;
      }
      const uint8_t *bytes =
          type == SQLITE_TEXT ? sqlite3_column_text(stmt, i) : sqlite3_column_blob(stmt, i);
      for (int j = 0; j < sqlite3_column_bytes(stmt, i); j++) {
        sqlite3_str_appendf(row, bytes[j] < 32 || bytes[j] > 126 ? "\\%02x" : "%c", bytes[j]);
      }
    }
    lines_add(&rows, sqlite3_str_finish(row));
  }
  if (rc != SQLITE_DONE) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  sqlite3_finalize(stmt);
  if (rows.count > 0) qsort(rows.items, rows.count, sizeof *rows.items, compare_lines);
  return rows;
}

/* Rows are sorted: the first one that differs is in one of the two alone. */
static void assert_same_rows(const char *ours, const char *theirs, sqlite3_value *const *values,
                             const char *create) {
  lines a = rows_of(ours, values), b = rows_of(theirs, values);
  size_t i = 0;
  while (i < a.count && i < b.count && strcmp(a.items[i], b.items[i]) == 0) i++;
  if (i < a.count || i < b.count) {
    int is_ours = i == b.count || (i < a.count && strcmp(a.items[i], b.items[i]) < 0);
    lines schema =
        rows_of("SELECT sql FROM main.sqlite_schema UNION ALL SELECT sql FROM aux.sqlite_schema "
                "UNION ALL SELECT sql FROM temp.sqlite_schema",
                NULL);
    for (size_t l = 0; l < schema.count; l++) print_error("%s\n", schema.items[l]);
    print_error("%s;\n%s;\n%s;\n", create, ours, theirs);
    fail_msg("the %s has %zu rows of %zu and alone %s", is_ours ? "first" : "second",
             is_ours ? a.count : b.count, is_ours ? b.count : a.count,
             is_ours ? a.items[i] : b.items[i]);
  }
  lines_free(&a);
  lines_free(&b);
}

/* --- random tables ---------------------------------------------------------------------------- */

#define COLUMNS 5 /* k0 ... k4 are grouped by; i, r, x are aggregated */

static const char *const types[] = {"", "INT", "TEXT", "REAL", "NUMERIC", "BLOB", "VARCHAR(10)"};
static const char *const computed_types[] = {"", "TEXT", "BLOB", "VARCHAR(10)"};
static const char *const collations[] = {
    "", "", "", " COLLATE NOCASE", " COLLATE RTRIM", " COLLATE BINARY", " COLLATE REVERSE"};
static const char *const generated[] = {"lower(k0)", "k0 || '' COLLATE NOCASE", "typeof(k1)",
                                        "k1 + 0", "substr(k0, 1, 1)"};
static const char *const key_values[] = {"NULL",
                                         "NULL",
                                         "0",
                                         "1",
                                         "1.0",
                                         "-0.0",
                                         "0.5",
                                         "'1'",
                                         "'1.0'",
                                         "'a'",
                                         "'A'",
                                         "'b'",
                                         "'B '",
                                         "'b '",
                                         "'b'",
                                         "''",
                                         "' '",
                                         "x''",
                                         "x'61'",
                                         "x'00'",
                                         "'\xc3\xa4'",
                                         "9007199254740993",
                                         "9007199254740992.0",
                                         "'a' || char(0) || 'c'",
                                         "'A' || char(0) || 'b'",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "9.3e18",
                                         "9e999",
                                         "'abcdefgh'"};
enum { KEY_VALUES = sizeof key_values / sizeof *key_values };

/* One of the first `kinds` of them. */
static const char *key_value(unsigned kinds) {
  const char *value = pick(key_values, kinds);
  while (!is_comparable(value)) value = pick(key_values, kinds);
  return value;
}

static const char *const integers[] = {"0", "1", "-1", "7", "1000000", "-123456789", "NULL"};
static const char *const reals[] = {"0.125", "-2.375", "1000.625", "NULL", "3.875"};
static const char *const mixed[] = {"NULL",     "5",     "-7",      "2.125", "'abc'", "'12'",
                                    "'3.5xyz'", "x'31'", "'-4.25'", "''",    "' 9 '"};

static int has_index;

/* Makes tables main.t or aux.t, a view over it, and rows. */
static void make_table(const char *schema) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  int is_without_rowid = below(4) == 0, has_generated = below(3) == 0;
  sqlite3_str_appendf(sql, "CREATE TABLE %s.t(id INTEGER PRIMARY KEY, i INT, r REAL, x", schema);
  for (int c = 0; c < COLUMNS; c++) {
    if (c >= 2 && has_generated && below(2)) {
      /*
      ** SQLite 3.40 is no oracle for columns that are computed and numeric. Its window functions
      ** turn a REAL into an INTEGER, and if two columns have one expression the second may get the
      ** affinity of the first.
      */
      sqlite3_str_appendf(sql, ", k%d %s AS (%s) %s", c, PICK(computed_types), PICK(generated),
                          below(2) ? "STORED" : "VIRTUAL");
    } else {
      sqlite3_str_appendf(sql, ", k%d %s%s", c, PICK(types), PICK(collations));
    }
  }
  sqlite3_str_appendf(sql, ")%s", is_without_rowid ? " WITHOUT ROWID" : "");
  char *text = sqlite3_str_finish(sql);
  database_must(db, text);
  sqlite3_free(text);
  has_index = below(3) == 0;
  for (int i = 0; i < 2; i++) {
    text = sqlite3_mprintf("CREATE INDEX %s.i%d ON t(k%d, k%d)", schema, i, below(COLUMNS),
                           below(COLUMNS));
    if (has_index) database_must(db, text);
    sqlite3_free(text);
  }
  text = sqlite3_mprintf("CREATE VIEW %s.v AS SELECT k1 AS k0, k0 AS k1, k2 || '' AS k2, k3, "
                         "coalesce(k4, k3) AS k4, i, r, x FROM t WHERE i IS NOT 7",
                         schema);
  database_must(db, text);
  sqlite3_free(text);
}

static void fill_table(const char *schema) {
  unsigned rows = below(5) == 0 ? below(3) : below(120);
  unsigned kinds = 2 + below(KEY_VALUES - 1);
  char *columns = NULL;
  lines names =
      rows_of("SELECT name FROM pragma_table_xinfo('t') WHERE hidden = 0 AND name LIKE 'k_'", NULL);
  for (size_t i = 0; i < names.count; i++) {
    columns = sqlite3_mprintf("%z, %s", columns == NULL ? sqlite3_mprintf("") : columns,
                              names.items[i] + 2);
  }
  for (unsigned r = 0; r < rows; r++) {
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendf(sql, "INSERT INTO %s.t(id, i, r, x%s) VALUES (%u, %s, %s, %s", schema,
                        columns == NULL ? "" : columns, r, PICK(integers), PICK(reals),
                        PICK(mixed));
    for (size_t i = 0; i < names.count; i++) {
      sqlite3_str_appendf(sql, ", %s", key_value(kinds));
    }
    sqlite3_str_appendchar(sql, 1, ')');
    char *text = sqlite3_str_finish(sql);
    database_must(db, text);
    sqlite3_free(text);
  }
  sqlite3_free(columns);
  lines_free(&names);
}

/* --- random queries ---------------------------------------------------------------------- */

static const struct {
  const char *ours, *theirs;
  int is_extremum;
} aggregates[] = {
    {"count(*)", "count(*)", 0},
    {"count(x)", "count(x)", 0},
    {"count(k0)", "count(k0)", 0},
    {"sum(i)", "sum(i)", 0},
    {"sum(r)", "sum(r)", 0},
    {"sum(x)", "sum(x)", 0},
    {"sum(i * 2 + 1)", "sum(i * 2 + 1)", 0},
    {"mean(i)", "avg(i)", 0},
    {"mean(r)", "avg(r)", 0},
    {"mean(x)", "avg(x)", 0},
    {"min(i)", "min(i)", 1},
    {"max(x)", "max(x)", 1},
    {"min(x)", "min(x)", 1},
    {"count(*) FILTER (WHERE i > 0)", "count(*) FILTER (WHERE i > 0)", 0},
    {"sum(x) FILTER (WHERE r IS NOT NULL)", "sum(x) FILTER (WHERE r IS NOT NULL)", 0},
    {"max(i) FILTER (WHERE x < 3)", "max(i) FILTER (WHERE x < 3)", 1},
};
#define AGGREGATES (sizeof aggregates / sizeof *aggregates)

static const char *const conditions[] = {"i > 0", "x IS NOT NULL AND k0 <> 'a'", "r < 100 OR i = 7",
                                         "k1 IN ('a', 1, 'b')", "0"};

typedef struct query {
  char *create, *theirs;
  int key_count;
  int has_expressions; /* among the key fields */
} query;

/* A query twice: as group_by_fields in temp.ours, and as a SELECT with GROUP BY. */
static query make_query(const char *schema) {
  const char *source = below(3) == 0 ? "v" : "t";
  sqlite3_str *keys = sqlite3_str_new(NULL), *ours = sqlite3_str_new(NULL),
              *theirs = sqlite3_str_new(NULL);
  query q = {.key_count = (int)below(4), .has_expressions = source[0] == 'v'};
  int has_extremum = 0;
  unsigned count = 1 + below(4);
  for (unsigned i = 0; i < count; i++) {
    unsigned a = below(AGGREGATES);
    has_extremum |= aggregates[a].is_extremum;
    sqlite3_str_appendf(ours, ", %s AS a%u", aggregates[a].ours, i);
    sqlite3_str_appendf(theirs, "%s%s AS a%u", i == 0 ? "" : ", ", aggregates[a].theirs, i);
  }
  /* Beside min and max only keys whose equal values look the same. */
  unsigned first = below(COLUMNS);
  for (int i = 0; i < q.key_count; i++) {
    unsigned c = (first + (unsigned)i) % COLUMNS;
    if (has_extremum) {
      q.has_expressions = 1;
      sqlite3_str_appendf(keys, "%stypeof(k%u) || hex(k%u) AS g%d", i == 0 ? "" : ", ", c, c, i);
    } else if (below(4) == 0) {
      sqlite3_str_appendf(keys, "%sk%u AS g%d", i == 0 ? "" : ", ", c, i);
    } else {
      sqlite3_str_appendf(keys, "%sk%u", i == 0 ? "" : ", ", c);
    }
  }
  const char *where = below(2) ? PICK(conditions) : NULL;
  char *key_text = sqlite3_str_finish(keys), *our_text = sqlite3_str_finish(ours),
       *their_text = sqlite3_str_finish(theirs);
  q.create = sqlite3_mprintf(
      "CREATE VIRTUAL TABLE temp.ours USING group_by_fields(%s.%s, %s%s%s%s%s%s%s)", schema, source,
      q.key_count == 0 ? "globally(" : "by_field_names(", q.key_count == 0 ? "" : key_text, ")",
      our_text, where == NULL ? "" : ", where(", where == NULL ? "" : where,
      where == NULL ? "" : ")");
  sqlite3_str *by = sqlite3_str_new(NULL);
  for (int i = 0; i < q.key_count; i++) {
    sqlite3_str_appendf(by, "%s%d", i == 0 ? " GROUP BY " : ", ", i + 1);
  }
  char *by_text = sqlite3_str_finish(by);
  q.theirs = sqlite3_mprintf("SELECT %s%s%s FROM %s.%s%s%s%s", q.key_count == 0 ? "" : key_text,
                             q.key_count == 0 ? "" : ", ", their_text, schema, source,
                             where == NULL ? "" : " WHERE ", where == NULL ? "" : where,
                             by_text == NULL ? "" : by_text);
  sqlite3_free(key_text);
  sqlite3_free(our_text);
  sqlite3_free(their_text);
  sqlite3_free(by_text);
  return q;
}

/*
** The columns of `q`, made comparable: equal values look the same. (If SQLite uses an index, for a
** condition or for a part of the key, another row of a group is its first.)
*/
static char *shown_columns(void) {
  sqlite3_str *columns = sqlite3_str_new(NULL);
  lines names = rows_of("SELECT name FROM pragma_table_info('ours')", NULL);
  for (size_t i = 0; i < names.count; i++) {
    const char *name = names.items[i] + 2;
    sqlite3_str_appendf(columns,
                        "%sCASE typeof(q.%s) WHEN 'text' THEN rtrim(lower(printf('%%s', q.%s))) "
                        "WHEN 'integer' THEN CAST(q.%s AS REAL) ELSE q.%s END",
                        i == 0 ? "" : ", ", name, name, name, name);
  }
  lines_free(&names);
  return sqlite3_str_finish(columns);
}

/*
** Conditions on the key fields of both, compared with values, parameters and columns of any
** affinity. Not with columns if the field is an expression, since an expression has no affinity at
** all, which a column of a virtual table cannot imitate. Not with another collation if there is an
** index, since the result then depends on the row that a group shows.
*/
static void check_conditions(const query *q) {
  static const char *const operators[] = {"=", "<", "<=", ">", ">=", "IS", "<>", "IS NOT"};
  static const char *const forms[] = {"%s %s %s COLLATE NOCASE",
                                      "%s COLLATE RTRIM %s %s",
                                      "%s %s %s",
                                      "%s %s ?1",
                                      "%s %s o.i",
                                      "%s %s o.t",
                                      "%s %s o.n",
                                      "%s %s o.b"};
  char *shown = shown_columns();
  unsigned first = has_index ? 2 : 0, last = q->has_expressions ? 4 : 8;
  for (int round = 0; round < 6; round++) {
    char column[10], condition[200];
    sqlite3_stmt *stmt;
    char *key = sqlite3_mprintf("SELECT name FROM pragma_table_info('ours') WHERE cid = %d",
                                (int)below((unsigned)q->key_count));
    snprintf(column, sizeof column, "%s", database_text(db, key));
    sqlite3_free(key);
    char *value = sqlite3_mprintf("SELECT %s", key_value(KEY_VALUES));
    sqlite3_prepare_v2(db, value, -1, &stmt, NULL);
    sqlite3_step(stmt);
    sqlite3_value *bound = sqlite3_value_dup(sqlite3_column_value(stmt, 0));
    sqlite3_finalize(stmt);
    switch (below(5)) {
    case 4:
      snprintf(condition, sizeof condition, "%s = %s OR %s >= %s OR %s IS NULL", column,
               key_value(KEY_VALUES), column, key_value(KEY_VALUES), column);
      break;
    case 0:
      snprintf(condition, sizeof condition, "%s IN (%s, %s, ?1)", column, key_value(KEY_VALUES),
               key_value(KEY_VALUES));
      break;
    case 1:
      snprintf(condition, sizeof condition, "%s %s", column, below(2) ? "IS NULL" : "IS NOT NULL");
      break;
    default:
      snprintf(condition, sizeof condition, pick(forms + first, last - first), column,
               PICK(operators), key_value(KEY_VALUES));
    }
    char *ours = sqlite3_mprintf("SELECT %s FROM ours AS q, o WHERE %s", shown, condition);
    char *theirs =
        sqlite3_mprintf("SELECT %s FROM (%s) AS q, o WHERE %s", shown, q->theirs, condition);
    assert_same_rows(ours, theirs, &bound, q->create);
    sqlite3_free(ours);
    sqlite3_free(theirs);
    sqlite3_free(value);
    sqlite3_value_free(bound);
  }
  sqlite3_free(shown);
}

static void check_all(const query *q) {
  if (!has_index) {
    assert_same_rows("SELECT * FROM ours", q->theirs, NULL, q->create);
    return;
  }
  char *shown = shown_columns();
  char *ours = sqlite3_mprintf("SELECT %s FROM ours AS q", shown);
  char *theirs = sqlite3_mprintf("SELECT %s FROM (%s) AS q", shown, q->theirs);
  assert_same_rows(ours, theirs, NULL, q->create);
  sqlite3_free(ours);
  sqlite3_free(theirs);
  sqlite3_free(shown);
}

/* A collation that only SQLite can compare by: it compares texts from their ends, without case. */
static int compare_reversed(void *unused, int a_size, const void *a, int b_size, const void *b) {
  (void)unused;
  const uint8_t *x = a, *y = b;
  for (int i = 0; i < a_size && i < b_size; i++) {
    int c = x[a_size - 1 - i] | 32, d = y[b_size - 1 - i] | 32;
    if (c != d) return c - d;
  }
  return a_size - b_size;
}

static void open_database(void) {
  static const char *const encodings[] = {"UTF-8", "UTF-8", "UTF-16le"};
  db = database_open(":memory:", 0);
  /*
  ** With its Bloom filter, SQLite 3.38 to 3.40 may lose rows whose texts differ in length under
  ** RTRIM.
  */
  database_must(db, "PRAGMA automatic_index = off");
  char *pragma = sqlite3_mprintf("PRAGMA encoding = '%s'", PICK(encodings));
  database_must(db, pragma);
  sqlite3_free(pragma);
  sqlite3_create_collation(db, "REVERSE", SQLITE_UTF8, NULL, compare_reversed);
  database_must(db, "ATTACH ':memory:' AS aux");
  database_must(db, "CREATE TABLE temp.o(i INT, t TEXT, n NUMERIC, b BLOB, w)");
  database_must(db, "INSERT INTO o VALUES (1, '1', 'a', 'a', 0), ('b', 0.5, 1.0, 1, 1)");
}

static void test_random_queries(void **state) {
  (void)state;
  static const char *const schemas[] = {"main", "aux", "temp"};
  long rounds = test_effort(250);
  for (long round = 0; round < rounds; round++) {
    const char *schema = PICK(schemas);
    open_database();
    make_table(schema);
    fill_table(schema);
    for (int i = 0; i < 4; i++) {
      query q = make_query(schema);
      database_must(db, q.create);
      check_all(&q);
      if (q.key_count > 0) check_conditions(&q);
      database_must(db, "DROP TABLE temp.ours");
      sqlite3_free(q.create);
      sqlite3_free(q.theirs);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

/* --- JSON -------------------------------------------------------------------------------- */

/* No list stands in a list: paths here would go into the inner one, the oracle would not. */
static void append_json(sqlite3_str *json, int depth, int is_in_list) {
  static const char *const scalars[] = {"1",    "1.5",  "\"a\"", "\"A\"",
                                        "null", "true", "false", "12345678901234567890",
                                        "\"\"", "-0.0", "1e3"};
  static const char *const names[] = {"a", "b", "c d"};
  unsigned kind = depth > 3 ? 0 : below(6);
  if (kind == 3 && is_in_list) kind = 4;
  if (kind < 3) {
    sqlite3_str_appendall(json, PICK(scalars));
    return;
  }
  unsigned count = below(4);
  sqlite3_str_appendchar(json, 1, kind == 3 ? '[' : '{');
  for (unsigned i = 0; i < count; i++) {
    if (i > 0) sqlite3_str_appendchar(json, 1, ',');
    if (kind != 3) sqlite3_str_appendf(json, "\"%s\":", i < 3 ? names[i] : "d");
    append_json(json, depth + 1, kind == 3);
  }
  sqlite3_str_appendchar(json, 1, kind == 3 ? ']' : '}');
}

#define NO_LIST "json_type(j) IS NOT 'array'"

/*
** A path is json_extract if there is no list on the way, and what the oracle says if one is
** written.
*/
static void test_json_paths(void **state) {
  (void)state;
  static const struct {
    const char *path, *where, *expression;
  } paths[] = {
      {"j.a", NO_LIST, "json_extract(j, '$.a')"},
      {"j.a.*", NO_LIST, "json_extract(j, '$.a')"},
      {"j.a.b", NO_LIST " AND json_type(j, '$.a') IS NOT 'array'", "json_extract(j, '$.a.b')"},
      {"j.\"c d\"", NO_LIST, "json_extract(j, '$.\"c d\"')"},
      {"'j[].a'", "1",
       "CASE json_type(j) WHEN 'array' THEN (SELECT json_group_array("
       "json_extract(j, fullkey || '.a')) FROM json_each(j)) END"},
      {"'j{}.a'", "1",
       "CASE json_type(j) WHEN 'object' THEN (SELECT json_group_object(key, CASE type WHEN 'array' "
       "THEN json((SELECT json_group_array(json_extract(j, f.fullkey || '.a')) FROM "
       "json_each(j, e.fullkey) AS f)) ELSE json_extract(j, fullkey || '.a') END) "
       "FROM json_each(j) AS e) END"},
      {"'j.a[*].b'", NO_LIST,
       "CASE json_type(j, '$.a') WHEN 'array' THEN (SELECT json_group_array("
       "json_extract(j, fullkey || '.b')) FROM json_each(j, '$.a')) END"},
  };
  long rounds = test_effort(100);
  for (long round = 0; round < rounds; round++) {
    open_database();
    database_must(db, "CREATE TABLE t(j, n INT)");
    for (int i = 0; i < 60; i++) {
      sqlite3_str *json = sqlite3_str_new(NULL);
      append_json(json, 0, 0);
      char *text = sqlite3_str_finish(json);
      char *insert = sqlite3_mprintf("INSERT INTO t VALUES (%Q, %d)", below(10) ? text : NULL, i);
      database_must(db, insert);
      sqlite3_free(insert);
      sqlite3_free(text);
    }
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
      char *create = sqlite3_mprintf("CREATE VIRTUAL TABLE temp.ours USING group_by_fields(t, "
                                     "by_field_access(%s), sum(n) AS s, where(%s))",
                                     paths[i].path, paths[i].where);
      char *theirs = sqlite3_mprintf("SELECT %s AS k, sum(n) FROM t WHERE %s GROUP BY 1",
                                     paths[i].expression, paths[i].where);
      database_must(db, create);
      assert_same_rows("SELECT * FROM ours", theirs, NULL, create);
      database_must(db, "DROP TABLE temp.ours");
      sqlite3_free(create);
      sqlite3_free(theirs);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

int main(void) {
  const char *given = getenv("TRANCHE_SEED");
  random_state = given != NULL ? strtoull(given, NULL, 10)
                               : (uint64_t)getpid() * 2654435761u + (uint64_t)time(NULL);
  printf("test_group_by_fields_property: TRANCHE_SEED=%llu\n", (unsigned long long)random_state);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_queries),
      cmocka_unit_test(test_json_paths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

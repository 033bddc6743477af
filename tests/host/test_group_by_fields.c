/*
** group_by_fields as a table in queries: joins, IN, nested uses, and which columns a query reads.
** Then what can stop it: limits, interrupts, authorizers, changed tables, misuse.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "database.h"

static sqlite3 *db;

static int set_up(void **state) {
  (void)state;
  db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, g INT, name TEXT, x)");
  database_must(db, "INSERT INTO t SELECT value, value % 10, 'n' || (value % 7), value "
                    "FROM counting_input(1000)");
  database_must(db, "CREATE VIRTUAL TABLE temp.by_g USING group_by_fields(t, by_field_names(g), "
                    "sum(x) AS s, count(*) AS n)");
  database_must(db, "CREATE TABLE with_null(v); INSERT INTO with_null VALUES (1), (2), (NULL);"
                    "CREATE VIRTUAL TABLE temp.nullable USING group_by_fields(with_null, "
                    "by_field_names(v), count(*) AS n)");
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  return sqlite3_close(db) != SQLITE_OK;
}

/* --- what a query gives ------------------------------------------------------------------ */

static void test_answers(void **state) {
  (void)state;
  static const struct {
    const char *query, *answer;
  } cases[] = {
      {"SELECT group_concat(g || ':' || s) FROM (SELECT * FROM by_g ORDER BY g)",
       "0:49500,1:49600,2:49700,3:49800,4:49900,5:50000,6:50100,7:50200,8:50300,9:50400"},
      {"SELECT s FROM by_g WHERE g = 3", "49800"},
      {"SELECT count(*) FROM by_g WHERE g = 11", "0"},
      {"SELECT count(*) FROM by_g WHERE g = NULL", "0"},
      {"SELECT sum(n) FROM by_g WHERE g IN (1, 5, 5, NULL, 'x', 99)", "200"},
      {"SELECT sum(n) FROM by_g WHERE g IN (SELECT DISTINCT g FROM t WHERE g > 6)", "300"},
      {"SELECT sum(n) FROM by_g WHERE g BETWEEN 2 AND 4 AND n > 0", "300"},
      {"SELECT count(*) FROM by_g AS a JOIN by_g AS b ON a.g = b.g", "10"},
      {"SELECT count(*) FROM t JOIN by_g USING (g) WHERE t.x = by_g.n", "1"},
      {"SELECT sum((SELECT s FROM by_g WHERE by_g.g = t.g)) FROM t WHERE id < 10", "499500"},
      {"SELECT count(*) FROM t LEFT JOIN by_g ON by_g.g = t.g + 5 WHERE by_g.g IS NULL", "500"},
      /* What is in the ON of an outer join takes no group away from the side that is kept. */
      {"SELECT count(*) || ' ' || count(id) FROM by_g LEFT JOIN t ON by_g.g IS NOT NULL AND id = 1",
       "10 10"},
      {"SELECT count(*) || ' ' || count(id) FROM nullable LEFT JOIN t ON v IS NOT NULL AND id = 1",
       "3 2"},
      {"SELECT count(*) || ' ' || count(id) FROM t RIGHT JOIN nullable ON v IS NOT NULL AND id = 1",
       "3 2"},
      {"SELECT count(*) || ' ' || count(id) FROM nullable LEFT JOIN t ON v IS NULL AND id = 1",
       "3 1"},
      {"WITH w AS (SELECT * FROM by_g) SELECT (SELECT sum(n) FROM w) + (SELECT sum(s) FROM w)",
       "500500"},
      {"SELECT count(DISTINCT rowid) FROM by_g", "10"},
      {"SELECT count(*) FROM by_g AS a, by_g AS b WHERE a.g = 3 AND b.g > 1 AND a.rowid = b.rowid",
       "1"},
      {"SELECT group_concat(g) FROM by_g WHERE g = 7 OR g = 3", "3,7"},
      {"SELECT count(*) FROM by_g WHERE g = 7 OR g IS NULL OR (g > 2 AND g < 8)", "5"},
      {"SELECT count(*) FROM group_by_fields('t', '', '', '')", "1"},
      {"SELECT group_concat(value ->> 'n') FROM group_by_fields('t', 'g < 5 AS g', 'count(*) AS "
       "n', "
       "' \t\n')",
       "500,500"},
      {"SELECT count(*) FROM group_by_fields('t', '`g`, [name]', '')", "70"},
      {"SELECT count(*) FROM group_by_fields('t', '\"g\", name AS `a b`', '')", "70"},
      /* Many values are left to SQLite. */
      {"SELECT sum(n) FROM by_g WHERE g IN (SELECT value FROM counting_input(5000))", "1000"},
      /* The ad hoc form in a join: its arguments may come from the other table. */
      {"SELECT group_concat(value ->> 's') FROM (SELECT 't' AS name, 'g < 2' AS w) JOIN "
       "group_by_fields(name, 'g', 'sum(x) AS s', w)",
       "49500,49600"},
      {"SELECT count(*) FROM group_by_fields('t', 'g', 'count(*)', NULL, NULL)", "10"},
      /*
      ** Other arguments on each side of an OR, which SQLite checks again; and groups that differ
      ** only in them.
      */
      {"SELECT group_concat(key) FROM group_by_fields WHERE (source = 't' AND \"by\" = 'g' AND key "
       "LIKE '%1%') OR (source = 't' AND \"by\" = 'name' AND key LIKE '%2%')",
       "{\"g\":1},{\"name\":\"n2\"}"},
      {"SELECT group_concat(value) FROM group_by_fields WHERE source = 't' AND \"by\" = 'g' AND "
       "((aggregates = 'min(x)' AND key LIKE '%1%') OR (aggregates = 'max(x)' AND key LIKE '%1%'))",
       "{\"min(x)\":1},{\"max(x)\":991}"},
      {"SELECT count(*) FROM group_by_fields('')",
       "error: group_by_fields(): argument source = '': a table's name is empty"},
      {"SELECT count(*) FROM group_by_fields('t', '', '', '', 65)",
       "error: group_by_fields(): argument workers = 65: must be from 1 to 64"},
      {"SELECT count(*) FROM group_by_fields('t', 'g', 'count(*)', 'missing')",
       "error: group_by_fields: where(missing): no such column: missing"},
      {"SELECT count(*) FROM group_by_fields('t', '', '', '', 0)",
       "error: group_by_fields(): argument workers = 0: must be from 1 to 64"},
      {"SELECT json_array(source, \"by\", aggregates, where_terms, workers) FROM "
       "group_by_fields('t', '', 'max(x)', NULL, 2)",
       "[\"t\",\"\",\"max(x)\",null,2]"},
      {"SELECT value ->> 'n' FROM group_by_fields('t', NULL, 'count(*) AS n', 'g = 1', 2)", "100"},
      /* Key objects nest as JSON. */
      {"SELECT json_array(key, value) FROM group_by_fields('t', 'g', 'min(x) AS lo', 'g = 1')",
       "[{\"g\":1},{\"lo\":1}]"},
      /* Groups of groups. */
      {"SELECT value ->> 'm' FROM group_by_fields('by_g', '', 'max(s) AS m')", "50400"},
      {"SELECT value ->> 'c' FROM group_by_fields('t', '', 'count(*) AS c', "
       "'g IN (SELECT g FROM by_g WHERE s > 50000)')",
       "400"},
      {"SELECT count(*) FROM group_by_fields('t', 'upper(name) AS u, g', 'count(*)')", "70"},
      {"SELECT value ->> 'a' FROM group_by_fields('t', '', "
       "'count(*) FILTER (WHERE g > 5 AND name <> ''n,)'') AS a')",
       "400"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *answer = database_text(db, cases[i].query);
    if (strcmp(answer, cases[i].answer) != 0) fail_msg("%s gives %s", cases[i].query, answer);
  }
}

/* Aggregates that the query does not look at are not computed: this one's sum does not fit. */
static void test_only_what_is_looked_at(void **state) {
  (void)state;
  database_must(db, "CREATE TABLE big(x)");
  database_must(db, "INSERT INTO big VALUES (9223372036854775807), (1)");
  database_must(db,
                "CREATE VIRTUAL TABLE temp.b USING group_by_fields(big, globally(), sum(x) AS s, "
                "count(*) AS n)");
  assert_string_equal(database_text(db, "SELECT n FROM b"), "2");
  assert_string_equal(database_text(db, "SELECT s FROM b"),
                      "error: group_by_fields: integer overflow: sum() is 9223372036854775808");
}

/* A sample picks by the row's key: the same one, however the rows come. */
static void test_samples_repeat(void **state) {
  (void)state;
  const char *sample = "SELECT value ->> 's' FROM group_by_fields('t', '', 'sample(x, 5) AS s')";
  const char *first = database_text(db, sample);
  assert_int_equal(*first, '[');
  for (int i = 0; i < 5; i++) assert_string_equal(database_text(db, sample), first);
  database_must(db, "CREATE TABLE w(id INTEGER PRIMARY KEY, x) WITHOUT ROWID");
  database_must(db, "INSERT INTO w SELECT id, x FROM t");
  sample = "SELECT value ->> 's' FROM group_by_fields('w', '', 'sample(x, 5) AS s')";
  first = database_text(db, sample);
  for (int i = 0; i < 5; i++) assert_string_equal(database_text(db, sample), first);
}

/* --- schemas and changes ----------------------------------------------------------------- */

static void test_tables_of_all_kinds(void **state) {
  (void)state;
  database_must(db, "ATTACH ':memory:' AS \"aux db\"");
  database_must(db, "CREATE TABLE \"aux db\".\"select\"(\"group\", \"a b\", \"x\"\"y\")");
  database_must(db, "INSERT INTO \"aux db\".\"select\" VALUES (1, 2, 3), (1, 4, 5)");
  database_must(db, "CREATE TEMP TABLE tt AS SELECT 1 AS a, 2 AS b");
  assert_string_equal(
      database_text(db, "SELECT key || value FROM group_by_fields('\"aux db\".\"select\"', "
                        "'\"group\"', 'sum(\"a b\") AS s, max(\"x\"\"y\") AS \"m n\"')"),
      "{\"group\":1}{\"s\":6,\"m n\":5}");
  assert_string_equal(
      database_text(db, "SELECT value FROM group_by_fields('tt', 'a', 'sum(b) AS s')"),
      "{\"s\":2}");
  assert_string_equal(
      database_text(db, "SELECT count(*) FROM group_by_fields('sqlite_schema', 'type')"), "1");
}

static void test_table_changes(void **state) {
  (void)state;
  database_must(db, "INSERT INTO t VALUES (5000, 77, 'new', 1)");
  assert_string_equal(database_text(db, "SELECT n FROM by_g WHERE g = 77"), "1");
  database_must(db, "ALTER TABLE t ADD COLUMN y");
  assert_string_equal(database_text(db, "SELECT n FROM by_g WHERE g = 77"), "1");
  database_must(db, "DROP TABLE t");
  const char *text = database_text(db, "SELECT n FROM by_g WHERE g = 77");
  if (strncmp(text, "error: group_by_fields: ", 24) != 0) fail_msg("%s", text);
  database_must(db, "CREATE TABLE t(g INT, x)");
  text = database_text(db, "SELECT count(*) FROM by_g");
  if (strncmp(text, "error: group_by_fields: ", 24) != 0) fail_msg("%s", text);
}

/* --- what stops it ----------------------------------------------------------------------- */

static void test_memory_limit(void **state) {
  (void)state;
  database_must(db, "CREATE VIRTUAL TABLE temp.small USING group_by_fields(t, by_field_names(id), "
                    "sum(x) AS s, memory(20000), workers(1))");
  database_must(db, "CREATE VIRTUAL TABLE temp.enough USING group_by_fields(t, by_field_names(id), "
                    "sum(x) AS s, memory(1000000), workers(1))");
  assert_string_equal(database_text(db, "SELECT count(*), sum(s) FROM small"),
                      "error: group_by_fields: the groups need more than the limit of 20000 bytes");
  assert_string_equal(database_text(db, "SELECT sum(s) FROM enough"), "499500");
  /* What accumulators own counts. */
  database_must(db, "CREATE VIRTUAL TABLE temp.rows_of_all USING group_by_fields(t, globally(), "
                    "memory(20000), workers(1))");
  const char *text = database_text(db, "SELECT rows FROM rows_of_all");
  assert_non_null(strstr(text, "more than the limit of 20000 bytes"));
}

static int stop(void *calls) {
  return ++*(int *)calls > 20;
}

static void test_interrupt(void **state) {
  (void)state;
  int calls = 0;
  sqlite3_progress_handler(db, 1000, stop, &calls);
  database_must(db,
                "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 "
                "FROM n) SELECT i % 1000 AS g, i FROM n");
  sqlite3_stmt *stmt;
  const char *query = "SELECT * FROM group_by_fields('endless', 'g', 'sum(i) AS s')";
  assert_int_equal(sqlite3_prepare_v2(db, query, -1, &stmt, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(stmt), SQLITE_INTERRUPT);
  sqlite3_finalize(stmt);
  sqlite3_progress_handler(db, 0, NULL, NULL);
  /* The connection is as good as before. */
  assert_string_equal(database_text(db, "SELECT sum(n) FROM by_g"), "1000");
}

static int deny_x(void *unused, int action, const char *a, const char *b, const char *c,
                  const char *d) {
  (void)unused, (void)c, (void)d;
  int is_denied = action == SQLITE_READ && a != NULL && strcmp(a, "t") == 0 && strcmp(b, "x") == 0;
  return is_denied ? SQLITE_DENY : SQLITE_OK;
}

static void test_authorizer(void **state) {
  (void)state;
  sqlite3_set_authorizer(db, deny_x, NULL);
  assert_string_equal(database_text(db, "SELECT s FROM by_g"),
                      "error: group_by_fields: access to t.x is prohibited");
  assert_string_equal(database_text(db, "SELECT sum(n) FROM by_g"), "1000");
  sqlite3_set_authorizer(db, NULL, NULL);
}

/*
** Neither a call nor a table that is connected while a statement runs may end statements. Planning
** leaves the connection as it is.
*/
static void test_planning_has_no_effects(void **state) {
  (void)state;
  database_must(db, "CREATE TABLE src(a, k TEXT COLLATE NOCASE)");
  database_must(db, "INSERT INTO src VALUES(1, 'a'), (2, 'A')");
  database_must(db, "CREATE VIEW v AS SELECT a, k FROM src");
  database_must(db, "CREATE TEMP VIEW vv AS SELECT g, s FROM by_g");
  database_must(db, "CREATE VIRTUAL TABLE temp.over_view USING group_by_fields(v, "
                    "by_field_names(k), max(a) AS n)");
  database_must(db, "CREATE VIRTUAL TABLE temp.over_groups USING group_by_fields(temp.vv, "
                    "by_field_names(g), max(s) AS n)");
  static const struct {
    const char *query, *answer;
  } cases[] = {
      {"SELECT sum((SELECT count(*) FROM src)) FROM group_by_fields('src', 'a', 'max(a) AS n')",
       "4"},
      {"SELECT sum((SELECT count(*) FROM src)) FROM group_by_fields('v', 'k', 'max(a) AS n')", "2"},
      {"SELECT group_concat(k || n) || (SELECT count(*) FROM src) FROM over_view", "a22"},
      {"SELECT group_concat(k) FROM over_view WHERE k = 'A'", "a"},
      {"SELECT sum(n) || '-' || (SELECT count(*) FROM src) FROM over_groups", "499500-2"},
  };
  sqlite3_stmt *running;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    database_must(db, "VACUUM"); /* SQLite forgets the schema and connects tables again */
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT a FROM src", -1, &running, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(running), SQLITE_ROW);
    const char *text = database_text(db, cases[i].query);
    if (strcmp(text, cases[i].answer) != 0) fail_msg("%s: %s", cases[i].query, text);
    assert_int_equal(sqlite3_step(running), SQLITE_ROW);
    assert_int_equal(sqlite3_step(running), SQLITE_DONE);
    sqlite3_finalize(running);
  }
  assert_string_equal(database_text(db, "SELECT * FROM tranche_collation_probe"),
                      "error: tranche_collation_probe is for group_by_fields alone");
}

/* Columns may have any name: no name of ours gets in their way. */
static void test_any_name_of_a_column(void **state) {
  (void)state;
  static const char *const names[] = {"value", "key", "field", "probe", "source", "rows",  "r0",
                                      "a0",    "by",  "x y",   "e0",    "json",   "result"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char *sql = sqlite3_mprintf(
        "CREATE TABLE \"%w\"(\"%w\", j); INSERT INTO \"%w\" VALUES(1, '{\"b\":7}'), (2, NULL);"
        "CREATE VIEW v AS SELECT * FROM \"%w\";",
        names[i], names[i], names[i], names[i]);
    database_must(db, sql);
    sqlite3_free(sql);
    static const char *const queries[] = {
        "SELECT max(value ->> 'n') FROM group_by_fields('\"%w\"', '\"%w\"', 'max(\"%w\") AS n')",
        "SELECT max(value ->> 'n') FROM group_by_fields('v', '\"%w\"', 'max(\"%w\") AS n')",
        ("SELECT max(value ->> 'n') FROM group_by_fields('v', '\"%w\" COLLATE NOCASE AS k', "
         "'max(\"%w\" + 0) AS n')"),
    };
    for (size_t j = 0; j < sizeof queries / sizeof *queries; j++) {
      sql = sqlite3_mprintf(queries[j], names[i], names[i], names[i]);
      const char *text = database_text(db, sql);
      if (strcmp(text, "2") != 0) fail_msg("%s: %s", sql, text);
      sqlite3_free(sql);
    }
    sql = sqlite3_mprintf("DROP VIEW v; DROP TABLE \"%w\"", names[i]);
    database_must(db, sql);
    sqlite3_free(sql);
  }
  assert_string_equal(
      database_text(db, "SELECT sum(value ->> 'n') FROM group_by_fields('counting_input', "
                        "'value % 3 AS m', 'max(value) AS n', 'up_to = 10')"),
      "24");
}

/* What only extract_output needs is checked, and not part of an accumulator. */
static void test_accumulator_without_extraction(void **state) {
  (void)state;
  database_must(db, "CREATE VIRTUAL TABLE temp.q USING group_by_fields(t, by_field_names(g), "
                    "approx_quantile(x, .5) AS a, emit(accumulators))");
  database_must(db, "CREATE VIRTUAL TABLE temp.p USING group_by_fields(t, by_field_names(g), "
                    "approx_quantile(x) AS a, emit(accumulators))");
  assert_string_equal(
      database_text(db, "SELECT count(*) FROM p JOIN q USING (g) WHERE p.a = q.a AND q.a NOTNULL"),
      "10");
  assert_int_equal(
      database_run(db, "CREATE VIRTUAL TABLE temp.w USING group_by_fields(t, by_field_names(g), "
                       "approx_quantile(x, 7) AS a, emit(accumulators))"),
      SQLITE_ERROR);
  assert_non_null(strstr(sqlite3_errmsg(db), "approx_quantile(): argument q = 7"));
}

/* Paths as deep as they can be, in the places where they are nested deepest. */
static void test_deep_paths(void **state) {
  (void)state;
  static const struct {
    const char *path, *json, *shown;
  } cases[] = {
      {"j[][][][].x", "[[[[{\"x\":1}]]]]", "[[[[1]]]]"},
      {"j.n[].n[].n[].n[].x", "{\"n\":[{\"n\":[{\"n\":[{\"n\":[{\"x\":1}]}]}]}]}", "[[[[1]]]]"},
      {"'j.n{}.n{}.n{}.n{}.x'", "{\"n\":{\"a\":{\"n\":{\"b\":{\"n\":{\"c\":{\"n\":{}}}}}}}}",
       "{\"a\":{\"b\":{\"c\":{}}}}"},
      {"j[][].n.n.n.x", "[[{\"n\":{\"n\":[{\"n\":[{\"x\":1}]}]}}]]", "[[[[1]]]]"},
      {"j[][][].n.n.x", "[[[{\"n\":{\"n\":[{\"x\":1}]}}]]]", "[[[[1]]]]"},
      {"j.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19.20.x",
       "{\"2\":{\"3\":{\"4\":{\"5\":{\"6\":{\"7\":{\"8\":{\"9\":{\"10\":{\"11\":{\"12\":{\"13\":{"
       "\"14\":"
       "{\"15\":{\"16\":{\"17\":{\"18\":{\"19\":{\"20\":{\"x\":1}}}}}}}}}}}}}}}}}}}}",
       "1"},
      {"j.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19.20.x",
       "{\"2\":{\"3\":{\"4\":{\"5\":{\"6\":{\"7\":{\"8\":{\"9\":{\"10\":{\"11\":{\"12\":{\"13\":{"
       "\"14\":"
       "{\"15\":[{\"16\":{\"17\":{\"18\":{\"19\":[{\"20\":{\"x\":1}}]}}}}]}}}}}}}}}}}}}}",
       "[[1]]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *sql = sqlite3_mprintf("CREATE TABLE deep(j); INSERT INTO deep VALUES(%Q);"
                                "CREATE VIEW over_deep AS SELECT * FROM deep;"
                                "CREATE VIRTUAL TABLE temp.g USING group_by_fields(over_deep, "
                                "by_field_access(%s), count(*) AS n);",
                                cases[i].json, cases[i].path);
    if (database_run(db, sql) != SQLITE_OK) fail_msg("%s: %s", cases[i].path, sqlite3_errmsg(db));
    sqlite3_free(sql);
    sql = sqlite3_mprintf("SELECT x FROM g WHERE x IN (%Q, 1) AND x >= 1", cases[i].shown);
    const char *text = database_text(db, sql);
    if (strcmp(text, cases[i].shown) != 0) fail_msg("%s: %s", cases[i].path, text);
    sqlite3_free(sql);
    database_must(db, "DROP TABLE g; DROP VIEW over_deep; DROP TABLE deep");
  }
}

/* The inner function is of no use to anybody else, even where a run is going on. */
static void test_inner_function(void **state) {
  (void)state;
  static const char *const misuses[] = {
      "SELECT tranche_group()",
      "SELECT tranche_group(1, 2)",
      "SELECT tranche_group(g, x, 1) FROM t",
      ("SELECT * FROM group_by_fields('t', 'g', 'sum(x) AS s', 'id > (SELECT tranche_group(g, x) "
       "FROM t)')"),
      "SELECT * FROM group_by_fields('t', 'g', 'sum((SELECT tranche_group(id, g) FROM t)) AS s')",
  };
  for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++) {
    const char *text = database_text(db, misuses[i]);
    if (strstr(text, "is for group_by_fields alone") == NULL) fail_msg("%s: %s", misuses[i], text);
  }
  assert_string_equal(database_text(db, "SELECT sum(n) FROM by_g"), "1000");
}

/* SQL text of the arguments is the user's: it must not come out of a file or a view. */
static void test_only_direct(void **state) {
  (void)state;
  static const char *const refused[] = {
      "CREATE VIRTUAL TABLE main.kept USING group_by_fields(t, by_field_names(g), sum(x))",
      "CREATE VIRTUAL TABLE kept USING group_by_fields(t, by_field_names(g), sum(x))",
  };
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    assert_int_equal(database_run(db, refused[i]), SQLITE_ERROR);
    assert_string_equal(sqlite3_errmsg(db), "group_by_fields: the table must be in temp: CREATE "
                                            "VIRTUAL TABLE temp.kept");
  }
  database_must(db, "CREATE VIEW v AS SELECT * FROM group_by_fields('t', 'g', 'sum(x) AS s')");
  assert_string_equal(database_text(db, "SELECT * FROM v"),
                      "error: unsafe use of virtual table \"group_by_fields\"");
}

static void test_refused_arguments(void **state) {
  (void)state;
  static const struct {
    const char *arguments, *message;
  } cases[] = {
      {"t, by_field_names(g), group_concat(x)",
       "no such aggregate here: group_concat(); there are count, "},
      {"t, by_field_names(g), avg(x)", "no such aggregate here: avg(); there are count, sum, "},
      {"t, by_field_names(g), sum(DISTINCT x)", "DISTINCT x: DISTINCT is not for here"},
      {"t, by_field_names(g), sum(x, 1)", "sum() takes at most 1 arguments"},
      {"t, by_field_names(g), sum()", "sum()"},
      {"t, by_field_names(g), sum(*)", "syntax error"},
      {"t, by_field_names(g), top_largest(x, 'a')", "top_largest(): argument n"},
      {"t, by_field_names(g), top_largest(x, g)", "argument n = g: must be a constant"},
      {"t, by_field_names(g), sum(x) AS g", "g: two columns of that name"},
      {"t, by_field_names(g, g)", "g: two columns of that name"},
      {"t, by_field_names(g), sum(x), sum(x)", "sum(x): two columns of that name"},
      {"t, by_field_names(g), sum(x) + 1", "must be an aggregate"},
      {"t, by_field_names(), sum(x)", "by_field_names"},
      {"t, by_field_ids(-1), sum(x)", "-1 is no position of a column: 0 to 3"},
      {"t, by_field_ids(4), sum(x)", "4 is no position of a column: 0 to 3"},
      {"t, by_field_access(name..x), sum(x)", "field path 'name..x', at 6"},
      {"t, by_field_access(nam.x), sum(x)", "no such field: nam in main.t"},
      {"t, by_field_access('name.\"a\"\"b\"'), sum(x)", "cannot hold a name with a quote"},
      {"t, by_field_access('name[][]{}[].a{}'), sum(x)", "at 15: more than 4 lists and maps"},
      {"t, by_field_access(name.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19.20.21.22.23.24.25.26."
       "27.28.29.30.31.32.33.34), sum(x)",
       "at 91: more than 32 names"},
      {"t, by_field_names(g), emit(accumulators)", "emit(accumulators) needs an aggregate"},
      {"t, by_field_names(g), emit(blobs), sum(x)", "emit"},
      {"t, by_field_names(g), memory(0), sum(x)", "memory"},
      {"t, by_field_names(g), workers(0), sum(x)", "workers"},
      {"t, by_field_names(g), where(), sum(x)", "where"},
      {"t, by_field_names(g), where(missing > 1), sum(x)",
       "group_by_fields: where(missing > 1): no such column: missing"},
      {"t, by_field_names(g), where(x = 1 or), sum(x)",
       "group_by_fields: where(x = 1 or): near \")\": syntax error"},
      {"t, by_field_names(missing + 1 AS m), sum(x)",
       "group_by_fields: key field (missing + 1): no such column: missing"},
      {"t, by_field_names(g), sum(x), sum(missing) AS s",
       "group_by_fields: sum(missing): no such column: missing"},
      {"t, by_field_names(g), min(missing)",
       "group_by_fields: min(missing): no such column: missing"},
      {"t, by_field_names(g), max_by(x, missing)",
       "group_by_fields: max_by(..., missing): no such column: missing"},
      {"t, by_field_names(g), sum(x) FILTER (WHERE missing) AS s",
       "group_by_fields: sum() FILTER (WHERE missing): no such column: missing"},
      {"missing, by_field_names(g), sum(x)", "no such table: missing"},
      {"t, by_field_names(g COLLATE missing AS g), sum(x)", "no such collation sequence: missing"},
      {"t, by_field_names(name), min(name COLLATE NOCASE)", "only BINARY is compared here"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE temp.x USING group_by_fields(%s)",
                                cases[i].arguments);
    if (database_run(db, sql) == SQLITE_OK) fail_msg("%s: accepted", sql);
    const char *message = sqlite3_errmsg(db);
    if (strstr(message, cases[i].message) == NULL) fail_msg("%s: %s", sql, message);
    if (strncmp(message, "group_by_fields", 15) != 0) fail_msg("%s: %s", sql, message);
    sqlite3_free(sql);
  }
}

/*
** A blob may be LIKE a pattern, though SQLite turns its beginning into a range of texts
** (host/key_constraints.h).
*/
static void patterns_find_the_groups_that_they_fit(void **state) {
  (void)state;
  /* Formats, whose %s is the column. */
  static const char *const terms[] = {"GLOB 'a*'", "LIKE 'a%%'", "LIKE 'a%%' ESCAPE '!'",
                                      "COLLATE BINARY GLOB 'a*'", ">= 'a' AND %s < 'b'"};
  database_must(db, "CREATE TABLE p(x, z TEXT);"
                    "INSERT INTO p VALUES ('ab', 'ab'), (x'6162', x'6162'), ('b', 'b'), (5, 5);"
                    "CREATE VIRTUAL TABLE temp.gx USING group_by_fields(p, by_field_names(x));"
                    "CREATE VIRTUAL TABLE temp.gz USING group_by_fields(p, by_field_names(z))");
  for (int is_sensitive = 0; is_sensitive < 2; is_sensitive++) {
    database_must(db, is_sensitive ? "PRAGMA case_sensitive_like = ON"
                                   : "PRAGMA case_sensitive_like = OFF");
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
      for (const char *column = "xz"; *column != '\0'; column++) {
        char name[2] = {*column, '\0'};
        char term[60], groups[200], native[200];
        snprintf(term, sizeof term, terms[i], name);
        snprintf(groups, sizeof groups, "SELECT count(*) FROM g%s WHERE %s %s", name, name, term);
        snprintf(native, sizeof native,
                 "SELECT count(DISTINCT hex(%s) || typeof(%s)) FROM p WHERE "
                 "%s %s",
                 name, name, name, term);
        int64_t expected = database_integer(db, native);
        if (database_integer(db, groups) != expected) fail_msg("%s", groups);
      }
    }
  }
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(patterns_find_the_groups_that_they_fit),
      TEST(test_answers),
      TEST(test_only_what_is_looked_at),
      TEST(test_samples_repeat),
      TEST(test_tables_of_all_kinds),
      TEST(test_table_changes),
      TEST(test_memory_limit),
      TEST(test_interrupt),
      TEST(test_authorizer),
      TEST(test_inner_function),
      TEST(test_only_direct),
      TEST(test_planning_has_no_effects),
      TEST(test_any_name_of_a_column),
      TEST(test_deep_paths),
      TEST(test_accumulator_without_extraction),
      TEST(test_refused_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

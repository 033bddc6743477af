/*
** A grouping in a correlated subquery: SQLite before 3.51 opens the table's cursor anew for each
** run of it. The groups of the first runs must do for the rest of that statement's run, and for
** nothing else.
**
** What is right is asked of a table `native`, which SQLite fills with its own groups.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "database.h"
#include "effort.h"
#include "failing_allocator.h"
#include "test_random.h"

static sqlite3 *db;
static test_random numbers;
static int64_t rows_read; /* of the sources: seen() counts them */

static unsigned below(unsigned limit) {
  return (unsigned)test_random_below(&numbers, limit);
}

static void seen(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  (void)argv;
  rows_read++;
  sqlite3_result_int(context, 1);
}

/* The source s of `rows` rows, and its groups by a as o: k, c, x. */
static const char schema[] =
    "CREATE TABLE s(id INTEGER PRIMARY KEY, a, x INT);"
    "CREATE TABLE n(id INTEGER PRIMARY KEY, a, b);"
    "CREATE VIRTUAL TABLE temp.o USING group_by_fields(s, by_field_names(a AS k), count(*) AS c,"
    "  sum(x) AS x, where(seen()));";

static sqlite3 *open_with_schema(const char *path) {
  sqlite3 *opened = database_open(path, 0);
  sqlite3_create_function(opened, "seen", 0, SQLITE_UTF8, NULL, seen, NULL, NULL);
  database_must(opened, schema);
  return opened;
}

/* --- how often they are made ----------------------------------------------------------------- */

/*
** For 100 rows at most two groupings: one with the condition, which is of no use without an index,
** and one of the whole.
*/
static void groups_are_made_once(void **state) {
  (void)state;
  enum { ROWS = 50 };
  static const struct {
    const char *query;
    int groupings;
  } cases[] = {
      {"SELECT sum((SELECT c FROM o WHERE k = n.a)) FROM n", 2},
      {"SELECT sum((SELECT sum(c) FROM o WHERE c > n.a)) FROM n", 1},
      {"SELECT count(*) FROM n WHERE EXISTS (SELECT 1 FROM o WHERE k = n.a)", 2},
      {"SELECT count(*) FROM n WHERE NOT EXISTS (SELECT 1 FROM o WHERE k > n.a AND c > 1)", 2},
      {"SELECT count(*) FROM n WHERE n.b IN (SELECT c FROM o WHERE x > n.a)", 1},
      /* Three places, and each has its own groups. */
      {"SELECT sum((SELECT sum(c) FROM o WHERE c > n.a) + (SELECT max(g.x) FROM o AS g, o AS h "
       "WHERE g.c < h.c + n.a)) FROM n",
       3},
      {"SELECT sum((SELECT sum(g.c) FROM o AS g WHERE g.c > n.a AND EXISTS "
       "(SELECT 1 FROM o AS h WHERE h.x > g.c + n.a))) FROM n",
       2},
      {"WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r CROSS JOIN o ON k = i % 5 "
       "WHERE i < 90) SELECT count(*) FROM r",
       2},
      {"WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i + (SELECT min(c) > 0 FROM o) FROM r "
       "WHERE i < 90) SELECT count(*) FROM r",
       1},
      /* The ad hoc form, in a subquery and in a join. */
      {"SELECT sum((SELECT sum(value ->> 'c') FROM group_by_fields('s', 'a', 'count(*) AS c', "
       "'seen()') "
       "WHERE key ->> 'a' = n.a)) FROM n",
       1},
      {"SELECT count(*) FROM n CROSS JOIN group_by_fields('s', 'a', 'count(*) AS c', 'seen()') "
       "WHERE key ->> 'a' = n.a",
       1},
      /* Other arguments make other groups. */
      {"SELECT sum((SELECT count(*) FROM group_by_fields('s', 'a', 'count(*) AS c', "
       "'seen() AND id > ' || (n.id % 2)))) FROM n",
       100},
  };
  db = open_with_schema(":memory:");
  database_must(db, "INSERT INTO s SELECT value, value % 5, value FROM counting_input(50);"
                    "INSERT INTO n SELECT value, value % 9, value % 13 FROM counting_input(100)");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (strstr(cases[i].query, "->>") != NULL && sqlite3_libversion_number() < 3038000) continue;
    for (int again = 0; again < 2; again++) {
      rows_read = 0;
      const char *answer = database_text(db, cases[i].query);
      if (strncmp(answer, "error", 5) == 0 || answer[0] == '\0') fail_msg("%s", answer);
      if (rows_read == 0 || rows_read > cases[i].groupings * ROWS) {
        fail_msg("%s: %lld rows read", cases[i].query, (long long)rows_read);
      }
    }
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* --- random queries --------------------------------------------------------------------------- */

/*
** Appends a condition about the groups `group`, and about row `outer`, at most `depth` subqueries
** deep.
*/
static void append_condition(sqlite3_str *sql, int group, const char *outer, int depth);

/*
** Appends an expression that asks the groups, whose table is written @, for something about row
** `outer`.
*/
static void append_subquery(sqlite3_str *sql, const char *outer, int depth) {
  static const struct {
    const char *begin, *end; /* %1$d: the number of the groups */
  } forms[] = {
      {"(SELECT sum(g%1$d.c) FROM @ AS g%1$d WHERE ", ")"},
      {"EXISTS (SELECT 1 FROM @ AS g%1$d WHERE ", ")"},
      {"NOT EXISTS (SELECT 1 FROM @ AS g%1$d WHERE ", ")"},
      {"(1 IN (SELECT g%1$d.c FROM @ AS g%1$d WHERE ", "))"},
      {"(SELECT group_concat(c || ':' || x) FROM (SELECT c, x FROM @ AS g%1$d WHERE ",
       " ORDER BY c, x))"},
      {"(SELECT count(*) FROM n AS m CROSS JOIN @ AS g%1$d ON g%1$d.k = m.a WHERE ", ")"},
      {"(SELECT count(g%1$d.c) FROM n AS m LEFT JOIN @ AS g%1$d ON g%1$d.k = m.b WHERE ", ")"},
      {"(SELECT count(*) FROM (SELECT x FROM @ AS g%1$d UNION ALL SELECT c FROM @ AS g%1$d WHERE ",
       "))"},
      {"(SELECT count(*) FROM n AS m RIGHT JOIN @ AS g%1$d ON g%1$d.k = m.a WHERE ", ")"},
      {"(SELECT count(*) FROM n AS m FULL JOIN @ AS g%1$d ON g%1$d.k = m.b WHERE ", ")"},
  };
  static int last_group;
  char begin[200];
  unsigned count = sizeof forms / sizeof *forms;
  if (sqlite3_libversion_number() < 3039000) count -= 2; /* no RIGHT and FULL JOIN */
  int form = (int)below(count), group = ++last_group;
  snprintf(begin, sizeof begin, forms[form].begin, group);
  sqlite3_str_appendall(sql, begin);
  append_condition(sql, group, outer, depth);
  sqlite3_str_appendall(sql, forms[form].end);
}

static void append_comparison(sqlite3_str *sql, int group, const char *outer) {
  static const char *const forms[] = {"g%d.k = %s.a",      "g%d.k = %s.b",  "g%d.c > %s.b",
                                      "g%d.k < %s.a",      "g%d.k IS %s.a", "g%d.x <> %s.b",
                                      "g%d.k IN (%s.a, 2)"};
  sqlite3_str_appendf(sql, forms[below(sizeof forms / sizeof *forms)], group, outer);
}

static void append_condition(sqlite3_str *sql, int group, const char *outer, int depth) {
  append_comparison(sql, group, outer);
  if (below(4) == 0) {
    sqlite3_str_appendall(sql, " OR ");
    append_comparison(sql, group, outer);
  }
  if (depth == 0 || below(2) == 0) return;
  sqlite3_str_appendall(sql, below(3) == 0 ? " OR " : " AND ");
  append_subquery(sql, outer, depth - 1);
}

/* A query of random subqueries; sqlite3_free. */
static char *random_query(void) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  int is_recursive = below(4) == 0;
  const char *rows = is_recursive ? "r" : "n";
  if (is_recursive) {
    sqlite3_str_appendall(sql, "WITH RECURSIVE r(id, a, b) AS (SELECT 0, 1, 2 UNION ALL "
                               "SELECT id + 1, (a * 3 + 1) % 7, ");
    append_subquery(sql, rows, 1);
    sqlite3_str_appendall(sql, " FROM r WHERE id < 12) ");
  }
  sqlite3_str_appendf(sql, "SELECT %s.id, ", rows);
  append_subquery(sql, rows, 2);
  sqlite3_str_appendall(sql, ", ");
  append_subquery(sql, rows, 1);
  sqlite3_str_appendf(sql, " FROM %s WHERE 1 OR ", rows);
  append_subquery(sql, rows, 1);
  sqlite3_str_appendf(sql, " ORDER BY %s.id", rows);
  return sqlite3_str_finish(sql);
}

/* All rows of a query in one text, with @ in it replaced; sqlite3_free. */
static char *rows_of(const char *query, const char *groups) {
  sqlite3_str *sql = sqlite3_str_new(NULL), *rows = sqlite3_str_new(NULL);
  for (const char *at = query; *at != '\0'; at++) {
    if (*at == '@') sqlite3_str_appendall(sql, groups);
    if (*at != '@') sqlite3_str_appendchar(sql, 1, *at);
  }
  char *text = sqlite3_str_finish(sql);
  sqlite3_stmt *stmt;
  if (sqlite3_prepare_v2(db, text, -1, &stmt, NULL) != SQLITE_OK) {
    fail_msg("%s: %s", text, sqlite3_errmsg(db));
  }
  int rc;
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
      const char *value = (const char *)sqlite3_column_text(stmt, i);
      sqlite3_str_appendf(rows, "%s|", value == NULL ? "NULL" : value);
    }
    sqlite3_str_appendchar(rows, 1, '\n');
  }
  if (rc != SQLITE_DONE) fail_msg("%s: %s", text, sqlite3_errmsg(db));
  sqlite3_finalize(stmt);
  sqlite3_free(text);
  return sqlite3_str_finish(rows);
}

static void subqueries_read_all_groups(void **state) {
  (void)state;
  numbers = test_random_begin("subqueries_read_all_groups");
  db = open_with_schema(":memory:");
  /* SQLite 3.38 to 3.40 may lose rows by its Bloom filter. */
  database_must(db, "PRAGMA automatic_index = off; CREATE TEMP TABLE native(k, c, x)");
  for (long round = 0; round < test_effort(30) + 1; round++) {
    char *sql = sqlite3_mprintf(
        "DELETE FROM s; DELETE FROM n; DELETE FROM native; DROP INDEX IF EXISTS s_a; %s"
        "INSERT INTO s SELECT value, nullif(abs(random()) %% %d, 3), random() %% 10 FROM "
        "counting_input(%d);"
        "INSERT INTO n SELECT value, nullif(abs(random()) %% 8, 5), abs(random()) %% 4 FROM "
        "counting_input(12); UPDATE s SET a = 't' || a WHERE random() %% 9 = 0;"
        "INSERT INTO native SELECT a, count(*), sum(x) FROM s GROUP BY a",
        below(3) == 0 ? "CREATE INDEX s_a ON s(a);" : "", (int)below(9) + 1, (int)below(40));
    database_must(db, sql);
    sqlite3_free(sql);
    for (int i = 0; i < 20; i++) {
      char *query = random_query();
      char *given = rows_of(query, "o"), *expected = rows_of(query, "native");
      if (strcmp(given, expected) != 0) fail_msg("%s\n%s\ninstead of\n%s", query, given, expected);
      sqlite3_free(given);
      sqlite3_free(expected);
      sqlite3_free(query);
    }
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* --- statements in turns --------------------------------------------------------------------- */

/* A statement that gives all groups as a text for each row of n. */
typedef struct reader {
  sqlite3_stmt *stmt;
  int making_rows; /* so many first rows make the groups: with a condition, and then the whole */
  int rows;        /* that it has given in this run */
  char *groups;    /* those that it must give now */
} reader;

#define ALL_GROUPS "(SELECT group_concat(k || ':' || c || ':' || x) FROM (SELECT k, c, x FROM "

static const struct {
  const char *sql;
  int making_rows;
} readers[] = {
    {"SELECT " ALL_GROUPS "o WHERE c > n.id * 0 ORDER BY k)) FROM n", 1},
    {"SELECT " ALL_GROUPS "o WHERE c > n.id * 0 ORDER BY k)) FROM n", 1},
    {"SELECT " ALL_GROUPS "o WHERE k >= n.id * 0 ORDER BY k)) FROM n", 1},
    {"SELECT " ALL_GROUPS "o WHERE k >= n.id - 99 ORDER BY k)) FROM n", 2},
    {"SELECT " ALL_GROUPS "(SELECT json_extract(key, '$.k') AS k, json_extract(value, '$.c') AS c, "
     "json_extract(value, '$.x') AS x FROM group_by_fields('s', 'a AS k', 'count(*) AS c, sum(x) "
     "AS x')) "
     "WHERE c > n.id * 0 ORDER BY k)) FROM n",
     1},
    {"SELECT asks(), " ALL_GROUPS "o WHERE c > n.id * 0 ORDER BY k)) FROM n", 1},
};
enum { READERS = sizeof readers / sizeof *readers };

static char *groups_now(void) {
  return sqlite3_mprintf("%s", database_text(db, "SELECT " ALL_GROUPS
                                                 "(SELECT a AS k, count(*) AS c, sum(x) AS x "
                                                 "FROM s GROUP BY a) ORDER BY k))"));
}

/* A statement in a statement: it reads what is there now. */
static void asks(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  (void)argv;
  char *expected = groups_now();
  sqlite3_result_text(context, "", 0, SQLITE_STATIC);
  if (strcmp(database_text(db, "SELECT " ALL_GROUPS "o ORDER BY k))"), expected) != 0) {
    sqlite3_result_error(context, "not what is there", -1);
  }
  sqlite3_free(expected);
}

static void step_reader(reader *r) {
  if (r->rows < r->making_rows) {
    sqlite3_free(r->groups);
    r->groups = groups_now();
  }
  int rc = sqlite3_step(r->stmt);
  if (rc == SQLITE_DONE) {
    sqlite3_reset(r->stmt);
    r->rows = 0;
    return;
  }
  if (rc != SQLITE_ROW) fail_msg("%s: %s", sqlite3_sql(r->stmt), sqlite3_errmsg(db));
  const unsigned char *given = sqlite3_column_text(r->stmt, sqlite3_column_count(r->stmt) - 1);
  if (strcmp(given == NULL ? "" : (const char *)given, r->groups) != 0) {
    fail_msg("%s, row %d: %s instead of %s", sqlite3_sql(r->stmt), r->rows, given, r->groups);
  }
  r->rows++;
}

/* Changes one digit of a row through a handle, which is no statement. */
static void write_blob(void) {
  sqlite3_blob *blob;
  char digit = (char)('0' + below(10));
  int64_t id = database_integer(db, "SELECT id FROM s ORDER BY random() LIMIT 1");
  if (sqlite3_blob_open(db, "main", "s", "x", id, 1, &blob) == SQLITE_OK) {
    sqlite3_blob_write(blob, &digit, 1, 0);
  }
  sqlite3_blob_close(blob);
}

/* Anything that changes the source. Where a lock is in the way it does nothing. */
static void change(sqlite3 *other) {
  static const char *const changes[] = {
      "INSERT INTO s(a, x) VALUES(abs(random()) % 4, '1')",
      "UPDATE s SET a = (a + 1) % 4 WHERE random() % 2",
      "UPDATE s SET x = '2' WHERE random() % 2",
      "DELETE FROM s WHERE id > 8 AND random() % 2",
      "SAVEPOINT one",
      "ROLLBACK TO one",
      "RELEASE one",
  };
  const char *sql = changes[below(sizeof changes / sizeof *changes)];
  switch (below(4)) {
  case 0: write_blob(); break;
  case 1: database_run(other, sql); break;
  default: database_run(db, sql);
  }
}

/*
** A run of a statement gives the groups that it began with, whatever happens; and the next run
** others.
*/
static void each_run_has_its_groups(void **state) {
  (void)state;
  char path[512];
  numbers = test_random_begin("each_run_has_its_groups");
  sqlite3 *other = database_open(database_path("group_subqueries", path), 0);
  database_must(other, "PRAGMA journal_mode = wal");
  db = open_with_schema(path);
  sqlite3_create_function(db, "asks", 0, SQLITE_UTF8, NULL, asks, NULL, NULL);
  database_must(db, "DROP TABLE o; DROP TABLE s; CREATE TABLE s(id INTEGER PRIMARY KEY, a, x);"
                    "CREATE VIRTUAL TABLE temp.o USING group_by_fields(s, by_field_names(a AS k),"
                    "  count(*) AS c, sum(x) AS x);"
                    "INSERT INTO s SELECT value, value % 3, '1' FROM counting_input(8);"
                    "INSERT INTO n(id) SELECT value FROM counting_input(7)");
  reader all[READERS] = {0};
  for (int i = 0; i < READERS; i++) {
    all[i].making_rows = readers[i].making_rows;
    if (sqlite3_prepare_v2(db, readers[i].sql, -1, &all[i].stmt, NULL) != SQLITE_OK) {
      fail_msg("%s: %s", readers[i].sql, sqlite3_errmsg(db));
    }
  }
  for (long i = 0; i < test_effort(6000); i++) {
    reader *r = &all[below(READERS)];
    unsigned what = below(20);
    if (what < 5) {
      change(other);
    } else if (what < 6) {
      sqlite3_reset(r->stmt);
      r->rows = 0;
    } else {
      step_reader(r);
    }
  }
  for (int i = 0; i < READERS; i++) {
    sqlite3_finalize(all[i].stmt);
    sqlite3_free(all[i].groups);
  }
  assert_int_equal(sqlite3_close(other), SQLITE_OK);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  database_remove(path);
}

/* Ends the statement that it is given, and gives 0. */
static void ends(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  (void)argv;
  sqlite3_reset(sqlite3_user_data(context));
  sqlite3_result_int(context, 0);
}

#define AD_HOC_COUNT \
  "sum(json_extract(value, '$.c')) FROM group_by_fields('s', 'a', 'count(*) AS c', "

/*
** The second statement has opened its cursor, but not asked for groups yet, when the first one's is
** closed: the same calls as where a cursor is opened in another's place.
*/
static void a_closed_cursor_leaves_nothing_to_strangers(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
      {"SELECT (SELECT sum(c) FROM o WHERE c > n.id * 0) FROM n",
       "SELECT (SELECT sum(c) FROM o WHERE k >= ends() + n.id * 0) FROM n"},
      {"SELECT (SELECT " AD_HOC_COUNT "'id > 0') WHERE n.id > 0) FROM n",
       "SELECT (SELECT " AD_HOC_COUNT "'id > ' || ends()) WHERE n.id > 0) FROM n"},
  };
  db = open_with_schema(":memory:");
  database_must(db, "INSERT INTO s VALUES(1, 1, 1), (2, 1, 1); INSERT INTO n(id) VALUES(1), (2)");
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    sqlite3_stmt *first, *second;
    assert_int_equal(sqlite3_prepare_v2(db, pairs[i][0], -1, &first, NULL), SQLITE_OK);
    sqlite3_create_function(db, "ends", 0, SQLITE_UTF8, first, ends, NULL, NULL);
    assert_int_equal(sqlite3_prepare_v2(db, pairs[i][1], -1, &second, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(first), SQLITE_ROW);
    int before = sqlite3_column_int(first, 0);
    database_must(db, "INSERT INTO s(a) VALUES(1)");
    assert_int_equal(sqlite3_step(second), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(second, 0), before + 1);
    assert_int_equal(sqlite3_finalize(first), SQLITE_OK);
    assert_int_equal(sqlite3_finalize(second), SQLITE_OK);
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* --- statements that write ------------------------------------------------------------------- */

/* A statement that writes into the source reads the groups that were there when it began. */
static void own_rows_are_not_read(void **state) {
  (void)state;
  static const struct {
    const char *sql, *question, *answer;
  } cases[] = {
      {"INSERT INTO s(a, x) SELECT 0, (SELECT c FROM o WHERE k = n.a * 0) FROM n",
       "SELECT group_concat(x) FROM s WHERE id > 3", "3,3,3,3"},
      {"INSERT INTO s(a, x) SELECT 0, (SELECT sum(c) FROM o WHERE c > n.a * 0) FROM n",
       "SELECT group_concat(x) FROM s WHERE id > 3", "3,3,3,3"},
      {"INSERT INTO s(a) SELECT a * 0 FROM n WHERE EXISTS (SELECT 1 FROM o WHERE k = n.a * 0 AND c "
       "< 4)",
       "SELECT count(*) FROM s", "7"},
      {"INSERT INTO s(a, x) SELECT 0, (SELECT json_extract(value, '$.c') FROM "
       "group_by_fields('s', 'a', 'count(*) AS c') WHERE n.a > 0) FROM n",
       "SELECT group_concat(x) FROM s WHERE id > 3", "3,3,3,3"},
      {"INSERT INTO s(a, x) SELECT 0, json_extract(value, '$.c') FROM n CROSS JOIN "
       "group_by_fields('s', 'a', 'count(*) AS c')",
       "SELECT group_concat(x) FROM s WHERE id > 3", "3,3,3,3"},
      {"UPDATE s SET a = (SELECT c FROM o WHERE k = s.id * 0)", "SELECT group_concat(a) FROM s",
       "3,3,3"},
      {"DELETE FROM s WHERE (SELECT c FROM o WHERE k = s.id * 0) = 3", "SELECT count(*) FROM s",
       "0"},
      /* A trigger is a statement for each row; so would a view be grouped for each. */
      {"INSERT INTO log SELECT a FROM n", "SELECT group_concat(x) FROM s WHERE id > 3", "3,4,5,6"},
  };
  db = open_with_schema(":memory:");
  database_must(db,
                "INSERT INTO s(a) VALUES(0), (0), (0); INSERT INTO n(a) VALUES(1), (2), (3), (4);"
                "CREATE TEMP TABLE log(a); CREATE TEMP TRIGGER log_it AFTER INSERT ON log BEGIN "
                "INSERT INTO s(a, x) SELECT 0, (SELECT c FROM o WHERE k = n.id * 0) FROM n LIMIT 1;"
                "END");
  for (int has_index = 0; has_index < 2; has_index++) {
    if (has_index) database_must(db, "CREATE INDEX s_a ON s(a)");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      database_must(db, "BEGIN");
      database_must(db, cases[i].sql);
      const char *answer = database_text(db, cases[i].question);
      if (strcmp(answer, cases[i].answer) != 0)
        fail_msg("%s: %s instead of %s", cases[i].sql, answer, cases[i].answer);
      database_must(db, "ROLLBACK");
    }
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* --- how they end ---------------------------------------------------------------------------- */

/* Nothing is left when the statement has ended. */
static void groups_end_with_their_statement(void **state) {
  (void)state;
  sqlite3_stmt *stmt;
  int64_t at_first = sqlite3_memory_used();
  db = open_with_schema(":memory:");
  database_must(db, "INSERT INTO s SELECT value, value, value FROM counting_input(20000);"
                    "INSERT INTO n(a) VALUES(1), (2), (3), (4)");
  static const char sql[] = "SELECT (SELECT c FROM o WHERE k = n.a) FROM n";
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
  int64_t before = sqlite3_memory_used();
  for (int i = 0; i < 3; i++) assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
  assert_in_range(sqlite3_memory_used() - before, 500000, 100000000);
  assert_int_equal(database_run(db, "DROP TABLE o"), SQLITE_LOCKED);
  assert_int_equal(sqlite3_reset(stmt), SQLITE_OK);
  assert_in_range(sqlite3_memory_used() - before + 50000, 0, 150000);
  assert_int_equal(database_run(db, "DROP TABLE o"), SQLITE_OK);
  assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  assert_int_equal(sqlite3_memory_used(), at_first);
}

/* Groups whose rows still wait, in threads, when the cursor is opened anew. */
static void late_groups_are_kept(void **state) {
  (void)state;
  char path[512];
  db = database_open(database_path("group_subqueries_late", path), 10000);
  database_must(db, "CREATE TABLE s(id INTEGER PRIMARY KEY, x INT);"
                    "INSERT INTO s SELECT value, value % 100000 FROM counting_input(200000);"
                    "CREATE VIRTUAL TABLE temp.o USING group_by_fields(s, by_field_names(x), "
                    "count(*) AS c, workers(2));"
                    "CREATE TEMP TABLE n AS SELECT value * 977 % 150000 AS x FROM "
                    "counting_input(5000)");
  assert_string_equal(
      database_text(db, "SELECT count(c) || ' ' || sum(c) FROM (SELECT (SELECT c FROM o "
                        "WHERE o.x = n.x) AS c FROM temp.n LIMIT -1)"),
      database_text(db, "SELECT count(*) || ' ' || (2 * count(*)) FROM temp.n WHERE x < 100000"));
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  database_remove(path);
}

/* The integer of a query's one row; the code that it ends with. */
static int ask_integer(const char *sql, int *answer) {
  sqlite3_stmt *stmt;
  int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
  if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) *answer = sqlite3_column_int(stmt, 0);
  return rc == SQLITE_OK ? sqlite3_finalize(stmt) : rc;
}

/* Whichever allocation fails, the statement does, and leaves nothing behind. */
static void failing_allocations_are_errors(void **state) {
  (void)state;
  static const char *const queries[] = {
      "SELECT sum((SELECT c FROM o WHERE k = n.a)) FROM n",
      "SELECT sum((SELECT " AD_HOC_COUNT "'a = 1') WHERE n.a < 3)) FROM n",
  };
  int64_t at_first = sqlite3_memory_used();
  db = open_with_schema(":memory:");
  database_must(
      db, "INSERT INTO s(a) VALUES(1), (1), (2), (3); INSERT INTO n(a) VALUES(1), (2), (3), (4)");
  for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
    int rc = SQLITE_NOMEM;
    long at = 0;
    while (rc == SQLITE_NOMEM) {
      int answer = 0;
      failing_allocator_arm(++at, 0);
      rc = ask_integer(queries[i], &answer);
      int has_failed = failing_allocator_has_failed();
      failing_allocator_arm(0, 0);
      if (rc == SQLITE_OK) assert_int_equal(answer, 4);
      if (rc == SQLITE_OK && has_failed) rc = SQLITE_NOMEM; /* it could do without */
    }
    assert_int_equal(rc, SQLITE_OK);
    assert_in_range(at, 100, 100000);
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  assert_int_equal(sqlite3_memory_used(), at_first);
}

int main(void) {
  failing_allocator_install();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(groups_are_made_once),
      cmocka_unit_test(subqueries_read_all_groups),
      cmocka_unit_test(each_run_has_its_groups),
      cmocka_unit_test(a_closed_cursor_leaves_nothing_to_strangers),
      cmocka_unit_test(own_rows_are_not_read),
      cmocka_unit_test(groups_end_with_their_statement),
      cmocka_unit_test(late_groups_are_kept),
      cmocka_unit_test(failing_allocations_are_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

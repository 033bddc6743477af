/*
** counting_input against SQLite itself: a random query gives the same over counting_input and over
** a real table of the same numbers, whatever is pushed down.
*/
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "effort.h"
#include "test_random.h"
#include "tranche.h"
#include "wide_reals.h"

__extension__ typedef __int128 wide;

static sqlite3 *open_db(void) {
  sqlite3 *db;
  assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
  assert_int_equal(sqlite3_tranche_init(db, NULL, NULL), SQLITE_OK);
  return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *stmt;
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
    fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  }
  return stmt;
}

static void run(sqlite3 *db, const char *sql) {
  char *message = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
}

/* All rows as text, with `|` between values and `;` after rows. An error ends it with its text. */
static char *rows_of(sqlite3 *db, sqlite3_stmt *stmt) {
  sqlite3_str *rows = sqlite3_str_new(NULL);
  int rc;
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
      const char *text = (const char *)sqlite3_column_text(stmt, i);
      sqlite3_str_appendf(rows, "%s%s", i == 0 ? "" : "|", text == NULL ? "NULL" : text);
    }
    sqlite3_str_appendchar(rows, 1, ';');
  }
  if (rc != SQLITE_DONE) sqlite3_str_appendf(rows, "%s", sqlite3_errmsg(db));
  sqlite3_reset(stmt);
  if (sqlite3_str_length(rows) == 0) sqlite3_str_appendall(rows, "no rows");
  return sqlite3_str_finish(rows);
}

/*
** A sequence of at most some forty numbers, often at an end of int64 (if SQLite can compare those);
** has_end says if up_to counts.
*/
typedef struct sequence {
  long long start, up_to, step;
  int has_end;
} sequence;

static long long near(test_random *random, long long middle, unsigned width) {
  wide sum = middle;
  sum += (long long)test_random_below(random, width) - width / 2;
  return sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : (long long)sum;
}

static sequence random_sequence(test_random *random) {
  static const long long middles[] = {0, 0, 0, INT64_MAX, INT64_MIN, 1LL << 53};
  sequence s = {.has_end = 1};
  long long middle = middles[test_random_below(random, reals_are_wide() ? 6 : 3)];
  s.start = near(random, middle, 30);
  s.up_to = near(random, middle, 30);
  do {
    s.step = (long long)test_random_below(random, 11) - 5;
  } while (s.step == 0);
  /* Without an end only where it ends soon. */
  if (middle == INT64_MAX && s.step > 0) s.has_end = (int)test_random_below(random, 2);
  if (middle == INT64_MIN && s.step < 0) s.has_end = (int)test_random_below(random, 2);
  return s;
}

static void fill_table(sqlite3 *db, sequence s) {
  sqlite3_stmt *insert = prepare(db, "INSERT INTO m VALUES (?)");
  run(db, "DELETE FROM m");
  for (wide value = s.start; value >= INT64_MIN && value <= INT64_MAX; value += s.step) {
    if (s.has_end && (s.step > 0 ? value >= s.up_to : value <= s.up_to)) break;
    sqlite3_bind_int64(insert, 1, (long long)value);
    assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
    sqlite3_reset(insert);
  }
  sqlite3_finalize(insert);
}

/* Something to compare value with. It may be a column of the one-row table `o` if `can_join`. */
static void append_operand(sqlite3_str *sql, test_random *random, sequence s, int can_join) {
  long long close = near(random, test_random_below(random, 2) ? s.start : s.up_to, 24);
  static const char *const odd[] = {"NULL",  "9e999", "-9e999", "9223372036854775808",
                                    "'x'",   "x'00'", "''",     "-9223372036854775809",
                                    "'  7'", "'7.0'", "'7.5'",  "9223372036854775807",
                                    "0.5",   "-0.0",  "1e18",   "-9223372036854775808"};
  switch (test_random_below(random, can_join ? 8 : 7)) {
  case 0: sqlite3_str_appendall(sql, odd[test_random_below(random, 16)]); break;
  case 1: sqlite3_str_appendf(sql, "%lld.5", close); break;
  case 2: sqlite3_str_appendf(sql, "'%lld'", close); break;
  case 3: sqlite3_str_appendf(sql, "?%d", 1 + (int)test_random_below(random, 3)); break;
  case 7: sqlite3_str_appendf(sql, "o.%c", "ab"[test_random_below(random, 2)]); break;
  default: sqlite3_str_appendf(sql, "%lld", close); break;
  }
}

static void append_term(sqlite3_str *sql, test_random *random, sequence s, int can_join) {
  static const char *const operators[] = {"=", "<", "<=", ">", ">=", "IS", "<>"};
  switch (test_random_below(random, 12)) {
  case 0:
    sqlite3_str_appendall(sql, "value BETWEEN ");
    append_operand(sql, random, s, can_join);
    sqlite3_str_appendall(sql, " AND ");
    append_operand(sql, random, s, can_join);
    break;
  case 1:
  case 2:
    sqlite3_str_appendall(sql, test_random_below(random, 5) == 0 ? "value NOT IN (" : "value IN (");
    for (int i = (int)test_random_below(random, 6); i >= 0; i--) {
      append_operand(sql, random, s, can_join);
      if (i > 0) sqlite3_str_appendall(sql, ", ");
    }
    sqlite3_str_appendall(sql, ")");
    break;
  case 3: sqlite3_str_appendall(sql, "value IN (SELECT a FROM list)"); break;
  case 4: sqlite3_str_appendf(sql, "value %% %d = 1", 2 + (int)test_random_below(random, 3)); break;
  case 5:
    sqlite3_str_appendf(sql, "(value, 1) %s (", operators[1 + test_random_below(random, 4)]);
    append_operand(sql, random, s, can_join);
    sqlite3_str_appendf(sql, ", %d)", (int)test_random_below(random, 3));
    break;
  case 6:
    sqlite3_str_appendall(sql, "(value = ");
    append_operand(sql, random, s, can_join);
    sqlite3_str_appendall(sql, " OR value > ");
    append_operand(sql, random, s, can_join);
    sqlite3_str_appendall(sql, ")");
    break;
  default:
    sqlite3_str_appendf(sql, "value %s ", operators[test_random_below(random, 7)]);
    append_operand(sql, random, s, can_join);
  }
}

/* Everything after the first table of FROM. The text is the same for both. */
static char *random_clauses(test_random *random, sequence s) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  int joins = test_random_below(random, 4) == 0;
  if (joins) {
    int is_left = test_random_below(random, 3) == 0;
    sqlite3_str_appendall(sql, is_left ? " LEFT JOIN o ON " : " JOIN o ON ");
    append_term(sql, random, s, 1);
  }
  /* No WHERE 1: SQLite shows LIMIT to a table only where every term is one on the table. */
  const char *word = " WHERE ";
  for (uint64_t terms = test_random_below(random, 4); terms > 0; terms--) {
    sqlite3_str_appendall(sql, word);
    word = " AND ";
    append_term(sql, random, s, joins);
  }
  static const char *const orders[] = {" ORDER BY value",         " ORDER BY value DESC",
                                       " ORDER BY value DESC, 1", " ORDER BY value % 3, value",
                                       " ORDER BY -value",        " ORDER BY +value"};
  sqlite3_str_appendall(sql, orders[test_random_below(random, 6)]);
  if (test_random_below(random, 2)) {
    static const char *const limits[] = {"0", "1", "3", "?4", "-1", "9223372036854775807", "'2'"};
    sqlite3_str_appendf(sql, " LIMIT %s", limits[test_random_below(random, 7)]);
    if (test_random_below(random, 2)) {
      sqlite3_str_appendf(sql, " OFFSET %s", limits[test_random_below(random, 7)]);
    }
  }
  return sqlite3_str_finish(sql);
}

static void bind(sqlite3_stmt *stmt, test_random random, sequence s) {
  for (int i = sqlite3_bind_parameter_count(stmt); i > 0; i--) {
    long long close = near(&random, s.start, 20);
    uint64_t choice = i == 4 ? 0 : test_random_below(&random, 5);
    if (i == 4) close = (long long)test_random_below(&random, 5) - 1;
    if (choice == 1) {
      sqlite3_bind_double(stmt, i, (double)close + 0.5);
    } else if (choice == 2) {
      char text[32];
      snprintf(text, sizeof text, "%lld", close);
      sqlite3_bind_text(stmt, i, text, -1, SQLITE_TRANSIENT);
    } else if (choice == 3 && close % 3 == 0) {
      sqlite3_bind_null(stmt, i);
    } else {
      sqlite3_bind_int64(stmt, i, close);
    }
  }
}

/* The FROM item, its arguments written as constants or as columns of a table. */
static char *random_source(test_random *random, sequence s) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  if (!s.has_end) {
    sqlite3_str_appendf(sql,
                        "(SELECT value FROM counting_input WHERE start = %lld AND step = %lld)",
                        s.start, s.step);
  } else if (test_random_below(random, 2)) {
    sqlite3_str_appendf(sql, "counting_input(%lld, %lld, %lld)", s.up_to, s.start, s.step);
  } else {
    sqlite3_str_appendf(sql,
                        "(SELECT value FROM (SELECT %lld AS u, %lld AS s, %lld AS d)"
                        " JOIN counting_input(u, s, d))",
                        s.up_to, s.start, s.step);
  }
  return sqlite3_str_finish(sql);
}

static void agrees_with_a_table(void **state) {
  (void)state;
  test_random random = test_random_begin("counting_input");
  sqlite3 *db = open_db();
  run(db, "CREATE TABLE m(value INTEGER NOT NULL); CREATE TABLE o(a, b); CREATE TABLE list(a);");
  for (long round = test_effort(4000); round > 0; round--) {
    sequence s = random_sequence(&random);
    fill_table(db, s);
    char *others = sqlite3_mprintf("DELETE FROM o; DELETE FROM list;"
                                   "INSERT INTO o VALUES (%lld, %lld);"
                                   "INSERT INTO list VALUES (%lld), ('%lld'), (%lld.5), (NULL)",
                                   near(&random, s.start, 9), near(&random, s.up_to, 9),
                                   near(&random, s.start, 9), near(&random, s.up_to, 9), s.start);
    run(db, others);
    sqlite3_free(others);
    for (int query = 0; query < 10; query++) {
      char *source = random_source(&random, s), *clauses = random_clauses(&random, s);
      char *ours = sqlite3_mprintf("SELECT value FROM %s%s", source, clauses);
      char *real = sqlite3_mprintf("SELECT value FROM m%s", clauses);
      sqlite3_stmt *our_stmt = prepare(db, ours), *real_stmt = prepare(db, real);
      bind(our_stmt, random, s);
      bind(real_stmt, random, s);
      char *our_rows = rows_of(db, our_stmt), *real_rows = rows_of(db, real_stmt);
      if (strcmp(our_rows, real_rows) != 0) {
        char *bound = sqlite3_expanded_sql(our_stmt);
        fail_msg("%s\n  gives  %s\n  wanted %s", bound, our_rows, real_rows);
      }
      sqlite3_finalize(our_stmt);
      sqlite3_finalize(real_stmt);
      char *const texts[] = {source, clauses, ours, real, our_rows, real_rows};
      for (int i = 0; i < 6; i++) sqlite3_free(texts[i]);
    }
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(agrees_with_a_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
** counting_input, as far as only a program can test it: plans, interrupts and progress handlers
** during a wait, a running scan that is split, and what a closed scan leaves behind.
** tests/sql/counting_input.sql tests what a shell can see, test_counting_queries.c random queries.
*/
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sqlite3.h>

#include "tranche.h"

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

static void assert_rows(sqlite3 *db, const char *sql, const char *wanted) {
  sqlite3_stmt *stmt = prepare(db, sql);
  char *rows = rows_of(db, stmt);
  if (strcmp(rows, wanted) != 0) fail_msg("%s\n  gives  %s\n  wanted %s", sql, rows, wanted);
  sqlite3_free(rows);
  sqlite3_finalize(stmt);
}

/* ---- Plans ---------------------------------------------------------------------------------- */

static int always_stop(void *unused) {
  (void)unused;
  return 1;
}

/*
** What would take centuries if it were counted takes at most so many steps of the virtual machine.
*/
static void costs_nothing(void **state) {
  (void)state;
  static const struct {
    const char *sql, *wanted;
    int needs_whole_in; /* LIMIT and IN as one: newer hosts */
  } cases[] = {
      {"SELECT max(value) FROM counting_input", "9223372036854775807;", 0},
      {"SELECT min(value) FROM counting_input(9223372036854775807, 5)", "5;", 0},
      {"SELECT min(value) FROM counting_input WHERE step = -7", "-9223372036854775807;", 0},
      {"SELECT value FROM counting_input WHERE value > 1e18 ORDER BY value LIMIT 1",
       "1000000000000000001;", 0},
      {"SELECT value FROM counting_input WHERE value BETWEEN 1e18 AND 1000000000000000002",
       "1000000000000000000;1000000000000000001;1000000000000000002;", 0},
      {"SELECT value FROM counting_input WHERE value = 1e18", "1000000000000000000;", 0},
      {"SELECT value FROM counting_input WHERE value IN (7, 1e18, -1) ORDER BY value",
       "7;1000000000000000000;", 0},
      {"SELECT value FROM counting_input ORDER BY value DESC LIMIT 2",
       "9223372036854775807;9223372036854775806;", 0},
      {"SELECT value FROM counting_input LIMIT 1 OFFSET 1000000000000000000",
       "1000000000000000000;", 1},
      {"SELECT value FROM counting_input ORDER BY value DESC LIMIT 1 OFFSET 1000000000000000000",
       "8223372036854775807;", 1},
      {"SELECT value FROM counting_input WHERE value >= 10 LIMIT 1 OFFSET 1000000000000000000",
       "1000000000000000010;", 1},
      {"SELECT value FROM counting_input(10000000000) WHERE value = 5 OR value > 9999999997",
       "5;9999999998;9999999999;", 0},
      {"SELECT count(*) FROM counting_input(10) AS a JOIN counting_input AS b ON b.value = a.value",
       "10;", 0},
      {"SELECT a.value FROM counting_input(3) AS a JOIN counting_input AS b ON b.rowid = a.value",
       "0;1;2;", 0},
  };
  sqlite3 *db = open_db();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (cases[i].needs_whole_in && sqlite3_libversion_number() < 3038000) continue;
    sqlite3_stmt *stmt = prepare(db, cases[i].sql);
    sqlite3_progress_handler(db, 2000, always_stop, NULL);
    char *rows = rows_of(db, stmt);
    if (strcmp(rows, cases[i].wanted) != 0) fail_msg("%s gives %s", cases[i].sql, rows);
    sqlite3_free(rows);
    assert_int_equal(sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_SORT, 0), 0);
    if (sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 0) > 400) {
      fail_msg("%s is counted", cases[i].sql);
    }
    sqlite3_finalize(stmt);
  }
  sqlite3_close(db);
}

/* LIMIT and OFFSET count the rows that all terms leave, also those that SQLite shows nobody. */
static void limits_count_what_is_left(void **state) {
  (void)state;
  static const struct {
    const char *sql, *wanted;
  } cases[] = {
      {"SELECT value FROM counting_input(50) WHERE value > value % 7 + 9 LIMIT 2", "14;15;"},
      {"SELECT value FROM counting_input(50) WHERE value > value % 7 + 9 LIMIT 2 OFFSET 1",
       "15;16;"},
      {"SELECT value FROM counting_input(50) WHERE value > 20 AND value = 6 * (value / 6) LIMIT 2",
       "24;30;"},
      {"SELECT value FROM counting_input(5) WHERE value < rowid LIMIT 2", "no rows"},
      {"SELECT value FROM counting_input(5) WHERE value > value ORDER BY value LIMIT 2", "no rows"},
      {"SELECT value FROM counting_input(20, 0, 3) WHERE value > step * 2 LIMIT 1", "9;"},
      {"SELECT value FROM counting_input(20) WHERE value BETWEEN 3 AND 9 LIMIT 2 OFFSET 2", "5;6;"},
  };
  sqlite3 *db = open_db();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_rows(db, cases[i].sql, cases[i].wanted);
  }
  sqlite3_close(db);
}

/* Nor does a pattern take rows away from the side of a join that is kept. */
static void patterns_leave_outer_joins_alone(void **state) {
  (void)state;
  static const char *const patterns[] = {"'q%'", "'q%' ESCAPE '!'", "'1%'", "'1%' ESCAPE '!'"};
  sqlite3 *db = open_db();
  for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
    char sql[300];
    snprintf(sql, sizeof sql,
             "SELECT coalesce(c.value, '-') FROM (SELECT 1 AS x UNION ALL SELECT 2) AS j "
             "LEFT JOIN counting_input(3) AS c ON c.value LIKE %s AND c.value < j.x",
             patterns[i]);
    assert_rows(db, sql, i < 2 ? "-;-;" : "-;1;");
  }
  sqlite3_close(db);
}

static void sorts_only_what_it_must(void **state) {
  (void)state;
  static const struct {
    const char *sql;
    int sorts;
  } cases[] = {
      {"SELECT value FROM counting_input(9) ORDER BY value", 0},
      {"SELECT value FROM counting_input(9) ORDER BY value DESC, timestamp", 0},
      {"SELECT value FROM counting_input(9) ORDER BY rowid DESC", 0},
      {"SELECT value FROM counting_input(9) ORDER BY -value", 1},
      {"SELECT value FROM counting_input(9) ORDER BY timestamp", 1},
      {"SELECT value FROM counting_input(9) WHERE value IN (1, 5) ORDER BY value DESC", 0},
      /* A tracker is claimed in one direction. A scan that time cuts off has one direction, too. */
      {"SELECT value FROM counting_input(9) WHERE tracker = 'a' ORDER BY value", 0},
      {"SELECT value FROM counting_input(9) WHERE tracker = 'b' ORDER BY value DESC", 1},
      {"SELECT value FROM counting_input(0, 9, -1) WHERE tracker = 'c' ORDER BY value DESC", 0},
      {"SELECT value FROM counting_input(0, 9, ?) WHERE tracker = 'd' ORDER BY value DESC", 1},
      {"SELECT value FROM counting_input(9) WHERE max_read_time = 100 ORDER BY value", 0},
      {"SELECT value FROM counting_input(9) WHERE max_read_time = 100 ORDER BY value DESC", 1},
      {"SELECT value FROM counting_input(9) WHERE rate = 1000000 ORDER BY value DESC", 0},
  };
  if (sqlite3_libversion_number() < 3038000) skip();
  sqlite3 *db = open_db();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    sqlite3_stmt *stmt = prepare(db, cases[i].sql);
    if (sqlite3_bind_parameter_count(stmt) > 0) sqlite3_bind_int(stmt, 1, -1);
    sqlite3_free(rows_of(db, stmt));
    if (sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_SORT, 0) != cases[i].sorts) {
      fail_msg("%s: sorts %d", cases[i].sql, !cases[i].sorts);
    }
    sqlite3_finalize(stmt);
  }
  sqlite3_close(db);
}

/* One prepared statement, other values: nothing is kept of the last scan. */
static void can_be_run_again(void **state) {
  (void)state;
  sqlite3 *db = open_db();
  sqlite3_stmt *stmt = prepare(db, "SELECT value, timestamp FROM counting_input(?1)"
                                   " WHERE value IN (?2, 5) AND timestamp_expr = ?3");
  static const struct {
    int up_to, in;
    const char *expression, *wanted;
  } runs[] = {
      {9, 3, "value * 2", "3|6;5|10;"},
      {9, 4, "value * 2", "4|8;5|10;"},
      {5, 3, "value * 3", "3|9;"},
      {9, 8, NULL, "no rows"},
      {9, 8, "value * 3", "5|15;8|24;"},
      {1, 3, "value * 3", "no rows"},
      {6, 3, "value + ",
       "counting_input(): argument timestamp_expr = 'value + ': "
       "near \")\": syntax error"},
      {6, 3, "value * 3", "3|9;5|15;"},
  };
  for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
    sqlite3_bind_int(stmt, 1, runs[i].up_to);
    sqlite3_bind_int(stmt, 2, runs[i].in);
    sqlite3_bind_text(stmt, 3, runs[i].expression, -1, SQLITE_STATIC);
    char *rows = rows_of(db, stmt);
    assert_string_equal(rows, runs[i].wanted);
    sqlite3_free(rows);
  }
  sqlite3_finalize(stmt);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- Rates and interrupts ------------------------------------------------------------------- */

static const char endless_wait[] =
    "SELECT value FROM counting_input WHERE rate = 1 AND period = 1e6";

/* What the progress handler of a waiting connection does. */
typedef struct watcher {
  long calls, stop_at; /* stop_at 0: never */
  sem_t *seen;         /* posted at the third call */
} watcher;

static int watch(void *pointer) {
  watcher *w = pointer;
  w->calls++;
  if (w->calls == 3 && w->seen != NULL) sem_post(w->seen);
  return w->calls == w->stop_at;
}

/* The second number is due in twelve days. */
static void an_interrupt_ends_a_wait(void **state) {
  (void)state;
  sqlite3 *db = open_db();
  sqlite3_stmt *stmt = prepare(db, endless_wait);
  for (int again = 0; again < 3; again++) {
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    sqlite3_interrupt(db);
    assert_int_equal(sqlite3_step(stmt), SQLITE_INTERRUPT);
    assert_int_equal(sqlite3_reset(stmt), SQLITE_INTERRUPT);
  }
  sqlite3_finalize(stmt);
  assert_rows(db, "SELECT count(*) FROM counting_input(5)", "5;");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

typedef struct interrupter {
  sqlite3 *db;
  sem_t seen;
} interrupter;

static void *interrupt_when_seen(void *pointer) {
  interrupter *i = pointer;
  sem_wait(&i->seen);
  sqlite3_interrupt(i->db);
  return NULL;
}

/* From another thread, when the wait has called the progress handler three times. */
static void an_interrupt_from_another_thread_ends_a_wait(void **state) {
  (void)state;
  interrupter i = {.db = open_db()};
  pthread_t thread;
  watcher w = {.seen = &i.seen};
  sem_init(&i.seen, 0, 0);
  sqlite3_stmt *stmt = prepare(i.db, endless_wait);
  assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
  sqlite3_progress_handler(i.db, 1000, watch, &w);
  assert_int_equal(pthread_create(&thread, NULL, interrupt_when_seen, &i), 0);
  assert_int_equal(sqlite3_step(stmt), SQLITE_INTERRUPT);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_true(w.calls >= 3);
  sqlite3_finalize(stmt);
  sem_destroy(&i.seen);
  assert_int_equal(sqlite3_close(i.db), SQLITE_OK);
}

static void a_progress_handler_ends_a_wait(void **state) {
  (void)state;
  sqlite3 *db = open_db();
  watcher w = {.stop_at = 5};
  sqlite3_stmt *stmt = prepare(db, endless_wait);
  assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
  sqlite3_progress_handler(db, 1000, watch, &w);
  assert_int_equal(sqlite3_step(stmt), SQLITE_INTERRUPT);
  assert_int_equal(w.calls, 5);
  sqlite3_finalize(stmt);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The expression of timestamp_expr runs on a connection of its own, and ends with the caller's. */
static void an_interrupt_ends_an_expression(void **state) {
  (void)state;
  sqlite3 *db = open_db();
  watcher w = {.stop_at = 5};
  sqlite3_str *text = sqlite3_str_new(db);
  sqlite3_str_appendall(text, "CASE value");
  for (int i = 1; i < 50000; i++) sqlite3_str_appendf(text, " WHEN %d THEN 0", i);
  sqlite3_str_appendall(text, " END");
  sqlite3_stmt *stmt =
      prepare(db, "SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = ?");
  assert_int_equal(sqlite3_bind_text(stmt, 1, sqlite3_str_finish(text), -1, sqlite3_free),
                   SQLITE_OK);
  sqlite3_progress_handler(db, 1000, watch, &w);
  assert_int_equal(sqlite3_step(stmt), SQLITE_INTERRUPT);
  sqlite3_finalize(stmt);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Counts the runs of the statement that looks for an interrupt, and interrupts in the third. */
static int see_poll(unsigned event, void *pointer, void *stmt, void *sql) {
  watcher *w = pointer;
  (void)event, (void)sql;
  if (strstr(sqlite3_sql(stmt), "(100+1)") == NULL) return 0;
  if (++w->calls == w->stop_at) sqlite3_interrupt(sqlite3_db_handle(stmt));
  return 0;
}

/* A long IN is read with an eye on interrupts, and left at once. */
static void an_interrupt_ends_the_reading_of_a_list(void **state) {
  (void)state;
  if (sqlite3_libversion_number() < 3038000) skip();
  sqlite3 *db = open_db();
  watcher w = {.stop_at = 0};
  run(db, "CREATE TABLE list(a INTEGER PRIMARY KEY);"
          "INSERT INTO list SELECT value FROM counting_input(100000)");
  sqlite3_stmt *stmt =
      prepare(db, "SELECT value FROM counting_input WHERE value IN (SELECT a FROM list)");
  sqlite3_trace_v2(db, SQLITE_TRACE_STMT, see_poll, &w);
  assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
  sqlite3_reset(stmt);
  assert_in_range(w.calls, 10, 100);
  w = (watcher){.stop_at = 3};
  assert_int_equal(sqlite3_step(stmt), SQLITE_INTERRUPT);
  assert_int_equal(w.calls, 3);
  sqlite3_finalize(stmt);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_scan_without_end_can_be_stopped(void **state) {
  (void)state;
  sqlite3 *db = open_db();
  watcher w = {.stop_at = 100};
  sqlite3_stmt *stmt = prepare(db, "SELECT count(*) FROM counting_input");
  sqlite3_progress_handler(db, 1000, watch, &w);
  assert_int_equal(sqlite3_step(stmt), SQLITE_INTERRUPT);
  sqlite3_finalize(stmt);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static double seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/*
** Never more than the rate allows at any moment, whatever the wall clock does, and nothing is
** skipped.
*/
static void a_rate_limits_the_count(void **state) {
  (void)state;
  sqlite3 *db = open_db();
  sqlite3_stmt *stmt =
      prepare(db, "SELECT value FROM counting_input WHERE start = 1000 AND rate = 7"
                  " AND period = 0.01 AND max_records = 60");
  double start = seconds();
  long rows = 0;
  for (; sqlite3_step(stmt) == SQLITE_ROW; rows++) {
    assert_int_equal(sqlite3_column_int64(stmt, 0), 1000 + rows);
    assert_true((double)rows + 1 <= 7 * (seconds() - start) / 0.01 + 1);
  }
  assert_int_equal(rows, 60);
  sqlite3_finalize(stmt);
  sqlite3_close(db);
}

/* The time is up between two records that are always ready. */
static void max_read_time_ends_a_scan(void **state) {
  (void)state;
  sqlite3 *db = open_db();
  sqlite3_stmt *stmt = prepare(
      db, "SELECT max(value) + 1 = count(*) FROM counting_input WHERE max_read_time = 0.01");
  assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
  assert_int_equal(sqlite3_column_int(stmt, 0), 1);
  sqlite3_finalize(stmt);
  sqlite3_close(db);
}

/* ---- Trackers ------------------------------------------------------------------------------- */

static long count_rows(sqlite3_stmt *stmt) {
  long rows = 0;
  while (sqlite3_step(stmt) == SQLITE_ROW) rows++;
  return rows;
}

/* Two connections: one reads, the other takes the far half of what is left, again and again. */
static void a_running_scan_is_split(void **state) {
  (void)state;
  static const char *const scans[] = {
      "SELECT value FROM counting_input(100000) WHERE tracker = 'shared:c'",
      "SELECT value FROM counting_input(0, 100000, -1) WHERE tracker = 'shared:c'"};
  static const char *const rests[] = {
      "SELECT value FROM counting_input(100000) WHERE restriction = ?",
      "SELECT value FROM counting_input(0, 100000, -1) WHERE restriction = ?"};
  for (int i = 0; i < 2; i++) {
    sqlite3 *reader = open_db(), *splitter = open_db();
    sqlite3_stmt *scan = prepare(reader, scans[i]);
    sqlite3_stmt *split = prepare(splitter, "SELECT tracker_try_split('shared:c', 0.5)");
    sqlite3_stmt *rest = prepare(splitter, rests[i]);
    sqlite3_int64 rows = 0, sum = 0;
    for (; sqlite3_step(scan) == SQLITE_ROW; rows++) {
      sum += sqlite3_column_int64(scan, 0);
      if (rows % 1000 != 500) continue;
      assert_int_equal(sqlite3_step(split), SQLITE_ROW);
      if (sqlite3_column_type(split, 0) != SQLITE_NULL) {
        sqlite3_bind_value(rest, 1, sqlite3_column_value(split, 0));
        for (; sqlite3_step(rest) == SQLITE_ROW; rows++) sum += sqlite3_column_int64(rest, 0);
        sqlite3_reset(rest);
      }
      sqlite3_reset(split);
    }
    assert_true(rows == 100000);
    assert_true(sum == (i == 0 ? 4999950000 : 5000050000));
    assert_rows(splitter, "SELECT tracker_check_done('shared:c')", "1;");
    sqlite3_finalize(scan);
    sqlite3_finalize(split);
    sqlite3_finalize(rest);
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    assert_int_equal(sqlite3_close(splitter), SQLITE_OK);
  }
}

/* What the caller did not fetch was not claimed. Only one scan at a time can use a tracker. */
static void closing_early_loses_nothing(void **state) {
  (void)state;
  sqlite3 *db = open_db();
  sqlite3_stmt *scan = prepare(db, "SELECT value FROM counting_input(100) WHERE tracker = 't'");
  for (int i = 0; i < 10; i++) assert_int_equal(sqlite3_step(scan), SQLITE_ROW);
  assert_rows(db, "SELECT last_claimed FROM range_trackers", "9;");
  assert_rows(db, "SELECT value FROM counting_input(100) WHERE tracker = 't'",
              "counting_input(): argument tracker = 't': tracker 't' is in use by another scan");
  sqlite3_reset(scan);
  assert_rows(db, "SELECT last_claimed FROM range_trackers", "9;");
  assert_int_equal(count_rows(scan), 90);
  sqlite3_reset(scan);
  assert_int_equal(count_rows(scan), 0);
  sqlite3_finalize(scan);
  assert_rows(db, "SELECT tracker_check_done('t')", "1;");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* An interrupted wait claims nothing, and the scan can go on. */
static void an_interrupted_wait_claims_nothing(void **state) {
  (void)state;
  sqlite3 *db = open_db();
  sqlite3_stmt *scan = prepare(db, "SELECT value FROM counting_input(5) WHERE tracker = 't'"
                                   " AND rate = 1 AND period = 1e6");
  for (int i = 0; i < 5; i++) {
    assert_int_equal(sqlite3_step(scan), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(scan, 0), i);
    sqlite3_interrupt(db);
    assert_int_equal(sqlite3_step(scan), SQLITE_INTERRUPT);
    sqlite3_reset(scan);
  }
  assert_int_equal(sqlite3_step(scan), SQLITE_DONE);
  sqlite3_finalize(scan);
  assert_rows(db, "SELECT tracker_check_done('t')", "1;");
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A scan keeps its tracker when the name is closed, by a call or with the owner's connection. */
static void outlives_its_name(void **state) {
  (void)state;
  sqlite3 *owner = open_db(), *reader = open_db();
  sqlite3_stmt *scan =
      prepare(reader, "SELECT value FROM counting_input WHERE tracker = 'shared:o'");
  assert_rows(owner, "SELECT tracker_open('shared:o', offset_range(0, 10))",
              "{\"from\":0,\"to\":10};");
  assert_int_equal(sqlite3_step(scan), SQLITE_ROW);
  assert_int_equal(sqlite3_close(owner), SQLITE_OK);
  assert_int_equal(count_rows(scan), 9);
  sqlite3_finalize(scan);
  assert_rows(reader, "SELECT count(*) FROM range_trackers", "0;");
  assert_int_equal(sqlite3_close(reader), SQLITE_OK);
}

/*
** Pieces of a range, each read by itself, make the whole, with sizes around the pieces' boundaries.
*/
static void pieces_are_the_whole(void **state) {
  (void)state;
  sqlite3 *db = open_db();
  sqlite3_stmt *whole =
      prepare(db, "SELECT count(*), total(value) FROM counting_input(?1, ?2, ?3)");
  sqlite3_stmt *pieces = prepare(
      db,
      "SELECT count(value), total(value) FROM range_split(offset_range("
      "  CASE WHEN ?3 > 0 THEN ?2 ELSE -1 - ?2 END, CASE WHEN ?3 > 0 THEN ?1 ELSE -1 - ?1 END), ?4)"
      " AS p LEFT JOIN counting_input(?1, ?2, ?3) AS c ON c.restriction = p.restriction");
  for (int count = 0; count < 13; count++) {
    for (int step = -3; step <= 3; step++) {
      for (int parts = 1; step != 0 && parts < 6; parts++) {
        sqlite3_stmt *const both[] = {whole, pieces};
        double answers[2][2];
        for (int i = 0; i < 2; i++) {
          sqlite3_bind_int(both[i], 1, step > 0 ? 5 + count : 5 - count);
          sqlite3_bind_int(both[i], 2, 5);
          sqlite3_bind_int(both[i], 3, step);
          if (i == 1) sqlite3_bind_int(both[i], 4, parts);
          assert_int_equal(sqlite3_step(both[i]), SQLITE_ROW);
          for (int j = 0; j < 2; j++) answers[i][j] = sqlite3_column_double(both[i], j);
          sqlite3_reset(both[i]);
        }
        assert_memory_equal(answers[0], answers[1], sizeof answers[0]);
      }
    }
  }
  sqlite3_finalize(whole);
  sqlite3_finalize(pieces);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- The sandbox of timestamp_expr ---------------------------------------------------------- */

static int stolen;

static void steal(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc, (void)argv;
  stolen++;
  sqlite3_result_int(context, 1);
}

static int add_dangerous_functions(sqlite3 *db, char **message, const void *api) {
  (void)message, (void)api;
  int rc = sqlite3_create_function(db, "steal_direct", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
                                   steal, NULL, NULL);
  if (rc != SQLITE_OK) return rc;
  return sqlite3_create_function(db, "steal", 0, SQLITE_UTF8, NULL, steal, NULL, NULL);
}

/* Neither the connection's functions and tables, nor those that every connection is given. */
static void an_expression_cannot_reach_out(void **state) {
  (void)state;
  static const char *const expressions[] = {"steal()",
                                            "steal_direct()",
                                            "own_function()",
                                            "(SELECT a FROM secret)",
                                            "(SELECT a FROM main.secret)",
                                            "value COLLATE own_collation"};
  void (*entry)(void) = (void (*)(void))add_dangerous_functions;
  sqlite3_auto_extension(entry);
  sqlite3 *db = open_db();
  run(db, "CREATE TABLE secret(a); INSERT INTO secret VALUES (42)");
  sqlite3_create_function(db, "own_function", 0, SQLITE_UTF8 | SQLITE_INNOCUOUS, NULL, steal, NULL,
                          NULL);
  sqlite3_stmt *stmt =
      prepare(db, "SELECT timestamp FROM counting_input(1) WHERE timestamp_expr = ?");
  for (size_t i = 0; i < sizeof expressions / sizeof expressions[0]; i++) {
    sqlite3_bind_text(stmt, 1, expressions[i], -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ERROR);
    sqlite3_reset(stmt);
  }
  static const char zero[] = "1\0 + 1";
  sqlite3_bind_text(stmt, 1, zero, sizeof zero - 1, SQLITE_STATIC);
  assert_int_equal(sqlite3_step(stmt), SQLITE_ERROR);
  sqlite3_finalize(stmt);
  assert_int_equal(stolen, 0);
  sqlite3_cancel_auto_extension(entry);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(costs_nothing),
      cmocka_unit_test(limits_count_what_is_left),
      cmocka_unit_test(patterns_leave_outer_joins_alone),
      cmocka_unit_test(sorts_only_what_it_must),
      cmocka_unit_test(can_be_run_again),
      cmocka_unit_test(an_interrupt_ends_a_wait),
      cmocka_unit_test(an_interrupt_from_another_thread_ends_a_wait),
      cmocka_unit_test(a_progress_handler_ends_a_wait),
      cmocka_unit_test(an_interrupt_ends_an_expression),
      cmocka_unit_test(an_interrupt_ends_the_reading_of_a_list),
      cmocka_unit_test(a_scan_without_end_can_be_stopped),
      cmocka_unit_test(a_rate_limits_the_count),
      cmocka_unit_test(max_read_time_ends_a_scan),
      cmocka_unit_test(a_running_scan_is_split),
      cmocka_unit_test(closing_early_loses_nothing),
      cmocka_unit_test(an_interrupted_wait_claims_nothing),
      cmocka_unit_test(outlives_its_name),
      cmocka_unit_test(pieces_are_the_whole),
      cmocka_unit_test(an_expression_cannot_reach_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

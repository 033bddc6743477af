/*
** Jobs over a table that grows and shrinks meanwhile. Workers finish, fail, give up, roll back and
** lose their leases, all at random. The seed is printed; TRANCHE_SEED=n repeats a run.
**
** Whatever happens, a row that is there from the beginning to the end is done once, and no row is
** done twice. A row that was inserted ahead of the position is done; one behind it is done after
** job_rescan. And at all times the bundles contain every key exactly once.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "database.h"
#include "effort.h"
#include "test_random.h"

enum { WORKERS = 3, STEPS = 150, IDS = 600 };

typedef struct world {
  sqlite3 *db[WORKERS];
  char bundle[WORKERS][200]; /* "": none */
  test_random random;
} world;

static int below(world *w, int limit) {
  return (int)test_random_below(&w->random, (uint64_t)limit);
}

/* A row's id is its key, and is never used again: a row that comes back would be the same row. */
static void add_rows(world *w) {
  char sql[200];
  for (int i = below(w, 6); i > 0; i--) {
    snprintf(sql, sizeof sql,
             "INSERT OR IGNORE INTO events SELECT id, 'new' FROM (SELECT %d AS id) "
             "WHERE id NOT IN (SELECT id FROM used)",
             below(w, IDS) - IDS / 4);
    database_must(w->db[0], sql);
  }
  database_must(w->db[0], "INSERT OR IGNORE INTO used SELECT id FROM events");
}

static void remove_rows(world *w) {
  char sql[100];
  snprintf(sql, sizeof sql, "DELETE FROM events WHERE id %% 37 = %d", below(w, 37));
  database_must(w->db[0], sql);
}

static void claim(world *w, int i) {
  char sql[200];
  snprintf(sql, sizeof sql, "SELECT job_claim('job', 'w%d', %d, %d)", i,
           below(w, 4) == 0 ? 50 + below(w, 60) : 1 + below(w, 12), below(w, 3) == 0 ? 0 : 1000);
  const char *bundle = database_text(w->db[i], sql);
  assert_int_not_equal(strncmp(bundle, "error", 5), 0);
  snprintf(w->bundle[i], sizeof w->bundle[i], "%s", bundle);
}

/* Writes the output. If the bundle was lost meanwhile, nothing may happen. */
static void finish(world *w, int i, int rolls_back) {
  char sql[300];
  sqlite3 *db = w->db[i];
  database_must(db, "BEGIN IMMEDIATE");
  snprintf(sql, sizeof sql, "INSERT INTO out SELECT id FROM job WHERE restriction = '%s'",
           w->bundle[i]);
  database_must(db, sql);
  snprintf(sql, sizeof sql, "SELECT job_done('job', '%s')", w->bundle[i]);
  const char *answer = database_text(db, sql);
  int is_refused = strcmp(answer, "1") != 0;
  if (is_refused) assert_int_equal(strncmp(answer, "error: job_done: bundle", 23), 0);
  database_must(db, is_refused || rolls_back ? "ROLLBACK" : "COMMIT");
  if (!rolls_back) w->bundle[i][0] = '\0';
}

static void let_go(world *w, int i, const char *function, const char *rest) {
  char sql[300];
  snprintf(sql, sizeof sql, "SELECT %s('job', '%s'%s)", function, w->bundle[i], rest);
  database_text(w->db[i], sql); /* refused where it was lost */
  w->bundle[i][0] = '\0';
}

static void check_ranges(world *w) {
  assert_int_equal(
      database_integer(w->db[0],
                       "SELECT count(*) FROM (SELECT start_key, lag(end_key, 1, x'') OVER "
                       "(ORDER BY start_key) AS before FROM job_bundles) "
                       "WHERE start_key <> before"),
      0);
  assert_int_equal(
      database_integer(w->db[0], "SELECT count(*) FROM job_bundles WHERE end_key = x''"), 1);
  assert_int_equal(database_integer(w->db[0], "SELECT count(*) - count(DISTINCT id) FROM out"), 0);
}

/* One worker finishes what is left. The leases of the others are over. */
static void finish_all(world *w) {
  database_must(w->db[0], "UPDATE job_bundles SET until = 0 WHERE state = 'claimed'");
  for (;;) {
    const char *bundle = database_text(w->db[0], "SELECT job_claim('job', 'last', 50, 1000)");
    snprintf(w->bundle[0], sizeof w->bundle[0], "%s", bundle);
    if (bundle[0] == '\0') return;
    finish(w, 0, 0);
  }
}

static void one_life(world *w) {
  char sql[100];
  char path[512];
  database_path("job_property", path);
  for (int i = 0; i < WORKERS; i++) {
    w->db[i] = database_open(path, 1000);
    w->bundle[i][0] = '\0';
    database_must(w->db[i], "PRAGMA synchronous = OFF");
  }
  database_must(w->db[0], "CREATE TABLE events(id INTEGER PRIMARY KEY, v);"
                          "CREATE TABLE used(id INTEGER PRIMARY KEY);"
                          "CREATE TABLE out(id);"
                          "CREATE VIRTUAL TABLE job USING scan_job(events, max_attempts(1000))");
  /* Unbroken rowids, or with gaps. */
  snprintf(sql, sizeof sql, "INSERT INTO events SELECT value * %d, 'old' FROM counting_input(%d)",
           1 + below(w, 3), 80 + below(w, 120));
  database_must(w->db[0], sql);
  database_must(w->db[0], "INSERT INTO used SELECT id FROM events");
  for (int step = 0; step < STEPS; step++) {
    int i = below(w, WORKERS);
    int what = below(w, 12);
    if (what == 0) {
      add_rows(w);
    } else if (what == 1) {
      remove_rows(w);
    } else if (what == 2) {
      assert_true(database_integer(w->db[i], "SELECT job_rescan('job')") >= 0);
    } else if (w->bundle[i][0] == '\0') {
      claim(w, i);
    } else if (what == 3) {
      let_go(w, i, "job_release", "");
    } else if (what == 4) {
      let_go(w, i, "job_fail", ", 'by chance'");
    } else if (what == 5) {
      w->bundle[i][0] = '\0'; /* killed */
    } else {
      finish(w, i, what == 6);
    }
    check_ranges(w);
  }
  /* A row after all others is ahead of every position. */
  database_must(w->db[0], "INSERT INTO events VALUES (100000, 'ahead')");
  finish_all(w);
  assert_int_equal(database_integer(w->db[0], "SELECT count(*) FROM out WHERE id = 100000"), 1);
  assert_int_equal(database_integer(w->db[0], "SELECT count(*) FROM events WHERE v = 'old' AND "
                                              "id NOT IN (SELECT id FROM out)"),
                   0);
  assert_true(database_integer(w->db[0], "SELECT job_rescan('job')") >= 0);
  finish_all(w);
  check_ranges(w);
  assert_int_equal(
      database_integer(w->db[0],
                       "SELECT count(*) FROM events WHERE id NOT IN (SELECT id FROM out)"),
      0);
  assert_int_equal(database_integer(w->db[0], "SELECT job_rescan('job')"), 0);
  assert_int_equal(database_integer(w->db[0], "SELECT failed FROM job_progress('job')"), 0);
  for (int i = 0; i < WORKERS; i++) assert_int_equal(sqlite3_close(w->db[i]), SQLITE_OK);
  database_remove(path);
}

static void whatever_happens_each_row_is_done_once(void **state) {
  (void)state;
  world w = {.random = test_random_begin("scan_job")};
  for (long life = test_effort(25); life > 0; life--) one_life(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(whatever_happens_each_row_is_done_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

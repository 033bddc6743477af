/*
** scan_job when the wall clock is set to an impossible time: what was written at that time can
** still be read.
**
** This file has the clocks that the extension is linked with. They show what a test sets.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <time.h>

#include "database.h"

static time_t wall_seconds;

int clock_gettime(clockid_t clock, struct timespec *time) {
  *time = (struct timespec){.tv_sec = clock == CLOCK_REALTIME ? wall_seconds : 1000};
  return 0;
}

static const time_t now = 1700000000;

static const time_t set_wrong[] = {
    -351415234, -1, 0, INT64_C(9007199254740), INT64_C(9007199254741), INT64_MAX, INT64_MIN,
};

static void assert_same(sqlite3 *db, const char *sql, const char *expected) {
  const char *text = database_text(db, sql);
  if (strcmp(text, expected) != 0) {
    fail_msg("%s: %s instead of %s, the clock was at %lld s", sql, text, expected,
             (long long)wall_seconds);
  }
}

/* A claim, and what is made of it, while the clock is wrong and afterwards. */
static void a_wrong_clock_stops_no_job(void **state) {
  (void)state;
  static const char *const leases[] = {"0", "60"};
  static const char *const ends[][2] = {
      {"SELECT job_done('job', byte_key_range(x'', x'8000000000000003'), 'w')", "1"},
      {"SELECT job_heartbeat('job', byte_key_range(x'', x'8000000000000003'), 60, 'w')", "1"},
      {"SELECT job_fail('job', byte_key_range(x'', x'8000000000000003'), 'no', 'w')", "halved"},
  };
  enum { LEASES = 2, ENDS = 3, TIMES = sizeof set_wrong / sizeof set_wrong[0] };
  for (int i = 0; i < 2 * LEASES * ENDS * TIMES; i++) {
    int is_set_right_before = i / TIMES % 2;
    sqlite3 *db = database_open(":memory:", 0);
    database_must(db, "CREATE TABLE events(id INTEGER PRIMARY KEY);"
                      "INSERT INTO events VALUES (1), (2), (3);"
                      "CREATE VIRTUAL TABLE job USING scan_job(events, max_attempts(1))");
    wall_seconds = set_wrong[i % TIMES];
    char sql[100];
    snprintf(sql, sizeof sql, "SELECT job_claim('job', 'w', 2, %s) ->> 'end'",
             leases[i / TIMES / 2 % LEASES]);
    assert_same(db, sql, "8000000000000003");
    if (is_set_right_before) wall_seconds = now;
    const char *const *end = ends[i / TIMES / 2 / LEASES];
    assert_same(db, end[0], end[1]);
    wall_seconds = now;
    assert_same(db, "SELECT job_claim('job', 'v', 1, 60) IS NULL", "0");
    assert_same(db, "SELECT job_rescan('job')", "0");
    assert_same(db, "SELECT count(*) FROM job_progress('job')", "1");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

/* Of another boot: it ends when the clock is right, however long it was to hold. */
static void a_lease_of_a_wrong_clock_ends(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof set_wrong / sizeof set_wrong[0]; i++) {
    sqlite3 *db = database_open(":memory:", 0);
    wall_seconds = set_wrong[i];
    database_must(db, "CREATE TABLE events(id INTEGER PRIMARY KEY);"
                      "INSERT INTO events VALUES (1), (2);"
                      "CREATE VIRTUAL TABLE job USING scan_job(events);"
                      "SELECT job_claim('job', 'w', 2, 86400);"
                      "UPDATE job_bundles SET boot = 'another' WHERE state = 'claimed'");
    assert_same(db, "SELECT job_claim('job', 'v') IS NULL", "1");
    wall_seconds = now;
    assert_same(db, "SELECT job_claim('job', 'v') ->> 'claim'", "2");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_wrong_clock_stops_no_job),
      cmocka_unit_test(a_lease_of_a_wrong_clock_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
** The machine of a worker loses its power, hundreds of times. Afterwards every row's effect is
** there exactly once.
**
** The disk is simulated in memory and forgets what was not synced (tests/support/power_vfs.h). A
** worker claims bundles, writes output and commits it with job_done, until the power goes in the
** middle of some change. The next worker goes on with what a disk may then hold. Where SQLite does
** not promise to keep the last commits (WAL with synchronous = NORMAL, or a journal whose deletion
** is not synced), output and progress are lost together.
**
** To show that the test can fail, the same is done without syncing, and must do harm.
** JOB_POWER_LOSSES says how many losses there are in each mode (300).
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <time.h>

#include "database.h"
#include "effort.h"
#include "power_vfs.h"

enum { ROWS = 300, MOST_CHANGES = 150 };

typedef struct mode {
  const char *name;
  const char *settings;
} mode;

static const mode modes[] = {
    {"WAL, FULL",
     "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"},
    {"WAL, NORMAL",
     "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
     "PRAGMA wal_autocheckpoint = 20"},
    {"DELETE, FULL", "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL"},
    {"PERSIST, FULL", "PRAGMA journal_mode = PERSIST; PRAGMA synchronous = FULL"},
};

static const mode without_syncs = {"DELETE, OFF",
                                   "PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF"};

static uint64_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

static sqlite3 *open_disk(const mode *m) {
  sqlite3 *db = NULL;
  sqlite3_open_v2("disk.db", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, POWER_VFS);
  database_run(db, m->settings); /* first: without shared memory WAL can only be read exclusively */
  sqlite3_tranche_init(db, NULL, NULL);
  return db;
}

/* A new disk with the source, the output and the job, all safe. */
static void create(const mode *m) {
  char sql[300];
  power_vfs_clear();
  sqlite3 *db = open_disk(m);
  snprintf(sql, sizeof sql,
           "CREATE TABLE events(id INTEGER PRIMARY KEY, v);"
           "INSERT INTO events SELECT value * 2, printf('%%050d', value) FROM counting_input(%d);"
           "CREATE TABLE out(id, v);"
           "CREATE VIRTUAL TABLE job USING scan_job(events, max_attempts(1000))",
           ROWS);
  database_must(db, sql);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  power_vfs_settle();
}

/* Works until all is done (1), or the power goes or the database is damaged (0). */
static int work(sqlite3 *db, uint64_t *random) {
  char sql[600];
  for (;;) {
    snprintf(sql, sizeof sql, "SELECT job_claim('job', 'w', %d, 0)",
             1 + (int)(next_random(random) % 12));
    const char *bundle = database_text(db, sql);
    if (bundle[0] == '\0') return 1;
    if (strncmp(bundle, "error", 5) == 0) return 0;
    snprintf(sql, sizeof sql,
             "BEGIN IMMEDIATE; INSERT INTO out SELECT id, v FROM job WHERE restriction = '%s';"
             "SELECT job_done('job', '%s'); COMMIT",
             bundle, bundle);
    if (database_run(db, sql) != SQLITE_OK) return 0;
  }
}

/* Whether the database is sound, and each row of the source has its output once. */
static int is_right(sqlite3 *db) {
  return strcmp(database_text(db, "PRAGMA integrity_check"), "ok") == 0 &&
         database_integer(db, "SELECT count(*) FROM out") == ROWS &&
         database_integer(db, "SELECT count(*) FROM (SELECT DISTINCT id, v FROM out) JOIN events "
                              "USING (id, v)") == ROWS &&
         database_integer(db, "SELECT failed FROM job_progress('job')") == 0;
}

/* Jobs until the power was lost so often, or something is wrong (0). */
static int lose_power(const mode *m, long losses, uint64_t *random) {
  long lost = 0;
  int jobs = 0;
  for (; lost < losses; jobs++) {
    create(m);
    for (int is_done = 0; !is_done;) {
      power_vfs_fail_after(1 + (long)(next_random(random) % MOST_CHANGES));
      sqlite3 *db = open_disk(m);
      is_done = work(db, random) && !power_vfs_is_off();
      if (!is_done && !power_vfs_is_off()) {
        print_message("%s: after %ld losses: %s\n", m->name, lost, sqlite3_errmsg(db));
        sqlite3_close(db);
        return 0;
      }
      power_vfs_fail_after(0);
      int was_right = !is_done || is_right(db);
      sqlite3_close(db);
      if (!was_right) {
        print_message("%s: after %ld losses the output is wrong\n", m->name, lost);
        return 0;
      }
      if (is_done) break;
      lost++;
      power_vfs_restore(next_random(random));
    }
  }
  print_message("%s: power lost %ld times in %d jobs\n", m->name, lost, jobs);
  return 1;
}

static uint64_t begin(void) {
  const char *given = getenv("TRANCHE_SEED");
  uint64_t seed = given == NULL ? (uint64_t)time(NULL) : strtoull(given, NULL, 10);
  print_message("seed %llu\n", (unsigned long long)seed);
  assert_int_equal(power_vfs_register(), SQLITE_OK);
  return seed;
}

static void every_effect_once(void **state) {
  (void)state;
  const char *given = getenv("JOB_POWER_LOSSES");
  long losses = given == NULL ? test_effort(300) : atol(given);
  uint64_t random = begin();
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    assert_true(lose_power(&modes[i], losses, &random));
  }
  power_vfs_clear();
}

static void without_syncs_it_does_harm(void **state) {
  (void)state;
  uint64_t random = begin();
  assert_false(lose_power(&without_syncs, 2000, &random));
  power_vfs_clear();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_effect_once),
      cmocka_unit_test(without_syncs_it_does_harm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
** scan_job: the loop of a worker. job_next ends one bundle and claims another in one call;
** job_rowids lets the worker read the rows from the table itself.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "database.h"

static void close_database(sqlite3 *db) {
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int64_t wal_size(const char *path) {
  char wal[600];
  struct stat status;
  snprintf(wal, sizeof wal, "%s-wal", path);
  assert_int_equal(stat(wal, &status), 0);
  return status.st_size;
}

static void assert_refused(const char *answer, const char *why) {
  if (strncmp(answer, "error: ", 7) != 0 || strstr(answer, why) == NULL) {
    fail_msg("'%s' instead of an error with '%s'", answer, why);
  }
}

/*
** A database with `events`, ids 1 to `rows`, an empty `out`, and the job `job` with these
** arguments.
*/
static sqlite3 *with_job(int rows, const char *arguments) {
  char sql[512];
  sqlite3 *db = database_open(":memory:", 0);
  snprintf(sql, sizeof sql,
           "CREATE TABLE events(id INTEGER PRIMARY KEY, v);"
           "INSERT INTO events SELECT value + 1, 0 FROM counting_input(%d);"
           "CREATE TABLE out(id);"
           "CREATE VIRTUAL TABLE job USING scan_job(events%s)",
           rows, arguments);
  database_must(db, sql);
  return db;
}

/* Calls job_next('job', bundle, rest). NULL means no bundle. */
static const char *next(sqlite3 *db, const char *bundle, const char *rest) {
  char sql[400];
  snprintf(sql, sizeof sql, "SELECT job_next('job', nullif('%s', ''), %s)",
           bundle == NULL ? "" : bundle, rest);
  const char *text = database_text(db, sql);
  return text[0] == '\0' ? NULL : text;
}

/* The bundles as `state:keys:claims:worker`, in the order of their keys. */
static const char *states(sqlite3 *db) {
  return database_text(db,
                       "SELECT group_concat(state || ':' || keys || ':' || claims || ':' || "
                       "ifnull(worker, '-'), ' ')"
                       " FROM (SELECT * FROM job_bundles WHERE keys NOT NULL ORDER BY start_key)");
}

/* --- job_next ------------------------------------------------------------------------------- */

static void one_call_ends_a_bundle_and_claims_the_next(void **state) {
  (void)state;
  sqlite3 *db = with_job(25, "");
  int bundles = 0;
  for (const char *bundle = next(db, NULL, "'w', 10"); bundle != NULL; bundles++) {
    char sql[500];
    database_must(db, "BEGIN IMMEDIATE");
    snprintf(sql, sizeof sql, "INSERT INTO out SELECT id FROM job WHERE restriction = '%s'",
             bundle);
    database_must(db, sql);
    bundle = next(db, bundle, "'w', 10");
    database_must(db, "COMMIT");
  }
  assert_int_equal(bundles, 3);
  assert_string_equal(states(db), "done:10:1:w done:10:1:w done:5:1:w");
  assert_int_equal(database_integer(db, "SELECT count(DISTINCT id) * 100 + count(*) FROM out"),
                   2525);
  close_database(db);
}

/* All that the bundles say but times and leases. */
static const char *all_states(sqlite3 *db) {
  return database_text(
      db, "SELECT group_concat(bundle, ' ') FROM (SELECT quote(start_key) || quote(end_key)"
          " || state || ':' || quote(keys) || ':' || claims || ':' || failures || quote(worker)"
          " || (lease NOT NULL) || (finished_at NOT NULL) || (seconds NOT NULL) || quote(message)"
          " || quote(record) AS bundle FROM job_bundles ORDER BY start_key)");
}

/* Wherever the bundle lies, and whatever there is to be claimed. */
static void it_does_what_job_done_and_job_claim_do(void **state) {
  (void)state;
  static const struct {
    const char *what;
    int rows;
    const char *arguments;
    const char *before; /* claims are made; `mine` is the worker's */
    const char *after;
  } cases[] = {
      {"the last bundle", 30, "", "SELECT 1", "SELECT 1"},
      {"the first", 30, "", "SELECT 1", "SELECT job_claim('job', 'v', 10)"},
      {"its lease ran out", 30, "", "SELECT 1", "UPDATE job_bundles SET until = since"},
      {"others were lost", 40, "", "SELECT job_claim('job', 'v', 5, 0)",
       "SELECT job_claim('job', 'v', 5, 0) FROM counting_input(2)"},
      {"it and another were lost", 40, "", "SELECT 1",
       "SELECT job_claim('job', 'v', 5); UPDATE job_bundles SET until = since"},
      {"others are to be halved", 40, ", max_attempts(1)", "SELECT job_claim('job', 'v', 5, 0)",
       "SELECT job_claim('job', 'u', 5, 0)"},
      {"others are to be halved, and nothing else is left", 20, ", max_attempts(1)",
       "SELECT job_claim('job', 'v', 5)",
       "SELECT job_claim('job', 'u', 5);"
       "UPDATE job_bundles SET until = since WHERE worker <> 'w'"},
      {"single keys fail", 12, ", max_attempts(1)", "SELECT job_claim('job', 'v', 1, 0)",
       "SELECT job_claim('job', 'u', 1, 0)"},
      {"what came back is all there is", 20, "",
       "CREATE TEMP TABLE o AS SELECT job_claim('job', 'v', 9) AS b",
       "SELECT job_claim('job', 'u', 10), job_release('job', b) FROM o"},
      {"what came back is empty", 20, "",
       "CREATE TEMP TABLE o AS SELECT job_claim('job', 'v', 9) AS b",
       "SELECT job_claim('job', 'u', 10), job_release('job', b) FROM o; DELETE FROM events WHERE "
       "id < 10"},
      {"nothing is left", 10, "", "SELECT 1", "SELECT 1"},
      {"the next has fewer keys", 15, "", "SELECT 1", "SELECT 1"},
      {"with a size for the time", 500, ", target_seconds(1000000)", "SELECT 1", "SELECT 1"},
      {"the last keys are shared", 20, ", target_seconds(1000000)",
       "SELECT job_claim('job', 'v', 2)", "SELECT 1"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char after[2][2048];
    char range[2][200];
    for (int in_two = 0; in_two < 2; in_two++) {
      sqlite3 *db = with_job(cases[i].rows, cases[i].arguments);
      database_must(db, cases[i].before);
      database_must(db, "CREATE TEMP TABLE mine AS SELECT job_claim('job', 'w', 10) AS bundle");
      database_must(db, cases[i].after);
      database_must(db, "BEGIN IMMEDIATE");
      if (in_two) database_must(db, "SELECT job_done('job', bundle) FROM mine");
      const char *next = in_two
                             ? "SELECT substr(job_claim('job', 'w', 10), 1, 60)"
                             : "SELECT substr(job_next('job', bundle, 'w', 10), 1, 60) FROM mine";
      snprintf(range[in_two], sizeof range[in_two], "%s", database_text(db, next));
      if (strstr(range[in_two], ",\"claim") != NULL) *strstr(range[in_two], ",\"claim") = '\0';
      database_must(db, "COMMIT");
      snprintf(after[in_two], sizeof after[in_two], "%s", all_states(db));
      close_database(db);
    }
    if (strncmp(range[0], "error", 5) == 0 || strcmp(range[0], range[1]) != 0 ||
        strcmp(after[0], after[1]) != 0) {
      fail_msg("%s: '%s' %s, but '%s' %s", cases[i].what, range[0], after[0], range[1], after[1]);
    }
  }
}

static void both_are_rolled_back_together(void **state) {
  (void)state;
  sqlite3 *db = with_job(20, "");
  const char *first = next(db, NULL, "'w', 10");
  const char *taken =
      database_text(db, "SELECT group_concat(quote(start_key) || state) FROM job_bundles");
  database_must(db, "BEGIN IMMEDIATE");
  assert_non_null(next(db, first, "'w', 10"));
  database_must(db, "ROLLBACK");
  assert_string_equal(
      database_text(db, "SELECT group_concat(quote(start_key) || state) FROM job_bundles"), taken);
  database_must(db, "BEGIN; SAVEPOINT s");
  const char *second = next(db, first, "'w', 10");
  database_must(db, "ROLLBACK TO s; COMMIT");
  assert_string_equal(states(db), "claimed:10:1:w");
  assert_refused(next(db, second, "'w', 10"), "is not there");
  const char *again = next(db, first, "'w', 10");
  assert_int_equal(strncmp(again, second, (size_t)(strstr(second, ",\"claim\":") - second)), 0);
  assert_refused(next(db, second, "'w', 10"), "the claim of this text was rolled back");
  assert_string_equal(states(db), "done:10:1:w claimed:10:1:w");
  close_database(db);
}

/* A refusal changes nothing: neither is the bundle done, nor another claimed. */
static void what_is_not_the_workers_is_refused_whole(void **state) {
  (void)state;
  sqlite3 *db = with_job(20, "");
  char bundle[200];
  snprintf(bundle, sizeof bundle, "%s", next(db, NULL, "'w', 10"));
  assert_refused(next(db, bundle, "'other', 10"), "job_next: bundle");
  assert_refused(next(db, bundle, "'other', 10"), "is now claimed by worker 'w'");
  assert_refused(next(db, bundle, "'w', 0"), "job_next(): argument max_keys = 0");
  assert_refused(next(db, bundle, "'w', 10, -1"), "job_next(): argument lease_seconds");
  assert_refused(next(db, bundle, "NULL"), "job_next(): argument worker");
  assert_refused(next(db, "everything", "'w'"), "job_next(): argument bundle");
  assert_refused(database_text(db, "SELECT job_next('job', NULL)"), "job_next() takes");
  assert_string_equal(states(db), "claimed:10:1:w");
  assert_non_null(next(db, bundle, "'w', 10"));
  assert_refused(next(db, bundle, "'w', 10"), "is done already");
  assert_string_equal(states(db), "done:10:1:w claimed:10:1:w");
  close_database(db);
}

/* How long the bundle took that the same call ended decides how large the next one is. */
static void the_size_follows_from_the_bundle_just_done(void **state) {
  (void)state;
  sqlite3 *db = with_job(2000, ", target_seconds(10)");
  const char *bundle = next(db, NULL, "'w', 1000");
  assert_int_equal(database_integer(db, "SELECT keys FROM job_bundles WHERE state = 'claimed'"),
                   100);
  /* As if its 100 keys had taken 100 seconds. */
  database_must(db, "UPDATE job_bundles SET since = since - 100000000 WHERE state = 'claimed'");
  assert_non_null(next(db, bundle, "'w', 1000"));
  int64_t keys = database_integer(db, "SELECT keys FROM job_bundles WHERE state = 'claimed'");
  assert_in_range(keys, 9, 10);
  close_database(db);
}

/*
** However many bundles there are, a call writes where the last one wrote: two pages, or more if one
** is full.
*/
static void a_call_writes_few_pages(void **state) {
  (void)state;
  enum { FRAME = 4096 + 24, CALLS = 300 };
  char path[512];
  sqlite3 *db = database_open(database_path("few_pages", path), 0);
  database_must(db,
                "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;"
                "CREATE TABLE events(id INTEGER PRIMARY KEY);"
                "INSERT INTO events SELECT value FROM counting_input(10000);"
                "CREATE VIRTUAL TABLE job USING scan_job(events)");
  const char *bundle = NULL;
  int64_t before = 0;
  for (int i = 0; i < 2 * CALLS; i++) {
    if (i == CALLS) before = wal_size(path);
    bundle = next(db, bundle, "'w', 10");
  }
  assert_in_range((wal_size(path) - before) / FRAME, 2 * CALLS, CALLS * 5 / 2);
  close_database(db);
  database_remove(path);
}

/* --- Unbroken runs -------------------------------------------------------------------------- */

typedef struct run_case {
  const char *what;
  const char *change; /* before the claim of 100 keys */
  int keys;           /* of the bundle */
  int64_t last;       /* rowid of it */
} run_case;

/* The short way over rowids without gaps must count as the long one does. */
static void rowids_are_counted_right_with_and_without_gaps(void **state) {
  (void)state;
  static const run_case cases[] = {
      {"unbroken", "SELECT 1", 100, 100},
      {"a gap in the first hundred", "DELETE FROM events WHERE id = 50", 100, 101},
      {"a gap at the hundredth", "DELETE FROM events WHERE id = 100", 100, 101},
      {"two gaps", "DELETE FROM events WHERE id IN (7, 93)", 100, 102},
      {"a gap at every place of a half",
       "DELETE FROM events WHERE id IN (2, 25, 26, 50, 51, 76, 101)", 100, 107},
      {"all but the ends", "DELETE FROM events WHERE id BETWEEN 50 AND 800", 100, 851},
      {"every third", "DELETE FROM events WHERE id % 3 = 0", 100, 149},
      {"begins late", "DELETE FROM events WHERE id <= 500", 100, 600},
      {"just so many", "DELETE FROM events WHERE id > 100", 100, 100},
      {"fewer", "DELETE FROM events WHERE id > 99", 99, 99},
      {"at the greatest rowid",
       "DELETE FROM events; INSERT INTO events SELECT 9223372036854775807 - value, 0 FROM "
       "counting_input(100)",
       100, INT64_MAX},
      {"at the lowest rowid",
       "INSERT INTO events SELECT -9223372036854775807 - 1 + value, 0 FROM counting_input(100)",
       100, INT64_MIN + 99},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char sql[500];
    sqlite3 *db = with_job(1000, "");
    database_must(db, cases[i].change);
    char bundle[200];
    snprintf(bundle, sizeof bundle, "%s", next(db, NULL, "'w', 100"));
    print_message("%s: %s\n", cases[i].what, bundle);
    snprintf(sql, sizeof sql, "SELECT max(id) FROM job WHERE restriction = '%s'", bundle);
    assert_int_equal(database_integer(db, sql), cases[i].last);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM job WHERE restriction = '%s'", bundle);
    assert_int_equal(database_integer(db, sql), cases[i].keys);
    /* The record is of just these rows, in as few runs as there are. */
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM job_rowids('job', '%s') AS r CROSS JOIN events AS e ON e.id "
             "BETWEEN r.first AND r.last",
             bundle);
    assert_int_equal(database_integer(db, sql), cases[i].keys);
    snprintf(sql, sizeof sql,
             "SELECT count(*) = (SELECT count(*) FROM job_rowids('job', '%s')) FROM events AS e"
             " WHERE id <= %lld AND NOT EXISTS (SELECT 1 FROM events WHERE id = e.id - 1)",
             bundle, (long long)cases[i].last);
    assert_int_equal(database_integer(db, sql), 1);
    /* Given back and claimed again it is the same, though its range has an end now. */
    snprintf(sql, sizeof sql, "SELECT job_release('job', '%s')", bundle);
    database_must(db, sql);
    while (next(db, NULL, "'w', 100") != NULL) continue;
    snprintf(sql, sizeof sql,
             "SELECT keys FROM job_bundles WHERE state = 'claimed' AND "
             "instr('%s', rtrim(byte_key_range(start_key, end_key), '}')) = 1",
             bundle);
    assert_int_equal(database_integer(db, sql), cases[i].keys);
    close_database(db);
  }
}

/* --- Progress ------------------------------------------------------------------------------- */

/*
** A connection that reads the progress has no busy timeout, so it would fail if it had to wait: in
** WAL mode while a worker writes and commits, in rollback mode while it writes. Nor does the worker
** wait for a connection that has read it.
*/
static void progress_waits_for_no_writer_in_either_mode(void **state) {
  (void)state;
  static const char *const modes[] = {"WAL", "DELETE", "TRUNCATE", "PERSIST"};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    char path[512];
    char sql[200];
    char bundle[200];
    sqlite3 *worker = database_open(database_path("progress_modes", path), 0);
    snprintf(sql, sizeof sql, "PRAGMA journal_mode = %s", modes[i]);
    database_must(worker, sql);
    database_must(worker, "CREATE TABLE events(id INTEGER PRIMARY KEY, v); CREATE TABLE out(id);"
                          "INSERT INTO events SELECT value, 0 FROM counting_input(100);"
                          "CREATE VIRTUAL TABLE job USING scan_job(events)");
    sqlite3 *looker = database_open(path, 0);
    snprintf(bundle, sizeof bundle, "%s", next(worker, NULL, "'w', 10"));
    for (int done = 0; done < 50; done += 10) {
      database_must(worker, "BEGIN IMMEDIATE");
      assert_int_equal(database_integer(looker, "SELECT rows FROM job_progress('job')"), done);
      database_must(worker, "INSERT INTO out SELECT id FROM job LIMIT 10");
      assert_int_equal(database_integer(looker, "SELECT rows FROM job_progress('job')"), done);
      snprintf(bundle, sizeof bundle, "%s", next(worker, bundle, "'w', 10"));
      assert_int_equal(database_integer(looker, "SELECT rows FROM job_progress('job')"), done);
      database_must(worker, "COMMIT");
      assert_int_equal(database_integer(looker, "SELECT rows FROM job_progress('job')"), done + 10);
    }
    close_database(looker);
    close_database(worker);
    database_remove(path);
  }
}

/*
** The rate counts the time in which somebody worked, all workers together. Each bundle has 10 keys.
** The times are seconds, and replace those of the clock.
*/
static void the_rate_is_that_of_working_time(void **state) {
  (void)state;
  static const struct {
    const char *what;
    const char *times; /* claimed and done, for each bundle */
    const char *rate;
    const char *eta; /* for the 60 keys that are left */
  } cases[] = {
      {"one after another", "(0, 2), (2, 4), (4, 6), (6, 8)", "5.0", "12.0"},
      {"two workers", "(0, 4), (0, 4), (4, 8), (4, 8)", "5.0", "12.0"},
      {"one within the other's time", "(0, 8), (1, 2), (3, 4), (5, 6)", "5.0", "12.0"},
      {"each waits a little between two bundles", "(0, 1), (2, 3), (4, 5), (6, 8)", "5.0", "12.0"},
      {"an hour without any", "(0, 2), (2, 4), (3604, 3606), (3606, 3608)", "5.0", "12.0"},
      {"two pauses", "(0, 2), (100, 103), (102, 104), (3606, 3608)", "5.0", "12.0"},
      {"done later by who began before", "(0, 3606), (2, 4), (3604, 3605), (5, 6)", "0.01",
       "5409.0"},
      {"a clock that was set back", "(9, 0), (0, 4), (4, 6), (6, 8)", "5.0", "12.0"},
      {"no time at all", "(0, 0), (0, 0), (0, 0), (0, 0)", "", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char sql[700];
    char bundle[200];
    sqlite3 *db = with_job(100, "");
    snprintf(bundle, sizeof bundle, "%s", next(db, NULL, "'w', 10"));
    for (int j = 0; j < 4; j++) snprintf(bundle, sizeof bundle, "%s", next(db, bundle, "'w', 10"));
    snprintf(sql, sizeof sql,
             "CREATE TEMP TABLE times(claimed, done); INSERT INTO times VALUES %s;"
             "UPDATE job_bundles SET (claimed_at, finished_at) ="
             " (SELECT 1000000 + claimed * 1000, 1000000 + done * 1000 FROM times"
             "   WHERE rowid = 1 + (SELECT count(*) FROM job_bundles AS b"
             "                       WHERE b.start_key < job_bundles.start_key))"
             " WHERE state = 'done'",
             cases[i].times);
    database_must(db, sql);
    print_message("%s\n", cases[i].what);
    assert_string_equal(
        database_text(db, "SELECT ifnull(round(rate, 2), '') FROM job_progress('job')"),
        cases[i].rate);
    assert_string_equal(database_text(db, "SELECT ifnull(round(eta), '') FROM job_progress('job')"),
                        cases[i].eta);
    close_database(db);
  }
}

/* An empty bundle of a lost worker is found that much later. Nobody worked on it meanwhile. */
static void what_was_found_empty_was_not_worked_on(void **state) {
  (void)state;
  sqlite3 *db = with_job(30, "");
  next(db, NULL, "'lost', 10, 0");
  database_must(db,
                "DELETE FROM events WHERE id <= 10;"
                "UPDATE job_bundles SET claimed_at = claimed_at - 3600000 WHERE state = 'claimed'");
  char bundle[200];
  snprintf(bundle, sizeof bundle, "%s", next(db, NULL, "'w', 10"));
  next(db, bundle, "'w', 10");
  database_must(
      db,
      "UPDATE job_bundles SET claimed_at = finished_at - 2000 WHERE keys = 10 AND state = 'done'");
  assert_string_equal(database_text(db, "SELECT rate FROM job_progress('job')"), "5.0");
  close_database(db);
}

/* --- job_rowids ----------------------------------------------------------------------------- */

static const char *rowids(sqlite3 *db, const char *bundle) {
  char sql[300];
  snprintf(sql, sizeof sql,
           "SELECT group_concat(first || '-' || last, ' ') FROM job_rowids('job', '%s')", bundle);
  return database_text(db, sql);
}

/*
** Joined with the source they return the rows of the job's table, whatever was added or deleted
** since.
*/
static void rowids_are_the_bundle_as_it_was_claimed(void **state) {
  (void)state;
  sqlite3 *db = with_job(30, "");
  database_must(db, "DELETE FROM events WHERE id IN (4, 5, 9)");
  const char *bundle = next(db, NULL, "'w', 10");
  assert_string_equal(rowids(db, bundle), "1-3 6-8 10-13");
  database_must(db, "INSERT INTO events VALUES (4, 0), (-7, 0); DELETE FROM events WHERE id = 11");
  assert_string_equal(rowids(db, bundle), "1-3 6-8 10-13");
  char sql[500];
  snprintf(sql, sizeof sql,
           "SELECT (SELECT group_concat(id) FROM job WHERE restriction = '%s') ="
           " (SELECT group_concat(e.id) FROM job_rowids('job', '%s') AS r"
           "  CROSS JOIN events AS e ON e.id BETWEEN r.first AND r.last)",
           bundle, bundle);
  assert_int_equal(database_integer(db, sql), 1);
  /* What was left out is found by job_rescan. */
  next(db, bundle, "'w', 100");
  assert_int_equal(database_integer(db, "SELECT job_rescan('job')"), 2);
  close_database(db);
}

static void rowids_reach_from_the_lowest_to_the_greatest(void **state) {
  (void)state;
  sqlite3 *db = with_job(3, "");
  database_must(db,
                "INSERT INTO events VALUES (9223372036854775807, 0), (-9223372036854775808, 0)");
  assert_string_equal(
      rowids(db, next(db, NULL, "'w', 10")),
      "-9223372036854775808--9223372036854775808 1-3 9223372036854775807-9223372036854775807");
  close_database(db);
}

static void rowids_are_refused_with_the_reason(void **state) {
  (void)state;
  sqlite3 *db = with_job(20, "");
  const char *bundle = next(db, NULL, "'w', 10");
  char sql[300];
  assert_refused(rowids(db, "x"), "job_rowids(): argument bundle = 'x'");
  assert_refused(rowids(db, "{\"start\":\"\",\"end\":\"00\"}"), "is not there");
  assert_refused(database_text(db, "SELECT * FROM job_rowids('job')"), "bundle");
  assert_refused(
      database_text(db, "SELECT * FROM job_rowids('no', '{\"start\":\"\",\"end\":\"\"}')"),
      "there is no such job");
  snprintf(sql, sizeof sql, "SELECT job_release('job', '%s')", bundle);
  database_must(db, sql);
  assert_refused(rowids(db, bundle), "this bundle of job job is not claimed");
  database_must(db, "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;"
                    "INSERT INTO t VALUES ('a'), ('b');"
                    "CREATE VIRTUAL TABLE texts USING scan_job(t)");
  assert_refused(database_text(db, "SELECT * FROM job_rowids('texts', job_claim('texts', 'w', 1))"),
                 "the key of job texts is text(k), and not the rowid");
  close_database(db);
}

/* What was done slowly yesterday, further ahead, says nothing of how fast it goes now. */
static void the_rate_is_of_what_was_done_last(void **state) {
  (void)state;
  sqlite3 *db = with_job(500, "");
  database_must(db, "CREATE TEMP TABLE n AS SELECT sum(job_done('job', job_claim('job', 'w', 1)))"
                    " FROM counting_input(450);"
                    "UPDATE job_bundles SET claimed_at = claimed_at - 172800000,"
                    " finished_at = finished_at - 86400000 WHERE state = 'done' AND start_key IN"
                    " (SELECT start_key FROM job_bundles WHERE state = 'done'"
                    "  ORDER BY start_key DESC LIMIT 220)");
  assert_string_equal(database_text(db, "SELECT rate > 1 FROM job_progress('job')"), "1");
  close_database(db);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_call_ends_a_bundle_and_claims_the_next),
      cmocka_unit_test(it_does_what_job_done_and_job_claim_do),
      cmocka_unit_test(both_are_rolled_back_together),
      cmocka_unit_test(what_is_not_the_workers_is_refused_whole),
      cmocka_unit_test(the_size_follows_from_the_bundle_just_done),
      cmocka_unit_test(a_call_writes_few_pages),
      cmocka_unit_test(rowids_are_counted_right_with_and_without_gaps),
      cmocka_unit_test(progress_waits_for_no_writer_in_either_mode),
      cmocka_unit_test(the_rate_is_of_what_was_done_last),
      cmocka_unit_test(the_rate_is_that_of_working_time),
      cmocka_unit_test(what_was_found_empty_was_not_worked_on),
      cmocka_unit_test(rowids_are_the_bundle_as_it_was_claimed),
      cmocka_unit_test(rowids_reach_from_the_lowest_to_the_greatest),
      cmocka_unit_test(rowids_are_refused_with_the_reason),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

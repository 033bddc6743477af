/*
** scan_job: what becomes of bundles. Claims, fences, failures, rescans, transactions, sizes.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "database.h"

/*
** A database with `events`, ids 1 to `rows`, an empty `out`, and the job `job` with these
** arguments.
*/
static sqlite3 *with_job(const char *path, int rows, const char *arguments) {
  char sql[512];
  sqlite3 *db = database_open(path, 0);
  snprintf(sql, sizeof sql,
           "CREATE TABLE events(id INTEGER PRIMARY KEY, v);"
           "INSERT INTO events SELECT value + 1, 0 FROM counting_input(%d);"
           "CREATE TABLE out(id);"
           "CREATE VIRTUAL TABLE job USING scan_job(events%s)",
           rows, arguments);
  database_must(db, sql);
  return db;
}

static sqlite3 *in_memory(int rows, const char *arguments) {
  return with_job(":memory:", rows, arguments);
}

static void close_database(sqlite3 *db) {
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Claims a bundle. NULL: none is free. The text is valid until the eighth one after it. */
static const char *claim(sqlite3 *db, const char *worker, int keys, double seconds) {
  char sql[200];
  snprintf(sql, sizeof sql, "SELECT job_claim('job', '%s', %d, %d.0 / 1000)", worker, keys,
           (int)(seconds * 1000));
  const char *bundle = database_text(db, sql);
  if (strncmp(bundle, "error", 5) == 0) fail_msg("%s", bundle);
  return bundle[0] == '\0' ? NULL : bundle;
}

/* A call `job_X('job', bundle rest)`: its value as text. */
static const char *call(sqlite3 *db, const char *function, const char *bundle, const char *rest) {
  char sql[400];
  snprintf(sql, sizeof sql, "SELECT %s('job', '%s'%s)", function, bundle, rest);
  return database_text(db, sql);
}

static void assert_refused(const char *answer, const char *why) {
  if (strncmp(answer, "error: ", 7) != 0 || strstr(answer, why) == NULL) {
    fail_msg("'%s' instead of an error with '%s'", answer, why);
  }
}

/* Two claims of one bundle: the same but for their numbers. */
static void assert_same_bundle(const char *claimed, const char *before) {
  const char *number = strstr(before, ",\"claim\":");
  size_t size = number == NULL ? strlen(before) - 1 : (size_t)(number - before);
  if (claimed == NULL || strncmp(claimed, before, size) != 0 || strcmp(claimed, before) == 0) {
    fail_msg("'%s' instead of another claim of '%s'", claimed, before);
  }
}

/* Rows of a bundle. */
static int64_t rows_of(sqlite3 *db, const char *bundle) {
  char sql[400];
  snprintf(sql, sizeof sql, "SELECT count(*) FROM job WHERE restriction = '%s'", bundle);
  return database_integer(db, sql);
}

/* Writes the bundle's rows and marks it done, in one transaction. */
static void finish(sqlite3 *db, const char *bundle) {
  char sql[600];
  snprintf(sql, sizeof sql,
           "BEGIN IMMEDIATE; INSERT INTO out SELECT id FROM job WHERE restriction = '%s';"
           "SELECT job_done('job', '%s'); COMMIT",
           bundle, bundle);
  database_must(db, sql);
}

static int finish_all(sqlite3 *db, int keys) {
  int count = 0;
  for (const char *bundle; (bundle = claim(db, "w", keys, 60)) != NULL; count++) finish(db, bundle);
  return count;
}

/* The bundles follow each other and are all keys once. */
static void assert_whole(sqlite3 *db) {
  assert_int_equal(
      database_integer(db, "SELECT count(*) FROM (SELECT start_key, lag(end_key, 1, x'') OVER "
                           "(ORDER BY start_key) AS before FROM job_bundles) "
                           "WHERE start_key <> before"),
      0);
  assert_int_equal(database_integer(db, "SELECT count(*) FROM job_bundles WHERE end_key = x''"), 1);
  assert_int_equal(database_integer(db, "SELECT count(*) FROM job_bundles WHERE start_key = x''"),
                   1);
}

static int64_t state_count(sqlite3 *db, const char *state) {
  char sql[100];
  snprintf(sql, sizeof sql, "SELECT count(*) FROM job_bundles WHERE state = '%s' AND keys > 0",
           state);
  return database_integer(db, sql);
}

/* --- Claims ------------------------------------------------------------------------------ */

static void every_row_once_at_every_boundary(void **state) {
  (void)state;
  static const int keys = 5;
  static const int rows[] = {0, 1, 4, 5, 6, 10, 11};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    sqlite3 *db = in_memory(rows[i], "");
    assert_int_equal(finish_all(db, keys), (rows[i] + keys - 1) / keys);
    assert_int_equal(database_integer(db, "SELECT count(*) FROM out"), rows[i]);
    assert_int_equal(database_integer(db, "SELECT count(DISTINCT id) FROM out"), rows[i]);
    assert_whole(db);
    close_database(db);
  }
}

static void a_claim_is_as_large_as_it_says(void **state) {
  (void)state;
  sqlite3 *db = in_memory(100, "");
  const char *first = claim(db, "a", 7, 60);
  const char *second = claim(db, "b", 20, 60);
  assert_int_equal(rows_of(db, first), 7);
  assert_int_equal(rows_of(db, second), 20);
  assert_string_not_equal(first, second);
  assert_whole(db);
  close_database(db);
}

static void keys_are_counted_where_no_row_matches(void **state) {
  (void)state;
  sqlite3 *db = in_memory(1000, ", where(v > 0)");
  const char *bundle = claim(db, "a", 10, 60);
  assert_string_equal(bundle, "{\"start\":\"\",\"end\":\"800000000000000b\",\"claim\":1}");
  assert_int_equal(rows_of(db, bundle), 0);
  close_database(db);
}

static void rows_at_the_end_are_claimed_as_they_come(void **state) {
  (void)state;
  sqlite3 *db = in_memory(10, "");
  assert_int_equal(finish_all(db, 4), 3);
  for (int round = 0; round < 3; round++) {
    database_must(db, "INSERT INTO events(v) VALUES (1), (2)");
    assert_int_equal(finish_all(db, 4), 1);
  }
  assert_int_equal(database_integer(db, "SELECT count(*) FROM out"), 16);
  assert_int_equal(database_integer(db, "SELECT fraction FROM job_progress('job')"), 1);
  close_database(db);
}

static void an_empty_bundle_is_done(void **state) {
  (void)state;
  sqlite3 *db = in_memory(10, "");
  const char *bundle = claim(db, "a", 4, 60);
  assert_string_equal(call(db, "job_release", bundle, ""), "1");
  database_must(db, "DELETE FROM events WHERE id < 5");
  assert_int_equal(finish_all(db, 100), 1);
  assert_int_equal(database_integer(db, "SELECT pending FROM job_progress('job')"), 0);
  assert_null(claim(db, "a", 4, 60));
  close_database(db);
}

static void the_largest_pending_range_goes_first(void **state) {
  (void)state;
  sqlite3 *db = in_memory(15, "");
  char small[200];
  char large[200];
  snprintf(small, sizeof small, "%s", claim(db, "a", 2, 60));
  snprintf(large, sizeof large, "%s", claim(db, "a", 10, 60));
  assert_string_equal(call(db, "job_release", small, ""), "1");
  assert_string_equal(call(db, "job_release", large, ""), "1");
  assert_int_equal(rows_of(db, claim(db, "a", 100, 60)), 3); /* the rest of the table */
  assert_same_bundle(claim(db, "a", 100, 60), large);
  assert_same_bundle(claim(db, "a", 100, 60), small);
  assert_null(claim(db, "a", 100, 60));
  close_database(db);
}

static void a_large_bundle_that_came_back_is_cut(void **state) {
  (void)state;
  sqlite3 *db = in_memory(10, "");
  const char *bundle = claim(db, "a", 10, 60);
  assert_string_equal(call(db, "job_release", bundle, ""), "1");
  for (int i = 0; i < 3; i++) assert_int_equal(rows_of(db, claim(db, "a", 3, 60)), 3);
  assert_int_equal(rows_of(db, claim(db, "a", 3, 60)), 1);
  assert_whole(db);
  close_database(db);
}

/* --- Whose it is ------------------------------------------------------------------------- */

static void a_worker_whose_bundle_was_claimed_again_is_fenced(void **state) {
  (void)state;
  char path[512];
  char bundle[200];
  sqlite3 *first = with_job(database_path("fence", path), 10, "");
  sqlite3 *second = database_open(path, 0);
  snprintf(bundle, sizeof bundle, "%s", claim(first, "w1", 5, 0));
  char again[200];
  snprintf(again, sizeof again, "%s", claim(second, "w2", 5, 60));
  assert_same_bundle(again, bundle);
  static const char *const calls[][2] = {
      {"job_done", ""}, {"job_heartbeat", ""}, {"job_release", ""}, {"job_fail", ", 'no'"}};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    assert_refused(call(first, calls[i][0], bundle, calls[i][1]), "claimed by worker 'w2'");
  }
  assert_refused(call(first, "job_done", bundle, ", 'w1'"), "claimed by worker 'w2'");
  assert_string_equal(call(second, "job_done", again, ""), "1");
  assert_refused(call(second, "job_done", bundle, ""), "done already");
  assert_refused(call(first, "job_done", bundle, ""), "done already");
  close_database(first);
  close_database(second);
  database_remove(path);
}

/*
** One connection, one worker's name, and a lease that ran out between two claims. A row that came
** in between belongs to the second claim, so the first must not end it.
*/
static void claims_of_one_worker_are_told_apart(void **state) {
  (void)state;
  static const char *const workers[] = {"", ", 'w'"};
  static const char *const calls[][2] = {
      {"job_done", ""}, {"job_heartbeat", ", 60"}, {"job_release", ""}, {"job_fail", ", 'no'"}};
  for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++) {
    char first[200], second[200];
    sqlite3 *db = in_memory(4, "");
    database_must(db, "DELETE FROM events WHERE id = 3");
    snprintf(first, sizeof first, "%s", claim(db, "w", 3, 0));
    assert_int_equal(rows_of(db, first), 3);
    database_must(db, "INSERT INTO events VALUES (3, 0)");
    snprintf(second, sizeof second, "%s", claim(db, "w", 100, 60));
    assert_same_bundle(second, first);
    for (size_t j = 0; j < sizeof calls / sizeof calls[0]; j++) {
      char rest[60];
      snprintf(rest, sizeof rest, "%s%s", calls[j][1], workers[i]);
      assert_refused(call(db, calls[j][0], first, rest),
                     "was claimed again by worker 'w': the lease of this claim ran out");
    }
    database_must(db, "BEGIN");
    call(db, "job_heartbeat", second, ", 0");
    char ahead[200];
    snprintf(ahead, sizeof ahead, "%s", claim(db, "w", 100, 60));
    database_must(db, "ROLLBACK");
    assert_refused(call(db, "job_done", ahead, workers[i]),
                   "is claimed by worker 'w': the claim of this text was rolled back");
    finish(db, second);
    assert_int_equal(database_integer(db, "SELECT count(*) FROM out"), 4);
    assert_refused(call(db, "job_done", first, workers[i]), "done already");
    close_database(db);
  }
}

/* The calls that end a claim or prolong it, and what they take after the bundle. */
static const char *const ends[][2] = {{"job_done", ""},
                                      {"job_heartbeat", ", NULL"},
                                      {"job_release", ""},
                                      {"job_fail", ", 'no'"},
                                      {"job_next", ", 'w'"}};

static void assert_ends_nothing(sqlite3 *db, const char *bundle, const char *why) {
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    char rest[40];
    snprintf(rest, sizeof rest, "%s", ends[i][1]);
    assert_refused(call(db, ends[i][0], bundle, rest), why);
    if (strcmp(ends[i][0], "job_next") == 0) continue;
    snprintf(rest, sizeof rest, "%s, 'w'", ends[i][1]);
    assert_refused(call(db, ends[i][0], bundle, rest), why);
  }
}

/*
** How a claim is undone, and how the next one is made: on this connection, or (`is_another`) on a
** second.
*/
typedef struct undoing {
  const char *before, *undo;
  const char *again, *keep;
  int is_another;
} undoing;

static const undoing undoings[] = {
    {"BEGIN", "ROLLBACK", "", "", 0},
    {"BEGIN", "ROLLBACK", "", "", 1},
    {"BEGIN", "ROLLBACK", "BEGIN", "COMMIT", 0},
    {"BEGIN IMMEDIATE", "ROLLBACK", "BEGIN IMMEDIATE", "COMMIT", 1},
    {"BEGIN; INSERT INTO out VALUES (-1); SAVEPOINT s", "ROLLBACK TO s", "", "COMMIT", 0},
    {"SAVEPOINT s", "ROLLBACK TO s; RELEASE s", "SAVEPOINT s", "RELEASE s", 0},
    {"SAVEPOINT s", "ROLLBACK TO s; RELEASE s", "SAVEPOINT s", "RELEASE s", 1},
};

/*
** A row that came between the two claims belongs to the second only. The first claim's output does
** not have the row, so it must end nothing. That holds although it has the same keys, the same
** worker and the same count of claims, which was rolled back with it.
*/
static void a_claim_that_was_rolled_back_never_comes_again(void **state) {
  (void)state;
  char path[512];
  for (size_t i = 0; i < sizeof undoings / sizeof undoings[0]; i++) {
    const undoing *u = &undoings[i];
    char first[200], second[200];
    sqlite3 *db = with_job(database_path("undone", path), 4, "");
    sqlite3 *other = u->is_another ? database_open(path, 0) : db;
    database_must(db, "DELETE FROM events WHERE id = 3");
    database_must(db, u->before);
    snprintf(first, sizeof first, "%s", claim(db, "w", 3, 60));
    assert_int_equal(rows_of(db, first), 3);
    database_must(db, u->undo);
    assert_ends_nothing(db, first, "it was never one, its claim was rolled back");
    database_must(other, "INSERT INTO events VALUES (3, 0)");
    database_must(other, u->again);
    snprintf(second, sizeof second, "%s", claim(other, "w", 4, 60));
    assert_same_bundle(second, first);
    assert_int_equal(database_integer(other, "SELECT max(claims) FROM job_bundles"), 1);
    assert_ends_nothing(other, first, "the claim of this text was rolled back");
    database_must(other, u->keep);
    assert_ends_nothing(other, first, "the claim of this text was rolled back");
    if (db != other) assert_ends_nothing(db, first, "is claimed by worker 'w'");
    finish(other, second);
    assert_ends_nothing(other, first, "done already");
    assert_int_equal(database_integer(db, "SELECT count(*) FROM out WHERE id > 0"), 4);
    if (db != other) close_database(other);
    close_database(db);
    database_remove(path);
  }
}

/*
** All claims are of the same bundle. Most of them are rolled back, by calls in a transaction or
** outside.
*/
static void no_number_is_given_twice(void **state) {
  (void)state;
  enum { CLAIMS = 200 };
  sqlite3 *db = in_memory(5, "");
  database_must(db, "CREATE TEMP TABLE given(bundle TEXT PRIMARY KEY) WITHOUT ROWID");
  for (int i = 0; i < CLAIMS; i++) {
    char bundle[200], sql[300];
    int is_nested = i % 7 != 0;
    if (is_nested) database_must(db, "BEGIN");
    snprintf(bundle, sizeof bundle, "%s", claim(db, "w", 5, i % 7 == 6 ? 60 : 0));
    assert_string_equal(call(db, "job_release", bundle, ""), "1");
    if (is_nested) database_must(db, i % 3 == 0 ? "COMMIT" : "ROLLBACK");
    snprintf(sql, sizeof sql, "INSERT INTO given VALUES ('%s')", bundle);
    database_must(db, sql);
  }
  /* Integers that a double holds, too, as many a reader of JSON makes them doubles. */
  assert_int_equal(database_integer(db,
                                    "SELECT count(*) FROM given WHERE "
                                    "json_extract(bundle, '$.claim') NOT BETWEEN 1 AND 1 << 53"),
                   0);
  close_database(db);
}

/*
** A job whose bundle was claimed `count` times, and once more, with `text`, in a transaction that
** is still open.
*/
static sqlite3 *claim_again_after(const char *count, char text[200]) {
  char sql[200];
  sqlite3 *db = in_memory(5, "");
  claim(db, "w", 5, 0);
  snprintf(sql, sizeof sql, "UPDATE job_bundles SET claims = %s WHERE state = 'claimed'; BEGIN",
           count);
  database_must(db, sql);
  snprintf(text, 200, "%s", claim(db, "w", 5, 0));
  return db;
}

/*
** A count that is too great for the number stays at the greatest, and the claims are still told
** apart.
*/
static void any_count_of_claims_has_its_number(void **state) {
  (void)state;
  static const char *const counts[] = {"8189", "8190", "8191", "1 << 40", "(1 << 53) - 2"};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    char first[200], second[200];
    sqlite3 *db = claim_again_after(counts[i], first);
    database_must(db, "ROLLBACK; BEGIN");
    snprintf(second, sizeof second, "%s", claim(db, "w", 5, 0));
    assert_same_bundle(second, first);
    assert_ends_nothing(db, first, "was rolled back");
    assert_string_equal(call(db, "job_done", second, ""), "1");
    database_must(db, "COMMIT");
    close_database(db);
  }
}

/* No claim is rolled back, so no error may say that one was. */
static void a_lease_that_ran_out_is_not_said_to_be_rolled_back(void **state) {
  (void)state;
  static const char *const counts[] = {"9", "8190", "9000"};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    char first[200], second[200];
    sqlite3 *db = claim_again_after(counts[i], first);
    database_must(db, "COMMIT; BEGIN");
    snprintf(second, sizeof second, "%s", claim(db, "w", 5, 60));
    database_must(db, "COMMIT");
    assert_ends_nothing(db, first,
                        "was claimed again by worker 'w': the lease of this claim ran out");
    assert_string_equal(call(db, "job_done", second, ""), "1");
    close_database(db);
  }
}

static void a_number_that_was_never_given_ends_nothing(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"1", "2"},       {"1", "1099511627776"},       {"1", "9007199254740992"},
      {"9000", "9001"}, {"1", "9223372036854775807"}, {"9000", "9223372036854775807"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char sql[200], bundle[200];
    sqlite3 *db = in_memory(5, "");
    claim(db, "w", 5, 60);
    snprintf(sql, sizeof sql, "UPDATE job_bundles SET claims = %s WHERE state = 'claimed'",
             cases[i][0]);
    database_must(db, sql);
    snprintf(bundle, sizeof bundle, "{\"start\":\"\",\"end\":\"8000000000000006\",\"claim\":%s}",
             cases[i][1]);
    assert_ends_nothing(db, bundle, "the claim of this text was rolled back, or never was");
    close_database(db);
  }
}

/* More claims than there will ever be, and attempts: the row can be read all the same. */
static void counts_stop_at_the_greatest_that_is_read(void **state) {
  (void)state;
  sqlite3 *db = in_memory(1, "");
  claim(db, "w", 5, 0);
  database_must(db, "UPDATE job_bundles SET claims = 1 << 53, failures = 1 << 53"
                    " WHERE state = 'claimed'");
  assert_string_equal(
      call(db, "job_fail", "{\"start\":\"\",\"end\":\"8000000000000002\"}", ", 'no'"), "failed");
  assert_string_equal(database_text(db, "SELECT job_retry('job')"), "1");
  char bundle[200];
  snprintf(bundle, sizeof bundle, "%s", claim(db, "w", 5, 60));
  assert_string_equal(call(db, "job_done", bundle, ""), "1");
  assert_string_equal(database_text(db, "SELECT job_rescan('job')"), "0");
  close_database(db);
}

/* Texts of versions that did not number the claims, and those that somebody puts together. */
static void a_bundle_without_a_number_is_that_of_the_present_claim(void **state) {
  (void)state;
  static const char without[] = "{\"start\":\"\",\"end\":\"8000000000000006\"}";
  sqlite3 *db = in_memory(5, "");
  claim(db, "w", 5, 0);
  assert_string_equal(call(db, "job_heartbeat", without, ", 0"), "1");
  assert_refused(call(db, "job_done", without, ", 'v'"), "claimed by worker 'w'");
  claim(db, "w", 5, 0);
  assert_int_equal(rows_of(db, without), 5);
  assert_string_equal(call(db, "job_done", without, ", 'w'"), "1");
  close_database(db);
}

/*
** Everything that takes a restriction takes a bundle, too. What is made from it belongs to no
** claim.
*/
static void a_bundle_is_a_restriction(void **state) {
  (void)state;
  static const struct {
    const char *sql; /* ?1 is the bundle */
    const char *value;
  } cases[] = {
      {"SELECT count(*) FROM scan WHERE restriction = ?1", "5"},
      {"SELECT count(*) FROM job WHERE restriction = ?1", "5"},
      {"SELECT range_contains(?1, x'8000000000000005')", "1"},
      {"SELECT range_contains(?1, x'8000000000000006')", "0"},
      {"SELECT group_concat(restriction) FROM range_split(?1, 1)",
       "{\"start\":\"\",\"end\":\"8000000000000006\"}"},
      {"SELECT tracker_open('own', ?1)", "{\"start\":\"\",\"end\":\"8000000000000006\"}"},
      {"SELECT count(*) FROM job WHERE tracker = 'own' AND restriction = ?1", "5"},
  };
  sqlite3 *db = in_memory(10, "");
  char bundle[200];
  database_must(db, "CREATE VIRTUAL TABLE scan USING byte_key_scan(events)");
  snprintf(bundle, sizeof bundle, "%s", claim(db, "w", 5, 60));
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_prepare_v2(db, cases[i].sql, -1, &stmt, NULL), SQLITE_OK);
    sqlite3_bind_text(stmt, 1, bundle, -1, SQLITE_STATIC);
    if (sqlite3_step(stmt) != SQLITE_ROW) fail_msg("%s: %s", cases[i].sql, sqlite3_errmsg(db));
    assert_string_equal((const char *)sqlite3_column_text(stmt, 0), cases[i].value);
    sqlite3_finalize(stmt);
  }
  close_database(db);
}

static void a_lease_that_ran_out_still_counts_while_nobody_else_claims(void **state) {
  (void)state;
  sqlite3 *db = in_memory(10, "");
  finish(db, claim(db, "w1", 10, 0));
  assert_int_equal(database_integer(db, "SELECT count(*) FROM out"), 10);
  close_database(db);
}

static void another_process_names_its_worker(void **state) {
  (void)state;
  char path[512];
  char bundle[200];
  sqlite3 *first = with_job(database_path("stateless", path), 10, "");
  snprintf(bundle, sizeof bundle, "%s", claim(first, "w1", 5, 0));
  sqlite3 *other = database_open(path, 0);
  assert_refused(call(other, "job_heartbeat", bundle, ", 0"), "must name its worker");
  assert_string_equal(call(other, "job_heartbeat", bundle, ", 0, 'w1'"), "1");
  char again[200];
  snprintf(again, sizeof again, "%s", claim(first, "w2", 5, 60));
  assert_same_bundle(again, bundle);
  assert_refused(call(other, "job_done", bundle, ""), "claimed by worker 'w2'");
  assert_refused(call(other, "job_done", bundle, ", 'w1'"), "claimed by worker 'w2'");
  assert_string_equal(call(other, "job_done", again, ", 'w2'"), "1");
  close_database(first);
  close_database(other);
  database_remove(path);
}

static void a_heartbeat_keeps_the_bundle(void **state) {
  (void)state;
  sqlite3 *db = in_memory(5, "");
  char bundle[200];
  snprintf(bundle, sizeof bundle, "%s", claim(db, "w1", 5, 0));
  assert_string_equal(call(db, "job_heartbeat", bundle, ", 60"), "1");
  assert_null(claim(db, "w2", 5, 60));
  /* Without a length it is that of the claim, which was none. */
  assert_string_equal(call(db, "job_heartbeat", bundle, ""), "1");
  assert_same_bundle(claim(db, "w2", 5, 60), bundle);
  close_database(db);
}

static void a_lease_of_another_boot_is_judged_by_the_wall_clock(void **state) {
  (void)state;
  sqlite3 *db = in_memory(5, ", max_attempts(100)");
  char bundle[200];
  snprintf(bundle, sizeof bundle, "%s", claim(db, "w1", 5, 60));
  database_must(db, "UPDATE job_bundles SET boot = 'another', since = 0, until = 60000000 "
                    "WHERE state = 'claimed'");
  assert_null(claim(db, "w2", 5, 60));
  database_must(db,
                "UPDATE job_bundles SET claimed_at = claimed_at - 60000 WHERE state = 'claimed'");
  assert_same_bundle(claim(db, "w2", 5, 60), bundle);
  /* Before the claim by less than the lease: clocks differ a little, and the lease still holds. */
  database_must(db, "UPDATE job_bundles SET boot = 'another', claimed_at = claimed_at + 300 "
                    "WHERE state = 'claimed'");
  assert_null(claim(db, "w3", 5, 60));
  /*
  ** A wall clock that is before the claim was set back. It cannot tell the time, and the lease is
  ** over.
  */
  database_must(db, "UPDATE job_bundles SET boot = 'another', claimed_at = claimed_at + 1000000 "
                    "WHERE state = 'claimed'");
  assert_same_bundle(claim(db, "w3", 5, 60), bundle);
  close_database(db);
}

/* --- Failures ---------------------------------------------------------------------------- */

/* Works until nothing is free. Bundles with the id `bad` fail. */
static int work_around(sqlite3 *db, int bad) {
  char sql[300];
  int attempts = 0;
  for (const char *bundle; (bundle = claim(db, "w", 64, 60)) != NULL;) {
    snprintf(sql, sizeof sql, "SELECT count(*) FROM job WHERE id = %d AND restriction = '%s'", bad,
             bundle);
    if (database_integer(db, sql) == 0) {
      finish(db, bundle);
    } else {
      attempts++;
      call(db, "job_fail", bundle, ", 'cannot do it'");
    }
  }
  return attempts;
}

static void a_poison_row_is_found_and_the_others_are_done(void **state) {
  (void)state;
  for (int bad = 1; bad <= 64; bad += 9) {
    sqlite3 *db = in_memory(64, ", max_attempts(3)");
    /* Three times as it was, then once for each halving of 64 keys. */
    assert_int_equal(work_around(db, bad), 3 + 6);
    assert_int_equal(database_integer(db, "SELECT count(*) FROM out"), 63);
    assert_int_equal(database_integer(db, "SELECT count(DISTINCT id) FROM out"), 63);
    assert_int_equal(state_count(db, "failed"), 1);
    assert_string_equal(database_text(db, "SELECT message FROM job_bundles WHERE state = 'failed'"),
                        "cannot do it");
    assert_whole(db);
    assert_int_equal(database_integer(db, "SELECT job_retry('job')"), 1);
    assert_int_equal(work_around(db, 0), 0);
    assert_int_equal(database_integer(db, "SELECT count(*) FROM out"), 64);
    close_database(db);
  }
}

static void leases_that_run_out_are_failures(void **state) {
  (void)state;
  sqlite3 *db = in_memory(2, ", max_attempts(2)");
  assert_int_equal(rows_of(db, claim(db, "w1", 2, 0)), 2);
  assert_int_equal(rows_of(db, claim(db, "w2", 2, 0)), 2);
  assert_int_equal(rows_of(db, claim(db, "w3", 2, 0)), 1); /* halved */
  assert_int_equal(rows_of(db, claim(db, "w3", 2, 0)), 1);
  assert_null(claim(db, "w4", 2, 0));
  assert_int_equal(state_count(db, "failed"), 2);
  assert_string_equal(database_text(db, "SELECT message FROM job_bundles WHERE state = 'failed'"),
                      "the lease of worker 'w3' ran out");
  char bundle[200];
  snprintf(bundle, sizeof bundle, "%s",
           database_text(db, "SELECT byte_key_range(start_key, end_key) FROM job_bundles "
                             "WHERE state = 'failed' ORDER BY start_key"));
  assert_refused(call(db, "job_done", bundle, ""), "has failed");
  assert_string_equal(call(db, "job_retry", bundle, ""), "1");
  assert_refused(call(db, "job_retry", bundle, ""), "has not failed");
  assert_same_bundle(claim(db, "w5", 2, 60), bundle);
  close_database(db);
}

/* --- Rows behind ------------------------------------------------------------------------- */

static void a_rescan_finds_just_the_new_rowids(void **state) {
  (void)state;
  sqlite3 *db = in_memory(0, "");
  database_must(db, "INSERT INTO events SELECT value * 2, 0 FROM counting_input(50)");
  assert_int_equal(finish_all(db, 7), 8);
  assert_int_equal(database_integer(db, "SELECT job_rescan('job')"), 0);
  database_must(db, "INSERT INTO events SELECT value * 2 + 1, 0 FROM counting_input(20)");
  database_must(db, "INSERT INTO events VALUES (-9223372036854775808, 0), (-5, 0), (1000, 0)");
  database_must(db, "DELETE FROM events WHERE id = 8");
  assert_int_equal(finish_all(db, 7), 1); /* 1000 lies ahead */
  assert_int_equal(database_integer(db, "SELECT job_rescan('job')"), 22);
  assert_whole(db);
  finish_all(db, 7);
  assert_int_equal(database_integer(db, "SELECT count(*) FROM out"), 50 + 23);
  assert_int_equal(database_integer(db, "SELECT count(DISTINCT id) FROM out"), 50 + 23);
  assert_int_equal(database_integer(db, "SELECT job_rescan('job')"), 0);
  assert_whole(db);
  close_database(db);
}

static void a_rescan_hands_changed_bundles_of_other_keys_out_again(void **state) {
  (void)state;
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE names(name TEXT PRIMARY KEY) WITHOUT ROWID;"
                    "INSERT INTO names SELECT printf('n%03d', value) FROM counting_input(30);"
                    "CREATE VIRTUAL TABLE job USING scan_job(names)");
  for (const char *bundle; (bundle = claim(db, "w", 10, 60)) != NULL;)
    call(db, "job_done", bundle, "");
  assert_int_equal(database_integer(db, "SELECT job_rescan('job')"), 0);
  database_must(db, "INSERT INTO names VALUES ('n005a')");
  assert_int_equal(database_integer(db, "SELECT job_rescan('job')"), 11);
  assert_int_equal(rows_of(db, claim(db, "w", 100, 60)), 11);
  assert_null(claim(db, "w", 100, 60));
  assert_whole(db);
  close_database(db);
}

static void a_rescan_in_a_transaction_is_undone_with_it(void **state) {
  (void)state;
  sqlite3 *db = in_memory(10, "");
  finish_all(db, 3);
  database_must(db, "INSERT INTO events VALUES (0, 0), (-1, 0)");
  database_must(db, "BEGIN; SELECT job_rescan('job'); ROLLBACK");
  assert_null(claim(db, "w", 10, 60));
  assert_refused(database_text(db, "CREATE TABLE x AS SELECT job_rescan('job')"), "use a SELECT");
  assert_whole(db);
  close_database(db);
}

/* --- Transactions ------------------------------------------------------------------------ */

static void what_is_rolled_back_was_not_claimed_and_not_done(void **state) {
  (void)state;
  sqlite3 *db = in_memory(10, "");
  char bundle[200];
  database_must(db, "BEGIN");
  snprintf(bundle, sizeof bundle, "%s", claim(db, "w", 10, 60));
  database_must(db, "ROLLBACK");
  assert_refused(call(db, "job_done", bundle, ""), "not there");
  const char *again = claim(db, "w", 10, 60);
  assert_same_bundle(again, bundle);
  snprintf(bundle, sizeof bundle, "%s", again);

  database_must(db, "BEGIN; SAVEPOINT a");
  assert_string_equal(call(db, "job_done", bundle, ""), "1");
  assert_refused(call(db, "job_done", bundle, ""), "done already");
  database_must(db, "ROLLBACK TO a");
  assert_string_equal(call(db, "job_heartbeat", bundle, ""), "1");
  assert_string_equal(call(db, "job_done", bundle, ""), "1");
  database_must(db, "COMMIT");
  assert_refused(call(db, "job_done", bundle, ""), "done already");
  assert_int_equal(database_integer(db, "SELECT rows FROM job_progress('job')"), 10);
  close_database(db);
}

static void a_claim_inside_a_statement_that_writes_is_part_of_it(void **state) {
  (void)state;
  char path[512];
  sqlite3 *db = with_job(database_path("statement", path), 10, "");
  sqlite3 *other = database_open(path, 0);
  database_must(db, "CREATE TABLE mine AS SELECT job_claim('job', 'w', 4, 60) AS bundle");
  assert_int_equal(state_count(other, "claimed"), 1);
  /* The claim succeeds and the statement fails: both are undone. */
  assert_refused(database_text(db, "INSERT INTO mine SELECT job_claim('job', 'w', 4, 60) "
                                   "UNION ALL SELECT job_done('job', 'no restriction')"),
                 "job_done");
  assert_int_equal(state_count(db, "claimed"), 1);
  assert_int_equal(database_integer(db, "SELECT count(*) FROM mine"), 1);
  assert_whole(db);
  close_database(db);
  close_database(other);
  database_remove(path);
}

/* The extended code with which a statement ends. */
static int code_of(sqlite3 *db, const char *sql) {
  int rc = database_run(db, sql);
  return rc == SQLITE_OK ? rc : sqlite3_extended_errcode(db);
}

static void codes_of_sqlite_are_kept(void **state) {
  (void)state;
  char path[512];
  sqlite3 *db = with_job(database_path("codes", path), 10, "");
  database_must(db, "PRAGMA journal_mode = WAL");
  sqlite3 *other = database_open(path, 0);
  database_must(other, "BEGIN; SELECT * FROM events");
  database_must(db, "INSERT INTO out VALUES (0)");
  assert_int_equal(code_of(other, "SELECT job_claim('job', 'w')"), SQLITE_BUSY_SNAPSHOT);
  assert_int_equal(code_of(other, "SELECT count(*) FROM events"), SQLITE_OK); /* still in it */
  assert_int_equal(sqlite3_get_autocommit(other), 0);
  database_must(other, "ROLLBACK");
  database_must(db, "BEGIN IMMEDIATE");
  assert_int_equal(code_of(other, "SELECT job_claim('job', 'w')"), SQLITE_BUSY);
  assert_int_equal(sqlite3_get_autocommit(other), 1);
  assert_int_equal(database_integer(other, "SELECT fraction FROM job_progress('job')"), 0);
  database_must(db, "COMMIT");
  assert_int_equal(code_of(other, "SELECT job_claim('job', 'w')"), SQLITE_OK);
  close_database(other);

  assert_int_equal(sqlite3_open_v2(path, &other, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_tranche_init(other, NULL, NULL), SQLITE_OK);
  assert_int_equal(code_of(other, "SELECT job_claim('job', 'w')"), SQLITE_READONLY);
  assert_string_equal(database_text(other, "SELECT job_claim('job', 'w')"),
                      "error: job_claim: attempt to write a readonly database");
  assert_int_equal(database_integer(other, "SELECT claimed FROM job_progress('job')"), 1);
  close_database(other);
  close_database(db);
  database_remove(path);
}

static void looking_at_progress_holds_nobody_up(void **state) {
  (void)state;
  char path[512];
  sqlite3 *db = with_job(database_path("progress", path), 100, "");
  database_must(db, "PRAGMA journal_mode = WAL");
  sqlite3 *other = database_open(path, 0); /* waits for nobody */
  /* A reader in the middle of its rows, in a transaction that stays open. */
  sqlite3_stmt *stmt = NULL;
  database_must(other, "BEGIN");
  assert_int_equal(sqlite3_prepare_v2(other, "SELECT * FROM job_progress('job')", -1, &stmt, NULL),
                   SQLITE_OK);
  assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
  finish(db, claim(db, "w", 50, 60));
  /* A worker in the middle of writing. */
  database_must(db, "BEGIN IMMEDIATE");
  assert_non_null(claim(db, "w", 10, 60));
  assert_int_equal(sqlite3_reset(stmt), SQLITE_OK);
  assert_int_equal(database_integer(other, "SELECT rows FROM job_progress('job')"), 0);
  database_must(other, "COMMIT");
  assert_int_equal(database_integer(other, "SELECT rows FROM job_progress('job')"), 50);
  assert_int_equal(database_integer(other, "SELECT claimed FROM job_progress('job')"), 0);
  database_must(db, "COMMIT");
  assert_int_equal(database_integer(other, "SELECT claimed FROM job_progress('job')"), 1);
  sqlite3_finalize(stmt);
  close_database(other);
  close_database(db);
  database_remove(path);
}

/* --- Sizes ------------------------------------------------------------------------------- */

static void bundles_take_the_target_time(void **state) {
  (void)state;
  sqlite3 *db = in_memory(10000, ", target_seconds(2)");
  assert_int_equal(rows_of(db, claim(db, "w", 5000, 60)), 100); /* nothing is known yet */
  database_must(db, "UPDATE job_job SET keys_timed = 1000, seconds_timed = 4");
  assert_int_equal(rows_of(db, claim(db, "w", 5000, 60)), 500);
  assert_int_equal(rows_of(db, claim(db, "w", 50, 60)), 50); /* the claim's limit holds */
  database_must(db, "UPDATE job_job SET keys_timed = 1, seconds_timed = 1000");
  assert_int_equal(rows_of(db, claim(db, "w", 5000, 60)), 1);
  const char *bundle = claim(db, "w", 5000, 60);
  assert_string_equal(call(db, "job_done", bundle, ""), "1");
  assert_int_equal(database_integer(db, "SELECT keys_timed * 100 FROM job_job"), 175);
  close_database(db);
}

static void the_last_keys_are_shared(void **state) {
  (void)state;
  sqlite3 *db = in_memory(40, ", target_seconds(2)");
  char worker[2] = "a";
  int64_t left = 40;
  /* Each takes its part of what is left, as one of all who are working. */
  for (int64_t workers = 1; left > 1; workers++, worker[0]++) {
    int64_t rows = rows_of(db, claim(db, worker, workers == 1 ? 10 : 100, 60));
    assert_int_equal(rows, workers == 1 ? 10 : (left + workers - 1) / workers);
    left -= rows;
  }
  assert_whole(db);
  close_database(db);
}

/* Of several wrong arguments the first one is named. */
static void arguments_are_checked_from_left_to_right(void **state) {
  (void)state;
  static const struct {
    const char *sql;
    const char *refused;
  } cases[] = {
      {"SELECT job_claim(NULL, NULL, 0)", "job_claim(): argument job = NULL"},
      {"SELECT job_claim('none', NULL, 0)", "job_claim(): argument job = 'none'"},
      {"SELECT job_claim('j', NULL, 0)", "job_claim(): argument worker"},
      {"SELECT job_claim('j', 'w', 0, -1)", "job_claim(): argument max_keys"},
      {"SELECT job_claim('j', 'w', 1, -1)", "job_claim(): argument lease_seconds"},
      {"SELECT job_next(NULL, 'x', NULL)", "job_next(): argument job"},
      {"SELECT job_next('j', 'x', NULL)", "job_next(): argument bundle"},
      {"SELECT job_next('j', NULL, NULL, 0)", "job_next(): argument worker"},
      {"SELECT job_done(NULL, 'x')", "job_done(): argument job"},
      {"SELECT job_done('none', 'x')", "job_done(): argument job"},
      {"SELECT job_done('j', 'x', 5)", "job_done(): argument bundle"},
      {"SELECT job_done('j', '{\"start\":\"\",\"end\":\"\"}', 5)", "job_done(): argument worker"},
      {"SELECT job_heartbeat(NULL, 'x', -1, 5)", "job_heartbeat(): argument job"},
      {"SELECT job_heartbeat('j', 'x', -1, 5)", "job_heartbeat(): argument bundle"},
      {"SELECT job_heartbeat('j', '{\"start\":\"\",\"end\":\"\"}', -1, 5)",
       "job_heartbeat(): argument seconds"},
      {"SELECT job_heartbeat('j', '{\"start\":\"\",\"end\":\"\"}', NULL, 5)",
       "job_heartbeat(): argument worker"},
      {"SELECT job_release(NULL, 'x', 5)", "job_release(): argument job"},
      {"SELECT job_fail(NULL, 'x', NULL, 5)", "job_fail(): argument job"},
      {"SELECT job_fail('j', 'x', NULL, 5)", "job_fail(): argument bundle"},
      {"SELECT job_fail('j', '{\"start\":\"\",\"end\":\"\"}', NULL, 5)",
       "job_fail(): argument message"},
      {"SELECT job_fail('j', '{\"start\":\"\",\"end\":\"\"}', 'no', 5)",
       "job_fail(): argument worker"},
      {"SELECT job_retry(NULL, 'x')", "job_retry(): argument job"},
      {"SELECT job_retry('j', 'x')", "job_retry(): argument bundle"},
      {"SELECT job_rescan(NULL)", "job_rescan(): argument job"},
      {"SELECT * FROM job_rowids(5, 'x')", "job_rowids(): argument job"},
      {"SELECT * FROM job_rowids('j', 'x')", "job_rowids(): argument bundle"},
      {"SELECT * FROM job_rowids(5, NULL)", "job_rowids(): argument job"},
      {"SELECT * FROM job_rowids('none', NULL)", "job_rowids(): argument job"},
      {"SELECT * FROM job_rowids(NULL, 'x')", "job_rowids(): argument job"},
      {"SELECT count(*) FROM job_rowids('j', NULL)", "0"},
      {"SELECT * FROM job_progress(NULL)", "job_progress(): argument job"},
  };
  sqlite3 *db = database_open(":memory:", 0);
  database_must(db, "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1);"
                    "CREATE VIRTUAL TABLE j USING scan_job(t); SELECT job_claim('j', 'w')");
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *answer = database_text(db, cases[i].sql);
    if (strstr(answer, cases[i].refused) == NULL) {
      fail_msg("%s: '%s' instead of '%s'", cases[i].sql, answer, cases[i].refused);
    }
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arguments_are_checked_from_left_to_right),
      cmocka_unit_test(every_row_once_at_every_boundary),
      cmocka_unit_test(a_claim_is_as_large_as_it_says),
      cmocka_unit_test(keys_are_counted_where_no_row_matches),
      cmocka_unit_test(rows_at_the_end_are_claimed_as_they_come),
      cmocka_unit_test(an_empty_bundle_is_done),
      cmocka_unit_test(the_largest_pending_range_goes_first),
      cmocka_unit_test(a_large_bundle_that_came_back_is_cut),
      cmocka_unit_test(a_worker_whose_bundle_was_claimed_again_is_fenced),
      cmocka_unit_test(claims_of_one_worker_are_told_apart),
      cmocka_unit_test(a_claim_that_was_rolled_back_never_comes_again),
      cmocka_unit_test(no_number_is_given_twice),
      cmocka_unit_test(any_count_of_claims_has_its_number),
      cmocka_unit_test(a_lease_that_ran_out_is_not_said_to_be_rolled_back),
      cmocka_unit_test(a_number_that_was_never_given_ends_nothing),
      cmocka_unit_test(counts_stop_at_the_greatest_that_is_read),
      cmocka_unit_test(a_bundle_without_a_number_is_that_of_the_present_claim),
      cmocka_unit_test(a_bundle_is_a_restriction),
      cmocka_unit_test(a_lease_that_ran_out_still_counts_while_nobody_else_claims),
      cmocka_unit_test(another_process_names_its_worker),
      cmocka_unit_test(a_heartbeat_keeps_the_bundle),
      cmocka_unit_test(a_lease_of_another_boot_is_judged_by_the_wall_clock),
      cmocka_unit_test(a_poison_row_is_found_and_the_others_are_done),
      cmocka_unit_test(leases_that_run_out_are_failures),
      cmocka_unit_test(a_rescan_finds_just_the_new_rowids),
      cmocka_unit_test(a_rescan_hands_changed_bundles_of_other_keys_out_again),
      cmocka_unit_test(a_rescan_in_a_transaction_is_undone_with_it),
      cmocka_unit_test(what_is_rolled_back_was_not_claimed_and_not_done),
      cmocka_unit_test(a_claim_inside_a_statement_that_writes_is_part_of_it),
      cmocka_unit_test(codes_of_sqlite_are_kept),
      cmocka_unit_test(looking_at_progress_holds_nobody_up),
      cmocka_unit_test(bundles_take_the_target_time),
      cmocka_unit_test(the_last_keys_are_shared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

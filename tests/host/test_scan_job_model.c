/*
** Several jobs, over one table and in two files. Several connections work on them at random: inside
** transactions and savepoints that are kept or rolled back, beside other writers, interrupted, and
** closed and reopened. The seed is printed; TRANCHE_SEED=n repeats a run.
**
** Every text that a claim ever returned is kept, also of claims that were rolled back, lost or
** ended. The model knows the lease of each, which no other claim has. A call on a claim must
** succeed if and only if its lease is still in the table and is the caller's. So the test finds a
** call that succeeds by the text of another claim. A worker writes the rows that it has read after
** its claim, so the test also finds a row that is lost or done twice.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "database.h"
#include "effort.h"
#include "test_random.h"

enum { CONNECTIONS = 3, JOBS = 3, STEPS = 160, TEXTS = 2 * STEPS, IDS = 400, SAVEPOINTS = 4 };

/*
** A kind of job. If its keys are rowids, each row is done exactly once. Otherwise a bundle in which
** keys have changed is done again.
*/
typedef struct kind {
  const char *name;
  const char *arguments;
  int is_exact;
} kind;

static const kind kinds[] = {
    {"main.by_id", "t, max_attempts(2)", 1},
    {"main.by_text", "t, key(u)", 0},
    {"main.by_two", "t, key(a, b), max_attempts(1)", 0},
    {"main.by_own_order", "w, max_attempts(1000)", 0},
    {"other.by_blob", "main.t, key(x)", 0},
    {"other.by_id", "main.t, key(id), max_attempts(1)", 1},
    {"main.encoded", "t, key(byte_key(u))", 0},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* A text that a claim gave, and what its worker read. */
typedef struct text {
  int job;
  int by;     /* the connection, */
  int opened; /* and which of those in its place */
  int worker;
  int64_t lease;
  char bundle[200];
  char *rows; /* `(1),(2)`, or NULL: they are read when they are done */
} text;

typedef enum ending { DONE, NEXT, RELEASE, FAIL, HEARTBEAT, ENDINGS } ending;

typedef struct world {
  test_random random;
  char path[512];
  char other[530];
  const kind *jobs[JOBS];
  sqlite3 *db[CONNECTIONS];
  int opened[CONNECTIONS];
  int savepoints[CONNECTIONS];
  text texts[TEXTS];
  int text_count;
  int stops_in;          /* after this many steps the next call is interrupted; 0: it is not */
  int calls[ENDINGS][3]; /* how many succeeded, were refused, and were kept off by a lock */
} world;

typedef struct answer {
  int rc; /* SQLITE_OK, or the code of the error */
  int is_null;
  char *value; /* the first column of the first row, or the error's text */
} answer;

static int below(world *w, int limit) {
  return (int)test_random_below(&w->random, (uint64_t)limit);
}

/* --- Asking ------------------------------------------------------------------------------ */

/* Asked after each step. */
static int stop(void *data) {
  int *stops_in = data;
  return --*stops_in == 0;
}

/* Has the next call interrupted, or not. */
static void maybe_stop(world *w) {
  if (below(w, 8) == 0) w->stops_in = 1 + below(w, 400);
}

/* Runs a statement to its end. The answer holds until the next question. */
static answer ask(world *w, int i, const char *form, ...) {
  static char *value;
  sqlite3_stmt *stmt = NULL;
  answer a = {.is_null = 1};
  va_list arguments;
  va_start(arguments, form);
  char *sql = sqlite3_vmprintf(form, arguments);
  va_end(arguments);
  sqlite3_free(value);
  value = NULL;
  a.rc = sqlite3_prepare_v2(w->db[i], sql, -1, &stmt, NULL);
  if (w->stops_in > 0) sqlite3_progress_handler(w->db[i], 1, stop, &w->stops_in);
  int step = a.rc == SQLITE_OK ? sqlite3_step(stmt) : SQLITE_DONE;
  if (step == SQLITE_ROW) {
    a.is_null = sqlite3_column_type(stmt, 0) == SQLITE_NULL;
    value = sqlite3_mprintf("%s", a.is_null ? "" : (const char *)sqlite3_column_text(stmt, 0));
    while ((step = sqlite3_step(stmt)) == SQLITE_ROW) continue;
  }
  if (step != SQLITE_DONE) a.rc = step;
  sqlite3_progress_handler(w->db[i], 0, NULL, NULL);
  w->stops_in = 0;
  if (a.rc != SQLITE_OK) {
    sqlite3_free(value);
    value = sqlite3_mprintf("%s: %s", sql, sqlite3_errmsg(w->db[i]));
  }
  sqlite3_finalize(stmt);
  sqlite3_free(sql);
  a.value = value;
  return a;
}

static int is_in_transaction(const world *w, int i) {
  return !sqlite3_get_autocommit(w->db[i]);
}

/* Whether another connection's lock, or the age of what this one is reading, is the reason. */
static int is_busy(const world *w, answer a) {
  int is_open = 0;
  for (int i = 0; i < CONNECTIONS; i++) is_open |= is_in_transaction(w, i);
  return (a.rc & 0xff) == SQLITE_BUSY && is_open;
}

static int is_interrupted(answer a) {
  return (a.rc & 0xff) == SQLITE_INTERRUPT;
}

static void must_be_busy(const world *w, answer a) {
  if (!is_busy(w, a)) fail_msg("%d, %s", a.rc, a.value);
}

/* An integer that is always there to be had. */
static int64_t number(world *w, int i, const char *form, const char *first, const char *second) {
  answer a = ask(w, i, form, first, second);
  if (a.rc != SQLITE_OK) fail_msg("%d, %s", a.rc, a.value);
  return a.is_null ? -1 : strtoll(a.value, NULL, 10);
}

/* --- Transactions ------------------------------------------------------------------------ */

static void roll_back(world *w, int i) {
  if (is_in_transaction(w, i)) database_must(w->db[i], "ROLLBACK");
  w->savepoints[i] = 0;
}

/* Commits. If other connections prevent it, nothing has happened. */
static void commit(world *w, int i) {
  answer a = ask(w, i, "COMMIT");
  if (a.rc != SQLITE_OK) must_be_busy(w, a);
  roll_back(w, i);
}

static void begin(world *w, int i) {
  answer a = ask(w, i, below(w, 2) == 0 ? "BEGIN" : "BEGIN IMMEDIATE");
  if (a.rc != SQLITE_OK) must_be_busy(w, a);
}

/* Goes on in a transaction, or leaves it: kept, rolled back, or a part of it. */
static void change_transaction(world *w, int i) {
  int depth = w->savepoints[i];
  int what = below(w, 6);
  if (!is_in_transaction(w, i)) {
    begin(w, i);
  } else if (what < 2) {
    commit(w, i);
  } else if (what == 2) {
    roll_back(w, i);
  } else if (what == 3 && depth < SAVEPOINTS) {
    assert_int_equal(ask(w, i, "SAVEPOINT s%d", w->savepoints[i]++).rc, SQLITE_OK);
  } else if (depth > 0) {
    int to = below(w, depth);
    assert_int_equal(ask(w, i, what == 4 ? "ROLLBACK TO s%d" : "RELEASE s%d", to).rc, SQLITE_OK);
    w->savepoints[i] = what == 4 ? to + 1 : to;
  }
}

/* --- What must always hold --------------------------------------------------------------- */

/* All that a job's table says of its bundles, as connection `i` sees it. */
static char *contents(world *w, int i, int job) {
  answer a = ask(w, i,
                 "SELECT group_concat(hex(start_key) || '-' || hex(end_key) || state || claims || "
                 "failures || ifnull(lease, 0) || ifnull(until, 0), ' ') FROM (SELECT * FROM "
                 "%s_bundles ORDER BY start_key)",
                 w->jobs[job]->name);
  if (a.rc != SQLITE_OK) must_be_busy(w, a);
  return sqlite3_mprintf("%s", a.rc == SQLITE_OK ? a.value : "");
}

static void check_ranges(world *w, int i) {
  for (int job = 0; job < JOBS; job++) {
    const char *name = w->jobs[job]->name;
    assert_int_equal(number(w, i,
                            "SELECT count(*) FROM (SELECT start_key, lag(end_key, 1, x'') OVER "
                            "(ORDER BY start_key) AS before FROM %s_bundles) WHERE start_key <> "
                            "before",
                            name, ""),
                     0);
    assert_int_equal(number(w, i, "SELECT count(*) FROM %s_bundles WHERE end_key = x''", name, ""),
                     1);
    if (!w->jobs[job]->is_exact) continue;
    assert_int_equal(number(w, i,
                            "SELECT count(*) - count(DISTINCT id) FROM main.out WHERE job = '%s'",
                            name, ""),
                     0);
  }
}

/* --- The table --------------------------------------------------------------------------- */

/* A row's id is never used again: a row that comes back would be the same row. */
static void add_row(world *w, int i, int id) {
  answer a = ask(w, i, "SAVEPOINT row");
  if (a.rc == SQLITE_OK) a = ask(w, i, "INSERT OR IGNORE INTO main.used VALUES (%d)", id);
  int is_new = a.rc == SQLITE_OK && sqlite3_changes(w->db[i]) == 1;
  if (is_new) {
    a = ask(w, i,
            "INSERT INTO main.t SELECT id, nullif(id %% 5, 0), 'b' || id, printf('%%x', id * 40503 "
            "%% 4096) || '-' || id, CAST(char(id %% 3 + 1) || id AS BLOB) FROM (SELECT %d AS id)",
            id);
  }
  if (is_new && a.rc == SQLITE_OK) {
    a = ask(w, i, "INSERT INTO main.w VALUES ('p' || %d, %d, %d)", id % 4, id, id);
  }
  if (a.rc == SQLITE_OK) a = ask(w, i, "RELEASE row");
  if (a.rc == SQLITE_OK) return;
  must_be_busy(w, a);
  roll_back(w, i);
}

static void remove_rows(world *w, int i) {
  int rest = below(w, 37);
  answer a = ask(w, i, "SAVEPOINT row");
  if (a.rc == SQLITE_OK) a = ask(w, i, "DELETE FROM main.t WHERE id %% 37 = %d", rest);
  if (a.rc == SQLITE_OK) a = ask(w, i, "DELETE FROM main.w WHERE id %% 37 = %d", rest);
  if (a.rc == SQLITE_OK) a = ask(w, i, "RELEASE row");
  if (a.rc == SQLITE_OK) return;
  must_be_busy(w, a);
  roll_back(w, i);
}

/*
** After any change of the schema SQLite prepares all statements and connects all virtual tables
** again.
*/
static void change_schema(world *w, int i) {
  static const char *const changes[] = {
      "CREATE TEMP TABLE IF NOT EXISTS passing(x)",        "DROP TABLE IF EXISTS temp.passing",
      "CREATE TABLE IF NOT EXISTS main.passing(x)",        "DROP TABLE IF EXISTS main.passing",
      "CREATE INDEX IF NOT EXISTS other.live ON spare(x)", "DROP INDEX IF EXISTS other.live",
  };
  answer a = ask(w, i, changes[below(w, sizeof changes / sizeof changes[0])]);
  if (a.rc != SQLITE_OK && (a.rc & 0xff) != SQLITE_LOCKED) must_be_busy(w, a);
}

/* --- Calls ------------------------------------------------------------------------------- */

/* The rows of a bundle as VALUES, or "". NULL: they cannot be read. */
static char *read_rows(world *w, int i, const text *t) {
  answer a = ask(w, i, "SELECT group_concat('(' || id || ')') FROM %s WHERE restriction = '%s'",
                 w->jobs[t->job]->name, t->bundle);
  if (a.rc == SQLITE_OK) return sqlite3_mprintf("%s", a.value);
  must_be_busy(w, a);
  return NULL;
}

/* Keeps what a claim gave. */
static void keep_text(world *w, int i, int job, int worker, const char *bundle, int max_keys) {
  const char *name = w->jobs[job]->name;
  text *t = &w->texts[w->text_count++];
  *t = (text){.job = job, .by = i, .opened = w->opened[i], .worker = worker};
  snprintf(t->bundle, sizeof t->bundle, "%s", bundle);
  for (const text *other = w->texts; other < t; other++) {
    if (other->job == job && strcmp(other->bundle, bundle) == 0) fail_msg("twice: %s", bundle);
  }
  t->lease = number(w, i,
                    "SELECT lease FROM %s_bundles WHERE byte_key_range(start_key, end_key) = "
                    "json_remove('%s', '$.claim') AND state = 'claimed'",
                    name, bundle);
  assert_true(t->lease > 0);
  int64_t keys = number(w, i, "SELECT count(*) FROM %s WHERE restriction = '%s'", name, bundle);
  assert_in_range(keys, 1, max_keys);
  if (w->jobs[job]->is_exact) {
    assert_int_equal(
        number(w, i, "SELECT sum(last - first + 1) FROM job_rowids('%s', '%s')", name, bundle),
        keys);
  }
  if (below(w, 2) == 0) t->rows = read_rows(w, i, t);
}

/* There is nothing to be claimed: no key in what is pending, and no lease that is over. */
static void check_nothing_is_free(world *w, int i, int job) {
  const char *name = w->jobs[job]->name;
  assert_int_equal(
      number(w, i,
             "SELECT count(*) FROM %s_bundles WHERE state = 'claimed' AND until - since "
             "< 1000000000",
             name, ""),
      0);
  assert_int_equal(
      number(w, i,
             "SELECT count(*) FROM %s_bundles AS b CROSS JOIN %s AS j ON j.restriction = "
             "byte_key_range(b.start_key, b.end_key) WHERE b.state = 'pending'",
             name, name),
      0);
}

/* Whether the claim of that text holds, as this connection sees it. */
static int holds(world *w, int i, const text *t) {
  char lease[30];
  snprintf(lease, sizeof lease, "%lld", (long long)t->lease);
  return number(w, i, "SELECT count(*) FROM %s_bundles WHERE state = 'claimed' AND lease = %s",
                w->jobs[t->job]->name, lease) == 1 &&
         ask(w, i,
             "SELECT 1 FROM %s_bundles WHERE lease = %s AND byte_key_range(start_key, end_key) = "
             "json_remove('%s', '$.claim')",
             w->jobs[t->job]->name, lease, t->bundle)
                 .is_null == 0;
}

/* A call that was refused, or could not be made, changed nothing. */
static void check_unchanged(world *w, int i, int job, char *before) {
  char *after = contents(w, i, job);
  if (after[0] != '\0' && before[0] != '\0') assert_string_equal(after, before);
  sqlite3_free(after);
}

/* A claim as part of a statement that writes, which may fail and then has not claimed. */
static answer claim_in_a_write(world *w, int i, const char *call) {
  int stops_in = w->stops_in;
  w->stops_in = 0;
  answer a =
      ask(w, i, "CREATE TEMP TABLE IF NOT EXISTS given(bundle, is_refused CHECK (NOT is_refused))");
  if (a.rc == SQLITE_OK) {
    w->stops_in = stops_in;
    a = ask(w, i, "INSERT INTO temp.given SELECT %s, %d", call, below(w, 3) == 0);
  }
  return a.rc == SQLITE_OK ? ask(w, i, "SELECT bundle FROM temp.given ORDER BY rowid DESC LIMIT 1")
                           : a;
}

/* Inside a transaction such a statement cannot be undone alone. */
static int is_refused_write(const world *w, int i, answer a) {
  return a.rc == SQLITE_CONSTRAINT_CHECK ||
         (is_in_transaction(w, i) && strstr(a.value, "use a SELECT of its own") != NULL);
}

static void claim(world *w, int i) {
  int job = below(w, JOBS), worker = below(w, 3);
  int max_keys = 1 + below(w, below(w, 4) == 0 ? 60 : 10);
  char *before = contents(w, i, job);
  char *call = sqlite3_mprintf("job_claim('%s', 'w%d', %d, %d)", w->jobs[job]->name, worker,
                               max_keys, below(w, 3) == 0 ? 0 : 100000);
  maybe_stop(w);
  answer a = below(w, 4) == 0 ? claim_in_a_write(w, i, call) : ask(w, i, "SELECT %s", call);
  sqlite3_free(call);
  if (is_interrupted(a)) {
    if (!is_in_transaction(w, i)) w->savepoints[i] = 0;
  } else if (a.rc != SQLITE_OK) {
    if (!is_refused_write(w, i, a)) must_be_busy(w, a);
    check_unchanged(w, i, job, before);
  } else if (a.is_null) {
    check_nothing_is_free(w, i, job);
  } else {
    char bundle[200];
    snprintf(bundle, sizeof bundle, "%s", a.value);
    keep_text(w, i, job, worker, bundle, max_keys);
  }
  sqlite3_free(before);
}

/* Ends a claim, or keeps it: any that ever was, its own or another's. */
static answer call_end(world *w, int i, const text *t, ending how, int names_worker) {
  const char *name = w->jobs[t->job]->name;
  char worker[10] = "NULL";
  if (names_worker) snprintf(worker, sizeof worker, "'w%d'", t->worker);
  switch (how) {
  case DONE: return ask(w, i, "SELECT job_done('%s', '%s', %s)", name, t->bundle, worker);
  case NEXT:
    return ask(w, i, "SELECT job_next('%s', '%s', 'w%d', 7, %d)", name, t->bundle, t->worker,
               below(w, 3) == 0 ? 0 : 100000);
  case RELEASE: return ask(w, i, "SELECT job_release('%s', '%s', %s)", name, t->bundle, worker);
  case FAIL: return ask(w, i, "SELECT job_fail('%s', '%s', 'no', %s)", name, t->bundle, worker);
  default: break;
  }
  return ask(w, i, "SELECT job_heartbeat('%s', '%s', %d, %s)", name, t->bundle,
             below(w, 3) == 0 ? 0 : 100000, worker);
}

/* What the worker has read, or reads now. */
static answer write_rows(world *w, int i, const text *t) {
  const kind *job = w->jobs[t->job];
  const char *or_ignore = job->is_exact ? "" : "OR IGNORE ";
  if (t->rows != NULL && t->rows[0] == '\0') return (answer){0};
  if (t->rows != NULL) {
    return ask(w, i, "INSERT %sINTO main.out SELECT '%s', column1, %d FROM (VALUES %s)", or_ignore,
               job->name, !job->is_exact, t->rows);
  }
  return ask(w, i, "INSERT %sINTO main.out SELECT '%s', id, %d FROM %s WHERE restriction = '%s'",
             or_ignore, job->name, !job->is_exact, job->name, t->bundle);
}

/* Takes back what was written for a call that was refused. */
static void undo_work(world *w, int i) {
  assert_int_equal(ask(w, i, "ROLLBACK TO work").rc, SQLITE_OK);
  answer a = ask(w, i, "RELEASE work");
  if (a.rc == SQLITE_OK) return;
  must_be_busy(w, a);
  roll_back(w, i);
}

/*
** Makes the call, and compares whether it succeeds with whether the claim holds. Its answer is
** `*a`. Returns 1 if what was written for it is to be kept, 0 if it is to be rolled back, since the
** call was refused or interrupted.
*/
static int try_to_end(world *w, int i, const text *t, ending how, answer *a) {
  int names_worker = how == NEXT || below(w, 2) == 0;
  int is_own = names_worker || (t->by == i && t->opened == w->opened[i]);
  int is_to_succeed = is_own && holds(w, i, t);
  maybe_stop(w);
  *a = call_end(w, i, t, how, names_worker);
  if (is_interrupted(*a)) return 0;
  if (!is_busy(w, *a) && (a->rc == SQLITE_OK) != is_to_succeed) {
    fail_msg("%s, %s: %d, %s", t->bundle, is_to_succeed ? "holds" : "does not hold", a->rc,
             a->value);
  }
  w->calls[how][is_busy(w, *a) ? 2 : a->rc != SQLITE_OK]++;
  if (a->rc == SQLITE_OK && how == NEXT && !a->is_null) {
    char bundle[200];
    snprintf(bundle, sizeof bundle, "%s", a->value);
    keep_text(w, i, t->job, t->worker, bundle, 7);
  }
  return a->rc == SQLITE_OK;
}

/*
** A call without any output of its own. It undoes itself. Only an interrupt may come after it has
** ended.
*/
static void end_alone(world *w, int i, const text *t, ending how) {
  char *before = contents(w, i, t->job);
  answer a;
  if (!try_to_end(w, i, t, how, &a) && !is_interrupted(a)) check_unchanged(w, i, t->job, before);
  if (!is_in_transaction(w, i)) w->savepoints[i] = 0;
  sqlite3_free(before);
}

static void end_with_output(world *w, int i, const text *t, ending how) {
  char *before = contents(w, i, t->job);
  answer a = ask(w, i, "SAVEPOINT work");
  if (a.rc == SQLITE_OK) a = write_rows(w, i, t);
  if (a.rc != SQLITE_OK) {
    must_be_busy(w, a);
    roll_back(w, i);
  } else if (try_to_end(w, i, t, how, &a)) {
    a = ask(w, i, "RELEASE work");
    if (a.rc != SQLITE_OK) must_be_busy(w, a);
    if (a.rc != SQLITE_OK) roll_back(w, i);
  } else if (is_in_transaction(w, i)) {
    undo_work(w, i);
    check_unchanged(w, i, t->job, before);
  } else {
    assert_true(is_interrupted(a)); /* SQLite has rolled back all of it */
    w->savepoints[i] = 0;
  }
  sqlite3_free(before);
}

/* A text of any claim so far, mostly one of the last. */
static text *any_text(world *w) {
  int last = w->text_count < 6 ? w->text_count : 6;
  int back = below(w, 4) == 0 ? below(w, w->text_count) : below(w, last);
  return &w->texts[w->text_count - 1 - back];
}

/* Calls on a whole job. */
static void call_on_job(world *w, int i) {
  static const char *const calls[] = {
      "SELECT job_rescan('%s')", "SELECT job_retry('%s')",
      "SELECT pending + claimed + done + failed FROM job_progress('%s')"};
  int which = below(w, 3), job = below(w, JOBS);
  answer a = ask(w, i, calls[which], w->jobs[job]->name);
  if (a.rc != SQLITE_OK) must_be_busy(w, a);
}

static void open_connection(world *w, int i) {
  w->db[i] = database_open(w->path, 0);
  w->opened[i]++;
  w->savepoints[i] = 0;
  assert_int_equal(ask(w, i, "PRAGMA synchronous = OFF").rc, SQLITE_OK);
  assert_int_equal(ask(w, i, "ATTACH %Q AS other", w->other).rc, SQLITE_OK);
  assert_int_equal(ask(w, i, "PRAGMA other.synchronous = OFF").rc, SQLITE_OK);
}

static void close_connection(world *w, int i) {
  assert_int_equal(sqlite3_close(w->db[i]), SQLITE_OK);
}

/* --- A life ------------------------------------------------------------------------------ */

static void take_step(world *w) {
  int i = below(w, CONNECTIONS);
  int what = below(w, 40);
  if (what < 8) {
    change_transaction(w, i);
  } else if (what < 11) {
    for (int n = below(w, 5); n > 0; n--) add_row(w, i, below(w, IDS));
  } else if (what == 11) {
    remove_rows(w, i);
  } else if (what < 14) {
    call_on_job(w, i);
  } else if (what == 14) {
    change_schema(w, i);
  } else if (what == 15) {
    roll_back(w, i);
    close_connection(w, i);
    open_connection(w, i);
  } else if (what < 25 || w->text_count == 0) {
    claim(w, i);
  } else {
    static const ending likely[] = {DONE, DONE, DONE, DONE, NEXT, NEXT, RELEASE, FAIL, HEARTBEAT};
    ending how = likely[below(w, sizeof likely / sizeof likely[0])];
    if (how == DONE || how == NEXT) {
      end_with_output(w, i, any_text(w), how);
    } else {
      end_alone(w, i, any_text(w), how);
    }
  }
  if (is_in_transaction(w, i) && below(w, 6) == 0) commit(w, i);
}

static void work_to_the_end(world *w, int job) {
  const char *name = w->jobs[job]->name;
  for (;;) {
    answer a = ask(w, 0, "SELECT job_claim('%s', 'last', 50)", name);
    if (a.rc != SQLITE_OK) fail_msg("%s", a.value);
    if (a.is_null) return;
    text t = {.job = job, .by = 0, .opened = w->opened[0]};
    snprintf(t.bundle, sizeof t.bundle, "%s", a.value);
    a = write_rows(w, 0, &t);
    if (a.rc == SQLITE_OK) a = ask(w, 0, "SELECT job_done('%s', '%s')", name, t.bundle);
    if (a.rc != SQLITE_OK) fail_msg("%s", a.value);
  }
}

/*
** All leases are over. What has failed is tried again, rows behind the position are found, and then
** all is done.
*/
static void end_job(world *w, int job) {
  const char *name = w->jobs[job]->name;
  assert_int_equal(ask(w, 0, "UPDATE %s_bundles SET until = 0 WHERE state = 'claimed'", name).rc,
                   SQLITE_OK);
  do {
    work_to_the_end(w, job);
  } while (number(w, 0, "SELECT job_retry('%s')", name, "") > 0);
  assert_true(number(w, 0, "SELECT job_rescan('%s')", name, "") >= 0);
  work_to_the_end(w, job);
  assert_int_equal(number(w, 0, "SELECT job_rescan('%s')", name, ""), 0);
  assert_int_equal(number(w, 0,
                          "SELECT count(*) FROM %s WHERE id NOT IN (SELECT id FROM main.out "
                          "WHERE job = '%s')",
                          name, name),
                   0);
  assert_int_equal(
      number(w, 0,
             "SELECT claimed + failed + (done <> (SELECT count(*) FROM %s_bundles WHERE "
             "state = 'done')) FROM job_progress('%s')",
             name, name),
      0);
}

static void one_life(world *w) {
  static const char *const modes[] = {"WAL", "DELETE", "MEMORY"};
  database_path("job_model", w->path);
  database_path("job_model_other", w->other);
  memset(w->opened, 0, sizeof w->opened);
  w->text_count = 0;
  for (int i = 0; i < CONNECTIONS; i++) open_connection(w, i);
  assert_int_equal(ask(w, 0, "PRAGMA journal_mode = %s", modes[below(w, 3)]).rc, SQLITE_OK);
  database_must(w->db[0],
                "CREATE TABLE main.t(id INTEGER PRIMARY KEY, a, b TEXT, u TEXT NOT NULL UNIQUE, "
                "x BLOB NOT NULL UNIQUE, UNIQUE(a, b));"
                "CREATE TABLE main.w(p TEXT, q INTEGER, id, PRIMARY KEY(p, q)) WITHOUT ROWID;"
                "CREATE TABLE main.used(id INTEGER PRIMARY KEY);"
                "CREATE TABLE main.out(job, id, may_be_again);"
                "CREATE UNIQUE INDEX main.once ON out(job, id) WHERE may_be_again;"
                "CREATE TABLE other.spare(x)");
  for (int n = below(w, 120); n > 0; n--) add_row(w, 0, below(w, IDS));
  int first = below(w, KINDS);
  for (int job = 0; job < JOBS; job++) {
    const kind *k = w->jobs[job] = &kinds[(first + job) % KINDS];
    assert_int_equal(
        ask(w, 0, "CREATE VIRTUAL TABLE %s USING scan_job(%s)", k->name, k->arguments).rc,
        SQLITE_OK);
  }
  for (int step = 0; step < STEPS; step++) {
    take_step(w);
    if (step % 4 == 0) {
      for (int i = 0; i < CONNECTIONS; i++) {
        if (is_in_transaction(w, i)) check_ranges(w, i);
      }
    }
  }
  for (int i = 0; i < CONNECTIONS; i++) roll_back(w, i);
  for (int i = 1; i < CONNECTIONS; i++) close_connection(w, i);
  for (int job = 0; job < JOBS; job++) end_job(w, job);
  check_ranges(w, 0);
  assert_string_equal(ask(w, 0, "PRAGMA integrity_check").value, "ok");
  close_connection(w, 0);
  for (int i = 0; i < w->text_count; i++) sqlite3_free(w->texts[i].rows);
  database_remove(w->path);
  database_remove(w->other);
}

static void a_claim_is_ended_by_its_own_text_alone(void **state) {
  (void)state;
  static world w;
  w.random = test_random_begin("scan_job_model");
  for (long life = test_effort(50); life > 0; life--) one_life(&w);
  /* All of it came to pass. */
  int kept_off = 0;
  for (int i = 0; i < ENDINGS && test_effort(100) >= 100; i++) {
    assert_int_not_equal(w.calls[i][0], 0);
    assert_int_not_equal(w.calls[i][1], 0);
    kept_off += w.calls[i][2];
  }
  assert_true(kept_off > 0 || test_effort(100) < 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_claim_is_ended_by_its_own_text_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
** Open jobs: a list for each connection, and the statements of each job.
**
** SQLite disconnects a virtual table whenever it reads the schema again, and that may happen inside
** any statement that we step. So a job has a reference count: its table holds one reference, a call
** that uses it another.
*/
#include "job.h"

#include "bundles.h"

#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"

struct tr_jobs {
  tr_job *first;
  int64_t first_lease;
  int64_t leases; /* how many were taken, also by claims that were rolled back */
};

/* --- The list ----------------------------------------------------------------------------- */

/*
** The first lease of a connection. It is below 2^62, so the numbers never run out. SQLite's random
** numbers alone would not do: processes that are forked after the first of them get the same.
*/
static int64_t first_lease(const void *address) {
  struct {
    uint64_t random[2];
    int64_t ticks;
    int64_t wall;
    uint64_t process;
    uintptr_t address;
  } parts = {.process = (uint64_t)getpid(), .address = (uintptr_t)address};
  tr_moment now;
  tr_moment_now(&now);
  parts.ticks = now.ticks;
  parts.wall = now.wall;
  sqlite3_randomness(sizeof parts.random, parts.random);
  return 1 +
         (int64_t)(tr_hash128_of((tr_bytes){(const uint8_t *)&parts, sizeof parts}, 0).low >> 2);
}

tr_jobs *tr_jobs_of_host(tr_host *host) {
  static const char owner[] = "jobs";
  tr_jobs *jobs = tr_host_state(host, owner);
  if (jobs != NULL) return jobs;
  jobs = tr_malloc(sizeof *jobs);
  if (jobs == NULL) return NULL;
  *jobs = (tr_jobs){.first_lease = first_lease(jobs)};
  if (tr_host_set_state(host, owner, jobs, tr_free) != TR_OK) return NULL;
  return jobs;
}

int64_t tr_jobs_new_lease(tr_jobs *jobs) {
  return jobs->first_lease + jobs->leases++;
}

int tr_jobs_have_taken(const tr_jobs *jobs, int64_t lease) {
  return lease >= jobs->first_lease && lease - jobs->first_lease < jobs->leases;
}

void tr_job_forget_statements(tr_job *job) {
  for (int i = 0; i < TR_JOB_STATEMENTS; i++) {
    sqlite3_finalize(job->statements[i]);
    job->statements[i] = NULL;
  }
}

void tr_job_release(tr_job *job) {
  if (job == NULL || --job->references > 0) return;
  tr_job_forget_statements(job);
  tr_job_forget_source(job);
  tr_module_arguments_free(&job->arguments);
  sqlite3_free(job->schema);
  sqlite3_free(job->name);
  sqlite3_free(job->id);
  sqlite3_free(job->source_key);
  sqlite3_free(job->source_schema);
  sqlite3_free(job->declaration);
  tr_free(job);
}

tr_code tr_job_create(tr_host *host, const char *schema, const char *name,
                      tr_module_arguments *arguments, tr_job **job_out, tr_error *err) {
  tr_jobs *jobs = tr_jobs_of_host(host);
  tr_job *job = jobs == NULL ? NULL : tr_malloc(sizeof *job);
  *job_out = NULL;
  if (job == NULL) {
    tr_module_arguments_free(arguments);
    return tr_error_no_memory(err);
  }
  memset(job, 0, sizeof *job);
  job->references = 1;
  job->jobs = jobs;
  job->host = host;
  job->db = tr_host_db(host);
  job->arguments = *arguments;
  job->schema = sqlite3_mprintf("%s", schema);
  job->name = sqlite3_mprintf("%s", name);
  if (job->schema == NULL || job->name == NULL) {
    tr_job_release(job);
    return tr_error_no_memory(err);
  }
  *job_out = job;
  return TR_OK;
}

void tr_job_connect(tr_job *job, const tr_scan_table *table) {
  job->table = table;
  job->is_connected = 1;
  job->next = job->jobs->first;
  job->jobs->first = job;
}

static void take_off_list(tr_job *job) {
  tr_job **at = &job->jobs->first;
  job->is_connected = 0;
  while (*at != NULL && *at != job) at = &(*at)->next;
  if (*at == job) *at = job->next;
}

void tr_job_disconnect(tr_job *job) {
  take_off_list(job);
  job->table = NULL;
  tr_job_release(job);
}

tr_code tr_job_rename(tr_job *job, const char *name, tr_error *err) {
  char *copy = sqlite3_mprintf("%s", name);
  if (copy == NULL) return tr_error_no_memory(err);
  tr_job_forget_statements(job);
  sqlite3_free(job->name);
  job->name = copy;
  return TR_OK;
}

/* --- Finding ------------------------------------------------------------------------------ */

/*
** Finds the attached database that has a table of that name. `*schema` is a copy, or NULL if there
** is none.
*/
static tr_code find_attached(sqlite3 *db, const char *name, char **schema, tr_error *err) {
  sqlite3_stmt *stmt;
  tr_code code = TR_OK;
  int rc = sqlite3_prepare_v2(db, "SELECT name FROM pragma_database_list WHERE seq > 1", -1, &stmt,
                              NULL);
  while (rc == SQLITE_OK && *schema == NULL && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    rc = SQLITE_OK;
    if (sqlite3_column_type(stmt, 0) != SQLITE_TEXT) continue; /* hidden by an authorizer */
    const char *candidate = (const char *)sqlite3_column_text(stmt, 0);
    rc = candidate == NULL ? SQLITE_NOMEM : SQLITE_OK;
    if (candidate == NULL || !tr_has_table(db, candidate, name)) continue;
    *schema = sqlite3_mprintf("%s", candidate);
    if (*schema == NULL) rc = SQLITE_NOMEM;
  }
  if (rc != SQLITE_OK && rc != SQLITE_DONE) code = tr_error_of_sqlite(err, db, rc);
  sqlite3_finalize(stmt);
  return code;
}

/* Finds the schema of the table as SQLite does: temp, main, then the attached databases. */
static tr_code find_schema(sqlite3 *db, const char *given, const char *name, char **schema,
                           tr_error *err) {
  static const char *const first[] = {"temp", "main"};
  *schema = NULL;
  if (given != NULL && !tr_has_table(db, given, name)) return TR_OK;
  const char *found = given;
  for (int i = 0; i < 2 && found == NULL; i++) {
    if (tr_has_table(db, first[i], name)) found = first[i];
  }
  if (found == NULL) return find_attached(db, name, schema, err);
  *schema = sqlite3_mprintf("%s", found);
  return *schema == NULL ? tr_error_no_memory(err) : TR_OK;
}

static tr_job *find_connected(const tr_jobs *jobs, const char *schema, const char *name) {
  tr_job *job = jobs->first;
  while (job != NULL &&
         (sqlite3_stricmp(job->schema, schema) != 0 || sqlite3_stricmp(job->name, name) != 0)) {
    job = job->next;
  }
  return job;
}

/*
** Makes SQLite connect the table, by preparing a statement on it. That also reads the schema again
** if another connection has changed it and this connection does not know the table.
*/
static tr_code connect_table(sqlite3 *db, const char *schema, const char *name, tr_error *err) {
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendall(sql, "SELECT 1 FROM ");
  if (schema != NULL) {
    tr_sql_append_table(sql, schema, name);
  } else {
    tr_sql_append_identifier(sql, name);
  }
  sqlite3_str_appendall(sql, " LIMIT 0");
  sqlite3_stmt *stmt;
  tr_code code = tr_sql_prepare(db, sql, &stmt, err);
  sqlite3_finalize(stmt);
  return code;
}

tr_code tr_job_present(tr_job *job, tr_job **present, tr_error *err) {
  tr_code code = connect_table(job->db, job->schema, job->name, err);
  *present = code == TR_OK ? find_connected(job->jobs, job->schema, job->name) : NULL;
  return code;
}

tr_code tr_jobs_find(tr_jobs *jobs, sqlite3 *db, const char *function, sqlite3_value *value,
                     tr_job **job, tr_error *err) {
  tr_bytes text;
  char *given = NULL;
  char *name = NULL;
  char *schema = NULL;
  tr_error reason;
  *job = NULL;
  tr_code code = tr_argument_text(function, "job", value, &text, err);
  if (code != TR_OK) return code;
  tr_value argument = tr_value_of_sqlite(value);
  code = tr_table_name_parse(text, &given, &name, &reason);
  if (code == TR_OK) code = find_schema(db, given, name, &schema, &reason);
  if (code == TR_OK && schema == NULL) {
    connect_table(db, given, name, &reason);
    code = find_schema(db, given, name, &schema, &reason);
  }
  if (code == TR_OK && schema == NULL) {
    code = tr_error_set(&reason, TR_INVALID_ARGUMENT, "there is no such job");
  }
  if (code == TR_OK) *job = find_connected(jobs, schema, name);
  if (code == TR_OK && *job == NULL) {
    code = connect_table(db, schema, name, &reason);
    if (code == TR_OK) *job = find_connected(jobs, schema, name);
    if (code == TR_OK && *job == NULL) {
      code = tr_error_set(&reason, TR_INVALID_ARGUMENT, "this table is not a scan_job");
    }
  }
  if (*job != NULL) (*job)->references++;
  if (code == TR_INVALID_ARGUMENT) {
    tr_argument_refused(err, function, "job", &argument, &reason);
  } else if (code != TR_OK && err != NULL) {
    *err = reason;
  }
  tr_free(given);
  tr_free(name);
  sqlite3_free(schema);
  return code;
}

/* --- Statements --------------------------------------------------------------------------- */

#define MOST TR_TEXT_OF(TR_BUNDLE_MOST)

/*
** tr_job_append_sql explains the symbols in these texts.
**
** A lease of another boot or machine holds while the wall clock is less than the lease's length
** away from the claim. That includes times before the claim: the clocks of machines differ a
** little, and are adjusted a little when a machine starts. A damaged lease counts as run out, so
** that a claim reads it and reports the damage.
*/
#define EXPIRED                                              \
  "NOT ifnull(until <= " MOST " AND"                         \
  " CASE WHEN boot = ?1 THEN until > ?2"                     \
  " ELSE ?3 BETWEEN claimed_at - (until - since) / 1000 + 1" \
  " AND claimed_at + (until - since) / 1000 - 1 END, 0)"

/*
** Bundles that are not done. They have an index, which SQLite only uses if the query has exactly
** this term.
*/
#define LIVE "state <> 'done' AND "

static const char *const texts[TR_JOB_STATEMENTS] = {
    /* Only for finding out whether SQLite has prepared it again: see job_transaction.c. */
    [TR_JOB_NOTHING] = "SELECT 1 WHERE 0",
    [TR_JOB_BEGIN] = "BEGIN",
    [TR_JOB_COMMIT] = "COMMIT",
    [TR_JOB_ROLLBACK] = "ROLLBACK",
    [TR_JOB_SAVEPOINT] = "SAVEPOINT \"call of scan_job\"",
    [TR_JOB_RELEASE] = "RELEASE \"call of scan_job\"",
    [TR_JOB_ROLLBACK_TO] = "ROLLBACK TO \"call of scan_job\"",
    /* Changes nothing, but takes the write lock. */
    [TR_JOB_LOCK] = "UPDATE # SET id = id WHERE 0",
    /* Changes nothing either, but is a write without a statement journal: see take_back. */
    [TR_JOB_ABANDON] = "DELETE FROM # WHERE 0",
    [TR_JOB_READ] =
        "SELECT id, schema_version, source_key, declaration, keys_timed, seconds_timed FROM #",
    [TR_JOB_TIME] = "UPDATE # SET keys_timed = ?1, seconds_timed = ?2",
    [TR_BUNDLE_EXPIRED] =
        /*
        ** An aggregate, for which SQLite need not sort: `start_key` is of the row with the least
        ** `until`.
        */
    "SELECT start_key, min(until) FROM @ WHERE " LIVE
    "state = 'claimed' AND start_key IS NOT ?4 AND " EXPIRED,
    /* The last bundle, which is the range that was never counted, and the one before it. */
    [TR_BUNDLE_LAST] = "SELECT $ FROM @ ORDER BY start_key DESC LIMIT 2",
    [TR_BUNDLE_LARGEST] = "SELECT $ FROM @ WHERE " LIVE "state = 'pending' AND keys >= 0"
                          " ORDER BY keys DESC LIMIT 1",
    [TR_BUNDLE_OF_START] = "SELECT $ FROM @ WHERE start_key = ?1",
    [TR_BUNDLE_NEXT_DONE] = "SELECT $ FROM @ WHERE +state = 'done' AND start_key >= ?1"
                            " ORDER BY start_key LIMIT 1",
    [TR_BUNDLE_NEIGHBOURS] =
        "SELECT (SELECT end_key FROM @ WHERE start_key < ?1 ORDER BY start_key DESC LIMIT 1),"
        " (SELECT start_key FROM @ WHERE start_key > ?1 ORDER BY start_key LIMIT 1)",
    [TR_BUNDLE_RETRY_ALL] =
        "UPDATE @ SET state = 'pending', failures = 0, worker = NULL, lease = NULL,"
        " boot = NULL, since = NULL, until = NULL, lease_length = NULL,"
        " claimed_at = NULL, finished_at = NULL WHERE " LIVE "state = 'failed'",
    [TR_BUNDLE_ALL] = "SELECT $ FROM @ ORDER BY start_key",
    /* Damaged ones, which no other statement finds. */
    [TR_BUNDLE_STATELESS] =
        "SELECT $ FROM @ WHERE " LIVE "state NOT IN ('pending', 'claimed', 'failed') LIMIT 1",
    [TR_BUNDLE_WORKERS] = "SELECT count(DISTINCT worker) FROM @ WHERE " LIVE "state = 'claimed'"
                          " AND worker <> ?4 AND NOT " EXPIRED,
    [TR_JOB_COUNTS] =
        "SELECT state, count(*), total(keys), count(*) - count(keys) FROM @ WHERE state <> 'done'"
        " GROUP BY state UNION ALL"
        " SELECT 'done', count(*), total(keys), count(*) - count(keys) FROM @ WHERE state = 'done'",
    /* Nobody worked on bundles that were found empty. */
    [TR_JOB_RECENT] = "SELECT keys, claimed_at, finished_at FROM @ WHERE +state = 'done'"
                      " AND keys <> 0 AND claimed_at NOT NULL ORDER BY finished_at DESC LIMIT 200",
    /* Without an upper bound: comparing each rowid with it takes as long as skipping over it. */
    [TR_SOURCE_ROWIDS] = "SELECT % FROM & WHERE % >= ?1 ORDER BY % LIMIT 2 OFFSET ?2",
    [TR_SOURCE_VERSION] = "PRAGMA ~.schema_version",
};

static void append_shadow(const tr_job *job, const char *suffix, sqlite3_str *sql) {
  tr_sql_append_identifier(sql, job->schema);
  sqlite3_str_appendchar(sql, 1, '.');
  tr_sql_append_shadow(sql, job->name, suffix);
}

void tr_job_append_sql(const tr_job *job, const char *text, sqlite3_str *sql) {
  for (; *text != '\0'; text++) {
    switch (*text) {
    case '@': append_shadow(job, "bundles", sql); break;
    case '#': append_shadow(job, "job", sql); break;
    case '$': tr_bundle_append_columns(sql, 0); break;
    case '!': tr_bundle_append_columns(sql, 1); break;
    case '&': tr_sql_append_table(sql, job->source.schema, job->source.name); break;
    case '%': tr_source_append_column(&job->source, -1, sql); break;
    case '~': tr_sql_append_identifier(sql, job->source.schema); break;
    default: sqlite3_str_append(sql, text, 1);
    }
  }
}

/*
** Appends the statement that writes rows. A row replaces the one with the same start, or is added.
*/
static void append_write(const tr_job *job, int rows, sqlite3_str *sql) {
  tr_job_append_sql(job, "REPLACE INTO @($) VALUES ", sql);
  tr_bundle_append_parameters(sql, rows);
}

tr_code tr_job_statement(tr_job *job, tr_job_sql number, sqlite3_stmt **stmt, tr_error *err) {
  *stmt = NULL; /* callers reset it even after a failure */
  if (job->statements[number] == NULL) {
    sqlite3_str *sql = sqlite3_str_new(job->db);
    switch (number) {
    case TR_BUNDLE_WRITE_ONE: append_write(job, 1, sql); break;
    case TR_BUNDLE_WRITE_TWO: append_write(job, 2, sql); break;
    case TR_BUNDLE_WRITE_THREE: append_write(job, 3, sql); break;
    default: tr_job_append_sql(job, texts[number], sql);
    }
    tr_code code = tr_sql_prepare(job->db, sql, &job->statements[number], err);
    if (code != TR_OK) return code;
  }
  *stmt = job->statements[number];
  return TR_OK;
}

void tr_job_forget_statement(tr_job *job, tr_job_sql sql) {
  sqlite3_finalize(job->statements[sql]);
  job->statements[sql] = NULL;
}

/*
** A value that SQLite ignores reads as NULL. So the row may seem damaged or missing, or be an
** error.
*/
void tr_job_forget_spoilt(tr_job *job, const tr_error *err) {
  int is_refused = err->code == TR_HOST && (err->host_code & 0xff) == SQLITE_AUTH;
  if (!is_refused && err->code != TR_CORRUPT && err->code != TR_INVALID_STATE) return;
  tr_job_forget_statements(job);
  if (is_refused) tr_job_forget_source(job);
}

/* Resets a statement that returned no further row: `rc` says why. */
static tr_code end_statement(tr_job *job, sqlite3_stmt *stmt, int rc, tr_error *err) {
  tr_code code = rc == SQLITE_DONE ? TR_OK : tr_error_of_sqlite(err, job->db, rc);
  sqlite3_reset(stmt);
  sqlite3_clear_bindings(stmt);
  return code;
}

int tr_job_step(tr_job *job, sqlite3_stmt *stmt, tr_error *err) {
  int rc = sqlite3_step(stmt);
  if (rc == SQLITE_ROW) return 1;
  return end_statement(job, stmt, rc, err) == TR_OK ? 0 : -1;
}

tr_code tr_job_run(tr_job *job, sqlite3_stmt *stmt, tr_error *err) {
  int rc;
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) continue;
  return end_statement(job, stmt, rc, err);
}

tr_code tr_job_do(tr_job *job, tr_job_sql sql, tr_error *err) {
  sqlite3_stmt *stmt;
  tr_code code = tr_job_statement(job, sql, &stmt, err);
  return code == TR_OK ? tr_job_run(job, stmt, err) : code;
}

/* --- Looking at a job --------------------------------------------------------------------- */

/* Reads the job's row. The texts are borrowed until the statement is reset. */
static tr_code read_row(tr_job *job, const char *function, sqlite3_stmt **stmt, tr_error *err) {
  tr_error reason;
  tr_code code = tr_job_statement(job, TR_JOB_READ, stmt, err);
  if (code != TR_OK) return code;
  int has_row = tr_job_step(job, *stmt, &reason);
  if (has_row < 0) {
    if (err != NULL) *err = reason;
    return reason.code;
  }
  if (has_row == 0) {
    return tr_error_set(err, TR_CORRUPT, "%s: table %s_job is empty", function, job->name);
  }
  for (int i = 0; i < 4; i++) {
    if (sqlite3_column_type(*stmt, i) != SQLITE_NULL) continue;
    sqlite3_reset(*stmt);
    return tr_error_ignored(err, "a job's own row cannot be read");
  }
  int64_t version = sqlite3_column_int64(*stmt, 1);
  if (version >= 1 && version <= TR_JOB_SCHEMA_VERSION) return TR_OK;
  sqlite3_reset(*stmt);
  return tr_error_set(err, TR_INVALID_STATE,
                      "%s: job %s has tables of version %lld; this tranche knows version %d",
                      function, job->name, (long long)version, TR_JOB_SCHEMA_VERSION);
}

/* A copy of a column's text. NULL: out of memory. */
static char *copy_column(sqlite3_stmt *stmt, int column) {
  const char *text = (const char *)sqlite3_column_text(stmt, column);
  return text == NULL ? NULL : sqlite3_mprintf("%s", text);
}

/* The schema that the key's description begins with, or that of the job. NULL: out of memory. */
static char *copy_source_schema(const tr_job *job) {
  if (job->source_key == NULL || job->source_key[0] != '"')
    return sqlite3_mprintf("%s", job->schema);
  char *schema = sqlite3_mprintf("%s", job->source_key + 1);
  if (schema == NULL) return NULL;
  char *to = schema;
  for (const char *from = schema; *from != '\0' && (*from != '"' || *++from == '"'); from++) {
    *to++ = *from;
  }
  *to = '\0';
  return schema;
}

tr_code tr_job_load(tr_job *job, const char *function, tr_error *err) {
  sqlite3_stmt *stmt;
  tr_code code = read_row(job, function, &stmt, err);
  if (code != TR_OK) return code;
  sqlite3_free(job->id);
  sqlite3_free(job->source_key);
  sqlite3_free(job->source_schema);
  sqlite3_free(job->declaration);
  job->id = copy_column(stmt, 0);
  job->source_key = copy_column(stmt, 2);
  job->source_schema = copy_source_schema(job);
  job->declaration = copy_column(stmt, 3);
  sqlite3_reset(stmt);
  int is_whole = job->id != NULL && job->source_key != NULL && job->source_schema != NULL &&
                 job->declaration != NULL;
  return is_whole ? TR_OK : tr_error_no_memory(err);
}

void tr_job_leave_if_dropped(tr_job *job, const tr_error *reason) {
  if (reason->code != TR_HOST || !tr_error_is_lasting(reason)) return;
  sqlite3_str *sql = sqlite3_str_new(job->db);
  sqlite3_stmt *stmt;
  sqlite3_str_appendall(sql, "SELECT count(*) FROM ");
  tr_sql_append_table(sql, job->schema, "sqlite_master");
  sqlite3_str_appendall(sql, " WHERE type = 'table' AND name = ?1 COLLATE NOCASE"
                             " AND coalesce(rootpage, 0) = 0");
  if (tr_sql_prepare(job->db, sql, &stmt, NULL) != TR_OK) return;
  if (sqlite3_bind_text(stmt, 1, job->name, -1, SQLITE_STATIC) == SQLITE_OK &&
      sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int(stmt, 0) == 0) {
    take_off_list(job);
  }
  sqlite3_finalize(stmt);
}

tr_code tr_job_look(tr_job *job, const char *function, tr_job_transaction *transaction,
                    tr_error *err) {
  sqlite3_stmt *stmt;
  tr_code code = job->id == NULL ? tr_job_load(job, function, err) : TR_OK;
  if (code == TR_OK) code = read_row(job, function, &stmt, err);
  if (code != TR_OK) return code;
  const char *id = (const char *)sqlite3_column_text(stmt, 0);
  if (id == NULL) {
    code = tr_error_no_memory(err);
  } else if (strcmp(id, job->id) != 0) {
    /* That name now means another table, though a statement still holds this one. */
    take_off_list(job);
    code = tr_error_set(err, TR_INVALID_STATE, "%s: job %s was made anew meanwhile", function,
                        job->name);
  }
  transaction->keys_timed = sqlite3_column_double(stmt, 4);
  transaction->seconds_timed = sqlite3_column_double(stmt, 5);
  sqlite3_reset(stmt);
  return code;
}

tr_code tr_jobs_look(tr_jobs *jobs, sqlite3 *db, const char *function, sqlite3_value *name,
                     tr_job **job, tr_error *err) {
  tr_job_transaction ignored = {0};
  /* Twice, if the first look finds that another connection has created the job again. */
  for (int is_last = 0;; is_last = 1) {
    tr_code code = tr_jobs_find(jobs, db, function, name, job, err);
    if (code == TR_OK) code = tr_job_look(*job, function, &ignored, err);
    if (code == TR_OK || *job == NULL) return code;
    tr_job_forget_spoilt(*job, err);
    tr_job_leave_if_dropped(*job, err);
    int is_gone = !(*job)->is_connected;
    tr_job_release(*job);
    *job = NULL;
    int is_stopped = code == TR_INTERRUPTED || code == TR_NO_MEMORY;
    if (!is_gone || is_last || is_stopped) return code;
  }
}

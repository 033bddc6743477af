/*
** scan_job: durable, resumable, shared scans of a table.
**
**   CREATE VIRTUAL TABLE backfill USING scan_job(events, key(id), where(...), max_attempts(3));
**   SELECT job_claim('backfill', 'worker-7', 500, 60);
**   SELECT * FROM backfill WHERE restriction = :bundle;
**   BEGIN IMMEDIATE; INSERT INTO out ...; SELECT job_done('backfill', :bundle); COMMIT;
**
** This file has the virtual table. Its rows are those of a scan table (host/scan_table.h), the same
** as byte_key_scan's. Creating it makes the shadow tables NAME_bundles and NAME_job; the other
** parts, which job.h lists, work on these.
**
** A job whose source is gone, or whose tables are damaged, can still be connected, so that it can
** be dropped. Any other use of it is an error, which gives the reason.
*/
#include "bundles.h"

#include <string.h>

#include "base/memory.h"
#include "host/range_arguments.h"
#include "host/scan_table.h"
#include "host/schema_freshness.h"
#include "job_functions.h"
#include "job_integrity.h"
#include "job_progress.h"
#include "job_rowids.h"
#include "key_record.h"
#include "surfaces.h"

static const char module_name[] = "scan_job";

enum { DEFAULT_ATTEMPTS = 3, MOST_ATTEMPTS = 1000, MOST_SECONDS = 1000000 };

static const tr_clause clauses[] = {
    [TR_JOB_KEY] = {.name = "key", .form = TR_CLAUSE_LIST},
    [TR_JOB_COLUMNS] = {.name = "columns", .form = TR_CLAUSE_LIST},
    [TR_JOB_WHERE] = {.name = "where", .form = TR_CLAUSE_EXPRESSION},
    [TR_JOB_MAX_ATTEMPTS] = {.name = "max_attempts",
                             .form = TR_CLAUSE_INTEGER,
                             .minimum = 1,
                             .maximum = MOST_ATTEMPTS},
    [TR_JOB_TARGET_SECONDS] = {.name = "target_seconds",
                               .form = TR_CLAUSE_INTEGER,
                               .minimum = 1,
                               .maximum = MOST_SECONDS},
};

static const tr_module_syntax syntax = {module_name, clauses, TR_JOB_CLAUSES, 0};

typedef struct job_table {
  tr_scan_table scan;
  tr_job *job;
} job_table;

/* --- The shadow tables -------------------------------------------------------------------- */

/* The first range is all keys. Its number of keys is NULL, since nobody has counted them. */
static const char *const creation[] = {
    "CREATE TABLE #("
    "id TEXT NOT NULL, schema_version INTEGER NOT NULL, source_key TEXT NOT NULL, "
    "declaration TEXT NOT NULL, keys_timed REAL NOT NULL, seconds_timed REAL NOT NULL)",
    "CREATE TABLE @(!) WITHOUT ROWID",
    "INSERT INTO # VALUES (lower(hex(randomblob(16))), ?1, ?2, ?3, 0, 0)",
    "INSERT INTO @(start_key, end_key, state, claims, failures) VALUES (x'', x'', 'pending', 0, 0)",
};

static const char *const destruction[] = {"DROP TABLE IF EXISTS @", "DROP TABLE IF EXISTS #"};

/* The values for the statements of `creation`, in the order of their parameters. */
typedef struct creation_values {
  tr_value values[3];
} creation_values;

/* Runs a statement. Takes ownership of `sql`. */
static tr_code run_sql(tr_job *job, sqlite3_str *sql, const creation_values *given, tr_error *err) {
  sqlite3_stmt *stmt;
  tr_code code = tr_sql_prepare(job->db, sql, &stmt, err);
  if (code != TR_OK) return code;
  int rc = SQLITE_OK;
  for (int i = 0; i < sqlite3_bind_parameter_count(stmt) && rc == SQLITE_OK; i++) {
    rc = tr_bind_value(stmt, i + 1, &given->values[i]);
  }
  if (rc == SQLITE_OK) code = tr_job_run(job, stmt, err);
  if (rc != SQLITE_OK) code = tr_error_of_sqlite(err, job->db, rc);
  sqlite3_finalize(stmt);
  return code;
}

static tr_code run(tr_job *job, const char *text, const creation_values *given, tr_error *err) {
  sqlite3_str *sql = sqlite3_str_new(job->db);
  tr_job_append_sql(job, text, sql);
  return run_sql(job, sql, given, err);
}

/* Whether the job's database has anything of that name: 1, 0, or -1. */
static int is_taken(tr_job *job, const char *name, tr_error *err) {
  sqlite3_stmt *stmt;
  sqlite3_str *sql = sqlite3_str_new(job->db);
  sqlite3_str_appendall(sql, "SELECT 1 FROM ");
  tr_sql_append_table(sql, job->schema, "sqlite_master");
  sqlite3_str_appendall(sql, " WHERE name = ?1 COLLATE NOCASE");
  if (tr_sql_prepare(job->db, sql, &stmt, err) != TR_OK) return -1;
  int rc = sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
  int has_row = rc == SQLITE_OK ? tr_job_step(job, stmt, err) : -1;
  if (rc != SQLITE_OK) tr_error_of_sqlite(err, job->db, rc);
  sqlite3_finalize(stmt);
  return has_row;
}

/*
** Creates the index of the bundles that are not done. An index keeps its name when its table is
** renamed. So NAME_live may belong to a job that was renamed; then the name is NAME_live_2, and so
** on.
*/
static tr_code create_live_index(tr_job *job, tr_error *err) {
  char *name = NULL;
  int taken = 1;
  for (int number = 1; taken == 1; number++) {
    sqlite3_free(name);
    name = number == 1 ? sqlite3_mprintf("%s_live", job->name)
                       : sqlite3_mprintf("%s_live_%d", job->name, number);
    if (name == NULL) return tr_error_no_memory(err);
    taken = is_taken(job, name, err);
  }
  tr_code code = taken < 0 ? err->code : TR_OK;
  if (code == TR_OK) {
    sqlite3_str *sql = sqlite3_str_new(job->db);
    sqlite3_str_appendall(sql, "CREATE INDEX ");
    tr_sql_append_table(sql, job->schema, name);
    sqlite3_str_appendall(sql, " ON ");
    tr_sql_append_shadow(sql, job->name, "bundles");
    sqlite3_str_appendall(sql, "(state, keys DESC) WHERE state <> 'done'");
    code = run_sql(job, sql, NULL, err);
  }
  sqlite3_free(name);
  return code;
}

static tr_code create_tables(tr_job *job, const tr_scan_table *table, tr_error *err) {
  tr_buffer key = {0};
  char *declaration = tr_scan_table_declaration(table);
  tr_code code = declaration == NULL ? tr_error_no_memory(err)
                                     : tr_job_describe_key(job, &table->source, &key, err);
  for (size_t i = 0; i < sizeof creation / sizeof creation[0] && code == TR_OK; i++) {
    creation_values given = {{tr_value_integer(TR_JOB_SCHEMA_VERSION),
                              tr_value_text(tr_buffer_bytes(&key)),
                              tr_value_text(tr_bytes_of_text(declaration))}};
    code = run(job, creation[i], &given, err);
  }
  if (code == TR_OK) code = create_live_index(job, err);
  sqlite3_free(declaration);
  tr_buffer_free(&key);
  return code;
}

/* --- Connecting --------------------------------------------------------------------------- */

static void free_table(job_table *table) {
  if (table->job != NULL) tr_job_disconnect(table->job);
  tr_scan_table_free(&table->scan);
  tr_free(table);
}

static tr_code make_job(job_table *table, const char *const *argv, int argc, tr_error *err) {
  tr_module_arguments arguments;
  tr_code code = tr_module_arguments_parse(&arguments, &syntax, argc - 3, argv + 3, err);
  if (code == TR_OK) {
    code = tr_job_create(table->scan.host, argv[1], argv[2], &arguments, &table->job, err);
  }
  if (code != TR_OK) return code;
  const tr_clause_value *given = table->job->arguments.clauses;
  table->job->max_attempts =
      given[TR_JOB_MAX_ATTEMPTS].is_given ? given[TR_JOB_MAX_ATTEMPTS].integer : DEFAULT_ATTEMPTS;
  table->job->target_seconds = given[TR_JOB_TARGET_SECONDS].integer;
  return TR_OK;
}

/* Loads a job that exists. A lasting error is kept as the reason why the job is broken. */
static tr_code load(job_table *table, tr_error *err) {
  tr_code code = tr_job_load(table->job, module_name, err);
  if (code == TR_OK) {
    code = tr_job_describe_scan(table->job, module_name, &table->scan, err);
    if (code != TR_OK) tr_job_explain(table->job, err);
  }
  if (code == TR_OK || !tr_error_is_lasting(err)) return code;
  table->job->is_broken = 1;
  table->job->reason = *err;
  return TR_OK;
}

static int declare(const job_table *table, char **message) {
  if (!table->job->is_broken) return tr_scan_table_declare(&table->scan, message);
  const char *as_it_was = table->job->declaration;
  return tr_declare_vtab(table->scan.db, as_it_was == NULL ? "CREATE TABLE x(broken)" : as_it_was,
                         message);
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **vtab,
                   char **message, int is_new) {
  tr_error err;
  int fresh = tr_schemas_read_afresh(db, argv[1], message);
  if (fresh != SQLITE_OK) return fresh;
  job_table *table = tr_malloc(sizeof *table);
  if (table == NULL) return SQLITE_NOMEM;
  memset(table, 0, sizeof *table);
  table->scan.function = module_name;
  table->scan.host = aux;
  table->scan.db = db;
  table->scan.is_stored = sqlite3_stricmp(argv[1], "temp") != 0;
  tr_code code = make_job(table, argv, argc, &err);
  if (code == TR_OK)
    code = is_new ? tr_job_describe_scan(table->job, module_name, &table->scan, &err)
                  : load(table, &err);
  if (code == TR_OK && is_new) code = create_tables(table->job, &table->scan, &err);
  if (code == TR_OK && is_new) code = tr_job_load(table->job, module_name, &err);
  int rc = code == TR_OK ? declare(table, message) : tr_create_error(message, &err);
  if (rc == SQLITE_OK && table->scan.where != NULL) {
    rc = sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
  }
  if (rc != SQLITE_OK) {
    free_table(table);
    return rc;
  }
  tr_job_connect(table->job, &table->scan);
  *vtab = &table->scan.base;
  return SQLITE_OK;
}

static int create_job(sqlite3 *db, void *aux, int argc, const char *const *argv,
                      sqlite3_vtab **vtab, char **message) {
  return connect(db, aux, argc, argv, vtab, message, 1);
}

static int connect_job(sqlite3 *db, void *aux, int argc, const char *const *argv,
                       sqlite3_vtab **vtab, char **message) {
  return connect(db, aux, argc, argv, vtab, message, 0);
}

static int disconnect(sqlite3_vtab *vtab) {
  free_table((job_table *)vtab);
  return SQLITE_OK;
}

static int destroy(sqlite3_vtab *vtab) {
  tr_error err;
  tr_job *job = ((job_table *)vtab)->job;
  tr_job_forget_statements(job);
  for (size_t i = 0; i < sizeof destruction / sizeof destruction[0]; i++) {
    /* SQLite neither asks for the text of this error nor frees it. */
    if (run(job, destruction[i], NULL, &err) != TR_OK) return tr_sqlite_code(&err);
  }
  return disconnect(vtab);
}

/* --- Planning ----------------------------------------------------------------------------- */

/*
** A broken job reports its error when it is read, not when the query is planned. Only a statement
** that runs finds out that the schema has changed again and the job is no longer broken.
*/
static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
  return ((job_table *)vtab)->job->is_broken ? SQLITE_OK : tr_scan_best_index(vtab, info);
}

/* --- Rows --------------------------------------------------------------------------------- */

/*
** The rows of a bundle are those that existed when it was claimed. Rows that were added to its
** range since are left to job_rescan, which finds them by the same record. So however long a worker
** takes between reading and job_done, nothing is done twice and nothing is lost. (A record that is
** a hash cannot tell them apart. Then all rows of the range are returned.)
*/
typedef struct job_cursor {
  tr_scan_cursor scan;
  tr_bundle bundle; /* the bundle that is read, if the restriction is that of one */
  tr_key_runs runs;
  int has_runs;
} job_cursor;

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **opened) {
  (void)vtab;
  job_cursor *cursor = tr_malloc(sizeof *cursor);
  if (cursor == NULL) return SQLITE_NOMEM;
  memset(cursor, 0, sizeof *cursor);
  tr_scan_cursor_init(&cursor->scan);
  *opened = &cursor->scan.base;
  return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base) {
  tr_bundle_free(&((job_cursor *)base)->bundle);
  tr_scan_cursor_free((tr_scan_cursor *)base);
  tr_free(base);
  return SQLITE_OK;
}

/*
** Moves to the next row that belongs to the bundle, which may be the current one. If the run of
** rowids that contains it reaches the end of the bundle, all further rows belong to the bundle as
** well.
*/
static int skip_others(job_cursor *cursor) {
  int rc = SQLITE_OK;
  while (rc == SQLITE_OK && cursor->has_runs && !cursor->scan.is_eof &&
         !tr_key_runs_contain(&cursor->runs, tr_tracked_scan_key(&cursor->scan.scan))) {
    rc = tr_scan_next(&cursor->scan.base);
  }
  if (cursor->runs.is_damaged) {
    tr_error err;
    tr_bundle_refuse_record(&cursor->bundle, &err);
    return tr_vtab_error(cursor->scan.base.pVtab, &err);
  }
  if (cursor->has_runs && tr_key_runs_reach(&cursor->runs, tr_buffer_bytes(&cursor->bundle.end))) {
    cursor->has_runs = 0;
  }
  return rc;
}

/* Finds the bundle that the restriction is, if it is one, and begins to read its record. */
static tr_code find_bundle(job_cursor *cursor, tr_job *job, tr_error *err) {
  tr_restriction restriction;
  tr_error reason = {0};
  tr_code code = tr_argument_restriction(module_name, "restriction", cursor->scan.restriction,
                                         &restriction, err);
  if (code != TR_OK) return code;
  int is_found = tr_bundle_find(job, &restriction.bytes, &cursor->bundle, &reason);
  tr_restriction_free(&restriction);
  if (is_found < 0) {
    *err = reason;
    return reason.code;
  }
  cursor->has_runs =
      is_found == 1 && tr_key_runs_begin(&cursor->runs, tr_buffer_bytes(&cursor->bundle.record));
  return TR_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan_text, int argc,
                  sqlite3_value **argv) {
  tr_error err;
  job_cursor *cursor = (job_cursor *)base;
  tr_job *job = ((job_table *)base->pVtab)->job;
  cursor->has_runs = 0;
  cursor->runs = (tr_key_runs){0};
  tr_scan_cursor_stop(&cursor->scan);
  /* If the job's own tables cannot be read, nothing else can be checked. */
  int is_readable = !job->is_broken || job->source_key != NULL;
  if (is_readable && tr_job_need_keys(job, module_name, &err) != TR_OK) {
    return tr_vtab_error(base->pVtab, &err);
  }
  if (job->is_broken) return tr_vtab_error(base->pVtab, &job->reason);
  int rc = tr_scan_filter(base, number, plan_text, argc, argv);
  if (rc != SQLITE_OK || cursor->scan.restriction == NULL || cursor->scan.is_eof) return rc;
  if (find_bundle(cursor, job, &err) == TR_OK) return skip_others(cursor);
  tr_scan_cursor_stop(&cursor->scan);
  tr_job_forget_spoilt(job, &err);
  return tr_vtab_error(base->pVtab, &err);
}

static int next_row(sqlite3_vtab_cursor *base) {
  int rc = tr_scan_next(base);
  return rc == SQLITE_OK ? skip_others((job_cursor *)base) : rc;
}

/* --- Renaming and checking ---------------------------------------------------------------- */

static tr_code rename_shadow(tr_job *job, const char *from, const char *suffix, const char *name,
                             tr_error *err) {
  sqlite3_str *sql = sqlite3_str_new(job->db);
  tr_job_append_sql(job, "ALTER TABLE ", sql);
  tr_job_append_sql(job, from, sql);
  sqlite3_str_appendall(sql, " RENAME TO ");
  tr_sql_append_shadow(sql, name, suffix);
  return run_sql(job, sql, NULL, err);
}

static int rename_job(sqlite3_vtab *vtab, const char *name) {
  tr_error err;
  tr_job *job = ((job_table *)vtab)->job;
  tr_job_forget_statements(job);
  tr_code code = rename_shadow(job, "@", "bundles", name, &err);
  if (code == TR_OK) code = rename_shadow(job, "#", "job", name, &err);
  if (code == TR_OK) code = tr_job_rename(job, name, &err);
  return code == TR_OK ? SQLITE_OK : tr_vtab_error(vtab, &err);
}

static int is_shadow_name(const char *suffix) {
  return sqlite3_stricmp(suffix, "bundles") == 0 || sqlite3_stricmp(suffix, "job") == 0;
}

static int check_integrity(sqlite3_vtab *vtab, const char *schema, const char *name, int flags,
                           char **message) {
  (void)flags;
  tr_error err;
  tr_code code = tr_job_check_integrity(((job_table *)vtab)->job, &err);
  if (code == TR_OK) return SQLITE_OK;
  tr_job_forget_spoilt(((job_table *)vtab)->job, &err);
  if (!tr_error_is_lasting(&err)) return tr_sqlite_code(&err);
  *message = sqlite3_mprintf("scan_job %s.%s: %s", schema, name, err.message);
  return *message == NULL ? SQLITE_NOMEM : SQLITE_OK;
}

/* --- Registering -------------------------------------------------------------------------- */

/* A module as SQLite has it since 3.44, whatever header we are built with. */
typedef struct module_v4 {
  sqlite3_module v3;
#if SQLITE_VERSION_NUMBER < 3044000
  int (*xIntegrity)(sqlite3_vtab *, const char *, const char *, int, char **);
#endif
} module_v4;

int tr_register_scan_job(tr_host *host) {
  static const module_v4 module = {
    .v3 = {.iVersion = 4,
           .xCreate = create_job,
           .xConnect = connect_job,
           .xBestIndex = best_index,
           .xDisconnect = disconnect,
           .xDestroy = destroy,
           .xOpen = open_cursor,
           .xClose = close_cursor,
           .xFilter = filter,
           .xNext = next_row,
           .xEof = tr_scan_eof,
           .xColumn = tr_scan_column_value,
           .xRowid = tr_scan_rowid,
           .xRename = rename_job,
           .xShadowName = is_shadow_name,
#if SQLITE_VERSION_NUMBER >= 3044000
           .xIntegrity = check_integrity
#endif
    },
#if SQLITE_VERSION_NUMBER < 3044000
    .xIntegrity = check_integrity,
#endif
  };
  int rc = tr_host_register_module(host, module_name, &module.v3);
  if (rc == SQLITE_OK) rc = tr_register_job_functions(host);
  if (rc == SQLITE_OK) rc = tr_host_register_table_function(host, &tr_job_progress);
  if (rc == SQLITE_OK) rc = tr_host_register_table_function(host, &tr_job_rowids);
  return rc;
}

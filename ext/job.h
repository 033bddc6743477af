/*
** An open job: what the parts of scan_job share. How a job is found by its name, its statements,
** its transactions.
**
**   scan_job.c         the module: the virtual table, creating and dropping a job
**   job.c              open jobs and their statements
**   job_transaction.c  the transaction of a call
**   job_source.c       the table that a job goes through
**   bundles.c          rows of the bundle table: reading, writing, finding
**   bundle_call.c      the bundle that a call names, and whether it is the caller's
**   job_claim.c        claiming and carving
**   job_walk.c         looking at the keys of a range
**   job_end.c          done, heartbeat, release, fail, retry
**   job_rescan.c       looking for rows behind the position
**   job_progress.c     the table-valued job_progress
**   job_rowids.c       the table-valued job_rowids
**   job_functions.c    the SQL functions, which read arguments and call these
**   job_integrity.c    whether the bundles are what they must be
**   key_record.c       what keys a bundle had
**
** Everything that decides anything is in the shadow tables NAME_bundles and NAME_job, so ROLLBACK
** undoes it like any other change. In memory are only prepared statements, what was read of the
** source, and which leases the connection has taken (tr_jobs_new_lease). These are only ever
** compared with the table.
**
** Thread-safety: belongs to the thread that uses the connection.
*/
#ifndef TR_EXT_JOB_H
#define TR_EXT_JOB_H

#include "host/lease_clock.h"
#include "host/scan_table.h"
#include "host/source_table.h"
#include "host/sqlite_host.h"
#include "host/statement_reader.h"

/*
** The version of the shadow tables, which is stored in NAME_job. Version 1 numbered its bundles and
** had an index of their starts and one of all states, so each write changed three times as many
** pages. All statements work on its tables, too.
*/
#define TR_JOB_SCHEMA_VERSION 2

/* The statements of a job; their texts are in job.c. */
typedef enum tr_job_sql {
  TR_JOB_NOTHING,
  TR_JOB_BEGIN,
  TR_JOB_COMMIT,
  TR_JOB_ROLLBACK,
  TR_JOB_SAVEPOINT,
  TR_JOB_RELEASE,
  TR_JOB_ROLLBACK_TO,
  TR_JOB_LOCK,
  TR_JOB_ABANDON,
  TR_JOB_READ,
  TR_JOB_TIME,
  TR_BUNDLE_EXPIRED,
  TR_BUNDLE_LAST,
  TR_BUNDLE_LARGEST,
  TR_BUNDLE_OF_START,
  TR_BUNDLE_NEXT_DONE,
  TR_BUNDLE_NEIGHBOURS,
  TR_BUNDLE_WRITE_ONE,
  TR_BUNDLE_WRITE_TWO,
  TR_BUNDLE_WRITE_THREE,
  TR_BUNDLE_RETRY_ALL,
  TR_BUNDLE_ALL,
  TR_BUNDLE_STATELESS,
  TR_BUNDLE_WORKERS,
  TR_JOB_COUNTS,
  TR_JOB_RECENT,
  TR_SOURCE_ROWIDS,
  TR_SOURCE_VERSION,
  TR_JOB_STATEMENTS
} tr_job_sql;

typedef struct tr_jobs tr_jobs;

typedef struct tr_job {
  int references;
  int is_connected;           /* its virtual table exists and belongs to this job */
  const tr_scan_table *table; /* that virtual table, until SQLite disconnects it */
  int is_broken;              /* that table was connected when its rows could not be read */
  tr_error reason;            /* why it is broken */
  struct tr_job *next;        /* in its connection's list, while connected */
  tr_jobs *jobs;
  tr_host *host;
  sqlite3 *db;
  char *schema;
  char *name;
  char *id;         /* random, created with the job: tells it from a later one of the same name */
  char *source_key; /* the key when the job was created (tr_job_describe_key) */
  char *source_schema; /* the schema in which its source was found then, if source_key says it */
  char *declaration;   /* of the virtual table then; used while the source is gone */

  tr_module_arguments arguments; /* the arguments of CREATE VIRTUAL TABLE; the clauses are below */
  int64_t max_attempts;
  int64_t target_seconds; /* 0: the claim says how large bundles are */

  /* Read when keys are first needed. */
  int has_source;
  tr_source_table source;
  tr_statement_reader *keys; /* reads only the keys of the source */
  int gaps;       /* for how many claims not to try the short way over rowids (job_walk.c) */
  int is_in_call; /* between tr_job_begin and tr_job_end, so no other connection writes */
  int has_current_source; /* the source was checked in this call */
  sqlite3_stmt *statements[TR_JOB_STATEMENTS];
} tr_job;

/* --- Finding jobs ------------------------------------------------------------------------- */

/*
** The jobs of a connection. They are created at the first call and released with the host. NULL:
** out of memory.
*/
tr_jobs *tr_jobs_of_host(tr_host *host);

/*
** Creates a job with one reference, which belongs to its virtual table. Nobody finds the job before
** it is connected. Takes ownership of `arguments`, even on failure. TR_NO_MEMORY.
*/
tr_code tr_job_create(tr_host *host, const char *schema, const char *name,
                      tr_module_arguments *arguments, tr_job **job, tr_error *err);

/* Adds the job to its connection's list, or removes it. A job lives on while a call uses it. */
void tr_job_connect(tr_job *job, const tr_scan_table *table);
void tr_job_disconnect(tr_job *job);

/* Reads `id`, `source_key` and `declaration` from the job's table. Errors as for tr_job_begin. */
tr_code tr_job_load(tr_job *job, const char *function, tr_error *err);

/* Finalizes the statements. To be called before their tables are dropped. */
void tr_job_forget_statements(tr_job *job);

/*
** Changes the name. The statements are prepared again when they are needed. TR_NO_MEMORY: nothing
** has changed.
*/
tr_code tr_job_rename(tr_job *job, const char *name, tr_error *err);

/*
** Finds the job of that name (`backfill`, `aux.backfill`), and connects its table if nobody has
** used it yet. The caller releases the reference. TR_INVALID_ARGUMENT: no such table, or not a job.
*/
tr_code tr_jobs_find(tr_jobs *jobs, sqlite3 *db, const char *function, sqlite3_value *name,
                     tr_job **job, tr_error *err);
void tr_job_release(tr_job *job);

/*
** The same for callers that only read. The job's row has been read (tr_job_look). A job of that
** name that was created again is found.
*/
tr_code tr_jobs_look(tr_jobs *jobs, sqlite3 *db, const char *function, sqlite3_value *name,
                     tr_job **job, tr_error *err);

/*
** Finds the job whose virtual table statements use now. That may be another one than `job`: SQLite
** may have disconnected that one's table, which lives on while a statement on it is kept, and
** connect it again. `*present` has no reference; NULL: there is none.
*/
tr_code tr_job_present(tr_job *job, tr_job **present, tr_error *err);

/*
** A lease for a claim: a number, not 0, that no other claim ever has, on any connection. It is not
** used again even if the claim is rolled back. The leases of a connection follow each other from a
** random number on. So a connection knows its own claims, however many, by the lease in the table.
*/
int64_t tr_jobs_new_lease(tr_jobs *jobs);

/* Whether this connection has taken that lease: 1, 0. */
int tr_jobs_have_taken(const tr_jobs *jobs, int64_t lease);

/* --- Statements --------------------------------------------------------------------------- */

/*
** Appends SQL text, in which these symbols are replaced: @ by the table of bundles, # by that of
** the job, $ by the columns of a bundle, ! by the declarations of these columns; and once the
** source was read, & by the source, % by its rowid and ~ by its schema.
*/
void tr_job_append_sql(const tr_job *job, const char *text, sqlite3_str *sql);

/*
** A statement, prepared and reset, without values. Callers do not finalize it. TR_HOST: it does not
** compile, since the shadow tables are gone or damaged.
*/
tr_code tr_job_statement(tr_job *job, tr_job_sql sql, sqlite3_stmt **stmt, tr_error *err);

/*
** Finalizes the statement, so that it is prepared again when it is next needed. For a statement
** that returned nothing because of an authorizer: SQLite does not prepare it again by itself when
** the authorizer is removed. The statement must not be in use.
*/
void tr_job_forget_statement(tr_job *job, tr_job_sql sql);

/*
** To be called after a failed call. If `err` may be the work of an authorizer, forgets the prepared
** statements and what was read of the source. No statement of the job may be in use.
*/
void tr_job_forget_spoilt(tr_job *job, const tr_error *err);

/*
** Runs a statement to its end and resets it. Its rows, if it returns any (PRAGMA count_changes),
** are ignored.
*/
tr_code tr_job_run(tr_job *job, sqlite3_stmt *stmt, tr_error *err);

/* Steps once. 1: a row. 0: the end, and reset. -1: failed, and reset. */
int tr_job_step(tr_job *job, sqlite3_stmt *stmt, tr_error *err);

/* Runs a statement without values. */
tr_code tr_job_do(tr_job *job, tr_job_sql sql, tr_error *err);

/* --- Transactions ------------------------------------------------------------------------- */

typedef enum tr_job_scope {
  TR_SCOPE_OWN,    /* the call has a transaction of its own */
  TR_SCOPE_NESTED, /* a savepoint in the caller's transaction */
  /* within a statement that writes and is a transaction itself: neither is possible */
  TR_SCOPE_STATEMENT
} tr_job_scope;

typedef struct tr_job_transaction {
  tr_job_scope scope;
  tr_moment now;
  /* From NAME_job. */
  double keys_timed;
  double seconds_timed;
} tr_job_transaction;

/*
** Begins to change the job: in a transaction of its own if none is open, else as part of the
** caller's. Takes the write lock first. So it waits as busy_timeout says, or fails with SQLite's
** own extended code.
** TR_INVALID_STATE: the job's tables are of a newer version; or the job was created again
** meanwhile; or this is within a statement that writes inside a transaction, and would not undo our
** changes if it failed; or another statement is writing, which has not been read to its end.
** TR_HOST: SQLite's error, for example of a read-only database.
*/
tr_code tr_job_begin(tr_job *job, const char *function, tr_job_transaction *transaction,
                     tr_error *err);

/*
** To be called after an error of the job's tables. If another connection drops the virtual table, a
** statement of the caller that is kept, but not running, still holds it, and we are not told. So
** this looks whether there still is a virtual table of the job's name. If not, the job is no longer
** connected.
*/
void tr_job_leave_if_dropped(tr_job *job, const tr_error *reason);

/*
** Reads NAME_job into the last fields of `transaction`, for callers that only read.
** TR_INVALID_STATE as for tr_job_begin: if the job was created again, it is no longer connected and
** must be found again.
*/
tr_code tr_job_look(tr_job *job, const char *function, tr_job_transaction *transaction,
                    tr_error *err);

/*
** Ends the transaction: keeps the changes if `code` is TR_OK, else undoes them. Returns `code`, or
** the error of the commit, after which nothing has changed. With TR_SCOPE_STATEMENT an error leaves
** the changes to the caller's statement, which fails. If an interrupt prevents undoing them, the
** caller's whole transaction is rolled back, as SQLite does for any write that is interrupted. Then
** that is the error.
*/
tr_code tr_job_end(tr_job *job, const tr_job_transaction *transaction, tr_code code, tr_error *err);

/* --- The source --------------------------------------------------------------------------- */

/* Forgets what was read of the source. */
void tr_job_forget_source(tr_job *job);

/* The clauses of the module, in the order of its syntax table. */
enum {
  TR_JOB_KEY,
  TR_JOB_COLUMNS,
  TR_JOB_WHERE,
  TR_JOB_MAX_ATTEMPTS,
  TR_JOB_TARGET_SECONDS,
  TR_JOB_CLAUSES
};

/*
** Describes the virtual table as it is over the source now. In `table` the host, the connection and
** is_stored are set. Errors as for tr_scan_table_describe; also if the source does not exist.
*/
tr_code tr_job_describe_scan(const tr_job *job, const char *function, tr_scan_table *table,
                             tr_error *err);

/*
** Adds to a lasting error about a changed source which job it concerns and what can be done.
** Returns its code.
*/
tr_code tr_job_explain(const tr_job *job, tr_error *err);

/*
** Appends a description of the key: its form, and its columns with what decides how their values
** become bytes. As long as it is the same, restrictions mean the same. If the source was found in
** another schema than the job's, the schema comes first: `"main".rowid(id)`. (Former versions wrote
** `rowid()`, and `byte_key(a, b)` without types. Such a job continues over any key that this
** describes.)
*/
tr_code tr_job_describe_key(const tr_job *job, const tr_source_table *source, tr_buffer *text,
                            tr_error *err);

/*
** Makes `job->keys` ready. It is a lasting error (tr_error_is_lasting) if the source is gone, or
** has another key now, or if the job's table cannot be read, be it over the source as it is or as
** this connection has connected it. Nobody may claim what nobody can read.
*/
tr_code tr_job_need_keys(tr_job *job, const char *function, tr_error *err);

/* Sets `bound` to the lowest key above `key`, or to a bound with no key between. TR_NO_MEMORY. */
tr_code tr_job_key_behind(const tr_job *job, tr_bytes key, tr_buffer *bound, tr_error *err);

#endif

/*
** An open job: what the parts of scan_job share. How a job is found by its name, its statements, its
** transactions.
**
**   scan_job.c         the module: the virtual table, creating and dropping a job
**   job.c              open jobs and their statements
**   job_transaction.c  the transaction of a call
**   job_source.c       the table that a job goes through
**   bundles.c          rows of the bundle table: reading, writing, finding one by its restriction
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
** All that decides anything stands in the shadow tables NAME_bundles and NAME_job, so ROLLBACK takes
** it back like any other row. In memory are prepared statements, and which leases the connection has taken
** (tr_jobs_new_lease), which is only ever compared with the table.
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
** Of the shadow tables; stored in NAME_job. Version 1 numbered its bundles, and had an index of their starts and one
** of all states: three times as many pages to write for each. All statements are true of its tables too.
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
  int is_connected;           /* its virtual table is there, and is of this job */
  const tr_scan_table *table; /* that virtual table, until SQLite lets it go */
  int is_broken;              /* that table was connected while its rows could not be read */
  tr_error reason;            /* why, of a broken one */
  struct tr_job *next;        /* in its connection's list, while it is connected */
  tr_jobs *jobs;
  tr_host *host;
  sqlite3 *db;
  char *schema;
  char *name;
  char *id;            /* random, made with the job: tells it from a later one of the same name */
  char *source_key;    /* the key as it was when the job was made (tr_job_describe_key) */
  char *source_schema; /* where its source was found then, if that is said in source_key */
  char *declaration;   /* of the virtual table, then: what it is while the source is gone */

  tr_module_arguments arguments; /* what CREATE VIRTUAL TABLE was given; its clauses are below */
  int64_t max_attempts;
  int64_t target_seconds; /* 0: bundles are as large as the claim says */

  /* Read when keys are first needed. */
  int has_source;
  tr_source_table source;
  tr_statement_reader *keys; /* walks the keys of the source, and nothing else */
  int gaps;                  /* how many claims not to try the short way for unbroken rowids */
  int is_in_call;         /* between tr_job_begin and tr_job_end, and no other connection writes */
  int has_current_source; /* the source was looked at in this call */
  sqlite3_stmt *statements[TR_JOB_STATEMENTS];
} tr_job;

/* --- Finding jobs ------------------------------------------------------------------------- */

/* The jobs of a connection; made when first asked for, released with the host. NULL: out of memory. */
tr_jobs *tr_jobs_of_host(tr_host *host);

/*
** A new job with one reference, its virtual table's; nobody finds it until it is connected. `arguments`
** are taken over, also on failure. TR_NO_MEMORY.
*/
tr_code tr_job_create(tr_host *host, const char *schema, const char *name,
                      tr_module_arguments *arguments, tr_job **job, tr_error *err);

/* Puts the job into its connection's list, and takes it off; it lives on while a call is using it. */
void tr_job_connect(tr_job *job, const tr_scan_table *table);
void tr_job_disconnect(tr_job *job);

/* Reads `id`, `source_key` and `declaration` from the job's table. Errors as of tr_job_begin. */
tr_code tr_job_load(tr_job *job, const char *function, tr_error *err);

/* Finalizes the statements, before the tables that they are about are dropped. */
void tr_job_forget_statements(tr_job *job);

/* A new name: the statements are prepared again when they are needed. TR_NO_MEMORY changes nothing. */
tr_code tr_job_rename(tr_job *job, const char *name, tr_error *err);

/*
** A reference to the job of that name (`backfill`, `aux.backfill`), to be released; connects its
** table where nobody has used it yet. TR_INVALID_ARGUMENT: no such table, or not a job.
*/
tr_code tr_jobs_find(tr_jobs *jobs, sqlite3 *db, const char *function, sqlite3_value *name,
                     tr_job **job, tr_error *err);
void tr_job_release(tr_job *job);

/* The same for who only reads, and has looked at it (tr_job_look). A job of that name made anew is found. */
tr_code tr_jobs_look(tr_jobs *jobs, sqlite3 *db, const char *function, sqlite3_value *name,
                     tr_job **job, tr_error *err);

/*
** The job whose table is the one that statements read now: SQLite connects it where it has let go of this one's, which
** lives on while a statement is kept. Without a reference; NULL: there is none.
*/
tr_code tr_job_present(tr_job *job, tr_job **present, tr_error *err);

/*
** A lease for a claim: a number, not 0, that no other claim ever has, of this connection or any other. What is rolled back
** does not bring it back. Those of a connection follow each other from one chosen at random, so that a connection
** knows its own claims, however many, from what stands in the table.
*/
int64_t tr_jobs_new_lease(tr_jobs *jobs);

/* Whether this connection has taken it: 1, 0. */
int tr_jobs_have_taken(const tr_jobs *jobs, int64_t lease);

/* --- Statements --------------------------------------------------------------------------- */

/*
** Appends SQL in which @ stands for the table of bundles, # for that of the job, $ for the columns of a
** bundle and ! for what CREATE TABLE says of them; and where the source was read, & for it, % for its rowid and ~ for its schema.
*/
void tr_job_append_sql(const tr_job *job, const char *text, sqlite3_str *sql);

/*
** The statement, prepared and reset, without values. TR_HOST when it does not compile: the shadow tables
** are gone or damaged. Nobody finalizes it.
*/
tr_code tr_job_statement(tr_job *job, tr_job_sql sql, sqlite3_stmt **stmt, tr_error *err);

/*
** Has it prepared anew when it is next asked for. For one that an authorizer had come to nothing: SQLite does
** not do that by itself when the authorizer is taken away. It is not in use.
*/
void tr_job_forget_statement(tr_job *job, tr_job_sql sql);

/*
** After a call that failed: forgets what was prepared, and read of the source, where `err` may be what an authorizer
** made of it. No statement of the job's is in use.
*/
void tr_job_forget_spoilt(tr_job *job, const tr_error *err);

/* Runs a statement whose rows, if it gives any (PRAGMA count_changes), are of no use, to its end; resets it. */
tr_code tr_job_run(tr_job *job, sqlite3_stmt *stmt, tr_error *err);

/* One step: 1 a row, 0 the end (reset), -1 failed (reset). */
int tr_job_step(tr_job *job, sqlite3_stmt *stmt, tr_error *err);

/* Runs a statement without values. */
tr_code tr_job_do(tr_job *job, tr_job_sql sql, tr_error *err);

/* --- Transactions ------------------------------------------------------------------------- */

typedef enum tr_job_scope {
  TR_SCOPE_OWN,    /* a transaction of its own */
  TR_SCOPE_NESTED, /* a savepoint in the caller's */
  TR_SCOPE_STATEMENT /* inside a statement that is writing and is a transaction: neither is possible */
} tr_job_scope;

typedef struct tr_job_transaction {
  tr_job_scope scope;
  tr_moment now;
  /* From NAME_job. */
  double keys_timed;
  double seconds_timed;
} tr_job_transaction;

/*
** Begins to change the job: a transaction of its own where none is open, else part of the caller's.
** Takes the write lock first and so waits as busy_timeout says, or fails with SQLite's own extended code.
** TR_INVALID_STATE: the job's tables are of a newer version, or the job was made anew meanwhile; or this is
** in a statement that writes inside a transaction, which would not take our changes back if it failed; or another
** statement, which has not been read to its end, is writing.
** TR_HOST: SQLite's error, e.g. of a read-only database.
*/
tr_code tr_job_begin(tr_job *job, const char *function, tr_job_transaction *transaction,
                     tr_error *err);

/*
** After an error of a job's tables. A statement of the caller's that is kept, but not run, holds the virtual table even
** when another connection has dropped it: then we are not told. So where the job's tables are not to be had, it is
** looked whether there is a virtual table of its name, and the job is no longer connected where there is none.
*/
void tr_job_leave_if_dropped(tr_job *job, const tr_error *reason);

/*
** Reads what NAME_job says into the last fields of `transaction`. TR_INVALID_STATE as of tr_job_begin; where
** the job was made anew it is no longer connected, and is to be found again. For who only reads.
*/
tr_code tr_job_look(tr_job *job, const char *function, tr_job_transaction *transaction,
                    tr_error *err);

/*
** Ends it: keeps the changes if `code` is TR_OK, else takes them back. Returns `code`, or the error of
** the commit, after which nothing was changed. With TR_SCOPE_STATEMENT an error leaves it to the
** caller's statement, which fails. Where an interrupt stands in the way of taking them back, the caller's
** whole transaction is rolled back, as SQLite does for any write that is interrupted; then that is the error.
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
** Describes the virtual table as it is over the source now: of `table` the host, the connection and whether it
** is stored are set. Fails as of tr_scan_table_describe, or where the source is not there.
*/
tr_code tr_job_describe_scan(const tr_job *job, const char *function, tr_scan_table *table,
                             tr_error *err);

/* Adds to an error that lasts, of a source that has changed, whose job it is and what can be done. Its code. */
tr_code tr_job_explain(const tr_job *job, tr_error *err);

/*
** Appends the key in words: its form, and its columns with what decides how their values become bytes. Restrictions
** mean the same while this is the same. Where the source was found in another schema than the job's, that comes
** first: `"main".rowid(id)`. (Earlier it was `rowid()`, and `byte_key(a, b)` without types. Such a job goes on over any
** key that this is true of.)
*/
tr_code tr_job_describe_key(const tr_job *job, const tr_source_table *source, tr_buffer *text,
                            tr_error *err);

/*
** Makes `job->keys` ready. An error that lasts (tr_error_is_lasting): the source is gone, or has changed so
** that its key is another, or that the job's table cannot be read, over it or as this connection has connected it.
** Nobody shall claim what nobody can read.
*/
tr_code tr_job_need_keys(tr_job *job, const char *function, tr_error *err);

/* Makes `bound` the lowest key above `key`, or a bound that no key lies between. TR_NO_MEMORY. */
tr_code tr_job_key_behind(const tr_job *job, tr_bytes key, tr_buffer *bound, tr_error *err);

#endif

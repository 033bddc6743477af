/*
** The transaction of a call on a job: one of its own, a part of the caller's, or the caller's
** statement.
**
** An error undoes what the call has done, and nothing else. An interrupt or a failed allocation may
** come at any point, even while undoing.
*/
#include "job.h"

/*
** Which statement of the connection is writing. While one is, no transaction or savepoint can
** begin.
*/
typedef enum writer { NOBODY, CALLER, ANOTHER } writer;

/*
** Finds a statement that is writing. If it has returned a row, it is not the one that calls us:
** such rows (RETURNING) are returned after everything is written, and are computed before the first
** of them.
*/
static writer find_writer(sqlite3 *db) {
  writer found = NOBODY;
  for (sqlite3_stmt *stmt = NULL; (stmt = tr_next_writing(db, stmt)) != NULL;) {
    if (sqlite3_data_count(stmt) > 0) return ANOTHER;
    found = CALLER;
  }
  return found;
}

/*
** Whether the error means that the savepoint does not exist. It can mean nothing else, since SQLite
** has accepted the text of the statement.
*/
static int is_missing(const tr_error *reason) {
  return reason->code == TR_HOST && (reason->host_code & 0xff) == SQLITE_ERROR;
}

/* The statements that keep or undo what was done. */
static const tr_job_sql ends[] = {TR_JOB_COMMIT, TR_JOB_ROLLBACK, TR_JOB_RELEASE,
                                  TR_JOB_ROLLBACK_TO, TR_JOB_ABANDON};

enum { ENDS = sizeof ends / sizeof ends[0] };

/*
** Forgets the statements of `ends` if SQLite would prepare them again when they are stepped,
** because a table, a function or an authorizer was added. SQLite does not tell that before. But it
** tells of a statement that was stepped that it has been prepared again, so another one is stepped
** first.
*/
static tr_code forget_stale_ends(tr_job *job, tr_error *err) {
  sqlite3_stmt *stmt;
  tr_code code = tr_job_statement(job, TR_JOB_NOTHING, &stmt, err);
  if (code == TR_OK) code = tr_job_run(job, stmt, err);
  if (code != TR_OK || sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_REPREPARE, 1) == 0) return code;
  for (int i = 0; i < ENDS; i++) tr_job_forget_statement(job, ends[i]);
  return TR_OK;
}

/*
** Prepares what ends a transaction, before one begins. Later there may be no memory for that, or an
** interrupt, which stops preparing, too.
*/
static tr_code prepare_ends(tr_job *job, tr_error *err) {
  tr_code code = forget_stale_ends(job, err);
  for (int i = 0; i < ENDS && code == TR_OK; i++) {
    sqlite3_stmt *stmt;
    code = tr_job_statement(job, ends[i], &stmt, err);
  }
  return code;
}

/* Tries to undo once. `obstacle` says what has prevented it. 1: nothing is left to be undone. */
static int try_to_take_back(tr_job *job, const tr_job_transaction *transaction,
                            tr_error *obstacle) {
  if (transaction->scope == TR_SCOPE_OWN) {
    tr_job_do(job, TR_JOB_ROLLBACK, obstacle);
  } else if (tr_job_do(job, TR_JOB_ROLLBACK_TO, obstacle) == TR_OK) {
    tr_job_do(job, TR_JOB_RELEASE,
              NULL); /* if it stays open it is empty, and ends with the caller's transaction */
    return 1;
  } else if (is_missing(obstacle)) {
    return 1;
  }
  return sqlite3_get_autocommit(job->db) != 0;
}

/*
** Undoes what was done, unless SQLite has already done so.
**
** An interrupt stays in force until the outermost statement ends, which called us, and stops even a
** ROLLBACK. So may a progress handler. But a write that is stopped makes SQLite roll everything
** back. So if the ROLLBACK was stopped, a write is tried: either it is stopped as well, or it shows
** that nothing stops us any more.
**
** Returns TR_OK, or what prevented undoing if the caller's transaction was rolled back with it. The
** caller must be told that error instead of its own, since it would continue without a transaction.
*/
static tr_code take_back(tr_job *job, const tr_job_transaction *transaction, tr_error *err) {
  enum { ATTEMPTS = 1000 };
  tr_error obstacle = {0};
  int was_open = sqlite3_get_autocommit(job->db) == 0;
  if (transaction->scope == TR_SCOPE_STATEMENT) return TR_OK;
  for (int i = 0; i < ATTEMPTS && sqlite3_get_autocommit(job->db) == 0; i++) {
    if (try_to_take_back(job, transaction, &obstacle)) break;
    tr_job_do(job, TR_JOB_ABANDON, NULL);
  }
  int is_lost =
      transaction->scope == TR_SCOPE_NESTED && was_open && sqlite3_get_autocommit(job->db) != 0;
  if (!is_lost) return TR_OK;
  if (err != NULL) *err = obstacle;
  return obstacle.code;
}

/* Fills the error: why no savepoint or transaction can begin. */
static tr_code refuse_writer(const char *function, writer who, tr_error *err) {
  if (who == ANOTHER) {
    return tr_error_set(err, TR_INVALID_STATE,
                        "%s: another statement of this connection is writing; end it first: read "
                        "all of its rows, or reset it",
                        function);
  }
  return tr_error_set(
      err, TR_INVALID_STATE,
      "%s: cannot be part of a statement that writes, inside a transaction: if that fails, "
      "this would stay; use a SELECT of its own",
      function);
}

/*
** Begins the transaction or savepoint. To find out who is writing means to look at every statement
** of the connection. In a transaction this is done only after the savepoint has failed, since
** SQLite opens none while a statement is writing.
*/
static tr_code begin_scope(tr_job *job, const tr_job_transaction *transaction, writer *who,
                           tr_error *err) {
  int is_nested = transaction->scope == TR_SCOPE_NESTED;
  tr_code code = prepare_ends(job, err);
  if (code != TR_OK) return code;
  code = tr_job_do(job, is_nested ? TR_JOB_SAVEPOINT : TR_JOB_BEGIN, err);
  if (code != TR_OK && is_nested) *who = find_writer(job->db);
  /* It may have begun before it was interrupted. */
  if (code == TR_OK || *who != NOBODY) return code;
  tr_code lost = take_back(job, transaction, err);
  return lost == TR_OK ? code : lost;
}

static tr_code open_scope(tr_job *job, const char *function, tr_job_transaction *transaction,
                          tr_error *err) {
  int is_nested = sqlite3_get_autocommit(job->db) == 0;
  writer who = is_nested ? NOBODY : find_writer(job->db);
  tr_code code = TR_OK;
  transaction->scope = is_nested       ? TR_SCOPE_NESTED
                       : who == CALLER ? TR_SCOPE_STATEMENT
                                       : TR_SCOPE_OWN;
  if (who == NOBODY) code = begin_scope(job, transaction, &who, err);
  int is_refused = who == ANOTHER || (who == CALLER && is_nested);
  return is_refused ? refuse_writer(function, who, err) : code;
}

/*
** Keeps what was done. A COMMIT that is stopped has either done nothing, and the transaction is
** still open, or it was stopped after everything was done. The same is true of a RELEASE.
*/
static tr_code keep(tr_job *job, const tr_job_transaction *transaction, tr_error *err) {
  tr_error reason;
  if (transaction->scope == TR_SCOPE_STATEMENT) return TR_OK;
  tr_code code =
      tr_job_do(job, transaction->scope == TR_SCOPE_OWN ? TR_JOB_COMMIT : TR_JOB_RELEASE, &reason);
  if (code == TR_INTERRUPTED && transaction->scope == TR_SCOPE_OWN) {
    if (sqlite3_get_autocommit(job->db) != 0) code = TR_OK;
  } else if (code == TR_INTERRUPTED) {
    tr_error again;
    tr_code second = tr_job_do(job, TR_JOB_RELEASE, &again);
    if (second == TR_OK || is_missing(&again)) code = TR_OK;
  }
  if (code != TR_OK && err != NULL) *err = reason;
  return code;
}

/*
** Takes the write lock, unless the caller's transaction has it already (SQLite before 3.34 does not
** tell).
*/
static tr_code lock(tr_job *job, tr_error *err) {
#if SQLITE_VERSION_NUMBER >= 3034000
  if (sqlite3_libversion_number() >= 3034000 &&
      sqlite3_txn_state(job->db, job->schema) == SQLITE_TXN_WRITE) {
    return TR_OK;
  }
#endif
  return tr_job_do(job, TR_JOB_LOCK, err);
}

tr_code tr_job_begin(tr_job *job, const char *function, tr_job_transaction *transaction,
                     tr_error *err) {
  *transaction = (tr_job_transaction){0};
  tr_code code = open_scope(job, function, transaction, err);
  if (code != TR_OK) return code;
  job->is_in_call = 1;
  job->has_current_source = 0;
  code = lock(job, err);
  if (code == TR_OK) code = tr_job_look(job, function, transaction, err);
  tr_moment_now(&transaction->now);
  if (code == TR_OK) return TR_OK;
  code = tr_job_end(job, transaction, code, err);
  tr_job_leave_if_dropped(job, err);
  return code;
}

tr_code tr_job_end(tr_job *job, const tr_job_transaction *transaction, tr_code code,
                   tr_error *err) {
  job->is_in_call = job->has_current_source = 0;
  if (code == TR_OK) code = keep(job, transaction, err);
  if (code == TR_OK) return TR_OK;
  tr_code lost = take_back(job, transaction, err);
  tr_job_forget_spoilt(job, err);
  return lost == TR_OK ? code : lost;
}

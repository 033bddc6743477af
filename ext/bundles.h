/*
** Bundles: the rows of NAME_bundles. Each is a range of keys and its state. At all times the
** bundles together contain every key exactly once.
**
** Ownership: a tr_bundle owns its buffers. All zero, it owns nothing.
*/
#ifndef TR_EXT_BUNDLES_H
#define TR_EXT_BUNDLES_H

#include "job.h"

typedef enum tr_bundle_state {
  TR_BUNDLE_PENDING,
  TR_BUNDLE_CLAIMED,
  TR_BUNDLE_DONE,
  TR_BUNDLE_FAILED,
  TR_BUNDLE_STATES
} tr_bundle_state;

/* "pending", ...: as in the table. */
extern const char *const tr_bundle_state_names[TR_BUNDLE_STATES];

typedef struct tr_bundle {
  tr_buffer start; /* unique: identifies the row */
  tr_buffer end;   /* empty: no upper bound */
  tr_bundle_state state;
  int64_t keys;     /* how many keys it had when they were counted; -1: never counted */
  int64_t claims;   /* how often it, or the bundle it was cut from, was claimed */
  int64_t failures; /* failed claims since the last job_retry */

  /* The last claim. */
  int has_worker;
  tr_buffer worker;
  int64_t lease; /* the claim's lease (tr_jobs_new_lease); 0: nobody holds the bundle */
  char boot[TR_BOOT_NAME_SIZE];
  int64_t since; /* ticks */
  int64_t until;
  int64_t lease_length; /* in microseconds, as the claim asked */
  int64_t claimed_at;   /* milliseconds since 1970; 0: never */
  int64_t finished_at;  /* 0: not yet */
  double seconds;       /* how long it took; below 0: unknown */

  int has_message;
  tr_buffer message; /* of the last failure */
  tr_buffer record;  /* key_record.h; empty: none */
} tr_bundle;

void tr_bundle_free(tr_bundle *bundle);

/*
** The greatest number in a row: a longer time, and more keys, than there will ever be. Also used in
** SQL text.
*/
#define TR_BUNDLE_MOST 9007199254740992

/* Appends the columns of a row in order: their names, or their declarations for CREATE TABLE. */
void tr_bundle_append_columns(sqlite3_str *sql, int are_declared);

/* Appends (?1, ?2, ...), (...): the parameters for that many rows. */
void tr_bundle_append_parameters(sqlite3_str *sql, int rows);

/*
** Reads a bundle from the current row of a TR_BUNDLE_... statement. TR_NO_MEMORY. TR_CORRUPT: no
** bundle can have these values. So callers can rely on the numbers of a bundle that was read.
*/
tr_code tr_bundle_read(sqlite3_stmt *stmt, tr_bundle *bundle, tr_error *err);

/* Copies the bytes of a value, a text or a blob; none for NULL. TR_NO_MEMORY. */
tr_code tr_bundle_read_bytes(sqlite3_value *value, tr_buffer *buffer, tr_error *err);

/* Writes a bundle. It replaces the one with the same start, or is a new one. */
tr_code tr_bundle_write(tr_job *job, const tr_bundle *bundle, tr_error *err);

/* Writes up to three bundles in one statement: all of them, or none. */
tr_code tr_bundles_write(tr_job *job, const tr_bundle *const *bundles, int count, tr_error *err);

/*
** Fills the error: the name of the bundle and what is wrong with it, `bundle x'8000' is damaged`.
** Returns TR_CORRUPT.
*/
tr_code tr_bundle_error(const tr_bundle *bundle, const char *what, tr_error *err);

/*
** Checks that the neighbours of a bundle end where it begins and begin where it ends. To be called
** before it is claimed or cut: else rows could be lost, or those of another bundle be done twice.
** TR_CORRUPT.
*/
tr_code tr_bundle_check_borders(tr_job *job, const tr_bundle *bundle, tr_error *err);

/*
** Steps a TR_BUNDLE_... statement that returns at most one row. 1: `*bundle` is read. 0: no row.
** -1: failed.
*/
int tr_bundle_step(tr_job *job, sqlite3_stmt *stmt, tr_bundle *bundle, tr_error *err);

/* Finds the bundle that begins there. 1: `*bundle` is read. 0: there is none. -1: failed. */
int tr_bundle_find_start(tr_job *job, tr_bytes start, tr_bundle *bundle, tr_error *err);

/* Finds the bundle of exactly that range: 1, 0, -1. */
int tr_bundle_find(tr_job *job, const tr_byte_key_range *range, tr_bundle *bundle, tr_error *err);

/*
** Finds the range that was never counted, which is the last one. There always is one. If it cannot
** be read, other bundles that were not found may exist as well, so that is an error. TR_HOST,
** TR_CORRUPT.
*/
tr_code tr_bundle_find_rest(tr_job *job, tr_bundle *rest, tr_error *err);

/*
** The same for a range to be claimed from: its borders are checked, as by tr_bundle_check_borders.
** 1: the bundle before it begins at `start`, and is read into `*before`. 0: that one begins
** elsewhere, or there is none, or `before` is NULL. -1: failed.
*/
int tr_bundle_find_last(tr_job *job, tr_bundle *rest, tr_bytes start, tr_bundle *before,
                        tr_error *err);

/*
** Fails if that range cannot be found, or if a bundle has a state that there is not (TR_CORRUPT).
** To be called before saying that no bundle has some state.
*/
tr_code tr_job_check_states(tr_job *job, tr_error *err);

/*
** The rowids that a bundle of rowids can contain: `*least` to `*greatest`. 0: there is none between
** its bounds.
*/
int tr_bundle_rowids(const tr_bundle *bundle, int64_t *least, int64_t *greatest);

/* Fills the error for a bundle whose record has a damaged run. Returns TR_CORRUPT. */
tr_code tr_bundle_refuse_record(const tr_bundle *bundle, tr_error *err);

/* Adds one to a counter, up to TR_BUNDLE_MOST. */
void tr_bundle_count(int64_t *counter);

/* Makes it a bundle that nobody holds. */
void tr_bundle_let_go(tr_bundle *bundle);

/* --- What can be done with them (each between tr_job_begin and tr_job_end) ----------------- */

typedef struct tr_claim {
  const char *function;
  tr_bytes worker;
  int64_t max_keys;
  double lease_seconds;
  /*
  ** Both NULL unless it is job_next that claims. `done` has ended (tr_bundle_end), and is written
  ** together with what is claimed, or alone if nothing is. `rest` is the last bundle, as it was
  ** read in this call; it is taken over.
  */
  const tr_bundle *done;
  tr_bundle *rest;
} tr_claim;

/* Claims a bundle. 1: it is in `*bundle`. 0: none is free. -1: failed. */
int tr_job_claim(tr_job *job, const tr_job_transaction *transaction, const tr_claim *claim,
                 tr_bundle *bundle, tr_error *err);

/*
** Makes the bundle done, in memory only: it is still to be written. How long it took is noted for
** the size of later bundles.
*/
tr_code tr_bundle_end(tr_job *job, const tr_job_transaction *transaction, tr_bundle *bundle,
                      tr_error *err);

/* The same, and writes the bundle. */
tr_code tr_bundle_done(tr_job *job, const tr_job_transaction *transaction, tr_bundle *bundle,
                       tr_error *err);
/* `seconds` below 0: as long as the claim asked for. */
tr_code tr_bundle_heartbeat(tr_job *job, const tr_job_transaction *transaction, tr_bundle *bundle,
                            double seconds, tr_error *err);
tr_code tr_bundle_give_back(tr_job *job, tr_bundle *bundle, tr_error *err);

/*
** Ends a failed attempt. The bundle becomes pending again. After max_attempts it is halved, and
** each half has one attempt before it is halved again. A bundle with a single key becomes failed,
** one that has no keys any more becomes done. `*is_halved` tells a pending bundle that was halved
** from one that was not; it may be NULL.
*/
tr_code tr_bundle_fail(tr_job *job, const tr_job_transaction *transaction, tr_bundle *bundle,
                       tr_bytes message, int *is_halved, tr_error *err);

/*
** Makes done bundles pending again if keys were added to them since. Looks at a limited number of
** keys from `start` on.
*/
tr_code tr_job_rescan(tr_job *job, const char *function, tr_buffer *start, int64_t *found,
                      int *is_complete, tr_error *err);

#endif

/*
** Bundles: rows of NAME_bundles. Each is a range of keys and what became of it; all together they are
** every key once, at all times.
**
** Ownership: a tr_bundle owns its buffers; all zero is one that owns nothing.
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

/* "pending", ... as in the table. */
extern const char *const tr_bundle_state_names[TR_BUNDLE_STATES];

typedef struct tr_bundle {
  tr_buffer start; /* no other begins there: by this its row is found, and replaced */
  tr_buffer end;   /* empty: no upper bound */
  tr_bundle_state state;
  int64_t keys;     /* how many keys it had when they were counted; -1: never counted */
  int64_t claims;   /* how often it, or what it was cut from, was claimed */
  int64_t failures; /* claims that came to nothing, since job_retry */

  /* Of the last claim. */
  int has_worker;
  tr_buffer worker;
  int64_t lease; /* of this claim and no other (tr_jobs_new_lease); 0: nobody holds it */
  char boot[TR_BOOT_NAME_SIZE];
  int64_t since; /* ticks */
  int64_t until;
  int64_t lease_length; /* microseconds that the claim asked for */
  int64_t claimed_at;   /* milliseconds since 1970; 0: never */
  int64_t finished_at;  /* 0: not yet */
  double seconds;       /* how long it took; below 0: not known */

  int has_message;
  tr_buffer message; /* of the last failure */
  tr_buffer record;  /* key_record.h; empty: none */
} tr_bundle;

void tr_bundle_free(tr_bundle *bundle);

/* No number in a row is greater: a longer time, and more keys, than there will ever be. Also for SQL's text. */
#define TR_BUNDLE_MOST 9007199254740992

/* Appends the columns of a row, in their order: names, or what CREATE TABLE takes. */
void tr_bundle_append_columns(sqlite3_str *sql, int are_declared);

/* Appends (?1, ?2, ...), (...): parameters for the columns of so many rows. */
void tr_bundle_append_parameters(sqlite3_str *sql, int rows);

/*
** Reads the bundle in which a TR_BUNDLE_... statement stands. TR_NO_MEMORY; TR_CORRUPT: the row says what no
** bundle can be. So whoever has read one may count on its numbers.
*/
tr_code tr_bundle_read(sqlite3_stmt *stmt, tr_bundle *bundle, tr_error *err);

/* Copies the bytes of one value of a row: text, a blob, or none of NULL. TR_NO_MEMORY. */
tr_code tr_bundle_read_bytes(sqlite3_value *value, tr_buffer *buffer, tr_error *err);

/* Writes a bundle, in place of the one that began where it does, or as a new one. */
tr_code tr_bundle_write(tr_job *job, const tr_bundle *bundle, tr_error *err);

/* Writes up to three bundles in one statement: all of them, or none. */
tr_code tr_bundles_write(tr_job *job, const tr_bundle *const *bundles, int count, tr_error *err);

/* What is wrong with a bundle, behind the name that errors give it: `bundle x'8000' is damaged`. TR_CORRUPT. */
tr_code tr_bundle_error(const tr_bundle *bundle, const char *what, tr_error *err);

/*
** Whether the bundles on both sides begin and end where this one ends and begins, as all do, since together
** they are all keys. To be asked before it is claimed or cut: its rows would else be lost, or another's be
** done again. TR_CORRUPT.
*/
tr_code tr_bundle_check_borders(tr_job *job, const tr_bundle *bundle, tr_error *err);

/* Steps a TR_BUNDLE_... statement that gives at most one row: 1 `*bundle` is read, 0 none, -1. */
int tr_bundle_step(tr_job *job, sqlite3_stmt *stmt, tr_bundle *bundle, tr_error *err);

/* Finds the bundle that begins there: 1 `*bundle` is read, 0 there is none, -1. */
int tr_bundle_find_start(tr_job *job, tr_bytes start, tr_bundle *bundle, tr_error *err);

/*
** Finds the range that was never counted, which is the last bundle. There always is one. So if it
** cannot be read, other bundles that were not found may be there too, and the call fails.
** TR_HOST, TR_CORRUPT.
*/
tr_code tr_bundle_find_rest(tr_job *job, tr_bundle *rest, tr_error *err);

/*
** The same for a range to be claimed from: its borders are checked, as by tr_bundle_check_borders.
** If the bundle before it begins at `start`, that one is read into `*before`, and `*is_before` is 1.
** `before` may be NULL.
*/
tr_code tr_bundle_find_last(tr_job *job, tr_bundle *rest, tr_bytes start, tr_bundle *before,
                            int *is_before, tr_error *err);

/* Fails where it cannot be found. To be asked before it is said that there are no bundles of some state. */
tr_code tr_job_check_states(tr_job *job, tr_error *err);

/* The bundle of just that range: 1, 0, -1. */
int tr_bundle_find(tr_job *job, const tr_byte_key_range *range, tr_bundle *bundle, tr_error *err);

/* The rowids that a bundle of rowids can have: `*least` to `*greatest`. 0: none lies between its bounds. */
int tr_bundle_rowids(const tr_bundle *bundle, int64_t *least, int64_t *greatest);

/* What to say of a bundle in whose record a run is_damaged was met. TR_CORRUPT. */
tr_code tr_bundle_refuse_record(const tr_bundle *bundle, tr_error *err);

/* Counts on, up to the greatest number that a row may hold. */
void tr_bundle_count(int64_t *counter);

/* Nobody holds it from here on. */
void tr_bundle_let_go(tr_bundle *bundle);

/*
** Appends the bundle's restriction, with the number of its claim: how often the bundle was claimed, 1, 2, ... A claim
** that is part of the caller's transaction may be rolled back when its text is known already, and the count goes back
** with it; so its number has the lease in it as well, and no other claim ever gets that.
*/
tr_code tr_bundle_restriction(const tr_bundle *bundle, const tr_job_transaction *transaction,
                              tr_buffer *text, tr_error *err);

/* --- What a call names -------------------------------------------------------------------- */

/* The argument `bundle` of a function, for the caller to free. TR_INVALID_ARGUMENT: it is no restriction. */
tr_code tr_bundle_argument(const char *function, sqlite3_value *value, tr_restriction *restriction,
                           tr_error *err);

typedef struct tr_bundle_call {
  const char *function;
  tr_restriction *bundle;
  const tr_bytes *worker; /* NULL: the one that claimed on this connection */
  tr_bundle *rest;        /* if not NULL, the last bundle is read into it (tr_bundle_find_last) */
} tr_bundle_call;

/*
** Finds the claimed bundle that the call means, if it is the caller's. TR_INVALID_STATE says why not: no
** such bundle, not claimed, claimed by another since; or the source's key is another (tr_job_need_keys).
*/
tr_code tr_bundle_find_own(tr_job *job, const tr_bundle_call *call, tr_bundle *bundle,
                           tr_error *err);

/* Finds the bundle that the call names, in whatever state it is. TR_INVALID_STATE: there is no such. */
tr_code tr_bundle_find_any(tr_job *job, const tr_bundle_call *call, tr_bundle *bundle,
                           tr_error *err);

/* Finds the failed bundle that the call names. TR_INVALID_STATE: there is no such, or it has not failed. */
tr_code tr_bundle_find_failed(tr_job *job, const tr_bundle_call *call, tr_bundle *bundle,
                              tr_error *err);

/* --- What can be done with them (each between tr_job_begin and tr_job_end) ----------------- */

typedef struct tr_claim {
  const char *function;
  tr_bytes worker;
  int64_t max_keys;
  double lease_seconds;
  /*
  ** Both NULL unless it is job_next that claims. `done` has ended (tr_bundle_end), and is written
  ** together with what is claimed, or alone if nothing is. `rest` is the last bundle, as it was read
  ** in this call; it is taken over.
  */
  const tr_bundle *done;
  tr_bundle *rest;
} tr_claim;

/* Claims a bundle: 1, `*bundle` is what was claimed; 0, none is free; -1. */
int tr_job_claim(tr_job *job, const tr_job_transaction *transaction, const tr_claim *claim,
                 tr_bundle *bundle, tr_error *err);

/*
** Makes the bundle done, in memory only: it is still to be written. How long it took is noted for the
** size of later bundles.
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
** An attempt came to nothing. The bundle becomes pending again; after max_attempts it is halved, and each
** half has one attempt before it is halved in turn; a single key has failed; one in which there is no key
** any more is done. `*is_halved` says of one that is pending again which of the two it is (NULL: not wanted).
*/
tr_code tr_bundle_fail(tr_job *job, const tr_job_transaction *transaction, tr_bundle *bundle,
                       tr_bytes message, int *is_halved, tr_error *err);

/* Makes what is done pending again where keys have come since, up to some keys from `start` on. */
tr_code tr_job_rescan(tr_job *job, const char *function, tr_buffer *start, int64_t *found,
                      int *is_complete, tr_error *err);

#endif

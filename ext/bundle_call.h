/*
** The text that stands for a claimed bundle, and the bundle that a call names with it.
**
** job_claim and job_next return a bundle as the text of its restriction, with the number of the
** claim. job_done, job_fail and the others are given that text. They find the bundle, and end its
** claim only if it is the caller's: a lease may have run out meanwhile and another worker be at
** work, or the claim may have been rolled back.
*/
#ifndef TR_EXT_BUNDLE_CALL_H
#define TR_EXT_BUNDLE_CALL_H

#include "bundles.h"

/*
** Appends the restriction of the bundle, with the number of its claim. The first claim has number
** 1.
**
** If the claim is part of the caller's transaction, it may be rolled back after its text is known,
** and the count with it. So its number then also contains the lease, which no other claim ever has.
*/
tr_code tr_bundle_restriction(const tr_bundle *bundle, const tr_job_transaction *transaction,
                              tr_buffer *text, tr_error *err);

/*
** Reads the argument `bundle` of a function. The caller frees the restriction. TR_INVALID_ARGUMENT:
** it is not a restriction.
*/
tr_code tr_bundle_argument(const char *function, sqlite3_value *value, tr_restriction *restriction,
                           tr_error *err);

typedef struct tr_bundle_call {
  const char *function;
  tr_restriction *bundle;
  const tr_bytes *worker; /* NULL: whoever claimed on this connection */
  tr_bundle *rest;        /* if not NULL, the last bundle is read into it (tr_bundle_find_last) */
} tr_bundle_call;

/*
** Finds the claimed bundle that the call names, if it is the caller's. TR_INVALID_STATE: there is
** no such bundle, it is not claimed, or another has claimed it since; or the source has another key
** (tr_job_need_keys).
*/
tr_code tr_bundle_find_own(tr_job *job, const tr_bundle_call *call, tr_bundle *bundle,
                           tr_error *err);

/* Finds the bundle that the call names, in any state. TR_INVALID_STATE: there is none. */
tr_code tr_bundle_find_any(tr_job *job, const tr_bundle_call *call, tr_bundle *bundle,
                           tr_error *err);

/*
** Finds the failed bundle that the call names. TR_INVALID_STATE: there is none, or it has not
** failed.
*/
tr_code tr_bundle_find_failed(tr_job *job, const tr_bundle_call *call, tr_bundle *bundle,
                              tr_error *err);

#endif

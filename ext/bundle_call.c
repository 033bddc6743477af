/*
** Texts of claimed bundles, and the check whose a bundle is.
**
** A bundle is found by its range. The check compares what the caller says of the claim with what
** the row says: the worker or, if the caller names none, the lease, which only the connection that
** has claimed knows; and the number of the claim. Each refusal names the likely cause.
*/
#include "bundle_call.h"

#include "base/argument.h"
#include "base/utf8.h"

/* --- The number of a claim ---------------------------------------------------------------- */

/*
** The number of a claim that may be rolled back: the count of claims, followed by this many bits of
** the lease. Every number is below 2^53, since some programs read the integers of JSON as doubles.
** A greater count stays at the greatest.
*/
enum { LEASE_BITS = 40, GREATEST_COUNT = (1 << 13) - 1 };

static int64_t number_with_lease(const tr_bundle *bundle) {
  int64_t count = bundle->claims < GREATEST_COUNT ? bundle->claims : GREATEST_COUNT;
  return count << LEASE_BITS | (bundle->lease & (((int64_t)1 << LEASE_BITS) - 1));
}

static int has_lease(int64_t number) {
  return number >> LEASE_BITS != 0;
}

/*
** Whether it is the number of the claim that holds the bundle. 0, no number, counts as that claim,
** too.
*/
static int is_present_claim(const tr_bundle *bundle, int64_t number) {
  return number == 0 || number == bundle->claims || number == number_with_lease(bundle);
}

/*
** Whether a claim with another number must have been rolled back: it cannot have been before the
** present one, since its count is not less. Many claims share the greatest count, so there it is
** not known.
*/
static int was_rolled_back(const tr_bundle *bundle, int64_t number) {
  if (!has_lease(number)) return number > bundle->claims;
  int64_t count = number >> LEASE_BITS;
  int64_t present = number_with_lease(bundle) >> LEASE_BITS;
  return count > present || (count == present && present < GREATEST_COUNT);
}

tr_code tr_bundle_restriction(const tr_bundle *bundle, const tr_job_transaction *transaction,
                              tr_buffer *text, tr_error *err) {
  int is_certain = transaction->scope == TR_SCOPE_OWN;
  tr_restriction restriction = {.kind = TR_BYTES,
                                .bytes = {bundle->start, bundle->end},
                                .claim = is_certain ? bundle->claims : number_with_lease(bundle)};
  return tr_restriction_text(&restriction, text, err);
}

/* --- What a call names -------------------------------------------------------------------- */

tr_code tr_bundle_argument(const char *function, sqlite3_value *value, tr_restriction *restriction,
                           tr_error *err) {
  tr_bytes text;
  tr_error reason;
  tr_code code = tr_argument_text(function, "bundle", value, &text, err);
  if (code != TR_OK || tr_restriction_parse(restriction, text, &reason) == TR_OK) return code;
  tr_value v = tr_value_of_sqlite(value);
  return tr_argument_refused(err, function, "bundle", &v, &reason);
}

/* --- Whose it is -------------------------------------------------------------------------- */

/* Fills the error: what is wrong with the bundle that the call names. */
static tr_code refuse(const tr_job *job, const tr_bundle_call *call, const char *reason,
                      tr_error *err) {
  tr_buffer text = {0};
  tr_code code = tr_restriction_text(call->bundle, &text, err);
  if (code == TR_OK) code = tr_buffer_append_byte(&text, 0, err);
  if (code == TR_OK) {
    code = tr_error_set(err, TR_INVALID_STATE, "%s: bundle %s of job %s %s", call->function,
                        (const char *)text.data, job->name, reason);
  }
  tr_buffer_free(&text);
  return code;
}

/* The same if somebody else holds the bundle. `why` says why it is not the caller's. */
static tr_code refuse_other(const tr_job *job, const tr_bundle_call *call, const tr_bundle *bundle,
                            const char *is, const char *why, tr_error *err) {
  enum { SHOWN_BYTES = 100 };
  char reason[340];
  sqlite3_snprintf(sizeof reason, reason, "%s by worker '%.*s'%s", is,
                   (int)tr_utf8_cut(tr_buffer_bytes(&bundle->worker), SHOWN_BYTES),
                   bundle->worker.size == 0 ? "" : (const char *)bundle->worker.data, why);
  return refuse(job, call, reason, err);
}

/*
** Checks that the caller may end the claim. A caller that names the worker may, if that worker
** holds the bundle. Without a worker, only the connection that has taken the lease may. If the text
** says of which claim it is, that must be the last one. A text that was put together by hand or is
** from a former version does not say it.
*/
static tr_code check_owner(const tr_job *job, const tr_bundle_call *call, const tr_bundle *bundle,
                           tr_error *err) {
  int64_t claim = call->bundle->claim;
  const char *ran_out = has_lease(claim)
                            ? ": the lease of this claim ran out, or it was rolled back"
                            : ": the lease of this claim ran out";
  int is_own = call->worker == NULL
                   ? tr_jobs_have_taken(job->jobs, bundle->lease)
                   : tr_bytes_compare(*call->worker, tr_buffer_bytes(&bundle->worker)) == 0;
  if (is_own && is_present_claim(bundle, claim)) return TR_OK;
  if (!is_present_claim(bundle, claim) && was_rolled_back(bundle, claim))
    return refuse_other(job, call, bundle, "is claimed",
                        ": the claim of this text was rolled back, or never was", err);
  if (is_own) return refuse_other(job, call, bundle, "was claimed again", ran_out, err);
  if (call->worker != NULL) return refuse_other(job, call, bundle, "is now claimed", ran_out, err);
  return refuse_other(job, call, bundle, "is claimed",
                      ", and not by this connection: its lease ran out, its claim was rolled back, "
                      "or it is for another connection and must name its worker",
                      err);
}

/*
** The same, but the last bundle is read as well. The bundle before that is often the one that is
** looked for: then one statement has found both.
*/
static int find_with_rest(tr_job *job, const tr_byte_key_range *range, tr_bundle *rest,
                          tr_bundle *bundle, tr_error *err) {
  int is_found = tr_bundle_find_last(job, rest, tr_buffer_bytes(&range->start), bundle, err);
  if (is_found < 0) return -1;
  if (!is_found) return tr_bundle_find(job, range, bundle, err);
  return tr_bytes_compare(tr_buffer_bytes(&bundle->end), tr_buffer_bytes(&range->end)) == 0;
}

tr_code tr_bundle_find_any(tr_job *job, const tr_bundle_call *call, tr_bundle *bundle,
                           tr_error *err) {
  tr_error reason;
  tr_code code = tr_job_need_keys(job, call->function, err);
  if (code != TR_OK) return code;
  if (call->bundle->kind != TR_BYTES) return refuse(job, call, "is one of integers", err);
  const tr_byte_key_range *range = &call->bundle->bytes;
  int is_found = call->rest == NULL ? tr_bundle_find(job, range, bundle, &reason)
                                    : find_with_rest(job, range, call->rest, bundle, &reason);
  if (is_found == 1) return TR_OK;
  if (is_found == 0) {
    return refuse(job, call,
                  "is not there: it was never one, its claim was rolled back, or it was cut since",
                  err);
  }
  if (err != NULL) *err = reason;
  return reason.code;
}

tr_code tr_bundle_find_failed(tr_job *job, const tr_bundle_call *call, tr_bundle *bundle,
                              tr_error *err) {
  tr_code code = tr_bundle_find_any(job, call, bundle, err);
  if (code != TR_OK || bundle->state == TR_BUNDLE_FAILED) return code;
  return refuse(job, call, "has not failed", err);
}

tr_code tr_bundle_find_own(tr_job *job, const tr_bundle_call *call, tr_bundle *bundle,
                           tr_error *err) {
  static const char *const reasons[TR_BUNDLE_STATES] = {
      [TR_BUNDLE_PENDING] =
          "is not claimed: it was given back, its lease ran out, or the claim was rolled back",
      [TR_BUNDLE_CLAIMED] = "",
      [TR_BUNDLE_DONE] = "is done already",
      [TR_BUNDLE_FAILED] = "has failed; job_retry() makes it pending again",
  };
  tr_code code = tr_bundle_find_any(job, call, bundle, err);
  if (code != TR_OK) return code;
  if (bundle->state != TR_BUNDLE_CLAIMED) return refuse(job, call, reasons[bundle->state], err);
  return check_owner(job, call, bundle, err);
}

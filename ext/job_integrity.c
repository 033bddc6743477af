/*
** What must hold for a job's tables: the bundles are every key once, in states that there are, and what is
** claimed has an owner.
*/
#include "job_integrity.h"

#include "bundles.h"

static tr_code is_wrong(const tr_bundle *bundle, const char *what, tr_error *err) {
  return tr_error_set(err, TR_CORRUPT, "bundle %lld %s", (long long)bundle->number, what);
}

/* `end` is where the bundle before ended. */
static tr_code check_bundle(const tr_bundle *bundle, int is_first, tr_bytes end, tr_error *err) {
  int is_open = bundle->end.size == 0;
  if (is_first && bundle->start.size > 0) {
    return is_wrong(bundle, "is the first, and does not begin at the lowest key", err);
  }
  if (!is_first && end.size == 0) return is_wrong(bundle, "lies behind one without an end", err);
  if (!is_first && tr_bytes_compare(end, tr_buffer_bytes(&bundle->start)) != 0) {
    return is_wrong(bundle, "does not begin where the one before it ends", err);
  }
  if (!is_open &&
      tr_bytes_compare(tr_buffer_bytes(&bundle->start), tr_buffer_bytes(&bundle->end)) >= 0) {
    return is_wrong(bundle, "holds no key", err);
  }
  if (bundle->state == TR_BUNDLE_CLAIMED && (bundle->lease == 0 || !bundle->has_worker)) {
    return is_wrong(bundle, "is claimed by nobody", err);
  }
  if (is_open && (bundle->state != TR_BUNDLE_PENDING || bundle->keys >= 0)) {
    return is_wrong(bundle, "has no end, and is not the rest of the table", err);
  }
  if (!is_open && bundle->keys < 0) return is_wrong(bundle, "was never counted", err);
  if (bundle->claims < 0 || bundle->failures < 0)
    return is_wrong(bundle, "has counts below 0", err);
  return TR_OK;
}

tr_code tr_job_check_integrity(tr_job *job, tr_error *err) {
  sqlite3_stmt *stmt;
  tr_bundle bundle = {0};
  tr_buffer end = {0};
  tr_error reason = {0};
  int count = 0;
  int has_row;
  tr_code code = tr_job_load(job, "scan_job", err);
  if (code == TR_OK) code = tr_job_statement(job, TR_BUNDLE_ALL, &stmt, err);
  if (code != TR_OK) return code;
  while (code == TR_OK && (has_row = tr_job_step(job, stmt, &reason)) != 0) {
    code = has_row < 0 ? reason.code : tr_bundle_read(stmt, &bundle, &reason);
    if (code == TR_OK) {
      code = check_bundle(&bundle, count++ == 0, tr_buffer_bytes(&end), &reason);
    }
    if (code == TR_OK) code = tr_buffer_set(&end, tr_buffer_bytes(&bundle.end), &reason);
  }
  sqlite3_reset(stmt);
  if (code == TR_OK && (count == 0 || end.size > 0)) {
    code = tr_error_set(&reason, TR_CORRUPT, "the bundles do not reach the highest key");
  }
  if (code != TR_OK && err != NULL) *err = reason;
  tr_bundle_free(&bundle);
  tr_buffer_free(&end);
  return code;
}

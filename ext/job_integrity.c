/*
** What must hold for a job's tables: each bundle can be read (tr_bundle_read), and together they
** contain every key exactly once.
*/
#include "job_integrity.h"

#include "bundles.h"
#include "key_record.h"

/* Checks a bundle. `end` is the end of the one before it. */
static tr_code check_bundle(const tr_bundle *bundle, int is_first, tr_bytes end, tr_error *err) {
  if (is_first && bundle->start.size > 0) {
    return tr_bundle_error(bundle, "is the first, and does not begin at the lowest key", err);
  }
  if (!is_first && end.size == 0)
    return tr_bundle_error(bundle, "lies behind one without an end", err);
  if (!is_first && tr_bytes_compare(end, tr_buffer_bytes(&bundle->start)) != 0) {
    return tr_bundle_error(bundle, "does not begin where the one before it ends", err);
  }
  if (!tr_key_record_is_whole(tr_buffer_bytes(&bundle->record))) {
    return tr_bundle_refuse_record(bundle, err);
  }
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

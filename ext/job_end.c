/*
** How a claim ends or is prolonged: done, heartbeat, given back, failed.
*/
#include "bundles.h"
#include "job_walk.h"

#include <string.h>

/* Earlier measurements count this much less with each new one. */
static const double FORGETTING = 0.75;

/* Notes how long the keys took, for the size of later bundles. */
static tr_code note_time(tr_job *job, const tr_job_transaction *transaction, int64_t keys,
                         double seconds, tr_error *err) {
  if (job->target_seconds == 0 || seconds < 0 || keys == 0) return TR_OK;
  sqlite3_stmt *stmt;
  tr_code code = tr_job_statement(job, TR_JOB_TIME, &stmt, err);
  if (code != TR_OK) return code;
  int rc = sqlite3_bind_double(stmt, 1, transaction->keys_timed * FORGETTING + (double)keys);
  if (rc == SQLITE_OK) {
    rc = sqlite3_bind_double(stmt, 2, transaction->seconds_timed * FORGETTING + seconds);
  }
  return rc == SQLITE_OK ? tr_job_run(job, stmt, err) : tr_error_of_sqlite(err, job->db, rc);
}

tr_code tr_bundle_end(tr_job *job, const tr_job_transaction *transaction, tr_bundle *bundle,
                      tr_error *err) {
  bundle->seconds = tr_seconds_since(&transaction->now, bundle->boot, bundle->since);
  bundle->state = TR_BUNDLE_DONE;
  bundle->finished_at = transaction->now.wall;
  bundle->lease = 0;
  bundle->has_message = 0;
  return note_time(job, transaction, bundle->keys, bundle->seconds, err);
}

tr_code tr_bundle_done(tr_job *job, const tr_job_transaction *transaction, tr_bundle *bundle,
                       tr_error *err) {
  tr_code code = tr_bundle_end(job, transaction, bundle, err);
  return code == TR_OK ? tr_bundle_write(job, bundle, err) : code;
}

tr_code tr_bundle_heartbeat(tr_job *job, const tr_job_transaction *transaction, tr_bundle *bundle,
                            double seconds, tr_error *err) {
  const tr_moment *now = &transaction->now;
  int64_t length = seconds < 0 ? bundle->lease_length : (int64_t)(seconds * 1e6);
  if (strcmp(bundle->boot, now->boot) != 0) {
    memcpy(bundle->boot, now->boot, sizeof bundle->boot);
    bundle->since = now->ticks;
    bundle->claimed_at = now->wall;
  }
  bundle->until = now->ticks + length;
  return tr_bundle_write(job, bundle, err);
}

tr_code tr_bundle_give_back(tr_job *job, tr_bundle *bundle, tr_error *err) {
  bundle->state = TR_BUNDLE_PENDING;
  bundle->record.size = 0;
  tr_bundle_let_go(bundle);
  return tr_bundle_write(job, bundle, err);
}

/* --- Failures ----------------------------------------------------------------------------- */

/* Makes `second` the upper half of `bundle`'s `keys` keys, and `bundle` the lower one. */
static tr_code halve(tr_job *job, tr_bundle *bundle, int64_t keys, tr_bundle *second,
                     tr_error *err) {
  tr_buffer middle = {0};
  int64_t counted;
  tr_code code = tr_job_count_keys(job, tr_buffer_bytes(&bundle->start),
                                   tr_buffer_bytes(&bundle->end), keys / 2, &counted, &middle, err);
  *second = (tr_bundle){.keys = keys - keys / 2, .claims = bundle->claims, .seconds = -1};
  if (code == TR_OK) code = tr_job_key_behind(job, tr_buffer_bytes(&middle), &second->start, err);
  if (code == TR_OK) code = tr_buffer_set(&second->end, tr_buffer_bytes(&bundle->end), err);
  if (code == TR_OK) code = tr_buffer_set(&bundle->end, tr_buffer_bytes(&second->start), err);
  if (code == TR_OK) code = tr_buffer_set(&second->message, tr_buffer_bytes(&bundle->message), err);
  second->has_message = bundle->has_message;
  bundle->keys = keys / 2;
  tr_buffer_free(&middle);
  return code;
}

/* Adds [start, end) as a done bundle without keys, unless that range is empty. */
static tr_code add_empty(tr_job *job, const tr_bundle *like, tr_bytes start, tr_bytes end,
                         tr_error *err) {
  tr_bundle empty = {.state = TR_BUNDLE_DONE,
                     .claims = like->claims,
                     .finished_at = like->finished_at,
                     .seconds = -1};
  if (tr_bytes_compare(start, end) >= 0) return TR_OK;
  tr_code code = tr_buffer_set(&empty.start, start, err);
  if (code == TR_OK) code = tr_buffer_set(&empty.end, end, err);
  if (code == TR_OK) code = tr_bundle_write(job, &empty, err);
  tr_bundle_free(&empty);
  return code;
}

/*
** Makes the bundle failed, and as narrow as its only key, since rows that are added next to it have
** not failed. The rest of its range is done, so that job_rescan finds what is added there.
*/
static tr_code fail_key(tr_job *job, tr_bundle *bundle, tr_bytes key, tr_error *err) {
  tr_buffer start = bundle->start;
  tr_buffer end = bundle->end;
  bundle->start = bundle->end = (tr_buffer){0};
  bundle->state = TR_BUNDLE_FAILED;
  tr_code code = tr_buffer_set(&bundle->start, key, err);
  if (code == TR_OK) code = tr_job_key_behind(job, key, &bundle->end, err);
  if (code == TR_OK) code = tr_bundle_write(job, bundle, err);
  if (code == TR_OK) code = add_empty(job, bundle, tr_buffer_bytes(&start), key, err);
  if (code == TR_OK) {
    code = add_empty(job, bundle, tr_buffer_bytes(&bundle->end), tr_buffer_bytes(&end), err);
  }
  tr_buffer_free(&start);
  tr_buffer_free(&end);
  return code;
}

/*
** Gives up a bundle that has had all its attempts. No more keys are counted than it had when it was
** claimed. So this takes no longer than the claim did, whatever was added since.
*/
static tr_code give_up(tr_job *job, const tr_job_transaction *transaction, tr_bundle *bundle,
                       int *is_halved, tr_error *err) {
  tr_bundle second = {0};
  tr_buffer first = {0};
  int64_t keys = 0;
  int64_t one = 0;
  tr_bytes start = tr_buffer_bytes(&bundle->start);
  tr_bytes end = tr_buffer_bytes(&bundle->end);
  tr_code code = tr_job_need_keys(job, "job_fail", err);
  if (code == TR_OK) {
    int64_t most = bundle->keys > 2 ? bundle->keys : 2;
    code = tr_job_count_keys(job, start, end, most, &keys, NULL, err);
  }
  if (code == TR_OK && keys > 1) {
    code = halve(job, bundle, keys, &second, err);
    bundle->failures = second.failures = job->max_attempts - 1;
    tr_bundle_let_go(bundle);
    *is_halved = 1;
    const tr_bundle *halves[] = {bundle, &second};
    if (code == TR_OK) code = tr_bundles_write(job, halves, 2, err);
  } else if (code == TR_OK) {
    bundle->keys = keys;
    bundle->finished_at = transaction->now.wall;
    bundle->lease = 0;
    bundle->state = TR_BUNDLE_DONE;
    if (keys == 1) code = tr_job_count_keys(job, start, end, 1, &one, &first, err);
    if (code == TR_OK) {
      code = one == 1 ? fail_key(job, bundle, tr_buffer_bytes(&first), err)
                      : tr_bundle_write(job, bundle, err);
    }
  }
  tr_buffer_free(&first);
  tr_bundle_free(&second);
  return code;
}

tr_code tr_bundle_fail(tr_job *job, const tr_job_transaction *transaction, tr_bundle *bundle,
                       tr_bytes message, int *is_halved, tr_error *err) {
  int ignored;
  if (is_halved == NULL) is_halved = &ignored;
  *is_halved = 0;
  tr_code code = tr_buffer_set(&bundle->message, message, err);
  if (code != TR_OK) return code;
  bundle->has_message = 1;
  tr_bundle_count(&bundle->failures);
  bundle->state = TR_BUNDLE_PENDING;
  bundle->record.size = 0;
  if (bundle->failures < job->max_attempts) {
    tr_bundle_let_go(bundle);
    return tr_bundle_write(job, bundle, err);
  }
  return give_up(job, transaction, bundle, is_halved, err);
}

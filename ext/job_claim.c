/*
** Claims a bundle: finds a range, decides how much of it to take, and writes that down.
**
** First come ranges that somebody lost, because the lease ran out. Then comes the rest of the
** table, which was never counted, as long as it has keys. Then come pending bundles, the largest
** first. The claim takes the first keys of the range. What follows them stays pending. So however
** the keys are distributed and however long each takes, nobody waits for anybody until the last
** bundle is handed out.
**
** Only keys are counted, not the rows that where(...) leaves. So a claim reads a bounded piece of
** one index, even if no row matches. The rest of the table ends in a range without an upper bound,
** which is never done: rows that are added after the last one are claimed from it.
*/
#include "bundles.h"

#include <string.h>

#include "job_walk.h"

/* How many keys to begin with, while it is not known how long keys take. */
enum { FIRST_KEYS = 100 };

/* One claim, while it looks for a range that has keys. */
typedef struct search {
  tr_job *job;
  const tr_job_transaction *transaction;
  const tr_claim *claim;
  int skips_fresh; /* the range without an end was found empty */
  int given_up;    /* bundles that were halved or have failed, since their last lease had run out */
  int is_expired;  /* the lease of the range that was found has run out */
  int has_found;   /* a range was found, which begins at: */
  tr_buffer start;
} search;

/* --- Which range -------------------------------------------------------------------------- */

static int bind_moment(sqlite3_stmt *stmt, const tr_moment *now) {
  int rc = now->boot[0] == '\0' ? sqlite3_bind_null(stmt, 1)
                                : sqlite3_bind_text(stmt, 1, now->boot, -1, SQLITE_STATIC);
  if (rc == SQLITE_OK) rc = sqlite3_bind_int64(stmt, 2, now->ticks);
  if (rc == SQLITE_OK) rc = sqlite3_bind_int64(stmt, 3, now->wall);
  return rc;
}

/*
** Finds a bundle whose lease has run out. The claim's `done`, which has ended but is not written
** yet, is left out.
*/
static int find_expired(const search *s, tr_bundle *range, tr_error *err) {
  tr_job *job = s->job;
  const tr_bundle *done = s->claim->done;
  sqlite3_stmt *stmt;
  if (tr_job_statement(job, TR_BUNDLE_EXPIRED, &stmt, err) != TR_OK) return -1;
  int rc = bind_moment(stmt, &s->transaction->now);
  if (rc == SQLITE_OK && done != NULL) {
    rc = sqlite3_bind_blob(stmt, 4, done->start.size == 0 ? "" : (const char *)done->start.data,
                           (int)done->start.size, SQLITE_STATIC);
  }
  if (rc != SQLITE_OK) {
    tr_error_of_sqlite(err, job->db, rc);
    return -1;
  }
  int has_row = tr_job_step(job, stmt, err);
  if (has_row != 1) return has_row;
  sqlite3_value *start = sqlite3_column_value(stmt, 0);
  int is_found = sqlite3_value_type(start) != SQLITE_NULL;
  tr_code code = is_found ? tr_bundle_read_bytes(start, &range->start, err) : TR_OK;
  sqlite3_reset(stmt);
  sqlite3_clear_bindings(stmt);
  if (!is_found) return 0;
  return code == TR_OK ? tr_bundle_find_start(job, tr_buffer_bytes(&range->start), range, err) : -1;
}

/* Finds the largest pending bundle whose keys were counted. */
static int find_largest(tr_job *job, tr_bundle *range, tr_error *err) {
  sqlite3_stmt *stmt;
  if (tr_job_statement(job, TR_BUNDLE_LARGEST, &stmt, err) != TR_OK) return -1;
  return tr_bundle_step(job, stmt, range, err);
}

/* Counts the other workers that hold a lease. */
static int count_other_workers(const search *s, int64_t *count, tr_error *err) {
  tr_job *job = s->job;
  sqlite3_stmt *stmt;
  tr_value name = tr_value_text(s->claim->worker);
  if (tr_job_statement(job, TR_BUNDLE_WORKERS, &stmt, err) != TR_OK) return -1;
  int rc = bind_moment(stmt, &s->transaction->now);
  if (rc == SQLITE_OK) rc = tr_bind_value(stmt, 4, &name);
  if (rc != SQLITE_OK) {
    tr_error_of_sqlite(err, job->db, rc);
    return -1;
  }
  int has_row = tr_job_step(job, stmt, err);
  if (has_row == 1) *count = sqlite3_column_int64(stmt, 0);
  sqlite3_reset(stmt);
  return has_row;
}

/* --- How much ----------------------------------------------------------------------------- */

/* As many keys as should take target_seconds, and never more than the claim allows. */
static int64_t keys_wanted(const search *s) {
  const tr_job *job = s->job;
  const tr_job_transaction *transaction = s->transaction;
  const tr_claim *claim = s->claim;
  if (job->target_seconds == 0) return claim->max_keys;
  double keys = FIRST_KEYS;
  if (transaction->keys_timed > 0) {
    double each = transaction->seconds_timed / transaction->keys_timed;
    double most = (double)claim->max_keys;
    keys = (double)job->target_seconds < each * most ? (double)job->target_seconds / each : most;
  }
  if (keys < 1) return 1;
  return keys < (double)claim->max_keys ? (int64_t)keys : claim->max_keys;
}

/*
** With target_seconds the workers share the last keys of the table: each claim takes its part of
** what is left, so that all end at nearly the same time.
*/
static tr_code share_last_keys(const search *s, const tr_bundle *range, tr_walk *w, tr_error *err) {
  int64_t others = 0;
  if (s->job->target_seconds == 0 || range->claims > 0 || w->has_more || w->count < 2) return TR_OK;
  if (count_other_workers(s, &others, err) < 0) return err == NULL ? TR_HOST : err->code;
  int64_t part = (w->count + others) / (others + 1);
  if (part >= w->count) return TR_OK;
  tr_walk_free(w);
  return tr_job_walk(s->job, range, part, w, err);
}

/* --- Writing it down ---------------------------------------------------------------------- */

/* Gives the bundle to the worker that claims. */
static tr_code lease_out(const search *s, tr_bundle *bundle, tr_error *err) {
  const tr_moment *now = &s->transaction->now;
  bundle->lease = tr_jobs_new_lease(s->job->jobs);
  bundle->state = TR_BUNDLE_CLAIMED;
  tr_bundle_count(&bundle->claims);
  bundle->since = now->ticks;
  bundle->lease_length = (int64_t)(s->claim->lease_seconds * 1e6);
  bundle->until = now->ticks + bundle->lease_length;
  bundle->claimed_at = now->wall;
  bundle->finished_at = 0;
  bundle->seconds = -1;
  bundle->has_worker = 1;
  memcpy(bundle->boot, now->boot, sizeof bundle->boot);
  return tr_buffer_set(&bundle->worker, s->claim->worker, err);
}

/*
** Makes `part` the beginning of `range`, up to the last key that was walked, and `range` the rest.
** Rows are stored in the order of their keys, so both are where the last claim wrote. So each claim
** writes few pages, however many bundles there are.
*/
static tr_code cut(tr_job *job, tr_bundle *range, const tr_walk *w, tr_bundle *part,
                   tr_error *err) {
  *part = (tr_bundle){.claims = range->claims, .failures = range->failures, .seconds = -1};
  tr_code code = tr_buffer_set(&part->start, tr_buffer_bytes(&range->start), err);
  if (code == TR_OK) {
    code = tr_job_key_behind(job, tr_buffer_bytes(&w->last), &part->end, err);
  }
  if (code == TR_OK) code = tr_buffer_set(&range->start, tr_buffer_bytes(&part->end), err);
  if (code == TR_OK && range->has_message) {
    part->has_message = 1;
    code = tr_buffer_set(&part->message, tr_buffer_bytes(&range->message), err);
  }
  if (code != TR_OK) return code;
  range->state = TR_BUNDLE_PENDING;
  tr_bundle_let_go(range);
  range->record.size = 0;
  if (range->keys >= 0) range->keys = range->keys > w->count ? range->keys - w->count : 1;
  return TR_OK;
}

/* Takes the walked keys of `range`, which becomes the bundle as a whole or is cut. */
static tr_code take(const search *s, tr_bundle *range, tr_walk *w, tr_bundle *bundle,
                    tr_error *err) {
  int is_whole = !w->has_more && range->end.size > 0;
  const tr_bundle *rows[3];
  int count = 0;
  tr_code code = TR_OK;
  if (is_whole) {
    *bundle = *range;
    *range = (tr_bundle){0};
  } else {
    code = cut(s->job, range, w, bundle, err);
  }
  bundle->keys = w->count;
  if (code == TR_OK) code = lease_out(s, bundle, err);
  if (code == TR_OK) code = tr_key_record_finish(&w->record, &bundle->record, err);
  if (s->claim->done != NULL) rows[count++] = s->claim->done;
  rows[count++] = bundle;
  if (!is_whole) rows[count++] = range;
  return code == TR_OK ? tr_bundles_write(s->job, rows, count, err) : code;
}

/*
** Ends a range that has no keys any more. It keeps no record: the keys that the last claim saw were
** not done, and are new if they are inserted again.
*/
static tr_code finish_empty(const search *s, tr_bundle *range, tr_error *err) {
  range->state = TR_BUNDLE_DONE;
  range->keys = 0;
  range->finished_at = s->transaction->now.wall;
  range->lease = 0;
  range->record.size = 0;
  return tr_bundle_write(s->job, range, err);
}

/* --- Claiming ----------------------------------------------------------------------------- */

/*
** Counts a lease that ran out as a failure. 1: the range may be claimed again. 0: it was halved or
** has failed. -1: failed.
*/
static int count_expiry(const search *s, tr_bundle *range, tr_error *err) {
  tr_buffer message = {0};
  int result = -1;
  tr_code code = tr_buffer_append_text(&message, "the lease of worker '", err);
  if (code == TR_OK) code = tr_buffer_append(&message, tr_buffer_bytes(&range->worker), err);
  if (code == TR_OK) code = tr_buffer_append_text(&message, "' ran out", err);
  if (code == TR_OK && range->failures + 1 < s->job->max_attempts) {
    tr_bundle_count(&range->failures);
    range->has_message = 1;
    code = tr_buffer_set(&range->message, tr_buffer_bytes(&message), err);
    if (code == TR_OK) result = 1;
  } else if (code == TR_OK) {
    code = tr_bundle_fail(s->job, s->transaction, range, tr_buffer_bytes(&message), NULL, err);
    if (code == TR_OK) result = 0;
  }
  tr_buffer_free(&message);
  return result;
}

/*
** Tries to claim from one range. 1: `*bundle` is claimed. 0: there are no keys in it. -1: failed.
*/
static int claim_from(const search *s, tr_bundle *range, tr_bundle *bundle, tr_error *err) {
  tr_walk w;
  int result = -1;
  tr_code code = tr_job_walk(s->job, range, keys_wanted(s), &w, err);
  if (code == TR_OK) code = share_last_keys(s, range, &w, err);
  if (code == TR_OK && w.count > 0) {
    code = take(s, range, &w, bundle, err);
    if (code == TR_OK) result = 1;
  } else if (code == TR_OK) {
    if (range->end.size > 0) code = finish_empty(s, range, err);
    if (code == TR_OK) result = 0;
  }
  tr_walk_free(&w);
  return result;
}

/* The range that was never counted. If job_next has already read it, it is not read again. */
static int find_fresh(const search *s, tr_bundle *range, tr_error *err) {
  tr_bundle *rest = s->claim->rest;
  if (rest == NULL) {
    const tr_bytes none = {0};
    return tr_bundle_find_last(s->job, range, none, NULL, err) < 0 ? -1 : 1;
  }
  *range = *rest;
  *rest = (tr_bundle){0};
  return 1;
}

/*
** Finds the next range to claim from. Ranges that somebody lost come first. But a claim needs only
** one bundle, and after a crash of many workers it must not halve the bundles of them all. So once
** one was given up, other lost ones are taken only if nothing else is free.
*/
static int find_range(search *s, tr_bundle *range, tr_error *err) {
  int is_found = s->given_up == 0 ? find_expired(s, range, err) : 0;
  s->is_expired = is_found == 1;
  if (is_found == 0 && !s->skips_fresh) return find_fresh(s, range, err);
  if (is_found == 0) is_found = find_largest(s->job, range, err);
  if (is_found == 0 && s->given_up > 0) {
    is_found = find_expired(s, range, err);
    s->is_expired = is_found == 1;
  }
  if (is_found == 1 && tr_bundle_check_borders(s->job, range, err) != TR_OK) return -1;
  return is_found;
}

/*
** The same, but fails if it finds the same range again. A range that was found empty or was given
** up has been written, so it cannot come again; otherwise the search would have no end.
*/
static int find_next_range(search *s, tr_bundle *range, tr_error *err) {
  int was_expired = s->is_expired;
  int is_found = find_range(s, range, err);
  if (is_found != 1) return is_found;
  tr_bytes start = tr_buffer_bytes(&range->start);
  int is_another = !s->has_found || s->is_expired != was_expired ||
                   tr_bytes_compare(start, tr_buffer_bytes(&s->start)) != 0;
  s->has_found = 1;
  if (is_another) return tr_buffer_set(&s->start, start, err) == TR_OK ? 1 : -1;
  tr_error_ignored(err, "a bundle was not written down");
  return -1;
}

int tr_job_claim(tr_job *job, const tr_job_transaction *transaction, const tr_claim *claim,
                 tr_bundle *bundle, tr_error *err) {
  search s = {.job = job, .transaction = transaction, .claim = claim};
  int result = 0;
  if (tr_job_need_keys(job, claim->function, err) != TR_OK) return -1;
  for (int is_found = 1; is_found == 1 && result == 0;) {
    tr_bundle range = {0};
    int may_be_claimed = 1;
    is_found = find_next_range(&s, &range, err);
    if (is_found == 1 && range.keys < 0) s.skips_fresh = 1;
    if (is_found == 1 && s.is_expired) {
      may_be_claimed = count_expiry(&s, &range, err);
      if (may_be_claimed == 0) s.given_up++;
    }
    if (is_found < 0 || may_be_claimed < 0) {
      result = -1;
    } else if (is_found == 1 && may_be_claimed == 1) {
      result = claim_from(&s, &range, bundle, err);
    }
    tr_bundle_free(&range);
  }
  if (result == 0 && tr_job_check_states(job, err) != TR_OK) result = -1;
  if (result == 0 && claim->done != NULL && tr_bundle_write(job, claim->done, err) != TR_OK) {
    result = -1;
  }
  tr_buffer_free(&s.start);
  return result;
}

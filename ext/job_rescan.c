/*
** Looks for rows that were added to ranges that are done.
**
** Each done bundle is walked again and compared with the record of its keys (key_record.h). If the
** record is exact, only the new keys become pending: new keys with no old one between them become a
** bundle, and what is between such bundles stays done. If the record is a hash that has changed,
** the whole bundle becomes pending again.
*/
#include "bundles.h"

#include "key_record.h"

/* How many keys are looked at in one transaction. */
enum { KEYS_AT_ONCE = 20000 };

/* Cuts pieces off the front of a done bundle. */
typedef struct cutter {
  tr_job *job;
  tr_bundle *bundle;
  int64_t count; /* new keys in the current piece */
  tr_buffer first;
  tr_buffer behind; /* the bound after its last key */
} cutter;

static void free_cutter(cutter *c) {
  tr_buffer_free(&c->first);
  tr_buffer_free(&c->behind);
}

/* Adds a row for [start, end) that is otherwise like `like`. */
static tr_code add_piece(const cutter *c, const tr_bundle *like, tr_bytes start, tr_bytes end,
                         tr_error *err) {
  tr_bundle piece = *like;
  piece.start = piece.end = (tr_buffer){0};
  tr_code code = tr_buffer_set(&piece.start, start, err);
  if (code == TR_OK) code = tr_buffer_set(&piece.end, end, err);
  if (code == TR_OK) code = tr_bundle_write(c->job, &piece, err);
  tr_buffer_free(&piece.start);
  tr_buffer_free(&piece.end);
  return code;
}

/*
** Ends the current piece of new keys, which becomes pending. What is before it stays done, in a row
** of its own. The bundle continues after the piece, or is itself the piece if nothing follows.
*/
static tr_code end_piece(cutter *c, tr_error *err) {
  tr_bundle *bundle = c->bundle;
  if (c->count == 0) return TR_OK;
  int is_last = tr_bytes_compare(tr_buffer_bytes(&c->behind), tr_buffer_bytes(&bundle->end)) == 0;
  tr_bundle fresh = {.keys = c->count, .claims = bundle->claims, .seconds = -1};
  tr_bundle before = *bundle;
  tr_buffer old_start = bundle->start;
  bundle->start = (tr_buffer){0};
  c->count = 0;
  if (is_last) {
    bundle->state = TR_BUNDLE_PENDING;
    bundle->keys = fresh.keys;
    bundle->failures = 0;
    bundle->finished_at = 0;
    bundle->seconds = -1;
    bundle->record.size = 0;
    tr_bundle_let_go(bundle);
  } else {
    before.keys = 0; /* the bundle keeps the count */
  }
  tr_code code =
      tr_buffer_set(&bundle->start, tr_buffer_bytes(is_last ? &c->first : &c->behind), err);
  if (code == TR_OK) code = tr_bundle_write(c->job, bundle, err);
  if (code == TR_OK &&
      tr_bytes_compare(tr_buffer_bytes(&old_start), tr_buffer_bytes(&c->first)) < 0) {
    code = add_piece(c, &before, tr_buffer_bytes(&old_start), tr_buffer_bytes(&c->first), err);
  }
  if (code == TR_OK && !is_last) {
    code = add_piece(c, &fresh, tr_buffer_bytes(&c->first), tr_buffer_bytes(&c->behind), err);
  }
  tr_buffer_free(&old_start);
  return code;
}

static tr_code add_new_key(cutter *c, tr_bytes key, tr_error *err) {
  tr_code code = c->count == 0 ? tr_buffer_set(&c->first, key, err) : TR_OK;
  if (code == TR_OK) code = tr_job_key_behind(c->job, key, &c->behind, err);
  c->count++;
  return code;
}

/*
** Walks the bundle. With `runs` it cuts out the new keys and adds their number to `*found`.
** Without, it adds all keys to `record`. In either case it adds their number to `*keys`.
*/
static tr_code walk(cutter *c, tr_key_runs *runs, tr_key_record *record, int64_t *keys,
                    int64_t *found, tr_error *err) {
  tr_statement_reader *reader = c->job->keys;
  tr_error reason = {0};
  tr_position position;
  int has_key = 0;
  tr_buffer start = {0}; /* the start of the bundle itself moves while it is cut */
  tr_code code = tr_buffer_set(&start, tr_buffer_bytes(&c->bundle->start), err);
  if (code == TR_OK) {
    code = tr_statement_reader_open(reader, tr_buffer_bytes(&start),
                                    tr_buffer_bytes(&c->bundle->end), err);
  }
  while (code == TR_OK && (has_key = tr_statement_reader_next(reader, &position, &reason)) == 1) {
    ++*keys;
    if (runs == NULL) {
      code = tr_key_record_add(record, position.key, err);
    } else if (tr_key_runs_contain(runs, position.key)) {
      code = end_piece(c, err);
    } else {
      ++*found;
      code = add_new_key(c, position.key, err);
    }
  }
  tr_statement_reader_reset(reader);
  tr_buffer_free(&start);
  if (code == TR_OK && has_key < 0) {
    code = reason.code;
    if (err != NULL) *err = reason;
  }
  if (code == TR_OK && runs != NULL && runs->is_damaged) {
    code = tr_bundle_refuse_record(c->bundle, err);
  }
  return code == TR_OK ? end_piece(c, err) : code;
}

/* Makes a bundle pending again if its keys no longer have the hash of its record. */
static tr_code compare_hash(cutter *c, tr_key_record *record, int64_t keys, int64_t *found,
                            tr_error *err) {
  tr_bundle *bundle = c->bundle;
  tr_buffer now = {0};
  tr_code code = tr_key_record_finish(record, &now, err);
  int is_same = tr_bytes_compare(tr_buffer_bytes(&now), tr_buffer_bytes(&bundle->record)) == 0;
  tr_buffer_free(&now);
  if (code != TR_OK || is_same || keys == 0) return code;
  *found += keys;
  bundle->state = TR_BUNDLE_PENDING;
  bundle->keys = keys;
  bundle->failures = 0;
  bundle->finished_at = 0;
  bundle->seconds = -1;
  bundle->record.size = 0;
  tr_bundle_let_go(bundle);
  return tr_bundle_write(c->job, bundle, err);
}

static tr_code rescan_bundle(tr_job *job, tr_bundle *bundle, int64_t *keys, int64_t *found,
                             tr_error *err) {
  cutter c = {.job = job, .bundle = bundle};
  tr_key_record record = {0};
  tr_key_runs runs;
  /* A range that was empty when it was claimed has no record: every key in it is new. */
  int is_exact =
      tr_key_runs_begin(&runs, tr_buffer_bytes(&bundle->record)) || bundle->record.size == 0;
  int64_t counted = 0;
  tr_code code = walk(&c, is_exact ? &runs : NULL, &record, &counted, found, err);
  if (code == TR_OK && !is_exact) code = compare_hash(&c, &record, counted, found, err);
  *keys += counted;
  tr_key_record_free(&record);
  free_cutter(&c);
  return code;
}

tr_code tr_job_rescan(tr_job *job, const char *function, tr_buffer *start, int64_t *found,
                      int *is_complete, tr_error *err) {
  int64_t keys = 0;
  *is_complete = 0;
  tr_code code = tr_job_need_keys(job, function, err);
  while (code == TR_OK && keys < KEYS_AT_ONCE && !*is_complete) {
    sqlite3_stmt *stmt;
    tr_bundle bundle = {0};
    tr_error reason = {0};
    tr_value from = tr_value_blob(tr_buffer_bytes(start));
    code = tr_job_statement(job, TR_BUNDLE_NEXT_DONE, &stmt, err);
    if (code != TR_OK) break;
    int rc = tr_bind_value(stmt, 1, &from);
    if (rc != SQLITE_OK) return tr_error_of_sqlite(err, job->db, rc);
    int has_bundle = tr_bundle_step(job, stmt, &bundle, &reason);
    if (has_bundle < 0) {
      if (err != NULL) *err = reason;
      code = reason.code;
    } else if (has_bundle == 0 || bundle.end.size == 0) {
      *is_complete = 1;
      code = tr_job_check_states(job, err);
    } else {
      /* The search continues after the bundle as it was, whatever it is cut into. */
      code = tr_buffer_set(start, tr_buffer_bytes(&bundle.end), err);
      if (code == TR_OK) code = rescan_bundle(job, &bundle, &keys, found, err);
      keys++;
    }
    tr_bundle_free(&bundle);
  }
  return code;
}

/*
** Looks at the keys of a range.
**
** The statement reader looks at each key, which takes about 0.1 us. For rowids there is a shorter
** way. SQLite skips over rows in a tenth of that time. If the rowid at an offset is exactly that
** much above the first one, none is missing between them. If some are missing, each half is tried
** in the same way, and so the few gaps of a table from which little was deleted are found. With
** many gaps this would take longer than looking at each key. Then it is given up, and not tried
** again for some claims.
*/
#include "job_walk.h"

#include "range/byte_key.h"

void tr_walk_free(tr_walk *w) {
  tr_buffer_free(&w->last);
  tr_key_record_free(&w->record);
}

/* --- Rowids ------------------------------------------------------------------------------- */

/*
** Reads the rowid at `offset` from the bound `first` on, and the one after it. Returns how many of
** the two there are, or -1.
*/
static int find_rowids(tr_job *job, int64_t first, int64_t offset, int64_t rowids[2],
                       tr_error *err) {
  sqlite3_stmt *stmt;
  if (tr_job_statement(job, TR_SOURCE_ROWIDS, &stmt, err) != TR_OK) return -1;
  int rc = sqlite3_bind_int64(stmt, 1, first);
  if (rc == SQLITE_OK) rc = sqlite3_bind_int64(stmt, 2, offset);
  if (rc != SQLITE_OK) {
    tr_error_of_sqlite(err, job->db, rc);
    return -1;
  }
  for (int i = 0; i < 2; i++) {
    int has_row = tr_job_step(job, stmt, err);
    if (has_row <= 0) return has_row < 0 ? -1 : i;
    rowids[i] = sqlite3_column_int64(stmt, 0);
  }
  sqlite3_reset(stmt);
  return 2;
}

/* Finding the unbroken runs of rowids. */
typedef struct run_search {
  tr_job *job;
  tr_key_record *record;
  int64_t
      /* how many rows may still be skipped; a query's other costs count as rows, too */
      skips_left;
} run_search;

enum { QUESTION = 70, SKIPS_FOR_EACH = 6 };

/*
** Adds the `count` rowids from `first` to `last`, which both exist. 1: added. 0: there are too many
** gaps.
** -1: failed.
*/
static int add_runs(run_search *search, int64_t first, int64_t last, int64_t count, tr_error *err) {
  if ((uint64_t)last - (uint64_t)first == (uint64_t)count - 1) {
    return tr_key_record_add_run(search->record, first, last, err) == TR_OK ? 1 : -1;
  }
  int64_t half = count / 2;
  int64_t middle[2];
  search->skips_left -= half + QUESTION;
  if (half == 0 || search->skips_left < 0) return 0;
  int found = find_rowids(search->job, first, half - 1, middle, err);
  if (found < 2) return found < 0 ? -1 : 0;
  /* An authorizer can change what is read. */
  if (middle[0] < first || middle[1] <= middle[0] || last < middle[1]) return 0;
  int is_added = add_runs(search, first, middle[0], half, err);
  return is_added == 1 ? add_runs(search, middle[1], last, count - half, err) : is_added;
}

/*
** Makes `w` the walk over `limit` rowids from `least` on. `last[0]` is the last of them, and
** `last[1]` the next one, if there is one. Returns 1, 0 or -1 as add_runs.
*/
static int walk_runs(tr_job *job, int64_t least, int64_t limit, const int64_t last[2], tr_walk *w,
                     tr_error *err) {
  int64_t first = least;
  if ((uint64_t)last[0] - (uint64_t)first != (uint64_t)limit - 1) {
    int64_t there[2];
    int found = find_rowids(job, least, 0, there, err);
    if (found < 1) return found;
    first = there[0];
  }
  if (last[0] < first) return 0;
  run_search search = {job, &w->record, SKIPS_FOR_EACH * limit};
  int is_walked = add_runs(&search, first, last[0], limit, err);
  if (is_walked != 1) return is_walked;
  uint8_t key[TR_ROWID_KEY_SIZE];
  tr_byte_key_of_rowid(last[0], key);
  w->count = limit;
  return tr_buffer_set(&w->last, (tr_bytes){key, sizeof key}, err) == TR_OK ? 1 : -1;
}

/*
** Tries the short way. 1: `w` is as if all keys had been looked at. 0: they must be looked at,
** because there are gaps or too few keys. -1: failed.
*/
static int walk_short_way(tr_job *job, const tr_bundle *range, int64_t limit, tr_walk *w,
                          tr_error *err) {
  enum { WORTH_IT = 50, REST = 16 };
  int64_t least, greatest;
  int64_t last[2];
  int may_have_so_many = range->keys < 0 || range->keys >= limit;
  if (!w->record.is_rowid || limit < WORTH_IT || !may_have_so_many) return 0;
  if (job->gaps > 0) {
    job->gaps--;
    return 0;
  }
  if (!tr_bundle_rowids(range, &least, &greatest)) return 0;
  int count = find_rowids(job, least, limit - 1, last, err);
  if (count <= 0 || last[0] > greatest) return count < 0 ? -1 : 0;
  int is_walked = walk_runs(job, least, limit, last, w, err);
  if (is_walked == 0) job->gaps = REST;
  w->has_more = count == 2 && last[1] <= greatest;
  return is_walked;
}

/* --- All keys ----------------------------------------------------------------------------- */

static tr_code walk_each(tr_job *job, const tr_bundle *range, int64_t limit, tr_walk *w,
                         tr_error *err) {
  tr_error reason;
  tr_position position;
  tr_code code = tr_statement_reader_open(job->keys, tr_buffer_bytes(&range->start),
                                          tr_buffer_bytes(&range->end), err);
  if (code != TR_OK) return code;
  int has_key;
  while ((has_key = tr_statement_reader_next(job->keys, &position, &reason)) == 1) {
    if (w->count == limit) {
      w->has_more = 1;
      break;
    }
    w->count++;
    code = tr_key_record_add(&w->record, position.key, err);
    if (code == TR_OK) code = tr_buffer_set(&w->last, position.key, err);
    if (code != TR_OK) break;
  }
  tr_statement_reader_reset(job->keys);
  if (has_key >= 0) return code;
  if (err != NULL) *err = reason;
  return reason.code;
}

tr_code tr_job_walk(tr_job *job, const tr_bundle *range, int64_t limit, tr_walk *w, tr_error *err) {
  const tr_walk nothing = {.record = {.is_rowid = job->source.key.form == TR_KEY_ROWID}};
  tr_error reason;
  *w = nothing;
  int is_walked = walk_short_way(job, range, limit, w, &reason);
  if (is_walked < 0 && err != NULL) *err = reason;
  if (is_walked != 0) return is_walked < 0 ? reason.code : TR_OK;
  tr_walk_free(w);
  *w = nothing;
  return walk_each(job, range, limit, w, err);
}

tr_code tr_job_count_keys(tr_job *job, tr_bytes start, tr_bytes end, int64_t limit, int64_t *count,
                          tr_buffer *last, tr_error *err) {
  tr_error reason;
  tr_position position;
  int has_key = 0;
  *count = 0;
  tr_code code = tr_statement_reader_open(job->keys, start, end, err);
  if (code != TR_OK) return code;
  while (*count < limit && code == TR_OK &&
         (has_key = tr_statement_reader_next(job->keys, &position, &reason)) == 1) {
    ++*count;
    if (last != NULL && *count == limit) code = tr_buffer_set(last, position.key, err);
  }
  tr_statement_reader_reset(job->keys);
  if (has_key >= 0) return code;
  if (err != NULL) *err = reason;
  return reason.code;
}

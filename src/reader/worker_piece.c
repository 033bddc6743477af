/*
** Reads a worker's own part, piece by piece: claims a piece that begins and ends at keys that
** exist, has it read, and estimates the rest of the part from its rows.
*/
#include "reader/worker_pool_inside.h"

#include <math.h>

/* An estimate from keys may be far more than there can be. */
#define MOST_EXPECTED_ROWS 1e15

tr_code tr_pool_begin_part(tr_pool_seat *s, double expected_rows, tr_error *err) {
  tr_byte_key_window_expect(&s->window, (uint64_t)fmin(fmax(expected_rows, 1), MOST_EXPECTED_ROWS));
  s->has_key = 1;
  return tr_buffer_set(&s->looked, tr_buffer_bytes(&s->key), err);
}

/* Copies the first key at or above `from` to `key`. 1; 0: there is none; -1. */
static int find_key(tr_pool_seat *s, tr_bytes from, tr_buffer *key, tr_error *err) {
  tr_worker_pool *pool = s->pool;
  return pool->work->first_key(pool->context, s->number, from, key, err);
}

/* Finds the first key of a part that was dealt or adopted. */
static int open_part(tr_pool_seat *s, tr_pool_part *part, tr_error *err) {
  tr_restriction range;
  tr_tracker *tracker = tr_byte_key_tracker_base(part->tracker);
  if (tr_tracker_current_restriction(tracker, &range, err) != TR_OK) return -1;
  int found = find_key(s, tr_buffer_bytes(&range.bytes.start), &s->key, err);
  tr_restriction_free(&range);
  if (found == 1 && tr_pool_begin_part(s, tr_pool_rows_at_most(s->pool, part), err) != TR_OK)
    found = -1;
  return found;
}

/* Sets `next` to the end of what the window holds, as a key that exists; empty: there is no end. */
static int find_end(tr_pool_seat *s, tr_error *err) {
  tr_byte_key_window *window = &s->window;
  s->next.size = 0;
  if (window->is_open) return 1;
  tr_bytes limit = tr_buffer_bytes(&window->limit);
  tr_buffer behind = {0};
  if (window->left == 0) {
    /* Only the key itself was claimed. */
    if (tr_buffer_set(&behind, tr_buffer_bytes(&s->key), err) != TR_OK) return -1;
    if (tr_buffer_append_byte(&behind, 0, err) != TR_OK) {
      tr_buffer_free(&behind);
      return -1;
    }
    limit = tr_buffer_bytes(&behind);
  }
  int found = find_key(s, limit, &s->next, err);
  if (found == 0) s->next.size = 0;
  tr_buffer_free(&behind);
  return found < 0 ? -1 : 1;
}

/*
** Whether the part has fewer than TR_POOL_LEAST_ROWS rows left, from the seat's key on: 1, 0, -1.
** The estimate from keys may be far off. For example 0199 may be followed by 0200 and nine thousand
** more keys, which is next to nothing of what could lie in between. So the estimate is only a
** reason to look.
*/
static int is_nearly_read(tr_pool_seat *s, tr_pool_part *part, tr_error *err) {
  tr_worker_pool *pool = s->pool;
  tr_restriction range;
  if (tr_pool_rows_at_most(pool, part) >= TR_POOL_LEAST_ROWS) return 0;
  int found = pool->work->key_behind(pool->context, s->number, tr_buffer_bytes(&s->key),
                                     TR_POOL_LEAST_ROWS, &s->next, err);
  if (found <= 0) return found < 0 ? -1 : 1;
  tr_tracker *tracker = tr_byte_key_tracker_base(part->tracker);
  if (tr_tracker_current_restriction(tracker, &range, err) != TR_OK) return -1;
  int is_in_part = tr_byte_key_range_contains(&range.bytes, tr_buffer_bytes(&s->next));
  tr_restriction_free(&range);
  return !is_in_part;
}

/* Claims a piece that begins with the seat's key. 1; 0: the key is no longer in the part; -1. */
static int claim_piece(tr_pool_seat *s, tr_pool_part *part, tr_error *err) {
  int claimed =
      tr_byte_key_tracker_claim_ahead(part->tracker, &s->window, tr_buffer_bytes(&s->key), err);
  int is_last = claimed == 1 ? is_nearly_read(s, part, err) : 0;
  if (is_last == 1) is_last = tr_byte_key_tracker_claim_rest(part->tracker, &s->window, err);
  return is_last < 0 ? -1 : claimed;
}

/*
** How many rows [next, end of the part) has if they are spread as `rows` rows were in [from, next).
*/
static double rows_ahead(const tr_byte_key_range *range, tr_bytes from, tr_bytes next,
                         double rows) {
  tr_bytes end = tr_buffer_bytes(&range->end);
  size_t shared = tr_bytes_shared_prefix(end, from);
  double width =
      (double)tr_byte_key_lead_behind(next, shared) - (double)tr_byte_key_lead_behind(from, shared);
  double rest =
      (double)tr_byte_key_lead_behind(end, shared) - (double)tr_byte_key_lead_behind(next, shared);
  return rest > 0 ? (rows + 1) * rest / (width >= 1 ? width : 1) : 0;
}

/*
** Estimates the rest of the part from the rows that were looked at for a piece. The reader may have
** looked at them long before, so this uses the row where the look ended, not the end of the piece.
*/
static tr_code look_ahead(tr_pool_seat *s, tr_pool_part *part, uint64_t rows, tr_error *err) {
  const tr_piece *piece = &s->piece;
  tr_bytes next = piece->reached.size > 0 ? piece->reached
                  : piece->is_cut         ? tr_buffer_bytes(&piece->last)
                                          : piece->to;
  tr_restriction range;
  if (rows == 0) return TR_OK;
  tr_code code =
      tr_tracker_current_restriction(tr_byte_key_tracker_base(part->tracker), &range, err);
  if (code != TR_OK) return code;
  tr_pool_expect_rows(s->pool, part,
                      rows_ahead(&range.bytes, tr_buffer_bytes(&s->looked), next, (double)rows));
  tr_restriction_free(&range);
  return tr_buffer_set(&s->looked, next, err);
}

/*
** After a piece: chooses the size of the next one, and finds where it begins. 1; 0: nothing is
** left; -1.
*/
static int go_on_behind(tr_pool_seat *s, tr_pool_part *part, tr_error *err) {
  tr_piece *piece = &s->piece;
  uint64_t work = piece->work > piece->rows ? piece->work : piece->rows;
  if (look_ahead(s, part, work, err) != TR_OK) return -1;
  if (!piece->is_cut) {
    tr_byte_key_window_use(&s->window, work);
    tr_buffer key = s->key;
    s->key = s->next;
    s->next = key;
    return s->key.size > 0;
  }
  tr_bytes last = tr_buffer_bytes(&piece->last);
  tr_code code = tr_byte_key_tracker_release(part->tracker, &s->window, last, err);
  if (code != TR_OK) return -1;
  tr_byte_key_window_trim(&s->window, piece->from, last);
  code = tr_buffer_append_byte(&piece->last, 0, err);
  if (code != TR_OK) return -1;
  return find_key(s, tr_buffer_bytes(&piece->last), &s->key, err);
}

/* Ends a part behind its last piece. Returns 0, or -1. */
static int end_part(tr_pool_seat *s, tr_pool_part *part, tr_error *err) {
  const tr_work *work = s->pool->work;
  uint64_t rows = 0;
  if (work->settle != NULL && work->settle(s->pool->context, s->number, &rows, err) != TR_OK) {
    return -1;
  }
  s->piece.rows += rows;
  return tr_tracker_claim_end(tr_byte_key_tracker_base(part->tracker), err) == TR_OK ? 0 : -1;
}

int tr_pool_read_piece(tr_pool_seat *s, tr_pool_part *part, tr_error *err) {
  tr_worker_pool *pool = s->pool;
  tr_piece *piece = &s->piece;
  piece->rows = piece->work = 0;
  piece->reached.size = 0;
  int result = s->has_key ? 1 : open_part(s, part, err);
  if (result == 1) result = claim_piece(s, part, err);
  if (result == 1) {
    if (find_end(s, err) < 0) return -1;
    piece->from = tr_buffer_bytes(&s->key);
    piece->to = tr_buffer_bytes(&s->next);
    piece->most = 2 * pool->piece_rows;
    piece->is_cut = 0;
    piece->last.size = 0;
    if (pool->work->read(pool->context, s->number, piece, err) != TR_OK) return -1;
    result = go_on_behind(s, part, err);
  }
  s->has_key = result == 1;
  return result == 0 ? end_part(s, part, err) : result;
}

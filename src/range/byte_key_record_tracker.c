/*
** Decides for a bounded reader, record by record, whether it may go on.
**
** How it works. The position is the key of the last record that was asked for. A split point is
** returned if its key is below the end. A split moves the end down to a key above the position. The
** start moves to the first record, so that fractions refer to what exists.
**
** Invariants (under the mutex): start <= end, or the end is open; position >= start if there is
** one; a call that fails for lack of memory has changed nothing.
**
** Source: Apache Beam, sdk.io.range.ByteKeyRangeTracker, 2.2 to 2.30.
*/
#include "range/byte_key_record_tracker.h"

#include "base/memory.h"
#include "base/thread.h"
#include "range/tracker_class.h"

struct tr_byte_key_record_tracker {
  tr_tracker base;
  pthread_mutex_t mutex;
  tr_byte_key_range range;
  tr_buffer position; /* of the last record that was asked for */
  tr_buffer returned; /* of the last one that was returned */
  int has_position;
  int has_returned;
  int is_done;
  int64_t split_points;
};

static const tr_tracker_class byte_key_record_tracker_class;

static tr_byte_key_record_tracker *of(tr_tracker *tracker) {
  return (tr_byte_key_record_tracker *)tracker;
}

static tr_bytes start_of(const tr_byte_key_record_tracker *t) {
  return tr_buffer_bytes(&t->range.start);
}

static tr_bytes end_of(const tr_byte_key_record_tracker *t) {
  return tr_buffer_bytes(&t->range.end);
}

static tr_bytes position_of(const tr_byte_key_record_tracker *t) {
  return tr_buffer_bytes(&t->position);
}

static int is_at_or_above_end(const tr_byte_key_record_tracker *t, tr_bytes key) {
  return tr_byte_key_range_has_end(&t->range) && tr_bytes_compare(key, end_of(t)) >= 0;
}

/* ---- Returning records ---------------------------------------------------------------------- */

static const char *objection(const tr_byte_key_record_tracker *t, int is_split_point,
                             tr_bytes key) {
  if (!t->has_position && !is_split_point) return "The first record must be at a split point";
  if (tr_bytes_compare(key, start_of(t)) < 0) {
    return "Trying to return record which is before the start key";
  }
  if (t->has_position && tr_bytes_compare(key, position_of(t)) < 0) {
    return "Trying to return record which is before the last-returned record";
  }
  return NULL;
}

static int try_return(tr_byte_key_record_tracker *t, int is_split_point, tr_bytes key,
                      tr_error *err) {
  if (t->is_done) return 0;
  const char *why = objection(t, is_split_point, key);
  if (why != NULL) return tr_error_no(err, TR_INVALID_STATE, "%s", why);

  if (tr_buffer_make_room(&t->position, key.size, err) != TR_OK) return -1;
  if (tr_buffer_make_room(&t->returned, key.size, err) != TR_OK) return -1;
  int is_first = !t->has_position;
  if (is_first && tr_buffer_make_room(&t->range.start, key.size, err) != TR_OK) return -1;
  /* There is room now, and nothing fails. A first record past the end does not move the start. */
  int is_past_end = is_at_or_above_end(t, key);
  if (is_first && (!is_past_end || tr_bytes_compare(key, end_of(t)) == 0)) {
    tr_buffer_set(&t->range.start, key, NULL);
  }
  tr_buffer_set(&t->position, key, NULL);
  t->has_position = 1;
  if (is_split_point && is_past_end) {
    t->is_done = 1;
    return 0;
  }
  t->split_points += is_split_point != 0;
  tr_buffer_set(&t->returned, key, NULL);
  t->has_returned = 1;
  return 1;
}

int tr_byte_key_record_tracker_try_return_record_at(tr_byte_key_record_tracker *t,
                                                    int is_split_point, tr_bytes key,
                                                    tr_error *err) {
  pthread_mutex_lock(&t->mutex);
  int may_return = try_return(t, is_split_point, key, err);
  pthread_mutex_unlock(&t->mutex);
  return may_return;
}

static int try_claim(tr_tracker *tracker, tr_position position, tr_error *err) {
  return tr_byte_key_record_tracker_try_return_record_at(of(tracker), 1, position.key, err);
}

void tr_byte_key_record_tracker_mark_done(tr_byte_key_record_tracker *t) {
  pthread_mutex_lock(&t->mutex);
  t->is_done = 1;
  pthread_mutex_unlock(&t->mutex);
}

static tr_code claim_end(tr_tracker *tracker, tr_error *err) {
  (void)err;
  tr_byte_key_record_tracker_mark_done(of(tracker));
  return TR_OK;
}

int tr_byte_key_record_tracker_is_done(tr_byte_key_record_tracker *t) {
  pthread_mutex_lock(&t->mutex);
  int done = t->is_done;
  pthread_mutex_unlock(&t->mutex);
  return done;
}

/* ---- Splitting ------------------------------------------------------------------------------ */

/* Ends the range at `at`, which is in it and not empty. `residual` may be NULL. */
static tr_code cut(tr_byte_key_record_tracker *t, tr_bytes at, tr_restriction *residual,
                   tr_error *err) {
  tr_buffer start = {0}, end = {0};
  tr_code code = tr_buffer_set(&end, at, err);
  if (code == TR_OK && residual != NULL) code = tr_buffer_set(&start, at, err);
  if (code != TR_OK) {
    tr_buffer_free(&end);
    return code;
  }
  if (residual != NULL) {
    *residual = (tr_restriction){.kind = TR_BYTES, .bytes = {.start = start, .end = t->range.end}};
  } else {
    tr_buffer_free(&t->range.end);
  }
  t->range.end = end;
  return TR_OK;
}

static int split_at(tr_byte_key_record_tracker *t, tr_bytes key, tr_restriction *residual,
                    tr_error *err) {
  if (!tr_byte_key_range_contains(&t->range, key) || !t->has_position ||
      tr_bytes_compare(key, position_of(t)) <= 0) {
    return 0;
  }
  return cut(t, key, residual, err) == TR_OK ? 1 : -1;
}

int tr_byte_key_record_tracker_try_split_at_position(tr_byte_key_record_tracker *t, tr_bytes key,
                                                     tr_restriction *residual, tr_error *err) {
  pthread_mutex_lock(&t->mutex);
  int is_split = split_at(t, key, residual, err);
  pthread_mutex_unlock(&t->mutex);
  return is_split;
}

tr_code tr_byte_key_record_tracker_position_for_fraction(tr_byte_key_record_tracker *t,
                                                         double fraction, tr_buffer *key,
                                                         tr_error *err) {
  pthread_mutex_lock(&t->mutex);
  tr_code code = tr_byte_key_range_interpolate(&t->range, fraction, key, err);
  pthread_mutex_unlock(&t->mutex);
  return code;
}

static int try_split_at(tr_tracker *tracker, tr_position position, tr_restriction *residual,
                        tr_error *err) {
  tr_byte_key_record_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int is_split = t->is_done ? 0 : split_at(t, position.key, residual, err);
  pthread_mutex_unlock(&t->mutex);
  return is_split;
}

static int try_split(tr_tracker *tracker, double fraction, tr_restriction *residual,
                     tr_error *err) {
  tr_byte_key_record_tracker *t = of(tracker);
  tr_buffer key = {0};
  int is_split = 0;
  pthread_mutex_lock(&t->mutex);
  if (t->has_position && !t->is_done) {
    /* A fraction out of bounds, or no room between the ends, is not an error: it is refused. */
    tr_error why;
    tr_code code = tr_byte_key_range_interpolate(&t->range, fraction, &key, &why);
    if (code == TR_OK) is_split = split_at(t, tr_buffer_bytes(&key), residual, err);
    if (code == TR_NO_MEMORY) {
      tr_error_no_memory(err);
      is_split = -1;
    }
  }
  pthread_mutex_unlock(&t->mutex);
  tr_buffer_free(&key);
  return is_split;
}

/* Gives the whole range away. What is kept holds no key. */
static tr_code give_all(tr_byte_key_record_tracker *t, tr_restriction *residual, tr_error *err) {
  tr_byte_key_range nothing;
  tr_code code = start_of(t).size == 0
                     ? tr_byte_key_range_init_no_keys(&nothing, err)
                     : tr_byte_key_range_init(&nothing, start_of(t), start_of(t), err);
  if (code != TR_OK) return code;
  *residual = (tr_restriction){.kind = TR_BYTES, .bytes = t->range};
  t->range = nothing;
  return TR_OK;
}

/* Gives everything behind the last record. */
static tr_code give_rest(tr_byte_key_record_tracker *t, tr_restriction *residual, tr_error *err) {
  tr_buffer next = {0};
  tr_code code = tr_buffer_set(&next, position_of(t), err);
  if (code == TR_OK) code = tr_buffer_append_byte(&next, 0, err);
  if (code == TR_OK) code = cut(t, tr_buffer_bytes(&next), residual, err);
  tr_buffer_free(&next);
  return code;
}

static tr_code checkpoint(tr_tracker *tracker, tr_restriction *residual, tr_error *err) {
  tr_byte_key_record_tracker *t = of(tracker);
  tr_code code;
  pthread_mutex_lock(&t->mutex);
  if (t->is_done || (t->has_position && is_at_or_above_end(t, position_of(t)))) {
    tr_byte_key_range nothing;
    code = tr_byte_key_range_init_no_keys(&nothing, err);
    if (code == TR_OK) *residual = (tr_restriction){.kind = TR_BYTES, .bytes = nothing};
  } else if (!t->has_position) {
    code = give_all(t, residual, err);
  } else {
    code = give_rest(t, residual, err);
  }
  pthread_mutex_unlock(&t->mutex);
  return code;
}

/* ---- Answering ------------------------------------------------------------------------------ */

static double fraction_of(const tr_byte_key_record_tracker *t) {
  double fraction = 0;
  if (!t->has_position) return 0;
  if (t->is_done || is_at_or_above_end(t, position_of(t))) return 1;
  if (t->position.size == 0) return 0;
  tr_byte_key_range_estimate_fraction(&t->range, position_of(t), &fraction, NULL);
  return fraction;
}

double tr_byte_key_record_tracker_fraction_consumed(tr_byte_key_record_tracker *t) {
  pthread_mutex_lock(&t->mutex);
  double fraction = fraction_of(t);
  pthread_mutex_unlock(&t->mutex);
  return fraction;
}

static double fraction_consumed(tr_tracker *tracker) {
  return tr_byte_key_record_tracker_fraction_consumed(of(tracker));
}

static double size(tr_tracker *tracker) {
  tr_byte_key_record_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  double remaining = t->is_done ? 0 : 1 - fraction_of(t);
  pthread_mutex_unlock(&t->mutex);
  return remaining;
}

int64_t tr_byte_key_record_tracker_split_points_consumed(tr_byte_key_record_tracker *t) {
  pthread_mutex_lock(&t->mutex);
  int64_t consumed = t->has_position && !t->is_done ? t->split_points - 1 : t->split_points;
  pthread_mutex_unlock(&t->mutex);
  return consumed;
}

static tr_code current_restriction(tr_tracker *tracker, tr_restriction *restriction,
                                   tr_error *err) {
  tr_byte_key_record_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  *restriction = (tr_restriction){.kind = TR_BYTES};
  tr_code code = tr_byte_key_range_init(&restriction->bytes, start_of(t), end_of(t), err);
  pthread_mutex_unlock(&t->mutex);
  return code;
}

/* Whether it is done, or nothing lies between the last record and the end. */
static int is_finished(const tr_byte_key_record_tracker *t) {
  if (t->is_done || is_at_or_above_end(t, t->has_position ? position_of(t) : start_of(t))) return 1;
  if (!t->has_position) return tr_byte_key_range_is_no_keys(&t->range);
  /* The end may be the position followed by a zero byte: then no key lies between. */
  tr_bytes end = end_of(t), position = position_of(t);
  return end.size == position.size + 1 && end.data[position.size] == 0 &&
         tr_bytes_compare((tr_bytes){end.data, position.size}, position) == 0;
}

static int is_done(tr_tracker *tracker) {
  tr_byte_key_record_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int done = is_finished(t);
  pthread_mutex_unlock(&t->mutex);
  return done;
}

static tr_code check_done(tr_tracker *tracker, tr_error *err) {
  tr_byte_key_record_tracker *t = of(tracker);
  char start[TR_KEY_MESSAGE_SIZE], end[TR_KEY_MESSAGE_SIZE], last[TR_KEY_MESSAGE_SIZE] = "null";
  pthread_mutex_lock(&t->mutex);
  tr_code code = TR_OK;
  if (!is_finished(t)) {
    if (t->has_position) tr_byte_key_message(position_of(t), last);
    code = tr_error_set(err, TR_INVALID_STATE,
                        "Last record was at %s in range ByteKeyRange{startKey=%s, endKey=%s}, what "
                        "is behind it was not read",
                        last, tr_byte_key_message(start_of(t), start),
                        tr_byte_key_message(end_of(t), end));
  }
  pthread_mutex_unlock(&t->mutex);
  return code;
}

static int copy_key(tr_byte_key_record_tracker *t, const int *has, const tr_buffer *from,
                    tr_buffer *key, tr_error *err) {
  pthread_mutex_lock(&t->mutex);
  int found = *has;
  if (found && tr_buffer_set(key, tr_buffer_bytes(from), err) != TR_OK) found = -1;
  pthread_mutex_unlock(&t->mutex);
  return found;
}

static int last_claimed(tr_tracker *tracker, tr_buffer *key, int64_t *offset, tr_error *err) {
  (void)offset;
  tr_byte_key_record_tracker *t = of(tracker);
  return copy_key(t, &t->has_returned, &t->returned, key, err);
}

static int last_attempted(tr_tracker *tracker, tr_buffer *key, int64_t *offset, tr_error *err) {
  (void)offset;
  tr_byte_key_record_tracker *t = of(tracker);
  return copy_key(t, &t->has_position, &t->position, key, err);
}

static tr_code text_of(tr_tracker *tracker, tr_buffer *text, tr_error *err) {
  tr_byte_key_record_tracker *t = of(tracker);
  size_t before = text->size;
  pthread_mutex_lock(&t->mutex);
  tr_code code = tr_buffer_append_text(text, "ByteKeyRangeTracker{range=", err);
  if (code == TR_OK) code = tr_byte_key_range_text(&t->range, text, err);
  if (code == TR_OK) code = tr_buffer_append_text(text, ", position=", err);
  if (code == TR_OK) {
    code = t->has_position ? tr_byte_key_text(position_of(t), text, err)
                           : tr_buffer_append_text(text, "null", err);
  }
  pthread_mutex_unlock(&t->mutex);
  if (code == TR_OK) code = tr_buffer_append_text(text, "}", err);
  if (code != TR_OK) text->size = before;
  return code;
}

/* ---- The beginning and the end -------------------------------------------------------------- */

static void release(tr_tracker *tracker) {
  tr_byte_key_record_tracker *t = of(tracker);
  pthread_mutex_destroy(&t->mutex);
  tr_byte_key_range_free(&t->range);
  tr_buffer_free(&t->position);
  tr_buffer_free(&t->returned);
  tr_free(t);
}

tr_code tr_byte_key_record_tracker_create(const tr_byte_key_range *range,
                                          tr_byte_key_record_tracker **tracker, tr_error *err) {
  *tracker = NULL;
  tr_byte_key_record_tracker *t = tr_malloc(sizeof *t);
  if (t == NULL) return tr_error_no_memory(err);
  *t = (tr_byte_key_record_tracker){.base = {&byte_key_record_tracker_class}};
  tr_code code = tr_mutex_init(&t->mutex, err);
  if (code != TR_OK) {
    tr_free(t);
    return code;
  }
  code = tr_byte_key_range_init(&t->range, tr_buffer_bytes(&range->start),
                                tr_buffer_bytes(&range->end), err);
  if (code != TR_OK) {
    release(&t->base);
    return code;
  }
  *tracker = t;
  return TR_OK;
}

tr_tracker *tr_byte_key_record_tracker_base(tr_byte_key_record_tracker *tracker) {
  return &tracker->base;
}

tr_byte_key_record_tracker *tr_byte_key_record_tracker_of(tr_tracker *tracker) {
  return tracker->methods == &byte_key_record_tracker_class ? of(tracker) : NULL;
}

static const tr_tracker_class byte_key_record_tracker_class = {
    .kind = TR_BYTES,
    .free = release,
    .try_claim = try_claim,
    .claim_end = claim_end,
    .try_split = try_split,
    .try_split_at = try_split_at,
    .checkpoint = checkpoint,
    .current_restriction = current_restriction,
    .check_done = check_done,
    .is_done = is_done,
    .size = size,
    .fraction_consumed = fraction_consumed,
    .last_claimed = last_claimed,
    .last_attempted = last_attempted,
    .text = text_of,
};

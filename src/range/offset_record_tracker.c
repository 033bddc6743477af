/*
** Decides for a bounded reader over integers, record by record, whether it may go on. It works like
** byte_key_record_tracker.c. The start moves to the first record even if that is past the stop, as
** in the reference. Such a range prints as [5, 3) and holds nothing.
**
** Source: Apache Beam, sdk.io.range.OffsetRangeTracker, 2.2 to 2.30.
*/
#include "range/offset_record_tracker.h"

#include <math.h>
#include "base/memory.h"
#include "base/thread.h"
#include "range/tracker_class.h"

struct tr_offset_record_tracker {
  tr_tracker base;
  pthread_mutex_t mutex;
  int64_t start;
  int64_t stop;
  int64_t last;        /* start of the last record that was asked for */
  int64_t returned;    /* of the last one that was returned */
  int64_t split_point; /* of the last split point that was returned */
  int has_last;
  int has_returned;
  int is_done;
  int64_t split_points;
};

static const tr_tracker_class offset_record_tracker_class;

static tr_offset_record_tracker *of(tr_tracker *tracker) {
  return (tr_offset_record_tracker *)tracker;
}

static int has_stop(const tr_offset_record_tracker *t) {
  return t->stop != TR_OFFSET_INFINITY;
}

static int is_started(const tr_offset_record_tracker *t) {
  return t->split_points > 0 || t->is_done;
}

/* to - from as a double: the exact difference, rounded once, even if it does not fit an int64. */
static double distance(int64_t from, int64_t to) {
  if (from <= to) return (double)((uint64_t)to - (uint64_t)from);
  return -(double)((uint64_t)from - (uint64_t)to);
}

/* ---- Text ----------------------------------------------------------------------------------- */

static tr_code append_text(const tr_offset_record_tracker *t, tr_buffer *text, tr_error *err) {
  size_t before = text->size;
  tr_code code = t->has_last
                     ? tr_buffer_printf(text, err, "<at [starting at %lld] of", (long long)t->last)
                     : tr_buffer_append_text(text, "<unstarted in", err);
  if (code == TR_OK) {
    code = tr_buffer_printf(text, err, " offset range [%lld, ", (long long)t->start);
  }
  if (code == TR_OK) {
    code = has_stop(t) ? tr_buffer_printf(text, err, "%lld)>", (long long)t->stop)
                       : tr_buffer_append_text(text, "infinity)>", err);
  }
  if (code != TR_OK) text->size = before;
  return code;
}

static tr_code text_of(tr_tracker *tracker, tr_buffer *text, tr_error *err) {
  tr_offset_record_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  tr_code code = append_text(t, text, err);
  pthread_mutex_unlock(&t->mutex);
  return code;
}

/* Fills `err` with `before`, the tracker's text and `after`. Returns `code`, or TR_NO_MEMORY. */
static tr_code complain(const tr_offset_record_tracker *t, tr_code code, const char *before,
                        const char *after, tr_error *err) {
  tr_buffer text = {0};
  tr_code built = append_text(t, &text, err);
  if (built == TR_OK) {
    built =
        tr_error_set(err, code, "%s%.*s%s", before, (int)text.size, (const char *)text.data, after);
  }
  tr_buffer_free(&text);
  return built;
}

/* ---- Returning records ---------------------------------------------------------------------- */

static int try_return(tr_offset_record_tracker *t, int is_split_point, int64_t offset,
                      tr_error *err) {
  if (!is_started(t) && !is_split_point) {
    return tr_error_no(err, TR_INVALID_STATE,
                       "The first record [starting at %lld] must be at a split point",
                       (long long)offset);
  }
  if (offset < t->start) {
    return tr_error_no(err, TR_INVALID_STATE,
                       "Trying to return record [starting at %lld] which is before the start "
                       "offset [%lld]",
                       (long long)offset, (long long)t->start);
  }
  if (t->has_last && offset < t->last) {
    return tr_error_no(err, TR_INVALID_STATE,
                       "Trying to return record [starting at %lld] which is before the "
                       "last-returned record [starting at %lld]",
                       (long long)offset, (long long)t->last);
  }
  if (is_split_point && t->split_points > 0 && offset == t->split_point) {
    return tr_error_no(err, TR_INVALID_STATE,
                       "Record at a split point has same offset as the previous split point: "
                       "previous split point at %lld, current record starts at %lld",
                       (long long)t->split_point, (long long)offset);
  }
  if (!t->has_last) t->start = offset;
  t->last = offset;
  t->has_last = 1;
  if (is_split_point && offset >= t->stop) {
    t->is_done = 1;
    return 0;
  }
  if (is_split_point) {
    t->split_point = offset;
    t->split_points++;
  }
  t->returned = offset;
  t->has_returned = 1;
  return 1;
}

int tr_offset_record_tracker_try_return_record_at(tr_offset_record_tracker *t, int is_split_point,
                                                  int64_t offset, tr_error *err) {
  pthread_mutex_lock(&t->mutex);
  int may_return = try_return(t, is_split_point, offset, err);
  pthread_mutex_unlock(&t->mutex);
  return may_return;
}

static int try_claim(tr_tracker *tracker, tr_position position, tr_error *err) {
  return tr_offset_record_tracker_try_return_record_at(of(tracker), 1, position.offset, err);
}

void tr_offset_record_tracker_mark_done(tr_offset_record_tracker *t) {
  pthread_mutex_lock(&t->mutex);
  t->is_done = 1;
  pthread_mutex_unlock(&t->mutex);
}

static tr_code claim_end(tr_tracker *tracker, tr_error *err) {
  (void)err;
  tr_offset_record_tracker_mark_done(of(tracker));
  return TR_OK;
}

int tr_offset_record_tracker_is_done(tr_offset_record_tracker *t) {
  pthread_mutex_lock(&t->mutex);
  int done = t->is_done;
  pthread_mutex_unlock(&t->mutex);
  return done;
}

int tr_offset_record_tracker_is_started(tr_offset_record_tracker *t) {
  pthread_mutex_lock(&t->mutex);
  int started = is_started(t);
  pthread_mutex_unlock(&t->mutex);
  return started;
}

/* ---- Splitting ------------------------------------------------------------------------------ */

static void cut(tr_offset_record_tracker *t, int64_t at, tr_restriction *residual) {
  if (residual != NULL) {
    *residual = (tr_restriction){.kind = TR_INTEGERS, .integers = {at, t->stop}};
  }
  t->stop = at;
}

static int split_at(tr_offset_record_tracker *t, int64_t offset, tr_restriction *residual) {
  if (!has_stop(t) || !is_started(t) || (t->has_last && offset <= t->last)) return 0;
  if (offset < t->start || offset >= t->stop) return 0;
  cut(t, offset, residual);
  return 1;
}

int tr_offset_record_tracker_try_split_at_position(tr_offset_record_tracker *t, int64_t offset,
                                                   tr_restriction *residual) {
  pthread_mutex_lock(&t->mutex);
  int is_split = split_at(t, offset, residual);
  pthread_mutex_unlock(&t->mutex);
  return is_split;
}

static int64_t position_for_fraction(const tr_offset_record_tracker *t, double fraction) {
  double position = floor((double)t->start + fraction * distance(t->start, t->stop));
  if (isnan(position)) return 0;
  if (position >= 0x1p63) return INT64_MAX;
  if (position < -0x1p63) return INT64_MIN;
  return (int64_t)position;
}

tr_code tr_offset_record_tracker_position_for_fraction(tr_offset_record_tracker *t, double fraction,
                                                       int64_t *offset, tr_error *err) {
  pthread_mutex_lock(&t->mutex);
  tr_code code = TR_OK;
  if (has_stop(t)) {
    *offset = position_for_fraction(t, fraction);
  } else {
    code = complain(t, TR_INVALID_ARGUMENT,
                    "getPositionForFractionConsumed is not applicable to an unbounded range: ", "",
                    err);
  }
  pthread_mutex_unlock(&t->mutex);
  return code;
}

static int try_split(tr_tracker *tracker, double fraction, tr_restriction *residual,
                     tr_error *err) {
  (void)err;
  tr_offset_record_tracker *t = of(tracker);
  int is_split = 0;
  pthread_mutex_lock(&t->mutex);
  if (!t->is_done && fraction >= 0 && fraction < 1) {
    is_split = split_at(t, position_for_fraction(t, fraction), residual);
  }
  pthread_mutex_unlock(&t->mutex);
  return is_split;
}

static int try_split_at(tr_tracker *tracker, tr_position position, tr_restriction *residual,
                        tr_error *err) {
  (void)err;
  tr_offset_record_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int is_split = t->is_done ? 0 : split_at(t, position.offset, residual);
  pthread_mutex_unlock(&t->mutex);
  return is_split;
}

static tr_code checkpoint(tr_tracker *tracker, tr_restriction *residual, tr_error *err) {
  (void)err;
  tr_offset_record_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int64_t at = t->start;
  if (t->has_last) at = t->last < t->stop ? t->last + 1 : t->stop;
  if (t->is_done || at > t->stop) at = t->stop;
  cut(t, at, residual);
  pthread_mutex_unlock(&t->mutex);
  return TR_OK;
}

/* ---- Answering ------------------------------------------------------------------------------ */

static double fraction_of(const tr_offset_record_tracker *t) {
  if (!is_started(t)) return 0;
  if (t->is_done) return 1;
  if (!has_stop(t)) return 0;
  if (t->last >= t->stop) return 1;
  return fmin(1, distance(t->start, t->last) / distance(t->start, t->stop));
}

double tr_offset_record_tracker_fraction_consumed(tr_offset_record_tracker *t) {
  pthread_mutex_lock(&t->mutex);
  double fraction = fraction_of(t);
  pthread_mutex_unlock(&t->mutex);
  return fraction;
}

static double fraction_consumed(tr_tracker *tracker) {
  return tr_offset_record_tracker_fraction_consumed(of(tracker));
}

/* The number of offsets left, including the present one. */
static double size(tr_tracker *tracker) {
  tr_offset_record_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  double left = distance(t->has_last ? t->last : t->start, t->stop);
  if (t->is_done) left = 0;
  pthread_mutex_unlock(&t->mutex);
  return left > 0 ? left : 0;
}

int64_t tr_offset_record_tracker_split_points_consumed(tr_offset_record_tracker *t) {
  pthread_mutex_lock(&t->mutex);
  int64_t consumed = is_started(t) && !t->is_done ? t->split_points - 1 : t->split_points;
  pthread_mutex_unlock(&t->mutex);
  return consumed;
}

void tr_offset_record_tracker_range(tr_offset_record_tracker *t, int64_t *start, int64_t *stop) {
  pthread_mutex_lock(&t->mutex);
  *start = t->start;
  *stop = t->stop;
  pthread_mutex_unlock(&t->mutex);
}

/*
** A range that ends before it starts is returned as [stop, stop). The reference prints it as it is.
*/
static tr_code current_restriction(tr_tracker *tracker, tr_restriction *restriction,
                                   tr_error *err) {
  (void)err;
  tr_offset_record_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int64_t from = t->start < t->stop ? t->start : t->stop;
  *restriction = (tr_restriction){.kind = TR_INTEGERS, .integers = {from, t->stop}};
  pthread_mutex_unlock(&t->mutex);
  return TR_OK;
}

static int is_finished(const tr_offset_record_tracker *t) {
  if (t->is_done || t->start >= t->stop) return 1;
  return t->has_last && t->last >= t->stop - 1;
}

static int is_done(tr_tracker *tracker) {
  tr_offset_record_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int done = is_finished(t);
  pthread_mutex_unlock(&t->mutex);
  return done;
}

static tr_code check_done(tr_tracker *tracker, tr_error *err) {
  tr_offset_record_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  tr_code code = TR_OK;
  if (!is_finished(t)) {
    code = complain(t, TR_INVALID_STATE, "Reader ", ": what is behind it was not read", err);
  }
  pthread_mutex_unlock(&t->mutex);
  return code;
}

static int last_claimed(tr_tracker *tracker, tr_buffer *key, int64_t *offset, tr_error *err) {
  (void)key, (void)err;
  tr_offset_record_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int has = t->has_returned;
  if (has) *offset = t->returned;
  pthread_mutex_unlock(&t->mutex);
  return has;
}

static int last_attempted(tr_tracker *tracker, tr_buffer *key, int64_t *offset, tr_error *err) {
  (void)key, (void)err;
  tr_offset_record_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int has = t->has_last;
  if (has) *offset = t->last;
  pthread_mutex_unlock(&t->mutex);
  return has;
}

/* ---- The beginning and the end -------------------------------------------------------------- */

static void release(tr_tracker *tracker) {
  pthread_mutex_destroy(&of(tracker)->mutex);
  tr_free(tracker);
}

tr_code tr_offset_record_tracker_create(int64_t start, int64_t stop,
                                        tr_offset_record_tracker **tracker, tr_error *err) {
  *tracker = NULL;
  tr_offset_record_tracker *t = tr_malloc(sizeof *t);
  if (t == NULL) return tr_error_no_memory(err);
  *t = (tr_offset_record_tracker){
      .base = {&offset_record_tracker_class}, .start = start, .stop = stop};
  tr_code code = tr_mutex_init(&t->mutex, err);
  if (code != TR_OK) {
    tr_free(t);
    return code;
  }
  *tracker = t;
  return TR_OK;
}

tr_tracker *tr_offset_record_tracker_base(tr_offset_record_tracker *tracker) {
  return &tracker->base;
}

tr_offset_record_tracker *tr_offset_record_tracker_of(tr_tracker *tracker) {
  return tracker->methods == &offset_record_tracker_class ? of(tracker) : NULL;
}

static const tr_tracker_class offset_record_tracker_class = {
    .kind = TR_INTEGERS,
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

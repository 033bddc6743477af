/*
** The arithmetic of counting. Distances are unsigned and modulo 2^64, where the difference of two
** int64 never overflows. A distance becomes a number again only where the result is known to fit.
*/
#include "reader/counting_source.h"

/* |step|, also for -2^63. */
static uint64_t stride(int64_t step) {
  return step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
}

/* The distance of two numbers in either order. */
static uint64_t distance(int64_t a, int64_t b) {
  return a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
}

/* The number that is `steps` steps from `value`. It must be within int64. */
static int64_t walk(int64_t value, int64_t step, uint64_t steps) {
  return (int64_t)((uint64_t)value + (uint64_t)step * steps);
}

/* 1 if `b` comes after `a` in the direction of counting. */
static int is_behind(int64_t b, int64_t a, int is_up) {
  return is_up ? b > a : b < a;
}

/*
** Whether it counts up. The step does not tell: -2^63 keeps its sign when the source is reversed.
*/
static int is_up(const tr_counting_source *source) {
  return source->first <= source->last;
}

static tr_code check_step(int64_t step, tr_error *err) {
  if (step != 0) return TR_OK;
  return tr_error_set(err, TR_INVALID_ARGUMENT, "a step of 0 never ends");
}

/* The numbers from `start` through `bound`, which does not come before start. */
static tr_counting_source source_through(int64_t start, int64_t bound, int64_t step) {
  uint64_t steps = distance(start, bound) / stride(step);
  return (tr_counting_source){.first = start, .last = walk(start, step, steps), .step = step};
}

tr_code tr_counting_source_init_unbounded(tr_counting_source *source, int64_t start, int64_t step,
                                          tr_error *err) {
  if (check_step(step, err) != TR_OK) return TR_INVALID_ARGUMENT;
  *source = source_through(start, step > 0 ? INT64_MAX : INT64_MIN, step);
  return TR_OK;
}

tr_code tr_counting_source_init(tr_counting_source *source, int64_t start, int64_t up_to,
                                int64_t step, tr_error *err) {
  if (check_step(step, err) != TR_OK) return TR_INVALID_ARGUMENT;
  if (is_behind(up_to, start, step > 0)) {
    *source = source_through(start, step > 0 ? up_to - 1 : up_to + 1, step);
  } else {
    *source = (tr_counting_source){.first = start, .last = start, .step = step, .is_empty = 1};
  }
  return TR_OK;
}

uint64_t tr_counting_source_count(const tr_counting_source *source) {
  if (source->is_empty) return 0;
  uint64_t steps = distance(source->first, source->last) / stride(source->step);
  return steps == UINT64_MAX ? steps : steps + 1;
}

int tr_counting_source_contains(const tr_counting_source *source, int64_t value) {
  if (source->is_empty || is_behind(source->first, value, is_up(source)) ||
      is_behind(value, source->last, is_up(source))) {
    return 0;
  }
  return distance(source->first, value) % stride(source->step) == 0;
}

/* Drops the numbers before `bound`, in the direction of counting. */
static void begin_at(tr_counting_source *source, int64_t bound, int up) {
  if (source->is_empty || !is_behind(bound, source->first, up)) return;
  uint64_t gap = distance(source->first, bound);
  uint64_t step = stride(source->step);
  tr_counting_source_skip(source, gap / step + (gap % step != 0));
}

/* Drops the numbers behind `bound`. */
static void end_at(tr_counting_source *source, int64_t bound, int up) {
  if (source->is_empty || !is_behind(source->last, bound, up)) return;
  if (is_behind(source->first, bound, up)) {
    source->is_empty = 1;
    return;
  }
  uint64_t steps = distance(source->first, bound) / stride(source->step);
  source->last = walk(source->first, source->step, steps);
}

void tr_counting_source_restrict(tr_counting_source *source, int64_t low, int64_t high) {
  if (low > high) source->is_empty = 1;
  int up = is_up(source);
  begin_at(source, up ? low : high, up);
  end_at(source, up ? high : low, up);
}

void tr_counting_source_take(tr_counting_source *source, uint64_t count) {
  if (count == 0) {
    source->is_empty = 1;
  } else if (!source->is_empty &&
             count - 1 < distance(source->first, source->last) / stride(source->step)) {
    source->last = walk(source->first, source->step, count - 1);
  }
}

void tr_counting_source_skip(tr_counting_source *source, uint64_t count) {
  if (source->is_empty) return;
  if (count > distance(source->first, source->last) / stride(source->step)) {
    source->is_empty = 1;
  } else {
    source->first = walk(source->first, source->step, count);
  }
}

void tr_counting_source_reverse(tr_counting_source *source) {
  int64_t first = source->first;
  source->first = source->last;
  source->last = first;
  /*
  ** A step of -2^63 keeps its sign. Modulo 2^64 it is its own opposite, so counting is still right.
  */
  source->step = (int64_t)(0 - (uint64_t)source->step);
}

int64_t tr_counting_offset(int64_t value, int64_t step) {
  return step > 0 ? value : -1 - value;
}

int64_t tr_counting_value(int64_t offset, int64_t step) {
  return step > 0 ? offset : -1 - offset;
}

void tr_counting_source_restrict_offsets(tr_counting_source *source, const tr_offset_range *range) {
  if (range->from >= range->to) {
    source->is_empty = 1;
    return;
  }
  int64_t first = tr_counting_value(range->from, source->step);
  int64_t last = tr_counting_value(range->to - 1, source->step);
  tr_counting_source_restrict(source, first < last ? first : last, first < last ? last : first);
}

tr_offset_range tr_counting_offsets(int64_t start, const int64_t *up_to, int64_t step) {
  int64_t from = tr_counting_offset(start, step);
  int64_t to = up_to == NULL ? INT64_MAX : tr_counting_offset(*up_to, step);
  return (tr_offset_range){from, to < from ? from : to};
}

/*
** Claims integers of one half-open range [from, to) in increasing order, while others may take the
** unclaimed rest away. It works like byte_key_tracker.c.
**
** The int64 line ends at 2^63-1, which `to` can be but an offset in the range cannot. So an offset
** below `to` has a next one, and widths are unsigned. A position that may be outside the line, such
** as the one before `from`, is computed in 128 bits.
**
** Invariants (under the mutex): from <= to; last claimed <= last attempted; a last attempt below
** `to` was claimed.
**
** Source: Apache Beam, OffsetRangeTracker (sdk.transforms.splittabledofn) 2.15 and 2.30.
*/
#include "range/offset_tracker.h"

#include "base/double_text.h"
#include "base/memory.h"
#include "base/thread.h"
#include "range/tracker_class.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

struct tr_offset_tracker {
  tr_tracker base;
  pthread_mutex_t mutex;
  tr_offset_range range;
  int64_t attempted;
  int64_t claimed;
  int has_attempted;
  int has_claimed;
};

static const tr_tracker_class offset_tracker_class;

static tr_offset_tracker *of(tr_tracker *tracker) {
  return (tr_offset_tracker *)tracker;
}

/* ---- Where the tracker stands --------------------------------------------------------------- */

/* The lowest offset that was not attempted, at most the end. */
static int64_t frontier(const tr_offset_tracker *t) {
  if (!t->has_attempted) return t->range.from;
  return t->attempted < t->range.to ? t->attempted + 1 : t->range.to;
}

static double remaining(const tr_offset_tracker *t) {
  tr_offset_range rest = t->range;
  if (t->has_attempted) rest.from = t->attempted < rest.to ? t->attempted : rest.to;
  return (double)tr_offset_range_width(&rest);
}

static double fraction_consumed(const tr_offset_tracker *t) {
  double width = (double)tr_offset_range_width(&t->range);
  if (width == 0) return 1;
  if (!t->has_attempted) return 0;
  if (t->attempted >= t->range.to) return 1;
  tr_offset_range consumed = {t->range.from, t->attempted};
  return (double)tr_offset_range_width(&consumed) / width;
}

/* ---- Claiming ------------------------------------------------------------------------------- */

static int claim(tr_offset_tracker *t, int64_t offset, tr_error *err) {
  if (t->has_attempted && offset <= t->attempted) {
    return tr_error_no(err, TR_INVALID_ARGUMENT,
                       "Trying to claim offset %lld while last attempted was %lld",
                       (long long)offset, (long long)t->attempted);
  }
  if (offset < t->range.from) {
    return tr_error_no(err, TR_INVALID_ARGUMENT,
                       "Trying to claim offset %lld before start of the range [%lld, %lld)",
                       (long long)offset, (long long)t->range.from, (long long)t->range.to);
  }
  t->has_attempted = 1;
  t->attempted = offset;
  if (offset >= t->range.to) return 0;
  t->has_claimed = 1;
  t->claimed = offset;
  return 1;
}

int tr_offset_tracker_try_claim(tr_offset_tracker *t, int64_t offset, tr_error *err) {
  pthread_mutex_lock(&t->mutex);
  int claimed = claim(t, offset, err);
  pthread_mutex_unlock(&t->mutex);
  return claimed;
}

static int try_claim(tr_tracker *tracker, tr_position position, tr_error *err) {
  return tr_offset_tracker_try_claim(of(tracker), position.offset, err);
}

static tr_code claim_end(tr_tracker *tracker, tr_error *err) {
  (void)err;
  tr_offset_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  if (!t->has_attempted || t->attempted < t->range.to) {
    t->has_attempted = 1;
    t->attempted = t->range.to;
  }
  pthread_mutex_unlock(&t->mutex);
  return TR_OK;
}

/* ---- Where to split ------------------------------------------------------------------------- */

/* The reference computes in decimal numbers of this many digits, rounding half to even. */
#define DECIMAL_DIGITS 34

/* A decimal number that is not negative: whole + part / 10^scale, part < 10^scale. */
typedef struct decimal {
  unsigned_wide whole;
  unsigned_wide part;
  int scale;
} decimal;

static unsigned_wide power_of_ten(int exponent) {
  unsigned_wide power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

static int count_digits(unsigned_wide x) {
  int digits = 0;
  for (; x > 0; x /= 10) digits++;
  return digits;
}

/* x / 10^digits, rounded half to even. */
static unsigned_wide drop_digits(unsigned_wide x, int digits) {
  unsigned_wide unit = power_of_ten(digits), quotient = x / unit, rest = x % unit;
  if (rest * 2 > unit || (rest * 2 == unit && quotient % 2 == 1)) quotient++;
  return quotient;
}

/*
** width * fraction in 34 digits, but at least 1. The fraction is below 1 and has at most 17 digits,
** so the exact product is below 2^64 * 10^17, which fits.
*/
static decimal part_of(unsigned_wide width, double fraction) {
  const decimal one = {1, 0, 0};
  if (fraction <= 0) return one;
  tr_double_digits digits = tr_double_shortest(fraction);
  unsigned_wide product = 0;
  for (int i = 0; i < digits.count; i++) {
    unsigned digit = (unsigned)(digits.digits[i] - '0');
    product = product * 10 + digit;
  }
  product *= width;
  int scale = digits.count - digits.exponent, excess = count_digits(product) - DECIMAL_DIGITS;
  if (excess > 0) {
    product = drop_digits(product, excess);
    scale -= excess;
  }
  /* 34 digits with more than 34 of them behind the point: below one. */
  if (scale > DECIMAL_DIGITS) return one;
  unsigned_wide unit = power_of_ten(scale);
  return product < unit ? one : (decimal){product / unit, product % unit, scale};
}

/*
** before + step in 34 digits, cut off towards zero. The result may be above the line.
**
** Only a carry from the fraction matters. The sum keeps as many digits of the fraction as the whole
** part leaves room for, and rounding there may make 0.999... a whole.
*/
static wide sum_cut_off(wide before, decimal step) {
  wide whole = before + (wide)step.whole;
  unsigned_wide part = step.part, unit = power_of_ten(step.scale);
  int is_negative = whole < 0;
  if (is_negative && part > 0) {
    /* whole + part is -( (-whole - 1) + (1 - part) ) */
    whole++;
    part = unit - part;
  }
  int digits = count_digits((unsigned_wide)(is_negative ? -whole : whole));
  int excess = (digits == 0 ? count_digits(part) : digits + step.scale) - DECIMAL_DIGITS;
  if (excess > 0) {
    part = drop_digits(part, excess);
    unit = power_of_ten(step.scale - excess);
  }
  if (part < unit) return whole;
  return is_negative ? whole - 1 : whole + 1;
}

/* The position of a split at `fraction` of what is behind the frontier. At or above `to`: none. */
static wide split_position(const tr_offset_tracker *t, double fraction) {
  wide before = (wide)frontier(t) - 1, to = t->range.to;
  if (!(fraction < 1) || frontier(t) >= to) return to;
  return sum_cut_off(before, part_of((unsigned_wide)(to - before), fraction));
}

/* ---- Giving away ---------------------------------------------------------------------------- */

/*
** Cuts the range at `at`, from <= at <= to. The tracker keeps [from, at) and gives the rest away.
*/
static void cut(tr_offset_tracker *t, int64_t at, tr_restriction *residual) {
  *residual = (tr_restriction){.kind = TR_INTEGERS, .integers = {at, t->range.to}};
  t->range.to = at;
}

static int try_split(tr_tracker *tracker, double fraction, tr_restriction *residual,
                     tr_error *err) {
  (void)err;
  tr_offset_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  wide at = split_position(t, fraction);
  int is_split = at < t->range.to;
  if (is_split) cut(t, (int64_t)at, residual);
  pthread_mutex_unlock(&t->mutex);
  return is_split;
}

static int try_split_at(tr_tracker *tracker, tr_position position, tr_restriction *residual,
                        tr_error *err) {
  (void)err;
  tr_offset_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int64_t at = position.offset;
  int is_split = at > t->range.from && at >= frontier(t) && at < t->range.to;
  if (is_split) cut(t, at, residual);
  pthread_mutex_unlock(&t->mutex);
  return is_split;
}

static tr_code checkpoint(tr_tracker *tracker, tr_restriction *residual, tr_error *err) {
  tr_offset_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  tr_code code = TR_OK;
  if (!t->has_claimed) {
    code = tr_error_set(err, TR_INVALID_STATE,
                        "Can't checkpoint before any offset was successfully claimed");
  } else {
    /* Behind what was claimed, even if a later attempt was refused. */
    cut(t, t->claimed + 1, residual);
  }
  pthread_mutex_unlock(&t->mutex);
  return code;
}

/* ---- Answering ------------------------------------------------------------------------------ */

static tr_code current_restriction(tr_tracker *tracker, tr_restriction *restriction,
                                   tr_error *err) {
  (void)err;
  tr_offset_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  *restriction = (tr_restriction){.kind = TR_INTEGERS, .integers = t->range};
  pthread_mutex_unlock(&t->mutex);
  return TR_OK;
}

static tr_code check_done(tr_tracker *tracker, tr_error *err) {
  tr_offset_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  long long from = t->range.from, to = t->range.to, next = frontier(t);
  tr_code code = TR_OK;
  if (next < to && !t->has_attempted) {
    code = tr_error_set(err, TR_INVALID_STATE,
                        "Last attempted offset should not be null. No work was claimed in "
                        "non-empty range [%lld, %lld).",
                        from, to);
  } else if (next < to) {
    code = tr_error_set(err, TR_INVALID_STATE,
                        "Last attempted offset was %lld in range [%lld, %lld), claiming work in "
                        "[%lld, %lld) was not attempted",
                        (long long)t->attempted, from, to, next, to);
  }
  pthread_mutex_unlock(&t->mutex);
  return code;
}

static int is_done(tr_tracker *tracker) {
  tr_offset_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int done = frontier(t) >= t->range.to;
  pthread_mutex_unlock(&t->mutex);
  return done;
}

static double size(tr_tracker *tracker) {
  tr_offset_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  double left = remaining(t);
  pthread_mutex_unlock(&t->mutex);
  return left;
}

static double fraction(tr_tracker *tracker) {
  tr_offset_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  double consumed = fraction_consumed(t);
  pthread_mutex_unlock(&t->mutex);
  return consumed;
}

static int last_claimed(tr_tracker *tracker, tr_buffer *key, int64_t *offset, tr_error *err) {
  (void)key, (void)err;
  tr_offset_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int has = t->has_claimed;
  if (has) *offset = t->claimed;
  pthread_mutex_unlock(&t->mutex);
  return has;
}

static int last_attempted(tr_tracker *tracker, tr_buffer *key, int64_t *offset, tr_error *err) {
  (void)key, (void)err;
  tr_offset_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int has = t->has_attempted;
  if (has) *offset = t->attempted;
  pthread_mutex_unlock(&t->mutex);
  return has;
}

/* Appends `name` and the offset; `null` if there is none. */
static tr_code offset_member(const char *name, int64_t offset, int has_offset, tr_buffer *text,
                             tr_error *err) {
  if (!has_offset) return tr_buffer_printf(text, err, "%snull", name);
  return tr_buffer_printf(text, err, "%s%lld", name, (long long)offset);
}

static tr_code text_of(tr_tracker *tracker, tr_buffer *text, tr_error *err) {
  tr_offset_tracker *t = of(tracker);
  size_t before = text->size;
  pthread_mutex_lock(&t->mutex);
  tr_code code = tr_buffer_append_text(text, "OffsetRangeTracker{range=", err);
  if (code == TR_OK) code = tr_offset_range_text(&t->range, text, err);
  if (code == TR_OK) {
    code = offset_member(", lastClaimedOffset=", t->claimed, t->has_claimed, text, err);
  }
  if (code == TR_OK) {
    code = offset_member(", lastAttemptedOffset=", t->attempted, t->has_attempted, text, err);
  }
  pthread_mutex_unlock(&t->mutex);
  if (code == TR_OK) code = tr_buffer_append_text(text, "}", err);
  if (code != TR_OK) text->size = before;
  return code;
}

/* ---- The beginning and the end -------------------------------------------------------------- */

static void release(tr_tracker *tracker) {
  pthread_mutex_destroy(&of(tracker)->mutex);
  tr_free(tracker);
}

tr_code tr_offset_tracker_create(tr_offset_range range, tr_offset_tracker **tracker,
                                 tr_error *err) {
  *tracker = NULL;
  tr_offset_tracker *t = tr_malloc(sizeof *t);
  if (t == NULL) return tr_error_no_memory(err);
  *t = (tr_offset_tracker){.base = {&offset_tracker_class}, .range = range};
  tr_code code = tr_mutex_init(&t->mutex, err);
  if (code != TR_OK) {
    tr_free(t);
    return code;
  }
  *tracker = t;
  return TR_OK;
}

tr_tracker *tr_offset_tracker_base(tr_offset_tracker *tracker) {
  return &tracker->base;
}

tr_offset_tracker *tr_offset_tracker_of(tr_tracker *tracker) {
  return tracker->methods == &offset_tracker_class ? of(tracker) : NULL;
}

static const tr_tracker_class offset_tracker_class = {
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
    .fraction_consumed = fraction,
    .last_claimed = last_claimed,
    .last_attempted = last_attempted,
    .text = text_of,
};

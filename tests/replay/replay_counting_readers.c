/*
** Replays the readers of tests/vectors/counting.jsonl.
**
** A bounded reader is tr_reader over a counting cursor and a tracker. Each line runs over the
** tracker of bounded readers ("record") and over the splittable one ("splittable"). Ours has no
** split points: what the record says of them is computed from the rows that came and the reader's
** source.
**
** An unbounded reader is a counting source behind a pacing, driven by a scripted clock that refuses
** to wait: it answers "not due" instead. Its mark is what it needs to go on: the last number, the
** time of the start, and with us the count. Its backlog is the number of records that it could give
** without a wait.
*/
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/double_text.h"
#include "jsonl.h"
#include "range/offset_record_tracker.h"
#include "reader/counting_reader.h"
#include "reader/pacing.h"
#include "verdict.h"

__extension__ typedef __int128 wide;

/* `drain` ends after so many, and lists no more than the second. */
enum { DRAINED_MOST = 500, DRAINED_LISTED = 12, BYTES_OF_NUMBER = 8 };

static const int64_t millisecond = 1000000;

typedef enum phase { UNSTARTED, RUNNING, ENDED } phase;

/* Both kinds, the plainest way. */
typedef struct model {
  int is_bounded, is_splittable;
  phase phase;
  wide from, to, current; /* bounded */
  int64_t rows;
  wide start, stride, rate, period, given; /* unbounded: `given` counts from `start` */
  wide clock, clock_at_start;
  int has_clock_at_start;
} model;

typedef struct replay {
  jsonl *file;
  const char *line;
  model model;
  /* bounded */
  tr_tracker *tracker;
  tr_counting_cursor cursor;
  tr_reader reader;
  int64_t rows; /* that came from the reader */
  int has_ended;
  /* unbounded */
  tr_counting_source source;
  tr_pacing pacing;
  int64_t clock;
  int64_t value;
  int has_value;
} replay;

static void append(text to, const char *format, ...) TR_PRINTF(2, 3);

static void append(text to, const char *format, ...) {
  size_t size = strlen(to);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(to + size, TEXT_SIZE - size, format, arguments);
  va_end(arguments);
}

static void put_count(text to, int64_t count) {
  snprintf(to, TEXT_SIZE, "%" PRId64, count);
}

static void put_double(text to, double x) {
  snprintf(to, TEXT_SIZE, "%.17g", x);
}

static void put_answer(text to, int yes, const tr_error *err) {
  put(to, yes > 0 ? "true" : "false");
  if (yes < 0) put_our_error(to, err);
}

static void put_range(text to, wide from, wide end) {
  snprintf(to, TEXT_SIZE, "[%" PRId64 ", %" PRId64 ")", (int64_t)from, (int64_t)end);
}

static void put_state_error(text to, const char *message) {
  put_error(to, "IllegalStateException", message);
}

/* ---- Bounded readers ------------------------------------------------------------------------ */

static void bounded_new(replay *r, step *s) {
  int64_t from = jsonl_integer(r->file, r->line, "from");
  int64_t to = jsonl_integer(r->file, r->line, "to");
  tr_error err;
  tr_code code = tr_counting_source_init(&r->cursor.rest, from, to, 1, &err);
  if (code == TR_OK && r->model.is_splittable) {
    tr_restriction range = {.kind = TR_INTEGERS, .integers = {from, to}};
    code = tr_tracker_create(&range, &r->tracker, &err);
  } else if (code == TR_OK) {
    tr_offset_record_tracker *tracker;
    code = tr_offset_record_tracker_create(from, to, &tracker, &err);
    if (code == TR_OK) r->tracker = tr_offset_record_tracker_base(tracker);
  }
  put(s->ours, "ok");
  if (code == TR_OK) {
    code = tr_reader_init(&r->reader, &tr_counting_cursor_class, &r->cursor, r->tracker, &err);
  }
  if (code != TR_OK) put_our_error(s->ours, &err);
  put(s->documented, "ok");
  r->model.from = from;
  r->model.to = to;
}

static int move_ours(replay *r, tr_error *err, int is_start) {
  int moved = is_start ? tr_reader_start(&r->reader, err) : tr_reader_advance(&r->reader, err);
  if (moved > 0) r->rows++;
  if (moved == 0) r->has_ended = 1;
  return moved;
}

static int move_models(model *m) {
  wide next = m->phase == UNSTARTED ? m->from : m->current + 1;
  if (m->phase == ENDED) return 0;
  m->phase = next < m->to ? RUNNING : ENDED;
  if (m->phase == ENDED) return 0;
  m->current = next;
  m->rows++;
  return 1;
}

static void bounded_start(replay *r, step *s) {
  tr_error err;
  put_answer(s->ours, move_ours(r, &err, 1), &err);
  if (r->model.phase != UNSTARTED) {
    put_state_error(s->documented, "the reader was started already");
  } else {
    put(s->documented, move_models(&r->model) ? "true" : "false");
  }
}

static void bounded_advance(replay *r, step *s) {
  tr_error err;
  put_answer(s->ours, move_ours(r, &err, 0), &err);
  if (r->model.phase == UNSTARTED) {
    put_state_error(s->documented, "the reader has not been started");
  } else {
    put(s->documented, move_models(&r->model) ? "true" : "false");
  }
}

/* n calls: how many said yes. */
static void bounded_advance_n(replay *r, step *s, const char *json) {
  int64_t yes = 0, models_yes = 0;
  tr_error err = {.code = TR_OK};
  int moved = 0;
  for (int64_t n = jsonl_integer(r->file, json, "n"); n > 0 && moved >= 0; n--) {
    moved = move_ours(r, &err, 0);
    yes += moved > 0;
    if (r->model.phase != UNSTARTED) models_yes += move_models(&r->model);
  }
  put_count(s->ours, yes);
  put_count(s->documented, models_yes);
  if (moved < 0) {
    put_our_error(s->ours, &err);
    put_state_error(s->documented, "the reader has not been started");
  }
}

static void bounded_current(replay *r, step *s) {
  tr_position position;
  tr_error err;
  if (tr_reader_current(&r->reader, &position, &err) == TR_OK) {
    put_count(s->ours, position.offset);
  } else {
    put_our_error(s->ours, &err);
  }
  put_count(s->documented, (int64_t)r->model.current);
  if (r->model.phase != RUNNING) {
    put_state_error(s->documented, "the reader has no current record");
  }
}

static int is_infinite(const model *m) {
  return m->to == INT64_MAX;
}

static void bounded_fraction(replay *r, step *s) {
  const model *m = &r->model;
  put_double(s->ours, tr_reader_fraction_consumed(&r->reader));
  double fraction = m->phase == ENDED;
  if (m->phase == RUNNING && (m->is_splittable || !is_infinite(m))) {
    fraction = (double)(m->current - m->from) / (double)(m->to - m->from);
  }
  put_double(s->documented, fraction);
}

static void bounded_split_points_consumed(replay *r, step *s) {
  const model *m = &r->model;
  put_count(s->ours, r->rows - (r->rows > 0 && !r->has_ended));
  put_count(s->documented, m->rows - (m->rows > 0 && m->phase == RUNNING));
}

/* From the present record, or from 0 as the record has it, to the end of the source. */
static void bounded_split_points_remaining(replay *r, step *s) {
  const model *m = &r->model;
  tr_position position = tr_position_of_offset(0);
  tr_restriction source;
  tr_reader_current(&r->reader, &position, NULL);
  tr_reader_current_source(&r->reader, &source, NULL);
  wide left = r->has_ended ? 0 : (wide)source.integers.to - position.offset;
  put_count(s->ours, (int64_t)(left < 0 ? 0 : left));
  left = m->phase == ENDED ? 0 : m->to - (m->phase == RUNNING ? m->current : 0);
  put_count(s->documented, (int64_t)(left < 0 ? 0 : left));
}

static void bounded_source(replay *r, step *s) {
  tr_restriction source;
  tr_reader_current_source(&r->reader, &source, NULL);
  put_range(s->ours, source.integers.from, source.integers.to);
  put_range(s->documented, r->model.from, r->model.to);
}

static void put_split(text to, wide from, wide at, wide end) {
  text primary, residual;
  put_range(primary, from, at);
  put_range(residual, at, end);
  snprintf(to, TEXT_SIZE, "%.100s and %.100s", primary, residual);
}

/*
** width * fraction cut off, where the fraction is the decimal number that its shortest text shows.
*/
static wide part_of(wide width, double fraction) {
  tr_double_digits digits = tr_double_shortest(fraction);
  wide number = 0;
  for (int i = 0; i < digits.count; i++) number = number * 10 + (digits.digits[i] - '0');
  wide product = width * number;
  for (int i = digits.exponent; i < digits.count; i++) product /= 10;
  return product;
}

static void bounded_split(replay *r, step *s, const char *json) {
  model *m = &r->model;
  double fraction = jsonl_double(r->file, json, "fraction");
  tr_restriction residual, primary;
  tr_error err;
  int split = tr_reader_split_at_fraction(&r->reader, fraction, &residual, &err);
  put(s->ours, "refused");
  if (split < 0) put_our_error(s->ours, &err);
  if (split > 0) {
    tr_reader_current_source(&r->reader, &primary, NULL);
    put_split(s->ours, primary.integers.from, primary.integers.to, residual.integers.to);
    if (primary.integers.to != residual.integers.from) put(s->ours, "parts that do not meet");
    tr_restriction_free(&residual);
  }
  put(s->documented, "refused");
  if (m->phase != RUNNING || !(fraction > 0 && fraction < 1)) return;
  if (is_infinite(m) && !m->is_splittable) return;
  wide at = m->from + part_of(m->to - m->from, fraction);
  if (at <= m->current || at >= m->to) return;
  put_split(s->documented, m->from, at, m->to);
  m->to = at;
}

/* ---- Unbounded readers ---------------------------------------------------------------------- */

static int64_t clock_now(void *context) {
  return *(const int64_t *)context;
}

static tr_code clock_refuses(void *context, int64_t time, tr_error *err) {
  (void)context, (void)time;
  return tr_error_set(err, TR_INTERRUPTED, "not due");
}

static void unbounded_new(replay *r, step *s) {
  model *m = &r->model;
  int64_t start = jsonl_integer(r->file, r->line, "start");
  int64_t stride = jsonl_integer(r->file, r->line, "stride");
  tr_pace pace = {jsonl_integer(r->file, r->line, "elements_per_period"),
                  jsonl_integer(r->file, r->line, "period_ms") * millisecond, -1, -1};
  tr_error err;
  r->clock = jsonl_integer(r->file, r->line, "clock0_ms") * millisecond;
  tr_code code = tr_counting_source_init_unbounded(&r->source, start, stride, &err);
  if (code == TR_OK) {
    code = tr_pacing_init(&r->pacing, &pace, (tr_clock){clock_now, clock_refuses, &r->clock}, &err);
  }
  put(s->ours, "ok");
  if (code != TR_OK) put_our_error(s->ours, &err);
  put(s->documented, "ok");
  if (pace.period < 0) {
    put_error(s->documented, "IllegalArgumentException", "a pace cannot be negative");
  }
  m->start = start;
  m->stride = stride;
  m->rate = pace.rate;
  m->period = pace.period;
  m->clock = r->clock;
  if (code != TR_OK || jsonl_is_null(r->file, r->line, "mark")) return;
  /* From a mark: behind the last number, in the time that began then. */
  int64_t last = jsonl_integer(r->file, r->line, "$.mark.last_emitted");
  int64_t given = (last - start) / stride + 1;
  tr_counting_source_skip(&r->source, (uint64_t)given);
  r->pacing.given = given;
  r->pacing.start = jsonl_integer(r->file, r->line, "$.mark.start_ms") * millisecond;
  r->pacing.has_started = 1;
  m->given = given;
  m->clock_at_start = r->pacing.start;
  m->has_clock_at_start = 1;
}

/* 1 a number, 0 none: the end, or not due. */
static int take_ours(replay *r) {
  if (r->source.is_empty || tr_pacing_admit(&r->pacing, NULL) != 1) return 0;
  r->value = r->source.first;
  r->has_value = 1;
  tr_counting_source_skip(&r->source, 1);
  return 1;
}

/* How many records are due, from the first of all. */
static wide models_due(const model *m) {
  if (m->rate == 0 || m->period == 0) return (wide)1 << 100;
  wide elapsed = m->has_clock_at_start ? m->clock - m->clock_at_start : 0;
  return elapsed < 0 ? 0 : elapsed * m->rate / m->period + 1;
}

static wide models_next(const model *m) {
  return m->start + m->given * m->stride;
}

static int take_models(model *m) {
  if (models_next(m) > INT64_MAX) return 0;
  if (!m->has_clock_at_start) m->clock_at_start = m->clock;
  m->has_clock_at_start = 1;
  if (m->given >= models_due(m)) return 0;
  m->given++;
  m->phase = RUNNING;
  return 1;
}

static void unbounded_move(replay *r, step *s) {
  put(s->ours, take_ours(r) ? "true" : "false");
  put(s->documented, take_models(&r->model) ? "true" : "false");
}

static void unbounded_drain(replay *r, step *s) {
  int64_t count = 0;
  put(s->ours, "");
  for (; count < DRAINED_MOST && take_ours(r); count++) {
    if (count < DRAINED_LISTED) append(s->ours, "%" PRId64 " ", r->value);
  }
  append(s->ours, "... %" PRId64 ", %" PRId64 " in all", count > 0 ? r->value : 0, count);
  put(s->documented, "");
  for (count = 0; count < DRAINED_MOST && take_models(&r->model); count++) {
    int64_t value = (int64_t)(models_next(&r->model) - r->model.stride);
    if (count < DRAINED_LISTED) append(s->documented, "%" PRId64 " ", value);
  }
  append(s->documented, "... %" PRId64 ", %" PRId64 " in all",
         count > 0 ? (int64_t)(models_next(&r->model) - r->model.stride) : 0, count);
}

static void unbounded_set_clock(replay *r, step *s, const char *json) {
  r->clock = jsonl_integer(r->file, json, "ms") * millisecond;
  r->model.clock = r->clock;
  put(s->ours, "ok");
  put(s->documented, "ok");
}

/* The last number, or the one that would lie before the first. */
static int64_t last_of_ours(const replay *r) {
  if (r->has_value) return r->value;
  return (int64_t)((uint64_t)r->source.first - (uint64_t)r->source.step);
}

static int64_t last_of_models(const model *m) {
  return (int64_t)(uint64_t)(models_next(m) - m->stride);
}

static void unbounded_current(replay *r, step *s) {
  put_count(s->ours, r->value);
  if (!r->has_value) put_state_error(s->ours, "no current record");
  put_count(s->documented, last_of_models(&r->model));
  if (r->model.phase != RUNNING) put_state_error(s->documented, "no current record");
}

/* The lines' timestamp function. */
static int64_t timestamp_of(int64_t value) {
  return (int64_t)((uint64_t)value * 1000 + 7);
}

static void unbounded_timestamp(replay *r, step *s) {
  put_count(s->ours, timestamp_of(r->value));
  if (!r->has_value) put_state_error(s->ours, "no current record");
  put_count(s->documented, timestamp_of(last_of_models(&r->model)));
  if (r->model.phase != RUNNING) put_state_error(s->documented, "no current record");
}

static void unbounded_watermark(replay *r, step *s) {
  put_count(s->ours, timestamp_of(last_of_ours(r)));
  put_count(s->documented, timestamp_of(last_of_models(&r->model)));
}

static void put_mark(text to, int64_t last, int has_started, int64_t start) {
  snprintf(to, TEXT_SIZE, "%" PRId64 " since ", last);
  if (has_started) {
    append(to, "%" PRId64, start);
  } else {
    append(to, "null");
  }
}

static void unbounded_mark(replay *r, step *s) {
  const model *m = &r->model;
  put_mark(s->ours, last_of_ours(r), r->pacing.has_started, r->pacing.start / millisecond);
  put_mark(s->documented, last_of_models(m), m->has_clock_at_start,
           (int64_t)(m->clock_at_start / millisecond));
}

static void put_bytes_of(text to, wide numbers) {
  wide bytes = numbers < 0 ? 0 : numbers * BYTES_OF_NUMBER;
  snprintf(to, TEXT_SIZE, "%" PRIu64, bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes);
}

/* The first record from `low` on that is not due yet, by halving. */
static wide first_not_due(const tr_pace *pace, int64_t elapsed, int64_t low) {
  int64_t high = INT64_MAX;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (tr_pace_due(pace, middle) <= elapsed) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static void unbounded_backlog(replay *r, step *s) {
  const model *m = &r->model;
  wide left = tr_counting_source_count(&r->source), ours = left, models = INT64_MAX;
  if (r->pacing.pace.period > 0) {
    int64_t elapsed = r->pacing.has_started ? r->clock - r->pacing.start : 0;
    ours = first_not_due(&r->pacing.pace, elapsed, r->pacing.given) - r->pacing.given;
    if (ours > left) ours = left;
  }
  put_bytes_of(s->ours, ours);
  models = models_next(m) > INT64_MAX ? 0 : (INT64_MAX - models_next(m)) / m->stride + 1;
  if (models_due(m) - m->given < models) models = models_due(m) - m->given;
  put_bytes_of(s->documented, models);
}

/* ---- What differs, and why ------------------------------------------------------------------ */

static const model *before(const step *s) {
  return s->before;
}

static int is_unstarted(const step *s) {
  return before(s)->phase == UNSTARTED;
}

static int has_no_record(const step *s) {
  return before(s)->phase != RUNNING;
}

static int is_open(const step *s) {
  return is_infinite(before(s)) && before(s)->is_splittable;
}

/* The reference counts on behind the end, until its counter has wrapped around. */
static int has_wrapped(const step *s) {
  return is_infinite(before(s)) && strstr(s->recorded, "starting at -922") != NULL;
}

static int has_no_rate(const step *s) {
  return before(s)->rate < 1;
}

static int has_negative_period(const step *s) {
  return before(s)->period < 0;
}

static int is_paced(const step *s) {
  return before(s)->period > 0;
}

static int is_not_paced(const step *s) {
  return before(s)->period == 0;
}

/* The value limit is another limit than the count's. */
static int is_limited_by_value(const step *s) {
  return is_paced(s) && (before(s)->start != 0 || before(s)->stride != 1);
}

static int is_unstarted_and_paced(const step *s) {
  return is_paced(s) && is_unstarted(s);
}

#define BOUNDED "record splittable"
#define UNBOUNDED "beam df1.9.1"

static const char limited_by_value[] =
    "the rate limits the count since the start, the reference's the value";
static const char no_record[] = "without a record, current is an error";
static const char no_start[] = "a reader that was not started does not advance";

static const difference differences[] = {
    {OURS, BOUNDED, "advance", is_unstarted, 1, no_start},
    {OURS, BOUNDED, "current", has_no_record, 0, no_record},
    {OURS, BOUNDED, "advance", has_wrapped, 0,
     "after the end advance stays at false; the reference's counter wraps around"},
    {OURS, BOUNDED, "advance_n", has_wrapped, 0,
     "after the end advance stays at false; the reference's counter wraps around"},
    {OURS, "splittable", "fraction_consumed", is_open, 0,
     "a range up to 2^63-1 is like any other; the reference takes it for endless"},
    {OURS, "splittable", "split_at_fraction", is_open, 1,
     "a range up to 2^63-1 is like any other; the reference takes it for endless"},
    {OURS, UNBOUNDED, "new", has_no_rate, 0, "in C a rate of 0 is no rate; SQL refuses it"},
    {OURS, UNBOUNDED, "new", has_negative_period, 0, "the message is ours"},
    {OURS, UNBOUNDED, "advance", is_unstarted_and_paced, 1,
     "the first question starts the time, whether it is start or advance"},
    {OURS, UNBOUNDED, "backlog", is_not_paced, 0,
     "all that is left, exactly; the reference's wraps around, or lacks one"},
    {OURS, UNBOUNDED, "start", is_limited_by_value, 1, limited_by_value},
    {OURS, UNBOUNDED, "advance", is_limited_by_value, 1, limited_by_value},
    {OURS, UNBOUNDED, "drain", is_limited_by_value, 1, limited_by_value},
    {OURS, UNBOUNDED, "backlog", is_limited_by_value, 0, limited_by_value},
};
enum { DIFFERENCES = sizeof differences / sizeof *differences };

static const struct {
  int is_bounded;
  const char *op;
  void (*ask)(replay *r, step *s);
  void (*ask_with)(replay *r, step *s, const char *json);
} asks[] = {
    {1, "new", bounded_new, NULL},
    {1, "start", bounded_start, NULL},
    {1, "advance", bounded_advance, NULL},
    {1, "advance_n", NULL, bounded_advance_n},
    {1, "current", bounded_current, NULL},
    {1, "fraction_consumed", bounded_fraction, NULL},
    {1, "split_points_consumed", bounded_split_points_consumed, NULL},
    {1, "split_points_remaining", bounded_split_points_remaining, NULL},
    {1, "current_source", bounded_source, NULL},
    {1, "split_at_fraction", NULL, bounded_split},
    {0, "new", unbounded_new, NULL},
    {0, "start", unbounded_move, NULL},
    {0, "advance", unbounded_move, NULL},
    {0, "drain", unbounded_drain, NULL},
    {0, "set_clock", NULL, unbounded_set_clock},
    {0, "current", unbounded_current, NULL},
    {0, "timestamp", unbounded_timestamp, NULL},
    {0, "watermark", unbounded_watermark, NULL},
    {0, "mark", unbounded_mark, NULL},
    {0, "backlog", unbounded_backlog, NULL},
};

/* ---- The replay ----------------------------------------------------------------------------- */

static void read_drained(jsonl *file, const char *json, text to) {
  int64_t count = jsonl_integer(file, json, "$.ret.n"), listed = 0, last = 0;
  put(to, "");
  if (jsonl_has(file, json, "$.ret.values")) {
    for (const char **value = jsonl_items(file, json, "$.ret.values"); *value != NULL; value++) {
      last = jsonl_integer(file, *value, "$");
      if (listed++ < DRAINED_LISTED) append(to, "%" PRId64 " ", last);
    }
  } else {
    int64_t first = jsonl_integer(file, json, "$.ret.first");
    last = jsonl_integer(file, json, "$.ret.last");
    /* Evenly spaced, or the numbers could not be known from these two. */
    int64_t stride = (last - first) / (count - 1);
    for (; listed < DRAINED_LISTED && listed < count; listed++) {
      append(to, "%" PRId64 " ", first + listed * stride);
    }
  }
  append(to, "... %" PRId64 ", %" PRId64 " in all", last, count);
}

static void read_answer(jsonl *file, const char *json, const char *op, text to) {
  if (jsonl_has(file, json, "err")) {
    put_error(to, jsonl_text(file, json, "err"), jsonl_text(file, json, "msg"));
  } else if (!jsonl_has(file, json, "ret")) {
    put(to, "ok");
  } else if (strcmp(op, "mark") == 0) {
    int has_started = !jsonl_is_null(file, json, "$.ret.start_ms");
    put_mark(to, jsonl_integer(file, json, "$.ret.last_emitted"), has_started,
             has_started ? jsonl_integer(file, json, "$.ret.start_ms") : 0);
  } else if (strcmp(op, "drain") == 0) {
    read_drained(file, json, to);
  } else if (strcmp(op, "split_at_fraction") == 0) {
    put(to, "refused");
    if (jsonl_is_null(file, json, "ret")) return;
    snprintf(to, TEXT_SIZE, "%.100s and %.100s", jsonl_text(file, json, "$.ret.primary"),
             jsonl_text(file, json, "$.ret.residual"));
  } else if (strcmp(op, "current_source") == 0) {
    put(to, jsonl_text(file, json, "ret"));
  } else if (strcmp(op, "fraction_consumed") == 0) {
    put_double(to, jsonl_double(file, json, "ret"));
  } else if (strcmp(op, "start") == 0 || strcmp(op, "advance") == 0) {
    put(to, jsonl_bool(file, json, "ret") ? "true" : "false");
  } else {
    put_count(to, jsonl_integer(file, json, "ret"));
  }
}

static void replay_step(replay *r, verdict *v, const char *version, const char *json) {
  static step s;
  static model before_it;
  static text argument;
  before_it = r->model;
  s.version = version;
  s.op = jsonl_text(r->file, json, "op");
  s.argument = argument;
  s.before = &before_it;
  argument[0] = '\0';
  if (jsonl_has(r->file, json, "fraction")) {
    put_double(argument, jsonl_double(r->file, json, "fraction"));
  }
  read_answer(r->file, json, s.op, s.recorded);
  put(s.ours, "an operation that nobody knows");
  for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
    if (asks[i].is_bounded != r->model.is_bounded || strcmp(asks[i].op, s.op) != 0) continue;
    if (asks[i].ask != NULL) {
      asks[i].ask(r, &s);
    } else {
      asks[i].ask_with(r, &s, json);
    }
  }
  if (strcmp(s.op, "new") == 0) before_it = r->model;
  verdict_step(v, r->file, &s);
}

static void replay_line(replay *r, verdict *v, const char *version, model begin) {
  r->model = begin;
  r->tracker = NULL;
  r->rows = 0;
  r->has_ended = r->has_value = 0;
  r->value = 0;
  verdict_line(v);
  for (const char **json = jsonl_items(r->file, r->line, "steps"); *json != NULL; json++) {
    replay_step(r, v, version, *json);
  }
  if (r->tracker != NULL) {
    tr_reader_close(&r->reader);
    tr_tracker_free(r->tracker);
  }
}

int main(void) {
  static replay r;
  verdict v = {"counting, readers", differences, DIFFERENCES, .lines = 0};
  r.file = jsonl_open("tests/vectors/counting.jsonl");
  while ((r.line = jsonl_next(r.file)) != NULL) {
    const char *op = jsonl_text(r.file, r.line, "op");
    if (strcmp(op, "bounded_reader") == 0) {
      replay_line(&r, &v, "record", (model){.is_bounded = 1});
      replay_line(&r, &v, "splittable", (model){.is_bounded = 1, .is_splittable = 1});
    } else if (strcmp(op, "unbounded_reader") == 0) {
      const char *version = jsonl_has(r.file, r.line, "ver") ? "df1.9.1" : "beam";
      replay_line(&r, &v, version, (model){.is_bounded = 0});
    }
  }
  jsonl_close(r.file);
  return verdict_report(&v, 2 * 146 + 76);
}

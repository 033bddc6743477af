/*
** Reads the arguments by two tables: one has their names, the other their types and least values.
*/
#include "counting_input_request.h"

#include <math.h>

#include "base/argument.h"
#include "range/restriction.h"

typedef enum argument_type { ARGUMENT_INTEGER, ARGUMENT_SECONDS, ARGUMENT_TEXT } argument_type;

const char *const counting_argument_names[COUNTING_ARGUMENTS] = {
    [COUNTING_UP_TO] = "up_to",
    [COUNTING_START] = "start",
    [COUNTING_STEP] = "step",
    [COUNTING_RATE] = "rate",
    [COUNTING_PERIOD] = "period",
    [COUNTING_MAX_RECORDS] = "max_records",
    [COUNTING_MAX_READ_TIME] = "max_read_time",
    [COUNTING_TIMESTAMP_EXPR] = "timestamp_expr",
    [COUNTING_TRACKER] = "tracker",
    [COUNTING_RESTRICTION] = "restriction",
};

static const struct {
  argument_type type;
  int64_t minimum;
  const char *below_minimum;
} arguments[COUNTING_ARGUMENTS] = {
    [COUNTING_UP_TO] = {ARGUMENT_INTEGER, INT64_MIN, NULL},
    [COUNTING_START] = {ARGUMENT_INTEGER, INT64_MIN, NULL},
    [COUNTING_STEP] = {ARGUMENT_INTEGER, INT64_MIN, NULL},
    [COUNTING_RATE] = {ARGUMENT_INTEGER, 1, "must be at least 1"},
    [COUNTING_PERIOD] = {ARGUMENT_SECONDS, 0, "must not be negative"},
    [COUNTING_MAX_RECORDS] = {ARGUMENT_INTEGER, 0, "must not be negative"},
    [COUNTING_MAX_READ_TIME] = {ARGUMENT_SECONDS, 0, "must not be negative"},
    [COUNTING_TIMESTAMP_EXPR] = {ARGUMENT_TEXT, 0, NULL},
    [COUNTING_TRACKER] = {ARGUMENT_TEXT, 0, NULL},
    [COUNTING_RESTRICTION] = {ARGUMENT_TEXT, 0, NULL},
};

/* The number of seconds. `value` is an INTEGER or a REAL. */
static double seconds_of(const tr_value *value) {
  return value->type == TR_REAL ? value->real : (double)value->integer;
}

static tr_code read_argument(int argument, sqlite3_value *value, tr_value *given, tr_error *err) {
  const char *name = counting_argument_names[argument];
  int64_t integer;
  double seconds;
  tr_bytes text;
  tr_code code = TR_OK;
  *given = tr_value_of_sqlite(value);
  switch (arguments[argument].type) {
  case ARGUMENT_INTEGER:
    code = tr_argument_integer(COUNTING_FUNCTION, name, value, &integer, err);
    if (code == TR_OK) *given = tr_value_integer(integer);
    break;
  case ARGUMENT_SECONDS:
    code = tr_argument_real(COUNTING_FUNCTION, name, value, &seconds, err);
    break;
  case ARGUMENT_TEXT: return tr_argument_text(COUNTING_FUNCTION, name, value, &text, err);
  }
  if (code != TR_OK) return code;
  tr_value minimum = tr_value_integer(arguments[argument].minimum);
  if (tr_value_compare(given, &minimum) >= 0) return TR_OK;
  return tr_argument_error(err, COUNTING_FUNCTION, name, given, arguments[argument].below_minimum);
}

tr_code counting_request_read(counting_request *r, const char *plan, int count,
                              sqlite3_value **values, tr_error *err) {
  *r = (counting_request){.bounds = tr_integer_bounds_all(), .limit = -1};
  tr_code code = TR_OK;
  for (int i = 0; i < count; i++) {
    int argument = counting_plan_argument(plan[i]);
    if (argument >= 0 && sqlite3_value_type(values[i]) == SQLITE_NULL) r->has_null = 1;
  }
  for (int i = 0; i < count && code == TR_OK && !r->has_null; i++) {
    int argument = counting_plan_argument(plan[i]), op = counting_plan_operator(plan[i]);
    if (argument >= 0) {
      code = read_argument(argument, values[i], &r->given[argument], err);
    } else if (op != 0) {
      tr_integer_bounds_apply(&r->bounds, op, values[i]);
    } else if (plan[i] == COUNTING_PLAN_LIST) {
      r->list = values[i];
    } else if (plan[i] == COUNTING_PLAN_LIMIT) {
      r->limit = sqlite3_value_int64(values[i]);
    } else {
      r->offset = sqlite3_value_int64(values[i]);
    }
  }
  return code;
}

int counting_request_has(const counting_request *r, int argument) {
  return r->given[argument].type != TR_NULL;
}

int64_t counting_request_integer(const counting_request *r, int argument, int64_t otherwise) {
  return counting_request_has(r, argument) ? r->given[argument].integer : otherwise;
}

int64_t counting_request_nanoseconds(const counting_request *r, int argument, int64_t otherwise) {
  if (!counting_request_has(r, argument)) return otherwise;
  double nanoseconds = ceil(seconds_of(&r->given[argument]) * 1e9);
  return nanoseconds < 0x1p63 ? (int64_t)nanoseconds : INT64_MAX;
}

/* Reads the argument `restriction`, which must be a range of integers. */
static tr_code read_restriction(const counting_request *r, tr_restriction *restriction,
                                tr_error *err) {
  const tr_value *given = &r->given[COUNTING_RESTRICTION];
  tr_error reason;
  if (tr_restriction_parse(restriction, given->bytes, &reason) != TR_OK) {
    return tr_argument_refused(err, COUNTING_FUNCTION, "restriction", given, &reason);
  }
  if (restriction->kind == TR_INTEGERS) return TR_OK;
  tr_restriction_free(restriction);
  return tr_argument_error(err, COUNTING_FUNCTION, "restriction", given,
                           "must be a range of integers");
}

tr_code counting_request_source(const counting_request *r, tr_counting_source *source,
                                tr_error *err) {
  int64_t start = counting_request_integer(r, COUNTING_START, 0);
  int64_t step = counting_request_integer(r, COUNTING_STEP, 1);
  int64_t up_to = counting_request_integer(r, COUNTING_UP_TO, 0);
  tr_error reason;
  tr_code code = counting_request_has(r, COUNTING_UP_TO)
                     ? tr_counting_source_init(source, start, up_to, step, &reason)
                     : tr_counting_source_init_unbounded(source, start, step, &reason);
  if (code != TR_OK) {
    return tr_argument_refused(err, COUNTING_FUNCTION, "step", &r->given[COUNTING_STEP], &reason);
  }
  if (!counting_request_has(r, COUNTING_RESTRICTION)) return TR_OK;
  tr_restriction restriction;
  code = read_restriction(r, &restriction, err);
  if (code == TR_OK) tr_counting_source_restrict_offsets(source, &restriction.integers);
  return code;
}

/* Cuts `range` to the offsets of the values within `bounds`. */
static void cut_to_bounds(tr_offset_range *range, const tr_integer_bounds *bounds, int64_t step) {
  int64_t from = tr_counting_offset(step > 0 ? bounds->low : bounds->high, step);
  int64_t through = tr_counting_offset(step > 0 ? bounds->high : bounds->low, step);
  if (from > range->from) range->from = from;
  if (through < range->to) range->to = through + 1;
  if (range->to < range->from) range->to = range->from;
}

tr_code counting_request_range(const counting_request *r, tr_offset_range *range, tr_error *err) {
  int64_t step = counting_request_integer(r, COUNTING_STEP, 1);
  const int64_t *up_to =
      counting_request_has(r, COUNTING_UP_TO) ? &r->given[COUNTING_UP_TO].integer : NULL;
  tr_restriction whole = {.kind = TR_INTEGERS};
  whole.integers = tr_counting_offsets(counting_request_integer(r, COUNTING_START, 0), up_to, step);
  if (counting_request_has(r, COUNTING_RESTRICTION)) {
    tr_restriction part;
    tr_code code = read_restriction(r, &part, err);
    if (code == TR_OK) code = tr_restriction_intersect(&whole, &part, err);
    if (code != TR_OK) return code;
  }
  *range = whole.integers;
  cut_to_bounds(range, &r->bounds, step);
  return TR_OK;
}

/*
** Turns the value of a term into the largest integer not above it and the smallest not below it.
** The operator decides which of the two becomes a bound.
*/
#include "host/integer_terms.h"

#include <math.h>

/* The place of a number among all int64: floor <= number <= ceiling, all equal for an integer. */
typedef struct place {
  int side; /* -1: below all int64; 1: above all; 0: between two or at one */
  int64_t floor;
  int64_t ceiling;
} place;

static place place_of_real(double real) {
  if (real < -0x1p63) return (place){.side = -1};
  if (real >= 0x1p63) return (place){.side = 1};
  return (place){.floor = (int64_t)floor(real), .ceiling = (int64_t)ceil(real)};
}

static place place_of_integer(int64_t integer) {
  return (place){.floor = integer, .ceiling = integer};
}

static place place_of_value(sqlite3_value *value) {
  tr_value number;
  switch (sqlite3_value_type(value)) {
  case SQLITE_INTEGER: return place_of_integer(sqlite3_value_int64(value));
  case SQLITE_FLOAT: return place_of_real(sqlite3_value_double(value));
  case SQLITE_TEXT:
    if (!tr_spelled_number(value, tr_value_of_sqlite(value).bytes, &number)) break;
    return number.type == TR_INTEGER ? place_of_integer(number.integer)
                                     : place_of_real(number.real);
  default: break;
  }
  return (place){.side = 1};
}

static void keep_nothing(tr_integer_bounds *bounds) {
  *bounds = (tr_integer_bounds){.low = 1, .high = 0};
}

static void keep_up_to(tr_integer_bounds *bounds, int64_t high) {
  if (high < bounds->high) bounds->high = high;
}

static void keep_from(tr_integer_bounds *bounds, int64_t low) {
  if (low > bounds->low) bounds->low = low;
}

tr_integer_bounds tr_integer_bounds_all(void) {
  return (tr_integer_bounds){.low = INT64_MIN, .high = INT64_MAX};
}

static void apply(tr_integer_bounds *bounds, int op, place at) {
  int keeps_below = op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
  int keeps_above = op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE;
  if (at.side != 0) {
    if (!(at.side > 0 ? keeps_below : keeps_above)) keep_nothing(bounds);
    return;
  }
  switch (op) {
  case SQLITE_INDEX_CONSTRAINT_LT:
    if (at.ceiling == INT64_MIN) {
      keep_nothing(bounds);
    } else {
      keep_up_to(bounds, at.ceiling - 1);
    }
    break;
  case SQLITE_INDEX_CONSTRAINT_LE: keep_up_to(bounds, at.floor); break;
  case SQLITE_INDEX_CONSTRAINT_GT:
    if (at.floor == INT64_MAX) {
      keep_nothing(bounds);
    } else {
      keep_from(bounds, at.floor + 1);
    }
    break;
  case SQLITE_INDEX_CONSTRAINT_GE: keep_from(bounds, at.ceiling); break;
  default: /* EQ: a fraction lies between two integers, and then low > high */
    keep_from(bounds, at.ceiling);
    keep_up_to(bounds, at.floor);
    break;
  }
}

void tr_integer_bounds_apply(tr_integer_bounds *bounds, int op, sqlite3_value *value) {
  if (sqlite3_value_type(value) == SQLITE_NULL) {
    keep_nothing(bounds);
  } else {
    apply(bounds, op, place_of_value(value));
  }
}

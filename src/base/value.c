/*
** SQL values and their order. The only hard part is to compare an INTEGER with a REAL: neither may
** be rounded to the type of the other, since 2^53+1 and 2^53 would then be equal.
*/
#include "base/value.h"

#include <math.h>

tr_value tr_value_null(void) {
  return (tr_value){.type = TR_NULL};
}

tr_value tr_value_integer(int64_t integer) {
  return (tr_value){.type = TR_INTEGER, .integer = integer};
}

tr_value tr_value_real(double real) {
  if (isnan(real)) return tr_value_null();
  return (tr_value){.type = TR_REAL, .real = real};
}

tr_value tr_value_text(tr_bytes text) {
  return (tr_value){.type = TR_TEXT, .bytes = text};
}

tr_value tr_value_blob(tr_bytes blob) {
  return (tr_value){.type = TR_BLOB, .bytes = blob};
}

int tr_compare_integer_real(int64_t integer, double real) {
  if (real >= 0x1p63) return -1;
  if (real < -0x1p63) return 1;
  /* In this interval the whole part is exactly an int64, and the fraction decides a tie. */
  double whole = trunc(real);
  int64_t truncated = (int64_t)whole;
  if (integer != truncated) return integer < truncated ? -1 : 1;
  return (whole > real) - (whole < real);
}

static int compare_numbers(const tr_value *a, const tr_value *b) {
  if (a->type == TR_INTEGER && b->type == TR_INTEGER) {
    return (a->integer > b->integer) - (a->integer < b->integer);
  }
  if (a->type == TR_REAL && b->type == TR_REAL) return (a->real > b->real) - (a->real < b->real);
  if (a->type == TR_INTEGER) return tr_compare_integer_real(a->integer, b->real);
  return -tr_compare_integer_real(b->integer, a->real);
}

/* INTEGER and REAL are one storage class to sort by. */
static int class_of(tr_type type) {
  return type == TR_REAL ? TR_INTEGER : (int)type;
}

int tr_value_compare(const tr_value *a, const tr_value *b) {
  int class_a = class_of(a->type), class_b = class_of(b->type);
  if (class_a != class_b) return class_a - class_b;
  if (class_a == TR_NULL) return 0;
  if (class_a == TR_INTEGER) return compare_numbers(a, b);
  return tr_bytes_compare(a->bytes, b->bytes);
}

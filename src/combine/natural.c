/*
** Schoolbook arithmetic with digits of 32 bits. Numbers here have a few digits in all but extreme
** cases. Division is Knuth's algorithm D.
*/
#include "combine/natural.h"

#include <math.h>
#include <string.h>

static int bits_of(uint32_t digit) {
  return digit == 0 ? 0 : 32 - __builtin_clz(digit);
}

static void trim(tr_natural *n) {
  while (n->count > 0 && n->digits[n->count - 1] == 0) n->count--;
}

void tr_natural_set(tr_natural *n, uint64_t value) {
  n->digits[0] = (uint32_t)value;
  n->digits[1] = (uint32_t)(value >> 32);
  n->count = 2;
  trim(n);
}

int tr_natural_bits(const tr_natural *n) {
  return n->count == 0 ? 0 : 32 * (n->count - 1) + bits_of(n->digits[n->count - 1]);
}

int tr_natural_trailing_zeros(const tr_natural *n) {
  if (n->count == 0) return 0;
  int at = 0;
  while (n->digits[at] == 0) at++;
  return 32 * at + __builtin_ctz(n->digits[at]);
}

int tr_natural_compare(const tr_natural *a, const tr_natural *b) {
  if (a->count != b->count) return a->count - b->count;
  for (int i = a->count - 1; i >= 0; i--) {
    if (a->digits[i] != b->digits[i]) return a->digits[i] < b->digits[i] ? -1 : 1;
  }
  return 0;
}

void tr_natural_shift_left(tr_natural *n, int bits) {
  if (n->count == 0) return;
  int whole = bits / 32, part = bits % 32;
  n->digits[n->count] = 0;
  for (int i = n->count; i >= 0; i--) {
    uint64_t pair = (uint64_t)n->digits[i] << 32 | (i > 0 ? n->digits[i - 1] : 0);
    n->digits[i + whole] = (uint32_t)(pair << part >> 32);
  }
  memset(n->digits, 0, (size_t)whole * sizeof *n->digits);
  n->count += whole + 1;
  trim(n);
}

void tr_natural_shift_right(tr_natural *n, int bits) {
  int whole = bits / 32, part = bits % 32;
  if (whole >= n->count) {
    n->count = 0;
    return;
  }
  n->count -= whole;
  for (int i = 0; i < n->count; i++) {
    uint32_t above = i + 1 < n->count ? n->digits[i + whole + 1] : 0;
    n->digits[i] = (uint32_t)(((uint64_t)above << 32 | n->digits[i + whole]) >> part);
  }
  trim(n);
}

void tr_natural_subtract(tr_natural *a, const tr_natural *b) {
  uint32_t borrow = 0;
  for (int i = 0; i < a->count; i++) {
    uint64_t less = (uint64_t)(i < b->count ? b->digits[i] : 0) + borrow;
    borrow = a->digits[i] < less;
    a->digits[i] -= (uint32_t)less;
  }
  trim(a);
}

void tr_natural_multiply(const tr_natural *a, const tr_natural *b, tr_natural *product) {
  product->count = a->count + b->count;
  memset(product->digits, 0, (size_t)product->count * sizeof *product->digits);
  for (int i = 0; i < a->count; i++) {
    uint64_t carry = 0;
    for (int j = 0; j < b->count; j++) {
      carry += (uint64_t)a->digits[i] * b->digits[j] + product->digits[i + j];
      product->digits[i + j] = (uint32_t)carry;
      carry >>= 32;
    }
    product->digits[i + b->count] = (uint32_t)carry;
  }
  trim(product);
}

/* Divides `n` and returns the remainder. */
static uint32_t divide_by_digit(tr_natural *n, uint32_t divisor) {
  uint64_t rest = 0;
  for (int i = n->count - 1; i >= 0; i--) {
    rest = rest << 32 | n->digits[i];
    n->digits[i] = (uint32_t)(rest / divisor);
    rest %= divisor;
  }
  trim(n);
  return (uint32_t)rest;
}

/*
** One step of algorithm D. Divides the `size` + 1 digits at `rest`, returns the digit of the
** quotient and subtracts that multiple of the divisor. The highest bit of the divisor is 1. So a
** guess from the two highest digits, corrected by the third, is at most one too large.
*/
static uint32_t divide_step(uint32_t *rest, const uint32_t *divisor, int size) {
  uint64_t top = (uint64_t)rest[size] << 32 | rest[size - 1];
  uint64_t guess = top / divisor[size - 1], left = top % divisor[size - 1];
  while (guess >> 32 != 0 || guess * divisor[size - 2] > (left << 32 | rest[size - 2])) {
    guess--;
    left += divisor[size - 1];
    if (left >> 32 != 0) break;
  }
  uint64_t carry = 0;
  int64_t borrow = 0;
  for (int i = 0; i <= size; i++) {
    carry += i < size ? guess * divisor[i] : 0;
    borrow += (int64_t)rest[i] - (int64_t)(uint32_t)carry;
    rest[i] = (uint32_t)borrow;
    carry >>= 32;
    borrow >>= 32;
  }
  if (borrow == 0) return (uint32_t)guess;
  carry = 0;
  for (int i = 0; i <= size; i++) {
    carry += (uint64_t)rest[i] + (i < size ? divisor[i] : 0);
    rest[i] = (uint32_t)carry;
    carry >>= 32;
  }
  return (uint32_t)guess - 1;
}

int tr_natural_divide(tr_natural *n, const tr_natural *by) {
  if (by->count == 1) return divide_by_digit(n, by->digits[0]) != 0;
  if (n->count < by->count) {
    int has_rest = n->count > 0;
    n->count = 0;
    return has_rest;
  }
  tr_natural divisor = *by, rest = *n;
  int shift = 32 - bits_of(by->digits[by->count - 1]);
  tr_natural_shift_left(&divisor, shift);
  tr_natural_shift_left(&rest, shift); /* has a highest digit of 0 if no bit moved into it */
  int steps = n->count - divisor.count;
  for (int i = steps; i >= 0; i--) {
    n->digits[i] = divide_step(rest.digits + i, divisor.digits, divisor.count);
  }
  n->count = steps + 1;
  trim(n);
  rest.count = divisor.count;
  trim(&rest);
  return rest.count > 0;
}

tr_code tr_natural_append_bytes(const tr_natural *n, tr_buffer *bytes, tr_error *err) {
  uint8_t text[4 * TR_NATURAL_DIGITS];
  size_t size = (size_t)(tr_natural_bits(n) + 7) / 8;
  for (size_t i = 0; i < size; i++) text[i] = (uint8_t)(n->digits[i / 4] >> (8 * (i % 4)));
  return tr_buffer_append(bytes, (tr_bytes){text, size}, err);
}

void tr_natural_read_bytes(tr_natural *n, tr_bytes bytes) {
  n->count = (int)((bytes.size + 3) / 4);
  memset(n->digits, 0, (size_t)n->count * sizeof *n->digits);
  for (size_t i = 0; i < bytes.size; i++) {
    n->digits[i / 4] |= (uint32_t)bytes.data[i] << (8 * (i % 4));
  }
  trim(n);
}

void tr_natural_decimal(const tr_natural *n, char text[41]) {
  char reversed[40];
  int count = 0;
  tr_natural rest = *n;
  do {
    reversed[count++] = (char)('0' + divide_by_digit(&rest, 10));
  } while (rest.count > 0 && count < 40);
  for (int i = 0; i < count; i++) text[i] = reversed[count - 1 - i];
  text[count] = '\0';
}

/*
** The highest `bits` (at most 64) bits of n, which must have so many. Sets `*has_rest` to 1 if any
** bit below them is 1.
*/
static uint64_t highest_bits(const tr_natural *n, int bits, int *has_rest) {
  int below = tr_natural_bits(n) - bits;
  tr_natural high = *n;
  if (below > tr_natural_trailing_zeros(n)) *has_rest = 1;
  tr_natural_shift_right(&high, below);
  uint64_t low = high.count > 0 ? high.digits[0] : 0;
  return high.count > 1 ? (uint64_t)high.digits[1] << 32 | low : low;
}

/* Rounds m * 2^exponent, or a little more if `has_rest`, to the nearest double, ties to even. */
static double round_small(uint64_t m, int has_rest, int exponent) {
  int bits = m == 0 ? 0 : m >> 32 != 0 ? 32 + bits_of((uint32_t)(m >> 32)) : bits_of((uint32_t)m);
  int kept = 53;
  /* Subnormal numbers have fewer bits. */
  if (exponent + bits - kept < -1074) kept = exponent + bits + 1074;
  if (kept < 0) return 0;
  int dropped = bits - kept;
  if (dropped > 0) {
    uint64_t half = UINT64_C(1) << (dropped - 1);
    uint64_t below = m & (half - 1), is_half = m & half;
    m = dropped == 64 ? 0 : m >> dropped;
    if (is_half != 0 && (below != 0 || has_rest || (m & 1) != 0)) m++;
    exponent += dropped;
  }
  return ldexp((double)m, exponent);
}

double tr_natural_round(const tr_natural *n, int has_rest, int exponent) {
  int bits = tr_natural_bits(n);
  if (bits <= 64) {
    uint64_t m = n->count > 0 ? n->digits[0] : 0;
    if (n->count > 1) m |= (uint64_t)n->digits[1] << 32;
    return round_small(m, has_rest, exponent);
  }
  uint64_t m = highest_bits(n, 64, &has_rest);
  return round_small(m, has_rest, exponent + bits - 64);
}

/* Compares a * a with high * 2^64 + low: <0, 0, >0. */
static int compare_square(uint64_t a, uint64_t high, uint64_t low) {
  uint64_t top = a >> 32, bottom = a & UINT32_MAX;
  uint64_t middle = top * bottom, square_low = bottom * bottom;
  uint64_t square_high = top * top + (middle >> 31);
  uint64_t sum = square_low + (middle << 33);
  square_high += sum < square_low;
  if (square_high != high) return square_high < high ? -1 : 1;
  return (sum > low) - (sum < low);
}

double tr_natural_round_root(const tr_natural *n, int has_rest, int exponent) {
  if (n->count == 0) return 0;
  /*
  ** Scales n to 107 or 108 bits with an even exponent. The whole part of the root then has 54 bits.
  */
  tr_natural square = *n;
  int shift = 108 - tr_natural_bits(n);
  if ((exponent - shift) % 2 != 0) shift--;
  if (shift < 0 && tr_natural_trailing_zeros(n) < -shift) has_rest = 1;
  if (shift < 0)
    tr_natural_shift_right(&square, -shift);
  else
    tr_natural_shift_left(&square, shift);
  uint64_t low = (uint64_t)square.digits[1] << 32 | square.digits[0];
  uint64_t high = square.digits[2] | (square.count > 3 ? (uint64_t)square.digits[3] << 32 : 0);
  uint64_t root = (uint64_t)sqrt(ldexp((double)high, 64) + (double)low);
  while (compare_square(root, high, low) > 0) root--;
  while (compare_square(root + 1, high, low) <= 0) root++;
  if (compare_square(root, high, low) != 0) has_rest = 1;
  return round_small(root, has_rest, (exponent - shift) / 2);
}

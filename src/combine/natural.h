/*
** Natural numbers of up to 5,120 bits: what exact sums need in the end for products, a quotient,
** and one rounding to a double.
**
** Exact sums of doubles span at most 2,162 bits, and sums of their squares 4,324 (exact_sum.h). All
** that is computed from them here stays below the capacity. So nothing can overflow, and nothing is
** allocated. Pure; thread-safe.
*/
#ifndef TR_COMBINE_NATURAL_H
#define TR_COMBINE_NATURAL_H

#include <stdint.h>

#include "base/bytes.h"

#define TR_NATURAL_DIGITS 160

/*
** Digits of 32 bits, the lowest first, without leading zeros. 0 has no digits. Digits from `count`
** on are undefined.
*/
typedef struct tr_natural {
  int count;
  uint32_t digits[TR_NATURAL_DIGITS];
} tr_natural;

void tr_natural_set(tr_natural *n, uint64_t value);
int tr_natural_bits(const tr_natural *n);           /* position of the highest 1, from 1; 0 for 0 */
int tr_natural_trailing_zeros(const tr_natural *n); /* 0 for 0 */
int tr_natural_compare(const tr_natural *a, const tr_natural *b); /* <0, 0, >0 */

void tr_natural_shift_left(tr_natural *n, int bits);
void tr_natural_shift_right(tr_natural *n, int bits);
void tr_natural_subtract(tr_natural *a, const tr_natural *b); /* a -= b; needs b <= a */
/* product = a * b. `product` must be another object. */
void tr_natural_multiply(const tr_natural *a, const tr_natural *b, tr_natural *product);
/* n = floor(n / divisor). Returns 1 if there is a remainder, else 0. divisor > 0. */
int tr_natural_divide(tr_natural *n, const tr_natural *divisor);

/* Little-endian bytes without leading zeros; reading takes up to 4 * TR_NATURAL_DIGITS bytes. */
tr_code tr_natural_append_bytes(const tr_natural *n, tr_buffer *bytes, tr_error *err);
void tr_natural_read_bytes(tr_natural *n, tr_bytes bytes);

/*
** Writes decimal digits and a terminator. `n` must have at most 128 bits, for which 41 bytes are
** enough.
*/
void tr_natural_decimal(const tr_natural *n, char text[41]);

/*
** Rounds (n + rest) * 2^exponent to the nearest double, ties to even; infinity if it is too large.
** The rest is 0, or in (0, 1) if `has_rest`; then n must have at least 55 bits for an exact
** rounding.
*/
double tr_natural_round(const tr_natural *n, int has_rest, int exponent);

/* The square root of the same number, rounded once. */
double tr_natural_round_root(const tr_natural *n, int has_rest, int exponent);

#endif

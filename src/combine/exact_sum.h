/*
** Exact sums of integers, doubles and their squares: no rounding until somebody asks for a double,
** so neither order nor cut can matter, and what was added can be taken away again exactly.
**
** A sum is an integer times a power of two. While 128 bits will do, and for integers and for most
** columns of doubles they do, it stands in the sum itself (24 bytes in all). Beyond that it moves
** to a block of its own: digits of 32 bits from the lowest exponent seen to the highest, 8 bytes
** each, some 100 bytes for squares of a usual column and at most 1.2 kB. Infinities are counted
** apart, in that block.
**
** All zero is the empty sum. Release with tr_exact_sum_free. Adding fails with TR_NO_MEMORY alone
** and then has added nothing; taking back what was just added cannot fail. Thread-safety: a sum
** belongs to one thread at a time.
*/
#ifndef TR_COMBINE_EXACT_SUM_H
#define TR_COMBINE_EXACT_SUM_H

#include "base/value.h"
#include "combine/codec.h"
#include "combine/natural.h"

typedef struct tr_exact_digits tr_exact_digits;

/*
** `place` says where the value is. 0, as for all sums of integers: in low and high, two's
** complement. Odd: the same in units of a power of two, whose exponent is the rest of `place`. Else
** it is the address of the digits.
*/
typedef struct tr_exact_sum {
  uint64_t low, high;
  intptr_t place;
} tr_exact_sum;

/* Adds an integer where the sum is one of 128 bits: 1; 0: it is not, or no longer would be. */
static inline int tr_exact_sum_add_integer(tr_exact_sum *sum, int64_t integer) {
  if (sum->place != 0) return 0;
  uint64_t sign = integer < 0 ? UINT64_MAX : 0, low = sum->low + (uint64_t)integer;
  uint64_t high = sum->high + sign + (low < sum->low);
  /* Beyond 2^127 the sign of the result is not that of both. */
  if (((sum->high ^ high) & (sign ^ high)) >> 63) return 0;
  sum->low = low;
  sum->high = high;
  return 1;
}

/*
** Whether the sum is an integer of 64 bits, which is then `low`. 0 does not mean that it is none.
*/
static inline int tr_exact_sum_is_int64(const tr_exact_sum *sum) {
  uint64_t sign = sum->low >> 63 ? UINT64_MAX : 0;
  return sum->place == 0 && sum->high == sign;
}

/* Whether a term is added, or taken away after it had been added. */
typedef enum tr_exact_sign { TR_EXACT_ADD = 0, TR_EXACT_SUBTRACT = 1 } tr_exact_sign;

/* `number` is an INTEGER or a REAL. */
tr_code tr_exact_sum_add(tr_exact_sum *sum, const tr_value *number, tr_exact_sign sign,
                         tr_error *err);
/* Its square; the one of an infinity counts as 0. */
tr_code tr_exact_sum_add_square(tr_exact_sum *sum, const tr_value *number, tr_exact_sign sign,
                                tr_error *err);
/* sum += other. */
tr_code tr_exact_sum_merge(tr_exact_sum *sum, const tr_exact_sum *other, tr_error *err);

/* How many of its terms are infinities. */
uint64_t tr_exact_sum_infinities(const tr_exact_sum *sum);

/* The sum of all infinities: 0, an infinity, or NaN where both signs are there. */
double tr_exact_sum_infinity(const tr_exact_sum *sum);

/* The sum of all else: (is_negative ? -1 : 1) * magnitude * 2^exponent, in lowest terms. */
typedef struct tr_exact_number {
  int is_negative;
  int exponent;         /* 0 if the magnitude is 0 */
  tr_natural magnitude; /* odd or 0 */
} tr_exact_number;

void tr_exact_sum_number(const tr_exact_sum *sum, tr_exact_number *number);

/* The number as an INTEGER. 0 if it is none or does not fit. */
int tr_exact_number_integer(const tr_exact_number *number, int64_t *integer);

/* Whether a finite REAL can be this number. */
int tr_exact_number_is_real(const tr_exact_number *number);

/*
** Whether it is at most what so many INTEGERs and finite REALs, less than 2^64 of each, can sum to.
** With INTEGERs alone that is all: every integer up to there is the sum of some.
*/
int tr_exact_number_is_sum(const tr_exact_number *number, uint64_t integers, uint64_t reals);

/* The double nearest to number / divisor, rounded once. divisor > 0. */
double tr_exact_number_quotient(const tr_exact_number *number, uint64_t divisor);

/* What a sum may be of, for reading: a sum that no such terms can have is TR_CORRUPT. */
typedef enum tr_exact_kind { TR_EXACT_INTEGERS, TR_EXACT_NUMBERS, TR_EXACT_SQUARES } tr_exact_kind;

/* Writes canonical bytes; reads them into an empty sum. */
tr_code tr_exact_sum_write(const tr_exact_sum *sum, tr_buffer *bytes, tr_error *err);
tr_code tr_exact_sum_read(tr_exact_sum *sum, tr_exact_kind kind, tr_decoder *from, tr_error *err);

size_t tr_exact_sum_heap_size(const tr_exact_sum *sum);
void tr_exact_sum_free(tr_exact_sum *sum);

#endif

/*
** Exact sums of integers, of doubles and of their squares. A sum is rounded only when a double is
** asked for. So neither the order of the terms nor the way they are cut into parts matters, and a
** term can be removed again exactly.
**
** A sum is an integer times a power of two. As long as 128 bits are enough, it is held in the
** tr_exact_sum itself, which has 24 bytes. They are enough for integers and for most columns of
** doubles. Otherwise it moves to a block of its own, which has one digit for each 32 bits from the
** lowest exponent seen to the highest. A digit takes 8 bytes: some 100 bytes for the squares of a
** usual column, and at most 1.2 kB. That block also counts the infinities.
**
** All zeros are the empty sum. Release a sum with tr_exact_sum_free. Adding fails only with
** TR_NO_MEMORY, and then nothing was added. Removing a term that was just added cannot fail.
** Thread-safety: a sum belongs to one thread at a time.
*/
#ifndef TR_COMBINE_EXACT_SUM_H
#define TR_COMBINE_EXACT_SUM_H

#include "base/value.h"
#include "combine/codec.h"
#include "combine/natural.h"

typedef struct tr_exact_digits tr_exact_digits;

/*
** `place` says where the value is. 0, as in all sums of integers: the value is in low and high, in
** two's complement. Odd: so is the value, in units of a power of two; the rest of `place` is the
** exponent. Otherwise `place` is the address of the digits.
*/
typedef struct tr_exact_sum {
  uint64_t low, high;
  intptr_t place;
} tr_exact_sum;

/*
** Adds an integer to a sum that is a 128-bit integer. 1: added. 0: the sum is none, or it would no
** longer fit.
*/
static inline int tr_exact_sum_add_integer(tr_exact_sum *sum, int64_t integer) {
  if (sum->place != 0) return 0;
  uint64_t sign = integer < 0 ? UINT64_MAX : 0, low = sum->low + (uint64_t)integer;
  uint64_t high = sum->high + sign + (low < sum->low);
  /* At an overflow past 2^127, the sign of the result differs from the sign of both operands. */
  if (((sum->high ^ high) & (sign ^ high)) >> 63) return 0;
  sum->low = low;
  sum->high = high;
  return 1;
}

/* 1: the sum is a 64-bit integer, which is `low`. 0: it may still be one, held in another form. */
static inline int tr_exact_sum_is_int64(const tr_exact_sum *sum) {
  uint64_t sign = sum->low >> 63 ? UINT64_MAX : 0;
  return sum->place == 0 && sum->high == sign;
}

/* Whether a term is added, or removed after it was added. */
typedef enum tr_exact_sign { TR_EXACT_ADD = 0, TR_EXACT_SUBTRACT = 1 } tr_exact_sign;

/*
** Adds a REAL if that is quick: it is finite, and the sum has room for it as it is. 1: added. 0:
** the caller must call tr_exact_sum_add.
*/
int tr_exact_sum_add_real(tr_exact_sum *sum, double real);

/* Adds or removes `number`, an INTEGER or a REAL. */
tr_code tr_exact_sum_add(tr_exact_sum *sum, const tr_value *number, tr_exact_sign sign,
                         tr_error *err);
/* Adds or removes the square of `number`. The square of an infinity counts as 0. */
tr_code tr_exact_sum_add_square(tr_exact_sum *sum, const tr_value *number, tr_exact_sign sign,
                                tr_error *err);
/* sum += other. */
tr_code tr_exact_sum_merge(tr_exact_sum *sum, const tr_exact_sum *other, tr_error *err);

/* How many terms are infinities. */
uint64_t tr_exact_sum_infinities(const tr_exact_sum *sum);

/* The sum of the infinities: 0, an infinity, or NaN if there are both signs. */
double tr_exact_sum_infinity(const tr_exact_sum *sum);

/* The sum of the finite terms, in lowest terms: (is_negative ? -1 : 1) * magnitude * 2^exponent. */
typedef struct tr_exact_number {
  int is_negative;
  int exponent;         /* 0 if the magnitude is 0 */
  tr_natural magnitude; /* odd or 0 */
} tr_exact_number;

void tr_exact_sum_number(const tr_exact_sum *sum, tr_exact_number *number);

/* 1: the number is in `*integer`. 0: it is no integer, or does not fit. */
int tr_exact_number_integer(const tr_exact_number *number, int64_t *integer);

/* Whether a finite REAL can have this value. */
int tr_exact_number_is_real(const tr_exact_number *number);

/*
** Whether the number is not beyond the greatest sum of so many INTEGERs and finite REALs. There may
** be up to 2^64 - 1 of each. For INTEGERs alone the answer is exact, because they can sum to every
** integer up to there.
*/
int tr_exact_number_is_sum(const tr_exact_number *number, uint64_t integers, uint64_t reals);

/* The double nearest to number / divisor, rounded once. divisor > 0. */
double tr_exact_number_quotient(const tr_exact_number *number, uint64_t divisor);

/* The kind of terms, for tr_exact_sum_read: a sum that such terms cannot have is TR_CORRUPT. */
typedef enum tr_exact_kind { TR_EXACT_INTEGERS, TR_EXACT_NUMBERS, TR_EXACT_SQUARES } tr_exact_kind;

/* Writes the canonical bytes of a sum; reads them into an empty sum. */
tr_code tr_exact_sum_write(const tr_exact_sum *sum, tr_buffer *bytes, tr_error *err);
tr_code tr_exact_sum_read(tr_exact_sum *sum, tr_exact_kind kind, tr_decoder *from, tr_error *err);

size_t tr_exact_sum_heap_size(const tr_exact_sum *sum);
void tr_exact_sum_free(tr_exact_sum *sum);

#endif

/*
** Exact arithmetic on the number line of byte strings, for integers of any size: differences,
** ratios, and decimal fractions of a distance.
**
** A number here is a byte string that is read as a big-endian integer of `size` bytes, as if zero
** bytes followed it on the right. Numbers of different sizes can be compared: their last bytes have
** the same weight. No number is converted or copied for that.
**
** Time is linear in the size: about ten milliseconds for a megabyte, and five times that for
** fractions like 1e-300. tr_big_ratio and tr_big_difference_bits allocate nothing;
** tr_big_interpolate allocates for sizes above 248 bytes.
** Pure; thread-safe. Source: design of this project.
*/
#ifndef TR_RANGE_BIG_FRACTION_H
#define TR_RANGE_BIG_FRACTION_H

#include "base/bytes.h"
#include "base/double_text.h"

typedef struct tr_big {
  tr_bytes bytes;
  size_t size; /* at least bytes.size */
} tr_big;

/* The number of bits of high - low; 0 if they are equal. low <= high. */
size_t tr_big_difference_bits(tr_big low, tr_big high);

/*
** (x - low) / (high - low), cut off after 64 binary digits and then rounded to the nearest double:
** 0 to 1. low <= x <= high, low < high.
*/
double tr_big_ratio(tr_big low, tr_big high, tr_big x);

/*
** Writes low + floor((high - low) * fraction) to `result`, as low.size big-endian bytes. The caller
** knows that it fits. low <= high; the decimal number `fraction` is below 1. TR_NO_MEMORY.
*/
tr_code tr_big_interpolate(tr_big low, tr_big high, const tr_double_digits *fraction,
                           uint8_t *result, tr_error *err);

#endif

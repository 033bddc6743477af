/*
** Exact arithmetic on the number line of byte strings: differences, ratios, and decimal fractions
** of a distance, for integers of any size.
**
** A number here is a byte string read as a big-endian integer once zero bytes on its right have
** filled it up to `size` bytes. Numbers of different sizes may be compared: their last bytes count
** the same. Nothing is converted or copied to ask about one.
**
** Work grows linearly with the size: a megabyte takes some ten milliseconds, with fractions like
** 1e-300 five times that. tr_big_ratio and tr_big_difference_bits allocate nothing;
** tr_big_interpolate does for sizes above 248 bytes.
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

/* The number of bits of high - low: 0 if they are equal. low <= high. */
size_t tr_big_difference_bits(tr_big low, tr_big high);

/*
** (x - low) / (high - low), cut off after 64 binary digits, then rounded to the nearest double: 0
** to 1. low <= x <= high, low < high.
*/
double tr_big_ratio(tr_big low, tr_big high, tr_big x);

/*
** Writes low + floor((high - low) * fraction) as low.size big-endian bytes to `result`; the caller
** knows that it fits. low <= high; fraction, a decimal number, is below 1. TR_NO_MEMORY.
*/
tr_code tr_big_interpolate(tr_big low, tr_big high, const tr_double_digits *fraction,
                           uint8_t *result, tr_error *err);

#endif

/*
** A half-open range of 64-bit integers [from, to).
**
** A plain value that owns nothing. Pure; thread-safe. Sizes are unsigned, because to - from of a
** wide range does not fit an int64.
**
** Source: Apache Beam, OffsetRange (2.8 to 2.30).
*/
#ifndef TR_RANGE_OFFSET_RANGE_H
#define TR_RANGE_OFFSET_RANGE_H

#include <stdint.h>

#include "base/bytes.h"

typedef struct tr_offset_range {
  int64_t from;
  int64_t to;
} tr_offset_range;

/* TR_INVALID_ARGUMENT if from > to: `Malformed range [from, to)`. */
tr_code tr_offset_range_init(tr_offset_range *range, int64_t from, int64_t to, tr_error *err);

/* Appends `[from, to)`. */
tr_code tr_offset_range_text(const tr_offset_range *range, tr_buffer *text, tr_error *err);

/* to - from, exactly. */
uint64_t tr_offset_range_width(const tr_offset_range *range);

int tr_offset_range_contains(const tr_offset_range *range, int64_t offset);

/*
** Calls `emit` with pieces of `desired` integers. The last one may be longer by less than
** max(desired / 4, min), so that no piece is tiny. If `emit` returns an error, that is returned at
** once. Two differences from the reference, which loops for ever or wraps around there: `desired`
** below 1 is TR_INVALID_ARGUMENT, and the last piece ends at the end of the int64 line.
*/
tr_code tr_offset_range_split(const tr_offset_range *range, int64_t desired, int64_t min,
                              tr_code (*emit)(void *context, tr_offset_range piece, tr_error *err),
                              void *context, tr_error *err);

#endif

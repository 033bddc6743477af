/*
** A half-open range of byte keys [start, end), and the arithmetic that cuts it.
**
** Keys are ordered by memcmp, the shorter first. An empty end means no upper bound. An empty start
** is the lowest key. [x, x) is allowed and holds nothing.
**
** For the arithmetic a key is a point on a number line: both ends are padded on the right with zero
** bytes to one length and read as big-endian integers. For an open end a byte is put in front of
** both: 00 for the start, and 01 for the end, which is 01 and zeros.
**
** Ownership: a range owns copies of its keys. All zero is [empty, empty), which is all keys.
** Thread-safety: none of its own; functions that take a const range may run at the same time.
** Errors have the texts of the reference classes, in which keys print as `[hex]`.
** Source: Apache Beam, ByteKey and ByteKeyRange (2.8 to 2.30).
*/
#ifndef TR_RANGE_BYTE_KEY_RANGE_H
#define TR_RANGE_BYTE_KEY_RANGE_H

#include "base/bytes.h"
#include "base/double_text.h"

typedef struct tr_byte_key_range {
  tr_buffer start;
  tr_buffer end; /* size 0: no upper bound */
} tr_byte_key_range;

/*
** Sets `*range` to [start, end). It is overwritten, so it must be freed first if it owns keys.
** TR_INVALID_ARGUMENT if start > end: `Start [..] must be less than or equal to end [..]`.
** TR_NO_MEMORY. On failure `*range` is [empty, empty) and owns nothing.
*/
tr_code tr_byte_key_range_init(tr_byte_key_range *range, tr_bytes start, tr_bytes end,
                               tr_error *err);
void tr_byte_key_range_free(tr_byte_key_range *range);

/*
** The range [empty, 00), which holds no key that can be claimed; and whether a range is that one.
*/
tr_code tr_byte_key_range_init_no_keys(tr_byte_key_range *range, tr_error *err);
int tr_byte_key_range_is_no_keys(const tr_byte_key_range *range);

int tr_byte_key_range_has_end(const tr_byte_key_range *range);

/* Appends `ByteKeyRange{startKey=[hex], endKey=[hex]}`. */
tr_code tr_byte_key_range_text(const tr_byte_key_range *range, tr_buffer *text, tr_error *err);
/* Appends `[hex]`. */
tr_code tr_byte_key_text(tr_bytes key, tr_buffer *text, tr_error *err);

/*
** Prints `[hex]` into `text` (TR_KEY_MESSAGE_SIZE bytes, terminated) for an error message. Returns
** `text`. A key that is longer than a whole message is cut; the message is then cut, too, and shows
** it.
*/
#define TR_KEY_MESSAGE_SIZE (TR_MESSAGE_SIZE + 2)
char *tr_byte_key_message(tr_bytes key, char *text);

/* Whether start <= key, and key < end if there is an end. */
int tr_byte_key_range_contains(const tr_byte_key_range *range, tr_bytes key);

/*
** As the reference defines it: [10,10) "overlaps" [05,20). It is part of the reference's range, and
** for programs that link to us; the extension does not need it.
*/
int tr_byte_key_range_overlaps(const tr_byte_key_range *a, const tr_byte_key_range *b);

/*
** Sets `*key` to the key at `fraction` of the range. The fraction is taken as the decimal number
** that its shortest text shows. The arithmetic is exact and then cut off, so that keys agree with
** the reference byte for byte, trailing zeros included. The key is never empty and always below the
** end. With fraction 0 it may be above the start (start 10 gives 10000000000000).
** TR_INVALID_ARGUMENT: fraction outside [0, 1) or NaN, `Fraction %s must be in the range [0, 1)`.
** TR_INVALID_STATE: start and end are one point, `Refusing to interpolate for near-empty ...`.
** TR_NO_MEMORY. On failure `*key` is unchanged. `key` must not be one of the range's own buffers.
*/
tr_code tr_byte_key_range_interpolate(const tr_byte_key_range *range, double fraction,
                                      tr_buffer *key, tr_error *err);

/* The same for a decimal number in [0, 1). */
tr_code tr_byte_key_range_interpolate_decimal(const tr_byte_key_range *range,
                                              const tr_double_digits *fraction, tr_buffer *key,
                                              tr_error *err);

/*
** Sets `*fraction` to how far `key` is from the start towards the end, 0 to 1; 1 at the end itself.
** TR_INVALID_ARGUMENT: the empty key, a key below the start, a key beyond the end. Allocates
** nothing.
*/
tr_code tr_byte_key_range_estimate_fraction(const tr_byte_key_range *range, tr_bytes key,
                                            double *fraction, tr_error *err);

/*
** Calls `emit` with the `count` + 1 ascending bounds of `count` pieces: the start, the interpolated
** keys, the end. If the range is too narrow to interpolate, the bounds are only its start and end.
** If `emit` returns an error, that is returned at once. TR_INVALID_ARGUMENT: count below 1,
** `numSplits %d must be a positive integer`. TR_NO_MEMORY.
*/
tr_code tr_byte_key_range_split(const tr_byte_key_range *range, int64_t count,
                                tr_code (*emit)(void *context, tr_bytes bound, tr_error *err),
                                void *context, tr_error *err);

#endif

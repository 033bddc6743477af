/*
** A restriction: what part of a source is to be read. A range of byte keys or of integers, with one
** canonical text, and the questions one can ask of either kind alike.
**
** The text is JSON: bytes `{"start":"6b31","end":"6b39"}` (lower-case hex, end "" = no upper
** bound), integers `{"from":0,"to":100}`. Writing is canonical: no blanks, this member order.
** Reading takes any JSON spelling of such an object (blanks, either order of members, upper-case
** hex, escapes) and nothing else: unknown, missing or repeated members, other types, odd hex, a
** number that is not an int64 are errors that name the byte offset and what is wrong.
**
** A bundle of a job is a range of bytes whose text may have a third member, `"claim":2`: the number
** of the claim that it is of. It is kept, written, and nothing else: to all other questions the
** range alone counts.
**
** Ownership: tr_restriction_free releases what a restriction of bytes owns; all zero owns nothing.
** Thread-safety: as byte_key_range.h.
*/
#ifndef TR_RANGE_RESTRICTION_H
#define TR_RANGE_RESTRICTION_H

#include "range/byte_key_range.h"
#include "range/offset_range.h"

typedef enum tr_restriction_kind { TR_BYTES, TR_INTEGERS } tr_restriction_kind;

typedef struct tr_restriction {
  tr_restriction_kind kind;
  union {
    tr_byte_key_range bytes;
    tr_offset_range integers;
  };
  int64_t claim; /* 1 or more, of bytes; 0: none */
} tr_restriction;

/* A point in a source of either kind. A key is borrowed. */
typedef struct tr_position {
  tr_restriction_kind kind;
  union {
    tr_bytes key;
    int64_t offset;
  };
} tr_position;

/* In the header: made anew for every row. */
static inline tr_position tr_position_of_key(tr_bytes key) {
  return (tr_position){.kind = TR_BYTES, .key = key};
}

static inline tr_position tr_position_of_offset(int64_t offset) {
  return (tr_position){.kind = TR_INTEGERS, .offset = offset};
}

/*
** Reads a restriction's text. TR_INVALID_ARGUMENT: not a restriction (the message gives the offset
** and the reason), start > end, from > to. TR_NO_MEMORY. On failure `*restriction` owns nothing.
*/
tr_code tr_restriction_parse(tr_restriction *restriction, tr_bytes text, tr_error *err);

/* Appends the canonical text. */
tr_code tr_restriction_text(const tr_restriction *restriction, tr_buffer *text, tr_error *err);

/* Makes `*to` a copy of `from`, of no claim. On TR_NO_MEMORY `*to` owns nothing. */
tr_code tr_restriction_copy(tr_restriction *to, const tr_restriction *from, tr_error *err);
void tr_restriction_free(tr_restriction *restriction);

/* Whether two are of one kind with the same ends, of whatever claims. 1 or 0. */
int tr_restriction_equals(const tr_restriction *a, const tr_restriction *b);

/* 1 or 0; -1 (TR_INVALID_ARGUMENT) when the position is of the other kind. */
int tr_restriction_contains(const tr_restriction *restriction, tr_position position, tr_error *err);

/*
** The part of `restriction` that lies in `other`, in place and of no claim; where nothing does, an
** empty range inside `restriction`: [start, start), with an empty start [empty, 00), or [from,
** from).
** TR_INVALID_ARGUMENT: of different kinds. TR_NO_MEMORY leaves all as it was.
*/
tr_code tr_restriction_intersect(tr_restriction *restriction, const tr_restriction *other,
                                 tr_error *err);

/*
** The position at `fraction` of the restriction, into `key` (bytes) or `*offset` (integers:
** from + floor(width * fraction), exactly, the fraction counting as the decimal number that its
** shortest text shows). Errors as tr_byte_key_range_interpolate; for an empty range of integers
** TR_INVALID_STATE.
*/
tr_code tr_restriction_interpolate(const tr_restriction *restriction, double fraction,
                                   tr_buffer *key, int64_t *offset, tr_error *err);

/*
** How far `position` lies from the beginning, 0 to 1; 1 at the end itself. TR_INVALID_ARGUMENT:
** position outside, the empty key, or of the other kind.
*/
tr_code tr_restriction_fraction(const tr_restriction *restriction, tr_position position,
                                double *fraction, tr_error *err);

/*
** Calls `emit` with up to `count` restrictions that follow each other and together are the whole;
** none is empty unless the whole is. Fewer where the range is too narrow. The pieces of a range of
** integers differ in width by at most one. `emit` borrows the piece; an `emit` that returns an
** error ends it. TR_INVALID_ARGUMENT: count below 1. TR_NO_MEMORY.
*/
tr_code tr_restriction_split(const tr_restriction *restriction, int64_t count,
                             tr_code (*emit)(void *context, const tr_restriction *piece,
                                             tr_error *err),
                             void *context, tr_error *err);

#endif

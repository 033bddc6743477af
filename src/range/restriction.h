/*
** A restriction says what part of a source is to be read. It is a range of byte keys or of
** integers, with one canonical text, and with the operations that both kinds have.
**
** The text is JSON: bytes `{"start":"6b31","end":"6b39"}` (lower-case hex, end "" means no upper
** bound), integers `{"from":0,"to":100}`. Writing is canonical: no blanks, members in this order.
** Reading accepts any JSON spelling of such an object: blanks, either order of members, upper-case
** hex, escapes. Unknown, missing or repeated members, other types, an odd number of hex digits, and
** a number that is not an int64 are errors that give the byte offset and the reason.
**
** A bundle of a job is a range of bytes whose text may have a third member, `"claim":2`, the number
** of the claim that it belongs to. It is only kept and written. All other operations look at the
** range alone.
**
** Ownership: tr_restriction_free releases what a restriction of bytes owns. All zero owns nothing.
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
  int64_t claim; /* for bytes: 1 or more; 0: none */
} tr_restriction;

/* A point in a source of either kind. A key is borrowed. */
typedef struct tr_position {
  tr_restriction_kind kind;
  union {
    tr_bytes key;
    int64_t offset;
  };
} tr_position;

/* Inline, because a position is made for every row. */
static inline tr_position tr_position_of_key(tr_bytes key) {
  return (tr_position){.kind = TR_BYTES, .key = key};
}

static inline tr_position tr_position_of_offset(int64_t offset) {
  return (tr_position){.kind = TR_INTEGERS, .offset = offset};
}

/*
** Reads the text of a restriction. TR_INVALID_ARGUMENT: it is not one (the message gives the offset
** and the reason), or start > end, or from > to. TR_NO_MEMORY. On failure `*restriction` owns
** nothing.
*/
tr_code tr_restriction_parse(tr_restriction *restriction, tr_bytes text, tr_error *err);

/* Appends the canonical text. */
tr_code tr_restriction_text(const tr_restriction *restriction, tr_buffer *text, tr_error *err);

/* Sets `*to` to a copy of the range of `from`, without its claim. TR_NO_MEMORY: it owns nothing. */
tr_code tr_restriction_copy(tr_restriction *to, const tr_restriction *from, tr_error *err);
void tr_restriction_free(tr_restriction *restriction);

/* 1 or 0; -1 (TR_INVALID_ARGUMENT) if the position is of the other kind. */
int tr_restriction_contains(const tr_restriction *restriction, tr_position position, tr_error *err);

/*
** Cuts `restriction` to the part that is also in `other`, and drops its claim. If there is none, it
** becomes an empty range inside the old one: [start, start) (with an empty start [empty, 00)), or
** [from, from). TR_INVALID_ARGUMENT: they are of different kinds. TR_NO_MEMORY: the range is
** unchanged.
*/
tr_code tr_restriction_intersect(tr_restriction *restriction, const tr_restriction *other,
                                 tr_error *err);

/*
** The position at `fraction` of the restriction, into `key` (bytes) or `*offset` (integers). For
** integers it is from + floor(width * fraction), exactly; the fraction is taken as the decimal
** number that its shortest text shows. Errors as tr_byte_key_range_interpolate; an empty range of
** integers is TR_INVALID_STATE.
*/
tr_code tr_restriction_interpolate(const tr_restriction *restriction, double fraction,
                                   tr_buffer *key, int64_t *offset, tr_error *err);

/*
** How far `position` is from the beginning, 0 to 1; 1 at the end itself. TR_INVALID_ARGUMENT: the
** position is outside, is the empty key, or is of the other kind.
*/
tr_code tr_restriction_fraction(const tr_restriction *restriction, tr_position position,
                                double *fraction, tr_error *err);

/*
** Calls `emit` with up to `count` restrictions that follow each other and together are the whole.
** There are fewer if the range is too narrow. None is empty unless the whole is. The pieces of a
** range of integers differ in width by at most one. `emit` borrows the piece. If `emit` returns an
** error, that is returned at once. TR_INVALID_ARGUMENT: count below 1. TR_NO_MEMORY.
*/
tr_code tr_restriction_split(const tr_restriction *restriction, int64_t count,
                             tr_code (*emit)(void *context, const tr_restriction *piece,
                                             tr_error *err),
                             void *context, tr_error *err);

#endif

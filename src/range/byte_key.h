/*
** Byte keys: one byte string for a tuple of SQL values, such that memcmp's order of the strings
** (shorter first) is SQLite's ascending BINARY order of the tuples.
**
** NULL < numbers < text < blob. INTEGER and REAL are one exact order, also beyond 2^53; equal
** numbers (1 and 1.0, 0.0 and -0.0) have equal keys. Tuples compose by appending: no tuple's key
** is another's, and a tuple that is a prefix of another sorts first. The layout is in byte_key.c.
**
** Distances are kept, too, as far as bytes can: keys of evenly spread numbers are evenly spread on
** the number line of byte_key_range.h, so that interpolating halves what is there to be read, and
** the fraction of a range that is done means something.
**
** A rowid alone has a shorter form, eight bytes; a single text or blob column may be keyed by its
** raw bytes. Which form a table uses is for the caller to know (ext/host/source_table.h): the forms
** do not mix in one range.
**
** Pure; thread-safe. Source: design of this project.
*/
#ifndef TR_RANGE_BYTE_KEY_H
#define TR_RANGE_BYTE_KEY_H

#include "base/big_endian.h"
#include "base/bytes.h"
#include "base/value.h"

/*
** Appends one value's encoding to `key`. TR_NO_MEMORY leaves `key` as it was.
** NULL takes 1 byte; an INTEGER, or a REAL without a fraction, 9; any other REAL at most 19; text
** and blobs their own size plus 2, plus one for each zero byte inside.
*/
tr_code tr_byte_key_append(tr_buffer *key, const tr_value *value, tr_error *err);

/*
** Reads the value at `*offset` of `key` and moves `*offset` behind it. 1: `*value` is set; a number
** that is integral and fits comes back as INTEGER; text and blob bytes lie in `scratch`, valid
** until its next use. 0: `*offset` is at the end. -1: the bytes are not such a key (TR_CORRUPT,
** naming the offset) or TR_NO_MEMORY; nothing has changed. Every key that reads back whole is the
** one that tr_byte_key_append would write: the encoding is canonical.
*/
int tr_byte_key_next(tr_bytes key, size_t *offset, tr_value *value, tr_buffer *scratch,
                     tr_error *err);

/*
** A byte that, behind the whole values of a key, sorts after every key that begins with them and
** before every key of a greater tuple: [key(v), key(v) + 80) holds just the tuples that begin with
** v.
*/
#define TR_BYTE_KEY_BEHIND 0x80

/*
** The same as tr_byte_key_next for bytes that need not be a whole key, such as a bound that was
** interpolated between two. 1: a whole value, as above, in both `*low` and `*high`. 2: the bytes
** from `*offset` on lie between the keys of values: what sorts at or above them begins with a value
** at or above `*low`, what sorts below them with one at or below `*high`. 3: they lie above the
** keys of all values. 0: the end. -1: TR_NO_MEMORY. `*offset` moves on 1 alone.
*/
int tr_byte_key_next_bounds(tr_bytes key, size_t *offset, tr_value *low, tr_value *high,
                            tr_buffer *scratch, tr_error *err);

/*
** A rowid as eight bytes, big-endian with the sign bit flipped, so that memcmp orders them; and
** back.
*/
#define TR_ROWID_KEY_SIZE 8
static inline void tr_byte_key_of_rowid(int64_t rowid, uint8_t *key) {
  tr_store_big_u64(key, (uint64_t)rowid ^ UINT64_C(1) << 63);
}

static inline int64_t tr_byte_key_to_rowid(const uint8_t *key) {
  return (int64_t)(tr_load_big_u64(key) ^ UINT64_C(1) << 63);
}

#endif

/*
** Byte keys: one byte string for a tuple of SQL values. memcmp orders the strings (the shorter
** first) as SQLite orders the tuples, ascending by BINARY.
**
** NULL < numbers < text < blob. INTEGER and REAL are compared exactly, also beyond 2^53. Equal
** numbers (1 and 1.0, 0.0 and -0.0) have equal keys. The key of a tuple is the keys of its values,
** one after another. Only equal tuples have the same key, and a tuple that is a prefix of another
** sorts first. The layout is in byte_key.c.
**
** Distances are kept as far as bytes can keep them: keys of evenly spread numbers are evenly spread
** on the number line of byte_key_range.h. So interpolation halves what there is to read, and the
** fraction of a range that is done is meaningful.
**
** A rowid alone has a shorter form of eight bytes. A single text or blob column may have its raw
** bytes as keys. The caller knows which form a table uses (ext/host/source_table.h). Forms are
** never mixed in one range.
**
** Pure; thread-safe. Source: design of this project.
*/
#ifndef TR_RANGE_BYTE_KEY_H
#define TR_RANGE_BYTE_KEY_H

#include "base/big_endian.h"
#include "base/bytes.h"
#include "base/value.h"

/*
** Appends the encoding of one value to `key`. TR_NO_MEMORY: `key` is unchanged.
** NULL takes 1 byte. An INTEGER takes 9, as does a REAL without a fraction; any other REAL takes at
** most 19. Text and blobs take their own size, 2 bytes, and one for each zero byte inside.
*/
tr_code tr_byte_key_append(tr_buffer *key, const tr_value *value, tr_error *err);

/*
** Reads the value at `*offset` of `key` and moves `*offset` behind it. 1: `*value` is set. A whole
** number that fits is returned as INTEGER. The bytes of text and blobs are in `scratch`, valid
** until its next use. 0: `*offset` is at the end. -1: TR_CORRUPT, the bytes are not a byte key (the
** message gives the offset), or TR_NO_MEMORY; nothing has changed. The encoding is canonical: every
** key that can be read is the one that tr_byte_key_append would write.
*/
int tr_byte_key_next(tr_bytes key, size_t *offset, tr_value *value, tr_buffer *scratch,
                     tr_error *err);

/*
** A byte that, behind the whole values of a key, sorts after every key that begins with those
** values and before every key of a greater tuple. So [key(v), key(v) + 80) is exactly the keys of
** tuples that begin with v.
*/
#define TR_BYTE_KEY_BEHIND 0x80

/*
** The same for bytes that need not be a whole key, such as a bound that was interpolated between
** two keys. `*offset` moves only on 1.
**
**   1   a whole value, as above, in both `*low` and `*high`
**   2   the bytes from `*offset` on lie between the keys of values: keys at or above them begin
**       with a value that is at least `*low`, keys below them with one that is at most `*high`
**   3   they lie above the keys of all values
**   0   the end
**   -1  TR_NO_MEMORY
*/
int tr_byte_key_next_bounds(tr_bytes key, size_t *offset, tr_value *low, tr_value *high,
                            tr_buffer *scratch, tr_error *err);

/*
** A rowid as eight big-endian bytes with the sign bit flipped, so that memcmp orders them; and
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

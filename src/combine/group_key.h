/*
** The key of a group: a tuple of SQL values as bytes. Two keys have equal bytes exactly if SQLite's
** GROUP BY puts the tuples into one group.
**
** GROUP BY compares each column by its collation. 1 and 1.0 are one group; so are 0.0 and -0.0.
** NULL equals NULL. 'a' and 'A' are one group under NOCASE. So the bytes are *canonical*: a REAL
** that is a 64-bit integer is written as that INTEGER, and a text in the normal form of its
** collation. But GROUP BY shows the key of a group as its first row has it. If the canonical bytes
** do not give that back, a second, exact form of the tuple follows them. The rows of most tables
** never need it.
**
** The bytes are padded with zeros to whole words of 8, because keys are hashed and compared word by
** word. An integer below 2^31 or a text of up to 7 bytes is one word. The bytes have the byte order
** of the machine and must not be stored.
**
** Pure; thread-safe. Bytes that are returned belong to the key.
*/
#ifndef TR_COMBINE_GROUP_KEY_H
#define TR_COMBINE_GROUP_KEY_H

#include <string.h>

#include "base/hash.h"
#include "base/value.h"

/*
** The built-in collations of SQLite. No other collation can be normalised here: the host must
** replace such a field by a value of its own, for example a number for each group.
*/
typedef enum tr_collation {
  TR_COLLATION_BINARY,
  TR_COLLATION_NOCASE,
  TR_COLLATION_RTRIM
} tr_collation;

/*
** The first fields, in which a REAL that is an integer needs no exact form: real_fields notes it.
*/
#define TR_GROUP_KEY_REAL_FIELDS 32

/* The properties of an encoded tuple. */
typedef struct tr_group_key_info {
  uint32_t size;        /* bytes of the canonical form; a multiple of 8 */
  uint32_t real_fields; /* bit i: field i is a REAL that was written as an INTEGER */
  int needs_exact;      /* canonical form and real_fields are not enough to give the tuple back */
} tr_group_key_info;

/* The key of a row in both forms: the canonical form, then the exact form if it needs one. */
typedef struct tr_group_row {
  uint32_t hash;       /* each bit depends on all bytes of the canonical form and on the seed */
  uint32_t exact_size; /* 0: there is no exact form */
  tr_group_key_info info;
  const uint8_t *bytes;
} tr_group_row;

/* Whether the canonical form alone gives the values back unchanged. */
static inline int tr_group_row_is_plain(const tr_group_row *row) {
  return row->exact_size == 0 && row->info.real_fields == 0;
}

/*
** The most bytes that either form of the tuple can take. TR_GROUP_KEY_HEAD is how many of them a
** value can take besides its own bytes.
*/
#define TR_GROUP_KEY_HEAD 9
size_t tr_group_key_bound(const tr_value *values, int count);

/*
** Writes both forms of a tuple to `out`, and fills `row` except its hash; row->bytes is then `out`.
** `out` must be aligned to 8 and have room for twice the bound. `collations` has one for each
** field.
*/
void tr_group_row_encode(const tr_value *values, const tr_collation *collations, int count,
                         uint8_t *out, tr_group_row *row);

/*
** 1: the canonical form of the integer is one word, `*word`. 0: use tr_group_row_encode. Inline,
** because most groupings call it for every row.
*/
static inline int tr_group_key_of_integer(int64_t integer, uint64_t *word);

/* The same for a value that is NULL or such an integer; and the way back. */
static inline int tr_group_key_of_short(const tr_value *value, uint64_t *word);
static inline void tr_group_key_to_short(uint64_t word, tr_value *value);

/*
** Computes the hash of a row. With many rows, encode all of them first: reading in words what was
** just written in bytes is slow.
*/
static inline void tr_group_row_hash(tr_group_row *row, uint64_t seed);

/* Writes the exact form and returns its size, a multiple of 8. */
uint32_t tr_group_key_encode_exact(const tr_value *values, int count, uint8_t *out);

/* Value number `field` of either form. Its bytes belong to `key`. */
tr_value tr_group_key_value(const uint8_t *key, int field);

/* All `count` values of a form. */
void tr_group_key_values(const uint8_t *key, int count, tr_value *values);

/* The hash of a key of `size` bytes, a multiple of 8. */
static inline uint64_t tr_group_key_hash(const uint8_t *key, size_t size, uint64_t seed);

/* Copies whole words. For the few words of a key this is faster than memcpy. */
static inline void tr_group_key_copy(uint8_t *to, const uint8_t *from, size_t size) {
  for (size_t i = 0; i < size; i += 8) memcpy(to + i, from + i, 8);
}

/* --- what is inline ------------------------------------------------------------------------- */

/* The first byte of a value: see group_key.c. */
enum {
  TR_GROUP_HEAD_NULL = 0, /* also the padding */
  TR_GROUP_HEAD_ZERO,
  TR_GROUP_HEAD_INT8,
  TR_GROUP_HEAD_INT16,
  TR_GROUP_HEAD_INT32,
  TR_GROUP_HEAD_INT64
};

/* The hash of a key: start with the seed and the size, add every word, then spread all bits. */
static inline uint64_t tr_group_hash_begin(uint64_t seed, size_t size) {
  return seed ^ (size * UINT64_C(0x9e3779b97f4a7c15));
}

static inline uint64_t tr_group_hash_add(uint64_t h, uint64_t word) {
  word *= UINT64_C(0xc2b2ae3d27d4eb4f);
  h ^= tr_hash_rotate(word, 31) * UINT64_C(0x9e3779b185ebca87);
  return tr_hash_rotate(h, 27) * UINT64_C(0x9e3779b185ebca87) + UINT64_C(0x85ebca77c2b2ae63);
}

static inline uint64_t tr_group_key_hash(const uint8_t *key, size_t size, uint64_t seed) {
  uint64_t h = tr_group_hash_begin(seed, size);
  for (size_t i = 0; i < size; i += 8) {
    uint64_t word;
    memcpy(&word, key + i, sizeof word);
    h = tr_group_hash_add(h, word);
  }
  return tr_hash_avalanche(h);
}

static inline void tr_group_row_hash(tr_group_row *row, uint64_t seed) {
  row->hash = (uint32_t)(tr_group_key_hash(row->bytes, row->info.size, seed) >> 32);
}

static inline int tr_group_key_of_integer(int64_t integer, uint64_t *word) {
  uint64_t head = TR_GROUP_HEAD_INT32, mask = UINT32_MAX;
  if (integer == (int16_t)integer) head = TR_GROUP_HEAD_INT16, mask = UINT16_MAX;
  if (integer == (int8_t)integer) head = TR_GROUP_HEAD_INT8, mask = UINT8_MAX;
  if (integer == 0) head = TR_GROUP_HEAD_ZERO, mask = 0;
  *word = head | ((uint64_t)integer & mask) << 8;
  return TR_IS_LITTLE_ENDIAN && integer == (int32_t)integer;
}

static inline int tr_group_key_of_short(const tr_value *value, uint64_t *word) {
  *word = TR_GROUP_HEAD_NULL;
  return value->type == TR_NULL ||
         (value->type == TR_INTEGER && tr_group_key_of_integer(value->integer, word));
}

static inline void tr_group_key_to_short(uint64_t word, tr_value *value) {
  static const uint8_t bits[] = {8, 8, 8, 16, 32}; /* by head */
  unsigned head = (unsigned)(word & 0xff);
  value->type = head == TR_GROUP_HEAD_NULL ? TR_NULL : TR_INTEGER;
  value->integer = (int64_t)(word << (56 - bits[head])) >> (64 - bits[head]);
}

#endif

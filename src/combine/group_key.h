/*
** A group's key: a tuple of SQL values as bytes that are equal exactly when SQLite's GROUP BY takes
** the tuples for one group.
**
** GROUP BY compares with the collation of each column: 1 and 1.0 are one group, and so are 0.0 and
** -0.0; NULL equals NULL; 'a' and 'A' are one group under NOCASE. So the bytes are *canonical*: a
** REAL that is integral and fits is written as the INTEGER, text as its collation's normal form.
** What GROUP BY shows for a group is the first row it meets, as it was: where the canonical bytes
** do not give that back, a second, exact form of the tuple goes beside them. Rows of most tables
** never need it.
**
** The bytes are padded with zeros to whole words of 8, so that keys are hashed and compared a word
** at a time; an integer below 2^31 or a text of 7 bytes is one word. They are for memory only: in
** the machine's own byte order, not to be stored.
**
** Pure; thread-safe. Bytes that are handed out are borrowed from the key.
*/
#ifndef TR_COMBINE_GROUP_KEY_H
#define TR_COMBINE_GROUP_KEY_H

#include <string.h>

#include "base/hash.h"
#include "base/value.h"

/*
** The collations that SQLite has built in. Another one cannot be normalised here: the host has to
** replace such a field by one of its own making (a number per group, say).
*/
typedef enum tr_collation {
  TR_COLLATION_BINARY,
  TR_COLLATION_NOCASE,
  TR_COLLATION_RTRIM
} tr_collation;

/* Fields whose REAL shows as such without an exact form beside the canonical one. */
#define TR_GROUP_KEY_REAL_FIELDS 32

/* What an encoding says beside its bytes. */
typedef struct tr_group_key_info {
  uint32_t size;        /* bytes of the canonical form, a multiple of 8 */
  uint32_t real_fields; /* bit i: field i is an integral REAL, written as INTEGER */
  int needs_exact;      /* the canonical form and real_fields do not give the tuple back */
} tr_group_key_info;

/* A row's key in both forms, the exact one (if it needs one) behind the canonical one. */
typedef struct tr_group_row {
  uint32_t hash;       /* every bit depends on all bytes of the canonical form, and the seed */
  uint32_t exact_size; /* 0: there is none */
  tr_group_key_info info;
  const uint8_t *bytes;
} tr_group_row;

/* Whether its canonical form gives the values back as they are. */
static inline int tr_group_row_is_plain(const tr_group_row *row) {
  return row->exact_size == 0 && row->info.real_fields == 0;
}

/*
** The most bytes that either form of the tuple can take; and of that, for a value besides its own
** bytes.
*/
#define TR_GROUP_KEY_HEAD 9
size_t tr_group_key_bound(const tr_value *values, int count);

/*
** Writes both forms of a tuple to `out`, which is aligned to 8 and has room for twice its bound,
** and fills in `row`, whose `bytes` is then `out`, all but its hash. `collations` has one per
** field.
*/
void tr_group_row_encode(const tr_value *values, const tr_collation *collations, int count,
                         uint8_t *out, tr_group_row *row);

/*
** The canonical form of one integer where that is a single word: 1; else 0. Inline: it is what most
** groupings do for every row.
*/
static inline int tr_group_key_of_integer(int64_t integer, uint64_t *word);

/* A value as one word, if it is NULL or such an integer: 1; and back. */
static inline int tr_group_key_of_short(const tr_value *value, uint64_t *word);
static inline void tr_group_key_to_short(uint64_t word, tr_value *value);

/*
** Computes its hash. Where there are many rows, this comes after all were encoded: what was just
** written in bytes is slow to be read in words.
*/
static inline void tr_group_row_hash(tr_group_row *row, uint64_t seed);

/* Writes the exact form; returns its size, a multiple of 8. */
uint32_t tr_group_key_encode_exact(const tr_value *values, int count, uint8_t *out);

/* Value number `field` of either form; bytes lie in `key`. */
tr_value tr_group_key_value(const uint8_t *key, int field);

/* All `count` values of a form. */
void tr_group_key_values(const uint8_t *key, int count, tr_value *values);

/* A hash of `size` bytes of a key, a multiple of 8. */
static inline uint64_t tr_group_key_hash(const uint8_t *key, size_t size, uint64_t seed);

/* Copies whole words; faster than memcpy for the few that keys have. */
static inline void tr_group_key_copy(uint8_t *to, const uint8_t *from, size_t size) {
  for (size_t i = 0; i < size; i += 8) memcpy(to + i, from + i, 8);
}

/* --- what is inline ------------------------------------------------------------------------- */

/* The first byte of a value: see group_key.c. */
enum {
  TR_GROUP_HEAD_NULL = 0, /* and the padding */
  TR_GROUP_HEAD_ZERO,
  TR_GROUP_HEAD_INT8,
  TR_GROUP_HEAD_INT16,
  TR_GROUP_HEAD_INT32,
  TR_GROUP_HEAD_INT64
};

/* The hash of a key: begin with the seed and the size, add every word, and let all bits spread. */
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

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

/* The most bytes that either form of the tuple can take. */
size_t tr_group_key_bound(const tr_value *values, int count);

/*
** Writes the canonical form of the tuple to `out`, aligned to 8, which has room for
** tr_group_key_bound of it. `collations` has one per field.
*/
tr_group_key_info tr_group_key_encode(const tr_value *values, const tr_collation *collations,
                                      int count, uint8_t *out);

/* Writes the exact form; returns its size, a multiple of 8. */
uint32_t tr_group_key_encode_exact(const tr_value *values, int count, uint8_t *out);

/* Value number `field` of either form; bytes lie in `key`. */
tr_value tr_group_key_value(const uint8_t *key, int field);

/* A hash of `size` bytes, a multiple of 8; every bit of it depends on all of them and the seed. */
uint64_t tr_group_key_hash(const uint8_t *key, size_t size, uint64_t seed);

#endif

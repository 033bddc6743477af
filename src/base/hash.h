/*
** MurmurHash3 (x64, 128 bits), the hash of this project wherever a hash is stored or printed:
** samples, distinct counts, accumulators. Its value for given bytes and seed never changes.
** Source: the published algorithm by Austin Appleby (public domain); the constants are its own.
** Pure, thread-safe.
*/
#ifndef TR_BASE_HASH_H
#define TR_BASE_HASH_H

#include "base/bytes.h"

typedef struct tr_hash128 {
  uint64_t low;  /* the first eight bytes of the digest, little-endian */
  uint64_t high; /* the second eight */
} tr_hash128;

tr_hash128 tr_hash128_of(tr_bytes bytes, uint64_t seed);

/* The hash of the eight little-endian bytes of `x`. */
tr_hash128 tr_hash128_of_u64(uint64_t x, uint64_t seed);

#endif

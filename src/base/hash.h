/*
** MurmurHash3 (x64, 128 bits), the hash of this project wherever a hash is stored or printed:
** samples, distinct counts, accumulators. Its value for given bytes and seed never changes.
** Source: the published algorithm by Austin Appleby (public domain); the constants are its own.
** Pure, thread-safe.
*/
#ifndef TR_BASE_HASH_H
#define TR_BASE_HASH_H

#include "base/bytes.h"
#include "base/little_endian.h"

typedef struct tr_hash128 {
  uint64_t low;  /* the first eight bytes of the digest, little-endian */
  uint64_t high; /* the second eight */
} tr_hash128;

tr_hash128 tr_hash128_of(tr_bytes bytes, uint64_t seed);

/* --- The parts of the hash, inline for hot loops ---------------------------------------------- */

static inline uint64_t tr_hash_rotate(uint64_t x, int by) {
  return (x << by) | (x >> (64 - by));
}

static inline uint64_t tr_hash_avalanche(uint64_t x) {
  x = (x ^ (x >> 33)) * UINT64_C(0xff51afd7ed558ccd);
  x = (x ^ (x >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
  return x ^ (x >> 33);
}

/* What eight bytes contribute to the first and to the second lane. Zero contributes zero. */
static inline uint64_t tr_hash_lane1(uint64_t k) {
  return tr_hash_rotate(k * UINT64_C(0x87c37b91114253d5), 31) * UINT64_C(0x4cf5ad432745937f);
}

static inline uint64_t tr_hash_lane2(uint64_t k) {
  return tr_hash_rotate(k * UINT64_C(0x4cf5ad432745937f), 33) * UINT64_C(0x87c37b91114253d5);
}

static inline tr_hash128 tr_hash_finish(uint64_t h1, uint64_t h2, uint64_t size) {
  h1 ^= size;
  h2 ^= size;
  h1 += h2;
  h2 += h1;
  h1 = tr_hash_avalanche(h1);
  h2 = tr_hash_avalanche(h2);
  h1 += h2;
  h2 += h1;
  return (tr_hash128){h1, h2};
}

/* The hash of the eight little-endian bytes of `x`. */
static inline tr_hash128 tr_hash128_of_u64(uint64_t x, uint64_t seed) {
  return tr_hash_finish(seed ^ tr_hash_lane1(x), seed, 8);
}

#endif

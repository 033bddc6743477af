/*
** MurmurHash3 x64 128: sixteen bytes a round into two lanes, a tail of up to fifteen, and a final
** mix. Bytes are read little-endian on every machine, so that a stored hash means the same.
*/
#include "base/hash.h"

#include "base/little_endian.h"

#define C1 UINT64_C(0x87c37b91114253d5)
#define C2 UINT64_C(0x4cf5ad432745937f)

static uint64_t rotate(uint64_t x, int by) {
  return (x << by) | (x >> (64 - by));
}

/* Up to eight bytes, the first one lowest: in loads that overlap, without a loop. */
static uint64_t read_little_endian(const uint8_t *data, size_t count) {
  if (count == 8) return tr_load_u64(data);
  if (count >= 4) {
    return tr_load_u32(data) | (uint64_t)tr_load_u32(data + count - 4) << (8 * (count - 4));
  }
  size_t middle = count / 2, last = count - 1;
  return data[0] | (uint64_t)data[middle] << (8 * middle) | (uint64_t)data[last] << (8 * last);
}

static uint64_t avalanche(uint64_t x) {
  x = (x ^ (x >> 33)) * UINT64_C(0xff51afd7ed558ccd);
  x = (x ^ (x >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
  return x ^ (x >> 33);
}

static uint64_t lane1(uint64_t k) {
  return rotate(k * C1, 31) * C2;
}

static uint64_t lane2(uint64_t k) {
  return rotate(k * C2, 33) * C1;
}

static tr_hash128 finish(uint64_t h1, uint64_t h2, uint64_t size) {
  h1 ^= size;
  h2 ^= size;
  h1 += h2;
  h2 += h1;
  h1 = avalanche(h1);
  h2 = avalanche(h2);
  h1 += h2;
  h2 += h1;
  return (tr_hash128){h1, h2};
}

tr_hash128 tr_hash128_of(tr_bytes bytes, uint64_t seed) {
  uint64_t h1 = seed, h2 = seed;
  const uint8_t *at = bytes.data;
  size_t left = bytes.size;
  for (; left >= 16; left -= 16, at += 16) {
    h1 = (rotate(h1 ^ lane1(read_little_endian(at, 8)), 27) + h2) * 5 + 0x52dce729;
    h2 = (rotate(h2 ^ lane2(read_little_endian(at + 8, 8)), 31) + h1) * 5 + 0x38495ab5;
  }
  if (left > 8) h2 ^= lane2(read_little_endian(at + 8, left - 8));
  if (left > 0) h1 ^= lane1(read_little_endian(at, left < 8 ? left : 8));
  return finish(h1, h2, bytes.size);
}

tr_hash128 tr_hash128_of_u64(uint64_t x, uint64_t seed) {
  return finish(seed ^ lane1(x), seed, 8);
}

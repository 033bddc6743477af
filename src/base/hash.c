/*
** MurmurHash3 x64 128: sixteen bytes a round into two lanes, a tail of up to fifteen, and a final
** mix. Bytes are read little-endian on every machine, so that a stored hash means the same.
*/
#include "base/hash.h"

tr_hash128 tr_hash128_of(tr_bytes bytes, uint64_t seed) {
  uint64_t h1 = seed, h2 = seed, low, high;
  const uint8_t *at = bytes.data;
  size_t left = bytes.size;
  for (; left >= 16; left -= 16, at += 16) {
    low = tr_load_u64(at);
    high = tr_load_u64(at + 8);
    h1 = (tr_hash_rotate(h1 ^ tr_hash_lane1(low), 27) + h2) * 5 + 0x52dce729;
    h2 = (tr_hash_rotate(h2 ^ tr_hash_lane2(high), 31) + h1) * 5 + 0x38495ab5;
  }
  tr_load_short(at, left, &low, &high);
  return tr_hash_finish(h1 ^ tr_hash_lane1(low), h2 ^ tr_hash_lane2(high), bytes.size);
}

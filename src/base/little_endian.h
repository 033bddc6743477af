/*
** Integers and doubles as little-endian bytes, on any machine. All stored forms use them. On a
** little-endian machine compilers turn each function into one load or store. Pure.
*/
#ifndef TR_BASE_LITTLE_ENDIAN_H
#define TR_BASE_LITTLE_ENDIAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define TR_IS_LITTLE_ENDIAN 1
#else
#define TR_IS_LITTLE_ENDIAN 0
#endif

static inline uint16_t tr_load_u16(const uint8_t *at) {
  return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t tr_load_u32(const uint8_t *at) {
  uint32_t x;
  memcpy(&x, at, sizeof x);
  if (TR_IS_LITTLE_ENDIAN) return x;
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t tr_load_u64(const uint8_t *at) {
  uint64_t x;
  memcpy(&x, at, sizeof x);
  if (TR_IS_LITTLE_ENDIAN) return x;
  return (uint64_t)tr_load_u32(at) | (uint64_t)tr_load_u32(at + 4) << 32;
}

/*
** Loads `size` bytes, at most sixteen, as if zeros followed them up to sixteen: the first eight as
** `*low`, the rest as `*high`. From four bytes on it uses loads that overlap, and no branch: where
** sizes vary, a mispredicted branch costs more than the loads.
*/
static inline void tr_load_short(const uint8_t *at, size_t size, uint64_t *low, uint64_t *high) {
  *low = *high = 0;
  if (size >= 4) {
    size_t first = size < 8 ? size : 8;
    const uint8_t *end = at + size;
    *low = tr_load_u32(at) | (uint64_t)tr_load_u32(at + first - 4) << (8 * (first - 4));
    uint64_t last = tr_load_u32(end - first) | (uint64_t)tr_load_u32(end - 4) << 32;
    *high = last >> (8 * (16 - size) & 63) & ((uint64_t)0 - (size > 8));
  } else if (size > 0) {
    size_t middle = size / 2, last = size - 1;
    *low = at[0] | (uint64_t)at[middle] << (8 * middle) | (uint64_t)at[last] << (8 * last);
  }
}

static inline double tr_load_double(const uint8_t *at) {
  uint64_t bits = tr_load_u64(at);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline void tr_store_u16(uint8_t *at, uint16_t x) {
  at[0] = (uint8_t)x;
  at[1] = (uint8_t)(x >> 8);
}

static inline void tr_store_u32(uint8_t *at, uint32_t x) {
  if (TR_IS_LITTLE_ENDIAN) {
    memcpy(at, &x, sizeof x);
    return;
  }
  for (int i = 0; i < 4; i++) at[i] = (uint8_t)(x >> (8 * i));
}

static inline void tr_store_u64(uint8_t *at, uint64_t x) {
  if (TR_IS_LITTLE_ENDIAN) {
    memcpy(at, &x, sizeof x);
    return;
  }
  for (int i = 0; i < 8; i++) at[i] = (uint8_t)(x >> (8 * i));
}

static inline void tr_store_double(uint8_t *at, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  tr_store_u64(at, bits);
}

#endif

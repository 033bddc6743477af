/*
** 64-bit integers as big-endian bytes, on any machine. memcmp orders such bytes as the unsigned
** numbers are ordered. Compilers turn each function into one load or store and a byte swap. Pure.
*/
#ifndef TR_BASE_BIG_ENDIAN_H
#define TR_BASE_BIG_ENDIAN_H

#include <stdint.h>

static inline uint64_t tr_load_big_u64(const uint8_t *at) {
  return (uint64_t)at[0] << 56 | (uint64_t)at[1] << 48 | (uint64_t)at[2] << 40 |
         (uint64_t)at[3] << 32 | (uint64_t)at[4] << 24 | (uint64_t)at[5] << 16 |
         (uint64_t)at[6] << 8 | (uint64_t)at[7];
}

static inline void tr_store_big_u64(uint8_t *at, uint64_t x) {
  at[0] = (uint8_t)(x >> 56);
  at[1] = (uint8_t)(x >> 48);
  at[2] = (uint8_t)(x >> 40);
  at[3] = (uint8_t)(x >> 32);
  at[4] = (uint8_t)(x >> 24);
  at[5] = (uint8_t)(x >> 16);
  at[6] = (uint8_t)(x >> 8);
  at[7] = (uint8_t)x;
}

#endif

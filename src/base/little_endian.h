/*
** Integers and doubles in little-endian bytes, whatever the machine: what stored forms are made of.
** Compilers make one load or store of each on a little-endian machine. Pure.
*/
#ifndef TR_BASE_LITTLE_ENDIAN_H
#define TR_BASE_LITTLE_ENDIAN_H

#include <stdint.h>
#include <string.h>

static inline uint16_t tr_load_u16(const uint8_t *at) {
  return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t tr_load_u32(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t tr_load_u64(const uint8_t *at) {
  return (uint64_t)tr_load_u32(at) | (uint64_t)tr_load_u32(at + 4) << 32;
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
  for (int i = 0; i < 4; i++) at[i] = (uint8_t)(x >> (8 * i));
}

static inline void tr_store_u64(uint8_t *at, uint64_t x) {
  for (int i = 0; i < 8; i++) at[i] = (uint8_t)(x >> (8 * i));
}

static inline void tr_store_double(uint8_t *at, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  tr_store_u64(at, bits);
}

#endif

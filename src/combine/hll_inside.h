/*
** What hll.c, hll_image.c and approx_count_distinct.c share.
**
** A coupon is (rank << 26) | address, as DataSketches stores them. A rank is 1..63, so no coupon is
** 0. Register `address & (k - 1)` holds the highest rank of its coupons, or 0 if it has none.
*/
#ifndef TR_COMBINE_HLL_INSIDE_H
#define TR_COMBINE_HLL_INSIDE_H

#include "base/hash.h"
#include "combine/hll.h"

#define TR_HLL_ADDRESS_BITS 26
#define TR_HLL_ADDRESS_MASK ((UINT32_C(1) << TR_HLL_ADDRESS_BITS) - 1)
#define TR_HLL_MAX_RANK 63
#define TR_HLL_HASH_SEED 9001
/* From this many coupons on, an image that we write has a set instead of a list. */
#define TR_HLL_LIST_CAPACITY 8

/* How many coupons a sketch has before it turns to registers. DataSketches has the same limits. */
uint32_t tr_hll_coupon_limit(int lg_k);

static inline int tr_hll_leading_zeros(uint64_t x) {
#if defined(__GNUC__)
  return x == 0 ? 64 : __builtin_clzll(x);
#else
  int count = 0;
  for (uint64_t bit = UINT64_C(1) << 63; bit != 0 && (x & bit) == 0; bit >>= 1) count++;
  return count;
#endif
}

static inline uint32_t tr_hll_coupon_of_hash(tr_hash128 hash) {
  int zeros = tr_hll_leading_zeros(hash.high);
  uint32_t rank = (uint32_t)(zeros > TR_HLL_MAX_RANK - 1 ? TR_HLL_MAX_RANK : zeros + 1);
  return rank << TR_HLL_ADDRESS_BITS | ((uint32_t)hash.low & TR_HLL_ADDRESS_MASK);
}

static inline uint32_t tr_hll_coupon_of_u64(uint64_t x) {
  return tr_hll_coupon_of_hash(tr_hash128_of_u64(x, TR_HLL_HASH_SEED));
}

/* The coupon of a value; 0 for NULL. */
uint32_t tr_hll_coupon_of(const tr_value *value);

/* Adds a coupon that is not 0. TR_NO_MEMORY: not added. */
tr_code tr_hll_add_coupon(tr_hll *hll, uint32_t coupon, tr_error *err);

int tr_hll_has_coupon(const tr_hll *hll, uint32_t coupon);

/* Adds a coupon to registers. */
static inline void tr_hll_raise_register(tr_hll *hll, uint32_t coupon) {
  uint32_t slot = coupon & ((UINT32_C(1) << hll->lg_k) - 1);
  uint8_t rank = (uint8_t)(coupon >> TR_HLL_ADDRESS_BITS);
  if (hll->registers[slot] < rank) hll->registers[slot] = rank;
}

/* Adds a coupon if that takes no memory. 1: added. 0: it may take memory. */
static inline int tr_hll_add_coupon_in_place(tr_hll *hll, uint32_t coupon) {
  if (hll->registers == NULL) return tr_hll_has_coupon(hll, coupon);
  hll->hip = 0;
  tr_hll_raise_register(hll, coupon);
  return 1;
}

/* Whether these registers can have the estimate `hip` of their maker. */
int tr_hll_is_plausible(const tr_hll *hll, double hip);

/* Makes registers, from the coupons if there are any. TR_NO_MEMORY: nothing changed. */
tr_code tr_hll_turn_to_registers(tr_hll *hll, tr_error *err);

#endif

/*
** What hll.c and hll_image.c share.
**
** A coupon is (rank << 26) | address, as DataSketches stores them. A rank is 1..63, so 0 is no coupon.
** Register `address & (k-1)` holds the highest rank of its coupons, 0 if it has none.
*/
#ifndef TR_COMBINE_HLL_INSIDE_H
#define TR_COMBINE_HLL_INSIDE_H

#include "combine/hll.h"

#define TR_HLL_ADDRESS_BITS 26
#define TR_HLL_ADDRESS_MASK ((UINT32_C(1) << TR_HLL_ADDRESS_BITS) - 1)
#define TR_HLL_MAX_RANK 63
/* In images, this many coupons are no list any more. */
#define TR_HLL_LIST_CAPACITY 8

/* How many coupons a sketch keeps before it turns to registers; DataSketches' own limits. */
uint32_t tr_hll_coupon_limit(int lg_k);

/* Adds a coupon that is not 0. TR_NO_MEMORY: not added. */
tr_code tr_hll_add_coupon(tr_hll *hll, uint32_t coupon, tr_error *err);

/* Whether a maker's own estimate can be one of these registers. */
int tr_hll_is_plausible(const tr_hll *hll, double hip);

/* Makes registers, from coupons if there are any. TR_NO_MEMORY leaves all as it was. */
tr_code tr_hll_turn_to_registers(tr_hll *hll, tr_error *err);

#endif

/*
** HyperLogLog: counts distinct values, with 4 KiB of stored bytes (8 KiB in memory). The order of
** the values and the cut do not matter.
**
** How it works. Each value is hashed to 128 bits. 26 of them are an address. The number of leading
** zeros in 64 others gives a rank. Address and rank together are a coupon. While there are few
** distinct coupons, the sketch is the set of them, and their number is the estimate. It is wrong
** only if two values share a coupon. Two addresses are equal once in 2^26, and two ranks once in 3
** (the sum of 4^-rank), so one pair of values in 3 * 2^26 (201,326,592) shares a coupon. n values
** are n * (n - 1) / 2 pairs. So the chance that the count is too low by one is 1 in 40,000 for 100
** values, 1 in 4,500 for 300 and 1 in 680 for 768. This form cannot do better, because it stores
** two such values as one.
**
** Beyond 3/4 * 2^(lg_k - 3) coupons (768 for the lg_k = 13 that we make) the sketch becomes 2^lg_k
** registers. Each holds the highest rank seen at its address. The standard error is 1.04 /
** sqrt(2^lg_k), which is 1.15 %. Coupons keep all address bits, so sketches with different lg_k
** fold exactly to the smaller one.
**
** A sketch that we make depends only on the set of values, and so do its bytes: order, cut and
** merge tree do not matter. That is why the estimate comes from the registers alone, by Ertl's
** improved estimator, which has no seam between small and large counts. Sketches made elsewhere
** contain an accumulator that depends on the order (HIP) and is a little more accurate. If such a
** sketch is read, its HIP is the estimate, and is written again, until a value or another sketch is
** added. A HIP that is far from what the registers say is ignored.
**
** Bytes: Apache DataSketches' HLL image, serial version 1. We read lists, sets, and HLL_4, HLL_6
** and HLL_8 registers, compact or updatable. We write compact lists, sets (with sorted coupons) and
** HLL_4. HLL_4 has two registers in a byte, so 2^13 of them in 4 KiB; HLL_8 would have 2^12, with
** an error of 1.63 %.
**
** The hashes are those of DataSketches (MurmurHash3 x64 128, seed 9001), so that sketches of the
** same values from elsewhere can be merged. An INTEGER, and a REAL that is one, is hashed as 8
** bytes, little-endian; another REAL by its IEEE bits; text by its UTF-8 bytes. So 1 = 1.0, and '1'
** differs. DataSketches hashes BLOBs like text. We give them another seed, so that x'31' differs
** from '1'.
**
** Sources: Flajolet, Fusy, Gandouet, Meunier, "HyperLogLog" (2007; also the error of few
** registers); Heule, Nunkesser, Hall, "HyperLogLog in practice" (2013; 64-bit hashes, sparse form);
** Otmar Ertl, "New cardinality estimation algorithms for HyperLogLog sketches" (arXiv:1702.01284,
** section 4); Apache DataSketches' published preamble layout of HLL sketches.
**
** Thread-safety: a sketch belongs to one thread at a time.
*/
#ifndef TR_COMBINE_HLL_H
#define TR_COMBINE_HLL_H

#include "base/bytes.h"
#include "base/value.h"

#define TR_HLL_MIN_LG_K 4
#define TR_HLL_MAX_LG_K 21
/* The lg_k of sketches that we make. */
#define TR_HLL_LG_K 13

/* All zeros but lg_k are the empty sketch. Release it with tr_hll_free. */
typedef struct tr_hll {
  uint8_t lg_k;
  uint8_t lg_table;      /* the coupon table has 2^lg_table cells */
  uint32_t coupon_count; /* 0 if there are registers */
  uint32_t *coupons;     /* a hash table; 0 is a free cell; NULL: no coupons */
  uint8_t *registers;    /* 2^lg_k ranks; NULL: there are still coupons */
  double hip;            /* the estimate of its maker, until something is added; 0: none */
} tr_hll;

/* The empty sketch. */
tr_hll tr_hll_empty(int lg_k);

/* Adds a value; NULL is ignored. TR_NO_MEMORY: not added. */
tr_code tr_hll_add(tr_hll *hll, const tr_value *value, tr_error *err);

/*
** Adds the values of `other`. The result has the smaller lg_k of the two, but that of an empty
** sketch does not count. TR_NO_MEMORY: `hll` is valid, with some of the other's values.
*/
tr_code tr_hll_merge(tr_hll *hll, const tr_hll *other, tr_error *err);

/* The estimated number of distinct values. */
double tr_hll_estimate(const tr_hll *hll);

/* Appends the sketch in the form of DataSketches. TR_NO_MEMORY. */
tr_code tr_hll_write(const tr_hll *hll, tr_buffer *bytes, tr_error *err);

/*
** Reads bytes written here or by DataSketches into `hll`, which need not be initialised.
** TR_CORRUPT: the message names the defect. It allocates at most some eight times bytes.size. After
** a failure `hll` owns nothing.
*/
tr_code tr_hll_read(tr_hll *hll, tr_bytes bytes, tr_error *err);

size_t tr_hll_heap_size(const tr_hll *hll);
void tr_hll_free(tr_hll *hll);

#endif

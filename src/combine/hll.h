/*
** HyperLogLog: how many distinct values there were, in 4 KiB of bytes (8 KiB while it is counted),
** whatever the order and the cut.
**
** How it works. Each value is hashed to 128 bits; 26 of them are an address, and the leading zeros
** of another 64 make a rank: together a coupon. While there are few distinct coupons the sketch is
** the set of them, and its count that of the values, unless two of them share a coupon: addresses
** are alike once in 2^26, ranks once in 3 (the sum of 4^-rank), so one pair in 3 * 2^26
** (201,326,592) does. Among n values there are n * (n-1) / 2 pairs: the chance of a count that is
** too low, by one, is 1 in 40,000 at 100, 1 in 4,500 at 300, 1 in 680 at 768. Nothing can be done
** about it within the form: what is stored of two such values is what is stored of one. Beyond 3/4
** * 2^(lg_k-3) coupons (768 for the lg_k = 13 that we make) it becomes 2^lg_k registers, each the
** highest rank seen at its address: a standard error of 1.04 / sqrt(2^lg_k), 1.15 %. Coupons keep
** all address bits, so sketches of different lg_k fold exactly to the smaller one.
**
** All that we make is a function of the set of values, and so are the bytes written: order, cut and
** merge tree cannot matter. That is why the estimate comes from the registers alone (Ertl's
** improved estimator, which has no seam between small and large counts), not from an accumulator
** that depends on order. Sketches made elsewhere bring such an accumulator (HIP), which is a little
** better. It is the estimate of a sketch that was read, and is written again, until the first value
** or other sketch is added; it is not taken where it is far from what the registers say.
**
** Bytes: Apache DataSketches' HLL image, serial version 1. Read: lists, sets, and HLL_4, HLL_6,
** HLL_8 registers, compact or updatable. Written: compact lists, sets (coupons sorted) and HLL_4,
** because two registers a byte give 2^13 of them in 4 KiB, against 2^12 for HLL_8 with 1.63 %
** error.
**
** Hashes are those of DataSketches (MurmurHash3 x64 128, seed 9001), so that sketches of the same
** values made elsewhere merge: an INTEGER, or a REAL that is one, as 8 bytes little-endian; another
** REAL as its IEEE bits; text as its UTF-8 bytes. So 1 = 1.0, and '1' differs. BLOBs, which
** DataSketches hashes as if they were text, get a seed of their own: x'31' differs from '1'.
**
** Sources: Flajolet, Fusy, Gandouet, Meunier, "HyperLogLog" (2007; also what few registers are
** off); Heule, Nunkesser, Hall, "HyperLogLog in practice" (2013; 64-bit hashes, sparse form); Otmar
** Ertl, "New cardinality estimation algorithms for HyperLogLog sketches" (arXiv:1702.01284, section
** 4); Apache DataSketches' published preamble layout of HLL sketches.
**
** Thread-safety: a sketch belongs to one thread at a time.
*/
#ifndef TR_COMBINE_HLL_H
#define TR_COMBINE_HLL_H

#include "base/bytes.h"
#include "base/value.h"

#define TR_HLL_MIN_LG_K 4
#define TR_HLL_MAX_LG_K 21
/* What we make ourselves. */
#define TR_HLL_LG_K 13

/* All zero but lg_k is the empty sketch. Release with tr_hll_free. */
typedef struct tr_hll {
  uint8_t lg_k;
  uint8_t lg_table;      /* the coupon table has 2^lg_table cells */
  uint32_t coupon_count; /* 0 once there are registers */
  uint32_t *coupons;     /* hash table, 0 is a free cell; NULL: no coupons */
  uint8_t *registers;    /* 2^lg_k ranks; NULL: still coupons */
  double hip;            /* its maker's estimate, valid while nothing is added; 0: there is none */
} tr_hll;

/* The empty sketch. */
tr_hll tr_hll_empty(int lg_k);

/* Adds a value; NULL is ignored. TR_NO_MEMORY: not added. */
tr_code tr_hll_add(tr_hll *hll, const tr_value *value, tr_error *err);

/*
** Adds what `other` has seen. The result has the smaller lg_k of the two; an empty sketch carries
** none. TR_NO_MEMORY leaves `hll` valid, with some of the other's values.
*/
tr_code tr_hll_merge(tr_hll *hll, const tr_hll *other, tr_error *err);

/* The number of distinct values seen. */
double tr_hll_estimate(const tr_hll *hll);

/* Appends the sketch's bytes, as DataSketches reads them. */
tr_code tr_hll_write(const tr_hll *hll, tr_buffer *bytes, tr_error *err);

/*
** Reads bytes written here or by DataSketches into `hll`, which owns nothing before and, on
** failure, after. TR_CORRUPT names the defect. Allocates at most some eight times bytes.size.
*/
tr_code tr_hll_read(tr_hll *hll, tr_bytes bytes, tr_error *err);

size_t tr_hll_heap_size(const tr_hll *hll);
void tr_hll_free(tr_hll *hll);

#endif

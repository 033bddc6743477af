/*
** All combine functions. registry.c lists them in the order of the documentation.
*/
#ifndef TR_COMBINE_FUNCTIONS_H
#define TR_COMBINE_FUNCTIONS_H

#include "combine/combine.h"

extern const tr_combine_fn tr_combine_count;

/* sum.c */
extern const tr_combine_fn tr_combine_sum;
extern const tr_combine_fn tr_combine_mean;

/* variance.c */
extern const tr_combine_fn tr_combine_var_pop;
extern const tr_combine_fn tr_combine_var_samp;
extern const tr_combine_fn tr_combine_stddev_pop;
extern const tr_combine_fn tr_combine_stddev_samp;

/* extremum.c */
extern const tr_combine_fn tr_combine_min;
extern const tr_combine_fn tr_combine_max;
extern const tr_combine_fn tr_combine_any_value;

/* bits.c */
extern const tr_combine_fn tr_combine_bit_and;
extern const tr_combine_fn tr_combine_bit_or;
extern const tr_combine_fn tr_combine_bit_xor;

/* top.c */
extern const tr_combine_fn tr_combine_top_largest;
extern const tr_combine_fn tr_combine_top_smallest;
extern const tr_combine_fn tr_combine_max_by;
extern const tr_combine_fn tr_combine_min_by;
extern const tr_combine_fn tr_combine_latest;

/* sample.c */
extern const tr_combine_fn tr_combine_sample;

/* approx_quantiles.c */
extern const tr_combine_fn tr_combine_approx_quantiles;
extern const tr_combine_fn tr_combine_approx_quantile;

extern const tr_combine_fn tr_combine_approx_count_distinct;
extern const tr_combine_fn tr_combine_approx_top_count;

extern const tr_combine_fn tr_combine_histogram;

#endif

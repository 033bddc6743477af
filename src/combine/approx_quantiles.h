/*
** approx_quantiles(x, n) and approx_quantile(x, q): where the values of a column lie, in bounded
** memory.
**
** approx_quantiles gives exactly n values: the minimum, n-2 interior ones and the maximum, the
** edges of a histogram of n-1 equally full parts; an interior value's rank is within count/n of the
** true one. approx_quantile gives the smallest value with rank / count >= q, where rank is the
** number of values at or below it and the quotient a double, as in SQL's cume_dist(); ranks are
** within count/200. Both are exact up to 1024 values (more for n > 204: 5n), and their picks are
** then Beam's.
**
** Values are in SQLite's order: numbers below text. The two are kept in one KLL sketch each
** (kll.h), of k = max(1024, 5n); NULLs are ignored, BLOBs refused. A column of INTEGERs gives
** INTEGERs, exact over all 64 bits; where a REAL was among them all numbers come back as REAL.
**
** Bytes of the state: one byte with how numbers stand (0 INTEGER as int64, 1 REAL as double), the
** size of the number sketch in four bytes, the number sketch, the text sketch, each in
** DataSketches' form and missing if there is nothing in it.
**
** Source: Apache Beam, ApproximateQuantiles (the picks); BigQuery, APPROX_QUANTILES (the name).
** Thread-safety: as combine.h.
*/
#ifndef TR_COMBINE_APPROX_QUANTILES_H
#define TR_COMBINE_APPROX_QUANTILES_H

#include "combine/combine.h"
#include "combine/kll.h"

/* The k of the sketches, at least: so many values are exact. */
#define TR_QUANTILES_LEAST_K 1024
/* Values of n that approx_quantiles takes. */
#define TR_QUANTILES_MIN 2
#define TR_QUANTILES_MAX 6400

/* The state of both functions. */
typedef struct tr_quantiles {
  tr_kll numbers;
  tr_kll texts;
} tr_quantiles;

/* The k of the sketches of a binding of either function. */
int tr_quantiles_k(const tr_combine *combine);

#endif

/*
** approx_quantiles(x, n) and approx_quantile(x, q): the quantiles of a column, in bounded memory.
**
** approx_quantiles gives n values: the minimum, n - 2 values between, and the maximum. They are the
** edges of a histogram of n - 1 equally full parts. The rank of a value between is within count / n
** of the true one. approx_quantile gives the smallest value with rank / count >= q. The rank is the
** number of values at or below it; the division is one of doubles, as in SQL's cume_dist(). Ranks
** are within count / 200. Both are exact up to 1024 values (for n > 204, up to 5n), and then pick
** the same values as Beam.
**
** Values are in SQLite's order: numbers before text. The numbers and the texts each have a KLL
** sketch (kll.h) with k = max(1024, 5n). NULLs are ignored; BLOBs are an error. A column of
** INTEGERs gives INTEGERs, exact in all 64 bits. If there was a REAL among them, all numbers become
** REALs.
**
** Bytes of the state: one byte for the form of the numbers (0: INTEGER as int64, 1: REAL as
** double), four bytes for the size of the number sketch, the number sketch, the text sketch. The
** sketches have the form of DataSketches. A sketch without values is left out.
**
** Source: Apache Beam, ApproximateQuantiles (the picks); BigQuery, APPROX_QUANTILES (the name).
** Thread-safety: as combine.h.
*/
#ifndef TR_COMBINE_APPROX_QUANTILES_H
#define TR_COMBINE_APPROX_QUANTILES_H

#include "combine/combine.h"
#include "combine/kll.h"

/* The least k of the sketches. So many values are exact. */
#define TR_QUANTILES_LEAST_K 1024
/* The range of n. */
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

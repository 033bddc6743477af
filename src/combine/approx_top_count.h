/*
** approx_top_count(x, n): the n most frequent values of a column, with bounds that always hold.
**
** The output is a JSON array of objects, the most frequent value first, equal counts by value:
**
**   [{"value":"ATL","count":1127,"error":0}, ...]
**
** There are n values wherever so many different ones came. The true count is never above `count`
** and never below `count - error`. While a column has at most 3072 different values (more for n >
** 512: 6n), error is 0 and all is exact; beyond, error is at most 1/1536 of the rows (2.7 rows in
** 8n), and every value more frequent than that is listed among the candidates. BLOBs are counted,
** but JSON cannot show one.
**
** Its state is a tr_frequent_items of 2^12 cells, or of the power of two from 8n on.
** Bytes of the state: the sizes (four bytes each) of the images of the INTEGERs and of the texts,
** then these two images and that of REALs and BLOBs (frequent_items.h), each missing if nothing is
** in it.
**
** Source: BigQuery, APPROX_TOP_COUNT (the name; value and count). Thread-safety: as combine.h.
*/
#ifndef TR_COMBINE_APPROX_TOP_COUNT_H
#define TR_COMBINE_APPROX_TOP_COUNT_H

#include "combine/combine.h"
#include "combine/frequent_items.h"

/* The lg_max of the sketch, at least. */
#define TR_TOP_COUNT_LEAST_LG 12
/* The largest n. */
#define TR_TOP_COUNT_MAX 10000

#endif

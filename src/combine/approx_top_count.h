/*
** approx_top_count(x, n): the n most frequent values of a column, with bounds that always hold.
**
** The output is a JSON array of objects, the most frequent value first, equal counts by value:
**
**   [{"value":"ATL","count":1127,"error":0}, ...]
**
** It has n values if the column has so many different ones. The true count is at most `count` and
** at least `count - error`. While a column has at most 3072 different values (for n > 512, 6n),
** error is 0 and all counts are exact. Beyond that, error is at most 1/1536 of the rows (for n >
** 512, 2.7 / 8n of them), and every value with a greater share of the rows is a candidate for the
** output. BLOBs are counted, but are an error in the output, because JSON has none.
**
** The state is a tr_frequent_items with 2^12 cells, or the next power of two from 8n on. Bytes of
** the state: four bytes each for the size of the image of the INTEGERs and of the texts, then these
** two images, then the image of the REALs and BLOBs (frequent_items.h). An image without values is
** left out.
**
** Source: BigQuery, APPROX_TOP_COUNT (the name; value and count). Thread-safety: as combine.h.
*/
#ifndef TR_COMBINE_APPROX_TOP_COUNT_H
#define TR_COMBINE_APPROX_TOP_COUNT_H

#include "combine/combine.h"
#include "combine/frequent_items.h"

/* The least lg_max of the sketch. */
#define TR_TOP_COUNT_LEAST_LG 12
/* The largest n. */
#define TR_TOP_COUNT_MAX 10000

#endif

/*
** What the files of KLL share: kll.c (the sketch), kll_order.c (its items), kll_view.c (reading
** it), kll_image.c (its bytes).
*/
#ifndef TR_COMBINE_KLL_INSIDE_H
#define TR_COMBINE_KLL_INSIDE_H

#include "combine/kll.h"

/* The least capacity of a level, as in DataSketches (its parameter m); and the most levels. */
#define TR_KLL_LEAST_LEVEL 8
#define TR_KLL_MAX_LEVELS 61

/* --- items (kll_order.c) ------------------------------------------------------------------ */

/* Makes an item of `kll` that owns a copy of `text`. TR_NO_MEMORY. */
tr_code tr_kll_make_text(tr_kll *kll, tr_bytes text, tr_kll_item *item, tr_error *err);
tr_bytes tr_kll_text_bytes(const tr_kll_text *text);
size_t tr_kll_text_memory(const tr_kll_text *text);
int tr_kll_compare(const tr_kll *kll, tr_kll_item a, tr_kll_item b);
/* Sorts `count` items; `scratch` has room for as many. */
void tr_kll_sort(const tr_kll *kll, tr_kll_item *items, size_t count, tr_kll_item *scratch);
/* Merges `count` items of a sorted run, every `stride`-th, into a level, which must have room. */
void tr_kll_merge_into_level(const tr_kll *kll, tr_kll_level *level, const tr_kll_item *run,
                             size_t stride, size_t count);

/* --- the sketch (kll.c) ------------------------------------------------------------------- */

/* Makes the coins depend on `seed` too. */
void tr_kll_stir(tr_kll *kll, uint64_t seed);
/* Releases an item that is in no array of the sketch. */
void tr_kll_drop_item(tr_kll *kll, tr_kll_item item);
/* How many values all levels together may hold before one of them is compacted. */
uint32_t tr_kll_capacity(int k, int level_count);
/*
** Makes room for `more` items on level `height`, and creates the levels up to it. TR_NO_MEMORY.
** TR_OVERFLOW: there are no more levels.
*/
tr_code tr_kll_reserve(tr_kll *kll, int height, size_t more, tr_error *err);
/*
** Makes `flat` a sketch of the same values that has the k of the image. It has all values in
** levels, and no more than the image may hold. It borrows the texts of `kll`.
*/
tr_code tr_kll_flatten(const tr_kll *kll, tr_kll *flat, tr_error *err);

#endif

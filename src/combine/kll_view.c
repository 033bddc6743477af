/*
** Views of a KLL sketch: all retained values in order, with their weights.
*/
#include "combine/kll_inside.h"

#include <string.h>

#include "base/memory.h"

tr_value tr_kll_value(const tr_kll *kll, tr_kll_item item) {
  switch (kll->kind) {
  case TR_KLL_INTEGER: return tr_value_integer(item.key);
  case TR_KLL_REAL: return tr_value_real(tr_kll_real_of_key(item.key));
  default: return tr_value_text(tr_kll_text_bytes(item.text));
  }
}

/*
** Merges a sorted run, whose items have one weight, into the sorted entries of the view. `scratch`
** is as large as these.
*/
static void merge_into_view(const tr_kll *kll, tr_kll_view *view, tr_kll_entry *scratch,
                            const tr_kll_item *run, size_t count, uint64_t weight) {
  if (count == 0) return; /* an empty run may be at NULL */
  const tr_kll_item *end = run + count;
  tr_kll_entry *old = view->entries, *old_end = old + view->count, *to = scratch;
  while (run < end && old < old_end) {
    if (tr_kll_compare(kll, *run, old->item) < 0) {
      *to++ = (tr_kll_entry){*run++, weight};
    } else {
      *to++ = *old++;
    }
  }
  while (run < end) *to++ = (tr_kll_entry){*run++, weight};
  while (old < old_end) *to++ = *old++;
  view->count += count;
  memcpy(view->entries, scratch, view->count * sizeof *scratch);
}

tr_code tr_kll_view_of(const tr_kll *kll, tr_kll_view *view, tr_error *err) {
  *view = (tr_kll_view){0};
  size_t loose = kll->input_count > kll->batch_count ? kll->input_count : kll->batch_count;
  size_t total = (size_t)kll->batch_count + kll->input_count;
  for (int h = 0; h < kll->level_count; h++) total += kll->levels[h].count;
  if (total == 0) return TR_OK;
  /*
  ** One block: the entries, as many again for merging, the loose items, as many again for sorting.
  */
  view->entries = tr_malloc(total * 2 * sizeof *view->entries + loose * 2 * sizeof(tr_kll_item));
  if (view->entries == NULL) return tr_error_no_memory(err);
  tr_kll_entry *scratch = view->entries + total;
  tr_kll_item *items = (tr_kll_item *)(scratch + total);
  if (kll->has_extremes) {
    view->minimum = kll->minimum;
    view->maximum = kll->maximum;
  }
  if (kll->batch_count > 0) {
    memcpy(items, kll->batch, kll->batch_count * sizeof *items);
    tr_kll_sort(kll, items, kll->batch_count, items + loose);
    tr_kll_item low = items[0], high = items[kll->batch_count - 1];
    if (!kll->has_extremes || tr_kll_compare(kll, low, view->minimum) < 0) view->minimum = low;
    if (!kll->has_extremes || tr_kll_compare(kll, high, view->maximum) > 0) view->maximum = high;
    merge_into_view(kll, view, scratch, items, kll->batch_count, 1);
  }
  if (kll->input_count > 0) {
    memcpy(items, kll->input, kll->input_count * sizeof *items);
    tr_kll_sort(kll, items, kll->input_count, items + loose);
    merge_into_view(kll, view, scratch, items, kll->input_count, UINT64_C(1) << kll->lg_block);
  }
  for (int h = 0; h < kll->level_count; h++) {
    const tr_kll_level *level = &kll->levels[h];
    merge_into_view(kll, view, scratch, level->items, level->count, UINT64_C(1) << h);
  }
  return TR_OK;
}

void tr_kll_view_free(tr_kll_view *view) {
  tr_free(view->entries);
  *view = (tr_kll_view){0};
}

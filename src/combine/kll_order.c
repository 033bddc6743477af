/*
** The items of a KLL sketch: comparing, sorting and merging. Only here do numbers and texts differ.
*/
#include "combine/kll_inside.h"

#include <string.h>

#include "base/memory.h"

/* A text. Its first eight bytes, as a number, decide most comparisons. */
struct tr_kll_text {
  uint64_t prefix;
  size_t size;
  uint8_t bytes[];
};

tr_code tr_kll_make_text(tr_kll *kll, tr_bytes bytes, tr_kll_item *item, tr_error *err) {
  tr_kll_text *text = tr_malloc(sizeof *text + bytes.size);
  if (text == NULL) return tr_error_no_memory(err);
  text->size = bytes.size;
  text->prefix = 0;
  for (size_t i = 0; i < 8; i++) {
    text->prefix = text->prefix << 8 | (i < bytes.size ? bytes.data[i] : 0);
  }
  if (bytes.size > 0) memcpy(text->bytes, bytes.data, bytes.size);
  kll->heap_size += sizeof *text + bytes.size;
  item->text = text;
  return TR_OK;
}

tr_bytes tr_kll_text_bytes(const tr_kll_text *text) {
  return (tr_bytes){text->bytes, text->size};
}

static int compare_texts(const tr_kll_text *a, const tr_kll_text *b) {
  if (a->prefix != b->prefix) return a->prefix < b->prefix ? -1 : 1;
  return tr_bytes_compare(tr_kll_text_bytes(a), tr_kll_text_bytes(b));
}

int tr_kll_compare(const tr_kll *kll, tr_kll_item a, tr_kll_item b) {
  if (kll->kind == TR_KLL_TEXT) return compare_texts(a.text, b.text);
  return (a.key > b.key) - (a.key < b.key);
}

/*
** Merges numbers without a branch that could be mispredicted. The smaller number is taken. The
** comparison advances the position in `a`, and the position in `b` follows from it.
*/
static void merge_numbers(const tr_kll_item *a, size_t a_count, const tr_kll_item *b,
                          size_t b_count, tr_kll_item *to) {
  size_t taken = 0, from_a = 0;
  while (from_a < a_count && taken - from_a < b_count) {
    int64_t x = a[from_a].key, y = b[taken - from_a].key;
    to[taken++].key = y < x ? y : x;
    from_a += x <= y;
  }
  memcpy(to + taken, a + from_a, (a_count - from_a) * sizeof *a);
  taken += a_count - from_a;
  memcpy(to + taken, b + (taken - a_count), (a_count + b_count - taken) * sizeof *b);
}

/*
** The same for two adjacent runs of equal length. Step i takes the i-th item from the low end and
** the i-th item from the high end. Each step depends on the one before. Two such chains at once, or
** four when two pairs of runs are merged together, keep the processor busy.
*/
static inline void merge_step(const tr_kll_item *run, size_t half, size_t i, size_t *low_from_a,
                              size_t *high_from_b, tr_kll_item *to) {
  size_t last = 2 * half - 1;
  int64_t x = run[*low_from_a].key, y = run[half + i - *low_from_a].key;
  int64_t z = run[half - 1 - (i - *high_from_b)].key, w = run[last - *high_from_b].key;
  to[i].key = y < x ? y : x;
  to[last - i].key = w < z ? z : w;
  *low_from_a += x <= y;
  *high_from_b += z <= w;
}

static void merge_pair(const tr_kll_item *run, size_t half, tr_kll_item *to) {
  size_t low = 0, high = 0;
  for (size_t i = 0; i < half; i++) merge_step(run, half, i, &low, &high, to);
}

static void merge_two_pairs(const tr_kll_item *run, size_t half, tr_kll_item *to) {
  size_t low = 0, high = 0, second_low = 0, second_high = 0;
  const tr_kll_item *second = run + 2 * half;
  tr_kll_item *second_to = to + 2 * half;
  for (size_t i = 0; i < half; i++) {
    merge_step(run, half, i, &low, &high, to);
    merge_step(second, half, i, &second_low, &second_high, second_to);
  }
}

static inline void order_pair(int64_t *low, int64_t *high) {
  int64_t x = *low, y = *high;
  *low = x < y ? x : y;
  *high = x < y ? y : x;
}

/* Sorts eight numbers with a network of 19 comparisons, the fewest possible. */
static void sort_eight(tr_kll_item *items) {
  int64_t x[8];
  for (int i = 0; i < 8; i++) x[i] = items[i].key;
  order_pair(&x[0], &x[2]), order_pair(&x[1], &x[3]);
  order_pair(&x[4], &x[6]), order_pair(&x[5], &x[7]);
  order_pair(&x[0], &x[4]), order_pair(&x[1], &x[5]);
  order_pair(&x[2], &x[6]), order_pair(&x[3], &x[7]);
  order_pair(&x[0], &x[1]), order_pair(&x[2], &x[3]);
  order_pair(&x[4], &x[5]), order_pair(&x[6], &x[7]);
  order_pair(&x[2], &x[4]), order_pair(&x[3], &x[5]);
  order_pair(&x[1], &x[4]), order_pair(&x[3], &x[6]);
  order_pair(&x[1], &x[2]), order_pair(&x[3], &x[4]), order_pair(&x[5], &x[6]);
  for (int i = 0; i < 8; i++) items[i].key = x[i];
}

static void sort_few_numbers(tr_kll_item *items, size_t count) {
  for (size_t i = 1; i < count; i++) {
    tr_kll_item item = items[i];
    size_t at = i;
    for (; at > 0 && items[at - 1].key > item.key; at--) items[at] = items[at - 1];
    items[at] = item;
  }
}

/* Bottom-up merge sort over runs of eight. */
static void sort_numbers(tr_kll_item *items, size_t count, tr_kll_item *scratch) {
  size_t start = 0;
  for (; start + 8 <= count; start += 8) sort_eight(items + start);
  sort_few_numbers(items + start, count - start);
  tr_kll_item *from = items, *to = scratch;
  for (size_t run = 8; run < count; run *= 2) {
    for (start = 0; start + 4 * run <= count; start += 4 * run) {
      merge_two_pairs(from + start, run, to + start);
    }
    if (start + 2 * run <= count) {
      merge_pair(from + start, run, to + start);
      start += 2 * run;
    }
    size_t rest = count - start, first = rest < run ? rest : run;
    merge_numbers(from + start, first, from + start + first, rest - first, to + start);
    tr_kll_item *swap = from;
    from = to;
    to = swap;
  }
  if (from != items) memcpy(items, from, count * sizeof *items);
}

static void merge_texts(const tr_kll_item *a, size_t a_count, const tr_kll_item *b, size_t b_count,
                        tr_kll_item *to) {
  const tr_kll_item *a_end = a + a_count, *b_end = b + b_count;
  while (a < a_end && b < b_end) *to++ = compare_texts(b->text, a->text) < 0 ? *b++ : *a++;
  memcpy(to, a, (size_t)(a_end - a) * sizeof *a);
  memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
}

static void sort_texts(tr_kll_item *items, size_t count, tr_kll_item *scratch) {
  if (count < 2) return;
  size_t half = count / 2;
  sort_texts(items, half, scratch);
  sort_texts(items + half, count - half, scratch);
  memcpy(scratch, items, count * sizeof *items);
  merge_texts(scratch, half, scratch + half, count - half, items);
}

void tr_kll_sort(const tr_kll *kll, tr_kll_item *items, size_t count, tr_kll_item *scratch) {
  if (kll->kind == TR_KLL_TEXT) {
    sort_texts(items, count, scratch);
  } else {
    sort_numbers(items, count, scratch);
  }
}

/* Works from the highest item down, so that no item of the level is overwritten. */
void tr_kll_merge_into_level(const tr_kll *kll, tr_kll_level *level, const tr_kll_item *run,
                             size_t stride, size_t count) {
  if (count == 0) return; /* both may be at NULL */
  tr_kll_item *old = level->items + level->count, *to = old + count;
  const tr_kll_item *from = run + stride * count;
  level->count += (uint32_t)count;
  if (kll->kind == TR_KLL_TEXT) {
    while (from > run && old > level->items) {
      int is_old = compare_texts(old[-1].text, from[-(ptrdiff_t)stride].text) > 0;
      *--to = is_old ? *--old : *(from -= stride);
    }
  } else {
    size_t left = count, old_left = (size_t)(old - level->items);
    while (left > 0 && old_left > 0) {
      int64_t x = level->items[old_left - 1].key, y = run[stride * (left - 1)].key;
      level->items[left + old_left - 1].key = x > y ? x : y;
      size_t is_old = x > y;
      old_left -= is_old;
      left += is_old - 1;
    }
    from = run + stride * left;
    to = level->items + left + old_left;
  }
  while (from > run) *--to = *(from -= stride);
}

size_t tr_kll_text_memory(const tr_kll_text *text) {
  return sizeof *text + text->size;
}

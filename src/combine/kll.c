/*
** KLL as kll.h describes it: batch -> input -> levels.
**
** Numbers and texts share everything but sorting and merging of runs: a number is an int64 that
** sorts like it (a double by its bits), a text a pointer to bytes with the first eight beside it.
**
** Invariants:  the values of batch have weight 1, of input 2^lg_block, of levels[h] 2^h;
**              weights of input and levels sum to `count`;  levels are sorted;
**              every level up to lg_block + 1 exists once the input was compacted.
*/
#include "combine/kll.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* Levels shrink to this, as in DataSketches (its parameter m). */
#define MIN_LEVEL_CAPACITY 8
#define MAX_LEVELS 61
#define MAX_LG_BLOCK 8
#define RANDOM_SEED UINT64_C(0x9e3779b97f4a7c15)

/* A text, and its first eight bytes as a number, which decide most comparisons. */
struct tr_kll_text {
  uint64_t prefix;
  size_t size;
  uint8_t bytes[];
};

/* --- coins -------------------------------------------------------------------------------- */

/* xorshift64*, by Marsaglia and Vigna. */
static uint64_t next_random(tr_kll *kll) {
  uint64_t x = kll->random;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  kll->random = x;
  return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* 0 or 1: at each level every other coin is the opposite of the one before. */
static uint32_t next_coin(tr_kll *kll, int level) {
  uint64_t bit = UINT64_C(1) << level;
  kll->coins ^= (kll->paired & bit) != 0 || next_random(kll) >> 63 != 0 ? bit : 0;
  kll->paired ^= bit;
  return (kll->coins & bit) != 0;
}

/* --- order -------------------------------------------------------------------------------- */

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
** Merging numbers is written without a branch that could be guessed wrong: the smaller one is taken,
** and of the two positions one is counted up by the comparison, the other follows from it.
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
** The same for two runs of one length that lie one behind the other, in steps: step i takes the i-th
** item from the low end and the i-th from the high end. Each step depends on the one before; that
** there are two chains, and four where two pairs of runs are merged at once, keeps the processor busy.
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

/* Sorts eight numbers with a network of 19 comparisons (the fewest there can be). */
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

/*
** Merges `count` items of a sorted run, every `stride`-th, into a level that has room for them, from
** the highest down.
*/
static void merge_into_level(const tr_kll *kll, tr_kll_level *level, const tr_kll_item *run,
                             size_t stride, size_t count) {
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

/* --- memory ------------------------------------------------------------------------------- */

static tr_code grow(tr_kll_item **items, uint32_t *capacity, size_t needed, size_t slots,
                    tr_error *err) {
  if (needed <= *capacity) return TR_OK;
  tr_kll_item *grown = tr_realloc(*items, needed * slots * sizeof **items);
  if (grown == NULL) return tr_error_no_memory(err);
  *items = grown;
  *capacity = (uint32_t)needed;
  return TR_OK;
}

tr_code tr_kll_reserve(tr_kll *kll, int height, size_t more, tr_error *err) {
  if (height >= MAX_LEVELS) return tr_error_set(err, TR_OVERFLOW, "too many values");
  if (height >= kll->level_count) {
    size_t size = (size_t)(height + 1) * sizeof *kll->levels;
    tr_kll_level *levels = tr_realloc(kll->levels, size);
    if (levels == NULL) return tr_error_no_memory(err);
    for (int h = kll->level_count; h <= height; h++) levels[h] = (tr_kll_level){0};
    kll->levels = levels;
    kll->level_count = (uint8_t)(height + 1);
  }
  tr_kll_level *level = &kll->levels[height];
  size_t needed = level->count + more;
  if (needed <= level->capacity) return TR_OK;
  /* Some air above, so that a level that keeps growing is not moved each time. */
  return grow(&level->items, &level->capacity, needed + needed / 4, 1, err);
}

tr_code tr_kll_make_text(tr_kll *kll, tr_bytes bytes, tr_kll_item *item, tr_error *err) {
  tr_kll_text *text = tr_malloc(sizeof *text + bytes.size);
  if (text == NULL) return tr_error_no_memory(err);
  text->size = bytes.size;
  text->prefix = 0;
  for (size_t i = 0; i < 8; i++) {
    text->prefix = text->prefix << 8 | (i < bytes.size ? bytes.data[i] : 0);
  }
  if (bytes.size > 0) memcpy(text->bytes, bytes.data, bytes.size);
  kll->text_size += sizeof *text + bytes.size;
  item->text = text;
  return TR_OK;
}

void tr_kll_drop_item(tr_kll *kll, tr_kll_item item) {
  if (kll->kind != TR_KLL_TEXT || kll->is_borrowing) return;
  kll->text_size -= sizeof *item.text + item.text->size;
  tr_free(item.text);
}

static void drop_items(tr_kll *kll, const tr_kll_item *items, size_t count) {
  if (kll->kind != TR_KLL_TEXT || kll->is_borrowing) return;
  for (size_t i = 0; i < count; i++) tr_kll_drop_item(kll, items[i]);
}

tr_kll tr_kll_empty(tr_kll_kind kind, int k) {
  return (tr_kll){
      .kind = (uint8_t)kind, .k = (uint16_t)k, .min_k = (uint16_t)k, .random = RANDOM_SEED};
}

void tr_kll_free(tr_kll *kll) {
  drop_items(kll, kll->batch, kll->batch_count);
  drop_items(kll, kll->input, kll->input_count);
  for (int h = 0; h < kll->level_count; h++) {
    drop_items(kll, kll->levels[h].items, kll->levels[h].count);
    tr_free(kll->levels[h].items);
  }
  if (kll->has_extremes) {
    tr_kll_drop_item(kll, kll->minimum);
    tr_kll_drop_item(kll, kll->maximum);
  }
  tr_free(kll->batch);
  tr_free(kll->input);
  tr_free(kll->levels);
  *kll = tr_kll_empty((tr_kll_kind)kll->kind, kll->k);
}

size_t tr_kll_heap_size(const tr_kll *kll) {
  size_t size = kll->text_size + kll->batch_capacity * sizeof *kll->batch +
                2 * kll->input_capacity * sizeof *kll->input +
                kll->level_count * sizeof *kll->levels;
  for (int h = 0; h < kll->level_count; h++) {
    size += kll->levels[h].capacity * sizeof *kll->levels[h].items;
  }
  return size;
}

/* --- compaction --------------------------------------------------------------------------- */

uint32_t tr_kll_level_capacity(int k, int level_count, int height) {
  /* k * (2/3)^depth, rounded; beyond 30 levels down that is below the minimum for every k. */
  int depth = level_count - 1 - height;
  if (depth > 30) return MIN_LEVEL_CAPACITY;
  uint64_t power = 1;
  for (int i = 0; i < depth; i++) power *= 3;
  uint64_t capacity = (((uint64_t)k * 2 << depth) / power + 1) / 2;
  return capacity < MIN_LEVEL_CAPACITY ? MIN_LEVEL_CAPACITY : (uint32_t)capacity;
}

uint32_t tr_kll_capacity(int k, int level_count) {
  uint32_t sum = 0;
  for (int h = 0; h < level_count; h++) sum += tr_kll_level_capacity(k, level_count, h);
  return sum;
}

/*
** Moves every other one of `count` sorted items to the level above theirs and drops the rest. Of an
** odd number the first stays: it is put in front, and the count left returned through `left`.
*/
static tr_code promote(tr_kll *kll, tr_kll_item *items, uint32_t count, int height, uint32_t *left,
                       tr_error *err) {
  tr_code code = tr_kll_reserve(kll, height + 1, count / 2, err);
  if (code != TR_OK) return code;
  uint32_t odd = count % 2, coin = next_coin(kll, height);
  merge_into_level(kll, &kll->levels[height + 1], items + odd + coin, 2, count / 2);
  if (kll->kind == TR_KLL_TEXT) {
    for (uint32_t i = odd + 1 - coin; i < count; i += 2) tr_kll_drop_item(kll, items[i]);
  }
  *left = odd;
  return TR_OK;
}

/* Levels fill in turn: one that was emptied gives its memory back, or all would stay at their peak. */
static void give_back(tr_kll_level *level) {
  tr_kll_item *smaller = tr_realloc(level->items, MIN_LEVEL_CAPACITY * sizeof *level->items);
  if (smaller == NULL) return;
  level->items = smaller;
  level->capacity = MIN_LEVEL_CAPACITY;
}

/* Compacts levels, the lowest full one first, until there are at most as many values as allowed. */
static tr_code compact_levels(tr_kll *kll, tr_error *err) {
  for (;;) {
    uint32_t total = 0;
    for (int h = 0; h < kll->level_count; h++) total += kll->levels[h].count;
    if (total <= tr_kll_capacity(kll->k, kll->level_count)) return TR_OK;
    int height = 0;
    while (kll->levels[height].count < tr_kll_level_capacity(kll->k, kll->level_count, height)) {
      height++;
    }
    /* promote makes room above first, and that may move the levels. */
    tr_kll_item *items = kll->levels[height].items;
    uint32_t left = 0;
    tr_code code = promote(kll, items, kll->levels[height].count, height, &left, err);
    if (code != TR_OK) return code;
    kll->levels[height].count = left;
    give_back(&kll->levels[height]);
  }
}

/*
** The sampler's blocks for `count` values: w = 2 * count / k^2, a power of two. Drawing one value of
** each block of w adds at most count * w / 4 = (0.7 * count / k)^2 to the variance of a rank, where
** compaction has (0.36 * count / k)^2 of it.
*/
static int lg_block_for(uint64_t count, int k) {
  double most = 2 * (double)count / ((double)k * k);
  int lg = 0;
  while (lg < MAX_LG_BLOCK && most >= (double)(UINT64_C(2) << lg)) lg++;
  return lg;
}

/* Sorts the input and moves half of it to the level above its own. */
static tr_code compact_input(tr_kll *kll, tr_error *err) {
  uint32_t left = 0;
  tr_code code = tr_kll_reserve(kll, kll->lg_block, 1, err); /* for the odd one, below */
  if (code != TR_OK) return code;
  tr_kll_sort(kll, kll->input, kll->input_count, kll->input + kll->input_capacity);
  code = promote(kll, kll->input, kll->input_count, kll->lg_block, &left, err);
  if (code != TR_OK) return code;
  merge_into_level(kll, &kll->levels[kll->lg_block], kll->input, 1, left);
  kll->input_count = 0;
  int lg_block = lg_block_for(kll->count, kll->k);
  if (lg_block > kll->lg_block) kll->lg_block = (uint8_t)lg_block;
  return compact_levels(kll, err);
}

/* Makes room for `more` values in the input: up to k of them, or as many as come at once. */
static tr_code reserve_input(tr_kll *kll, uint32_t more, tr_error *err) {
  uint32_t most = kll->k > more ? kll->k : more;
  if (kll->input_count + more > most) {
    tr_code code = compact_input(kll, err);
    if (code != TR_OK) return code;
  }
  uint32_t needed = kll->input_count + more, doubled = kll->input_capacity * 2;
  if (needed <= kll->input_capacity) return TR_OK;
  if (doubled > most) doubled = most;
  /* Twice as many slots: the second half is where sorting works. */
  return grow(&kll->input, &kll->input_capacity, needed > doubled ? needed : doubled, 2, err);
}

/* --- adding ------------------------------------------------------------------------------- */

/* Makes `*extreme` a copy of `item`; the old one goes unless it is the first. */
static tr_code set_extreme(tr_kll *kll, tr_kll_item *extreme, tr_kll_item item, int is_first,
                           tr_error *err) {
  if (kll->kind == TR_KLL_TEXT && !kll->is_borrowing) {
    tr_code code = tr_kll_make_text(kll, tr_kll_text_bytes(item.text), &item, err);
    if (code != TR_OK) return code;
  }
  if (!is_first) tr_kll_drop_item(kll, *extreme);
  *extreme = item;
  return TR_OK;
}

/* Widens minimum and maximum to take in two items. */
static tr_code widen(tr_kll *kll, tr_kll_item low, tr_kll_item high, tr_error *err) {
  tr_code code = TR_OK;
  int is_first = !kll->has_extremes;
  if (is_first || tr_kll_compare(kll, low, kll->minimum) < 0) {
    code = set_extreme(kll, &kll->minimum, low, is_first, err);
  }
  if (code == TR_OK && (is_first || tr_kll_compare(kll, high, kll->maximum) > 0)) {
    code = set_extreme(kll, &kll->maximum, high, is_first, err);
    if (code != TR_OK && is_first) tr_kll_drop_item(kll, kll->minimum);
  }
  if (code == TR_OK) kll->has_extremes = 1;
  return code;
}

static void find_extremes(const tr_kll *kll, const tr_kll_item *items, size_t count,
                          tr_kll_item *low, tr_kll_item *high) {
  *low = *high = items[0];
  if (kll->kind == TR_KLL_TEXT) {
    for (size_t i = 1; i < count; i++) {
      if (compare_texts(items[i].text, low->text) < 0) *low = items[i];
      if (compare_texts(items[i].text, high->text) > 0) *high = items[i];
    }
  } else {
    for (size_t i = 1; i < count; i++) {
      low->key = items[i].key < low->key ? items[i].key : low->key;
      high->key = items[i].key > high->key ? items[i].key : high->key;
    }
  }
}

/* Draws one of each block of the batch into the input, which has room. */
static void sample_batch(tr_kll *kll) {
  uint32_t block = UINT32_C(1) << kll->lg_block;
  for (uint32_t start = 0; start < kll->batch_count; start += block) {
    uint32_t drawn = (uint32_t)(next_random(kll) >> 40) & (block - 1);
    kll->input[kll->input_count++] = kll->batch[start + drawn];
    if (kll->kind == TR_KLL_TEXT) {
      for (uint32_t i = 0; i < block; i++) {
        if (i != drawn) tr_kll_drop_item(kll, kll->batch[start + i]);
      }
    }
  }
}

/* Takes a full batch into the input. */
static tr_code take_batch(tr_kll *kll, tr_error *err) {
  tr_kll_item low, high;
  tr_code code = reserve_input(kll, TR_KLL_BATCH >> kll->lg_block, err);
  if (code != TR_OK) return code;
  find_extremes(kll, kll->batch, kll->batch_count, &low, &high);
  code = widen(kll, low, high, err);
  if (code != TR_OK) return code;
  if (kll->lg_block == 0) {
    memcpy(kll->input + kll->input_count, kll->batch, kll->batch_count * sizeof *kll->batch);
    kll->input_count += kll->batch_count;
  } else {
    sample_batch(kll);
  }
  kll->count += kll->batch_count;
  kll->batch_count = 0;
  return TR_OK;
}

static tr_code make_room(tr_kll *kll, tr_error *err) {
  uint32_t capacity = kll->batch_capacity;
  if (capacity == TR_KLL_BATCH) return take_batch(kll, err);
  return grow(&kll->batch, &kll->batch_capacity, capacity == 0 ? 4 : capacity * 2, 1, err);
}

static inline tr_code add_item(tr_kll *kll, tr_kll_item item, tr_error *err) {
  if (kll->batch_count == kll->batch_capacity) {
    tr_code code = make_room(kll, err);
    if (code != TR_OK) return code;
  }
  kll->batch[kll->batch_count++] = item;
  return TR_OK;
}

static void keys_to_real(tr_kll_item *items, size_t count) {
  for (size_t i = 0; i < count; i++) items[i].key = tr_kll_key_of_real((double)items[i].key);
}

/* From INTEGER to REAL; rounding keeps the order. */
static void convert_to_real(tr_kll *kll) {
  keys_to_real(kll->batch, kll->batch_count);
  keys_to_real(kll->input, kll->input_count);
  for (int h = 0; h < kll->level_count; h++) {
    keys_to_real(kll->levels[h].items, kll->levels[h].count);
  }
  keys_to_real(&kll->minimum, 1);
  keys_to_real(&kll->maximum, 1);
  kll->kind = TR_KLL_REAL;
}

tr_code tr_kll_add_integer(tr_kll *kll, int64_t x, tr_error *err) {
  int64_t key = kll->kind == TR_KLL_INTEGER ? x : tr_kll_key_of_real((double)x);
  return add_item(kll, (tr_kll_item){.key = key}, err);
}

tr_code tr_kll_add_real(tr_kll *kll, double x, tr_error *err) {
  if (kll->kind == TR_KLL_INTEGER) convert_to_real(kll);
  return add_item(kll, (tr_kll_item){.key = tr_kll_key_of_real(x)}, err);
}

tr_code tr_kll_add_text(tr_kll *kll, tr_bytes text, tr_error *err) {
  tr_kll_item item;
  tr_code code = tr_kll_make_text(kll, text, &item, err);
  if (code != TR_OK) return code;
  code = add_item(kll, item, err);
  if (code != TR_OK) tr_kll_drop_item(kll, item);
  return code;
}

uint64_t tr_kll_count(const tr_kll *kll) {
  return kll->count + kll->batch_count;
}

/* --- merging ------------------------------------------------------------------------------ */

/* Copies items of `other` to `to` as items of `kll`. On failure none are kept. */
static tr_code copy_items(tr_kll *kll, const tr_kll *other, const tr_kll_item *items, size_t count,
                          tr_kll_item *to, tr_error *err) {
  if (count == 0) return TR_OK;
  if (kll->kind != TR_KLL_TEXT || kll->is_borrowing) {
    memcpy(to, items, count * sizeof *to);
    if (kll->kind == TR_KLL_REAL && other->kind == TR_KLL_INTEGER) keys_to_real(to, count);
    return TR_OK;
  }
  for (size_t i = 0; i < count; i++) {
    tr_code code = tr_kll_make_text(kll, tr_kll_text_bytes(items[i].text), &to[i], err);
    if (code != TR_OK) {
      drop_items(kll, to, i);
      return code;
    }
  }
  return TR_OK;
}

/* Merges sorted items of `other` into a level, and counts them. */
static tr_code merge_run(tr_kll *kll, const tr_kll *other, const tr_kll_item *run, uint32_t count,
                         int height, tr_error *err) {
  if (count == 0) return TR_OK;
  tr_code code = tr_kll_reserve(kll, height, count, err);
  if (code != TR_OK) return code;
  tr_kll_item *copies = tr_malloc(count * sizeof *copies);
  if (copies == NULL) return tr_error_no_memory(err);
  code = copy_items(kll, other, run, count, copies, err);
  if (code == TR_OK) {
    merge_into_level(kll, &kll->levels[height], copies, 1, count);
    kll->count += (uint64_t)count << height;
  }
  tr_free(copies);
  return code;
}

/* Merges unsorted items of `other` into a level, and counts them. */
static tr_code merge_unsorted(tr_kll *kll, const tr_kll *other, const tr_kll_item *items,
                              uint32_t count, int height, tr_error *err) {
  if (count == 0) return TR_OK;
  tr_kll_item *sorted = tr_malloc(2 * (size_t)count * sizeof *sorted);
  if (sorted == NULL) return tr_error_no_memory(err);
  memcpy(sorted, items, count * sizeof *sorted);
  tr_kll_sort(other, sorted, count, sorted + count);
  tr_code code = merge_run(kll, other, sorted, count, height, err);
  tr_free(sorted);
  return code;
}

/* The other's input joins ours if its values weigh the same, and else a level. */
static tr_code merge_input(tr_kll *kll, const tr_kll *other, tr_error *err) {
  uint32_t count = other->input_count;
  if (kll->lg_block != other->lg_block || count > kll->k) {
    return merge_unsorted(kll, other, other->input, count, other->lg_block, err);
  }
  tr_code code = reserve_input(kll, count, err);
  if (code != TR_OK) return code;
  /* Making room may have made the blocks larger. */
  if (kll->lg_block != other->lg_block) {
    return merge_unsorted(kll, other, other->input, count, other->lg_block, err);
  }
  code = copy_items(kll, other, other->input, count, kll->input + kll->input_count, err);
  if (code != TR_OK) return code;
  kll->input_count += count;
  kll->count += (uint64_t)count << kll->lg_block;
  return TR_OK;
}

static tr_code merge_batch(tr_kll *kll, const tr_kll *other, tr_error *err) {
  tr_code code = TR_OK;
  for (uint32_t i = 0; code == TR_OK && i < other->batch_count; i++) {
    tr_kll_item item;
    code = copy_items(kll, other, &other->batch[i], 1, &item, err);
    if (code != TR_OK) break;
    code = add_item(kll, item, err);
    if (code != TR_OK) tr_kll_drop_item(kll, item);
  }
  return code;
}

tr_code tr_kll_merge(tr_kll *kll, const tr_kll *other, tr_error *err) {
  if (tr_kll_count(other) == 0) return TR_OK;
  if (tr_kll_count(kll) > INT64_MAX - tr_kll_count(other)) {
    return tr_error_set(err, TR_OVERFLOW, "more than 2^63 values");
  }
  if (kll->kind == TR_KLL_INTEGER && other->kind == TR_KLL_REAL) convert_to_real(kll);
  tr_code code = TR_OK;
  if (other->has_extremes) {
    tr_kll_item ends[] = {other->minimum, other->maximum};
    if (kll->kind == TR_KLL_REAL && other->kind == TR_KLL_INTEGER) keys_to_real(ends, 2);
    code = widen(kll, ends[0], ends[1], err);
    if (code == TR_OK) code = merge_input(kll, other, err);
  }
  for (int h = 0; code == TR_OK && h < other->level_count; h++) {
    code = merge_run(kll, other, other->levels[h].items, other->levels[h].count, h, err);
  }
  if (code == TR_OK) code = merge_batch(kll, other, err);
  if (other->min_k < kll->min_k) kll->min_k = other->min_k;
  kll->random ^= other->random << 1 | other->random >> 63;
  if (kll->random == 0) kll->random = RANDOM_SEED;
  return code == TR_OK ? compact_levels(kll, err) : code;
}

/* --- what is in it ------------------------------------------------------------------------ */

tr_code tr_kll_flatten(const tr_kll *kll, tr_kll *flat, tr_error *err) {
  *flat = tr_kll_empty((tr_kll_kind)kll->kind, kll->k);
  flat->min_k = kll->min_k;
  flat->is_borrowing = 1;
  flat->random = kll->random;
  tr_code code = TR_OK;
  if (kll->has_extremes) code = widen(flat, kll->minimum, kll->maximum, err);
  if (code == TR_OK)
    code = merge_unsorted(flat, kll, kll->input, kll->input_count, kll->lg_block, err);
  for (int h = 0; code == TR_OK && h < kll->level_count; h++) {
    code = merge_run(flat, kll, kll->levels[h].items, kll->levels[h].count, h, err);
  }
  if (code == TR_OK && kll->batch_count > 0) {
    tr_kll_item low, high;
    find_extremes(kll, kll->batch, kll->batch_count, &low, &high);
    code = widen(flat, low, high, err);
    if (code == TR_OK) code = merge_unsorted(flat, kll, kll->batch, kll->batch_count, 0, err);
  }
  if (code == TR_OK) code = compact_levels(flat, err);
  if (code != TR_OK) tr_kll_free(flat);
  return code;
}

tr_value tr_kll_value(const tr_kll *kll, tr_kll_item item) {
  switch (kll->kind) {
  case TR_KLL_INTEGER: return tr_value_integer(item.key);
  case TR_KLL_REAL: return tr_value_real(tr_kll_real_of_key(item.key));
  default: return tr_value_text(tr_kll_text_bytes(item.text));
  }
}

/* Merges a sorted run of one weight into the view's sorted entries; `scratch` is as large. */
static void merge_into_view(const tr_kll *kll, tr_kll_view *view, tr_kll_entry *scratch,
                            const tr_kll_item *run, size_t count, uint64_t weight) {
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
  /* One block: the entries, as many for merging, then loose items and as many for sorting. */
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

double tr_kll_rank_error(int k) {
  return 5.0 / k;
}

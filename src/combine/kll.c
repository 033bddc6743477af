/*
** KLL, as kll.h describes it. Values go from the batch to the input to the levels.
**
** Invariants:  the values of batch have weight 1, of input 2^lg_block, of levels[h] 2^h;
**              weights of input and levels sum to `count`;  levels are sorted;
**              every level up to lg_block + 1 exists once the input was compacted.
*/
#include "combine/kll_inside.h"

#include <string.h>

#include "base/hash.h"
#include "base/little_endian.h"
#include "base/memory.h"

#define MAX_LG_BLOCK 8
#define RANDOM_SEED UINT64_C(0x9e3779b97f4a7c15)

/* --- coins -------------------------------------------------------------------------------- */

/*
** Mixes `seed` into the state of the coins, so that all later coins depend on it. The state is
** never 0, because xorshift would stay there.
*/
void tr_kll_stir(tr_kll *kll, uint64_t seed) {
  uint8_t bytes[16];
  tr_store_u64(bytes, kll->random);
  tr_store_u64(bytes + 8, seed);
  kll->random = tr_hash128_of((tr_bytes){bytes, sizeof bytes}, 0).low;
  if (kll->random == 0) kll->random = RANDOM_SEED;
}

/* xorshift64*, by Marsaglia and Vigna. */
static uint64_t next_random(tr_kll *kll) {
  uint64_t x = kll->random;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  kll->random = x;
  return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* 0 or 1. At each level every other coin is the opposite of the one before. */
static uint32_t next_coin(tr_kll *kll, int level) {
  uint64_t bit = UINT64_C(1) << level;
  kll->coins ^= (kll->paired & bit) != 0 || next_random(kll) >> 63 != 0 ? bit : 0;
  kll->paired ^= bit;
  return (kll->coins & bit) != 0;
}

/* --- memory ------------------------------------------------------------------------------- */

/* Grows an array to `needed` items, with `slots` slots for each. */
static tr_code grow(tr_kll *kll, tr_kll_item **items, uint32_t *capacity, size_t needed,
                    size_t slots, tr_error *err) {
  if (needed <= *capacity) return TR_OK;
  tr_kll_item *grown = tr_realloc(*items, needed * slots * sizeof **items);
  if (grown == NULL) return tr_error_no_memory(err);
  kll->heap_size += (needed - *capacity) * slots * sizeof *grown;
  *items = grown;
  *capacity = (uint32_t)needed;
  return TR_OK;
}

tr_code tr_kll_reserve(tr_kll *kll, int height, size_t more, tr_error *err) {
  if (height >= TR_KLL_MAX_LEVELS) return tr_error_set(err, TR_OVERFLOW, "too many values");
  if (height >= kll->level_count) {
    size_t size = (size_t)(height + 1) * sizeof *kll->levels;
    tr_kll_level *levels = tr_realloc(kll->levels, size);
    if (levels == NULL) return tr_error_no_memory(err);
    for (int h = kll->level_count; h <= height; h++) levels[h] = (tr_kll_level){0};
    kll->heap_size += (size_t)(height + 1 - kll->level_count) * sizeof *levels;
    kll->levels = levels;
    kll->level_count = (uint8_t)(height + 1);
  }
  tr_kll_level *level = &kll->levels[height];
  size_t needed = level->count + more;
  if (needed <= level->capacity) return TR_OK;
  /* Some room more, so that a growing level is not moved each time. */
  return grow(kll, &level->items, &level->capacity, needed + needed / 4, 1, err);
}

void tr_kll_drop_item(tr_kll *kll, tr_kll_item item) {
  if (kll->kind != TR_KLL_TEXT || kll->is_borrowing) return;
  kll->heap_size -= tr_kll_text_memory(item.text);
  tr_free(item.text);
}

static void drop_items(tr_kll *kll, const tr_kll_item *items, size_t count) {
  if (kll->kind != TR_KLL_TEXT || kll->is_borrowing) return;
  for (size_t i = 0; i < count; i++) tr_kll_drop_item(kll, items[i]);
}

int tr_kll_image_k(int k) {
  return 2 * k < TR_KLL_MAX_K ? 2 * k : TR_KLL_MAX_K;
}

tr_kll tr_kll_empty(tr_kll_kind kind, int k) {
  return (tr_kll){.kind = (uint8_t)kind,
                  .k = (uint16_t)k,
                  .min_k = (uint16_t)tr_kll_image_k(k),
                  .random = RANDOM_SEED};
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
  return kll->heap_size;
}

/* --- compaction --------------------------------------------------------------------------- */

/* How many values a level may hold before it is compacted. */
static uint32_t level_capacity(int k, int level_count, int height) {
  /* k * (2/3)^depth, rounded. From depth 31 on this is below the minimum for every k. */
  int depth = level_count - 1 - height;
  if (depth > 30) return TR_KLL_LEAST_LEVEL;
  uint64_t power = 1;
  for (int i = 0; i < depth; i++) power *= 3;
  uint64_t capacity = (((uint64_t)k * 2 << depth) / power + 1) / 2;
  return capacity < TR_KLL_LEAST_LEVEL ? TR_KLL_LEAST_LEVEL : (uint32_t)capacity;
}

uint32_t tr_kll_capacity(int k, int level_count) {
  uint32_t sum = 0;
  for (int h = 0; h < level_count; h++) sum += level_capacity(k, level_count, h);
  return sum;
}

/*
** Moves every other one of `count` sorted items of level `height` to the level above, and drops the
** rest. If the count is odd, items[0] stays, and `*left` is 1; else it is 0.
*/
static tr_code promote(tr_kll *kll, tr_kll_item *items, uint32_t count, int height, uint32_t *left,
                       tr_error *err) {
  tr_code code = tr_kll_reserve(kll, height + 1, count / 2, err);
  if (code != TR_OK) return code;
  uint32_t odd = count % 2, coin = next_coin(kll, height);
  tr_kll_merge_into_level(kll, &kll->levels[height + 1], items + odd + coin, 2, count / 2);
  if (kll->kind == TR_KLL_TEXT) {
    for (uint32_t i = odd + 1 - coin; i < count; i += 2) tr_kll_drop_item(kll, items[i]);
  }
  *left = odd;
  return TR_OK;
}

/*
** Compacts one level. Levels fill one after another. So a compacted level gives back its memory, or
** all would stay at their peak. If one value is left, it is in a small array.
*/
static tr_code compact_level(tr_kll *kll, int height, tr_error *err) {
  tr_kll_item *items = kll->levels[height].items, *small = NULL;
  uint32_t count = kll->levels[height].count, left = 0, capacity = 0;
  if (count % 2 == 1) {
    tr_code code = grow(kll, &small, &capacity, TR_KLL_LEAST_LEVEL, 1, err);
    if (code != TR_OK) return code;
  }
  tr_code code = promote(kll, items, count, height, &left, err);
  /* promote may have moved the array of levels to add one. */
  tr_kll_level *level = &kll->levels[height];
  if (code == TR_OK) {
    if (left > 0) small[0] = items[0];
    kll->heap_size -= level->capacity * sizeof *items;
    *level = (tr_kll_level){small, left, capacity};
    tr_free(items);
  } else {
    kll->heap_size -= capacity * sizeof *small;
    tr_free(small);
  }
  return code;
}

/* Compacts levels, always the lowest full one, until there are no more values than allowed. */
static tr_code compact_levels(tr_kll *kll, tr_error *err) {
  for (;;) {
    uint32_t total = 0;
    for (int h = 0; h < kll->level_count; h++) total += kll->levels[h].count;
    if (total <= tr_kll_capacity(kll->k, kll->level_count)) return TR_OK;
    int height = 0;
    while (kll->levels[height].count < level_capacity(kll->k, kll->level_count, height)) {
      height++;
    }
    tr_code code = compact_level(kll, height, err);
    if (code != TR_OK) return code;
  }
}

/*
** The size of the sampler's blocks for `count` values: the greatest power of two w <= 16 / 3 *
** count / k^2, but at least 1 and at most 2^MAX_LG_BLOCK.
**
** A value of a block of w adds at most w / 4 to the variance of a rank, and one of a block of 1
** adds nothing. So the variance grows along straight lines, of slope w / 4 (0 for w = 1) from
** count = 3 / 16 * w * k^2 to twice that; the line of the greatest w goes on for ever. All of them
** lie below the tangents of (count / k)^2 / 2 with these slopes, and those meet where w doubles.
** The blocks of a sketch may be smaller than this, since they change only when its input is
** compacted. That is as good: w is only a bound from above.
**
** As the slopes only grow, the sum of the variances of two sketches of one k is below the line for
** the sum of their counts, so merging keeps the bound. A sketch of a greater k is below the lines
** of a smaller one. So if they differ, the bound is that of the smaller k.
**
** Compaction alone has (0.36 * count / k)^2. Together that is a standard deviation of at most 0.8 *
** count / k; six of them are below tr_kll_rank_error.
*/
static int lg_block_for(uint64_t count, int k) {
  double most = 16.0 / 3 * (double)count / ((double)k * k);
  int lg = 0;
  while (lg < MAX_LG_BLOCK && most >= (double)(UINT64_C(2) << lg)) lg++;
  return lg;
}

/* Sorts the input and moves half of it to the level above its own. */
static tr_code compact_input(tr_kll *kll, tr_error *err) {
  uint32_t left = 0;
  /* For the item that is left if the count is odd. */
  tr_code code = tr_kll_reserve(kll, kll->lg_block, 1, err);
  if (code != TR_OK) return code;
  tr_kll_sort(kll, kll->input, kll->input_count, kll->input + kll->input_capacity);
  code = promote(kll, kll->input, kll->input_count, kll->lg_block, &left, err);
  if (code != TR_OK) return code;
  tr_kll_merge_into_level(kll, &kll->levels[kll->lg_block], kll->input, 1, left);
  kll->input_count = 0;
  int lg_block = lg_block_for(kll->count, kll->k);
  if (lg_block > kll->lg_block) kll->lg_block = (uint8_t)lg_block;
  return compact_levels(kll, err);
}

/* Makes room for `more` values in the input. It holds at most k, or as many as come at once. */
static tr_code reserve_input(tr_kll *kll, uint32_t more, tr_error *err) {
  uint32_t most = kll->k > more ? kll->k : more;
  if (kll->input_count + more > most) {
    tr_code code = compact_input(kll, err);
    if (code != TR_OK) return code;
  }
  uint32_t needed = kll->input_count + more, doubled = kll->input_capacity * 2;
  if (needed <= kll->input_capacity) return TR_OK;
  if (doubled > most) doubled = most;
  /* Twice as many slots, because sorting needs the second half. */
  return grow(kll, &kll->input, &kll->input_capacity, needed > doubled ? needed : doubled, 2, err);
}

/* --- adding ------------------------------------------------------------------------------- */

/* Replaces `*extreme` by a copy of `item`. The old one is released unless this is the first. */
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

/* Widens minimum and maximum to include two items. */
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
      if (tr_kll_compare(kll, items[i], *low) < 0) *low = items[i];
      if (tr_kll_compare(kll, items[i], *high) > 0) *high = items[i];
    }
  } else {
    /* Two at a time, because each step waits for the one before. */
    int64_t least[2] = {items[0].key, items[0].key}, most[2] = {items[0].key, items[0].key};
    for (size_t i = count % 2; i < count; i += 2) {
      for (size_t j = 0; j < 2; j++) {
        int64_t key = items[i + j].key;
        least[j] = key < least[j] ? key : least[j];
        most[j] = key > most[j] ? key : most[j];
      }
    }
    low->key = least[0] < least[1] ? least[0] : least[1];
    high->key = most[0] > most[1] ? most[0] : most[1];
  }
}

/* Draws one value of each block of the batch into the input, which must have room. */
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

/* Moves a full batch into the input. */
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
  return grow(kll, &kll->batch, &kll->batch_capacity, capacity == 0 ? 4 : capacity * 2, 1, err);
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

/* Converts from INTEGER to REAL. Rounding keeps the order. */
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

/* Copies items of `other` to `to` as items of `kll`. After a failure none are kept. */
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

/* Merges sorted items of `other` into a level, and adds them to the count. */
static tr_code merge_run(tr_kll *kll, const tr_kll *other, const tr_kll_item *run, uint32_t count,
                         int height, tr_error *err) {
  if (count == 0) return TR_OK;
  tr_code code = tr_kll_reserve(kll, height, count, err);
  if (code != TR_OK) return code;
  tr_kll_item *copies = tr_malloc(count * sizeof *copies);
  if (copies == NULL) return tr_error_no_memory(err);
  code = copy_items(kll, other, run, count, copies, err);
  if (code == TR_OK) {
    tr_kll_merge_into_level(kll, &kll->levels[height], copies, 1, count);
    kll->count += (uint64_t)count << height;
  }
  tr_free(copies);
  return code;
}

/* Merges unsorted items of `other` into a level, and adds them to the count. */
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

/* Adds values of `other` that have weight 1. */
static tr_code merge_single(tr_kll *kll, const tr_kll *other, const tr_kll_item *items,
                            uint32_t count, tr_error *err) {
  tr_code code = TR_OK;
  for (uint32_t i = 0; code == TR_OK && i < count; i++) {
    tr_kll_item item;
    code = copy_items(kll, other, &items[i], 1, &item, err);
    if (code != TR_OK) break;
    code = add_item(kll, item, err);
    if (code != TR_OK) tr_kll_drop_item(kll, item);
  }
  return code;
}

/*
** Merges the input of `other`. If its values have the same weight as those of our input, they join
** it. If they have weight 1, they go through our sampler. Otherwise they go to a level.
*/
static tr_code merge_input(tr_kll *kll, const tr_kll *other, tr_error *err) {
  uint32_t count = other->input_count;
  if (count == 0) return TR_OK;
  if (kll->lg_block == other->lg_block && count <= kll->k) {
    tr_code code = reserve_input(kll, count, err);
    if (code != TR_OK) return code;
  }
  /* Making room may have made the blocks larger, so check again. */
  if (kll->lg_block == other->lg_block && count <= kll->k) {
    tr_kll_item *end = kll->input + kll->input_count;
    tr_code code = copy_items(kll, other, other->input, count, end, err);
    if (code != TR_OK) return code;
    kll->input_count += count;
    kll->count += (uint64_t)count << kll->lg_block;
    return TR_OK;
  }
  if (other->lg_block == 0) return merge_single(kll, other, other->input, count, err);
  return merge_unsorted(kll, other, other->input, count, other->lg_block, err);
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
  if (code == TR_OK) code = merge_single(kll, other, other->batch, other->batch_count, err);
  if (other->min_k < kll->min_k) kll->min_k = other->min_k;
  tr_kll_stir(kll, other->random);
  return code == TR_OK ? compact_levels(kll, err) : code;
}

/* --- storing ------------------------------------------------------------------------------ */

/* Moves the last `count` items of a level to the batch. */
static tr_code move_to_batch(tr_kll *kll, tr_kll_level *level, uint32_t count, tr_error *err) {
  while (kll->batch_capacity < count) {
    uint32_t capacity = kll->batch_capacity == 0 ? 4 : kll->batch_capacity * 2;
    tr_code code = grow(kll, &kll->batch, &kll->batch_capacity, capacity, 1, err);
    if (code != TR_OK) return code;
  }
  level->count -= count;
  if (count > 0) memcpy(kll->batch, level->items + level->count, count * sizeof *kll->batch);
  kll->batch_count = count;
  kll->count -= count;
  return TR_OK;
}

static tr_code move_to_input(tr_kll *kll, tr_kll_level *level, tr_error *err) {
  tr_code code = grow(kll, &kll->input, &kll->input_capacity, level->count, 2, err);
  if (code != TR_OK || level->count == 0) return code;
  memcpy(kll->input, level->items, level->count * sizeof *kll->input);
  kll->input_count = level->count;
  level->count = 0;
  return TR_OK;
}

/*
** In an image the batch and the input are part of the levels. They go back to where they were, so
** that many values are compacted at once, however often a sketch is stored. If the blocks would
** have grown at the next compaction of the input, they grow now: then the values of the input stay
** in their level, and those of the level for the new blocks become the input.
*/
tr_code tr_kll_resume(tr_kll *kll, int k, tr_error *err) {
  kll->k = (uint16_t)k;
  if (kll->level_count == 0) return TR_OK;
  int lg_block = lg_block_for(kll->count, k);
  tr_kll_level *lowest = &kll->levels[0];
  uint32_t room = lg_block == 0 ? (uint32_t)k : 0; /* for values of weight 1 in the input */
  uint32_t over = lowest->count > room ? lowest->count - room : 0;
  tr_code code = over < TR_KLL_BATCH ? move_to_batch(kll, lowest, over, err) : TR_OK;
  if (code != TR_OK) return code;
  kll->lg_block = (uint8_t)lg_block;
  if (lg_block >= kll->level_count || kll->levels[lg_block].count > (uint32_t)k) return TR_OK;
  return move_to_input(kll, &kll->levels[lg_block], err);
}

tr_code tr_kll_flatten(const tr_kll *kll, tr_kll *flat, tr_error *err) {
  *flat = tr_kll_empty((tr_kll_kind)kll->kind, tr_kll_image_k(kll->k));
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

double tr_kll_rank_error(int k) {
  return 5.0 / k;
}

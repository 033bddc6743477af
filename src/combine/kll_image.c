/*
** The bytes of KLL sketches, as Apache DataSketches stores them. All numbers are little-endian.
**
**    0  length of the preamble in ints     8  count
**    1  serial version                    16  smallest k merged (two bytes)
**    2  family                            18  number of levels
**    3  flags                             19  unused
**    4  k (two bytes)                     20  one offset (four bytes) for each level, then minimum,
**    6  m (least capacity of a level)         maximum, items
**    7  unused
**
** An empty sketch ends at 8. A sketch of one value has it at 8 (serial version 2). The offset of a
** level is where its first item is in an array of as many slots as all levels together may hold;
** the free slots at the front of that array are not stored. The items of the lowest level come
** first.
*/
#include "combine/kll_inside.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/little_endian.h"
#include "base/memory.h"
#include "combine/codec.h"

#define FAMILY_KLL 15
#define SERIAL_VERSION 1
#define SERIAL_VERSION_SINGLE 2
#define PREAMBLE_INTS 5
#define PREAMBLE_INTS_SHORT 2
#define PREAMBLE_SIZE 20
#define PREAMBLE_SIZE_SHORT 8
#define FLAG_EMPTY 1
#define FLAG_LEVEL_ZERO_SORTED 2
#define FLAG_SINGLE 4

/* The form of the items of an image. fixed_size 0: a length of four bytes, then so many bytes. */
static const struct {
  size_t fixed_size;
  tr_kll_kind kind;
} layouts[] = {
    [TR_KLL_INT64] = {8, TR_KLL_INTEGER},
    [TR_KLL_DOUBLE] = {8, TR_KLL_REAL},
    [TR_KLL_FLOAT] = {4, TR_KLL_REAL},
    [TR_KLL_STRING] = {0, TR_KLL_TEXT},
};

/* --- writing ------------------------------------------------------------------------------ */

static tr_code put_item(const tr_kll *kll, tr_kll_items items, tr_kll_item item, tr_buffer *bytes,
                        tr_error *err) {
  tr_value value = tr_kll_value(kll, item);
  if (items == TR_KLL_STRING) return tr_put_sized(bytes, value.bytes, err);
  if (items == TR_KLL_INT64) return tr_put_u64(bytes, (uint64_t)value.integer, err);
  return tr_put_double(bytes, value.type == TR_REAL ? value.real : (double)value.integer, err);
}

static tr_code put_items(const tr_kll *kll, tr_kll_items items, const tr_kll_item *from,
                         size_t count, tr_buffer *bytes, tr_error *err) {
  tr_code code = TR_OK;
  for (size_t i = 0; code == TR_OK && i < count; i++) {
    code = put_item(kll, items, from[i], bytes, err);
  }
  return code;
}

static tr_code put_preamble(const tr_kll *kll, tr_buffer *bytes, tr_error *err) {
  int is_short = kll->count < 2;
  uint8_t at[PREAMBLE_SIZE] = {0};
  at[0] = is_short ? PREAMBLE_INTS_SHORT : PREAMBLE_INTS;
  at[1] = kll->count == 1 ? SERIAL_VERSION_SINGLE : SERIAL_VERSION;
  at[2] = FAMILY_KLL;
  at[3] = kll->count == 0 ? FLAG_EMPTY : kll->count == 1 ? FLAG_SINGLE : FLAG_LEVEL_ZERO_SORTED;
  tr_store_u16(at + 4, kll->k);
  at[6] = TR_KLL_LEAST_LEVEL;
  if (!is_short) {
    tr_store_u64(at + 8, kll->count);
    tr_store_u16(at + 16, kll->min_k);
    at[18] = kll->level_count;
  }
  return tr_buffer_append(bytes, (tr_bytes){at, is_short ? PREAMBLE_SIZE_SHORT : PREAMBLE_SIZE},
                          err);
}

static tr_code put_offsets(const tr_kll *kll, tr_buffer *bytes, tr_error *err) {
  uint32_t offset = tr_kll_capacity(kll->k, kll->level_count);
  for (int h = 0; h < kll->level_count; h++) offset -= kll->levels[h].count;
  tr_code code = TR_OK;
  for (int h = 0; code == TR_OK && h < kll->level_count; h++) {
    code = tr_put_u32(bytes, offset, err);
    offset += kll->levels[h].count;
  }
  return code;
}

tr_code tr_kll_write(const tr_kll *kll, tr_kll_items items, tr_buffer *bytes, tr_error *err) {
  tr_kll flat;
  size_t before = bytes->size;
  tr_code code = tr_kll_flatten(kll, &flat, err);
  if (code != TR_OK) return code;
  code = put_preamble(&flat, bytes, err);
  if (code == TR_OK && flat.count > 1) {
    code = put_offsets(&flat, bytes, err);
    if (code == TR_OK) code = put_item(&flat, items, flat.minimum, bytes, err);
    if (code == TR_OK) code = put_item(&flat, items, flat.maximum, bytes, err);
  }
  for (int h = 0; code == TR_OK && h < flat.level_count; h++) {
    code = put_items(&flat, items, flat.levels[h].items, flat.levels[h].count, bytes, err);
  }
  tr_kll_free(&flat);
  if (code != TR_OK) bytes->size = before;
  return code;
}

/* --- reading ------------------------------------------------------------------------------ */

/* The unread rest of an image, and the form of its items. */
typedef struct source {
  tr_bytes rest;
  tr_kll_items items;
} source;

static tr_code cut_short(const char *what, tr_error *err) {
  return tr_error_set(err, TR_CORRUPT, "KLL sketch: cut short in its %s", what);
}

static tr_bytes take(source *from, size_t size) {
  tr_bytes taken = {from->rest.data, size};
  from->rest.data += size;
  from->rest.size -= size;
  return taken;
}

static tr_code take_text(source *from, const char *what, tr_bytes *text, tr_error *err) {
  if (from->rest.size < 4) return cut_short(what, err);
  size_t size = tr_load_u32(take(from, 4).data);
  if (from->rest.size < size) return cut_short(what, err);
  *text = take(from, size);
  return TR_OK;
}

static double load_float(const uint8_t *at) {
  uint32_t bits = tr_load_u32(at);
  float single;
  memcpy(&single, &bits, sizeof single);
  return (double)single;
}

/* Takes a value from the image. Text is a view of it. */
static tr_code take_value(source *from, const char *what, tr_value *value, tr_error *err) {
  *value = (tr_value){.type = TR_TEXT};
  if (from->items == TR_KLL_STRING) return take_text(from, what, &value->bytes, err);
  size_t size = layouts[from->items].fixed_size;
  if (from->rest.size < size) return cut_short(what, err);
  const uint8_t *at = take(from, size).data;
  if (from->items == TR_KLL_INT64) {
    *value = tr_value_integer((int64_t)tr_load_u64(at));
    return TR_OK;
  }
  *value = tr_value_real(from->items == TR_KLL_FLOAT ? load_float(at) : tr_load_double(at));
  if (value->type == TR_REAL) return TR_OK;
  return tr_error_set(err, TR_CORRUPT, "KLL sketch: its %s is NaN%s", what,
                      from->items == TR_KLL_FLOAT ? ", or a 32-bit integer and no float" : "");
}

static tr_code take_item(tr_kll *kll, source *from, const char *what, tr_kll_item *item,
                         tr_error *err) {
  tr_value value;
  tr_code code = take_value(from, what, &value, err);
  if (code != TR_OK) return code;
  if (value.type == TR_TEXT) return tr_kll_make_text(kll, value.bytes, item, err);
  item->key = value.type == TR_INTEGER ? value.integer : tr_kll_key_of_real(value.real);
  return TR_OK;
}

/* Takes the items of a level. After a failure the level has those that were read before. */
static tr_code take_level(tr_kll *kll, source *from, int height, uint32_t count, tr_error *err) {
  size_t least = layouts[from->items].fixed_size == 0 ? 4 : layouts[from->items].fixed_size;
  if (count > from->rest.size / least) return cut_short("items", err);
  tr_code code = tr_kll_reserve(kll, height, count, err);
  tr_kll_level *level = code == TR_OK ? &kll->levels[height] : NULL;
  for (uint32_t i = 0; code == TR_OK && i < count; i++) {
    code = take_item(kll, from, "item", &level->items[level->count], err);
    if (code == TR_OK) level->count++;
  }
  return code;
}

/*
** Brings a level into our order. Its numbers must already be in order, except those of an unsorted
** level 0. Its texts may have been compared in another way by the maker of the image.
*/
static tr_code order_level(tr_kll *kll, int height, int is_sorted, tr_error *err) {
  tr_kll_level *level = &kll->levels[height];
  int in_order = 1;
  for (uint32_t i = 1; i < level->count && in_order; i++) {
    in_order = tr_kll_compare(kll, level->items[i - 1], level->items[i]) <= 0;
  }
  if (in_order) return TR_OK;
  if (is_sorted && kll->kind != TR_KLL_TEXT) {
    return tr_error_set(err, TR_CORRUPT, "KLL sketch: level %d is not in order", height);
  }
  tr_kll_item *scratch = tr_malloc(level->count * sizeof *scratch);
  if (scratch == NULL) return tr_error_no_memory(err);
  tr_kll_sort(kll, level->items, level->count, scratch);
  tr_free(scratch);
  return TR_OK;
}

/* Numbers must be between minimum and maximum. The order of texts may be another one than ours. */
static tr_code check_extremes(const tr_kll *kll, tr_error *err) {
  if (kll->kind == TR_KLL_TEXT) return TR_OK;
  for (int h = 0; h < kll->level_count; h++) {
    const tr_kll_level *level = &kll->levels[h];
    if (level->count > 0 && (level->items[0].key < kll->minimum.key ||
                             level->items[level->count - 1].key > kll->maximum.key)) {
      return tr_error_set(err, TR_CORRUPT, "KLL sketch: level %d is outside minimum and maximum",
                          h);
    }
  }
  return TR_OK;
}

/*
** An image does not say how wide its items are, but its size shows it. Integers of 32 bits have the
** width of floats. But read as floats, those up to 2^23 are below the smallest normal float, and
** negative ones are NaN.
*/
static tr_code check_width(const source *from, uint64_t item_count, tr_error *err) {
  size_t size = layouts[from->items].fixed_size, other = 12 - size;
  if (size == 0 || from->rest.size == item_count * size || from->rest.size != item_count * other) {
    return TR_OK;
  }
  return tr_error_set(
      err, TR_CORRUPT, "KLL sketch: its items are of %zu bytes (%s), not %zu", other,
      other == 4 ? "floats or 32-bit integers" : "doubles or 64-bit integers", size);
}

static tr_code check_floats(const tr_kll *kll, const source *from, tr_error *err) {
  if (from->items != TR_KLL_FLOAT || !kll->has_extremes) return TR_OK;
  double largest =
      fmax(fabs(tr_kll_real_of_key(kll->minimum.key)), fabs(tr_kll_real_of_key(kll->maximum.key)));
  if (largest == 0 || largest >= (double)FLT_MIN) return TR_OK;
  return tr_error_set(err, TR_CORRUPT,
                      "KLL sketch: its items are no floats, but seem to be 32-bit integers");
}

static tr_code take_extremes(tr_kll *kll, source *from, tr_error *err) {
  tr_kll_item low, high;
  tr_code code = take_item(kll, from, "minimum", &low, err);
  if (code != TR_OK) return code;
  code = take_item(kll, from, "maximum", &high, err);
  if (code != TR_OK) {
    tr_kll_drop_item(kll, low);
    return code;
  }
  kll->minimum = low;
  kll->maximum = high;
  kll->has_extremes = 1;
  return TR_OK;
}

static tr_code read_single(tr_kll *kll, source *from, tr_error *err) {
  tr_value value;
  tr_code code = check_width(from, 1, err);
  if (code == TR_OK) code = take_value(from, "item", &value, err);
  if (code != TR_OK) return code;
  if (value.type == TR_TEXT) return tr_kll_add_text(kll, value.bytes, err);
  if (value.type == TR_REAL) return tr_kll_add_real(kll, value.real, err);
  return tr_kll_add_integer(kll, value.integer, err);
}

/*
** The number of items of each level, from the offsets. These must be in order and within `slots`.
*/
static tr_code take_counts(source *from, int level_count, uint32_t slots, uint32_t *counts,
                           tr_error *err) {
  if (from->rest.size < 4 * (size_t)level_count) return cut_short("levels", err);
  uint32_t offset = tr_load_u32(take(from, 4).data);
  for (int h = 0; h < level_count; h++) {
    uint32_t next = h + 1 < level_count ? tr_load_u32(take(from, 4).data) : slots;
    if (next < offset || next > slots) {
      return tr_error_set(err, TR_CORRUPT, "KLL sketch: level %d from slot %u to %u of %u", h,
                          offset, next, slots);
    }
    counts[h] = next - offset;
    offset = next;
  }
  return TR_OK;
}

static tr_code check_weights(const uint32_t *counts, int level_count, uint64_t count,
                             tr_error *err) {
  uint64_t sum = 0;
  for (int h = 0; h < level_count; h++) {
    uint64_t weight = (uint64_t)counts[h] << h;
    if (weight >> h != counts[h] || weight > INT64_MAX - sum) {
      return tr_error_set(err, TR_CORRUPT, "KLL sketch: level %d stands for too many values", h);
    }
    sum += weight;
  }
  if (sum == count) return TR_OK;
  return tr_error_set(err, TR_CORRUPT,
                      "KLL sketch: its items stand for %llu values, its count is %llu",
                      (unsigned long long)sum, (unsigned long long)count);
}

static tr_code read_levels(tr_kll *kll, source *from, const uint8_t *preamble, tr_error *err) {
  uint32_t counts[TR_KLL_MAX_LEVELS];
  uint64_t count = tr_load_u64(preamble + 8);
  int level_count = preamble[18];
  kll->min_k = tr_load_u16(preamble + 16);
  if (kll->min_k < TR_KLL_MIN_K || kll->min_k > kll->k) {
    return tr_error_set(err, TR_CORRUPT, "KLL sketch: smallest k %d, k is %d", kll->min_k, kll->k);
  }
  if (level_count < 1 || level_count > TR_KLL_MAX_LEVELS) {
    return tr_error_set(err, TR_CORRUPT, "KLL sketch: %d levels, from 1 to %d are possible",
                        level_count, TR_KLL_MAX_LEVELS);
  }
  tr_code code = take_counts(from, level_count, tr_kll_capacity(kll->k, level_count), counts, err);
  if (code == TR_OK) code = check_weights(counts, level_count, count, err);
  if (code == TR_OK && count == 0) {
    return tr_error_set(err, TR_CORRUPT, "KLL sketch: no values, but not marked as empty");
  }
  uint64_t item_count = 2; /* minimum and maximum */
  for (int h = 0; code == TR_OK && h < level_count; h++) item_count += counts[h];
  if (code == TR_OK) code = check_width(from, item_count, err);
  if (code == TR_OK) code = take_extremes(kll, from, err);
  if (code == TR_OK) code = check_floats(kll, from, err);
  for (int h = 0; code == TR_OK && h < level_count; h++) {
    code = take_level(kll, from, h, counts[h], err);
    if (code == TR_OK)
      code = order_level(kll, h, h > 0 || preamble[3] & FLAG_LEVEL_ZERO_SORTED, err);
  }
  if (code == TR_OK) code = check_extremes(kll, err);
  kll->count = count;
  return code;
}

static tr_code check_preamble(tr_bytes bytes, tr_error *err) {
  const uint8_t *at = bytes.data;
  if (bytes.size < PREAMBLE_SIZE_SHORT) {
    return tr_error_set(err, TR_CORRUPT, "KLL sketch: %zu bytes, a preamble has %d", bytes.size,
                        PREAMBLE_SIZE_SHORT);
  }
  if (at[2] != FAMILY_KLL) {
    return tr_error_set(err, TR_CORRUPT, "KLL sketch: family %d, KLL is %d", at[2], FAMILY_KLL);
  }
  int is_short = (at[3] & (FLAG_EMPTY | FLAG_SINGLE)) != 0;
  int version = at[3] & FLAG_SINGLE ? SERIAL_VERSION_SINGLE : SERIAL_VERSION;
  if (at[1] != version) {
    return tr_error_set(err, TR_CORRUPT, "KLL sketch: serial version %d, its form has %d", at[1],
                        version);
  }
  int ints = is_short ? PREAMBLE_INTS_SHORT : PREAMBLE_INTS;
  if (at[0] != ints) {
    return tr_error_set(err, TR_CORRUPT, "KLL sketch: %d preamble ints, its form has %d", at[0],
                        ints);
  }
  if (at[6] != TR_KLL_LEAST_LEVEL) {
    return tr_error_set(err, TR_CORRUPT, "KLL sketch: m is %d, known is %d", at[6],
                        TR_KLL_LEAST_LEVEL);
  }
  if (tr_load_u16(at + 4) < TR_KLL_MIN_K) {
    return tr_error_set(err, TR_CORRUPT, "KLL sketch: k is %d, at least %d", tr_load_u16(at + 4),
                        TR_KLL_MIN_K);
  }
  return !is_short && bytes.size < PREAMBLE_SIZE ? cut_short("preamble", err) : TR_OK;
}

tr_code tr_kll_read(tr_kll *kll, tr_kll_items items, tr_bytes bytes, tr_error *err) {
  source from = {bytes, items};
  *kll = tr_kll_empty(layouts[items].kind, TR_KLL_MIN_K);
  tr_code code = check_preamble(bytes, err);
  if (code != TR_OK) return code;
  const uint8_t *preamble = bytes.data;
  kll->k = kll->min_k = tr_load_u16(preamble + 4);
  int is_short = preamble[0] == PREAMBLE_INTS_SHORT;
  take(&from, is_short ? PREAMBLE_SIZE_SHORT : PREAMBLE_SIZE);
  if (!is_short) {
    code = read_levels(kll, &from, preamble, err);
  } else if (!(preamble[3] & FLAG_EMPTY)) {
    code = read_single(kll, &from, err);
  }
  if (code == TR_OK && from.rest.size > 0) {
    code = tr_error_set(err, TR_CORRUPT, "KLL sketch: %zu bytes behind its end", from.rest.size);
  }
  if (code != TR_OK) {
    tr_kll_free(kll);
    return code;
  }
  /*
  ** An image has no coins. If each sketch that is read began with the same ones, a total that is
  ** stored every day would be rounded the same way every day.
  */
  tr_kll_stir(kll, tr_hash128_of(bytes, 0).high);
  return TR_OK;
}

tr_code tr_kll_read_own(tr_kll *kll, int k, tr_kll_items items, tr_bytes bytes, tr_error *err) {
  tr_code code = tr_kll_read(kll, items, bytes, err);
  if (code != TR_OK) return code;
  if (kll->k == tr_kll_image_k(k)) {
    code = tr_kll_resume(kll, k, err);
  } else {
    code = tr_error_set(err, TR_CORRUPT, "KLL sketch: k is %d where the accumulator has %d", kll->k,
                        tr_kll_image_k(k));
  }
  if (code != TR_OK) tr_kll_free(kll);
  return code;
}

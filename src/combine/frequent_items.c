/*
** Frequent items as frequent_items.h describes them: entries one behind the other, a hash table of
** cells that say where they are (twice as many as there may be entries and more, so that probing ends
** soon), and the purge.
**
** Invariants:  active <= 3/4 * 2^lg_map;  every entry has one cell, reached from its hash without
**              passing a free one;  counts are above 0;  their sum and offset are at most the
**              weight, since a purge takes what it adds to the offset off at least one of them.
*/
#include "combine/frequent_items.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/little_endian.h"
#include "base/memory.h"

/* --- values and entries ------------------------------------------------------------------- */

int tr_frequent_class_of(const tr_value *value) {
  static const int classes[] = {[TR_NULL] = -1,
                                [TR_INTEGER] = TR_FREQUENT_LONGS,
                                [TR_REAL] = TR_FREQUENT_OTHERS,
                                [TR_TEXT] = TR_FREQUENT_STRINGS,
                                [TR_BLOB] = TR_FREQUENT_OTHERS};
  return classes[value->type];
}

static int is_integral(double real) {
  return real >= -0x1p63 && real < 0x1p63 && trunc(real) == real;
}

/* Up to sixteen bytes as two numbers, which overlap in the middle. */
static void load_short(tr_bytes bytes, uint64_t *first, uint64_t *last) {
  *first = *last = 0;
  if (bytes.size >= 8) {
    *first = tr_load_u64(bytes.data);
    *last = tr_load_u64(bytes.data + bytes.size - 8);
  } else if (bytes.size >= 4) {
    *first = tr_load_u32(bytes.data);
    *last = tr_load_u32(bytes.data + bytes.size - 4);
  } else if (bytes.size > 0) {
    *first = (uint64_t)(bytes.data[0] | bytes.data[bytes.size / 2] << 8);
    *last = bytes.data[bytes.size - 1];
  }
}

/* A multiplication spreads every bit upward, two mix them all; the upper half is good. */
static uint32_t mix(uint64_t x) {
  x = (x ^ x >> 32) * UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
  return (uint32_t)(x >> 32);
}

/* Where a value is looked for. It is stored nowhere, so it only has to be fast and to spread. */
static uint32_t hash_of(const tr_value *value) {
  uint64_t first, last;
  switch (value->type) {
  case TR_INTEGER: return mix((uint64_t)value->integer);
  case TR_REAL: memcpy(&first, &value->real, sizeof first); return mix(first);
  default: break;
  }
  if (value->bytes.size > TR_FREQUENT_SHORT) return (uint32_t)tr_hash128_of(value->bytes, 0).low;
  load_short(value->bytes, &first, &last);
  return mix(first * UINT64_C(0x94d049bb133111eb) + (last ^ (uint64_t)value->bytes.size << 56));
}

tr_value tr_frequent_value(const tr_frequent_entry *entry) {
  if (entry->type == TR_INTEGER) return tr_value_integer(entry->integer);
  if (entry->type == TR_REAL) return tr_value_real(entry->real);
  tr_bytes bytes = {entry->bytes, entry->short_size};
  if (entry->is_long) bytes = (tr_bytes){entry->own.data, entry->own.size};
  return entry->type == TR_TEXT ? tr_value_text(bytes) : tr_value_blob(bytes);
}

static int is_value(const tr_frequent_entry *entry, const tr_value *value) {
  if (entry->type != value->type) return 0;
  if (entry->type == TR_INTEGER) return entry->integer == value->integer;
  if (entry->type == TR_REAL) return entry->real == value->real;
  size_t size = entry->is_long ? entry->own.size : entry->short_size;
  if (size != value->bytes.size) return 0;
  if (entry->is_long) return memcmp(entry->own.data, value->bytes.data, size) == 0;
  uint64_t first, last, own_first, own_last;
  load_short(value->bytes, &first, &last);
  load_short((tr_bytes){entry->bytes, size}, &own_first, &own_last);
  return first == own_first && last == own_last;
}

static tr_code fill_entry(tr_frequent_items *items, tr_frequent_entry *entry, const tr_value *value,
                          tr_error *err) {
  entry->type = (uint8_t)value->type;
  entry->is_long = 0;
  entry->short_size = 0;
  if (value->type == TR_INTEGER) {
    entry->integer = value->integer;
  } else if (value->type == TR_REAL) {
    entry->real = value->real;
  } else if (value->bytes.size <= TR_FREQUENT_SHORT) {
    entry->short_size = (uint8_t)value->bytes.size;
    if (value->bytes.size > 0) memcpy(entry->bytes, value->bytes.data, value->bytes.size);
  } else {
    uint8_t *data = tr_malloc(value->bytes.size);
    if (data == NULL) return tr_error_no_memory(err);
    entry->own.data = memcpy(data, value->bytes.data, value->bytes.size);
    entry->own.size = value->bytes.size;
    entry->is_long = 1;
    items->own_size += value->bytes.size;
  }
  return TR_OK;
}

static void free_entry(tr_frequent_items *items, tr_frequent_entry *entry) {
  if (!entry->is_long) return;
  items->own_size -= entry->own.size;
  tr_free(entry->own.data);
}

/* --- the table ---------------------------------------------------------------------------- */

tr_frequent_items tr_frequent_empty(int lg_max, int least) {
  return (tr_frequent_items){.lg_max = (uint8_t)lg_max, .least = (uint16_t)least};
}

static uint32_t capacity_of(int lg_map) {
  return (UINT32_C(3) << lg_map) / 4;
}

static size_t cell_count(int lg_map) {
  return (size_t)2 << lg_map;
}

/* The cell of a value, or the free one where it belongs. */
static tr_frequent_cell *find_cell(const tr_frequent_items *items, const tr_value *value,
                                   uint32_t hash) {
  size_t mask = cell_count(items->lg_map) - 1, at = hash & mask;
  for (;; at = (at + 1) & mask) {
    tr_frequent_cell *cell = &items->cells[at];
    if (cell->place == 0) return cell;
    if (cell->hash == hash && is_value(&items->entries[cell->place - 1], value)) return cell;
  }
}

/* Makes the cells anew from the entries. */
static void fill_cells(tr_frequent_items *items) {
  size_t mask = cell_count(items->lg_map) - 1;
  memset(items->cells, 0, (mask + 1) * sizeof *items->cells);
  for (uint32_t i = 0; i < items->active; i++) {
    size_t at = items->entries[i].hash & mask;
    while (items->cells[at].place != 0) at = (at + 1) & mask;
    items->cells[at] = (tr_frequent_cell){items->entries[i].hash, i + 1};
  }
}

static tr_code resize(tr_frequent_items *items, int lg_map, tr_error *err) {
  tr_frequent_cell *cells = tr_malloc(cell_count(lg_map) * sizeof *cells);
  if (cells == NULL) return tr_error_no_memory(err);
  tr_frequent_entry *entries =
      tr_realloc(items->entries, capacity_of(lg_map) * sizeof *items->entries);
  if (entries == NULL) {
    tr_free(cells);
    return tr_error_no_memory(err);
  }
  tr_free(items->cells);
  items->cells = cells;
  items->entries = entries;
  items->lg_map = (uint8_t)lg_map;
  fill_cells(items);
  return TR_OK;
}

/* The number that has `rank` others before it in order, by Hoare's selection; moves them about. */
static int64_t select_rank(int64_t *x, size_t count, size_t rank) {
  size_t low = 0, high = count - 1;
  while (low < high) {
    int64_t pivot = x[low + (high - low) / 2];
    size_t i = low, j = high;
    while (i <= j) {
      while (x[i] < pivot) i++;
      while (x[j] > pivot) j--;
      if (i > j) break;
      int64_t swap = x[i];
      x[i++] = x[j];
      x[j] = swap;
      if (j == 0) break;
      j--;
    }
    if (rank <= j) {
      high = j;
    } else if (rank >= i) {
      low = i;
    } else {
      break;
    }
  }
  return x[rank];
}

/*
** What a purge takes off: the median, or the count so far below it that half of all counters are
** lowered by it even if `least` are kept; and how many counters are above that. Often most counts are
** the lowest: then it is found by looking.
*/
static tr_code purged_count(const tr_frequent_items *items, int64_t *taken, uint32_t *above,
                            tr_error *err) {
  uint32_t lowest = 0, half = items->active / 2;
  uint32_t rank = half > items->least ? half - items->least : 0;
  *taken = INT64_MAX;
  for (uint32_t i = 0; i < items->active; i++) {
    int64_t count = items->entries[i].count;
    if (count < *taken) lowest = 0;
    if (count <= *taken) *taken = count, lowest++;
  }
  *above = items->active - lowest;
  if (lowest > rank) return TR_OK;
  int64_t *counts = tr_malloc(items->active * sizeof *counts);
  if (counts == NULL) return tr_error_no_memory(err);
  for (uint32_t i = 0; i < items->active; i++) counts[i] = items->entries[i].count;
  *taken = select_rank(counts, items->active, rank);
  *above = 0;
  for (uint32_t i = rank; i < items->active; i++) *above += counts[i] > *taken;
  tr_free(counts);
  return TR_OK;
}

/* Lowers all counts and drops what is left with none, but for entries that are spared. */
static tr_code purge(tr_frequent_items *items, tr_error *err) {
  int64_t taken;
  uint32_t above, kept = 0;
  tr_code code = purged_count(items, &taken, &above, err);
  if (code != TR_OK) return code;
  uint32_t spare = above < items->least ? items->least - above : 0;
  for (uint32_t i = 0; i < items->active; i++) {
    tr_frequent_entry *entry = &items->entries[i];
    int is_spared = entry->count == taken && spare > 0;
    if (entry->count > taken || is_spared) {
      items->entries[kept] = *entry;
      items->entries[kept++].count -= is_spared ? taken - 1 : taken;
      spare -= (uint32_t)is_spared;
    } else {
      free_entry(items, entry);
    }
  }
  items->active = kept;
  items->offset += taken;
  fill_cells(items);
  return TR_OK;
}

static int is_full(const tr_frequent_items *items) {
  return items->entries == NULL || items->active == capacity_of(items->lg_map);
}

/* Makes room for more entries. */
static tr_code make_room(tr_frequent_items *items, tr_error *err) {
  if (items->entries == NULL) return resize(items, TR_FREQUENT_MIN_LG, err);
  if (items->lg_map < items->lg_max) return resize(items, items->lg_map + 1, err);
  return purge(items, err);
}

/* Adds a value whose weight is counted elsewhere. */
static tr_code add_counted(tr_frequent_items *items, const tr_value *value, int64_t times,
                           tr_error *err) {
  uint32_t hash = hash_of(value);
  tr_frequent_cell *cell = items->entries == NULL ? NULL : find_cell(items, value, hash);
  if (cell != NULL && cell->place != 0) {
    items->entries[cell->place - 1].count += times;
    return TR_OK;
  }
  if (is_full(items)) {
    tr_code code = make_room(items, err);
    if (code != TR_OK) return code;
    cell = find_cell(items, value, hash);
  }
  tr_frequent_entry *entry = &items->entries[items->active];
  tr_code code = fill_entry(items, entry, value, err);
  if (code != TR_OK) return code;
  entry->hash = hash;
  entry->count = times;
  *cell = (tr_frequent_cell){hash, ++items->active};
  return TR_OK;
}

static tr_code check_weight(const tr_frequent_items *items, int64_t more, tr_error *err) {
  if (more <= INT64_MAX - items->weight) return TR_OK;
  return tr_error_set(err, TR_OVERFLOW, "more than 2^63 values");
}

tr_code tr_frequent_add(tr_frequent_items *items, const tr_value *value, int64_t times,
                        tr_error *err) {
  /* An integral REAL is the INTEGER. */
  tr_value integer;
  if (value->type == TR_REAL && is_integral(value->real)) {
    integer = tr_value_integer((int64_t)value->real);
    value = &integer;
  }
  tr_code code = check_weight(items, times, err);
  if (code == TR_OK) code = add_counted(items, value, times, err);
  if (code != TR_OK) return code;
  items->weight += times;
  items->classes = (uint8_t)(items->classes | 1 << tr_frequent_class_of(value));
  return TR_OK;
}

tr_code tr_frequent_merge(tr_frequent_items *items, const tr_frequent_items *other, tr_error *err) {
  tr_code code = check_weight(items, other->weight, err);
  for (uint32_t i = 0; code == TR_OK && i < other->active; i++) {
    tr_value value = tr_frequent_value(&other->entries[i]);
    code = add_counted(items, &value, other->entries[i].count, err);
  }
  if (code != TR_OK) return code;
  items->offset += other->offset;
  items->weight += other->weight;
  items->classes |= other->classes;
  return TR_OK;
}

static int compare_entries(const void *a, const void *b) {
  const tr_frequent_entry *x = *(const tr_frequent_entry *const *)a;
  const tr_frequent_entry *y = *(const tr_frequent_entry *const *)b;
  if (x->count != y->count) return x->count > y->count ? -1 : 1;
  tr_value left = tr_frequent_value(x), right = tr_frequent_value(y);
  return tr_value_compare(&left, &right);
}

tr_code tr_frequent_sorted(const tr_frequent_items *items, const tr_frequent_entry ***entries,
                           tr_error *err) {
  *entries = NULL;
  if (items->active == 0) return TR_OK;
  *entries = tr_malloc(items->active * sizeof **entries);
  if (*entries == NULL) return tr_error_no_memory(err);
  for (uint32_t i = 0; i < items->active; i++) (*entries)[i] = &items->entries[i];
  qsort(*entries, items->active, sizeof **entries, compare_entries);
  return TR_OK;
}

size_t tr_frequent_heap_size(const tr_frequent_items *items) {
  if (items->entries == NULL) return 0;
  return items->own_size + capacity_of(items->lg_map) * sizeof *items->entries +
         cell_count(items->lg_map) * sizeof *items->cells;
}

void tr_frequent_free(tr_frequent_items *items) {
  for (uint32_t i = 0; i < items->active; i++) free_entry(items, &items->entries[i]);
  tr_free(items->entries);
  tr_free(items->cells);
  *items = tr_frequent_empty(items->lg_max, items->least);
}

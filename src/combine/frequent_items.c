/*
** Frequent items, as frequent_items.h describes them: an array of entries, a hash table of cells
** that hold their places, and the purge. There are more than twice as many cells as entries, so
** that probing is short.
**
** Invariants:  active <= 3/4 * 2^lg_map;  every entry has one cell, reached from its hash without
**              passing a free one;  counts are above 0;  their sum and offset are at most the
**              weight, because a purge subtracts what it adds to the offset from at least one of
**              them.
*/
#include "combine/frequent_items.h"

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

/* The value to count: `*integer` for a REAL that is an integer, else `value` itself. */
static inline const tr_value *as_counted(const tr_value *value, tr_value *integer) {
  if (value->type != TR_REAL || !tr_real_is_integer(value->real, &integer->integer)) return value;
  integer->type = TR_INTEGER;
  return integer;
}

/* This bit of a form marks an entry that owns its bytes. The size in the form of a number is 8. */
#define LONG_FORM (UINT32_C(1) << 16)

static inline uint32_t form_of(tr_type type, size_t size) {
  return (uint32_t)type | (uint32_t)size << 8;
}

static tr_type type_of(const tr_frequent_entry *entry) {
  return (tr_type)(entry->form & 0xff);
}

static int is_long(const tr_frequent_entry *entry) {
  return (entry->form & LONG_FORM) != 0;
}

static inline int is_short(const tr_value *value) {
  return value->type < TR_TEXT || value->bytes.size <= TR_FREQUENT_SHORT;
}

/*
** A value to look for: what its entry would hold, and its hash. The hash is never stored in an
** image, so it only has to be fast and to spread well.
*/
typedef struct sought {
  uint32_t hash, form; /* as in an entry */
  uint64_t low, high;  /* the bytes of a short value, little-endian, padded with zeros */
  tr_bytes bytes;      /* the bytes of a long value */
} sought;

/*
** A multiplication spreads every bit upwards, and two mix all bits. The upper half of the result is
** well mixed.
*/
static uint32_t mix(uint64_t x) {
  x = (x ^ x >> 32) * UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
  return (uint32_t)(x >> 32);
}

/*
** Fills `*s` member by member: copying a whole struct would wait until all its members are stored.
*/
static inline void seek_short(const tr_value *value, sought *s) {
  size_t size = sizeof value->integer;
  if (value->type < TR_TEXT) {
    s->low = tr_load_u64((const uint8_t *)&value->integer);
    s->high = 0;
  } else {
    size = value->bytes.size;
    tr_load_short(value->bytes.data, size, &s->low, &s->high);
  }
  s->form = form_of(value->type, size);
  s->hash = mix(s->low * UINT64_C(0x94d049bb133111eb) + (s->high ^ (uint64_t)size << 56));
}

static void seek(const tr_value *value, sought *s) {
  if (is_short(value)) {
    seek_short(value, s);
  } else {
    *s = (sought){.form = form_of(value->type, 0) | LONG_FORM, .bytes = value->bytes};
    s->hash = (uint32_t)tr_hash128_of(value->bytes, 0).low;
  }
}

tr_value tr_frequent_value(const tr_frequent_entry *entry) {
  tr_type type = type_of(entry);
  if (type == TR_INTEGER) return tr_value_integer(entry->integer);
  if (type == TR_REAL) return tr_value_real(entry->real);
  tr_bytes bytes = {entry->bytes, entry->form >> 8};
  if (is_long(entry)) bytes = (tr_bytes){entry->own.data, entry->own.size};
  return type == TR_TEXT ? tr_value_text(bytes) : tr_value_blob(bytes);
}

/* 0 if the entry is that of the short value. */
static inline uint64_t difference(const tr_frequent_entry *entry, const sought *s) {
  return (tr_load_u64(entry->bytes) ^ s->low) | (tr_load_u64(entry->bytes + 8) ^ s->high) |
         (entry->form ^ s->form);
}

static int is_value(const tr_frequent_entry *entry, const sought *s) {
  if (!(s->form & LONG_FORM)) return difference(entry, s) == 0;
  return entry->form == s->form && entry->own.size == s->bytes.size &&
         memcmp(entry->own.data, s->bytes.data, s->bytes.size) == 0;
}

static inline void fill_short_entry(tr_frequent_entry *entry, const sought *s) {
  entry->hash = s->hash;
  entry->form = s->form;
  tr_store_u64(entry->bytes, s->low);
  tr_store_u64(entry->bytes + 8, s->high);
}

static tr_code fill_long_entry(tr_frequent_items *items, tr_frequent_entry *entry, const sought *s,
                               tr_error *err) {
  size_t size = s->bytes.size;
  uint8_t *data = tr_malloc(size);
  if (data == NULL) return tr_error_no_memory(err);
  *entry = (tr_frequent_entry){.hash = s->hash, .form = s->form};
  entry->own.data = memcpy(data, s->bytes.data, size);
  entry->own.size = size;
  items->own_size += size;
  return TR_OK;
}

static void free_entry(tr_frequent_items *items, tr_frequent_entry *entry) {
  if (!is_long(entry)) return;
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

/* The cell of a value, or the free cell where it belongs. */
static tr_frequent_cell *find_cell(const tr_frequent_items *items, const sought *s) {
  size_t mask = cell_count(items->lg_map) - 1, at = s->hash & mask;
  for (;; at = (at + 1) & mask) {
    tr_frequent_cell *cell = &items->cells[at];
    if (cell->place == 0) return cell;
    if (cell->hash == s->hash && is_value(&items->entries[cell->place - 1], s)) return cell;
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

/*
** The count that has `rank` others before it in ascending order, by Hoare's selection. Reorders
** `x`.
*/
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

/* How many entries have that count. */
static uint32_t entries_of(const tr_frequent_items *items, int64_t count) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < items->active; i++) found += items->entries[i].count == count;
  return found;
}

/*
** The count that a purge subtracts, and how many counters are above it. It is the median, or a
** count so far below it that half of all counters are lowered by it even if `least` entries are
** kept. Often so many counts are 1 that it must be 1; that needs no selection.
*/
static tr_code purged_count(const tr_frequent_items *items, int64_t *taken, uint32_t *above,
                            tr_error *err) {
  uint32_t half = items->active / 2, ones = entries_of(items, 1);
  uint32_t rank = half > items->least ? half - items->least : 0;
  *taken = 1;
  *above = items->active - ones;
  if (ones > rank) return TR_OK;
  int64_t *counts = tr_malloc(items->active * sizeof *counts);
  if (counts == NULL) return tr_error_no_memory(err);
  for (uint32_t i = 0; i < items->active; i++) counts[i] = items->entries[i].count;
  *taken = select_rank(counts, items->active, rank);
  *above = 0;
  for (uint32_t i = rank; i < items->active; i++) *above += counts[i] > *taken;
  tr_free(counts);
  return TR_OK;
}

/*
** Adds 1 to `spare` of the entries whose count is about to be subtracted, so that 1 is left to
** them.
*/
static void spare_entries(tr_frequent_items *items, int64_t taken, uint32_t spare) {
  for (uint32_t i = 0; i < items->active && spare > 0; i++) {
    uint32_t is_spared = items->entries[i].count == taken;
    items->entries[i].count += is_spared;
    spare -= is_spared;
  }
}

/*
** Subtracts from all counts and drops entries with no count left. About half are dropped, in no
** pattern, so a branch would be mispredicted. Instead every entry is moved, and only the place of
** the next one depends on whether this one stays.
*/
static tr_code purge(tr_frequent_items *items, tr_error *err) {
  int64_t taken;
  uint32_t above, kept = 0, active = items->active;
  tr_frequent_entry *entries = items->entries;
  tr_code code = purged_count(items, &taken, &above, err);
  if (code != TR_OK) return code;
  if (above < items->least) spare_entries(items, taken, items->least - above);
  for (uint32_t i = 0; i < active; i++) {
    int64_t left = entries[i].count - taken;
    if (is_long(&entries[i]) && left <= 0) free_entry(items, &entries[i]);
    entries[kept] = entries[i];
    entries[kept].count = left;
    kept += left > 0;
  }
  items->active = kept;
  items->offset += taken;
  fill_cells(items);
  return TR_OK;
}

static int is_full(const tr_frequent_items *items) {
  return items->entries == NULL || items->active == capacity_of(items->lg_map);
}

/* Makes room for one more entry: the map grows or is purged. */
static tr_code make_room(tr_frequent_items *items, tr_error *err) {
  if (items->entries == NULL) return resize(items, TR_FREQUENT_MIN_LG, err);
  if (items->lg_map < items->lg_max) return resize(items, items->lg_map + 1, err);
  return purge(items, err);
}

/* Adds to the count of a value. The caller adds to the weight. */
static tr_code add_counted(tr_frequent_items *items, const sought *s, int64_t times,
                           tr_error *err) {
  tr_frequent_cell *cell = items->entries == NULL ? NULL : find_cell(items, s);
  if (cell != NULL && cell->place != 0) {
    items->entries[cell->place - 1].count += times;
    return TR_OK;
  }
  if (is_full(items)) {
    tr_code code = make_room(items, err);
    if (code != TR_OK) return code;
    cell = find_cell(items, s);
  }
  tr_frequent_entry *entry = &items->entries[items->active];
  if (s->form & LONG_FORM) {
    tr_code code = fill_long_entry(items, entry, s, err);
    if (code != TR_OK) return code;
  } else {
    fill_short_entry(entry, s);
  }
  entry->count = times;
  *cell = (tr_frequent_cell){s->hash, ++items->active};
  return TR_OK;
}

static tr_code check_weight(const tr_frequent_items *items, int64_t more, tr_error *err) {
  if (more <= INT64_MAX - items->weight) return TR_OK;
  return tr_error_set(err, TR_OVERFLOW, "more than 2^63 values");
}

/*
** Whether a value is already there is nearly random, and a mispredicted branch costs more than all
** the rest. So there is no branch on it. A new entry is always written at the next free place, and
** arithmetic decides whether it counts. No field but the count is written twice: a value that comes
** again soon would have to wait for both stores.
*/
int tr_frequent_add_short(tr_frequent_items *items, const tr_value *value) {
  sought s;
  tr_value integer;
  if (value->type == TR_NULL || !is_short(value) || items->weight == INT64_MAX ||
      items->active == capacity_of(items->lg_map)) {
    return 0;
  }
  value = as_counted(value, &integer);
  seek_short(value, &s);
  size_t mask = cell_count(items->lg_map) - 1, at = s.hash & mask;
  /* The product is 0 if either factor is: one branch, and mostly the first cell fits. */
  while ((uint64_t)items->cells[at].place * (items->cells[at].hash ^ s.hash) != 0) {
    at = (at + 1) & mask;
  }
  tr_frequent_cell *cell = &items->cells[at], unused = {0, 0};
  tr_frequent_entry *next = &items->entries[items->active];
  fill_short_entry(next, &s);
  next->count = 0;
  uint32_t is_new = cell->place == 0;
  uint32_t place = cell->place + is_new * (items->active + 1);
  tr_frequent_entry *entry = &items->entries[place - 1];
  if (difference(entry, &s)) return 0; /* another value with the same hash */
  entry->count++;
  cell = is_new ? cell : &unused;
  cell->hash = s.hash;
  cell->place = place;
  items->active += is_new;
  items->weight++;
  items->classes = (uint8_t)(items->classes | 1 << tr_frequent_class_of(value));
  return 1;
}

tr_code tr_frequent_add(tr_frequent_items *items, const tr_value *value, int64_t times,
                        tr_error *err) {
  sought s;
  tr_value integer;
  value = as_counted(value, &integer);
  tr_code code = check_weight(items, times, err);
  if (code != TR_OK) return code;
  seek(value, &s);
  code = add_counted(items, &s, times, err);
  if (code != TR_OK) return code;
  items->weight += times;
  items->classes = (uint8_t)(items->classes | 1 << tr_frequent_class_of(value));
  return TR_OK;
}

tr_code tr_frequent_merge(tr_frequent_items *items, const tr_frequent_items *other, tr_error *err) {
  int64_t weight = items->weight;
  tr_code code = check_weight(items, other->weight, err);
  for (uint32_t i = 0; code == TR_OK && i < other->active; i++) {
    tr_value value = tr_frequent_value(&other->entries[i]);
    code = tr_frequent_add(items, &value, other->entries[i].count, err);
  }
  if (code != TR_OK) return code;
  items->offset += other->offset;
  items->weight = weight + other->weight;
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

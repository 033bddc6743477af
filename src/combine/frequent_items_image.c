/*
** The bytes of frequent-items sketches, as Apache DataSketches stores them.
**
** All numbers are little-endian. An empty sketch ends after 8 bytes.
**
**    0  length of the preamble in longs     8  number of items (four bytes)
**    1  serial version                     16  total weight
**    2  family                             24  offset
**    3  lg of the largest map              32  counts, then items
**    4  lg of the current map
**    5  flags
**
** An item is an integer of eight bytes, or a text after a length of four bytes. An item of the
** class "others" begins with its tr_type: a REAL has eight bytes, a BLOB follows a length of four
** bytes. The most frequent item is written first, equal counts by value.
*/
#include "combine/frequent_items.h"

#include "base/little_endian.h"
#include "base/memory.h"
#include "combine/codec.h"

#define SERIAL_VERSION 1
#define FAMILY_FREQUENCY 10
#define PREAMBLE_LONGS 4
#define PREAMBLE_LONGS_EMPTY 1
#define PREAMBLE_SIZE 32
#define PREAMBLE_SIZE_EMPTY 8
/*
** Implementations disagree on which of two bits marks an empty sketch. We write both and accept
** either.
*/
#define FLAGS_EMPTY 5

/* --- writing ------------------------------------------------------------------------------ */

static tr_code put_item(const tr_value *value, tr_frequent_class of, tr_buffer *bytes,
                        tr_error *err) {
  tr_code code = TR_OK;
  if (of == TR_FREQUENT_OTHERS) code = tr_buffer_append_byte(bytes, (uint8_t)value->type, err);
  if (code != TR_OK) return code;
  if (value->type == TR_INTEGER) return tr_put_u64(bytes, (uint64_t)value->integer, err);
  if (value->type == TR_REAL) return tr_put_double(bytes, value->real, err);
  return tr_put_sized(bytes, value->bytes, err);
}

/* Keeps the entries of one class, in their order, and returns their number. */
static uint32_t keep_class(const tr_frequent_entry **entries, uint32_t count,
                           tr_frequent_class of) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    tr_value value = tr_frequent_value(entries[i]);
    if (tr_frequent_class_of(&value) == (int)of) entries[kept++] = entries[i];
  }
  return kept;
}

static tr_code put_preamble(const tr_frequent_items *items, uint32_t count, tr_buffer *bytes,
                            tr_error *err) {
  uint8_t at[PREAMBLE_SIZE] = {0};
  int is_empty = items->weight == 0;
  int lg = TR_FREQUENT_MIN_LG;
  while ((uint64_t)count * 4 > UINT64_C(3) << lg) lg++;
  at[0] = is_empty ? PREAMBLE_LONGS_EMPTY : PREAMBLE_LONGS;
  at[1] = SERIAL_VERSION;
  at[2] = FAMILY_FREQUENCY;
  at[3] = items->lg_max;
  at[4] = (uint8_t)lg;
  at[5] = is_empty ? FLAGS_EMPTY : 0;
  tr_store_u32(at + 8, count);
  tr_store_u64(at + 16, (uint64_t)items->weight);
  tr_store_u64(at + 24, (uint64_t)items->offset);
  return tr_buffer_append(bytes, (tr_bytes){at, is_empty ? PREAMBLE_SIZE_EMPTY : PREAMBLE_SIZE},
                          err);
}

tr_code tr_frequent_write(const tr_frequent_items *items, tr_frequent_class of, tr_buffer *bytes,
                          tr_error *err) {
  const tr_frequent_entry **entries;
  size_t before = bytes->size;
  tr_code code = tr_frequent_sorted(items, &entries, err);
  if (code != TR_OK) return code;
  uint32_t count = keep_class(entries, items->active, of);
  code = put_preamble(items, count, bytes, err);
  for (uint32_t i = 0; code == TR_OK && i < count; i++) {
    code = tr_put_u64(bytes, (uint64_t)entries[i]->count, err);
  }
  for (uint32_t i = 0; code == TR_OK && i < count; i++) {
    tr_value value = tr_frequent_value(entries[i]);
    code = put_item(&value, of, bytes, err);
  }
  tr_free(entries);
  if (code != TR_OK) bytes->size = before;
  return code;
}

/* --- reading ------------------------------------------------------------------------------ */

static tr_code corrupt(tr_error *err, const char *what) {
  return tr_error_set(err, TR_CORRUPT, "frequent-items sketch: %s", what);
}

static tr_code take(tr_bytes *from, size_t size, tr_bytes *taken, tr_error *err) {
  if (from->size < size) return corrupt(err, "cut short in its items");
  *taken = (tr_bytes){from->data, size};
  from->data += size;
  from->size -= size;
  return TR_OK;
}

static tr_code take_bytes(tr_bytes *from, tr_bytes *bytes, tr_error *err) {
  tr_bytes size = {NULL, 0};
  tr_code code = take(from, 4, &size, err);
  return code == TR_OK ? take(from, tr_load_u32(size.data), bytes, err) : code;
}

/* Takes a value from the image. Text and BLOBs are views of it. */
static tr_code take_item(tr_bytes *from, tr_frequent_class of, tr_value *value, tr_error *err) {
  static const tr_type types[] = {TR_INTEGER, TR_TEXT, TR_NULL};
  tr_bytes taken = {NULL, 0};
  tr_type type = types[of];
  tr_code code = TR_OK;
  if (of == TR_FREQUENT_OTHERS) {
    code = take(from, 1, &taken, err);
    if (code != TR_OK) return code;
    if (taken.data[0] != TR_REAL && taken.data[0] != TR_BLOB) {
      return corrupt(err, "an item of unknown type");
    }
    type = (tr_type)taken.data[0];
  }
  if (type == TR_TEXT || type == TR_BLOB) {
    *value = (tr_value){.type = type};
    return take_bytes(from, &value->bytes, err);
  }
  code = take(from, 8, &taken, err);
  if (code != TR_OK) return code;
  *value = type == TR_INTEGER ? tr_value_integer((int64_t)tr_load_u64(taken.data))
                              : tr_value_real(tr_load_double(taken.data));
  return value->type == TR_NULL ? corrupt(err, "an item is NaN") : TR_OK;
}

static tr_code check_preamble(tr_bytes bytes, tr_error *err) {
  const uint8_t *at = bytes.data;
  if (bytes.size < PREAMBLE_SIZE_EMPTY) {
    return tr_error_set(err, TR_CORRUPT, "frequent-items sketch: %zu bytes, a preamble has %d",
                        bytes.size, PREAMBLE_SIZE_EMPTY);
  }
  if (at[2] != FAMILY_FREQUENCY) {
    return tr_error_set(err, TR_CORRUPT, "frequent-items sketch: family %d, its own is %d", at[2],
                        FAMILY_FREQUENCY);
  }
  if (at[1] != SERIAL_VERSION) {
    return tr_error_set(err, TR_CORRUPT, "frequent-items sketch: serial version %d, known is %d",
                        at[1], SERIAL_VERSION);
  }
  if (at[3] < TR_FREQUENT_MIN_LG || at[3] > TR_FREQUENT_MAX_LG || at[4] > at[3]) {
    return tr_error_set(err, TR_CORRUPT, "frequent-items sketch: a map of 2^%d, at most 2^%d",
                        at[4], at[3]);
  }
  int is_empty = (at[5] & FLAGS_EMPTY) != 0;
  if (at[0] != (is_empty ? PREAMBLE_LONGS_EMPTY : PREAMBLE_LONGS)) {
    return tr_error_set(err, TR_CORRUPT, "frequent-items sketch: %d preamble longs in its form",
                        at[0]);
  }
  if (is_empty && bytes.size > PREAMBLE_SIZE_EMPTY) return corrupt(err, "bytes behind its end");
  if (!is_empty && bytes.size < PREAMBLE_SIZE) return corrupt(err, "cut short in its preamble");
  return TR_OK;
}

/* Reads the counts and items after the preamble. */
static tr_code read_items(tr_frequent_items *items, tr_frequent_class of, tr_bytes bytes,
                          tr_error *err) {
  uint32_t count = tr_load_u32(bytes.data + 8);
  int64_t weight = (int64_t)tr_load_u64(bytes.data + 16);
  int64_t offset = (int64_t)tr_load_u64(bytes.data + 24);
  int64_t sum = offset;
  size_t rest = bytes.size - PREAMBLE_SIZE;
  if (weight <= 0 || offset < 0 || offset > weight)
    return corrupt(err, "offset or weight is wrong");
  if (count > rest / 8) return corrupt(err, "cut short in its counts");
  if ((uint64_t)count * 4 > UINT64_C(3) << items->lg_max)
    return corrupt(err, "more items than fit");
  const uint8_t *counts = bytes.data + PREAMBLE_SIZE;
  tr_bytes from = {counts + 8 * (size_t)count, rest - 8 * (size_t)count};
  for (uint32_t i = 0; i < count; i++) {
    int64_t times = (int64_t)tr_load_u64(counts + 8 * (size_t)i);
    tr_value value;
    if (times <= 0 || times > weight - sum) return corrupt(err, "a count is wrong");
    sum += times;
    tr_code code = take_item(&from, of, &value, err);
    if (code == TR_OK) code = tr_frequent_add(items, &value, times, err);
    if (code != TR_OK) return code;
    if (items->active != i + 1) return corrupt(err, "an item stands twice");
  }
  if (from.size > 0) return corrupt(err, "bytes behind its end");
  items->weight = weight;
  items->offset = offset;
  items->classes = (uint8_t)(1 << of);
  return TR_OK;
}

tr_code tr_frequent_read(tr_frequent_items *items, tr_frequent_class of, tr_bytes bytes,
                         tr_error *err) {
  *items = tr_frequent_empty(TR_FREQUENT_MIN_LG, 0);
  tr_code code = check_preamble(bytes, err);
  if (code != TR_OK) return code;
  items->lg_max = bytes.data[3];
  if (bytes.size > PREAMBLE_SIZE_EMPTY) code = read_items(items, of, bytes, err);
  if (code != TR_OK) tr_frequent_free(items);
  return code;
}

/*
** Each value is a head byte and its bytes. The head says NULL, an integer of 0, 1, 2, 4 or 8 bytes,
** a REAL, or a text or BLOB, whose size is in the head (up to 119 bytes) or in the next four bytes.
** So a head gives the length of its value, and all keys have the same number of fields. Therefore
** no two tuples have the same bytes.
*/
#include "combine/group_key.h"

#include <math.h>

enum {
  HEAD_NULL = TR_GROUP_HEAD_NULL,
  HEAD_ZERO = TR_GROUP_HEAD_ZERO,
  HEAD_INT8 = TR_GROUP_HEAD_INT8,
  HEAD_INT16 = TR_GROUP_HEAD_INT16,
  HEAD_INT32 = TR_GROUP_HEAD_INT32,
  HEAD_INT64 = TR_GROUP_HEAD_INT64,
  HEAD_REAL,
  HEAD_LONG_TEXT,
  HEAD_LONG_BLOB,
  HEAD_TEXT = 16, /* + size */
  HEAD_BLOB = HEAD_TEXT + 120
};
#define LONGEST_IN_HEAD 119

size_t tr_group_key_bound(const tr_value *values, int count) {
  size_t bound = 8;
  for (int i = 0; i < count; i++)
    bound += TR_GROUP_KEY_HEAD + (values[i].type >= TR_TEXT ? values[i].bytes.size : 0);
  return bound;
}

static uint8_t *put(uint8_t *out, uint8_t head, const void *bytes, size_t size) {
  *out = head;
  memcpy(out + 1, bytes, size);
  return out + 1 + size;
}

static uint8_t *put_integer(uint8_t *out, int64_t integer) {
  if (integer == (int32_t)integer) {
    int32_t i32 = (int32_t)integer;
    int16_t i16 = (int16_t)integer;
    int8_t i8 = (int8_t)integer;
    if (i32 != i16) return put(out, HEAD_INT32, &i32, sizeof i32);
    if (i16 != i8) return put(out, HEAD_INT16, &i16, sizeof i16);
    if (i8 != 0) return put(out, HEAD_INT8, &i8, sizeof i8);
    *out = HEAD_ZERO;
    return out + 1;
  }
  return put(out, HEAD_INT64, &integer, sizeof integer);
}

static uint8_t *put_bytes_head(uint8_t *out, tr_type type, size_t size) {
  if (size <= LONGEST_IN_HEAD) {
    *out = (uint8_t)((type == TR_TEXT ? HEAD_TEXT : HEAD_BLOB) + (int)size);
    return out + 1;
  }
  uint32_t size32 = (uint32_t)size;
  return put(out, type == TR_TEXT ? HEAD_LONG_TEXT : HEAD_LONG_BLOB, &size32, sizeof size32);
}

static uint8_t *put_bytes(uint8_t *out, tr_type type, tr_bytes bytes) {
  out = put_bytes_head(out, type, bytes.size);
  if (bytes.size > 0) memcpy(out, bytes.data, bytes.size);
  return out + bytes.size;
}

/* Pads with zeros to a whole word, and returns the size. */
static uint32_t pad(uint8_t *begin, uint8_t *end) {
  size_t size = (size_t)(end - begin);
  size_t padded = (size + 7) & ~(size_t)7;
  memset(end, 0, padded - size);
  return (uint32_t)padded;
}

/*
** Writes text in the normal form of its collation. Sets `*changed` if that is not the text itself.
** NOCASE folds only A to Z. After a zero byte it compares nothing but the size.
*/
static uint8_t *put_collated(uint8_t *out, tr_bytes text, tr_collation collation, int *changed) {
  if (collation == TR_COLLATION_RTRIM) {
    size_t size = text.size;
    while (size > 0 && text.data[size - 1] == ' ') size--;
    if (size < text.size) *changed = 1;
    return put_bytes(out, TR_TEXT, (tr_bytes){text.data, size});
  }
  out = put_bytes_head(out, TR_TEXT, text.size);
  int is_behind_zero = 0;
  for (size_t i = 0; i < text.size; i++) {
    uint8_t c = text.data[i];
    if (c >= 'A' && c <= 'Z') c = (uint8_t)(c + ('a' - 'A'));
    if (c == 0) is_behind_zero = 1;
    if (is_behind_zero) c = 0;
    if (c != text.data[i]) *changed = 1;
    *out++ = c;
  }
  return out;
}

static inline tr_group_key_info encode(const tr_value *values, const tr_collation *collations,
                                       int count, uint8_t *out) {
  tr_group_key_info info = {0};
  uint8_t *at = out;
  for (int i = 0; i < count; i++) {
    const tr_value *v = &values[i];
    int64_t integer;
    switch (v->type) {
    case TR_NULL: *at++ = HEAD_NULL; break;
    case TR_INTEGER: at = put_integer(at, v->integer); break;
    case TR_REAL:
      if (tr_real_is_integer(v->real, &integer)) {
        at = put_integer(at, integer);
        if (i < TR_GROUP_KEY_REAL_FIELDS) info.real_fields |= UINT32_C(1) << i;
        if (i >= TR_GROUP_KEY_REAL_FIELDS || (integer == 0 && signbit(v->real)))
          info.needs_exact = 1;
      } else {
        at = put(at, HEAD_REAL, &v->real, sizeof v->real);
      }
      break;
    case TR_TEXT:
      at = collations[i] == TR_COLLATION_BINARY
               ? put_bytes(at, TR_TEXT, v->bytes)
               : put_collated(at, v->bytes, collations[i], &info.needs_exact);
      break;
    case TR_BLOB: at = put_bytes(at, TR_BLOB, v->bytes); break;
    }
  }
  info.size = pad(out, at);
  return info;
}

uint32_t tr_group_key_encode_exact(const tr_value *values, int count, uint8_t *out) {
  uint8_t *at = out;
  for (int i = 0; i < count; i++) {
    const tr_value *v = &values[i];
    switch (v->type) {
    case TR_NULL: *at++ = HEAD_NULL; break;
    case TR_INTEGER: at = put_integer(at, v->integer); break;
    case TR_REAL: at = put(at, HEAD_REAL, &v->real, sizeof v->real); break;
    case TR_TEXT:
    case TR_BLOB: at = put_bytes(at, v->type, v->bytes); break;
    }
  }
  return pad(out, at);
}

/* The next `size` bytes as a signed number. */
static int64_t get_integer(const uint8_t *at, size_t size) {
  int8_t i8;
  int16_t i16;
  int32_t i32;
  int64_t i64;
  switch (size) {
  case sizeof i8: memcpy(&i8, at, sizeof i8); return i8;
  case sizeof i16: memcpy(&i16, at, sizeof i16); return i16;
  case sizeof i32: memcpy(&i32, at, sizeof i32); return i32;
  default: memcpy(&i64, at, sizeof i64); return i64;
  }
}

/*
** Reads one value and returns the place after it. It sets the value member by member, because the
** processor would have to wait to copy a whole struct that was just written.
*/
static const uint8_t *get(const uint8_t *at, tr_value *value) {
  static const uint8_t integer_sizes[] = {
      [HEAD_ZERO] = 0, [HEAD_INT8] = 1, [HEAD_INT16] = 2, [HEAD_INT32] = 4, [HEAD_INT64] = 8};
  uint8_t head = *at++;
  if (head >= HEAD_ZERO && head <= HEAD_INT64) {
    size_t size = integer_sizes[head];
    value->type = TR_INTEGER;
    value->integer = size == 0 ? 0 : get_integer(at, size);
    return at + size;
  }
  uint32_t size;
  switch (head) {
  case HEAD_NULL: value->type = TR_NULL; return at;
  case HEAD_REAL:
    value->type = TR_REAL;
    memcpy(&value->real, at, sizeof value->real);
    return at + sizeof value->real;
  case HEAD_LONG_TEXT:
  case HEAD_LONG_BLOB:
    memcpy(&size, at, sizeof size);
    at += sizeof size;
    break;
  default: size = (uint32_t)(head < HEAD_BLOB ? head - HEAD_TEXT : head - HEAD_BLOB); break;
  }
  int is_text = head == HEAD_LONG_TEXT || (head >= HEAD_TEXT && head < HEAD_BLOB);
  value->type = is_text ? TR_TEXT : TR_BLOB;
  value->bytes = (tr_bytes){at, size};
  return at + size;
}

tr_value tr_group_key_value(const uint8_t *key, int field) {
  tr_value value = tr_value_null();
  for (int i = 0; i <= field; i++) key = get(key, &value);
  return value;
}

void tr_group_key_values(const uint8_t *key, int count, tr_value *values) {
  for (int i = 0; i < count; i++) key = get(key, &values[i]);
}

void tr_group_row_encode(const tr_value *values, const tr_collation *collations, int count,
                         uint8_t *out, tr_group_row *row) {
  row->info = encode(values, collations, count, out);
  row->bytes = out;
  row->exact_size = 0;
  if (row->info.needs_exact) {
    row->exact_size = tr_group_key_encode_exact(values, count, out + row->info.size);
  }
}

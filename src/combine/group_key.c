/*
** Each value is a head byte and what it needs: the head says NULL, an integer of 0, 1, 2, 4 or 8
** bytes, a REAL, or text or a BLOB with its size in the head (up to 119 bytes) or in four bytes
** behind it. A head tells how long its value is, and a tuple's number of fields is fixed, so no two
** tuples have the same bytes.
*/
#include "combine/group_key.h"

#include <math.h>
#include <string.h>

enum {
  HEAD_NULL = 0, /* and the padding */
  HEAD_ZERO,
  HEAD_INT8,
  HEAD_INT16,
  HEAD_INT32,
  HEAD_INT64,
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
    bound += 9 + (values[i].type >= TR_TEXT ? values[i].bytes.size : 0);
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

/* Zeros up to the next whole word; returns the size. */
static uint32_t pad(uint8_t *begin, uint8_t *end) {
  size_t size = (size_t)(end - begin);
  size_t padded = (size + 7) & ~(size_t)7;
  memset(end, 0, padded - size);
  return (uint32_t)padded;
}

/* 1 if the double is an int64 exactly, which is then in `*integer`. */
static int is_integral(double real, int64_t *integer) {
  if (!(real >= -0x1p63 && real < 0x1p63)) return 0;
  *integer = (int64_t)real;
  return (double)*integer == real;
}

/*
** Text in the normal form of its collation; `*changed` is set if that is not the text itself.
** NOCASE folds A to Z only, and looks at nothing behind a zero byte but the size.
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

tr_group_key_info tr_group_key_encode(const tr_value *values, const tr_collation *collations,
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
      if (is_integral(v->real, &integer)) {
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

/* Reads one value and returns what lies behind it. */
static const uint8_t *get(const uint8_t *at, tr_value *value) {
  uint8_t head = *at++;
  int8_t i8;
  int16_t i16;
  int32_t i32;
  int64_t i64;
  double real;
  uint32_t size;
  switch (head) {
  case HEAD_NULL: *value = tr_value_null(); return at;
  case HEAD_ZERO: *value = tr_value_integer(0); return at;
  case HEAD_INT8:
    memcpy(&i8, at, sizeof i8);
    *value = tr_value_integer(i8);
    return at + sizeof i8;
  case HEAD_INT16:
    memcpy(&i16, at, sizeof i16);
    *value = tr_value_integer(i16);
    return at + sizeof i16;
  case HEAD_INT32:
    memcpy(&i32, at, sizeof i32);
    *value = tr_value_integer(i32);
    return at + sizeof i32;
  case HEAD_INT64:
    memcpy(&i64, at, sizeof i64);
    *value = tr_value_integer(i64);
    return at + sizeof i64;
  case HEAD_REAL:
    memcpy(&real, at, sizeof real);
    *value = tr_value_real(real);
    return at + sizeof real;
  case HEAD_LONG_TEXT:
  case HEAD_LONG_BLOB:
    memcpy(&size, at, sizeof size);
    at += sizeof size;
    break;
  default: size = (uint32_t)(head < HEAD_BLOB ? head - HEAD_TEXT : head - HEAD_BLOB); break;
  }
  tr_bytes bytes = {at, size};
  int is_text = head == HEAD_LONG_TEXT || (head >= HEAD_TEXT && head < HEAD_BLOB);
  *value = is_text ? tr_value_text(bytes) : tr_value_blob(bytes);
  return at + size;
}

tr_value tr_group_key_value(const uint8_t *key, int field) {
  tr_value value = tr_value_null();
  for (int i = 0; i <= field; i++) key = get(key, &value);
  return value;
}

static uint64_t rotate(uint64_t x, int by) {
  return (x << by) | (x >> (64 - by));
}

uint64_t tr_group_key_hash(const uint8_t *key, size_t size, uint64_t seed) {
  uint64_t h = seed ^ (size * UINT64_C(0x9e3779b97f4a7c15));
  for (size_t i = 0; i < size; i += 8) {
    uint64_t word;
    memcpy(&word, key + i, sizeof word);
    h ^= rotate(word * UINT64_C(0xc2b2ae3d27d4eb4f), 31) * UINT64_C(0x9e3779b185ebca87);
    h = rotate(h, 27) * UINT64_C(0x9e3779b185ebca87) + UINT64_C(0x85ebca77c2b2ae63);
  }
  h = (h ^ (h >> 33)) * UINT64_C(0xff51afd7ed558ccd);
  h = (h ^ (h >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
  return h ^ (h >> 33);
}

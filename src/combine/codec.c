/*
** Writes and reads the parts of accumulators.
*/
#include "combine/codec.h"

#include <math.h>
#include <string.h>

#include "base/little_endian.h"

tr_code tr_put_varint(tr_buffer *bytes, uint64_t x, tr_error *err) {
  uint8_t text[10];
  size_t size = 0;
  for (; x >= 0x80; x >>= 7) text[size++] = (uint8_t)(x | 0x80);
  text[size++] = (uint8_t)x;
  return tr_buffer_append(bytes, (tr_bytes){text, size}, err);
}

tr_code tr_put_signed(tr_buffer *bytes, int64_t x, tr_error *err) {
  uint64_t sign = x < 0 ? UINT64_MAX : 0;
  return tr_put_varint(bytes, (uint64_t)x << 1 ^ sign, err);
}

tr_code tr_put_u32(tr_buffer *bytes, uint32_t x, tr_error *err) {
  uint8_t word[4];
  tr_store_u32(word, x);
  return tr_buffer_append(bytes, (tr_bytes){word, sizeof word}, err);
}

tr_code tr_put_u64(tr_buffer *bytes, uint64_t x, tr_error *err) {
  uint8_t word[8];
  tr_store_u64(word, x);
  return tr_buffer_append(bytes, (tr_bytes){word, sizeof word}, err);
}

tr_code tr_put_double(tr_buffer *bytes, double x, tr_error *err) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return tr_put_u64(bytes, bits, err);
}

tr_code tr_put_sized(tr_buffer *bytes, tr_bytes sized, tr_error *err) {
  if (sized.size > UINT32_MAX) {
    return tr_error_set(err, TR_TOO_BIG, "a value of %zu bytes does not fit a sketch", sized.size);
  }
  tr_code code = tr_put_u32(bytes, (uint32_t)sized.size, err);
  return code == TR_OK ? tr_buffer_append(bytes, sized, err) : code;
}

tr_code tr_put_value(tr_buffer *bytes, const tr_value *value, tr_error *err) {
  size_t before = bytes->size;
  tr_code code = tr_buffer_append_byte(bytes, (uint8_t)value->type, err);
  if (code != TR_OK) return code;
  switch (value->type) {
  case TR_NULL: break;
  case TR_INTEGER: code = tr_put_signed(bytes, value->integer, err); break;
  case TR_REAL: code = tr_put_double(bytes, value->real, err); break;
  case TR_TEXT:
  case TR_BLOB:
    code = tr_put_varint(bytes, value->bytes.size, err);
    if (code == TR_OK) code = tr_buffer_append(bytes, value->bytes, err);
    break;
  }
  if (code != TR_OK) bytes->size = before;
  return code;
}

tr_code tr_take_fail(const tr_decoder *from, const char *part, const char *reason, tr_error *err) {
  return tr_error_set(err, TR_CORRUPT, "%s accumulator: %s %s", from->function, part, reason);
}

tr_code tr_take_bytes(tr_decoder *from, const char *part, uint64_t size, tr_bytes *bytes,
                      tr_error *err) {
  if (size > from->rest.size) return tr_take_fail(from, part, "is cut short", err);
  *bytes = (tr_bytes){from->rest.data, (size_t)size};
  from->rest.data += size;
  from->rest.size -= (size_t)size;
  return TR_OK;
}

tr_code tr_take_varint(tr_decoder *from, const char *part, uint64_t *x, tr_error *err) {
  uint64_t taken = 0;
  for (size_t i = 0; i < from->rest.size; i++) {
    uint64_t byte = from->rest.data[i];
    if (i == 9 && byte > 1) return tr_take_fail(from, part, "needs more than 64 bits", err);
    taken |= (byte & 0x7f) << (7 * i);
    if (byte >= 0x80) continue;
    if (byte == 0 && i > 0) return tr_take_fail(from, part, "has a leading zero", err);
    from->rest.data += i + 1;
    from->rest.size -= i + 1;
    *x = taken;
    return TR_OK;
  }
  return tr_take_fail(from, part, "is cut short", err);
}

tr_code tr_take_signed(tr_decoder *from, const char *part, int64_t *x, tr_error *err) {
  uint64_t zigzag;
  tr_code code = tr_take_varint(from, part, &zigzag, err);
  if (code == TR_OK) *x = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
  return code;
}

static tr_code take_double(tr_decoder *from, const char *part, double *x, tr_error *err) {
  tr_bytes bytes = {0};
  tr_code code = tr_take_bytes(from, part, 8, &bytes, err);
  if (code != TR_OK) return code;
  double taken = tr_load_double(bytes.data);
  if (isnan(taken)) return tr_take_fail(from, part, "is not a number", err);
  *x = taken;
  return TR_OK;
}

static tr_code take_sized(tr_decoder *from, const char *part, tr_bytes *bytes, tr_error *err) {
  uint64_t size;
  tr_code code = tr_take_varint(from, part, &size, err);
  return code == TR_OK ? tr_take_bytes(from, part, size, bytes, err) : code;
}

tr_code tr_take_value(tr_decoder *from, const char *part, tr_value *value, tr_error *err) {
  tr_bytes type = {0};
  tr_code code = tr_take_bytes(from, part, 1, &type, err);
  if (code != TR_OK) return code;
  value->type = (tr_type)type.data[0];
  switch (type.data[0]) {
  case TR_NULL: return TR_OK;
  case TR_INTEGER: return tr_take_signed(from, part, &value->integer, err);
  case TR_REAL: return take_double(from, part, &value->real, err);
  case TR_TEXT:
  case TR_BLOB: return take_sized(from, part, &value->bytes, err);
  default: return tr_take_fail(from, part, "has an unknown type", err);
  }
}

tr_code tr_take_end(const tr_decoder *from, tr_error *err) {
  if (from->rest.size == 0) return TR_OK;
  return tr_error_set(err, TR_CORRUPT, "%s accumulator: %zu bytes too many", from->function,
                      from->rest.size);
}

/*
** JSON text from SQL values. Strings are copied in runs between the characters that need an escape.
*/
#include "base/json.h"

#include <math.h>

#include "base/double_text.h"

/* The letter behind the backslash of a short escape; 'u' for a \u escape; 0: needs no escape. */
static char escape_of(uint8_t byte) {
  static const char control[32] = {
      ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
  if (byte == '"' || byte == '\\') return (char)byte;
  if (byte >= 32) return 0;
  return control[byte] != 0 ? control[byte] : 'u';
}

static tr_code append_escaped(tr_buffer *json, uint8_t byte, char escape, tr_error *err) {
  if (escape == 'u') return tr_buffer_printf(json, err, "\\u%04x", byte);
  return tr_buffer_printf(json, err, "\\%c", escape);
}

tr_code tr_json_append_text(tr_buffer *json, tr_bytes text, tr_error *err) {
  size_t before = json->size, run = 0;
  tr_code code = tr_buffer_append_byte(json, '"', err);
  for (size_t i = 0; i < text.size && code == TR_OK; i++) {
    char escape = escape_of(text.data[i]);
    if (escape == 0) continue;
    code = tr_buffer_append(json, (tr_bytes){text.data + run, i - run}, err);
    if (code == TR_OK) code = append_escaped(json, text.data[i], escape, err);
    run = i + 1;
  }
  if (code == TR_OK && run < text.size) {
    code = tr_buffer_append(json, (tr_bytes){text.data + run, text.size - run}, err);
  }
  if (code == TR_OK) code = tr_buffer_append_byte(json, '"', err);
  if (code != TR_OK) json->size = before;
  return code;
}

static tr_code append_real(tr_buffer *json, double real, tr_error *err) {
  char text[TR_DOUBLE_TEXT_SIZE];
  if (isinf(real)) return tr_buffer_append_text(json, real > 0 ? "9e999" : "-9e999", err);
  return tr_buffer_append_text(json, tr_double_text(real, text), err);
}

tr_code tr_json_append_value(tr_buffer *json, const tr_value *value, tr_error *err) {
  switch (value->type) {
  case TR_INTEGER: return tr_buffer_printf(json, err, "%lld", (long long)value->integer);
  case TR_REAL: return append_real(json, value->real, err);
  case TR_TEXT: return tr_json_append_text(json, value->bytes, err);
  case TR_BLOB: return tr_error_set(err, TR_INVALID_ARGUMENT, "JSON cannot hold BLOB values");
  default: return tr_buffer_append_text(json, "null", err);
  }
}

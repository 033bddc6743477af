/*
** SQLite's values as ours, and back.
*/
#include "host/sqlite_values.h"

#include <string.h>

/* --- From SQLite -------------------------------------------------------------------------- */

/*
** The size of a text is only asked for if there are bytes. If the text could not be converted,
** asking for its size would convert it again, and give a size for bytes that are not there.
*/
tr_value tr_value_of_sqlite(sqlite3_value *value) {
  switch (sqlite3_value_type(value)) {
  case SQLITE_INTEGER: return tr_value_integer(sqlite3_value_int64(value));
  case SQLITE_FLOAT: return tr_value_real(sqlite3_value_double(value));
  case SQLITE_TEXT: {
    const uint8_t *text = sqlite3_value_text(value);
    size_t size = text == NULL ? 0 : (size_t)sqlite3_value_bytes(value);
    return tr_value_text((tr_bytes){text, size});
  }
  case SQLITE_BLOB: {
    const uint8_t *blob = sqlite3_value_blob(value);
    return tr_value_blob((tr_bytes){blob, (size_t)sqlite3_value_bytes(value)});
  }
  default: return tr_value_null();
  }
}

tr_value tr_value_of_utf8(sqlite3_value *value) {
  if (sqlite3_value_type(value) != SQLITE_TEXT) return tr_value_of_sqlite(value);
  const uint8_t *text = sqlite3_value_blob(value);
  size_t size = (size_t)sqlite3_value_bytes(value);
  return tr_value_text(size == 0 ? tr_bytes_of_text("") : (tr_bytes){text, size});
}

tr_value tr_value_of_column(sqlite3_stmt *stmt, int column) {
  switch (sqlite3_column_type(stmt, column)) {
  case SQLITE_INTEGER: return tr_value_integer(sqlite3_column_int64(stmt, column));
  case SQLITE_FLOAT: return tr_value_real(sqlite3_column_double(stmt, column));
  case SQLITE_TEXT: {
    const uint8_t *text = sqlite3_column_text(stmt, column);
    size_t size = text == NULL ? 0 : (size_t)sqlite3_column_bytes(stmt, column);
    return tr_value_text((tr_bytes){text, size});
  }
  case SQLITE_BLOB: {
    const uint8_t *blob = sqlite3_column_blob(stmt, column);
    return tr_value_blob((tr_bytes){blob, (size_t)sqlite3_column_bytes(stmt, column)});
  }
  default: return tr_value_null();
  }
}

int tr_values_are_same(sqlite3_value *a, sqlite3_value *b) {
  tr_value x = tr_value_of_sqlite(a), y = tr_value_of_sqlite(b);
  if (x.type != y.type) return 0;
  int is_short = x.type == TR_TEXT && (x.bytes.data == NULL || y.bytes.data == NULL);
  return !is_short && tr_value_compare(&x, &y) == 0;
}

static int is_space(uint8_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static size_t skip_digits(tr_bytes text, size_t at) {
  while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9') at++;
  return at;
}

/* Reads `[+-]digits`, which must be all of the text. Returns 0 if it does not fit. */
static int read_integer(tr_bytes text, int64_t *integer) {
  int is_negative = text.data[0] == '-';
  uint64_t limit = is_negative ? UINT64_C(1) << 63 : INT64_MAX, magnitude = 0;
  for (size_t i = text.data[0] == '-' || text.data[0] == '+'; i < text.size; i++) {
    uint64_t digit = (uint64_t)(text.data[i] - '0');
    if (magnitude > (limit - digit) / 10) return 0;
    magnitude = magnitude * 10 + digit;
  }
  *integer = (int64_t)(is_negative ? UINT64_C(0) - magnitude : magnitude);
  return 1;
}

/*
** Newer releases read a number only as far as the first zero byte. In older ones a text with that
** byte is not a number.
*/
static tr_bytes readable_as_number(tr_bytes text) {
  enum { FIRST_TO_STOP = 3052000 };
  if (text.size == 0 || sqlite3_libversion_number() < FIRST_TO_STOP) return text;
  const uint8_t *zero = memchr(text.data, 0, text.size);
  return zero == NULL ? text : (tr_bytes){text.data, (size_t)(zero - text.data)};
}

int tr_spelled_number(sqlite3_value *value, tr_bytes text, tr_value *number) {
  size_t start = 0, at, end;
  text = readable_as_number(text);
  while (start < text.size && is_space(text.data[start])) start++;
  at = start;
  if (at < text.size && (text.data[at] == '-' || text.data[at] == '+')) at++;
  size_t whole = skip_digits(text, at), digits = whole - at;
  at = end = whole;
  if (at < text.size && text.data[at] == '.') {
    end = skip_digits(text, at + 1);
    digits += end - at - 1;
    at = end;
  }
  if (digits == 0) return 0;
  if (at < text.size && (text.data[at] == 'e' || text.data[at] == 'E')) {
    at++;
    if (at < text.size && (text.data[at] == '-' || text.data[at] == '+')) at++;
    end = skip_digits(text, at);
    if (end == at) return 0;
    at = end;
  }
  while (at < text.size && is_space(text.data[at])) at++;
  if (at < text.size) return 0;
  int64_t integer;
  if (end == whole && read_integer((tr_bytes){text.data + start, whole - start}, &integer)) {
    *number = tr_value_integer(integer);
  } else {
    *number = tr_value_real(sqlite3_value_double(value));
  }
  return 1;
}

tr_value tr_number_of_sqlite(sqlite3_value *value) {
  tr_value given = tr_value_of_sqlite(value);
  if (given.type == TR_TEXT) {
    if (tr_value_lacks_bytes(&given) || tr_spelled_number(value, given.bytes, &given)) return given;
  }
  if (given.type < TR_TEXT) return given;
  return tr_value_real(sqlite3_value_double(value));
}

/* --- To SQLite ---------------------------------------------------------------------------- */

/* The bytes of a view. SQLite would make NULL of an empty value with a null pointer. */
static const char *non_null(tr_bytes bytes) {
  return bytes.size == 0 ? "" : (const char *)bytes.data;
}

void tr_result_value(sqlite3_context *context, const tr_value *value) {
  switch (value->type) {
  case TR_NULL: sqlite3_result_null(context); break;
  case TR_INTEGER: sqlite3_result_int64(context, value->integer); break;
  case TR_REAL: sqlite3_result_double(context, value->real); break;
  case TR_TEXT:
    sqlite3_result_text64(context, non_null(value->bytes), value->bytes.size, SQLITE_TRANSIENT,
                          SQLITE_UTF8);
    break;
  case TR_BLOB:
    sqlite3_result_blob64(context, non_null(value->bytes), value->bytes.size, SQLITE_TRANSIENT);
    break;
  }
}

void tr_result_text(sqlite3_context *context, const tr_buffer *text) {
  tr_value value = tr_value_text(tr_buffer_bytes(text));
  tr_result_value(context, &value);
}

void tr_result_json(sqlite3_context *context, const tr_buffer *json) {
  tr_result_text(context, json);
  sqlite3_result_subtype(context, TR_JSON_SUBTYPE);
}

void tr_result_blob(sqlite3_context *context, const tr_buffer *blob) {
  tr_value value = tr_value_blob(tr_buffer_bytes(blob));
  tr_result_value(context, &value);
}

int tr_bind_value(sqlite3_stmt *stmt, int index, const tr_value *value) {
  switch (value->type) {
  case TR_INTEGER: return sqlite3_bind_int64(stmt, index, value->integer);
  case TR_REAL: return sqlite3_bind_double(stmt, index, value->real);
  case TR_TEXT:
    return sqlite3_bind_text64(stmt, index, non_null(value->bytes), value->bytes.size,
                               SQLITE_TRANSIENT, SQLITE_UTF8);
  case TR_BLOB:
    return sqlite3_bind_blob64(stmt, index, non_null(value->bytes), value->bytes.size,
                               SQLITE_TRANSIENT);
  default: return sqlite3_bind_null(stmt, index);
  }
}

/* --- Arguments ---------------------------------------------------------------------------- */

tr_code tr_argument_integer(const char *function, const char *argument, sqlite3_value *value,
                            int64_t *integer, tr_error *err) {
  tr_value v = tr_value_of_sqlite(value);
  if (v.type == TR_INTEGER) {
    *integer = v.integer;
  } else if (v.type != TR_REAL || !tr_real_is_integer(v.real, integer)) {
    return tr_argument_error(err, function, argument, &v, "must be an integer");
  }
  return TR_OK;
}

tr_code tr_argument_real(const char *function, const char *argument, sqlite3_value *value,
                         double *real, tr_error *err) {
  tr_value v = tr_value_of_sqlite(value);
  if (v.type != TR_INTEGER && v.type != TR_REAL) {
    return tr_argument_error(err, function, argument, &v, "must be a number");
  }
  *real = sqlite3_value_double(value);
  return TR_OK;
}

tr_code tr_argument_text(const char *function, const char *argument, sqlite3_value *value,
                         tr_bytes *text, tr_error *err) {
  tr_value v = tr_value_of_sqlite(value);
  if (v.type != TR_TEXT) return tr_argument_error(err, function, argument, &v, "must be text");
  if (tr_value_lacks_bytes(&v)) return tr_error_no_memory(err);
  *text = v.bytes;
  return TR_OK;
}

tr_code tr_argument_blob(const char *function, const char *argument, sqlite3_value *value,
                         tr_bytes *blob, tr_error *err) {
  tr_value v = tr_value_of_sqlite(value);
  if (v.type != TR_BLOB) return tr_argument_error(err, function, argument, &v, "must be a BLOB");
  if (tr_value_lacks_bytes(&v)) return tr_error_no_memory(err);
  *blob = v.bytes;
  return TR_OK;
}

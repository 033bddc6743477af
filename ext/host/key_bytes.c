/*
** The keys of rows and of values. (key_segments.c turns bounds into SQL.)
*/
#include "host/key_bytes.h"

#include "range/byte_key.h"

/* The escapes of text keys (source_table.h). The value's byte_key follows the escape. */
#define ESCAPE_LOW 0x00
#define ESCAPE_HIGH 0xff

/* Whether the bytes of a value in a TR_KEY_TEXT column are its key. */
static int is_plain_text(const tr_value *value) {
  return value->type == TR_TEXT && value->bytes.size > 0 && value->bytes.data[0] != ESCAPE_LOW &&
         value->bytes.data[0] != ESCAPE_HIGH;
}

/* The escape of a value whose bytes are not its key. */
static uint8_t escape_of(const tr_value *value) {
  int is_high = value->type == TR_BLOB || (value->type == TR_TEXT && value->bytes.size > 0 &&
                                           value->bytes.data[0] == ESCAPE_HIGH);
  return is_high ? ESCAPE_HIGH : ESCAPE_LOW;
}

static int is_plain_blob(const tr_value *value) {
  return value->type == TR_BLOB && value->bytes.size > 0;
}

/* The error for a row that has no key of this form, with what the user can do. */
static tr_code refuse_value(const tr_source_table *source, const char *function, int column,
                            const tr_value *value, const char *reason, tr_error *err) {
  static const char *const kinds[] = {"NULL", "an INTEGER", "a REAL", "text", "an empty BLOB"};
  const char *name = source->columns[source->key.columns[column]].name;
  return tr_error_set(err, TR_INVALID_STATE, "%s: %s.%s: key(%s): a row has %s there, %s", function,
                      source->schema, source->name, name, kinds[value->type], reason);
}

/* If a NOT NULL column gives NULL, an authorizer has SQLite ignore the column. */
static tr_code check_null(const tr_source_table *source, int column, tr_error *err) {
  int is_not_null = source->columns[source->key.columns[column]].is_not_null;
  return is_not_null ? tr_error_ignored(err, "a row's key cannot be read") : TR_OK;
}

/* A view of a value, without a copy if possible. */
static tr_value view_of(const tr_source_table *source, sqlite3_value *value) {
  return source->is_utf8 ? tr_value_of_utf8(value) : tr_value_of_sqlite(value);
}

static tr_code append_breaker(sqlite3_value *value, tr_buffer *buffer, tr_error *err) {
  tr_value rowid = tr_value_integer(sqlite3_value_int64(value));
  return tr_byte_key_append(buffer, &rowid, err);
}

static tr_code encode_row(const tr_source_table *source, const char *function,
                          sqlite3_value *const *values, tr_buffer *buffer, tr_error *err) {
  const tr_source_key *key = &source->key;
  int has_null = 0;
  for (int i = 0; i < key->column_count; i++) {
    tr_value value = view_of(source, values[i]);
    if (tr_value_lacks_bytes(&value)) return tr_error_no_memory(err);
    if (value.type == TR_NULL) {
      has_null = 1;
      if (check_null(source, i, err) != TR_OK) return TR_HOST;
      if (!key->has_null_breaker) {
        return refuse_value(source, function, i, &value,
                            "and a unique index may hold many such: the primary key, without "
                            "key(...), has none",
                            err);
      }
    }
    tr_code code = tr_byte_key_append(buffer, &value, err);
    if (code != TR_OK) return code;
  }
  return has_null ? append_breaker(values[key->column_count], buffer, err) : TR_OK;
}

static tr_code key_of_rowid(sqlite3_value *rowid, tr_buffer *buffer, tr_error *err) {
  if (sqlite3_value_type(rowid) != SQLITE_INTEGER) {
    return tr_error_ignored(err, "a row's rowid cannot be read");
  }
  tr_code code = tr_buffer_make_room(buffer, TR_ROWID_KEY_SIZE, err);
  if (code != TR_OK) return code;
  tr_byte_key_of_rowid(sqlite3_value_int64(rowid), buffer->data);
  buffer->size = TR_ROWID_KEY_SIZE;
  return TR_OK;
}

tr_code tr_key_of_row(const tr_source_table *source, const char *function,
                      sqlite3_value *const *values, tr_buffer *buffer, tr_bytes *key,
                      tr_error *err) {
  tr_code code = TR_OK;
  tr_value value;
  switch (source->key.form) {
  case TR_KEY_ROWID: code = key_of_rowid(values[0], buffer, err); break;
  case TR_KEY_TEXT:
    value = view_of(source, values[0]);
    if (is_plain_text(&value)) {
      *key = value.bytes;
      return TR_OK;
    }
    buffer->size = 0;
    code = tr_buffer_append_byte(buffer, escape_of(&value), err);
    if (code == TR_OK) code = encode_row(source, function, values, buffer, err);
    break;
  case TR_KEY_BLOB:
    value = view_of(source, values[0]);
    if (is_plain_blob(&value)) {
      *key = value.bytes;
      return TR_OK;
    }
    if (value.type == TR_NULL && check_null(source, 0, err) != TR_OK) return TR_HOST;
    return refuse_value(source, function, 0, &value,
                        "which a BLOB's bytes cannot stand for: use key(byte_key(...))", err);
  default: buffer->size = 0; code = encode_row(source, function, values, buffer, err);
  }
  *key = tr_buffer_bytes(buffer);
  return code;
}

/* --- Keys of values ----------------------------------------------------------------------- */

tr_code tr_key_of_values(const tr_source_table *source, const tr_value *values, int count,
                         tr_buffer *key, tr_error *err) {
  tr_key_form form = source->key.form;
  if (form == TR_KEY_TEXT && is_plain_text(values)) {
    return tr_buffer_append(key, values->bytes, err);
  }
  if (form == TR_KEY_BLOB) {
    /* Values that are not blobs sort before every key. */
    if (!is_plain_blob(values)) return TR_OK;
    return tr_buffer_append(key, values->bytes, err);
  }
  tr_code code = TR_OK;
  if (form == TR_KEY_TEXT) code = tr_buffer_append_byte(key, escape_of(values), err);
  for (int i = 0; i < count && code == TR_OK; i++) {
    code = tr_byte_key_append(key, &values[i], err);
  }
  return code;
}

tr_code tr_key_behind_values(const tr_source_table *source, const tr_value *values, int count,
                             tr_buffer *key, tr_error *err) {
  tr_code code = tr_key_of_values(source, values, count, key, err);
  if (code != TR_OK) return code;
  /*
  ** Behind whole values a longer key has a class byte, which is below 80. Raw bytes are a single
  ** value, and the least string above it has one zero byte more.
  */
  int is_raw = (source->key.form == TR_KEY_TEXT && is_plain_text(values)) ||
               (source->key.form == TR_KEY_BLOB);
  return tr_buffer_append_byte(key, is_raw ? 0x00 : TR_BYTE_KEY_BEHIND, err);
}

/*
** Restrictions and positions as SQL arguments.
*/
#include "host/range_arguments.h"

tr_code tr_argument_key(const char *function, const char *argument, sqlite3_value *value,
                        tr_bytes *key, tr_error *err) {
  tr_value v = tr_value_of_sqlite(value);
  if (v.type != TR_BLOB && v.type != TR_TEXT) {
    return tr_argument_error(err, function, argument, &v,
                             "must be a byte key: a BLOB, or TEXT standing for its bytes");
  }
  if (tr_value_lacks_bytes(&v)) return tr_error_no_memory(err);
  *key = v.bytes;
  return TR_OK;
}

tr_code tr_argument_restriction(const char *function, const char *argument, sqlite3_value *value,
                                tr_restriction *restriction, tr_error *err) {
  tr_bytes text;
  tr_code code = tr_argument_text(function, argument, value, &text, err);
  if (code != TR_OK) return code;
  tr_error reason;
  if (tr_restriction_parse(restriction, text, &reason) == TR_OK) {
    restriction->claim = 0; /* it is not part of the range */
    return TR_OK;
  }
  tr_value v = tr_value_text(text);
  return tr_argument_refused(err, function, argument, &v, &reason);
}

tr_code tr_argument_position(const char *function, sqlite3_value *value, tr_restriction_kind kind,
                             tr_position *position, tr_error *err) {
  tr_code code;
  if (kind == TR_INTEGERS) {
    int64_t offset = 0;
    code = tr_argument_integer(function, "key", value, &offset, err);
    *position = tr_position_of_offset(offset);
  } else {
    tr_bytes key = {0};
    code = tr_argument_key(function, "key", value, &key, err);
    *position = tr_position_of_key(key);
  }
  return code;
}

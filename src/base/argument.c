/*
** Builds the message for a wrong argument in a buffer of fixed size: to report an error must not
** need memory.
*/
#include "base/argument.h"

#include <stdio.h>
#include <string.h>

#include "base/double_text.h"
#include "base/utf8.h"

#define SHOWN_BYTES TR_LITERAL_SHOWN_BYTES

static void describe_blob(tr_bytes blob, char *text) {
  char *to = text + sprintf(text, "x'");
  for (size_t i = 0; i < blob.size && i < SHOWN_BYTES; i++) to += sprintf(to, "%02x", blob.data[i]);
  strcpy(to, blob.size > SHOWN_BYTES ? "...'" : "'");
}

const char *tr_value_literal(const tr_value *value, tr_literal text) {
  switch (value->type) {
  case TR_NULL: strcpy(text, "NULL"); break;
  case TR_INTEGER: snprintf(text, sizeof(tr_literal), "%lld", (long long)value->integer); break;
  case TR_REAL: tr_double_text(value->real, text); break;
  case TR_TEXT: {
    size_t shown = tr_utf8_cut(value->bytes, SHOWN_BYTES);
    snprintf(text, sizeof(tr_literal), "'%.*s%s'", (int)shown,
             shown > 0 ? (const char *)value->bytes.data : "",
             shown < value->bytes.size ? "..." : "");
    break;
  }
  case TR_BLOB: describe_blob(value->bytes, text); break;
  }
  return text;
}

tr_code tr_argument_error(tr_error *err, const char *function, const char *argument,
                          const tr_value *value, const char *reason) {
  tr_literal text;
  return tr_error_set(err, TR_INVALID_ARGUMENT, "%s(): argument %s = %s: %s", function, argument,
                      tr_value_literal(value, text), reason);
}

tr_code tr_argument_refused(tr_error *err, const char *function, const char *argument,
                            const tr_value *value, const tr_error *reason) {
  if (reason->code == TR_NO_MEMORY) return tr_error_no_memory(err);
  tr_argument_error(err, function, argument, value, reason->message);
  if (err != NULL) {
    err->code = reason->code;
    err->host_code = reason->host_code;
  }
  return reason->code;
}

/*
** Fills error structs: one formatter, which cuts what is too long visibly.
*/
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(tr_error *err, tr_code code, const char *format, va_list arguments) {
  if (err == NULL) return;
  err->code = code;
  err->host_code = 0;
  int length = vsnprintf(err->message, sizeof err->message, format, arguments);
  if (length < 0) err->message[0] = '\0';
  if (length >= (int)sizeof err->message) {
    memcpy(err->message + sizeof err->message - 4, "...", 4);
  }
}

tr_code tr_error_set(tr_error *err, tr_code code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fill(err, code, format, arguments);
  va_end(arguments);
  return code;
}

int tr_error_no(tr_error *err, tr_code code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fill(err, code, format, arguments);
  va_end(arguments);
  return -1;
}

tr_code tr_error_no_memory(tr_error *err) {
  return tr_error_set(err, TR_NO_MEMORY, "out of memory");
}

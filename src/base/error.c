/*
** Fills error structs. One formatter cuts long messages visibly, and makes every message valid
** UTF-8.
*/
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Writes the message from offset `at` on. */
static void write_message(tr_error *err, size_t at, const char *format, va_list arguments) {
  static const char dots[] = "...";
  size_t room = sizeof err->message - at;
  int length = vsnprintf(err->message + at, room, format, arguments);
  if (length < 0) err->message[at] = '\0';
  if (length >= (int)room) {
    tr_bytes whole = {(const uint8_t *)err->message, sizeof err->message - 1};
    memcpy(err->message + tr_utf8_cut(whole, sizeof err->message - sizeof dots), dots, sizeof dots);
  }
  tr_utf8_make_valid(err->message);
}

static void fill(tr_error *err, tr_code code, const char *format, va_list arguments) {
  if (err == NULL) return;
  err->code = code;
  err->host_code = 0;
  write_message(err, 0, format, arguments);
}

void tr_error_append(tr_error *err, const char *format, ...) {
  if (err == NULL) return;
  va_list arguments;
  va_start(arguments, format);
  write_message(err, strlen(err->message), format, arguments);
  va_end(arguments);
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

/*
** Byte strings: comparison, and a buffer that doubles as it grows.
*/
#include "base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

tr_bytes tr_bytes_of_text(const char *text) {
  return (tr_bytes){(const uint8_t *)text, strlen(text)};
}

int tr_bytes_compare(tr_bytes a, tr_bytes b) {
  size_t shorter = a.size < b.size ? a.size : b.size;
  int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
  if (order != 0) return order;
  return (a.size > b.size) - (a.size < b.size);
}

size_t tr_bytes_shared_prefix(tr_bytes a, tr_bytes b) {
  size_t shorter = a.size < b.size ? a.size : b.size, shared = 0;
  while (shared < shorter && a.data[shared] == b.data[shared]) shared++;
  return shared;
}

int tr_bytes_is_name(tr_bytes name, const char *lower) {
  for (size_t i = 0; i < name.size; i++, lower++) {
    int c = name.data[i];
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
    if (c == 0 || c != *lower) return 0;
  }
  return *lower == '\0';
}

char *tr_bytes_to_text(tr_bytes bytes) {
  char *text = tr_malloc(bytes.size + 1);
  if (text == NULL) return NULL;
  if (bytes.size > 0) memcpy(text, bytes.data, bytes.size);
  text[bytes.size] = '\0';
  return text;
}

tr_code tr_buffer_reserve(tr_buffer *buffer, size_t more, tr_error *err) {
  if (more <= buffer->capacity - buffer->size) return TR_OK;
  if (more > SIZE_MAX / 2 - buffer->size) return tr_error_no_memory(err);
  size_t capacity = buffer->capacity < 32 ? 32 : buffer->capacity;
  while (capacity < buffer->size + more) capacity *= 2;
  uint8_t *data = tr_realloc(buffer->data, capacity);
  if (data == NULL) return tr_error_no_memory(err);
  buffer->data = data;
  buffer->capacity = capacity;
  return TR_OK;
}

tr_code tr_buffer_make_room(tr_buffer *buffer, size_t size, tr_error *err) {
  return size <= buffer->capacity ? TR_OK : tr_buffer_reserve(buffer, size - buffer->size, err);
}

tr_code tr_buffer_append(tr_buffer *buffer, tr_bytes bytes, tr_error *err) {
  if (bytes.size == 0) return TR_OK;
  tr_code code = tr_buffer_reserve(buffer, bytes.size, err);
  if (code != TR_OK) return code;
  memcpy(buffer->data + buffer->size, bytes.data, bytes.size);
  buffer->size += bytes.size;
  return TR_OK;
}

tr_code tr_buffer_append_byte(tr_buffer *buffer, uint8_t byte, tr_error *err) {
  return tr_buffer_append(buffer, (tr_bytes){&byte, 1}, err);
}

tr_code tr_buffer_append_text(tr_buffer *buffer, const char *text, tr_error *err) {
  return tr_buffer_append(buffer, tr_bytes_of_text(text), err);
}

tr_code tr_buffer_printf(tr_buffer *buffer, tr_error *err, const char *format, ...) {
  va_list arguments, again;
  size_t room = buffer->capacity - buffer->size;
  char *end = room == 0 ? NULL : (char *)buffer->data + buffer->size;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(end, room, format, arguments);
  va_end(arguments);
  tr_code code = TR_OK;
  if (length < 0) {
    code = tr_error_set(err, TR_INVALID_ARGUMENT, "bad format");
  } else if ((size_t)length >= room) {
    code = tr_buffer_reserve(buffer, (size_t)length + 1, err);
    if (code == TR_OK) {
      vsnprintf((char *)buffer->data + buffer->size, (size_t)length + 1, format, again);
    }
  }
  if (code == TR_OK) buffer->size += (size_t)length;
  va_end(again);
  return code;
}

tr_code tr_buffer_set(tr_buffer *buffer, tr_bytes bytes, tr_error *err) {
  tr_code code = tr_buffer_make_room(buffer, bytes.size, err);
  if (code != TR_OK) return code;
  if (bytes.size > 0) memmove(buffer->data, bytes.data, bytes.size);
  buffer->size = bytes.size;
  return TR_OK;
}

tr_code tr_buffer_append_hex(tr_buffer *buffer, tr_bytes bytes, tr_error *err) {
  static const char digits[] = "0123456789abcdef";
  if (bytes.size > SIZE_MAX / 4) return tr_error_no_memory(err);
  tr_code code = tr_buffer_reserve(buffer, bytes.size * 2, err);
  if (code != TR_OK) return code;
  for (size_t i = 0; i < bytes.size; i++) {
    buffer->data[buffer->size++] = (uint8_t)digits[bytes.data[i] >> 4];
    buffer->data[buffer->size++] = (uint8_t)digits[bytes.data[i] & 15];
  }
  return TR_OK;
}

void tr_buffer_free(tr_buffer *buffer) {
  tr_free(buffer->data);
  *buffer = (tr_buffer){0};
}

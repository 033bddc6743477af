/*
** Byte strings: a view that owns nothing (tr_bytes) and a buffer that owns and grows (tr_buffer).
**
** Order: memcmp's, and a prefix before the longer string. That is the order of SQLite's BINARY
** collation and of the byte keys of range/. A view of size 0 may have any data pointer, NULL
** included.
**
** Thread-safety: none; a buffer belongs to one thread at a time.
*/
#ifndef TR_BASE_BYTES_H
#define TR_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct tr_bytes {
  const uint8_t *data;
  size_t size;
} tr_bytes;

/* All zero is the empty buffer: `tr_buffer b = {0};`. Release with tr_buffer_free. */
typedef struct tr_buffer {
  uint8_t *data;
  size_t size;
  size_t capacity;
} tr_buffer;

/* A view of a C string, without its terminator. It must outlive the view. */
tr_bytes tr_bytes_of_text(const char *text);

/* A view of what a buffer holds now. The next append may move the bytes. */
static inline tr_bytes tr_buffer_bytes(const tr_buffer *buffer) {
  return (tr_bytes){buffer->data, buffer->size};
}

/* Returns <0, 0 or >0. */
int tr_bytes_compare(tr_bytes a, tr_bytes b);

/* How many bytes both begin with. */
size_t tr_bytes_shared_prefix(tr_bytes a, tr_bytes b);

/* Whether `name` is `lower`, a name in lower case, if the case of ASCII letters is ignored. */
int tr_bytes_is_name(tr_bytes name, const char *lower);

/* A C string of the same bytes, to be released with tr_free. NULL: out of memory. */
char *tr_bytes_to_text(tr_bytes bytes);

/* Makes room for `more` bytes behind the present ones. TR_NO_MEMORY: nothing changed. */
tr_code tr_buffer_reserve(tr_buffer *buffer, size_t more, tr_error *err);

/* Makes room for `size` bytes in all, the present ones included. TR_NO_MEMORY: nothing changed. */
tr_code tr_buffer_make_room(tr_buffer *buffer, size_t size, tr_error *err);

/* Appends a copy. `bytes` must not lie inside `buffer`. TR_NO_MEMORY: nothing changed. */
tr_code tr_buffer_append(tr_buffer *buffer, tr_bytes bytes, tr_error *err);
tr_code tr_buffer_append_byte(tr_buffer *buffer, uint8_t byte, tr_error *err);
tr_code tr_buffer_append_text(tr_buffer *buffer, const char *text, tr_error *err);

/* Appends as printf does, without a terminator. No doubles: their point depends on the locale. */
tr_code tr_buffer_printf(tr_buffer *buffer, tr_error *err, const char *format, ...) TR_PRINTF(3, 4);

/* Replaces the content by a copy of `bytes`. TR_NO_MEMORY: the buffer keeps the old content. */
tr_code tr_buffer_set(tr_buffer *buffer, tr_bytes bytes, tr_error *err);

/* Appends two lower-case hexadecimal digits for each byte. TR_NO_MEMORY: nothing changed. */
tr_code tr_buffer_append_hex(tr_buffer *buffer, tr_bytes bytes, tr_error *err);

/* Releases the memory and makes the buffer empty again. */
void tr_buffer_free(tr_buffer *buffer);

#endif

/*
** Keys in tests, written in hexadecimal. A key that hex() returns is valid until the sixteenth
** following call. The empty key is at NULL, where SQLite has its empty BLOB.
*/
#ifndef TR_TEST_HEX_H
#define TR_TEST_HEX_H

#include <stdlib.h>
#include <string.h>

#include "range/restriction.h"

static inline tr_bytes hex(const char *digits) {
  enum { KEYS = 16, SIZE = 1024 };
  static uint8_t keys[KEYS][SIZE];
  static int next;
  uint8_t *key = keys[next++ % KEYS];
  size_t size = strlen(digits) / 2;
  if (size > SIZE) abort();
  for (size_t i = 0; i < size; i++) {
    char byte[3] = {digits[2 * i], digits[2 * i + 1], '\0'};
    key[i] = (uint8_t)strtol(byte, NULL, 16);
  }
  return (tr_bytes){size > 0 ? key : NULL, size};
}

/* 1 if the restriction is [start, end), both in hexadecimal. */
static inline int is_key_range(const tr_restriction *restriction, const char *start,
                               const char *end) {
  return restriction->kind == TR_BYTES &&
         tr_bytes_compare(tr_buffer_bytes(&restriction->bytes.start), hex(start)) == 0 &&
         tr_bytes_compare(tr_buffer_bytes(&restriction->bytes.end), hex(end)) == 0;
}

#endif

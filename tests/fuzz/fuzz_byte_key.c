/*
** Any bytes as a byte key. They give an error that says where, and then nothing is changed; or
** values that encode to the same bytes again. A key and each of its own tails sort as their values
** do.
*/
#include <stdint.h>
#include <stdlib.h>

#include "range/byte_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* More values than this are read, but not compared. */
enum { MOST_VALUES = 16 };

/* A key's values, and where each begins. */
typedef struct reading {
  tr_value values[MOST_VALUES];
  tr_buffer bytes[MOST_VALUES];
  size_t offsets[MOST_VALUES];
  size_t count;
} reading;

static void must(int holds) {
  if (!holds) abort();
}

/* Reads all values, writing them again; 1 if they reach to the end. */
static int read_all(tr_bytes key, reading *r) {
  tr_buffer written = {0};
  tr_error err = {0};
  size_t offset = 0;
  int found;
  for (;;) {
    size_t i = r->count < MOST_VALUES ? r->count : MOST_VALUES - 1;
    size_t before = offset;
    found = tr_byte_key_next(key, &offset, &r->values[i], &r->bytes[i], &err);
    if (found != 1) break;
    must(tr_byte_key_append(&written, &r->values[i], NULL) == TR_OK);
    must(written.size == offset && offset > before);
    r->offsets[i] = before;
    r->count++;
  }
  must(found == 0 ? offset == key.size : err.code == TR_CORRUPT && err.message[0] != '\0');
  must(tr_bytes_compare(tr_buffer_bytes(&written), (tr_bytes){key.data, offset}) == 0);
  tr_buffer_free(&written);
  return found == 0;
}

static int order_of(int comparison) {
  return (comparison > 0) - (comparison < 0);
}

/* The whole tuple against its values from `first` on. */
static int compare_with_tail(const reading *r, size_t first) {
  for (size_t i = 0; first + i < r->count; i++) {
    int order = tr_value_compare(&r->values[i], &r->values[first + i]);
    if (order != 0) return order_of(order);
  }
  return first > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tr_bytes key = {data, size};
  reading r = {.count = 0};
  if (read_all(key, &r) && r.count <= MOST_VALUES) {
    for (size_t i = 0; i < r.count; i++) {
      tr_bytes tail = {data + r.offsets[i], size - r.offsets[i]};
      must(order_of(tr_bytes_compare(key, tail)) == compare_with_tail(&r, i));
    }
  }
  for (size_t i = 0; i < MOST_VALUES; i++) tr_buffer_free(&r.bytes[i]);
  return 0;
}

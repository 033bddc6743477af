/*
** Any bytes as a byte key: an error that says where, with nothing changed, or values that encode to
** the very bytes they were read from.
*/
#include <stdint.h>
#include <stdlib.h>

#include "range/byte_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds) {
  if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tr_bytes key = {data, size};
  tr_buffer written = {0}, scratch = {0};
  tr_value value;
  tr_error err = {0};
  size_t offset = 0;
  int found;
  while ((found = tr_byte_key_next(key, &offset, &value, &scratch, &err)) == 1) {
    must(tr_byte_key_append(&written, &value, &err) == TR_OK);
    must(written.size == offset);
  }
  must(found == 0 ? offset == size : err.code == TR_CORRUPT && err.message[0] != '\0');
  must(tr_bytes_compare(tr_buffer_bytes(&written), (tr_bytes){data, offset}) == 0);
  tr_buffer_free(&written);
  tr_buffer_free(&scratch);
  return 0;
}

/*
** Any bytes as an accumulator, both as they are and with a correct checksum. They are refused, or
** read into a state that can be extracted, described, merged and written. For canonical functions
** the bytes that are written are the same again.
*/
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "combine/accumulator.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reading gives the same bytes back, but for sketches, which have forms that others write. */
static int is_canonical(const tr_combine_fn *fn) {
  return fn->is_canonical && strncmp(fn->name, "approx", 6) != 0;
}

static void use(tr_bytes blob) {
  tr_accumulator read = {0};
  if (tr_accumulator_merge(&read, blob, NULL) == TR_OK) {
    tr_combine_output output = {0};
    tr_buffer bytes = {0}, json = {0};
    tr_accumulator_extract(&read, NULL, 0, &output, NULL);
    if (tr_accumulator_write(&read.combine, read.state, &bytes, NULL) != TR_OK) abort();
    if (is_canonical(read.combine.fn) && tr_bytes_compare(tr_buffer_bytes(&bytes), blob) != 0) {
      abort();
    }
    if (tr_accumulator_describe(blob, &json, NULL) != TR_OK) abort();
    tr_code merged = tr_accumulator_merge(&read, blob, NULL);
    if (merged != TR_OK && merged != TR_OVERFLOW) abort();
    tr_combine_output_free(&output);
    tr_buffer_free(&bytes);
    tr_buffer_free(&json);
  }
  tr_accumulator_free(&read);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  use((tr_bytes){data, size});
  if (size < 4) return 0;
  uint8_t *right = malloc(size);
  if (right == NULL) abort();
  memcpy(right, data, size);
  uint64_t checksum = tr_hash128_of((tr_bytes){data, size - 4}, 0).low;
  for (size_t i = 0; i < 4; i++) right[size - 4 + i] = (uint8_t)(checksum >> (8 * i));
  use((tr_bytes){right, size});
  free(right);
  return 0;
}

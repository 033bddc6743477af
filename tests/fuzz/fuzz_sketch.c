/*
** Any bytes as a sketch. The first byte says of which kind; the rest is the image. If it is read,
** it can be written and read again with the same bytes, merged with itself, and gives an output. If
** it is refused, nothing is left behind.
*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "combine/accumulator.h"
#include "combine/sketch.h"
#include "test_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
  const char *name;
  int64_t n; /* 0: the function has none */
} kinds[] = {
    {"approx_count_distinct", 0},    {"approx_quantile real", 0},  {"approx_quantile float", 0},
    {"approx_quantile integer", 0},  {"approx_quantile text", 0},  {"approx_quantiles real", 5},
    {"approx_top_count integer", 3}, {"approx_top_count text", 3},
};

static void must(int holds) {
  if (!holds) abort();
}

/* The accumulator of a state, and its output. */
static void use(const tr_combine *combine, void *state) {
  tr_buffer blob = {0}, again = {0};
  tr_error err;
  must(tr_accumulator_write(combine, state, &blob, &err) == TR_OK);
  tr_accumulator read = {0};
  must(tr_accumulator_merge(&read, tr_buffer_bytes(&blob), &err) == TR_OK);
  must(tr_accumulator_write(combine, read.state, &again, &err) == TR_OK);
  must(tr_bytes_compare(tr_buffer_bytes(&blob), tr_buffer_bytes(&again)) == 0);

  tr_code code = tr_accumulator_merge(&read, tr_buffer_bytes(&blob), &err);
  must(code == TR_OK || code == TR_OVERFLOW);
  tr_value half = tr_value_real(0.5);
  int has_argument = strcmp(combine->fn->name, "approx_quantile") == 0;
  tr_combine_output output = {0};
  must(tr_accumulator_extract(&read, &half, has_argument, &output, &err) == TR_OK);
  tr_combine_output_free(&output);
  tr_accumulator_free(&read);
  tr_buffer_free(&blob);
  tr_buffer_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  size_t i = data[0] % (sizeof kinds / sizeof kinds[0]);
  const tr_sketch_kind *kind = tr_sketch_kind_of(tr_bytes_of_text(kinds[i].name));
  const tr_combine_fn *fn = tr_sketch_kind_fn(kind);
  tr_value arguments[] = {tr_value_null(), tr_value_integer(kinds[i].n)};
  tr_combine combine;
  tr_error err;
  must(tr_combine_bind_accumulator(fn, arguments, kinds[i].n > 0 ? 2 : 1, &combine, &err) == TR_OK);
  void *state = tr_malloc(fn->state_size);
  must(state != NULL);
  memset(state, 0, fn->state_size);
  tr_code code = tr_sketch_read(kind, &combine, (tr_bytes){data + 1, size - 1}, state, &err);
  must(code == TR_OK || code == TR_CORRUPT);
  if (code == TR_OK) {
    use(&combine, state);
    fn->free_accumulator(state);
  }
  tr_free(state);
  must(test_memory_live() == 0);
  return 0;
}

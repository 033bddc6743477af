/*
** What each sketch adds to a scan, for each row: the time of add_input calls over values in memory,
** less that of the same calls of a function that does nothing. It is compared with the time that
** the sketch is allowed.
*/
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "combine/combine.h"

enum { ROUNDS = 9, ROWS = 5000000, TEXT_SIZE = 32, MAX_TEXT = 12 };

static double now_in_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The columns of the imagined table. */
static int64_t *integers;
static double *reals;
static char (*texts)[TEXT_SIZE];

static uint64_t next_random(void) {
  static uint64_t x = UINT64_C(0x9e3779b97f4a7c15);
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return x;
}

static void *allocate(size_t size) {
  void *memory = malloc(size);
  if (memory == NULL) abort();
  return memory;
}

/* Integers are drawn like words of a language: the n-th most frequent one as often as 1/n. */
static void make_columns(void) {
  integers = allocate(ROWS * sizeof *integers);
  reals = allocate(ROWS * sizeof *reals);
  texts = allocate(ROWS * sizeof *texts);
  for (int i = 0; i < ROWS; i++) {
    double uniform = (double)(next_random() >> 11) * 0x1p-53;
    integers[i] = (int64_t)pow(1000000, uniform);
    reals[i] = uniform * 1000;
    snprintf(texts[i], sizeof texts[i], "user%lld", (long long)integers[i]);
  }
}

static tr_value integer_at(int row) {
  return tr_value_integer(integers[row]);
}

static tr_value distinct_integer_at(int row) {
  return tr_value_integer(row);
}

static tr_value real_at(int row) {
  return tr_value_real(reals[row]);
}

static tr_value text_at(int row) {
  return tr_value_text((tr_bytes){(const uint8_t *)texts[row], strnlen(texts[row], MAX_TEXT)});
}

static tr_code add_nothing(const tr_combine *combine, void *state, const tr_value *inputs,
                           tr_error *err) {
  (void)combine, (void)state, (void)inputs, (void)err;
  return TR_OK;
}

typedef tr_code (*add_function)(const tr_combine *combine, void *state, const tr_value *inputs,
                                tr_error *err);

static double time_rows(const tr_combine *combine, add_function add, tr_value (*value_at)(int)) {
  void *state = calloc(1, combine->fn->state_size);
  tr_error err;
  if (state == NULL || combine->fn->create_accumulator(combine, state, &err) != TR_OK) abort();
  double start = now_in_ns();
  for (int row = 0; row < ROWS; row++) {
    tr_value value = value_at(row);
    if (add(combine, state, &value, &err) != TR_OK) abort();
  }
  double took = (now_in_ns() - start) / ROWS;
  combine->fn->free_accumulator(state);
  free(state);
  return took;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *times) {
  qsort(times, ROUNDS, sizeof *times, compare_doubles);
  return times[ROUNDS / 2];
}

static void measure(const char *what, const char *function, int64_t n, tr_value (*value_at)(int),
                    double allowed) {
  tr_combine combine;
  tr_error err;
  tr_value arguments[] = {tr_value_null(), tr_value_integer(n)};
  const tr_combine_fn *fn = tr_combine_fn_by_name(tr_bytes_of_text(function));
  if (tr_combine_bind_accumulator(fn, arguments, n > 0 ? 2 : 1, &combine, &err) != TR_OK) abort();
  double with[ROUNDS], without[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    with[i] = time_rows(&combine, fn->add_input, value_at);
    without[i] = time_rows(&combine, add_nothing, value_at);
  }
  double added = median(with) - median(without);
  printf("%s of %s, added to each of %d rows\t%.1f ns\t%.0f ns allowed\t%.2f\t<= 1.00\n", function,
         what, ROWS, added, allowed, added / allowed);
}

int main(void) {
  make_columns();
  measure("integers", "approx_count_distinct", 0, integer_at, 5);
  measure("short text", "approx_count_distinct", 0, text_at, 15);
  measure("reals", "approx_quantile", 0, real_at, 12);
  measure("integers", "approx_quantile", 0, integer_at, 12);
  measure("reals", "approx_quantiles", 21, real_at, 12);
  measure("reals", "histogram", 20, real_at, 12);
  measure("integers", "approx_top_count", 10, integer_at, 15);
  measure("integers, all distinct", "approx_top_count", 10, distinct_integer_at, 15);
  measure("short text", "approx_top_count", 10, text_at, 15);
  free(integers);
  free(reals);
  free(texts);
  return 0;
}

/*
** Replays exact_sums.jsonl: sums, means, variances and deviations of numbers, each rounded once by
** Python's exact fractions (vectors/make_exact_sums.py). Each is computed in the given order,
** backwards, and from two parts that were written and read. All must agree to the last bit.
*/
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "combining.h"
#include "jsonl.h"

static const char *const functions[] = {"sum",      "mean",       "var_pop",
                                        "var_samp", "stddev_pop", "stddev_samp"};

static tr_value number_of(jsonl *file, const char *item) {
  int is_real = strpbrk(item, ".eE") != NULL;
  return is_real ? tr_value_real(jsonl_double(file, item, "$"))
                 : tr_value_integer(jsonl_integer(file, item, "$"));
}

static void *accumulate(const tr_combine *combine, const tr_value *numbers, long from, long to) {
  void *state = combining_create(combine);
  long step = from <= to ? 1 : -1;
  for (long i = from; i != to; i += step) {
    tr_error err;
    long at = step > 0 ? i : i - 1;
    if (combine->fn->add_input(combine, state, &numbers[at], &err) != TR_OK) abort();
  }
  return state;
}

/* Two parts, each written and read, merged. */
static void *accumulate_parts(const tr_combine *combine, const tr_value *numbers, long count) {
  void *parts[2];
  for (int i = 0; i < 2; i++) {
    long from = i * (count / 2), to = i == 0 ? count / 2 : count;
    void *part = accumulate(combine, numbers, from, to);
    tr_buffer blob = combining_write(combine, part);
    tr_combine read;
    parts[i] = combining_read(tr_buffer_bytes(&blob), &read);
    combining_free(combine, part);
    tr_buffer_free(&blob);
  }
  tr_error err;
  if (combine->fn->merge_accumulators(combine, parts[0], parts[1], &err) != TR_OK) abort();
  combining_free(combine, parts[1]);
  return parts[0];
}

static char *expected_text(jsonl *file, const char *line, const char *name) {
  const char *json = jsonl_json(file, line, name);
  tr_value value = {0};
  if (strcmp(json, "null") == 0) return combining_text(&value, 0);
  if (json[0] == '"' && strstr(json, "Infinity") == NULL) {
    char *text = malloc(128);
    if (text == NULL) abort();
    snprintf(text, 128, "error integer overflow: sum() is %s", jsonl_text(file, line, name));
    return text;
  }
  value = json[0] == '"' ? tr_value_real(jsonl_double(file, line, name)) : number_of(file, json);
  return combining_text(&value, 0);
}

static long check(jsonl *file, const char *line, const char *name, const tr_value *numbers,
                  long count) {
  tr_combine combine = combining_bind(name, numbers, 1);
  void *states[3] = {accumulate(&combine, numbers, 0, count),
                     accumulate(&combine, numbers, count, 0),
                     accumulate_parts(&combine, numbers, count)};
  char *expected = expected_text(file, line, name);
  long failed = 0;
  for (int i = 0; i < 3; i++) {
    static const char *const ways[] = {"forwards", "backwards", "in two parts"};
    char *output = combining_output(&combine, states[i]);
    if (strcmp(output, expected) != 0) {
      printf("line %ld, %s %s: %s, expected %s\n", jsonl_line_number(file), name, ways[i], output,
             expected);
      failed++;
    }
    free(output);
    combining_free(&combine, states[i]);
  }
  free(expected);
  return failed;
}

int main(void) {
  jsonl *file = jsonl_open("tests/vectors/exact_sums.jsonl");
  long checked = 0, failed = 0;
  for (const char *line; (line = jsonl_next(file)) != NULL;) {
    const char **items = jsonl_items(file, line, "numbers");
    long count = 0;
    while (items[count] != NULL) count++;
    tr_value *numbers = malloc((size_t)(count + 1) * sizeof *numbers);
    if (numbers == NULL) abort();
    for (long i = 0; i < count; i++) numbers[i] = number_of(file, items[i]);
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
      failed += check(file, line, functions[f], numbers, count);
      checked += 3;
    }
    free(numbers);
  }
  jsonl_close(file);
  printf("exact_sums: %ld results checked, %ld wrong\n", checked, failed);
  return failed > 0 || checked == 0;
}

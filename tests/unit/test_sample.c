/*
** sample: that every row is as likely as any other to be taken, with ids and without, directly and
** merged from parts of different sizes; that ids make it repeatable; that sizes are as asked.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "combining.h"
#include "effort.h"

static test_random source;

/* The binding's source of random bits. */
static void random_bits(int size, void *bytes) {
  uint8_t *to = bytes;
  for (int i = 0; i < size; i++) to[i] = (uint8_t)test_random_next(&source);
}

static tr_combine bind(int64_t n, int count) {
  tr_value arguments[3] = {tr_value_null(), tr_value_integer(n), tr_value_null()};
  tr_combine combine = combining_bind("sample", arguments, count);
  combine.randomness = random_bits;
  return combine;
}

/* Rows from `first` to before `end`, with x their number and the id `id_base` plus that. */
static void add_rows(const tr_combine *combine, void *state, int64_t first, int64_t end,
                     int64_t id_base) {
  for (int64_t i = first; i < end; i++) {
    combining_row row = {{tr_value_integer(i), tr_value_null(), tr_value_integer(id_base + i)}};
    assert_true(combining_add(combine, state, &row));
  }
}

/* Adds one to the counter of each row in the sample, and returns how many there are. */
static int count_taken(const tr_combine *combine, const void *state, long *taken) {
  char *output = combining_output(combine, state);
  int found = 0;
  for (char *at = strchr(output, '[') + 1; *at != ']' && *at != '\0';) {
    taken[strtol(at, &at, 10)]++;
    found++;
    if (*at == ',') at++;
  }
  free(output);
  return found;
}

enum { ROWS = 20, TAKEN = 5 };

/*
** 99.99 % of all chi-squares of ROWS - 1 = 19 degrees of freedom lie below 50.8. (Rows are taken
** without replacement, which makes ours smaller by (ROWS - TAKEN) / (ROWS - 1) on average, hence
** the factor.)
*/
static void assert_uniform(const long *taken, long samples) {
  double expected = (double)samples * TAKEN / ROWS, chi = 0;
  for (int i = 0; i < ROWS; i++) {
    chi += ((double)taken[i] - expected) * ((double)taken[i] - expected) / expected;
  }
  chi = chi * (ROWS - 1) / (ROWS - TAKEN);
  printf("chi-square %.1f\n", chi);
  assert_true(chi < 50.8);
}

static void check_uniform(int argument_count, int is_merged) {
  tr_combine combine = bind(TAKEN, argument_count);
  long taken[ROWS] = {0}, samples = test_effort(20000);
  for (long s = 0; s < samples; s++) {
    void *state = combining_create(&combine);
    if (is_merged) {
      void *part = combining_create(&combine);
      tr_error err;
      add_rows(&combine, state, 0, 3, s * ROWS);
      add_rows(&combine, part, 3, ROWS, s * ROWS);
      assert_int_equal(combine.fn->merge_accumulators(&combine, state, part, &err), TR_OK);
      combining_free(&combine, part);
    } else {
      add_rows(&combine, state, 0, ROWS, s * ROWS);
    }
    assert_int_equal(count_taken(&combine, state, taken), TAKEN);
    combining_free(&combine, state);
  }
  assert_uniform(taken, samples);
}

static void uniform_with_ids(void **unused) {
  (void)unused;
  check_uniform(3, 0);
}

static void uniform_with_ids_merged(void **unused) {
  (void)unused;
  check_uniform(3, 1);
}

static void uniform_without(void **unused) {
  (void)unused;
  source = (test_random){20240607}; /* fixed: one seed in 10,000 is beyond the bound */
  check_uniform(2, 0);
}

static void uniform_without_merged(void **unused) {
  (void)unused;
  source = (test_random){20240607}; /* fixed: one seed in 10,000 is beyond the bound */
  check_uniform(2, 1);
}

static void as_many_as_asked(void **unused) {
  (void)unused;
  static const struct {
    int64_t n, rows;
    int expected;
  } cases[] = {{5, 100, 5}, {5, 3, 3}, {0, 10, 0}, {1, 10, 1}, {100, 100, 100}, {7, 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int arguments = 2; arguments <= 3; arguments++) {
      tr_combine combine = bind(cases[i].n, arguments);
      void *state = combining_create(&combine);
      long taken[100] = {0};
      add_rows(&combine, state, 0, cases[i].rows, 0);
      assert_int_equal(count_taken(&combine, state, taken), cases[i].expected);
      for (int r = 0; r < 100; r++) assert_true(taken[r] <= 1);
      combining_free(&combine, state);
    }
  }
}

static char *sample_of_ids(int64_t n, tr_type type) {
  tr_combine combine = bind(n, 3);
  void *state = combining_create(&combine);
  for (int64_t i = 0; i < 50; i++) {
    tr_value id = type == TR_REAL ? tr_value_real((double)i) : tr_value_integer(i);
    combining_row row = {{tr_value_integer(i), tr_value_null(), id}};
    combining_add(&combine, state, &row);
  }
  char *output = combining_output(&combine, state);
  combining_free(&combine, state);
  return output;
}

/* What is stored today must be what tomorrow's version finds: the sample itself is fixed. */
static void ids_fix_the_sample(void **unused) {
  (void)unused;
  char *ten = sample_of_ids(10, TR_INTEGER), *three = sample_of_ids(3, TR_INTEGER);
  char *real = sample_of_ids(10, TR_REAL);
  assert_string_equal(ten, "JSON [42,18,41,46,28,7,6,13,12,23]");
  assert_string_equal(real, ten);
  assert_memory_equal(ten, three, strlen(three) - 1);
  free(ten);
  free(three);
  free(real);
}

static void nulls_are_ignored(void **unused) {
  (void)unused;
  tr_combine combine = bind(5, 3);
  void *state = combining_create(&combine);
  combining_row rows[] = {{{tr_value_null(), tr_value_null(), tr_value_integer(1)}},
                          {{tr_value_integer(1), tr_value_null(), tr_value_null()}}};
  combining_add(&combine, state, &rows[0]);
  combining_add(&combine, state, &rows[1]);
  char *output = combining_output(&combine, state);
  assert_string_equal(output, "JSON []");
  free(output);
  combining_free(&combine, state);
}

static void randomness_must_come_from_somewhere(void **unused) {
  (void)unused;
  tr_combine combine = bind(5, 2);
  assert_true(tr_combine_is_random(&combine));
  combine.randomness = NULL;
  void *state = combining_create(&combine);
  tr_value row[3] = {tr_value_integer(1), tr_value_integer(5), tr_value_null()};
  tr_error err;
  assert_int_equal(combine.fn->add_input(&combine, state, row, &err), TR_INVALID_STATE);
  assert_string_equal(err.message, "sample(): no source of random bits");
  combining_free(&combine, state);
  tr_combine with_ids = bind(5, 3);
  assert_false(tr_combine_is_random(&with_ids));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(uniform_with_ids),  cmocka_unit_test(uniform_with_ids_merged),
      cmocka_unit_test(uniform_without),   cmocka_unit_test(uniform_without_merged),
      cmocka_unit_test(as_many_as_asked),  cmocka_unit_test(ids_fix_the_sample),
      cmocka_unit_test(nulls_are_ignored), cmocka_unit_test(randomness_must_come_from_somewhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

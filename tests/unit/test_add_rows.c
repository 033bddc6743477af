/*
** add_rows of every function that has it: rows in batches of any size, each for one of several
** accumulators, give the bytes that add_input gives for one row after the other.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "combining.h"
#include "effort.h"
#include "test_memory.h"

enum { MOST_STATES = 4, MOST_ROWS = 300 };

typedef struct batches {
  const tr_combine *combine;
  int state_count;
  uint8_t *together[MOST_STATES], *singly[MOST_STATES]; /* the same accumulators, in both ways */
  int kind;                                             /* of values, below */
} batches;

/* Columns that are of one kind as long as they can be, as those of tables are. */
enum { ANY, INTEGERS, FEW_INTEGERS, REALS, SHORT_TEXTS, KINDS };

/* Text of 0 to 19 bytes: `digits` holds the bytes. */
static tr_value random_text(test_random *random, char *digits, size_t size) {
  int length = snprintf(digits, size, "%llu", (unsigned long long)(test_random_next(random)));
  size_t kept = test_random_below(random, (uint64_t)length + 1);
  return tr_value_text((tr_bytes){(const uint8_t *)digits, kept});
}

static tr_value random_value(test_random *random, const batches *b, char *digits, size_t size) {
  int is_numeric = b->combine->fn->is_numeric;
  uint64_t bits = test_random_next(random);
  int is_strange = test_random_below(random, 200) == 0;
  switch (is_strange ? ANY : b->kind) {
  case INTEGERS: return tr_value_integer((int64_t)(bits >> 34));
  case FEW_INTEGERS: return tr_value_integer((int64_t)(bits % 500) - 250);
  case REALS: return tr_value_real((double)(bits >> 40) / 8);
  case SHORT_TEXTS: return is_numeric ? tr_value_null() : random_text(random, digits, size);
  default: return combining_random_value(random, is_numeric);
  }
}

/* 0: the function does not take the value. */
static int add(const tr_combine *combine, void *state, const tr_value *input) {
  combining_row row = {{*input}};
  return combining_add(combine, state, &row);
}

/* A batch of rows, each of `stride` values of which one is the input; the others are noise. */
static void add_batch(test_random *random, batches *b) {
  static tr_value inputs[MOST_ROWS * 3];
  static char digits[MOST_ROWS][24];
  uint8_t *states[MOST_ROWS];
  size_t stride = 1 + test_random_below(random, 3), at = test_random_below(random, stride);
  int count = 1 + (int)test_random_below(random, MOST_ROWS);
  for (int i = 0; i < count; i++) {
    size_t of = test_random_below(random, (uint64_t)b->state_count);
    tr_value *input = &inputs[(size_t)i * stride + at];
    states[i] = b->together[of];
    do {
      *input = random_value(random, b, digits[i], sizeof digits[i]);
    } while (!add(b->combine, b->singly[of], input));
  }
  int has_one = b->state_count == 1 && test_random_below(random, 2) == 0;
  tr_combine_rows rows = {b->combine, states, has_one, 0, inputs + at, stride, count};
  for (int i = 0; i < count; i++) {
    int taken = b->combine->fn->add_rows(&rows, i);
    assert_in_range(taken, i, count);
    if ((i = taken) == count) break;
    assert_true(add(b->combine, tr_combine_rows_state(&rows, i), tr_combine_rows_input(&rows, i)));
  }
}

static void assert_same(const tr_combine *combine, const void *a, const void *b) {
  tr_buffer x = combining_write(combine, a), y = combining_write(combine, b);
  if (tr_bytes_compare(tr_buffer_bytes(&x), tr_buffer_bytes(&y)) != 0) {
    fail_msg("%s(): other bytes", combine->fn->name);
  }
  tr_buffer_free(&x);
  tr_buffer_free(&y);
}

static void check(test_random *random, const tr_combine *combine, int kind) {
  batches b = {.combine = combine, .kind = kind};
  b.state_count = 1 + (int)test_random_below(random, MOST_STATES);
  for (int s = 0; s < b.state_count; s++) {
    b.together[s] = combining_create(combine);
    b.singly[s] = combining_create(combine);
  }
  for (uint64_t left = test_random_below(random, 40); left > 0; left--) add_batch(random, &b);
  for (int s = 0; s < b.state_count; s++) {
    assert_same(combine, b.singly[s], b.together[s]);
    combining_free(combine, b.together[s]);
    combining_free(combine, b.singly[s]);
  }
  if (test_memory_live() != 0) fail_msg("%s(): lost memory", combine->fn->name);
}

static void rows_together_are_rows_one_by_one(void **unused) {
  (void)unused;
  test_random random = test_random_begin("test_add_rows");
  const tr_combine_fn *fn;
  long checked = 0;
  for (int f = 0; (fn = tr_combine_fn_at(f)) != NULL; f++) {
    tr_combine bindings[COMBINING_MOST_BINDINGS];
    int count = fn->add_rows == NULL ? 0 : combining_bindings(fn, bindings);
    for (long round = 0; count > 0 && round < test_effort(100); round++) {
      check(&random, &bindings[test_random_below(&random, (uint64_t)count)], (int)(round % KINDS));
      checked++;
    }
  }
  assert_true(checked > 0);
  printf("%ld accumulators checked\n", checked);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_together_are_rows_one_by_one)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
** combine/sketch.h: which kinds there are, accumulators to sketches and back, and what one sketch
** cannot hold.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "combine/sketch.h"
#include "combining.h"
#include "effort.h"
#include "test_memory.h"
#include "test_random.h"

static tr_value text(const char *of) {
  return tr_value_text(tr_bytes_of_text(of));
}

static tr_combine bind_accumulator(const tr_combine_fn *fn, int64_t n) {
  tr_combine combine;
  tr_value arguments[] = {tr_value_null(), tr_value_integer(n)};
  assert_int_equal(tr_combine_bind_accumulator(fn, arguments, n > 0 ? 2 : 1, &combine, NULL),
                   TR_OK);
  return combine;
}

static void test_kinds(void **state) {
  (void)state;
  const struct {
    const char *name;
    const char *function; /* NULL: no kind */
  } cases[] = {
      {"approx_count_distinct", "approx_count_distinct"},
      {"approx_quantile", "approx_quantile"},
      {"APPROX_QUANTILES Text", "approx_quantiles"},
      {"approx_quantiles float", "approx_quantiles"},
      {"approx_top_count integer", "approx_top_count"},
      {"approx_top_count text", "approx_top_count"},
      {"approx_top_count", NULL},
      {"approx_quantile ", NULL},
      {"approx_quantile blob", NULL},
      {"sum", NULL},
      {"", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tr_sketch_kind *kind = tr_sketch_kind_of(tr_bytes_of_text(cases[i].name));
    assert_int_equal(kind != NULL, cases[i].function != NULL);
    if (kind != NULL) assert_string_equal(tr_sketch_kind_fn(kind)->name, cases[i].function);
  }
}

/* Values, where they go, and what comes back. */
static void test_there_and_back(void **state) {
  (void)state;
  const struct {
    const char *kind;
    int64_t n; /* 0: the function has none */
    tr_value values[3];
    const char *output; /* of an accumulator made of the sketch; NULL: there is no sketch */
  } cases[] = {
      {"approx_count_distinct", 0, {text("a"), text("b"), text("b")}, "INTEGER 2"},
      {"approx_count_distinct",
       0,
       {tr_value_null(), tr_value_null(), tr_value_null()},
       "INTEGER 0"},
      {"approx_quantiles",
       3,
       {tr_value_integer(3), tr_value_integer(1), tr_value_integer(2)},
       "JSON [1.0,2.0,3.0]"},
      {"approx_quantiles", /* all numbers go out as doubles */
       2,
       {tr_value_integer(9007199254740993), tr_value_integer(1), tr_value_integer(2)},
       "JSON [1.0,9.007199254740992E15]"},
      {"approx_quantiles real",
       2,
       {tr_value_real(0.5), tr_value_integer(1), tr_value_null()},
       "JSON [0.5,1.0]"},
      {"approx_quantiles text", 3, {text("c"), text("a"), text("b")}, "JSON [\"a\",\"b\",\"c\"]"},
      {"approx_quantiles", 3, {tr_value_null(), tr_value_null(), tr_value_null()}, "JSON []"},
      {"approx_quantiles", 3, {tr_value_integer(1), text("a"), tr_value_null()}, NULL},
      {"approx_top_count integer",
       2,
       {tr_value_integer(7), tr_value_real(7), tr_value_integer(1)},
       "JSON [{\"value\":7,\"count\":2,\"error\":0},{\"value\":1,\"count\":1,\"error\":0}]"},
      {"approx_top_count text",
       1,
       {text("a"), text("b"), text("b")},
       "JSON [{\"value\":\"b\",\"count\":2,\"error\":0}]"},
      {"approx_top_count text", 1, {tr_value_null(), tr_value_null(), tr_value_null()}, "JSON []"},
      {"approx_top_count text", 1, {tr_value_integer(1), text("a"), tr_value_null()}, NULL},
      {"approx_top_count text", 1, {tr_value_real(0.5), tr_value_null(), tr_value_null()}, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tr_sketch_kind *kind = tr_sketch_kind_of(tr_bytes_of_text(cases[i].kind));
    tr_combine combine = bind_accumulator(tr_sketch_kind_fn(kind), cases[i].n);
    void *from = combining_create(&combine), *to = calloc(1, combine.fn->state_size);
    tr_buffer sketch = {0};
    tr_error err;
    for (int j = 0; j < 3; j++) {
      assert_int_equal(combine.fn->add_input(&combine, from, &cases[i].values[j], NULL), TR_OK);
    }
    tr_code code = tr_sketch_write(&combine, from, &sketch, &err);
    assert_int_equal(code, cases[i].output != NULL ? TR_OK : TR_INVALID_ARGUMENT);
    if (code == TR_OK) {
      assert_int_equal(tr_sketch_read(kind, &combine, tr_buffer_bytes(&sketch), to, &err), TR_OK);
      char *output = combining_output(&combine, to);
      assert_string_equal(output, cases[i].output);
      free(output);
      combine.fn->free_accumulator(to);
    }
    free(to);
    combining_free(&combine, from);
    tr_buffer_free(&sketch);
  }
}

/* Of an unbound binding there is an empty sketch; of other functions none. */
static void test_without_a_state(void **state) {
  (void)state;
  static const char *const with[] = {"approx_count_distinct", "approx_quantile", "approx_quantiles",
                                     "approx_top_count"};
  static const char *const without[] = {"sum", "top_largest", "histogram"};
  tr_error err;
  for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
    tr_combine combine = tr_combine_unbound(combining_function(with[i]), 2);
    if (tr_combine_is_bound(&combine)) continue; /* it has no parameters: there is a state */
    tr_buffer sketch = {0};
    assert_int_equal(tr_sketch_write(&combine, NULL, &sketch, &err), TR_OK);
    assert_int_equal(sketch.size, 8);
    tr_buffer_free(&sketch);
  }
  for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
    tr_combine combine = tr_combine_unbound(combining_function(without[i]), 1);
    tr_buffer sketch = {0};
    assert_int_equal(tr_sketch_write(&combine, NULL, &sketch, &err), TR_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "which has no sketch"));
  }
}

/* A sketch that is none leaves nothing behind. */
static void test_damage(void **state) {
  (void)state;
  static const char *const kinds[] = {"approx_count_distinct", "approx_quantile",
                                      "approx_quantile text", "approx_top_count text"};
  uint8_t bytes[] = {2, 1, 99, 12, 3, 12, 0, 0};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const tr_sketch_kind *kind = tr_sketch_kind_of(tr_bytes_of_text(kinds[i]));
    const tr_combine_fn *fn = tr_sketch_kind_fn(kind);
    tr_combine combine = bind_accumulator(fn, fn->arguments[1].role == TR_ARGUMENT_SHAPE ? 3 : 0);
    void *accumulator = calloc(1, fn->state_size);
    tr_error err;
    assert_int_equal(
        tr_sketch_read(kind, &combine, (tr_bytes){bytes, sizeof bytes}, accumulator, &err),
        TR_CORRUPT);
    assert_non_null(strstr(err.message, "family 99"));
    free(accumulator);
  }
  assert_int_equal(test_memory_live(), 0);
}

/* A random value; `room` is for its text. */
static tr_value random_value(test_random *random, tr_type type, char room[32]) {
  uint64_t bits = test_random_next(random);
  if (type == TR_INTEGER) return tr_value_integer((int64_t)bits >> 11);
  if (type == TR_REAL) return tr_value_real((double)(int64_t)bits / 1e6);
  snprintf(room, 32, "%llx", (unsigned long long)bits);
  return text(room);
}

/* What a sketch makes of it: numbers of quantiles are doubles there. */
static tr_value as_in_sketch(const tr_combine *combine, tr_value value) {
  if (value.type != TR_INTEGER || strstr(combine->fn->name, "quantile") == NULL) return value;
  return tr_value_real((double)value.integer);
}

static void assert_same_bytes(tr_bytes a, tr_bytes b, const char *kind, long count) {
  if (a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0)) return;
  fail_msg("%s, %ld values: %zu bytes and %zu others", kind, count, a.size, b.size);
}

/*
** Stores `count` values, makes a sketch of that and an accumulator of the sketch: it is the same.
*/
static void check_storing(test_random *random, const tr_sketch_kind *kind, const char *name,
                          int64_t n, tr_type type, long count) {
  tr_combine combine = bind_accumulator(tr_sketch_kind_fn(kind), n), read;
  void *direct = combining_create(&combine), *expected = combining_create(&combine);
  void *back = calloc(1, combine.fn->state_size);
  tr_buffer sketch = {0};
  char room[32];
  for (long i = 0; i < count; i++) {
    tr_value value = random_value(random, type, room), other = as_in_sketch(&combine, value);
    assert_int_equal(combine.fn->add_input(&combine, direct, &value, NULL), TR_OK);
    assert_int_equal(combine.fn->add_input(&combine, expected, &other, NULL), TR_OK);
  }
  tr_buffer blob = combining_write(&combine, direct);
  void *stored = combining_read(tr_buffer_bytes(&blob), &read);
  assert_int_equal(tr_sketch_write(&combine, stored, &sketch, NULL), TR_OK);
  assert_int_equal(tr_sketch_read(kind, &combine, tr_buffer_bytes(&sketch), back, NULL), TR_OK);
  char *a = combining_output(&combine, expected), *b = combining_output(&combine, back);
  if (strcmp(a, b) != 0)
    fail_msg("%s, %ld values: %.300s\nwhere there was %.300s", name, count, b, a);
  tr_buffer expected_blob = combining_write(&combine, expected);
  tr_buffer back_blob = combining_write(&combine, back);
  assert_same_bytes(tr_buffer_bytes(&back_blob), tr_buffer_bytes(&expected_blob), name, count);
  free(a);
  free(b);
  tr_buffer *buffers[] = {&sketch, &blob, &expected_blob, &back_blob};
  for (int i = 0; i < 4; i++) tr_buffer_free(buffers[i]);
  void *states[] = {direct, expected, stored, back};
  for (int i = 0; i < 4; i++) combining_free(&combine, states[i]);
}

static void test_storing_loses_nothing(void **state) {
  (void)state;
  const struct {
    const char *kind;
    int64_t n;
    tr_type type;
  } cases[] = {
      {"approx_quantile real", 0, TR_INTEGER},  {"approx_quantiles real", 21, TR_REAL},
      {"approx_quantiles text", 21, TR_TEXT},   {"approx_quantiles real", 500, TR_INTEGER},
      {"approx_quantiles text", 6400, TR_TEXT}, {"approx_count_distinct", 0, TR_INTEGER},
      {"approx_count_distinct", 0, TR_TEXT},    {"approx_top_count integer", 10, TR_INTEGER},
      {"approx_top_count text", 10, TR_TEXT},
  };
  static const long sizes[] = {0,    1,    2,    255,  256,  1023, 1024,  1025,  1279,
                               1280, 1281, 2048, 2304, 2305, 5000, 20000, 65536, 150000};
  test_random random = test_random_begin("sketches there and back");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tr_sketch_kind *kind = tr_sketch_kind_of(tr_bytes_of_text(cases[i].kind));
    for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
      if (sizes[j] > test_effort(150000) && sizes[j] > 5000) continue;
      check_storing(&random, kind, cases[i].kind, cases[i].n, cases[i].type, sizes[j]);
    }
    long some = (long)test_random_below(&random, (uint64_t)test_effort(150000));
    check_storing(&random, kind, cases[i].kind, cases[i].n, cases[i].type, some);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kinds),
      cmocka_unit_test(test_there_and_back),
      cmocka_unit_test(test_storing_loses_nothing),
      cmocka_unit_test(test_without_a_state),
      cmocka_unit_test(test_damage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

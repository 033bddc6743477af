/*
** Accumulators as BLOBs: binding, shapes and empty ones; that every other bytes are refused, and
** that whatever is read, checksum made right or not, is read safely and is canonical: written again
** it is the same bytes.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/memory.h"
#include "combining.h"
#include "effort.h"
#include "test_memory.h"

/* --- binding -------------------------------------------------------------------------------- */

static tr_value text(const char *of) {
  return tr_value_text(tr_bytes_of_text(of));
}

static void arguments_are_checked(void **unused) {
  (void)unused;
  const tr_value i3 = tr_value_integer(3), minus = tr_value_integer(-1), real3 = tr_value_real(3),
                 half = tr_value_real(0.5), null = tr_value_null(), word = text("three"),
                 many = tr_value_integer(INT64_C(1) << 31), blob = tr_value_blob((tr_bytes){0});
  const struct {
    const char *name;
    int count;
    tr_value constant; /* the last argument */
    const char *error; /* NULL: fine */
  } cases[] = {
      {"sum", 1, null, NULL},
      {"sum", 0, null, "sum(): takes 1 argument, not 0"},
      {"sum", 2, null, "sum(): takes 1 argument, not 2"},
      {"count", 0, null, NULL},
      {"count", 2, null, "count(): takes 0 to 1 arguments, not 2"},
      {"top_largest", 2, i3, NULL},
      {"top_largest", 2, real3, NULL},
      {"top_largest", 2, minus,
       "top_largest(): argument n = -1: must be an integer from 0 to 2147483647"},
      {"top_largest", 2, half,
       "top_largest(): argument n = 0.5: must be an integer from 0 to 2147483647"},
      {"top_largest", 2, many,
       "top_largest(): argument n = 2147483648: must be an integer from 0 to 2147483647"},
      {"top_largest", 2, null, "top_largest(): argument n = NULL: must be a number"},
      {"top_largest", 2, word, "top_largest(): argument n = 'three': must be a number"},
      {"top_largest", 2, blob, "top_largest(): argument n = x'': must be a number"},
      {"top_largest", 1, i3, "top_largest(): takes 2 arguments, not 1"},
      {"max_by", 2, word, NULL},
      {"max_by", 3, i3, NULL},
      {"max_by", 3, minus, "max_by(): argument n = -1: must be an integer from 0 to 2147483647"},
      {"max_by", 4, i3, "max_by(): takes 2 to 3 arguments, not 4"},
      {"latest", 3, i3, "latest(): takes 2 arguments, not 3"},
      {"sample", 2, word, "sample(): argument n = 'three': must be a number"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_value arguments[5] = {null, null, null, null, null};
    if (cases[i].count > 0) arguments[cases[i].count - 1] = cases[i].constant;
    tr_combine combine;
    tr_error err = {0};
    tr_code code = tr_combine_bind(combining_function(cases[i].name), arguments, cases[i].count,
                                   &combine, &err);
    if (cases[i].error == NULL) {
      if (code != TR_OK) fail_msg("%s: %s", cases[i].name, err.message);
    } else {
      assert_int_equal(code, TR_INVALID_ARGUMENT);
      assert_string_equal(err.message, cases[i].error);
    }
  }
}

static void constants_are_compared(void **unused) {
  (void)unused;
  tr_value arguments[3] = {tr_value_null(), tr_value_integer(3), tr_value_null()};
  tr_combine three = combining_bind("top_largest", arguments, 2);
  assert_int_equal(tr_combine_changed_argument(&three, arguments), -1);
  arguments[0] = text("x");
  arguments[1] = tr_value_real(3);
  assert_int_equal(tr_combine_changed_argument(&three, arguments), -1);
  tr_combine real = combining_bind("top_largest", arguments, 2);
  assert_true(tr_combine_is_same_shape(&three, &real));
  arguments[1] = tr_value_integer(4);
  assert_int_equal(tr_combine_changed_argument(&three, arguments), 1);
  tr_combine four = combining_bind("top_largest", arguments, 2);
  assert_false(tr_combine_is_same_shape(&three, &four));
  arguments[1] = text("3");
  assert_int_equal(tr_combine_changed_argument(&three, arguments), 1);
  tr_combine by_two = combining_bind("max_by", arguments, 2);
  arguments[2] = tr_value_integer(1);
  tr_combine by_three = combining_bind("max_by", arguments, 3);
  assert_false(tr_combine_is_same_shape(&by_two, &by_three));
}

/* --- without a row -------------------------------------------------------------------------- */

static void assert_output(const tr_accumulator *accumulator, const char *expected) {
  tr_combine_output output = {0};
  tr_error err;
  if (tr_accumulator_extract(accumulator, NULL, 0, &output, &err) != TR_OK)
    fail_msg("%s", err.message);
  char *shown = combining_text(&output.value, output.is_json);
  assert_string_equal(shown, expected);
  free(shown);
  tr_combine_output_free(&output);
}

static tr_buffer blob_of(const tr_combine *combine, int64_t first, int64_t last) {
  void *state = combining_create(combine);
  for (int64_t i = first; i <= last; i++) {
    combining_row row = {{tr_value_integer(i), tr_value_integer(i), tr_value_integer(i)}};
    combining_add(combine, state, &row);
  }
  tr_buffer blob = combining_write(combine, state);
  combining_free(combine, state);
  return blob;
}

static void an_empty_one_takes_any_parameter(void **unused) {
  (void)unused;
  const tr_combine_fn *fn = combining_function("top_largest");
  tr_value arguments[2] = {tr_value_null(), tr_value_integer(2)};
  tr_combine two = combining_bind("top_largest", arguments, 2);
  tr_buffer empty = {0}, some = blob_of(&two, 1, 5), merged = {0};
  assert_int_equal(tr_accumulator_write_empty(fn, 2, &empty, NULL), TR_OK);
  for (int order = 0; order < 2; order++) {
    tr_accumulator all = {0};
    tr_error err;
    const tr_buffer *blobs[] = {&empty, &some, &empty};
    for (int i = 0; i < 2; i++) {
      assert_int_equal(tr_accumulator_merge(&all, tr_buffer_bytes(blobs[order + i]), &err), TR_OK);
    }
    assert_output(&all, "JSON [5,4]");
    merged.size = 0;
    assert_int_equal(tr_accumulator_write(&all.combine, all.state, &merged, &err), TR_OK);
    assert_int_equal(tr_bytes_compare(tr_buffer_bytes(&merged), tr_buffer_bytes(&some)), 0);
    tr_accumulator_free(&all);
  }
  tr_accumulator none = {0};
  assert_int_equal(tr_accumulator_merge(&none, tr_buffer_bytes(&empty), NULL), TR_OK);
  assert_int_equal(tr_accumulator_merge(&none, tr_buffer_bytes(&empty), NULL), TR_OK);
  assert_output(&none, "JSON []");
  merged.size = 0;
  assert_int_equal(tr_accumulator_write(&none.combine, none.state, &merged, NULL), TR_OK);
  assert_int_equal(tr_bytes_compare(tr_buffer_bytes(&merged), tr_buffer_bytes(&empty)), 0);
  tr_accumulator_free(&none);
  tr_buffer_free(&empty);
  tr_buffer_free(&some);
  tr_buffer_free(&merged);
}

/* The output of zeros must not depend on parameters that nobody knows. */
static void every_function_has_an_empty_output(void **unused) {
  (void)unused;
  const tr_combine_fn *fn;
  for (int f = 0; (fn = tr_combine_fn_at(f)) != NULL; f++) {
    tr_combine bindings[COMBINING_MOST_BINDINGS];
    int count = combining_bindings(fn, bindings);
    for (int b = 0; b < count; b++) {
      tr_combine_output output = {0};
      int arguments = bindings[b].argument_count;
      assert_int_equal(tr_accumulator_extract_empty(fn, arguments, &output, NULL), TR_OK);
      char *unknown = combining_text(&output.value, output.is_json);
      void *state = combining_create(&bindings[b]);
      char *known = combining_output(&bindings[b], state);
      if (strcmp(unknown, known) != 0) fail_msg("%s: %s, not %s", fn->name, unknown, known);
      combining_free(&bindings[b], state);
      free(unknown);
      free(known);
      tr_combine_output_free(&output);
    }
  }
}

/* --- merging what does not belong together -------------------------------------------------- */

static void other_shapes_are_refused(void **unused) {
  (void)unused;
  tr_value two[2] = {tr_value_null(), tr_value_integer(2)};
  tr_value three[2] = {tr_value_null(), tr_value_integer(3)};
  tr_combine functions[] = {combining_bind("top_largest", two, 2),
                            combining_bind("top_largest", three, 2),
                            combining_bind("top_smallest", two, 2), combining_bind("sum", two, 1),
                            combining_bind("mean", two, 1)};
  static const char *const errors[] = {
      "an accumulator of top_largest(x, 3) cannot be merged with top_largest(x, 2)",
      "an accumulator of top_smallest(x, 2) cannot be merged with top_largest(x, 3)",
      "an accumulator of sum(x) cannot be merged with top_smallest(x, 2)",
      "an accumulator of mean(x) cannot be merged with sum(x)"};
  for (int i = 0; i < 4; i++) {
    tr_buffer one = blob_of(&functions[i], 1, 3), other = blob_of(&functions[i + 1], 1, 3);
    tr_accumulator merged = {0};
    tr_error err;
    assert_int_equal(tr_accumulator_merge(&merged, tr_buffer_bytes(&one), &err), TR_OK);
    assert_int_equal(tr_accumulator_merge(&merged, tr_buffer_bytes(&other), &err),
                     TR_INVALID_ARGUMENT);
    assert_string_equal(err.message, errors[i]);
    tr_accumulator_free(&merged);
    tr_buffer_free(&one);
    tr_buffer_free(&other);
  }
}

static void counts_do_not_overflow(void **unused) {
  (void)unused;
  /* count of 2^63 - 1, as if it had been counted. */
  tr_value none[1] = {tr_value_null()};
  tr_combine count = combining_bind("count", none, 1);
  uint64_t most = INT64_MAX;
  tr_buffer blob = combining_write(&count, &most);
  tr_accumulator merged = {0};
  tr_error err;
  assert_int_equal(tr_accumulator_merge(&merged, tr_buffer_bytes(&blob), &err), TR_OK);
  assert_output(&merged, "INTEGER 9223372036854775807");
  assert_int_equal(tr_accumulator_merge(&merged, tr_buffer_bytes(&blob), &err), TR_OVERFLOW);
  tr_accumulator_free(&merged);
  tr_buffer_free(&blob);
}

/* What docs/accumulators.md says that a group takes. */
static void states_are_as_small_as_documented(void **unused) {
  (void)unused;
  static const struct {
    const char *name;
    size_t size;
  } documented[] = {{"count", 8},        {"sum", 48},          {"mean", 48},    {"var_pop", 72},
                    {"stddev_samp", 72}, {"min", 24},          {"max", 24},     {"any_value", 24},
                    {"bit_and", 16},     {"bit_or", 16},       {"bit_xor", 16}, {"top_largest", 64},
                    {"max_by", 64},      {"top_smallest", 64}, {"min_by", 64},  {"latest", 64},
                    {"sample", 80}};
  for (size_t i = 0; i < sizeof documented / sizeof *documented; i++) {
    assert_true(combining_function(documented[i].name)->state_size <= documented[i].size);
  }
  /* Three texts of 3 bytes in a block of four. */
  tr_value arguments[2] = {tr_value_null(), tr_value_integer(10)};
  tr_combine top = combining_bind("top_largest", arguments, 2);
  void *state = combining_create(&top);
  for (int i = 0; i < 3; i++) {
    combining_row row = {{text("abc")}};
    combining_add(&top, state, &row);
    size_t expected = i == 0 ? 3 : 4 * 24 + 3 * (size_t)(i + 1);
    assert_int_equal(top.fn->heap_size(state), expected);
  }
  combining_free(&top, state);
}

static void described(void **unused) {
  (void)unused;
  tr_value arguments[3] = {tr_value_null(), tr_value_integer(7), tr_value_null()};
  tr_combine sample = combining_bind("sample", arguments, 3);
  tr_buffer blob = blob_of(&sample, 1, 0), json = {0};
  assert_int_equal(tr_accumulator_describe(tr_buffer_bytes(&blob), &json, NULL), TR_OK);
  assert_int_equal(tr_buffer_append_byte(&json, 0, NULL), TR_OK);
  assert_string_equal(json.data,
                      "{\"function\":\"sample\",\"arguments\":3,\"parameters\":{\"n\":7},"
                      "\"canonical\":true,\"version\":1,\"bytes\":14}");
  tr_buffer_free(&blob);
  tr_buffer_free(&json);
}

/* --- bytes from elsewhere ------------------------------------------------------------------- */

static void make_checksum_right(tr_buffer *blob) {
  if (blob->size < 4) return;
  tr_bytes before = {blob->data, blob->size - 4};
  uint64_t hash = tr_hash128_of(before, 0).low;
  for (size_t i = 0; i < 4; i++) blob->data[before.size + i] = (uint8_t)(hash >> (8 * i));
}

/* Reads exactly the bytes that there are, in memory of their own, so that a sanitizer sees all. */
static tr_code read_and_use(const tr_buffer *blob, tr_error *err) {
  uint8_t *exact = malloc(blob->size + 1);
  if (exact == NULL) abort();
  if (blob->size > 0) memcpy(exact, blob->data, blob->size);
  tr_bytes bytes = {exact, blob->size};
  tr_accumulator read = {0};
  tr_buffer again = {0}, json = {0};
  tr_code code = tr_accumulator_merge(&read, bytes, err);
  if (code == TR_OK) {
    tr_combine_output output = {0};
    tr_accumulator_extract(&read, NULL, 0, &output, NULL);
    tr_combine_output_free(&output);
    assert_int_equal(tr_accumulator_describe(bytes, &json, NULL), TR_OK);
    assert_int_equal(tr_accumulator_write(&read.combine, read.state, &again, NULL), TR_OK);
    /* Sketches are read in every form that another library may have written. */
    int is_sketch =
        !read.combine.fn->is_canonical || strncmp(read.combine.fn->name, "approx", 6) == 0;
    if (!is_sketch && tr_bytes_compare(tr_buffer_bytes(&again), bytes) != 0) {
      fail_msg("%s: two spellings of one state", read.combine.fn->name);
    }
    /* Merging with itself must be safe as well. */
    tr_code merged = tr_accumulator_merge(&read, bytes, NULL);
    assert_true(merged == TR_OK || merged == TR_OVERFLOW);
  } else if (code != TR_CORRUPT && code != TR_INVALID_ARGUMENT) {
    fail_msg("code %d: %s", (int)code, err->message);
  }
  tr_buffer_free(&again);
  tr_buffer_free(&json);
  tr_accumulator_free(&read);
  free(exact);
  return code;
}

static void assert_refused(const tr_buffer *blob, const char *what) {
  tr_error err = {0};
  if (read_and_use(blob, &err) != TR_CORRUPT) fail_msg("%s is taken", what);
  assert_true(err.message[0] != '\0');
}

static void check_bytes(test_random *random, const tr_buffer *good) {
  tr_buffer blob = {0};
  for (size_t size = 0; size < good->size; size++) {
    assert_int_equal(tr_buffer_set(&blob, (tr_bytes){good->data, size}, NULL), TR_OK);
    assert_refused(&blob, "a prefix");
    make_checksum_right(&blob);
    tr_error err;
    read_and_use(&blob, &err);
  }
  for (int i = 0; i < 50; i++) {
    assert_int_equal(tr_buffer_set(&blob, tr_buffer_bytes(good), NULL), TR_OK);
    uint64_t flips = 1 + test_random_below(random, 3);
    for (uint64_t f = 0; f < flips; f++) {
      blob.data[test_random_below(random, blob.size)] ^=
          (uint8_t)(1 + test_random_below(random, 255));
    }
    if (tr_bytes_compare(tr_buffer_bytes(&blob), tr_buffer_bytes(good)) == 0) continue;
    assert_refused(&blob, "a changed one");
    make_checksum_right(&blob);
    tr_error err;
    read_and_use(&blob, &err);
  }
  assert_int_equal(tr_buffer_set(&blob, tr_buffer_bytes(good), NULL), TR_OK);
  assert_int_equal(tr_buffer_append_byte(&blob, 0, NULL), TR_OK);
  assert_refused(&blob, "one with a byte more");
  tr_buffer_free(&blob);
}

static void other_bytes_are_refused(void **unused) {
  (void)unused;
  test_random random = test_random_begin("test_accumulator");
  const tr_combine_fn *fn;
  for (int f = 0; (fn = tr_combine_fn_at(f)) != NULL; f++) {
    tr_combine bindings[COMBINING_MOST_BINDINGS];
    int count = combining_bindings(fn, bindings);
    for (long round = 0; round < test_effort(20); round++) {
      const tr_combine *combine = &bindings[test_random_below(&random, (uint64_t)count)];
      if (tr_combine_is_random(combine)) continue;
      size_t row_count = test_random_below(&random, 12);
      combining_row *rows = combining_random_rows(&random, fn, row_count);
      void *state = combining_create(combine);
      for (size_t i = 0; i < row_count; i++) combining_add(combine, state, &rows[i]);
      tr_buffer blob = combining_write(combine, state);
      check_bytes(&random, &blob);
      tr_buffer_free(&blob);
      combining_free(combine, state);
      free(rows);
      if (test_memory_live() != 0) fail_msg("%s: lost memory", fn->name);
    }
  }
}

/* States that no rows can have, with a right checksum: what follows the tag. */
static void impossible_states_are_refused(void **unused) {
  (void)unused;
#define PARTS(bytes) bytes, sizeof(bytes) - 1
  static const struct {
    const char *bytes;
    size_t size;
    const char *error;
  } cases[] = {
      {PARTS("\x63\x01"), "not an accumulator: no function has the tag 99"},
      {PARTS("\x01\x02\x00"), "not an accumulator: count(): takes 0 to 1 arguments, not 2"},
      {PARTS("\x01\x01"), "count accumulator: count is cut short"},
      {PARTS("\x01\x01\x80"), "count accumulator: count is cut short"},
      {PARTS("\x01\x01\x80\x00"), "count accumulator: count has a leading zero"},
      {PARTS("\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
       "count accumulator: count needs more than 63 bits"},
      {PARTS("\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
       "count accumulator: count needs more than 64 bits"},
      {PARTS("\x01\x01\x05\x05"), "count accumulator: 1 bytes too many"},
      {PARTS("\x02\x01\x01\x02\x00\x00\x00"), "sum accumulator: sum is of no such numbers"},
      {PARTS("\x02\x01\x00\x00\x00\x00\x02\x00\x01"), "sum accumulator: sum is of no such numbers"},
      {PARTS("\x02\x01\x01\x00\x00\x00\x02\x80\x01\x01"), /* 2^64 of one integer */
       "sum accumulator: sum is of no such numbers"},
      {PARTS("\x02\x01\x01\x00\x01\x00\x00"),
       "sum accumulator: count of infinities is beyond all counts of its kind"},
      {PARTS("\x02\x01\x01\x00\x00\x00\x02\x00\x02"),
       "sum accumulator: sum is not in lowest terms"},
      {PARTS("\x02\x01\x01\x00\x00\x00\x04\x00\x01\x00"),
       "sum accumulator: sum is not in lowest terms"},
      {PARTS("\x02\x01\x01\x00\x00\x00\x01"), "sum accumulator: sum is not in lowest terms"},
      {PARTS("\x02\x01\x01\x00\x00\x00\x02\x01\x01"),
       "sum accumulator: sum is beyond all sums of its kind"},
      {PARTS("\x02\x01\x01\x01\x00\x00\x02\xfe\xff\xff\x0f\x01"),
       "sum accumulator: sum is beyond all sums of its kind"},
      {PARTS("\x02\x01\x01\x01\x00\x00\xff\xff\xff\xff\x0f\x00\x01"),
       "sum accumulator: sum is cut short"},
      {PARTS("\x04\x01\x01\x00\x00\x02\x00\x03\x00\x00\x02\x00\x01"),
       "var_pop accumulator: sums are of no numbers"},
      {PARTS("\x04\x01\x01\x00\x00\x00\x00\x00\x03\x00\x01"),
       "var_pop accumulator: sum is beyond all sums of its kind"},
      /* One number, whose square is not the sum of squares: 2 and 5. */
      {PARTS("\x04\x01\x01\x00\x00\x02\x02\x01\x00\x00\x02\x00\x05"),
       "var_pop accumulator: sums are of no numbers"},
      /*
      ** Two of which one is infinite, so that the other has the sums 2 and 5; three infinite ones.
      */
      {PARTS("\x04\x01\x02\x01\x00\x02\x02\x01\x00\x00\x02\x00\x05"),
       "var_pop accumulator: sums are of no numbers"},
      {PARTS("\x04\x01\x02\x02\x01\x00\x00\x00\x00"),
       "var_pop accumulator: sums are of no numbers"},
      /* One with 65 bits; squares of two beyond those of the largest REAL. */
      {PARTS("\x04\x01\x01\x00\x00\x12\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x22\x00\x01"
             "\x00"
             "\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01"),
       "var_pop accumulator: sums are of no numbers"},
      {PARTS("\x04\x01\x02\x00\x00\x00\x00\x00\x02\x82\x20\x01"), /* 2^2049 */
       "var_pop accumulator: sums are of no numbers"},
      /* Two infinities of one REAL; 2^1024 of one; 2^63 and 1/2 of one INTEGER and an infinity. */
      {PARTS("\x02\x01\x02\x01\x01\x01\x00"), "sum accumulator: sum is of no such numbers"},
      {PARTS("\x02\x01\x01\x01\x00\x00\x02\x80\x10\x01"),
       "sum accumulator: sum is of no such numbers"},
      {PARTS("\x03\x01\x02\x01\x01\x00\x02\x7e\x01"),
       "mean accumulator: sum is of no such numbers"},
      {PARTS("\x03\x01\x02\x01\x01\x00\x02\x01\x01"),
       "mean accumulator: sum is of no such numbers"},
      /* One REAL of 54 bits. */
      {PARTS("\x02\x01\x01\x01\x00\x00\x0e\x00\x01\x00\x00\x00\x00\x00\x20"),
       "sum accumulator: sum is of no such numbers"},
      {PARTS("\x08\x01\x05"), "min accumulator: value has an unknown type"},
      {PARTS("\x08\x01\x02\x00\x00\x00\x00\x00\x00\xf8\x7f"),
       "min accumulator: value is not a number"},
      {PARTS("\x08\x01\x03\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
             "a"),
       "min accumulator: value is cut short"},
      {PARTS("\x0b\x01\x02\x00"), "bit_and accumulator: count is impossible"},
      {PARTS("\x0d\x01\x00\x02"), "bit_xor accumulator: count is impossible"},
      {PARTS("\x0e\x02\x01\x01\x00"), "not an accumulator: top_largest(): argument n = -1: must be "
                                      "an integer from 0 to 2147483647"},
      {PARTS("\x0e\x02\x02\x00\x00\x00\x00\x00\x00\x08\x40\x00"),
       "not an accumulator: a whole parameter stands as a REAL"},
      {PARTS("\x0e\x02\x00\x01\x01\x02"), "not an accumulator: it has a state but no parameters"},
      {PARTS("\x0e\x02\x01\x02\x02\x01\x02\x01\x04"), "top_largest accumulator: count is above n"},
      {PARTS("\x0e\x02\x01\x04\x02\x01\x02\x01\x04"),
       "top_largest accumulator: values are not in order"},
      {PARTS("\x0e\x02\x01\x04\x01\x00"), "top_largest accumulator: value is NULL"},
      {PARTS("\x0e\x02\x01\xfe\xff\xff\xff\x0f\xff\xff\xff\xff\x07"),
       "top_largest accumulator: value is cut short"},
      {PARTS("\x10\x02\x02\x01\x02\x00\x01\x02\x00"), "max_by accumulator: count is above n"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_buffer blob = {0};
    tr_error err = {0};
    assert_int_equal(tr_buffer_append(&blob, (tr_bytes){(const uint8_t *)"\xfeTRA\x01", 5}, NULL),
                     TR_OK);
    tr_bytes bytes = {(const uint8_t *)cases[i].bytes, cases[i].size};
    assert_int_equal(tr_buffer_append(&blob, bytes, NULL), TR_OK);
    assert_int_equal(tr_buffer_append(&blob, (tr_bytes){(const uint8_t *)"????", 4}, NULL), TR_OK);
    make_checksum_right(&blob);
    assert_int_equal(read_and_use(&blob, &err), TR_CORRUPT);
    assert_string_equal(err.message, cases[i].error);
    tr_buffer_free(&blob);
  }
  assert_int_equal(test_memory_live(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arguments_are_checked),
      cmocka_unit_test(constants_are_compared),
      cmocka_unit_test(an_empty_one_takes_any_parameter),
      cmocka_unit_test(every_function_has_an_empty_output),
      cmocka_unit_test(other_shapes_are_refused),
      cmocka_unit_test(counts_do_not_overflow),
      cmocka_unit_test(states_are_as_small_as_documented),
      cmocka_unit_test(described),
      cmocka_unit_test(other_bytes_are_refused),
      cmocka_unit_test(impossible_states_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

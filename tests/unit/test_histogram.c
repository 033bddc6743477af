/*
** histogram(x, bins): bins that are easy to read, and counts that sum to the number of values, for
** all values.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "combining.h"
#include "effort.h"
#include "test_memory.h"
#include "test_random.h"

static tr_combine bind(int64_t bins) {
  tr_value arguments[] = {tr_value_null(), tr_value_integer(bins)};
  return combining_bind("histogram", arguments, 2);
}

/* The picture without its bars, in `room`. */
static void picture_of_values(int64_t bins, const tr_value *values, int count, char *room) {
  tr_combine combine = bind(bins);
  void *state = combining_create(&combine);
  for (int i = 0; i < count; i++) {
    assert_int_equal(combine.fn->add_input(&combine, state, &values[i], NULL), TR_OK);
  }
  char *output = combining_output(&combine, state);
  char *to = room;
  for (const char *from = output; *from != '\0'; from++) {
    /* Blocks begin with this byte. The two blanks before them are dropped too. */
    if ((uint8_t)*from < 0x80) *to++ = *from;
    if ((uint8_t)*from == 0xe2 && to - room >= 2 && to[-1] == ' ') to -= 2;
  }
  *to = '\0';
  free(output);
  combining_free(&combine, state);
}

enum { MOST_VALUES = 100 };

static void picture_of(int64_t bins, const double *reals, int count, char *room) {
  tr_value values[MOST_VALUES];
  for (int i = 0; i < count; i++) values[i] = tr_value_real(reals[i]);
  picture_of_values(bins, values, count, room);
}

static void picture_of_integers(int64_t bins, const int64_t *integers, int count, char *room) {
  tr_value values[MOST_VALUES];
  for (int i = 0; i < count; i++) values[i] = tr_value_integer(integers[i]);
  picture_of_values(bins, values, count, room);
}

static void test_edges(void **state) {
  (void)state;
  const struct {
    int64_t bins;
    double values[4];
    int count;
    const char *expected;
  } cases[] = {
      {5, {0}, 0, "NULL "},
      {5, {5}, 1, "TEXT 5 .. 6  1"},
      {5, {0, 9.99}, 2, "TEXT  0 ..  2  1\n 2 ..  4  0\n 4 ..  6  0\n 6 ..  8  0\n 8 .. 10  1"},
      {5, {0, 10}, 2, "TEXT  0 ..  5  1\n 5 .. 10  0\n10 .. 15  1"},
      {2, {-1, 1}, 2, "TEXT -2 ..  0  1\n 0 ..  2  1"},
      {3,
       {-0.001, 0, 0.001},
       3,
       "TEXT -0.001 ..      0  1\n     0 ..  0.001  1\n 0.001 ..  0.002  1"},
      {4,
       {0.1, 0.2, 0.30000000000000004, 0.3},
       4,
       "TEXT 0.1 .. 0.2  1\n0.2 .. 0.3  1\n0.3 .. 0.4  2"},
      {2, {1e20, 3e20}, 2, "TEXT    0 .. 2e20  1\n2e20 .. 4e20  1"},
      {2, {-HUGE_VAL, HUGE_VAL}, 2, "TEXT -infinity               1\n              infinity  1"},
      {2, {-HUGE_VAL, 3, 3}, 3, "TEXT -infinity               1\n        3 ..         4  2"},
      {2, {DBL_MAX, -DBL_MAX}, 2, NULL},
      {1000, {DBL_MAX, -DBL_MAX}, 2, NULL},
      {1000, {0x1p-1074, 0}, 2, NULL},
      {7, {9007199254740993.0, 9007199254740992.0}, 2, NULL},
      {7, {1e15, 1e15 + 0.125}, 2, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char room[200000];
    picture_of(cases[i].bins, cases[i].values, cases[i].count, room);
    if (cases[i].expected != NULL && strcmp(room, cases[i].expected) != 0) {
      fail_msg("case %zu:\n%s\nexpected:\n%s", i, room, cases[i].expected);
    }
    assert_true(strlen(room) > 0);
  }
}

/* INTEGERs of any size: edges are exact, and no bin is narrower than 1. */
static void test_integer_edges(void **state) {
  (void)state;
  const struct {
    int64_t bins;
    int64_t values[4];
    int count;
    const char *expected;
  } cases[] = {
      {20, {1, 2, 2}, 3, "TEXT 1 .. 2  1\n2 .. 3  2"},
      {3,
       {9007199254740999, 9007199254740900, 9007199254741001},
       3,
       "TEXT 9007199254740900 .. 9007199254740950  1\n"
       "9007199254740950 .. 9007199254741000  1\n"
       "9007199254741000 .. 9007199254741050  1"},
      {2,
       {INT64_MAX, INT64_MAX - 1},
       2,
       "TEXT 9223372036854775806 .. 9223372036854775807  1\n"
       "9223372036854775807 .. 9223372036854775808  1"},
      {3,
       {INT64_MIN, INT64_MIN + 3},
       2,
       "TEXT -9223372036854775808 .. -9223372036854775806  1\n"
       "-9223372036854775806 .. -9223372036854775804  1"},
      {2, {INT64_MIN, INT64_MAX, -1, 0}, 4, "TEXT -1e19 ..     0  2\n    0 ..  1e19  2"},
      {4,
       {INT64_MIN, INT64_MAX, -1, 0},
       4,
       "TEXT -10e18 ..  -5e18  1\n -5e18 ..      0  1\n     0 ..   5e18  1\n  5e18 ..  10e18  1"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char room[2000];
    picture_of_integers(cases[i].bins, cases[i].values, cases[i].count, room);
    if (strcmp(room, cases[i].expected) != 0) {
      fail_msg("case %zu:\n%s\nexpected:\n%s", i, room, cases[i].expected);
    }
  }
}

/* An edge as printed: a sign, digits and perhaps an exponent. Returns what follows. */
typedef struct edge {
  int is_negative;
  uint64_t size;
} edge;

static char *read_edge(char *at, edge *read) {
  while (*at == ' ' || *at == '.') at++;
  read->is_negative = *at == '-';
  read->size = strtoull(at + read->is_negative, &at, 10);
  if (*at != 'e') return at;
  for (long zeros = strtol(at + 1, &at, 10); zeros > 0; zeros--) read->size *= 10;
  return at;
}

static int is_below(int64_t x, edge of) {
  if (of.is_negative) return x < 0 && 0 - (uint64_t)x > of.size;
  return x < 0 || (uint64_t)x < of.size;
}

/*
** Each row counts the values between its edges, for integers around any number and at any distance.
*/
static void test_integer_counts(void **state) {
  (void)state;
  test_random random = test_random_begin("histogram integers");
  for (long round = 0; round < test_effort(2000); round++) {
    int64_t values[MOST_VALUES], bins = 2 + (int64_t)test_random_below(&random, 40);
    uint64_t around = test_random_next(&random) >> test_random_below(&random, 64);
    int apart = (int)test_random_below(&random, 64);
    int count = 1 + (int)test_random_below(&random, MOST_VALUES);
    for (int i = 0; i < count; i++) {
      values[i] = (int64_t)(around + (test_random_next(&random) >> apart));
    }
    char room[20000], *at = room + strlen("TEXT ");
    picture_of_integers(bins, values, count, room);
    int rows = 0;
    long total = 0;
    edge before = {0, 0};
    for (char *line = at; line != NULL; rows++) {
      edge low, high;
      at = read_edge(read_edge(line, &low), &high);
      long found = strtol(at, &at, 10), expected = 0;
      for (int i = 0; i < count; i++)
        expected += !is_below(values[i], low) && is_below(values[i], high);
      assert_int_equal(found, expected);
      if (rows > 0) assert_true(low.size == before.size && low.is_negative == before.is_negative);
      total += found;
      before = high;
      line = strchr(at, '\n');
      if (line != NULL) line++;
    }
    assert_in_range(rows, 1, bins);
    assert_int_equal(total, count);
  }
}

/* At most `bins` rows, of one width, each with the values that belong to it. */
static void test_counts(void **state) {
  (void)state;
  test_random random = test_random_begin("histogram counts");
  for (long round = 0; round < test_effort(300); round++) {
    double values[100], scale = pow(10, (double)test_random_below(&random, 25) - 12);
    int count = 1 + (int)test_random_below(&random, 100);
    int64_t bins = 2 + (int64_t)test_random_below(&random, 40);
    for (int i = 0; i < count; i++) {
      values[i] = ((double)test_random_below(&random, 20001) - 10000) * scale;
    }
    char room[20000], *at = room + strlen("TEXT ");
    picture_of(bins, values, count, room);
    int rows = 0;
    long total = 0;
    double before = 0;
    for (char *line = at; line != NULL; rows++) {
      double low = strtod(line, &at), high = strtod(at + strlen(" .."), &at);
      long found = strtol(at, &at, 10), expected = 0;
      for (int i = 0; i < count; i++) expected += values[i] >= low && values[i] < high;
      assert_true(low < high && (rows == 0 || low == before));
      assert_int_equal(found, expected);
      total += found;
      before = high;
      line = strchr(at, '\n');
      if (line != NULL) line++;
    }
    assert_in_range(rows, 1, bins);
    assert_int_equal(total, count);
  }
}

static void test_arguments(void **state) {
  (void)state;
  tr_combine combine;
  tr_error err;
  const int64_t wrong[] = {-1, 0, 1, 1001};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    tr_value arguments[] = {tr_value_null(), tr_value_integer(wrong[i])};
    assert_int_equal(tr_combine_bind(combining_function("histogram"), arguments, 2, &combine, &err),
                     TR_INVALID_ARGUMENT);
  }
  combine = bind(5);
  void *accumulator = combining_create(&combine);
  tr_value text = tr_value_text(tr_bytes_of_text("5"));
  assert_int_equal(combine.fn->add_input(&combine, accumulator, &text, &err), TR_INVALID_ARGUMENT);
  assert_string_equal(err.message, "histogram(): argument x = '5': must be a number");
  combining_free(&combine, accumulator);
}

/* As long as it is exact, merging parts through their BLOBs gives the picture of the whole. */
static void test_merge(void **state) {
  (void)state;
  tr_combine combine = bind(10), read;
  void *direct = combining_create(&combine),
       *parts[] = {combining_create(&combine), combining_create(&combine)};
  for (int i = 0; i < 2000; i++) {
    tr_value value = i % 3 == 0 ? tr_value_real(i / 7.0) : tr_value_integer(i);
    assert_int_equal(combine.fn->add_input(&combine, direct, &value, NULL), TR_OK);
    assert_int_equal(combine.fn->add_input(&combine, parts[i % 2], &value, NULL), TR_OK);
  }
  tr_buffer blob = combining_write(&combine, parts[1]);
  combining_free(&combine, parts[1]);
  parts[1] = combining_read(tr_buffer_bytes(&blob), &read);
  assert_int_equal(combine.fn->merge_accumulators(&combine, parts[0], parts[1], NULL), TR_OK);
  char *a = combining_output(&combine, direct), *b = combining_output(&combine, parts[0]);
  assert_string_equal(a, b);
  free(a);
  free(b);
  tr_buffer_free(&blob);
  combining_free(&combine, direct);
  combining_free(&combine, parts[0]);
  combining_free(&combine, parts[1]);
}

/*
** A total that is stored after each of thousands of merges: counts stay within 1/400 of the rows.
*/
static void test_stored_total(void **state) {
  (void)state;
  enum { PARTS = 12000, PART = 256 };
  tr_combine combine = bind(5), read;
  tr_buffer total = {0};
  long parts = test_effort(PARTS), n = parts * PART;
  for (int64_t i = 0; i < n;) {
    void *part = combining_create(&combine);
    for (int64_t end = i + PART; i < end; i++) {
      tr_value value = tr_value_integer(i * 2654435761 % 4294967291);
      assert_int_equal(combine.fn->add_input(&combine, part, &value, NULL), TR_OK);
    }
    void *sum = total.size == 0 ? combining_create(&combine)
                                : combining_read(tr_buffer_bytes(&total), &read);
    assert_int_equal(combine.fn->merge_accumulators(&combine, sum, part, NULL), TR_OK);
    tr_buffer_free(&total);
    total = combining_write(&combine, sum);
    combining_free(&combine, sum);
    combining_free(&combine, part);
  }
  void *sum = combining_read(tr_buffer_bytes(&total), &read);
  char *output = combining_output(&combine, sum), *line = output + strlen("TEXT ");
  long expected[5] = {0};
  for (int64_t i = 0; i < n; i++) expected[i * 2654435761 % 4294967291 / 1000000000]++;
  for (int row = 0; row < 5; row++) {
    if (row > 0) line = strchr(line, '\n') + 1;
    char *at = line;
    assert_true(strtod(at, &at) == row * 1e9 && strtod(at + strlen(" .."), &at) == (row + 1) * 1e9);
    long found = strtol(at, NULL, 10);
    if (labs(found - expected[row]) > n / 400) {
      fail_msg("row %d: %ld where there are %ld", row, found, expected[row]);
    }
  }
  free(output);
  tr_buffer_free(&total);
  combining_free(&combine, sum);
}

/* The count of the row of the picture that holds `x`. The row of an infinity has one edge. */
static long count_at(const char *picture, double x) {
  for (const char *line = strchr(picture, ' ') + 1; line != NULL; line = strchr(line, '\n')) {
    char *at;
    if (*line == '\n') line++;
    double low = strtod(line, &at);
    if (low == x && isinf(x)) return strtol(at, NULL, 10);
    if (isinf(low)) continue;
    double high = strtod(at + strlen(" .."), &at);
    if (x >= low && x < high) return strtol(at, NULL, 10);
  }
  return 0;
}

static long total_of(const char *picture) {
  long total = 0;
  for (const char *line = picture; line != NULL; line = strchr(line + 1, '\n')) {
    const char *end = strchr(line + 1, '\n');
    if (end == NULL) end = line + strlen(line);
    const char *digit = end;
    while (digit > line && (*digit < '0' || *digit > '9')) digit--;
    while (digit > line && digit[-1] >= '0' && digit[-1] <= '9') digit--;
    total += strtol(digit, NULL, 10);
  }
  return total;
}

/*
** The minimum and the maximum are always known. The rows that hold them count them, even if the
** sketch has dropped both, and the counts still sum to the number of values.
*/
static void test_ends_are_shown(void **state) {
  (void)state;
  test_random random = test_random_begin("histogram ends");
  static const double ends[][2] = {{-1e6, 1e6}, {-HUGE_VAL, HUGE_VAL}, {-5, HUGE_VAL}, {-3, 1e6}};
  for (long round = 0; round < test_effort(400); round++) {
    const double *end = ends[round % 4];
    int is_real = isinf(end[1]) || test_random_below(&random, 2);
    long count = 2049 + (long)test_random_below(&random, 6000);
    long low_at = (long)test_random_below(&random, (uint64_t)count), high_at = count - 1 - low_at;
    tr_combine combine = bind(2 + (int64_t)test_random_below(&random, 60));
    void *accumulator = combining_create(&combine);
    for (long i = 0; i < count; i++) {
      double x = (double)test_random_below(&random, 100);
      if (i == low_at) x = end[0];
      if (i == high_at && i != low_at) x = end[1];
      tr_value value = is_real ? tr_value_real(x) : tr_value_integer((int64_t)x);
      assert_int_equal(combine.fn->add_input(&combine, accumulator, &value, NULL), TR_OK);
    }
    char *output = combining_output(&combine, accumulator);
    int has_both = low_at != high_at;
    if (count_at(output, end[0]) < 1 || (has_both && count_at(output, end[1]) < 1)) {
      fail_msg("%g or %g of %ld values is missing in\n%s", end[0], end[1], count, output);
    }
    assert_int_equal(total_of(output), count);
    free(output);
    combining_free(&combine, accumulator);
  }
}

static tr_code draw(void *context) {
  (void)context;
  tr_combine combine = bind(10);
  void *accumulator = calloc(1, combine.fn->state_size);
  if (accumulator == NULL) abort();
  tr_combine_output output = {0};
  tr_code code = combine.fn->create_accumulator(&combine, accumulator, NULL);
  for (int i = 0; i < 20 && code == TR_OK; i++) {
    tr_value value = tr_value_integer(i);
    code = combine.fn->add_input(&combine, accumulator, &value, NULL);
  }
  if (code == TR_OK) code = combine.fn->extract_output(&combine, accumulator, &output, NULL);
  tr_combine_output_free(&output);
  combining_free(&combine, accumulator);
  return code;
}

static void test_out_of_memory(void **state) {
  (void)state;
  assert_in_range(test_memory_fail_each(draw, NULL), 4, 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_edges),          cmocka_unit_test(test_integer_edges),
      cmocka_unit_test(test_integer_counts), cmocka_unit_test(test_counts),
      cmocka_unit_test(test_arguments),      cmocka_unit_test(test_merge),
      cmocka_unit_test(test_ends_are_shown), cmocka_unit_test(test_stored_total),
      cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

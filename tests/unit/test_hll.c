/*
** combine/hll.h: which values are equal, exact counts, errors over all sizes, independence of order
** and cut, folding, bytes, damage. tests/replay/replay_sketches.c reads sketches of other
** implementations.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/little_endian.h"
#include "combine/hll_inside.h"
#include "combining.h"
#include "effort.h"
#include "test_memory.h"
#include "test_random.h"

static tr_value text(const char *of) {
  return tr_value_text(tr_bytes_of_text(of));
}

static tr_value blob(const char *of) {
  return tr_value_blob(tr_bytes_of_text(of));
}

static void add(tr_hll *hll, tr_value value) {
  assert_int_equal(tr_hll_add(hll, &value, NULL), TR_OK);
}

static void add_integers(tr_hll *hll, int64_t from, int64_t to) {
  for (int64_t i = from; i < to; i++) add(hll, tr_value_integer(i));
}

static void merge(tr_hll *hll, const tr_hll *other) {
  assert_int_equal(tr_hll_merge(hll, other, NULL), TR_OK);
}

static tr_buffer bytes_of(const tr_hll *hll) {
  tr_buffer bytes = {0};
  assert_int_equal(tr_hll_write(hll, &bytes, NULL), TR_OK);
  return bytes;
}

static void assert_same_bytes(const tr_hll *a, const tr_hll *b) {
  tr_buffer x = bytes_of(a), y = bytes_of(b);
  assert_int_equal(x.size, y.size);
  assert_memory_equal(x.data, y.data, x.size);
  tr_buffer_free(&x);
  tr_buffer_free(&y);
}

static void test_values(void **state) {
  (void)state;
  const struct {
    tr_value a, b;
    int distinct;
    const char *why;
  } cases[] = {
      {tr_value_integer(1), tr_value_real(1.0), 1, "equal in SQL"},
      {tr_value_integer(0), tr_value_real(-0.0), 1, "there is one zero"},
      {tr_value_integer(INT64_MIN), tr_value_real(-0x1p63), 1, "the least integer is a double"},
      {tr_value_integer(INT64_MAX), tr_value_real(0x1p63), 2, "the largest is not"},
      {tr_value_integer(9007199254740993), tr_value_real(9007199254740992.0), 2,
       "2^53 + 1 is not 2^53"},
      {tr_value_integer(1), text("1"), 2, "types differ"},
      {text("1"), blob("1"), 2, "types differ"},
      {text(""), tr_value_null(), 1, "NULL does not count, an empty text does"},
      {text(""), blob(""), 2, "both count"},
      {tr_value_real(HUGE_VAL), tr_value_real(-HUGE_VAL), 2, "infinities are values"},
      {tr_value_real(0.1), tr_value_real(0.1), 1, "the same"},
      {text("a"), text("A"), 2, "BINARY collation"},
      {tr_value_null(), tr_value_null(), 0, "nothing"},
      {tr_value_integer(8830049), tr_value_integer(8830074), 1, "they share a coupon"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_hll hll = tr_hll_empty(TR_HLL_LG_K);
    add(&hll, cases[i].a);
    add(&hll, cases[i].b);
    if (lround(tr_hll_estimate(&hll)) != cases[i].distinct) fail_msg("%s", cases[i].why);
    tr_hll_free(&hll);
  }
}

/* The published hash: the bytes of a sketch of the integer 1 are known. */
static void test_hash_is_the_published_one(void **state) {
  (void)state;
  static const uint8_t expected[] = {2, 1, 7, 13, 3, 8, 1, 0, 0x2b, 0xf2, 0xfb, 0x06};
  tr_hll hll = tr_hll_empty(TR_HLL_LG_K);
  add(&hll, tr_value_integer(1));
  tr_buffer bytes = bytes_of(&hll);
  assert_int_equal(bytes.size, sizeof expected);
  assert_memory_equal(bytes.data, expected, sizeof expected);
  tr_buffer_free(&bytes);
  tr_hll_free(&hll);
}

static void test_exact_while_small(void **state) {
  (void)state;
  tr_hll hll = tr_hll_empty(TR_HLL_LG_K);
  for (int64_t n = 0; n <= 768; n++) {
    assert_int_equal(lround(tr_hll_estimate(&hll)), n);
    add(&hll, tr_value_integer(n * 1000003));
  }
  assert_null(hll.coupons);
  tr_hll_free(&hll);
}

/* Two values that share a coupon leave the same bytes as one of them. No estimate can tell. */
static void test_shared_coupon(void **state) {
  (void)state;
  tr_hll one = tr_hll_empty(TR_HLL_LG_K), both = tr_hll_empty(TR_HLL_LG_K);
  add(&one, tr_value_integer(8830049));
  add(&both, tr_value_integer(8830049));
  add(&both, tr_value_integer(8830074));
  assert_same_bytes(&one, &both);
  tr_hll_free(&one);
  tr_hll_free(&both);
}

static int compare_coupons(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* How many of `count` coupons are equal to an earlier one. Sorts them. */
static long shared_coupons(uint32_t *coupons, long count) {
  long shared = 0;
  qsort(coupons, (size_t)count, sizeof *coupons, compare_coupons);
  for (long i = 1; i < count; i++) shared += coupons[i] == coupons[i - 1];
  return shared;
}

/* One pair in 3 * 2^26 shares a coupon, as hll.h derives: some 2,731 pairs among 2^20 values. */
static void test_how_often_coupons_are_shared(void **state) {
  (void)state;
  enum { COUNT = 1 << 20 };
  uint32_t *coupons = malloc(COUNT * sizeof *coupons);
  if (coupons == NULL) abort();
  test_random random = test_random_begin("hll shared coupons");
  for (int i = 0; i < COUNT; i++) coupons[i] = tr_hll_coupon_of_u64(test_random_next(&random));
  double shared = (double)shared_coupons(coupons, COUNT);
  double expected = COUNT * (COUNT - 1.0) / 2 / 0x3p26;
  free(coupons);
  /* A Poisson distribution: within six standard deviations. */
  if (fabs(shared - expected) > 6 * sqrt(expected)) {
    fail_msg("%.0f of %d values share a coupon, expected %.1f", shared, COUNT, expected);
  }
}

/*
** A small count is too low by the number of values that share a coupon. Few in a thousand sets have
** any.
*/
static void test_small_counts(void **state) {
  (void)state;
  test_random random = test_random_begin("hll small counts");
  for (long set = 0; set < test_effort(3000); set++) {
    uint32_t coupons[768];
    long count = 1 + (long)test_random_below(&random, 768);
    tr_hll hll = tr_hll_empty(TR_HLL_LG_K);
    for (long i = 0; i < count; i++) {
      tr_value value = tr_value_integer((int64_t)test_random_next(&random));
      coupons[i] = tr_hll_coupon_of(&value);
      add(&hll, value);
    }
    assert_int_equal(lround(tr_hll_estimate(&hll)), count - shared_coupons(coupons, count));
    tr_hll_free(&hll);
  }
}

/* Around the change of form and above, no estimate is off by more than four standard errors. */
static void test_no_spike(void **state) {
  (void)state;
  for (int lg_k = 10; lg_k <= 16; lg_k++) {
    double k = (double)(1 << lg_k), bound = 4 * 1.04 / sqrt(k);
    tr_hll hll = tr_hll_empty(lg_k);
    int64_t added = 0;
    /* From 0.02 k to 5 k, in steps of 5 %. */
    for (int step = 0; step < 114; step++) {
      double n = 0.02 * k * pow(1.05, step);
      int64_t base = (int64_t)lg_k << 40;
      add_integers(&hll, base + added, base + (int64_t)n);
      added = (int64_t)n;
      double off = fabs(tr_hll_estimate(&hll) / (double)added - 1);
      if (off > bound) fail_msg("lg_k %d, n %lld: off by %.4f", lg_k, (long long)added, off);
    }
    tr_hll_free(&hll);
  }
}

/* The standard error is at most 1.6 %, in at most 4 KB and a preamble. */
static void test_error_and_size(void **state) {
  (void)state;
  const int64_t sizes[] = {1000, 3000, 10000, 30000, 100000};
  int64_t next = INT64_C(1) << 50;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    long trials = test_effort(200);
    double squares = 0;
    for (long t = 0; t < trials; t++, next += sizes[i]) {
      tr_hll hll = tr_hll_empty(TR_HLL_LG_K);
      add_integers(&hll, next, next + sizes[i]);
      double off = tr_hll_estimate(&hll) / (double)sizes[i] - 1;
      squares += off * off;
      tr_buffer bytes = bytes_of(&hll);
      assert_in_range(bytes.size, 4096, 4096 + 128);
      tr_buffer_free(&bytes);
      tr_hll_free(&hll);
    }
    double error = sqrt(squares / (double)trials);
    if (trials >= 100 && error > 0.016) {
      fail_msg("n = %lld: standard error %.4f", (long long)sizes[i], error);
    }
  }
}

/* Values in any order, cut into any parts and merged in any tree, give the same bytes. */
static void test_order_and_cut(void **state) {
  (void)state;
  enum { PARTS = 7 };
  test_random random = test_random_begin("hll order and cut");
  for (long round = 0; round < test_effort(60); round++) {
    int64_t n = (int64_t)test_random_below(&random, round % 2 == 0 ? 1500 : 20000);
    tr_hll direct = tr_hll_empty(TR_HLL_LG_K), parts[PARTS];
    for (int p = 0; p < PARTS; p++) parts[p] = tr_hll_empty(TR_HLL_LG_K);
    add_integers(&direct, 0, n);
    /* Multiplying by an odd number modulo 2^k visits all numbers below 2^k, in another order. */
    for (int64_t i = 0; i < 32768; i++) {
      int64_t value = i * 12345 % 32768;
      if (value >= n) continue;
      add(&parts[test_random_below(&random, PARTS)], tr_value_integer(value));
      if (value % 5 == 0) add(&parts[test_random_below(&random, PARTS)], tr_value_integer(value));
    }
    for (int left = PARTS; left > 1; left--) {
      int a = (int)test_random_below(&random, (uint64_t)left), b = left - 1;
      if (a == b) a = 0;
      merge(&parts[a], &parts[b]);
      tr_hll_free(&parts[b]);
    }
    assert_same_bytes(&direct, &parts[0]);
    tr_hll_free(&direct);
    tr_hll_free(&parts[0]);
  }
}

/* Sketches of different sizes fold to the smallest, in whatever order they are merged. */
static void test_folding(void **state) {
  (void)state;
  static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  static const int lg_k[] = {10, 12, 14};
  const int64_t sizes[][3] = {{5, 5, 5},      {50, 60, 70},  {90, 1000, 5000},
                              {5000, 50, 50}, {50, 5000, 3}, {3000, 9000, 30000}};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    tr_hll first = tr_hll_empty(TR_HLL_LG_K);
    for (int order = 0; order < 6; order++) {
      tr_hll parts[3], merged = tr_hll_empty(TR_HLL_LG_K), direct = tr_hll_empty(10);
      for (int i = 0; i < 3; i++) {
        parts[i] = tr_hll_empty(lg_k[i]);
        add_integers(&parts[i], i * 2000, i * 2000 + sizes[s][i]);
        add_integers(&direct, i * 2000, i * 2000 + sizes[s][i]);
      }
      for (int i = 0; i < 3; i++) merge(&merged, &parts[orders[order][i]]);
      assert_int_equal(merged.lg_k, 10);
      assert_same_bytes(&merged, &direct);
      if (order > 0) assert_same_bytes(&merged, &first);
      for (int i = 0; i < 3; i++) tr_hll_free(&parts[i]);
      tr_hll_free(&first);
      tr_hll_free(&direct);
      first = merged;
    }
    tr_hll_free(&first);
  }
}

/* An empty sketch changes nothing; its lg_k does not count. */
static void test_empty(void **state) {
  (void)state;
  const int64_t sizes[] = {0, 3, 300, 20000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    tr_hll full = tr_hll_empty(15), same = tr_hll_empty(15), small = tr_hll_empty(12);
    add_integers(&full, 0, sizes[i]);
    add_integers(&same, 0, sizes[i]);
    if (sizes[i] > 0) {
      merge(&full, &small);
      assert_same_bytes(&full, &same);
      merge(&small, &full);
      assert_same_bytes(&small, &same);
    }
    tr_hll_free(&full);
    tr_hll_free(&same);
    tr_hll_free(&small);
  }
}

static void test_round_trip(void **state) {
  (void)state;
  const int64_t sizes[] = {0, 1, 7, 8, 9, 24, 100, 768, 769, 5000, 200000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (int lg_k = TR_HLL_MIN_LG_K; lg_k <= TR_HLL_MAX_LG_K; lg_k += 3) {
      tr_hll hll = tr_hll_empty(lg_k), read;
      add_integers(&hll, 0, sizes[i]);
      tr_buffer bytes = bytes_of(&hll);
      assert_int_equal(tr_hll_read(&read, tr_buffer_bytes(&bytes), NULL), TR_OK);
      assert_same_bytes(&hll, &read);
      assert_true(tr_hll_estimate(&hll) == tr_hll_estimate(&read));
      tr_buffer_free(&bytes);
      tr_hll_free(&hll);
      tr_hll_free(&read);
    }
  }
}

static void test_damage_is_named(void **state) {
  (void)state;
  const struct {
    uint8_t bytes[16];
    size_t size;
    const char *message;
  } cases[] = {
      {{2, 1, 7, 12, 3, 12, 0}, 7, "HLL sketch: 7 bytes, a preamble has 8"},
      {{2, 1, 15, 12, 3, 12, 0, 0}, 8, "HLL sketch: family 15, HLL is 7"},
      {{2, 2, 7, 12, 3, 12, 0, 0}, 8, "HLL sketch: serial version 2, known is 1"},
      {{2, 1, 7, 3, 3, 12, 0, 0}, 8, "HLL sketch: lg_k 3 is not within 4..21"},
      {{2, 1, 7, 22, 3, 12, 0, 0}, 8, "HLL sketch: lg_k 22 is not within 4..21"},
      {{2, 1, 7, 12, 3, 13, 0, 0}, 8, "HLL sketch: big-endian form is not known"},
      {{2, 1, 7, 12, 3, 12, 0, 3}, 8, "HLL sketch: mode byte 3 is not known"},
      {{2, 1, 7, 12, 3, 12, 0, 12}, 8, "HLL sketch: mode byte 12 is not known"},
      {{3, 1, 7, 12, 3, 12, 0, 0}, 8, "HLL sketch: 3 preamble ints, its mode has 2"},
      {{2, 1, 7, 12, 3, 8, 9, 0}, 8, "HLL sketch: a list of 9 coupons, at most 8"},
      {{2, 1, 7, 12, 3, 8, 1, 0}, 8, "HLL sketch: 8 bytes where its preamble needs 12"},
      {{2, 1, 7, 12, 3, 8, 1, 0, 1, 0, 0, 0}, 12, "HLL sketch: coupon 1 of rank 0"},
      {{2, 1, 7, 12, 3, 8, 2, 0, 1, 0, 0, 4, 1, 0, 0, 4},
       16,
       "HLL sketch: 1 distinct coupons, its count is 2"},
      {{3, 1, 7, 12, 5, 8, 0, 1, 0xff, 0xff, 0xff, 0xff},
       12,
       "HLL sketch: a set of 4294967295 coupons, at most 384"},
      {{3, 1, 7, 12, 60, 0, 0, 1, 9, 0, 0, 0}, 12, "HLL sketch: a set of 2^60 cells"},
      {{10, 1, 7, 21, 0, 8, 0, 2}, 8, "HLL sketch: 8 bytes where its preamble needs 1048616"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_hll hll;
    tr_error err;
    assert_int_equal(tr_hll_read(&hll, (tr_bytes){cases[i].bytes, cases[i].size}, &err),
                     TR_CORRUPT);
    assert_string_equal(err.message, cases[i].message);
  }
}

static void test_damaged_registers(void **state) {
  (void)state;
  tr_hll hll = tr_hll_empty(4), read;
  tr_error err;
  add_integers(&hll, 0, 100);
  tr_buffer bytes = bytes_of(&hll);
  const struct {
    size_t at;
    uint8_t value;
    const char *message;
  } cases[] = {
      {6, 60, "of rank"},                  /* a lowest register above all possible ranks */
      {36, 1, "where its preamble needs"}, /* an exception that does not exist */
      {40, 0xff, "0 exceptions, its registers name 2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t before = bytes.data[cases[i].at];
    bytes.data[cases[i].at] = cases[i].value;
    assert_int_equal(tr_hll_read(&read, tr_buffer_bytes(&bytes), &err), TR_CORRUPT);
    if (strstr(err.message, cases[i].message) == NULL) fail_msg("%s", err.message);
    bytes.data[cases[i].at] = before;
  }
  tr_buffer_free(&bytes);
  tr_hll_free(&hll);
}

/* An image of registers with the estimate of its maker (HIP, a double at 8), marked as valid. */
static tr_buffer image_with_hip(tr_hll *hll, double hip) {
  tr_buffer bytes = bytes_of(hll);
  bytes.data[5] &= (uint8_t)~16; /* in order */
  tr_store_double(bytes.data + 8, hip);
  return bytes;
}

/* A wrong HIP must not become an estimate, nor may it be written again. */
static void test_wrong_hip_is_ignored(void **state) {
  (void)state;
  const double claims[] = {0, 5, 80000, 130000, 4.3e14, -1, HUGE_VAL, NAN};
  tr_hll hll = tr_hll_empty(13);
  add_integers(&hll, 0, 100000);
  for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
    tr_hll read;
    tr_buffer bytes = image_with_hip(&hll, claims[i]);
    assert_int_equal(tr_hll_read(&read, tr_buffer_bytes(&bytes), NULL), TR_OK);
    assert_true(tr_hll_estimate(&read) == tr_hll_estimate(&hll));
    assert_same_bytes(&read, &hll);
    tr_buffer_free(&bytes);
    tr_hll_free(&read);
  }
  tr_hll_free(&hll);
}

/*
** A plausible HIP is the estimate until something is added. Writing, reading, and merging with an
** empty sketch keep it.
*/
static void test_hip(void **state) {
  (void)state;
  tr_hll hll = tr_hll_empty(12), more = tr_hll_empty(13), coupons = tr_hll_empty(13);
  add_integers(&hll, 0, 100000);
  add_integers(&more, 0, 5000);
  add_integers(&coupons, 0, 50);
  tr_buffer bytes = image_with_hip(&hll, 100123.25);
  const tr_hll *const others[] = {NULL, &more, &coupons, &hll};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    tr_hll read, into = tr_hll_empty(13), nothing = tr_hll_empty(11);
    assert_int_equal(tr_hll_read(&read, tr_buffer_bytes(&bytes), NULL), TR_OK);
    assert_true(tr_hll_estimate(&read) == 100123.25);
    assert_int_equal(tr_hll_merge(&read, &nothing, NULL), TR_OK);
    assert_int_equal(tr_hll_merge(&into, &read, NULL), TR_OK);
    assert_true(tr_hll_estimate(&into) == 100123.25);
    tr_buffer again = bytes_of(&into);
    assert_int_equal(tr_bytes_compare(tr_buffer_bytes(&again), tr_buffer_bytes(&bytes)), 0);
    if (others[i] == NULL) {
      add_integers(&into, 7, 8);
    } else {
      assert_int_equal(tr_hll_merge(&into, others[i], NULL), TR_OK);
    }
    assert_true(tr_hll_estimate(&into) == tr_hll_estimate(&hll));
    assert_same_bytes(&into, &hll);
    tr_buffer_free(&again);
    tr_hll_free(&into);
    tr_hll_free(&read);
  }
  tr_buffer_free(&bytes);
  tr_hll_free(&hll);
  tr_hll_free(&more);
  tr_hll_free(&coupons);
}

/* Over many sets the mean estimate is right, also with few registers. */
static void test_no_bias(void **state) {
  (void)state;
  enum { SETS = 1000 };
  test_random random = test_random_begin("hll bias");
  for (int lg_k = 4; lg_k <= 10; lg_k++) {
    for (int64_t n = 100; n <= 10000; n *= 10) {
      double sum = 0, squares = 0;
      long sets = test_effort(SETS) + 20;
      for (long i = 0; i < sets; i++) {
        tr_hll hll = tr_hll_empty(lg_k);
        int64_t from = (int64_t)(test_random_next(&random) >> 2);
        add_integers(&hll, from, from + n);
        double off = tr_hll_estimate(&hll) / (double)n - 1;
        sum += off, squares += off * off;
        tr_hll_free(&hll);
      }
      double mean = sum / (double)sets, deviation = sqrt(squares / (double)sets);
      if (fabs(mean) > 5 * deviation / sqrt((double)sets) + 0.003) {
        fail_msg("lg_k %d, %lld values: off by %.2f %% on average", lg_k, (long long)n, 100 * mean);
      }
    }
  }
}

/*
** Uses everything, with any allocation failing. What was there before the failure is still there.
*/
static tr_code use_all(void *context) {
  (void)context;
  tr_hll a = tr_hll_empty(12), b = tr_hll_empty(10), read = tr_hll_empty(12);
  tr_buffer bytes = {0};
  tr_code code = TR_OK;
  for (int64_t i = 0; i < 500 && code == TR_OK; i++) {
    tr_value value = tr_value_integer(i), other = tr_value_integer(i + 250);
    code = tr_hll_add(&a, &value, NULL);
    if (code == TR_OK && i < 60) code = tr_hll_add(&b, &other, NULL);
  }
  if (code == TR_OK) code = tr_hll_write(&b, &bytes, NULL);
  if (code == TR_OK) code = tr_hll_read(&read, tr_buffer_bytes(&bytes), NULL);
  if (code == TR_OK) code = tr_hll_merge(&a, &read, NULL);
  if (code == TR_OK) code = tr_hll_merge(&read, &a, NULL);
  bytes.size = 0;
  if (code == TR_OK) code = tr_hll_write(&a, &bytes, NULL);
  assert_true(tr_hll_estimate(&a) >= 0);
  tr_buffer_free(&bytes);
  tr_hll_free(&a);
  tr_hll_free(&b);
  tr_hll_free(&read);
  return code;
}

static void test_out_of_memory(void **state) {
  (void)state;
  assert_in_range(test_memory_fail_each(use_all, NULL), 20, 60);
}

/*
** As a combine function: the output is an INTEGER, 0 without values, and the same set of values
** gives the same accumulator.
*/
static void test_combine_function(void **state) {
  (void)state;
  tr_value nothing = tr_value_null();
  tr_combine combine = combining_bind("approx_count_distinct", &nothing, 1);
  void *a = combining_create(&combine), *b = combining_create(&combine);
  char *output = combining_output(&combine, a);
  assert_string_equal(output, "INTEGER 0");
  free(output);
  for (int64_t i = 0; i < 700; i++) {
    tr_value up = tr_value_integer(i), down = tr_value_real((double)(699 - i));
    assert_int_equal(combine.fn->add_input(&combine, a, &up, NULL), TR_OK);
    assert_int_equal(combine.fn->add_input(&combine, b, &down, NULL), TR_OK);
  }
  output = combining_output(&combine, b);
  assert_string_equal(output, "INTEGER 700");
  free(output);
  tr_buffer x = combining_write(&combine, a), y = combining_write(&combine, b);
  assert_int_equal(tr_bytes_compare(tr_buffer_bytes(&x), tr_buffer_bytes(&y)), 0);
  tr_buffer_free(&x);
  tr_buffer_free(&y);
  combining_free(&combine, a);
  combining_free(&combine, b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_hash_is_the_published_one),
      cmocka_unit_test(test_exact_while_small),
      cmocka_unit_test(test_shared_coupon),
      cmocka_unit_test(test_how_often_coupons_are_shared),
      cmocka_unit_test(test_small_counts),
      cmocka_unit_test(test_no_spike),
      cmocka_unit_test(test_error_and_size),
      cmocka_unit_test(test_order_and_cut),
      cmocka_unit_test(test_folding),
      cmocka_unit_test(test_empty),
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_damage_is_named),
      cmocka_unit_test(test_damaged_registers),
      cmocka_unit_test(test_wrong_hip_is_ignored),
      cmocka_unit_test(test_hip),
      cmocka_unit_test(test_no_bias),
      cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_combine_function),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
** combine/frequent_items.h: exact counts while they fit, bounds that always hold, merges, which
** values are equal, bytes, damage; and approx_top_count, which uses it.
** tests/replay/replay_sketches.c reads sketches of other implementations.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "combine/frequent_items.h"
#include "combining.h"
#include "effort.h"
#include "test_memory.h"
#include "test_random.h"

static void add(tr_frequent_items *items, tr_value value, int64_t times) {
  assert_int_equal(tr_frequent_add(items, &value, times, NULL), TR_OK);
}

/* The entry of a value, or NULL. */
static const tr_frequent_entry *find(const tr_frequent_items *items, tr_value value) {
  for (uint32_t i = 0; i < items->active; i++) {
    tr_value at = tr_frequent_value(&items->entries[i]);
    if (tr_value_compare(&at, &value) == 0) return &items->entries[i];
  }
  return NULL;
}

static void test_values(void **state) {
  (void)state;
  uint8_t long_text[100];
  memset(long_text, 'x', sizeof long_text);
  const tr_value distinct[] = {
      tr_value_integer(1),
      tr_value_integer(0),
      tr_value_integer(INT64_MIN),
      tr_value_real(0.5),
      tr_value_real(0x1p63),
      tr_value_real(-HUGE_VAL),
      tr_value_text(tr_bytes_of_text("")),
      tr_value_text(tr_bytes_of_text("1")),
      tr_value_text(tr_bytes_of_text("12345678")),
      tr_value_text((tr_bytes){long_text, 16}),
      tr_value_text((tr_bytes){long_text, 17}),
      tr_value_text((tr_bytes){long_text, 100}),
      tr_value_blob(tr_bytes_of_text("1")),
      tr_value_blob((tr_bytes){NULL, 0}),
      tr_value_blob((tr_bytes){long_text, 100}),
  };
  const tr_value again[] = {tr_value_real(1.0), tr_value_real(-0.0), tr_value_real(-0x1p63)};
  size_t count = sizeof distinct / sizeof *distinct;
  tr_frequent_items items = tr_frequent_empty(12, 0);
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < count; i++) add(&items, distinct[i], 1);
  }
  for (int i = 0; i < 3; i++) add(&items, again[i], 10);
  assert_int_equal(items.active, count);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(find(&items, distinct[i])->count, i < 3 ? 13 : 3);
  }
  assert_int_equal(items.weight, 75);
  assert_int_equal(items.classes, 7);
  tr_frequent_free(&items);
  assert_int_equal(test_memory_live(), 0);
}

/*
** A random number, or its digits as text or BLOB. Small ones are frequent, so some values repeat.
** `digits` holds the bytes.
*/
static tr_value random_value(test_random *random, char *digits, size_t size) {
  static const tr_type types[] = {TR_INTEGER, TR_REAL, TR_TEXT, TR_BLOB};
  uint64_t bits = test_random_next(random) >> test_random_below(random, 64);
  tr_type type = types[test_random_below(random, 4)];
  if (type == TR_INTEGER) return tr_value_integer((int64_t)bits);
  if (type == TR_REAL) return tr_value_real((double)bits / 2);
  size_t length = (size_t)snprintf(digits, size, "%llu", (unsigned long long)bits);
  tr_bytes bytes = {(const uint8_t *)digits, length};
  return type == TR_TEXT ? tr_value_text(bytes) : tr_value_blob(bytes);
}

static void assert_same(const tr_frequent_items *a, const tr_frequent_items *b) {
  assert_true(a->weight == b->weight);
  assert_true(a->offset == b->offset);
  assert_int_equal(a->classes, b->classes);
  for (int of = 0; of < TR_FREQUENT_CLASSES; of++) {
    tr_buffer x = {0}, y = {0};
    assert_int_equal(tr_frequent_write(a, (tr_frequent_class)of, &x, NULL), TR_OK);
    assert_int_equal(tr_frequent_write(b, (tr_frequent_class)of, &y, NULL), TR_OK);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    tr_buffer_free(&x);
    tr_buffer_free(&y);
  }
}

/* The quick and the general way of adding give the same result, through many purges. */
static void test_quick_adding(void **state) {
  (void)state;
  test_random random = test_random_begin("test_frequent_items, quick adding");
  for (long round = 0; round < test_effort(100); round++) {
    int lg_max = TR_FREQUENT_MIN_LG + (int)test_random_below(&random, 6);
    int least = (int)test_random_below(&random, (UINT64_C(1) << lg_max) / 8 + 1);
    tr_frequent_items quick = tr_frequent_empty(lg_max, least);
    tr_frequent_items slow = tr_frequent_empty(lg_max, least);
    long quickly = 0, count = (long)test_random_below(&random, 5000);
    for (long i = 0; i < count; i++) {
      char digits[24];
      tr_value value = random_value(&random, digits, sizeof digits);
      if (tr_frequent_add_short(&quick, &value)) {
        quickly++;
      } else {
        add(&quick, value, 1);
      }
      add(&slow, value, 1);
    }
    assert_true(quickly >= count / 2 - 100);
    assert_same(&slow, &quick);
    tr_frequent_free(&quick);
    tr_frequent_free(&slow);
  }
  assert_int_equal(test_memory_live(), 0);
}

static int compare_hashes(const void *a, const void *b) {
  const tr_frequent_entry *x = a, *y = b;
  return (x->hash > y->hash) - (x->hash < y->hash);
}

/* Enough values for some to have the same hash. */
static void test_same_hashes(void **state) {
  (void)state;
  enum { VALUES = 190000 };
  tr_frequent_items items = tr_frequent_empty(18, 0);
  for (int round = 0; round < 2; round++) {
    for (int64_t i = 0; i < VALUES; i++) {
      tr_value value = tr_value_integer(i * 1000003);
      if (!tr_frequent_add_short(&items, &value)) add(&items, value, 1);
    }
  }
  assert_int_equal(items.active, VALUES);
  assert_int_equal(items.offset, 0);
  int same = 0;
  qsort(items.entries, items.active, sizeof *items.entries, compare_hashes);
  for (uint32_t i = 0; i < items.active; i++) {
    assert_int_equal(items.entries[i].count, 2);
    same += i > 0 && items.entries[i].hash == items.entries[i - 1].hash;
  }
  assert_true(same > 0);
  tr_frequent_free(&items);
}

/* A stream, with the true counts of the values 0..DOMAIN-1. */
enum { DOMAIN = 20000 };
typedef struct stream {
  test_random random;
  int64_t counts[DOMAIN];
  int64_t total;
} stream;

/* Shape 0: value v about as often as 1/v. 1: all equally often. 2: one after another. */
static int64_t draw(stream *s, int shape) {
  double uniform = (double)(test_random_next(&s->random) >> 11) * 0x1p-53;
  int64_t value = shape == 0   ? (int64_t)pow(DOMAIN, uniform) - 1
                  : shape == 1 ? (int64_t)(uniform * DOMAIN)
                               : s->total % DOMAIN;
  s->counts[value]++;
  s->total++;
  return value;
}

static tr_value value_of(int64_t number, int is_text, char *room) {
  if (!is_text) return tr_value_integer(number);
  snprintf(room, 32, "value %lld", (long long)number);
  return tr_value_text(tr_bytes_of_text(room));
}

/*
** lower <= true <= upper for every value, in the table or not; and the offset is within its bound.
*/
static void assert_bounds(const tr_frequent_items *items, const stream *s, int is_text) {
  char room[32];
  int64_t *found = calloc(DOMAIN, sizeof *found);
  assert_true(found != NULL && items->weight == s->total);
  for (uint32_t i = 0; i < items->active; i++) {
    tr_value value = tr_frequent_value(&items->entries[i]);
    int64_t number = value.integer;
    if (is_text) {
      assert_in_range(value.bytes.size, 7, 30);
      memcpy(room, value.bytes.data, value.bytes.size);
      room[value.bytes.size] = '\0';
      number = strtoll(room + 6, NULL, 10);
    }
    found[number] = items->entries[i].count;
  }
  for (int64_t v = 0; v < DOMAIN; v++) {
    assert_true(found[v] <= s->counts[v] && s->counts[v] <= found[v] + items->offset);
  }
  assert_true((double)items->offset <= (double)s->total / (0.375 * (double)(1 << items->lg_max)));
  free(found);
}

static void test_bounds(void **state) {
  (void)state;
  static stream s;
  test_random random = test_random_begin("frequent bounds");
  char room[32];
  for (int lg_max = 3; lg_max <= 12; lg_max += 3) {
    for (int shape = 0; shape < 3; shape++) {
      for (int is_text = 0; is_text < 2; is_text++) {
        memset(&s, 0, sizeof s);
        s.random = random;
        /* With integers each purge keeps as many as possible, with texts none. */
        int least = is_text ? 0 : 1 << lg_max >> 3;
        tr_frequent_items items = tr_frequent_empty(lg_max, least);
        long n = test_effort(50000);
        for (long i = 0; i < n; i++) {
          int had_least = items.active >= (uint32_t)least;
          add(&items, value_of(draw(&s, shape), is_text, room), 1);
          assert_true(!had_least || items.active >= (uint32_t)least);
        }
        assert_bounds(&items, &s, is_text);
        random = s.random;
        tr_frequent_free(&items);
      }
    }
  }
}

/* The bounds hold after any merge tree. Nothing is lost while everything fits. */
static void test_merges(void **state) {
  (void)state;
  enum { PARTS = 9 };
  static stream s;
  s.random = test_random_begin("frequent merges");
  char room[32];
  for (int lg_max = 4; lg_max <= 16; lg_max += 4) {
    tr_frequent_items parts[PARTS];
    memset(s.counts, 0, sizeof s.counts);
    s.total = 0;
    for (int p = 0; p < PARTS; p++) parts[p] = tr_frequent_empty(lg_max, p % 2 << lg_max >> 3);
    for (long i = 0; i < test_effort(30000); i++) {
      add(&parts[test_random_below(&s.random, PARTS)], value_of(draw(&s, 0), 1, room), 1);
    }
    for (int left = PARTS; left > 1; left--) {
      int a = (int)test_random_below(&s.random, (uint64_t)left - 1);
      assert_int_equal(tr_frequent_merge(&parts[a], &parts[left - 1], NULL), TR_OK);
      tr_frequent_free(&parts[left - 1]);
    }
    assert_bounds(&parts[0], &s, 1);
    if (lg_max == 16) assert_int_equal(parts[0].offset, 0);
    tr_frequent_free(&parts[0]);
  }
}

/* One heavy value among values that are all different is found, wherever it comes. */
static void test_heavy_value(void **state) {
  (void)state;
  for (int where = 0; where < 3; where++) {
    tr_frequent_items items = tr_frequent_empty(5, 0);
    for (int64_t i = 0; i < 20000; i++) {
      int is_heavy = where == 0 ? i < 2000 : where == 1 ? i >= 18000 : i % 10 == 0;
      add(&items, tr_value_integer(is_heavy ? -1 : i), 1);
    }
    const tr_frequent_entry *entry = find(&items, tr_value_integer(-1));
    assert_non_null(entry);
    assert_true(entry->count <= 2000 && entry->count + items.offset >= 2000);
    tr_frequent_free(&items);
  }
}

static void test_weights(void **state) {
  (void)state;
  tr_error err;
  tr_value one = tr_value_integer(1), two = tr_value_integer(2);
  tr_frequent_items items = tr_frequent_empty(5, 0), other = tr_frequent_empty(5, 0);
  add(&items, one, INT64_MAX - 5);
  assert_int_equal(tr_frequent_add(&items, &two, 6, &err), TR_OVERFLOW);
  add(&other, two, 6);
  assert_int_equal(tr_frequent_merge(&items, &other, &err), TR_OVERFLOW);
  assert_int_equal(items.active, 1);
  assert_int_equal(tr_frequent_add(&items, &two, 5, &err), TR_OK);
  assert_int_equal(tr_frequent_add_short(&items, &two), 0);
  assert_int_equal(items.weight, INT64_MAX);
  tr_frequent_free(&items);
  tr_frequent_free(&other);
}

static void test_round_trip(void **state) {
  (void)state;
  char room[32];
  for (int of = 0; of < TR_FREQUENT_CLASSES; of++) {
    for (int64_t n = 0; n < 3000; n = n * 3 + 1) {
      tr_frequent_items items = tr_frequent_empty(6, 0), read;
      tr_buffer first = {0}, second = {0};
      for (int64_t i = 0; i < n; i++) {
        tr_value value = value_of(i % 200, of > 0, room);
        if (of == TR_FREQUENT_OTHERS) {
          value = i % 2 == 0 ? tr_value_blob(value.bytes) : tr_value_real((double)i + 0.5);
        }
        add(&items, value, 1 + i % 3);
      }
      assert_int_equal(tr_frequent_write(&items, (tr_frequent_class)of, &first, NULL), TR_OK);
      assert_int_equal(
          tr_frequent_read(&read, (tr_frequent_class)of, tr_buffer_bytes(&first), NULL), TR_OK);
      assert_int_equal(tr_frequent_write(&read, (tr_frequent_class)of, &second, NULL), TR_OK);
      assert_int_equal(tr_bytes_compare(tr_buffer_bytes(&first), tr_buffer_bytes(&second)), 0);
      assert_true(read.offset == items.offset && read.weight == items.weight);
      tr_buffer_free(&first);
      tr_buffer_free(&second);
      tr_frequent_free(&items);
      tr_frequent_free(&read);
    }
  }
}

static void test_damage_is_named(void **state) {
  (void)state;
  const struct {
    size_t at;
    uint8_t value;
    const char *message;
  } cases[] = {
      {0, 1, "1 preamble longs in its form"},
      {1, 2, "serial version 2, known is 1"},
      {2, 7, "family 7, its own is 10"},
      {3, 2, "a map of 2^3, at most 2^2"},
      {3, 27, "a map of 2^3, at most 2^27"},
      {4, 9, "a map of 2^9, at most 2^5"},
      {5, 4, "4 preamble longs in its form"},
      {8, 4, "cut short in its items"},
      {11, 0x7f, "cut short in its counts"},
      {16, 1, "a count is wrong"},
      {16, 0, "offset or weight is wrong"},
      {24, 1, "a count is wrong"},
      {23, 0x80, "offset or weight is wrong"},
      {31, 0x80, "offset or weight is wrong"},
      {32, 0, "a count is wrong"},
      {39, 0x80, "a count is wrong"},
      {56, 2, "an item stands twice"},
  };
  tr_frequent_items items = tr_frequent_empty(5, 0), read;
  tr_buffer bytes = {0};
  tr_error err;
  add(&items, tr_value_integer(1), 5);
  add(&items, tr_value_integer(2), 4);
  add(&items, tr_value_integer(3), 3);
  assert_int_equal(tr_frequent_write(&items, TR_FREQUENT_LONGS, &bytes, NULL), TR_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t before = bytes.data[cases[i].at];
    bytes.data[cases[i].at] = cases[i].value;
    assert_int_equal(tr_frequent_read(&read, TR_FREQUENT_LONGS, tr_buffer_bytes(&bytes), &err),
                     TR_CORRUPT);
    if (strstr(err.message, cases[i].message) == NULL) fail_msg("%zu: %s", i, err.message);
    bytes.data[cases[i].at] = before;
  }
  assert_int_equal(tr_buffer_append_byte(&bytes, 0, NULL), TR_OK);
  assert_int_equal(tr_frequent_read(&read, TR_FREQUENT_LONGS, tr_buffer_bytes(&bytes), &err),
                   TR_CORRUPT);
  assert_string_equal(err.message, "frequent-items sketch: bytes behind its end");
  tr_buffer_free(&bytes);
  tr_frequent_free(&items);
  assert_int_equal(test_memory_live(), 0);
}

static tr_code use_all(void *context) {
  (void)context;
  tr_frequent_items a = tr_frequent_empty(4, 0), b = tr_frequent_empty(5, 0),
                    read = tr_frequent_empty(4, 0);
  tr_buffer bytes = {0};
  tr_code code = TR_OK;
  int64_t added = 0;
  for (int i = 0; i < 100 && code == TR_OK; i++) {
    char text[40];
    snprintf(text, sizeof text, "a text that does not fit %d", i * i % 31);
    tr_value value = tr_value_text(tr_bytes_of_text(text));
    code = tr_frequent_add(i % 3 == 0 ? &b : &a, &value, 1 + i % 5, NULL);
    if (code == TR_OK) added += 1 + i % 5;
  }
  assert_true(a.weight + b.weight == added);
  if (code == TR_OK) code = tr_frequent_write(&b, TR_FREQUENT_STRINGS, &bytes, NULL);
  if (code == TR_OK)
    code = tr_frequent_read(&read, TR_FREQUENT_STRINGS, tr_buffer_bytes(&bytes), NULL);
  if (code == TR_OK) code = tr_frequent_merge(&a, &read, NULL);
  tr_buffer_free(&bytes);
  tr_frequent_free(&a);
  tr_frequent_free(&b);
  tr_frequent_free(&read);
  return code;
}

static void test_out_of_memory(void **state) {
  (void)state;
  assert_in_range(test_memory_fail_each(use_all, NULL), 50, 500);
}

static void expect_top(const char *what, const tr_value *values, size_t count, int64_t n,
                       const char *expected) {
  tr_value arguments[] = {tr_value_null(), tr_value_integer(n)};
  tr_combine combine = combining_bind("approx_top_count", arguments, 2);
  void *accumulator = combining_create(&combine);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(combine.fn->add_input(&combine, accumulator, &values[i], NULL), TR_OK);
  }
  /* Once as it is, and once through its BLOB. */
  for (int round = 0; round < 2; round++) {
    char *output = combining_output(&combine, accumulator);
    if (strcmp(output, expected) != 0) fail_msg("%s: %s", what, output);
    free(output);
    tr_buffer blob = combining_write(&combine, accumulator);
    combining_free(&combine, accumulator);
    accumulator = combining_read(tr_buffer_bytes(&blob), &combine);
    tr_buffer_free(&blob);
  }
  combining_free(&combine, accumulator);
}

static void test_top_count(void **state) {
  (void)state;
  const tr_value values[] = {
      tr_value_text(tr_bytes_of_text("b")),
      tr_value_integer(7),
      tr_value_real(7.0),
      tr_value_text(tr_bytes_of_text("a")),
      tr_value_real(0.5),
      tr_value_null(),
      tr_value_text(tr_bytes_of_text("b")),
      tr_value_real(0.5),
      tr_value_text(tr_bytes_of_text("b")),
  };
  expect_top("nothing", values, 0, 3, "JSON []");
  expect_top("NULL alone", values + 5, 1, 3, "JSON []");
  expect_top("one", values, 9, 1, "JSON [{\"value\":\"b\",\"count\":3,\"error\":0}]");
  expect_top(
      "numbers and text, ties by value", values, 9, 9,
      "JSON [{\"value\":\"b\",\"count\":3,\"error\":0},{\"value\":0.5,\"count\":2,\"error\":0},"
      "{\"value\":7,\"count\":2,\"error\":0},{\"value\":\"a\",\"count\":1,\"error\":0}]");
}

/*
** The output has n values even just after a purge, whether all counts are equal or some stand out.
*/
static void test_as_many_as_asked(void **state) {
  (void)state;
  static const struct {
    int64_t n;
    int64_t values; /* after which there has just been a purge, with each value added once */
  } cases[] = {{1, 3073}, {10, 3073}, {10, 5634}, {512, 3073}, {513, 6145}, {10000, 98305}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    for (int64_t often = 0; often < 3; often++) {
      tr_value arguments[] = {tr_value_null(), tr_value_integer(cases[c].n)};
      tr_combine combine = combining_bind("approx_top_count", arguments, 2);
      void *accumulator = combining_create(&combine);
      for (int64_t i = 0; i < cases[c].values + 7 * often; i++) {
        tr_value value = tr_value_integer(i);
        for (int64_t times = i < often ? 5 : 1; times > 0; times--) {
          assert_int_equal(combine.fn->add_input(&combine, accumulator, &value, NULL), TR_OK);
        }
      }
      char *output = combining_output(&combine, accumulator);
      int64_t found = 0;
      for (const char *at = output; (at = strstr(at, "\"value\":")) != NULL; at++) found++;
      assert_int_equal(found, cases[c].n);
      for (int64_t i = 0; i < often && i < cases[c].n; i++) {
        char frequent[64];
        snprintf(frequent, sizeof frequent, "{\"value\":%lld,\"count\":5,", (long long)i);
        assert_non_null(strstr(output, frequent));
      }
      free(output);
      combining_free(&combine, accumulator);
    }
  }
}

/*
** All classes in one accumulator that is purged many times, so that some class is nearly or wholly
** gone. It can be read back.
*/
static void test_mixed_accumulator(void **state) {
  (void)state;
  tr_value arguments[] = {tr_value_null(), tr_value_integer(5)};
  tr_combine combine = combining_bind("approx_top_count", arguments, 2), read;
  tr_frequent_items *accumulator = combining_create(&combine);
  char room[32];
  for (int64_t i = 0; i < 20000; i++) {
    tr_value value = value_of(i % 4 == 0 ? 7 : i, 1, room);
    if (i < 3) value = tr_value_integer(i);
    if (i % 1000 == 999) value = tr_value_real((double)i + 0.5);
    if (i % 500 == 7) value = tr_value_real(0.5);
    assert_int_equal(combine.fn->add_input(&combine, accumulator, &value, NULL), TR_OK);
  }
  assert_true(accumulator->offset > 3);
  char *before = combining_output(&combine, accumulator);
  tr_buffer blob = combining_write(&combine, accumulator);
  tr_frequent_items *again = combining_read(tr_buffer_bytes(&blob), &read);
  char *after = combining_output(&combine, again);
  assert_string_equal(before, after);
  assert_int_equal(again->weight, 20000);
  assert_int_equal(again->classes, 7);
  free(before);
  free(after);
  tr_buffer_free(&blob);
  combining_free(&combine, accumulator);
  combining_free(&combine, again);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),           cmocka_unit_test(test_bounds),
      cmocka_unit_test(test_merges),           cmocka_unit_test(test_heavy_value),
      cmocka_unit_test(test_weights),          cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_damage_is_named),  cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_top_count),        cmocka_unit_test(test_mixed_accumulator),
      cmocka_unit_test(test_as_many_as_asked), cmocka_unit_test(test_quick_adding),
      cmocka_unit_test(test_same_hashes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

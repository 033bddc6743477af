/*
** range/byte_key.h: the layout by examples, order and round trip by millions of random tuples, and
** reading by random bytes.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "effort.h"
#include "range/byte_key.h"
#include "test_memory.h"
#include "test_random.h"

static void key_of(const test_tuple *tuple, tr_buffer *key) {
  key->size = 0;
  for (size_t i = 0; i < tuple->count; i++) {
    assert_int_equal(tr_byte_key_append(key, &tuple->values[i], NULL), TR_OK);
  }
}

static int order_of(int comparison) {
  return (comparison > 0) - (comparison < 0);
}

static int compare_tuples(const test_tuple *a, const test_tuple *b) {
  for (size_t i = 0; i < a->count && i < b->count; i++) {
    int order = tr_value_compare(&a->values[i], &b->values[i]);
    if (order != 0) return order_of(order);
  }
  return (a->count > b->count) - (a->count < b->count);
}

static tr_value text(const char *bytes, size_t size) {
  return tr_value_text((tr_bytes){(const uint8_t *)bytes, size});
}

static tr_value blob(const char *bytes, size_t size) {
  return tr_value_blob((tr_bytes){(const uint8_t *)bytes, size});
}

/* The layout is stored in people's databases: these bytes never change. */
static void test_layout(void **state) {
  (void)state;
  const struct {
    tr_value value;
    const char *hex;
  } cases[] = {
      {tr_value_null(), "10"},
      {tr_value_integer(0), "218000000000000000"},
      {tr_value_real(-0.0), "218000000000000000"},
      {tr_value_integer(-1), "217fffffffffffffff"},
      {tr_value_integer(1), "218000000000000001"},
      {tr_value_real(1.0), "218000000000000001"},
      {tr_value_integer(INT64_MAX), "21ffffffffffffffff"},
      {tr_value_integer(INT64_MIN), "210000000000000000"},
      {tr_value_real(-0x1p63), "210000000000000000"},
      {tr_value_real(0x1p63), "2243e0000000000000"},
      {tr_value_real(HUGE_VAL), "227ff0000000000000"},
      {tr_value_real(-HUGE_VAL), "20800fffffffffffff"},
      {tr_value_real(1.5), "218000000000000001c0"},
      {tr_value_real(-1.5), "217ffffffffffffffec0"},
      {tr_value_real(0.0078125), "21800000000000000081"},
      {tr_value_real(-0.0078125), "217fffffffffffffffff"},
      {tr_value_real(0x1p-1074), "21800000000000000080808080808080808081"},
      {tr_value_real(-0x1p-1074), "217fffffffffffffffffffffffffffffffffff"},
      {text("", 0), "3000"},
      {text("ab", 2), "30616200"},
      {text("a\0", 2), "306100ff00"},
      {blob("", 0), "4000"},
      {blob("\xff", 1), "40ff00"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_buffer key = {0}, hex = {0};
    assert_int_equal(tr_byte_key_append(&key, &cases[i].value, NULL), TR_OK);
    assert_int_equal(tr_buffer_append_hex(&hex, tr_buffer_bytes(&key), NULL), TR_OK);
    assert_int_equal(tr_buffer_append_byte(&hex, 0, NULL), TR_OK);
    assert_string_equal((char *)hex.data, cases[i].hex);
    tr_buffer_free(&key);
    tr_buffer_free(&hex);
  }
}

/* Each below the next, as SQLite sorts them. */
static void test_order_by_example(void **state) {
  (void)state;
  const tr_value ascending[] = {tr_value_null(),
                                tr_value_real(-HUGE_VAL),
                                tr_value_real(-DBL_MAX),
                                tr_value_real(nextafter(-0x1p63, -HUGE_VAL)),
                                tr_value_integer(INT64_MIN),
                                tr_value_integer(INT64_MIN + 1),
                                tr_value_integer(-9007199254740993),
                                tr_value_real(-9007199254740992.0),
                                tr_value_real(-1.5),
                                tr_value_integer(-1),
                                tr_value_real(nextafter(-1, 0)),
                                tr_value_real(-0.5),
                                tr_value_real(-0x1p-7),
                                tr_value_real(nextafter(-0x1p-7, 0)),
                                tr_value_real(-DBL_MIN),
                                tr_value_real(-0x1p-1074),
                                tr_value_integer(0),
                                tr_value_real(0x1p-1074),
                                tr_value_real(DBL_MIN),
                                tr_value_real(nextafter(0x1p-7, 0)),
                                tr_value_real(0x1p-7),
                                tr_value_real(0.5),
                                tr_value_real(nextafter(1, 0)),
                                tr_value_integer(1),
                                tr_value_real(nextafter(1, 2)),
                                tr_value_real(4503599627370495.5),
                                tr_value_real(9007199254740992.0),
                                tr_value_integer(9007199254740993),
                                tr_value_real(9007199254740994.0),
                                tr_value_integer(INT64_MAX - 1),
                                tr_value_integer(INT64_MAX),
                                tr_value_real(0x1p63),
                                tr_value_real(DBL_MAX),
                                tr_value_real(HUGE_VAL),
                                text("", 0),
                                text("\0", 1),
                                text("\0\0", 2),
                                text("\0a", 2),
                                text("\1", 1),
                                text("a", 1),
                                text("a\0", 2),
                                text("a\0b", 3),
                                text("a\1", 2),
                                text("aa", 2),
                                text("\xff", 1),
                                text("\xff\xff", 2),
                                blob("", 0),
                                blob("\0", 1),
                                blob("\xff", 1)};
  size_t count = sizeof ascending / sizeof *ascending;
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < count; j++) {
      test_tuple a = {.count = 1, .values = {ascending[i]}};
      test_tuple b = {.count = 1, .values = {ascending[j]}};
      tr_buffer key_a = {0}, key_b = {0};
      key_of(&a, &key_a);
      key_of(&b, &key_b);
      int order = order_of(tr_bytes_compare(tr_buffer_bytes(&key_a), tr_buffer_bytes(&key_b)));
      assert_int_equal(order, (i > j) - (i < j));
      assert_int_equal(compare_tuples(&a, &b), order);
      tr_buffer_free(&key_a);
      tr_buffer_free(&key_b);
    }
  }
}

static void test_order_of_random_tuples(void **state) {
  (void)state;
  test_random random = test_random_begin("order of random tuples");
  tr_buffer key_a = {0}, key_b = {0};
  long equal = 0, pairs = test_effort(2000000);
  for (long i = 0; i < pairs; i++) {
    test_tuple a, b;
    test_random_tuple(&random, 1 + test_random_below(&random, TEST_TUPLE_MAX), &a);
    if (i % 4 == 0) {
      test_random_tuple(&random, 1 + test_random_below(&random, TEST_TUPLE_MAX), &b);
    } else {
      test_random_similar(&random, &a, &b);
      if (i % 16 == 1) b.count = 1 + test_random_below(&random, b.count);
    }
    key_of(&a, &key_a);
    key_of(&b, &key_b);
    int order = order_of(tr_bytes_compare(tr_buffer_bytes(&key_a), tr_buffer_bytes(&key_b)));
    assert_int_equal(order, compare_tuples(&a, &b));
    equal += order == 0;
  }
  assert_in_range(equal, pairs / 10, pairs); /* the pairs are as close as they are meant to be */
  tr_buffer_free(&key_a);
  tr_buffer_free(&key_b);
}

/* A number that is integral and fits reads back as INTEGER; all else as it was, to the bit. */
static void assert_reads_back(const tr_value *value, const tr_value *back) {
  assert_int_equal(tr_value_compare(value, back), 0);
  if (value->type == TR_REAL) {
    int fits = value->real >= -0x1p63 && value->real < 0x1p63 && trunc(value->real) == value->real;
    assert_int_equal(back->type, fits ? TR_INTEGER : TR_REAL);
  } else {
    assert_int_equal(back->type, value->type);
  }
}

static void test_reads_back(void **state) {
  (void)state;
  test_random random = test_random_begin("keys read back");
  tr_buffer key = {0}, scratch = {0};
  for (long i = test_effort(500000); i > 0; i--) {
    test_tuple tuple;
    test_random_tuple(&random, TEST_TUPLE_MAX, &tuple);
    key_of(&tuple, &key);
    size_t offset = 0, n = 0;
    tr_value value;
    while (tr_byte_key_next(tr_buffer_bytes(&key), &offset, &value, &scratch, NULL) == 1) {
      assert_in_range(n, 0, tuple.count - 1);
      assert_reads_back(&tuple.values[n++], &value);
    }
    assert_int_equal(n, tuple.count);
    assert_int_equal(offset, key.size);
  }
  tr_buffer_free(&key);
  tr_buffer_free(&scratch);
}

/* Makes a key's bytes wrong somewhere, or any bytes at all. */
static void random_key(test_random *random, tr_buffer *key) {
  static const uint8_t kinds[] = {0x00, 0x10, 0x20, 0x21, 0x22, 0x30, 0x40,
                                  0x7f, 0x80, 0x81, 0xc0, 0xfe, 0xff};
  test_tuple tuple;
  test_random_tuple(random, 1 + test_random_below(random, TEST_TUPLE_MAX), &tuple);
  key_of(&tuple, key);
  for (uint64_t changes = test_random_below(random, 4); changes > 0; changes--) {
    uint8_t byte = kinds[test_random_below(random, sizeof kinds)];
    uint8_t *at = key->data + test_random_below(random, key->size);
    switch (test_random_below(random, 4)) {
    case 0: *at = byte; break;
    case 1: *at = (uint8_t)test_random_next(random); break;
    case 2: assert_int_equal(tr_buffer_append_byte(key, byte, NULL), TR_OK); break;
    default: key->size -= key->size > 1; break;
    }
  }
}

/* Whatever reads back whole is what writing gives; whatever does not says where. */
static void test_any_bytes(void **state) {
  (void)state;
  test_random random = test_random_begin("any bytes");
  tr_buffer key = {0}, again = {0}, scratch = {0};
  long whole = 0, rounds = test_effort(1000000);
  for (long i = 0; i < rounds; i++) {
    random_key(&random, &key);
    again.size = 0;
    size_t offset = 0;
    tr_value value = tr_value_null();
    tr_error err;
    int answer;
    while ((answer = tr_byte_key_next(tr_buffer_bytes(&key), &offset, &value, &scratch, &err)) ==
           1) {
      assert_int_equal(tr_byte_key_append(&again, &value, NULL), TR_OK);
      assert_int_equal(again.size, offset);
    }
    assert_memory_equal(key.data, again.data, again.size);
    if (answer == 0) {
      assert_int_equal(again.size, key.size);
      whole++;
    } else {
      char place[32];
      snprintf(place, sizeof place, "at byte %zu:", offset);
      assert_int_equal(err.code, TR_CORRUPT);
      assert_non_null(strstr(err.message, place));
      assert_int_equal(offset, again.size);
    }
  }
  assert_in_range(whole, rounds / 10, rounds - rounds / 10);
  tr_buffer_free(&key);
  tr_buffer_free(&again);
  tr_buffer_free(&scratch);
}

/* A zero at each place of text of each length: none is missed. */
static void test_each_zero(void **state) {
  (void)state;
  tr_buffer key = {0}, scratch = {0};
  for (size_t size = 1; size <= 70; size++) {
    for (size_t at = 0; at < size; at++) {
      uint8_t bytes[70];
      memset(bytes, 1 + (int)(at % 2) * 0x7f, size);
      bytes[at] = 0;
      tr_value written = tr_value_text((tr_bytes){bytes, size}), read = tr_value_null();
      size_t offset = 0;
      key.size = 0;
      assert_int_equal(tr_byte_key_append(&key, &written, NULL), TR_OK);
      assert_int_equal(key.size, size + 3);
      assert_int_equal(tr_byte_key_next(tr_buffer_bytes(&key), &offset, &read, &scratch, NULL), 1);
      assert_int_equal(offset, key.size);
      assert_int_equal(tr_value_compare(&written, &read), 0);
    }
  }
  tr_buffer_free(&key);
  tr_buffer_free(&scratch);
}

static void test_refused(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t size;
    const char *why;
  } cases[] = {
      {"\x00", 1, "no such class"},
      {"\x21\x80\0\0\0\0\0\0", 8, "a number cut off"},
      {"\x21\x80\0\0\0\0\0\0\0\x80", 10, "a fraction of 0"},
      {"\x21\x80\0\0\0\0\0\0\0\xc0\x80", 11, "a trailing group of zeros"},
      {"\x21\xff\xff\xff\xff\xff\xff\xff\xff\xc0", 10, "a fraction where doubles have none"},
      {"\x21\x80\0\0\0\0\0\0\x01\xc0\x80\x80\x80\x80\x80\x80\x80\x80\x81", 19,
       "too fine a fraction"},
      {"\x21\x80\0\0\0\0\0\0\0\x80\xff", 11, "a tiny number that is not tiny"},
      {"\x21\x7f\xff\xff\xff\xff\xff\xff\xff\xff\x81", 11, "the same below zero"},
      {"\x22\x43\xdf\xff\xff\xff\xff\xff\xff", 9, "below 2^63"},
      {"\x22\x7f\xf0\0\0\0\0\0\x01", 9, "NaN"},
      {"\x20\xbc\x1f\xff\xff\xff\xff\xff\xff", 9, "-2^63"},
      {"\x20\x80\x0f\xff\xff\xff\xff\xff\xfe", 9, "NaN"},
      {"\x30"
       "ab",
       3, "text without end"},
      {"\x30"
       "a\x00\xff",
       4, "text that ends in an escape"},
      {"\x40", 1, "a blob without end"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    size_t offset = 0;
    tr_value value;
    tr_buffer scratch = {0};
    tr_error err;
    tr_bytes key = {(const uint8_t *)cases[i].bytes, cases[i].size};
    if (tr_byte_key_next(key, &offset, &value, &scratch, &err) != -1) fail_msg("%s", cases[i].why);
    assert_int_equal(err.code, TR_CORRUPT);
    assert_int_equal(offset, 0);
    tr_buffer_free(&scratch);
  }
}

static void test_rowid(void **state) {
  (void)state;
  static const int64_t ascending[] = {INT64_MIN, -2, -1, 0, 1, 256, INT64_MAX};
  uint8_t before[TR_ROWID_KEY_SIZE] = {0}, key[TR_ROWID_KEY_SIZE];
  for (size_t i = 0; i < sizeof ascending / sizeof *ascending; i++) {
    tr_byte_key_of_rowid(ascending[i], key);
    assert_true(tr_byte_key_to_rowid(key) == ascending[i]);
    if (i > 0) assert_true(memcmp(before, key, sizeof key) < 0);
    memcpy(before, key, sizeof key);
  }
}

/* Writes and reads a tuple of each class; a failed append leaves the key as it was. */
static tr_code write_and_read(void *context) {
  (void)context;
  const tr_value values[] = {tr_value_null(), tr_value_integer(7), tr_value_real(0.1),
                             text("a text that is longer than a small buffer has room for", 54),
                             blob("a\0b", 3)};
  tr_buffer key = {0}, scratch = {0};
  tr_error err = {.code = TR_OK};
  tr_code code = TR_OK;
  for (size_t i = 0; i < sizeof values / sizeof *values && code == TR_OK; i++) {
    size_t before = key.size;
    code = tr_byte_key_append(&key, &values[i], &err);
    if (code != TR_OK) assert_int_equal(key.size, before);
  }
  size_t offset = 0;
  tr_value value;
  int answer = 1;
  while (code == TR_OK && answer == 1) {
    answer = tr_byte_key_next(tr_buffer_bytes(&key), &offset, &value, &scratch, &err);
  }
  if (answer == -1) code = err.code;
  tr_buffer_free(&key);
  tr_buffer_free(&scratch);
  return code;
}

static void test_no_memory(void **state) {
  (void)state;
  assert_in_range(test_memory_fail_each(write_and_read, NULL), 3, 20);
}

/*
** Bytes that are no key, by what they are made from: a key that was cut, lengthened or had a byte
** changed. Whatever value is compared with them, it lies on the side of the bounds that its key
** says.
*/
static void test_bounds_of_any_bytes(void **state) {
  (void)state;
  test_random random = test_random_begin("bounds_of_any_bytes");
  tr_buffer bytes = {0}, key = {0}, scratch = {0};
  long between = 0;
  for (long i = 0; i < test_effort(300000); i++) {
    test_tuple from, to;
    test_random_tuple(&random, 1, &from);
    key_of(&from, &bytes);
    bytes.size = 1 + test_random_below(&random, bytes.size);
    if (test_random_below(&random, 2) == 0) {
      bytes.data[test_random_below(&random, bytes.size)] = (uint8_t)test_random_next(&random);
    }
    if (test_random_below(&random, 3) == 0) {
      tr_buffer_append_byte(&bytes, (uint8_t)test_random_next(&random), NULL);
    }
    tr_value low, high;
    size_t offset = 0;
    int kind =
        tr_byte_key_next_bounds(tr_buffer_bytes(&bytes), &offset, &low, &high, &scratch, NULL);
    assert_in_range(kind, 1, 3);
    if (kind == 1) continue;
    assert_int_equal(offset, 0);
    between += kind == 2;
    for (int j = 0; j < 4; j++) {
      if (j < 2) test_random_tuple(&random, 1, &to);
      if (j >= 2) test_random_similar(&random, &from, &to);
      key_of(&to, &key);
      int is_below = tr_bytes_compare(tr_buffer_bytes(&key), tr_buffer_bytes(&bytes)) < 0;
      if (kind == 3) assert_true(is_below);
      if (kind == 2 && is_below) assert_true(tr_value_compare(&to.values[0], &high) <= 0);
      if (kind == 2 && !is_below) assert_true(tr_value_compare(&to.values[0], &low) >= 0);
    }
  }
  assert_true(between > 0);
  tr_buffer_free(&bytes);
  tr_buffer_free(&key);
  tr_buffer_free(&scratch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layout),
      cmocka_unit_test(test_order_by_example),
      cmocka_unit_test(test_order_of_random_tuples),
      cmocka_unit_test(test_reads_back),
      cmocka_unit_test(test_any_bytes),
      cmocka_unit_test(test_each_zero),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_bounds_of_any_bytes),
      cmocka_unit_test(test_rowid),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests_name("byte_key", tests, NULL, NULL);
}

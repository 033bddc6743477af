/*
** range/restriction.h: texts read and written, and the questions to either kind.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "effort.h"
#include "range/restriction.h"
#include "same_restriction.h"
#include "test_memory.h"
#include "test_random.h"

static tr_restriction parse(const char *text) {
  tr_restriction restriction;
  tr_error err;
  if (tr_restriction_parse(&restriction, tr_bytes_of_text(text), &err) != TR_OK) {
    fail_msg("%s: %s", text, err.message);
  }
  return restriction;
}

static void assert_text(const tr_restriction *restriction, const char *wanted) {
  tr_buffer text = {0};
  assert_int_equal(tr_restriction_text(restriction, &text, NULL), TR_OK);
  assert_int_equal(tr_buffer_append_byte(&text, 0, NULL), TR_OK);
  assert_string_equal((char *)text.data, wanted);
  tr_buffer_free(&text);
}

/* What is read, and its one canonical text. */
static void test_reads(void **state) {
  (void)state;
  static const struct {
    const char *text, *canonical;
  } cases[] = {
      {"{\"start\":\"6b31\",\"end\":\"6b39\"}", "{\"start\":\"6b31\",\"end\":\"6b39\"}"},
      {"{\"start\":\"\",\"end\":\"\"}", "{\"start\":\"\",\"end\":\"\"}"},
      {"{\"end\":\"6B39\",\"start\":\"6B\"}", "{\"start\":\"6b\",\"end\":\"6b39\"}"},
      {" {\t\"start\" :\r\n\"00\" , \"end\" : \"\" } \n", "{\"start\":\"00\",\"end\":\"\"}"},
      {"{\"\\u0073tart\":\"\\u0036b\",\"e\\u006Ed\":\"6b3\\u0039\"}",
       "{\"start\":\"6b\",\"end\":\"6b39\"}"},
      {"{\"from\":0,\"to\":100}", "{\"from\":0,\"to\":100}"},
      {"{\"to\":-1,\"from\":-9223372036854775808}", "{\"from\":-9223372036854775808,\"to\":-1}"},
      {"{\"from\":-0,\"to\":9223372036854775807}", "{\"from\":0,\"to\":9223372036854775807}"},
      {"{ \"from\" : 7 ,\n\"to\":7 }", "{\"from\":7,\"to\":7}"},
      {"{\"claim\": 12 ,\"end\":\"\",\"start\":\"6B\"}",
       "{\"start\":\"6b\",\"end\":\"\",\"claim\":12}"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_restriction restriction = parse(cases[i].text);
    assert_text(&restriction, cases[i].canonical);
    tr_restriction_free(&restriction);
  }
}

/* What is not read, where it goes wrong and how that is said. */
static void test_refuses(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "at byte 0: the text ends here"},
      {"null", "at byte 0: an object must stand here"},
      {"[0,1]", "at byte 0: an object must stand here"},
      {"{", "at byte 1: the text ends here"},
      {"{}", "at byte 1: the members must be start and end, or from and to"},
      {"{\"from\":0}", "at byte 9: the members must be"},
      {"{\"start\":\"\"}", "at byte 11: the members must be"},
      {"{\"start\":\"\",\"to\":1}", "the members must be"},
      {"{\"from\":0,\"to\":1,\"start\":\"\"}", "the members must be"},
      {"{\"from\":0,\"from\":1}", "at byte 10: repeated member"},
      {"{\"from\":0,\"until\":1}", "at byte 10: unknown member"},
      {"{\"From\":0,\"to\":1}", "at byte 1: unknown member"},
      {"{\"start and much more than that\":0}", "at byte 1: unknown member"},
      {"{\"from\\u0000\":0,\"to\":1}", "at byte 1: unknown member"},
      {"{from:0,to:1}", "at byte 1: a member's name must stand here"},
      {"{\"from\" 0}", "at byte 8: a colon must stand here"},
      {"{\"from\":0 \"to\":1}", "at byte 10: a comma or the object's end"},
      {"{\"from\":0,}", "at byte 10: a member's name must stand here"},
      {"{,\"from\":0}", "at byte 1: a member's name must stand here"},
      {"{\"from\":0,\"to\":1}x", "at byte 17: nothing may follow the object"},
      {"{\"from\":0,\"to\":1}{", "at byte 17: nothing may follow the object"},
      {"{\"from\":0,\"to\":1", "at byte 16: the text ends here"},
      {"{\"from\":\"0\",\"to\":1}", "at byte 8: an integer must stand here"},
      {"{\"from\":null,\"to\":1}", "at byte 8: an integer must stand here"},
      {"{\"from\":-,\"to\":1}", "at byte 9: an integer must stand here"},
      {"{\"from\":+1,\"to\":1}", "at byte 8: an integer must stand here"},
      {"{\"from\":01,\"to\":1}", "at byte 8: a number with a leading zero"},
      {"{\"from\":0.0,\"to\":1}", "at byte 8: a number that is not written as an integer"},
      {"{\"from\":1e2,\"to\":1}", "at byte 8: a number that is not written as an integer"},
      {"{\"from\":0,\"to\":9223372036854775808}", "at byte 15: a number beyond 64 bits"},
      {"{\"from\":-9223372036854775809,\"to\":1}", "at byte 8: a number beyond 64 bits"},
      {"{\"from\":99999999999999999999999,\"to\":1}", "at byte 8: a number beyond 64 bits"},
      {"{\"start\":0,\"end\":\"\"}", "at byte 9: a string of hexadecimal digits must stand here"},
      {"{\"start\":\"0\",\"end\":\"\"}", "at byte 11: an odd number of digits"},
      {"{\"start\":\"0g\",\"end\":\"\"}", "at byte 11: not a hexadecimal digit"},
      {"{\"start\":\"0 \",\"end\":\"\"}", "at byte 11: not a hexadecimal digit"},
      {"{\"start\":\"\\x30\",\"end\":\"\"}", "at byte 11: no such escape"},
      {"{\"start\":\"\\u003\",\"end\":\"\"}", "at byte 15: \\u takes four hexadecimal digits"},
      {"{\"start\":\"00", "at byte 12: the text ends here"},
      {"{\"start\":\"\n\",\"end\":\"\"}", "at byte 10: a control character in a string"},
      {"{\"start\":\"02\",\"end\":\"01\"}", "Start [02] must be less than or equal to end [01]"},
      {"{\"from\":2,\"to\":1}", "Malformed range [2, 1)"},
      {"{\"start\":\"\",\"end\":\"\",\"claim\": 0}", "at byte 30: a claim is 1 or more"},
      {"{\"start\":\"\",\"end\":\"\",\"claim\":-5}", "at byte 29: a claim is 1 or more"},
      {"{\"start\":\"\",\"end\":\"\",\"claim\":\"1\"}", "at byte 29: an integer must stand here"},
      {"{\"start\":\"\",\"claim\":1}", "at byte 21: the members must be"},
      {"{\"from\":0,\"to\":1,\"claim\":1}", "the members must be"},
      {"{\"claim\":1,\"claim\":1}", "at byte 11: repeated member"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_restriction restriction;
    tr_error err;
    tr_code code = tr_restriction_parse(&restriction, tr_bytes_of_text(cases[i].text), &err);
    assert_int_equal(code, TR_INVALID_ARGUMENT);
    if (strstr(err.message, cases[i].message) == NULL) {
      fail_msg("%s: %s (wanted: %s)", cases[i].text, err.message, cases[i].message);
    }
  }
  assert_int_equal(test_memory_live(), 0);
}

/* A zero byte is no blank, wherever it stands. */
static void test_zero_byte(void **state) {
  (void)state;
  static const char text[] = "{\"from\":0,\"to\":1}";
  for (size_t at = 0; at <= strlen(text); at++) {
    char with_zero[sizeof text + 1] = {0};
    for (size_t i = 0; i < strlen(text); i++) with_zero[i + (i >= at)] = text[i];
    tr_restriction restriction;
    tr_bytes bytes = {(uint8_t *)with_zero, strlen(text) + 1};
    assert_int_equal(tr_restriction_parse(&restriction, bytes, NULL), TR_INVALID_ARGUMENT);
  }
}

static void test_contains(void **state) {
  (void)state;
  tr_restriction bytes = parse("{\"start\":\"61\",\"end\":\"63\"}");
  tr_restriction integers = parse("{\"from\":10,\"to\":20}");
  tr_error err;
  assert_int_equal(tr_restriction_contains(&bytes, tr_position_of_key(tr_bytes_of_text("b")), &err),
                   1);
  assert_int_equal(tr_restriction_contains(&bytes, tr_position_of_key(tr_bytes_of_text("c")), &err),
                   0);
  assert_int_equal(tr_restriction_contains(&integers, tr_position_of_offset(10), &err), 1);
  assert_int_equal(tr_restriction_contains(&integers, tr_position_of_offset(20), &err), 0);
  assert_int_equal(tr_restriction_contains(&bytes, tr_position_of_offset(10), &err), -1);
  assert_string_equal(err.message, "a restriction of byte keys has no position of integers");
  assert_int_equal(
      tr_restriction_contains(&integers, tr_position_of_key(tr_bytes_of_text("b")), &err), -1);
  assert_int_equal(err.code, TR_INVALID_ARGUMENT);
  tr_restriction_free(&bytes);
}

static void test_intersect(void **state) {
  (void)state;
  static const struct {
    const char *one, *other, *both;
  } cases[] = {
      {"{\"start\":\"10\",\"end\":\"30\"}", "{\"start\":\"20\",\"end\":\"40\"}",
       "{\"start\":\"20\",\"end\":\"30\"}"},
      {"{\"start\":\"10\",\"end\":\"\"}", "{\"start\":\"\",\"end\":\"40\"}",
       "{\"start\":\"10\",\"end\":\"40\"}"},
      {"{\"start\":\"\",\"end\":\"40\"}", "{\"start\":\"10\",\"end\":\"\"}",
       "{\"start\":\"10\",\"end\":\"40\"}"},
      {"{\"start\":\"\",\"end\":\"\"}", "{\"start\":\"\",\"end\":\"\"}",
       "{\"start\":\"\",\"end\":\"\"}"},
      {"{\"start\":\"10\",\"end\":\"20\"}", "{\"start\":\"20\",\"end\":\"30\"}",
       "{\"start\":\"10\",\"end\":\"10\"}"},
      {"{\"start\":\"20\",\"end\":\"30\"}", "{\"start\":\"\",\"end\":\"20\"}",
       "{\"start\":\"20\",\"end\":\"20\"}"},
      /* [empty, empty) would be all keys */
      {"{\"start\":\"\",\"end\":\"20\"}", "{\"start\":\"20\",\"end\":\"30\"}",
       "{\"start\":\"\",\"end\":\"00\"}"},
      {"{\"start\":\"\",\"end\":\"\"}", "{\"start\":\"20\",\"end\":\"20\"}",
       "{\"start\":\"\",\"end\":\"00\"}"},
      {"{\"start\":\"10\",\"end\":\"30\",\"claim\":1}",
       "{\"start\":\"20\",\"end\":\"40\",\"claim\":1}", "{\"start\":\"20\",\"end\":\"30\"}"},
      {"{\"from\":0,\"to\":10}", "{\"from\":5,\"to\":20}", "{\"from\":5,\"to\":10}"},
      {"{\"from\":5,\"to\":10}", "{\"from\":-5,\"to\":7}", "{\"from\":5,\"to\":7}"},
      {"{\"from\":5,\"to\":10}", "{\"from\":10,\"to\":20}", "{\"from\":5,\"to\":5}"},
      {"{\"from\":5,\"to\":10}", "{\"from\":0,\"to\":1}", "{\"from\":5,\"to\":5}"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_restriction one = parse(cases[i].one), other = parse(cases[i].other);
    assert_int_equal(tr_restriction_intersect(&one, &other, NULL), TR_OK);
    assert_text(&one, cases[i].both);
    tr_restriction_free(&one);
    tr_restriction_free(&other);
  }
  tr_restriction bytes = {.kind = TR_BYTES}, integers = {.kind = TR_INTEGERS};
  tr_error err;
  assert_int_equal(tr_restriction_intersect(&bytes, &integers, &err), TR_INVALID_ARGUMENT);
}

static void test_interpolate_integers(void **state) {
  (void)state;
  static const struct {
    int64_t from, to;
    double fraction;
    int64_t offset;
  } cases[] = {
      {0, 100, 0, 0},
      {0, 100, 0.29, 29}, /* 100 * 0.29 in doubles is 28.999999999999996 */
      {0, 100, 0x1.fffffffffffffp-1, 99},
      {-10, 10, 0.5, 0},
      {5, 6, 0.999, 5},
      {INT64_MIN, INT64_MAX, 0, INT64_MIN},
      {INT64_MIN, INT64_MAX, 0.5, -1},
      {0, INT64_MAX, 0.1, 922337203685477580},
      {0, INT64_MAX, 1e-18, 9},
      {0, INT64_MAX, 1e-300, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_restriction r = {.kind = TR_INTEGERS, .integers = {cases[i].from, cases[i].to}};
    int64_t offset = 42;
    assert_int_equal(tr_restriction_interpolate(&r, cases[i].fraction, NULL, &offset, NULL), TR_OK);
    assert_true(offset == cases[i].offset);
  }
  tr_restriction r = {.kind = TR_INTEGERS, .integers = {3, 3}};
  int64_t offset;
  tr_error err;
  assert_int_equal(tr_restriction_interpolate(&r, 0.5, NULL, &offset, &err), TR_INVALID_STATE);
  assert_string_equal(err.message, "Refusing to interpolate for empty [3, 3)");
  assert_int_equal(tr_restriction_interpolate(&r, 1, NULL, &offset, &err), TR_INVALID_ARGUMENT);
  assert_string_equal(err.message, "Fraction 1.0 must be in the range [0, 1)");
  assert_int_equal(tr_restriction_interpolate(&r, NAN, NULL, &offset, &err), TR_INVALID_ARGUMENT);
}

static void test_fraction(void **state) {
  (void)state;
  static const struct {
    int64_t from, to, offset;
    double fraction;
  } cases[] = {
      {0, 100, 0, 0},     {0, 100, 29, 0.29},
      {0, 100, 100, 1},   {5, 5, 5, 1},
      {-10, 10, 0, 0.5},  {INT64_MIN, INT64_MAX, 0, 0.5},
      {0, 3, 1, 1.0 / 3}, {INT64_MIN, INT64_MAX, INT64_MIN, 0},
  };
  tr_error err;
  double fraction = -1;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_restriction r = {.kind = TR_INTEGERS, .integers = {cases[i].from, cases[i].to}};
    tr_position at = tr_position_of_offset(cases[i].offset);
    assert_int_equal(tr_restriction_fraction(&r, at, &fraction, NULL), TR_OK);
    assert_true(fabs(fraction - cases[i].fraction) <= 0x1p-53);
  }
  tr_restriction r = {.kind = TR_INTEGERS, .integers = {0, 10}};
  assert_int_equal(tr_restriction_fraction(&r, tr_position_of_offset(11), &fraction, &err),
                   TR_INVALID_ARGUMENT);
  assert_string_equal(err.message, "Cannot compute fraction for 11 outside this [0, 10)");
  assert_int_equal(tr_restriction_fraction(&r, tr_position_of_offset(-1), &fraction, &err),
                   TR_INVALID_ARGUMENT);
  assert_int_equal(
      tr_restriction_fraction(&r, tr_position_of_key(tr_bytes_of_text("k")), &fraction, &err),
      TR_INVALID_ARGUMENT);
  tr_restriction bytes = parse("{\"start\":\"10\",\"end\":\"20\"}");
  tr_position middle = tr_position_of_key((tr_bytes){(const uint8_t *)"\x18", 1});
  assert_int_equal(tr_restriction_fraction(&bytes, middle, &fraction, NULL), TR_OK);
  assert_true(fraction == 0.5);
  tr_restriction_free(&bytes);
}

/* The pieces, in one text: "a,b c,d ". */
static tr_code append_piece(void *context, const tr_restriction *piece, tr_error *err) {
  tr_buffer *text = context;
  if (piece->kind == TR_INTEGERS) {
    return tr_buffer_printf(text, err, "%lld,%lld ", (long long)piece->integers.from,
                            (long long)piece->integers.to);
  }
  tr_code code = tr_buffer_append_hex(text, tr_buffer_bytes(&piece->bytes.start), err);
  if (code == TR_OK) code = tr_buffer_append_byte(text, ',', err);
  if (code == TR_OK) code = tr_buffer_append_hex(text, tr_buffer_bytes(&piece->bytes.end), err);
  if (code == TR_OK) code = tr_buffer_append_byte(text, ' ', err);
  return code;
}

static void test_split(void **state) {
  (void)state;
  static const struct {
    const char *whole;
    int64_t count;
    const char *pieces;
  } cases[] = {
      {"{\"from\":0,\"to\":10}", 3, "0,4 4,7 7,10 "},
      {"{\"from\":0,\"to\":2}", 5, "0,1 1,2 "},
      {"{\"from\":7,\"to\":7}", 5, "7,7 "},
      {"{\"from\":-9223372036854775808,\"to\":9223372036854775807}", 2,
       "-9223372036854775808,0 0,9223372036854775807 "},
      {"{\"from\":0,\"to\":10}", 1, "0,10 "},
      {"{\"start\":\"\",\"end\":\"\"}", 1, ", "},
      {"{\"start\":\"\",\"end\":\"\"}", 2, ",80000000000000 80000000000000, "},
      {"{\"start\":\"10\",\"end\":\"20\"}", 2, "10,18000000000000 18000000000000,20 "},
      {"{\"start\":\"10\",\"end\":\"1000\"}", 4, "10,1000 "},
      {"{\"start\":\"10\",\"end\":\"10\"}", 4, "10,10 "},
      {"{\"start\":\"\",\"end\":\"00\"}", 4, ",00 "},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_restriction whole = parse(cases[i].whole);
    tr_buffer pieces = {0};
    assert_int_equal(tr_restriction_split(&whole, cases[i].count, append_piece, &pieces, NULL),
                     TR_OK);
    assert_int_equal(tr_buffer_append_byte(&pieces, 0, NULL), TR_OK);
    assert_string_equal((char *)pieces.data, cases[i].pieces);
    tr_buffer_free(&pieces);
    tr_restriction_free(&whole);
  }
  tr_restriction whole = {.kind = TR_INTEGERS, .integers = {0, 10}};
  tr_error err;
  assert_int_equal(tr_restriction_split(&whole, 0, append_piece, NULL, &err), TR_INVALID_ARGUMENT);
  assert_string_equal(err.message, "number of pieces 0 must be a positive integer");
}

/* Pieces follow each other from the start to the end, none empty, of widths that differ by one. */
typedef struct cover {
  int64_t next;
  uint64_t narrowest, widest;
  int64_t count;
} cover;

static tr_code check_piece(void *context, const tr_restriction *piece, tr_error *err) {
  cover *c = context;
  (void)err;
  uint64_t width = tr_offset_range_width(&piece->integers);
  assert_true(piece->integers.from == c->next);
  assert_true(width > 0);
  c->next = piece->integers.to;
  if (width < c->narrowest) c->narrowest = width;
  if (width > c->widest) c->widest = width;
  c->count++;
  return TR_OK;
}

static void test_split_integers_evenly(void **state) {
  (void)state;
  test_random random = test_random_begin("pieces of integers");
  for (long i = test_effort(20000); i > 0; i--) {
    uint64_t width = test_random_next(&random) >> test_random_below(&random, 64);
    int64_t from = (int64_t)test_random_next(&random);
    int64_t to = (int64_t)((uint64_t)from + width);
    if (width == 0 || to < from) continue;
    tr_restriction whole = {.kind = TR_INTEGERS, .integers = {from, to}};
    int64_t count = 1 + (int64_t)test_random_below(&random, 50);
    cover c = {from, UINT64_MAX, 0, 0};
    assert_int_equal(tr_restriction_split(&whole, count, check_piece, &c, NULL), TR_OK);
    assert_true(c.next == to);
    assert_true(c.widest - c.narrowest <= 1);
    assert_true(c.count == count || (uint64_t)c.count == width);
  }
}

/* Takes pieces until it has three, each of which must hold a key. */
static tr_code take_three(void *context, const tr_restriction *piece, tr_error *err) {
  int *count = context;
  assert_true(tr_bytes_compare(tr_buffer_bytes(&piece->bytes.start),
                               tr_buffer_bytes(&piece->bytes.end)) < 0);
  return ++*count == 3 ? tr_error_set(err, TR_INTERRUPTED, "enough") : TR_OK;
}

/* So many pieces that the first bounds fall on the start and on each other. */
static void test_split_into_too_many(void **state) {
  (void)state;
  tr_restriction whole = parse("{\"start\":\"0000000000000000\",\"end\":\"0010000000000001\"}");
  int count = 0;
  assert_int_equal(tr_restriction_split(&whole, INT64_C(1) << 60, take_three, &count, NULL),
                   TR_INTERRUPTED);
  tr_restriction_free(&whole);
}

static tr_code use_all(void *context) {
  tr_restriction restriction, other, copy = {0};
  tr_code code = tr_restriction_parse(&restriction, tr_bytes_of_text(context), NULL);
  if (code != TR_OK) return code;
  code = tr_restriction_copy(&other, &restriction, NULL);
  if (code != TR_OK) goto done;
  assert_true(is_same_restriction(&restriction, &other));
  code = tr_restriction_intersect(&restriction, &other, NULL);
  assert_true(is_same_restriction(&restriction, &other));
  if (code == TR_OK) code = tr_restriction_copy(&copy, &restriction, NULL);
  tr_buffer key = {0}, text = {0};
  int64_t offset;
  if (code == TR_OK) code = tr_restriction_interpolate(&restriction, 0.5, &key, &offset, NULL);
  if (code == TR_OK) code = tr_restriction_split(&restriction, 3, append_piece, &text, NULL);
  size_t before = text.size;
  if (code == TR_OK) {
    code = tr_restriction_text(&restriction, &text, NULL);
    if (code != TR_OK) assert_int_equal(text.size, before);
  }
  tr_buffer_free(&key);
  tr_buffer_free(&text);
done:
  tr_restriction_free(&copy);
  tr_restriction_free(&other);
  tr_restriction_free(&restriction);
  return code;
}

static void test_no_memory(void **state) {
  (void)state;
  static char integers[] = "{\"from\":0,\"to\":100}";
  char bytes[1400];
  snprintf(bytes, sizeof bytes, "{\"start\":\"%0600d\",\"end\":\"%0600d\"}", 1, 2);
  assert_in_range(test_memory_fail_each(use_all, bytes), 12, 40);
  assert_in_range(test_memory_fail_each(use_all, integers), 1, 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reads),
      cmocka_unit_test(test_refuses),
      cmocka_unit_test(test_zero_byte),
      cmocka_unit_test(test_contains),
      cmocka_unit_test(test_intersect),
      cmocka_unit_test(test_interpolate_integers),
      cmocka_unit_test(test_fraction),
      cmocka_unit_test(test_split),
      cmocka_unit_test(test_split_integers_evenly),
      cmocka_unit_test(test_split_into_too_many),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests_name("restriction", tests, NULL, NULL);
}

/*
** base/bytes.h: order of views, growth of buffers, and that a failed allocation changes nothing.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "test_memory.h"

static void test_compare(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t size;
  } ascending[] = {{NULL, 0}, {"\0", 1}, {"\0\0", 2}, {"a", 1},    {"a\0", 2},
                   {"ab", 2}, {"b", 1},  {"\x80", 1}, {"\xff", 1}, {"\xff\xff", 2}};
  size_t count = sizeof ascending / sizeof *ascending;
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < count; j++) {
      tr_bytes a = {(const uint8_t *)ascending[i].bytes, ascending[i].size};
      tr_bytes b = {(const uint8_t *)ascending[j].bytes, ascending[j].size};
      int order = tr_bytes_compare(a, b);
      assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
    }
  }
}

static void test_is_name(void **state) {
  (void)state;
  static const char *const others[] = {"", "top_", "top_10s", "top_20", "tops10", "\xd4op_10"};
  assert_true(tr_bytes_is_name(tr_bytes_of_text("top_10"), "top_10"));
  assert_true(tr_bytes_is_name(tr_bytes_of_text("ToP_10"), "top_10"));
  assert_true(tr_bytes_is_name((tr_bytes){NULL, 0}, ""));
  assert_false(tr_bytes_is_name((tr_bytes){(const uint8_t *)"top_10\0", 7}, "top_10"));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    assert_false(tr_bytes_is_name(tr_bytes_of_text(others[i]), "top_10"));
  }
}

static void test_shared_prefix(void **state) {
  (void)state;
  tr_bytes none = {NULL, 0}, ab = tr_bytes_of_text("ab"), abc = tr_bytes_of_text("abc");
  assert_int_equal(tr_bytes_shared_prefix(none, abc), 0);
  assert_int_equal(tr_bytes_shared_prefix(ab, abc), 2);
  assert_int_equal(tr_bytes_shared_prefix(abc, abc), 3);
  assert_int_equal(tr_bytes_shared_prefix(tr_bytes_of_text("axc"), abc), 1);
}

static void test_to_text(void **state) {
  (void)state;
  char *text = tr_bytes_to_text((tr_bytes){(const uint8_t *)"abc", 2});
  assert_string_equal(text, "ab");
  test_memory_fail_at(1);
  assert_null(tr_bytes_to_text(tr_bytes_of_text(text)));
  test_memory_fail_at(0);
  tr_free(text);
  text = tr_bytes_to_text((tr_bytes){NULL, 0});
  assert_string_equal(text, "");
  tr_free(text);
}

static void test_appends(void **state) {
  (void)state;
  tr_buffer buffer = {0};
  assert_int_equal(tr_buffer_append_text(&buffer, "ab", NULL), TR_OK);
  assert_int_equal(tr_buffer_append_byte(&buffer, 'c', NULL), TR_OK);
  assert_int_equal(tr_buffer_append(&buffer, (tr_bytes){NULL, 0}, NULL), TR_OK);
  assert_int_equal(tr_buffer_append_hex(&buffer, (tr_bytes){(const uint8_t *)"\x00\x9f", 2}, NULL),
                   TR_OK);
  assert_int_equal(tr_buffer_printf(&buffer, NULL, "<%d %s>", INT_MIN, "x"), TR_OK);
  static const char wanted[] = "abc009f<-2147483648 x>";
  assert_int_equal(buffer.size, strlen(wanted));
  assert_memory_equal(buffer.data, wanted, strlen(wanted));
  tr_buffer_free(&buffer);
  assert_null(buffer.data);
  assert_int_equal(buffer.size + buffer.capacity, 0);
}

static void test_grows(void **state) {
  (void)state;
  tr_buffer buffer = {0};
  for (size_t i = 0; i < 100000; i++) {
    assert_int_equal(tr_buffer_append_byte(&buffer, (uint8_t)(i % 251), NULL), TR_OK);
  }
  assert_int_equal(buffer.size, 100000);
  assert_in_range(buffer.capacity, 100000, 200000);
  for (size_t i = 0; i < 100000; i++) assert_int_equal(buffer.data[i], i % 251);
  tr_buffer_free(&buffer);
}

static void test_set(void **state) {
  (void)state;
  tr_buffer buffer = {0};
  assert_int_equal(tr_buffer_set(&buffer, tr_bytes_of_text("a longer text"), NULL), TR_OK);
  uint8_t *before = buffer.data;
  assert_int_equal(tr_buffer_set(&buffer, tr_bytes_of_text("short"), NULL), TR_OK);
  assert_ptr_equal(buffer.data, before);
  assert_int_equal(buffer.size, 5);
  /* A part of itself. */
  assert_int_equal(tr_buffer_set(&buffer, (tr_bytes){buffer.data + 1, 3}, NULL), TR_OK);
  assert_memory_equal(buffer.data, "hor", 3);
  assert_int_equal(tr_buffer_set(&buffer, (tr_bytes){NULL, 0}, NULL), TR_OK);
  assert_int_equal(buffer.size, 0);
  tr_buffer_free(&buffer);
}

/* Sizes that no memory has are refused before any arithmetic wraps around. */
static void test_absurd_sizes(void **state) {
  (void)state;
  tr_buffer buffer = {0};
  tr_error err;
  assert_int_equal(tr_buffer_append_text(&buffer, "kept", NULL), TR_OK);
  assert_int_equal(tr_buffer_reserve(&buffer, SIZE_MAX, &err), TR_NO_MEMORY);
  assert_int_equal(tr_buffer_reserve(&buffer, SIZE_MAX / 2, &err), TR_NO_MEMORY);
  assert_int_equal(tr_buffer_append_hex(&buffer, (tr_bytes){buffer.data, SIZE_MAX / 2}, &err),
                   TR_NO_MEMORY);
  assert_string_equal(err.message, "out of memory");
  assert_int_equal(buffer.size, 4);
  tr_buffer_free(&buffer);
}

static tr_code use_all(void *context) {
  (void)context;
  static const char filling[] = "forty bytes and a few more, to be certain";
  tr_buffer buffer = {0};
  tr_code code = TR_OK;
  for (int step = 0; step < 5 && code == TR_OK; step++) {
    size_t before = buffer.size;
    switch (step) {
    case 0: code = tr_buffer_set(&buffer, tr_bytes_of_text(filling), NULL); break;
    case 1: code = tr_buffer_append_text(&buffer, filling, NULL); break;
    case 2: code = tr_buffer_append_hex(&buffer, tr_bytes_of_text(filling), NULL); break;
    case 3: code = tr_buffer_printf(&buffer, NULL, "%s%s%s", filling, filling, filling); break;
    default: code = tr_buffer_reserve(&buffer, 10000, NULL); break;
    }
    if (code != TR_OK) assert_int_equal(buffer.size, before);
  }
  tr_buffer_free(&buffer);
  return code;
}

static void test_no_memory(void **state) {
  (void)state;
  assert_int_equal(test_memory_fail_each(use_all, NULL), 5);
}

/* base/error.h: what is too long for a message is cut, visibly. */
static void test_long_message(void **state) {
  (void)state;
  char text[TR_MESSAGE_SIZE + 1];
  memset(text, 'x', TR_MESSAGE_SIZE);
  tr_error err;
  text[TR_MESSAGE_SIZE - 1] = '\0';
  assert_int_equal(tr_error_set(&err, TR_CORRUPT, "%s", text), TR_CORRUPT);
  assert_string_equal(err.message, text);
  text[TR_MESSAGE_SIZE - 1] = 'x';
  text[TR_MESSAGE_SIZE] = '\0';
  assert_int_equal(tr_error_no(&err, TR_TOO_BIG, "%s", text), -1);
  assert_int_equal(err.code, TR_TOO_BIG);
  assert_int_equal(strlen(err.message), TR_MESSAGE_SIZE - 1);
  assert_string_equal(err.message + TR_MESSAGE_SIZE - 5, "x...");
  assert_int_equal(tr_error_set(NULL, TR_OVERFLOW, "nobody reads this"), TR_OVERFLOW);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_is_name),       cmocka_unit_test(test_to_text),
      cmocka_unit_test(test_shared_prefix), cmocka_unit_test(test_compare),
      cmocka_unit_test(test_appends),       cmocka_unit_test(test_grows),
      cmocka_unit_test(test_set),           cmocka_unit_test(test_absurd_sizes),
      cmocka_unit_test(test_no_memory),     cmocka_unit_test(test_long_message),
  };
  return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}

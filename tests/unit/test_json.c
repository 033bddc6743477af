/*
** JSON text of values, and the text of refused arguments: what is escaped, how numbers stand, where
** long values are cut.
*/
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/argument.h"
#include "base/json.h"
#include "test_memory.h"

#define BYTES(text)                           \
  (tr_bytes) {                                \
    (const uint8_t *)(text), sizeof(text) - 1 \
  }

static void values(void **state) {
  (void)state;
  const struct {
    tr_value value;
    const char *json; /* NULL: refused */
  } cases[] = {
      {tr_value_null(), "null"},
      {tr_value_integer(0), "0"},
      {tr_value_integer(INT64_MIN), "-9223372036854775808"},
      {tr_value_integer(INT64_MAX), "9223372036854775807"},
      {tr_value_real(1), "1.0"},
      {tr_value_real(-0.0), "-0.0"},
      {tr_value_real(0.1), "0.1"},
      {tr_value_real(1e300), "1.0E300"},
      {tr_value_real(DBL_MAX), "1.7976931348623157E308"},
      {tr_value_real(5e-324), "4.9E-324"},
      {tr_value_real(HUGE_VAL), "9e999"},
      {tr_value_real(-HUGE_VAL), "-9e999"},
      {tr_value_text(BYTES("")), "\"\""},
      {tr_value_text(BYTES("plain")), "\"plain\""},
      {tr_value_text(BYTES("\"\\/")), "\"\\\"\\\\/\""},
      {tr_value_text(BYTES("\b\t\n\f\r")), "\"\\b\\t\\n\\f\\r\""},
      {tr_value_text(BYTES("a\0b\x1f\x7f")), "\"a\\u0000b\\u001f\x7f\""},
      {tr_value_text(BYTES("\345\214\227\360\237\230\200")), "\"\345\214\227\360\237\230\200\""},
      {tr_value_blob(BYTES("")), NULL},
      {tr_value_blob(BYTES("abc")), NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_buffer json = {0};
    tr_error err = {0};
    assert_int_equal(tr_buffer_append_text(&json, "x", NULL), TR_OK);
    tr_code code = tr_json_append_value(&json, &cases[i].value, &err);
    if (cases[i].json == NULL) {
      assert_int_equal(code, TR_INVALID_ARGUMENT);
      assert_string_equal(err.message, "JSON cannot hold BLOB values");
      assert_int_equal(json.size, 1);
    } else {
      assert_int_equal(code, TR_OK);
      assert_int_equal(json.size, strlen(cases[i].json) + 1);
      assert_memory_equal(json.data + 1, cases[i].json, json.size - 1);
    }
    tr_buffer_free(&json);
  }
}

static tr_code append_long_text(void *context) {
  tr_buffer json = {0};
  tr_code code = tr_buffer_append_text(&json, "before", NULL);
  size_t before = json.size;
  if (code == TR_OK) code = tr_json_append_text(&json, *(tr_bytes *)context, NULL);
  if (code != TR_OK) assert_true(json.size == before || json.size == 0);
  tr_buffer_free(&json);
  return code;
}

static void a_failed_allocation_leaves_the_buffer(void **state) {
  (void)state;
  char long_text[1000];
  memset(long_text, '\n', sizeof long_text);
  tr_bytes text = {(const uint8_t *)long_text, sizeof long_text};
  assert_true(test_memory_fail_each(append_long_text, &text) > 2);
}

static void refused_arguments(void **state) {
  (void)state;
  char ascii[201] = {0}, wide[201] = {0};
  memset(ascii, 'a', 200);
  for (int i = 0; i < 200; i += 2) memcpy(wide + i, "\303\251", 2);
  memmove(wide + 1, wide, 199); /* so that a character lies over the cut */
  wide[0] = 'x';
  const struct {
    tr_value value;
    const char *shown;
    size_t size; /* of what is shown, all in all */
  } cases[] = {
      {tr_value_null(), "NULL: why", 9},
      {tr_value_integer(-7), "-7: why", 7},
      {tr_value_real(0.5), "0.5: why", 8},
      {tr_value_text(BYTES("text")), "'text': why", 11},
      {tr_value_text((tr_bytes){0}), "'': why", 7},
      {tr_value_text((tr_bytes){(const uint8_t *)ascii, 200}), "'aaaa", 80 + 5 + 5},
      {tr_value_text((tr_bytes){(const uint8_t *)wide, 199}), "'x\303\251", 79 + 5 + 5},
      {tr_value_blob(BYTES("\0\xff")), "x'00ff': why", 12},
      {tr_value_blob((tr_bytes){(const uint8_t *)ascii, 200}), "x'6161", 160 + 6 + 5},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    static const char start[] = "f(): argument a = ";
    tr_error err;
    assert_int_equal(tr_argument_error(&err, "f", "a", &cases[i].value, "why"),
                     TR_INVALID_ARGUMENT);
    assert_memory_equal(err.message, start, sizeof start - 1);
    const char *shown = err.message + sizeof start - 1;
    assert_memory_equal(shown, cases[i].shown, strlen(cases[i].shown));
    assert_int_equal(strlen(shown), cases[i].size);
  }
}

static void reasons_of_others(void **state) {
  (void)state;
  tr_value value = tr_value_integer(1);
  tr_error reason, err;
  tr_error_set(&reason, TR_CORRUPT, "it is cut short");
  assert_int_equal(tr_argument_refused(&err, "f", "a", &value, &reason), TR_CORRUPT);
  assert_int_equal(err.code, TR_CORRUPT);
  assert_string_equal(err.message, "f(): argument a = 1: it is cut short");
  tr_error_no_memory(&reason);
  assert_int_equal(tr_argument_refused(&err, "f", "a", &value, &reason), TR_NO_MEMORY);
  assert_string_equal(err.message, "out of memory");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values),
      cmocka_unit_test(a_failed_allocation_leaves_the_buffer),
      cmocka_unit_test(refused_arguments),
      cmocka_unit_test(reasons_of_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

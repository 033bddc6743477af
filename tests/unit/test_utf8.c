/*
** base/utf8: texts are cut between characters and shown as UTF-8; so is every error's message.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "base/error.h"
#include "base/utf8.h"

static void a_text_is_cut_between_characters(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t most;
    size_t shown;
  } cases[] = {
      {"", 0, 0},
      {"abc", 5, 3},
      {"abc", 3, 3},
      {"abc", 2, 2},
      {"\xC3\xA9", 2, 2},
      {"\xC3\xA9", 1, 0},
      {"a\xC3\xA9", 2, 1},
      {"a\xE2\x82\xAC", 3, 1},
      {"a\xE2\x82\xAC", 2, 1},
      {"a\xF0\x9F\x98\x80", 4, 1},
      {"a\xF0\x9F\x98\x80 ", 5, 5},
      /* No character: cut where it was to be. */
      {"\x80\x80\x80\x80\x80\x80", 5, 5},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tr_bytes text = tr_bytes_of_text(cases[i].text);
    assert_int_equal(tr_utf8_cut(text, cases[i].most), cases[i].shown);
  }
}

static void what_is_no_character_is_shown_as_a_question_mark(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *shown;
  } cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"},
      {"a\xFF"
       "b",
       "a?b"},
      {"\xC3", "?"},
      {"\xE2\x82", "??"},
      {"\xE2\x82,", "??,"},
      {"\xC0\xAF", "??"},           /* longer than it need be */
      {"\xE0\x9F\xBF", "???"},      /* the same */
      {"\xED\xA0\x80", "???"},      /* a surrogate */
      {"\xF4\x90\x80\x80", "????"}, /* beyond the last character */
      {"\xF0\x9F\x98", "???"},
      {"\x80\xC3\xA9", "?\xC3\xA9"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[20];
    snprintf(text, sizeof text, "%s", cases[i].text);
    tr_utf8_make_valid(text);
    assert_string_equal(text, cases[i].shown);
  }
}

static int is_valid(const char *message) {
  char copy[TR_MESSAGE_SIZE];
  snprintf(copy, sizeof copy, "%s", message);
  tr_utf8_make_valid(copy);
  return strcmp(copy, message) == 0;
}

/* However the characters lie at the end of the buffer, or what is appended to it. */
static void a_message_is_valid_wherever_it_is_cut(void **state) {
  (void)state;
  static const char *const characters[] = {"x", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
  for (size_t c = 0; c < sizeof characters / sizeof characters[0]; c++) {
    for (size_t before = 0; before < 8; before++) {
      char text[1400] = "";
      memset(text, 'a', before);
      while (strlen(text) < 1200) strcat(text, characters[c]);
      tr_error err;
      tr_error_set(&err, TR_CORRUPT, "%s", text);
      assert_int_equal(is_valid(err.message), 1);
      assert_in_range(strlen(err.message), TR_MESSAGE_SIZE - 1 - 3, TR_MESSAGE_SIZE - 1);
      assert_string_equal(err.message + strlen(err.message) - 3, "...");
      for (size_t first = 1000; first < 1030; first++) {
        tr_error_set(&err, TR_CORRUPT, "%.*s", (int)tr_utf8_cut(tr_bytes_of_text(text), first),
                     text);
        tr_error_append(&err, "; %s", text);
        assert_int_equal(is_valid(err.message), 1);
        assert_string_equal(err.message + strlen(err.message) - 3, "...");
      }
      tr_value value = tr_value_text(tr_bytes_of_text(text));
      tr_argument_error(&err, "f", "a", &value, "no");
      assert_int_equal(is_valid(err.message), 1);
      assert_null(strchr(err.message, '?'));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_text_is_cut_between_characters),
      cmocka_unit_test(what_is_no_character_is_shown_as_a_question_mark),
      cmocka_unit_test(a_message_is_valid_wherever_it_is_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

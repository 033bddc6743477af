/*
** Windows of byte keys: wherever keys and ends lie and however windows are used up, a window begins
** above its key, ends at or below the end, and takes at most an eighth of what is left.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "effort.h"
#include "hex.h"
#include "range/byte_key_range.h"
#include "range/byte_key_window.h"
#include "test_memory.h"
#include "test_random.h"

static void leads_order_keys(void **state) {
  (void)state;
  static const char *const keys[] = {"",
                                     "00",
                                     "0000",
                                     "000001",
                                     "10",
                                     "1000",
                                     "10000000000000",
                                     "1000000000000001",
                                     "7f",
                                     "80",
                                     "ff",
                                     "ffffffffffffffffff"};
  enum { KEYS = sizeof keys / sizeof *keys };
  for (size_t i = 0; i < KEYS; i++) {
    for (size_t j = i + 1; j < KEYS; j++) {
      assert_true(tr_byte_key_lead(hex(keys[i])) <= tr_byte_key_lead(hex(keys[j])));
      assert_true(tr_bytes_compare(hex(keys[i]), hex(keys[j])) < 0);
    }
  }
}

/* How much of [key, end) the window takes: 0 to 1. */
static double share_of(const tr_byte_key_window *window, tr_bytes key, tr_bytes end) {
  tr_byte_key_range range;
  double share;
  assert_int_equal(tr_byte_key_range_init(&range, key, end, NULL), TR_OK);
  assert_int_equal(
      tr_byte_key_range_estimate_fraction(&range, tr_buffer_bytes(&window->limit), &share, NULL),
      TR_OK);
  tr_byte_key_range_free(&range);
  return share;
}

static void windows_stay_in_the_range(void **state) {
  (void)state;
  enum { LONGEST = 24, WINDOWS = 60 };
  test_random random = test_random_begin("windows_stay_in_the_range");
  long opened = 0;
  for (long run = test_effort(100000); run > 0; run--) {
    uint8_t key_room[LONGEST], end_room[LONGEST];
    tr_bytes key = test_random_bytes(&random, key_room, LONGEST);
    tr_bytes end = test_random_bytes(&random, end_room, LONGEST);
    if (test_random_below(&random, 4) == 0) end.size = 0;
    if (end.size != 0 && tr_bytes_compare(key, end) >= 0) continue;
    tr_byte_key_window window = {.wanted = 1 + (uint32_t)test_random_below(&random, 8)};
    tr_buffer at = {0};
    tr_buffer_set(&at, key, NULL);
    for (int i = 0; i < WINDOWS; i++) {
      key = tr_buffer_bytes(&at);
      if (!tr_byte_key_window_open(&window, key, end)) break;
      opened++;
      tr_bytes limit = tr_buffer_bytes(&window.limit);
      assert_true(tr_bytes_compare(key, limit) < 0);
      assert_true(end.size == 0 || tr_bytes_compare(limit, end) < 0);
      assert_true(share_of(&window, key, end) <= 0.125);
      assert_true(key.size == 0 || tr_byte_key_window_holds(&window, key));
      assert_false(tr_byte_key_window_holds(&window, limit));
      window.left = test_random_below(&random, window.given + 1);
      tr_buffer_set(&at, limit, NULL);
    }
    tr_buffer_free(&at);
    tr_byte_key_window_free(&window);
    assert_int_equal(window.given, 0);
  }
  assert_true(opened > 0);
  assert_int_equal(test_memory_live(), 0);
}

static void where_nothing_fits_it_stays_closed(void **state) {
  (void)state;
  static const struct {
    const char *key, *end;
  } cases[] = {
      {"10", "1000"}, {"10", "10000000"}, {"10", "100000000000000001"}, {"ffffffffffffffff", ""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_byte_key_window window = {.wanted = 100};
    assert_false(tr_byte_key_window_open(&window, hex(cases[i].key), hex(cases[i].end)));
    assert_false(tr_byte_key_window_holds(&window, hex(cases[i].key)));
    tr_byte_key_window_free(&window);
  }
}

/* A window that stayed closed at the end of one range must not stay so in the next one. */
static void where_nothing_fitted_it_opens_again(void **state) {
  (void)state;
  tr_byte_key_window window = {.wanted = 100};
  assert_true(tr_byte_key_window_open(&window, hex("8000000000000001"), hex("800000000000ffff00")));
  tr_byte_key_window_use(&window, 100);
  assert_false(
      tr_byte_key_window_open(&window, hex("800000000000ffff"), hex("800000000000ffff00")));
  assert_true(tr_byte_key_window_open(&window, hex("8000000000010000"), hex("8000000000ffffff00")));
  tr_byte_key_window_free(&window);
}

static void an_open_window_holds_every_key(void **state) {
  (void)state;
  tr_byte_key_window window = {.wanted = 100};
  assert_int_equal(tr_byte_key_window_open_all(&window, hex(""), NULL), TR_OK);
  assert_true(tr_byte_key_window_holds(&window, hex("00")));
  assert_true(tr_byte_key_window_holds(&window, hex("ffffffffffffffffff")));
  assert_false(tr_byte_key_window_holds(&window, hex("")));
  assert_int_equal(tr_byte_key_window_open_all(&window, hex("80"), NULL), TR_OK);
  assert_true(tr_byte_key_window_holds(&window, hex("7fffffffffffffffff")));
  assert_false(tr_byte_key_window_holds(&window, hex("80")));
  tr_byte_key_window_close(&window);
  assert_false(tr_byte_key_window_holds(&window, hex("00")));
  tr_byte_key_window_free(&window);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(leads_order_keys),
      cmocka_unit_test(windows_stay_in_the_range),
      cmocka_unit_test(where_nothing_fits_it_stays_closed),
      cmocka_unit_test(where_nothing_fitted_it_opens_again),
      cmocka_unit_test(an_open_window_holds_every_key),
  };
  return cmocka_run_group_tests_name("byte_key_window", tests, NULL, NULL);
}

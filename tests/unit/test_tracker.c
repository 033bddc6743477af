/*
** The interface of trackers: that a restriction gets a tracker of its kind, that a position of the
** other kind is an error, and what a user of any tracker may rely on.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hex.h"
#include "range/byte_key_record_tracker.h"
#include "range/byte_key_tracker.h"
#include "range/offset_record_tracker.h"
#include "range/offset_tracker.h"
#include "same_restriction.h"
#include "test_memory.h"

static tr_tracker *open_text(const char *text) {
  tr_restriction restriction;
  tr_tracker *tracker;
  assert_int_equal(tr_restriction_parse(&restriction, tr_bytes_of_text(text), NULL), TR_OK);
  assert_int_equal(tr_tracker_create(&restriction, &tracker, NULL), TR_OK);
  tr_restriction_free(&restriction);
  return tracker;
}

static void a_restriction_gets_a_tracker_of_its_kind(void **state) {
  (void)state;
  tr_tracker *bytes = open_text("{\"start\":\"10\",\"end\":\"c0\"}");
  tr_tracker *integers = open_text("{\"from\":0,\"to\":10}");
  assert_int_equal(tr_tracker_kind(bytes), TR_BYTES);
  assert_int_equal(tr_tracker_kind(integers), TR_INTEGERS);
  assert_non_null(tr_byte_key_tracker_of(bytes));
  assert_null(tr_byte_key_tracker_of(integers));
  assert_null(tr_byte_key_record_tracker_of(bytes));
  assert_non_null(tr_offset_tracker_of(integers));
  assert_null(tr_offset_tracker_of(bytes));
  assert_null(tr_offset_record_tracker_of(integers));
  tr_tracker_free(bytes);
  tr_tracker_free(integers);
  tr_tracker_free(NULL);
  assert_int_equal(test_memory_live(), 0);
}

static void a_position_of_the_other_kind_is_an_error(void **state) {
  (void)state;
  static const char *const texts[] = {"{\"start\":\"10\",\"end\":\"c0\"}",
                                      "{\"from\":0,\"to\":10}"};
  for (int i = 0; i < 2; i++) {
    tr_error err;
    tr_restriction residual;
    tr_tracker *tracker = open_text(texts[i]);
    tr_position other = i == 0 ? tr_position_of_offset(5) : tr_position_of_key(hex("50"));
    assert_int_equal(tr_tracker_try_claim(tracker, other, &err), -1);
    assert_int_equal(err.code, TR_INVALID_ARGUMENT);
    assert_int_equal(tr_tracker_try_split_at(tracker, other, &residual, &err), -1);
    assert_int_equal(err.code, TR_INVALID_ARGUMENT);
    assert_string_equal(err.message, i == 0 ? "an integer is no position in a range of byte keys"
                                            : "a byte key is no position in a range of integers");
    assert_int_equal(tr_tracker_last_attempted(tracker, NULL, NULL, NULL), 0);
    tr_tracker_free(tracker);
  }
}

/* Claims what it can of one range, of which the rest was taken away, and of that rest. */
static void what_is_taken_away_can_be_claimed(void **state) {
  (void)state;
  static const char *const texts[] = {"{\"start\":\"10\",\"end\":\"\"}", "{\"from\":-5,\"to\":10}"};
  for (int i = 0; i < 2; i++) {
    tr_restriction residual, now;
    tr_tracker *second, *first = open_text(texts[i]);
    tr_position low = i == 0 ? tr_position_of_key(hex("20")) : tr_position_of_offset(-4);
    tr_position high = i == 0 ? tr_position_of_key(hex("f0")) : tr_position_of_offset(9);
    assert_int_equal(tr_tracker_try_claim(first, low, NULL), 1);
    assert_int_equal(tr_tracker_try_split(first, 0.5, &residual, NULL), 1);
    assert_int_equal(tr_tracker_create(&residual, &second, NULL), TR_OK);
    assert_int_equal(tr_tracker_current_restriction(second, &now, NULL), TR_OK);
    assert_true(is_same_restriction(&now, &residual));
    assert_int_equal(tr_tracker_try_claim(first, high, NULL), 0);
    assert_int_equal(tr_tracker_try_claim(second, high, NULL), 1);
    assert_int_equal(tr_tracker_try_claim(second, low, NULL), -1);
    assert_true(tr_tracker_is_done(first));
    assert_int_equal(tr_tracker_claim_end(second, NULL), TR_OK);
    assert_int_equal(tr_tracker_check_done(second, NULL), TR_OK);
    tr_restriction_free(&now);
    tr_restriction_free(&residual);
    tr_tracker_free(first);
    tr_tracker_free(second);
    assert_int_equal(test_memory_live(), 0);
  }
}

static void without_memory_there_is_no_tracker(void **state) {
  (void)state;
  tr_restriction restriction = {.kind = TR_INTEGERS, .integers = {0, 10}};
  tr_tracker *tracker;
  tr_error err;
  test_memory_fail_at(1);
  assert_int_equal(tr_tracker_create(&restriction, &tracker, &err), TR_NO_MEMORY);
  assert_null(tracker);
  test_memory_fail_at(1);
  restriction = (tr_restriction){.kind = TR_BYTES};
  assert_int_equal(tr_tracker_create(&restriction, &tracker, &err), TR_NO_MEMORY);
  assert_null(tracker);
  test_memory_fail_at(0);
  assert_int_equal(test_memory_live(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_restriction_gets_a_tracker_of_its_kind),
      cmocka_unit_test(a_position_of_the_other_kind_is_an_error),
      cmocka_unit_test(what_is_taken_away_can_be_claimed),
      cmocka_unit_test(without_memory_there_is_no_tracker),
  };
  return cmocka_run_group_tests_name("tracker", tests, NULL, NULL);
}

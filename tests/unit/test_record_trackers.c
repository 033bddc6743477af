/*
** The two trackers of bounded readers: what the replay of recorded sequences cannot show. How they
** answer behind tracker.h, and memory that fails at every allocation.
*/
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hex.h"
#include "range/byte_key_record_tracker.h"
#include "range/offset_record_tracker.h"
#include "test_memory.h"

static tr_byte_key_record_tracker *open_keys(const char *start, const char *end) {
  tr_byte_key_range range;
  tr_byte_key_record_tracker *tracker;
  assert_int_equal(tr_byte_key_range_init(&range, hex(start), hex(end), NULL), TR_OK);
  assert_int_equal(tr_byte_key_record_tracker_create(&range, &tracker, NULL), TR_OK);
  tr_byte_key_range_free(&range);
  return tracker;
}

static tr_offset_record_tracker *open_offsets(int64_t start, int64_t stop) {
  tr_offset_record_tracker *tracker;
  assert_int_equal(tr_offset_record_tracker_create(start, stop, &tracker, NULL), TR_OK);
  return tracker;
}

static void close_tracker(tr_tracker *tracker) {
  tr_tracker_free(tracker);
  assert_int_equal(test_memory_live(), 0);
}

static int return_key(tr_byte_key_record_tracker *t, int is_split_point, const char *key) {
  return tr_byte_key_record_tracker_try_return_record_at(t, is_split_point, hex(key), NULL);
}

static int return_offset(tr_offset_record_tracker *t, int is_split_point, int64_t offset) {
  return tr_offset_record_tracker_try_return_record_at(t, is_split_point, offset, NULL);
}

/* apache/beam#517: points strictly before the present one. */
static void split_points_before_the_present_one_count(void **state) {
  (void)state;
  tr_byte_key_record_tracker *keys = open_keys("10", "c0");
  assert_int_equal(tr_byte_key_record_tracker_split_points_consumed(keys), 0);
  assert_int_equal(return_key(keys, 1, "20"), 1);
  assert_int_equal(tr_byte_key_record_tracker_split_points_consumed(keys), 0);
  assert_int_equal(return_key(keys, 0, "21"), 1);
  assert_int_equal(tr_byte_key_record_tracker_split_points_consumed(keys), 0);
  assert_int_equal(return_key(keys, 1, "30"), 1);
  assert_int_equal(tr_byte_key_record_tracker_split_points_consumed(keys), 1);
  assert_int_equal(return_key(keys, 1, "c0"), 0);
  assert_int_equal(tr_byte_key_record_tracker_split_points_consumed(keys), 2);
  close_tracker(tr_byte_key_record_tracker_base(keys));

  tr_offset_record_tracker *offsets = open_offsets(-5, 5);
  assert_int_equal(tr_offset_record_tracker_split_points_consumed(offsets), 0);
  assert_int_equal(return_offset(offsets, 1, -5), 1);
  assert_int_equal(tr_offset_record_tracker_split_points_consumed(offsets), 0);
  assert_int_equal(return_offset(offsets, 0, -4), 1);
  assert_int_equal(return_offset(offsets, 1, -1), 1);
  assert_int_equal(tr_offset_record_tracker_split_points_consumed(offsets), 1);
  assert_int_equal(return_offset(offsets, 1, 5), 0);
  assert_int_equal(tr_offset_record_tracker_split_points_consumed(offsets), 2);
  close_tracker(tr_offset_record_tracker_base(offsets));
}

/* Deviation 5. */
static void an_open_end_has_a_fraction(void **state) {
  (void)state;
  tr_byte_key_record_tracker *t = open_keys("", "");
  assert_int_equal(return_key(t, 1, ""), 1);
  assert_true(tr_byte_key_record_tracker_fraction_consumed(t) == 0);
  assert_int_equal(return_key(t, 1, "40"), 1);
  assert_true(tr_byte_key_record_tracker_fraction_consumed(t) == 0.25);
  tr_byte_key_record_tracker_mark_done(t);
  assert_true(tr_byte_key_record_tracker_fraction_consumed(t) == 1);
  close_tracker(tr_byte_key_record_tracker_base(t));
}

/* Deviation 6. */
static void a_first_record_past_the_end_is_not_returned(void **state) {
  (void)state;
  static const char *const keys[] = {"c0", "c000", "d0"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    tr_byte_key_record_tracker *t = open_keys("10", "c0");
    assert_int_equal(return_key(t, 1, keys[i]), 0);
    assert_true(tr_byte_key_record_tracker_is_done(t));
    assert_true(tr_byte_key_record_tracker_fraction_consumed(t) == 1);
    assert_int_equal(return_key(t, 1, "e0"), 0);
    close_tracker(tr_byte_key_record_tracker_base(t));
  }
}

static void negative_offsets_are_offsets(void **state) {
  (void)state;
  tr_error err;
  tr_offset_record_tracker *t = open_offsets(-3, 3);
  for (int64_t i = -3; i < 3; i++) {
    assert_int_equal(return_offset(t, 1, i), 1);
    assert_int_equal(tr_offset_record_tracker_try_return_record_at(t, 1, i, &err), -1);
    assert_int_equal(err.code, TR_INVALID_STATE);
    assert_true(tr_offset_record_tracker_fraction_consumed(t) == (double)(i + 3) / 6);
  }
  assert_int_equal(return_offset(t, 1, 3), 0);
  close_tracker(tr_offset_record_tracker_base(t));
}

static void positions_stay_on_the_line(void **state) {
  (void)state;
  static const struct {
    int64_t start, stop;
    double fraction;
    int64_t position;
  } cases[] = {
      {INT64_MIN, INT64_MAX - 1, 0, INT64_MIN},
      {INT64_MIN, INT64_MAX - 1, 0.5, 0},
      {INT64_MIN, INT64_MAX - 1, 1, INT64_MAX},
      {INT64_MIN, INT64_MAX - 1, 1e300, INT64_MAX},
      {INT64_MIN, INT64_MAX - 1, -1e300, INT64_MIN},
      {10, 3, 0.5, 6},
      {0, 0, 1.0 / 0.0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t position;
    tr_offset_record_tracker *t = open_offsets(cases[i].start, cases[i].stop);
    assert_int_equal(
        tr_offset_record_tracker_position_for_fraction(t, cases[i].fraction, &position, NULL),
        TR_OK);
    assert_true(position == cases[i].position);
    close_tracker(tr_offset_record_tracker_base(t));
  }
}

/* ---- Behind tracker.h ----------------------------------------------------------------------- */

static void keys_behind_the_interface(void **state) {
  (void)state;
  tr_restriction residual;
  tr_error err;
  tr_byte_key_record_tracker *t = open_keys("10", "c0");
  tr_tracker *base = tr_byte_key_record_tracker_base(t);
  assert_ptr_equal(tr_byte_key_record_tracker_of(base), t);
  assert_null(tr_offset_record_tracker_of(base));
  assert_int_equal(tr_tracker_kind(base), TR_BYTES);

  assert_int_equal(tr_tracker_try_split(base, 0.5, &residual, NULL), 0);
  assert_int_equal(tr_tracker_try_claim(base, tr_position_of_key(hex("20")), NULL), 1);
  assert_int_equal(tr_tracker_try_claim(base, tr_position_of_key(hex("1f")), NULL), -1);
  assert_int_equal(tr_tracker_check_done(base, &err), TR_INVALID_STATE);
  assert_string_equal(err.message, "Last record was at [20] in range ByteKeyRange{startKey=[20], "
                                   "endKey=[c0]}, what is behind it was not read");
  /* The fraction counts from the first record. */
  assert_int_equal(tr_tracker_try_split(base, 0.5, &residual, NULL), 1);
  assert_true(is_key_range(&residual, "70000000000000", "c0"));
  tr_restriction_free(&residual);
  assert_int_equal(tr_tracker_try_split(base, 1.5, &residual, NULL), 0);
  assert_true(tr_tracker_size(base) == 1);
  assert_int_equal(tr_tracker_try_split_at(base, tr_position_of_key(hex("20")), &residual, NULL),
                   0);
  assert_int_equal(tr_tracker_checkpoint(base, &residual, NULL), TR_OK);
  assert_true(is_key_range(&residual, "2000", "70000000000000"));
  tr_restriction_free(&residual);
  assert_true(tr_tracker_is_done(base));
  assert_int_equal(tr_tracker_try_claim(base, tr_position_of_key(hex("21")), NULL), 0);
  assert_int_equal(tr_tracker_checkpoint(base, &residual, NULL), TR_OK);
  assert_true(is_key_range(&residual, "", "00"));
  tr_restriction_free(&residual);
  assert_true(tr_tracker_size(base) == 0 && tr_tracker_fraction_consumed(base) == 1);
  close_tracker(base);
}

static void an_unstarted_reader_can_give_all_away(void **state) {
  (void)state;
  static const char *const starts[] = {"", "10"};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    tr_restriction residual;
    tr_tracker *base = tr_byte_key_record_tracker_base(open_keys(starts[i], "c0"));
    assert_int_equal(tr_tracker_checkpoint(base, &residual, NULL), TR_OK);
    assert_true(is_key_range(&residual, starts[i], "c0"));
    assert_true(tr_tracker_is_done(base));
    assert_int_equal(tr_tracker_try_claim(base, tr_position_of_key(hex("20")), NULL), 0);
    tr_restriction_free(&residual);
    close_tracker(base);
  }
  tr_restriction residual;
  tr_tracker *base = tr_offset_record_tracker_base(open_offsets(3, INT64_MAX));
  assert_int_equal(tr_tracker_checkpoint(base, &residual, NULL), TR_OK);
  assert_true(residual.integers.from == 3 && residual.integers.to == INT64_MAX);
  assert_true(tr_tracker_is_done(base));
  assert_int_equal(tr_tracker_try_claim(base, tr_position_of_offset(3), NULL), 0);
  close_tracker(base);
}

static void offsets_behind_the_interface(void **state) {
  (void)state;
  tr_restriction residual;
  tr_error err;
  int64_t last;
  tr_offset_record_tracker *t = open_offsets(0, 100);
  tr_tracker *base = tr_offset_record_tracker_base(t);
  assert_ptr_equal(tr_offset_record_tracker_of(base), t);
  assert_null(tr_byte_key_record_tracker_of(base));
  assert_int_equal(tr_tracker_try_split(base, 0.5, &residual, NULL), 0);
  assert_int_equal(tr_tracker_try_claim(base, tr_position_of_offset(20), NULL), 1);
  assert_int_equal(tr_tracker_check_done(base, &err), TR_INVALID_STATE);
  assert_string_equal(err.message, "Reader <at [starting at 20] of offset range [20, 100)>: what "
                                   "is behind it was not read");
  assert_int_equal(tr_tracker_try_split(base, 0.5, &residual, NULL), 1);
  assert_true(residual.integers.from == 60 && residual.integers.to == 100);
  assert_true(tr_tracker_size(base) == 40);
  assert_int_equal(tr_tracker_try_split(base, 0, &residual, NULL), 0);
  assert_int_equal(tr_tracker_try_split(base, 1, &residual, NULL), 0);
  assert_int_equal(tr_tracker_try_split(base, NAN, &residual, NULL), 0);
  assert_int_equal(tr_tracker_checkpoint(base, &residual, NULL), TR_OK);
  assert_true(residual.integers.from == 21 && residual.integers.to == 60);
  assert_true(tr_tracker_is_done(base));
  assert_int_equal(tr_tracker_try_claim(base, tr_position_of_offset(30), NULL), 0);
  assert_int_equal(tr_tracker_last_claimed(base, NULL, &last, NULL), 1);
  assert_true(last == 20);
  assert_int_equal(tr_tracker_last_attempted(base, NULL, &last, NULL), 1);
  assert_true(last == 30);
  assert_true(tr_tracker_size(base) == 0);
  close_tracker(base);
}

/* ---- Memory --------------------------------------------------------------------------------- */

typedef int attempt(tr_byte_key_record_tracker *t, tr_error *err);

static int try_return(tr_byte_key_record_tracker *t, tr_error *err) {
  return tr_byte_key_record_tracker_try_return_record_at(t, 1, hex("607080"), err);
}

static int try_split(tr_byte_key_record_tracker *t, tr_error *err) {
  tr_restriction residual;
  int is_split = tr_tracker_try_split(tr_byte_key_record_tracker_base(t), 0.5, &residual, err);
  if (is_split == 1) tr_restriction_free(&residual);
  return is_split;
}

static int try_split_at(tr_byte_key_record_tracker *t, tr_error *err) {
  return tr_byte_key_record_tracker_try_split_at_position(t, hex("70"), NULL, err);
}

static int try_checkpoint(tr_byte_key_record_tracker *t, tr_error *err) {
  tr_restriction residual;
  tr_code code = tr_tracker_checkpoint(tr_byte_key_record_tracker_base(t), &residual, err);
  if (code == TR_OK) tr_restriction_free(&residual);
  return code == TR_OK ? 1 : -1;
}

static int try_text(tr_byte_key_record_tracker *t, tr_error *err) {
  tr_buffer text = {0};
  tr_code code = tr_tracker_text(tr_byte_key_record_tracker_base(t), &text, err);
  tr_buffer_free(&text);
  return code == TR_OK ? 1 : -1;
}

static void put_state(tr_byte_key_record_tracker *t, tr_buffer *text) {
  assert_int_equal(tr_tracker_text(tr_byte_key_record_tracker_base(t), text, NULL), TR_OK);
}

static void without_memory_nothing_changes(void **state) {
  (void)state;
  static const struct {
    attempt *attempt;
    int is_started;
  } attempts[] = {{try_return, 0},     {try_return, 1},     {try_split, 1}, {try_split_at, 1},
                  {try_checkpoint, 0}, {try_checkpoint, 1}, {try_text, 0},  {try_text, 1}};
  for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
    for (long n = 1;; n++) {
      tr_error err;
      tr_buffer before = {0}, after = {0};
      tr_byte_key_record_tracker *t = open_keys("", "c0");
      if (attempts[i].is_started) assert_int_equal(return_key(t, 1, "50"), 1);
      put_state(t, &before);
      test_memory_fail_at(n);
      int answer = attempts[i].attempt(t, &err);
      int has_failed = test_memory_has_failed();
      test_memory_fail_at(0);
      assert_int_equal(answer, has_failed ? -1 : 1);
      if (has_failed) {
        assert_int_equal(err.code, TR_NO_MEMORY);
        put_state(t, &after);
        assert_int_equal(tr_bytes_compare(tr_buffer_bytes(&before), tr_buffer_bytes(&after)), 0);
        assert_int_equal(attempts[i].attempt(t, &err), 1);
      }
      tr_buffer_free(&before);
      tr_buffer_free(&after);
      close_tracker(tr_byte_key_record_tracker_base(t));
      if (!has_failed) {
        if (n == 1 && attempts[i].attempt != try_return) fail_msg("nothing is allocated");
        break;
      }
    }
  }
}

static void without_memory_there_is_no_tracker(void **state) {
  (void)state;
  tr_byte_key_range range = {0};
  tr_byte_key_record_tracker *keys;
  tr_offset_record_tracker *offsets;
  tr_error err;
  test_memory_fail_at(1);
  assert_int_equal(tr_byte_key_record_tracker_create(&range, &keys, &err), TR_NO_MEMORY);
  assert_null(keys);
  test_memory_fail_at(1);
  assert_int_equal(tr_offset_record_tracker_create(0, 9, &offsets, &err), TR_NO_MEMORY);
  assert_null(offsets);
  test_memory_fail_at(0);
  assert_int_equal(test_memory_live(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(split_points_before_the_present_one_count),
      cmocka_unit_test(an_open_end_has_a_fraction),
      cmocka_unit_test(a_first_record_past_the_end_is_not_returned),
      cmocka_unit_test(negative_offsets_are_offsets),
      cmocka_unit_test(positions_stay_on_the_line),
      cmocka_unit_test(keys_behind_the_interface),
      cmocka_unit_test(an_unstarted_reader_can_give_all_away),
      cmocka_unit_test(offsets_behind_the_interface),
      cmocka_unit_test(without_memory_nothing_changes),
      cmocka_unit_test(without_memory_there_is_no_tracker),
  };
  return cmocka_run_group_tests_name("record_trackers", tests, NULL, NULL);
}

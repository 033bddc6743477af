/*
** range/offset_range.h: the ends of the int64 line, where the reference wraps around or loops for
** ever and ours must not, and that pieces are a cover. replay_offset_range.c has the rest.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "effort.h"
#include "range/offset_range.h"
#include "test_memory.h"
#include "test_random.h"

static void test_init(void **state) {
  (void)state;
  tr_offset_range range = {7, 8};
  tr_error err;
  assert_int_equal(tr_offset_range_init(&range, 6, 3, &err), TR_INVALID_ARGUMENT);
  assert_string_equal(err.message, "Malformed range [6, 3)");
  assert_int_equal(range.from, 7);
  assert_int_equal(tr_offset_range_init(&range, INT64_MIN, INT64_MAX, NULL), TR_OK);
  assert_true(tr_offset_range_width(&range) == UINT64_MAX);
  assert_true(tr_offset_range_contains(&range, INT64_MIN));
  assert_true(tr_offset_range_contains(&range, INT64_MAX - 1));
  assert_false(tr_offset_range_contains(&range, INT64_MAX));
}

static tr_code text_of_widest(void *context) {
  (void)context;
  const tr_offset_range widest = {INT64_MIN, INT64_MAX};
  static const char wanted[] = "[-9223372036854775808, 9223372036854775807)";
  tr_buffer text = {0};
  tr_code code = tr_offset_range_text(&widest, &text, NULL);
  assert_int_equal(text.size, code == TR_OK ? strlen(wanted) : 0);
  if (code == TR_OK) assert_memory_equal(text.data, wanted, text.size);
  tr_buffer_free(&text);
  return code;
}

static void test_text(void **state) {
  (void)state;
  assert_int_equal(test_memory_fail_each(text_of_widest, NULL), 1);
}

/* Checks each piece as it comes, and stops after so many. */
typedef struct cover {
  int64_t next; /* where the next piece must begin */
  int64_t desired, min, to;
  long count, limit;
} cover;

static tr_code check_piece(void *context, tr_offset_range piece, tr_error *err) {
  cover *c = context;
  assert_true(piece.from == c->next);
  assert_true(piece.from < piece.to);
  uint64_t width = tr_offset_range_width(&piece);
  if (piece.to < c->to) {
    assert_true(width == (uint64_t)c->desired);
  } else if (width > (uint64_t)c->desired) {
    uint64_t joined = width - (uint64_t)c->desired;
    assert_true(joined < (uint64_t)c->desired / 4 || (c->min > 0 && joined < (uint64_t)c->min));
  }
  c->next = piece.to;
  if (++c->count == c->limit) return tr_error_set(err, TR_INTERRUPTED, "enough");
  return TR_OK;
}

static void test_split_is_a_cover(void **state) {
  (void)state;
  test_random random = test_random_begin("pieces of integers");
  for (long i = test_effort(100000); i > 0; i--) {
    int64_t a = (int64_t)test_random_next(&random), b = (int64_t)test_random_next(&random);
    tr_offset_range range = {a < b ? a : b, a < b ? b : a};
    int64_t desired =
        1 + (int64_t)(test_random_next(&random) >> (1 + test_random_below(&random, 6)));
    if (desired < 1) desired = INT64_MAX;
    int64_t min = (int64_t)test_random_next(&random) >> test_random_below(&random, 64);
    cover c = {range.from, desired, min, range.to, 0, 1000};
    tr_code code = tr_offset_range_split(&range, desired, min, check_piece, &c, NULL);
    assert_int_equal(code, c.count == 1000 ? TR_INTERRUPTED : TR_OK);
    if (code == TR_OK) assert_true(c.next == range.to);
  }
}

/* The reference adds past the end of the line here and fails, or never ends. */
static void test_split_at_the_end_of_the_line(void **state) {
  (void)state;
  static const struct {
    tr_offset_range range;
    int64_t desired, min;
    long pieces;
  } cases[] = {
      {{INT64_MAX - 10, INT64_MAX}, 6, 0, 2},
      {{INT64_MAX - 10, INT64_MAX}, INT64_MAX, 0, 1},
      {{INT64_MIN, INT64_MAX}, INT64_MAX, 0, 2},
      {{INT64_MIN, INT64_MAX}, INT64_C(1) << 62, 0, 4},
      {{INT64_MIN, INT64_MAX}, INT64_MAX, INT64_MAX, 2},
      {{INT64_MIN, INT64_MIN}, 1, 1, 0},
      {{0, 10}, 4, INT64_MIN, 3},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cover c = {cases[i].range.from, cases[i].desired, cases[i].min, cases[i].range.to, 0, 0};
    assert_int_equal(
        tr_offset_range_split(&cases[i].range, c.desired, c.min, check_piece, &c, NULL), TR_OK);
    assert_int_equal(c.count, cases[i].pieces);
    assert_true(c.next == cases[i].range.to);
  }
}

static void test_split_refused(void **state) {
  (void)state;
  static const int64_t sizes[] = {0, -1, INT64_MIN};
  const tr_offset_range range = {0, 10};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    cover c = {0};
    tr_error err;
    assert_int_equal(tr_offset_range_split(&range, sizes[i], 1, check_piece, &c, &err),
                     TR_INVALID_ARGUMENT);
    assert_int_equal(c.count, 0);
    assert_non_null(strstr(err.message, "must be a positive integer"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_init),
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_split_is_a_cover),
      cmocka_unit_test(test_split_at_the_end_of_the_line),
      cmocka_unit_test(test_split_refused),
  };
  return cmocka_run_group_tests_name("offset_range", tests, NULL, NULL);
}

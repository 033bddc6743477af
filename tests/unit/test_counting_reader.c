/*
** reader/counting_source.h and counting_reader.h: sequences against plain enumeration in 128 bits,
** above all where int64 ends; every cut against the same cut of the enumerated numbers; a reader
** over one.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "effort.h"
#include "reader/counting_reader.h"
#include "test_random.h"

__extension__ typedef __int128 wide;

#define MAX INT64_MAX
#define MIN INT64_MIN
#define ROOM 80

/* The numbers of a source by plain counting; at most ROOM of them. */
typedef struct numbers {
  int64_t at[ROOM];
  int count;
} numbers;

static numbers enumerate(int64_t start, const int64_t *up_to, int64_t step) {
  numbers n = {.count = 0};
  for (wide value = start; value >= MIN && value <= MAX && n.count < ROOM; value += step) {
    if (up_to != NULL && (step > 0 ? value >= *up_to : value <= *up_to)) break;
    n.at[n.count++] = (int64_t)value;
  }
  return n;
}

/* The numbers of a source by going through it as a scan does. */
static numbers walk_through(const tr_counting_source *source) {
  numbers n = {.count = 0};
  if (source->is_empty) return n;
  int64_t value = source->first;
  n.at[n.count++] = value;
  while (value != source->last && n.count < ROOM) {
    value = (int64_t)((uint64_t)value + (uint64_t)source->step);
    n.at[n.count++] = value;
  }
  return n;
}

static void assert_numbers(const tr_counting_source *source, const numbers *wanted,
                           const char *what) {
  numbers got = walk_through(source);
  int is_same = got.count == wanted->count &&
                memcmp(got.at, wanted->at, (size_t)got.count * sizeof got.at[0]) == 0;
  if (!is_same) {
    fail_msg("%s: %d numbers from %lld, wanted %d from %lld", what, got.count, (long long)got.at[0],
             wanted->count, (long long)wanted->at[0]);
  }
  if (wanted->count < ROOM) {
    assert_int_equal(tr_counting_source_count(source), (uint64_t)wanted->count);
  }
}

static void test_sequences(void **state) {
  (void)state;
  static const struct {
    int64_t start, up_to, step;
    uint64_t count;
    int64_t last;
    const char *why;
  } cases[] = {
      {0, 10, 1, 10, 9, "the plain case"},
      {10, 20, 3, 4, 19, "the end is not hit"},
      {10, 19, 3, 3, 16, "the end is hit and not included"},
      {5, 5, 1, 0, 0, "nothing between"},
      {5, 1, 1, 0, 0, "the end lies on the other side"},
      {1, 5, -1, 0, 0, "and here"},
      {5, 0, -2, 3, 1, "down"},
      {5, 1, -2, 2, 3, "down, the end is hit"},
      {MIN, MAX, MAX, 3, MAX - 1, "a span that no int64 holds"},
      {MIN, MAX, 1, UINT64_MAX, MAX - 1, "all but one"},
      {MAX, MIN, -1, UINT64_MAX, MIN + 1, "all but one, down"},
      {MAX, MIN, MIN, 2, -1, "a step whose opposite does not exist"},
      {-MAX, MIN, -1, 1, -MAX, "next to the lower end"},
      {MAX - 2, MAX, 1, 2, MAX - 1, "next to the upper end"},
      {MIN, MIN + 1, 1, 1, MIN, "the lowest number"},
      {MIN, MIN, -1, 0, 0, "nothing below it"},
      {MAX, MAX, 1, 0, 0, "nothing above the highest"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tr_counting_source source;
    assert_int_equal(
        tr_counting_source_init(&source, cases[i].start, cases[i].up_to, cases[i].step, NULL),
        TR_OK);
    if (tr_counting_source_count(&source) != cases[i].count) fail_msg("count: %s", cases[i].why);
    if (cases[i].count > 0 && source.last != cases[i].last) fail_msg("last: %s", cases[i].why);
  }
}

static void test_without_end(void **state) {
  (void)state;
  static const struct {
    int64_t start, step;
    uint64_t count;
    int64_t last;
  } cases[] = {
      {0, 1, (uint64_t)1 << 63, MAX},
      {MAX - 2, 1, 3, MAX},
      {MAX, 1, 1, MAX},
      {MAX - 5, 4, 2, MAX - 1},
      {MIN, 1, UINT64_MAX, MAX},
      {0, -1, (uint64_t)MAX + 2, MIN},
      {MIN, -1, 1, MIN},
      {MAX, MIN, 2, -1},
      {-1, MIN, 1, -1},
      {0, MIN, 2, MIN},
      {MIN, MAX, 3, MAX - 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tr_counting_source source;
    assert_int_equal(
        tr_counting_source_init_unbounded(&source, cases[i].start, cases[i].step, NULL), TR_OK);
    if (tr_counting_source_count(&source) != cases[i].count || source.last != cases[i].last) {
      fail_msg("from %lld by %lld", (long long)cases[i].start, (long long)cases[i].step);
    }
  }
}

static void test_step_0(void **state) {
  (void)state;
  tr_counting_source source;
  tr_error err;
  assert_int_equal(tr_counting_source_init(&source, 0, MAX, 0, &err), TR_INVALID_ARGUMENT);
  assert_string_equal(err.message, "a step of 0 never ends");
  assert_int_equal(tr_counting_source_init(&source, 0, MIN, 0, NULL), TR_INVALID_ARGUMENT);
  assert_int_equal(tr_counting_source_init_unbounded(&source, 0, 0, NULL), TR_INVALID_ARGUMENT);
}

/* A number near where it hurts: the ends, zero, powers of two. */
static int64_t awkward(test_random *random) {
  static const int64_t around[] = {MIN, MAX, 0, 0, (int64_t)1 << 32, -((int64_t)1 << 53), MAX / 2};
  int64_t at = around[test_random_below(random, sizeof around / sizeof around[0])];
  int64_t off = (int64_t)test_random_below(random, 41) - 20;
  wide sum = (wide)at + off;
  return sum > MAX || sum < MIN ? at : (int64_t)sum;
}

static int64_t random_step(test_random *random) {
  for (;;) {
    int64_t small = (int64_t)test_random_below(random, 15) - 7;
    int64_t step = test_random_below(random, 3) == 0 ? awkward(random) : small;
    if (step != 0) return step;
  }
}

static void keep_where(numbers *n, int64_t low, int64_t high) {
  int kept = 0;
  for (int i = 0; i < n->count; i++) {
    if (n->at[i] >= low && n->at[i] <= high) n->at[kept++] = n->at[i];
  }
  n->count = kept;
}

static void keep_slice(numbers *n, uint64_t skip, uint64_t take) {
  int from = skip < (uint64_t)n->count ? (int)skip : n->count;
  int left = n->count - from;
  int count = take < (uint64_t)left ? (int)take : left;
  memmove(n->at, n->at + from, (size_t)count * sizeof n->at[0]);
  n->count = count;
}

static void reverse(numbers *n) {
  for (int i = 0, j = n->count - 1; i < j; i++, j--) {
    int64_t other = n->at[i];
    n->at[i] = n->at[j];
    n->at[j] = other;
  }
}

/* Any chain of cuts of a random sequence is the same chain of cuts of its enumeration. */
static void test_cuts(void **state) {
  (void)state;
  test_random random = test_random_begin("counting source");
  for (long round = test_effort(300000); round > 0; round--) {
    int64_t start = awkward(&random), up_to = awkward(&random), step = random_step(&random);
    int has_end = test_random_below(&random, 4) > 0;
    tr_counting_source source;
    tr_code code = has_end ? tr_counting_source_init(&source, start, up_to, step, NULL)
                           : tr_counting_source_init_unbounded(&source, start, step, NULL);
    assert_int_equal(code, TR_OK);
    numbers wanted = enumerate(start, has_end ? &up_to : NULL, step);
    if (wanted.count == ROOM) {
      tr_counting_source_take(&source, ROOM - 1);
      keep_slice(&wanted, 0, ROOM - 1);
    }
    assert_numbers(&source, &wanted, "sequence");
    for (int cut = 0; cut < 4; cut++) {
      int64_t low = awkward(&random), high = awkward(&random);
      uint64_t count =
          test_random_below(&random, 12) == 0 ? UINT64_MAX - 1 : test_random_below(&random, 9);
      switch (test_random_below(&random, 5)) {
      case 0:
        tr_counting_source_restrict(&source, low, high);
        keep_where(&wanted, low, high);
        assert_numbers(&source, &wanted, "restrict");
        break;
      case 1:
        tr_counting_source_take(&source, count);
        keep_slice(&wanted, 0, count);
        assert_numbers(&source, &wanted, "take");
        break;
      case 2:
        tr_counting_source_skip(&source, count);
        keep_slice(&wanted, count, UINT64_MAX);
        assert_numbers(&source, &wanted, "skip");
        break;
      case 3:
        tr_counting_source_reverse(&source);
        reverse(&wanted);
        assert_numbers(&source, &wanted, "reverse");
        break;
      default:
        for (int i = 0; i < wanted.count; i++) {
          assert_true(tr_counting_source_contains(&source, wanted.at[i]));
        }
        numbers other = wanted;
        keep_where(&other, low, low);
        assert_int_equal(tr_counting_source_contains(&source, low), other.count);
        break;
      }
    }
  }
}

/*
** A range of offsets, either direction, cut anywhere: every number is in exactly one of the parts.
*/
static void test_offsets(void **state) {
  (void)state;
  test_random random = test_random_begin("counting offsets");
  for (long round = test_effort(100000); round > 0; round--) {
    int64_t start = awkward(&random), up_to = awkward(&random), step = random_step(&random);
    tr_counting_source whole;
    assert_int_equal(tr_counting_source_init(&whole, start, up_to, step, NULL), TR_OK);
    tr_counting_source_take(&whole, ROOM - 1);
    numbers wanted = walk_through(&whole);
    tr_offset_range range = tr_counting_offsets(start, &up_to, step);
    assert_true(range.from <= range.to);
    for (int i = 0; i < wanted.count; i++) {
      int64_t offset = tr_counting_offset(wanted.at[i], step);
      assert_true(tr_offset_range_contains(&range, offset));
      assert_true(i == 0 || offset > tr_counting_offset(wanted.at[i - 1], step));
      assert_true(tr_counting_value(offset, step) == wanted.at[i]);
    }
    if (wanted.count == 0) continue;
    int64_t at =
        tr_counting_offset(wanted.at[test_random_below(&random, (uint64_t)wanted.count)], step);
    tr_counting_source primary = whole, residual = whole;
    tr_counting_source_restrict_offsets(&primary, &(tr_offset_range){range.from, at});
    tr_counting_source_restrict_offsets(&residual, &(tr_offset_range){at, range.to});
    assert_int_equal(tr_counting_source_count(&primary) + tr_counting_source_count(&residual),
                     (uint64_t)wanted.count);
    assert_true(residual.first == tr_counting_value(at, step));
  }
}

/* A whole of offsets has no place for the last number of an unbounded sequence, and says so. */
static void test_offsets_without_end(void **state) {
  (void)state;
  tr_offset_range up = tr_counting_offsets(7, NULL, 1), down = tr_counting_offsets(7, NULL, -1);
  assert_true(up.from == 7 && up.to == MAX);
  assert_true(down.from == -8 && down.to == MAX);
  assert_true(tr_counting_value(down.to - 1, -1) == MIN + 1);
  int64_t end = 10;
  tr_offset_range none = tr_counting_offsets(7, &end, -1);
  assert_true(none.from == none.to);
}

/* What is left behind after k numbers, read on from the residual, is the unbroken sequence. */
static void test_goes_on_from_a_residual(void **state) {
  (void)state;
  static const int64_t after[] = {1, (int64_t)1 << 31, ((int64_t)1 << 32) + 1};
  for (size_t i = 0; i < sizeof after / sizeof after[0]; i++) {
    tr_restriction all = {.kind = TR_INTEGERS, .integers = {MIN, MAX}}, left;
    tr_tracker *tracker;
    assert_int_equal(tr_tracker_create(&all, &tracker, NULL), TR_OK);
    int64_t last = (int64_t)((uint64_t)MIN + (uint64_t)(after[i] - 1));
    assert_int_equal(tr_tracker_try_claim(tracker, tr_position_of_offset(last), NULL), 1);
    assert_int_equal(tr_tracker_checkpoint(tracker, &left, NULL), TR_OK);
    tr_counting_source source;
    assert_int_equal(tr_counting_source_init(&source, MIN, MAX, 1, NULL), TR_OK);
    tr_counting_source_restrict_offsets(&source, &left.integers);
    assert_true(source.first == last + 1);
    assert_true(tr_counting_source_count(&source) == UINT64_MAX - (uint64_t)after[i]);
    tr_restriction_free(&left);
    tr_tracker_free(tracker);
  }
}

static void test_reader(void **state) {
  (void)state;
  static const int64_t steps[] = {3, -3};
  for (int i = 0; i < 2; i++) {
    int64_t step = steps[i], start = 10, up_to = 10 + 4 * step;
    tr_counting_cursor cursor;
    tr_restriction range = {.kind = TR_INTEGERS,
                            .integers = tr_counting_offsets(start, &up_to, step)};
    tr_tracker *tracker;
    tr_reader reader;
    tr_position position;
    assert_int_equal(tr_counting_source_init(&cursor.rest, start, up_to, step, NULL), TR_OK);
    assert_int_equal(tr_tracker_create(&range, &tracker, NULL), TR_OK);
    assert_int_equal(tr_reader_init(&reader, &tr_counting_cursor_class, &cursor, tracker, NULL),
                     TR_OK);
    int has = tr_reader_start(&reader, NULL);
    for (int64_t value = start; value != up_to; value += step) {
      assert_int_equal(has, 1);
      assert_int_equal(tr_reader_current(&reader, &position, NULL), TR_OK);
      assert_true(tr_counting_value(position.offset, step) == value);
      has = tr_reader_advance(&reader, NULL);
    }
    assert_int_equal(has, 0);
    assert_int_equal(tr_tracker_check_done(tracker, NULL), TR_OK);
    tr_reader_close(&reader);
    tr_tracker_free(tracker);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sequences),
      cmocka_unit_test(test_without_end),
      cmocka_unit_test(test_step_0),
      cmocka_unit_test(test_cuts),
      cmocka_unit_test(test_offsets),
      cmocka_unit_test(test_offsets_without_end),
      cmocka_unit_test(test_goes_on_from_a_residual),
      cmocka_unit_test(test_reader),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
** The splittable tracker over integers: what the replay of recorded sequences cannot show. Splits
** where 34 digits are not enough, the ends of the int64 line, windows, and memory that fails.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "effort.h"
#include "range/offset_tracker.h"
#include "test_memory.h"
#include "test_random.h"

static tr_offset_tracker *open_tracker(int64_t from, int64_t to) {
  tr_offset_tracker *tracker;
  assert_int_equal(tr_offset_tracker_create((tr_offset_range){from, to}, &tracker, NULL), TR_OK);
  return tracker;
}

static void close_tracker(tr_offset_tracker *tracker) {
  tr_tracker_free(tr_offset_tracker_base(tracker));
  assert_int_equal(test_memory_live(), 0);
}

static int claim(tr_offset_tracker *tracker, int64_t offset) {
  return tr_offset_tracker_try_claim(tracker, offset, NULL);
}

static tr_offset_range range_of(tr_offset_tracker *tracker) {
  tr_restriction now;
  tr_tracker_current_restriction(tr_offset_tracker_base(tracker), &now, NULL);
  return now.integers;
}

/* What split answers for a refusal: no case splits there. */
#define REFUSED (INT64_MIN + 12345)

/* The first offset of the residual, or REFUSED. */
static int64_t split(tr_offset_tracker *tracker, double fraction) {
  tr_restriction residual;
  tr_offset_range before = range_of(tracker);
  if (!tr_tracker_try_split(tr_offset_tracker_base(tracker), fraction, &residual, NULL)) {
    assert_true(range_of(tracker).to == before.to);
    return REFUSED;
  }
  assert_true(residual.integers.to == before.to);
  assert_true(range_of(tracker).from == before.from);
  assert_true(range_of(tracker).to == residual.integers.from);
  return residual.integers.from;
}

static int is_done(tr_offset_tracker *tracker) {
  tr_tracker *base = tr_offset_tracker_base(tracker);
  int done = tr_tracker_is_done(base);
  assert_int_equal(tr_tracker_check_done(base, NULL), done ? TR_OK : TR_INVALID_STATE);
  return done;
}

/* Shopify/job-iteration#457: what goes back must not loop. */
static void a_claim_not_above_the_last_is_an_error(void **state) {
  (void)state;
  tr_error err;
  tr_offset_tracker *t = open_tracker(-3, 100);
  assert_int_equal(claim(t, -4), -1);
  for (int64_t i = -3; i < 100; i++) {
    assert_int_equal(claim(t, i), 1);
    assert_int_equal(claim(t, i), -1);
    assert_int_equal(claim(t, i - 1), -1);
  }
  assert_int_equal(claim(t, 100), 0);
  assert_int_equal(tr_offset_tracker_try_claim(t, 7, &err), -1);
  assert_string_equal(err.message, "Trying to claim offset 7 while last attempted was 100");
  close_tracker(t);
}

/*
** apache/beam#6949, as far as integers go: before any claim a checkpoint is an error, as recorded.
*/
static void checkpoints(void **state) {
  (void)state;
  tr_error err;
  tr_restriction residual;
  tr_offset_tracker *t = open_tracker(0, 10);
  tr_tracker *base = tr_offset_tracker_base(t);
  assert_int_equal(tr_tracker_checkpoint(base, &residual, &err), TR_INVALID_STATE);
  assert_string_equal(err.message, "Can't checkpoint before any offset was successfully claimed");
  assert_int_equal(claim(t, 4), 1);
  assert_int_equal(tr_tracker_checkpoint(base, &residual, &err), TR_OK);
  assert_true(residual.integers.from == 5 && residual.integers.to == 10);
  assert_true(is_done(t));
  assert_int_equal(tr_tracker_checkpoint(base, &residual, &err), TR_OK);
  assert_true(residual.integers.from == 5 && residual.integers.to == 5);
  assert_int_equal(claim(t, 5), 0);
  close_tracker(t);
}

static void claiming_the_end_makes_it_done(void **state) {
  (void)state;
  static const tr_offset_range ranges[] = {{0, 10}, {5, 5}, {0, INT64_MAX}, {INT64_MIN, INT64_MAX}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    int64_t last;
    tr_offset_tracker *t = open_tracker(ranges[i].from, ranges[i].to);
    tr_tracker *base = tr_offset_tracker_base(t);
    assert_int_equal(tr_tracker_claim_end(base, NULL), TR_OK);
    assert_true(is_done(t));
    assert_int_equal(tr_tracker_last_attempted(base, NULL, &last, NULL), 1);
    assert_true(last == ranges[i].to);
    assert_int_equal(tr_tracker_claim_end(base, NULL), TR_OK);
    assert_true(tr_tracker_size(base) == 0 && tr_tracker_fraction_consumed(base) == 1);
    assert_true(split(t, 0) == REFUSED);
    close_tracker(t);
  }
}

#define NOTHING INT64_MIN

/* apache/beam#11454 and #11715. */
static void splits(void **state) {
  (void)state;
  static const struct {
    int64_t from, to, claimed;
    double fraction;
    int64_t residual;
    const char *why;
  } cases[] = {
      {0, 0, NOTHING, 0, REFUSED, "an empty range"},
      {0, 10, 10, 0, REFUSED, "a finished range"},
      {0, 10, 9, 0, REFUSED, "the last offset is in hand"},
      {0, 10, 4, 0, 5, "fraction 0: just after the claimed offset"},
      {0, 10, 4, 0.5, 7, "the middle"},
      {0, 10, 4, -0.5, 5, "below 0 is 0"},
      {0, 10, 4, 1, REFUSED, "1 leaves nothing"},
      {0, 10, 4, 1e300, REFUSED, "far too much"},
      {0, 10, 4, 0.0 / 0.0, REFUSED, "no number"},
      {0, INT64_MAX, NOTHING, 0, 0, "all of a range without end"},
      {0, INT64_MAX, NOTHING, 0.5, INT64_MAX / 2, "its middle, counted from before its start"},
      {0, INT64_MAX, INT64_MAX, 0, REFUSED, "the last integer was attempted"},
      {INT64_MIN, INT64_MAX, NOTHING, 0, INT64_MIN, "all of the line"},
      {INT64_MIN + 1, INT64_MAX, NOTHING, 0.5, 0, "the middle of the line, nearly"},
      {INT64_MIN, INT64_MAX, INT64_MAX - 1, 0.5, REFUSED, "the end of the line"},
      {INT64_MIN, INT64_MIN + 1, NOTHING, 0.5, INT64_MIN, "its beginning"},
      {-10, 0, -2, 0.9, REFUSED, "-0.2 is cut off towards zero, which is the end"},
      {0, 100, NOTHING, 5e-324, 0, "the least fraction"},
      /* Whole or not only once the 35th digit is rounded away. */
      {-2109970590787142870, 6621700858537497799, -2109970590787142870, 0.5568834732362571,
       2752552933070625905, "0.9999... becomes a whole"},
      {-4862523523857768446, 3869147925466872223, -4862523523857768446, 0.5568834732362571, 329,
       "0.9999... becomes a whole near zero"},
      {-6678319874856715487, 6745023023792565851, -6678319874856715487, 0.5568834732362571,
       796917940984343379, "0.9999... becomes a whole, the product has 35 digits"},
      {-5546020456842903807, -4427691906167544476, -5546020456842903807, 0.5568834732362571,
       -4923241769323540147, "-0.0000... is lost, below zero"},
      {-2094325939678997249, 324312458025728472, -2094325939678997249, 0.8659111430904681, -3,
       "-0.0000... is lost, near zero"},
      {-7580064621993295558, INT64_MAX, -7580064621993295558, 0.024147690376630337,
       -7174300436292112562, "-0.0000... is lost, 17 digits"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_offset_tracker *t = open_tracker(cases[i].from, cases[i].to);
    if (cases[i].claimed != NOTHING) claim(t, cases[i].claimed);
    int64_t residual = split(t, cases[i].fraction);
    if (residual != cases[i].residual) {
      fail_msg("%s: %lld", cases[i].why, (long long)residual);
    }
    close_tracker(t);
  }
}

static void splits_at_a_position(void **state) {
  (void)state;
  static const struct {
    int64_t from, to, claimed, at;
    int is_split;
  } cases[] = {
      {0, 10, NOTHING, 0, 0},   {0, 10, NOTHING, 1, 1},
      {0, 10, NOTHING, -1, 0},  {0, 10, 4, 4, 0},
      {0, 10, 4, 5, 1},         {0, 10, 4, 9, 1},
      {0, 10, 4, 10, 0},        {0, 10, 10, 5, 0},
      {0, 10, 12, 11, 0},       {5, 5, NOTHING, 5, 0},
      {0, 10, 4, INT64_MAX, 0}, {INT64_MIN, INT64_MAX, INT64_MAX - 2, INT64_MAX - 1, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_restriction residual;
    tr_offset_tracker *t = open_tracker(cases[i].from, cases[i].to);
    if (cases[i].claimed != NOTHING) claim(t, cases[i].claimed);
    int is_split = tr_tracker_try_split_at(tr_offset_tracker_base(t),
                                           tr_position_of_offset(cases[i].at), &residual, NULL);
    assert_int_equal(is_split, cases[i].is_split);
    if (is_split) assert_true(residual.integers.from == cases[i].at);
    assert_true(range_of(t).to == (is_split ? cases[i].at : cases[i].to));
    close_tracker(t);
  }
}

static void sizes_and_fractions_are_those_of_the_true_width(void **state) {
  (void)state;
  static const struct {
    int64_t from, to, claimed;
    double size, fraction;
  } cases[] = {
      {0, 10, NOTHING, 10, 0},
      {0, 10, 0, 10, 0},
      {0, 10, 9, 1, 0.9},
      {0, 10, 10, 0, 1},
      {5, 5, NOTHING, 0, 1},
      {INT64_MIN, INT64_MAX, NOTHING, 0x1p64, 0},
      {INT64_MIN, INT64_MAX, 0, 0x1p63, 0.5},
      {INT64_MIN, INT64_MAX, INT64_MAX - 1, 1, 1},
      {0, INT64_MAX, 1, 0x1p63, 0x1p-63},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_offset_tracker *t = open_tracker(cases[i].from, cases[i].to);
    tr_tracker *base = tr_offset_tracker_base(t);
    if (cases[i].claimed != NOTHING) claim(t, cases[i].claimed);
    assert_true(tr_tracker_size(base) == cases[i].size);
    assert_true(tr_tracker_fraction_consumed(base) == cases[i].fraction);
    close_tracker(t);
  }
}

/* ---- Memory, and all of it at random -------------------------------------------------------- */

static void without_memory(void **state) {
  (void)state;
  tr_offset_tracker *t;
  tr_buffer text = {0};
  tr_error err;
  test_memory_fail_at(1);
  assert_int_equal(tr_offset_tracker_create((tr_offset_range){0, 9}, &t, &err), TR_NO_MEMORY);
  assert_null(t);
  t = open_tracker(0, 9);
  test_memory_fail_at(1);
  assert_int_equal(tr_tracker_text(tr_offset_tracker_base(t), &text, &err), TR_NO_MEMORY);
  assert_int_equal(text.size, 0);
  test_memory_fail_at(0);
  tr_buffer_free(&text);
  close_tracker(t);
}

enum { WIDTH = 300, MOST_PARTS = 2048 };

/* Reads [base + from, base + to), with splits meanwhile, whose residuals go to `parts`. */
static void read_part(tr_offset_range part, int64_t base, int *claims, tr_offset_range *parts,
                      int *count, test_random *random) {
  tr_offset_tracker *t = open_tracker(part.from, part.to);
  int64_t next = part.from, last = 0;
  int has_last = 0;
  for (;;) {
    if (test_random_below(random, 4) == 0 && *count < MOST_PARTS) {
      tr_restriction residual;
      tr_offset_range before = range_of(t);
      int how = (int)test_random_below(random, 20), is_given;
      if (how == 0) {
        is_given = tr_tracker_checkpoint(tr_offset_tracker_base(t), &residual, NULL) == TR_OK;
      } else if (how < 5) {
        int64_t at = base + (int64_t)test_random_below(random, WIDTH);
        is_given = tr_tracker_try_split_at(tr_offset_tracker_base(t), tr_position_of_offset(at),
                                           &residual, NULL);
      } else {
        double fraction = how < 7 ? 0 : (double)(test_random_next(random) >> 11) * 0x1p-53;
        is_given = tr_tracker_try_split(tr_offset_tracker_base(t), fraction, &residual, NULL);
      }
      if (is_given) {
        tr_offset_range now = range_of(t);
        assert_true(now.from == before.from && now.to == residual.integers.from);
        assert_true(residual.integers.to == before.to);
        assert_true(!has_last || residual.integers.from > last);
        parts[(*count)++] = residual.integers;
      }
    }
    int claimed = claim(t, next);
    assert_true(claimed >= 0);
    if (!claimed) break;
    claims[next - base]++;
    last = next++;
    has_last = 1;
  }
  assert_true(is_done(t));
  close_tracker(t);
}

/* apache/beam#8998, and the promise of tracker.h. */
static void every_offset_is_claimed_once(void **state) {
  (void)state;
  static const int64_t bases[] = {INT64_MIN, INT64_MIN + 1, -WIDTH / 2, 0, INT64_MAX - WIDTH};
  static tr_offset_range parts[MOST_PARTS];
  test_random random = test_random_begin("every_offset_is_claimed_once");
  for (long run = test_effort(5000); run > 0; run--) {
    int claims[WIDTH] = {0}, count = 1;
    int64_t base = bases[test_random_below(&random, sizeof bases / sizeof *bases)];
    parts[0] = (tr_offset_range){base, base + WIDTH};
    for (int i = 0; i < count; i++) {
      read_part(parts[i], base, claims, parts, &count, &random);
    }
    for (int i = 0; i < WIDTH; i++) assert_int_equal(claims[i], 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_claim_not_above_the_last_is_an_error),
      cmocka_unit_test(checkpoints),
      cmocka_unit_test(claiming_the_end_makes_it_done),
      cmocka_unit_test(splits),
      cmocka_unit_test(splits_at_a_position),
      cmocka_unit_test(sizes_and_fractions_are_those_of_the_true_width),
      cmocka_unit_test(without_memory),
      cmocka_unit_test(every_offset_is_claimed_once),
  };
  return cmocka_run_group_tests_name("offset_tracker", tests, NULL, NULL);
}

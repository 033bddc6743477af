/*
** reader/pacing.h against a scripted clock: when each record is due, that a wait ends where it
** should, and that limits end a scan without counting.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "effort.h"
#include "reader/pacing.h"
#include "test_random.h"

#define SECOND 1000000000LL

/* A clock that stands still but for waits, and may refuse to wait. */
typedef struct script {
  int64_t now;
  int64_t waited; /* in all */
  int refuses;
} script;

static int64_t now(void *context) {
  return ((script *)context)->now;
}

static tr_code wait_until(void *context, int64_t time, tr_error *err) {
  script *s = context;
  if (s->refuses) return tr_error_set(err, TR_INTERRUPTED, "interrupted");
  assert_true(time > s->now);
  s->waited += time - s->now;
  s->now = time;
  return TR_OK;
}

static tr_pacing pacing_of(script *s, tr_pace pace) {
  tr_pacing pacing;
  assert_int_equal(tr_pacing_init(&pacing, &pace, (tr_clock){now, wait_until, s}, NULL), TR_OK);
  return pacing;
}

static void test_due(void **state) {
  (void)state;
  static const struct {
    int64_t rate, period, n, due;
    const char *why;
  } cases[] = {
      {1, SECOND, 0, 0, "the first at once"},
      {1, SECOND, 5, 5 * SECOND, "one a second"},
      {10, SECOND, 1, SECOND / 10, "ten a second"},
      {10, SECOND, 10, SECOND, "the eleventh after a second"},
      {3, SECOND, 1, 333333334, "never early: rounded up"},
      {3, SECOND, 3, SECOND, "exact where it can be"},
      {7, 300, 7, 300, "any period"},
      {5, 0, 1000, 0, "no period, no wait"},
      {0, SECOND, 1000, 0, "no rate, no wait"},
      {1, INT64_MAX, 1, INT64_MAX, "292 years"},
      {1, INT64_MAX, 2, INT64_MAX, "never"},
      {INT64_MAX, 1, INT64_MAX, 1, "products beyond 64 bits"},
      {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, "and 126 bits"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tr_pace pace = {cases[i].rate, cases[i].period, -1, -1};
    if (tr_pace_due(&pace, cases[i].n) != cases[i].due) fail_msg("%s", cases[i].why);
  }
}

/* At every moment at most rate * floor(elapsed / period) + rate records, and none too late. */
static void test_rate(void **state) {
  (void)state;
  test_random random = test_random_begin("pacing");
  for (long round = test_effort(2000); round > 0; round--) {
    script s = {.now = (int64_t)test_random_below(&random, 1000) - 500};
    int64_t rate = 1 + (int64_t)test_random_below(&random, 20);
    int64_t period = 1 + (int64_t)test_random_below(&random, 300);
    tr_pacing pacing = pacing_of(&s, (tr_pace){rate, period, -1, -1});
    int64_t start = s.now;
    for (int64_t given = 1; given < 60; given++) {
      assert_int_equal(tr_pacing_admit(&pacing, NULL), 1);
      int64_t elapsed = s.now - start;
      assert_true(given <= rate * (elapsed / period) + rate);
      assert_true(elapsed == 0 || (given - 1) * period > rate * (elapsed - 1));
    }
  }
}

static void test_catches_up(void **state) {
  (void)state;
  script s = {.now = 7};
  tr_pacing pacing = pacing_of(&s, (tr_pace){10, SECOND, -1, -1});
  assert_int_equal(tr_pacing_admit(&pacing, NULL), 1);
  s.now += 2 * SECOND; /* the caller paused */
  for (int i = 0; i < 20; i++) assert_int_equal(tr_pacing_admit(&pacing, NULL), 1);
  assert_true(s.waited == 0);
  assert_int_equal(tr_pacing_admit(&pacing, NULL), 1);
  assert_true(s.waited == SECOND / 10);
}

static void test_clock_that_goes_back(void **state) {
  (void)state;
  script s = {.now = 0};
  tr_pacing pacing = pacing_of(&s, (tr_pace){1, SECOND, -1, -1});
  assert_int_equal(tr_pacing_admit(&pacing, NULL), 1);
  s.now -= 5 * SECOND;
  assert_int_equal(tr_pacing_admit(&pacing, NULL), 1);
  assert_true(s.now == SECOND);
  /* Without a period there is nothing to wait for. */
  pacing = pacing_of(&s, (tr_pace){1, 0, -1, -1});
  assert_int_equal(tr_pacing_admit(&pacing, NULL), 1);
  s.now -= 5 * SECOND;
  s.refuses = 1;
  assert_int_equal(tr_pacing_admit(&pacing, NULL), 1);
}

/* The scan's time begins with its first question, not before. */
static void test_starts_with_the_first_question(void **state) {
  (void)state;
  script s = {.now = 0};
  tr_pacing pacing = pacing_of(&s, (tr_pace){1, SECOND, -1, SECOND});
  s.now = 10 * SECOND;
  assert_int_equal(tr_pacing_admit(&pacing, NULL), 1);
  assert_true(pacing.start == 10 * SECOND);
}

static void test_max_records(void **state) {
  (void)state;
  script s = {0};
  tr_pacing pacing = pacing_of(&s, (tr_pace){0, 0, 3, -1});
  for (int i = 0; i < 3; i++) assert_int_equal(tr_pacing_admit(&pacing, NULL), 1);
  for (int i = 0; i < 3; i++) assert_int_equal(tr_pacing_admit(&pacing, NULL), 0);
  assert_true(pacing.given == 3);
  pacing = pacing_of(&s, (tr_pace){0, 0, 0, -1});
  assert_int_equal(tr_pacing_admit(&pacing, NULL), 0);
}

/* Looked at before every record, so that a source that is always ready ends too. */
static void test_max_read_time(void **state) {
  (void)state;
  script s = {0};
  tr_pacing pacing = pacing_of(&s, (tr_pace){0, 0, -1, 10});
  assert_int_equal(tr_pacing_admit(&pacing, NULL), 1);
  s.now = 9;
  assert_int_equal(tr_pacing_admit(&pacing, NULL), 1);
  s.now = 10;
  assert_int_equal(tr_pacing_admit(&pacing, NULL), 0);
  pacing = pacing_of(&s, (tr_pace){0, 0, -1, 0});
  assert_int_equal(tr_pacing_admit(&pacing, NULL), 0);
}

/* What would be due after the time is up is not waited for. */
static void test_does_not_wait_for_nothing(void **state) {
  (void)state;
  script s = {0};
  tr_pacing pacing = pacing_of(&s, (tr_pace){1, SECOND, -1, 5 * SECOND / 2});
  for (int i = 0; i < 3; i++) assert_int_equal(tr_pacing_admit(&pacing, NULL), 1);
  assert_int_equal(tr_pacing_admit(&pacing, NULL), 0);
  assert_true(s.waited == 2 * SECOND);
}

static void test_interrupted(void **state) {
  (void)state;
  script s = {.refuses = 1};
  tr_error err;
  tr_pacing pacing = pacing_of(&s, (tr_pace){1, SECOND, -1, -1});
  assert_int_equal(tr_pacing_admit(&pacing, &err), 1);
  assert_int_equal(tr_pacing_admit(&pacing, &err), -1);
  assert_int_equal(err.code, TR_INTERRUPTED);
  assert_true(pacing.given == 1);
  s.refuses = 0;
  assert_int_equal(tr_pacing_admit(&pacing, &err), 1);
  assert_true(pacing.given == 2);
}

static void test_due_beyond_the_clock(void **state) {
  (void)state;
  script s = {.now = INT64_MAX - 5};
  tr_pacing pacing = pacing_of(&s, (tr_pace){1, SECOND, -1, -1});
  assert_int_equal(tr_pacing_admit(&pacing, NULL), 1);
  assert_int_equal(tr_pacing_admit(&pacing, NULL), 1);
  assert_true(s.now == INT64_MAX);
}

static void test_refuses(void **state) {
  (void)state;
  static const tr_pace wrong[] = {{-1, 1, -1, -1}, {1, -1, -1, -1}, {1, 1, -2, -1}, {1, 1, -1, -2}};
  tr_pacing pacing;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_int_equal(tr_pacing_init(&pacing, &wrong[i], (tr_clock){0}, NULL), TR_INVALID_ARGUMENT);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_due),
      cmocka_unit_test(test_rate),
      cmocka_unit_test(test_catches_up),
      cmocka_unit_test(test_clock_that_goes_back),
      cmocka_unit_test(test_starts_with_the_first_question),
      cmocka_unit_test(test_max_records),
      cmocka_unit_test(test_max_read_time),
      cmocka_unit_test(test_does_not_wait_for_nothing),
      cmocka_unit_test(test_interrupted),
      cmocka_unit_test(test_due_beyond_the_clock),
      cmocka_unit_test(test_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
** The splittable tracker over byte keys: what the replay of recorded sequences cannot show. Claims
** in any order, splits at positions, windows, long keys, and memory that fails at every allocation.
*/
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "effort.h"
#include "hex.h"
#include "range/byte_key.h"
#include "range/byte_key_tracker.h"
#include "test_memory.h"
#include "test_random.h"

static tr_byte_key_tracker *open_tracker(tr_bytes start, tr_bytes end) {
  tr_byte_key_range range;
  tr_byte_key_tracker *tracker;
  assert_int_equal(tr_byte_key_range_init(&range, start, end, NULL), TR_OK);
  assert_int_equal(tr_byte_key_tracker_create(&range, &tracker, NULL), TR_OK);
  tr_byte_key_range_free(&range);
  return tracker;
}

static tr_byte_key_tracker *open_hex(const char *start, const char *end) {
  return open_tracker(hex(start), hex(end));
}

static void close_tracker(tr_byte_key_tracker *tracker) {
  tr_tracker_free(tr_byte_key_tracker_base(tracker));
  assert_int_equal(test_memory_live(), 0);
}

static int claim(tr_byte_key_tracker *tracker, const char *key) {
  return tr_byte_key_tracker_try_claim(tracker, hex(key), NULL);
}

static int is_at(tr_byte_key_tracker *tracker, const char *start, const char *end) {
  tr_restriction now;
  assert_int_equal(tr_tracker_current_restriction(tr_byte_key_tracker_base(tracker), &now, NULL),
                   TR_OK);
  int is = is_key_range(&now, start, end);
  tr_restriction_free(&now);
  return is;
}

/*
** The residual of a split at `fraction` is [start, end), or with start NULL the split is refused.
*/
static void check_split(tr_byte_key_tracker *tracker, double fraction, const char *start,
                        const char *end) {
  tr_restriction residual;
  int is_split = tr_tracker_try_split(tr_byte_key_tracker_base(tracker), fraction, &residual, NULL);
  assert_int_equal(is_split, start != NULL);
  if (!is_split) return;
  assert_true(is_key_range(&residual, start, end));
  tr_restriction_free(&residual);
}

static void check_checkpoint(tr_byte_key_tracker *tracker, const char *start, const char *end) {
  tr_restriction residual;
  assert_int_equal(tr_tracker_checkpoint(tr_byte_key_tracker_base(tracker), &residual, NULL),
                   TR_OK);
  assert_true(is_key_range(&residual, start, end));
  tr_restriction_free(&residual);
}

static int is_done(tr_byte_key_tracker *tracker) {
  tr_tracker *base = tr_byte_key_tracker_base(tracker);
  int done = tr_tracker_is_done(base);
  assert_int_equal(tr_tracker_check_done(base, NULL), done ? TR_OK : TR_INVALID_STATE);
  return done;
}

/* ---- Claims --------------------------------------------------------------------------------- */

/* Shopify/job-iteration#457: what goes back must not loop. */
static void a_claim_not_above_the_last_is_an_error(void **state) {
  (void)state;
  static const char *const keys[] = {"10", "1000", "5000000000000000", "500000000000000001",
                                     "50000000000000000100"};
  tr_byte_key_tracker *t = open_hex("10", "c0");
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    assert_int_equal(claim(t, keys[i]), 1);
    for (size_t j = 0; j <= i; j++) assert_int_equal(claim(t, keys[j]), -1);
  }
  assert_int_equal(claim(t, "c0"), 0);
  assert_int_equal(claim(t, "60"), -1);
  assert_int_equal(claim(t, "c0"), -1);
  assert_int_equal(claim(t, "c000"), 0);
  close_tracker(t);
}

static void each_error_says_what_is_wrong(void **state) {
  (void)state;
  tr_error err;
  tr_byte_key_tracker *t = open_hex("10", "c0");
  assert_int_equal(tr_byte_key_tracker_try_claim(t, hex("0f"), &err), -1);
  assert_string_equal(err.message, "Trying to claim key [0f] before start of the range "
                                   "ByteKeyRange{startKey=[10], endKey=[c0]}");
  assert_int_equal(claim(t, "20"), 1);
  assert_int_equal(tr_byte_key_tracker_try_claim(t, hex("20"), &err), -1);
  assert_string_equal(err.message, "Trying to claim key [20] while last attempted key was [20]");
  assert_int_equal(tr_tracker_check_done(tr_byte_key_tracker_base(t), &err), TR_INVALID_STATE);
  assert_string_equal(err.message,
                      "Last attempted key was [20] in range ByteKeyRange{startKey=[10], "
                      "endKey=[c0]}, claiming work in [[2000], [c0]) was not attempted");
  close_tracker(t);
}

/* apache/beam#6949. */
static void the_empty_key_claims_the_end(void **state) {
  (void)state;
  tr_byte_key_tracker *t = open_hex("10", "");
  assert_int_equal(claim(t, "20"), 1);
  assert_false(is_done(t));
  assert_int_equal(claim(t, ""), 0);
  assert_true(is_done(t));
  /* Deviation 3: it cannot be undone. */
  assert_int_equal(claim(t, "30"), -1);
  assert_int_equal(claim(t, ""), -1);
  assert_int_equal(tr_tracker_claim_end(tr_byte_key_tracker_base(t), NULL), TR_OK);
  assert_true(is_done(t));
  assert_true(tr_tracker_size(tr_byte_key_tracker_base(t)) == 0);
  check_checkpoint(t, "", "00");
  close_tracker(t);
}

static void the_last_claimed_key_outlives_refused_ones(void **state) {
  (void)state;
  tr_byte_key_tracker *t = open_hex("", "80");
  tr_buffer key = {0};
  tr_tracker *base = tr_byte_key_tracker_base(t);
  assert_int_equal(tr_tracker_last_claimed(base, &key, NULL, NULL), 0);
  assert_int_equal(claim(t, "7f"), 1);
  assert_int_equal(claim(t, "90"), 0);
  assert_int_equal(claim(t, "91"), 0);
  assert_int_equal(tr_tracker_last_claimed(base, &key, NULL, NULL), 1);
  assert_int_equal(tr_bytes_compare(tr_buffer_bytes(&key), hex("7f")), 0);
  assert_int_equal(tr_tracker_last_attempted(base, &key, NULL, NULL), 1);
  assert_int_equal(tr_bytes_compare(tr_buffer_bytes(&key), hex("91")), 0);
  assert_int_equal(tr_tracker_claim_end(base, NULL), TR_OK);
  assert_int_equal(tr_tracker_last_attempted(base, &key, NULL, NULL), 1);
  assert_int_equal(key.size, 0);
  assert_int_equal(tr_tracker_last_claimed(base, &key, NULL, NULL), 1);
  assert_int_equal(tr_bytes_compare(tr_buffer_bytes(&key), hex("7f")), 0);
  tr_buffer_free(&key);
  close_tracker(t);
}

/* ---- Splits --------------------------------------------------------------------------------- */

/* apache/beam#11454. */
static void splits(void **state) {
  (void)state;
  static const struct {
    const char *start, *end, *claimed; /* claimed NULL: nothing; "": the end */
    double fraction;
    const char *residual, *residual_end, *primary_end;
    const char *why;
  } cases[] = {
      {"10", "10", NULL, 0, NULL, NULL, "10", "an empty range"},
      {"", "00", NULL, 0, NULL, NULL, "00", "a range without keys"},
      {"10", "c0", "", 0, NULL, NULL, "c0", "a finished range"},
      {"10", "c0", "c0", 0, NULL, NULL, "c0", "a range finished by a key at the end"},
      {"10", "c0", "50", 0, "5000", "c0", "5000", "fraction 0: just after the claimed key"},
      {"10", "c0", NULL, 0, "10", "c0", "10", "fraction 0 of an untouched range: all of it"},
      {"", "80", NULL, 0.5, "40000000000000", "80", "40000000000000", "the middle"},
      {"", "", NULL, 0, "", "", "00", "all keys given away"},
      {"", "", NULL, 0.5, "80000000000000", "", "80000000000000", "the middle of all keys"},
      {"10", "1000", "10", 0.5, NULL, NULL, "1000", "no key between the claimed one and the end"},
      {"10", "100000", "10", 0.5, NULL, NULL, "100000", "one point on the number line"},
      {"10", "c0", "20", 1, NULL, NULL, "c0", "a fraction of 1"},
      {"10", "c0", "20", -0.5, NULL, NULL, "c0", "a fraction below 0"},
      {"10", "c0", "20", 0.0 / 0.0, NULL, NULL, "c0", "no number"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_byte_key_tracker *t = open_hex(cases[i].start, cases[i].end);
    if (cases[i].claimed != NULL) claim(t, cases[i].claimed);
    check_split(t, cases[i].fraction, cases[i].residual, cases[i].residual_end);
    assert_true(is_at(t, cases[i].start, cases[i].primary_end));
    close_tracker(t);
  }
}

static void splits_at_a_position(void **state) {
  (void)state;
  static const struct {
    const char *start, *end, *claimed, *at;
    int is_split;
    const char *why;
  } cases[] = {
      {"10", "c0", NULL, "10", 0, "nothing would be left"},
      {"10", "c0", NULL, "0f", 0, "below the start"},
      {"10", "c0", NULL, "1000", 1, "just above the start"},
      {"10", "c0", "50", "50", 0, "the claimed key"},
      {"10", "c0", "50", "4f", 0, "below the claimed key"},
      {"10", "c0", "50", "5000", 1, "just above the claimed key"},
      {"10", "c0", "50", "bfff", 1, "just below the end"},
      {"10", "c0", "50", "c0", 0, "the end"},
      {"10", "c0", "50", "", 0, "the empty key"},
      {"10", "c0", "", "60", 0, "a finished range"},
      {"", "", "50", "ffffffffffffffffffff", 1, "far out"},
      {"", "", NULL, "00", 1, "the empty key alone is left"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_restriction residual;
    tr_byte_key_tracker *t = open_hex(cases[i].start, cases[i].end);
    if (cases[i].claimed != NULL) claim(t, cases[i].claimed);
    int is_split = tr_tracker_try_split_at(tr_byte_key_tracker_base(t),
                                           tr_position_of_key(hex(cases[i].at)), &residual, NULL);
    assert_int_equal(is_split, cases[i].is_split);
    assert_true(is_at(t, cases[i].start, is_split ? cases[i].at : cases[i].end));
    if (is_split) {
      assert_true(is_key_range(&residual, cases[i].at, cases[i].end));
      tr_restriction_free(&residual);
    }
    close_tracker(t);
  }
}

static void checkpoints(void **state) {
  (void)state;
  tr_byte_key_tracker *t = open_hex("10", "c0");
  check_checkpoint(t, "10", "c0");
  assert_true(is_at(t, "", "00"));
  assert_true(is_done(t));
  assert_int_equal(claim(t, "10"), 0);
  close_tracker(t);

  t = open_hex("10", "c0");
  assert_int_equal(claim(t, "50"), 1);
  check_checkpoint(t, "5000", "c0");
  /* Deviation 2: at once, not only after one more claim. */
  assert_true(is_done(t));
  assert_true(is_at(t, "10", "5000"));
  check_checkpoint(t, "5000", "5000");
  assert_int_equal(claim(t, "51"), 0);
  close_tracker(t);
}

/* apache/beam#11715. */
static void progress_without_an_end_is_a_number(void **state) {
  (void)state;
  tr_byte_key_tracker *t = open_hex("", "");
  tr_tracker *base = tr_byte_key_tracker_base(t);
  static const char *const keys[] = {"00", "01", "40", "ff", "ffffffffffffffffffffffff"};
  double before = tr_tracker_fraction_consumed(base);
  assert_true(before == 0 && tr_tracker_size(base) == 1);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    assert_int_equal(claim(t, keys[i]), 1);
    double now = tr_tracker_fraction_consumed(base);
    assert_true(now >= before && now <= 1);
    assert_true(tr_tracker_size(base) == 1 - now);
    before = now;
  }
  close_tracker(t);
}

/* Deviations 1, 2 and 4. */
static void size_is_what_remains(void **state) {
  (void)state;
  tr_byte_key_tracker *t = open_hex("00", "80");
  tr_tracker *base = tr_byte_key_tracker_base(t);
  assert_true(tr_tracker_size(base) == 1);
  assert_int_equal(claim(t, "20"), 1);
  assert_true(tr_tracker_size(base) == 0.75 && tr_tracker_fraction_consumed(base) == 0.25);
  check_checkpoint(t, "2000", "80");
  assert_true(tr_tracker_size(base) == 0 && tr_tracker_fraction_consumed(base) == 1);
  close_tracker(t);

  t = open_hex("42", "42");
  assert_true(is_done(t));
  assert_true(tr_tracker_size(tr_byte_key_tracker_base(t)) == 0);
  close_tracker(t);
}

/* ---- Windows -------------------------------------------------------------------------------- */

static tr_bytes rowid_key(int64_t rowid) {
  static uint8_t keys[4][TR_ROWID_KEY_SIZE];
  static int next;
  uint8_t *key = keys[next++ % 4];
  tr_byte_key_of_rowid(rowid, key);
  return (tr_bytes){key, TR_ROWID_KEY_SIZE};
}

static int claim_rowid(tr_byte_key_tracker *t, tr_byte_key_window *window, int64_t rowid) {
  return tr_byte_key_window_claim(t, window, rowid_key(rowid), NULL);
}

static void a_split_stays_above_the_window(void **state) {
  (void)state;
  tr_restriction residual;
  tr_byte_key_window window = {.wanted = 100};
  tr_byte_key_tracker *t = open_tracker(rowid_key(0), rowid_key(1000000));
  for (int64_t i = 0; i < 5000; i++) assert_int_equal(claim_rowid(t, &window, i), 1);
  assert_true(window.left > 0);
  assert_int_equal(tr_tracker_try_split(tr_byte_key_tracker_base(t), 0, &residual, NULL), 1);
  /* All that the window still promises lies below the residual, and is granted. */
  int64_t first = tr_byte_key_to_rowid(residual.bytes.start.data);
  if (residual.bytes.start.size > TR_ROWID_KEY_SIZE) first++;
  assert_true(first >= 5000 && first <= 5000 + 200);
  for (int64_t i = 5000; i < first; i++) assert_int_equal(claim_rowid(t, &window, i), 1);
  assert_int_equal(claim_rowid(t, &window, first), 0);
  assert_true(is_done(t));
  tr_restriction_free(&residual);
  tr_byte_key_window_free(&window);
  close_tracker(t);
}

static void a_released_window_gives_back_its_rest(void **state) {
  (void)state;
  tr_error err;
  tr_restriction residual;
  tr_buffer key = {0};
  tr_byte_key_window window = {.wanted = 1000};
  tr_byte_key_tracker *t = open_tracker(rowid_key(0), rowid_key(1000000));
  tr_tracker *base = tr_byte_key_tracker_base(t);
  for (int64_t i = 0; i < 3333; i++) assert_int_equal(claim_rowid(t, &window, i), 1);
  assert_int_equal(tr_byte_key_tracker_release(t, &window, rowid_key(1000000), &err),
                   TR_INVALID_ARGUMENT);
  assert_int_equal(tr_byte_key_tracker_release(t, &window, rowid_key(3332), &err), TR_OK);
  assert_false(tr_byte_key_window_holds(&window, rowid_key(3333)));
  assert_int_equal(tr_tracker_last_claimed(base, &key, NULL, NULL), 1);
  assert_int_equal(tr_bytes_compare(tr_buffer_bytes(&key), rowid_key(3332)), 0);
  assert_int_equal(tr_tracker_checkpoint(base, &residual, NULL), TR_OK);
  tr_bytes start = tr_buffer_bytes(&residual.bytes.start);
  assert_true(tr_bytes_compare(start, rowid_key(3332)) > 0);
  assert_true(tr_bytes_compare(start, rowid_key(3333)) < 0);
  tr_restriction_free(&residual);
  tr_buffer_free(&key);
  tr_byte_key_window_free(&window);
  close_tracker(t);
}

/* Whatever the keys look like, a window comes to hold about as many as were asked for. */
static void windows_learn_how_dense_the_keys_are(void **state) {
  (void)state;
  static const struct {
    const char *prefix;
    int64_t stride;
    int has_end;
  } cases[] = {{"", 1, 1},
               {"", 1000003, 1},
               {"", 1, 0},
               {"687474703a2f2f6578616d706c652e636f6d2f", 1, 1},
               {"687474703a2f2f6578616d706c652e636f6d2f", 977, 0}};
  enum { KEYS = 200000, WANTED = 500 };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_buffer key = {0}, end = {0};
    tr_bytes prefix = hex(cases[i].prefix);
    tr_byte_key_window window = {.wanted = WANTED};
    tr_buffer_set(&end, prefix, NULL);
    tr_buffer_append(&end, rowid_key(KEYS * cases[i].stride), NULL);
    tr_byte_key_tracker *t =
        open_tracker(prefix, cases[i].has_end ? tr_buffer_bytes(&end) : (tr_bytes){NULL, 0});
    long windows = 0;
    for (int64_t k = 0; k < KEYS; k++) {
      tr_buffer_set(&key, prefix, NULL);
      tr_buffer_append(&key, rowid_key(k * cases[i].stride), NULL);
      windows += !tr_byte_key_window_holds(&window, tr_buffer_bytes(&key));
      assert_int_equal(tr_byte_key_window_claim(t, &window, tr_buffer_bytes(&key), NULL), 1);
    }
    /* Twice as many as there would be of the size asked for, and a hundred to find that size. */
    assert_true(windows < KEYS / WANTED * 2 + 100);
    tr_buffer_free(&key);
    tr_buffer_free(&end);
    tr_byte_key_window_free(&window);
    close_tracker(t);
  }
}

static void the_rest_can_be_claimed_at_once(void **state) {
  (void)state;
  tr_byte_key_window window = {.wanted = 10};
  tr_byte_key_tracker *t = open_hex("10", "");
  assert_int_equal(claim(t, "20"), 1);
  assert_int_equal(tr_byte_key_tracker_claim_rest(t, &window, NULL), 1);
  check_split(t, 0, NULL, NULL);
  check_split(t, 0.5, NULL, NULL);
  assert_true(is_done(t));
  assert_int_equal(tr_byte_key_window_claim(t, &window, hex("30"), NULL), 1);
  assert_int_equal(tr_byte_key_window_claim(t, &window, hex("ffffffffffffffffff"), NULL), 1);
  /* The empty key is never in a window: it ends the scan. */
  assert_int_equal(tr_byte_key_tracker_release(t, &window, hex("40"), NULL), TR_OK);
  check_split(t, 0, "4000", "");
  assert_int_equal(tr_byte_key_tracker_claim_rest(t, &window, NULL), 0);
  assert_int_equal(tr_byte_key_window_claim(t, &window, hex(""), NULL), 0);
  assert_true(is_done(t));
  tr_byte_key_window_free(&window);
  close_tracker(t);
}

/* ---- Memory --------------------------------------------------------------------------------- */

static void put_state(tr_byte_key_tracker *t, tr_buffer *text) {
  text->size = 0;
  assert_int_equal(tr_tracker_text(tr_byte_key_tracker_base(t), text, NULL), TR_OK);
}

/*
** One thing to try with a tracker over [10, c0) at 50. 1 or 0 as it answers, -1 for want of memory.
*/
typedef int attempt(tr_byte_key_tracker *t, tr_error *err);

static int try_half(tr_byte_key_tracker *t, tr_error *err) {
  tr_restriction residual;
  int is_split = tr_tracker_try_split(tr_byte_key_tracker_base(t), 0.5, &residual, err);
  if (is_split == 1) tr_restriction_free(&residual);
  return is_split;
}

static int try_zero(tr_byte_key_tracker *t, tr_error *err) {
  tr_restriction residual;
  int is_split = tr_tracker_try_split(tr_byte_key_tracker_base(t), 0, &residual, err);
  if (is_split == 1) tr_restriction_free(&residual);
  return is_split;
}

static int try_at(tr_byte_key_tracker *t, tr_error *err) {
  tr_restriction residual;
  int is_split = tr_tracker_try_split_at(tr_byte_key_tracker_base(t), tr_position_of_key(hex("60")),
                                         &residual, err);
  if (is_split == 1) tr_restriction_free(&residual);
  return is_split;
}

static int try_checkpoint(tr_byte_key_tracker *t, tr_error *err) {
  tr_restriction residual;
  tr_code code = tr_tracker_checkpoint(tr_byte_key_tracker_base(t), &residual, err);
  if (code == TR_OK) tr_restriction_free(&residual);
  return code == TR_OK ? 1 : -1;
}

static int try_restriction(tr_byte_key_tracker *t, tr_error *err) {
  tr_restriction now;
  tr_code code = tr_tracker_current_restriction(tr_byte_key_tracker_base(t), &now, err);
  if (code == TR_OK) tr_restriction_free(&now);
  return code == TR_OK ? 1 : -1;
}

static int try_text(tr_byte_key_tracker *t, tr_error *err) {
  tr_buffer text = {0};
  tr_code code = tr_tracker_text(tr_byte_key_tracker_base(t), &text, err);
  tr_buffer_free(&text);
  return code == TR_OK ? 1 : -1;
}

static int try_long_claim(tr_byte_key_tracker *t, tr_error *err) {
  uint8_t key[500];
  memset(key, 0x60, sizeof key);
  return tr_byte_key_tracker_try_claim(t, (tr_bytes){key, sizeof key}, err);
}

static int try_long_refusal(tr_byte_key_tracker *t, tr_error *err) {
  uint8_t key[500];
  memset(key, 0xd0, sizeof key);
  return tr_byte_key_tracker_try_claim(t, (tr_bytes){key, sizeof key}, err) + 1 > 0 ? 1 : -1;
}

static int try_rest(tr_byte_key_tracker *t, tr_error *err) {
  tr_byte_key_window window = {.wanted = 10};
  int is_left = tr_byte_key_tracker_claim_rest(t, &window, err);
  if (is_left == 1) tr_byte_key_tracker_release(t, &window, (tr_bytes){NULL, 0}, NULL);
  tr_byte_key_window_free(&window);
  return is_left;
}

static int try_last(tr_byte_key_tracker *t, tr_error *err) {
  tr_buffer key = {0};
  int has = tr_tracker_last_claimed(tr_byte_key_tracker_base(t), &key, NULL, err);
  tr_buffer_free(&key);
  return has;
}

static void without_memory_nothing_changes(void **state) {
  (void)state;
  static const struct {
    const char *name;
    attempt *attempt;
    int least_failures;
  } attempts[] = {{"split in half", try_half, 4},      {"split at 0", try_zero, 3},
                  {"split at a key", try_at, 3},       {"checkpoint", try_checkpoint, 3},
                  {"restriction", try_restriction, 2}, {"text", try_text, 2},
                  {"long claim", try_long_claim, 1},   {"long refusal", try_long_refusal, 1},
                  {"claim the rest", try_rest, 1},     {"last claimed", try_last, 1}};
  for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
    int failures = 0;
    for (long n = 1;; n++) {
      tr_error err;
      tr_buffer before = {0}, after = {0};
      tr_byte_key_tracker *t = open_hex("10", "c0");
      assert_int_equal(claim(t, "50"), 1);
      put_state(t, &before);
      test_memory_fail_at(n);
      int answer = attempts[i].attempt(t, &err);
      int has_failed = test_memory_has_failed();
      test_memory_fail_at(0);
      if (has_failed) {
        assert_int_equal(answer, -1);
        assert_int_equal(err.code, TR_NO_MEMORY);
        put_state(t, &after);
        assert_int_equal(tr_bytes_compare(tr_buffer_bytes(&before), tr_buffer_bytes(&after)), 0);
        assert_int_equal(attempts[i].attempt(t, &err), 1);
        failures++;
      }
      tr_buffer_free(&before);
      tr_buffer_free(&after);
      close_tracker(t);
      if (!has_failed) break;
    }
    if (failures < attempts[i].least_failures) fail_msg("%s: %d", attempts[i].name, failures);
  }
}

static void without_memory_an_untouched_tracker_keeps_its_range(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    tr_error err;
    tr_byte_key_tracker *t = open_hex("10", "c0");
    test_memory_fail_at(n);
    int answer = try_checkpoint(t, &err);
    int has_failed = test_memory_has_failed();
    test_memory_fail_at(0);
    assert_int_equal(answer, has_failed ? -1 : 1);
    assert_true(has_failed ? is_at(t, "10", "c0") : is_at(t, "", "00"));
    close_tracker(t);
    if (!has_failed) break;
  }
}

static void without_memory_there_is_no_tracker(void **state) {
  (void)state;
  tr_byte_key_range range;
  assert_int_equal(tr_byte_key_range_init(&range, hex("10"), hex("c0"), NULL), TR_OK);
  long live = test_memory_live();
  for (long n = 1;; n++) {
    tr_byte_key_tracker *t = NULL;
    tr_error err;
    test_memory_fail_at(n);
    tr_code code = tr_byte_key_tracker_create(&range, &t, &err);
    test_memory_fail_at(0);
    if (code == TR_OK) {
      tr_tracker_free(tr_byte_key_tracker_base(t));
      break;
    }
    assert_int_equal(code, TR_NO_MEMORY);
    assert_null(t);
    assert_int_equal(test_memory_live(), live);
  }
  tr_byte_key_range_free(&range);
}

/* A window without memory is closed, and the claim that asked for it stands. */
static void without_memory_windows_are_closed(void **state) {
  (void)state;
  for (long n = 1; n <= 4; n++) {
    tr_byte_key_window window = {.wanted = 100};
    tr_byte_key_tracker *t = open_tracker(rowid_key(0), rowid_key(1000000));
    test_memory_fail_at(n);
    for (int64_t i = 0; i < 2000; i++) assert_int_equal(claim_rowid(t, &window, i), 1);
    test_memory_fail_at(0);
    assert_true(window.left > 0);
    tr_byte_key_window_free(&window);
    close_tracker(t);
  }
}

/* ---- All of it at random -------------------------------------------------------------------- */

enum { UNIVERSE = 400, LONGEST = 40, MOST_PARTS = 4096 };

/*
** Sorted keys that look like composite ones: shared prefixes, zero and ff bytes, prefixes of
** others.
*/
typedef struct universe {
  uint8_t data[UNIVERSE][LONGEST];
  tr_bytes keys[UNIVERSE];
  int count;
  int claims[UNIVERSE];
} universe;

static int compare_keys(const void *a, const void *b) {
  return tr_bytes_compare(*(const tr_bytes *)a, *(const tr_bytes *)b);
}

static void make_universe(universe *u, test_random *random) {
  static const uint8_t alphabet[] = {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff};
  size_t prefix = test_random_below(random, LONGEST - 4);
  for (int i = 0; i < UNIVERSE; i++) {
    size_t size = prefix + 1 + test_random_below(random, LONGEST - prefix - 1);
    for (size_t at = 0; at < size; at++) {
      u->data[i][at] = at < prefix ? 0x33 : alphabet[test_random_below(random, sizeof alphabet)];
    }
    u->keys[i] = (tr_bytes){u->data[i], size};
  }
  qsort(u->keys, UNIVERSE, sizeof *u->keys, compare_keys);
  u->count = 0;
  for (int i = 0; i < UNIVERSE; i++) {
    if (u->count == 0 || compare_keys(&u->keys[u->count - 1], &u->keys[i]) != 0) {
      u->keys[u->count++] = u->keys[i];
    }
  }
  memset(u->claims, 0, sizeof u->claims);
}

/*
** Every residual begins where the primary ends, ends where the old range did, and holds no claim.
*/
static void check_parts(tr_byte_key_tracker *t, const tr_restriction *before,
                        const tr_restriction *residual, const tr_bytes *last) {
  tr_restriction now;
  assert_int_equal(tr_tracker_current_restriction(tr_byte_key_tracker_base(t), &now, NULL), TR_OK);
  tr_bytes start = tr_buffer_bytes(&residual->bytes.start);
  assert_int_equal(
      tr_bytes_compare(tr_buffer_bytes(&residual->bytes.end), tr_buffer_bytes(&before->bytes.end)),
      0);
  if (!tr_byte_key_range_is_no_keys(&now.bytes)) {
    assert_int_equal(tr_bytes_compare(start, tr_buffer_bytes(&now.bytes.end)), 0);
    assert_int_equal(
        tr_bytes_compare(tr_buffer_bytes(&now.bytes.start), tr_buffer_bytes(&before->bytes.start)),
        0);
  } else if (tr_bytes_compare(start, hex("00")) != 0) { /* below 00, the least key, there is none */
    assert_int_equal(tr_bytes_compare(start, tr_buffer_bytes(&before->bytes.start)), 0);
  }
  if (last != NULL) assert_true(tr_bytes_compare(start, *last) > 0);
  tr_restriction_free(&now);
}

/* Reads one range, with splits and checkpoints meanwhile, whose residuals go to `parts`. */
static void read_part(universe *u, const tr_restriction *part, tr_restriction *parts, int *count,
                      int is_ahead, test_random *random) {
  tr_tracker *base;
  assert_int_equal(tr_tracker_create(part, &base, NULL), TR_OK);
  tr_byte_key_tracker *t = tr_byte_key_tracker_of(base);
  tr_byte_key_window window = {.wanted = (uint32_t)(1 + test_random_below(random, 20))};
  tr_bytes *last = NULL;
  int i = 0;
  while (i < u->count && !tr_restriction_contains(part, tr_position_of_key(u->keys[i]), NULL)) i++;
  for (;;) {
    if (test_random_below(random, 4) == 0 && *count < MOST_PARTS) {
      tr_restriction before, residual;
      tr_tracker_current_restriction(base, &before, NULL);
      int is_given = 0, how = (int)test_random_below(random, 20);
      if (how == 0) {
        is_given = tr_tracker_checkpoint(base, &residual, NULL) == TR_OK;
        is_given += is_given && tr_byte_key_range_is_no_keys(&residual.bytes);
      } else if (how < 5) {
        tr_bytes at = u->keys[test_random_below(random, (uint64_t)u->count)];
        is_given = tr_tracker_try_split_at(base, tr_position_of_key(at), &residual, NULL);
      } else {
        double fraction = how < 7 ? 0 : (double)(test_random_next(random) >> 11) * 0x1p-53;
        is_given = tr_tracker_try_split(base, fraction, &residual, NULL);
      }
      if (is_given == 1) {
        check_parts(t, &before, &residual, last);
        parts[(*count)++] = residual;
      } else if (is_given == 2) {
        tr_restriction_free(&residual);
      }
      tr_restriction_free(&before);
    }
    if (is_ahead && last != NULL && test_random_below(random, 30) == 0) {
      assert_int_equal(tr_byte_key_tracker_release(t, &window, *last, NULL), TR_OK);
    }
    if (!is_ahead && last != NULL && test_random_below(random, 8) == 0) {
      tr_bytes wrong = u->keys[test_random_below(random, (uint64_t)i)];
      assert_int_equal(tr_byte_key_tracker_try_claim(t, wrong, NULL), -1);
    }
    if (i == u->count) break;
    int claimed = is_ahead ? tr_byte_key_window_claim(t, &window, u->keys[i], NULL)
                           : tr_byte_key_tracker_try_claim(t, u->keys[i], NULL);
    assert_true(claimed >= 0);
    if (!claimed) break;
    u->claims[i]++;
    last = &u->keys[i++];
  }
  assert_int_equal(tr_tracker_claim_end(base, NULL), TR_OK);
  assert_true(is_done(t));
  tr_byte_key_window_free(&window);
  tr_tracker_free(base);
}

/* apache/beam#8998, and the promise of tracker.h. */
static void every_key_is_claimed_once(void **state) {
  (void)state;
  static universe u;
  static tr_restriction parts[MOST_PARTS];
  test_random random = test_random_begin("every_key_is_claimed_once");
  for (long run = test_effort(4000); run > 0; run--) {
    make_universe(&u, &random);
    int is_open = test_random_below(&random, 2) == 0, count = 1,
        is_ahead = (int)test_random_below(&random, 2);
    uint8_t above_all[LONGEST + 1];
    memset(above_all, 0xff, sizeof above_all);
    tr_bytes end = {above_all, is_open ? 0 : sizeof above_all};
    parts[0] = (tr_restriction){.kind = TR_BYTES};
    tr_byte_key_range_init(&parts[0].bytes, (tr_bytes){NULL, 0}, end, NULL);
    for (int i = 0; i < count; i++) {
      read_part(&u, &parts[i], parts, &count, is_ahead, &random);
      tr_restriction_free(&parts[i]);
    }
    for (int i = 0; i < u.count; i++) assert_int_equal(u.claims[i], 1);
    assert_int_equal(test_memory_live(), 0);
  }
}

/* ---- Where the keys are thought to lie ------------------------------------------------------ */

static double consumed(tr_byte_key_tracker *tracker) {
  return tr_tracker_fraction_consumed(tr_byte_key_tracker_base(tracker));
}

/* All keys, of which those there are lie from 4000 to 5fff. */
static tr_byte_key_tracker *open_with_extent(const char *start, const char *end) {
  tr_byte_key_tracker *tracker = open_hex(start, end);
  assert_int_equal(tr_byte_key_tracker_set_extent(tracker, hex("4000"), hex("5fff"), NULL), TR_OK);
  return tracker;
}

static void an_extent_is_what_splits_and_fractions_measure(void **state) {
  (void)state;
  tr_byte_key_tracker *tracker = open_with_extent("", "");
  assert_true(consumed(tracker) == 0);
  assert_int_equal(claim(tracker, "4000"), 1);
  assert_true(consumed(tracker) == 0);
  assert_int_equal(claim(tracker, "4800"), 1);
  assert_true(fabs(consumed(tracker) - 0.25) < 0.001);
  check_split(tracker, 0.5, "53ff8000000000", ""); /* half of what remains, and all behind it */
  assert_true(is_at(tracker, "", "53ff8000000000"));
  assert_true(fabs(consumed(tracker) - 0.4) < 0.001);
  close_tracker(tracker);
}

static void an_untouched_tracker_is_split_within_its_extent(void **state) {
  (void)state;
  tr_byte_key_tracker *tracker = open_with_extent("", "");
  check_split(tracker, 0.5, "4fff8000000000", "");
  assert_true(is_at(tracker, "", "4fff8000000000"));
  close_tracker(tracker);
}

/* More keys than were thought: none is refused, and the fraction waits for the end. */
static void an_extent_refuses_no_key(void **state) {
  (void)state;
  tr_byte_key_tracker *tracker = open_with_extent("", "");
  assert_int_equal(claim(tracker, "3000"), 1);
  assert_true(consumed(tracker) == 0);
  assert_int_equal(claim(tracker, "7000"), 1);
  assert_true(consumed(tracker) < 1 && consumed(tracker) > 0.99);
  check_split(tracker, 0.5, "b8000000000000", ""); /* measured as without a hint */
  assert_int_equal(claim(tracker, ""), 0);
  assert_true(consumed(tracker) == 1);
  close_tracker(tracker);
}

/* A range that is narrower than the extent, or beside it, is measured by itself. */
static void an_extent_widens_nothing(void **state) {
  (void)state;
  tr_byte_key_tracker *tracker = open_with_extent("50", "51");
  check_split(tracker, 0.5, "5080000000000000", "51");
  close_tracker(tracker);
  tracker = open_with_extent("80", "90");
  check_split(tracker, 0.5, "88000000000000", "90");
  close_tracker(tracker);
  tracker = open_hex("", "");
  assert_int_equal(tr_byte_key_tracker_set_extent(tracker, hex("50"), hex("40"), NULL),
                   TR_INVALID_ARGUMENT);
  close_tracker(tracker);
}

static tr_code make_with_extent(void *context) {
  (void)context;
  tr_byte_key_tracker *tracker;
  tr_byte_key_range all = {0};
  tr_error err = {.code = TR_OK};
  if (tr_byte_key_tracker_create(&all, &tracker, &err) != TR_OK) return err.code;
  tr_code code = tr_byte_key_tracker_set_extent(tracker, hex("4000"), hex("5fff"), &err);
  if (code == TR_OK) assert_true(consumed(tracker) == 0);
  tr_tracker_free(tr_byte_key_tracker_base(tracker));
  return code;
}

static void without_memory_there_is_no_extent(void **state) {
  (void)state;
  assert_true(test_memory_fail_each(make_with_extent, NULL) >= 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_claim_not_above_the_last_is_an_error),
      cmocka_unit_test(each_error_says_what_is_wrong),
      cmocka_unit_test(the_empty_key_claims_the_end),
      cmocka_unit_test(the_last_claimed_key_outlives_refused_ones),
      cmocka_unit_test(splits),
      cmocka_unit_test(splits_at_a_position),
      cmocka_unit_test(checkpoints),
      cmocka_unit_test(progress_without_an_end_is_a_number),
      cmocka_unit_test(size_is_what_remains),
      cmocka_unit_test(a_split_stays_above_the_window),
      cmocka_unit_test(a_released_window_gives_back_its_rest),
      cmocka_unit_test(windows_learn_how_dense_the_keys_are),
      cmocka_unit_test(the_rest_can_be_claimed_at_once),
      cmocka_unit_test(without_memory_nothing_changes),
      cmocka_unit_test(without_memory_an_untouched_tracker_keeps_its_range),
      cmocka_unit_test(without_memory_there_is_no_tracker),
      cmocka_unit_test(without_memory_windows_are_closed),
      cmocka_unit_test(every_key_is_claimed_once),
      cmocka_unit_test(an_extent_is_what_splits_and_fractions_measure),
      cmocka_unit_test(an_untouched_tracker_is_split_within_its_extent),
      cmocka_unit_test(an_extent_refuses_no_key),
      cmocka_unit_test(an_extent_widens_nothing),
      cmocka_unit_test(without_memory_there_is_no_extent),
  };
  return cmocka_run_group_tests_name("byte_key_tracker", tests, NULL, NULL);
}

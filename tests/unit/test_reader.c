/*
** reader/reader.h: the rules of the contract over scripted cursors, with both kinds of tracker;
** failing allocations; and readers that are split by other threads while they run.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "effort.h"
#include "reader/reader.h"
#include "test_memory.h"

/* A cursor over offsets (or keys of one byte) in a list; -1 stands for a failure. */
typedef struct script {
  const int64_t *at;
  int is_bytes;
  int calls_after_end;
  int has_ended;
  int closed;
  uint8_t key;
} script;

#define END INT64_MIN
#define FAILURE (-1)

static int script_next(void *cursor, tr_position *position, tr_error *err) {
  script *s = cursor;
  s->calls_after_end += s->has_ended;
  int64_t at = *s->at;
  if (at == END || at == FAILURE) s->has_ended = 1;
  if (at == END) return 0;
  if (at == FAILURE) return tr_error_no(err, TR_HOST, "the disk is on fire");
  s->at++;
  s->key = (uint8_t)at;
  *position = s->is_bytes ? tr_position_of_key((tr_bytes){&s->key, 1}) : tr_position_of_offset(at);
  return 1;
}

static void script_close(void *cursor) {
  ((script *)cursor)->closed++;
}

static const tr_cursor_class script_class = {script_next, script_close};

/* A reader over [0, 100), offsets or keys 00 to 64. */
typedef struct fixture {
  script script;
  tr_tracker *tracker;
  tr_reader reader;
} fixture;

static void begin(fixture *f, const int64_t *at, int is_bytes) {
  static const uint8_t start[] = {0}, end[] = {100};
  tr_restriction range = {.kind = TR_INTEGERS, .integers = {0, 100}};
  if (is_bytes) {
    range.kind = TR_BYTES;
    assert_int_equal(
        tr_byte_key_range_init(&range.bytes, (tr_bytes){start, 1}, (tr_bytes){end, 1}, NULL),
        TR_OK);
  }
  f->script = (script){.at = at, .is_bytes = is_bytes};
  assert_int_equal(tr_tracker_create(&range, &f->tracker, NULL), TR_OK);
  tr_restriction_free(&range);
  assert_int_equal(tr_reader_init(&f->reader, &script_class, &f->script, f->tracker, NULL), TR_OK);
}

static void end(fixture *f) {
  assert_int_equal(f->script.calls_after_end, 0);
  tr_reader_close(&f->reader);
  tr_reader_close(&f->reader);
  assert_int_equal(f->script.closed, 1);
  tr_tracker_free(f->tracker);
  assert_int_equal(test_memory_live(), 0);
}

static void assert_no_record(fixture *f) {
  tr_position position;
  tr_error err;
  assert_int_equal(tr_reader_current(&f->reader, &position, &err), TR_INVALID_STATE);
  assert_string_equal(err.message, "the reader has no current record");
}

static void assert_record(fixture *f, int64_t at) {
  tr_position position;
  for (int again = 0; again < 2; again++) {
    assert_int_equal(tr_reader_current(&f->reader, &position, NULL), TR_OK);
    assert_int_equal(f->script.is_bytes ? position.key.data[0] : position.offset, at);
  }
}

/* The source's ends: offsets, or the first byte of the keys. */
static void assert_source(fixture *f, int64_t from, int64_t to) {
  tr_restriction source;
  assert_int_equal(tr_reader_current_source(&f->reader, &source, NULL), TR_OK);
  if (f->script.is_bytes) {
    assert_int_equal(source.bytes.start.data[0], from);
    assert_int_equal(source.bytes.end.data[0], to);
  } else {
    assert_int_equal(source.integers.from, from);
    assert_int_equal(source.integers.to, to);
  }
  tr_restriction_free(&source);
}

static void assert_refused(fixture *f, double fraction) {
  tr_restriction residual;
  tr_error err = {.code = TR_OK};
  memset(&residual, 0x5a, sizeof residual);
  tr_restriction untouched = residual;
  assert_int_equal(tr_reader_split_at_fraction(&f->reader, fraction, &residual, &err), 0);
  assert_memory_equal(&residual, &untouched, sizeof residual);
  assert_int_equal(err.code, TR_OK);
}

static void assert_split(fixture *f, double fraction, int64_t from, int64_t to) {
  tr_restriction residual;
  assert_int_equal(tr_reader_split_at_fraction(&f->reader, fraction, &residual, NULL), 1);
  if (f->script.is_bytes) {
    assert_int_equal(residual.bytes.start.data[0], from);
    assert_int_equal(residual.bytes.end.data[0], to);
  } else {
    assert_int_equal(residual.integers.from, from);
    assert_int_equal(residual.integers.to, to);
  }
  tr_restriction_free(&residual);
}

static void test_walk(void **state) {
  (void)state;
  static const int64_t at[] = {0, 7, 50, END};
  for (int is_bytes = 0; is_bytes < 2; is_bytes++) {
    fixture f;
    begin(&f, at, is_bytes);
    tr_error err;
    assert_no_record(&f);
    assert_int_equal(tr_reader_advance(&f.reader, &err), -1);
    assert_string_equal(err.message, "the reader has not been started");
    assert_int_equal(tr_reader_start(&f.reader, NULL), 1);
    assert_record(&f, 0);
    assert_int_equal(tr_reader_start(&f.reader, &err), -1);
    assert_string_equal(err.message, "the reader was started already");
    assert_record(&f, 0);
    assert_int_equal(tr_reader_advance(&f.reader, NULL), 1);
    assert_record(&f, 7);
    assert_int_equal(tr_reader_advance(&f.reader, NULL), 1);
    for (int again = 0; again < 3; again++) {
      assert_int_equal(tr_reader_advance(&f.reader, NULL), 0);
      assert_no_record(&f);
    }
    assert_int_equal(tr_tracker_check_done(f.tracker, NULL), TR_OK);
    tr_reader_close(&f.reader);
    assert_int_equal(tr_reader_advance(&f.reader, &err), -1);
    assert_string_equal(err.message, "the reader is closed");
    assert_no_record(&f);
    end(&f);
  }
}

/* What was not advanced to was never claimed. */
static void test_close_claims_nothing(void **state) {
  (void)state;
  static const int64_t at[] = {3, 7, END};
  fixture f;
  int64_t claimed;
  begin(&f, at, 0);
  assert_int_equal(tr_reader_start(&f.reader, NULL), 1);
  tr_reader_close(&f.reader);
  assert_int_equal(tr_tracker_last_attempted(f.tracker, NULL, &claimed, NULL), 1);
  assert_int_equal(claimed, 3);
  end(&f);
  begin(&f, at, 0);
  tr_reader_close(&f.reader);
  assert_int_equal(tr_tracker_last_attempted(f.tracker, NULL, &claimed, NULL), 0);
  end(&f);
}

static void test_fraction(void **state) {
  (void)state;
  static const int64_t at[] = {10, 25, 50, END};
  for (int is_bytes = 0; is_bytes < 2; is_bytes++) {
    fixture f;
    begin(&f, at, is_bytes);
    assert_true(tr_reader_fraction_consumed(&f.reader) == 0);
    assert_int_equal(tr_reader_start(&f.reader, NULL), 1);
    assert_true(fabs(tr_reader_fraction_consumed(&f.reader) - 0.1) < 1e-9);
    assert_int_equal(tr_reader_advance(&f.reader, NULL), 1);
    assert_true(fabs(tr_reader_fraction_consumed(&f.reader) - 0.25) < 1e-9);
    assert_split(&f, 0.8, 80, 100); /* of less it is more */
    assert_true(fabs(tr_reader_fraction_consumed(&f.reader) - 0.3125) < 1e-9);
    assert_int_equal(tr_reader_advance(&f.reader, NULL), 1);
    assert_int_equal(tr_reader_advance(&f.reader, NULL), 0);
    assert_true(tr_reader_fraction_consumed(&f.reader) == 1);
    tr_reader_close(&f.reader);
    assert_true(tr_reader_fraction_consumed(&f.reader) == 1);
    end(&f);
  }
}

static void test_nothing_to_read(void **state) {
  (void)state;
  static const int64_t none[] = {END}, beyond[] = {100, END};
  const int64_t *const cases[] = {none, beyond};
  for (int i = 0; i < 2; i++) {
    for (int is_bytes = 0; is_bytes < 2; is_bytes++) {
      fixture f;
      begin(&f, cases[i], is_bytes);
      assert_int_equal(tr_reader_start(&f.reader, NULL), 0);
      assert_no_record(&f);
      assert_true(tr_reader_fraction_consumed(&f.reader) == 1);
      assert_int_equal(tr_reader_advance(&f.reader, NULL), 0);
      assert_int_equal(tr_tracker_check_done(f.tracker, NULL), TR_OK);
      end(&f);
    }
  }
}

/* A fraction is one of the whole source, not of what remains; a refused split has no effect. */
static void test_split(void **state) {
  (void)state;
  static const int64_t at[] = {0, 30, 60, 90, END};
  static const double no_fractions[] = {0, -0.0, 1, -0.5, 1.5, NAN, INFINITY, -INFINITY};
  for (int is_bytes = 0; is_bytes < 2; is_bytes++) {
    fixture f;
    begin(&f, at, is_bytes);
    assert_refused(&f, 0.5); /* before the start */
    assert_int_equal(tr_reader_start(&f.reader, NULL), 1);
    assert_int_equal(tr_reader_advance(&f.reader, NULL), 1);
    for (size_t i = 0; i < sizeof no_fractions / sizeof no_fractions[0]; i++) {
      assert_refused(&f, no_fractions[i]);
    }
    /* The present record; as a key it is below the point that 0.3 gives, which has more bytes. */
    assert_refused(&f, is_bytes ? 0.29 : 0.3);
    assert_refused(&f, 0.05); /* too late */
    assert_source(&f, 0, 100);
    assert_split(&f, 0.8, 80, 100);
    assert_source(&f, 0, 80);
    assert_split(&f, 0.5, 40, 80); /* of what is left of the source */
    assert_source(&f, 0, 40);
    assert_record(&f, 30);
    assert_int_equal(tr_reader_advance(&f.reader, NULL), 0); /* 60 belongs to another */
    assert_refused(&f, 0.9);                                 /* after the end */
    assert_source(&f, 0, 40);
    assert_int_equal(tr_tracker_check_done(f.tracker, NULL), TR_OK);
    end(&f);
  }
}

/* Between two neighbours there is no point to split at. */
static void test_too_narrow(void **state) {
  (void)state;
  static const int64_t at[] = {0, END};
  fixture f;
  begin(&f, at, 0);
  assert_int_equal(tr_reader_start(&f.reader, NULL), 1);
  assert_split(&f, 0.01, 1, 100);
  assert_refused(&f, 0.5);
  end(&f);
}

/* A reader that failed keeps what it claimed; the rest can be given to another. */
static void test_failure(void **state) {
  (void)state;
  static const int64_t at[] = {20, FAILURE}, at_once[] = {FAILURE};
  fixture f;
  tr_error err;
  begin(&f, at, 0);
  assert_int_equal(tr_reader_start(&f.reader, NULL), 1);
  assert_int_equal(tr_reader_advance(&f.reader, &err), -1);
  assert_string_equal(err.message, "the disk is on fire");
  assert_no_record(&f);
  assert_int_equal(tr_reader_advance(&f.reader, &err), -1);
  assert_string_equal(err.message, "the reader has failed before");
  assert_true(fabs(tr_reader_fraction_consumed(&f.reader) - 0.2) < 1e-9);
  assert_int_equal(tr_tracker_is_done(f.tracker), 0);
  assert_split(&f, 0.21, 21, 100);
  assert_int_equal(tr_tracker_check_done(f.tracker, NULL), TR_OK);
  end(&f);

  begin(&f, at_once, 0);
  assert_int_equal(tr_reader_start(&f.reader, &err), -1);
  assert_true(tr_reader_fraction_consumed(&f.reader) == 0);
  assert_split(&f, 0.5, 50, 100);
  end(&f);
}

/* A cursor that goes back is stopped by the tracker. */
static void test_cursor_that_goes_back(void **state) {
  (void)state;
  static const int64_t at[] = {20, 20, END};
  fixture f;
  tr_error err;
  begin(&f, at, 0);
  assert_int_equal(tr_reader_start(&f.reader, NULL), 1);
  assert_int_equal(tr_reader_advance(&f.reader, &err), -1);
  assert_string_equal(err.message, "Trying to claim offset 20 while last attempted was 20");
  assert_int_equal(tr_reader_advance(&f.reader, NULL), -1);
  end(&f);
}

static void test_out_of_memory(void **state) {
  (void)state;
  static const int64_t at[] = {0, 30, END};
  int has_failed = 1;
  for (long n = 1; has_failed; n++) {
    fixture f;
    tr_restriction residual, source;
    tr_error err;
    begin(&f, at, 1);
    assert_int_equal(tr_reader_start(&f.reader, NULL), 1);
    test_memory_fail_at(n);
    int split = tr_reader_split_at_fraction(&f.reader, 0.5, &residual, &err);
    has_failed = test_memory_has_failed();
    test_memory_fail_at(0);
    assert_int_equal(split, has_failed ? -1 : 1);
    if (has_failed) {
      assert_int_equal(err.code, TR_NO_MEMORY);
      assert_source(&f, 0, 100);
      test_memory_fail_at(1);
      assert_int_equal(tr_reader_current_source(&f.reader, &source, &err), TR_NO_MEMORY);
      test_memory_fail_at(0);
    } else {
      tr_restriction_free(&residual);
      assert_source(&f, 0, 50);
    }
    assert_int_equal(tr_reader_advance(&f.reader, NULL), 1);
    end(&f);
  }
}

/* ---- Other threads -------------------------------------------------------------------------- */

enum { SPLITTERS = 4, MOST_RESIDUALS = 64 };

typedef struct race {
  tr_reader reader;
  int64_t next;
  int64_t numbers;
  _Atomic int is_over;
} race;

static int race_next(void *cursor, tr_position *position, tr_error *err) {
  race *r = cursor;
  (void)err;
  if (r->next == r->numbers) return 0;
  *position = tr_position_of_offset(r->next++);
  return 1;
}

static void race_close(void *cursor) {
  (void)cursor;
}

typedef struct splitter {
  race *race;
  unsigned seed;
  int is_close;      /* splits just behind the reader, or else far away from it */
  int has_gone_back; /* a fraction fell, or a source grew */
  int count;
  tr_offset_range residuals[MOST_RESIDUALS];
} splitter;

static void *split_again_and_again(void *pointer) {
  splitter *s = pointer;
  double last_fraction = 0;
  int64_t last_to = s->race->numbers;
  while (!s->race->is_over) {
    double fraction = tr_reader_fraction_consumed(&s->race->reader);
    if (!(fraction >= last_fraction && fraction <= 1)) s->has_gone_back = 1;
    last_fraction = fraction;
    tr_restriction source, residual;
    tr_reader_current_source(&s->race->reader, &source, NULL);
    if (source.integers.to > last_to || source.integers.from != 0) s->has_gone_back = 1;
    last_to = source.integers.to;
    s->seed = s->seed * 1664525 + 1013904223;
    double far = 0.99 + (s->seed >> 8) * 0x1p-24 * 0.01;
    double at = s->is_close ? fraction + (s->seed >> 8) * 0x1p-24 * 0.002 : far;
    if (s->count < MOST_RESIDUALS &&
        tr_reader_split_at_fraction(&s->race->reader, at, &residual, NULL) == 1) {
      s->residuals[s->count++] = residual.integers;
    }
  }
  return NULL;
}

static int compare_ranges(const void *a, const void *b) {
  const tr_offset_range *x = a, *y = b;
  return (x->from > y->from) - (x->from < y->from);
}

/*
** Whatever the threads do: the rows that came and the residuals are the source, each number once.
** Returns the number of residuals.
*/
static int race_once(long round, int64_t numbers) {
  static const tr_cursor_class race_class = {race_next, race_close};
  static splitter splitters[SPLITTERS];
  static tr_offset_range residuals[SPLITTERS * MOST_RESIDUALS];
  static race r;
  r.next = 0;
  r.numbers = numbers;
  r.is_over = 0;
  tr_restriction range = {.kind = TR_INTEGERS, .integers = {0, numbers}};
  tr_tracker *tracker;
  pthread_t threads[SPLITTERS];
  assert_int_equal(tr_tracker_create(&range, &tracker, NULL), TR_OK);
  assert_int_equal(tr_reader_init(&r.reader, &race_class, &r, tracker, NULL), TR_OK);
  for (int i = 0; i < SPLITTERS; i++) {
    unsigned seed = (unsigned)round * SPLITTERS + (unsigned)i;
    splitters[i] = (splitter){.race = &r, .seed = seed, .is_close = (seed + seed / 7) % 3 == 0};
    assert_int_equal(pthread_create(&threads[i], NULL, split_again_and_again, &splitters[i]), 0);
  }
  int64_t rows = 0;
  int has = tr_reader_start(&r.reader, NULL);
  for (; has == 1; has = tr_reader_advance(&r.reader, NULL)) {
    tr_position position;
    assert_int_equal(tr_reader_current(&r.reader, &position, NULL), TR_OK);
    assert_int_equal(position.offset, rows);
    rows++;
  }
  assert_int_equal(has, 0);
  assert_true(tr_reader_fraction_consumed(&r.reader) == 1);
  r.is_over = 1;
  int count = 0;
  for (int i = 0; i < SPLITTERS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(splitters[i].has_gone_back, 0);
    for (int j = 0; j < splitters[i].count; j++) residuals[count++] = splitters[i].residuals[j];
  }
  qsort(residuals, (size_t)count, sizeof residuals[0], compare_ranges);
  int64_t covered = rows;
  for (int i = 0; i < count; i++) {
    assert_int_equal(residuals[i].from, covered);
    covered = residuals[i].to;
  }
  assert_int_equal(covered, numbers);
  tr_reader_close(&r.reader);
  tr_tracker_free(tracker);
  return count;
}

static void test_split_by_other_threads(void **state) {
  (void)state;
  long residuals = 0, rounds = test_effort(60);
  for (long round = 0; round < rounds; round++) residuals += race_once(round, 300000);
  print_message("%ld readers, %ld residuals\n", rounds, residuals);
  assert_true(residuals > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_walk),          cmocka_unit_test(test_close_claims_nothing),
      cmocka_unit_test(test_fraction),      cmocka_unit_test(test_nothing_to_read),
      cmocka_unit_test(test_split),         cmocka_unit_test(test_too_narrow),
      cmocka_unit_test(test_failure),       cmocka_unit_test(test_cursor_that_goes_back),
      cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_split_by_other_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

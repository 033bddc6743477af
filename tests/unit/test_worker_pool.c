/*
** The pool of workers: every row is read once whatever the keys look like, idle workers find work,
** an error of one stops all.
**
** Balance is measured without a clock. The turns of all workers are taken by this one thread:
** always that of the worker who has worked least, each row costing one unit of work and each turn a
** few, as it does with SQLite. A worker who finds nothing to take is idle until another has got
** further.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/memory.h"
#include "effort.h"
#include "range/byte_key.h"
#include "reader/worker_pool.h"
#include "test_memory.h"
#include "test_random.h"

/* --- a source in memory: keys in their order ------------------------------------------------- */

typedef struct source {
  const tr_work *work;
  tr_buffer *keys;
  long count;
  int has_no_end;      /* the pool's range has none */
  atomic_uchar *reads; /* how often each row was read */
  tr_worker_pool *pool;
  atomic_long failing_row; /* reading it fails; -1: none does */
  atomic_int finished;
  atomic_int interrupts;
  struct {
    long from, to;         /* rows that are its own, and not yet added */
    long taken;            /* it has rows in hand up to this one; 0: it has not begun */
  } left[TR_MOST_WORKERS]; /* of lazy readers */
} source;

/* The first row at or above a key. */
static long row_of(const source *s, tr_bytes key) {
  long low = 0, high = s->count;
  while (low < high) {
    long middle = (low + high) / 2;
    if (tr_bytes_compare(tr_buffer_bytes(&s->keys[middle]), key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static int first_key(void *context, int worker, tr_bytes from, tr_buffer *key, tr_error *err) {
  (void)worker;
  const source *s = context;
  long row = row_of(s, from);
  if (row == s->count) return 0;
  return tr_buffer_set(key, tr_buffer_bytes(&s->keys[row]), err) == TR_OK ? 1 : -1;
}

static int last_key(void *context, int worker, tr_bytes below, tr_buffer *key, tr_error *err) {
  (void)worker;
  const source *s = context;
  long row = row_of(s, below);
  if (row == 0) return 0;
  return tr_buffer_set(key, tr_buffer_bytes(&s->keys[row - 1]), err) == TR_OK ? 1 : -1;
}

static int key_behind(void *context, int worker, tr_bytes from, uint32_t rows, tr_buffer *key,
                      tr_error *err) {
  (void)worker;
  const source *s = context;
  long row = row_of(s, from) + (long)rows;
  if (row >= s->count) return 0;
  return tr_buffer_set(key, tr_buffer_bytes(&s->keys[row]), err) == TR_OK ? 1 : -1;
}

static tr_code read_rows(void *context, int worker, tr_piece *piece, tr_error *err) {
  (void)worker;
  source *s = context;
  long from = row_of(s, piece->from), to = piece->to.size == 0 ? s->count : row_of(s, piece->to);
  for (long row = from; row < to; row++) {
    if (row == atomic_load(&s->failing_row)) {
      return tr_error_set(err, TR_CORRUPT, "row %ld is bad", row);
    }
    if (tr_worker_pool_is_stopped(s->pool)) return tr_error_set(err, TR_INTERRUPTED, "stopped");
    atomic_fetch_add(&s->reads[row], 1);
    piece->rows++;
    if (piece->rows >= piece->most && row % 1024 == 0) {
      piece->is_cut = 1;
      return tr_buffer_set(&piece->last, tr_buffer_bytes(&s->keys[row]), err);
    }
  }
  return TR_OK;
}

#define HAND 256

/*
** Takes rows by the handful, ahead of the piece's end, and adds a handful when the piece holds all
** of it. The next piece must begin where this one ended.
*/
static tr_code read_lazily(void *context, int worker, tr_piece *piece, tr_error *err) {
  source *s = context;
  long from = row_of(s, piece->from), to = piece->to.size == 0 ? s->count : row_of(s, piece->to);
  if (s->left[worker].taken == 0)
    s->left[worker].from = s->left[worker].taken = from;
  else
    assert_int_equal(s->left[worker].to, from);
  s->left[worker].to = to;
  while (s->left[worker].from < to) {
    long *taken = &s->left[worker].taken, *added = &s->left[worker].from;
    if (*taken == *added) {
      *taken = *added + HAND < s->count ? *added + HAND : s->count;
      piece->work += (uint64_t)(*taken - *added);
    }
    piece->reached = tr_buffer_bytes(&s->keys[*taken - 1]);
    if (*taken > to) break;
    for (; *added < *taken; ++*added, piece->rows++) atomic_fetch_add(&s->reads[*added], 1);
    if (piece->rows >= piece->most) {
      piece->is_cut = 1;
      s->left[worker].to = *added;
      return tr_buffer_set(&piece->last, tr_buffer_bytes(&s->keys[*added - 1]), err);
    }
  }
  return TR_OK;
}

static tr_code read_rest(void *context, int worker, uint64_t *rows, tr_error *err) {
  (void)err;
  source *s = context;
  *rows = (uint64_t)(s->left[worker].to - s->left[worker].from);
  for (long row = s->left[worker].from; row < s->left[worker].to; row++) {
    atomic_fetch_add(&s->reads[row], 1);
  }
  s->left[worker].from = s->left[worker].to = s->left[worker].taken = 0;
  return TR_OK;
}

static void interrupt(void *context, int worker) {
  (void)worker;
  atomic_fetch_add(&((source *)context)->interrupts, 1);
}

static tr_code finish(void *context, int worker, tr_error *err) {
  (void)worker, (void)err;
  atomic_fetch_add(&((source *)context)->finished, 1);
  return TR_OK;
}

static const tr_work eager = {first_key, last_key, key_behind, read_rows, NULL, interrupt, finish};
static const tr_work lazy = {first_key, last_key,  key_behind, read_lazily,
                             read_rest, interrupt, finish};

/* --- kinds of keys --------------------------------------------------------------------------- */

static void put_rowid(tr_buffer *key, int64_t rowid) {
  uint8_t bytes[TR_ROWID_KEY_SIZE];
  tr_byte_key_of_rowid(rowid, bytes);
  assert_int_equal(tr_buffer_append(key, (tr_bytes){bytes, sizeof bytes}, NULL), TR_OK);
}

static void sequential(test_random *random, long i, long count, tr_buffer *key) {
  (void)random, (void)count;
  put_rowid(key, i + 1);
}

/* Gaps that become ever wider: most rows lie in the first millionth of the range. */
static void skewed(test_random *random, long i, long count, tr_buffer *key) {
  (void)random;
  double part = (double)i / (double)count;
  put_rowid(key, i + (int64_t)(part * part * part * part * 1e12));
}

/* A few far away first, so that the windows grow wide, then all the rest next to each other. */
static void dense_behind_sparse(test_random *random, long i, long count, tr_buffer *key) {
  (void)random, (void)count;
  put_rowid(key, i < 1000 ? i * INT64_C(1000000000000) : INT64_C(1000000000000000) + i);
}

static void clustered(test_random *random, long i, long count, tr_buffer *key) {
  (void)random;
  put_rowid(key, i / (count / 7) * INT64_C(1000000000000000) + i);
}

static void put_text(tr_buffer *key, const char *format, long a, long b) {
  char text[64];
  snprintf(text, sizeof text, format, a, b);
  assert_int_equal(tr_buffer_append_text(key, text, NULL), TR_OK);
}

static void paths(test_random *random, long i, long count, tr_buffer *key) {
  (void)random;
  put_text(key, "/home/users/%06ld/pictures/%08ld.jpg", i / (count / 50 + 1), i);
}

static void few_long_words(test_random *random, long i, long count, tr_buffer *key) {
  (void)random;
  put_text(key, i < count / 2 ? "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa%ld%08ld" : "z%ld%08ld", 0, i);
}

static void composite(test_random *random, long i, long count, tr_buffer *key) {
  /* A quarter of all rows is the first user's. */
  (void)random;
  tr_value user = tr_value_integer(i < count / 4 ? 1 : 2 + i / 10), at = tr_value_integer(i);
  assert_int_equal(tr_byte_key_append(key, &user, NULL), TR_OK);
  assert_int_equal(tr_byte_key_append(key, &at, NULL), TR_OK);
}

static void scattered(test_random *random, long i, long count, tr_buffer *key) {
  /* In order all the same: equal steps, and something random below them. */
  uint64_t step = UINT64_MAX / (uint64_t)count;
  uint64_t above_lowest = step * (uint64_t)i + test_random_below(random, step);
  put_rowid(key, (int64_t)(above_lowest ^ UINT64_C(0x8000000000000000)));
}

typedef void key_maker(test_random *random, long i, long count, tr_buffer *key);

static const struct {
  const char *name;
  key_maker *make;
} kinds[] = {
    {"sequential", sequential}, {"skewed", skewed},
    {"clustered", clustered},   {"dense behind sparse", dense_behind_sparse},
    {"paths", paths},           {"few long words", few_long_words},
    {"composite", composite},   {"scattered", scattered},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static void source_init(source *s, test_random *random, key_maker *make, long count) {
  *s = (source){.work = &eager, .count = count};
  atomic_init(&s->failing_row, -1);
  s->keys = calloc((size_t)count + 1, sizeof *s->keys);
  s->reads = calloc((size_t)count + 1, sizeof *s->reads);
  assert_true(s->keys != NULL && s->reads != NULL);
  for (long i = 0; i < count; i++) make(random, i, count, &s->keys[i]);
  for (long i = 1; i < count; i++) {
    assert_true(tr_bytes_compare(tr_buffer_bytes(&s->keys[i - 1]), tr_buffer_bytes(&s->keys[i])) <
                0);
  }
}

static void source_free(source *s) {
  for (long i = 0; i < s->count; i++) tr_buffer_free(&s->keys[i]);
  free(s->keys);
  free(s->reads);
}

/* From the first key to just behind the last, as a caller finds them, or to no end at all. */
static void range_of(const source *s, tr_byte_key_range *range) {
  tr_buffer end = {0};
  tr_bytes none = {NULL, 0};
  if (s->count > 0 && !s->has_no_end) {
    assert_int_equal(tr_buffer_set(&end, tr_buffer_bytes(&s->keys[s->count - 1]), NULL), TR_OK);
    assert_int_equal(tr_buffer_append_byte(&end, 0, NULL), TR_OK);
  }
  tr_bytes start = s->count == 0 ? none : tr_buffer_bytes(&s->keys[0]);
  assert_int_equal(tr_byte_key_range_init(range, start, tr_buffer_bytes(&end), NULL), TR_OK);
  tr_buffer_free(&end);
}

static void open_pool(source *s, int workers) {
  tr_byte_key_range range;
  tr_error err;
  range_of(s, &range);
  assert_int_equal(
      tr_worker_pool_create(s->work, s, workers, &range, (uint64_t)s->count, &s->pool, &err),
      TR_OK);
  tr_byte_key_range_free(&range);
}

static void assert_each_row_once(const source *s, const char *what) {
  for (long i = 0; i < s->count; i++) {
    if (s->reads[i] != 1) fail_msg("%s: row %ld was read %d times", what, i, s->reads[i]);
  }
}

/* --- balance --------------------------------------------------------------------------------- */

/* What a turn costs beside its rows, as rows: two look-ups and a statement. */
#define PRICE_OF_TURN 40

typedef struct outcome {
  double idle; /* share of all workers' time */
  long turns;
} outcome;

/*
** Lets the worker go first that is behind; the first one takes `slowness` times as long as the
** others.
*/
static outcome simulate(source *s, int workers, double slowness, const char *what) {
  open_pool(s, workers);
  double clock[TR_MOST_WORKERS] = {0}, idle = 0;
  int has_ended[TR_MOST_WORKERS] = {0};
  int empty_halves = 0;
  long turns = 0;
  for (int ended = 0; ended < workers; turns++) {
    int next = -1;
    for (int i = 0; i < workers; i++) {
      if (!has_ended[i] && (next < 0 || clock[i] < clock[next])) next = i;
    }
    uint64_t rows;
    tr_turn turn = tr_worker_pool_step(s->pool, next, &rows);
    int halves = tr_worker_pool_progress(s->pool).empty_splits;
    double price = (double)rows + PRICE_OF_TURN * (1 + halves - empty_halves);
    clock[next] += next == 0 ? price * slowness : price;
    empty_halves = halves;
    if (turn == TR_TURN_ENDED) {
      has_ended[next] = 1;
      ended++;
    }
    if (turn == TR_TURN_IDLE) idle += PRICE_OF_TURN;
  }
  double last = 0;
  for (int i = 0; i < workers; i++) last = clock[i] > last ? clock[i] : last;
  for (int i = 0; i < workers; i++) idle += last - clock[i];
  tr_worker_progress progress = tr_worker_pool_progress(s->pool);
  assert_int_equal(progress.rows, s->count);
  assert_true(progress.fraction == 1);
  assert_each_row_once(s, what);
  tr_worker_pool_free(s->pool);
  double share = idle / (last * workers);
  print_message("  %-20s %2d workers: idle %4.1f %%, %3d splits, %3d empty ones, %ld turns\n", what,
                workers, 100 * share, progress.splits, progress.empty_splits, turns);
  memset(s->reads, 0, (size_t)s->count);
  return (outcome){share, turns};
}

/*
** Nobody waits for long, and nobody reads in crumbs. With fewer rows than make test has, a last
** piece is too much of the whole.
*/
static void assert_well_divided(source *s, int workers, const char *what) {
  static const double slowness[] = {1, 1.7};
  for (size_t i = 0; i < sizeof slowness / sizeof *slowness; i++) {
    outcome o = simulate(s, workers, slowness[i], what);
    if (s->count < 1000000) continue;
    if (o.idle >= 0.05) fail_msg("%s: idle %f", what, o.idle);
    if (o.turns > 500 + 200 * workers) fail_msg("%s: %ld turns", what, o.turns);
  }
}

static void workers_are_hardly_ever_idle(void **state) {
  (void)state;
  static const int workers[] = {1, 2, 3, 4, 5, 16};
  test_random random = test_random_begin("workers are hardly ever idle");
  long count = test_effort(1000000);
  for (size_t i = 0; i < KINDS; i++) {
    source s;
    source_init(&s, &random, kinds[i].make, count);
    for (size_t j = 0; j < sizeof workers / sizeof *workers; j++) {
      assert_well_divided(&s, workers[j], kinds[i].name);
    }
    source_free(&s);
  }
}

static void rows_left_for_later_are_read_once(void **state) {
  (void)state;
  static const int workers[] = {1, 2, 5, 16};
  test_random random = test_random_begin("rows left for later are read once");
  long count = test_effort(1000000);
  for (size_t i = 0; i < KINDS; i++) {
    source s;
    source_init(&s, &random, kinds[i].make, count);
    s.work = &lazy;
    for (size_t j = 0; j < sizeof workers / sizeof *workers; j++) {
      assert_well_divided(&s, workers[j], kinds[i].name);
    }
    source_free(&s);
  }
  for (long rows = 0; rows < 400; rows += 7) {
    source s;
    source_init(&s, &random, rows % 2 ? sequential : composite, rows);
    s.work = &lazy;
    simulate(&s, 3, 1, "small");
    source_free(&s);
  }
}

static void small_sources_are_read_whole(void **state) {
  (void)state;
  test_random random = test_random_begin("small sources are read whole");
  for (long count = 0; count < 40; count++) {
    for (int workers = 1; workers <= 16; workers += 5) {
      source s;
      source_init(&s, &random, count % 2 ? sequential : composite, count);
      simulate(&s, workers, 1, "small");
      source_free(&s);
    }
  }
}

/* Also where nobody has looked for the end of the source. */
static void a_range_may_have_no_end(void **state) {
  (void)state;
  test_random random = test_random_begin("a range may have no end");
  long count = test_effort(1000000);
  for (size_t i = 0; i < KINDS; i++) {
    source s;
    source_init(&s, &random, kinds[i].make, count);
    s.has_no_end = 1;
    assert_well_divided(&s, 4, kinds[i].name);
    source_free(&s);
  }
}

/* --- threads --------------------------------------------------------------------------------- */

static tr_code run_threads(source *s, int workers, tr_error *err) {
  open_pool(s, workers);
  tr_code code = TR_OK;
  assert_true(tr_worker_pool_start(s->pool));
  while (!tr_worker_pool_wait(s->pool, 1)) {
    tr_worker_progress progress = tr_worker_pool_progress(s->pool);
    assert_true(progress.fraction >= 0 && progress.fraction <= 1);
    assert_true(progress.rows <= (uint64_t)s->count);
  }
  code = tr_worker_pool_join(s->pool, err);
  uint64_t rows = 0;
  for (int i = 0; i < workers; i++) rows += tr_worker_pool_rows_of(s->pool, i);
  if (code == TR_OK) assert_int_equal(rows, s->count);
  tr_worker_pool_free(s->pool);
  return code;
}

static void threads_read_each_row_once(void **state) {
  (void)state;
  test_random random = test_random_begin("threads read each row once");
  long count = test_effort(300000);
  for (size_t i = 0; i < KINDS; i++) {
    for (int workers = 1; workers <= 16; workers = workers < 3 ? workers + 1 : workers * 2 + 1) {
      source s;
      tr_error err = {0};
      source_init(&s, &random, kinds[i].make, count);
      s.work = workers % 2 ? &eager : &lazy;
      assert_int_equal(run_threads(&s, workers, &err), TR_OK);
      assert_int_equal(s.finished, workers);
      assert_int_equal(s.interrupts, 0);
      assert_each_row_once(&s, kinds[i].name);
      source_free(&s);
    }
  }
}

static void the_first_error_stops_all(void **state) {
  (void)state;
  test_random random = test_random_begin("the first error stops all");
  long count = test_effort(300000);
  for (int workers = 1; workers <= 16; workers = workers * 2 + 1) {
    source s;
    tr_error err = {0};
    char expected[64];
    source_init(&s, &random, paths, count);
    long bad = (long)test_random_below(&random, (uint64_t)count);
    atomic_store(&s.failing_row, bad);
    snprintf(expected, sizeof expected, "row %ld is bad", bad);
    assert_int_equal(run_threads(&s, workers, &err), TR_CORRUPT);
    assert_string_equal(err.message, expected);
    assert_int_equal(s.finished, 0);
    assert_int_equal(s.interrupts, workers);
    source_free(&s);
  }
}

/* Turn by turn: who has not failed ends with the piece that it has read. */
static void after_an_error_no_piece_is_read(void **state) {
  (void)state;
  enum { WORKERS = 5 };
  test_random random = test_random_begin("after an error no piece is read");
  source s;
  source_init(&s, &random, paths, test_effort(300000));
  atomic_store(&s.failing_row, (long)test_random_below(&random, (uint64_t)s.count));
  open_pool(&s, WORKERS);
  uint64_t rows;
  int failed = 0;
  while (tr_worker_pool_step(s.pool, failed, &rows) != TR_TURN_ENDED)
    failed = (failed + 1) % WORKERS;
  uint64_t total = tr_worker_pool_progress(s.pool).rows;
  assert_int_equal(s.interrupts, WORKERS);
  for (int i = 0; i < WORKERS; i++) {
    if (i == failed) continue;
    assert_int_equal(tr_worker_pool_step(s.pool, i, &rows), TR_TURN_ENDED);
    assert_int_equal(rows, 0);
  }
  assert_int_equal(tr_worker_pool_progress(s.pool).rows, total);
  tr_error err = {0};
  assert_int_equal(tr_worker_pool_join(s.pool, &err), TR_CORRUPT);
  tr_worker_pool_free(s.pool);
  source_free(&s);
}

static void a_stopped_pool_says_why(void **state) {
  (void)state;
  test_random random = test_random_begin("a stopped pool says why");
  source s;
  tr_error err = {0}, reason;
  source_init(&s, &random, sequential, 100000);
  open_pool(&s, 3);
  tr_error_set(&reason, TR_INTERRUPTED, "interrupted");
  assert_true(tr_worker_pool_start(s.pool));
  tr_worker_pool_stop(s.pool, &reason);
  tr_error_set(&reason, TR_TOO_BIG, "too late");
  tr_worker_pool_stop(s.pool, &reason);
  assert_int_equal(tr_worker_pool_join(s.pool, &err), TR_INTERRUPTED);
  assert_string_equal(err.message, "interrupted");
  tr_worker_pool_free(s.pool);
  source_free(&s);
}

/* --- memory ---------------------------------------------------------------------------------- */

static tr_code run_in_turns(source *s, const tr_byte_key_range *range) {
  tr_error err = {0};
  tr_code code = tr_worker_pool_create(s->work, s, 2, range, (uint64_t)s->count, &s->pool, &err);
  if (code != TR_OK) return code;
  uint64_t rows;
  for (int ended = 0; ended != 3;) {
    for (int i = 0; i < 2; i++) {
      if (tr_worker_pool_step(s->pool, i, &rows) == TR_TURN_ENDED) ended |= 1 << i;
    }
  }
  code = tr_worker_pool_join(s->pool, &err);
  tr_worker_pool_free(s->pool);
  return code;
}

/* A window that cannot be had is no error: so a run may succeed all the same, and then is whole. */
static void failing_memory_loses_nothing(void **state) {
  (void)state;
  test_random random = test_random_begin("failing memory loses nothing");
  source s;
  tr_byte_key_range range;
  source_init(&s, &random, clustered, 30000);
  range_of(&s, &range);
  long failures = 0, live = test_memory_live();
  int has_failed = 1;
  for (long n = 1; has_failed; n++) {
    test_memory_fail_at(n);
    tr_code code = run_in_turns(&s, &range);
    has_failed = test_memory_has_failed();
    test_memory_fail_at(0);
    assert_int_equal(test_memory_live(), live);
    if (code == TR_OK) {
      assert_each_row_once(&s, "failing memory");
    } else {
      assert_int_equal(code, TR_NO_MEMORY);
      failures++;
    }
    memset(s.reads, 0, (size_t)s.count);
  }
  assert_true(failures > 10);
  tr_byte_key_range_free(&range);
  source_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(workers_are_hardly_ever_idle),
      cmocka_unit_test(rows_left_for_later_are_read_once),
      cmocka_unit_test(small_sources_are_read_whole),
      cmocka_unit_test(a_range_may_have_no_end),
      cmocka_unit_test(threads_read_each_row_once),
      cmocka_unit_test(the_first_error_stops_all),
      cmocka_unit_test(after_an_error_no_piece_is_read),
      cmocka_unit_test(a_stopped_pool_says_why),
      cmocka_unit_test(failing_memory_loses_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

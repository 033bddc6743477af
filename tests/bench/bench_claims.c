/*
** What claiming a row costs, compared with comparing its key with the end, which a scan without a
** tracker must do, too; and how long a split takes while somebody claims.
**
** `make bench NAME=claims`, or build/tests/bench/bench_claims. Prints the five fields that
** tests/README.md describes, but the fourth is not a ratio: it is what a claim costs *more*, in ns,
** or the median time of a split, in us. A and B are timed in turns, ROUNDS times, and the medians
** count.
**
** An exact claim is a lock, two comparisons and a copy. In a program that has never had a second
** thread the C library's lock is nearly free; afterwards it costs two atomic instructions. Both are
** shown.
*/
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "range/byte_key.h"
#include "range/byte_key_tracker.h"
#include "range/offset_tracker.h"

enum { ROUNDS = 25, KEYS = 200000, SPLITS = 3000, LONGEST_PREFIX = 32 };

/*
** The keys of all rows, made before the clock runs. A key is `prefix_size` bytes that all share,
** then the row's number in eight bytes.
*/
static uint8_t all_keys[(KEYS + 1) * (LONGEST_PREFIX + TR_ROWID_KEY_SIZE)];

static void make_keys(size_t prefix_size) {
  uint8_t *at = all_keys;
  for (int64_t row = 0; row <= KEYS; row++) {
    memset(at, 0x2f, prefix_size);
    tr_byte_key_of_rowid(row, at + prefix_size);
    at += prefix_size + TR_ROWID_KEY_SIZE;
  }
}

static tr_bytes key_of(int64_t row, size_t prefix_size) {
  size_t size = prefix_size + TR_ROWID_KEY_SIZE;
  return (tr_bytes){all_keys + (size_t)row * size, size};
}

static double read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Of this thread alone: whatever else the machine does meanwhile does not count. */
static double now(void) {
  return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static void give_up(const char *what) {
  fprintf(stderr, "bench_claims: %s\n", what);
  exit(1);
}

static tr_tracker *open_keys(tr_bytes start, tr_bytes end) {
  tr_restriction restriction = {.kind = TR_BYTES};
  tr_tracker *tracker;
  tr_byte_key_range_init(&restriction.bytes, start, end, NULL);
  if (tr_tracker_create(&restriction, &tracker, NULL) != TR_OK) give_up("no tracker");
  tr_restriction_free(&restriction);
  return tracker;
}

static tr_tracker *open_integers(int64_t rows) {
  tr_restriction restriction = {.kind = TR_INTEGERS, .integers = {0, rows}};
  tr_tracker *tracker;
  if (tr_tracker_create(&restriction, &tracker, NULL) != TR_OK) give_up("no tracker");
  return tracker;
}

/* ---- One row each --------------------------------------------------------------------------- */

/* Each gives the nanoseconds for one key and claims KEYS of them. */
typedef double measure(size_t prefix_size);

static double compare_keys(size_t prefix_size) {
  tr_bytes end = key_of(KEYS, prefix_size);
  int64_t rows = 0;
  double begin = now();
  while (tr_bytes_compare(key_of(rows, prefix_size), end) < 0) rows++;
  double took = now() - begin;
  if (rows != KEYS) give_up("compared too few");
  return took / KEYS;
}

static double claim_keys(size_t prefix_size) {
  tr_tracker *tracker = open_keys(key_of(0, prefix_size), key_of(KEYS, prefix_size));
  tr_byte_key_tracker *t = tr_byte_key_tracker_of(tracker);
  int64_t rows = 0;
  double begin = now();
  while (tr_byte_key_tracker_try_claim(t, key_of(rows, prefix_size), NULL) == 1) rows++;
  double took = now() - begin;
  if (rows != KEYS) give_up("claimed too few");
  tr_tracker_free(tracker);
  return took / KEYS;
}

static double claim_keys_ahead(size_t prefix_size) {
  tr_tracker *tracker = open_keys(key_of(0, prefix_size), key_of(KEYS, prefix_size));
  tr_byte_key_tracker *t = tr_byte_key_tracker_of(tracker);
  tr_byte_key_window window = {.wanted = 1000};
  int64_t rows = 0;
  double begin = now();
  while (tr_byte_key_window_claim(t, &window, key_of(rows, prefix_size), NULL) == 1) rows++;
  double took = now() - begin;
  if (rows != KEYS) give_up("claimed too few ahead");
  tr_byte_key_window_free(&window);
  tr_tracker_free(tracker);
  return took / KEYS;
}

/* The compiler must not see through the loop. */
static int64_t opaque(int64_t x) {
  __asm__ volatile("" : "+r"(x));
  return x;
}

static double compare_integers(size_t unused) {
  (void)unused;
  int64_t end = KEYS, rows = 0;
  double begin = now();
  while (opaque(rows) < end) rows++;
  return (now() - begin) / KEYS;
}

static double claim_integers(size_t unused) {
  (void)unused;
  tr_tracker *tracker = open_integers(KEYS);
  tr_offset_tracker *t = tr_offset_tracker_of(tracker);
  int64_t rows = 0;
  double begin = now();
  while (tr_offset_tracker_try_claim(t, opaque(rows), NULL) == 1) rows++;
  double took = now() - begin;
  tr_tracker_free(tracker);
  return took / KEYS;
}

/* ---- Splits --------------------------------------------------------------------------------- */

typedef struct claimer {
  tr_tracker *tracker;
  atomic_int is_over;
} claimer;

static void *claim_until_over(void *context) {
  claimer *c = context;
  uint8_t key[TR_ROWID_KEY_SIZE];
  for (int64_t row = 0; !atomic_load_explicit(&c->is_over, memory_order_relaxed); row++) {
    tr_byte_key_of_rowid(row, key);
    tr_position position = tr_tracker_kind(c->tracker) == TR_BYTES
                               ? tr_position_of_key((tr_bytes){key, sizeof key})
                               : tr_position_of_offset(row);
    if (tr_tracker_try_claim(c->tracker, position, NULL) != 1) give_up("the claimer ran out");
  }
  return NULL;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *times, size_t count) {
  qsort(times, count, sizeof *times, compare_doubles);
  return times[count / 2];
}

/* The median of the time that a split takes while another thread claims. */
static double split_while_claiming(tr_tracker *tracker) {
  static double times[SPLITS];
  claimer c = {.tracker = tracker};
  pthread_t thread;
  if (pthread_create(&thread, NULL, claim_until_over, &c) != 0) give_up("no thread");
  for (int i = 0; i < SPLITS; i++) {
    tr_restriction residual;
    double begin = read_clock(CLOCK_MONOTONIC);
    int is_split = tr_tracker_try_split(tracker, 0.999, &residual, NULL);
    times[i] = read_clock(CLOCK_MONOTONIC) - begin;
    if (is_split != 1) give_up("a split was refused");
    tr_restriction_free(&residual);
  }
  atomic_store(&c.is_over, 1);
  pthread_join(thread, NULL);
  tr_tracker_free(tracker);
  return median(times, SPLITS);
}

/* ---- The table ------------------------------------------------------------------------------ */

typedef struct comparison {
  const char *what;
  measure *here, *other;
  size_t prefix_size;
  const char *goal;
} comparison;

static const comparison one_thread[] = {
    {"claim a rowid key, exactly", claim_keys, compare_keys, 0, "<= 4 ns"},
    {"claim a rowid key, ahead", claim_keys_ahead, compare_keys, 0, "<= 1 ns"},
    {"claim a key of 40 bytes, 32 shared, exactly", claim_keys, compare_keys, 32, ""},
    {"claim a key of 40 bytes, 32 shared, ahead", claim_keys_ahead, compare_keys, 32, "<= 1 ns"},
    {"claim an integer, exactly", claim_integers, compare_integers, 0, "<= 4 ns"},
};

static const comparison several_threads[] = {
    {"claim a rowid key, exactly, among threads", claim_keys, compare_keys, 0, ""},
    {"claim a rowid key, ahead, among threads", claim_keys_ahead, compare_keys, 0, "<= 1 ns"},
    {"claim an integer, exactly, among threads", claim_integers, compare_integers, 0, ""},
};

static void compare(const comparison *comparisons, size_t count) {
  for (const comparison *c = comparisons; c < comparisons + count; c++) {
    double here[ROUNDS], other[ROUNDS];
    make_keys(c->prefix_size);
    for (int round = 0; round < ROUNDS; round++) {
      here[round] = c->here(c->prefix_size);
      other[round] = c->other(c->prefix_size);
    }
    double with = median(here, ROUNDS), without = median(other, ROUNDS);
    printf("%s\t%.2f ns\t%.2f ns\t%.2f ns more\t%s\n", c->what, with, without,
           with > without ? with - without : 0, c->goal);
    fflush(stdout);
  }
}

static pthread_mutex_t hold = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_end(void *unused) {
  pthread_mutex_lock(&hold);
  pthread_mutex_unlock(&hold);
  return unused;
}

int main(void) {
  pthread_t second;
  compare(one_thread, sizeof one_thread / sizeof *one_thread);
  pthread_mutex_lock(&hold);
  if (pthread_create(&second, NULL, wait_for_end, NULL) != 0) give_up("no thread");
  compare(several_threads, sizeof several_threads / sizeof *several_threads);
  uint8_t start[TR_ROWID_KEY_SIZE], end[TR_ROWID_KEY_SIZE];
  tr_byte_key_of_rowid(0, start);
  tr_byte_key_of_rowid(INT64_MAX / 2, end);
  tr_tracker *tracker = open_keys((tr_bytes){start, sizeof start}, (tr_bytes){end, sizeof end});
  double split = split_while_claiming(tracker) / 1000;
  printf("split a range of keys while it is claimed, median\t%.2f us\t\t%.2f us\t<= 2 us\n", split,
         split);
  split = split_while_claiming(open_integers(INT64_MAX / 2)) / 1000;
  printf("split a range of integers while it is claimed, median\t%.2f us\t\t%.2f us\t<= 2 us\n",
         split, split);
  pthread_mutex_unlock(&hold);
  pthread_join(second, NULL);
  return 0;
}

/*
** One thread claims 10,000,000 keys while four others split, checkpoint and ask. What they take
** away is queued and claimed in turn, and split again meanwhile. At the end every key was claimed
** exactly once over all primaries and residuals, and every tracker is done. Three runs: byte
** keys and integers with exact claims, and byte keys claimed ahead. TEST_EFFORT=100 asks for all
** keys where make would take fewer.
**
** The splitters' lock protects the test's own queue: they hold it for reading from the moment they
** look up the tracker until its residual is in the queue, so that the claimer, who takes it for
** writing to change to the next part, finds all of them. The trackers are called by all threads at
** once. What the two write to each other is under the queue's mutex besides: helgrind takes who
** holds a lock for reading to write nothing.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "effort.h"
#include "range/byte_key.h"
#include "range/byte_key_tracker.h"
#include "range/offset_tracker.h"
#include "test_memory.h"
#include "test_random.h"

/* At most one split for so many keys. */
enum { SPLITTERS = 4, MOST_SPLITS = 2000, KEYS_OF_A_SPLIT = 5000, WINDOW = 500 };

typedef struct stress {
  long keys;
  uint8_t *claims; /* how often each key was claimed; this and the next are the claimer's own */
  long claimed;
  pthread_rwlock_t lock;
  tr_tracker *current; /* NULL before the beginning and after the end */
  int is_over;
  pthread_mutex_t queue_mutex;
  tr_restriction parts[MOST_SPLITS + SPLITTERS + 1];
  int part_count;
  atomic_long progress; /* `claimed`, for the others */
  atomic_int split_count;
  atomic_int wrong;
} stress;

typedef struct splitter {
  stress *stress;
  pthread_t thread;
  test_random random;
} splitter;

static int is_empty(const tr_restriction *part) {
  if (part->kind == TR_INTEGERS) return part->integers.from == part->integers.to;
  return tr_byte_key_range_is_no_keys(&part->bytes) ||
         tr_bytes_compare(tr_buffer_bytes(&part->bytes.start), tr_buffer_bytes(&part->bytes.end)) ==
             0;
}

/* One split in one of the ways there are. 1: `*residual` was taken. */
static int take_some(splitter *s, tr_tracker *tracker, tr_restriction *residual) {
  uint64_t how = test_random_below(&s->random, 40);
  if (how == 0) {
    if (tr_tracker_checkpoint(tracker, residual, NULL) != TR_OK) return 0;
    if (!is_empty(residual)) return 1;
    tr_restriction_free(residual);
    return 0;
  }
  if (how < 10) {
    uint8_t key[TR_ROWID_KEY_SIZE];
    int64_t at = (int64_t)test_random_below(&s->random, (uint64_t)s->stress->keys);
    tr_byte_key_of_rowid(at, key);
    tr_position position = tr_tracker_kind(tracker) == TR_BYTES
                               ? tr_position_of_key((tr_bytes){key, sizeof key})
                               : tr_position_of_offset(at);
    return tr_tracker_try_split_at(tracker, position, residual, NULL);
  }
  double fraction = how == 10 ? 0 : (double)test_random_below(&s->random, 1000) / 1000;
  return tr_tracker_try_split(tracker, fraction, residual, NULL);
}

/* Asks what is to be asked; the answers only have to be possible. */
static int answers_are_possible(tr_tracker *tracker) {
  tr_restriction now;
  if (tr_tracker_current_restriction(tracker, &now, NULL) != TR_OK) return 0;
  tr_restriction_free(&now);
  double fraction = tr_tracker_fraction_consumed(tracker);
  return fraction >= 0 && fraction <= 1 && tr_tracker_size(tracker) >= 0;
}

/* Splits are spread over the run: none before so many keys were claimed. */
static int may_split(stress *s) {
  int done = atomic_load(&s->split_count);
  return done < MOST_SPLITS && atomic_load(&s->progress) >= (long)done * KEYS_OF_A_SPLIT;
}

static void *run_splitter(void *context) {
  splitter *me = context;
  stress *s = me->stress;
  for (;;) {
    tr_restriction residual;
    pthread_rwlock_rdlock(&s->lock);
    pthread_mutex_lock(&s->queue_mutex);
    tr_tracker *tracker = s->current;
    pthread_mutex_unlock(&s->queue_mutex);
    if (tracker != NULL) {
      if (!answers_are_possible(tracker)) atomic_store(&s->wrong, 1);
      if (may_split(s) && take_some(me, tracker, &residual)) {
        atomic_fetch_add(&s->split_count, 1);
        pthread_mutex_lock(&s->queue_mutex);
        s->parts[s->part_count++] = residual;
        pthread_mutex_unlock(&s->queue_mutex);
      }
    }
    int is_over = s->is_over;
    pthread_rwlock_unlock(&s->lock);
    if (is_over) return NULL;
    if (!may_split(s)) sched_yield();
  }
}

/* The number of the first key at or above the start of a part. */
static long first_of(const tr_restriction *part) {
  if (part->kind == TR_INTEGERS) return (long)part->integers.from;
  uint8_t key[TR_ROWID_KEY_SIZE] = {0};
  tr_bytes start = tr_buffer_bytes(&part->bytes.start);
  memcpy(key, start.data, start.size < sizeof key ? start.size : sizeof key);
  return (long)tr_byte_key_to_rowid(key) + (start.size > sizeof key);
}

/* A function of its own for helgrind.supp, which knows it by its name. */
static void tell_progress(stress *s) {
  atomic_store_explicit(&s->progress, s->claimed, memory_order_relaxed);
}

/*
** Counts a claim. Now and then the claimer lets the others have their turns, or on few cores it
** would be through before they began; not for ever, for they may all be refused.
*/
static void note_claim(stress *s, long key) {
  s->claims[key]++;
  s->claimed++;
  tell_progress(s);
  for (int turns = 0; s->claimed % 4096 == 0 && may_split(s) && turns < 20; turns++) sched_yield();
}

/* Claims what can be claimed of a part, as a reader would. */
static void claim_bytes(stress *s, tr_byte_key_tracker *tracker, long key, int is_ahead) {
  tr_byte_key_window window = {.wanted = WINDOW};
  for (; key < s->keys; key++) {
    uint8_t bytes[TR_ROWID_KEY_SIZE];
    tr_byte_key_of_rowid(key, bytes);
    tr_bytes k = {bytes, sizeof bytes};
    int claimed = is_ahead ? tr_byte_key_window_claim(tracker, &window, k, NULL)
                           : tr_byte_key_tracker_try_claim(tracker, k, NULL);
    if (claimed != 1) break;
    note_claim(s, key);
    if (is_ahead && key % 10007 == 0 &&
        tr_byte_key_tracker_release(tracker, &window, k, NULL) != TR_OK) {
      atomic_store(&s->wrong, 1);
    }
  }
  tr_byte_key_window_free(&window);
}

static void claim_integers(stress *s, tr_offset_tracker *tracker, long key) {
  for (; key < s->keys && tr_offset_tracker_try_claim(tracker, key, NULL) == 1; key++) {
    note_claim(s, key);
  }
}

/* Claims all parts in turn, the first one and all that were split off meanwhile. */
static void claim_all(stress *s, int is_ahead) {
  for (int next = 0;; next++) {
    pthread_rwlock_wrlock(&s->lock);
    pthread_mutex_lock(&s->queue_mutex);
    tr_tracker *last = s->current;
    s->current = NULL;
    if (next < s->part_count) {
      if (tr_tracker_create(&s->parts[next], &s->current, NULL) != TR_OK) abort();
    }
    tr_tracker *current = s->current;
    s->is_over = current == NULL;
    pthread_mutex_unlock(&s->queue_mutex);
    pthread_rwlock_unlock(&s->lock);
    if (last != NULL) tr_tracker_free(last);
    if (current == NULL) return;

    long first = first_of(&s->parts[next]);
    if (tr_tracker_kind(current) == TR_BYTES) {
      claim_bytes(s, tr_byte_key_tracker_of(current), first, is_ahead);
    } else {
      claim_integers(s, tr_offset_tracker_of(current), first);
    }
    if (tr_tracker_claim_end(current, NULL) != TR_OK || !tr_tracker_is_done(current)) {
      atomic_store(&s->wrong, 1);
    }
  }
}

static void run(tr_restriction_kind kind, int is_ahead, const char *name) {
  static stress s;
  splitter splitters[SPLITTERS];
  test_random random = test_random_begin(name);
  pthread_rwlockattr_t attributes;
  memset(&s, 0, sizeof s);
  s.keys = test_effort(10000000);
  s.claims = calloc((size_t)s.keys, 1);
  assert_non_null(s.claims);
  /* Else four readers would keep the claimer waiting for ever. */
  pthread_rwlockattr_init(&attributes);
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(&s.lock, &attributes);
  pthread_mutex_init(&s.queue_mutex, NULL);

  uint8_t from[TR_ROWID_KEY_SIZE], to[TR_ROWID_KEY_SIZE];
  tr_byte_key_of_rowid(0, from);
  tr_byte_key_of_rowid(s.keys, to);
  s.parts[0] = (tr_restriction){.kind = kind};
  if (kind == TR_BYTES) {
    tr_byte_key_range_init(&s.parts[0].bytes, (tr_bytes){from, sizeof from},
                           (tr_bytes){to, sizeof to}, NULL);
  } else {
    s.parts[0].integers = (tr_offset_range){0, s.keys};
  }
  s.part_count = 1;
  for (int i = 0; i < SPLITTERS; i++) {
    splitters[i] = (splitter){.stress = &s, .random = {test_random_next(&random)}};
    assert_int_equal(pthread_create(&splitters[i].thread, NULL, run_splitter, &splitters[i]), 0);
  }
  claim_all(&s, is_ahead);
  for (int i = 0; i < SPLITTERS; i++) pthread_join(splitters[i].thread, NULL);

  long missed = 0, again = 0;
  for (long key = 0; key < s.keys; key++) {
    missed += s.claims[key] == 0;
    again += s.claims[key] > 1;
  }
  printf("%s: %ld keys in %d parts\n", name, s.keys, s.part_count);
  for (int i = 0; i < s.part_count; i++) tr_restriction_free(&s.parts[i]);
  free(s.claims);
  pthread_rwlock_destroy(&s.lock);
  pthread_rwlockattr_destroy(&attributes);
  pthread_mutex_destroy(&s.queue_mutex);
  assert_int_equal(missed, 0);
  assert_int_equal(again, 0);
  assert_int_equal(atomic_load(&s.wrong), 0);
  assert_true(s.part_count > 1);
  assert_int_equal(test_memory_live(), 0);
}

static void byte_keys_one_by_one(void **state) {
  (void)state;
  run(TR_BYTES, 0, "byte_keys_one_by_one");
}

static void byte_keys_ahead(void **state) {
  (void)state;
  run(TR_BYTES, 1, "byte_keys_ahead");
}

static void integers_one_by_one(void **state) {
  (void)state;
  run(TR_INTEGERS, 0, "integers_one_by_one");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(byte_keys_one_by_one),
      cmocka_unit_test(byte_keys_ahead),
      cmocka_unit_test(integers_one_by_one),
  };
  return cmocka_run_group_tests_name("tracker_stress", tests, NULL, NULL);
}

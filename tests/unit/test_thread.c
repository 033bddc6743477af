/*
** What is made with a mutex or a condition in it, when the system has none left: each is refused
** with TR_NO_MEMORY, and nothing stays behind.
**
** The system's own functions are replaced here by ones that refuse on request.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/thread.h"
#include "combine/grouping.h"
#include "range/byte_key_record_tracker.h"
#include "range/byte_key_tracker.h"
#include "range/offset_record_tracker.h"
#include "range/offset_tracker.h"
#include "reader/counting_reader.h"
#include "reader/reader.h"
#include "reader/worker_pool.h"
#include "test_memory.h"

static int left_until_refused; /* 0: all are given */
static int was_refused;

static int is_refused(void) {
  if (left_until_refused == 0 || --left_until_refused > 0) return 0;
  was_refused = 1;
  return 1;
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
  int (*init)(pthread_mutex_t *, const pthread_mutexattr_t *);
  if (is_refused()) return EAGAIN;
  *(void **)&init = dlsym(RTLD_NEXT, "pthread_mutex_init");
  return init(mutex, attributes);
}

int pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes) {
  int (*init)(pthread_cond_t *, const pthread_condattr_t *);
  if (is_refused()) return EAGAIN;
  *(void **)&init = dlsym(RTLD_NEXT, "pthread_cond_init");
  return init(condition, attributes);
}

/* --- what is made, and freed again if it could be --------------------------------------------- */

static const tr_byte_key_range all_keys;

static tr_code make_byte_key_tracker(tr_error *err) {
  tr_byte_key_tracker *tracker;
  tr_code code = tr_byte_key_tracker_create(&all_keys, &tracker, err);
  if (code == TR_OK) tr_tracker_free(tr_byte_key_tracker_base(tracker));
  return code;
}

static tr_code make_byte_key_record_tracker(tr_error *err) {
  tr_byte_key_record_tracker *tracker;
  tr_code code = tr_byte_key_record_tracker_create(&all_keys, &tracker, err);
  if (code == TR_OK) tr_tracker_free(tr_byte_key_record_tracker_base(tracker));
  return code;
}

static tr_code make_offset_tracker(tr_error *err) {
  tr_offset_tracker *tracker;
  tr_code code = tr_offset_tracker_create((tr_offset_range){0, 9}, &tracker, err);
  if (code == TR_OK) tr_tracker_free(tr_offset_tracker_base(tracker));
  return code;
}

static tr_code make_offset_record_tracker(tr_error *err) {
  tr_offset_record_tracker *tracker;
  tr_code code = tr_offset_record_tracker_create(0, 9, &tracker, err);
  if (code == TR_OK) tr_tracker_free(tr_offset_record_tracker_base(tracker));
  return code;
}

static tr_code make_reader(tr_error *err) {
  tr_offset_tracker *tracker;
  tr_counting_cursor cursor = {.rest.is_empty = 1};
  tr_reader reader;
  tr_code code = tr_offset_tracker_create((tr_offset_range){0, 9}, &tracker, err);
  if (code != TR_OK) return code;
  code = tr_reader_init(&reader, &tr_counting_cursor_class, &cursor,
                        tr_offset_tracker_base(tracker), err);
  if (code == TR_OK) tr_reader_close(&reader);
  tr_tracker_free(tr_offset_tracker_base(tracker));
  return code;
}

static tr_code make_reserve(tr_error *err) {
  tr_group_reserve *reserve;
  tr_code code = tr_group_reserve_create(1 << 20, &reserve, err);
  if (code == TR_OK) tr_group_reserve_free(reserve);
  return code;
}

static tr_code make_arena(tr_error *err) {
  tr_memory_budget budget = {0};
  tr_group_arena *arena;
  tr_code code = tr_group_arena_create(&budget, NULL, &arena, err);
  if (code == TR_OK) tr_group_arena_free(arena);
  return code;
}

static tr_code make_parts(tr_error *err) {
  static const tr_group_shape shape;
  tr_group_parts *parts;
  tr_code code = tr_group_parts_create(&shape, 2, &parts, err);
  if (code == TR_OK) tr_group_parts_free(parts);
  return code;
}

static tr_code make_pool(tr_error *err) {
  static const tr_work nothing;
  tr_worker_pool *pool;
  tr_code code = tr_worker_pool_create(&nothing, NULL, 2, &all_keys, 1000, &pool, err);
  if (code == TR_OK) tr_worker_pool_free(pool);
  return code;
}

/* --- refusing them ----------------------------------------------------------------------- */

static void test_each_refusal(void **state) {
  (void)state;
  static const struct {
    const char *name;
    tr_code (*make)(tr_error *err);
    int most; /* mutexes and conditions that it has, at least */
  } made[] = {
      {"a tracker of byte keys", make_byte_key_tracker, 1},
      {"a tracker of records by byte keys", make_byte_key_record_tracker, 1},
      {"a tracker of offsets", make_offset_tracker, 1},
      {"a tracker of records by offsets", make_offset_record_tracker, 1},
      {"a reader and its tracker", make_reader, 2},
      {"a reserve", make_reserve, 1},
      {"an arena", make_arena, 1},
      {"shared parts", make_parts, 65},
      {"a pool of workers", make_pool, 5},
  };
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
    int refusals = 0;
    for (int n = 1;; n++) {
      tr_error err = {0};
      left_until_refused = n;
      was_refused = 0;
      tr_code code = made[i].make(&err);
      left_until_refused = 0;
      if (test_memory_live() != 0) fail_msg("%s: something stays behind", made[i].name);
      if (!was_refused) {
        assert_int_equal(code, TR_OK);
        break;
      }
      if (code != TR_NO_MEMORY) fail_msg("%s: refusal %d gave %d", made[i].name, n, (int)code);
      assert_string_equal(err.message, "out of memory");
      refusals++;
    }
    if (refusals < made[i].most) fail_msg("%s: %d refusals", made[i].name, refusals);
  }
}

/* --- what a thread is given -------------------------------------------------------------- */

static void *add_one(void *number) {
  ++*(int *)number;
  return NULL;
}

static void test_a_thread_runs(void **state) {
  (void)state;
  pthread_t thread;
  int number = 41;
  assert_int_equal(tr_thread_start(&thread, add_one, &number), 1);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(number, 42);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_refusal),
      cmocka_unit_test(test_a_thread_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

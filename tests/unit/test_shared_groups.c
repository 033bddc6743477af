/*
** Groupings of several threads over shared parts: whether few groups or many, the one that they are
** joined to has every row of all, late ones too, whoever adds them; memory is bounded over all of
** them, and nothing is lost when it runs out.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "add_row.h"
#include "combine/grouping.h"
#include "effort.h"
#include "next_group.h"
#include "test_memory.h"

enum { THREADS = 4 };

static tr_code count_add(const tr_combine *combine, void *state, const tr_value *inputs,
                         tr_error *err) {
  (void)combine, (void)inputs, (void)err;
  ++*(int64_t *)state;
  return TR_OK;
}

static tr_code count_merge(const tr_combine *combine, void *state, const void *other,
                           tr_error *err) {
  (void)combine, (void)err;
  *(int64_t *)state += *(const int64_t *)other;
  return TR_OK;
}

static const tr_combine_fn count_fn = {.name = "count",
                                       .state_size = sizeof(int64_t),
                                       .add_input = count_add,
                                       .merge_accumulators = count_merge};

static const tr_collation collations[] = {TR_COLLATION_BINARY};
static const tr_group_aggregate aggregates[] = {{.combine = {.fn = &count_fn}}};

static tr_group_shape shape_with(uint64_t limit) {
  return (tr_group_shape){.key_count = 1,
                          .collations = collations,
                          .aggregate_count = 1,
                          .aggregates = aggregates,
                          .memory_limit = limit};
}

/* One thread: keys 0 to `keys` - 1, as often as it takes, from an offset of its own. */
typedef struct filler {
  pthread_t thread;
  tr_grouping *grouping;
  int64_t keys, rows, offset;
  int has_reals; /* every other time the key is a REAL */
  pthread_barrier_t *barrier;
  tr_code code;
  tr_error err;
} filler;

static void *fill(void *pointer) {
  filler *f = pointer;
  for (int64_t i = 0; i < f->rows && f->code == TR_OK; i++) {
    int64_t number = (i + f->offset) % f->keys;
    tr_value key = tr_value_integer(number);
    if (f->has_reals && i % 2 == 1) key = tr_value_real((double)number);
    f->code = add_row(f->grouping, &key, NULL, &f->err);
  }
  pthread_barrier_wait(f->barrier);
  if (f->code == TR_OK) f->code = tr_grouping_finish(f->grouping, &f->err);
  return NULL;
}

/* Fills with all threads and joins; the result, or NULL and the first error. */
static tr_grouping *fill_all(const tr_group_shape *shape, int64_t keys, int64_t rows,
                             int64_t spread, int has_reals, uint64_t *memory, tr_error *err) {
  tr_group_parts *parts;
  filler fillers[THREADS];
  tr_grouping *all[THREADS];
  pthread_barrier_t barrier;
  tr_code code = tr_group_parts_create(shape, 3, &parts, err);
  assert_int_equal(code, TR_OK);
  pthread_barrier_init(&barrier, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) {
    fillers[i] = (filler){.keys = keys,
                          .rows = rows,
                          .offset = i * spread,
                          .has_reals = has_reals,
                          .barrier = &barrier};
    assert_int_equal(tr_grouping_create_shared(parts, &fillers[i].grouping, err), TR_OK);
    all[i] = fillers[i].grouping;
  }
  for (int i = 0; i < THREADS; i++) pthread_create(&fillers[i].thread, NULL, fill, &fillers[i]);
  for (int i = 0; i < THREADS; i++) pthread_join(fillers[i].thread, NULL);
  pthread_barrier_destroy(&barrier);
  for (int i = 0; i < THREADS && code == TR_OK; i++) {
    code = fillers[i].code;
    if (code != TR_OK) *err = fillers[i].err;
  }
  *memory = tr_grouping_memory(all[0]);
  if (code == TR_OK) {
    code = tr_grouping_join(all[0], all + 1, THREADS - 1, err);
    if (code == TR_OK) return all[0];
    tr_grouping_free(all[0]);
    return NULL;
  }
  /* Nothing was joined, so nobody owns the parts. */
  for (int i = 0; i < THREADS; i++) tr_grouping_free(all[i]);
  tr_group_parts_free(parts);
  return NULL;
}

/* Who adds the rows that are late. */
enum { ALL_AT_ONCE, WHOEVER_ASKS, HELPERS, WAYS };

static void every_row_is_in_the_joined_one(void **state) {
  (void)state;
  static const struct {
    int64_t keys, rows, spread;
    int is_late;
  } cases[] = {
      {1, 10000, 1, 0},          {10, 10000, 3, 0},
      {1000, 10000, 77, 0},      {50000, 120000, 1237, 0},
      {200000, 400000, 1237, 1}, {200000, 50000, 50000, 0}, /* only all together are many */
  };
  enum { CASES = sizeof cases / sizeof *cases };
  long live = test_memory_live();
  tr_group_reserve *reserve;
  assert_int_equal(tr_group_reserve_create(UINT64_C(64) << 20, &reserve, NULL), TR_OK);
  /* All of them three times: with new memory, and with that of those before. */
  for (size_t n = 0; n < WAYS * (size_t)CASES; n++) {
    size_t i = n % CASES, way = n / CASES;
    tr_group_shape shape = shape_with(0);
    shape.reserve = reserve;
    tr_error err;
    uint64_t memory;
    int64_t keys = cases[i].keys, rows = cases[i].rows;
    tr_grouping *joined = fill_all(&shape, keys, rows, cases[i].spread, 0, &memory, &err);
    assert_non_null(joined);
    assert_false(tr_grouping_has_looks(joined));
    assert_int_equal(tr_grouping_is_late(joined), cases[i].is_late);
    if (way == HELPERS) tr_grouping_start_helpers(joined);
    if (way == ALL_AT_ONCE) assert_int_equal(tr_grouping_flush(joined, &err), TR_OK);
    int64_t total = 0, groups = 0;
    const tr_group *group;
    for (tr_grouping_cursor c = {0}; (group = next_group(joined, &c)) != NULL; groups++) {
      total += *(const int64_t *)tr_grouping_state(joined, group, 0);
      assert_int_equal(tr_group_key_field(group, 0).type, TR_INTEGER);
    }
    assert_int_equal(groups, keys);
    assert_int_equal(tr_grouping_count(joined), keys);
    assert_int_equal(total, THREADS * rows);
    tr_grouping_free(joined);
  }
  assert_true(tr_group_reserve_memory(reserve) > 0);
  tr_group_reserve_free(reserve);
  assert_int_equal(test_memory_live(), live);
}

static void looks_are_noticed(void **state) {
  (void)state;
  static const int64_t keys[] = {11, 100001};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    tr_group_shape shape = shape_with(0);
    tr_error err;
    uint64_t memory;
    tr_grouping *joined = fill_all(&shape, keys[i], 3 * keys[i], 1237, 1, &memory, &err);
    assert_non_null(joined);
    assert_true(tr_grouping_has_looks(joined));
    assert_int_equal(tr_grouping_flush(joined, &err), TR_OK);
    assert_int_equal(tr_grouping_count(joined), keys[i]);
    tr_grouping_free(joined);
  }
}

/* Also where one thread alone met the key, first the one way and then the other. */
static void looks_are_noticed_by_one(void **state) {
  (void)state;
  for (int way = 0; way < 2; way++) {
    tr_group_shape shape = shape_with(0);
    tr_group_parts *parts;
    tr_grouping *alone, *joined;
    assert_int_equal(tr_group_parts_create(&shape, 2, &parts, NULL), TR_OK);
    assert_int_equal(tr_grouping_create_shared(parts, &alone, NULL), TR_OK);
    assert_int_equal(tr_grouping_create_shared(parts, &joined, NULL), TR_OK);
    tr_value looks[2] = {tr_value_integer(7), tr_value_real(7)};
    assert_int_equal(add_row(alone, &looks[way], NULL, NULL), TR_OK);
    assert_false(tr_grouping_has_looks(alone));
    assert_int_equal(add_row(alone, &looks[1 - way], NULL, NULL), TR_OK);
    assert_true(tr_grouping_has_looks(alone));
    assert_int_equal(tr_grouping_finish(alone, NULL), TR_OK);
    assert_int_equal(tr_grouping_finish(joined, NULL), TR_OK);
    assert_int_equal(tr_grouping_join(joined, &alone, 1, NULL), TR_OK);
    assert_true(tr_grouping_has_looks(joined));
    tr_grouping_free(joined);
  }
}

/*
** Two groupings that are cut, whose last keys are the same, as REALs in one and as INTEGERs, which
** are late, in the other.
*/
static void looks_of_late_rows_are_noticed(void **state) {
  (void)state;
  enum { FILLERS = 70000, SAME = 1000 };
  for (int real = 0; real < 2; real++) {
    tr_group_shape shape = shape_with(0);
    tr_group_parts *parts;
    tr_grouping *all[2];
    tr_error err = {0};
    assert_int_equal(tr_group_parts_create(&shape, 2, &parts, NULL), TR_OK);
    for (int i = 0; i < 2; i++) {
      assert_int_equal(tr_grouping_create_shared(parts, &all[i], NULL), TR_OK);
      for (int64_t row = 0; row < FILLERS + SAME; row++) {
        int64_t number = row < FILLERS ? (i + 1) * FILLERS + row : row - FILLERS;
        tr_value key = tr_value_integer(number);
        if (i == real && row >= FILLERS) key = tr_value_real((double)number);
        assert_int_equal(add_row(all[i], &key, NULL, &err), TR_OK);
      }
    }
    for (int i = 0; i < 2; i++) assert_int_equal(tr_grouping_finish(all[i], &err), TR_OK);
    assert_int_equal(tr_grouping_join(all[0], all + 1, 1, &err), TR_OK);
    assert_true(tr_grouping_has_looks(all[0]));
    assert_int_equal(tr_grouping_count(all[0]), 2 * FILLERS + SAME);
    tr_grouping_free(all[0]);
  }
}

/* Sixteen threads' buffers leave most of the limit to the groups. */
static void buffers_are_a_small_part(void **state) {
  (void)state;
  enum { MANY = 16 };
  tr_group_shape shape = shape_with(UINT64_C(200) << 20);
  tr_group_parts *parts;
  tr_grouping *all[MANY];
  tr_error err = {0};
  assert_int_equal(tr_group_parts_create(&shape, MANY, &parts, NULL), TR_OK);
  for (int i = 0; i < MANY; i++) {
    assert_int_equal(tr_grouping_create_shared(parts, &all[i], NULL), TR_OK);
    for (int64_t row = 0; row < 100000; row++) { /* enough for it to be cut */
      tr_value key = tr_value_integer(row);
      if (add_row(all[i], &key, NULL, &err) != TR_OK) fail_msg("%d: %s", i, err.message);
    }
  }
  for (int i = 0; i < MANY; i++) {
    if (tr_grouping_finish(all[i], &err) != TR_OK) fail_msg("%s", err.message);
  }
  assert_int_equal(tr_grouping_join(all[0], all + 1, MANY - 1, &err), TR_OK);
  assert_int_equal(tr_grouping_count(all[0]), 100000);
  tr_grouping_free(all[0]);
}

static void the_limit_is_for_all_together(void **state) {
  (void)state;
  for (uint64_t limit = 1000000; limit <= 100000000; limit *= 10) {
    tr_group_shape shape = shape_with(limit);
    tr_error err = {0};
    uint64_t memory;
    long live = test_memory_live();
    tr_grouping *joined = fill_all(&shape, INT64_MAX, INT32_MAX, INT32_MAX, 0, &memory, &err);
    assert_null(joined);
    assert_int_equal(err.code, TR_TOO_BIG);
    assert_non_null(strstr(err.message, "limit of 1"));
    assert_true(memory <= limit); /* the parts', and of one thread alone */
    assert_int_equal(test_memory_live(), live);
  }
}

/* Nobody asks for a group, or for one alone. */
static void late_rows_may_be_dropped(void **state) {
  (void)state;
  tr_group_shape shape = shape_with(0);
  long live = test_memory_live();
  for (int way = 0; way < 4; way++) {
    tr_error err;
    uint64_t memory;
    tr_grouping *joined = fill_all(&shape, 100000, 100000, 1237, 0, &memory, &err);
    tr_grouping_cursor cursor = {0};
    assert_true(tr_grouping_is_late(joined));
    if (way & 1) tr_grouping_start_helpers(joined);
    if (way & 2) assert_non_null(next_group(joined, &cursor));
    tr_grouping_free(joined);
    assert_int_equal(test_memory_live(), live);
  }
}

/* --- rows that cannot be added --- */

static atomic_int fails;

static tr_code fail_add(const tr_combine *combine, void *state, const tr_value *inputs,
                        tr_error *err) {
  if (atomic_load(&fails)) return tr_error_set(err, TR_OVERFLOW, "one too many");
  return count_add(combine, state, inputs, err);
}

static void errors_of_late_rows_are_told(void **state) {
  (void)state;
  static const tr_combine_fn fail_fn = {.name = "fail",
                                        .state_size = sizeof(int64_t),
                                        .add_input = fail_add,
                                        .merge_accumulators = count_merge};
  static const tr_group_aggregate failing[] = {{.combine = {.fn = &fail_fn}}};
  tr_group_shape shape = shape_with(0);
  long live = test_memory_live();
  shape.aggregates = failing;
  for (int way = 0; way < WAYS; way++) {
    tr_error err;
    uint64_t memory;
    tr_grouping *joined = fill_all(&shape, 100000, 100000, 1237, 0, &memory, &err);
    const tr_group *group;
    tr_grouping_cursor cursor = {0};
    int has_next = -1;
    assert_true(tr_grouping_is_late(joined));
    atomic_store(&fails, 1);
    if (way == HELPERS) tr_grouping_start_helpers(joined);
    if (way == ALL_AT_ONCE) {
      assert_int_equal(tr_grouping_flush(joined, &err), TR_OVERFLOW);
    } else {
      while ((has_next = tr_grouping_next(joined, &cursor, &group, &err)) == 1) continue;
    }
    assert_int_equal(has_next, -1);
    assert_string_equal(err.message, "one too many");
    atomic_store(&fails, 0);
    assert_int_equal(tr_grouping_flush(joined, &err),
                     TR_OVERFLOW); /* it is good for nothing more */
    tr_grouping_free(joined);
    assert_int_equal(test_memory_live(), live);
  }
}

/*
** A child has no helpers, and cannot know what they did: the next part is an error there, and
** nobody is waited for.
*/
static void a_child_waits_for_nobody(void **state) {
  (void)state;
  tr_group_shape shape = shape_with(0);
  tr_error err;
  uint64_t memory;
  tr_grouping *joined = fill_all(&shape, 200000, 400000, 1237, 0, &memory, &err);
  tr_grouping_cursor cursor = {0};
  const tr_group *group;
  assert_non_null(next_group(joined, &cursor));
  tr_grouping_start_helpers(joined);
  pid_t child = fork();
  if (child == 0) {
    int has_next;
    while ((has_next = tr_grouping_next(joined, &cursor, &group, &err)) == 1) continue;
    int is_told = has_next == -1 && strstr(err.message, "forked") != NULL;
    tr_grouping_free(joined);
    if (is_told) raise(SIGKILL); /* and no tool looks at what it leaves */
    _exit(1);
  }
  int status;
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, SIGKILL);
  int64_t groups = 1;
  while (next_group(joined, &cursor) != NULL) groups++;
  assert_int_equal(groups, 200000);
  tr_grouping_free(joined);
}

/* Two groupings in one thread, so that the n-th allocation is always the same one. */
static tr_code run_in_turns(tr_error *err) {
  tr_group_shape shape = shape_with(0);
  tr_group_parts *parts = NULL;
  tr_grouping *all[2] = {NULL, NULL};
  int owns = 0;
  tr_code code = tr_group_parts_create(&shape, 3, &parts, err);
  for (int i = 0; i < 2 && code == TR_OK; i++)
    code = tr_grouping_create_shared(parts, &all[i], err);
  for (int64_t i = 0; i < 140000 && code == TR_OK; i++) {
    tr_value key = tr_value_integer(i);
    code = add_row(all[i % 3 == 0], &key, NULL, err);
  }
  for (int i = 0; i < 2 && code == TR_OK; i++) code = tr_grouping_finish(all[i], err);
  if (code == TR_OK) {
    code = tr_grouping_join(all[0], &all[1], 1, err);
    owns = 1;
  }
  if (code == TR_OK) code = tr_grouping_flush(all[0], err);
  if (code == TR_OK) assert_int_equal(tr_grouping_count(all[0]), 140000);
  if (!owns) tr_grouping_free(all[1]);
  tr_grouping_free(all[0]);
  if (!owns) tr_group_parts_free(parts);
  return code;
}

static void failing_allocations_lose_nothing(void **state) {
  (void)state;
  long live = test_memory_live(), step = 100 / test_effort(100);
  for (long n = 1;; n += step) {
    tr_error err = {0};
    test_memory_fail_at(n);
    tr_code code = run_in_turns(&err);
    int has_failed = test_memory_has_failed();
    test_memory_fail_at(0);
    assert_int_equal(test_memory_live(), live);
    assert_int_equal(code, has_failed ? TR_NO_MEMORY : TR_OK);
    if (!has_failed) break;
    if (n > 40) n += 150;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_is_in_the_joined_one),
      cmocka_unit_test(looks_are_noticed),
      cmocka_unit_test(looks_are_noticed_by_one),
      cmocka_unit_test(looks_of_late_rows_are_noticed),
      cmocka_unit_test(late_rows_may_be_dropped),
      cmocka_unit_test(errors_of_late_rows_are_told),
      cmocka_unit_test(a_child_waits_for_nobody),
      cmocka_unit_test(buffers_are_a_small_part),
      cmocka_unit_test(the_limit_is_for_all_together),
      cmocka_unit_test(failing_allocations_lose_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

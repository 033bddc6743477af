/*
** Pieces of an arena: they do not overlap, are aligned, are reused when given back, are counted,
** and stay within the limit.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "combine/group_arena.h"
#include "test_memory.h"
#include "test_random.h"

enum { PIECES = 2000 };

typedef struct piece {
  uint8_t *data;
  size_t size;
} piece;

static void fill(piece *p, uint8_t with) {
  memset(p->data, with, p->size);
}

static void check(const piece *p, uint8_t with) {
  for (size_t i = 0; i < p->size; i++) assert_int_equal(p->data[i], with);
}

/* Takes a piece of random size, mostly a small one. */
static void take(tr_group_arena *arena, test_random *random, piece *p) {
  p->size = 1 + test_random_below(random, test_random_below(random, 100) == 0 ? 3000000 : 9000);
  assert_int_equal(tr_group_arena_take(arena, p->size, (void **)&p->data, NULL), TR_OK);
  assert_int_equal((uintptr_t)p->data % 64, 0);
}

static void test_pieces_are_apart(void **state) {
  (void)state;
  test_random random = test_random_begin("pieces are apart");
  static piece pieces[PIECES];
  tr_memory_budget budget = {0};
  tr_group_arena *arena;
  uint64_t sum = 0;
  assert_int_equal(tr_group_arena_create(&budget, NULL, &arena, NULL), TR_OK);
  for (int i = 0; i < PIECES; i++) {
    take(arena, &random, &pieces[i]);
    if (test_random_below(&random, 4) != 0) continue;
    /* Gives one back and takes another in its place. */
    piece *gone = &pieces[test_random_below(&random, (uint64_t)i + 1)];
    tr_group_arena_give_back(arena, gone->data, gone->size);
    take(arena, &random, gone);
  }
  for (int i = 0; i < PIECES; i++) fill(&pieces[i], (uint8_t)i);
  for (int i = 0; i < PIECES; i++) {
    check(&pieces[i], (uint8_t)i);
    sum += pieces[i].size;
  }
  assert_true(tr_group_arena_memory(arena) >= sum);
  tr_group_arena_free(arena);
}

static void test_a_piece_given_back_comes_again(void **state) {
  (void)state;
  tr_memory_budget budget = {0};
  tr_group_arena *arena;
  void *first, *second, *other;
  assert_int_equal(tr_group_arena_create(&budget, NULL, &arena, NULL), TR_OK);
  assert_int_equal(tr_group_arena_take(arena, 5000, &first, NULL), TR_OK);
  tr_group_arena_give_back(arena, first, 5000);
  assert_int_equal(tr_group_arena_take(arena, 6000, &other, NULL), TR_OK);
  assert_ptr_not_equal(other, first);
  assert_int_equal(tr_group_arena_take(arena, 5000, &second, NULL), TR_OK);
  assert_ptr_equal(second, first);
  tr_group_arena_free(arena);
}

static void test_limit(void **state) {
  (void)state;
  tr_memory_budget budget = {.limit = 10 << 20};
  tr_group_arena *arena;
  void *p;
  tr_error err;
  assert_int_equal(tr_group_arena_create(&budget, NULL, &arena, NULL), TR_OK);
  uint64_t taken = 0;
  tr_code code;
  while ((code = tr_group_arena_take(arena, 100000, &p, &err)) == TR_OK) taken += 100000;
  assert_int_equal(code, TR_TOO_BIG);
  assert_non_null(strstr(err.message, "limit of 10485760 bytes"));
  assert_true(taken > 6 << 20); /* most of it could be used */
  assert_true(tr_group_arena_memory(arena) <= 10 << 20);
  tr_group_arena_free(arena);
  assert_int_equal(budget.leased, 0);
}

static void test_failing_memory(void **state) {
  (void)state;
  long live = test_memory_live();
  for (long n = 1, has_failed = 1; has_failed; n++) {
    tr_memory_budget budget = {0};
    tr_group_arena *arena;
    void *p;
    test_memory_fail_at(n);
    tr_code code = tr_group_arena_create(&budget, NULL, &arena, NULL);
    for (int i = 0; i < 10 && code == TR_OK; i++) {
      code = tr_group_arena_take(arena, 1 << 20, &p, NULL);
    }
    has_failed = test_memory_has_failed();
    test_memory_fail_at(0);
    assert_int_equal(code, has_failed ? TR_NO_MEMORY : TR_OK);
    tr_group_arena_free(arena);
    assert_int_equal(test_memory_live(), live);
  }
}

/* The large blocks of a freed arena are used by the next one, up to what the reserve holds. */
static void test_reserve(void **state) {
  (void)state;
  enum { MOST = 6 << 20, LARGE = 2 << 20, SMALL = 1 << 20 };
  long live = test_memory_live();
  tr_group_reserve *reserve;
  assert_int_equal(tr_group_reserve_create(MOST, &reserve, NULL), TR_OK);
  void *pieces[5];
  for (int round = 0; round < 3; round++) {
    tr_memory_budget budget = {0};
    tr_group_arena *arena;
    long before = test_memory_live();
    assert_int_equal(tr_group_arena_create(&budget, reserve, &arena, NULL), TR_OK);
    for (int i = 0; i < 5; i++) {
      assert_int_equal(tr_group_arena_take(arena, LARGE, &pieces[i], NULL), TR_OK);
      memset(pieces[i], round + i, LARGE);
    }
    for (int i = 0; i < 5; i++) {
      piece p = {pieces[i], LARGE};
      check(&p, (uint8_t)(round + i));
    }
    assert_true(tr_group_arena_memory(arena) >= 5 * (uint64_t)LARGE);
    /* Three of five come from the reserve. */
    assert_int_equal(test_memory_live() - before, round == 0 ? 6 : 3);
    tr_group_arena_free(arena);
    assert_int_equal(tr_group_reserve_memory(reserve), MOST);
  }
  /* Under a limit all blocks are new, and are freed. */
  tr_memory_budget limited = {.limit = 100 << 20};
  tr_group_arena *arena;
  assert_int_equal(tr_group_arena_create(&limited, reserve, &arena, NULL), TR_OK);
  assert_int_equal(tr_group_arena_take(arena, LARGE, &pieces[0], NULL), TR_OK);
  tr_group_arena_free(arena);
  assert_int_equal(tr_group_reserve_memory(reserve), MOST);
  tr_group_reserve_free(reserve);
  assert_int_equal(test_memory_live(), live);
}

/* Threads take and give back at the same time. Each must find in its pieces what it wrote there. */
static void *take_many(void *pointer) {
  tr_group_arena *arena = pointer;
  piece mine[50];
  uint8_t mark = (uint8_t)((uintptr_t)&mine >> 12);
  for (int round = 0; round < 200; round++) {
    for (int i = 0; i < 50; i++) {
      mine[i].size = (size_t)(i % 7 + 1) * 1000;
      if (tr_group_arena_take(arena, mine[i].size, (void **)&mine[i].data, NULL) != TR_OK)
        return arena;
      fill(&mine[i], (uint8_t)(mark + i));
    }
    for (int i = 0; i < 50; i++) {
      for (size_t j = 0; j < mine[i].size; j++) {
        if (mine[i].data[j] != (uint8_t)(mark + i)) return arena;
      }
      tr_group_arena_give_back(arena, mine[i].data, mine[i].size);
    }
  }
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  tr_memory_budget budget = {0};
  tr_group_arena *arena;
  pthread_t threads[4];
  assert_int_equal(tr_group_arena_create(&budget, NULL, &arena, NULL), TR_OK);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, take_many, arena), 0);
  }
  for (int i = 0; i < 4; i++) {
    void *failed;
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
  }
  tr_group_arena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pieces_are_apart),
      cmocka_unit_test(test_a_piece_given_back_comes_again),
      cmocka_unit_test(test_limit),
      cmocka_unit_test(test_failing_memory),
      cmocka_unit_test(test_reserve),
      cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

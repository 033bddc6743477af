/*
** The allocator of the unit tests: malloc with a count of live blocks. On request one allocation
** fails.
** Thread-safe.
*/
#ifndef TR_TEST_MEMORY_H
#define TR_TEST_MEMORY_H

#include "base/error.h"

/* The n-th allocation from now (1: the next) fails, once. 0: none fails. */
void test_memory_fail_at(long n);

/* 1 if that allocation has failed since. */
int test_memory_has_failed(void);

/* The number of blocks that are allocated and not freed. */
long test_memory_live(void);

/*
** Calls `run` again and again. In the first call the first allocation fails, in the second the
** second, and so on, until a call needs no more. `run` must free all that it made. It must return
** TR_NO_MEMORY if an allocation failed, else TR_OK. Returns how many calls had a failure; -1 if a
** call left a block behind or returned another code.
*/
long test_memory_fail_each(tr_code (*run)(void *context), void *context);

#endif

/*
** The allocator of the unit tests: malloc, counted, with one allocation made to fail on request.
** Thread-safe.
*/
#ifndef TR_TEST_MEMORY_H
#define TR_TEST_MEMORY_H

#include "base/error.h"

/* From now on the n-th allocation (1 = the next) fails, once; 0 switches that off. */
void test_memory_fail_at(long n);

/* 1 if the allocation asked for has failed since. */
int test_memory_has_failed(void);

/* Blocks allocated and not yet freed. */
long test_memory_live(void);

/*
** Calls `run` again and again, failing its first, its second, ... allocation, until a call needs no
** more of them. `run` frees all it made, and returns TR_NO_MEMORY if an allocation failed and TR_OK
** if none did. Returns how many calls failed, or -1 if one of them left a block behind or answered
** otherwise.
*/
long test_memory_fail_each(tr_code (*run)(void *context), void *context);

#endif

/*
** The allocator of the unit tests: malloc, counted, with one allocation made to fail on request.
** Thread-safe.
*/
#ifndef TR_TEST_MEMORY_H
#define TR_TEST_MEMORY_H

/* From now on the n-th allocation (1 = the next) fails, once; 0 switches that off. */
void test_memory_fail_at(long n);

/* 1 if the allocation asked for has failed since. */
int test_memory_has_failed(void);

/* Blocks allocated and not yet freed. */
long test_memory_live(void);

#endif

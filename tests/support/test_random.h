/*
** Random numbers for property tests. The seed is printed first and can be given again:
** TRANCHE_SEED=17 build/tests/unit/test_x.
*/
#ifndef TR_TEST_RANDOM_H
#define TR_TEST_RANDOM_H

#include <stdint.h>

#include "base/value.h"

typedef struct test_random {
  uint64_t state;
} test_random;

/* Takes the seed from TRANCHE_SEED, or else from the clock. Prints it with the name of the test. */
test_random test_random_begin(const char *name);

/* 64 random bits. */
uint64_t test_random_next(test_random *random);

/* From 0 to limit - 1. */
uint64_t test_random_below(test_random *random, uint64_t limit);

/*
** Up to `limit` bytes, written to `room`. There are few different ones, so that prefixes and zeros
** are frequent.
*/
tr_bytes test_random_bytes(test_random *random, uint8_t *room, size_t limit);

/* A tuple of SQL values, and the bytes of its text and BLOBs. Do not copy it by assignment. */
#define TEST_TUPLE_MAX 3
#define TEST_TUPLE_BYTES 12
typedef struct test_tuple {
  size_t count;
  tr_value values[TEST_TUPLE_MAX];
  uint8_t bytes[TEST_TUPLE_MAX][TEST_TUPLE_BYTES];
} test_tuple;

/* Fills `tuple` with `count` values. Many of them are near awkward numbers. */
void test_random_tuple(test_random *random, size_t count, test_tuple *tuple);

/* Fills `tuple` with the values of `other`, of which at most one is changed a little. */
void test_random_similar(test_random *random, const test_tuple *other, test_tuple *tuple);

#endif

/*
** base/little_endian.h: numbers against their bytes one by one, at every place, and short strings
** of bytes in memory of just their size.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/little_endian.h"

static uint64_t number_of(const uint8_t *bytes, size_t size) {
  uint64_t x = 0;
  for (size_t i = size; i-- > 0;) x = x << 8 | bytes[i];
  return x;
}

static void test_loads_and_stores(void **state) {
  (void)state;
  uint8_t bytes[24], copy[24];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 37 + 200);
  for (size_t at = 0; at < 16; at++) {
    assert_int_equal(tr_load_u16(bytes + at), number_of(bytes + at, 2));
    assert_int_equal(tr_load_u32(bytes + at), number_of(bytes + at, 4));
    assert_true(tr_load_u64(bytes + at) == number_of(bytes + at, 8));
    memset(copy, 0, sizeof copy);
    tr_store_u16(copy + at, tr_load_u16(bytes + at));
    assert_memory_equal(copy + at, bytes + at, 2);
    tr_store_u32(copy + at, tr_load_u32(bytes + at));
    assert_memory_equal(copy + at, bytes + at, 4);
    tr_store_u64(copy + at, tr_load_u64(bytes + at));
    assert_memory_equal(copy + at, bytes + at, 8);
    assert_int_equal(copy[at + 8], 0);
  }
  tr_store_double(copy, -1.5);
  assert_true(tr_load_u64(copy) == UINT64_C(0xbff8000000000000));
  assert_true(tr_load_double(copy) == -1.5);
}

static void test_short_ones(void **state) {
  (void)state;
  for (size_t size = 0; size <= 16; size++) {
    uint8_t *bytes = malloc(size);
    uint64_t low, high;
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(255 - i * 7);
    tr_load_short(bytes, size, &low, &high);
    assert_true(low == number_of(bytes, size < 8 ? size : 8));
    assert_true(high == (size > 8 ? number_of(bytes + 8, size - 8) : 0));
    free(bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_loads_and_stores),
      cmocka_unit_test(test_short_ones),
  };
  return cmocka_run_group_tests_name("little_endian", tests, NULL, NULL);
}

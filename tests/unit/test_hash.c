/*
** base/hash.h against known answers of MurmurHash3 x64 128.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "base/hash.h"

static void test_known_answers(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t low, high;
  } cases[] = {
      {"", 0, 0},
      {"hello", UINT64_C(0xcbd8a7b341bd9b02), UINT64_C(0x5b1e906a48ae1d19)},
      {"hello, world", UINT64_C(0x342fac623a5ebc8e), UINT64_C(0x4cdcbc079642414d)},
      {"The quick brown fox jumps over the lazy dog.", UINT64_C(0xcd99481f9ee902c9),
       UINT64_C(0x695da1a38987b6e7)},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_hash128 hash = tr_hash128_of(tr_bytes_of_text(cases[i].text), 0);
    assert_true(hash.low == cases[i].low);
    assert_true(hash.high == cases[i].high);
  }
}

static void put_little_endian(uint64_t word, uint8_t *to) {
  for (int i = 0; i < 8; i++) to[i] = (uint8_t)(word >> (8 * i));
}

/*
** The author's own check: the hashes of 00, 00 01, 00 01 02, ... under the seeds 256, 255, 254, ...
** put behind each other, hashed again, begin with a known number. It covers each length of tail,
** and seeds.
*/
static void test_verification_number(void **state) {
  (void)state;
  uint8_t key[256], hashes[256 * 16];
  for (size_t i = 0; i < 256; i++) {
    key[i] = (uint8_t)i;
    tr_hash128 hash = tr_hash128_of((tr_bytes){key, i}, 256 - i);
    put_little_endian(hash.low, hashes + 16 * i);
    put_little_endian(hash.high, hashes + 16 * i + 8);
  }
  tr_hash128 all = tr_hash128_of((tr_bytes){hashes, sizeof hashes}, 0);
  assert_true((uint32_t)all.low == UINT32_C(0x6384ba69));
}

/* The place in memory does not matter. */
static void test_unaligned(void **state) {
  (void)state;
  uint8_t room[64];
  for (size_t shift = 0; shift < 16; shift++) {
    strcpy((char *)room + shift, "The quick brown fox jumps over the lazy dog.");
    assert_true(tr_hash128_of((tr_bytes){room + shift, 44}, 0).low == UINT64_C(0xcd99481f9ee902c9));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known_answers),
      cmocka_unit_test(test_verification_number),
      cmocka_unit_test(test_unaligned),
  };
  return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}

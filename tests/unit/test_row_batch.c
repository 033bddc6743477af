/*
** Rows in hand: bytes are kept while they come, wherever the buffer moves; a batch ends when it
** should.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "combine/row_batch.h"
#include "test_memory.h"
#include "test_random.h"

/* Puts a row of a number and a text that says the same; the text's own bytes are then spoilt. */
static tr_code put(tr_row_batch *batch, int64_t number, size_t padding) {
  static char text[200000];
  tr_value *row = tr_row_batch_next(batch);
  int size = snprintf(text, sizeof text, "%0*lld", (int)padding, (long long)number);
  row[0] = tr_value_integer(number);
  row[1] = tr_value_text((tr_bytes){(const uint8_t *)text, (size_t)size});
  tr_code code = tr_row_batch_keep_bytes(batch, &row[1], NULL);
  memset(text, 'x', (size_t)size);
  batch->count += code == TR_OK;
  return code;
}

static void check(tr_row_batch *batch, int64_t first) {
  const tr_value *rows = tr_row_batch_rows(batch);
  for (int i = 0; i < batch->count; i++) {
    char text[200000];
    const tr_value *row = rows + i * batch->width;
    assert_true(row[1].bytes.size < sizeof text);
    memcpy(text, row[1].bytes.data, row[1].bytes.size);
    text[row[1].bytes.size] = 0;
    assert_int_equal(row[0].integer, first + i);
    assert_int_equal(strtoll(text, NULL, 10), first + i);
  }
}

static void test_rows_come_back(void **state) {
  (void)state;
  test_random random = test_random_begin("rows come back");
  tr_row_batch batch;
  assert_int_equal(tr_row_batch_init(&batch, 2, 256, NULL), TR_OK);
  for (int round = 0; round < 200; round++) {
    int64_t first = (int64_t)test_random_below(&random, 1000);
    for (int64_t next = first; !tr_row_batch_is_full(&batch); next++) {
      size_t longest = test_random_below(&random, 50) == 0 ? 150000 : 30;
      assert_int_equal(put(&batch, next, test_random_below(&random, longest)), TR_OK);
    }
    check(&batch, first);
    tr_row_batch_clear(&batch);
    assert_int_equal(batch.count, 0);
  }
  tr_row_batch_free(&batch);
}

static void test_wide_rows_are_fewer(void **state) {
  (void)state;
  static const int widths[] = {0, 1, 4, 5, 100, 32767};
  static const int capacities[] = {256, 256, 256, 204, 10, 8};
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
    tr_row_batch batch;
    assert_int_equal(tr_row_batch_init(&batch, widths[i], 256, NULL), TR_OK);
    assert_int_equal(batch.capacity, capacities[i]);
    tr_row_batch_free(&batch);
  }
}

static void test_empty_texts_have_an_address(void **state) {
  (void)state;
  tr_row_batch batch;
  assert_int_equal(tr_row_batch_init(&batch, 1, 10, NULL), TR_OK);
  tr_value *row = tr_row_batch_next(&batch);
  *row = tr_value_text((tr_bytes){(const uint8_t *)"", 0});
  assert_int_equal(tr_row_batch_keep_bytes(&batch, row, NULL), TR_OK);
  batch.count++;
  const tr_value *rows = tr_row_batch_rows(&batch);
  assert_non_null(rows[0].bytes.data);
  assert_int_equal(rows[0].bytes.size, 0);
  tr_row_batch_free(&batch);
}

static void test_failing_memory(void **state) {
  (void)state;
  long live = test_memory_live();
  for (long n = 1, has_failed = 1; has_failed; n++) {
    tr_row_batch batch;
    test_memory_fail_at(n);
    tr_code code = tr_row_batch_init(&batch, 2, 256, NULL);
    int64_t kept = 0;
    while (code == TR_OK && !tr_row_batch_is_full(&batch)) {
      code = put(&batch, kept, 1000);
      kept += code == TR_OK;
    }
    has_failed = test_memory_has_failed();
    test_memory_fail_at(0);
    assert_int_equal(code, has_failed ? TR_NO_MEMORY : TR_OK);
    if (batch.values != NULL) check(&batch, 0);
    tr_row_batch_free(&batch);
    assert_int_equal(test_memory_live(), live);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_come_back),
      cmocka_unit_test(test_wide_rows_are_fewer),
      cmocka_unit_test(test_empty_texts_have_an_address),
      cmocka_unit_test(test_failing_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

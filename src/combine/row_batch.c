/*
** The bytes of all values are in one buffer, which may move when it grows. So until the rows are
** asked for, a value has the offset of its bytes instead of their address.
*/
#include "combine/row_batch.h"

#include "base/memory.h"

/* So many values fit the first-level cache. */
#define VALUES 1024
#define LEAST_ROWS 8

/* A larger buffer, from a very long row, is not kept. */
#define MOST_BYTES_KEPT (16 * TR_ROW_BATCH_BYTES)

tr_code tr_row_batch_init(tr_row_batch *batch, int width, int most, tr_error *err) {
  int capacity = width == 0 ? most : VALUES / width;
  if (capacity < LEAST_ROWS) capacity = LEAST_ROWS;
  if (capacity > most) capacity = most;
  *batch = (tr_row_batch){.width = width, .capacity = capacity};
  batch->values = tr_malloc(((size_t)capacity * (size_t)width + 1) * sizeof *batch->values);
  if (batch->values != NULL) return TR_OK;
  *batch = (tr_row_batch){0};
  return tr_error_no_memory(err);
}

tr_code tr_row_batch_keep_bytes(tr_row_batch *batch, tr_value *value, tr_error *err) {
  size_t offset = batch->bytes.size;
  batch->has_bytes = 1;
  tr_code code = tr_buffer_append(&batch->bytes, value->bytes, err);
  value->bytes.data = (const uint8_t *)(uintptr_t)offset;
  return code;
}

const tr_value *tr_row_batch_rows(tr_row_batch *batch) {
  size_t count = batch->has_bytes ? (size_t)batch->count * (size_t)batch->width : 0;
  const uint8_t *first = batch->bytes.data == NULL ? (const uint8_t *)"" : batch->bytes.data;
  for (size_t i = 0; i < count; i++) {
    tr_bytes *bytes = &batch->values[i].bytes;
    if (batch->values[i].type >= TR_TEXT) bytes->data = first + (uintptr_t)bytes->data;
  }
  return batch->values;
}

void tr_row_batch_clear(tr_row_batch *batch) {
  batch->count = 0;
  batch->has_bytes = 0;
  batch->bytes.size = 0;
  if (batch->bytes.capacity > MOST_BYTES_KEPT) tr_buffer_free(&batch->bytes);
}

void tr_row_batch_free(tr_row_batch *batch) {
  tr_free(batch->values);
  tr_buffer_free(&batch->bytes);
  *batch = (tr_row_batch){0};
}

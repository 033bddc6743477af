/*
** Rows that were read but not yet processed: some hundreds of them, with the same number of values
** each.
**
** It is for a reader that gets rows one by one, but learns only later, for all of them together,
** whether it may take them. Also, processing many rows at once is cheaper than one by one. The
** bytes of text and BLOBs are copied.
**
**   tr_row_batch_init; for each row: tr_row_batch_next, fill its values (with
**   tr_row_batch_keep_bytes for text and BLOBs), batch.count++; when tr_row_batch_is_full:
**   tr_row_batch_rows, use them, tr_row_batch_clear.
**
** Thread-safety: a batch belongs to one thread at a time.
*/
#ifndef TR_COMBINE_ROW_BATCH_H
#define TR_COMBINE_ROW_BATCH_H

#include "base/value.h"

typedef struct tr_row_batch {
  tr_value *values;
  int width;
  int count;
  int capacity;
  int has_bytes; /* some values are text or BLOBs */
  tr_buffer bytes;
} tr_row_batch;

/* An empty batch for at most `most` rows, or fewer if rows are wide. TR_NO_MEMORY: all zeros. */
tr_code tr_row_batch_init(tr_row_batch *batch, int width, int most, tr_error *err);

/* The values of the next row, which are undefined. The batch must not be full. */
static inline tr_value *tr_row_batch_next(const tr_row_batch *batch) {
  return batch->values + (size_t)batch->count * (size_t)batch->width;
}

/*
** Copies the bytes of a text or BLOB of the next row; the original may then go. The value can be
** read only after tr_row_batch_rows. TR_NO_MEMORY.
*/
tr_code tr_row_batch_keep_bytes(tr_row_batch *batch, tr_value *value, tr_error *err);

#define TR_ROW_BATCH_BYTES ((size_t)64 << 10)

static inline int tr_row_batch_is_full(const tr_row_batch *batch) {
  return batch->count == batch->capacity || batch->bytes.size >= TR_ROW_BATCH_BYTES;
}

/*
** All rows, one after another. They are valid until the batch is cleared. To be called only once
** before that.
*/
const tr_value *tr_row_batch_rows(tr_row_batch *batch);

void tr_row_batch_clear(tr_row_batch *batch);

void tr_row_batch_free(tr_row_batch *batch); /* all zeros are fine */

#endif

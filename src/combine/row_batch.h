/*
** Rows that were read and not yet taken: some hundreds of them, each of the same number of values.
**
** Whoever reads rows one by one and can only say for all of them together whether they are his
** collects them here; and taking many rows at once is cheaper than one by one. Bytes of text and
** BLOBs are copied.
**
**   tr_row_batch_init; for each row: tr_row_batch_next, fill its values (tr_row_batch_keep_bytes where
**   they have bytes), batch.count++; when tr_row_batch_is_full: tr_row_batch_rows, use them,
**   tr_row_batch_clear.
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
  int has_bytes; /* some values are texts or BLOBs */
  tr_buffer bytes;
} tr_row_batch;

/*
** An empty batch for at most `most` rows, or for fewer where rows are wide. TR_NO_MEMORY: all zero.
*/
tr_code tr_row_batch_init(tr_row_batch *batch, int width, int most, tr_error *err);

/* The values of the row that comes next; they are undefined. The batch is not full. */
static inline tr_value *tr_row_batch_next(const tr_row_batch *batch) {
  return batch->values + (size_t)batch->count * (size_t)batch->width;
}

/*
** Makes a copy of the bytes of a value of that next row, a text or a BLOB, which may then go; the
** value can be read when tr_row_batch_rows was called. TR_NO_MEMORY.
*/
tr_code tr_row_batch_keep_bytes(tr_row_batch *batch, tr_value *value, tr_error *err);

#define TR_ROW_BATCH_BYTES ((size_t)64 << 10)

static inline int tr_row_batch_is_full(const tr_row_batch *batch) {
  return batch->count == batch->capacity || batch->bytes.size >= TR_ROW_BATCH_BYTES;
}

/* All rows, one behind the other, until the batch is cleared. To be called once for them. */
const tr_value *tr_row_batch_rows(tr_row_batch *batch);

void tr_row_batch_clear(tr_row_batch *batch);

void tr_row_batch_free(tr_row_batch *batch); /* all zero is fine */

#endif

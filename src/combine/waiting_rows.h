/*
** A buffer of rows that wait for their groups: keys and inputs one after another, in whole words.
**
**   for each row: while it has no room (tr_waiting_rows_put gives 0), work the buffer off;
**   to work off: for (at = 0; at < rows.used;) at = tr_waiting_rows_take(&rows, at, ...);
**   tr_waiting_rows_clear.
**
** If many rows wait, the size of a row decides how often groups must be loaded from main memory. So
** rows have no heads while all in the buffer are alike: keys with the same number of words, and
** inputs that are NULLs or INTEGERs of one word each. If the first row of a buffer is not like
** that, all its rows have heads.
**
** Ownership: the memory is the caller's. Thread-safety: a buffer belongs to one thread at a time.
*/
#ifndef TR_COMBINE_WAITING_ROWS_H
#define TR_COMBINE_WAITING_ROWS_H

#include "combine/group_key.h"

typedef struct tr_waiting_rows {
  uint8_t *data; /* aligned to 8 */
  size_t size;   /* of the memory, a multiple of 8 */
  size_t used;
  uint32_t key_words, words; /* of each row; words is 0 if the rows have heads */
} tr_waiting_rows;

/*
** Adds a row, whose hash must be computed. 1: added. 0: there is no room, or the row needs a head
** and those in the buffer have none. If the buffer is empty: it is too small for the row.
*/
static inline int tr_waiting_rows_put(tr_waiting_rows *rows, const tr_group_row *row,
                                      const tr_value *inputs, int input_count);

/*
** tr_waiting_rows_take reads the row at `at`, with its hash, and returns where the next one begins.
** `*inputs` is for tr_waiting_rows_inputs. Bytes are in the buffer.
*/
static inline size_t tr_waiting_rows_take(const tr_waiting_rows *rows, size_t at, uint64_t seed,
                                          tr_group_row *row, const uint8_t **inputs);
static inline void tr_waiting_rows_inputs(const tr_waiting_rows *rows, const uint8_t *inputs,
                                          int count, tr_value *values);

/* Whether the canonical form of every key gives its values back, or there are no rows. */
static inline int tr_waiting_rows_are_plain(const tr_waiting_rows *rows) {
  return rows->used == 0 || rows->words > 0;
}

static inline void tr_waiting_rows_clear(tr_waiting_rows *rows) {
  rows->used = 0;
}

/* --- what is inline ------------------------------------------------------------------------- */

/* The same for rows with heads. */
int tr_waiting_rows_put_with_head(tr_waiting_rows *rows, const tr_group_row *row,
                                  const tr_value *inputs, int input_count);
size_t tr_waiting_rows_take_with_head(const tr_waiting_rows *rows, size_t at, tr_group_row *row,
                                      const uint8_t **inputs);

static inline int tr_waiting_rows_put(tr_waiting_rows *rows, const tr_group_row *row,
                                      const tr_value *inputs, int input_count) {
  uint32_t keys = row->info.size / 8, words = keys + (uint32_t)input_count;
  int is_alike = rows->used == 0 || (rows->words == words && rows->key_words == keys);
  if (!tr_group_row_is_plain(row) || !is_alike || words == 0)
    return tr_waiting_rows_put_with_head(rows, row, inputs, input_count);
  if (words * (size_t)8 > rows->size - rows->used) return 0;
  uint8_t *out = rows->data + rows->used;
  tr_group_key_copy(out, row->bytes, row->info.size);
  out += row->info.size;
  for (int i = 0; i < input_count; i++, out += 8) {
    uint64_t word;
    if (!tr_group_key_of_short(&inputs[i], &word))
      return tr_waiting_rows_put_with_head(rows, row, inputs, input_count);
    memcpy(out, &word, sizeof word);
  }
  rows->key_words = keys;
  rows->words = words;
  rows->used += words * (size_t)8;
  return 1;
}

static inline size_t tr_waiting_rows_take(const tr_waiting_rows *rows, size_t at, uint64_t seed,
                                          tr_group_row *row, const uint8_t **inputs) {
  if (rows->words == 0) return tr_waiting_rows_take_with_head(rows, at, row, inputs);
  row->bytes = rows->data + at;
  row->exact_size = 0;
  row->info = (tr_group_key_info){.size = rows->key_words * 8};
  tr_group_row_hash(row, seed);
  *inputs = row->bytes + row->info.size;
  return at + rows->words * (size_t)8;
}

static inline void tr_waiting_rows_inputs(const tr_waiting_rows *rows, const uint8_t *inputs,
                                          int count, tr_value *values) {
  if (rows->words == 0) {
    tr_group_key_values(inputs, count, values);
    return;
  }
  for (int i = 0; i < count; i++, inputs += 8) {
    uint64_t word;
    memcpy(&word, inputs, sizeof word);
    tr_group_key_to_short(word, &values[i]);
  }
}

#endif

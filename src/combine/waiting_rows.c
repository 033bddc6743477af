/*
** Rows with heads: each is a head, the key (in both forms), and the inputs in the exact form of
** keys.
*/
#include "combine/waiting_rows.h"

/*
** One word for nearly all rows. A long_head follows it if a row is long, or if its key has an exact
** form or a REAL to be shown.
*/
typedef struct short_head {
  uint32_t hash;
  uint16_t words; /* of the whole row with its head; 0: a long_head follows */
  uint16_t key_words;
} short_head;

typedef struct long_head {
  uint32_t size, key_size, exact_size, real_fields;
} long_head;

#define MOST_HEAD_SIZE (sizeof(short_head) + sizeof(long_head))

/* Writes a row and returns its size. There must be room for it. */
static size_t write_row(uint8_t *at, const tr_group_row *row, const tr_value *inputs,
                        int input_count) {
  short_head *head = (short_head *)(void *)at;
  uint32_t keys = row->info.size + row->exact_size;
  int is_short = tr_group_row_is_plain(row) && keys / 8 <= UINT16_MAX;
  uint8_t *out = at + (is_short ? sizeof *head : MOST_HEAD_SIZE);
  tr_group_key_copy(out, row->bytes, keys);
  out += keys;
  out += tr_group_key_encode_exact(inputs, input_count, out);
  size_t size = (size_t)(out - at);
  head->hash = row->hash;
  head->key_words = (uint16_t)(keys / 8);
  head->words = (uint16_t)(size / 8);
  if (is_short && size / 8 <= UINT16_MAX) return size;
  head->words = 0;
  if (is_short) { /* its inputs are long, so it needs the long head after all */
    memmove(at + MOST_HEAD_SIZE, at + sizeof *head, size - sizeof *head);
    size += sizeof(long_head);
  }
  *(long_head *)(void *)(head + 1) =
      (long_head){(uint32_t)size, row->info.size, row->exact_size, row->info.real_fields};
  return size;
}

int tr_waiting_rows_put_with_head(tr_waiting_rows *rows, const tr_group_row *row,
                                  const tr_value *inputs, int input_count) {
  if (rows->used > 0 && rows->words != 0) return 0; /* the rows in it have no heads */
  size_t need =
      MOST_HEAD_SIZE + row->info.size + row->exact_size + tr_group_key_bound(inputs, input_count);
  if (need > rows->size - rows->used) return 0;
  rows->words = 0;
  rows->used += write_row(rows->data + rows->used, row, inputs, input_count);
  return 1;
}

size_t tr_waiting_rows_take_with_head(const tr_waiting_rows *rows, size_t at, tr_group_row *row,
                                      const uint8_t **inputs) {
  const short_head *head = (const short_head *)(const void *)(rows->data + at);
  size_t size = head->words * (size_t)8;
  *row = (tr_group_row){.hash = head->hash, .bytes = (const uint8_t *)(head + 1)};
  row->info.size = head->key_words * (uint32_t)8;
  if (head->words == 0) {
    const long_head *numbers = (const long_head *)(const void *)(head + 1);
    size = numbers->size;
    row->bytes += sizeof *numbers;
    row->exact_size = numbers->exact_size;
    row->info.size = numbers->key_size;
    row->info.real_fields = numbers->real_fields;
  }
  *inputs = row->bytes + row->info.size + row->exact_size;
  return at + size;
}

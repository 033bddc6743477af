/*
** A grouping that is cut into parts: the buffers in which their rows wait.
**
** The buffer of a part (waiting_rows.h) is worked off in order, a few rows at a time. First their
** slots in the index are prefetched, then their groups, and then both are in the cache.
**
** Shared parts (grouping_shared.c). Each thread has its own buffers for its rows. To work off a
** buffer it holds the lock of the part. Nothing in a part is read without the lock until all
** threads have finished.
*/
#include <string.h>

#include "base/memory.h"
#include "combine/grouping_inside.h"

/*
** The size of the buffers of a part, in bytes. It has two of half that size, each of which holds
** enough rows to be worth loading the part into the caches. One is filled. When it is full, the
** other, older one is worked off. So at the end of the input at least half of the room is full of
** late rows (grouping_shared.c), which keep other cores busy while groups are given out. Under a
** limit all buffers together take at most 1 / BUFFERS_SHARE of it.
*/
#define BUFFER ((size_t)448 << 10)
#define LEAST_BUFFER ((size_t)1 << 10)
#define ALL_BUFFERS ((uint64_t)112 << 20)
#define BUFFERS_SHARE 8

/* How far ahead of the rows that are looked up to prefetch. */
#define ROWS_AHEAD 1024

/* --- waiting rows --------------------------------------------------------------------------- */

/* Adds some rows of a part, from `*at` on. `values` has room for their inputs. */
static tr_code work_off_some(const tr_grouping *grouping, tr_group_table *table,
                             const tr_waiting_rows *waiting, size_t *at, tr_value *values,
                             tr_error *err) {
  tr_group_row rows[TR_ROWS_TOGETHER];
  const uint8_t *inputs[TR_ROWS_TOGETHER];
  tr_group *groups[TR_ROWS_TOGETHER];
  int count = 0, width = grouping->shape.input_count;
  int are_plain = tr_waiting_rows_are_plain(waiting) && tr_group_table_is_plain(table);
  int compares = grouping->shared != NULL && !are_plain;
  for (; count < TR_ROWS_TOGETHER && *at < waiting->used; count++) {
    *at = tr_waiting_rows_take(waiting, *at, grouping->shape.seed, &rows[count], &inputs[count]);
    tr_prefetch(waiting->data + *at + ROWS_AHEAD);
  }
  tr_group_table_look_up(table, rows, count, groups);
  for (int i = 0; i < count; i++) {
    if (groups[i] == NULL || !tr_group_has_key(groups[i], rows[i].bytes, rows[i].info.size)) {
      tr_code code = tr_group_table_find_or_add(table, &rows[i], &groups[i], err);
      if (code != TR_OK) return code;
    }
    if (compares) tr_group_table_compare_looks(table, groups[i], &rows[i]);
    tr_waiting_rows_inputs(waiting, inputs[i], width, values + i * width);
  }
  return tr_group_table_add_rows(table, groups, values, (size_t)width, count, err);
}

/*
** Gives the table of a part; the caller must call close_part. A shared table is locked, and created
** if there is none.
*/
static tr_code open_part(tr_grouping *grouping, int number, tr_group_table **table, tr_error *err) {
  if (grouping->shared == NULL) {
    *table = grouping->parts[number].table;
    return TR_OK;
  }
  tr_code code = TR_OK;
  tr_shared_part *part = &grouping->shared->parts[number];
  pthread_mutex_lock(&part->mutex);
  if (part->table == NULL) {
    code = tr_group_table_create(&grouping->shape, TR_PART_BITS, &part->account,
                                 grouping->shared->arena, &part->table, err);
  }
  *table = part->table;
  if (code != TR_OK) pthread_mutex_unlock(&part->mutex);
  return code;
}

static void close_part(tr_grouping *grouping, int number) {
  if (grouping->shared != NULL) pthread_mutex_unlock(&grouping->shared->parts[number].mutex);
}

/* Adds the rows of one buffer of a part. */
static tr_code work_off(tr_grouping *grouping, int number, tr_waiting_rows *rows, tr_value *inputs,
                        tr_error *err) {
  tr_group_table *table;
  if (rows->used == 0) return TR_OK;
  if (grouping->shared != NULL && atomic_load(&grouping->shared->is_stopped))
    return tr_error_set(err, TR_INTERRUPTED, "interrupted");
  tr_code code = open_part(grouping, number, &table, err);
  if (code != TR_OK) return code;
  for (size_t at = 0; at < rows->used && code == TR_OK;) {
    code = work_off_some(grouping, table, rows, &at, inputs, err);
  }
  tr_waiting_rows_clear(rows);
  close_part(grouping, number);
  return code;
}

tr_code tr_grouping_work_off(tr_grouping *grouping, int number, tr_value *inputs, tr_error *err) {
  tr_hash_part *p = &grouping->parts[number];
  tr_code code = work_off(grouping, number, &p->older, inputs, err);
  return code == TR_OK ? work_off(grouping, number, &p->rows, inputs, err) : code;
}

/*
** Makes room for the next row of a part: adds the rows of the older buffer and exchanges the two.
*/
static tr_code turn_buffers(tr_grouping *grouping, int number, tr_error *err) {
  tr_hash_part *p = &grouping->parts[number];
  tr_code code = work_off(grouping, number, &p->older, grouping->inputs, err);
  tr_waiting_rows older = p->older;
  p->older = p->rows;
  p->rows = older;
  return code;
}

/* Adds a row at once. */
static tr_code add_to_part(tr_grouping *grouping, const tr_group_row *row, const tr_value *inputs,
                           tr_error *err) {
  tr_group_table *table;
  tr_group *group;
  tr_code code = open_part(grouping, tr_part_of(row->hash), &table, err);
  if (code != TR_OK) return code;
  code = tr_group_table_find_or_add(table, row, &group, err);
  if (code == TR_OK && grouping->shared != NULL) tr_group_table_compare_looks(table, group, row);
  if (code == TR_OK) code = tr_group_table_add_rows(table, &group, inputs, 0, 1, err);
  close_part(grouping, tr_part_of(row->hash));
  return code;
}

/* Puts a row into a buffer, or adds it at once if it is longer than a buffer. */
static inline tr_code wait_in_part(tr_grouping *grouping, const tr_group_row *row,
                                   const tr_value *inputs, tr_error *err) {
  int number = tr_part_of(row->hash), width = grouping->shape.input_count;
  tr_waiting_rows *rows = &grouping->parts[number].rows;
  while (!tr_waiting_rows_put(rows, row, inputs, width)) {
    int is_too_long = rows->used == 0;
    tr_code code = is_too_long ? tr_grouping_work_off(grouping, number, grouping->inputs, err)
                               : turn_buffers(grouping, number, err);
    if (code != TR_OK) return code;
    if (is_too_long) return add_to_part(grouping, row, inputs, err);
  }
  tr_prefetch(rows->data + rows->used + TR_LINE); /* the next row of this part comes much later */
  return TR_OK;
}

tr_code tr_grouping_add_to_parts(tr_grouping *grouping, const tr_rows_in_hand *in_hand,
                                 const tr_value *inputs, tr_error *err) {
  tr_code code = TR_OK;
  int is_encoded = 0;
  for (int i = 0; i < in_hand->count && code == TR_OK; i++) {
    uint64_t word;
    tr_group_row plain = {.bytes = (const uint8_t *)&word, .info.size = sizeof word}, *row = &plain;
    if (!tr_plain_key(grouping, tr_key_in_hand(in_hand, i), &word)) {
      if (!is_encoded) code = tr_grouping_encode_rows(grouping, in_hand, i, err);
      if (code != TR_OK) break;
      is_encoded = 1;
      row = &grouping->rows[i];
    }
    tr_group_row_hash(row, grouping->shape.seed);
    code = wait_in_part(grouping, row, inputs + (size_t)i * in_hand->stride, err);
  }
  return code;
}

void tr_grouping_drop_buffers(tr_grouping *grouping) {
  tr_group_arena_free(grouping->buffers);
  grouping->buffers = NULL;
  for (int i = 0; i < TR_PARTS; i++) {
    grouping->parts[i].rows = grouping->parts[i].older = (tr_waiting_rows){0};
  }
}

/* --- cutting -------------------------------------------------------------------------------- */

/* Makes the buffers. If the limit has no room for them, rows do not wait. */
static tr_code make_buffers(tr_grouping *grouping, tr_error *err) {
  uint64_t limit = grouping->account.budget->limit, all = ALL_BUFFERS;
  uint64_t buffers = TR_PARTS * (grouping->shared == NULL ? 1 : (uint64_t)grouping->shared->most);
  size_t size = BUFFER;
  if (limit != 0 && all > limit / BUFFERS_SHARE) all = limit / BUFFERS_SHARE;
  while (size * buffers > all) size /= 2;
  tr_code code = tr_group_arena_create(grouping->account.budget, grouping->shape.reserve,
                                       &grouping->buffers, err);
  if (code != TR_OK || size < LEAST_BUFFER) return code;
  void *rows;
  code = tr_group_arena_take(grouping->buffers, size * TR_PARTS, &rows, err);
  if (code != TR_OK) return code == TR_TOO_BIG ? TR_OK : code;
  for (size_t i = 0; i < TR_PARTS; i++) {
    uint8_t *data = (uint8_t *)rows + i * size;
    grouping->parts[i].rows = (tr_waiting_rows){.data = data, .size = size / 2};
    grouping->parts[i].older = (tr_waiting_rows){.data = data + size / 2, .size = size / 2};
  }
  return TR_OK;
}

tr_code tr_grouping_merge_into_part(tr_grouping *grouping, const tr_group *group, tr_error *err) {
  tr_group_table *table;
  int number = tr_part_of(tr_group_hash(group));
  tr_code code = open_part(grouping, number, &table, err);
  if (code != TR_OK) return code;
  code = tr_group_table_merge_group(table, group, err);
  close_part(grouping, number);
  return code;
}

tr_code tr_grouping_cut(tr_grouping *grouping, tr_error *err) {
  tr_group_table *whole = grouping->table;
  size_t size = TR_PARTS * sizeof *grouping->parts;
  tr_code code = tr_memory_account_take(&grouping->account, size, err);
  if (code != TR_OK) return code;
  grouping->parts = tr_malloc(size);
  if (grouping->parts == NULL) return tr_error_no_memory(err);
  memset(grouping->parts, 0, size);
  code = make_buffers(grouping, err);
  if (code == TR_OK && grouping->shared == NULL) {
    code = tr_group_arena_create(grouping->account.budget, grouping->shape.reserve,
                                 &grouping->arena, err);
  }
  for (int i = 0; i < TR_PARTS && code == TR_OK && grouping->shared == NULL; i++) {
    code = tr_group_table_create(&grouping->shape, TR_PART_BITS, &grouping->account,
                                 grouping->arena, &grouping->parts[i].table, err);
  }
  if (grouping->shared != NULL) atomic_store(&grouping->shared->is_used, 1);
  grouping->table = NULL;
  tr_group_table_cursor cursor = {0};
  for (const tr_group *group;
       code == TR_OK && (group = tr_group_table_next(whole, &cursor)) != NULL;) {
    code = tr_grouping_merge_into_part(grouping, group, err);
  }
  grouping->has_looks |= tr_group_table_has_looks(whole);
  grouping->account.used -= tr_group_table_memory(whole);
  tr_group_table_free(whole);
  return code;
}

void tr_grouping_free_parts(tr_grouping *grouping) {
  if (grouping->parts == NULL) return;
  for (int i = 0; i < TR_PARTS; i++) {
    tr_group_table_free(grouping->parts[i].table);
  }
  tr_free(grouping->parts);
}

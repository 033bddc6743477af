/*
** A grouping: one table first, then 64 tables with buffers of waiting rows.
**
** Some hundreds of rows come at a time, and are processed step by step. First the keys of all are
** encoded, then the groups of all are looked up, then each aggregate adds all of them. So when one
** row waits for memory, the processor can work on the others. If the key is one integer and there
** are few groups, most rows belong to a group that was met a moment ago. A small cache finds it by
** the integer alone, without encoding the key and without the index.
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
** A table of this size is cut. Under a limit it is cut only if the limit is at least LEAST_LIMIT,
** so that there is room for the parts.
*/
#define ONE_TABLE_MEMORY ((uint64_t)3 << 20)
#define LEAST_LIMIT ((uint64_t)64 << 20)

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

/* Rows that are looked up together, and how far ahead of them to prefetch. */
#define TOGETHER 64
#define ROWS_AHEAD 1024

#define RECENT_LOG 12
/* Under a lower limit there is no cache. */
#define RECENT_LEAST_LIMIT ((uint64_t)1 << 20)

/* --- waiting rows --------------------------------------------------------------------------- */

static int part_of(uint32_t hash) {
  return (int)(hash >> (32 - TR_PART_BITS));
}

/* Adds some rows of a part, from `*at` on. `values` has room for their inputs. */
static tr_code work_off_some(const tr_grouping *grouping, tr_group_table *table,
                             const tr_waiting_rows *waiting, size_t *at, tr_value *values,
                             tr_error *err) {
  tr_group_row rows[TOGETHER];
  const uint8_t *inputs[TOGETHER];
  tr_group *groups[TOGETHER];
  int count = 0, width = grouping->shape.input_count;
  int are_plain = tr_waiting_rows_are_plain(waiting) && tr_group_table_is_plain(table);
  int compares = grouping->shared != NULL && !are_plain;
  for (; count < TOGETHER && *at < waiting->used; count++) {
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

/* The table of a part, for reading only. NULL: the part is empty. */
static const tr_group_table *table_of(const tr_grouping *grouping, int number) {
  if (grouping->shared != NULL) return grouping->shared->parts[number].table;
  return grouping->parts[number].table;
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
  tr_code code = open_part(grouping, part_of(row->hash), &table, err);
  if (code != TR_OK) return code;
  code = tr_group_table_find_or_add(table, row, &group, err);
  if (code == TR_OK && grouping->shared != NULL) tr_group_table_compare_looks(table, group, row);
  if (code == TR_OK) code = tr_group_table_add_rows(table, &group, inputs, 0, 1, err);
  close_part(grouping, part_of(row->hash));
  return code;
}

/* Puts a row into a buffer, or adds it at once if it is longer than a buffer. */
static inline tr_code wait_in_part(tr_grouping *grouping, const tr_group_row *row,
                                   const tr_value *inputs, tr_error *err) {
  int number = part_of(row->hash), width = grouping->shape.input_count;
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

/* --- cutting -------------------------------------------------------------------------------- */

static void free_parts(tr_grouping *grouping) {
  if (grouping->parts == NULL) return;
  for (int i = 0; i < TR_PARTS; i++) {
    tr_group_table_free(grouping->parts[i].table);
  }
  tr_free(grouping->parts);
}

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

/* Adds a group of another table. */
static tr_code merge_group(tr_grouping *grouping, const tr_group *group, tr_error *err) {
  tr_group_table *table = grouping->table;
  if (table != NULL) return tr_group_table_merge_group(table, group, err);
  int number = part_of(tr_group_hash(group));
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
    code = merge_group(grouping, group, err);
  }
  grouping->has_looks |= tr_group_table_has_looks(whole);
  grouping->account.used -= tr_group_table_memory(whole);
  tr_group_table_free(whole);
  return code;
}

/* A grouping without keys is not cut: its one group is in one part. */
static int is_to_be_cut(const tr_grouping *grouping) {
  uint64_t limit = grouping->account.budget->limit;
  return grouping->shape.key_count > 0 &&
         tr_group_table_memory(grouping->table) > ONE_TABLE_MEMORY &&
         (limit == 0 || limit >= LEAST_LIMIT);
}

/* --- the interface -------------------------------------------------------------------------- */

/* Creates a grouping. Without shared parts it has its own budget. */
static tr_code create(const tr_group_shape *shape, tr_group_parts *shared, tr_grouping **created,
                      tr_error *err) {
  *created = NULL;
  size_t size = sizeof(tr_grouping) + (size_t)shape->aggregate_count * sizeof(size_t);
  tr_grouping *grouping = tr_malloc(size);
  if (grouping == NULL) return tr_error_no_memory(err);
  *grouping = (tr_grouping){.shape = *shape, .shared = shared};
  for (int i = 0; i < shape->aggregate_count; i++) {
    grouping->state_offsets[i] = tr_group_state_offset(shape, i);
  }
  grouping->budget.limit = shape->memory_limit;
  grouping->account.budget = shared == NULL ? &grouping->budget : &shared->budget;
  size_t inputs = ((size_t)shape->input_count * TOGETHER + 1) * sizeof *grouping->inputs;
  size_t rows = TR_GROUP_ROWS * sizeof *grouping->rows;
  int has_cache = (shape->memory_limit == 0 || shape->memory_limit >= RECENT_LEAST_LIMIT);
  size_t recent = has_cache ? sizeof *grouping->recent << RECENT_LOG : 0;
  tr_code code = tr_memory_account_take(&grouping->account, size + inputs + rows + recent, err);
  if (code == TR_OK) grouping->inputs = tr_malloc(inputs);
  if (code == TR_OK) grouping->rows = tr_malloc(rows);
  if (code == TR_OK && recent > 0) grouping->recent = tr_malloc(recent);
  if (code == TR_OK && (grouping->inputs == NULL || grouping->rows == NULL ||
                        (recent > 0 && grouping->recent == NULL))) {
    code = tr_error_no_memory(err);
  }
  if (code == TR_OK && recent > 0) memset(grouping->recent, 0, recent);
  if (code == TR_OK) {
    code = tr_group_table_create(shape, 0, &grouping->account, NULL, &grouping->table, err);
  }
  if (code != TR_OK) {
    tr_grouping_free(grouping);
    return code;
  }
  *created = grouping;
  return TR_OK;
}

tr_code tr_grouping_create(const tr_group_shape *shape, tr_grouping **created, tr_error *err) {
  return create(shape, NULL, created, err);
}

tr_code tr_grouping_create_shared(tr_group_parts *parts, tr_grouping **created, tr_error *err) {
  return create(&parts->shape, parts, created, err);
}

/* The rows whose groups are being looked for. */
typedef struct rows_in_hand {
  const tr_value *keys;
  size_t stride;
  int count;
} rows_in_hand;

static const tr_value *key_of(const rows_in_hand *in_hand, int row) {
  return in_hand->keys + (size_t)row * in_hand->stride;
}

/*
** 1: the key of a row is one integer, and `*word` is its canonical form. 0: it is not, or is
** longer.
*/
static inline int plain_key(const tr_grouping *grouping, const tr_value *key, uint64_t *word) {
  return grouping->shape.key_count == 1 && key->type == TR_INTEGER &&
         tr_group_key_of_integer(key->integer, word);
}

/* Makes room for the keys of all rows from `first` on, in both forms. */
static tr_code reserve_keys(tr_grouping *grouping, const rows_in_hand *in_hand, int first,
                            tr_error *err) {
  size_t need = 2 * (size_t)(in_hand->count - first) * tr_group_key_bound(NULL, 0);
  for (int i = first; i < in_hand->count; i++) {
    size_t size = 0;
    const tr_value *key = key_of(in_hand, i);
    for (int k = 0; k < grouping->shape.key_count; k++) {
      size += TR_GROUP_KEY_HEAD + (key[k].type >= TR_TEXT ? key[k].bytes.size : 0);
    }
    if (size > UINT32_MAX / 2) return tr_error_set(err, TR_TOO_BIG, "a group's key is over 2 GiB");
    need += 2 * size;
  }
  if (need <= grouping->scratch.capacity) return TR_OK;
  size_t before = grouping->scratch.capacity;
  tr_code code = tr_buffer_reserve(&grouping->scratch, need, err);
  if (code != TR_OK) return code;
  return tr_memory_account_take(&grouping->account, grouping->scratch.capacity - before, err);
}

/* Encodes the key of a row at `*out` and moves that on. The hash must still be computed. */
static void encode_row(tr_grouping *grouping, const tr_value *key, uint8_t **out,
                       tr_group_row *row) {
  tr_group_row_encode(key, grouping->shape.collations, grouping->shape.key_count, *out, row);
  *out += row->info.size + row->exact_size;
}

/* Encodes all rows from `first` on. */
static tr_code encode_rows(tr_grouping *grouping, const rows_in_hand *in_hand, int first,
                           tr_error *err) {
  tr_code code = reserve_keys(grouping, in_hand, first, err);
  uint8_t *out = grouping->scratch.data;
  for (int i = first; i < in_hand->count && code == TR_OK; i++) {
    encode_row(grouping, key_of(in_hand, i), &out, &grouping->rows[i]);
  }
  return code;
}

static void hash_rows(tr_grouping *grouping, int count) {
  for (int i = 0; i < count; i++) tr_group_row_hash(&grouping->rows[i], grouping->shape.seed);
}

/*
** The first of the two cache places for a word. The cache only guesses, so a cheap mix is enough.
*/
static inline tr_group **recent_of(const tr_grouping *grouping, uint64_t word) {
  return &grouping->recent[(word * UINT64_C(0x9e3779b97f4a7c15)) >> (65 - RECENT_LOG) << 1];
}

static uint64_t mix_of(const tr_group_row *row) {
  uint64_t h = 0;
  for (uint32_t i = 0; i < row->info.size; i += 8) {
    uint64_t word;
    memcpy(&word, row->bytes + i, sizeof word);
    h = i == 0 ? word : (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  }
  return h;
}

/* The group with the key `word`, if it is in the cache; else NULL. */
static inline tr_group *recent_of_word(const tr_grouping *grouping, uint64_t word) {
  tr_group *const *recent = recent_of(grouping, word);
  if (recent[0] != NULL && tr_group_has_plain_key(recent[0], word)) return recent[0];
  if (recent[1] != NULL && tr_group_has_plain_key(recent[1], word)) return recent[1];
  return NULL;
}

/*
** The group of an encoded row, from the cache or from the one table, where it is created if needed.
*/
static tr_code find_or_add(tr_grouping *grouping, tr_group_row *row, tr_group **group,
                           tr_error *err) {
  tr_group **recent = recent_of(grouping, mix_of(row));
  tr_code code = TR_OK;
  int i = 0;
  while (i < 2 && (recent[i] == NULL || !tr_group_has_key(recent[i], row->bytes, row->info.size))) {
    i++;
  }
  if (i == 2) {
    tr_group_row_hash(row, grouping->shape.seed);
    code = tr_group_table_find_or_add(grouping->table, row, group, err);
    if (code != TR_OK) return code;
    recent[1] = recent[0];
    recent[0] = *group;
  } else {
    *group = recent[i];
  }
  if (grouping->shared != NULL) tr_group_table_compare_looks(grouping->table, *group, row);
  return code;
}

/*
** Finds the groups of rows in the one table, mostly in the cache. The first pass finds those whose
** key is one word, and encodes the keys of the others. The second pass finds these. (Reading in
** words what was just written in bytes is slow.)
*/
static tr_code find_recent_groups(tr_grouping *grouping, const rows_in_hand *in_hand,
                                  tr_group **groups, tr_error *err) {
  int first = in_hand->count;
  uint8_t *out = NULL;
  for (int i = 0; i < in_hand->count; i++) {
    uint64_t word;
    const tr_value *key = key_of(in_hand, i);
    groups[i] = plain_key(grouping, key, &word) ? recent_of_word(grouping, word) : NULL;
    if (groups[i] != NULL) continue;
    if (out == NULL) {
      tr_code code = reserve_keys(grouping, in_hand, i, err);
      if (code != TR_OK) return code;
      first = i;
      out = grouping->scratch.data;
    }
    encode_row(grouping, key, &out, &grouping->rows[i]);
  }
  tr_code code = TR_OK;
  for (int i = first; i < in_hand->count && code == TR_OK; i++) {
    if (groups[i] == NULL) code = find_or_add(grouping, &grouping->rows[i], &groups[i], err);
  }
  return code;
}

/* The same without the cache, which is useless if there are many groups. */
static tr_code find_groups(tr_grouping *grouping, const rows_in_hand *in_hand, tr_group **groups,
                           tr_error *err) {
  const tr_group_row *rows = grouping->rows;
  tr_code code = encode_rows(grouping, in_hand, 0, err);
  if (code != TR_OK) return code;
  hash_rows(grouping, in_hand->count);
  tr_group_table_look_up(grouping->table, rows, in_hand->count, groups);
  for (int i = 0; i < in_hand->count && code == TR_OK; i++) {
    if (groups[i] == NULL || !tr_group_has_key(groups[i], rows[i].bytes, rows[i].info.size))
      code = tr_group_table_find_or_add(grouping->table, &rows[i], &groups[i], err);
    if (code == TR_OK && grouping->shared != NULL)
      tr_group_table_compare_looks(grouping->table, groups[i], &rows[i]);
  }
  return code;
}

/* Adds rows to the one table, and cuts it if it has become large. */
static tr_code add_to_table(tr_grouping *grouping, const rows_in_hand *in_hand,
                            const tr_value *inputs, tr_error *err) {
  tr_group *groups[TR_GROUP_ROWS];
  int has_use = tr_group_table_count(grouping->table) <= (size_t)1 << RECENT_LOG;
  rows_in_hand found = *in_hand;
  /* Without keys all rows are in one group, and tr_group_table_add_rows looks at the first only. */
  if (grouping->shape.key_count == 0 && found.count > 1) found.count = 1;
  tr_code code = grouping->recent != NULL && has_use
                     ? find_recent_groups(grouping, &found, groups, err)
                     : find_groups(grouping, &found, groups, err);
  if (code != TR_OK) return code;
  code = tr_group_table_add_rows(grouping->table, groups, inputs, in_hand->stride, in_hand->count,
                                 err);
  return code == TR_OK && is_to_be_cut(grouping) ? tr_grouping_cut(grouping, err) : code;
}

/* Puts all rows into buffers. From the first key on that is not one word, all keys are encoded. */
static tr_code add_to_parts(tr_grouping *grouping, const rows_in_hand *in_hand,
                            const tr_value *inputs, tr_error *err) {
  tr_code code = TR_OK;
  int is_encoded = 0;
  for (int i = 0; i < in_hand->count && code == TR_OK; i++, inputs += in_hand->stride) {
    uint64_t word;
    tr_group_row plain = {.bytes = (const uint8_t *)&word, .info.size = sizeof word}, *row = &plain;
    if (!plain_key(grouping, key_of(in_hand, i), &word)) {
      if (!is_encoded) code = encode_rows(grouping, in_hand, i, err);
      if (code != TR_OK) break;
      is_encoded = 1;
      row = &grouping->rows[i];
    }
    tr_group_row_hash(row, grouping->shape.seed);
    code = wait_in_part(grouping, row, inputs, err);
  }
  return code;
}

tr_code tr_grouping_add_rows(tr_grouping *grouping, const tr_value *keys, const tr_value *inputs,
                             size_t stride, int count, tr_error *err) {
  rows_in_hand in_hand = {keys, stride, count};
  return grouping->table != NULL ? add_to_table(grouping, &in_hand, inputs, err)
                                 : add_to_parts(grouping, &in_hand, inputs, err);
}

void tr_grouping_drop_buffers(tr_grouping *grouping) {
  tr_group_arena_free(grouping->buffers);
  grouping->buffers = NULL;
  for (int i = 0; i < TR_PARTS; i++) {
    grouping->parts[i].rows = grouping->parts[i].older = (tr_waiting_rows){0};
  }
}

tr_code tr_grouping_flush(tr_grouping *grouping, tr_error *err) {
  if (grouping->table != NULL) return TR_OK;
  tr_code code = TR_OK;
  for (int i = 0; i < TR_PARTS && code == TR_OK; i++) {
    code = grouping->late != NULL ? tr_late_rows_settle(grouping, i, err)
                                  : tr_grouping_work_off(grouping, i, grouping->inputs, err);
  }
  if (grouping->late == NULL) tr_grouping_drop_buffers(grouping);
  return code;
}

int tr_grouping_has_looks(const tr_grouping *grouping) {
  int has = grouping->has_looks;
  if (grouping->table != NULL) return has || tr_group_table_has_looks(grouping->table);
  for (int i = 0; i < TR_PARTS; i++) {
    const tr_group_table *table = table_of(grouping, i);
    has |= table != NULL && tr_group_table_has_looks(table);
  }
  return has;
}

tr_code tr_grouping_ensure_one(tr_grouping *grouping, tr_error *err) {
  uint64_t none[1];
  tr_group_row row;
  tr_group_row_encode(NULL, NULL, 0, (uint8_t *)none, &row);
  tr_group_row_hash(&row, grouping->shape.seed);
  tr_group *group;
  return tr_group_table_find_or_add(grouping->table, &row, &group, err);
}

static tr_code merge_table(tr_grouping *grouping, const tr_group_table *table, tr_error *err) {
  tr_group_table_cursor cursor = {0};
  tr_code code = TR_OK;
  for (const tr_group *group;
       code == TR_OK && (group = tr_group_table_next(table, &cursor)) != NULL;) {
    code = merge_group(grouping, group, err);
    if (code == TR_OK && grouping->table != NULL && is_to_be_cut(grouping)) {
      code = tr_grouping_cut(grouping, err);
    }
  }
  return code;
}

tr_code tr_grouping_merge(tr_grouping *grouping, const tr_grouping *from, tr_error *err) {
  grouping->has_looks |= tr_grouping_has_looks(from);
  if (from->table != NULL) return merge_table(grouping, from->table, err);
  tr_code code = TR_OK;
  for (int i = 0; i < TR_PARTS && code == TR_OK; i++) {
    const tr_group_table *table = table_of(from, i);
    if (table != NULL) code = merge_table(grouping, table, err);
  }
  return code;
}

size_t tr_grouping_count(const tr_grouping *grouping) {
  if (grouping->table != NULL) return tr_group_table_count(grouping->table);
  size_t count = 0;
  for (int i = 0; i < TR_PARTS; i++) {
    const tr_group_table *table = table_of(grouping, i);
    if (table != NULL) count += tr_group_table_count(table);
  }
  return count;
}

static uint64_t arena_memory(tr_group_arena *arena) {
  return arena == NULL ? 0 : tr_group_arena_memory(arena);
}

uint64_t tr_grouping_memory(const tr_grouping *grouping) {
  const tr_group_parts *shared = grouping->shared;
  uint64_t used = grouping->account.used + arena_memory(grouping->buffers) +
                  arena_memory(shared == NULL ? grouping->arena : shared->arena);
  for (int i = 0; i < TR_PARTS && grouping->shared != NULL; i++) {
    used += grouping->shared->parts[i].account.used;
  }
  return used;
}

int tr_grouping_open_chunk(tr_grouping *grouping, tr_grouping_cursor *cursor, tr_error *err) {
  if (grouping->table != NULL) return tr_group_table_open_chunk(grouping->table, &cursor->at);
  for (; cursor->part < TR_PARTS; cursor->part++, cursor->at = (tr_group_table_cursor){0}) {
    int is_new = cursor->at.chunk == 0;
    if (is_new && tr_late_rows_settle(grouping, cursor->part, err) != TR_OK) return -1;
    const tr_group_table *table = table_of(grouping, cursor->part);
    if (table != NULL && tr_group_table_open_chunk(table, &cursor->at)) return 1;
  }
  return 0;
}

tr_code tr_grouping_find(tr_grouping *grouping, const tr_value *key, const tr_group **group,
                         tr_error *err) {
  rows_in_hand in_hand = {.keys = key, .count = 1};
  tr_group_row *row = &grouping->rows[0];
  *group = NULL;
  tr_code code = encode_rows(grouping, &in_hand, 0, err);
  if (code != TR_OK) return code;
  tr_group_row_hash(row, grouping->shape.seed);
  const tr_group_table *table = grouping->table;
  if (table == NULL) {
    code = tr_late_rows_settle(grouping, part_of(row->hash), err);
    if (code != TR_OK) return code;
    table = table_of(grouping, part_of(row->hash));
  }
  if (table != NULL) *group = tr_group_table_find(table, row);
  return TR_OK;
}

const void *tr_grouping_state(const tr_grouping *grouping, const tr_group *group, int aggregate) {
  return tr_group_states(group) + grouping->state_offsets[aggregate];
}

void tr_grouping_free(tr_grouping *grouping) {
  if (grouping == NULL || !tr_late_rows_free(grouping->late)) return;
  tr_group_table_free(grouping->table);
  free_parts(grouping);
  tr_group_arena_free(grouping->buffers);
  tr_group_arena_free(grouping->arena);
  tr_buffer_free(&grouping->scratch);
  tr_free(grouping->inputs);
  tr_free(grouping->rows);
  tr_free(grouping->recent);
  if (grouping->owns_shared) tr_group_parts_free(grouping->shared);
  tr_free(grouping);
}

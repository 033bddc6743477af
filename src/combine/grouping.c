/*
** A grouping: one table first, then 64 tables with buffers of waiting rows.
**
** Some hundreds of rows come at a time, and are processed step by step. First the keys of all are
** encoded, then the groups of all are looked up, then each aggregate adds all of them. So when one
** row waits for memory, the processor can work on the others. If the key is one integer and there
** are few groups, most rows belong to a group that was met a moment ago. A small cache finds it by
** the integer alone, without encoding the key and without the index.
**
** Once the table is cut, rows wait in buffers instead: grouping_parts.c.
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

#define RECENT_LOG 12
/* Under a lower limit there is no cache. */
#define RECENT_LEAST_LIMIT ((uint64_t)1 << 20)

/* --- creating ------------------------------------------------------------------------------- */

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
  size_t inputs = ((size_t)shape->input_count * TR_ROWS_TOGETHER + 1) * sizeof *grouping->inputs;
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

/* --- keys ----------------------------------------------------------------------------------- */

/* Makes room for the keys of all rows from `first` on, in both forms. */
static tr_code reserve_keys(tr_grouping *grouping, const tr_rows_in_hand *in_hand, int first,
                            tr_error *err) {
  size_t need = 2 * (size_t)(in_hand->count - first) * tr_group_key_bound(NULL, 0);
  for (int i = first; i < in_hand->count; i++) {
    size_t size = 0;
    const tr_value *key = tr_key_in_hand(in_hand, i);
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

tr_code tr_grouping_encode_rows(tr_grouping *grouping, const tr_rows_in_hand *in_hand, int first,
                                tr_error *err) {
  tr_code code = reserve_keys(grouping, in_hand, first, err);
  uint8_t *out = grouping->scratch.data;
  for (int i = first; i < in_hand->count && code == TR_OK; i++) {
    encode_row(grouping, tr_key_in_hand(in_hand, i), &out, &grouping->rows[i]);
  }
  return code;
}

static void hash_rows(tr_grouping *grouping, int count) {
  for (int i = 0; i < count; i++) tr_group_row_hash(&grouping->rows[i], grouping->shape.seed);
}

/* --- one table ------------------------------------------------------------------------------ */

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
static tr_code find_recent_groups(tr_grouping *grouping, const tr_rows_in_hand *in_hand,
                                  tr_group **groups, tr_error *err) {
  int first = in_hand->count;
  uint8_t *out = NULL;
  for (int i = 0; i < in_hand->count; i++) {
    uint64_t word;
    const tr_value *key = tr_key_in_hand(in_hand, i);
    groups[i] = tr_plain_key(grouping, key, &word) ? recent_of_word(grouping, word) : NULL;
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
static tr_code find_groups(tr_grouping *grouping, const tr_rows_in_hand *in_hand, tr_group **groups,
                           tr_error *err) {
  const tr_group_row *rows = grouping->rows;
  tr_code code = tr_grouping_encode_rows(grouping, in_hand, 0, err);
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

/* A grouping without keys is not cut: its one group is in one part. */
static int is_to_be_cut(const tr_grouping *grouping) {
  uint64_t limit = grouping->account.budget->limit;
  return grouping->shape.key_count > 0 &&
         tr_group_table_memory(grouping->table) > ONE_TABLE_MEMORY &&
         (limit == 0 || limit >= LEAST_LIMIT);
}

/* Adds rows to the one table, and cuts it if it has become large. */
static tr_code add_to_table(tr_grouping *grouping, const tr_rows_in_hand *in_hand,
                            const tr_value *inputs, tr_error *err) {
  tr_group *groups[TR_GROUP_ROWS];
  int has_use = tr_group_table_count(grouping->table) <= (size_t)1 << RECENT_LOG;
  tr_rows_in_hand found = *in_hand;
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

/* --- adding and merging --------------------------------------------------------------------- */

tr_code tr_grouping_add_rows(tr_grouping *grouping, const tr_value *keys, const tr_value *inputs,
                             size_t stride, int count, tr_error *err) {
  tr_rows_in_hand in_hand = {keys, stride, count};
  return grouping->table != NULL ? add_to_table(grouping, &in_hand, inputs, err)
                                 : tr_grouping_add_to_parts(grouping, &in_hand, inputs, err);
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
    code = grouping->table != NULL ? tr_group_table_merge_group(grouping->table, group, err)
                                   : tr_grouping_merge_into_part(grouping, group, err);
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
    const tr_group_table *table = tr_grouping_part_table(from, i);
    if (table != NULL) code = merge_table(grouping, table, err);
  }
  return code;
}

/* --- giving groups out ---------------------------------------------------------------------- */

int tr_grouping_has_looks(const tr_grouping *grouping) {
  int has = grouping->has_looks;
  if (grouping->table != NULL) return has || tr_group_table_has_looks(grouping->table);
  for (int i = 0; i < TR_PARTS; i++) {
    const tr_group_table *table = tr_grouping_part_table(grouping, i);
    has |= table != NULL && tr_group_table_has_looks(table);
  }
  return has;
}

size_t tr_grouping_count(const tr_grouping *grouping) {
  if (grouping->table != NULL) return tr_group_table_count(grouping->table);
  size_t count = 0;
  for (int i = 0; i < TR_PARTS; i++) {
    const tr_group_table *table = tr_grouping_part_table(grouping, i);
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
    const tr_group_table *table = tr_grouping_part_table(grouping, cursor->part);
    if (table != NULL && tr_group_table_open_chunk(table, &cursor->at)) return 1;
  }
  return 0;
}

tr_code tr_grouping_find(tr_grouping *grouping, const tr_value *key, const tr_group **group,
                         tr_error *err) {
  tr_rows_in_hand in_hand = {.keys = key, .count = 1};
  tr_group_row *row = &grouping->rows[0];
  *group = NULL;
  tr_code code = tr_grouping_encode_rows(grouping, &in_hand, 0, err);
  if (code != TR_OK) return code;
  tr_group_row_hash(row, grouping->shape.seed);
  const tr_group_table *table = grouping->table;
  if (table == NULL) {
    code = tr_late_rows_settle(grouping, tr_part_of(row->hash), err);
    if (code != TR_OK) return code;
    table = tr_grouping_part_table(grouping, tr_part_of(row->hash));
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
  tr_grouping_free_parts(grouping);
  tr_group_arena_free(grouping->buffers);
  tr_group_arena_free(grouping->arena);
  tr_buffer_free(&grouping->scratch);
  tr_free(grouping->inputs);
  tr_free(grouping->rows);
  tr_free(grouping->recent);
  if (grouping->owns_shared) tr_group_parts_free(grouping->shared);
  tr_free(grouping);
}

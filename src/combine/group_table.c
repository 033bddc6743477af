/*
** Groups lie in chunks that never move, in the order in which they were first seen. The index
** (group_index.h) finds them by 32 bits of their key's hash.
**
** A group is: head, key (the canonical form, then the exact form if there is one), states of its
** accumulators. Each part begins at a multiple of 8. The number of a group is its place in units of
** 8 bytes: chunk number and offset. With one short key, a count and a sum, a group has just the
** size of a cache line, and lies in one.
*/
#include "combine/group_table.h"

#include <string.h>

#include "base/memory.h"

/* Places are counted in units of 8 bytes. Each chunk has this many numbers, whatever its size. */
#define UNIT 8
#define CHUNK_UNITS_LOG 17
#define CHUNK_SIZE ((size_t)UNIT << CHUNK_UNITS_LOG)
#define FIRST_CHUNK_SIZE 4096

#define MAX_CHUNKS ((size_t)1 << (32 - CHUNK_UNITS_LOG))

typedef struct chunk {
  uint8_t *data;
  size_t size;
  size_t used; /* The first line is not used, because the number 0 means "none". */
} chunk;

/* What is needed of an aggregate for each row. */
typedef struct aggregate_plan {
  const tr_combine *combine;
  size_t state_offset; /* after the key */
  const int *inputs;
  int first_input; /* the inputs are this one and the next ones; -1: they are scattered */
  int (*add_rows)(const tr_combine_rows *rows, int first); /* NULL: not available */
} aggregate_plan;

struct tr_group_table {
  tr_group_shape shape;
  int counts_heap; /* whether what accumulators own is taken from the account */
  tr_memory_account *account;
  tr_group_arena *arena; /* for the chunks; NULL: each is allocated by itself */
  uint64_t memory;       /* taken from the account */
  uint64_t chunk_memory;
  size_t states_size;
  size_t least_size; /* the least size of a group */
  size_t count;
  int owns_heap;   /* some accumulator may own memory */
  int has_looks;   /* some key looked different from its group's */
  int has_unplain; /* the key of some group has an exact form, or a REAL to be shown */
  tr_group_index index;
  chunk *chunks;
  size_t chunk_count, chunk_capacity;
  aggregate_plan plans[];
};

/* --- groups in chunks --------------------------------------------------------------------- */

static tr_group *group_at(const tr_group_table *table, uint32_t at) {
  const chunk *c = &table->chunks[at >> CHUNK_UNITS_LOG];
  return (tr_group *)(void *)(c->data + (size_t)(at & ((1u << CHUNK_UNITS_LOG) - 1)) * UNIT);
}

static uint32_t exact_size_of(const tr_group *group) {
  const tr_group_extra *extra = tr_group_extra_of(group);
  return extra == NULL ? 0 : extra->exact_size;
}

static uint32_t real_fields_of(const tr_group *group) {
  const tr_group_extra *extra = tr_group_extra_of(group);
  return extra == NULL ? 0 : extra->real_fields;
}

static const uint8_t *exact_key_of(const tr_group *group) {
  return tr_group_key(group) + tr_group_key_size(group);
}

static size_t size_of(const tr_group_table *table, const tr_group *group) {
  return (size_t)(tr_group_states(group) - (const uint8_t *)group) + table->states_size;
}

/* Writes the head of a group, and its key. */
static void put_key(tr_group *group, const tr_group_row *row) {
  uint32_t words = row->info.size / 8;
  int is_plain = tr_group_row_is_plain(row) && words <= UINT16_MAX;
  *group = (tr_group){row->hash, (uint16_t)(is_plain ? words : 0),
                      (uint16_t)(is_plain ? 0 : sizeof(tr_group_extra) / 8)};
  if (!is_plain) {
    *(tr_group_extra *)(void *)(group + 1) =
        (tr_group_extra){row->info.size, row->exact_size, row->info.real_fields, 0};
  }
  tr_group_key_copy((uint8_t *)(uintptr_t)tr_group_key(group), row->bytes,
                    row->info.size + row->exact_size);
}

static tr_code take_memory(tr_group_table *table, uint64_t size, tr_error *err) {
  tr_code code = tr_memory_account_take(table->account, size, err);
  if (code == TR_OK) table->memory += size;
  return code;
}

static tr_code give_back(tr_group_table *table, uint64_t size, tr_error *err) {
  table->account->used -= size;
  table->memory -= size;
  return tr_error_no_memory(err);
}

static tr_code add_chunk_slot(tr_group_table *table, tr_error *err) {
  if (table->chunk_count < table->chunk_capacity) return TR_OK;
  size_t more = table->chunk_capacity == 0 ? 8 : table->chunk_capacity;
  tr_code code = take_memory(table, more * sizeof *table->chunks, err);
  if (code != TR_OK) return code;
  chunk *chunks = tr_realloc(table->chunks, (table->chunk_capacity + more) * sizeof *chunks);
  if (chunks == NULL) return give_back(table, more * sizeof *chunks, err);
  table->chunks = chunks;
  table->chunk_capacity += more;
  return TR_OK;
}

static tr_code allocate_chunk(tr_group_table *table, size_t size, void **data, tr_error *err) {
  tr_code code = take_memory(table, size, err);
  if (code != TR_OK) return code;
  *data = tr_malloc(size);
  return *data == NULL ? give_back(table, size, err) : TR_OK;
}

/* Adds a chunk with room for `size` bytes. It has an eighth of the size of all chunks before. */
static tr_code add_chunk(tr_group_table *table, size_t size, tr_error *err) {
  if (table->chunk_count == MAX_CHUNKS) {
    return tr_error_set(err, TR_TOO_BIG, "%llu groups: more than 32 GiB",
                        (unsigned long long)table->count);
  }
  tr_code code = add_chunk_slot(table, err);
  if (code != TR_OK) return code;
  size_t chunk_size = (size_t)(table->chunk_memory / 8) & ~(size_t)(FIRST_CHUNK_SIZE - 1);
  if (chunk_size < FIRST_CHUNK_SIZE) chunk_size = FIRST_CHUNK_SIZE;
  if (chunk_size > CHUNK_SIZE) chunk_size = CHUNK_SIZE;
  if (chunk_size < TR_LINE + size) chunk_size = TR_LINE + size;
  void *data;
  code = table->arena == NULL ? allocate_chunk(table, chunk_size, &data, err)
                              : tr_group_arena_take(table->arena, chunk_size, &data, err);
  if (code != TR_OK) return code;
  table->chunk_memory += chunk_size;
  table->chunks[table->chunk_count++] = (chunk){data, chunk_size, TR_LINE};
  return TR_OK;
}

static void free_states(const tr_group_table *table, const tr_group *group, int count) {
  for (int i = 0; i < count; i++) {
    const aggregate_plan *plan = &table->plans[i];
    if (plan->combine->fn->free_accumulator != NULL) {
      plan->combine->fn->free_accumulator(tr_group_states(group) + plan->state_offset);
    }
  }
}

/* The memory that a state owns, for the account. */
static size_t heap_of(const aggregate_plan *plan, const void *state) {
  return plan->combine->fn->heap_size == NULL ? 0 : plan->combine->fn->heap_size(state);
}

/* Notes that a state may own memory, which must then be freed. */
static void note_heap(tr_group_table *table, const aggregate_plan *plan, const void *state) {
  if (table->owns_heap || plan->combine->fn->free_accumulator == NULL) return;
  table->owns_heap = plan->combine->fn->heap_size == NULL || heap_of(plan, state) > 0;
}

/* Makes a group with empty accumulators. After a failure the table is unchanged. */
static tr_code add_group(tr_group_table *table, const tr_group_row *row, uint32_t *at,
                         tr_error *err) {
  size_t size = sizeof(tr_group) + sizeof(tr_group_extra) + row->info.size + row->exact_size +
                table->states_size;
  chunk *last = table->chunk_count == 0 ? NULL : &table->chunks[table->chunk_count - 1];
  if (last == NULL || last->size - last->used < size || last->used >= CHUNK_SIZE) {
    tr_code code = add_chunk(table, size, err);
    if (code != TR_OK) return code;
    last = &table->chunks[table->chunk_count - 1];
  }
  *at = (uint32_t)(((table->chunk_count - 1) << CHUNK_UNITS_LOG) + last->used / UNIT);
  tr_group *group = (tr_group *)(void *)(last->data + last->used);
  put_key(group, row);
  table->has_unplain |= !tr_group_row_is_plain(row);
  memset(tr_group_states(group), 0, table->states_size);
  for (int i = 0; i < table->shape.aggregate_count; i++) {
    const aggregate_plan *plan = &table->plans[i];
    void *state = tr_group_states(group) + plan->state_offset;
    if (plan->combine->fn->create_accumulator == NULL) continue;
    tr_code code = plan->combine->fn->create_accumulator(plan->combine, state, err);
    if (code != TR_OK) {
      free_states(table, group, i);
      return code;
    }
    note_heap(table, plan, state);
  }
  last->used += size_of(table, group);
  table->count++;
  return TR_OK;
}

/* --- finding ------------------------------------------------------------------------------- */

/* The group of a key; or NULL, and `*slot` is the free slot where it belongs. */
static tr_group *find_group(const tr_group_table *table, const tr_group_row *row,
                            tr_group_slot **slot) {
  uint32_t hash = row->hash;
  tr_group_segment *segment = tr_group_index_segment(&table->index, hash);
  for (uint32_t i = hash & segment->mask;; i = (i + 1) & segment->mask) {
    *slot = &segment->slots[i];
    if ((*slot)->at == 0) return NULL;
    if ((*slot)->hash != hash) continue;
    tr_group *group = group_at(table, (*slot)->at);
    if (tr_group_has_key(group, row->bytes, row->info.size)) return group;
  }
}

const tr_group *tr_group_table_find(const tr_group_table *table, const tr_group_row *row) {
  tr_group_slot *slot;
  return find_group(table, row, &slot);
}

/*
** Makes sure that there is a free slot for a row without a group. `*slot` is the one that
** find_group gave; if slots move, it is found anew.
*/
static tr_code make_room(tr_group_table *table, const tr_group_row *row, tr_group_slot **slot,
                         tr_error *err) {
  if (tr_group_index_has_room(tr_group_index_segment(&table->index, row->hash))) return TR_OK;
  uint64_t before = table->account->used;
  tr_code code = tr_group_index_make_room(&table->index, row->hash, table->account, err);
  table->memory += table->account->used - before;
  find_group(table, row, slot);
  return code;
}

tr_code tr_group_table_find_or_add(tr_group_table *table, const tr_group_row *row, tr_group **group,
                                   tr_error *err) {
  tr_group_slot *slot;
  *group = find_group(table, row, &slot);
  if (*group != NULL) return TR_OK;
  uint32_t at;
  tr_code code = make_room(table, row, &slot, err);
  if (code == TR_OK) code = add_group(table, row, &at, err);
  if (code != TR_OK) return code;
  *slot = (tr_group_slot){row->hash, at};
  tr_group_index_segment(&table->index, row->hash)->count++;
  *group = group_at(table, at);
  return TR_OK;
}

/* The first slot of that hash, or a free one. `slot` is where the search starts. */
static inline const tr_group_slot *seek(const tr_group_table *table, const tr_group_slot *slot,
                                        uint32_t hash) {
  if (slot->at == 0 || slot->hash == hash) return slot;
  const tr_group_segment *segment = tr_group_index_segment(&table->index, hash);
  uint32_t i = hash & segment->mask;
  while (segment->slots[i].at != 0 && segment->slots[i].hash != hash) i = (i + 1) & segment->mask;
  return &segment->slots[i];
}

void tr_group_table_look_up(const tr_group_table *table, const tr_group_row *rows, int count,
                            tr_group **groups) {
  const tr_group_slot *slots[TR_GROUP_ROWS];
  for (int i = 0; i < count; i++) {
    const tr_group_segment *segment = tr_group_index_segment(&table->index, rows[i].hash);
    slots[i] = &segment->slots[rows[i].hash & segment->mask];
    tr_prefetch(slots[i]);
  }
  for (int i = 0; i < count; i++) {
    const tr_group_slot *slot = seek(table, slots[i], rows[i].hash);
    groups[i] = slot->at == 0 ? NULL : group_at(table, slot->at);
    if (groups[i] == NULL) continue;
    const uint8_t *begin = (const uint8_t *)groups[i], *end = begin + table->least_size - 1;
    tr_prefetch(begin);
    if (((uintptr_t)begin ^ (uintptr_t)end) >= TR_LINE) tr_prefetch(end);
  }
}

/* --- adding -------------------------------------------------------------------------------- */

/* Updates the account after a call that may have changed what a state owns. */
static tr_code account_heap(tr_group_table *table, const aggregate_plan *plan, const void *state,
                            size_t before, tr_error *err) {
  size_t after = heap_of(plan, state);
  if (after > before) return take_memory(table, after - before, err);
  table->account->used -= before - after;
  table->memory -= before - after;
  return TR_OK;
}

/* Adds one row to one accumulator: the general way. */
static tr_code add_input(tr_group_table *table, const aggregate_plan *plan, void *state,
                         const tr_value *inputs, tr_error *err) {
  const tr_combine *combine = plan->combine;
  tr_value gathered[TR_COMBINE_MAX_ARGUMENTS];
  const tr_value *arguments = inputs + plan->first_input;
  if (plan->first_input < 0) {
    for (int j = 0; j < combine->argument_count; j++) {
      if (combine->fn->arguments[j].role == TR_ARGUMENT_INPUT) {
        gathered[j] = inputs[plan->inputs[j]];
      }
    }
    arguments = gathered;
  }
  size_t before = table->counts_heap ? heap_of(plan, state) : 0;
  tr_code code = combine->fn->add_input(combine, state, arguments, err);
  note_heap(table, plan, state);
  if (code == TR_OK && table->counts_heap) code = account_heap(table, plan, state, before, err);
  return code;
}

tr_code tr_group_table_add_rows(tr_group_table *table, tr_group *const *groups,
                                const tr_value *inputs, size_t stride, int count, tr_error *err) {
  uint8_t *states[TR_GROUP_ROWS];
  int has_one = table->shape.key_count == 0 && count > 0;
  if (has_one) states[0] = tr_group_states(groups[0]);
  for (int i = has_one; i < count; i++) {
    states[i] = has_one ? states[0] : tr_group_states(groups[i]);
  }
  for (int a = 0; a < table->shape.aggregate_count; a++) {
    const aggregate_plan *plan = &table->plans[a];
    tr_combine_rows rows = {.combine = plan->combine,
                            .states = states,
                            .has_one_state = has_one,
                            .offset = plan->state_offset,
                            .inputs = plan->first_input > 0 ? inputs + plan->first_input : inputs,
                            .stride = stride,
                            .count = count};
    for (int i = 0; i < count; i++) {
      if (plan->add_rows != NULL && (i = plan->add_rows(&rows, i)) == count) break;
      tr_code code =
          add_input(table, plan, states[i] + plan->state_offset, inputs + (size_t)i * stride, err);
      if (code != TR_OK) return code;
    }
  }
  return TR_OK;
}

void tr_group_table_compare_looks(tr_group_table *table, const tr_group *group,
                                  const tr_group_row *row) {
  if (real_fields_of(group) == row->info.real_fields && exact_size_of(group) == row->exact_size) {
    if (row->exact_size == 0) return;
    if (memcmp(exact_key_of(group), row->bytes + row->info.size, row->exact_size) == 0) return;
  }
  table->has_looks = 1;
}

int tr_group_table_has_looks(const tr_group_table *table) {
  return table->has_looks;
}

int tr_group_table_is_plain(const tr_group_table *table) {
  return !table->has_unplain;
}

/* --- merging ------------------------------------------------------------------------------- */

tr_code tr_group_table_merge_group(tr_group_table *table, const tr_group *group, tr_error *err) {
  tr_group_row row = {
      .hash = group->hash, .exact_size = exact_size_of(group), .bytes = tr_group_key(group)};
  row.info.size = tr_group_key_size(group);
  row.info.real_fields = real_fields_of(group);
  tr_group *into;
  tr_code code = tr_group_table_find_or_add(table, &row, &into, err);
  if (code == TR_OK) tr_group_table_compare_looks(table, into, &row);
  for (int i = 0; i < table->shape.aggregate_count && code == TR_OK; i++) {
    const aggregate_plan *plan = &table->plans[i];
    const tr_combine *combine = plan->combine;
    void *state = tr_group_states(into) + plan->state_offset;
    size_t before = table->counts_heap ? heap_of(plan, state) : 0;
    code = combine->fn->merge_accumulators(combine, state,
                                           tr_group_states(group) + plan->state_offset, err);
    note_heap(table, plan, state);
    if (code == TR_OK && table->counts_heap) code = account_heap(table, plan, state, before, err);
  }
  return code;
}

/* --- the rest ------------------------------------------------------------------------------ */

/*
** Where in the row the function's arguments begin, if its inputs lie there one after another in the
** function's order; else -1.
*/
static int first_input_of(const tr_group_aggregate *aggregate) {
  int first = 0, is_found = 0;
  for (int j = 0; j < aggregate->combine.argument_count; j++) {
    if (aggregate->combine.fn->arguments[j].role != TR_ARGUMENT_INPUT) continue;
    if (!is_found) first = aggregate->inputs[j] - j;
    is_found = 1;
    if (aggregate->inputs[j] - j != first) return -1;
  }
  return first < 0 ? -1 : first;
}

tr_code tr_group_table_create(const tr_group_shape *shape, int shared_bits,
                              tr_memory_account *account, tr_group_arena *arena,
                              tr_group_table **created, tr_error *err) {
  size_t size = sizeof(tr_group_table) + (size_t)shape->aggregate_count * sizeof(aggregate_plan);
  *created = NULL;
  tr_code code = tr_memory_account_take(account, size, err);
  if (code != TR_OK) return code;
  tr_group_table *table = tr_malloc(size);
  if (table == NULL) {
    account->used -= size;
    return tr_error_no_memory(err);
  }
  memset(table, 0, size);
  table->shape = *shape;
  table->counts_heap = account->budget->limit != 0;
  table->account = account;
  table->arena = arena;
  for (int i = 0; i < shape->aggregate_count; i++) {
    const tr_group_aggregate *aggregate = &shape->aggregates[i];
    const tr_combine_fn *fn = aggregate->combine.fn;
    int first_input = first_input_of(aggregate);
    table->plans[i] =
        (aggregate_plan){&aggregate->combine, tr_group_state_offset(shape, i), aggregate->inputs,
                         first_input, first_input >= 0 ? fn->add_rows : NULL};
  }
  table->states_size = tr_group_state_offset(shape, shape->aggregate_count);
  table->least_size = sizeof(tr_group) + (shape->key_count > 0 ? 8 : 0) + table->states_size;
  uint64_t before = account->used;
  code = tr_group_index_init(&table->index, shared_bits, account, arena, err);
  table->memory = size + (account->used - before);
  if (code != TR_OK) {
    account->used -= size;
    tr_group_table_free(table);
    return code;
  }
  *created = table;
  return TR_OK;
}

size_t tr_group_table_count(const tr_group_table *table) {
  return table->count;
}

uint64_t tr_group_table_memory(const tr_group_table *table) {
  return table->memory;
}

int tr_group_table_open_chunk(const tr_group_table *table, tr_group_table_cursor *cursor) {
  while (cursor->chunk < table->chunk_count) {
    const chunk *c = &table->chunks[cursor->chunk++];
    cursor->at = c->data + TR_LINE;
    cursor->end = c->data + c->used;
    cursor->states_size = table->states_size;
    if (cursor->at < cursor->end) return 1;
  }
  cursor->at = cursor->end = NULL;
  return 0;
}

tr_value tr_group_key_field(const tr_group *group, int field) {
  if (exact_size_of(group) > 0) return tr_group_key_value(exact_key_of(group), field);
  tr_value value = tr_group_key_value(tr_group_key(group), field);
  if (field < TR_GROUP_KEY_REAL_FIELDS && (real_fields_of(group) >> field & 1)) {
    value = tr_value_real((double)value.integer);
  }
  return value;
}

uint64_t tr_group_identity(const tr_group *group, uint64_t seed) {
  return tr_group_key_hash(tr_group_key(group), tr_group_key_size(group), seed);
}

size_t tr_group_state_offset(const tr_group_shape *shape, int aggregate) {
  size_t offset = 0;
  for (int i = 0; i < aggregate; i++) {
    offset += (shape->aggregates[i].combine.fn->state_size + 7) & ~(size_t)7;
  }
  return offset;
}

void tr_group_table_free(tr_group_table *table) {
  if (table == NULL) return;
  tr_group_table_cursor cursor = {0};
  for (const tr_group *group;
       table->owns_heap && (group = tr_group_table_next(table, &cursor)) != NULL;) {
    free_states(table, group, table->shape.aggregate_count);
  }
  for (size_t i = 0; i < table->chunk_count && table->arena == NULL; i++) {
    tr_free(table->chunks[i].data);
  }
  tr_free(table->chunks);
  tr_group_index_free(&table->index);
  tr_free(table);
}

/*
** Groups lie in chunks that never move, in the order in which they were first seen; the index
** (group_index.h) finds them by the leading 32 bits of their key's hash.
**
** A group is: head, key (canonical form), states of its accumulators, exact form of the key if it
** has one. Everything begins at a multiple of 8, and groups are numbered by where they lie in units of 8
** bytes: chunk number, offset.
**
** Waiting rows. Once the table is larger than the processor's caches, each row of a scan would wait
** for two or three reads from memory. So rows are then gathered by the dozen: the first pass asks for
** their slots, a second one for their groups, and the third finds them there. That takes the
** waiting out of it and leaves the order of rows as it is.
*/
#include "combine/group_table.h"

#include <string.h>

#include "base/memory.h"
#include "combine/group_index.h"

struct tr_group {
  uint32_t hash;
  uint32_t key_size;
  uint32_t exact_size; /* 0: the key gives the values back */
  uint32_t real_fields;
};

/* Chunks are numbered in units of 8 bytes; each has this many numbers, whatever its size. */
#define UNIT 8
#define CHUNK_UNITS_LOG 17
#define CHUNK_SIZE ((size_t)UNIT << CHUNK_UNITS_LOG)
#define FIRST_CHUNK_SIZE 4096
#define MAX_CHUNKS ((size_t)1 << (32 - CHUNK_UNITS_LOG))

typedef struct chunk {
  uint8_t *data;
  size_t size;
  size_t used; /* the first unit is never used: number 0 means "none" */
} chunk;

/* What of an aggregate is needed for each row, in one place. */
typedef struct aggregate_plan {
  const tr_combine *combine;
  size_t state_offset; /* behind the key */
  const int *inputs;
  int first_input; /* the inputs are this one and those behind it; -1: they lie scattered */
} aggregate_plan;

/* A row's key in both forms, with its hash. */
typedef struct row_key {
  uint32_t hash;
  uint32_t exact_size; /* 0: there is no exact form */
  tr_group_key_info info;
  const uint8_t *bytes; /* the exact form lies behind the canonical one */
} row_key;

#define BATCH_ROWS 32
#define BATCH_BYTES ((size_t)32 << 10)
/* Groups of a table that is no larger than this come from a cache anyhow. */
#define BATCH_FROM_MEMORY ((uint64_t)768 << 10)

typedef struct batch {
  int count;
  size_t used;
  row_key rows[BATCH_ROWS];
  uint64_t bytes[BATCH_BYTES / 8];
  tr_value inputs[]; /* input_count of each row */
} batch;

struct tr_group_table {
  tr_group_shape shape;
  tr_memory_account account;
  size_t states_size;
  size_t count;
  tr_group_index index;
  chunk *chunks;
  size_t chunk_count, chunk_capacity;
  size_t batch_size;
  batch *batch;      /* NULL as long as the table is small */
  tr_buffer scratch; /* the key of a row that does not wait */
  aggregate_plan plans[];
};

static void prefetch(const void *address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

/* --- groups in chunks --------------------------------------------------------------------- */

static tr_group *group_at(const tr_group_table *table, uint32_t at) {
  const chunk *c = &table->chunks[at >> CHUNK_UNITS_LOG];
  return (tr_group *)(void *)(c->data + (size_t)(at & ((1u << CHUNK_UNITS_LOG) - 1)) * UNIT);
}

static uint8_t *key_of(const tr_group *group) {
  return (uint8_t *)(uintptr_t)(group + 1);
}

static uint8_t *states_of(const tr_group *group) {
  return key_of(group) + group->key_size;
}

static uint8_t *exact_of(const tr_group_table *table, const tr_group *group) {
  return states_of(group) + table->states_size;
}

static size_t size_of(const tr_group_table *table, const tr_group *group) {
  return sizeof *group + group->key_size + table->states_size + group->exact_size;
}

/* A chunk with room for `size` bytes; it becomes the last one. */
static tr_code add_chunk(tr_group_table *table, size_t size, tr_error *err) {
  if (table->chunk_count == MAX_CHUNKS) {
    return tr_error_set(err, TR_TOO_BIG, "%llu groups: more than 32 GiB",
                        (unsigned long long)table->count);
  }
  if (table->chunk_count == table->chunk_capacity) {
    size_t capacity = table->chunk_capacity == 0 ? 8 : 2 * table->chunk_capacity;
    chunk *chunks = tr_realloc(table->chunks, capacity * sizeof *chunks);
    if (chunks == NULL) return tr_error_no_memory(err);
    table->account.used += (capacity - table->chunk_capacity) * sizeof *chunks;
    table->chunks = chunks;
    table->chunk_capacity = capacity;
  }
  size_t chunk_size = CHUNK_SIZE;
  if (table->chunk_count < 8) chunk_size = (size_t)FIRST_CHUNK_SIZE << table->chunk_count;
  if (chunk_size < UNIT + size) chunk_size = UNIT + size;
  tr_code code = tr_memory_account_take(&table->account, chunk_size, err);
  if (code != TR_OK) return code;
  uint8_t *data = tr_malloc(chunk_size);
  if (data == NULL) {
    table->account.used -= chunk_size;
    return tr_error_no_memory(err);
  }
  table->chunks[table->chunk_count++] = (chunk){data, chunk_size, UNIT};
  return TR_OK;
}

static void free_states(const tr_group_table *table, const tr_group *group, int count) {
  for (int i = 0; i < count; i++) {
    const aggregate_plan *plan = &table->plans[i];
    if (plan->combine->fn->free_accumulator != NULL) {
      plan->combine->fn->free_accumulator(states_of(group) + plan->state_offset);
    }
  }
}

/* A state's own memory, for the account. */
static size_t heap_of(const aggregate_plan *plan, const void *state) {
  return plan->combine->fn->heap_size == NULL ? 0 : plan->combine->fn->heap_size(state);
}

/* Makes a group with empty accumulators. A failure leaves the table as it was. */
static tr_code add_group(tr_group_table *table, const row_key *row, uint32_t *at, tr_error *err) {
  size_t size = sizeof(tr_group) + row->info.size + table->states_size + row->exact_size;
  chunk *last = table->chunk_count == 0 ? NULL : &table->chunks[table->chunk_count - 1];
  if (last == NULL || last->size - last->used < size || last->used >= CHUNK_SIZE) {
    tr_code code = add_chunk(table, size, err);
    if (code != TR_OK) return code;
    last = &table->chunks[table->chunk_count - 1];
  }
  *at = (uint32_t)(((table->chunk_count - 1) << CHUNK_UNITS_LOG) + last->used / UNIT);
  tr_group *group = (tr_group *)(void *)(last->data + last->used);
  *group = (tr_group){row->hash, row->info.size, row->exact_size, row->info.real_fields};
  memcpy(key_of(group), row->bytes, row->info.size);
  memset(states_of(group), 0, table->states_size);
  for (int i = 0; i < table->shape.aggregate_count; i++) {
    const aggregate_plan *plan = &table->plans[i];
    void *state = states_of(group) + plan->state_offset;
    if (plan->combine->fn->create_accumulator == NULL) continue;
    tr_code code = plan->combine->fn->create_accumulator(plan->combine, state, err);
    if (code != TR_OK) {
      free_states(table, group, i);
      return code;
    }
    table->account.used += heap_of(plan, state);
  }
  if (row->exact_size > 0) {
    memcpy(exact_of(table, group), row->bytes + row->info.size, row->exact_size);
  }
  last->used += size;
  table->count++;
  return TR_OK;
}

/* --- finding ------------------------------------------------------------------------------- */

static int is_key(const tr_group *group, const uint8_t *key, uint32_t size) {
  if (group->key_size != size) return 0;
  const uint8_t *stored = key_of(group);
  for (uint32_t i = 0; i < size; i += 8) {
    uint64_t a, b;
    memcpy(&a, stored + i, sizeof a);
    memcpy(&b, key + i, sizeof b);
    if (a != b) return 0;
  }
  return 1;
}

/* The group of a key, or NULL; `*slot` is then the free slot where it would go. */
static tr_group *find_group(const tr_group_table *table, const row_key *row, tr_group_slot **slot) {
  tr_group_segment *segment = tr_group_index_segment(&table->index, row->hash);
  for (uint32_t i = row->hash & segment->mask;; i = (i + 1) & segment->mask) {
    *slot = &segment->slots[i];
    if ((*slot)->at == 0) return NULL;
    if ((*slot)->hash != row->hash) continue;
    tr_group *group = group_at(table, (*slot)->at);
    if (is_key(group, row->bytes, row->info.size)) return group;
  }
}

/* The group of a key, made if it is not there. A failure leaves the table as it was. */
static tr_code find_or_add(tr_group_table *table, const row_key *row, tr_group **group,
                           tr_error *err) {
  tr_group_slot *slot;
  *group = find_group(table, row, &slot);
  if (*group != NULL) return TR_OK;
  tr_code code = tr_group_index_make_room(&table->index, row->hash, &table->account, err);
  if (code != TR_OK) return code;
  uint32_t at;
  code = add_group(table, row, &at, err);
  if (code != TR_OK) return code;
  find_group(table, row, &slot);
  *slot = (tr_group_slot){row->hash, at};
  tr_group_index_segment(&table->index, row->hash)->count++;
  *group = group_at(table, at);
  return TR_OK;
}

/* Both forms of a row's key, written to `out`, which has room for twice its bound. */
static row_key encode_key(const tr_group_table *table, const tr_value *keys, uint8_t *out) {
  const tr_group_shape *shape = &table->shape;
  row_key row = {.bytes = out};
  row.info = tr_group_key_encode(keys, shape->collations, shape->key_count, out);
  row.hash = (uint32_t)(tr_group_key_hash(out, row.info.size, shape->seed) >> 32);
  if (row.info.needs_exact) {
    row.exact_size = tr_group_key_encode_exact(keys, shape->key_count, out + row.info.size);
  }
  return row;
}

/* --- adding -------------------------------------------------------------------------------- */

static tr_code account_heap(tr_group_table *table, const aggregate_plan *plan, const void *state,
                            size_t before, tr_error *err) {
  size_t after = plan->combine->fn->heap_size(state);
  if (after > before) return tr_memory_account_take(&table->account, after - before, err);
  table->account.used -= before - after;
  return TR_OK;
}

static tr_code add_inputs(tr_group_table *table, const tr_group *group, const tr_value *inputs,
                          tr_error *err) {
  uint8_t *states = states_of(group);
  int count = table->shape.aggregate_count;
  for (int i = 0; i < count; i++) {
    const aggregate_plan *plan = &table->plans[i];
    const tr_combine *combine = plan->combine;
    void *state = states + plan->state_offset;
    tr_value gathered[TR_COMBINE_MAX_ARGUMENTS];
    const tr_value *arguments = inputs + plan->first_input;
    if (plan->first_input < 0) {
      for (int j = 0; j < combine->argument_count; j++) {
        if (combine->fn->arguments[j].role == TR_ARGUMENT_INPUT)
          gathered[j] = inputs[plan->inputs[j]];
      }
      arguments = gathered;
    }
    size_t before = heap_of(plan, state);
    tr_code code = combine->fn->add_input(combine, state, arguments, err);
    if (code == TR_OK && combine->fn->heap_size != NULL) {
      code = account_heap(table, plan, state, before, err);
    }
    if (code != TR_OK) return code;
  }
  return TR_OK;
}

static tr_code add_row(tr_group_table *table, const row_key *row, const tr_value *inputs,
                       tr_error *err) {
  tr_group *group;
  tr_code code = find_or_add(table, row, &group, err);
  return code == TR_OK ? add_inputs(table, group, inputs, err) : code;
}

/* Adds a row at once. `bound` is its key's. */
static tr_code add_now(tr_group_table *table, const tr_value *keys, const tr_value *inputs,
                       size_t bound, tr_error *err) {
  if (table->scratch.capacity < 2 * bound) {
    tr_code code = tr_buffer_reserve(&table->scratch, 2 * bound, err);
    if (code != TR_OK) return code;
  }
  row_key row = encode_key(table, keys, table->scratch.data);
  return add_row(table, &row, inputs, err);
}

/* Lets a row wait, with copies of all its bytes, which have room. */
static void wait_with(tr_group_table *table, const tr_value *keys, const tr_value *inputs) {
  batch *b = table->batch;
  uint8_t *out = (uint8_t *)b->bytes + b->used;
  row_key *row = &b->rows[b->count];
  *row = encode_key(table, keys, out);
  out += row->info.size + row->exact_size;
  tr_value *copies = b->inputs + (size_t)b->count * (size_t)table->shape.input_count;
  for (int i = 0; i < table->shape.input_count; i++) {
    copies[i] = inputs[i];
    if (inputs[i].type < TR_TEXT || inputs[i].bytes.size == 0) continue;
    memcpy(out, inputs[i].bytes.data, inputs[i].bytes.size);
    copies[i].bytes.data = out;
    out += inputs[i].bytes.size;
  }
  b->used = ((size_t)(out - (uint8_t *)b->bytes) + 7) & ~(size_t)7;
  b->count++;
  tr_group_segment *segment = tr_group_index_segment(&table->index, row->hash);
  prefetch(&segment->slots[row->hash & segment->mask]);
}

tr_code tr_group_table_flush(tr_group_table *table, tr_error *err) {
  batch *b = table->batch;
  if (b == NULL) return TR_OK;
  for (int i = 0; i < b->count; i++) {
    uint32_t hash = b->rows[i].hash;
    const tr_group_segment *segment = tr_group_index_segment(&table->index, hash);
    uint32_t at = segment->slots[hash & segment->mask].at;
    if (at == 0) continue;
    const uint8_t *group = (const uint8_t *)group_at(table, at);
    prefetch(group);
    prefetch(group + 64);
  }
  tr_code code = TR_OK;
  for (int i = 0; i < b->count && code == TR_OK; i++) {
    code =
        add_row(table, &b->rows[i], b->inputs + (size_t)i * (size_t)table->shape.input_count, err);
  }
  b->count = 0;
  b->used = 0;
  return code;
}

/* From now on rows wait. */
static tr_code start_waiting(tr_group_table *table, tr_error *err) {
  size_t size = sizeof *table->batch +
                (size_t)table->shape.input_count * BATCH_ROWS * sizeof table->batch->inputs[0];
  tr_code code = tr_memory_account_take(&table->account, size, err);
  if (code != TR_OK) return code;
  table->batch = tr_malloc(size);
  if (table->batch == NULL) {
    table->account.used -= size;
    return tr_error_no_memory(err);
  }
  table->batch->count = 0;
  table->batch->used = 0;
  return TR_OK;
}

tr_code tr_group_table_add(tr_group_table *table, const tr_value *keys, const tr_value *inputs,
                           tr_error *err) {
  size_t bound = tr_group_key_bound(keys, table->shape.key_count);
  if (bound > UINT32_MAX / 2) return tr_error_set(err, TR_TOO_BIG, "a group's key is over 2 GiB");
  if (table->batch == NULL) {
    if (table->account.used < BATCH_FROM_MEMORY) return add_now(table, keys, inputs, bound, err);
    tr_code code = start_waiting(table, err);
    if (code != TR_OK) return code;
  }
  size_t need = 2 * bound + 8;
  for (int i = 0; i < table->shape.input_count; i++) {
    if (inputs[i].type >= TR_TEXT) need += inputs[i].bytes.size;
  }
  if (table->batch->count == BATCH_ROWS || need > BATCH_BYTES - table->batch->used) {
    tr_code code = tr_group_table_flush(table, err);
    if (code != TR_OK) return code;
  }
  if (need > BATCH_BYTES) return add_now(table, keys, inputs, bound, err);
  wait_with(table, keys, inputs);
  return TR_OK;
}

tr_code tr_group_table_ensure_one(tr_group_table *table, tr_error *err) {
  uint64_t none[1];
  row_key row = encode_key(table, NULL, (uint8_t *)none);
  tr_group *group;
  return find_or_add(table, &row, &group, err);
}

/* --- merging ------------------------------------------------------------------------------- */

static tr_code merge_group(tr_group_table *table, const tr_group_table *from, const tr_group *group,
                           tr_error *err) {
  tr_buffer *key = &table->scratch;
  size_t size = (size_t)group->key_size + group->exact_size;
  key->size = 0;
  tr_code code = tr_buffer_reserve(key, size + 8, err);
  if (code != TR_OK) return code;
  memcpy(key->data, key_of(group), group->key_size);
  if (group->exact_size > 0) {
    memcpy(key->data + group->key_size, exact_of(from, group), group->exact_size);
  }
  row_key row = {.hash = group->hash, .exact_size = group->exact_size, .bytes = key->data};
  row.info = (tr_group_key_info){.size = group->key_size, .real_fields = group->real_fields};
  tr_group *into;
  code = find_or_add(table, &row, &into, err);
  for (int i = 0; i < table->shape.aggregate_count && code == TR_OK; i++) {
    const aggregate_plan *plan = &table->plans[i];
    const tr_combine *combine = plan->combine;
    void *state = states_of(into) + plan->state_offset;
    size_t before = heap_of(plan, state);
    code = combine->fn->merge_accumulators(combine, state, tr_group_state(from, group, i), err);
    if (code == TR_OK && combine->fn->heap_size != NULL) {
      code = account_heap(table, plan, state, before, err);
    }
  }
  return code;
}

tr_code tr_group_table_merge(tr_group_table *table, const tr_group_table *from, unsigned part,
                             unsigned parts, tr_error *err) {
  uint64_t width = (UINT64_C(1) << 32) / parts;
  uint64_t first = part * width, end = first + width;
  for (uint64_t hash = first; hash < end;) {
    const tr_group_segment *segment = tr_group_index_segment(&from->index, (uint32_t)hash);
    for (uint32_t i = 0; i <= segment->mask; i++) {
      const tr_group_slot *slot = &segment->slots[i];
      if (slot->at == 0 || slot->hash < first || slot->hash >= end) continue;
      tr_code code = merge_group(table, from, group_at(from, slot->at), err);
      if (code != TR_OK) return code;
    }
    uint64_t span = (UINT64_C(1) << 32) >> segment->depth;
    hash = (hash / span + 1) * span;
  }
  return TR_OK;
}

/* --- the rest ------------------------------------------------------------------------------ */

/* Whether the function's inputs lie one behind the other in the row, as it wants them. */
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

tr_code tr_group_table_create(const tr_group_shape *shape, tr_group_table **created,
                              tr_error *err) {
  size_t size = sizeof(tr_group_table) + (size_t)shape->aggregate_count * sizeof(aggregate_plan);
  tr_group_table *table = tr_malloc(size);
  *created = NULL;
  if (table == NULL) return tr_error_no_memory(err);
  memset(table, 0, size);
  table->shape = *shape;
  table->account = (tr_memory_account){.used = size, .limit = shape->memory_limit};
  for (int i = 0; i < shape->aggregate_count; i++) {
    const tr_group_aggregate *aggregate = &shape->aggregates[i];
    table->plans[i] = (aggregate_plan){&aggregate->combine, table->states_size, aggregate->inputs,
                                       first_input_of(aggregate)};
    table->states_size += (aggregate->combine.fn->state_size + 7) & ~(size_t)7;
  }
  tr_code code = tr_group_index_init(&table->index, &table->account, err);
  if (code != TR_OK) {
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
  return table->account.used + table->scratch.capacity;
}

const tr_group *tr_group_table_next(const tr_group_table *table, tr_group_cursor *cursor) {
  for (; cursor->chunk < table->chunk_count; cursor->chunk++, cursor->offset = 0) {
    const chunk *c = &table->chunks[cursor->chunk];
    if (cursor->offset == 0) cursor->offset = UNIT;
    if (cursor->offset >= c->used) continue;
    const tr_group *group = (const tr_group *)(const void *)(c->data + cursor->offset);
    cursor->offset += size_of(table, group);
    return group;
  }
  return NULL;
}

tr_value tr_group_key_field(const tr_group_table *table, const tr_group *group, int field) {
  if (group->exact_size > 0) return tr_group_key_value(exact_of(table, group), field);
  tr_value value = tr_group_key_value(key_of(group), field);
  if (field < TR_GROUP_KEY_REAL_FIELDS && (group->real_fields >> field & 1)) {
    value = tr_value_real((double)value.integer);
  }
  return value;
}

const void *tr_group_state(const tr_group_table *table, const tr_group *group, int aggregate) {
  return states_of(group) + table->plans[aggregate].state_offset;
}

void tr_group_table_free(tr_group_table *table) {
  if (table == NULL) return;
  tr_group_cursor cursor = {0};
  for (const tr_group *group; (group = tr_group_table_next(table, &cursor)) != NULL;) {
    free_states(table, group, table->shape.aggregate_count);
  }
  for (size_t i = 0; i < table->chunk_count; i++) tr_free(table->chunks[i].data);
  tr_free(table->chunks);
  tr_group_index_free(&table->index);
  tr_free(table->batch);
  tr_buffer_free(&table->scratch);
  tr_free(table);
}

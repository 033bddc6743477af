/*
** approx_top_count, from a frequent-items sketch.
*/
#include "combine/approx_top_count.h"

#include "base/argument.h"
#include "base/json.h"
#include "base/little_endian.h"
#include "base/memory.h"
#include "combine/functions.h"

#define HEAD_SIZE 8

/* The lg_max of the sketch of a binding. */
static int lg_max_of(const tr_combine *combine) {
  int lg_max = TR_TOP_COUNT_LEAST_LG;
  while ((int64_t)1 << lg_max < 8 * combine->parameters[1].integer) lg_max++;
  return lg_max;
}

static tr_code check_parameters(const tr_combine *combine, tr_error *err) {
  return tr_combine_check_integer(combine, 1, 1, TR_TOP_COUNT_MAX, err);
}

static tr_code create_accumulator(const tr_combine *combine, void *state, tr_error *err) {
  (void)err;
  *(tr_frequent_items *)state =
      tr_frequent_empty(lg_max_of(combine), (int)combine->parameters[1].integer);
  return TR_OK;
}

static tr_code add_input(const tr_combine *combine, void *state, const tr_value *inputs,
                         tr_error *err) {
  (void)combine;
  if (tr_frequent_add_short(state, &inputs[0]) || inputs[0].type == TR_NULL) return TR_OK;
  return tr_frequent_add(state, &inputs[0], 1, err);
}

static int add_rows(const tr_combine_rows *rows, int first) {
  for (int i = first; i < rows->count; i++) {
    const tr_value *input = tr_combine_rows_input(rows, i);
    if (input->type == TR_NULL) continue;
    if (!tr_frequent_add_short(tr_combine_rows_state(rows, i), input)) return i;
  }
  return rows->count;
}

static tr_code merge_accumulators(const tr_combine *combine, void *state, const void *other,
                                  tr_error *err) {
  (void)combine;
  return tr_frequent_merge(state, other, err);
}

static tr_code append_entry(const tr_frequent_items *items, const tr_frequent_entry *entry,
                            tr_buffer *json, tr_error *err) {
  tr_value value = tr_frequent_value(entry);
  if (value.type == TR_BLOB) {
    return tr_argument_error(err, tr_combine_approx_top_count.name, "x", &value,
                             "JSON cannot hold BLOB values");
  }
  tr_code code = tr_buffer_append_text(json, "{\"value\":", err);
  if (code == TR_OK) code = tr_json_append_value(json, &value, err);
  if (code != TR_OK) return code;
  return tr_buffer_printf(json, err, ",\"count\":%lld,\"error\":%lld}",
                          (long long)(entry->count + items->offset), (long long)items->offset);
}

static tr_code extract_output(const tr_combine *combine, const void *state,
                              tr_combine_output *output, tr_error *err) {
  const tr_frequent_items *items = state;
  const tr_frequent_entry **entries;
  tr_buffer *json = &output->storage;
  tr_code code = tr_frequent_sorted(items, &entries, err);
  if (code != TR_OK) return code;
  code = tr_buffer_append_byte(json, '[', err);
  for (uint32_t i = 0; code == TR_OK && i < items->active && i < combine->parameters[1].integer;
       i++) {
    if (i > 0) code = tr_buffer_append_byte(json, ',', err);
    if (code == TR_OK) code = append_entry(items, entries[i], json, err);
  }
  if (code == TR_OK) code = tr_buffer_append_byte(json, ']', err);
  tr_free(entries);
  output->value = tr_value_text(tr_buffer_bytes(json));
  output->is_json = 1;
  return code;
}

static tr_code write_class(const tr_frequent_items *items, tr_frequent_class of, tr_buffer *bytes,
                           tr_error *err) {
  return items->classes >> of & 1 ? tr_frequent_write(items, of, bytes, err) : TR_OK;
}

static tr_code write_accumulator(const tr_combine *combine, const void *state, tr_buffer *bytes,
                                 tr_error *err) {
  (void)combine;
  uint8_t head[HEAD_SIZE] = {0};
  size_t start = bytes->size;
  tr_code code = tr_buffer_append(bytes, (tr_bytes){head, sizeof head}, err);
  for (int of = 0; code == TR_OK && of < TR_FREQUENT_CLASSES; of++) {
    size_t before = bytes->size;
    code = write_class(state, (tr_frequent_class)of, bytes, err);
    if (of < TR_FREQUENT_OTHERS) {
      tr_store_u32(bytes->data + start + 4 * of, (uint32_t)(bytes->size - before));
    }
  }
  if (code != TR_OK) bytes->size = start;
  return code;
}

/*
** Adds an image, if there is one. All images are parts of one sketch, so they have the same lg_max,
** weight and offset.
*/
static tr_code read_class(tr_frequent_items *items, tr_frequent_class of, tr_bytes image,
                          tr_error *err) {
  if (image.size == 0) return TR_OK;
  tr_frequent_items part;
  tr_code code = tr_frequent_read(&part, of, image, err);
  if (code != TR_OK) return code;
  int is_first = items->classes == 0;
  if (part.lg_max != items->lg_max ||
      (!is_first && (part.weight != items->weight || part.offset != items->offset))) {
    code = tr_error_set(err, TR_CORRUPT, "top count: its sketches do not belong together");
  } else {
    int64_t weight = part.weight, offset = part.offset;
    uint32_t active = items->active + part.active;
    items->weight = items->offset = part.weight = part.offset = 0;
    code = tr_frequent_merge(items, &part, err);
    items->weight = weight;
    items->offset = offset;
    if (code == TR_OK && items->active != active) {
      code = tr_error_set(err, TR_CORRUPT, "top count: more values than fit");
    }
  }
  tr_frequent_free(&part);
  return code;
}

/* The counts and the offset of a sketch cannot sum to more than its weight. */
static tr_code check_sum(const tr_frequent_items *items, tr_error *err) {
  int64_t rest = items->weight - items->offset;
  for (uint32_t i = 0; i < items->active; i++) {
    if (items->entries[i].count > rest) {
      return tr_error_set(err, TR_CORRUPT, "top count: more values than its weight");
    }
    rest -= items->entries[i].count;
  }
  return TR_OK;
}

static tr_code read_accumulator(const tr_combine *combine, void *state, tr_bytes bytes,
                                tr_error *err) {
  tr_frequent_items *items = state;
  create_accumulator(combine, state, err);
  if (bytes.size < HEAD_SIZE) {
    return tr_error_set(err, TR_CORRUPT, "top count: %zu bytes, at least %d", bytes.size,
                        HEAD_SIZE);
  }
  uint64_t rest = bytes.size - HEAD_SIZE, sizes[TR_FREQUENT_CLASSES];
  sizes[TR_FREQUENT_LONGS] = tr_load_u32(bytes.data);
  sizes[TR_FREQUENT_STRINGS] = tr_load_u32(bytes.data + 4);
  if (sizes[TR_FREQUENT_LONGS] + sizes[TR_FREQUENT_STRINGS] > rest) {
    return tr_error_set(err, TR_CORRUPT, "top count: cut short in its sketches");
  }
  sizes[TR_FREQUENT_OTHERS] = rest - sizes[TR_FREQUENT_LONGS] - sizes[TR_FREQUENT_STRINGS];
  const uint8_t *at = bytes.data + HEAD_SIZE;
  tr_code code = TR_OK;
  for (int of = 0; code == TR_OK && of < TR_FREQUENT_CLASSES; of++) {
    code = read_class(items, (tr_frequent_class)of, (tr_bytes){at, (size_t)sizes[of]}, err);
    at += sizes[of];
  }
  if (code == TR_OK) code = check_sum(items, err);
  if (code != TR_OK) tr_frequent_free(items);
  return code;
}

static size_t heap_size(const void *state) {
  return tr_frequent_heap_size(state);
}

static void free_accumulator(void *state) {
  tr_frequent_free(state);
}

const tr_combine_fn tr_combine_approx_top_count = {
    .name = "approx_top_count",
    .tag = 23,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}, {"n", TR_ARGUMENT_SHAPE, 0}},
    .state_size = sizeof(tr_frequent_items),
    .check_parameters = check_parameters,
    .create_accumulator = create_accumulator,
    .add_input = add_input,
    .add_rows = add_rows,
    .merge_accumulators = merge_accumulators,
    .extract_output = extract_output,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
    .heap_size = heap_size,
    .free_accumulator = free_accumulator,
};

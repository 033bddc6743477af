/*
** Takes rows in: makes a key and inputs from the arguments of the aggregate function, and adds them
** to the groups.
*/
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "group_by_fields_take.h"
#include "range/byte_key.h"

/* Reads a value. Its bytes are borrowed from SQLite. */
static tr_code read_value(sqlite3_value *value, tr_value *read, tr_error *err) {
  *read = tr_value_of_sqlite(value);
  int lacks_bytes = read->type == TR_TEXT || (read->type == TR_BLOB && read->bytes.size > 0);
  return lacks_bytes && read->bytes.data == NULL ? tr_error_no_memory(err) : TR_OK;
}

static tr_code read_row_key(const tr_group_intake *run, tr_row_input *input,
                            sqlite3_value **arguments, tr_error *err) {
  tr_code code = TR_OK;
  input->bytes.size = 0;
  if (run->result->plan->source.key.form == TR_KEY_ROWID) {
    uint8_t key[TR_ROWID_KEY_SIZE];
    tr_byte_key_of_rowid(sqlite3_value_int64(arguments[0]), key);
    return tr_buffer_append(&input->bytes, (tr_bytes){key, sizeof key}, err);
  }
  for (int i = 0; i < input->argument_count && code == TR_OK; i++) {
    tr_value value;
    code = read_value(arguments[i], &value, err);
    if (code == TR_OK) code = tr_byte_key_append(&input->bytes, &value, err);
  }
  return code;
}

static tr_code read_row_json(const tr_group_intake *run, tr_row_input *input,
                             sqlite3_value **arguments, tr_error *err) {
  tr_buffer *json = &input->bytes;
  json->size = 0;
  tr_code code = tr_buffer_append_byte(json, '{', err);
  for (int i = 0; i < input->argument_count && code == TR_OK; i++) {
    tr_value value;
    if (i > 0) code = tr_buffer_append_byte(json, ',', err);
    if (code == TR_OK) code = tr_buffer_append(json, tr_buffer_bytes(&run->names[i]), err);
    if (code == TR_OK) code = read_value(arguments[i], &value, err);
    if (code == TR_OK) code = tr_json_append_value(json, &value, err);
  }
  return code == TR_OK ? tr_buffer_append_byte(json, '}', err) : code;
}

/*
** Makes an input that is the key of the row, or the row as JSON. Its bytes are copied into the
** batch.
*/
static tr_code make_input(tr_group_intake *run, tr_row_input *input, sqlite3_value **arguments,
                          tr_value *value) {
  int is_key = input->kind == TR_GROUP_ROW_KEY;
  arguments += input->first_argument;
  tr_code code = is_key ? read_row_key(run, input, arguments, &run->err)
                        : read_row_json(run, input, arguments, &run->err);
  if (code != TR_OK) return code;
  tr_bytes bytes = tr_buffer_bytes(&input->bytes);
  *value = is_key ? tr_value_blob(bytes) : tr_value_text(bytes);
  return tr_row_batch_keep_bytes(&run->rows, value, &run->err);
}

/* Reads text or a BLOB as the number that sum() would take. */
static tr_code take_number(tr_group_intake *run, sqlite3_value *from, tr_value *value) {
  *value = tr_number_of_sqlite(from);
  return value->type == TR_TEXT ? tr_error_no_memory(&run->err) : TR_OK;
}

static inline tr_code take_bytes(tr_group_intake *run, tr_type type, sqlite3_value *from,
                                 tr_value *value) {
  value->type = type;
  value->bytes.data = type == TR_TEXT ? sqlite3_value_text(from) : sqlite3_value_blob(from);
  value->bytes.size = (size_t)sqlite3_value_bytes(from);
  if (value->bytes.data == NULL && (type == TR_TEXT || value->bytes.size > 0)) {
    return tr_error_no_memory(&run->err);
  }
  return tr_row_batch_keep_bytes(&run->rows, value, &run->err);
}

tr_code tr_group_intake_take_other(tr_group_intake *run, const tr_row_value *plan,
                                   sqlite3_value **arguments, tr_value *value) {
  if (plan->made != NULL) return make_input(run, plan->made, arguments, value);
  sqlite3_value *from = arguments[plan->argument];
  if (plan->is_number) return take_number(run, from, value);
  return take_bytes(run, sqlite3_value_type(from) == SQLITE_TEXT ? TR_TEXT : TR_BLOB, from, value);
}

tr_code tr_group_intake_commit(tr_group_intake *run) {
  const tr_group_shape *shape = &run->result->shape;
  const tr_value *rows = tr_row_batch_rows(&run->rows);
  tr_code code = tr_grouping_add_rows(run->grouping, rows, rows + shape->key_count,
                                      (size_t)run->rows.width, run->rows.count, &run->err);
  tr_row_batch_clear(&run->rows);
  return code;
}

void tr_group_intake_drop(tr_group_intake *run) {
  tr_row_batch_clear(&run->rows);
}

int tr_group_intake_rows(const tr_group_intake *run) {
  return run->rows.count;
}

tr_code tr_group_intake_make_batch(tr_group_intake *run, tr_error *err) {
  const tr_group_shape *shape = &run->result->shape;
  int width = shape->key_count + shape->input_count;
  run->row_values = tr_group_zeros((size_t)width, sizeof *run->row_values);
  if (run->row_values == NULL) return tr_error_no_memory(err);
  for (int i = 0; i < shape->key_count; i++) run->row_values[i].argument = i;
  for (int i = 0; i < shape->input_count; i++) {
    tr_row_input *input = &run->inputs[i];
    int is_made = input->kind == TR_GROUP_ROW_KEY || input->kind == TR_GROUP_ROW;
    run->row_values[shape->key_count + i] = (tr_row_value){
        input->first_argument, input->kind == TR_GROUP_NUMBER, is_made ? input : NULL};
  }
  return tr_row_batch_init(&run->rows, width, TR_GROUP_ROWS, err);
}

/* --- copies, for other threads --------------------------------------------------------------- */

tr_code tr_group_intake_create_parts(const tr_group_intake *intake, int copies,
                                     tr_group_parts **parts, tr_error *err) {
  return tr_group_parts_create(&intake->result->shape, copies, parts, err);
}

tr_code tr_group_intake_copy(const tr_group_intake *from, tr_group_parts *parts,
                             tr_group_intake **created, tr_error *err) {
  const tr_group_shape *shape = &from->result->shape;
  size_t inputs = (size_t)shape->input_count;
  *created = NULL;
  tr_group_intake *copy = tr_malloc(sizeof *copy);
  if (copy == NULL) return tr_error_no_memory(err);
  *copy = *from;
  copy->grouping = NULL;
  copy->inputs = tr_group_zeros(inputs, sizeof *copy->inputs);
  tr_code code = copy->inputs == NULL ? tr_error_no_memory(err) : TR_OK;
  if (code == TR_OK && inputs > 0)
    memcpy(copy->inputs, from->inputs, inputs * sizeof *copy->inputs);
  if (code == TR_OK) code = tr_group_intake_make_batch(copy, err);
  if (code == TR_OK) code = tr_grouping_create_shared(parts, &copy->grouping, err);
  if (code != TR_OK) {
    tr_group_intake_free_copy(copy);
    return code;
  }
  *created = copy;
  return TR_OK;
}

void tr_group_intake_free_copy(tr_group_intake *copy) {
  if (copy == NULL) return;
  for (int i = 0; copy->inputs != NULL && i < copy->result->shape.input_count; i++) {
    tr_buffer_free(&copy->inputs[i].bytes);
  }
  tr_free(copy->inputs);
  tr_free(copy->row_values);
  tr_row_batch_free(&copy->rows);
  tr_grouping_free(copy->grouping);
  tr_free(copy);
}

const tr_error *tr_group_intake_error(const tr_group_intake *intake) {
  return &intake->err;
}

tr_grouping *tr_group_intake_grouping(const tr_group_intake *intake) {
  return intake->grouping;
}

tr_grouping *tr_group_intake_take_grouping(tr_group_intake *intake) {
  tr_grouping *grouping = intake->grouping;
  intake->grouping = NULL;
  return grouping;
}

int tr_group_intake_has_order(const tr_group_intake *intake) {
  const tr_group_result *result = intake->result;
  for (int i = 0; i < result->shape.aggregate_count; i++) {
    const tr_combine_fn *fn = result->aggregates[i].combine.fn;
    if (fn == &tr_group_rows_fn || fn == &tr_group_first_fn) return 1;
  }
  return 0;
}

int tr_group_intake_knows_looks(const tr_group_intake *intake) {
  for (int i = 0; i < intake->result->shape.key_count; i++) {
    if (intake->result->aggregate_of_key[i] >= 0) return 1;
  }
  return 0;
}

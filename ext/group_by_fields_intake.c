/*
** Taking rows in: the arguments of the aggregate function become a key and inputs, and go to the groups.
*/
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "group_by_fields_inside.h"
#include "range/byte_key.h"

/*
** Fills `*read` member by member: copying a whole tr_value that was just written in parts makes the
** processor wait, and this is done for every row.
*/
static inline tr_code read_value(sqlite3_value *value, tr_value *read, tr_error *err) {
  switch (sqlite3_value_type(value)) {
  case SQLITE_INTEGER:
    read->type = TR_INTEGER;
    read->integer = sqlite3_value_int64(value);
    return TR_OK;
  case SQLITE_FLOAT:
    read->type = TR_REAL;
    read->real = sqlite3_value_double(value);
    return TR_OK;
  case SQLITE_NULL: read->type = TR_NULL; return TR_OK;
  default:
    *read = tr_value_of_sqlite(value);
    if (read->bytes.data != NULL || (read->type == TR_BLOB && read->bytes.size == 0)) return TR_OK;
    return tr_error_no_memory(err);
  }
}

/* The same as a number, if it is text or a BLOB: what sum() makes of it. */
static tr_code read_number(sqlite3_value *value, tr_value *read, tr_error *err) {
  int type = sqlite3_value_type(value);
  if (type == SQLITE_TEXT || type == SQLITE_BLOB) {
    *read = tr_number_of_sqlite(value);
    return read->type == TR_TEXT ? tr_error_no_memory(err) : TR_OK;
  }
  return read_value(value, read, err);
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

static tr_code read_input(tr_group_intake *run, tr_row_input *input, sqlite3_value **arguments,
                          tr_value *value, tr_error *err) {
  tr_code code;
  switch (input->kind) {
  case TR_GROUP_ROW_KEY:
    code = read_row_key(run, input, arguments, err);
    *value = tr_value_blob(tr_buffer_bytes(&input->bytes));
    return code;
  case TR_GROUP_ROW:
    code = read_row_json(run, input, arguments, err);
    *value = tr_value_text(tr_buffer_bytes(&input->bytes));
    return code;
  case TR_GROUP_NUMBER: return read_number(arguments[0], value, err);
  default: return read_value(arguments[0], value, err);
  }
}

tr_code tr_group_intake_add(tr_group_intake *run, sqlite3_value **arguments) {
  const tr_group_shape *shape = &run->result->shape;
  tr_value *keys = run->row, *inputs = run->row + shape->key_count;
  tr_code code = TR_OK;
  for (int i = 0; i < shape->key_count && code == TR_OK; i++) {
    code = read_value(arguments[i], &keys[i], &run->err);
  }
  for (int i = 0; i < shape->input_count && code == TR_OK; i++) {
    tr_row_input *input = &run->inputs[i];
    if (input->kind == TR_GROUP_VALUE) {
      code = read_value(arguments[input->first_argument], &inputs[i], &run->err);
      continue;
    }
    code = read_input(run, input, arguments + input->first_argument, &inputs[i], &run->err);
  }
  return code == TR_OK ? tr_grouping_add(run->grouping, keys, inputs, &run->err) : code;
}

/* --- copies, for other threads --------------------------------------------------------------- */

tr_code tr_group_intake_create_parts(const tr_group_intake *intake, tr_group_parts **parts,
                                     tr_error *err) {
  return tr_group_parts_create(&intake->result->shape, parts, err);
}

tr_code tr_group_intake_copy(const tr_group_intake *from, tr_group_parts *parts,
                             tr_group_intake **created, tr_error *err) {
  const tr_group_shape *shape = &from->result->shape;
  size_t inputs = (size_t)shape->input_count, values = (size_t)shape->key_count + inputs;
  *created = NULL;
  tr_group_intake *copy = tr_malloc(sizeof *copy);
  if (copy == NULL) return tr_error_no_memory(err);
  *copy = *from;
  copy->grouping = NULL;
  copy->inputs = tr_group_zeros(inputs, sizeof *copy->inputs);
  copy->row = tr_group_zeros(values, sizeof *copy->row);
  tr_code code = TR_OK;
  if (copy->inputs == NULL || copy->row == NULL) code = tr_error_no_memory(err);
  if (code == TR_OK && inputs > 0)
    memcpy(copy->inputs, from->inputs, inputs * sizeof *copy->inputs);
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
  tr_free(copy->row);
  tr_grouping_free(copy->grouping);
  tr_free(copy);
}

const tr_error *tr_group_intake_error(const tr_group_intake *intake) {
  return &intake->err;
}

int tr_group_intake_argument_count(const tr_group_intake *intake) {
  return intake->argument_count;
}

tr_grouping *tr_group_intake_grouping(const tr_group_intake *intake) {
  return intake->grouping;
}

tr_grouping *tr_group_intake_take_grouping(tr_group_intake *intake) {
  tr_grouping *grouping = intake->grouping;
  intake->grouping = NULL;
  return grouping;
}

void tr_group_intake_append_arguments(const tr_group_intake *intake, sqlite3_str *sql) {
  for (int i = 0; i < intake->argument_count; i++) {
    sqlite3_str_appendf(sql, "%s%s", i == 0 ? "" : ", ", intake->arguments[i]);
  }
}

tr_code tr_group_intake_prepare(const tr_group_intake *intake, sqlite3 *db, const char *schema,
                                const tr_group_request *request, sqlite3_stmt **stmt,
                                tr_error *err) {
  tr_group_plan plan = *intake->result->plan;
  char *name = sqlite3_mprintf("%s", schema);
  if (name == NULL) return tr_error_no_memory(err);
  plan.source.schema = name;
  tr_code code =
      tr_group_prepare(db, &plan, request, intake->arguments, intake->argument_count, stmt, err);
  sqlite3_free(name);
  return code;
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

/*
** Decides what a run needs: the arguments of the aggregate function, the inputs that are made from
** them, and the aggregates that use these.
**
** The arguments are the key fields, then every expression that some aggregate needs. An expression
** is an argument once, however many aggregates use it. A row's inputs are made from the arguments:
** the value itself, the value as a number, the key of the row, or the row as JSON.
*/
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "group_by_fields_inside.h"

void *tr_group_zeros(size_t count, size_t size) {
  void *memory = tr_malloc((count + 1) * size);
  return memory == NULL ? NULL : memset(memory, 0, (count + 1) * size);
}

/*
** The number of the argument with that text, which is added if it is new. Takes ownership of `sql`.
** -1: out of memory. Reading a number changes the argument, so an argument that is read as a number
** is not shared with one that is not.
*/
static int argument_of(tr_group_intake *run, char *sql, tr_group_input_kind kind) {
  if (sql == NULL) return -1;
  int from = run->result->shape.key_count;
  for (int i = from; i < run->argument_count; i++) {
    if (run->argument_kinds[i] == kind && strcmp(run->arguments[i], sql) == 0) {
      sqlite3_free(sql);
      return i;
    }
  }
  run->arguments[run->argument_count] = sql;
  run->argument_kinds[run->argument_count] = kind;
  return run->argument_count++;
}

/*
** Appends an argument that is a part of the row's key or its JSON. These follow one another and are
** never shared.
*/
static int append_argument(tr_group_intake *run, const char *column) {
  char *sql = tr_group_identifier(column);
  if (sql == NULL) return -1;
  run->arguments[run->argument_count] = sql;
  return run->argument_count++;
}

static tr_code add_row_key_arguments(tr_group_intake *run, tr_row_input *input) {
  const tr_source_table *source = &run->result->plan->source;
  input->first_argument = run->argument_count;
  if (source->key.form == TR_KEY_ROWID) {
    if (append_argument(run, source->rowid_name) < 0) return TR_NO_MEMORY;
  } else {
    for (int i = 0; i < source->key.column_count; i++) {
      const char *name = source->columns[source->key.columns[i]].name;
      if (append_argument(run, name) < 0) return TR_NO_MEMORY;
    }
  }
  input->argument_count = run->argument_count - input->first_argument;
  return TR_OK;
}

static tr_code add_row_arguments(tr_group_intake *run, tr_row_input *input, tr_error *err) {
  const tr_source_table *source = &run->result->plan->source;
  size_t size = (size_t)source->column_count * sizeof *run->names;
  run->names = tr_malloc(size);
  if (run->names == NULL) return TR_NO_MEMORY;
  memset(run->names, 0, size);
  input->first_argument = run->argument_count;
  for (int i = 0; i < source->column_count; i++) {
    const tr_source_column *column = &source->columns[i];
    if (column->is_hidden) continue;
    tr_buffer *name = &run->names[input->argument_count++];
    tr_code code = tr_json_append_text(name, tr_bytes_of_text(column->name), err);
    if (code == TR_OK) code = tr_buffer_append_byte(name, ':', err);
    if (code != TR_OK) return code;
    if (append_argument(run, column->name) < 0) return TR_NO_MEMORY;
  }
  return TR_OK;
}

/*
** The number of the row's input, which is added if it is new. With a filter it is NULL for rows
** that do not pass.
*/
static tr_code input_of(tr_group_intake *run, const tr_group_input *wanted, const char *filter,
                        int *number, tr_error *err) {
  tr_group_shape *shape = &run->result->shape;
  tr_row_input input = {.kind = wanted->kind, .argument_count = 1};
  if (wanted->sql != NULL) {
    char *sql = filter == NULL ? sqlite3_mprintf("%s", wanted->sql)
                               : sqlite3_mprintf("CASE WHEN %s THEN %s END", filter, wanted->sql);
    input.first_argument = argument_of(run, sql, wanted->kind);
    if (input.first_argument < 0) return tr_error_no_memory(err);
    for (*number = 0; *number < shape->input_count; ++*number) {
      const tr_row_input *other = &run->inputs[*number];
      if (other->kind == input.kind && other->first_argument == input.first_argument) return TR_OK;
    }
  }
  for (*number = 0; wanted->kind == TR_GROUP_ROW_KEY && *number < shape->input_count; ++*number) {
    if (run->inputs[*number].kind == TR_GROUP_ROW_KEY) return TR_OK;
  }
  tr_code code = TR_OK;
  if (wanted->kind == TR_GROUP_ROW_KEY) code = add_row_key_arguments(run, &input);
  if (wanted->kind == TR_GROUP_ROW) {
    input.argument_count = 0;
    code = add_row_arguments(run, &input, err);
  }
  if (code != TR_OK) return code == TR_NO_MEMORY ? tr_error_no_memory(err) : code;
  *number = shape->input_count;
  run->inputs[shape->input_count++] = input;
  return TR_OK;
}

static tr_code add_aggregate(tr_group_intake *run, const tr_combine *combine,
                             const tr_group_input *inputs, const char *filter, tr_error *err) {
  tr_group_shape *shape = &run->result->shape;
  tr_group_aggregate *aggregate = &run->result->aggregates[shape->aggregate_count];
  *aggregate = (tr_group_aggregate){.combine = *combine};
  for (int i = 0; i < combine->argument_count; i++) {
    if (inputs[i].kind == TR_GROUP_CONSTANT) continue;
    tr_code code = input_of(run, &inputs[i], filter, &aggregate->inputs[i], err);
    if (code != TR_OK) return code;
  }
  shape->aggregate_count++;
  return TR_OK;
}

static int is_wanted(const tr_group_request *request, int output) {
  return (int)(request->outputs >> (output < 63 ? output : 63) & 1);
}

tr_code tr_group_intake_init(tr_group_intake *run, const tr_group_plan *plan,
                             tr_group_result *result) {
  size_t keys = (size_t)plan->key_count, outputs = (size_t)plan->output_count;
  size_t inputs = 2 * keys + outputs * TR_COMBINE_MAX_ARGUMENTS;
  size_t arguments = keys + inputs + (outputs + 1) * (size_t)(plan->source.column_count + 1);
  result->plan = plan;
  result->collations = tr_group_zeros(keys, sizeof *result->collations);
  result->aggregates = tr_group_zeros(keys + outputs, sizeof *result->aggregates);
  result->outputs = tr_group_zeros(outputs, sizeof *result->outputs);
  result->aggregate_of_key = tr_group_zeros(keys, sizeof *result->aggregate_of_key);
  result->key_types = tr_group_zeros(keys, 1);
  run->result = result;
  run->arguments = tr_group_zeros(arguments, sizeof *run->arguments);
  run->argument_kinds = tr_group_zeros(arguments, sizeof *run->argument_kinds);
  run->inputs = tr_group_zeros(inputs, sizeof *run->inputs);
  int is_complete = result->collations != NULL && result->aggregates != NULL &&
                    result->outputs != NULL && result->key_types != NULL &&
                    result->aggregate_of_key != NULL && run->arguments != NULL &&
                    run->argument_kinds != NULL && run->inputs != NULL;
  return is_complete ? TR_OK : TR_NO_MEMORY;
}

/* In how many ways equal values of a field may look. */
typedef enum looks {
  ONE_LOOK,
  SELDOM_MORE, /* 0.0 and -0.0, or numbers at the end of the integers */
  SEVERAL
} looks;

static looks looks_of(const tr_group_plan *plan, const tr_group_field *key) {
  if (key->column < 0 || key->collation != TR_COLLATION_BINARY) return SEVERAL;
  switch (plan->source.columns[key->column].affinity) {
  case TR_AFFINITY_TEXT: return ONE_LOOK;
  case TR_AFFINITY_BLOB: return SEVERAL;
  default: return SELDOM_MORE;
  }
}

/*
** Whether an aggregate must keep what the field's first row showed. If every field has seldom more
** than one look, none must: it is noticed when the groups are put together, and then one thread
** does the work.
*/
static int needs_first(const tr_group_plan *plan, int key, int is_to_be_parallel) {
  int has_several = 0;
  if (plan->keys[key].is_foreign) return 1;
  if (!is_to_be_parallel || looks_of(plan, &plan->keys[key]) == ONE_LOOK) return 0;
  for (int i = 0; i < plan->key_count; i++)
    has_several |= looks_of(plan, &plan->keys[i]) == SEVERAL;
  return has_several;
}

tr_code tr_group_intake_lay_out(tr_group_intake *run, const tr_group_request *request,
                                int is_to_be_parallel, tr_error *err) {
  tr_group_result *result = run->result;
  const tr_group_plan *plan = result->plan;
  is_to_be_parallel = is_to_be_parallel && !tr_group_plan_has_foreign_collation(plan);
  tr_code code = TR_OK;
  result->shape = (tr_group_shape){.key_count = plan->key_count,
                                   .collations = result->collations,
                                   .aggregates = result->aggregates,
                                   .memory_limit = plan->memory_limit};
  sqlite3_randomness(sizeof result->shape.seed, &result->shape.seed);
  for (int i = 0; i < plan->key_count; i++) {
    result->collations[i] = plan->keys[i].collation;
    run->arguments[i] = sqlite3_mprintf("%s", plan->keys[i].sql);
    if (run->arguments[i] == NULL) return tr_error_no_memory(err);
    run->argument_count++;
  }
  for (int i = 0; i < plan->key_count && code == TR_OK; i++) {
    result->aggregate_of_key[i] = -1;
    if (!needs_first(plan, i, is_to_be_parallel)) continue;
    tr_group_input shown[] = {{.kind = TR_GROUP_VALUE, .sql = plan->keys[i].sql},
                              {.kind = TR_GROUP_ROW_KEY}};
    tr_combine first = {.fn = &tr_group_first_fn, .argument_count = 1};
    if (is_to_be_parallel) first = (tr_combine){.fn = &tr_group_first_by_fn, .argument_count = 2};
    result->aggregate_of_key[i] = result->shape.aggregate_count;
    code = add_aggregate(run, &first, shown, NULL, err);
  }
  for (int i = 0; i < plan->output_count && code == TR_OK; i++) {
    if (!is_wanted(request, i)) continue;
    int aggregate = result->shape.aggregate_count;
    result->outputs[i] = (tr_group_shown){&result->aggregates[aggregate].combine,
                                          tr_group_state_offset(&result->shape, aggregate)};
    code = add_aggregate(run, &plan->outputs[i].combine, plan->outputs[i].inputs,
                         plan->outputs[i].filter, err);
  }
  const tr_group_shape *shape = &result->shape;
  int is_made = shape->input_count > 0 && run->inputs[0].kind >= TR_GROUP_ROW_KEY;
  run->has_one_value =
      shape->key_count + shape->input_count == 1 && run->argument_count == 1 && !is_made;
  return code;
}

void tr_group_intake_release(tr_group_intake *run) {
  for (int i = 0; i < run->argument_count; i++) sqlite3_free(run->arguments[i]);
  tr_free(run->arguments);
  tr_free(run->argument_kinds);
  if (run->inputs != NULL) {
    for (int i = 0; i < run->result->shape.input_count; i++) tr_buffer_free(&run->inputs[i].bytes);
  }
  tr_free(run->inputs);
  tr_free(run->row_values);
  tr_row_batch_free(&run->rows);
  if (run->names != NULL) {
    for (int i = 0; i < run->result->plan->source.column_count; i++) tr_buffer_free(&run->names[i]);
  }
  tr_free(run->names);
}

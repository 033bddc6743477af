/*
** What the inner statement has to select, and the aggregate function that it calls.
**
** Arguments of the function are the key fields, then every expression that some aggregate needs, each
** once however many use it. A row's inputs are made of those arguments: the value itself, the value
** as a number, the row's key, the row as JSON.
*/
#include "group_by_fields_run.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "combine/accumulator.h"
#include "group_by_fields_parts.h"
#include "parallel_group.h"
#include "range/byte_key.h"

/* One value of a row for the group table, and the arguments that it is made of. */
typedef struct run_input {
  tr_group_input_kind kind;
  int first_argument;
  int argument_count;
  tr_buffer bytes; /* the row key or the JSON of the row in hand */
} run_input;

struct tr_group_result {
  const tr_group_plan *plan;
  tr_group_shape shape;
  tr_collation *collations;
  tr_group_aggregate *aggregates;
  int *aggregate_of_output; /* -1: not wanted */
  int *aggregate_of_key;    /* the one that keeps its first value; -1: the key shows itself */
  tr_grouping *grouping;
};

/* A run: the result, and what is only needed while rows come in. */
typedef struct tr_group_intake group_run;

struct tr_group_intake {
  tr_group_result *result; /* a copy takes only its shape and plan from it */
  tr_grouping *grouping;   /* where rows go */
  char **arguments;        /* SQL expressions; owned */
  int argument_count;
  tr_group_input_kind *argument_kinds; /* what each is read as; those that are not shared are 0 */
  run_input *inputs;
  int is_taken;     /* the statement has its aggregate */
  tr_value *row;    /* key_count + input_count values */
  tr_buffer *names; /* of the source's columns, as `"name":`, for rows as JSON */
  tr_error err;
};

/* --- the aggregate function ---------------------------------------------------------------- */

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

static tr_code read_row_key(const group_run *run, run_input *input, sqlite3_value **arguments,
                            tr_error *err) {
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

static tr_code read_row_json(const group_run *run, run_input *input, sqlite3_value **arguments,
                             tr_error *err) {
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

static tr_code read_input(group_run *run, run_input *input, sqlite3_value **arguments,
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

static tr_code add_row(group_run *run, sqlite3_value **arguments) {
  const tr_group_shape *shape = &run->result->shape;
  tr_value *keys = run->row, *inputs = run->row + shape->key_count;
  tr_code code = TR_OK;
  for (int i = 0; i < shape->key_count && code == TR_OK; i++) {
    code = read_value(arguments[i], &keys[i], &run->err);
  }
  for (int i = 0; i < shape->input_count && code == TR_OK; i++) {
    run_input *input = &run->inputs[i];
    if (input->kind == TR_GROUP_VALUE) {
      code = read_value(arguments[input->first_argument], &inputs[i], &run->err);
      continue;
    }
    code = read_input(run, input, arguments + input->first_argument, &inputs[i], &run->err);
  }
  return code == TR_OK ? tr_grouping_add(run->grouping, keys, inputs, &run->err) : code;
}

/*
** The run that the connection's inner statement belongs to, for the function to find; NULL when there
** is none. A run inside a run (over a view that groups) puts the outer one back when it ends.
*/
typedef struct run_in_hand {
  group_run *run;
} run_in_hand;

static const char run_owner;

static run_in_hand *current_run(const tr_host *host) {
  return tr_host_state(host, &run_owner);
}

static void step(sqlite3_context *context, int argc, sqlite3_value **argv) {
  group_run **run = sqlite3_aggregate_context(context, sizeof *run);
  if (run == NULL) {
    sqlite3_result_error_nomem(context);
    return;
  }
  if (*run == NULL) {
    group_run *inner = current_run(tr_function_host(context))->run;
    if (inner == NULL || inner->is_taken || inner->argument_count != argc) {
      sqlite3_result_error(context, TR_GROUP_INNER_FUNCTION "() is for group_by_fields alone", -1);
      return;
    }
    inner->is_taken = 1;
    *run = inner;
  }
  if (add_row(*run, argv) != TR_OK) tr_result_error(context, TR_GROUP_FUNCTION, &(*run)->err);
}

static void finish(sqlite3_context *context) {
  sqlite3_result_null(context);
}

int tr_group_register_function(tr_host *host) {
  static const tr_function function = {.name = TR_GROUP_INNER_FUNCTION,
                                       .argument_count = -1,
                                       .flags = TR_DIRECT,
                                       .step = step,
                                       .final = finish};
  run_in_hand *none = tr_malloc(sizeof *none);
  if (none == NULL) return SQLITE_NOMEM;
  *none = (run_in_hand){NULL};
  if (tr_host_set_state(host, &run_owner, none, tr_free) != TR_OK) return SQLITE_NOMEM;
  return tr_host_register_functions(host, &function, 1);
}

/* --- what the table and the statement need --------------------------------------------------- */

static void run_free(group_run *run) {
  for (int i = 0; i < run->argument_count; i++) sqlite3_free(run->arguments[i]);
  tr_free(run->arguments);
  tr_free(run->argument_kinds);
  if (run->inputs != NULL) {
    for (int i = 0; i < run->result->shape.input_count; i++) tr_buffer_free(&run->inputs[i].bytes);
  }
  tr_free(run->inputs);
  tr_free(run->row);
  if (run->names != NULL) {
    for (int i = 0; i < run->result->plan->source.column_count; i++) tr_buffer_free(&run->names[i]);
  }
  tr_free(run->names);
}

void tr_group_result_free(tr_group_result *result) {
  if (result == NULL) return;
  tr_grouping_free(result->grouping);
  tr_free(result->collations);
  tr_free(result->aggregates);
  tr_free(result->aggregate_of_output);
  tr_free(result->aggregate_of_key);
  tr_free(result);
}

/*
** The number of an argument of that text, added if it is new; -1: out of memory. Takes `sql`. Reading a
** number changes the argument, so those for numbers are not shared with others.
*/
static int argument_of(group_run *run, char *sql, tr_group_input_kind kind) {
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

static char *identifier(const char *name) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  tr_sql_append_identifier(sql, name);
  return sqlite3_str_finish(sql);
}

/* Arguments that one behind the other make a row's key or its JSON: never shared. */
static int append_argument(group_run *run, const char *column) {
  char *sql = identifier(column);
  if (sql == NULL) return -1;
  run->arguments[run->argument_count] = sql;
  return run->argument_count++;
}

static tr_code add_row_key_arguments(group_run *run, run_input *input) {
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

static tr_code add_row_arguments(group_run *run, run_input *input, tr_error *err) {
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
** The number of a row's input, added if it is new. With a filter it is NULL where that does not hold.
*/
static tr_code input_of(group_run *run, const tr_group_input *wanted, const char *filter,
                        int *number, tr_error *err) {
  tr_group_shape *shape = &run->result->shape;
  run_input input = {.kind = wanted->kind, .argument_count = 1};
  if (wanted->sql != NULL) {
    char *sql = filter == NULL ? sqlite3_mprintf("%s", wanted->sql)
                               : sqlite3_mprintf("CASE WHEN %s THEN %s END", filter, wanted->sql);
    input.first_argument = argument_of(run, sql, wanted->kind);
    if (input.first_argument < 0) return tr_error_no_memory(err);
    for (*number = 0; *number < shape->input_count; ++*number) {
      const run_input *other = &run->inputs[*number];
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

static tr_code add_aggregate(group_run *run, const tr_combine *combine,
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

static void *zeros(size_t count, size_t size) {
  void *memory = tr_malloc((count + 1) * size);
  return memory == NULL ? NULL : memset(memory, 0, (count + 1) * size);
}

/* Room for all that a run can have: every array is as long as it can get. */
static tr_code run_init(group_run *run, const tr_group_plan *plan, tr_group_result *result) {
  size_t keys = (size_t)plan->key_count, outputs = (size_t)plan->output_count;
  size_t inputs = 2 * keys + outputs * TR_COMBINE_MAX_ARGUMENTS;
  size_t arguments = keys + inputs + (outputs + 1) * (size_t)(plan->source.column_count + 1);
  result->plan = plan;
  result->collations = zeros(keys, sizeof *result->collations);
  result->aggregates = zeros(keys + outputs, sizeof *result->aggregates);
  result->aggregate_of_output = zeros(outputs, sizeof *result->aggregate_of_output);
  result->aggregate_of_key = zeros(keys, sizeof *result->aggregate_of_key);
  run->result = result;
  run->arguments = zeros(arguments, sizeof *run->arguments);
  run->argument_kinds = zeros(arguments, sizeof *run->argument_kinds);
  run->inputs = zeros(inputs, sizeof *run->inputs);
  run->row = zeros(keys + inputs, sizeof *run->row);
  int is_complete = result->collations != NULL && result->aggregates != NULL &&
                    result->aggregate_of_output != NULL && result->aggregate_of_key != NULL &&
                    run->arguments != NULL && run->argument_kinds != NULL && run->inputs != NULL &&
                    run->row != NULL;
  return is_complete ? TR_OK : TR_NO_MEMORY;
}

/* In how many ways values of a field that are equal may look. */
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
** Whether an aggregate must keep what the field's first row showed. Where all fields seldom have more than
** one look, none does: whoever puts groups together finds out whether they had.
*/
static int needs_first(const tr_group_plan *plan, int key, int is_to_be_parallel) {
  int has_several = 0;
  if (plan->keys[key].is_foreign) return 1;
  if (!is_to_be_parallel || looks_of(plan, &plan->keys[key]) == ONE_LOOK) return 0;
  for (int i = 0; i < plan->key_count; i++)
    has_several |= looks_of(plan, &plan->keys[i]) == SEVERAL;
  return has_several;
}

/*
** Decides what the arguments, inputs and aggregates are. With `is_to_be_parallel` the rows of a group may
** come in any order, and its first one is found by its key.
*/
static tr_code lay_out(group_run *run, const tr_group_request *request, int is_to_be_parallel,
                       tr_error *err) {
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
    result->aggregate_of_output[i] = -1;
    if (!is_wanted(request, i)) continue;
    result->aggregate_of_output[i] = result->shape.aggregate_count;
    code = add_aggregate(run, &plan->outputs[i].combine, plan->outputs[i].inputs,
                         plan->outputs[i].filter, err);
  }
  return code;
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
  group_run *copy = tr_malloc(sizeof *copy);
  if (copy == NULL) return tr_error_no_memory(err);
  *copy = *from;
  copy->grouping = NULL;
  copy->inputs = zeros(inputs, sizeof *copy->inputs);
  copy->row = zeros(values, sizeof *copy->row);
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

tr_code tr_group_intake_add(tr_group_intake *intake, sqlite3_value **arguments) {
  return add_row(intake, arguments);
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

/* --- running -------------------------------------------------------------------------------- */

tr_code tr_group_bind_conditions(sqlite3 *db, sqlite3_stmt *stmt, const tr_group_request *request,
                                 tr_error *err) {
  int parameter = 1, rc = SQLITE_OK;
  for (int i = 0; i < request->condition_count; i++) {
    const tr_group_condition *condition = &request->conditions[i];
    for (int j = 0; j < condition->value_count && rc == SQLITE_OK; j++) {
      rc = sqlite3_bind_value(stmt, parameter++, condition->values[j]);
    }
  }
  return rc == SQLITE_OK ? TR_OK : tr_error_of_sqlite(err, db, rc);
}

/* Runs the statement: all rows go into the table. */
static tr_code fill(tr_host *host, sqlite3_stmt *stmt, group_run *run, tr_error *err) {
  tr_group_result *result = run->result;
  run_in_hand *current = current_run(host);
  group_run *outer = current->run;
  current->run = run;
  int rc = sqlite3_step(stmt);
  if (rc == SQLITE_ROW) rc = sqlite3_step(stmt);
  current->run = outer;
  if (rc != SQLITE_DONE) {
    if (run->err.code == TR_OK) return tr_error_of_sqlite(err, tr_host_db(host), rc);
    *err = run->err;
    return err->code;
  }
  tr_code code = tr_grouping_flush(result->grouping, err);
  if (code == TR_OK && result->shape.key_count == 0) {
    code = tr_grouping_ensure_one(result->grouping, err);
  }
  return code;
}

tr_code tr_group_name_error(tr_error *err, tr_code code) {
  static const char name[] = TR_GROUP_FUNCTION;
  if (code == TR_OK || code == TR_NO_MEMORY || code == TR_INTERRUPTED ||
      strncmp(err->message, name, sizeof name - 1) == 0) {
    return code;
  }
  char message[TR_MESSAGE_SIZE];
  memcpy(message, err->message, sizeof message);
  int host_code = err->host_code;
  tr_error_set(err, code, "%s: %s", name, message);
  err->host_code = host_code;
  return code;
}

/* On the caller's connection. */
static tr_code run_alone(tr_host *host, sqlite3_stmt *stmt, group_run *run,
                         const tr_group_request *request, int *scanned_whole, tr_error *err) {
  tr_code code = tr_grouping_create(&run->result->shape, &run->result->grouping, err);
  run->grouping = run->result->grouping;
  if (code == TR_OK) code = tr_group_bind_conditions(tr_host_db(host), stmt, request, err);
  if (code == TR_OK) code = fill(host, stmt, run, err);
  *scanned_whole = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0) > 0;
  return code;
}

/* On several connections and threads, if that can be. */
static tr_code run_on_all(tr_host *host, sqlite3_stmt *stmt, group_run *run,
                          const tr_group_request *request, int worker_count, int *scanned_whole,
                          tr_error *err) {
  tr_parallel_group job = {host, run->result->plan, request, worker_count, run, stmt};
  int is_done = tr_parallel_group_run(&job, &run->result->grouping, err);
  if (is_done < 0) return err->code;
  if (is_done == 0) return run_alone(host, stmt, run, request, scanned_whole, err);
  *scanned_whole = 1;
  if (run->result->shape.key_count > 0) return TR_OK;
  return tr_grouping_ensure_one(run->result->grouping, err);
}

static tr_code run_once(tr_host *host, group_run *run, const tr_group_request *request,
                        int is_check, int *scanned_whole, tr_error *err) {
  sqlite3_stmt *stmt = NULL;
  int worker_count = is_check ? 0 : tr_parallel_group_workers(host, run->result->plan);
  tr_code code = lay_out(run, request, worker_count > 1, err);
  if (code == TR_OK) {
    code = tr_group_prepare(tr_host_db(host), run->result->plan, request, run->arguments,
                            run->argument_count, &stmt, err);
  }
  if (code == TR_OK && worker_count > 0) {
    code = run_on_all(host, stmt, run, request, worker_count, scanned_whole, err);
  } else if (code == TR_OK && !is_check) {
    code = run_alone(host, stmt, run, request, scanned_whole, err);
  }
  sqlite3_finalize(stmt);
  return tr_group_name_error(err, code);
}

static tr_code run_plan(tr_host *host, const tr_group_plan *plan, const tr_group_request *request,
                        int is_check, tr_group_result **result, int *scanned_whole, tr_error *err) {
  group_run run = {0};
  *result = zeros(0, sizeof **result);
  if (*result == NULL) return tr_error_no_memory(err);
  tr_code code = run_init(&run, plan, *result);
  if (code != TR_OK) tr_error_no_memory(err);
  if (code == TR_OK) code = run_once(host, &run, request, is_check, scanned_whole, err);
  run_free(&run);
  if (code != TR_OK || is_check) {
    tr_group_result_free(*result);
    *result = NULL;
  }
  return code;
}

tr_code tr_group_run(tr_host *host, const tr_group_plan *plan, const tr_group_request *request,
                     tr_group_result **result, int *scanned_whole, tr_error *err) {
  return run_plan(host, plan, request, 0, result, scanned_whole, err);
}

tr_code tr_group_check(tr_host *host, const tr_group_plan *plan, tr_error *err) {
  tr_group_result *none;
  tr_group_request request = {.outputs = UINT64_MAX};
  return run_plan(host, plan, &request, 1, &none, NULL, err);
}

/* --- the result --------------------------------------------------------------------------------- */

const tr_grouping *tr_group_result_groups(const tr_group_result *result) {
  return result->grouping;
}

tr_value tr_group_result_key(const tr_group_result *result, const tr_group *group, int key) {
  int aggregate = result->aggregate_of_key[key];
  if (aggregate < 0) return tr_group_key_field(group, key);
  tr_combine_output first = {0};
  const tr_combine *combine = &result->aggregates[aggregate].combine;
  combine->fn->extract_output(combine, tr_grouping_state(result->grouping, group, aggregate),
                              &first, NULL);
  return first.value;
}

tr_code tr_group_result_output(const tr_group_result *result, const tr_group *group, int index,
                               tr_combine_output *output, tr_error *err) {
  int aggregate = result->aggregate_of_output[index];
  const tr_combine *combine = &result->aggregates[aggregate].combine;
  const void *state = tr_grouping_state(result->grouping, group, aggregate);
  tr_code code;
  if (result->plan->emits_accumulators) {
    code = tr_accumulator_write(combine, state, &output->storage, err);
    output->value = tr_value_blob(tr_buffer_bytes(&output->storage));
  } else {
    code = combine->fn->extract_output(combine, state, output, err);
  }
  return tr_group_name_error(err, code);
}

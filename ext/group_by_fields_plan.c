/*
** Reading the request. A key field is a column, a path into a JSON column, or an expression with a
** name; an aggregate is a combine function with arguments, of which those that differ from row to
** row stay SQL text and the constant ones are evaluated here, once.
*/
#include "group_by_fields_plan.h"

#include <string.h>

#include "base/memory.h"
#include "group_by_fields_parts.h"
#include "host/module_arguments.h"

enum { BY_NAMES, BY_IDS, BY_ACCESS, GLOBALLY, WHERE, WORKERS, EMIT, MEMORY, CLAUSE_COUNT };

#define MAX_WORKERS 64

static const char *const emit_words[] = {"values", "accumulators", NULL};

static const tr_clause clauses[CLAUSE_COUNT] = {
    [BY_NAMES] = {.name = "by_field_names", .form = TR_CLAUSE_LIST},
    [BY_IDS] = {.name = "by_field_ids", .form = TR_CLAUSE_LIST},
    [BY_ACCESS] = {.name = "by_field_access", .form = TR_CLAUSE_LIST},
    [GLOBALLY] = {.name = "globally", .form = TR_CLAUSE_EMPTY},
    [WHERE] = {.name = "where", .form = TR_CLAUSE_EXPRESSION},
    [WORKERS] = {.name = "workers",
                 .form = TR_CLAUSE_INTEGER,
                 .minimum = 1,
                 .maximum = MAX_WORKERS},
    [EMIT] = {.name = "emit", .form = TR_CLAUSE_WORD, .words = emit_words},
    [MEMORY] = {.name = "memory", .form = TR_CLAUSE_INTEGER, .minimum = 1, .maximum = INT64_MAX},
};

static const tr_module_syntax syntax = {
    .module = TR_GROUP_FUNCTION,
    .clauses = clauses,
    .clause_count = CLAUSE_COUNT,
    .takes_others = 1,
};

/* A plan while it is made. */
typedef struct planner {
  tr_group_plan *plan;
  sqlite3 *db;
  tr_error *err;
} planner;

static tr_code refuse(planner *p, const char *text, const char *reason) {
  return tr_error_set(p->err, TR_INVALID_ARGUMENT, TR_GROUP_FUNCTION ": %s: %s", text, reason);
}

static tr_code check_text(planner *p, const char *text) {
  return text == NULL ? tr_error_no_memory(p->err) : TR_OK;
}

/* Makes room for one more of `count` items and clears it. */
static void *grown(planner *p, void **items, int count, size_t size) {
  char *more = tr_realloc(*items, ((size_t)count + 1) * size);
  if (more == NULL) {
    tr_error_no_memory(p->err);
    return NULL;
  }
  *items = more;
  return memset(more + (size_t)count * size, 0, size);
}

/* `(text)`, checked to be whole. NULL: failed. */
static char *parenthesised(planner *p, const char *text) {
  tr_buffer sql = {0};
  char *copy = NULL;
  if (tr_expression_append(&sql, text, p->err) == TR_OK) {
    copy = sqlite3_mprintf("%.*s", (int)sql.size, sql.data);
    if (copy == NULL) tr_error_no_memory(p->err);
  }
  tr_buffer_free(&sql);
  return copy;
}

/* --- key fields ---------------------------------------------------------------------------- */

/* Adds a field; takes `sql`, which may be NULL after a failure. */
static tr_code add_field(planner *p, const char *name, char *sql, int column) {
  tr_group_plan *plan = p->plan;
  void *fields = plan->keys;
  tr_group_field *field = NULL;
  tr_code code = check_text(p, sql);
  if (code == TR_OK) {
    field = grown(p, &fields, plan->key_count, sizeof *field);
    if (field == NULL) code = TR_NO_MEMORY;
  }
  if (code != TR_OK) {
    sqlite3_free(sql);
    return code;
  }
  plan->keys = fields;
  plan->key_count++;
  field->sql = sql;
  field->column = column;
  field->name = sqlite3_mprintf("%s", name);
  return check_text(p, field->name);
}

static char *identifier(const char *name) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  tr_sql_append_identifier(sql, name);
  return sqlite3_str_finish(sql);
}

static tr_code add_column(planner *p, int column, const char *alias) {
  const char *name = p->plan->source.columns[column].name;
  return add_field(p, alias != NULL ? alias : name, identifier(name), column);
}

static tr_code add_all_columns(planner *p) {
  tr_code code = TR_OK;
  for (int i = 0; i < p->plan->source.column_count && code == TR_OK; i++) {
    if (!p->plan->source.columns[i].is_hidden) code = add_column(p, i, NULL);
  }
  return code;
}

static tr_code add_expression(planner *p, const tr_argument *item) {
  char *sql = parenthesised(p, item->text);
  if (sql == NULL) return p->err->code;
  return add_field(p, item->alias, sql, -1);
}

static tr_code no_such_field(planner *p, const char *name) {
  const tr_source_table *source = &p->plan->source;
  return tr_error_set(p->err, TR_INVALID_ARGUMENT, TR_GROUP_FUNCTION ": no such field: %s in %s.%s",
                      name, source->schema, source->name);
}

/* by_field_names: a column, or an expression with a name. */
static tr_code add_named(planner *p, const tr_argument *item) {
  if (item->name == NULL && item->literal == NULL) {
    if (strcmp(item->text, "*") == 0) return add_all_columns(p);
    if (item->alias != NULL) return add_expression(p, item);
    return refuse(p, item->text,
                  "by_field_names takes columns; an expression needs a name (expression AS name), "
                  "a path into JSON is for by_field_access");
  }
  const char *name = item->name != NULL ? item->name : item->literal;
  int column = tr_source_table_find_column(&p->plan->source, name);
  return column < 0 ? no_such_field(p, name) : add_column(p, column, item->alias);
}

/* by_field_ids: the position of a column, from 0, as PRAGMA table_info counts. */
static tr_code add_numbered(planner *p, const tr_argument *item) {
  int64_t id = 0;
  const char *digit = item->text;
  for (; *digit >= '0' && *digit <= '9' && id < 100000; digit++) id = 10 * id + (*digit - '0');
  if (*digit != 0 || digit == item->text || id >= p->plan->source.column_count) {
    return tr_error_set(p->err, TR_INVALID_ARGUMENT,
                        TR_GROUP_FUNCTION ": by_field_ids: %s is no position of a column: 0 to %d",
                        item->text, p->plan->source.column_count - 1);
  }
  return add_column(p, (int)id, item->alias);
}

static tr_code add_list(planner *p, const tr_argument_list *list,
                        tr_code (*add)(planner *, const tr_argument *)) {
  tr_code code = TR_OK;
  for (int i = 0; i < list->count && code == TR_OK; i++) code = add(p, &list->items[i]);
  return code;
}

/* by_field_access: paths, of which those that others cover are dropped. */
static tr_code add_paths(planner *p, const tr_argument_list *list) {
  tr_field_path *paths = tr_malloc((size_t)list->count * sizeof *paths);
  if (paths == NULL) return tr_error_no_memory(p->err);
  tr_code code = TR_OK;
  int count = 0;
  for (; count < list->count && code == TR_OK; count++) {
    const tr_argument *item = &list->items[count];
    const char *text = item->literal != NULL ? item->literal : item->text;
    code = tr_field_path_parse(&paths[count], tr_bytes_of_text(text), p->err);
  }
  for (int i = 0; i < count && code == TR_OK; i++) {
    int is_covered = 0;
    for (int j = 0; j < count && !is_covered; j++) {
      int is_same = tr_field_path_covers(&paths[i], &paths[j]);
      is_covered = j != i && tr_field_path_covers(&paths[j], &paths[i]) && (!is_same || j < i);
    }
    if (is_covered) continue;
    if (paths[i].step_count == 0) {
      code = add_all_columns(p);
      continue;
    }
    int column = tr_source_table_find_column(&p->plan->source, paths[i].steps[0].name);
    const char *alias = list->items[i].alias;
    if (column < 0) {
      code = no_such_field(p, paths[i].steps[0].name);
    } else if (paths[i].step_count == 1) {
      code = add_column(p, column, alias);
    } else {
      const char *name = alias != NULL ? alias : tr_field_path_name(&paths[i]);
      code = add_field(p, name, tr_group_path_sql(&p->plan->source.columns[column], &paths[i]), -1);
    }
  }
  for (int i = 0; i < count; i++) tr_field_path_free(&paths[i]);
  tr_free(paths);
  return code;
}

/* The ad hoc form's list: paths, and expressions that have a name. */
static tr_code add_paths_and_expressions(planner *p, tr_argument_list *list) {
  tr_argument_list paths = {tr_malloc((size_t)list->count * sizeof *list->items), 0};
  if (paths.items == NULL) return tr_error_no_memory(p->err);
  tr_code code = TR_OK;
  for (int i = 0; i < list->count && code == TR_OK; i++) {
    const tr_argument *item = &list->items[i];
    tr_field_path path;
    tr_code parsed = tr_field_path_parse(&path, tr_bytes_of_text(item->text), NULL);
    if (parsed == TR_OK) tr_field_path_free(&path);
    if (parsed == TR_NO_MEMORY) {
      code = tr_error_no_memory(p->err);
    } else if (parsed == TR_INVALID_ARGUMENT && item->alias != NULL && item->literal == NULL) {
      code = add_expression(p, item);
    } else {
      paths.items[paths.count++] = *item;
    }
  }
  if (code == TR_OK) code = add_paths(p, &paths);
  tr_free(paths.items);
  return code;
}

/* --- aggregates ---------------------------------------------------------------------------- */

static tr_code no_such_function(planner *p, const char *name) {
  tr_buffer names = {0};
  tr_code code = TR_OK;
  const tr_combine_fn *fn;
  for (int i = 0; (fn = tr_combine_fn_at(i)) != NULL && code == TR_OK; i++) {
    code = tr_buffer_printf(&names, p->err, "%s%s", i == 0 ? "" : ", ", fn->name);
  }
  if (code == TR_OK) {
    code = tr_error_set(p->err, TR_INVALID_ARGUMENT,
                        TR_GROUP_FUNCTION ": no such aggregate here: %s(); there are %.*s", name,
                        (int)names.size, (const char *)names.data);
  }
  tr_buffer_free(&names);
  return code;
}

/* A constant argument's value, as SQLite evaluates it. */
static tr_code evaluate(planner *p, const tr_combine_fn *fn, const char *argument, const char *text,
                        tr_value *value) {
  char *expression = parenthesised(p, text);
  if (expression == NULL) return p->err->code;
  sqlite3_str *sql = sqlite3_str_new(p->db);
  sqlite3_str_appendf(sql, "SELECT %s", expression);
  sqlite3_free(expression);
  sqlite3_stmt *stmt;
  tr_error reason = {0};
  tr_code code = tr_sql_prepare(p->db, sql, &stmt, &reason);
  if (code == TR_OK) {
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
      *value = tr_value_of_column(stmt, 0);
    else
      code = tr_error_of_sqlite(&reason, p->db, rc);
    /* Parameters are numbers: text that is none is refused below, by what the function says. */
    if (code == TR_OK && value->type >= TR_TEXT) *value = tr_value_null();
    sqlite3_finalize(stmt);
  }
  if (code == TR_NO_MEMORY) return tr_error_no_memory(p->err);
  if (code != TR_OK) {
    return tr_error_set(p->err, TR_INVALID_ARGUMENT,
                        TR_GROUP_FUNCTION ": %s(): argument %s = %s: must be a constant: %s",
                        fn->name, argument, text, reason.message);
  }
  return TR_OK;
}

static int count_arguments(const tr_combine_fn *fn) {
  int count = 0;
  while (count < TR_COMBINE_MAX_ARGUMENTS && fn->arguments[count].name != NULL) count++;
  return count;
}

/* Fills the inputs and binds the function. */
static tr_code bind_arguments(planner *p, tr_group_output *output, const tr_combine_fn *fn,
                              const tr_argument_list *list) {
  tr_value values[TR_COMBINE_MAX_ARGUMENTS] = {{0}};
  int count = list->count;
  if (count == 1 && strcmp(list->items[0].text, "*") == 0 && fn->arguments[0].is_optional)
    count = 0;
  tr_code code = TR_OK;
  if (count > count_arguments(fn)) {
    return tr_error_set(p->err, TR_INVALID_ARGUMENT,
                        TR_GROUP_FUNCTION ": %s() takes at most %d arguments", fn->name,
                        count_arguments(fn));
  }
  for (int i = 0; i < count && code == TR_OK; i++) {
    const char *text = list->items[i].text;
    tr_group_input *input = &output->inputs[i];
    if (fn->arguments[i].role != TR_ARGUMENT_INPUT) {
      code = evaluate(p, fn, fn->arguments[i].name, text, &values[i]);
    } else {
      input->kind = fn->is_numeric ? TR_GROUP_NUMBER : TR_GROUP_VALUE;
      input->sql = parenthesised(p, text);
      if (input->sql == NULL) code = p->err->code;
    }
  }
  /* A function that would draw random numbers gets the row's own key instead, if there is one. */
  if (p->plan->source.key.form != TR_KEY_NONE) {
    for (; count > 0 && count < fn->random_below && count < TR_COMBINE_MAX_ARGUMENTS; count++) {
      output->inputs[count].kind = TR_GROUP_ROW_KEY;
    }
  }
  if (code != TR_OK) return code;
  tr_error reason = {0};
  code = p->plan->emits_accumulators
             ? tr_combine_bind_accumulator(fn, values, count, &output->combine, &reason)
             : tr_combine_bind(fn, values, count, &output->combine, &reason);
  if (code == TR_NO_MEMORY) return tr_error_no_memory(p->err);
  if (code != TR_OK) {
    return tr_error_set(p->err, code, TR_GROUP_FUNCTION ": %s", reason.message);
  }
  if (tr_combine_is_random(&output->combine)) output->combine.randomness = sqlite3_randomness;
  return TR_OK;
}

/* Makes room for one more output of that name. */
static tr_group_output *add_output(planner *p, const char *name) {
  void *outputs = p->plan->outputs;
  tr_group_output *output = grown(p, &outputs, p->plan->output_count, sizeof *output);
  if (output == NULL) return NULL;
  p->plan->outputs = outputs;
  p->plan->output_count++;
  output->name = sqlite3_mprintf("%s", name);
  return check_text(p, output->name) == TR_OK ? output : NULL;
}

static tr_code add_aggregate(planner *p, const tr_argument *item) {
  if (item->function == NULL) {
    return refuse(p, item->text, "must be an aggregate, like sum(x) AS total, or a clause");
  }
  const tr_combine_fn *fn = tr_combine_fn_by_name(tr_bytes_of_text(item->function));
  if (fn == NULL) return no_such_function(p, item->function);
  tr_argument_list list;
  tr_code code = tr_argument_list_parse(&list, tr_bytes_of_text(item->inner), p->err);
  if (code != TR_OK) return code;
  tr_group_output *output = add_output(p, item->alias != NULL ? item->alias : item->text);
  code = output == NULL ? TR_NO_MEMORY : bind_arguments(p, output, fn, &list);
  tr_argument_list_free(&list);
  return code;
}

/* Without an aggregate: the group's rows. */
static tr_code add_rows(planner *p) {
  if (p->plan->emits_accumulators) {
    return tr_error_set(p->err, TR_INVALID_ARGUMENT,
                        TR_GROUP_FUNCTION ": emit(accumulators) needs an aggregate");
  }
  tr_group_output *output = add_output(p, "rows");
  if (output == NULL) return TR_NO_MEMORY;
  output->inputs[0].kind = TR_GROUP_ROW;
  output->combine = (tr_combine){.fn = &tr_group_rows_fn, .argument_count = 1};
  return TR_OK;
}

/* --- the whole ------------------------------------------------------------------------------ */

static const char *column_name(const tr_group_plan *plan, int i) {
  return i < plan->key_count ? plan->keys[i].name : plan->outputs[i - plan->key_count].name;
}

static tr_code check_names(planner *p) {
  int count = p->plan->key_count + p->plan->output_count;
  for (int i = 0; i < count; i++) {
    for (int j = 0; j < i; j++) {
      const char *name = column_name(p->plan, i);
      if (sqlite3_stricmp(name, column_name(p->plan, j)) != 0) continue;
      return refuse(p, name, "two columns of that name; give one another (AS name)");
    }
  }
  return TR_OK;
}

static tr_code read_source(planner *p, const char *schema, const char *table) {
  tr_source_table *source = &p->plan->source;
  tr_code code = tr_source_table_read(source, p->db, TR_GROUP_FUNCTION, schema, table, p->err);
  if (code != TR_OK) return code;
  /* The key of the rows, where there is one, for samples; it does not matter why there is none. */
  code = tr_source_table_set_key(source, p->db, TR_GROUP_FUNCTION, NULL, NULL);
  return code == TR_NO_MEMORY ? tr_error_no_memory(p->err) : TR_OK;
}

static tr_code finish(planner *p, tr_code code) {
  if (code == TR_OK && p->plan->output_count == 0) code = add_rows(p);
  if (code == TR_OK) code = check_names(p);
  if (code == TR_OK) code = tr_group_plan_settle_collations(p->plan, p->db, p->err);
  if (code != TR_OK) tr_group_plan_free(p->plan);
  return tr_group_name_error(p->err, code);
}

static tr_code set_where(planner *p, const char *expression) {
  p->plan->where = parenthesised(p, expression);
  return p->plan->where == NULL ? p->err->code : TR_OK;
}

static tr_code read_clauses(planner *p, const tr_module_arguments *arguments) {
  const tr_clause_value *values = arguments->clauses;
  int given = values[BY_NAMES].is_given + values[BY_IDS].is_given + values[BY_ACCESS].is_given +
              values[GLOBALLY].is_given;
  if (given != 1) {
    return tr_error_set(p->err, TR_INVALID_ARGUMENT,
                        TR_GROUP_FUNCTION ": %s of by_field_names(...), by_field_ids(...), "
                                          "by_field_access(...) and globally() must be given",
                        given == 0 ? "one" : "only one");
  }
  p->plan->workers = values[WORKERS].is_given ? (int)values[WORKERS].integer : 0;
  p->plan->emits_accumulators = values[EMIT].is_given && values[EMIT].integer == 1;
  p->plan->memory_limit = values[MEMORY].is_given ? (uint64_t)values[MEMORY].integer : 0;
  tr_code code = read_source(p, arguments->schema, arguments->table);
  if (code == TR_OK) code = add_list(p, &values[BY_NAMES].list, add_named);
  if (code == TR_OK) code = add_list(p, &values[BY_IDS].list, add_numbered);
  if (code == TR_OK && values[BY_ACCESS].is_given) code = add_paths(p, &values[BY_ACCESS].list);
  if (code == TR_OK) code = add_list(p, &arguments->others, add_aggregate);
  if (code == TR_OK && values[WHERE].is_given) code = set_where(p, values[WHERE].expression);
  return code;
}

tr_code tr_group_plan_of_module(tr_group_plan *plan, sqlite3 *db, int argc, const char *const *argv,
                                tr_error *err) {
  *plan = (tr_group_plan){0};
  planner p = {plan, db, err};
  tr_module_arguments arguments;
  tr_code code = tr_module_arguments_parse(&arguments, &syntax, argc, argv, err);
  if (code != TR_OK) return code;
  code = finish(&p, read_clauses(&p, &arguments));
  tr_module_arguments_free(&arguments);
  return code;
}

static tr_code read_call(planner *p, const tr_group_call *call) {
  char *schema, *table;
  tr_code code = tr_table_name_parse(call->source, &schema, &table, p->err);
  if (code != TR_OK) return code;
  code = read_source(p, schema, table);
  tr_free(schema);
  tr_free(table);
  tr_argument_list list = {0};
  if (code == TR_OK) code = tr_argument_list_parse(&list, call->by, p->err);
  if (code == TR_OK && list.count > 0) code = add_paths_and_expressions(p, &list);
  tr_argument_list_free(&list);
  if (code == TR_OK) code = tr_argument_list_parse(&list, call->aggregates, p->err);
  if (code == TR_OK) code = add_list(p, &list, add_aggregate);
  tr_argument_list_free(&list);
  if (code == TR_OK && call->where.data != NULL) {
    tr_clause_value where = {0};
    code = tr_clause_value_parse(&where, &syntax, WHERE, call->where, p->err);
    if (code == TR_OK) code = set_where(p, where.expression);
    tr_free(where.expression);
  }
  if (code == TR_OK && (call->workers < 0 || call->workers > MAX_WORKERS)) {
    code = tr_error_set(p->err, TR_INVALID_ARGUMENT, TR_GROUP_FUNCTION ": workers = %lld: 1 to %d",
                        (long long)call->workers, MAX_WORKERS);
  }
  p->plan->workers = (int)call->workers;
  return code;
}

tr_code tr_group_plan_of_call(tr_group_plan *plan, sqlite3 *db, const tr_group_call *call,
                              tr_error *err) {
  *plan = (tr_group_plan){0};
  planner p = {plan, db, err};
  return finish(&p, read_call(&p, call));
}

void tr_group_plan_free(tr_group_plan *plan) {
  for (int i = 0; i < plan->key_count; i++) {
    sqlite3_free(plan->keys[i].name);
    sqlite3_free(plan->keys[i].sql);
    sqlite3_free(plan->keys[i].foreign_collation);
  }
  for (int i = 0; i < plan->output_count; i++) {
    sqlite3_free(plan->outputs[i].name);
    for (int j = 0; j < TR_COMBINE_MAX_ARGUMENTS; j++) sqlite3_free(plan->outputs[i].inputs[j].sql);
  }
  tr_free(plan->keys);
  tr_free(plan->outputs);
  sqlite3_free(plan->where);
  tr_source_table_free(&plan->source);
  *plan = (tr_group_plan){0};
}

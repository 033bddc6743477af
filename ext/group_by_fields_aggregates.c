/*
** Reads the aggregates: a combine function by its name, with arguments. Arguments that differ from
** row to row stay SQL text. The constant ones are evaluated here, once.
**
** FILTER (WHERE condition) makes the inputs NULL for rows that do not satisfy the condition. All
** functions ignore such rows.
*/
#include <string.h>

#include "group_by_fields_parts.h"

static tr_code no_such_function(tr_group_planner *p, const char *name) {
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

/* Evaluates a constant argument with SQLite. */
static tr_code evaluate(tr_group_planner *p, const tr_combine_fn *fn, const char *argument,
                        const char *text, tr_value *value) {
  char *expression = tr_group_parenthesised(p, text);
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
    /* Constants are numbers. Any other value becomes NULL, which the function refuses below. */
    if (code == TR_OK && value->type >= TR_TEXT) *value = tr_value_null();
    sqlite3_finalize(stmt);
  }
  if (code == TR_NO_MEMORY) return tr_error_no_memory(p->err);
  if (code == TR_INTERRUPTED) return tr_error_set(p->err, code, "%s", reason.message);
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

/* The number of arguments: 0 for count(*), which is count() here. */
static int argument_count(const tr_combine_fn *fn, const tr_argument_list *list) {
  int is_star = list->count == 1 && strcmp(list->items[0].text, "*") == 0;
  return is_star && fn->arguments[0].is_optional ? 0 : list->count;
}

/* Whether the argument's text begins with the word DISTINCT. */
static int is_distinct(const char *text) {
  static const char word[] = "distinct";
  size_t size = sizeof word - 1;
  return sqlite3_strnicmp(text, word, (int)size) == 0 &&
         (text[size] == ' ' || text[size] == '\t' || text[size] == '\n' || text[size] == '(');
}

/* Reads the arguments that were given: constants into `values`, inputs into the output. */
static tr_code read_arguments(tr_group_planner *p, tr_group_output *output, const tr_combine_fn *fn,
                              const tr_argument_list *list, int count, tr_value *values) {
  if (count > count_arguments(fn)) {
    return tr_error_set(p->err, TR_INVALID_ARGUMENT,
                        TR_GROUP_FUNCTION ": %s() takes at most %d arguments", fn->name,
                        count_arguments(fn));
  }
  for (int i = 0; i < count; i++) {
    const char *text = list->items[i].text;
    tr_group_input *input = &output->inputs[i];
    tr_code code = TR_OK;
    if (fn->arguments[i].role != TR_ARGUMENT_INPUT) {
      code = evaluate(p, fn, fn->arguments[i].name, text, &values[i]);
    } else if (is_distinct(text)) {
      code = tr_group_refuse(p, text,
                             "DISTINCT is not for here: approx_count_distinct(x) counts "
                             "with 1 % error, SQLite's own GROUP BY exactly");
    } else {
      input->kind = fn->is_numeric ? TR_GROUP_NUMBER : TR_GROUP_VALUE;
      input->sql = tr_group_parenthesised(p, text);
      if (input->sql == NULL) code = p->err->code;
    }
    if (code != TR_OK) return code;
  }
  return TR_OK;
}

/*
** Binds a function for accumulators. An argument that only the output needs, like q of
** approx_quantile(x, q), is checked here, but is not part of the accumulator.
*/
static tr_code bind_for_accumulator(const tr_combine_fn *fn, const tr_value *values, int count,
                                    tr_combine *combine, tr_error *err) {
  int least, most;
  tr_combine_argument_counts(fn, 1, &least, &most);
  if (count > most) {
    tr_code code = tr_combine_bind(fn, values, count, combine, err);
    if (code != TR_OK) return code;
    count = most;
  }
  return tr_combine_bind_accumulator(fn, values, count, combine, err);
}

static tr_code bind_function(tr_group_planner *p, const tr_combine_fn *fn, const tr_value *values,
                             int count, tr_combine *combine) {
  tr_error reason = {0};
  tr_code code = p->plan->emits_accumulators
                     ? bind_for_accumulator(fn, values, count, combine, &reason)
                     : tr_combine_bind(fn, values, count, combine, &reason);
  if (code == TR_NO_MEMORY) return tr_error_no_memory(p->err);
  if (code != TR_OK) {
    return tr_error_set(p->err, code, TR_GROUP_FUNCTION ": %s", reason.message);
  }
  if (tr_combine_is_random(combine)) combine->randomness = sqlite3_randomness;
  return TR_OK;
}

/* Fills the inputs and binds the function. */
static tr_code bind_arguments(tr_group_planner *p, tr_group_output *output, const tr_combine_fn *fn,
                              const tr_argument_list *list) {
  tr_value values[TR_COMBINE_MAX_ARGUMENTS] = {{0}};
  int count = argument_count(fn, list);
  tr_code code = read_arguments(p, output, fn, list, count, values);
  if (code != TR_OK) return code;
  /*
  ** count(*) with a filter becomes count(1), whose input is NULL for rows that do not pass the
  ** filter.
  */
  if (count == 0 && output->filter != NULL && fn->arguments[0].role == TR_ARGUMENT_INPUT) {
    output->inputs[0] = (tr_group_input){TR_GROUP_VALUE, sqlite3_mprintf("1")};
    code = tr_group_check_text(p, output->inputs[0].sql);
    count = 1;
  }
  /* A function that would draw random numbers gets the key of the row instead, if there is one. */
  if (p->plan->source.key.form != TR_KEY_NONE) {
    for (; count > 0 && count < fn->random_below && count < TR_COMBINE_MAX_ARGUMENTS; count++) {
      output->inputs[count].kind = TR_GROUP_ROW_KEY;
    }
  }
  return code == TR_OK ? bind_function(p, fn, values, count, &output->combine) : code;
}

/* Makes room for one more output of that name. */
static tr_group_output *add_output(tr_group_planner *p, const char *name) {
  void *outputs = p->plan->outputs;
  tr_group_output *output = tr_group_grown(p, &outputs, p->plan->output_count, sizeof *output);
  if (output == NULL) return NULL;
  p->plan->outputs = outputs;
  p->plan->output_count++;
  output->name = sqlite3_mprintf("%s", name);
  return tr_group_check_text(p, output->name) == TR_OK ? output : NULL;
}

tr_code tr_group_add_aggregate(tr_group_planner *p, const tr_argument *item) {
  if (item->function == NULL) {
    return tr_group_refuse(p, item->text,
                           "must be an aggregate, like sum(x) AS total, or a clause");
  }
  const tr_combine_fn *fn = tr_combine_fn_by_name(tr_bytes_of_text(item->function));
  if (fn == NULL) return no_such_function(p, item->function);
  tr_argument_list list;
  tr_code code = tr_argument_list_parse(&list, tr_bytes_of_text(item->inner), p->err);
  if (code != TR_OK) return code;
  tr_group_output *output = add_output(p, item->alias != NULL ? item->alias : item->text);
  if (output == NULL) code = TR_NO_MEMORY;
  if (code == TR_OK && item->filter != NULL) {
    output->filter = tr_group_parenthesised(p, item->filter);
    if (output->filter == NULL) code = p->err->code;
  }
  if (code == TR_OK) code = bind_arguments(p, output, fn, &list);
  tr_argument_list_free(&list);
  return code;
}

tr_code tr_group_add_rows(tr_group_planner *p) {
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

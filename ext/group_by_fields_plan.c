/*
** Reads the request: the clauses and the key fields. A key field is a column, a path into a JSON
** column, or an expression with a name. The aggregates are read in group_by_fields_aggregates.c.
*/
#include "group_by_fields_plan.h"

#include <string.h>

#include "base/memory.h"
#include "group_by_fields_parts.h"
#include "group_by_fields_run.h"
#include "host/module_arguments.h"

enum {
  BY_NAMES,
  BY_IDS,
  BY_ACCESS,
  GLOBALLY,
  WHERE,
  WORKERS,
  EMIT,
  MEMORY,
  PROGRESS,
  CLAUSE_COUNT
};

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
    [PROGRESS] = {.name = "progress", .form = TR_CLAUSE_INTEGER, .minimum = 0, .maximum = 1},
};

static const tr_module_syntax syntax = {
    .module = TR_GROUP_FUNCTION,
    .clauses = clauses,
    .clause_count = CLAUSE_COUNT,
    .takes_others = 1,
};

tr_code tr_group_refuse(tr_group_planner *p, const char *text, const char *reason) {
  return tr_error_set(p->err, TR_INVALID_ARGUMENT, TR_GROUP_FUNCTION ": %s: %s", text, reason);
}

tr_code tr_group_check_text(tr_group_planner *p, const char *text) {
  return text == NULL ? tr_error_no_memory(p->err) : TR_OK;
}

void *tr_group_grown(tr_group_planner *p, void **items, int count, size_t size) {
  char *more = tr_realloc(*items, ((size_t)count + 1) * size);
  if (more == NULL) {
    tr_error_no_memory(p->err);
    return NULL;
  }
  *items = more;
  return memset(more + (size_t)count * size, 0, size);
}

char *tr_group_parenthesised(tr_group_planner *p, const char *text) {
  tr_buffer sql = {0};
  char *copy = NULL;
  if (sqlite3_strlike("%" TR_GROUP_INNER_FUNCTION "%", text, 0) == 0) {
    tr_group_refuse(p, text, TR_GROUP_INNER_FUNCTION "() is for group_by_fields alone");
  } else if (tr_expression_append(&sql, text, p->err) == TR_OK) {
    copy = sqlite3_mprintf("%.*s", (int)sql.size, sql.data);
    tr_group_check_text(p, copy);
  }
  tr_buffer_free(&sql);
  return copy;
}

/* --- key fields ---------------------------------------------------------------------------- */

/* Adds a field. Takes ownership of `sql`, which may be NULL after a failure. */
static tr_code add_field(tr_group_planner *p, const char *name, char *sql, int column) {
  tr_group_plan *plan = p->plan;
  void *fields = plan->keys;
  tr_group_field *field = NULL;
  tr_code code = tr_group_check_text(p, sql);
  if (code == TR_OK) {
    field = tr_group_grown(p, &fields, plan->key_count, sizeof *field);
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
  return tr_group_check_text(p, field->name);
}

char *tr_group_identifier(const char *name) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  tr_sql_append_identifier(sql, name);
  return sqlite3_str_finish(sql);
}

static tr_code add_column(tr_group_planner *p, int column, const char *alias) {
  const char *name = p->plan->source.columns[column].name;
  return add_field(p, alias != NULL ? alias : name, tr_group_identifier(name), column);
}

static tr_code add_all_columns(tr_group_planner *p) {
  tr_code code = TR_OK;
  for (int i = 0; i < p->plan->source.column_count && code == TR_OK; i++) {
    if (!p->plan->source.columns[i].is_hidden) code = add_column(p, i, NULL);
  }
  return code;
}

static tr_code add_expression(tr_group_planner *p, const tr_argument *item) {
  char *sql = tr_group_parenthesised(p, item->text);
  if (sql == NULL) return p->err->code;
  return add_field(p, item->alias, sql, -1);
}

static tr_code no_such_field(tr_group_planner *p, const char *name) {
  const tr_source_table *source = &p->plan->source;
  return tr_error_set(p->err, TR_INVALID_ARGUMENT, TR_GROUP_FUNCTION ": no such field: %s in %s.%s",
                      name, source->schema, source->name);
}

/* by_field_names: a column, or an expression with a name. */
static tr_code add_named(tr_group_planner *p, const tr_argument *item) {
  if (item->name == NULL && item->literal == NULL) {
    if (strcmp(item->text, "*") == 0) return add_all_columns(p);
    if (item->alias != NULL) return add_expression(p, item);
    return tr_group_refuse(
        p, item->text,
        "by_field_names takes columns; an expression needs a name (expression AS name), "
        "a path into JSON is for by_field_access");
  }
  const char *name = item->name != NULL ? item->name : item->literal;
  int column = tr_source_table_find_column(&p->plan->source, name);
  return column < 0 ? no_such_field(p, name) : add_column(p, column, item->alias);
}

/* by_field_ids: the position of a column, from 0, as PRAGMA table_info counts. */
static tr_code add_numbered(tr_group_planner *p, const tr_argument *item) {
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

static tr_code add_list(tr_group_planner *p, const tr_argument_list *list,
                        tr_code (*add)(tr_group_planner *, const tr_argument *)) {
  tr_code code = TR_OK;
  for (int i = 0; i < list->count && code == TR_OK; i++) code = add(p, &list->items[i]);
  return code;
}

/* One item of by_field_access, or of the ad hoc form. */
typedef struct path_item {
  const tr_argument *argument;
  tr_field_path path;
  int is_expression; /* not a path; only in the ad hoc form */
} path_item;

/* Whether another item selects all that this one does. Of two equal items the later is covered. */
static int is_covered(const path_item *items, int count, int index) {
  if (items[index].is_expression) return 0;
  const tr_field_path *path = &items[index].path;
  for (int i = 0; i < count; i++) {
    if (i == index || items[i].is_expression) continue;
    if (!tr_field_path_covers(&items[i].path, path)) continue;
    if (i < index || !tr_field_path_covers(path, &items[i].path)) return 1;
  }
  return 0;
}

static tr_code check_json_names(tr_group_planner *p, const tr_field_path *path) {
  for (int i = 1; i < path->step_count; i++) {
    if (strchr(path->steps[i].name, '"') == NULL) continue;
    return tr_group_refuse(p, path->steps[i].name,
                           "SQLite's JSON paths cannot hold a name with a quote");
  }
  return TR_OK;
}

static tr_code add_path_item(tr_group_planner *p, const path_item *item) {
  const tr_field_path *path = &item->path;
  const char *alias = item->argument->alias;
  if (item->is_expression) return add_expression(p, item->argument);
  if (path->step_count == 0) return add_all_columns(p);
  int column = tr_source_table_find_column(&p->plan->source, path->steps[0].name);
  if (column < 0) return no_such_field(p, path->steps[0].name);
  if (path->step_count == 1) return add_column(p, column, alias);
  tr_code code = check_json_names(p, path);
  if (code != TR_OK) return code;
  char *sql = tr_group_path_sql(&p->plan->source.columns[column], path);
  return add_field(p, alias != NULL ? alias : tr_field_path_name(path), sql, -1);
}

static tr_code parse_path_item(tr_group_planner *p, const tr_argument *argument,
                               int takes_expressions, path_item *item) {
  *item = (path_item){.argument = argument};
  const char *text = argument->literal != NULL ? argument->literal : argument->text;
  tr_code code = tr_field_path_parse(&item->path, tr_bytes_of_text(text), p->err);
  item->is_expression = code == TR_INVALID_ARGUMENT && takes_expressions &&
                        argument->alias != NULL && argument->literal == NULL;
  return item->is_expression ? TR_OK : code;
}

/* Adds paths, except those that others cover. */
static tr_code add_paths(tr_group_planner *p, const tr_argument_list *list, int takes_expressions) {
  path_item *items = tr_malloc(((size_t)list->count + 1) * sizeof *items);
  if (items == NULL) return tr_error_no_memory(p->err);
  tr_code code = TR_OK;
  int count = 0;
  for (; count < list->count && code == TR_OK; count++) {
    code = parse_path_item(p, &list->items[count], takes_expressions, &items[count]);
  }
  for (int i = 0; i < count && code == TR_OK; i++) {
    if (!is_covered(items, count, i)) code = add_path_item(p, &items[i]);
  }
  for (int i = 0; i < count; i++) tr_field_path_free(&items[i].path);
  tr_free(items);
  return code;
}

/* --- the whole ------------------------------------------------------------------------------ */

static const char *column_name(const tr_group_plan *plan, int i) {
  return i < plan->key_count ? plan->keys[i].name : plan->outputs[i - plan->key_count].name;
}

/*
** Checks that no two names are equal: among the columns of one table, or, in the ad hoc form, among
** the members of each of the two objects.
*/
static tr_code check_names(tr_group_planner *p, int is_one_table) {
  const tr_group_plan *plan = p->plan;
  int count = plan->key_count + plan->output_count;
  for (int i = 0; i < count; i++) {
    for (int j = !is_one_table && i >= plan->key_count ? plan->key_count : 0; j < i; j++) {
      const char *name = column_name(plan, i);
      if (sqlite3_stricmp(name, column_name(plan, j)) != 0) continue;
      return tr_group_refuse(p, name, "two columns of that name; give one another (AS name)");
    }
  }
  return TR_OK;
}

static tr_code read_source(tr_group_planner *p, const char *schema, const char *table) {
  tr_source_table *source = &p->plan->source;
  tr_code code = tr_source_table_read(source, p->db, TR_GROUP_FUNCTION, schema, table, p->err);
  if (code != TR_OK) return code;
  /*
  ** The key of the rows, if there is one, is for samples. It does not matter why there is none, but
  ** an error must not be taken for that.
  */
  tr_error reason = {0};
  code = tr_source_table_set_key(source, p->db, TR_GROUP_FUNCTION, NULL, &reason);
  if (code == TR_OK || code == TR_INVALID_ARGUMENT) return TR_OK;
  *p->err = reason;
  return code;
}

static tr_code finish(tr_group_planner *p, tr_code code, int is_one_table) {
  if (code == TR_OK && p->plan->output_count == 0) code = tr_group_add_rows(p);
  if (code == TR_OK) code = check_names(p, is_one_table);
  if (code == TR_OK) code = tr_group_plan_settle_collations(p->plan, p->host, p->err);
  if (code != TR_OK) tr_group_plan_free(p->plan);
  return tr_group_name_error(p->err, code);
}

static tr_code set_where(tr_group_planner *p, const char *expression) {
  p->plan->where = tr_group_parenthesised(p, expression);
  return p->plan->where == NULL ? p->err->code : TR_OK;
}

static tr_code read_clauses(tr_group_planner *p, const tr_module_arguments *arguments) {
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
  p->plan->shows_progress = values[PROGRESS].is_given && values[PROGRESS].integer == 1;
  p->plan->memory_limit = values[MEMORY].is_given ? (uint64_t)values[MEMORY].integer : 0;
  tr_code code = read_source(p, arguments->schema, arguments->table);
  if (code == TR_OK) code = add_list(p, &values[BY_NAMES].list, add_named);
  if (code == TR_OK) code = add_list(p, &values[BY_IDS].list, add_numbered);
  if (code == TR_OK && values[BY_ACCESS].is_given) code = add_paths(p, &values[BY_ACCESS].list, 0);
  if (code == TR_OK) code = add_list(p, &arguments->others, tr_group_add_aggregate);
  if (code == TR_OK && values[WHERE].is_given) code = set_where(p, values[WHERE].expression);
  return code;
}

tr_code tr_group_plan_of_module(tr_group_plan *plan, tr_host *host, int argc,
                                const char *const *argv, tr_error *err) {
  *plan = (tr_group_plan){0};
  tr_group_planner p = {plan, host, tr_host_db(host), err};
  tr_module_arguments arguments;
  tr_code code = tr_module_arguments_parse(&arguments, &syntax, argc, argv, err);
  if (code != TR_OK) return code;
  code = finish(&p, read_clauses(&p, &arguments), 1);
  tr_module_arguments_free(&arguments);
  return code;
}

static tr_code read_call(tr_group_planner *p, const tr_group_call *call) {
  char *schema, *table;
  tr_error reason;
  if (tr_table_name_parse(call->source, &schema, &table, &reason) != TR_OK) {
    tr_value given = tr_value_text(call->source);
    return tr_argument_refused(p->err, TR_GROUP_FUNCTION, "source", &given, &reason);
  }
  tr_code code = read_source(p, schema, table);
  tr_free(schema);
  tr_free(table);
  tr_argument_list list = {0};
  if (code == TR_OK) code = tr_argument_list_parse(&list, call->by, p->err);
  if (code == TR_OK && list.count > 0) code = add_paths(p, &list, 1);
  tr_argument_list_free(&list);
  if (code == TR_OK) code = tr_argument_list_parse(&list, call->aggregates, p->err);
  if (code == TR_OK) code = add_list(p, &list, tr_group_add_aggregate);
  tr_argument_list_free(&list);
  if (code == TR_OK && !tr_sql_is_blank(call->where)) {
    tr_clause_value where = {0};
    code = tr_clause_value_parse(&where, &syntax, WHERE, call->where, p->err);
    if (code == TR_OK) code = set_where(p, where.expression);
    tr_free(where.expression);
  }
  if (code == TR_OK && call->has_workers && (call->workers < 1 || call->workers > MAX_WORKERS)) {
    tr_value given = tr_value_integer(call->workers);
    code = tr_argument_error(p->err, TR_GROUP_FUNCTION, "workers", &given,
                             "must be from 1 to " TR_TEXT_OF(MAX_WORKERS));
  }
  p->plan->workers = call->has_workers ? (int)call->workers : 0;
  return code;
}

tr_code tr_group_plan_of_call(tr_group_plan *plan, tr_host *host, const tr_group_call *call,
                              tr_error *err) {
  *plan = (tr_group_plan){0};
  tr_group_planner p = {plan, host, tr_host_db(host), err};
  return finish(&p, read_call(&p, call), 0);
}

void tr_group_plan_free(tr_group_plan *plan) {
  for (int i = 0; i < plan->key_count; i++) {
    sqlite3_free(plan->keys[i].name);
    sqlite3_free(plan->keys[i].sql);
    sqlite3_free(plan->keys[i].collation_name);
  }
  for (int i = 0; i < plan->output_count; i++) {
    sqlite3_free(plan->outputs[i].name);
    sqlite3_free(plan->outputs[i].filter);
    for (int j = 0; j < TR_COMBINE_MAX_ARGUMENTS; j++) sqlite3_free(plan->outputs[i].inputs[j].sql);
  }
  tr_free(plan->keys);
  tr_free(plan->outputs);
  sqlite3_free(plan->where);
  tr_source_table_free(&plan->source);
  *plan = (tr_group_plan){0};
}

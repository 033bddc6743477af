/*
** The text of the inner statement:
**
**   SELECT tranche_group(key, ..., argument, ...) FROM source WHERE where AND condition ...
**
** If the collation of a key field is not one of SQLite's own three, only SQLite can compare it. The
** source is then wrapped in a SELECT that numbers the groups by dense_rank() over that field. The
** number is the key. What the field shows is its first value, which an aggregate keeps.
*/
#include "group_by_fields_inside.h"

/*
** A condition in the inner statement must let through all rows of every group that can pass in the
** query, where SQLite checks it once more. It may let through more.
**
** The two checks differ in affinity. In the inner statement the value has none, so it takes that of
** the field. In the query it may come from a column of numeric affinity. Then text of the field
** that looks like a number becomes a number. Such text sorts below ':', and is let through. If the
** field has TEXT affinity and the value is a number, there is no condition at all (is_to_pass_on).
** A field that is an expression may have an affinity that its column in the query has not: the
** unary + removes it.
*/
static void append_operand(sqlite3_str *sql, const tr_group_field *field, int is_expression) {
  sqlite3_str_appendf(sql, "%s%s", is_expression ? "+" : "", field->sql);
}

static void append_comparison(sqlite3_str *sql, const tr_group_condition *condition,
                              int *parameter) {
  static const struct {
    int op;
    const char *text;
  } operators[] = {
      {SQLITE_INDEX_CONSTRAINT_LT, "<"},  {SQLITE_INDEX_CONSTRAINT_LE, "<="},
      {SQLITE_INDEX_CONSTRAINT_GT, ">"},  {SQLITE_INDEX_CONSTRAINT_GE, ">="},
      {SQLITE_INDEX_CONSTRAINT_IS, "IS"},
  };
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    if (operators[i].op != condition->op) continue;
    sqlite3_str_appendf(sql, " %s ?%d", operators[i].text, (*parameter)++);
    return;
  }
  sqlite3_str_appendall(sql, " IN (");
  for (int i = 0; i < condition->value_count; i++) {
    sqlite3_str_appendf(sql, "%s?%d", i == 0 ? "" : ", ", (*parameter)++);
  }
  sqlite3_str_appendchar(sql, 1, ')');
}

/* Whether text that looks like a number may pass in the query but would not pass here. */
static int lets_numeric_text_through(const tr_group_condition *condition, tr_affinity affinity) {
  if (affinity >= TR_AFFINITY_NUMERIC) return 0;
  int is_below =
      condition->op == SQLITE_INDEX_CONSTRAINT_LT || condition->op == SQLITE_INDEX_CONSTRAINT_LE;
  for (int i = 0; i < condition->value_count; i++) {
    int type = sqlite3_value_type(condition->values[i]);
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) return 1;
    if (type == SQLITE_TEXT && is_below) return 1;
  }
  return 0;
}

/* Whether a field is an expression. A column of a view that has no type may be one, too. */
static int is_expression_key(const tr_group_plan *plan, int key) {
  int column = plan->keys[key].column;
  return column < 0 ||
         (plan->source.kind == TR_SOURCE_VIEW && plan->source.columns[column].type[0] == 0);
}

tr_affinity tr_group_affinity_of_key(const tr_group_plan *plan, int key) {
  if (is_expression_key(plan, key)) return TR_AFFINITY_BLOB;
  return plan->source.columns[plan->keys[key].column].affinity;
}

static void append_condition(sqlite3_str *sql, const tr_group_plan *plan,
                             const tr_group_condition *condition, int *parameter) {
  const tr_group_field *field = &plan->keys[condition->key];
  int is_expression = is_expression_key(plan, condition->key);
  tr_affinity affinity = tr_group_affinity_of_key(plan, condition->key);
  sqlite3_str_appendchar(sql, 1, '(');
  append_operand(sql, field, is_expression);
  if (condition->op == SQLITE_INDEX_CONSTRAINT_ISNULL) {
    sqlite3_str_appendall(sql, " IS NULL");
  } else {
    append_comparison(sql, condition, parameter);
    if (lets_numeric_text_through(condition, affinity)) {
      sqlite3_str_appendall(sql, " OR (");
      append_operand(sql, field, is_expression);
      sqlite3_str_appendall(sql, " >= '' AND ");
      append_operand(sql, field, is_expression);
      sqlite3_str_appendall(sql, " < ':')");
    }
  }
  sqlite3_str_appendchar(sql, 1, ')');
}

int tr_group_append_conditions(const tr_group_plan *plan, const tr_group_request *request,
                               sqlite3_str *sql) {
  int parameter = 1;
  if (plan->where != NULL || request->conditions.count == 0) {
    sqlite3_str_appendall(sql, plan->where != NULL ? plan->where : "1");
  }
  for (int i = 0; i < request->conditions.count; i++) {
    const tr_group_condition *condition = &request->conditions.items[i];
    if (i > 0 || plan->where != NULL) sqlite3_str_appendall(sql, " AND ");
    append_condition(sql, plan, condition, &parameter);
  }
  return parameter - 1;
}

/* Appends FROM ... WHERE .... The parameters of the conditions are ?1 and so on. */
static void append_source(sqlite3_str *sql, const tr_group_plan *plan, const char *schema,
                          const tr_group_request *request) {
  sqlite3_str_appendall(sql, " FROM ");
  tr_sql_append_table(sql, schema, plan->source.name);
  if (plan->where == NULL && request->conditions.count == 0) return;
  sqlite3_str_appendall(sql, " WHERE ");
  tr_group_append_conditions(plan, request, sql);
}

void tr_group_intake_append_arguments(const tr_group_intake *intake, sqlite3_str *sql) {
  for (int i = 0; i < intake->argument_count; i++) {
    sqlite3_str_appendf(sql, "%s%s", i == 0 ? "" : ", ", intake->arguments[i]);
  }
}

/*
** Appends the arguments and the source, which is a SELECT that numbers the groups of those fields
** that only SQLite can compare.
*/
static void append_ranked(sqlite3_str *sql, const tr_group_intake *intake, const char *schema,
                          const tr_group_request *request) {
  const tr_group_plan *plan = intake->result->plan;
  int count = intake->argument_count;
  for (int i = 0; i < count; i++) {
    int is_ranked = i < plan->key_count && plan->keys[i].is_foreign;
    sqlite3_str_appendf(sql, "%s%c%d", i == 0 ? "" : ", ", is_ranked ? 'r' : 'a', i);
  }
  sqlite3_str_appendall(sql, ") FROM (SELECT ");
  for (int i = 0; i < count; i++) {
    sqlite3_str_appendf(sql, "%s%s AS a%d", i == 0 ? "" : ", ", intake->arguments[i], i);
    if (i >= plan->key_count || !plan->keys[i].is_foreign) continue;
    sqlite3_str_appendf(sql, ", dense_rank() OVER (ORDER BY %s) AS r%d", intake->arguments[i], i);
  }
  append_source(sql, plan, schema, request);
  sqlite3_str_appendchar(sql, 1, ')');
}

tr_code tr_group_intake_prepare(const tr_group_intake *intake, sqlite3 *db, const char *schema,
                                const tr_group_request *request, sqlite3_stmt **stmt,
                                tr_error *err) {
  const tr_group_plan *plan = intake->result->plan;
  int count = intake->argument_count;
  *stmt = NULL;
  int most = sqlite3_limit(db, SQLITE_LIMIT_FUNCTION_ARG, -1);
  if (count > most) {
    return tr_error_set(err, TR_TOO_BIG,
                        "%d fields and arguments of aggregates; this connection allows %d", count,
                        most);
  }
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendall(sql, "SELECT " TR_GROUP_INNER_FUNCTION "(");
  if (tr_group_plan_has_foreign_collation(plan)) {
    append_ranked(sql, intake, schema, request);
  } else {
    tr_group_intake_append_arguments(intake, sql);
    sqlite3_str_appendchar(sql, 1, ')');
    append_source(sql, plan, schema, request);
  }
  return tr_sql_prepare(db, sql, stmt, err);
}

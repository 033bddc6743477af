/*
** The text of the inner statement:
**
**   SELECT tranche_group(key, ..., argument, ...) FROM source WHERE where AND condition ...
**
** A key field whose collation is none of SQLite's own three can only be compared by SQLite. There the
** source is wrapped in a SELECT that numbers the groups with dense_rank() over that field; the
** number is the key, and what the field shows is its first value, kept by an aggregate.
*/
#include "group_by_fields_intake.h"
#include "group_by_fields_run.h"

static void append_condition(sqlite3_str *sql, const tr_group_field *key, tr_affinity affinity,
                             const tr_group_condition *condition, int *parameter) {
  static const struct {
    int op;
    const char *text;
  } operators[] = {
      {SQLITE_INDEX_CONSTRAINT_LT, "<"},  {SQLITE_INDEX_CONSTRAINT_LE, "<="},
      {SQLITE_INDEX_CONSTRAINT_GT, ">"},  {SQLITE_INDEX_CONSTRAINT_GE, ">="},
      {SQLITE_INDEX_CONSTRAINT_IS, "IS"},
  };
  if (condition->op == SQLITE_INDEX_CONSTRAINT_ISNULL) {
    sqlite3_str_appendf(sql, "%s IS NULL", key->sql);
    return;
  }
  if (condition->op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL) {
    sqlite3_str_appendf(sql, "%s IS NOT NULL", key->sql);
    return;
  }
  sqlite3_str_appendf(sql, "(%s ", key->sql);
  if (condition->op == SQLITE_INDEX_CONSTRAINT_EQ) {
    sqlite3_str_appendall(sql, "IN (");
    for (int i = 0; i < condition->value_count; i++) {
      sqlite3_str_appendf(sql, "%s?%d", i == 0 ? "" : ", ", (*parameter)++);
    }
    sqlite3_str_appendchar(sql, 1, ')');
  } else {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
      if (operators[i].op != condition->op) continue;
      sqlite3_str_appendf(sql, "%s ?%d", operators[i].text, (*parameter)++);
    }
  }
  /*
  ** A field without affinity may be compared, in the query, with something that has one, which then
  ** changes the field: text equals a number there. So numbers stay in where the value is text,
  ** and text where it is a number; SQLite looks at every group once more.
  */
  int has_text = 0, has_number = 0;
  for (int i = 0; i < condition->value_count; i++) {
    int type = sqlite3_value_type(condition->values[i]);
    has_text |= type == SQLITE_TEXT;
    has_number |= type == SQLITE_INTEGER || type == SQLITE_FLOAT;
  }
  if (affinity == TR_AFFINITY_BLOB && has_text) sqlite3_str_appendf(sql, " OR %s < ''", key->sql);
  if (affinity == TR_AFFINITY_BLOB && has_number) {
    sqlite3_str_appendf(sql, " OR (%s >= '' AND %s < x'')", key->sql, key->sql);
  }
  sqlite3_str_appendchar(sql, 1, ')');
}

int tr_group_append_conditions(const tr_group_plan *plan, const tr_group_request *request,
                               sqlite3_str *sql) {
  int parameter = 1;
  if (plan->where != NULL || request->condition_count == 0) {
    sqlite3_str_appendall(sql, plan->where != NULL ? plan->where : "1");
  }
  for (int i = 0; i < request->condition_count; i++) {
    const tr_group_field *key = &plan->keys[request->conditions[i].key];
    tr_affinity affinity =
        key->column < 0 ? TR_AFFINITY_BLOB : plan->source.columns[key->column].affinity;
    if (i > 0 || plan->where != NULL) sqlite3_str_appendall(sql, " AND ");
    append_condition(sql, key, affinity, &request->conditions[i], &parameter);
  }
  return parameter - 1;
}

/* FROM ... WHERE ...; parameters of the conditions are ?1 and so on. */
static void append_source(sqlite3_str *sql, const tr_group_plan *plan,
                          const tr_group_request *request) {
  sqlite3_str_appendall(sql, " FROM ");
  tr_sql_append_table(sql, plan->source.schema, plan->source.name);
  if (plan->where == NULL && request->condition_count == 0) return;
  sqlite3_str_appendall(sql, " WHERE ");
  tr_group_append_conditions(plan, request, sql);
}

static void append_arguments(sqlite3_str *sql, char *const *arguments, int count) {
  for (int i = 0; i < count; i++) {
    sqlite3_str_appendf(sql, "%s%s", i == 0 ? "" : ", ", arguments[i]);
  }
}

/* The same over a SELECT that has numbered the groups of fields that only SQLite can compare. */
static void append_ranked(sqlite3_str *sql, const tr_group_plan *plan,
                          const tr_group_request *request, char *const *arguments, int count) {
  for (int i = 0; i < count; i++) {
    int is_ranked = i < plan->key_count && plan->keys[i].foreign_collation != NULL;
    sqlite3_str_appendf(sql, "%s%c%d", i == 0 ? "" : ", ", is_ranked ? 'r' : 'a', i);
  }
  sqlite3_str_appendall(sql, ") FROM (SELECT ");
  for (int i = 0; i < count; i++) {
    sqlite3_str_appendf(sql, "%s%s AS a%d", i == 0 ? "" : ", ", arguments[i], i);
    if (i >= plan->key_count || plan->keys[i].foreign_collation == NULL) continue;
    sqlite3_str_appendf(sql, ", dense_rank() OVER (ORDER BY %s) AS r%d", arguments[i], i);
  }
  append_source(sql, plan, request);
  sqlite3_str_appendchar(sql, 1, ')');
}

static int has_foreign_collation(const tr_group_plan *plan) {
  int has = 0;
  for (int i = 0; i < plan->key_count; i++) has |= plan->keys[i].foreign_collation != NULL;
  return has;
}

tr_code tr_group_prepare(sqlite3 *db, const tr_group_plan *plan, const tr_group_request *request,
                         char *const *arguments, int count, sqlite3_stmt **stmt, tr_error *err) {
  *stmt = NULL;
  int most = sqlite3_limit(db, SQLITE_LIMIT_FUNCTION_ARG, -1);
  if (count > most) {
    return tr_error_set(err, TR_TOO_BIG,
                        "%d fields and arguments of aggregates; this connection allows %d", count,
                        most);
  }
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendall(sql, "SELECT " TR_GROUP_INNER_FUNCTION "(");
  if (has_foreign_collation(plan)) {
    append_ranked(sql, plan, request, arguments, count);
  } else {
    append_arguments(sql, arguments, count);
    sqlite3_str_appendchar(sql, 1, ')');
    append_source(sql, plan, request);
  }
  return tr_sql_prepare(db, sql, stmt, err);
}

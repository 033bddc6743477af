/*
** Reads conditions, and drops those that only SQLite may check.
*/
#include "group_by_fields_conditions.h"

#include <stdlib.h>

#include "base/memory.h"
#include "host/in_lists.h"

/* More values than this in an IN are left to SQLite. */
#define MAX_VALUES 1000

static void free_values(tr_group_condition *condition) {
  for (int i = 0; i < condition->value_count; i++) sqlite3_value_free(condition->values[i]);
  tr_free(condition->values);
}

void tr_group_conditions_free(tr_group_conditions *conditions) {
  for (int i = 0; i < conditions->count; i++) free_values(&conditions->items[i]);
  tr_free(conditions->items);
  *conditions = (tr_group_conditions){0};
}

static tr_code append_value(tr_group_condition *condition, sqlite3_value *value, tr_error *err) {
  size_t count = (size_t)condition->value_count;
  if ((count & (count - 1)) == 0) {
    size_t room = count == 0 ? 1 : 2 * count;
    sqlite3_value **values = tr_realloc(condition->values, room * sizeof *values);
    if (values == NULL) return tr_error_no_memory(err);
    condition->values = values;
  }
  condition->values[count] = sqlite3_value_dup(value);
  if (condition->values[count] == NULL) return tr_error_no_memory(err);
  condition->value_count++;
  return TR_OK;
}

/* Reads the values of an IN. Of a long one it reads as many as show that it is too long. */
static tr_code read_values_of_in(tr_group_condition *condition, sqlite3 *db, sqlite3_value *list,
                                 tr_error *err) {
  sqlite3_value *value = NULL;
  int found = 1;
  while (condition->value_count <= MAX_VALUES &&
         (found = tr_in_list_next(db, list, &value, err)) == 1) {
    if (append_value(condition, value, err) != TR_OK) return TR_NO_MEMORY;
  }
  return found < 0 ? err->code : TR_OK;
}

/*
** Whether the inner statement can check the condition and lose no group (see
** group_by_fields_statement.c). It cannot if a field of TEXT affinity is compared with a number: in
** the query they may have been compared as numbers.
*/
static int is_to_pass_on(const tr_group_plan *plan, const tr_group_condition *condition) {
  if (condition->value_count > MAX_VALUES) return 0;
  int column = plan->keys[condition->key].column;
  if (column < 0 || plan->source.columns[column].affinity != TR_AFFINITY_TEXT) return 1;
  for (int i = 0; i < condition->value_count; i++) {
    int type = sqlite3_value_type(condition->values[i]);
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) return 0;
  }
  return 1;
}

/* Reads one condition; `term` is its number in the text of the plan. */
static tr_code read_condition(sqlite3 *db, const tr_group_plan *plan, long term,
                              sqlite3_value *value, tr_group_conditions *conditions,
                              tr_error *err) {
  tr_group_condition *condition = &conditions->items[conditions->count++];
  *condition =
      (tr_group_condition){.key = (int)(labs(term) / 1000), .op = (int)(labs(term) % 1000)};
  int is_null_test = condition->op == SQLITE_INDEX_CONSTRAINT_ISNULL;
  tr_code code = TR_OK;
  if (term < 0)
    code = read_values_of_in(condition, db, value, err);
  else if (!is_null_test)
    code = append_value(condition, value, err);
  if (code == TR_OK && !is_to_pass_on(plan, condition)) {
    free_values(condition);
    conditions->count--;
  }
  return code;
}

uint64_t tr_group_conditions_equal_keys(const char *text, int argc) {
  uint64_t keys = 0;
  for (int i = 0; i < argc; i++) {
    char *rest;
    long term = labs(strtol(text, &rest, 10));
    text = rest;
    if (term % 1000 == SQLITE_INDEX_CONSTRAINT_EQ) keys |= UINT64_C(1) << term / 1000;
  }
  return keys;
}

tr_code tr_group_conditions_read(sqlite3 *db, const tr_group_plan *plan, char *text,
                                 sqlite3_value **argv, int argc, tr_group_conditions *conditions,
                                 tr_error *err) {
  conditions->count = 0;
  conditions->items = tr_malloc(((size_t)argc + 1) * sizeof *conditions->items);
  if (conditions->items == NULL) return tr_error_no_memory(err);
  tr_code code = TR_OK;
  for (int i = 0; i < argc && code == TR_OK; i++) {
    code = read_condition(db, plan, strtol(text, &text, 10), argv[i], conditions, err);
  }
  return code;
}

int tr_group_conditions_are_same(const tr_group_conditions *a, const tr_group_conditions *b) {
  if (a->count != b->count) return 0;
  for (int i = 0; i < a->count; i++) {
    const tr_group_condition *x = &a->items[i], *y = &b->items[i];
    if (x->key != y->key || x->op != y->op || x->value_count != y->value_count) return 0;
    for (int j = 0; j < x->value_count; j++) {
      if (!tr_values_are_same(x->values[j], y->values[j])) return 0;
    }
  }
  return 1;
}

/*
** Finds a group by its key, in a result that is asked again and again, like the inner side of a
** join.
**
** SQLite checks the query's terms on each group once more. So what is found here must be the only
** group that can pass there. In that check, text may turn into a number, or a number into text, by
** the affinity of the field or by the affinity that the value had where it came from. So what can
** be looked up depends on the affinity of the field, and on the types that the groups have in it.
** (In a table these follow from the affinity, but not always in a view or a virtual table.)
**
**   numeric   all, where no group has text; text that spells a number is that number
**   TEXT      text and BLOBs, where no group has a number
**   none      text and BLOBs; numbers where no group has text
**
** For any other value the groups are walked.
*/
#include "group_by_fields_inside.h"

#define BIT(type) (1u << (type))
#define NUMBERS (BIT(TR_INTEGER) | BIT(TR_REAL))

/*
** The types that the groups have in a field, found once by walking them. 1: in `*types`. -1:
** failed.
*/
static int types_of(tr_group_result *result, int field, unsigned *types, tr_error *err) {
  tr_grouping_cursor cursor = {0};
  const tr_group *group;
  int has_next = 0;
  *types = result->key_types[field];
  if (*types != 0) return 1;
  while ((has_next = tr_group_result_next(result, &cursor, &group, err)) == 1) {
    *types |= BIT(tr_group_key_field(group, field).type);
  }
  if (has_next < 0) return -1;
  if (*types == 0) *types = BIT(TR_NULL); /* there is no group */
  result->key_types[field] = (unsigned char)*types;
  return 1;
}

/* What to look up for `= value`. 1: it is in `*found`. 0: it cannot be looked up. -1: failed. */
static int value_to_find(tr_group_result *result, int field, sqlite3_value *value, tr_value *found,
                         tr_error *err) {
  tr_affinity affinity = tr_group_affinity_of_key(result->plan, field);
  unsigned types;
  *found = tr_value_of_sqlite(value);
  if (found->type == TR_TEXT && found->bytes.data == NULL) {
    return tr_error_no(err, TR_NO_MEMORY, "out of memory");
  }
  if (types_of(result, field, &types, err) < 0) return -1;
  int is_number = found->type == TR_INTEGER || found->type == TR_REAL;
  if (affinity >= TR_AFFINITY_NUMERIC) {
    tr_value number;
    if (found->type == TR_TEXT && tr_spelled_number(value, found->bytes, &number)) *found = number;
    return !(types & BIT(TR_TEXT));
  }
  if (affinity == TR_AFFINITY_TEXT) return !is_number && !(types & NUMBERS);
  return !is_number || !(types & BIT(TR_TEXT));
}

int tr_group_result_find(tr_group_result *result, const tr_group_conditions *conditions,
                         const tr_group **group, tr_error *err) {
  tr_value key[TR_GROUP_MOST_CONDITIONS];
  int key_count = result->plan->key_count;
  uint64_t has = 0;
  if (key_count == 0 || key_count > TR_GROUP_MOST_CONDITIONS) return 0;
  for (int i = 0; i < conditions->count; i++) {
    const tr_group_condition *c = &conditions->items[i];
    if (c->op != SQLITE_INDEX_CONSTRAINT_EQ || c->value_count != 1) continue;
    if (has >> c->key & 1) continue; /* SQLite compares the other one */
    int is_found = value_to_find(result, c->key, c->values[0], &key[c->key], err);
    if (is_found < 0) return -1;
    if (!is_found) continue;
    has |= UINT64_C(1) << c->key;
    if (key[c->key].type == TR_NULL) { /* nothing equals it */
      *group = NULL;
      return 1;
    }
  }
  for (int i = 0; i < key_count; i++) {
    if (!(has >> i & 1)) return 0;
  }
  return tr_grouping_find(result->grouping, key, group, err) == TR_OK ? 1 : -1;
}

/*
** Finding a group by its key, in a result that is asked again and again, as the inner side of a join is.
**
** What is found must be all that can pass in the query, where SQLite compares once more; there the value may have
** come from a column of numeric affinity, which turns text into a number where it looks like one. So which
** values can be looked up depends on the field's affinity:
**
**   numeric   all; text that spells a number is that number
**   TEXT      text and BLOBs
**   none      text and BLOBs; numbers if no group has text there
**
** Where another one is asked for, the groups are walked.
*/
#include "group_by_fields_inside.h"

/* Whether some group has text in that field; each field is looked through once. 1, 0, -1. */
static int has_text(tr_group_result *result, int field, tr_error *err) {
  uint64_t bit = UINT64_C(1) << field;
  if (result->known_fields & bit) return (result->text_fields & bit) != 0;
  tr_grouping_cursor cursor = {0};
  const tr_group *group;
  int has_next, found = 0;
  while (!found && (has_next = tr_group_result_next(result, &cursor, &group, err)) == 1) {
    found = tr_group_key_field(group, field).type == TR_TEXT;
  }
  if (!found && has_next < 0) return -1;
  result->known_fields |= bit;
  if (found) result->text_fields |= bit;
  return found;
}

/* What to look up for `= value`: 1, 0 it cannot be known so, -1. */
static int value_to_find(tr_group_result *result, int field, sqlite3_value *value, tr_value *found,
                         tr_error *err) {
  tr_affinity affinity = tr_group_affinity_of_key(result->plan, field);
  *found = tr_value_of_sqlite(value);
  int is_number = found->type == TR_INTEGER || found->type == TR_REAL;
  if (found->type == TR_TEXT && found->bytes.data == NULL) {
    return tr_error_no(err, TR_NO_MEMORY, "out of memory");
  }
  if (affinity >= TR_AFFINITY_NUMERIC) {
    tr_value number;
    if (found->type == TR_TEXT && tr_spelled_number(value, found->bytes, &number)) *found = number;
    return 1;
  }
  if (!is_number) return 1;
  if (affinity == TR_AFFINITY_TEXT) return 0;
  int has = has_text(result, field, err);
  return has < 0 ? -1 : !has;
}

int tr_group_result_find(tr_group_result *result, const tr_group_condition *conditions, int count,
                         const tr_group **group, tr_error *err) {
  tr_value key[TR_GROUP_MOST_CONDITIONS];
  int key_count = result->plan->key_count;
  uint64_t has = 0;
  if (key_count == 0 || key_count > TR_GROUP_MOST_CONDITIONS) return 0;
  for (int i = 0; i < count; i++) {
    const tr_group_condition *c = &conditions[i];
    if (c->op != SQLITE_INDEX_CONSTRAINT_EQ || c->value_count != 1) continue;
    if (has >> c->key & 1) continue; /* the other one will be compared by SQLite */
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

/*
** The conditions on key fields with which SQLite asks for groups.
**
** The plan of a scan has them as text, a space and a number for each, in the order of the values
** that come with it: key * 1000 + op, or that with a minus sign where all values of an IN come at
** once.
*/
#ifndef TR_EXT_GROUP_BY_FIELDS_CONDITIONS_H
#define TR_EXT_GROUP_BY_FIELDS_CONDITIONS_H

#include "group_by_fields_run.h"

/*
** Reads them, but for those that the scan of the source must not look at, since it would lose
** groups. TR_NO_MEMORY, or TR_HOST where a list cannot be read; `*conditions` is to be freed in any
** case.
*/
tr_code tr_group_conditions_read(sqlite3 *db, const tr_group_plan *plan, char *text,
                                 sqlite3_value **argv, int argc, tr_group_condition **conditions,
                                 int *count, tr_error *err);
/* Whether both ask for the same, value by value. */
int tr_group_conditions_are_same(const tr_group_condition *a, int a_count,
                                 const tr_group_condition *b, int b_count);
void tr_group_conditions_free(tr_group_condition *conditions, int count); /* NULL is fine */

/* The keys that an = compares, a bit each. */
uint64_t tr_group_conditions_equal_keys(const char *text, int argc);

#endif

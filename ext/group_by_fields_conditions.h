/*
** The conditions on key fields with which SQLite asks for groups.
**
** The plan of a scan has them as text: a space and a number for each, in the order of the values
** that xFilter is given. The number is key * 1000 + op. It is negative if the value is the whole
** list of an IN.
*/
#ifndef TR_EXT_GROUP_BY_FIELDS_CONDITIONS_H
#define TR_EXT_GROUP_BY_FIELDS_CONDITIONS_H

#include "group_by_fields_run.h"

/*
** Reads the conditions, except those that the scan of the source must not check since it would lose
** groups. `*conditions` is overwritten; the caller frees it in any case. TR_NO_MEMORY. TR_HOST: a
** list cannot be read.
*/
tr_code tr_group_conditions_read(sqlite3 *db, const tr_group_plan *plan, char *text,
                                 sqlite3_value **argv, int argc, tr_group_conditions *conditions,
                                 tr_error *err);

/* Whether both ask for the same, value by value. */
int tr_group_conditions_are_same(const tr_group_conditions *a, const tr_group_conditions *b);

/* Frees them; afterwards there is none. */
void tr_group_conditions_free(tr_group_conditions *conditions);

/* The key fields that are compared by =, a bit for each. */
uint64_t tr_group_conditions_equal_keys(const char *text, int argc);

#endif

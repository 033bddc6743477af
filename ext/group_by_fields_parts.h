/*
** The smaller parts of group_by_fields, each in the file that is named here.
*/
#ifndef TR_EXT_GROUP_BY_FIELDS_PARTS_H
#define TR_EXT_GROUP_BY_FIELDS_PARTS_H

#include "base/field_path.h"
#include "group_by_fields_plan.h"

/*
** group_by_fields_path.c: the SQL expression for what a path selects, of two steps or more, the first
** of which is `column`; to be freed with sqlite3_free. NULL: out of memory.
*/
char *tr_group_path_sql(const tr_source_column *column, const tr_field_path *path);

/*
** group_by_fields_rows.c: two combine functions that are ours alone and never in an accumulator.
** rows(x) makes a JSON array of its inputs, which are JSON; first(x) is the first input.
*/
extern const tr_combine_fn tr_group_rows_fn;
extern const tr_combine_fn tr_group_first_fn;

/* group_by_fields_collations.c: finds the collation of every key field, and checks those of min and max. */
tr_code tr_group_plan_settle_collations(tr_group_plan *plan, sqlite3 *db, tr_error *err);

/*
** group_by_fields_run.c: puts the module's name before a message that does not begin with it. Returns
** `code`, which is the error's or TR_OK.
*/
tr_code tr_group_name_error(tr_error *err, tr_code code);

#endif

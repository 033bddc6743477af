/*
** The smaller parts of group_by_fields, each in the file that is named here.
*/
#ifndef TR_EXT_GROUP_BY_FIELDS_PARTS_H
#define TR_EXT_GROUP_BY_FIELDS_PARTS_H

#include "base/field_path.h"
#include "group_by_fields_plan.h"
#include "host/module_arguments.h"

/* A plan while it is made (group_by_fields_plan.c). */
typedef struct tr_group_planner {
  tr_group_plan *plan;
  tr_host *host;
  sqlite3 *db; /* the host's */
  tr_error *err;
} tr_group_planner;

/* Fills the error: `text` is refused, and why. */
tr_code tr_group_refuse(tr_group_planner *p, const char *text, const char *reason);
/* TR_NO_MEMORY, with the error, if the text is NULL. */
tr_code tr_group_check_text(tr_group_planner *p, const char *text);
/* Makes room for one more item behind `count`, all zero. NULL: out of memory. */
void *tr_group_grown(tr_group_planner *p, void **items, int count, size_t size);
/* `(text)`, checked to be whole; to be freed with sqlite3_free. NULL: failed. */
char *tr_group_parenthesised(tr_group_planner *p, const char *text);

/* `"name"`; to be freed with sqlite3_free. NULL: out of memory. */
char *tr_group_identifier(const char *name);

/*
** group_by_fields_aggregates.c: adds an output; or, where there is no aggregate, the group's rows.
*/
tr_code tr_group_add_aggregate(tr_group_planner *p, const tr_argument *item);
tr_code tr_group_add_rows(tr_group_planner *p);

/*
** group_by_fields_path.c: the SQL expression for what a path selects, of two steps or more, the
** first of which is `column`; to be freed with sqlite3_free. NULL: out of memory.
*/
char *tr_group_path_sql(const tr_source_column *column, const tr_field_path *path);

/*
** group_by_fields_rows.c: combine functions that are ours alone and never in an accumulator.
** rows(x) makes a JSON array of its inputs, which are JSON; first(x) is the first input;
** first_by(x, key) is the one with the lowest key, whatever the order.
*/
extern const tr_combine_fn tr_group_rows_fn;
extern const tr_combine_fn tr_group_first_fn;
extern const tr_combine_fn tr_group_first_by_fn;

/*
** group_by_fields_collations.c: finds the collation of every key field, and checks those of min and
** max.
*/
tr_code tr_group_plan_settle_collations(tr_group_plan *plan, tr_host *host, tr_error *err);

/*
** group_by_fields_wrong_part.c: where SQLite has refused a whole plan for a reason that stays, puts
** the part that is at fault before the reason, `where(x > 1): no such column: x`, if one alone is.
** Returns the error's code.
*/
tr_code tr_group_name_wrong_part(const tr_group_plan *plan, sqlite3 *db, tr_error *err);

/*
** group_by_fields_run.c: puts the module's name before a message that does not begin with it.
** Returns `code`, which is the error's or TR_OK.
*/
tr_code tr_group_name_error(tr_error *err, tr_code code);

#endif

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

/* Fills the error: `text` is refused for that reason. Returns TR_INVALID_ARGUMENT. */
tr_code tr_group_refuse(tr_group_planner *p, const char *text, const char *reason);
/* Returns TR_NO_MEMORY, and fills the error, if the text is NULL. */
tr_code tr_group_check_text(tr_group_planner *p, const char *text);
/*
** Grows `*items` by one item, all zero, after the first `count`. Returns the new one. NULL: out of
** memory.
*/
void *tr_group_grown(tr_group_planner *p, void **items, int count, size_t size);
/*
** Returns `(text)` after checking that it is one whole expression; the caller frees it with
** sqlite3_free. NULL: failed, and the error is filled.
*/
char *tr_group_parenthesised(tr_group_planner *p, const char *text);

/* Returns `"name"`; the caller frees it with sqlite3_free. NULL: out of memory. */
char *tr_group_identifier(const char *name);

/*
** group_by_fields_aggregates.c: adds the output for an aggregate, or, if there is no aggregate, the
** array of the group's rows.
*/
tr_code tr_group_add_aggregate(tr_group_planner *p, const tr_argument *item);
tr_code tr_group_add_rows(tr_group_planner *p);

/*
** group_by_fields_path.c: the SQL expression for a path of at least two steps, the first of which
** is `column`. The caller frees it with sqlite3_free. NULL: out of memory.
*/
char *tr_group_path_sql(const tr_source_column *column, const tr_field_path *path);

/*
** group_by_fields_rows.c: combine functions that only group_by_fields uses. They are never in an
** accumulator. rows(x) makes a JSON array of its inputs, which are JSON. first(x) is the first
** input. first_by(x, key) is the input with the lowest key, in whatever order they come.
*/
extern const tr_combine_fn tr_group_rows_fn;
extern const tr_combine_fn tr_group_first_fn;
extern const tr_combine_fn tr_group_first_by_fn;

/*
** group_by_fields_collations.c: finds the collation of every key field, and refuses min and max of
** a collation other than BINARY.
*/
tr_code tr_group_plan_settle_collations(tr_group_plan *plan, tr_host *host, tr_error *err);

/*
** group_by_fields_wrong_part.c: to be called when SQLite has refused a whole plan. If the reason is
** a lasting one and one part alone is at fault, puts this part before the reason, as in `where(x >
** 1): no such column: x`. Returns the error's code.
*/
tr_code tr_group_name_wrong_part(const tr_group_plan *plan, sqlite3 *db, tr_error *err);

/*
** group_by_fields_run.c: puts the module's name before a message that does not begin with it.
** `code` is the error's, or TR_OK, and is returned.
*/
tr_code tr_group_name_error(tr_error *err, tr_code code);

#endif

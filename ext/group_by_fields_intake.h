/*
** What one thread of a run needs to take rows in. An intake makes a key and inputs from the
** arguments of the aggregate function, and has the groups that they are added to. A run makes the
** first intake; the workers of parallel_group.h use copies of it.
**
** Thread-safety: an intake belongs to one thread. Copies share the data of the first one, which
** does not change any more and must outlive them.
*/
#ifndef TR_EXT_GROUP_BY_FIELDS_INTAKE_H
#define TR_EXT_GROUP_BY_FIELDS_INTAKE_H

#include "group_by_fields_run.h"

typedef struct tr_group_intake tr_group_intake;

/*
** Creates the parts that the groupings of the copies share. The caller frees them after the copies.
** TR_NO_MEMORY.
*/
tr_code tr_group_intake_create_parts(const tr_group_intake *intake, int copies,
                                     tr_group_parts **parts, tr_error *err);

/* Makes a copy that has no groups yet and uses those parts. TR_NO_MEMORY, TR_TOO_BIG. */
tr_code tr_group_intake_copy(const tr_group_intake *from, tr_group_parts *parts,
                             tr_group_intake **copy, tr_error *err);
void tr_group_intake_free_copy(tr_group_intake *copy); /* NULL is fine */

/* The first adds all rows in hand to the groups; the second forgets them. */
tr_code tr_group_intake_commit(tr_group_intake *intake);
void tr_group_intake_drop(tr_group_intake *intake);

/* The number of rows in hand. */
int tr_group_intake_rows(const tr_group_intake *intake);

const tr_error *tr_group_intake_error(const tr_group_intake *intake);

/* The groups. The second function makes them the caller's. */
tr_grouping *tr_group_intake_grouping(const tr_group_intake *intake);
tr_grouping *tr_group_intake_take_grouping(tr_group_intake *intake);

/*
** Whether the result depends on the order in which rows come in, so that only one thread returns
** the right one.
*/
int tr_group_intake_has_order(const tr_group_intake *intake);

/*
** Whether an aggregate keeps what equal keys of different looks show, so that their order does not
** matter.
*/
int tr_group_intake_knows_looks(const tr_group_intake *intake);

/* --- group_by_fields_statement.c --------------------------------------------------------- */

/* Appends the SQL of the arguments: `a, b, (c + 1)`. */
void tr_group_intake_append_arguments(const tr_group_intake *intake, sqlite3_str *sql);

/*
** Prepares the inner statement on a connection that has the source in `schema`. Its parameters are
** the values of the conditions, in their order. TR_TOO_BIG: more arguments than the connection
** allows.
*/
tr_code tr_group_intake_prepare(const tr_group_intake *intake, sqlite3 *db, const char *schema,
                                const tr_group_request *request, sqlite3_stmt **stmt,
                                tr_error *err);

/*
** Appends `(where) AND conditions`, or `1` if there are none. The parameters are ?1 and so on.
** Returns how many there are.
*/
int tr_group_append_conditions(const tr_group_plan *plan, const tr_group_request *request,
                               sqlite3_str *sql);

/* --- group_by_fields_run.c --------------------------------------------------------------- */

/* Binds the values of the conditions. */
tr_code tr_group_bind_conditions(sqlite3 *db, sqlite3_stmt *stmt, const tr_group_request *request,
                                 tr_error *err);

#endif

/*
** What one thread of a run needs to take rows in: how the arguments of the aggregate function
** become a key and inputs, and the groups that they go to. (A run makes the first; the workers of
** parallel_group.h take copies.)
**
** Thread-safety: an intake belongs to one thread. Copies share what the first was made of, which
** nobody changes any more; so it must outlive them.
*/
#ifndef TR_EXT_GROUP_BY_FIELDS_INTAKE_H
#define TR_EXT_GROUP_BY_FIELDS_INTAKE_H

#include "group_by_fields_run.h"

typedef struct tr_group_intake tr_group_intake;

/*
** What groups have in common, and the parts that the copies' groupings share, to be freed after
** them.
*/
tr_code tr_group_intake_create_parts(const tr_group_intake *intake, int copies,
                                     tr_group_parts **parts, tr_error *err);

/* A copy with no groups yet, over those parts. TR_NO_MEMORY, TR_TOO_BIG. */
tr_code tr_group_intake_copy(const tr_group_intake *from, tr_group_parts *parts,
                             tr_group_intake **copy, tr_error *err);
void tr_group_intake_free_copy(tr_group_intake *copy); /* NULL is fine */

/*
** Takes a row, of as many arguments as there are, in hand: with those before it, it is added to the
** groups by commit, or never, if they are dropped. 0: there is room for more; 1: there is none; -1:
** the error is the intake's, and so it is if a row comes for which there is no room: the statement
** then gave its rows to a sorter first.
*/
int tr_group_intake_take(tr_group_intake *intake, sqlite3_value **arguments);
tr_code tr_group_intake_commit(tr_group_intake *intake);
void tr_group_intake_drop(tr_group_intake *intake);

/* How many rows are in hand. */
int tr_group_intake_rows(const tr_group_intake *intake);

const tr_error *tr_group_intake_error(const tr_group_intake *intake);

/* Its groups; taking them makes them the caller's. */
tr_grouping *tr_group_intake_grouping(const tr_group_intake *intake);
tr_grouping *tr_group_intake_take_grouping(tr_group_intake *intake);

/*
** Whether the order in which rows come in can be seen in the result, so that only one thread gives
** the right one.
*/
int tr_group_intake_has_order(const tr_group_intake *intake);

/*
** Whether keys that can look different are shown by an aggregate, so that their order does not
** matter.
*/
int tr_group_intake_knows_looks(const tr_group_intake *intake);

/* --- group_by_fields_statement.c --------------------------------------------------------- */

/* Appends the SQL of the arguments: `a, b, (c + 1)`. */
void tr_group_intake_append_arguments(const tr_group_intake *intake, sqlite3_str *sql);

/*
** Prepares the inner statement on a connection that has the source in `schema`; the values of the
** conditions, in their order, are its parameters. TR_TOO_BIG: more arguments than the connection
** allows.
*/
tr_code tr_group_intake_prepare(const tr_group_intake *intake, sqlite3 *db, const char *schema,
                                const tr_group_request *request, sqlite3_stmt **stmt,
                                tr_error *err);

/*
** Appends `(where) AND conditions`, or `1`; the conditions' parameters are ?1 and so on, and their
** number is returned.
*/
int tr_group_append_conditions(const tr_group_plan *plan, const tr_group_request *request,
                               sqlite3_str *sql);

/* --- group_by_fields_run.c --------------------------------------------------------------- */

/* Binds the conditions' parameters. */
tr_code tr_group_bind_conditions(sqlite3 *db, sqlite3_stmt *stmt, const tr_group_request *request,
                                 tr_error *err);

#endif

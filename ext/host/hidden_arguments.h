/*
** Hidden columns that are arguments: `WHERE tracker = 'w1'`. Only `=` can pass a value to the scan.
** Any other comparison would compare with a column that is NULL, and silently give no rows, so it
** is an error.
**
** Thread-safety: pure except for SQLite's memory.
*/
#ifndef TR_HOST_HIDDEN_ARGUMENTS_H
#define TR_HOST_HIDDEN_ARGUMENTS_H

#include "host/sqlite_host.h"

typedef struct tr_hidden_arguments {
  const char *function;     /* for errors */
  const char *const *names; /* of `count` columns, from column `first` on */
  int first;
  int count;
  int single; /* the argument that IN must not give: a second scan would find nothing; -1: none */
} tr_hidden_arguments;

/*
** Called first in xBestIndex. Returns SQLITE_OK, or SQLITE_ERROR with the table's error set: an
** argument that no `=` gives is compared otherwise, or IN gives the `single` argument (SQLite tells
** that since 3.38).
*/
int tr_hidden_arguments_check(const tr_hidden_arguments *arguments, sqlite3_vtab *vtab,
                              sqlite3_index_info *info);

/*
** Copies of the arguments that a scan was given. The scan gives them back as columns, because
** SQLite compares them again if it plans an OR as several scans.
**
** In such a plan SQLite uses the rowid to recognize a row that several scans find. Rows for
** different arguments must have different rowids, so a table that numbers its rows adds `hash` to
** the number. All zero: no arguments.
*/
#define TR_KEPT_ARGUMENTS 6
typedef struct tr_kept_arguments {
  sqlite3_value *values[TR_KEPT_ARGUMENTS]; /* NULL: not given */
  uint64_t hash;                            /* of all arguments; 4 and 4.0 are the same argument */
} tr_kept_arguments;

/*
** Replaces the kept arguments by copies of `argv`, which holds those that `mask` has a bit for, in
** the order of the bits. TR_NO_MEMORY.
*/
tr_code tr_kept_arguments_set(tr_kept_arguments *kept, int mask, sqlite3_value **argv,
                              tr_error *err);
/* Whether the kept arguments are exactly those that `mask` has a bit for, in value and type. */
int tr_kept_arguments_are(const tr_kept_arguments *kept, int mask, sqlite3_value **argv);
void tr_kept_arguments_free(tr_kept_arguments *kept); /* Makes it all zero. */

/* Whether the query uses an argument's column and no `=` in this plan gives the argument. */
int tr_hidden_argument_is_missing(const sqlite3_index_info *info, int column);

/*
** Raises the cost of a plan for each argument that it lacks, of the `count` arguments from column
** `first` on. An argument that no `=` gives is lacking if the query uses its column, or if it is
** one of the first `required_count`. `place` is the position of the first of them: 0, or 1 if
** CREATE gave the first argument.
**
** Why costs must tell arguments apart: `(tracker = 'a' AND id = 3) OR (tracker = 'b' AND id = 7)`
** could be planned as one scan without a tracker, and all rows would then fail the comparison. It
** must be two scans. But `tracker = 'a' AND (id = 3 OR id = 7)` must be one. Up to 3.45 SQLite
** estimates the sides of an OR without the terms beside it, though in the end each side gets those,
** too. So it compares plans that lack what is inside the OR with plans that lack what is beside it,
** and a table cannot see which is which.
**
** Arguments are usually given by position, and the first ones are then beside the OR, as in
** `f('t') WHERE by = 'a' AND ... OR by = 'b' AND ...`. So a lacking argument costs more than all
** arguments before it together. The first argument may be a column of another table of a join,
** which must then be read first. So a plan that lacks the first argument also claims a great many
** rows.
*/
void tr_hidden_arguments_weigh(sqlite3_index_info *info, int first, int place, int count,
                               int required_count);

#endif

/*
** Hidden columns that are arguments: `WHERE tracker = 'w1'`. A value reaches the scan by = alone;
** any other comparison would be made with a column that is NULL, and quietly give no rows.
**
** Thread-safety: pure but for SQLite's memory.
*/
#ifndef TR_HOST_HIDDEN_ARGUMENTS_H
#define TR_HOST_HIDDEN_ARGUMENTS_H

#include "host/sqlite_host.h"

typedef struct tr_hidden_arguments {
  const char *function;     /* named in errors */
  const char *const *names; /* of `count` columns, from column `first` on */
  int first;
  int count;
  int single; /* the argument that no IN may give, as a second scan would find nothing; -1: none */
} tr_hidden_arguments;

/*
** First of all in xBestIndex. SQLITE_ERROR, and the table's error is set: an argument that no =
** gives is compared otherwise; a list gives the single one (which a host before 3.38 does not
** tell).
*/
int tr_hidden_arguments_check(const tr_hidden_arguments *arguments, sqlite3_vtab *vtab,
                              sqlite3_index_info *info);

/*
** The values that a scan was given, kept to be given back as columns: SQLite looks at them again
** where it plans an OR as several scans. By the rowid it then knows a row again that several of
** them find; rows of different arguments must not be taken for one another, so whoever counts rows
** adds the hash. All zero: none.
*/
#define TR_KEPT_ARGUMENTS 6
typedef struct tr_kept_arguments {
  sqlite3_value *values[TR_KEPT_ARGUMENTS]; /* copies; NULL: not given */
  uint64_t hash;                            /* of all of them; 4 and 4.0 are one argument */
} tr_kept_arguments;

/*
** Copies those that `mask` has a bit for, in the order of `argv`, in the place of what was kept.
** TR_NO_MEMORY.
*/
tr_code tr_kept_arguments_set(tr_kept_arguments *kept, int mask, sqlite3_value **argv,
                              tr_error *err);
void tr_kept_arguments_free(tr_kept_arguments *kept); /* Makes it all zero. */

/* Whether the query looks at an argument's column and the plan does not have the argument. */
int tr_hidden_argument_is_missing(const sqlite3_index_info *info, int column);

/*
** Makes a plan dearer for the arguments that it lacks, of `count` from column `first` on:
** those that the query looks at, and the first `required_count` in any case. `place` is that of the
** first of them: 0, or 1 where the first argument was given by CREATE.
**
** `(tracker = 'a' AND id = 3) OR (tracker = 'b' AND id = 7)` could be one scan without any tracker,
** whose rows all fail; it must be two. `tracker = 'a' AND (id = 3 OR id = 7)` must be one. SQLite,
** up to 3.45, reckons the sides of an OR without what stands beside it, though in the end each of
** them has that, too; so it weighs a plan that lacks what is in the sides against plans that lack
** what is beside them, and a table cannot tell which is which. As arguments are given by their
** places, the first ones beside the OR (`f('t') WHERE by = 'a' AND ... OR by = 'b' AND ...`), one
** that is lacking outweighs all those before it. And as the first one may come from another table,
** which it would then read too late, a plan that lacks it gives so many rows that other tables come
** before it.
*/
void tr_hidden_arguments_weigh(sqlite3_index_info *info, int first, int place, int count,
                               int required_count);

#endif

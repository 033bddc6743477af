/*
** What SQLite tells a virtual table about the right side of a constraint: whether it is the list of
** an IN, which the table can have whole, and its value, if that is known already.
**
** SQLite tells this since 3.38. With an older header at compile time or an older library at run
** time, no constraint is a list and no value is known. Then SQLite begins a scan for each value of
** an IN.
**
** Thread-safety: as SQLite's for one connection.
*/
#ifndef TR_HOST_IN_LISTS_H
#define TR_HOST_IN_LISTS_H

#include "host/sqlite_host.h"

/* Whether SQLite tells. If it does not, any `=` may be an IN. */
int tr_in_lists_are_told(void);

/*
** For xBestIndex: whether constraint `i` is an IN; and takes its list, which xFilter then gets as
** one value.
*/
int tr_is_in_list(sqlite3_index_info *info, int i);
void tr_take_in_list(sqlite3_index_info *info, int i);

/*
** For xBestIndex: the value on the right of constraint `i`, owned by SQLite. NULL: not known yet.
*/
sqlite3_value *tr_constraint_value(sqlite3_index_info *info, int i);

/*
** For xFilter: sets `*value` to the next value of the list, or to the first if `*value` is NULL.
** Returns 1; 0 after the last; -1 with SQLite's error. SQLite owns the value, which is valid until
** the next call.
*/
int tr_in_list_next(sqlite3 *db, sqlite3_value *list, sqlite3_value **value, tr_error *err);

#endif

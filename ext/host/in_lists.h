/*
** What stands on the right of a constraint, as far as SQLite tells a virtual table: whether it is
** the list of an IN, which can be had whole, and its value, where that is known already.
**
** It tells since 3.38. Of an older one, be it the header that we are compiled with or the library
** that we run in, no constraint is a list and no value is known; then there is a scan for each
** value of an IN.
**
** Thread-safety: as SQLite's for one connection.
*/
#ifndef TR_HOST_IN_LISTS_H
#define TR_HOST_IN_LISTS_H

#include "host/sqlite_host.h"

/* Whether SQLite tells. If not, any `=` may be an IN. */
int tr_in_lists_are_told(void);

/* In xBestIndex: whether constraint `i` is an IN. Taken, its list comes to xFilter as one value. */
int tr_is_in_list(sqlite3_index_info *info, int i);
void tr_take_in_list(sqlite3_index_info *info, int i);

/* In xBestIndex: the value on the right of constraint `i`, SQLite's; NULL: not known yet. */
sqlite3_value *tr_constraint_value(sqlite3_index_info *info, int i);

/*
** In xFilter: makes `*value` the list's next one, the first where it is NULL: 1; 0 behind the last;
** -1. It is SQLite's until the next call.
*/
int tr_in_list_next(sqlite3 *db, sqlite3_value *list, sqlite3_value **value, tr_error *err);

#endif

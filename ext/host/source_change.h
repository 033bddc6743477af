/*
** Whether a table is still as it was read (source_table.h). Between two calls anybody may have
** dropped it, or given it other columns or another key.
**
** Thread-safety: as SQLite's for one connection.
*/
#ifndef TR_HOST_SOURCE_CHANGE_H
#define TR_HOST_SOURCE_CHANGE_H

#include "host/source_table.h"

/*
** Whether the table is still as it was read. 1: yes. 0: it is gone, or was changed in a way that
** matters, which `err` names. -1: failed. While the schema's version is the same, that is all that
** is read.
*/
int tr_source_table_is_current(tr_source_table *source, sqlite3 *db, const char *function,
                               tr_error *err);

/*
** The same for a table that was read again into `now`, without running a statement. It does not
** check that the key still is one. 1, or 0 with the change in `err`.
*/
int tr_source_table_is_as_before(const tr_source_table *then, const tr_source_table *now,
                                 const char *function, tr_error *err);

#endif

/*
** Whether a statement that reads a source also writes to it, as INSERT INTO t SELECT ... FROM a
** scan of t does.
*/
#ifndef TR_HOST_SOURCE_WRITES_H
#define TR_HOST_SOURCE_WRITES_H

#include "host/source_table.h"

/*
** 1 if a running statement of the connection writes to the source, also by a trigger. Also 1 if a
** statement writes and it is not certain that it writes elsewhere: it writes to a virtual table, or
** the source is a view or a virtual table. Else 0. Compiles each running statement that writes.
** Thread-safety: as SQLite's for one connection.
*/
int tr_source_is_written(const tr_source_table *source, sqlite3 *db);

#endif

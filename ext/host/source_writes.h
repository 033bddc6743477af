/*
** Whether a statement that reads a source writes to it as well, as INSERT INTO t SELECT ... FROM a
** scan of t does.
*/
#ifndef TR_HOST_SOURCE_WRITES_H
#define TR_HOST_SOURCE_WRITES_H

#include "host/source_table.h"

/*
** 1 if a statement of the connection that is under way writes to the source, by a trigger too, or
** if it writes and cannot be known to write elsewhere: into a virtual table, or where the source is
** a view or a virtual table; else 0. Costs the compilation of that statement. Thread-safety: as
** SQLite's for one connection.
*/
int tr_source_is_written(const tr_source_table *source, sqlite3 *db);

#endif

/*
** How many rows a table has, roughly: for query plans, for deciding whether several threads are
** worth it, and for telling how far a job is.
**
** Thread-safety: as SQLite's for one connection.
*/
#ifndef TR_HOST_SOURCE_ESTIMATE_H
#define TR_HOST_SOURCE_ESTIMATE_H

#include "host/source_table.h"

/*
** A rough number of rows: from sqlite_stat1 if ANALYZE was run, else guessed from the size of the
** file and the span of the rowids. Never fails.
*/
int64_t tr_source_table_estimated_rows(const tr_source_table *source, sqlite3 *db);

#endif

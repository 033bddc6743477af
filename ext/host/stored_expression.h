/*
** Checks which functions an expression may call if it is part of a file, as where(...) of a virtual
** table outside temp is. Whoever opens the file and reads the table runs the expression, so it may
** do only what a view may do. SQLite itself checks views and triggers. But it takes our inner
** statement for one that the user typed.
**
** Thread-safety: as SQLite's for one connection.
*/
#ifndef TR_HOST_STORED_EXPRESSION_H
#define TR_HOST_STORED_EXPRESSION_H

#include "host/sqlite_host.h"

/*
** TR_INVALID_ARGUMENT, with only the reason: the expression reads another table, or calls a
** function that the connection does not have, one that is DIRECTONLY with any number of arguments,
** or one that is not INNOCUOUS while trusted_schema is off. `*needs_trust` is set to whether a
** function in it is not INNOCUOUS. TR_HOST, TR_NO_MEMORY.
*/
tr_code tr_stored_expression_check(sqlite3 *db, const char *expression, int *needs_trust,
                                   tr_error *err);

/* Whether the connection trusts what is in schemas (PRAGMA trusted_schema). */
int tr_schemas_are_trusted(sqlite3 *db);

#endif

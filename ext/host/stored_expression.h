/*
** Which functions an expression may call that is part of a file: where(...) of a virtual table that
** does not live in temp. Whoever opens the file and reads the table runs it, so it may do what a
** view may, and no more: SQLite itself looks at views and triggers, but to it our inner statement
** is one that the user typed.
**
** Thread-safety: as SQLite's for one connection.
*/
#ifndef TR_HOST_STORED_EXPRESSION_H
#define TR_HOST_STORED_EXPRESSION_H

#include "host/sqlite_host.h"

/*
** TR_INVALID_ARGUMENT, with the reason alone: it calls a function that the connection does not
** have, one that is DIRECTONLY with any number of arguments, with trusted_schema off one that is
** not INNOCUOUS; it reads another table. `*needs_trust`: a function in it is not INNOCUOUS.
*/
tr_code tr_stored_expression_check(sqlite3 *db, const char *expression, int *needs_trust,
                                   tr_error *err);

/* Whether the connection trusts what stands in schemas (PRAGMA trusted_schema). */
int tr_schemas_are_trusted(sqlite3 *db);

#endif

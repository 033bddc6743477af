/*
** Finds the collation with which SQLite compares an expression.
**
** SQLite tells the collation of a table's column, but not that of a view's column or of an
** expression. The only place where it names those is a virtual table's xBestIndex. So a virtual
** table of our own has SQLite plan `expression = value`, and learns the collation there. No
** statement is run.
**
** Thread-safety: as SQLite's for one connection.
*/
#ifndef TR_HOST_COLLATION_H
#define TR_HOST_COLLATION_H

#include "host/sqlite_host.h"

/* Registers the virtual table on the host's connection. Returns a SQLite code. */
int tr_collation_register(tr_host *host);

/*
** Sets `*name` to the collation of `expression` over "schema"."table"; the caller frees it with
** sqlite3_free. TR_HOST with SQLite's text: the expression does not compile. TR_INVALID_STATE: the
** database has a table of the probe's name. TR_NO_MEMORY. On failure `*name` is NULL.
*/
tr_code tr_collation_of_expression(tr_host *host, const char *schema, const char *table,
                                   const char *expression, char **name, tr_error *err);

#endif

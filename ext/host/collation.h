/*
** Which collation SQLite compares an expression with.
**
** SQLite tells the collation of a table's column, but not of a view's or of an expression; the one
** place where it names any is a virtual table's xBestIndex. So a virtual table of our own is asked
** to plan `expression = value` and told the answer. Nothing is run.
**
** Thread-safety: as SQLite's for one connection.
*/
#ifndef TR_HOST_COLLATION_H
#define TR_HOST_COLLATION_H

#include "host/sqlite_host.h"

/* Registers the virtual table on the host's connection; a SQLite code. */
int tr_collation_register(tr_host *host);

/*
** `*name` is the collation of `expression` over "schema"."table", to be freed with sqlite3_free.
** TR_HOST with SQLite's text if the expression does not compile; TR_NO_MEMORY.
*/
tr_code tr_collation_of_expression(tr_host *host, const char *schema, const char *table,
                                   const char *expression, char **name, tr_error *err);

#endif

/*
** What a virtual table that reads other schemas must do while it is created.
**
** When a statement is run, SQLite notices that another connection has changed a schema. It then
** forgets what it knew about that schema and about temp. If that happens while xCreate runs for a
** table in temp, SQLite also forgets the very table that is being created, with xCreate's
** arguments. So stale schemas must be found before anything else is done.
**
** (SQLITE_VTAB_USES_ALL_SCHEMAS, since 3.41, would make SQLite check all schemas before every
** statement that uses the table. But a statement that writes, even if only into temp, would then
** begin a write transaction in all of them. A file opened for reading refuses that, and other
** writers would have to wait.)
**
** Thread-safety: as SQLite's for one connection.
*/
#ifndef TR_HOST_SCHEMA_FRESHNESS_H
#define TR_HOST_SCHEMA_FRESHNESS_H

#include "host/sqlite_host.h"

/*
** Called first in xCreate and xConnect. `schema` is that of the table, argv[1]. SQLITE_OK: no
** schema was stale, and none can become stale before the statement ends, because all are being
** read. Any other SQLite code must be returned at once: argv is gone, and sqlite3_declare_vtab must
** not be called. Usually the code is SQLITE_SCHEMA, and SQLite prepares the statement again by
** itself. For another code, such as a locked file, `*message` is set.
*/
int tr_schemas_read_afresh(sqlite3 *db, const char *schema, char **message);

#endif

/*
** What a virtual table that reads other schemas owes SQLite while it is created.
**
** SQLite notices that another connection has changed a schema when a statement is run, and then
** forgets what it knew of that schema and of temp. While xCreate runs for a table in temp, that
** includes the very table that is being created, with xCreate's arguments. So a schema that is
** stale must be met before anything else is done.
**
** (SQLITE_VTAB_USES_ALL_SCHEMAS, since 3.41, would make SQLite look at all schemas before every
** statement that uses the table; but one that writes, if only into temp, would then begin a write
** in all of them, which a file opened for reading refuses and other writers have to wait for.)
**
** Thread-safety: as SQLite's for one connection.
*/
#ifndef TR_HOST_SCHEMA_FRESHNESS_H
#define TR_HOST_SCHEMA_FRESHNESS_H

#include "host/sqlite_host.h"

/*
** First of all in xCreate and xConnect. `schema` is the table's, argv[1]. SQLITE_OK: no schema was
** stale, and none can become so before the statement ends, as all are being read. Else a SQLite
** code, to be returned at once: argv is gone, sqlite3_declare_vtab must not be called. (Mostly it
** is SQLITE_SCHEMA, for which SQLite prepares the statement again by itself; of any other, as that
** a file is locked, `*message` says what it is.)
*/
int tr_schemas_read_afresh(sqlite3 *db, const char *schema, char **message);

#endif

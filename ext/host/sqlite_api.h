/*
** SQLite's own header, in the form for each build. Loaded as an extension, we call SQLite through
** the host's table of functions (sqlite3ext.h). Linked into a program (-DSQLITE_CORE), we call it
** directly. Every file of ext/ includes this first; only extension.c defines the table.
**
** Constants that are newer than the oldest header we build with are defined here. Their values are
** part of SQLite's stable interface. A host that does not know a flag ignores it.
*/
#ifndef TR_HOST_SQLITE_API_H
#define TR_HOST_SQLITE_API_H

#ifdef SQLITE_CORE
#include <sqlite3.h>
#else
#include <sqlite3ext.h>
#ifndef TR_DEFINES_SQLITE_API
extern const sqlite3_api_routines *sqlite3_api;
#endif
#endif

#ifndef SQLITE_RESULT_SUBTYPE
#define SQLITE_RESULT_SUBTYPE 0x001000000 /* since 3.45 */
#endif

#ifndef SQLITE_INDEX_CONSTRAINT_LIMIT /* since 3.38 */
#define SQLITE_INDEX_CONSTRAINT_LIMIT 73
#define SQLITE_INDEX_CONSTRAINT_OFFSET 74
#endif

/* The subtype that marks text as JSON, so that json_array(f(x)) nests instead of quoting. */
#define TR_JSON_SUBTYPE 74

#endif

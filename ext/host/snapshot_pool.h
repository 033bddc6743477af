/*
** Connections with which threads read one of the caller's files. All see the same snapshot of the
** file as the caller.
**
** A connection of the pool is READONLY and NOMUTEX, uses the same VFS and URI parameters as the
** caller, and reads through a memory map. The connections stay open between queries, so that the
** next query can begin at once. They must be closed (tr_snapshot_pool_close) before the caller's
** connection closes its files. In WAL mode the last connection to a file writes the log back and
** removes it, and a READONLY one cannot.
**
** One snapshot. Before anything is read, it is proved that all connections see the same state of
** the file as the caller:
**
**   - A spare connection reads PRAGMA data_version. The caller takes its snapshot, then all
**     connections take theirs. Then the spare reads data_version again. If it is equal, nobody has
**     committed in between, and all have the same snapshot. If not, all is tried again a few times.
**   - If the caller already has its snapshot (its outer query reads the file), the first
**     data_version must be older than that snapshot. tr_snapshot_pool_note reads it at a moment
**     when the caller has none.
**   - In rollback mode no such proof is needed: the caller's own lock keeps writers from committing
**     for as long as it has a snapshot.
**
** What cannot be proved is refused with a reason: uncommitted changes of the caller, a database in
** memory, a file that was moved, locks that others do not see, or a VFS that is not one of SQLite's
** own, since such a VFS may not give the same bytes to another connection.
**
** Fork. In a child process the open connections belong to the parent. The child leaves them alone
** and opens its own.
**
** Thread-safety: the pool belongs to the caller's thread. Each connection belongs, between begin
** and end, to the one thread that it is given to. Any thread may call sqlite3_interrupt on one.
*/
#ifndef TR_HOST_SNAPSHOT_POOL_H
#define TR_HOST_SNAPSHOT_POOL_H

#include "host/sqlite_host.h"

typedef struct tr_snapshot_pool tr_snapshot_pool;

/* The greatest number of connections for one snapshot. */
#define TR_SNAPSHOT_MOST 64

/* A pool for the files of `db`. Nothing is opened yet. NULL: out of memory. */
tr_snapshot_pool *tr_snapshot_pool_create(sqlite3 *db);
void tr_snapshot_pool_free(tr_snapshot_pool *pool); /* NULL is fine */

/*
** Notes the state of a file if the caller has no snapshot of it at the moment; else does nothing.
** Called when a statement is prepared. It takes some microseconds, but the first time it opens a
** connection. It never fails: without a note there is only no proof later.
*/
void tr_snapshot_pool_note(tr_snapshot_pool *pool, const char *schema);

/*
** Takes the snapshot for `count` connections, at most TR_SNAPSHOT_MOST. 1: done;
** tr_snapshot_pool_connection gives them, and tr_snapshot_pool_end must follow. 0: not possible,
** and `*reason` (static) says why. -1: TR_NO_MEMORY, TR_INTERRUPTED.
*/
int tr_snapshot_pool_begin(tr_snapshot_pool *pool, const char *schema, int count,
                           const char **reason, tr_error *err);
sqlite3 *tr_snapshot_pool_connection(tr_snapshot_pool *pool, int index);
void tr_snapshot_pool_end(tr_snapshot_pool *pool);

/*
** Closes the connections; they are opened again when needed. Between begin and end it is put off
** until the end.
*/
void tr_snapshot_pool_close(tr_snapshot_pool *pool);

/*
** Data that belongs to a connection (its prepared statements, for example), NULL at first.
** `release` is called before the connection is closed.
*/
void *tr_snapshot_pool_data(tr_snapshot_pool *pool, int index);
void tr_snapshot_pool_set_data(tr_snapshot_pool *pool, int index, void *data,
                               void (*release)(void *data));

#endif

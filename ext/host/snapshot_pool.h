/*
** Read connections to one of the caller's files that all see the caller's own snapshot of it, for
** threads to read with.
**
** A connection of the pool is READONLY and NOMUTEX, through the same VFS and with the same URI
** parameters, and reads through a memory map. They stay open between queries, so that the next one
** begins at once, and are closed with the caller's connection.
**
** One snapshot. Nothing is read before it is proved that all see the same state of the file as the
** caller does:
**   a spare connection asks PRAGMA data_version, the caller takes its snapshot, then all others take
**   theirs, then the spare asks again. Equal answers: nobody has committed in between, so all have the
**   same. Else all is tried anew, and at last given up;
**   if the caller had its snapshot already (its outer query reads the file), the first answer must be older
**   than that: tr_snapshot_pool_note asks, at a moment when the caller has none. Or the file is in
**   rollback mode: then the caller's own lock keeps writers off for as long as it has a snapshot.
** What cannot be proved is refused with a reason: uncommitted changes of the caller, a file in
** memory, a file that was moved, locks that others do not see, a VFS that is not one of SQLite's
** own (whether it gives the same bytes to another connection is not for us to know).
**
** Fork. The child finds connections of another process: it lets them be and opens its own.
**
** Thread-safety: the pool belongs to the caller's thread; each connection, between begin and end,
** to the one thread that it is given to. sqlite3_interrupt on one is fine from any thread.
*/
#ifndef TR_HOST_SNAPSHOT_POOL_H
#define TR_HOST_SNAPSHOT_POOL_H

#include "host/sqlite_host.h"

typedef struct tr_snapshot_pool tr_snapshot_pool;

/* The most connections of one snapshot. */
#define TR_SNAPSHOT_MOST 64

/* A pool for the files of `db`; nothing is opened yet. NULL: out of memory. */
tr_snapshot_pool *tr_snapshot_pool_create(sqlite3 *db);
void tr_snapshot_pool_free(tr_snapshot_pool *pool); /* NULL is fine */

/*
** Remembers what state a file is in, if the caller has no snapshot of it at the moment; else does
** nothing. For when a statement is prepared. Costs some microseconds, and the first time opens a
** connection. Never fails: what could not be noted cannot be proved later.
*/
void tr_snapshot_pool_note(tr_snapshot_pool *pool, const char *schema);

/*
** Takes snapshots for `count` connections, at most TR_SNAPSHOT_MOST. 1: tr_snapshot_pool_connection
** gives them, and tr_snapshot_pool_end must follow. 0: it cannot be, and `*reason` (static) says
** why. -1: TR_NO_MEMORY, TR_INTERRUPTED.
*/
int tr_snapshot_pool_begin(tr_snapshot_pool *pool, const char *schema, int count,
                           const char **reason, tr_error *err);
sqlite3 *tr_snapshot_pool_connection(tr_snapshot_pool *pool, int index);
void tr_snapshot_pool_end(tr_snapshot_pool *pool);

/*
** Something that goes with a connection (its prepared statements, say), NULL at first. `release` is
** called before the connection is closed.
*/
void *tr_snapshot_pool_data(tr_snapshot_pool *pool, int index);
void tr_snapshot_pool_set_data(tr_snapshot_pool *pool, int index, void *data,
                               void (*release)(void *data));

#endif

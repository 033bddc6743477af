/*
** group_by_fields on several threads. Each worker reads its own part of the source, through its own
** connection of the snapshot pool, into its own groups. These are then put together.
**
**   parallel_group.c         decides, starts the threads and waits for them
**   parallel_group_proof.c   whether other connections would give the same answer
**   parallel_group_worker.c  how one worker reads a piece of the source
**   parallel_group_keys.c    the keys of the source as a worker sees them
**
** If it is not proved that the answer will be the same, the statement runs on the caller's
** connection, and tranche_last_run() gives the reason.
*/
#ifndef TR_EXT_PARALLEL_GROUP_H
#define TR_EXT_PARALLEL_GROUP_H

#include "group_by_fields_intake.h"
#include "host/snapshot_pool.h"
#include "parallel_group_keys.h"
#include "reader/worker_pool.h"

/* What to run: a plan that was laid out and prepared on the caller's connection. Owns nothing. */
typedef struct tr_parallel_group {
  tr_host *host;
  const tr_group_plan *plan;
  const tr_group_request *request;
  int worker_count;
  const tr_group_intake *intake; /* each worker takes rows into a copy of it */
  sqlite3_stmt *whole;           /* the statement for one thread; not stepped here */
} tr_parallel_group;

/* A reason for one thread, given in two files. */
#define TR_GROUP_DESCENDS "the primary key does not lie in ascending order"

/*
** How many workers are to run the plan. One worker is a thread, too: its connection reads through a
** memory map, which the caller's connection seldom does.
**
** 0: the caller's connection is to run it, since the source has no key or is small, or for another
** reason, which tranche_last_run() then gives.
** -1: failed; `err` says why.
*/
int tr_parallel_group_workers(tr_host *host, const tr_group_plan *plan, tr_error *err);

/*
** Runs the job.
**
** 1: all groups are in `*grouping`, which the caller frees.
** 0: one thread must run it, and tranche_last_run() gives the reason.
** -1: failed, with the errors of tr_group_run.
*/
int tr_parallel_group_run(const tr_parallel_group *job, tr_grouping **grouping, tr_error *err);

/*
** To be called when a query is prepared: see tr_snapshot_pool_note. NULL: the plan is not known
** yet.
*/
void tr_parallel_group_note(tr_host *host, const tr_group_plan *plan);

/*
** Closes the workers' connections. To be called when a table of groups is disconnected: that is the
** last moment before the caller's connection closes its files.
*/
void tr_parallel_group_rest(tr_host *host);

/* --- parallel_group_proof.c -------------------------------------------------------------- */

/*
** Finds out whether `worker` would run the statement just as the caller's connection does.
** `*defect` is NULL if it would, else the reason why not (static). There is no defect if
** - both connections compile the same program;
** - it reads tables of the source's file only;
** - its functions are SQLite's own, not replaced by the program's, and depend on nothing but their
**   arguments;
** - it reads the source from one end to the other.
**
** TR_INTERRUPTED, TR_NO_MEMORY: nothing was found out.
*/
tr_code tr_parallel_group_disproof(const tr_parallel_group *job, sqlite3 *worker,
                                   const char **defect, tr_error *err);

/* --- parallel_group_worker.c ------------------------------------------------------------- */

typedef struct tr_group_worker tr_group_worker;

/*
** Makes connection `index` of the pool ready for the job. The worker, with the key look-ups that it
** has prepared, stays with the connection for the next query.
**
** 1: ready, in `*worker`.
** 0: it cannot run the job, and `*reason` says why.
** -1: TR_NO_MEMORY or TR_TOO_BIG.
*/
int tr_group_worker_open(const tr_parallel_group *job, tr_group_parts *parts,
                         tr_snapshot_pool *pool, int index, tr_group_worker **worker,
                         const char **reason, tr_error *err);

/* The keys of the worker's source. */
tr_group_keys *tr_group_worker_keys(tr_group_worker *worker);

/* The functions `read` and `settle` of tr_work. */
tr_code tr_group_worker_read(tr_group_worker *worker, tr_piece *piece, tr_error *err);
tr_code tr_group_worker_settle(tr_group_worker *worker, uint64_t *rows, tr_error *err);

sqlite3 *tr_group_worker_db(const tr_group_worker *worker);

/* The worker's groups. The second function makes them the caller's. */
tr_grouping *tr_group_worker_grouping(const tr_group_worker *worker);
tr_grouping *tr_group_worker_take_grouping(tr_group_worker *worker);

/* Ends the run: frees its rows and groups, and resets the statements. */
void tr_group_worker_close(tr_group_worker *worker);

#endif

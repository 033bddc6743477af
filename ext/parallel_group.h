/*
** group_by_fields on several threads: each reads its own part of the source, through its own
** connection of the snapshot pool, into its own groups; these are then put together.
**
**   parallel_group.c         decides, and sees the threads through
**   parallel_group_proof.c   whether other connections would give the same answer
**   parallel_group_worker.c  how one worker reads a piece of the source
**   parallel_group_keys.c    its keys
**
** What is not proved to give the same answer runs on the caller's connection as ever, and the
** reason can be read in tranche_last_run().
*/
#ifndef TR_EXT_PARALLEL_GROUP_H
#define TR_EXT_PARALLEL_GROUP_H

#include "group_by_fields_intake.h"
#include "host/snapshot_pool.h"
#include "parallel_group_keys.h"
#include "reader/worker_pool.h"

/* What is to be run: a plan that was laid out and prepared on the caller's connection. */
typedef struct tr_parallel_group {
  tr_host *host;
  const tr_group_plan *plan;
  const tr_group_request *request;
  int worker_count;
  const tr_group_intake *intake; /* whose copies take the rows */
  sqlite3_stmt *whole;           /* the statement for one thread: not stepped */
} tr_parallel_group;

/* A reason for one thread. */
#define TR_GROUP_DESCENDS "the primary key does not lie in ascending order"

/*
** How many workers the plan is for: 0 if it is to run on the caller's connection, since the source
** has no key or is small; tranche_last_run() then knows why. One worker is a thread, too: its
** connection reads through a memory map, which the caller's seldom does. -1: `err` says why it
** cannot be known.
*/
int tr_parallel_group_workers(tr_host *host, const tr_group_plan *plan, tr_error *err);

/*
** 1: all groups are in `*grouping`, the caller's to free. 0: one thread must do it. -1: errors as
** tr_group_run has them.
*/
int tr_parallel_group_run(const tr_parallel_group *job, tr_grouping **grouping, tr_error *err);

/* The caller prepares a query over a table of that schema: see tr_snapshot_pool_note. */
void tr_parallel_group_note(tr_host *host, const char *schema);

/* --- parallel_group_proof.c -------------------------------------------------------------- */

/*
** `*defect` is NULL when `worker` would run the statement as the caller does: by the same program,
** over tables of the source's file alone, with functions that depend on nothing but their arguments
** and that nobody has put others in the place of; and the source read from one end to the other.
** Else it is the reason (static). TR_INTERRUPTED, TR_NO_MEMORY: neither is known.
*/
tr_code tr_parallel_group_disproof(const tr_parallel_group *job, sqlite3 *worker,
                                   const char **defect, tr_error *err);

/* --- parallel_group_worker.c ------------------------------------------------------------- */

typedef struct tr_group_worker tr_group_worker;

/*
** Makes connection `index` of the pool ready for the job: 1; 0 it cannot run it, `*reason` says
** why; -1 TR_NO_MEMORY. The worker and what it has prepared stay with the connection for the next
** query.
*/
int tr_group_worker_open(const tr_parallel_group *job, tr_group_parts *parts,
                         tr_snapshot_pool *pool, int index, tr_group_worker **worker,
                         const char **reason, tr_error *err);

/* The keys of its source. */
tr_group_keys *tr_group_worker_keys(tr_group_worker *worker);

/* As tr_work wants them. */
tr_code tr_group_worker_read(tr_group_worker *worker, tr_piece *piece, tr_error *err);
tr_code tr_group_worker_settle(tr_group_worker *worker, uint64_t *rows, tr_error *err);

sqlite3 *tr_group_worker_db(const tr_group_worker *worker);

/* The worker's groups; taking them makes them the caller's. */
tr_grouping *tr_group_worker_grouping(const tr_group_worker *worker);
tr_grouping *tr_group_worker_take_grouping(tr_group_worker *worker);

/* Ends the run: rows and groups are gone, statements stay. */
void tr_group_worker_close(tr_group_worker *worker);

#endif

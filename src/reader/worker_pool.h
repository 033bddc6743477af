/*
** Several workers read one source together. Each has a bounded reader over a range of byte keys. A
** worker that has nothing left takes half of what the busiest one has left.
**
** The caller decides what is read, and how (tr_work). The pool knows only ranges, trackers and
** threads. A worker works in turns. A turn is one piece of its own range, or one attempt to get
** another range. A thread of the pool does nothing but take turns. Tests take the turns one by one,
** in an order of their own.
**
** How work moves. A worker claims pieces of its range ahead. A piece begins at a key that exists
** and ends at another, and is sized for some thousand rows by what the last pieces held. A worker
** that has nothing left calls try_split on the tracker of the worker that is expected to have most
** rows left, at half of what is not yet claimed. Before that it looks up the last key of that range
** and cuts off what is behind it, so that there is something in each half. After it, it looks up
** the first key of its new range. So a range changes hands for two look-ups, however the keys are
** spread. A piece that turns out to hold far more rows than planned is cut at the row that was read
** last.
**
** Errors. The first worker that fails stops all others: they are interrupted, and end with their
** present piece at the latest. The pool returns the error of that first worker.
**
** Thread-safety: step is for the worker's own thread; start, join and free are for the owner; any
** thread may call the rest while the pool exists. No thread outlives join.
**
** Source: Apache Beam, BoundedSource.BoundedReader.splitAtFraction and dynamic work rebalancing.
*/
#ifndef TR_READER_WORKER_POOL_H
#define TR_READER_WORKER_POOL_H

#include "range/byte_key_tracker.h"

/* A part of the source that is read in one go. */
typedef struct tr_piece {
  tr_bytes from; /* a key that exists */
  tr_bytes to;   /* another key, which is not read; empty: read to the end of the source */
  uint64_t most; /* cut the piece after so many rows, or soon after */
  uint64_t rows; /* out: rows that were read, of this piece or before, and not reported before */
  uint64_t work; /* out: rows that were looked at, if those are more */
  /*
  ** out: the key of the last row that was looked at, if that is beyond `to` or not as far; else
  ** empty. Borrowed from the reader.
  */
  tr_bytes reached;
  int is_cut; /* out: `last` is the key of the last row that was read; the rest is unread */
  tr_buffer last;
} tr_piece;

/* How a source is read. All functions but `interrupt` are called in the worker's own thread. */
typedef struct tr_work {
  /* Copies the first key of the source at or above `from` to `key`. 1; 0: there is none; -1. */
  int (*first_key)(void *context, int worker, tr_bytes from, tr_buffer *key, tr_error *err);
  /* The last key below `below`, which need not exist (empty: the last of all). Returns the same. */
  int (*last_key)(void *context, int worker, tr_bytes below, tr_buffer *key, tr_error *err);
  /* The key `rows` rows behind the first one at or above `from`. Returns the same. */
  int (*key_behind)(void *context, int worker, tr_bytes from, uint32_t rows, tr_buffer *key,
                    tr_error *err);
  tr_code (*read)(void *context, int worker, tr_piece *piece, tr_error *err);
  /*
  ** A reader may leave the last rows of a piece for later, since the next piece usually begins
  ** where this one ends. If the worker gets no such piece, this is called: the rows must be read
  ** now, and `*rows` is set to their number. NULL: no rows are ever left.
  */
  tr_code (*settle)(void *context, int worker, uint64_t *rows, tr_error *err);
  /* Makes the call that the worker is in fail soon. From any thread. NULL: nothing to do. */
  void (*interrupt)(void *context, int worker);
  /* Called once for each worker when all is read, in parallel. NULL: nothing to do. */
  tr_code (*finish)(void *context, int worker, tr_error *err);
} tr_work;

typedef struct tr_worker_pool tr_worker_pool;

#define TR_MOST_WORKERS 64

/*
** A pool of `count` workers (1 to TR_MOST_WORKERS) over `range`, which is divided evenly among them
** at first. `expected_rows` is a guess, used to choose the worker to take from. `context` is passed
** to all functions of `work`; both are borrowed. TR_NO_MEMORY.
*/
tr_code tr_worker_pool_create(const tr_work *work, void *context, int count,
                              const tr_byte_key_range *range, uint64_t expected_rows,
                              tr_worker_pool **pool, tr_error *err);

typedef enum tr_turn {
  TR_TURN_READ,  /* a piece was read */
  TR_TURN_STOLE, /* the worker has a new range */
  TR_TURN_IDLE,  /* there is nothing to take now, but others are still reading */
  TR_TURN_ENDED  /* everything is read, or the pool was stopped */
} tr_turn;

/* Takes one turn of a worker. `*rows`: how many were read. No turn may follow TR_TURN_ENDED. */
tr_turn tr_worker_pool_step(tr_worker_pool *pool, int worker, uint64_t *rows);

/*
** Starts a thread for each worker. Returns 1. If the system gives fewer threads, fewer do the work,
** and take the ranges of the others. 0: no thread could be started, and nothing was done.
*/
int tr_worker_pool_start(tr_worker_pool *pool);

/* Waits for all threads to end, for at most `milliseconds`. 1: they have ended. 0: not yet. */
int tr_worker_pool_wait(tr_worker_pool *pool, int milliseconds);

/* Stops all workers. join then returns `reason`, unless a worker failed before. */
void tr_worker_pool_stop(tr_worker_pool *pool, const tr_error *reason);

/*
** Waits for all threads, then calls `finish` for the workers that had none. Returns TR_OK, or the
** error that stopped the pool.
*/
tr_code tr_worker_pool_join(tr_worker_pool *pool, tr_error *err);

/* What has been done so far. */
typedef struct tr_worker_progress {
  uint64_t rows;
  double fraction;  /* of all rows, 0 to 1; a guess until the end */
  int splits;       /* ranges that changed hands and had rows */
  int empty_splits; /* halves without a key */
} tr_worker_progress;

tr_worker_progress tr_worker_pool_progress(tr_worker_pool *pool);

/* The rows that this worker has read. */
uint64_t tr_worker_pool_rows_of(tr_worker_pool *pool, int worker);

/* 1 if workers must stop; for loops inside tr_work.read. */
int tr_worker_pool_is_stopped(const tr_worker_pool *pool);

/* No thread may be running. The pool may be NULL. */
void tr_worker_pool_free(tr_worker_pool *pool);

#endif

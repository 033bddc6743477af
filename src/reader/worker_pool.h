/*
** Several workers read one source together: each has a bounded reader over a range of byte keys,
** and a worker that runs out takes half of what the busiest one has left.
**
** What is read, and with what, is the caller's (tr_work): the pool knows ranges, trackers and
** threads. A worker's turn is one piece of its own range, or one attempt to get another range; a
** thread of the pool does nothing but take turns. Tests take them one by one, in an order of their
** own.
**
** How work moves. A worker claims pieces of its range ahead, each for some thousand rows by what
** the last ones held, and from one key that there is to another. One that has nothing left asks the
** tracker of whoever is expected to have most rows left for try_split at half of what is not yet
** claimed. Before that it looks up the last key of all that, and takes what lies behind off, so
** that there is something in each half; and then the first key of what it got. So a range changes
** hands for two look-ups, however the keys are spread. A piece that turns out to hold far more rows
** than it should is cut where the reader is.
**
** Errors. The first worker that fails stops all: the others are interrupted, and end at their next
** piece at the latest. Its error is what the pool answers.
**
** Thread-safety: step is for the worker's own thread, start, join and free for the owner; all else
** for any thread while the pool lives. No thread outlives join. Source: Apache Beam,
** BoundedSource.BoundedReader.splitAtFraction and dynamic work rebalancing.
*/
#ifndef TR_READER_WORKER_POOL_H
#define TR_READER_WORKER_POOL_H

#include "range/byte_key_tracker.h"

/* A part of the source to be read in one go. */
typedef struct tr_piece {
  tr_bytes from; /* a key that there is */
  tr_bytes to;   /* another, not to be read; empty: read to the end of the source */
  uint64_t most; /* rows after which it is to be cut, or soon after */
  uint64_t rows; /* out: how many were read, of this piece or before, that were not yet told */
  uint64_t work; /* out: rows that had to be looked at, if they are more */
  /*
  ** out: the last one of those, borrowed from the reader, where it looked beyond `to` or not so
  ** far; else empty
  */
  tr_bytes reached;
  int is_cut; /* out: `last` is the key of the last row that was read, the rest is left */
  tr_buffer last;
} tr_piece;

/* How a source is read. All are called in the worker's own thread, but for `interrupt`. */
typedef struct tr_work {
  /* The first key of the source at or above `from`, into `key`: 1; 0 there is none; -1. */
  int (*first_key)(void *context, int worker, tr_bytes from, tr_buffer *key, tr_error *err);
  /* The last one below `below` (empty: of all); the same answers. `below` need not be a key. */
  int (*last_key)(void *context, int worker, tr_bytes below, tr_buffer *key, tr_error *err);
  /* The one that lies `rows` rows behind the first one at or above `from`; the same answers. */
  int (*key_behind)(void *context, int worker, tr_bytes from, uint32_t rows, tr_buffer *key,
                    tr_error *err);
  tr_code (*read)(void *context, int worker, tr_piece *piece, tr_error *err);
  /*
  ** A reader may leave the last rows of a piece for later, since the next piece mostly begins where
  ** this one ends. When the worker gets no such piece, this is called: now they must be read, and
  ** `*rows` says how many there were. NULL: nothing is ever left.
  */
  tr_code (*settle)(void *context, int worker, uint64_t *rows, tr_error *err);
  /* Makes the worker's present call of those above fail soon. Any thread. NULL: nothing to do. */
  void (*interrupt)(void *context, int worker);
  /*
  ** When all is read, each worker calls this once, at the same time as others. NULL: nothing to do.
  */
  tr_code (*finish)(void *context, int worker, tr_error *err);
} tr_work;

typedef struct tr_worker_pool tr_worker_pool;

#define TR_MOST_WORKERS 64

/*
** A pool of `count` workers (1 to TR_MOST_WORKERS) over `range`, which is divided evenly among them
** to begin with. `expected_rows` is a guess, for choosing whom to take from. `context` goes to all
** functions of `work`; both are borrowed. TR_NO_MEMORY.
*/
tr_code tr_worker_pool_create(const tr_work *work, void *context, int count,
                              const tr_byte_key_range *range, uint64_t expected_rows,
                              tr_worker_pool **pool, tr_error *err);

typedef enum tr_turn {
  TR_TURN_READ,  /* a piece was read */
  TR_TURN_STOLE, /* the worker has a range again */
  TR_TURN_IDLE,  /* there was nothing to take just now, but others are still reading */
  TR_TURN_ENDED  /* everything is read, or the pool was stopped */
} tr_turn;

/*
** One turn of a worker. `*rows`: how many were read. After TR_TURN_ENDED there are no more turns.
*/
tr_turn tr_worker_pool_step(tr_worker_pool *pool, int worker, uint64_t *rows);

/*
** Starts a thread for each worker: 1. Where the system gives fewer threads, fewer do the work
** (their ranges are taken by the others). 0: not one could be started, and nothing was done.
*/
int tr_worker_pool_start(tr_worker_pool *pool);

/* Waits at most so long for all threads to come to their end: 1 they have, 0 not yet. */
int tr_worker_pool_wait(tr_worker_pool *pool, int milliseconds);

/* Stops all workers; join then answers `reason` unless a worker failed before. */
void tr_worker_pool_stop(tr_worker_pool *pool, const tr_error *reason);

/*
** Waits for all threads, and finishes for the workers that had none. TR_OK, or what made the pool
** stop.
*/
tr_code tr_worker_pool_join(tr_worker_pool *pool, tr_error *err);

/* What has been done so far. */
typedef struct tr_worker_progress {
  uint64_t rows;
  double fraction;  /* of all rows, 0 to 1: a guess until the end */
  int splits;       /* ranges that changed hands with rows in them */
  int empty_splits; /* halves in which there was no key */
} tr_worker_progress;

tr_worker_progress tr_worker_pool_progress(tr_worker_pool *pool);

/* Rows that this worker has read. */
uint64_t tr_worker_pool_rows_of(tr_worker_pool *pool, int worker);

/* 1 when workers are to stop; for loops inside tr_work.read. */
int tr_worker_pool_is_stopped(const tr_worker_pool *pool);

/* No thread may be running. NULL is fine. */
void tr_worker_pool_free(tr_worker_pool *pool);

#endif

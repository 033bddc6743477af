/*
** What the files of the worker pool share: worker_pool.c (turns, threads, the pool itself),
** worker_split.c (parts, and taking half of another's), worker_piece.c (reading one's own part).
**
** Every worker has a seat, which holds the part that it reads. Finished parts stay until the pool
** is freed; there are only some dozens. So a thief can look at any part at any time without asking
** whether it still exists.
*/
#ifndef TR_READER_WORKER_POOL_INSIDE_H
#define TR_READER_WORKER_POOL_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "reader/worker_pool.h"

/*
** If a part has fewer rows left than this, its worker takes all of them at once, and others take
** none.
*/
#define TR_POOL_LEAST_ROWS 1000

/* A range of the source that one worker reads, and from which others may take. */
typedef struct tr_pool_part {
  tr_byte_key_tracker *tracker;
  struct tr_pool_part *next; /* in the list of all parts of the pool */
  _Atomic uint64_t rows;     /* read in it so far */
  double rows_ahead;         /* what the last piece suggests for the rest; under the pool's mutex */
  atomic_int is_tight;       /* its end is just behind a key */
} tr_pool_part;

/* Belongs to its worker's thread, except where it says otherwise. */
typedef struct tr_pool_seat {
  tr_worker_pool *pool;
  int number;
  pthread_t thread;
  int has_thread;
  _Atomic(tr_pool_part *) part; /* the one that is being read, or was read last; for all threads */
  int is_busy;                  /* under the pool's mutex */
  int is_orphan; /* under the pool's mutex: no thread sits here, so another must take the part */
  _Atomic uint64_t rows;
  tr_byte_key_window window;
  int has_key; /* `key` is the first key of the part that was not yet read */
  tr_buffer key;
  tr_buffer next;
  tr_buffer looked; /* where the reader's last look at rows ended */
  tr_piece piece;
} tr_pool_seat;

struct tr_worker_pool {
  const tr_work *work;
  void *context;
  int count;
  uint64_t expected_rows;
  uint32_t piece_rows;
  pthread_mutex_t mutex;
  pthread_cond_t changed; /* a range moved, nobody is busy, or the pool was stopped */
  pthread_cond_t ended;   /* a thread has ended */
  tr_pool_part *parts;    /* all parts that ever existed */
  int busy;
  int is_started; /* and not yet joined */
  int running;    /* threads that have not ended */
  int reading;    /* workers that have not yet found that all is read */
  tr_error err;   /* TR_OK: nobody has failed */
  _Atomic int is_stopped;
  _Atomic int splits, empty_splits;
  tr_pool_seat seats[];
};

/*
** --- Parts and their division (worker_split.c): from any thread --------------------------------
*/

/* A new part over a copy of `range`, which the pool owns. NULL: failed; TR_NO_MEMORY. */
tr_pool_part *tr_pool_add_part(tr_worker_pool *pool, const tr_byte_key_range *range,
                               double expected_rows, tr_error *err);

/*
** The rows that are left in a part if all its keys are spread as those so far. 0: it is done. -1:
** nothing is known yet.
*/
double tr_pool_rows_on_average(tr_pool_part *part);

/*
** The greater of two estimates: from all keys so far, or from the last piece alone. If keys lie in
** clusters, the average misses the last one. To look for rows in vain costs little.
*/
double tr_pool_rows_at_most(tr_worker_pool *pool, tr_pool_part *part);

/* Sets the second of these estimates. */
void tr_pool_expect_rows(tr_worker_pool *pool, tr_pool_part *part, double rows);

/*
** Gives the seat, in its own thread, half of what the busiest other seat has left. 1: the seat has
** a part. 0: nobody can give any. -1: failed. The seat must be busy while it tries.
*/
int tr_pool_take_half(tr_pool_seat *seat, tr_error *err);

/*
** --- Reading (worker_piece.c): in the seat's thread ---------------------------------------------
*/

/*
** Begins the seat's part, of which only two things are known: its first key, which is in `key`, and
** how many rows it may have. TR_NO_MEMORY.
*/
tr_code tr_pool_begin_part(tr_pool_seat *seat, double expected_rows, tr_error *err);

/*
** Reads one piece of the seat's part; `piece.rows` says how many rows. 1. 0: nothing is left, and
** the end was claimed. -1: failed.
*/
int tr_pool_read_piece(tr_pool_seat *seat, tr_pool_part *part, tr_error *err);

#endif

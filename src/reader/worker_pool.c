/*
** Seats, turns, and the threads that take them.
**
** Every worker has a seat, which holds the tracker of the range that it reads. Trackers of finished
** ranges stay until the pool is freed; there are only some dozens. So a thief can look at any
** tracker at any time without asking whether it still exists.
**
** When is everything read? A worker is busy from the moment it asks for a range until it finds that
** its range is read. It has the range that it takes before anybody can see fewer busy workers. So
** if nobody is busy, nothing is left.
*/
#include "reader/worker_pool.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/thread.h"

/* How long an idle worker waits before it asks again, unless something changes earlier. */
#define ASK_AGAIN_NANOSECONDS 500000

/*
** Rows of a piece. It has enough rows to make its own cost (some microseconds) negligible, and so
** few that it ends soon: each worker should have some dozens of pieces. A piece is cut if it turns
** out to be twice as long. If a part has fewer than LEAST_ROWS rows left, its worker takes all of
** them at once, and others take none.
*/
#define MOST_PIECE_ROWS 16384
#define LEAST_ROWS 1000
#define PIECES_PER_WORKER 64

/* An estimate from keys may be far more than there can be. */
#define MOST_EXPECTED_ROWS 1e15

typedef struct range_part {
  tr_byte_key_tracker *tracker;
  struct range_part *next; /* in the list of all parts of the pool */
  _Atomic uint64_t rows;   /* read in it so far */
  double rows_ahead;       /* what the last piece suggests for the rest; under the pool's mutex */
  atomic_int is_tight;     /* its end is just behind a key */
} range_part;

typedef struct seat {
  tr_worker_pool *pool;
  int number;
  pthread_t thread;
  int has_thread;
  _Atomic(range_part *) part; /* the one that is being read, or was read last */
  int is_busy;                /* under the pool's mutex */
  int is_orphan; /* under the pool's mutex: no thread sits here, so another must take the part */
  _Atomic uint64_t rows;
  tr_byte_key_window window;
  int has_key; /* `key` is the first key of the part that was not yet read */
  tr_buffer key;
  tr_buffer next;
  tr_buffer looked; /* where the reader's last look at rows ended */
  tr_piece piece;
} seat;

struct tr_worker_pool {
  const tr_work *work;
  void *context;
  int count;
  uint64_t expected_rows;
  uint32_t piece_rows;
  pthread_mutex_t mutex;
  pthread_cond_t changed; /* a range moved, nobody is busy, or the pool was stopped */
  pthread_cond_t ended;   /* a thread has ended */
  range_part *parts;      /* all parts that ever existed */
  int busy;
  int is_started; /* and not yet joined */
  int running;    /* threads that have not ended */
  int reading;    /* workers that have not yet found that all is read */
  tr_error err;   /* TR_OK: nobody has failed */
  _Atomic int is_stopped;
  _Atomic int splits, empty_splits;
  seat seats[];
};

/* --- Parts ------------------------------------------------------------------------------------ */

static range_part *new_part(tr_worker_pool *pool, const tr_byte_key_range *range,
                            double expected_rows, tr_error *err) {
  range_part *part = tr_malloc(sizeof *part);
  if (part == NULL) {
    tr_error_no_memory(err);
    return NULL;
  }
  memset(part, 0, sizeof *part);
  if (tr_byte_key_tracker_create(range, &part->tracker, err) != TR_OK) {
    tr_free(part);
    return NULL;
  }
  atomic_init(&part->rows, 0);
  atomic_init(&part->is_tight, 0);
  part->rows_ahead = expected_rows;
  pthread_mutex_lock(&pool->mutex);
  part->next = pool->parts;
  pool->parts = part;
  pthread_mutex_unlock(&pool->mutex);
  return part;
}

/*
** The rows that are left in a part if all its keys are spread as those so far. 0: it is done. -1:
** nothing is known yet.
*/
static double rows_left_on_average(range_part *part) {
  tr_tracker *tracker = tr_byte_key_tracker_base(part->tracker);
  double consumed = tr_tracker_fraction_consumed(tracker);
  double rows = (double)atomic_load_explicit(&part->rows, memory_order_relaxed);
  if (tr_tracker_is_done(tracker)) return 0;
  /* A fraction of 1 here means: less than 1, but too near to it for a double. */
  return consumed > 0 && consumed < 1 && rows > 0 ? rows * (1 - consumed) / consumed : -1;
}

/*
** The greater of two estimates: from all keys so far, or from the last piece alone. If keys lie in
** clusters, the average misses the last one. To look for rows in vain costs little.
*/
static double rows_left_at_most(tr_worker_pool *pool, range_part *part) {
  double average = rows_left_on_average(part);
  pthread_mutex_lock(&pool->mutex);
  double ahead = part->rows_ahead;
  pthread_mutex_unlock(&pool->mutex);
  return average == 0 || average > ahead ? average : ahead;
}

static void set_rows_ahead(tr_worker_pool *pool, range_part *part, double rows) {
  pthread_mutex_lock(&pool->mutex);
  part->rows_ahead = rows;
  pthread_mutex_unlock(&pool->mutex);
}

/* --- Failing ---------------------------------------------------------------------------------- */

void tr_worker_pool_stop(tr_worker_pool *pool, const tr_error *reason) {
  pthread_mutex_lock(&pool->mutex);
  int is_first = !atomic_load(&pool->is_stopped);
  if (is_first) {
    pool->err = *reason;
    atomic_store(&pool->is_stopped, 1);
    pthread_cond_broadcast(&pool->changed);
  }
  pthread_mutex_unlock(&pool->mutex);
  for (int i = 0; i < pool->count && is_first && pool->work->interrupt != NULL; i++) {
    pool->work->interrupt(pool->context, i);
  }
}

int tr_worker_pool_is_stopped(const tr_worker_pool *pool) {
  return atomic_load_explicit(&pool->is_stopped, memory_order_relaxed);
}

/* --- Taking from others ----------------------------------------------------------------------- */

/*
** Marks the seat as busy or not, and wakes those who wait if nobody is busy any more. It does not
** wake them when a worker merely begins to look for work or gives up: they would look, too, and
** wake it in turn.
*/
static void set_busy(seat *s, int is_busy) {
  tr_worker_pool *pool = s->pool;
  pthread_mutex_lock(&pool->mutex);
  if (s->is_busy != is_busy) {
    s->is_busy = is_busy;
    pool->busy += is_busy ? 1 : -1;
    if (pool->busy == 0) pthread_cond_broadcast(&pool->changed);
  }
  pthread_mutex_unlock(&pool->mutex);
}

/* Makes those who wait look again, because a range has changed hands. */
static void tell_of_change(tr_worker_pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  pthread_cond_broadcast(&pool->changed);
  pthread_mutex_unlock(&pool->mutex);
}

/* Whether any worker is busy. */
static int is_anybody_busy(tr_worker_pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  int busy = pool->busy;
  pthread_mutex_unlock(&pool->mutex);
  return busy > 0;
}

/*
** Begins the seat's part, of which only two things are known: its first key, which is in `key`, and
** how many rows it may have.
*/
static tr_code begin_part(seat *s, double expected_rows, tr_error *err) {
  tr_byte_key_window_expect(&s->window, (uint64_t)fmin(fmax(expected_rows, 1), MOST_EXPECTED_ROWS));
  s->has_key = 1;
  return tr_buffer_set(&s->looked, tr_buffer_bytes(&s->key), err);
}

/* Gives the seat a range that nobody else has. `key` is its start already. */
static tr_code sit_down(seat *s, const tr_byte_key_range *range, double expected_rows,
                        tr_error *err) {
  range_part *part = new_part(s->pool, range, expected_rows, err);
  if (part == NULL) return TR_NO_MEMORY;
  atomic_store(&s->part, part);
  return begin_part(s, expected_rows, err);
}

/*
** Makes the part end just behind its last key. If keys are few among all possible ones, as those of
** text are, most halves of what is left would otherwise be empty. 1: done. 0: the last key has been
** claimed, so there is nothing to take. -1: failed.
*/
static int drop_empty_tail(seat *s, range_part *part, tr_error *err) {
  tr_worker_pool *pool = s->pool;
  tr_tracker *tracker = tr_byte_key_tracker_base(part->tracker);
  tr_restriction range, tail = {0};
  if (atomic_exchange(&part->is_tight, 1)) return 1;
  if (tr_tracker_current_restriction(tracker, &range, err) != TR_OK) return -1;
  tr_bytes end = tr_buffer_bytes(&range.bytes.end);
  int result = pool->work->last_key(pool->context, s->number, end, &s->key, err);
  if (result == 1 && tr_buffer_append_byte(&s->key, 0, err) != TR_OK) result = -1;
  tr_position behind = {.key = tr_buffer_bytes(&s->key)};
  if (result == 1 && (end.size == 0 || tr_bytes_compare(behind.key, end) < 0)) {
    result = tr_tracker_try_split_at(tracker, behind, &tail, err);
    tr_restriction_free(&tail);
  }
  tr_restriction_free(&range);
  return result;
}

/*
** Takes the second half of what a part has left. The half is empty if its last key was claimed in
** the meantime; then it takes half of the rest, and so on. 1: `s` has a part now. 0: there was
** nothing to take. -1: failed.
*/
static int take_half(seat *s, range_part *from, tr_error *err) {
  tr_worker_pool *pool = s->pool;
  tr_buffer *key = &s->key;
  tr_tracker *tracker = tr_byte_key_tracker_base(from->tracker);
  int found = 0;
  while (found == 0 && !tr_worker_pool_is_stopped(pool)) {
    tr_restriction half = {0};
    int is_anything_left = drop_empty_tail(s, from, err);
    if (is_anything_left <= 0) return is_anything_left;
    double expected = rows_left_at_most(pool, from) / 2;
    int split = tr_tracker_try_split(tracker, 0.5, &half, err);
    if (split <= 0) return split;
    atomic_store(&from->is_tight, 0);
    tr_byte_key_range *range = &half.bytes;
    found =
        pool->work->first_key(pool->context, s->number, tr_buffer_bytes(&range->start), key, err);
    if (found == 1) found = tr_byte_key_range_contains(range, tr_buffer_bytes(key));
    if (found == 1 && tr_buffer_set(&range->start, tr_buffer_bytes(key), err) != TR_OK) found = -1;
    if (found == 1 && sit_down(s, range, expected, err) != TR_OK) found = -1;
    set_rows_ahead(pool, from, expected);
    tr_restriction_free(&half);
    atomic_fetch_add(found == 0 ? &pool->empty_splits : &pool->splits, found >= 0);
  }
  return found;
}

/* The part with most rows left, of the seats that were not yet asked. NULL: none has enough. */
static range_part *busiest(tr_worker_pool *pool, uint64_t *asked) {
  range_part *best = NULL;
  int best_seat = 0;
  double most = 0;
  for (int i = 0; i < pool->count; i++) {
    if (*asked >> i & 1) continue;
    range_part *part = atomic_load(&pool->seats[i].part);
    double left = rows_left_at_most(pool, part);
    if (left < LEAST_ROWS || left <= most) continue;
    most = left;
    best = part;
    best_seat = i;
  }
  *asked |= best == NULL ? 0 : UINT64_C(1) << best_seat;
  return best;
}

/* 1: the seat has a part. 0: nobody can give any. -1: failed. The seat is busy while it tries. */
static int take_from_busiest(seat *s, tr_error *err) {
  uint64_t asked = UINT64_C(1) << s->number;
  int taken = 0;
  range_part *from;
  while (taken == 0 && (from = busiest(s->pool, &asked)) != NULL) {
    taken = take_half(s, from, err);
  }
  return taken;
}

/* Takes over the whole part of a seat whose thread could not be started. */
static int adopt(seat *s) {
  tr_worker_pool *pool = s->pool;
  int is_found = 0;
  pthread_mutex_lock(&pool->mutex);
  for (int i = 0; i < pool->count && !is_found; i++) {
    seat *empty = &pool->seats[i];
    if (!empty->is_orphan) continue;
    empty->is_orphan = empty->is_busy = 0;
    s->is_busy = is_found = 1;
    s->has_key = 0;
    atomic_store(&s->part, atomic_load(&empty->part));
  }
  pthread_mutex_unlock(&pool->mutex);
  return is_found;
}

/* --- Pieces ----------------------------------------------------------------------------------- */

/* Copies the first key at or above `from` to `key`. 1; 0: there is none; -1. */
static int find_key(seat *s, tr_bytes from, tr_buffer *key, tr_error *err) {
  tr_worker_pool *pool = s->pool;
  return pool->work->first_key(pool->context, s->number, from, key, err);
}

/* Finds the first key of a part that was dealt or adopted. */
static int open_part(seat *s, range_part *part, tr_error *err) {
  tr_restriction range;
  tr_tracker *tracker = tr_byte_key_tracker_base(part->tracker);
  if (tr_tracker_current_restriction(tracker, &range, err) != TR_OK) return -1;
  int found = find_key(s, tr_buffer_bytes(&range.bytes.start), &s->key, err);
  tr_restriction_free(&range);
  if (found == 1 && begin_part(s, rows_left_at_most(s->pool, part), err) != TR_OK) found = -1;
  return found;
}

/* Sets `next` to the end of what the window holds, as a key that exists; empty: there is no end. */
static int find_end(seat *s, tr_error *err) {
  tr_byte_key_window *window = &s->window;
  s->next.size = 0;
  if (window->is_open) return 1;
  tr_bytes limit = tr_buffer_bytes(&window->limit);
  tr_buffer behind = {0};
  if (window->left == 0) {
    /* Only the key itself was claimed. */
    if (tr_buffer_set(&behind, tr_buffer_bytes(&s->key), err) != TR_OK) return -1;
    if (tr_buffer_append_byte(&behind, 0, err) != TR_OK) {
      tr_buffer_free(&behind);
      return -1;
    }
    limit = tr_buffer_bytes(&behind);
  }
  int found = find_key(s, limit, &s->next, err);
  if (found == 0) s->next.size = 0;
  tr_buffer_free(&behind);
  return found < 0 ? -1 : 1;
}

/*
** Whether the part has fewer than LEAST_ROWS rows left, from the seat's key on: 1, 0, -1. The
** estimate from keys may be far off. For example 0199 may be followed by 0200 and nine thousand
** more keys, which is next to nothing of what could lie in between. So the estimate is only a
** reason to look.
*/
static int is_nearly_read(seat *s, range_part *part, tr_error *err) {
  tr_worker_pool *pool = s->pool;
  tr_restriction range;
  if (rows_left_at_most(pool, part) >= LEAST_ROWS) return 0;
  int found = pool->work->key_behind(pool->context, s->number, tr_buffer_bytes(&s->key), LEAST_ROWS,
                                     &s->next, err);
  if (found <= 0) return found < 0 ? -1 : 1;
  tr_tracker *tracker = tr_byte_key_tracker_base(part->tracker);
  if (tr_tracker_current_restriction(tracker, &range, err) != TR_OK) return -1;
  int is_in_part = tr_byte_key_range_contains(&range.bytes, tr_buffer_bytes(&s->next));
  tr_restriction_free(&range);
  return !is_in_part;
}

/* Claims a piece that begins with the seat's key. 1; 0: the key is no longer in the part; -1. */
static int claim_piece(seat *s, range_part *part, tr_error *err) {
  int claimed =
      tr_byte_key_tracker_claim_ahead(part->tracker, &s->window, tr_buffer_bytes(&s->key), err);
  int is_last = claimed == 1 ? is_nearly_read(s, part, err) : 0;
  if (is_last == 1) is_last = tr_byte_key_tracker_claim_rest(part->tracker, &s->window, err);
  return is_last < 0 ? -1 : claimed;
}

/* The bytes of `key` behind the first `skipped`, as a number. */
static double lead_behind(tr_bytes key, size_t skipped) {
  if (skipped >= key.size) return 0;
  return (double)tr_byte_key_lead((tr_bytes){key.data + skipped, key.size - skipped});
}

/*
** How many rows [next, end of the part) has if they are spread as `rows` rows were in [from, next).
*/
static double rows_ahead(const tr_byte_key_range *range, tr_bytes from, tr_bytes next,
                         double rows) {
  tr_bytes end = tr_buffer_bytes(&range->end);
  size_t shared = 0;
  while (shared < end.size && shared < from.size && end.data[shared] == from.data[shared]) shared++;
  double width = lead_behind(next, shared) - lead_behind(from, shared);
  double rest = lead_behind(end, shared) - lead_behind(next, shared);
  return rest > 0 ? (rows + 1) * rest / (width >= 1 ? width : 1) : 0;
}

/*
** Estimates the rest of the part from the rows that were looked at for a piece. The reader may have
** looked at them long before, so this uses the row where the look ended, not the end of the piece.
*/
static tr_code look_ahead(seat *s, range_part *part, uint64_t rows, tr_error *err) {
  const tr_piece *piece = &s->piece;
  tr_bytes next = piece->reached.size > 0 ? piece->reached
                  : piece->is_cut         ? tr_buffer_bytes(&piece->last)
                                          : piece->to;
  tr_restriction range;
  if (rows == 0) return TR_OK;
  tr_code code =
      tr_tracker_current_restriction(tr_byte_key_tracker_base(part->tracker), &range, err);
  if (code != TR_OK) return code;
  set_rows_ahead(s->pool, part,
                 rows_ahead(&range.bytes, tr_buffer_bytes(&s->looked), next, (double)rows));
  tr_restriction_free(&range);
  return tr_buffer_set(&s->looked, next, err);
}

/*
** After a piece: chooses the size of the next one, and finds where it begins. 1; 0: nothing is
** left; -1.
*/
static int go_on_behind(seat *s, range_part *part, tr_error *err) {
  tr_piece *piece = &s->piece;
  uint64_t work = piece->work > piece->rows ? piece->work : piece->rows;
  if (look_ahead(s, part, work, err) != TR_OK) return -1;
  if (!piece->is_cut) {
    tr_byte_key_window_use(&s->window, work);
    tr_buffer key = s->key;
    s->key = s->next;
    s->next = key;
    return s->key.size > 0;
  }
  tr_bytes last = tr_buffer_bytes(&piece->last);
  tr_code code = tr_byte_key_tracker_release(part->tracker, &s->window, last, err);
  if (code != TR_OK) return -1;
  tr_byte_key_window_trim(&s->window, piece->from, last);
  code = tr_buffer_append_byte(&piece->last, 0, err);
  if (code != TR_OK) return -1;
  return find_key(s, tr_buffer_bytes(&piece->last), &s->key, err);
}

/* Ends a part behind its last piece. Returns 0, or -1. */
static int end_part(seat *s, range_part *part, tr_error *err) {
  const tr_work *work = s->pool->work;
  uint64_t rows = 0;
  if (work->settle != NULL && work->settle(s->pool->context, s->number, &rows, err) != TR_OK) {
    return -1;
  }
  s->piece.rows += rows;
  return tr_tracker_claim_end(tr_byte_key_tracker_base(part->tracker), err) == TR_OK ? 0 : -1;
}

/* Reads one piece of the seat's part. 1; 0: nothing is left and the end was claimed; -1. */
static int read_piece(seat *s, range_part *part, tr_error *err) {
  tr_worker_pool *pool = s->pool;
  tr_piece *piece = &s->piece;
  piece->rows = piece->work = 0;
  piece->reached.size = 0;
  int result = s->has_key ? 1 : open_part(s, part, err);
  if (result == 1) result = claim_piece(s, part, err);
  if (result == 1) {
    if (find_end(s, err) < 0) return -1;
    piece->from = tr_buffer_bytes(&s->key);
    piece->to = tr_buffer_bytes(&s->next);
    piece->most = 2 * pool->piece_rows;
    piece->is_cut = 0;
    piece->last.size = 0;
    if (pool->work->read(pool->context, s->number, piece, err) != TR_OK) return -1;
    result = go_on_behind(s, part, err);
  }
  s->has_key = result == 1;
  return result == 0 ? end_part(s, part, err) : result;
}

/* --- Turns ------------------------------------------------------------------------------------ */

static tr_turn look_for_work(seat *s) {
  tr_worker_pool *pool = s->pool;
  tr_error err = {0};
  if (!is_anybody_busy(pool)) return TR_TURN_ENDED;
  if (adopt(s)) return TR_TURN_STOLE;
  set_busy(s, 1);
  int taken = take_from_busiest(s, &err);
  if (taken == 1) {
    tell_of_change(pool);
    return TR_TURN_STOLE;
  }
  set_busy(s, 0);
  if (taken == 0) return TR_TURN_IDLE;
  tr_worker_pool_stop(pool, &err);
  return TR_TURN_ENDED;
}

tr_turn tr_worker_pool_step(tr_worker_pool *pool, int worker, uint64_t *rows) {
  seat *s = &pool->seats[worker];
  tr_error err = {0};
  *rows = 0;
  if (tr_worker_pool_is_stopped(pool)) return TR_TURN_ENDED;
  if (!s->is_busy) return look_for_work(s);
  range_part *part = atomic_load(&s->part);
  int read = read_piece(s, part, &err);
  *rows = s->piece.rows;
  if (read < 0) {
    tr_worker_pool_stop(pool, &err);
    return TR_TURN_ENDED;
  }
  atomic_fetch_add_explicit(&part->rows, *rows, memory_order_relaxed);
  atomic_fetch_add_explicit(&s->rows, *rows, memory_order_relaxed);
  if (read == 0) set_busy(s, 0);
  return TR_TURN_READ;
}

/* --- Threads ---------------------------------------------------------------------------------- */

/* Waits until something changes, but only for a short time. */
static void wait_a_little(tr_worker_pool *pool) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += ASK_AGAIN_NANOSECONDS;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    until.tv_sec++;
  }
  pthread_mutex_lock(&pool->mutex);
  if (pool->busy > 0 && !tr_worker_pool_is_stopped(pool)) {
    pthread_cond_timedwait(&pool->changed, &pool->mutex, &until);
  }
  pthread_mutex_unlock(&pool->mutex);
}

/*
** Waits until all workers have read everything, because `finish` may merge what others have read.
*/
static void wait_for_others(tr_worker_pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  pool->reading--;
  pthread_cond_broadcast(&pool->changed);
  while (pool->reading > 0 && !tr_worker_pool_is_stopped(pool)) {
    pthread_cond_wait(&pool->changed, &pool->mutex);
  }
  pthread_mutex_unlock(&pool->mutex);
}

/* The end of a worker, when all is read. */
static void finish(seat *s) {
  tr_worker_pool *pool = s->pool;
  tr_error err = {0};
  if (tr_worker_pool_is_stopped(pool) || pool->work->finish == NULL) return;
  if (pool->work->finish(pool->context, s->number, &err) != TR_OK) tr_worker_pool_stop(pool, &err);
}

static void *run(void *pointer) {
  seat *s = pointer;
  tr_worker_pool *pool = s->pool;
  uint64_t rows;
  tr_turn turn;
  while ((turn = tr_worker_pool_step(pool, s->number, &rows)) != TR_TURN_ENDED) {
    if (turn == TR_TURN_IDLE) wait_a_little(pool);
  }
  wait_for_others(pool);
  finish(s);
  pthread_mutex_lock(&pool->mutex);
  pool->running--;
  pthread_cond_broadcast(&pool->ended);
  pthread_mutex_unlock(&pool->mutex);
  return NULL;
}

int tr_worker_pool_start(tr_worker_pool *pool) {
  int started = 0;
  pthread_mutex_lock(&pool->mutex);
  for (int i = 0; i < pool->count; i++) {
    seat *s = &pool->seats[i];
    s->has_thread = tr_thread_start(&s->thread, run, s);
    started += s->has_thread;
    s->is_orphan = !s->has_thread && s->is_busy;
  }
  pool->running = pool->reading = started;
  pool->is_started = started > 0;
  pthread_mutex_unlock(&pool->mutex);
  return started > 0;
}

int tr_worker_pool_wait(tr_worker_pool *pool, int milliseconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  int64_t nanoseconds = until.tv_nsec + (int64_t)milliseconds * 1000000;
  until.tv_sec += (time_t)(nanoseconds / 1000000000);
  until.tv_nsec = (long)(nanoseconds % 1000000000);
  pthread_mutex_lock(&pool->mutex);
  int rc = 0;
  while (pool->running > 0 && rc != ETIMEDOUT) {
    rc = pthread_cond_timedwait(&pool->ended, &pool->mutex, &until);
  }
  int has_ended = pool->running == 0;
  pthread_mutex_unlock(&pool->mutex);
  return has_ended;
}

tr_code tr_worker_pool_join(tr_worker_pool *pool, tr_error *err) {
  for (int i = 0; i < pool->count; i++) {
    if (pool->seats[i].has_thread) pthread_join(pool->seats[i].thread, NULL);
  }
  for (int i = 0; i < pool->count; i++) {
    if (pool->is_started && !pool->seats[i].has_thread) finish(&pool->seats[i]);
    pool->seats[i].has_thread = 0;
  }
  pool->is_started = 0;
  if (pool->err.code != TR_OK && err != NULL) *err = pool->err;
  return pool->err.code;
}

/* --- Progress, creating and freeing ----------------------------------------------------------- */

tr_worker_progress tr_worker_pool_progress(tr_worker_pool *pool) {
  tr_worker_progress progress = {.splits = atomic_load(&pool->splits),
                                 .empty_splits = atomic_load(&pool->empty_splits)};
  double left = 0;
  pthread_mutex_lock(&pool->mutex);
  for (range_part *part = pool->parts; part != NULL; part = part->next) {
    double average = rows_left_on_average(part);
    left += average >= 0 ? average : part->rows_ahead;
  }
  pthread_mutex_unlock(&pool->mutex);
  for (int i = 0; i < pool->count; i++) progress.rows += tr_worker_pool_rows_of(pool, i);
  double rows = (double)progress.rows;
  progress.fraction = left > 0 ? rows / (rows + left) : 1;
  return progress;
}

uint64_t tr_worker_pool_rows_of(tr_worker_pool *pool, int worker) {
  return atomic_load_explicit(&pool->seats[worker].rows, memory_order_relaxed);
}

/* Deals the first parts to the seats, one after another. */
typedef struct dealing {
  tr_worker_pool *pool;
  int next;
} dealing;

static tr_code deal(void *context, const tr_restriction *piece, tr_error *err) {
  dealing *d = context;
  tr_worker_pool *pool = d->pool;
  double expected = (double)pool->expected_rows / pool->count;
  range_part *part = new_part(pool, &piece->bytes, expected, err);
  if (part == NULL) return err == NULL ? TR_NO_MEMORY : err->code;
  seat *s = &pool->seats[d->next++];
  atomic_store(&s->part, part);
  s->is_busy = 1;
  pool->busy++;
  return TR_OK;
}

static tr_code deal_all(tr_worker_pool *pool, const tr_byte_key_range *range, tr_error *err) {
  dealing d = {pool, 0};
  tr_restriction whole = {.kind = TR_BYTES, .bytes = *range};
  tr_code code = tr_restriction_split(&whole, pool->count, deal, &d, err);
  /*
  ** A narrow range has fewer pieces than workers. The other seats begin with the first one's part.
  */
  for (int i = d.next; i < pool->count && code == TR_OK; i++) {
    atomic_store(&pool->seats[i].part, atomic_load(&pool->seats[0].part));
  }
  return code;
}

/* Creates the mutex and the conditions. On failure there is none of them. */
static tr_code init_meeting(tr_worker_pool *pool, tr_error *err) {
  tr_code code = tr_mutex_init(&pool->mutex, err);
  if (code != TR_OK) return code;
  code = tr_condition_init(&pool->changed, err);
  if (code != TR_OK) goto no_changed;
  code = tr_condition_init(&pool->ended, err);
  if (code == TR_OK) return TR_OK;
  pthread_cond_destroy(&pool->changed);
no_changed:
  pthread_mutex_destroy(&pool->mutex);
  return code;
}

tr_code tr_worker_pool_create(const tr_work *work, void *context, int count,
                              const tr_byte_key_range *range, uint64_t expected_rows,
                              tr_worker_pool **created, tr_error *err) {
  size_t size = sizeof(tr_worker_pool) + (size_t)count * sizeof(seat);
  *created = NULL;
  tr_worker_pool *pool = tr_malloc(size);
  if (pool == NULL) return tr_error_no_memory(err);
  memset(pool, 0, size);
  pool->work = work;
  pool->context = context;
  pool->count = count;
  pool->expected_rows = expected_rows;
  uint64_t piece_rows = expected_rows / (PIECES_PER_WORKER * (uint64_t)count);
  pool->piece_rows = piece_rows < LEAST_ROWS        ? LEAST_ROWS
                     : piece_rows > MOST_PIECE_ROWS ? MOST_PIECE_ROWS
                                                    : (uint32_t)piece_rows;
  tr_code code = init_meeting(pool, err);
  if (code != TR_OK) {
    tr_free(pool);
    return code;
  }
  for (int i = 0; i < count; i++) {
    pool->seats[i].pool = pool;
    pool->seats[i].number = i;
    pool->seats[i].window.wanted = pool->piece_rows;
  }
  code = deal_all(pool, range, err);
  if (code != TR_OK) {
    tr_worker_pool_free(pool);
    return code;
  }
  *created = pool;
  return TR_OK;
}

void tr_worker_pool_free(tr_worker_pool *pool) {
  if (pool == NULL) return;
  for (range_part *part = pool->parts; part != NULL;) {
    range_part *next = part->next;
    tr_tracker_free(tr_byte_key_tracker_base(part->tracker));
    tr_free(part);
    part = next;
  }
  for (int i = 0; i < pool->count; i++) {
    seat *s = &pool->seats[i];
    tr_byte_key_window_free(&s->window);
    tr_buffer_free(&s->key);
    tr_buffer_free(&s->next);
    tr_buffer_free(&s->looked);
    tr_buffer_free(&s->piece.last);
  }
  pthread_cond_destroy(&pool->ended);
  pthread_cond_destroy(&pool->changed);
  pthread_mutex_destroy(&pool->mutex);
  tr_free(pool);
}

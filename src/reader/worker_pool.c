/*
** Turns, and the threads that take them.
**
** When is everything read? A worker is busy from the moment it asks for a range until it finds that
** its range is read. It has the range that it takes before anybody can see fewer busy workers. So
** if nobody is busy, nothing is left.
*/
#include "reader/worker_pool_inside.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/thread.h"

/* How long an idle worker waits before it asks again, unless something changes earlier. */
#define ASK_AGAIN_NANOSECONDS 500000

/*
** Rows of a piece, at least TR_POOL_LEAST_ROWS. It has enough rows to make its own cost (some
** microseconds) negligible, and so few that it ends soon: each worker should have some dozens of
** pieces. A piece is cut if it turns out to be twice as long.
*/
#define MOST_PIECE_ROWS 16384
#define PIECES_PER_WORKER 64

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

/* --- Turns ------------------------------------------------------------------------------------ */

/*
** Marks the seat as busy or not, and wakes those who wait if nobody is busy any more. It does not
** wake them when a worker merely begins to look for work or gives up: they would look, too, and
** wake it in turn.
*/
static void set_busy(tr_pool_seat *s, int is_busy) {
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

/* Takes over the whole part of a seat whose thread could not be started. */
static int adopt(tr_pool_seat *s) {
  tr_worker_pool *pool = s->pool;
  int is_found = 0;
  pthread_mutex_lock(&pool->mutex);
  for (int i = 0; i < pool->count && !is_found; i++) {
    tr_pool_seat *empty = &pool->seats[i];
    if (!empty->is_orphan) continue;
    empty->is_orphan = empty->is_busy = 0;
    s->is_busy = is_found = 1;
    s->has_key = 0;
    atomic_store(&s->part, atomic_load(&empty->part));
  }
  pthread_mutex_unlock(&pool->mutex);
  return is_found;
}

static tr_turn look_for_work(tr_pool_seat *s) {
  tr_worker_pool *pool = s->pool;
  tr_error err = {0};
  if (!is_anybody_busy(pool)) return TR_TURN_ENDED;
  if (adopt(s)) return TR_TURN_STOLE;
  set_busy(s, 1);
  int taken = tr_pool_take_half(s, &err);
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
  tr_pool_seat *s = &pool->seats[worker];
  tr_error err = {0};
  *rows = 0;
  if (tr_worker_pool_is_stopped(pool)) return TR_TURN_ENDED;
  if (!s->is_busy) return look_for_work(s);
  tr_pool_part *part = atomic_load(&s->part);
  int read = tr_pool_read_piece(s, part, &err);
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
static void finish(tr_pool_seat *s) {
  tr_worker_pool *pool = s->pool;
  tr_error err = {0};
  if (tr_worker_pool_is_stopped(pool) || pool->work->finish == NULL) return;
  if (pool->work->finish(pool->context, s->number, &err) != TR_OK) tr_worker_pool_stop(pool, &err);
}

static void *run(void *pointer) {
  tr_pool_seat *s = pointer;
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
    tr_pool_seat *s = &pool->seats[i];
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
  for (tr_pool_part *part = pool->parts; part != NULL; part = part->next) {
    double average = tr_pool_rows_on_average(part);
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
  tr_pool_part *part = tr_pool_add_part(pool, &piece->bytes, expected, err);
  if (part == NULL) return err == NULL ? TR_NO_MEMORY : err->code;
  tr_pool_seat *s = &pool->seats[d->next++];
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
  size_t size = sizeof(tr_worker_pool) + (size_t)count * sizeof(tr_pool_seat);
  *created = NULL;
  tr_worker_pool *pool = tr_malloc(size);
  if (pool == NULL) return tr_error_no_memory(err);
  memset(pool, 0, size);
  pool->work = work;
  pool->context = context;
  pool->count = count;
  pool->expected_rows = expected_rows;
  uint64_t piece_rows = expected_rows / (PIECES_PER_WORKER * (uint64_t)count);
  pool->piece_rows = piece_rows < TR_POOL_LEAST_ROWS ? TR_POOL_LEAST_ROWS
                     : piece_rows > MOST_PIECE_ROWS  ? MOST_PIECE_ROWS
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
  for (tr_pool_part *part = pool->parts; part != NULL;) {
    tr_pool_part *next = part->next;
    tr_tracker_free(tr_byte_key_tracker_base(part->tracker));
    tr_free(part);
    part = next;
  }
  for (int i = 0; i < pool->count; i++) {
    tr_pool_seat *s = &pool->seats[i];
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

/*
** The parts that the source is divided into, how many rows each has left, and how a worker takes
** half of another's part.
*/
#include "reader/worker_pool_inside.h"

#include <string.h>

#include "base/memory.h"

/* --- Parts ------------------------------------------------------------------------------------ */

tr_pool_part *tr_pool_add_part(tr_worker_pool *pool, const tr_byte_key_range *range,
                               double expected_rows, tr_error *err) {
  tr_pool_part *part = tr_malloc(sizeof *part);
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

double tr_pool_rows_on_average(tr_pool_part *part) {
  tr_tracker *tracker = tr_byte_key_tracker_base(part->tracker);
  double consumed = tr_tracker_fraction_consumed(tracker);
  double rows = (double)atomic_load_explicit(&part->rows, memory_order_relaxed);
  if (tr_tracker_is_done(tracker)) return 0;
  /* A fraction of 1 here means: less than 1, but too near to it for a double. */
  return consumed > 0 && consumed < 1 && rows > 0 ? rows * (1 - consumed) / consumed : -1;
}

double tr_pool_rows_at_most(tr_worker_pool *pool, tr_pool_part *part) {
  double average = tr_pool_rows_on_average(part);
  pthread_mutex_lock(&pool->mutex);
  double ahead = part->rows_ahead;
  pthread_mutex_unlock(&pool->mutex);
  return average == 0 || average > ahead ? average : ahead;
}

void tr_pool_expect_rows(tr_worker_pool *pool, tr_pool_part *part, double rows) {
  pthread_mutex_lock(&pool->mutex);
  part->rows_ahead = rows;
  pthread_mutex_unlock(&pool->mutex);
}

/* --- Taking from others ----------------------------------------------------------------------- */

/* Gives the seat a range that nobody else has. `key` is its start already. */
static tr_code sit_down(tr_pool_seat *s, const tr_byte_key_range *range, double expected_rows,
                        tr_error *err) {
  tr_pool_part *part = tr_pool_add_part(s->pool, range, expected_rows, err);
  if (part == NULL) return TR_NO_MEMORY;
  atomic_store(&s->part, part);
  return tr_pool_begin_part(s, expected_rows, err);
}

/*
** Makes the part end just behind its last key. If keys are few among all possible ones, as those of
** text are, most halves of what is left would otherwise be empty. 1: done. 0: the last key has been
** claimed, so there is nothing to take. -1: failed.
*/
static int drop_empty_tail(tr_pool_seat *s, tr_pool_part *part, tr_error *err) {
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
static int take_half(tr_pool_seat *s, tr_pool_part *from, tr_error *err) {
  tr_worker_pool *pool = s->pool;
  tr_buffer *key = &s->key;
  tr_tracker *tracker = tr_byte_key_tracker_base(from->tracker);
  int found = 0;
  while (found == 0 && !tr_worker_pool_is_stopped(pool)) {
    tr_restriction half = {0};
    int is_anything_left = drop_empty_tail(s, from, err);
    if (is_anything_left <= 0) return is_anything_left;
    double expected = tr_pool_rows_at_most(pool, from) / 2;
    int split = tr_tracker_try_split(tracker, 0.5, &half, err);
    if (split <= 0) return split;
    atomic_store(&from->is_tight, 0);
    tr_byte_key_range *range = &half.bytes;
    found =
        pool->work->first_key(pool->context, s->number, tr_buffer_bytes(&range->start), key, err);
    if (found == 1) found = tr_byte_key_range_contains(range, tr_buffer_bytes(key));
    if (found == 1 && tr_buffer_set(&range->start, tr_buffer_bytes(key), err) != TR_OK) found = -1;
    if (found == 1 && sit_down(s, range, expected, err) != TR_OK) found = -1;
    tr_pool_expect_rows(pool, from, expected);
    tr_restriction_free(&half);
    atomic_fetch_add(found == 0 ? &pool->empty_splits : &pool->splits, found >= 0);
  }
  return found;
}

/* The part with most rows left, of the seats that were not yet asked. NULL: none has enough. */
static tr_pool_part *busiest(tr_worker_pool *pool, uint64_t *asked) {
  tr_pool_part *best = NULL;
  int best_seat = 0;
  double most = 0;
  for (int i = 0; i < pool->count; i++) {
    if (*asked >> i & 1) continue;
    tr_pool_part *part = atomic_load(&pool->seats[i].part);
    double left = tr_pool_rows_at_most(pool, part);
    if (left < TR_POOL_LEAST_ROWS || left <= most) continue;
    most = left;
    best = part;
    best_seat = i;
  }
  *asked |= best == NULL ? 0 : UINT64_C(1) << best_seat;
  return best;
}

int tr_pool_take_half(tr_pool_seat *s, tr_error *err) {
  uint64_t asked = UINT64_C(1) << s->number;
  int taken = 0;
  tr_pool_part *from;
  while (taken == 0 && (from = busiest(s->pool, &asked)) != NULL) {
    taken = take_half(s, from, err);
  }
  return taken;
}

/*
** Rankings: a binary heap of at most n tuples. Its root is the last tuple in order, so one
** comparison with it is enough to refuse most inputs.
*/
#include "combine/ranking.h"

#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "combine/codec.h"
#include "combine/held_value.h"

/* The first capacity of a heap, in tuples. */
#define FIRST_CAPACITY 4

static tr_value *tuples_of(tr_ranking *ranking) {
  return ranking->capacity == 0 ? ranking->tuples.one : ranking->tuples.many;
}

static const tr_value *const_tuples_of(const tr_ranking *ranking) {
  return ranking->capacity == 0 ? ranking->tuples.one : ranking->tuples.many;
}

static size_t tuple_size(tr_ranking_order order) {
  return (size_t)order.width * sizeof(tr_value);
}

/* <0 if a comes first. */
static int compare(tr_ranking_order order, const tr_value *a, const tr_value *b) {
  return order.direction * tr_tuple_compare(a, b, order.width);
}

static void swap(tr_ranking_order order, tr_value *a, tr_value *b) {
  for (int i = 0; i < order.width; i++) {
    tr_value moved = a[i];
    a[i] = b[i];
    b[i] = moved;
  }
}

static void sift_up(tr_ranking_order order, tr_value *tuples, size_t at) {
  size_t width = (size_t)order.width;
  while (at > 0) {
    size_t parent = (at - 1) / 2;
    if (compare(order, tuples + at * width, tuples + parent * width) <= 0) return;
    swap(order, tuples + at * width, tuples + parent * width);
    at = parent;
  }
}

static void sift_down(tr_ranking_order order, tr_value *tuples, size_t count, size_t at) {
  size_t width = (size_t)order.width;
  for (;;) {
    size_t last = at, child = 2 * at + 1;
    for (size_t c = child; c <= child + 1 && c < count; c++) {
      if (compare(order, tuples + c * width, tuples + last * width) > 0) last = c;
    }
    if (last == at) return;
    swap(order, tuples + at * width, tuples + last * width);
    at = last;
  }
}

static size_t held_size(const tr_value *tuple, int width) {
  size_t size = 0;
  for (int i = 0; i < width; i++) size += tr_held_value_size(&tuple[i]);
  return size;
}

static void free_tuple(tr_value *tuple, int width) {
  for (int i = 0; i < width; i++) tr_held_value_free(&tuple[i]);
}

static tr_code hold_tuple(tr_value *held, const tr_value *tuple, int width, tr_error *err) {
  for (int i = 0; i < width; i++) {
    tr_code code = tr_held_value_set(&held[i], &tuple[i], err);
    if (code == TR_OK) continue;
    free_tuple(held, i);
    return code;
  }
  return TR_OK;
}

/* Makes room for one more tuple. The capacity is at most n. */
static tr_code grow(tr_ranking *ranking, tr_ranking_order order, int64_t n, tr_error *err) {
  size_t capacity = ranking->capacity == 0 ? 1 : ranking->capacity;
  if (ranking->count < capacity) return TR_OK;
  size_t wanted = capacity < FIRST_CAPACITY ? FIRST_CAPACITY : capacity * 2;
  if (wanted > (uint64_t)n) wanted = (size_t)n;
  tr_value *old = ranking->capacity == 0 ? NULL : ranking->tuples.many;
  tr_value *many = tr_realloc(old, wanted * tuple_size(order));
  if (many == NULL) return tr_error_no_memory(err);
  if (old == NULL)
    memcpy(many, ranking->tuples.one, tuple_size(order));
  else
    ranking->heap_size -= capacity * tuple_size(order);
  ranking->tuples.many = many;
  ranking->capacity = (uint32_t)wanted;
  ranking->heap_size += wanted * tuple_size(order);
  return TR_OK;
}

/*
** Whether a tuple comes after the last one of a full ranking. Different numbers of one type are
** compared without a call.
*/
static inline int is_refused(tr_ranking_order order, const tr_value *tuple, const tr_value *last) {
  if (tuple->type == last->type && tuple->type == TR_REAL && tuple->real != last->real) {
    return (tuple->real > last->real) == (order.direction > 0);
  }
  if (tuple->type == last->type && tuple->type == TR_INTEGER && tuple->integer != last->integer) {
    return (tuple->integer > last->integer) == (order.direction > 0);
  }
  return compare(order, tuple, last) >= 0;
}

tr_code tr_ranking_add(tr_ranking *ranking, tr_ranking_order order, int64_t n,
                       const tr_value *tuple, tr_error *err) {
  int is_full = ranking->count == (uint64_t)n;
  if (is_full && (n == 0 || is_refused(order, tuple, tuples_of(ranking)))) return TR_OK;
  tr_value held[TR_RANKING_MAX_WIDTH];
  tr_code code = hold_tuple(held, tuple, order.width, err);
  if (code != TR_OK) return code;
  if (!is_full) {
    code = grow(ranking, order, n, err);
    if (code != TR_OK) {
      free_tuple(held, order.width);
      return code;
    }
  }
  tr_value *tuples = tuples_of(ranking);
  if (is_full) {
    ranking->heap_size -= held_size(tuples, order.width);
    free_tuple(tuples, order.width);
    memcpy(tuples, held, tuple_size(order));
    sift_down(order, tuples, ranking->count, 0);
  } else {
    memcpy(tuples + ranking->count * (size_t)order.width, held, tuple_size(order));
    sift_up(order, tuples, ranking->count++);
  }
  ranking->heap_size += held_size(held, order.width);
  return TR_OK;
}

tr_code tr_ranking_merge(tr_ranking *ranking, tr_ranking_order order, int64_t n,
                         const tr_ranking *other, tr_error *err) {
  const tr_value *tuples = const_tuples_of(other);
  tr_code code = TR_OK;
  for (size_t i = 0; i < other->count && code == TR_OK; i++) {
    code = tr_ranking_add(ranking, order, n, tuples + i * (size_t)order.width, err);
  }
  return code;
}

/*
** Copies all tuples, the first in order first; NULL if there are none. The caller frees the array
** with tr_free. The values in it still belong to the ranking.
*/
static tr_code sorted_copy(const tr_ranking *ranking, tr_ranking_order order, tr_value **tuples,
                           tr_error *err) {
  *tuples = NULL;
  if (ranking->count == 0) return TR_OK;
  size_t width = (size_t)order.width, size = ranking->count * tuple_size(order);
  tr_value *sorted = tr_malloc(size);
  if (sorted == NULL) return tr_error_no_memory(err);
  memcpy(sorted, const_tuples_of(ranking), size);
  for (size_t count = ranking->count; count > 1; count--) {
    swap(order, sorted, sorted + (count - 1) * width);
    sift_down(order, sorted, count - 1, 0);
  }
  *tuples = sorted;
  return TR_OK;
}

const tr_value *tr_ranking_last(const tr_ranking *ranking, int column) {
  return &const_tuples_of(ranking)[column];
}

static tr_code append_json(const tr_ranking *ranking, tr_ranking_order order, int column,
                           tr_buffer *json, tr_error *err) {
  tr_value *sorted;
  tr_code code = sorted_copy(ranking, order, &sorted, err);
  if (code == TR_OK) code = tr_buffer_append_byte(json, '[', err);
  for (size_t i = 0; i < ranking->count && code == TR_OK; i++) {
    if (i > 0) code = tr_buffer_append_byte(json, ',', err);
    if (code != TR_OK) break;
    code = tr_json_append_value(json, &sorted[i * (size_t)order.width + (size_t)column], err);
  }
  if (code == TR_OK) code = tr_buffer_append_byte(json, ']', err);
  tr_free(sorted);
  return code;
}

tr_code tr_ranking_extract(const tr_ranking *ranking, tr_ranking_order order, int column,
                           const char *function, tr_combine_output *output, tr_error *err) {
  tr_error reason;
  tr_code code = append_json(ranking, order, column, &output->storage, &reason);
  if (code == TR_NO_MEMORY) return tr_error_no_memory(err);
  if (code != TR_OK) return tr_error_set(err, code, "%s(): %s", function, reason.message);
  output->value = tr_value_text(tr_buffer_bytes(&output->storage));
  output->is_json = 1;
  return TR_OK;
}

tr_code tr_ranking_write(const tr_ranking *ranking, tr_ranking_order order, tr_buffer *bytes,
                         tr_error *err) {
  tr_value *sorted;
  tr_code code = sorted_copy(ranking, order, &sorted, err);
  if (code == TR_OK) code = tr_put_varint(bytes, ranking->count, err);
  for (size_t i = 0; i < ranking->count * (size_t)order.width && code == TR_OK; i++) {
    code = tr_put_value(bytes, &sorted[i], err);
  }
  tr_free(sorted);
  return code;
}

static tr_code take_tuple(tr_decoder *from, tr_ranking_order order, tr_value *tuple,
                          const tr_value *previous, tr_error *err) {
  for (int i = 0; i < order.width; i++) {
    tr_code code = tr_take_value(from, "value", &tuple[i], err);
    if (code != TR_OK) return code;
  }
  if (tuple[0].type == TR_NULL) return tr_take_fail(from, "value", "is NULL", err);
  if (previous != NULL && compare(order, previous, tuple) > 0) {
    return tr_take_fail(from, "values", "are not in order", err);
  }
  return TR_OK;
}

/*
** Every value takes at least one byte, so no more is allocated than a multiple of the bytes that
** are there.
*/
static tr_code take_tuples(tr_ranking *ranking, tr_ranking_order order, int64_t n, tr_decoder *from,
                           tr_error *err) {
  uint64_t count;
  tr_value tuples[2][TR_RANKING_MAX_WIDTH];
  tr_code code = tr_take_varint(from, "count", &count, err);
  if (code == TR_OK && count > (uint64_t)n) {
    code = tr_take_fail(from, "count", "is above n", err);
  }
  for (uint64_t i = 0; code == TR_OK && i < count; i++) {
    const tr_value *previous = i > 0 ? tuples[(i - 1) % 2] : NULL;
    code = take_tuple(from, order, tuples[i % 2], previous, err);
    if (code == TR_OK) code = tr_ranking_add(ranking, order, n, tuples[i % 2], err);
  }
  return code == TR_OK ? tr_take_end(from, err) : code;
}

tr_code tr_ranking_read(tr_ranking *ranking, tr_ranking_order order, int64_t n,
                        const char *function, tr_bytes bytes, tr_error *err) {
  tr_decoder from = {bytes, function};
  tr_code code = take_tuples(ranking, order, n, &from, err);
  if (code != TR_OK) tr_ranking_free(ranking, order.width);
  return code;
}

void tr_ranking_free(tr_ranking *ranking, int width) {
  tr_value *tuples = tuples_of(ranking);
  for (size_t i = 0; i < ranking->count; i++) free_tuple(tuples + i * (size_t)width, width);
  if (ranking->capacity > 0) tr_free(tuples);
  *ranking = (tr_ranking){0};
}

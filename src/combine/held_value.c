/*
** Held values: one allocation for the bytes of a text or BLOB, none for other values.
*/
#include "combine/held_value.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

tr_code tr_held_value_set(tr_value *held, const tr_value *value, tr_error *err) {
  if (value->type < TR_TEXT || value->bytes.size == 0) {
    *held = *value;
    if (value->type >= TR_TEXT) held->bytes.data = NULL; /* the caller's may go */
    return TR_OK;
  }
  uint8_t *copy = tr_malloc(value->bytes.size);
  if (copy == NULL) return tr_error_no_memory(err);
  memcpy(copy, value->bytes.data, value->bytes.size);
  *held = *value;
  held->bytes.data = copy;
  return TR_OK;
}

size_t tr_held_value_size(const tr_value *held) {
  return held->type < TR_TEXT ? 0 : held->bytes.size;
}

void tr_held_value_free(tr_value *held) {
  if (tr_held_value_size(held) > 0) tr_free((void *)(uintptr_t)held->bytes.data);
  *held = tr_value_null();
}

/* For two values that are equal in SQLite's order. */
static int compare_identity(const tr_value *a, const tr_value *b) {
  if (a->type != b->type) return a->type < b->type ? -1 : 1;
  if (a->type != TR_REAL) return 0;
  return (signbit(b->real) != 0) - (signbit(a->real) != 0);
}

int tr_tuple_compare(const tr_value *a, const tr_value *b, int width) {
  int order = 0;
  for (int i = 0; i < width && order == 0; i++) order = tr_value_compare(&a[i], &b[i]);
  for (int i = width - 1; i >= 0 && order == 0; i--) order = compare_identity(&a[i], &b[i]);
  return order;
}

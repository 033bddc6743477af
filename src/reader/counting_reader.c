/*
** Counting as a cursor. The source itself is the state: each record makes it one number shorter.
*/
#include "reader/counting_reader.h"

static int next(void *cursor, tr_position *position, tr_error *err) {
  tr_counting_source *rest = &((tr_counting_cursor *)cursor)->rest;
  (void)err;
  if (rest->is_empty) return 0;
  *position = tr_position_of_offset(tr_counting_offset(rest->first, rest->step));
  if (rest->first == rest->last) {
    rest->is_empty = 1;
  } else {
    rest->first = (int64_t)((uint64_t)rest->first + (uint64_t)rest->step);
  }
  return 1;
}

static void close(void *cursor) {
  (void)cursor;
}

const tr_cursor_class tr_counting_cursor_class = {.next = next, .close = close};

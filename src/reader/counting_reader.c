/*
** Counting as a cursor: the source itself is the state, one number shorter after each.
*/
#include "reader/counting_reader.h"

static int next(void *cursor, tr_position *position, tr_error *err) {
  tr_counting_source *rest = &((tr_counting_cursor *)cursor)->rest;
  (void)err;
  if (rest->is_empty) return 0;
  *position = tr_position_of_offset(tr_counting_offset(rest->first, rest->step));
  tr_counting_source_skip(rest, 1);
  return 1;
}

static void close(void *cursor) {
  (void)cursor;
}

const tr_cursor_class tr_counting_cursor_class = {.next = next, .close = close};

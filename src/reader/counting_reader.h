/*
** A cursor over a counting source, for tr_reader. The position of a number is its offset
** (tr_counting_offset). The source must be cut to what the tracker still holds.
**
** Ownership: a plain value inside the caller's struct. Closing it releases nothing.
*/
#ifndef TR_READER_COUNTING_READER_H
#define TR_READER_COUNTING_READER_H

#include "reader/counting_source.h"
#include "reader/reader.h"

typedef struct tr_counting_cursor {
  tr_counting_source rest; /* the numbers that were not given yet */
} tr_counting_cursor;

/* The cursor is a tr_counting_cursor *. `next` never fails. */
extern const tr_cursor_class tr_counting_cursor_class;

#endif

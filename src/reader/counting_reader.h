/*
** The cursor over a counting source, for tr_reader: each number's position is its offset
** (tr_counting_offset). Give it the source cut to what the tracker still holds.
**
** Ownership: a plain value that lives in the caller's struct; closing it releases nothing.
*/
#ifndef TR_READER_COUNTING_READER_H
#define TR_READER_COUNTING_READER_H

#include "reader/counting_source.h"
#include "reader/reader.h"

typedef struct tr_counting_cursor {
  tr_counting_source rest; /* what was not given out yet */
} tr_counting_cursor;

/* Its cursor is a tr_counting_cursor *. Never fails. */
extern const tr_cursor_class tr_counting_cursor_class;

#endif

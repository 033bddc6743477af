/*
** A bounded reader. It reads the records of a source in order, claims each from a range tracker
** before the caller sees it, and can be split while it runs.
**
** A reader has three parts: a *cursor* that knows how to get the next record (counting, an inner
** SELECT); a *tracker* that decides whether the reader may have it; and the rules of the contract,
** which are here, in one place:
**   - start, then advance. Both return 1 (a record), 0 (the end), or -1 (failed).
**   - current without a record is an error. It gives the same record until the next advance.
**   - The fraction is 0 before start and 1 after the end, and never decreases.
**   - A refused split has no effect. Primary and residual of a granted one are the old source.
**   - A reader that failed stays failed. What it had not claimed can still be split off.
**
** The extension does not need split_at_fraction, fraction_consumed and current_source: SQL splits
** and asks a reader's tracker by its name. They are for programs that link to us.
**
** Thread-safety: init, start, advance, current and close belong to one thread. Any thread may call
** split_at_fraction, fraction_consumed and current_source between init and close, also while the
** reader is in start or advance. They do not wait for the cursor.
** Source: Apache Beam, BoundedSource.BoundedReader.
*/
#ifndef TR_READER_READER_H
#define TR_READER_READER_H

#include <pthread.h>
#include <stdatomic.h>

#include "range/byte_key_tracker.h"
#include "range/tracker.h"

/* The methods of a cursor over a concrete source. */
typedef struct tr_cursor_class {
  /*
  ** Moves to the next record. 1: `*position` is its position, which is above all earlier ones; a
  ** key is borrowed until the next call. 0: the end of the source. -1: failed. Not called again
  ** after 0 or -1.
  */
  int (*next)(void *cursor, tr_position *position, tr_error *err);
  /* Releases the cursor. */
  void (*close)(void *cursor);
} tr_cursor_class;

/* Opaque to callers. It is declared here so that a reader can be a member of another struct. */
typedef struct tr_reader {
  const tr_cursor_class *cursor_class;
  void *cursor;
  tr_tracker *tracker;
  tr_byte_key_tracker *byte_keys; /* the same, if it is of that class: claims go there directly */
  tr_position position;           /* of the present record, while there is one */
  _Atomic int phase;
  _Atomic double reported_fraction; /* the highest that anybody was told */
  pthread_mutex_t splitting; /* one split at a time: each is relative to the source as it is */
} tr_reader;

/*
** Makes a reader of `cursor` (owned: closed with the reader) over what `tracker` holds (borrowed:
** must outlive the reader; may be shared with splitters). TR_NO_MEMORY: there is no reader to
** close, and the cursor is still the caller's.
*/
tr_code tr_reader_init(tr_reader *reader, const tr_cursor_class *cursor_class, void *cursor,
                       tr_tracker *tracker, tr_error *err);

/* Moves to the first record. TR_INVALID_STATE if it was called before. */
int tr_reader_start(tr_reader *reader, tr_error *err);

/*
** Moves to the next record. After the end it returns 0 again. TR_INVALID_STATE before start, after
** a failure, and after close.
*/
int tr_reader_advance(tr_reader *reader, tr_error *err);

/*
** The position of the present record; a key is borrowed until the next advance. TR_INVALID_STATE:
** there is none.
*/
tr_code tr_reader_current(const tr_reader *reader, tr_position *position, tr_error *err);

/*
** Gives away what lies behind `fraction` of the *current source* (not of what remains). 1:
** `*residual` is what was given away, which the caller frees; the source is now the primary. 0:
** refused, without any effect: before the start, after the end, too late, too narrow, or fraction
** not in (0, 1). -1: TR_NO_MEMORY. If another thread splits the tracker directly at the same time,
** the source may be smaller by then than it was when the point of the split was computed.
*/
int tr_reader_split_at_fraction(tr_reader *reader, double fraction, tr_restriction *residual,
                                tr_error *err);

double tr_reader_fraction_consumed(tr_reader *reader);

/* The range that is being read now, after all splits. The caller frees it. TR_NO_MEMORY. */
tr_code tr_reader_current_source(tr_reader *reader, tr_restriction *source, tr_error *err);

/* Closes the cursor. What was not advanced to was never claimed. A second call does nothing. */
void tr_reader_close(tr_reader *reader);

#endif

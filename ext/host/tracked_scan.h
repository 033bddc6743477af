/*
** A scan of a table that others can split: a statement reader, a bounded reader over it, and the
** tracker of a name, which claims every row before it is given.
**
** With a name that is not open, the tracker is opened over the restriction cut to the keys that the
** query asks for, and stays open after the scan. A name that is open keeps its range, and the scan
** goes on behind the last key that was attempted. Without a name nobody else could know of the
** scan: there is nothing to claim, and the rows are what the statement reader gives.
**
** A statement that reads a table and writes into it would read what it has written, without end:
** SQLite cannot know that one of our tables reads that other one. So a scan of which that may be
** true ends at the key that is the last one when it begins; one that is begun again, as the inner
** loop of a join is, at the same one.
**
** Thread-safety: belongs to the thread of its connection; its tracker may be split by any other.
*/
#ifndef TR_HOST_TRACKED_SCAN_H
#define TR_HOST_TRACKED_SCAN_H

#include "host/sqlite_host.h"
#include "host/statement_reader.h"
#include "host/tracker_registry.h"

/* Where a table ended. All zero: not set. Released with tr_buffer_free(&limit.last_key). */
typedef struct tr_scan_limit {
  int is_set;
  tr_buffer last_key; /* empty: there was none */
  int64_t last_rowid; /* the greatest that there was */
} tr_scan_limit;

/* All zero is a scan that has not begun. */
typedef struct tr_tracked_scan {
  tr_named_tracker *named; /* with a name: a reference, taken for this scan */
  tr_reader reader;
  int is_reading; /* `reader` is to be closed */

  tr_statement_reader *rows; /* without: borrowed, to be reset */
  tr_position position;      /* of the present row */

  const tr_scan_limit *limit;        /* nothing behind it is read; NULL: there is none; borrowed */
  int is_at_limit;                   /* such a row was met */
  tr_statement_reader *limited_rows; /* borrowed */
} tr_tracked_scan;

/* What is to be scanned. All is borrowed for the call. */
typedef struct tr_scan_request {
  const char *function;
  const tr_bytes *tracker;            /* its name; NULL: none */
  const tr_restriction *restriction;  /* NULL: all keys */
  const tr_byte_key_range *asked_for; /* the keys that the query's terms leave */
  /*
  ** NULL, or whoever reads may be writing into the table at the same time: the limit, which is set
  ** if it is not. It must outlive the scan.
  */
  tr_scan_limit *limit;
} tr_scan_request;

/*
** Begins over `statement_reader`, which the caller keeps and which must outlive the scan, and goes
** to the first row: 1, 0 (there is none), -1. Errors: a restriction or tracker of integers; a
** tracker that another scan is using; an open one whose range reaches beyond the restriction that
** is given.
*/
int tr_tracked_scan_begin(tr_tracked_scan *scan, tr_tracker_registry *trackers,
                          tr_statement_reader *statement_reader, const tr_scan_request *request,
                          tr_error *err);

int tr_tracked_scan_next_limited(tr_tracked_scan *scan, tr_error *err);

/* The next row: 1, 0, -1. At the end and on failure the scan has let its tracker go. */
static inline int tr_tracked_scan_next(tr_tracked_scan *scan, tr_error *err) {
  if (scan->limit != NULL) return tr_tracked_scan_next_limited(scan, err);
  if (scan->rows == NULL) return tr_reader_advance(&scan->reader, err);
  return tr_statement_reader_next(scan->rows, &scan->position, err);
}

/* The present row's key, borrowed until the next row. */
static inline tr_bytes tr_tracked_scan_key(const tr_tracked_scan *scan) {
  return scan->rows == NULL ? scan->reader.position.key : scan->position.key;
}

/*
** Ends the scan. What was not advanced to was never claimed. Does nothing to one that has not
** begun.
*/
void tr_tracked_scan_end(tr_tracked_scan *scan);

#endif

/*
** A scan of a table that others can split. It has a statement reader, a bounded reader over that,
** and the tracker of a name, which claims every row before the scan gives it.
**
** If no tracker of that name is open, one is opened over the restriction, cut to the keys that the
** query asks for. It stays open after the scan. A tracker that is open keeps its range, and the
** scan goes on behind the last key that was attempted. Without a name nobody else can know of the
** scan, so nothing is claimed, and the rows are those of the statement reader.
**
** A statement that reads a table and writes into it would read what it has written, without end,
** because SQLite does not know that one of our tables reads that other one. So a scan for which
** that may be true ends at the key that is the last one when the scan begins. If it is begun again,
** as the inner loop of a join is, it ends at the same key.
**
** Thread-safety: belongs to the thread of its connection. Any thread may split its tracker.
*/
#ifndef TR_HOST_TRACKED_SCAN_H
#define TR_HOST_TRACKED_SCAN_H

#include "host/sqlite_host.h"
#include "host/statement_reader.h"
#include "host/tracker_registry.h"

/* Where a table ended. All zero: not set. Release with tr_buffer_free(&limit.last_key). */
typedef struct tr_scan_limit {
  int is_set;
  tr_buffer last_key; /* empty: the table had no rows */
  int64_t last_rowid; /* the greatest one */
} tr_scan_limit;

/* All zero is a scan that has not begun. */
typedef struct tr_tracked_scan {
  tr_named_tracker *named; /* with a name: a reference, taken for this scan */
  tr_reader reader;
  int is_reading; /* `reader` must be closed */

  tr_statement_reader *rows; /* without a name: borrowed; must be reset */
  tr_position position;      /* of the present row */

  const tr_scan_limit *limit;        /* nothing beyond it is read; borrowed; NULL: no limit */
  int is_at_limit;                   /* a row beyond the limit was met */
  tr_statement_reader *limited_rows; /* borrowed */
} tr_tracked_scan;

/* What to scan. All is borrowed for the call. */
typedef struct tr_scan_request {
  const char *function;
  const tr_bytes *tracker;            /* the name; NULL: none */
  const tr_restriction *restriction;  /* NULL: all keys */
  const tr_byte_key_range *asked_for; /* the keys that the query's terms leave */
  /*
  ** Given if the statement that reads may also write into the table, else NULL. It is set if it is
  ** not set yet, and must outlive the scan.
  */
  tr_scan_limit *limit;
} tr_scan_request;

/*
** Begins a scan over `statement_reader`, which is borrowed and must outlive the scan, and moves to
** the first row. 1: a row. 0: there is none. -1: failed. Errors: a restriction or tracker of
** integers; a tracker that another scan is using; an open tracker whose range reaches beyond the
** given restriction; a key that is made of other columns than in earlier scans of the tracker.
*/
int tr_tracked_scan_begin(tr_tracked_scan *scan, tr_tracker_registry *trackers,
                          tr_statement_reader *statement_reader, const tr_scan_request *request,
                          tr_error *err);

int tr_tracked_scan_next_limited(tr_tracked_scan *scan, tr_error *err);

/* The next row: 1, 0, -1. At the end and on failure the scan releases its tracker. */
static inline int tr_tracked_scan_next(tr_tracked_scan *scan, tr_error *err) {
  if (scan->limit != NULL) return tr_tracked_scan_next_limited(scan, err);
  if (scan->rows == NULL) return tr_reader_advance(&scan->reader, err);
  return tr_statement_reader_next(scan->rows, &scan->position, err);
}

/* The present row's key, borrowed until the next row. */
static inline tr_bytes tr_tracked_scan_key(const tr_tracked_scan *scan) {
  return scan->rows == NULL ? scan->reader.position.key : scan->position.key;
}

/* Ends the scan, if it has begun. What was not advanced to was never claimed. */
void tr_tracked_scan_end(tr_tracked_scan *scan);

#endif

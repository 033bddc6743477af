/*
** The statement reader: an inner SELECT over a table in the order of its key, as a tr_cursor.
**
** The statement is built and prepared once and run over one key range after another by binding. Of a
** range it reads what lies in it and nothing else: where SQL cannot say exactly where a byte key
** stands (it may lie between two values), the statement begins a little early and the reader drops
** rows until the start, and cuts at the end.
**
** What the parameters are: the caller's conditions use ?1 ... ?n and are bound by the caller on
** `tr_statement_reader_stmt`; the reader's own come behind them.
**
** A source without a key (a view, a virtual table) is read in whatever order it gives, and its
** positions are row numbers from 0.
**
** Thread-safety: belongs to the thread of its connection.
*/
#ifndef TR_HOST_STATEMENT_READER_H
#define TR_HOST_STATEMENT_READER_H

#include "host/source_table.h"
#include "range/byte_key_range.h"
#include "reader/reader.h"

typedef struct tr_statement_reader tr_statement_reader;

/* What to select. All borrowed; `source` must outlive the reader, the texts need not. */
typedef struct tr_statement_request {
  const tr_source_table *source;
  const char *const *outputs; /* SQL expressions over the source's columns */
  int output_count;
  const char *const *conditions; /* SQL expressions, ANDed */
  int condition_count;
  int parameter_count; /* ?1 ... ?n of the conditions and outputs */
  int wants_key;       /* 0: positions are row numbers, in any order, without claims of keys */
} tr_statement_request;

/*
** Prepares. TR_HOST with SQLite's text when an expression does not compile. `*reader` is NULL on
** failure. The reader's rows begin with `tr_statement_reader_open`.
*/
tr_code tr_statement_reader_create(sqlite3 *db, const tr_statement_request *request,
                                   tr_statement_reader **reader, tr_error *err);
void tr_statement_reader_free(tr_statement_reader *reader); /* NULL is fine */

/*
** Begins at the start of [start, end) (an empty end: no upper bound); copies both. Rows that were being
** read are left. Bound parameters of the caller stay, as long as `*is_prepared_again` says 0 (it may be
** NULL when there are none).
*/
tr_code tr_statement_reader_open(tr_statement_reader *reader, tr_bytes start, tr_bytes end,
                                 int *is_prepared_again, tr_error *err);

/* Ends the reading: the statement lets go of its snapshot. It can be opened again. */
void tr_statement_reader_reset(tr_statement_reader *reader);

/*
** The statement and the number of its column that holds outputs[0]. Valid until the next open or free;
** column values until the next row.
*/
sqlite3_stmt *tr_statement_reader_stmt(const tr_statement_reader *reader);
int tr_statement_reader_first_output(const tr_statement_reader *reader);

/*
** The next row: 1 with its key in `*position` (a row number without a key), 0 at the end, -1: SQLite's
** error, interrupted, or a value that cannot be a key (the message names it and the way out).
*/
int tr_statement_reader_next(tr_statement_reader *reader, tr_position *position, tr_error *err);

/*
** The same as a cursor for tr_reader_init(reader, &tr_statement_cursor_class, statement_reader, ...).
** Closing such a cursor frees the reader; the borrowed class resets it and leaves it to its owner.
*/
extern const tr_cursor_class tr_statement_cursor_class;
extern const tr_cursor_class tr_borrowed_statement_cursor_class;

/* The rowid of the present row, where the source has one that can be reached. */
int64_t tr_statement_reader_rowid(const tr_statement_reader *reader);

#endif

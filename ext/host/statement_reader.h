/*
** The statement reader: an inner SELECT over a table in the order of its key, as a tr_cursor.
**
** The statement is prepared once and run over one key range after another by binding (it is
** prepared again only when a range needs other SQL: a bound on fewer columns, or none). Of a range
** it reads what lies in it and nothing else: where SQL cannot say exactly where a byte key stands
** (it may lie between two values), the statement begins a little early and the reader drops rows
** until the start, and cuts at the end.
**
** A source without a key (a view, a virtual table), or one that is read without `wants_key`, is
** read in whatever order it gives, and its positions are row numbers from 0.
**
** Thread-safety: belongs to the thread of its connection.
*/
#ifndef TR_HOST_STATEMENT_READER_H
#define TR_HOST_STATEMENT_READER_H

#include "host/source_table.h"
#include "range/byte_key_range.h"
#include "reader/reader.h"

typedef struct tr_statement_reader tr_statement_reader;

/* What to select. All is borrowed; `source` must outlive the reader, the texts need not. */
typedef struct tr_statement_request {
  const char *function; /* named in errors; must outlive the reader */
  tr_source_table *source;
  int wants_key;              /* read in the order of source->key, positions are keys */
  const char *const *outputs; /* SQL expressions over the source's columns */
  int output_count;
  const char *const *conditions; /* SQL expressions, ANDed */
  int condition_count;
  int parameter_count; /* ?1 ... ?n of the outputs and conditions, NULL until they are bound */
} tr_statement_request;

/*
** Makes a reader. TR_INVALID_STATE when the table is no longer what `source` says. `*reader` is
** NULL on failure. Rows begin with open, and only there the statement is prepared.
*/
tr_code tr_statement_reader_create(sqlite3 *db, const tr_statement_request *request,
                                   tr_statement_reader **reader, tr_error *err);
void tr_statement_reader_free(tr_statement_reader *reader); /* NULL is fine */

/*
** Whether the table still is what `source` says. Whoever keeps a reader asks before he does
** anything with what he knows of the table but open the reader, which asks by itself.
** TR_INVALID_STATE: it is not.
*/
tr_code tr_statement_reader_check(tr_statement_reader *reader, tr_error *err);

/* Gives ?index a value (copied) for the next open and all after it. TR_NO_MEMORY. */
tr_code tr_statement_reader_bind(tr_statement_reader *reader, int index, const tr_value *value,
                                 tr_error *err);

/*
** Begins at the start of [start, end) (an empty end: no upper bound; without a key both are
** ignored); copies both. Rows that were being read are left. TR_HOST with SQLite's text when an
** expression does not compile.
*/
tr_code tr_statement_reader_open(tr_statement_reader *reader, tr_bytes start, tr_bytes end,
                                 tr_error *err);

/* Ends the reading: the statement lets go of its snapshot. It can be opened again. */
void tr_statement_reader_reset(tr_statement_reader *reader);

/*
** The next row: 1 with its key in `*position` (or its number), 0 at the end, -1: SQLite's error,
** interrupted, the table has changed, or a value that cannot be a key (the message names it and the
** way out). A key is borrowed until the next call.
*/
int tr_statement_reader_next(tr_statement_reader *reader, tr_position *position, tr_error *err);

/*
** The table's first or last key as it is now, whatever the conditions and the range: one descent of
** the key's index. 1: copied into `key`. 0: the table has no rows. -1: as next, with a value that
** cannot be a key (TR_INVALID_STATE). Wants a key. With the last key comes the greatest rowid
** (NULL: not wanted), where rows have one that can be reached and there are any.
*/
int tr_statement_reader_end_key(tr_statement_reader *reader, int is_last, tr_buffer *key,
                                int64_t *last_rowid, tr_error *err);

/* What it reads. */
const tr_source_table *tr_statement_reader_source(const tr_statement_reader *reader);

/*
** The statement, and the number of its column that holds outputs[0]. Both may be others after each
** `next`; column values hold until the next row.
*/
sqlite3_stmt *tr_statement_reader_stmt(const tr_statement_reader *reader);
int tr_statement_reader_first_output(const tr_statement_reader *reader);

/*
** The present row's values, by the statement's columns: quicker than to ask for each, which takes
** the connection's mutex each time. The mutex must be held, as it is inside a virtual table's
** methods and SQL functions. They hold until the next row.
*/
sqlite3_value *const *tr_statement_reader_values(const tr_statement_reader *reader);

/*
** The rowid of the present row, where the source has one that can be reached and wants_key is set.
*/
int tr_statement_reader_has_rowid(const tr_statement_reader *reader);
int64_t tr_statement_reader_rowid(const tr_statement_reader *reader);

/*
** The same as a cursor for tr_reader_init. Closing one of the first class frees the reader; of the
** second it resets it and leaves it to its owner.
*/
extern const tr_cursor_class tr_statement_cursor_class;
extern const tr_cursor_class tr_borrowed_statement_cursor_class;

#endif

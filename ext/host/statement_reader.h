/*
** The statement reader: an inner SELECT over a table in the order of its key, as a tr_cursor.
**
** The statement is prepared once, and run for one key range after another by binding. It is
** prepared again only if a range needs other SQL: a bound on fewer columns, or no bound. The reader
** gives exactly the rows of the range. SQL cannot always express a byte key, which may lie between
** two values. Then the statement begins a little early, and the reader drops rows before the start
** and stops at the end.
**
** A source without a key (a view, a virtual table) is read in whatever order it gives, and so is
** one that is read without `wants_key`. The positions are then row numbers from 0.
**
** Thread-safety: belongs to the thread of its connection.
*/
#ifndef TR_HOST_STATEMENT_READER_H
#define TR_HOST_STATEMENT_READER_H

#include "host/source_table.h"
#include "range/byte_key_range.h"
#include "reader/reader.h"

typedef struct tr_statement_reader tr_statement_reader;

/* What to select. All is borrowed. `source` must outlive the reader, the texts need not. */
typedef struct tr_statement_request {
  const char *function; /* for errors; must outlive the reader */
  tr_source_table *source;
  int wants_key;              /* read in the order of source->key; positions are keys */
  const char *const *outputs; /* SQL expressions over the source's columns */
  int output_count;
  const char *const *conditions; /* SQL expressions, ANDed */
  int condition_count;
  int parameter_count; /* ?1 ... ?n of the outputs and conditions; NULL until they are bound */
} tr_statement_request;

/*
** Creates a reader. The statement is prepared only by open. TR_INVALID_STATE: the table is no
** longer what `source` says. TR_NO_MEMORY, TR_HOST. On failure `*reader` is NULL.
*/
tr_code tr_statement_reader_create(sqlite3 *db, const tr_statement_request *request,
                                   tr_statement_reader **reader, tr_error *err);
void tr_statement_reader_free(tr_statement_reader *reader); /* NULL is fine */

/*
** Checks that the table is still what `source` says. Open does that itself; code that keeps a
** reader calls this before it relies on the table in any other way. TR_INVALID_STATE: it is not.
*/
tr_code tr_statement_reader_check(tr_statement_reader *reader, tr_error *err);

/* Sets parameter ?index, which is copied, for the next open and all later ones. TR_NO_MEMORY. */
tr_code tr_statement_reader_bind(tr_statement_reader *reader, int index, const tr_value *value,
                                 tr_error *err);

/*
** Begins to read [start, end), and stops what was being read. An empty end means no upper bound.
** Both are copied, and ignored without a key. TR_HOST with SQLite's text: an expression does not
** compile.
*/
tr_code tr_statement_reader_open(tr_statement_reader *reader, tr_bytes start, tr_bytes end,
                                 tr_error *err);

/* Stops reading, so that the statement gives up its snapshot. The reader can be opened again. */
void tr_statement_reader_reset(tr_statement_reader *reader);

/*
** Moves to the next row. 1: `*position` is its key (or its number), valid until the next call. 0:
** the end. -1: SQLite's error, an interrupt, a table that has changed, or a value that cannot be a
** key (the message names it, and what to do).
*/
int tr_statement_reader_next(tr_statement_reader *reader, tr_position *position, tr_error *err);

/*
** Finds the table's first or last key at this moment, whatever the conditions and the range are,
** with one descent of the key's index. 1: it was copied into `key`. 0: the table has no rows. -1:
** as next; a value that cannot be a key is TR_INVALID_STATE. Needs a key. If `last_rowid` is not
** NULL, it is set to the table's greatest rowid, provided that there are rows and their rowid has a
** name.
*/
int tr_statement_reader_end_key(tr_statement_reader *reader, int is_last, tr_buffer *key,
                                int64_t *last_rowid, tr_error *err);

/* The source that it reads. */
const tr_source_table *tr_statement_reader_source(const tr_statement_reader *reader);

/*
** The statement, and the number of its column that holds outputs[0]. Each `next` may change both.
** Column values are valid until the next row.
*/
sqlite3_stmt *tr_statement_reader_stmt(const tr_statement_reader *reader);
int tr_statement_reader_first_output(const tr_statement_reader *reader);

/*
** The values of the present row, by the statement's columns, valid until the next row. This is
** faster than sqlite3_column_value, which takes the connection's mutex for each value. The mutex
** must be held, as it is inside the methods of virtual tables and inside SQL functions.
*/
sqlite3_value *const *tr_statement_reader_values(const tr_statement_reader *reader);

/* The rowid of the present row, if the source has one with a name and wants_key is set. */
int tr_statement_reader_has_rowid(const tr_statement_reader *reader);
int64_t tr_statement_reader_rowid(const tr_statement_reader *reader);

/*
** The reader as a cursor for tr_reader_init. Closing a cursor of the first class frees the reader.
** Closing one of the second class resets the reader, which its owner keeps.
*/
extern const tr_cursor_class tr_statement_cursor_class;
extern const tr_cursor_class tr_borrowed_statement_cursor_class;

#endif

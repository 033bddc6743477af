/*
** A virtual table whose rows are those of a source in the order of its key, every row claimed
** before it is given: what byte_key_scan and scan_job are both made of.
**
**   scan_table.c   connecting: which columns there are, what is declared
**   scan_plan.c    xBestIndex, and plans as text
**   scan_cursor.c  walking it
**
** Behind the source's own columns (or the chosen ones) stand the hidden columns tracker,
** restriction and byte_key. Terms on the source's columns go into the inner statement, those on its
** key narrow the range. The functions that have the form of a module's method can be put into a
** sqlite3_module as they are, if the module's table begins with a tr_scan_table and its cursors
** with a tr_scan_cursor.
**
** Thread-safety: as SQLite's for one connection.
*/
#ifndef TR_HOST_SCAN_TABLE_H
#define TR_HOST_SCAN_TABLE_H

#include "host/key_constraints.h"
#include "host/module_arguments.h"
#include "host/source_table.h"
#include "host/sqlite_host.h"
#include "host/statement_reader.h"
#include "host/tracked_scan.h"

/* The hidden columns, behind the source's own. */
enum { TR_SCAN_TRACKER, TR_SCAN_RESTRICTION, TR_SCAN_BYTE_KEY, TR_SCAN_HIDDEN_COLUMNS };

typedef struct tr_scan_column {
  int source; /* the source's column; -1: its rowid */
  char *name;
  int is_indexed; /* an index begins with it */
} tr_scan_column;

/*
** The inner statement for one plan and the types of its values. A cursor has one, and leaves it to
** its table when it is closed, for the next cursor: a statement that is run again finds it
** prepared.
*/
typedef struct tr_scan_inner {
  tr_statement_reader *reader; /* NULL: there is none */
  char *plan_text;
  char *conditions;
  int *column_at; /* for each column of the table: the statement's, or -1 */
} tr_scan_inner;

typedef struct tr_scan_table {
  sqlite3_vtab base;
  const char *function; /* the module's name, for errors; static */
  tr_host *host;
  sqlite3 *db;
  tr_source_table source;
  tr_scan_column *columns;
  int column_count;
  char *where;     /* or NULL */
  int is_stored;   /* not in temp: part of a file, so it does what a view may do and no more */
  int needs_trust; /* `where` calls what it may not while trusted_schema is off */
  tr_scan_inner idle;
} tr_scan_table;

/*
** Describes the table: `source` (taken over, also on failure) has its key, `columns` are the chosen
** ones (empty: all), `where` (taken over; NULL: none) is an SQL expression that every row must
** satisfy. table->function, host, db and is_stored are set. TR_INVALID_ARGUMENT: no such column, a
** name twice or that of a hidden column; of a stored table, an expression that does more than a
** view may, a source in temp;
** TR_HOST: the expression does not compile.
*/
tr_code tr_scan_table_describe(tr_scan_table *table, tr_source_table *source,
                               const tr_argument_list *columns, char *where, tr_error *err);

/*
** What is to be declared to SQLite, `CREATE TABLE x(...)`; freed with sqlite3_free. NULL: out of
** memory.
*/
char *tr_scan_table_declaration(const tr_scan_table *table);

/* Declares it, from xCreate or xConnect, as tr_declare_vtab. */
int tr_scan_table_declare(const tr_scan_table *table, char **message);

/* Releases what the table owns, but not itself. */
void tr_scan_table_free(tr_scan_table *table);
void tr_scan_inner_free(tr_scan_inner *inner);

/* --- Plans -------------------------------------------------------------------------------- */

/* One term, in the order of xFilter's arguments. */
typedef struct tr_scan_plan_term {
  int column; /* of the virtual table; -1: the rowid */
  tr_operator op;
  int is_binary;
  int may_be_of_pattern; /* see tr_constraint_may_be_of_pattern */
} tr_scan_plan_term;

#define TR_SCAN_TERMS_MAX 40

typedef struct tr_scan_plan {
  uint64_t used; /* which columns are read; the last bit stands for all from the 64th on */
  int count;
  tr_scan_plan_term terms[TR_SCAN_TERMS_MAX];
} tr_scan_plan;

/* What idxNum says of a plan. */
enum { TR_SCAN_OF_ANY_ROWS, TR_SCAN_OF_ONE_ROW };

/* xBestIndex. */
int tr_scan_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info);

/* Reads a plan back. Only text that tr_scan_best_index wrote comes here. */
void tr_scan_plan_read(const char *text, tr_scan_plan *plan);

/* --- Cursors ------------------------------------------------------------------------------ */

typedef struct tr_scan_cursor {
  sqlite3_vtab_cursor base;
  int is_eof;
  int is_of_one_row; /* at most */
  tr_tracked_scan scan;
  tr_scan_inner inner;
  tr_scan_plan plan;

  /* The arguments of this scan, for reading them back. */
  sqlite3_value *tracker;
  sqlite3_value *restriction;
  int has_used_tracker;
  tr_scan_limit limit;
} tr_scan_cursor;

/* Methods. */
int tr_scan_filter(sqlite3_vtab_cursor *cursor, int number, const char *plan_text, int argc,
                   sqlite3_value **argv);
int tr_scan_next(sqlite3_vtab_cursor *cursor);
int tr_scan_eof(sqlite3_vtab_cursor *cursor);
int tr_scan_column_value(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column);
/* The restriction that was given, as JSON; without one NULL. */
void tr_scan_restriction_value(const tr_scan_cursor *cursor, sqlite3_context *context);
int tr_scan_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid);

/* For a module's xOpen and xClose: makes a cursor ready, and releases what it owns. */
void tr_scan_cursor_init(tr_scan_cursor *cursor);
void tr_scan_cursor_free(tr_scan_cursor *cursor);

/* Ends the scan and forgets its arguments. */
void tr_scan_cursor_stop(tr_scan_cursor *cursor);

/* For a cursor that goes on with another source: where the one before ended says nothing. */
void tr_scan_cursor_forget_limit(tr_scan_cursor *cursor);

/*
** Begins the scan of `cursor->inner.reader` over what the arguments and `range`, the keys that are
** asked for, leave; goes to the first row. The arguments may be NULL pointers (not given).
*/
tr_code tr_scan_cursor_start(tr_scan_cursor *cursor, sqlite3_value *tracker,
                             sqlite3_value *restriction, const tr_byte_key_range *range,
                             tr_error *err);

/* Narrows a range by a term on byte_key; only a BLOB narrows. */
tr_code tr_scan_cut_by_byte_key(tr_byte_key_range *range, tr_operator op, sqlite3_value *value,
                                tr_error *err);

#endif

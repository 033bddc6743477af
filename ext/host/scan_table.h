/*
** A virtual table whose rows are those of a source in the order of its key. Every row is claimed
** before it is given. byte_key_scan and scan_job are both made of this.
**
**   scan_table.c   connecting: the columns and the declaration
**   scan_plan.c    xBestIndex, and plans as text
**   scan_cursor.c  reading rows
**
** The columns are those of the source, or those that were chosen, followed by the hidden columns
** tracker, restriction and byte_key. Terms on the source's columns go into the inner statement, and
** terms on its key also narrow the range.
**
** Functions here with the signature of a module's method can be put into a sqlite3_module directly,
** provided that the module's table begins with a tr_scan_table and its cursor with a
** tr_scan_cursor.
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
  int is_indexed; /* it is the first column of an index */
} tr_scan_column;

/*
** The inner statement for a plan and the types of its values. A cursor has one. When the cursor is
** closed it leaves the statement to its table, where the next cursor finds it already prepared.
*/
typedef struct tr_scan_inner {
  tr_statement_reader *reader; /* NULL: none */
  char *plan_text;
  char *conditions;
  int *column_at; /* for each column of the table, the statement's column; -1: not selected */
} tr_scan_inner;

typedef struct tr_scan_table {
  sqlite3_vtab base;
  const char *function; /* the module's name, for errors; static */
  tr_host *host;
  sqlite3 *db;
  tr_source_table source;
  tr_scan_column *columns;
  int column_count;
  char *where;     /* NULL: none */
  int is_stored;   /* not in temp but part of a file: it may do only what a view may do */
  int needs_trust; /* `where` calls a function that is refused while trusted_schema is off */
  tr_scan_inner idle;
} tr_scan_table;

/*
** Describes the table. `source` has its key set; it is taken over, also on failure. `columns` are
** the chosen ones; empty: all. `where` is an SQL expression that every row must satisfy; it is
** taken over; NULL: none. The caller has set table->function, host, db and is_stored.
** TR_INVALID_ARGUMENT: no such column; a name twice, or that of a hidden column. For a stored table
** also: an expression that does more than a view may, a source in temp.
** TR_TOO_BIG: more columns than the connection allows.
** TR_HOST: the expression does not compile. TR_NO_MEMORY.
*/
tr_code tr_scan_table_describe(tr_scan_table *table, tr_source_table *source,
                               const tr_argument_list *columns, char *where, tr_error *err);

/*
** The declaration for SQLite, `CREATE TABLE x(...)`. The caller frees it with sqlite3_free. NULL:
** out of memory.
*/
char *tr_scan_table_declaration(const tr_scan_table *table);

/* Declares the table in xCreate or xConnect. As tr_declare_vtab. */
int tr_scan_table_declare(const tr_scan_table *table, char **message);

/* Releases what the table owns, but not the table itself. */
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
  uint64_t used; /* the columns that are read; the last bit stands for the 64th and all after it */
  int count;
  tr_scan_plan_term terms[TR_SCAN_TERMS_MAX];
} tr_scan_plan;

/* What idxNum says about a plan. */
enum { TR_SCAN_OF_ANY_ROWS, TR_SCAN_OF_ONE_ROW };

/* xBestIndex. */
int tr_scan_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info);

/* Reads a plan back. The text must be from tr_scan_best_index. */
void tr_scan_plan_read(const char *text, tr_scan_plan *plan);

/* --- Cursors ------------------------------------------------------------------------------ */

typedef struct tr_scan_cursor {
  sqlite3_vtab_cursor base;
  int is_eof;
  int is_of_one_row; /* the plan gives at most one row */
  tr_tracked_scan scan;
  tr_scan_inner inner;
  tr_scan_plan plan;

  /* The arguments of this scan, which can be read back as columns. */
  sqlite3_value *tracker;
  sqlite3_value *restriction;
  int has_used_tracker;
  tr_scan_limit limit;
} tr_scan_cursor;

/* Methods of the module. */
int tr_scan_filter(sqlite3_vtab_cursor *cursor, int number, const char *plan_text, int argc,
                   sqlite3_value **argv);
int tr_scan_next(sqlite3_vtab_cursor *cursor);
int tr_scan_eof(sqlite3_vtab_cursor *cursor);
int tr_scan_column_value(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column);
/* Returns the restriction that was given, as JSON, or NULL without one. */
void tr_scan_restriction_value(const tr_scan_cursor *cursor, sqlite3_context *context);
int tr_scan_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid);

/* For a module's xOpen and xClose: makes a cursor ready, and releases what it owns. */
void tr_scan_cursor_init(tr_scan_cursor *cursor);
void tr_scan_cursor_free(tr_scan_cursor *cursor);

/* Ends the scan and forgets its arguments. */
void tr_scan_cursor_stop(tr_scan_cursor *cursor);

/* For a cursor that goes on with another source, to which the noted end does not apply. */
void tr_scan_cursor_forget_limit(tr_scan_cursor *cursor);

/*
** Begins a scan of `cursor->inner.reader` over `range` (the keys that are asked for), cut by the
** arguments, and moves to the first row. An argument that is a null pointer was not given.
*/
tr_code tr_scan_cursor_start(tr_scan_cursor *cursor, sqlite3_value *tracker,
                             sqlite3_value *restriction, const tr_byte_key_range *range,
                             tr_error *err);

/*
** Narrows a range by a term on byte_key. Byte keys are BLOBs: above numbers and text, and never
** equal to NULL. TR_NO_MEMORY.
*/
tr_code tr_scan_cut_by_byte_key(tr_byte_key_range *range, tr_operator op, sqlite3_value *value,
                                tr_error *err);

#endif

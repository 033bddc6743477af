/*
** What the parts of byte_key_scan share: the table, its cursor, and the plan that goes from xBestIndex to
** xFilter.
**
**   byte_key_scan.c         the module: declaring the table, walking it, giving columns
**   byte_key_scan_plan.c    xBestIndex, and plans as text
**   byte_key_scan_ad_hoc.c  byte_key_scan('t'), the form without a CREATE
*/
#ifndef TR_EXT_BYTE_KEY_SCAN_H
#define TR_EXT_BYTE_KEY_SCAN_H

#include "host/key_constraints.h"
#include "host/module_arguments.h"
#include "host/source_table.h"
#include "host/sqlite_host.h"
#include "host/statement_reader.h"
#include "host/tracked_scan.h"

#define SCAN_FUNCTION "byte_key_scan"

/* The hidden columns, behind the source's own. */
enum { SCAN_TRACKER, SCAN_RESTRICTION, SCAN_BYTE_KEY, SCAN_HIDDEN_COLUMNS };

/* Clauses of the CREATE form, and what the ad hoc form takes as text. */
enum { SCAN_KEY, SCAN_COLUMNS, SCAN_WHERE, SCAN_CLAUSES };
extern const tr_module_syntax scan_syntax;

typedef struct scan_column {
  int source; /* the source's column; -1: its rowid */
  char *name;
  int is_indexed; /* an index begins with it */
} scan_column;

typedef struct scan_table {
  sqlite3_vtab base;
  tr_host *host;
  sqlite3 *db;
  int is_ad_hoc;
  /* Of the CREATE form. */
  tr_source_table source;
  scan_column *columns;
  int column_count;
  char *where; /* or NULL */
} scan_table;

/* --- Plans -------------------------------------------------------------------------------- */

/* One term, in the order of xFilter's arguments. */
typedef struct scan_plan_term {
  int column; /* of the virtual table; -1: the rowid */
  tr_operator op;
  int is_binary;
} scan_plan_term;

#define SCAN_TERMS_MAX 40

typedef struct scan_plan {
  uint64_t used; /* which columns are read; the last bit stands for all from the 64th on */
  int count;
  scan_plan_term terms[SCAN_TERMS_MAX];
} scan_plan;

int scan_best_index(scan_table *table, sqlite3_index_info *info);

/* Reads a plan back. Only text that scan_best_index wrote comes here. */
void scan_plan_read(const char *text, scan_plan *plan);

/* --- Cursors ------------------------------------------------------------------------------ */

typedef struct scan_cursor {
  sqlite3_vtab_cursor base;
  int is_eof;
  tr_tracked_scan scan;
  tr_statement_reader *reader;

  /* What `reader` was made for. */
  char *plan_text;
  char *conditions;
  scan_plan plan;
  int *column_at; /* for each column of the table: the statement's, or -1 */

  /* The arguments of this scan, for reading them back. */
  sqlite3_value *tracker;
  sqlite3_value *restriction;
  int has_used_tracker;

  /* Of the ad hoc form. */
  tr_source_table source;
} scan_cursor;

/* Ends the scan and forgets its arguments. */
void scan_cursor_stop(scan_cursor *cursor);

/*
** Begins the scan of `cursor->reader` over what the arguments and `range`, the keys that are asked for,
** leave; goes to the first row. The arguments may be NULL pointers (not given).
*/
tr_code scan_cursor_start(scan_cursor *cursor, sqlite3_value *tracker, sqlite3_value *restriction,
                          const tr_byte_key_range *range, tr_error *err);

/* Narrows a range by a term on byte_key; only a BLOB narrows. */
tr_code scan_cut_by_byte_key(tr_byte_key_range *range, tr_operator op, sqlite3_value *value,
                             tr_error *err);

/* --- The ad hoc form ---------------------------------------------------------------------- */

extern const char scan_ad_hoc_declaration[];
int scan_ad_hoc_best_index(scan_table *table, sqlite3_index_info *info);
tr_code scan_ad_hoc_filter(scan_cursor *cursor, int mask, sqlite3_value **argv, tr_error *err);
void scan_ad_hoc_column(scan_cursor *cursor, sqlite3_context *context, int column);
void scan_ad_hoc_close(scan_cursor *cursor);

#endif

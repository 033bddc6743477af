/*
** What the two forms of byte_key_scan share. Private to byte_key_scan.
**
**   byte_key_scan.c         the module, and the form with a CREATE
**   byte_key_scan_ad_hoc.c  byte_key_scan('t'), the form without
**
** ext/host/scan_table.h plans and walks the form with a CREATE.
*/
#ifndef TR_EXT_BYTE_KEY_SCAN_H
#define TR_EXT_BYTE_KEY_SCAN_H

#include "host/hidden_arguments.h"
#include "host/scan_table.h"

#define SCAN_FUNCTION "byte_key_scan"

/* The clauses of the CREATE form. The ad hoc form takes the same as text arguments. */
enum { SCAN_KEY, SCAN_COLUMNS, SCAN_WHERE, SCAN_CLAUSES };
extern const tr_module_syntax scan_syntax;

typedef struct scan_table {
  tr_scan_table scan; /* the ad hoc form has only host and db */
  int is_ad_hoc;
  int is_broken;   /* the source is gone or no longer fits; the table can still be dropped */
  tr_error reason; /* why it is broken */
} scan_table;

/* How many arguments of the ad hoc form say what a row is: source, key, columns and where_terms. */
#define SCAN_TEXT_ARGUMENTS 4

typedef struct scan_cursor {
  tr_scan_cursor scan;
  tr_source_table source;  /* of the ad hoc form */
  tr_kept_arguments texts; /* the ad hoc form's first SCAN_TEXT_ARGUMENTS arguments */
} scan_cursor;

extern const char scan_ad_hoc_declaration[];
int scan_ad_hoc_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info);
tr_code scan_ad_hoc_filter(scan_cursor *cursor, int mask, sqlite3_value **argv, tr_error *err);
void scan_ad_hoc_column(scan_cursor *cursor, sqlite3_context *context, int column);
int64_t scan_ad_hoc_rowid(const scan_cursor *cursor);
void scan_ad_hoc_close(scan_cursor *cursor);

#endif

/*
** What the two forms of byte_key_scan share.
**
**   byte_key_scan.c         the module, and the form with a CREATE
**   byte_key_scan_ad_hoc.c  byte_key_scan('t'), the form without
**
** Planning and walking the form with a CREATE is what ext/host/scan_table.h does.
*/
#ifndef TR_EXT_BYTE_KEY_SCAN_H
#define TR_EXT_BYTE_KEY_SCAN_H

#include "host/hidden_arguments.h"
#include "host/scan_table.h"

#define SCAN_FUNCTION "byte_key_scan"

/* Clauses of the CREATE form, and what the ad hoc form takes as text. */
enum { SCAN_KEY, SCAN_COLUMNS, SCAN_WHERE, SCAN_CLAUSES };
extern const tr_module_syntax scan_syntax;

typedef struct scan_table {
  tr_scan_table scan; /* of the ad hoc form: host and db alone */
  int is_ad_hoc;
  int is_broken;   /* its source is gone, or no longer fits: it can be dropped */
  tr_error reason; /* of a broken one */
} scan_table;

/* The ad hoc form's source, key, columns and where_terms. */
#define SCAN_TEXT_ARGUMENTS 4

typedef struct scan_cursor {
  tr_scan_cursor scan;
  tr_source_table source;  /* of the ad hoc form */
  tr_kept_arguments texts; /* its first SCAN_TEXT_ARGUMENTS arguments, from source on */
} scan_cursor;

extern const char scan_ad_hoc_declaration[];
int scan_ad_hoc_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info);
tr_code scan_ad_hoc_filter(scan_cursor *cursor, int mask, sqlite3_value **argv, tr_error *err);
void scan_ad_hoc_column(scan_cursor *cursor, sqlite3_context *context, int column);
int64_t scan_ad_hoc_rowid(const scan_cursor *cursor);
void scan_ad_hoc_close(scan_cursor *cursor);

#endif

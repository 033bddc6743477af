/*
** Table-valued functions whose rows are all made when the scan begins: a name, a declaration and
** one function that fills a list of rows. For results that are short by nature (the splits of a
** range, the open trackers); what may be long has a module of its own.
**
** Arguments are the hidden columns behind the visible ones, and can be read back. An argument that
** is NULL gives no rows, as nothing equals NULL, but where the function says otherwise
** (`takes_null`). A missing argument that is required is an error naming it, when the scan begins.
**
** Thread-safety: as SQLite's for one connection.
*/
#ifndef TR_HOST_TABLE_FUNCTION_H
#define TR_HOST_TABLE_FUNCTION_H

#include "host/hidden_arguments.h"

typedef struct tr_row_list tr_row_list;

typedef struct tr_table_function {
  const char *name;
  const char *declaration; /* CREATE TABLE x(visible columns, hidden columns) */
  int column_count;        /* visible ones */
  int json_columns;        /* of these, a bit each: text that is JSON, and nests in json_array() */
  int risk;                /* SQLITE_VTAB_INNOCUOUS or SQLITE_VTAB_DIRECTONLY */
  int required_count;      /* arguments that must be given; the rest may be left out */
  int takes_null; /* `fill` is called for arguments that are NULL, too, and says what they mean */
  const char *arguments[TR_KEPT_ARGUMENTS + 1]; /* names; NULL ends */
  /*
  ** Appends the rows. `arguments` has a value for each argument, or NULL where it was left out. The
  ** error's text should name the function and the argument (tr_argument_error).
  */
  tr_code (*fill)(tr_host *host, sqlite3_value **arguments, tr_row_list *rows, tr_error *err);
} tr_table_function;

/* Appends a row of `column_count` values; text and blobs are copied. TR_NO_MEMORY. */
tr_code tr_row_list_append(tr_row_list *rows, const tr_value *values, tr_error *err);

/* Registers `function`, which must be static. Returns a SQLite code. */
int tr_host_register_table_function(tr_host *host, const tr_table_function *function);

#endif

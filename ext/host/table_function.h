/*
** Table-valued functions whose rows are all made when the scan begins: a name, a declaration, and a
** function that fills a list of rows. They are for results that are always short (the splits of a
** range, the open trackers). Functions with long results have modules of their own.
**
** The arguments are the hidden columns behind the visible ones, and can be read back. An argument
** that is NULL gives no rows, since nothing equals NULL, unless the function has `takes_null`. If a
** required argument is missing, the scan begins with an error that names it.
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
  int json_columns;        /* a bit for each visible column that is JSON, to nest in json_array() */
  int risk;                /* SQLITE_VTAB_INNOCUOUS or SQLITE_VTAB_DIRECTONLY */
  int required_count;      /* the first arguments that must be given; the rest may be left out */
  int takes_null; /* `fill` is also called if an argument is NULL, and decides what that means */
  const char *arguments[TR_KEPT_ARGUMENTS + 1]; /* names; ends with NULL */
  /*
  ** Appends the rows. `arguments` has one value for each argument; NULL: it was left out. Errors
  ** should name the function and the argument (tr_argument_error).
  */
  tr_code (*fill)(tr_host *host, sqlite3_value **arguments, tr_row_list *rows, tr_error *err);
} tr_table_function;

/* Appends a row of `column_count` values. Text and blobs are copied. TR_NO_MEMORY. */
tr_code tr_row_list_append(tr_row_list *rows, const tr_value *values, tr_error *err);

/* Registers `function`, which must be static. Returns a SQLite code. */
int tr_host_register_table_function(tr_host *host, const tr_table_function *function);

#endif

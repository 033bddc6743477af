/*
** Asks ANALYZE's table first, then the size of the file. The span of the rowids is an upper bound
** for the second: a table can be a small part of its file.
*/
#include "host/source_estimate.h"

/* The integer in the first row of `sql`, or -1. */
static int64_t ask_integer(sqlite3 *db, sqlite3_str *sql, const char *parameter) {
  sqlite3_stmt *stmt;
  int64_t integer = -1;
  if (tr_sql_prepare(db, sql, &stmt, NULL) != TR_OK) return -1;
  if (parameter != NULL && sqlite3_bind_text(stmt, 1, parameter, -1, SQLITE_TRANSIENT) != 0) {
    sqlite3_finalize(stmt);
    return -1;
  }
  if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL) {
    integer = sqlite3_column_int64(stmt, 0);
  }
  sqlite3_finalize(stmt);
  return integer;
}

/* The number of rows that ANALYZE found, or -1. It begins a text such as '5000000 12 1'. */
static int64_t analysed_rows(const tr_source_table *source, sqlite3 *db) {
  if (sqlite3_table_column_metadata(db, source->schema, "sqlite_stat1", "stat", NULL, NULL, NULL,
                                    NULL, NULL) != SQLITE_OK) {
    return -1;
  }
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendall(sql, "SELECT max(CAST(stat AS INTEGER)) FROM ");
  tr_sql_append_table(sql, source->schema, "sqlite_stat1");
  sqlite3_str_appendall(sql, " WHERE tbl = ?1 COLLATE NOCASE");
  return ask_integer(db, sql, source->name);
}

/*
** The least or the greatest rowid, with one descent of the tree. Not both in one statement: an
** authorizer may have SQLite ignore a SELECT inside another, and then SQLite reads a register that
** was never set.
*/
static int end_rowid(const tr_source_table *source, sqlite3 *db, const char *function,
                     int64_t *rowid) {
  sqlite3_stmt *stmt;
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendf(sql, "SELECT %s(", function);
  tr_source_append_column(source, -1, sql);
  sqlite3_str_appendall(sql, ") FROM ");
  tr_sql_append_table(sql, source->schema, source->name);
  if (tr_sql_prepare(db, sql, &stmt, NULL) != TR_OK) return 0;
  int is_found = sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) == SQLITE_INTEGER;
  if (is_found) *rowid = sqlite3_column_int64(stmt, 0);
  sqlite3_finalize(stmt);
  return is_found;
}

int64_t tr_source_table_estimated_rows(const tr_source_table *source, sqlite3 *db) {
  enum { ROWS_PER_PAGE = 50, ROWS_UNKNOWN = 1000000 };
  int64_t rows = analysed_rows(source, db);
  if (rows >= 0) return rows;
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendall(sql, "PRAGMA ");
  tr_sql_append_identifier(sql, source->schema);
  sqlite3_str_appendall(sql, ".page_count");
  int64_t pages = ask_integer(db, sql, NULL);
  rows = pages >= 0 && pages < INT64_MAX / ROWS_PER_PAGE ? pages * ROWS_PER_PAGE : ROWS_UNKNOWN;
  if (source->rowid_name == NULL) return rows;
  int64_t first, last;
  if (!end_rowid(source, db, "min", &first) || !end_rowid(source, db, "max", &last)) return rows;
  uint64_t span = (uint64_t)last - (uint64_t)first;
  return span < (uint64_t)rows ? (int64_t)span + 1 : rows;
}

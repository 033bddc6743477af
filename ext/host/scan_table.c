/*
** Connects a scan table: chooses its columns, declares them, and checks its where(...).
*/
#include "host/scan_table.h"

#include "base/memory.h"
#include "host/stored_expression.h"

static const char *const hidden_names[] = {
    [TR_SCAN_TRACKER] = "tracker",
    [TR_SCAN_RESTRICTION] = "restriction",
    [TR_SCAN_BYTE_KEY] = "byte_key",
};

/* --- Connecting --------------------------------------------------------------------------- */

void tr_scan_table_free(tr_scan_table *table) {
  tr_scan_inner_free(&table->idle);
  for (int i = 0; i < table->column_count; i++) tr_free(table->columns[i].name);
  tr_free(table->columns);
  tr_free(table->where);
  tr_source_table_free(&table->source);
}

static tr_code check_name(const tr_scan_table *table, const char *name, tr_error *err) {
  for (int i = 0; i < TR_SCAN_HIDDEN_COLUMNS; i++) {
    if (sqlite3_stricmp(name, hidden_names[i]) != 0) continue;
    return tr_error_set(err, TR_INVALID_ARGUMENT,
                        "%s: %s.%s: column %s has the name of a hidden one: rename it with "
                        "columns(%s AS another_name, ...)",
                        table->function, table->source.schema, table->source.name, name, name);
  }
  for (int i = 0; i < table->column_count; i++) {
    if (sqlite3_stricmp(name, table->columns[i].name) != 0) continue;
    return tr_error_set(err, TR_INVALID_ARGUMENT, "%s: %s.%s: two columns are named %s",
                        table->function, table->source.schema, table->source.name, name);
  }
  return TR_OK;
}

/* Adds a column with that name. There must be room for it. */
static tr_code add_column(tr_scan_table *table, int source, const char *name, tr_error *err) {
  tr_code code = check_name(table, name, err);
  if (code != TR_OK) return code;
  char *copy = sqlite3_mprintf("%s", name);
  if (copy == NULL) return tr_error_no_memory(err);
  table->columns[table->column_count++] = (tr_scan_column){.source = source, .name = copy};
  return TR_OK;
}

static tr_code add_named_column(tr_scan_table *table, const tr_argument *item, tr_error *err) {
  const char *name = item->name != NULL ? item->name : item->literal;
  int source = name == NULL ? -1 : tr_source_table_find_column(&table->source, name);
  int is_rowid =
      name != NULL && source < 0 && table->source.rowid_name != NULL && tr_is_rowid_name(name);
  if (source < 0 && !is_rowid) {
    return tr_error_set(err, TR_INVALID_ARGUMENT, "%s: %s.%s: columns(...): there is no column %s",
                        table->function, table->source.schema, table->source.name, item->text);
  }
  return add_column(table, source, item->alias != NULL ? item->alias : name, err);
}

static tr_code choose_columns(tr_scan_table *table, const tr_argument_list *chosen, tr_error *err) {
  int count = chosen->count > 0 ? chosen->count : table->source.column_count;
  int limit = sqlite3_limit(table->db, SQLITE_LIMIT_COLUMN, -1);
  if (count > limit - TR_SCAN_HIDDEN_COLUMNS) {
    return tr_error_set(err, TR_TOO_BIG,
                        "%s: %s.%s: %d columns and %d hidden ones; this connection allows %d: "
                        "choose some with columns(...)",
                        table->function, table->source.schema, table->source.name, count,
                        TR_SCAN_HIDDEN_COLUMNS, limit);
  }
  table->columns = tr_malloc((size_t)count * sizeof *table->columns);
  if (table->columns == NULL) return tr_error_no_memory(err);
  tr_code code = TR_OK;
  for (int i = 0; i < count && code == TR_OK; i++) {
    code = chosen->count > 0 ? add_named_column(table, &chosen->items[i], err)
                             : add_column(table, i, table->source.columns[i].name, err);
  }
  return code;
}

/* Finds the columns that are the first of an index. */
static tr_code find_indexed(tr_scan_table *table, tr_error *err) {
  sqlite3_str *sql = sqlite3_str_new(table->db);
  sqlite3_str_appendall(sql, "SELECT x.cid FROM pragma_index_list(?1, ?2) AS l, "
                             "pragma_index_xinfo(l.name, ?2) AS x "
                             "WHERE x.seqno = 0 AND NOT l.partial");
  sqlite3_stmt *stmt;
  tr_code code = tr_sql_prepare(table->db, sql, &stmt, err);
  if (code != TR_OK) return code;
  int rc = sqlite3_bind_text(stmt, 1, table->source.name, -1, SQLITE_TRANSIENT);
  if (rc == SQLITE_OK) rc = sqlite3_bind_text(stmt, 2, table->source.schema, -1, SQLITE_TRANSIENT);
  while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    for (int i = 0; i < table->column_count; i++) {
      if (table->columns[i].source == sqlite3_column_int(stmt, 0)) table->columns[i].is_indexed = 1;
    }
    rc = SQLITE_OK;
  }
  if (rc != SQLITE_DONE) code = tr_error_of_sqlite(err, table->db, rc);
  sqlite3_finalize(stmt);
  return code;
}

/* If the source has no rowid that can be read, the byte key is the primary key. */
char *tr_scan_table_declaration(const tr_scan_table *table) {
  static const tr_source_column rowid = {
      .type = "INTEGER", .collation = "BINARY", .affinity = TR_AFFINITY_INTEGER};
  const tr_source_table *source = &table->source;
  int has_rowid = source->rowid_name != NULL;
  sqlite3_str *sql = sqlite3_str_new(table->db);
  sqlite3_str_appendall(sql, "CREATE TABLE x(");
  for (int i = 0; i < table->column_count; i++) {
    const tr_scan_column *column = &table->columns[i];
    tr_source_column_declare(column->source < 0 ? &rowid : &source->columns[column->source],
                             column->name, sql);
    sqlite3_str_appendall(sql, ", ");
  }
  sqlite3_str_appendf(sql, "%s HIDDEN, %s HIDDEN, %s BLOB HIDDEN%s)%s",
                      hidden_names[TR_SCAN_TRACKER], hidden_names[TR_SCAN_RESTRICTION],
                      hidden_names[TR_SCAN_BYTE_KEY], has_rowid ? "" : " NOT NULL PRIMARY KEY",
                      has_rowid ? "" : " WITHOUT ROWID");
  return sqlite3_str_finish(sql);
}

int tr_scan_table_declare(const tr_scan_table *table, char **message) {
  char *text = tr_scan_table_declaration(table);
  if (text == NULL) return SQLITE_NOMEM;
  int rc = tr_declare_vtab(table->db, text, message);
  sqlite3_free(text);
  return rc;
}

/* A table that is part of a file must read from files, and run only what a view may run. */
static tr_code check_stored(tr_scan_table *table, tr_error *err) {
  tr_error reason;
  if (!table->is_stored) return TR_OK;
  if (sqlite3_stricmp(table->source.schema, "temp") == 0) {
    return tr_error_set(err, TR_INVALID_ARGUMENT,
                        "%s: %s.%s vanishes with this connection: make a table in temp of it, "
                        "CREATE VIRTUAL TABLE temp.name USING %s(...)",
                        table->function, table->source.schema, table->source.name, table->function);
  }
  if (table->where == NULL) return TR_OK;
  tr_code code = tr_stored_expression_check(table->db, table->where, &table->needs_trust, &reason);
  if (code == TR_OK) return TR_OK;
  if (code == TR_NO_MEMORY) return tr_error_no_memory(err);
  tr_error_set(err, code, "%s: where(%s): %s", table->function, table->where, reason.message);
  if (code == TR_HOST) err->host_code = reason.host_code;
  return code;
}

/* Prepares the inner statement once, so that a wrong where(...) is an error now. */
static tr_code check_where(tr_scan_table *table, tr_error *err) {
  const char *condition = table->where;
  const tr_bytes none = {0};
  tr_statement_reader *reader;
  tr_error reason;
  tr_statement_request request = {.function = table->function,
                                  .source = &table->source,
                                  .wants_key = 1,
                                  .conditions = &condition,
                                  .condition_count = condition != NULL};
  tr_code code = tr_statement_reader_create(table->db, &request, &reader, &reason);
  if (code == TR_OK) code = tr_statement_reader_open(reader, none, none, &reason);
  tr_statement_reader_free(reader);
  if (code == TR_OK) return TR_OK;
  if (code == TR_HOST && condition != NULL) {
    tr_error_set(err, code, "%s: where(%s): %s", table->function, condition, reason.message);
    err->host_code = reason.host_code;
    return code;
  }
  *err = reason;
  return code;
}

tr_code tr_scan_table_describe(tr_scan_table *table, tr_source_table *source,
                               const tr_argument_list *columns, char *where, tr_error *err) {
  table->source = *source;
  *source = (tr_source_table){0};
  table->where = where;
  tr_code code = check_stored(table, err);
  if (code == TR_OK) code = choose_columns(table, columns, err);
  if (code == TR_OK) code = find_indexed(table, err);
  if (code == TR_OK) code = check_where(table, err);
  return code;
}

/*
** Key columns compare by BINARY here, whatever their collation: the order of keys is that of bytes.
*/
#include "host/statement_sql.h"

/* Appends the key's column `i` for ORDER BY and bounds, where it must compare by BINARY. */
static void append_key_column(const tr_source_table *source, int i, sqlite3_str *sql) {
  if (i >= source->key.column_count) {
    tr_source_append_column(source, -1, sql);
    return;
  }
  int column = source->key.columns[i];
  tr_source_append_column(source, column, sql);
  if (sqlite3_stricmp(source->columns[column].collation, "BINARY") != 0) {
    sqlite3_str_appendall(sql, " COLLATE BINARY");
  }
}

/* How many columns ORDER BY has. The rowid is one if it is the key or breaks ties among NULLs. */
static int order_columns(const tr_source_table *source) {
  if (source->key.form == TR_KEY_ROWID) return 1;
  return source->key.column_count + source->key.has_null_breaker;
}

static void append_order_column(const tr_source_table *source, int i, sqlite3_str *sql) {
  append_key_column(source, source->key.form == TR_KEY_ROWID ? source->key.column_count : i, sql);
}

/* Appends `a, b, c`, each followed by `suffix`. */
static void append_order_columns(const tr_source_table *source, int from, int count,
                                 const char *suffix, sqlite3_str *sql) {
  for (int i = 0; i < count; i++) {
    if (i > 0) sqlite3_str_appendall(sql, ", ");
    append_order_column(source, from + i, sql);
    sqlite3_str_appendall(sql, suffix);
  }
}

/* Appends ` AND (a, b) >= (?3, ?4)`. */
static void append_bound(const tr_source_table *source, int from, int count, const char *comparison,
                         int first_parameter, sqlite3_str *sql) {
  if (count == 0) return;
  sqlite3_str_appendall(sql, " AND (");
  append_order_columns(source, from, count, "", sql);
  sqlite3_str_appendf(sql, ") %s (", comparison);
  for (int i = 0; i < count; i++) {
    sqlite3_str_appendf(sql, "%s?%d", i == 0 ? "" : ", ", first_parameter + i);
  }
  sqlite3_str_appendall(sql, ")");
}

static void append_nulls(const tr_source_table *source, const tr_statement_shape *s,
                         sqlite3_str *sql) {
  int is_needed = s->nulls == TR_NULLS_ONLY || (s->nulls == TR_NULLS_NONE && s->lower_count == 0);
  if (!is_needed) return;
  sqlite3_str_appendall(sql, " AND ");
  append_key_column(source, 0, sql);
  sqlite3_str_appendall(sql, s->nulls == TR_NULLS_ONLY ? " IS NULL" : " IS NOT NULL");
}

int tr_statement_selects_rowid(const tr_statement_parts *parts) {
  return parts->has_key && parts->source->rowid_name != NULL;
}

/* Appends the columns that make the key, and the rowid, with a comma behind each. */
static void append_key_outputs(const tr_statement_parts *parts, sqlite3_str *sql) {
  const tr_source_table *source = parts->source;
  if (parts->has_key && source->key.form != TR_KEY_ROWID) {
    for (int i = 0; i < source->key.column_count; i++) {
      tr_source_append_column(source, source->key.columns[i], sql);
      sqlite3_str_appendall(sql, ", ");
    }
  }
  if (tr_statement_selects_rowid(parts)) {
    tr_source_append_column(source, -1, sql);
    sqlite3_str_appendall(sql, ", ");
  }
}

sqlite3_str *tr_statement_end_sql(sqlite3 *db, const tr_statement_parts *parts, int is_last) {
  const tr_source_table *source = parts->source;
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendall(sql, "SELECT ");
  append_key_outputs(parts, sql);
  sqlite3_str_appendall(sql, "NULL FROM ");
  tr_sql_append_table(sql, source->schema, source->name);
  sqlite3_str_appendall(sql, " ORDER BY ");
  append_order_columns(source, 0, order_columns(source), is_last ? " DESC" : "", sql);
  sqlite3_str_appendall(sql, " LIMIT 1");
  return sql;
}

sqlite3_str *tr_statement_last_rowid_sql(sqlite3 *db, const tr_statement_parts *parts) {
  const tr_source_table *source = parts->source;
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendall(sql, "SELECT max(");
  tr_source_append_column(source, -1, sql);
  sqlite3_str_appendall(sql, ") FROM ");
  tr_sql_append_table(sql, source->schema, source->name);
  return sql;
}

sqlite3_str *tr_statement_sql(sqlite3 *db, const tr_statement_parts *parts,
                              const tr_statement_shape *s) {
  const tr_source_table *source = parts->source;
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendall(sql, "SELECT ");
  append_key_outputs(parts, sql);
  sqlite3_str_appendf(sql, "%s FROM ", parts->outputs);
  tr_sql_append_table(sql, source->schema, source->name);
  sqlite3_str_appendf(sql, " WHERE %s", parts->conditions);
  if (!parts->has_key) return sql;
  append_nulls(source, s, sql);
  int first = parts->parameter_count + 1;
  append_bound(source, s->from, s->lower_count, s->lower_is_strict ? ">" : ">=", first, sql);
  append_bound(source, s->from, s->upper_count,
               s->upper_is_strict ? "<" : "<=", first + s->lower_count, sql);
  sqlite3_str_appendall(sql, " ORDER BY ");
  append_order_columns(source, 0, order_columns(source), "", sql);
  return sql;
}

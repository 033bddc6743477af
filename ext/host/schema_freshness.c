/*
** Runs one tiny statement for each schema. If SQLite had to prepare the statement again, the schema
** was stale and has been forgotten.
*/
#include "host/schema_freshness.h"

/* Steps once. SQLITE_SCHEMA if the statement was prepared again, whether that succeeded or not. */
static int step(sqlite3_stmt *stmt) {
  int rc = sqlite3_step(stmt);
  return sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_REPREPARE, 0) > 0 ? SQLITE_SCHEMA : rc;
}

/* Returns SQLITE_OK, or the reason why `schema` cannot be read. */
static int read_schema(sqlite3 *db, const char *schema) {
  sqlite3_stmt *stmt = NULL;
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendall(sql, "SELECT 1 FROM ");
  tr_sql_append_table(sql, schema, "sqlite_master");
  sqlite3_str_appendall(sql, " LIMIT 1");
  char *text = sqlite3_str_finish(sql);
  int rc = text == NULL ? SQLITE_NOMEM : sqlite3_prepare_v2(db, text, -1, &stmt, NULL);
  sqlite3_free(text);
  if (rc == SQLITE_OK) rc = step(stmt);
  sqlite3_finalize(stmt);
  return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int tr_schemas_read_afresh(sqlite3 *db, const char *schema, char **message) {
  /*
  ** In another schema than temp the table is safe: SQLite forgets only temp and stale schemas, and
  ** this schema is being written.
  */
  if (sqlite3_stricmp(schema, "temp") != 0) return SQLITE_OK;
  sqlite3_stmt *list = NULL;
  int rc = sqlite3_prepare_v2(db, "PRAGMA database_list", -1, &list, NULL);
  while (rc == SQLITE_OK && (rc = step(list)) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(list, 1);
    rc = name == NULL ? SQLITE_NOMEM : SQLITE_OK;
    if (rc == SQLITE_OK && sqlite3_stricmp(name, "temp") != 0) rc = read_schema(db, name);
  }
  sqlite3_finalize(list);
  if (rc == SQLITE_DONE) return SQLITE_OK;
  if (rc != SQLITE_SCHEMA) *message = sqlite3_mprintf("%s", sqlite3_errstr(rc));
  return rc;
}

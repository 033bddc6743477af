/*
** The virtual table exists for as long as one statement is prepared. It has one column, and all that
** it does is to look at the constraints on it.
*/
#include "host/collation.h"

#define PROBE "tranche_collation_probe"

/* What xBestIndex found; the module's pAux. */
typedef struct probe {
  char *collation;
  int has_failed;
} probe;

typedef struct probe_table {
  sqlite3_vtab base;
  probe *probe;
} probe_table;

static int probe_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **table, char **message) {
  (void)argc, (void)argv, (void)message;
  int rc = sqlite3_declare_vtab(db, "CREATE TABLE x(value)");
  if (rc != SQLITE_OK) return rc;
  probe_table *made = sqlite3_malloc(sizeof *made);
  if (made == NULL) return SQLITE_NOMEM;
  *made = (probe_table){.probe = aux};
  *table = &made->base;
  return SQLITE_OK;
}

static int probe_disconnect(sqlite3_vtab *table) {
  sqlite3_free(table);
  return SQLITE_OK;
}

static int probe_best_index(sqlite3_vtab *table, sqlite3_index_info *info) {
  probe *p = ((probe_table *)table)->probe;
  for (int i = 0; i < info->nConstraint && p->collation == NULL; i++) {
    if (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    p->collation = sqlite3_mprintf("%s", sqlite3_vtab_collation(info, i));
    if (p->collation == NULL) return SQLITE_NOMEM;
  }
  return SQLITE_OK;
}

/* The statement is never stepped: what follows is there for SQLite to find it. */
static int probe_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor) {
  (void)table, (void)cursor;
  return SQLITE_ERROR;
}

static int probe_close(sqlite3_vtab_cursor *cursor) {
  (void)cursor;
  return SQLITE_ERROR;
}

static int probe_filter(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
                        sqlite3_value **argv) {
  (void)cursor, (void)plan, (void)text, (void)argc, (void)argv;
  return SQLITE_ERROR;
}

static int probe_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
  (void)cursor, (void)context, (void)column;
  return SQLITE_ERROR;
}

static int probe_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid) {
  (void)cursor, (void)rowid;
  return SQLITE_ERROR;
}

static const sqlite3_module probe_module = {
    .xConnect = probe_connect,
    .xBestIndex = probe_best_index,
    .xDisconnect = probe_disconnect,
    .xOpen = probe_open,
    .xClose = probe_close,
    .xFilter = probe_filter,
    .xNext = probe_close,
    .xEof = probe_close,
    .xColumn = probe_column,
    .xRowid = probe_rowid,
};

tr_code tr_collation_of_expression(sqlite3 *db, const char *schema, const char *table,
                                   const char *expression, char **name, tr_error *err) {
  probe found = {0};
  *name = NULL;
  int rc = sqlite3_create_module_v2(db, PROBE, &probe_module, &found, NULL);
  if (rc != SQLITE_OK) return tr_error_of_sqlite(err, db, rc);
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendall(sql, "SELECT 1 FROM ");
  tr_sql_append_table(sql, schema, table);
  sqlite3_str_appendf(
      sql, " CROSS JOIN " PROBE " AS \"tranche probe\" WHERE %s = \"tranche probe\".value",
      expression);
  sqlite3_stmt *stmt;
  tr_code code = tr_sql_prepare(db, sql, &stmt, err);
  sqlite3_finalize(stmt);
  sqlite3_create_module_v2(db, PROBE, NULL, NULL, NULL);
  if (code != TR_OK) {
    sqlite3_free(found.collation);
    return code;
  }
  *name = found.collation != NULL ? found.collation : sqlite3_mprintf("BINARY");
  return *name == NULL ? tr_error_no_memory(err) : TR_OK;
}

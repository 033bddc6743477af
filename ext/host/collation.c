/*
** The probe is an eponymous virtual table, registered once for each connection. To create and drop
** a table instead would end the statements that are running. The probe has one column, and does
** nothing but look at the constraints on it.
*/
#include "host/collation.h"

#include "base/memory.h"

#define PROBE "tranche_collation_probe"

/* What xBestIndex finds while a question is asked. Kept as state of the host. */
typedef struct probe {
  int is_asked;
  char *collation;
} probe;

static const char probe_owner;

typedef struct probe_table {
  sqlite3_vtab base;
  tr_host *host;
} probe_table;

static int probe_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **table, char **message) {
  (void)argc, (void)argv;
  int rc = tr_declare_vtab(db, "CREATE TABLE x(value)", message);
  if (rc != SQLITE_OK) return rc;
  probe_table *made = sqlite3_malloc(sizeof *made);
  if (made == NULL) return SQLITE_NOMEM;
  *made = (probe_table){.host = aux};
  *table = &made->base;
  return SQLITE_OK;
}

static int probe_disconnect(sqlite3_vtab *table) {
  sqlite3_free(table);
  return SQLITE_OK;
}

static int probe_best_index(sqlite3_vtab *table, sqlite3_index_info *info) {
  probe *p = tr_host_state(((probe_table *)table)->host, &probe_owner);
  if (!p->is_asked) return SQLITE_OK;
  for (int i = 0; i < info->nConstraint && p->collation == NULL; i++) {
    if (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    p->collation = sqlite3_mprintf("%s", sqlite3_vtab_collation(info, i));
    if (p->collation == NULL) return SQLITE_NOMEM;
  }
  return SQLITE_OK;
}

/* The probing statement is never stepped, and the table is of no use to anybody else. */
static int probe_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor) {
  (void)cursor;
  table->zErrMsg = sqlite3_mprintf(PROBE " is for group_by_fields alone");
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

int tr_collation_register(tr_host *host) {
  probe *none = tr_malloc(sizeof *none);
  if (none == NULL) return SQLITE_NOMEM;
  *none = (probe){0};
  if (tr_host_set_state(host, &probe_owner, none, tr_free) != TR_OK) return SQLITE_NOMEM;
  return tr_host_register_module(host, PROBE, &probe_module);
}

/*
** The expression is in a SELECT of its own, where it sees the source's columns and none of our
** names. LIMIT keeps SQLite from merging the two SELECTs. It also keeps SQLite from dropping ours
** if the source is a view with a condition that is never true.
*/
static sqlite3_str *probing_sql(sqlite3 *db, const char *schema, const char *table,
                                const char *expression) {
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendf(sql, "SELECT 1 FROM (SELECT %s AS field FROM ", expression);
  tr_sql_append_table(sql, schema, table);
  sqlite3_str_appendall(sql, " LIMIT -1) AS source CROSS JOIN " PROBE " AS probe"
                             " WHERE source.field = probe.value");
  return sql;
}

tr_code tr_collation_of_expression(tr_host *host, const char *schema, const char *table,
                                   const char *expression, char **name, tr_error *err) {
  sqlite3 *db = tr_host_db(host);
  probe *p = tr_host_state(host, &probe_owner);
  sqlite3_stmt *stmt;
  *name = NULL;
  /* Compiling may connect a virtual table inside a view, and that may ask this function, too. */
  probe outer = *p;
  *p = (probe){.is_asked = 1};
  tr_code code = tr_sql_prepare(db, probing_sql(db, schema, table, expression), &stmt, err);
  sqlite3_finalize(stmt);
  char *found = p->collation;
  *p = outer;
  if (code == TR_OK && found == NULL) {
    code = tr_error_set(err, TR_INVALID_STATE,
                        "the collation of %s cannot be found: is there another " PROBE
                        " in the database?",
                        expression);
  }
  if (code == TR_OK) {
    *name = found;
    return TR_OK;
  }
  sqlite3_free(found);
  return code;
}

/*
** byte_key_scan: reads a table in the order of its key and claims every row before it returns it.
**
**   CREATE VIRTUAL TABLE temp.s USING byte_key_scan(purchases, key(user_id, at), columns(...),
**                                                   where(...));
**   SELECT * FROM s WHERE tracker = 'shared:w1' AND restriction = :r;
**   SELECT byte_key, row FROM byte_key_scan('purchases');
**
** The form with a CREATE is a scan table (host/scan_table.h) and nothing more. The ad hoc form is
** in byte_key_scan_ad_hoc.c; its methods are called from here.
*/
#include "byte_key_scan.h"

#include "base/memory.h"
#include "host/schema_freshness.h"
#include "surfaces.h"

static const tr_clause clauses[] = {
    [SCAN_KEY] = {.name = "key", .form = TR_CLAUSE_LIST},
    [SCAN_COLUMNS] = {.name = "columns", .form = TR_CLAUSE_LIST},
    [SCAN_WHERE] = {.name = "where", .form = TR_CLAUSE_EXPRESSION},
};

const tr_module_syntax scan_syntax = {SCAN_FUNCTION, clauses, SCAN_CLAUSES, 0};

/* --- Connecting --------------------------------------------------------------------------- */

/*
** `own` is the schema of the virtual table itself. In a table that is stored in a file, a name
** without a schema means a table of that file, as in a view of the file. It never means a temp
** table of the same name.
*/
static tr_code describe(tr_scan_table *table, const char *own, tr_module_arguments *arguments,
                        tr_error *err) {
  tr_source_table source;
  const char *schema = arguments->schema;
  if (schema == NULL && table->is_stored && tr_has_table(table->db, own, arguments->table)) {
    schema = own;
  }
  tr_code code =
      tr_source_table_read(&source, table->db, SCAN_FUNCTION, schema, arguments->table, err);
  if (code != TR_OK) return code;
  code = tr_source_table_set_key(&source, table->db, SCAN_FUNCTION,
                                 &arguments->clauses[SCAN_KEY].list, err);
  if (code != TR_OK) {
    tr_source_table_free(&source);
    return code;
  }
  char *where = arguments->clauses[SCAN_WHERE].expression;
  arguments->clauses[SCAN_WHERE].expression = NULL;
  return tr_scan_table_describe(table, &source, &arguments->clauses[SCAN_COLUMNS].list, where, err);
}

static const char broken_declaration[] =
    "CREATE TABLE x(broken, tracker HIDDEN, restriction HIDDEN, byte_key HIDDEN)";

/*
** xCreate and xConnect of both forms. The ad hoc form is the eponymous table: it has the module's
** own name and no arguments. A table that takes SQL text is DIRECTONLY, so that views and triggers
** which somebody else wrote cannot use it.
*/
static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **vtab,
                   char **message) {
  tr_error err;
  int is_ad_hoc = argc == 3 && sqlite3_stricmp(argv[2], argv[0]) == 0;
  int fresh = is_ad_hoc ? SQLITE_OK : tr_schemas_read_afresh(db, argv[1], message);
  if (fresh != SQLITE_OK) return fresh;
  scan_table *table = tr_malloc(sizeof *table);
  if (table == NULL) return SQLITE_NOMEM;
  *table = (scan_table){.scan = {.function = SCAN_FUNCTION, .host = aux, .db = db}};
  table->is_ad_hoc = is_ad_hoc;
  table->scan.is_stored = !is_ad_hoc && sqlite3_stricmp(argv[1], "temp") != 0;
  int rc = SQLITE_OK;
  if (table->is_ad_hoc) {
    rc = tr_declare_vtab(db, scan_ad_hoc_declaration, message);
  } else {
    tr_module_arguments arguments;
    tr_code code = tr_module_arguments_parse(&arguments, &scan_syntax, argc - 3, argv + 3, &err);
    if (code == TR_OK) {
      code = describe(&table->scan, argv[1], &arguments, &err);
      tr_module_arguments_free(&arguments);
    }
    /*
    ** A table in a file can be dropped even if its source is gone: it connects as a broken table.
    ** But while a statement writes, the table may be just being created, and then the error is
    ** reported.
    */
    if (code != TR_OK && table->scan.is_stored && tr_error_is_lasting(&err) && !tr_is_writing(db)) {
      table->is_broken = 1;
      table->reason = err;
      rc = tr_declare_vtab(db, broken_declaration, message);
    } else {
      rc = code == TR_OK ? tr_scan_table_declare(&table->scan, message)
                         : tr_create_error(message, &err);
    }
  }
  if (rc == SQLITE_OK && (table->is_ad_hoc || table->scan.where != NULL)) {
    rc = sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
  }
  if (rc != SQLITE_OK) {
    tr_scan_table_free(&table->scan);
    tr_free(table);
    return rc;
  }
  *vtab = &table->scan.base;
  return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *vtab) {
  tr_scan_table_free((tr_scan_table *)vtab);
  tr_free(vtab);
  return SQLITE_OK;
}

static int rename_table(sqlite3_vtab *vtab, const char *name) {
  (void)vtab, (void)name;
  return SQLITE_OK;
}

/* --- Methods that differ between the two forms --------------------------------------------- */

/*
** A broken table reports its error when it is read, not when the query is planned. Only a statement
** that runs finds out that the schema has changed again and the table is no longer broken.
*/
static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
  if (((scan_table *)vtab)->is_broken) return SQLITE_OK;
  int is_ad_hoc = ((scan_table *)vtab)->is_ad_hoc;
  return is_ad_hoc ? scan_ad_hoc_best_index(vtab, info) : tr_scan_best_index(vtab, info);
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **opened) {
  (void)vtab;
  scan_cursor *cursor = tr_malloc(sizeof *cursor);
  if (cursor == NULL) return SQLITE_NOMEM;
  tr_scan_cursor_init(&cursor->scan);
  cursor->source = (tr_source_table){0};
  cursor->texts = (tr_kept_arguments){.hash = 0};
  *opened = &cursor->scan.base;
  return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base) {
  tr_scan_cursor_free((tr_scan_cursor *)base);
  scan_ad_hoc_close((scan_cursor *)base);
  tr_free(base);
  return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int mask, const char *plan_text, int argc,
                  sqlite3_value **argv) {
  tr_error err;
  scan_cursor *cursor = (scan_cursor *)base;
  const scan_table *table = (const scan_table *)base->pVtab;
  if (table->is_broken) return tr_vtab_error(base->pVtab, &table->reason);
  if (!table->is_ad_hoc) {
    return tr_scan_filter(base, mask, plan_text, argc, argv);
  }
  tr_scan_cursor_stop(&cursor->scan);
  if (scan_ad_hoc_filter(cursor, mask, argv, &err) == TR_OK) return SQLITE_OK;
  tr_scan_cursor_stop(&cursor->scan);
  return tr_vtab_error(base->pVtab, &err);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int i) {
  if (!((scan_table *)base->pVtab)->is_ad_hoc) return tr_scan_column_value(base, context, i);
  scan_ad_hoc_column((scan_cursor *)base, context, i);
  return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id) {
  if (!((scan_table *)base->pVtab)->is_ad_hoc) return tr_scan_rowid(base, id);
  *id = scan_ad_hoc_rowid((scan_cursor *)base);
  return SQLITE_OK;
}

int tr_register_byte_key_scan(tr_host *host) {
  static const sqlite3_module module = {
      .iVersion = 0,
      .xCreate = connect, /* the same as xConnect: the table also exists without a CREATE */
      .xConnect = connect,
      .xBestIndex = best_index,
      .xDisconnect = disconnect,
      .xDestroy = disconnect,
      .xOpen = open_cursor,
      .xClose = close_cursor,
      .xFilter = filter,
      .xNext = tr_scan_next,
      .xEof = tr_scan_eof,
      .xColumn = column,
      .xRowid = rowid,
      .xRename = rename_table,
  };
  return tr_host_register_module(host, SCAN_FUNCTION, &module);
}

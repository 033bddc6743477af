/*
** Statements of our own on the user's connection: their text, and the errors that they and we end
** with.
*/
#include "host/sqlite_statements.h"

#include <string.h>

/* --- Errors ------------------------------------------------------------------------------- */

int tr_sqlite_code(const tr_error *err) {
  static const int codes[] = {
      [TR_OK] = SQLITE_OK,
      [TR_INVALID_ARGUMENT] = SQLITE_ERROR,
      [TR_INVALID_STATE] = SQLITE_ERROR,
      [TR_NO_MEMORY] = SQLITE_NOMEM,
      [TR_TOO_BIG] = SQLITE_TOOBIG,
      [TR_OVERFLOW] = SQLITE_ERROR,
      [TR_CORRUPT] = SQLITE_ERROR,
      [TR_INTERRUPTED] = SQLITE_INTERRUPT,
  };
  return err->code == TR_HOST ? err->host_code : codes[err->code];
}

/*
** An interrupt is SQLITE_INTERRUPT almost everywhere. But if it comes inside sqlite3_declare_vtab,
** only its text remains. In older releases only the text remains also when such a table is
** connected.
*/
static int is_interrupt(sqlite3 *db, int rc) {
  if (rc == SQLITE_INTERRUPT) return 1;
  return rc == SQLITE_ERROR && strcmp(sqlite3_errmsg(db), sqlite3_errstr(SQLITE_INTERRUPT)) == 0;
}

/*
** If a table of another module (json_each) was interrupted, even the text is lost. But an interrupt
** stays in force while any statement runs, so it stops another statement, too.
*/
static int is_interrupted(sqlite3 *db) {
  sqlite3_stmt *stmt = NULL;
  int rc = sqlite3_prepare_v2(db, "SELECT 1", -1, &stmt, NULL);
  sqlite3_finalize(stmt);
  return rc == SQLITE_INTERRUPT;
}

tr_code tr_error_ignored(tr_error *err, const char *text) {
  tr_error_set(err, TR_HOST, "%s; does an authorizer have it ignored?", text);
  if (err != NULL) err->host_code = SQLITE_AUTH;
  return TR_HOST;
}

/*
** While CREATE TEMP TABLE ... AS reads its rows, it has written only half a line of temp's schema.
** If an inner statement then finds another schema stale, SQLite forgets and reads temp's, too,
** which is malformed at that moment. SQLITE_SCHEMA makes SQLite begin the statement again, and then
** temp's schema is whole. (A schema that stays malformed fails there, before we are called.)
*/
static int is_temp_half_made(sqlite3 *db, int rc) {
  if ((rc & 0xff) != SQLITE_CORRUPT || !tr_is_writing(db)) return 0;
  sqlite3_stmt *stmt = NULL;
  int again = sqlite3_prepare_v2(db, "SELECT 1 FROM temp.sqlite_master", -1, &stmt, NULL);
  sqlite3_finalize(stmt);
  return (again & 0xff) == SQLITE_CORRUPT;
}

tr_code tr_error_of_sqlite(tr_error *err, sqlite3 *db, int rc) {
  /* These are no errors: SQLite would take either from a module's method for a row. */
  if (rc == SQLITE_ROW) return tr_error_ignored(err, "an inner statement gave too many rows");
  if (rc == SQLITE_DONE) return tr_error_ignored(err, "an inner statement gave no row");
  if ((rc & 0xff) == SQLITE_NOMEM) return tr_error_no_memory(err);
  int extended = sqlite3_extended_errcode(db);
  int is_current = (extended & 0xff) == (rc & 0xff);
  int was_interrupted = is_interrupt(db, rc);
  tr_error_set(err, TR_HOST, "%s", is_current ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
  if (err != NULL) err->host_code = is_current ? extended : rc;
  if (was_interrupted || (rc == SQLITE_ERROR && is_interrupted(db))) {
    return tr_error_set(err, TR_INTERRUPTED, "interrupted");
  }
  if (err != NULL && is_temp_half_made(db, rc)) err->host_code = SQLITE_SCHEMA;
  return TR_HOST;
}

int tr_error_is_lasting(const tr_error *err) {
  if (err->code == TR_HOST) return (err->host_code & 0xff) == SQLITE_ERROR;
  return err->code == TR_INVALID_ARGUMENT || err->code == TR_INVALID_STATE ||
         err->code == TR_CORRUPT;
}

void tr_result_error(sqlite3_context *context, const char *function, const tr_error *err) {
  if (err->code == TR_NO_MEMORY) {
    sqlite3_result_error_nomem(context);
    return;
  }
  int is_named = function == NULL || strncmp(err->message, function, strlen(function)) == 0;
  char *message = is_named ? sqlite3_mprintf("%s", err->message)
                           : sqlite3_mprintf("%s: %s", function, err->message);
  if (message == NULL) {
    sqlite3_result_error_nomem(context);
    return;
  }
  sqlite3_result_error(context, message, -1);
  sqlite3_result_error_code(context, tr_sqlite_code(err));
  sqlite3_free(message);
}

int tr_create_error(char **message, const tr_error *err) {
  if (err->code == TR_NO_MEMORY) return SQLITE_NOMEM;
  sqlite3_free(*message);
  *message = sqlite3_mprintf("%s", err->message);
  return *message == NULL ? SQLITE_NOMEM : tr_sqlite_code(err);
}

/*
** If no statement is running (the first is being compiled), SQLite documents that an interrupt has
** no effect: it ends when the next text is parsed, and the second attempt succeeds. If one is
** running, the interrupt stays, and the second attempt fails, too.
*/
int tr_declare_vtab(sqlite3 *db, const char *declaration, char **message) {
  int rc = sqlite3_declare_vtab(db, declaration);
  if (rc == SQLITE_OK || !is_interrupt(db, rc)) return rc;
  rc = sqlite3_declare_vtab(db, declaration);
  if (rc == SQLITE_OK || !is_interrupt(db, rc)) return rc;
  sqlite3_free(*message);
  *message = sqlite3_mprintf("%s", sqlite3_errstr(SQLITE_INTERRUPT));
  return *message == NULL ? SQLITE_NOMEM : SQLITE_INTERRUPT;
}

int tr_vtab_error(sqlite3_vtab *vtab, const tr_error *err) {
  return tr_create_error(&vtab->zErrMsg, err);
}

/* --- Statements --------------------------------------------------------------------------- */

sqlite3_stmt *tr_next_writing(sqlite3 *db, sqlite3_stmt *after) {
  sqlite3_stmt *stmt = after;
  do {
    stmt = sqlite3_next_stmt(db, stmt);
  } while (stmt != NULL && (!sqlite3_stmt_busy(stmt) || sqlite3_stmt_readonly(stmt)));
  return stmt;
}

int tr_is_writing(sqlite3 *db) {
  return tr_next_writing(db, NULL) != NULL;
}

/* --- SQL text ----------------------------------------------------------------------------- */

void tr_sql_append_identifier(sqlite3_str *sql, const char *name) {
  sqlite3_str_appendf(sql, "\"%w\"", name);
}

void tr_sql_append_shadow(sqlite3_str *sql, const char *name, const char *suffix) {
  sqlite3_str_appendf(sql, "\"%w_%s\"", name, suffix);
}

void tr_sql_append_table(sqlite3_str *sql, const char *schema, const char *name) {
  tr_sql_append_identifier(sql, schema);
  sqlite3_str_appendchar(sql, 1, '.');
  tr_sql_append_identifier(sql, name);
}

tr_code tr_sql_prepare(sqlite3 *db, sqlite3_str *sql, sqlite3_stmt **stmt, tr_error *err) {
  *stmt = NULL;
  int rc = sqlite3_str_errcode(sql);
  char *text = sqlite3_str_finish(sql);
  if (rc == SQLITE_TOOBIG) {
    sqlite3_free(text);
    return tr_error_set(err, TR_TOO_BIG, "SQL text too long");
  }
  if (rc != SQLITE_OK || text == NULL) {
    sqlite3_free(text);
    return tr_error_no_memory(err);
  }
  rc = sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
  sqlite3_free(text);
  return rc == SQLITE_OK ? TR_OK : tr_error_of_sqlite(err, db, rc);
}

/*
** The names of functions are found in the text (tr_expression_visit), and their flags in
** pragma_function_list. A name that is not there is refused: SQLite's tokenizer may read it
** otherwise than ours.
*/
#include "host/stored_expression.h"

#include "host/sql_text.h"

int tr_schemas_are_trusted(sqlite3 *db) {
  int on = 1;
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, -1, &on);
  return on;
}

typedef struct check {
  sqlite3 *db;
  sqlite3_stmt *flags;
  int is_trusted;
  int needs_trust;
} check;

static tr_code refuse(tr_error *err, const char *name, const char *why) {
  return tr_error_set(err, TR_INVALID_ARGUMENT, "%s: %s", name, why);
}

static tr_code check_function(check *c, const char *name, tr_error *err) {
  int is_known = 0, is_direct = 0, is_innocuous = 0;
  tr_code code = TR_OK;
  int rc = sqlite3_bind_text(c->flags, 1, name, -1, SQLITE_TRANSIENT);
  if (rc == SQLITE_OK) rc = sqlite3_step(c->flags);
  if (rc == SQLITE_ROW) {
    is_known = sqlite3_column_int(c->flags, 0) > 0;
    is_direct = sqlite3_column_int(c->flags, 1);
    is_innocuous = sqlite3_column_int(c->flags, 2);
  } else {
    code = tr_error_of_sqlite(err, c->db, rc);
  }
  sqlite3_reset(c->flags);
  if (code != TR_OK) return code;
  if (!is_known) return refuse(err, name, "there is no such function");
  if (is_direct) {
    return refuse(err, name,
                  "the function may not be called by what a file says; a table in temp may");
  }
  c->needs_trust |= !is_innocuous;
  if (!is_innocuous && !c->is_trusted) {
    return refuse(err, name,
                  "the function may not be called by what a file says while trusted_schema is off");
  }
  return TR_OK;
}

static tr_code visit(void *state, tr_expression_part part, const char *name, tr_error *err) {
  if (part == TR_EXPRESSION_CALL) return check_function(state, name, err);
  return refuse(err, name, "only a table in temp may look into another table");
}

tr_code tr_stored_expression_check(sqlite3 *db, const char *expression, int *needs_trust,
                                   tr_error *err) {
  check c = {.db = db, .is_trusted = tr_schemas_are_trusted(db)};
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendf(sql,
                      "SELECT count(*), max((flags & %d) <> 0), min((flags & %d) <> 0) "
                      "FROM pragma_function_list WHERE name = ?1 COLLATE NOCASE",
                      SQLITE_DIRECTONLY, SQLITE_INNOCUOUS);
  tr_code code = tr_sql_prepare(db, sql, &c.flags, err);
  if (code == TR_OK) code = tr_expression_visit(expression, visit, &c, err);
  sqlite3_finalize(c.flags);
  *needs_trust = c.needs_trust;
  return code;
}

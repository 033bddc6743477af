/*
** The sandbox is one view,
**   CREATE VIEW output(result) AS SELECT (expression) FROM (SELECT current_value() AS value)
** where current_value() is ours and returns the value that is being evaluated.
**
** The same expression is also compiled as a CHECK constraint. SQLite allows no subquery, aggregate
** or window function there, and those could use other rows than the one.
**
** It is a view because SQLite then applies the rules that we want: no parameters, and from an
** untrusted schema only functions that are INNOCUOUS. That includes functions that the program
** registers on every connection (sqlite3_auto_extension).
*/
#include "host/value_expression.h"

#include <string.h>

#include "base/memory.h"

/* Virtual machine steps between two polls of the caller's interrupt. */
#define STEPS_BETWEEN_POLLS 1000

struct tr_value_expression {
  sqlite3 *db;
  sqlite3_stmt *stmt;
  tr_interrupt *interrupt;
  tr_error stopped; /* why the caller's connection stopped the evaluation; TR_OK: it did not */
  int64_t value;
};

static void current_value(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc, (void)argv;
  const tr_value_expression *expression = sqlite3_user_data(context);
  sqlite3_result_int64(context, expression->value);
}

static int is_stopped(void *pointer) {
  tr_value_expression *expression = pointer;
  return tr_interrupt_poll(expression->interrupt, &expression->stopped) != TR_OK;
}

/*
** Has SQLite ask is_stopped() while the expression runs. A host that was compiled with
** SQLITE_OMIT_PROGRESS_CALLBACK, which SQLite recommends, cannot: there a single value is computed
** to its end.
*/
static void watch(tr_value_expression *expression) {
#if defined(SQLITE_CORE) && defined(SQLITE_OMIT_PROGRESS_CALLBACK)
  (void)expression, (void)is_stopped;
#else
#ifndef SQLITE_CORE
  if (sqlite3_api->progress_handler == NULL) return;
#endif
  sqlite3_progress_handler(expression->db, STEPS_BETWEEN_POLLS, is_stopped, expression);
#endif
}

/* Fills `err` with the error of the sandbox, or with what stopped it. */
static tr_code fail(tr_value_expression *expression, int rc, tr_error *err) {
  if (expression->stopped.code != TR_OK) {
    if (err != NULL) *err = expression->stopped;
    return expression->stopped.code;
  }
  return tr_error_of_sqlite(err, expression->db, rc);
}

static int open_sandbox(tr_value_expression *expression) {
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
  int rc = sqlite3_open_v2(":memory:", &expression->db, flags, NULL);
  sqlite3 *db = expression->db;
  if (rc == SQLITE_OK) rc = sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 1, NULL);
  if (rc == SQLITE_OK) {
    rc = sqlite3_create_function(db, "current_value", 0, SQLITE_UTF8 | SQLITE_INNOCUOUS, expression,
                                 current_value, NULL, NULL);
  }
  return rc;
}

/* Runs the one statement of `sql`. */
static tr_code run(tr_value_expression *expression, const char *sql, tr_error *err) {
  const char *rest;
  int rc = sqlite3_prepare_v2(expression->db, sql, -1, &expression->stmt, &rest);
  if (rc != SQLITE_OK) return tr_error_of_sqlite(err, expression->db, rc);
  if (*rest != '\0') return tr_error_set(err, TR_INVALID_ARGUMENT, "more than one expression");
  sqlite3_step(expression->stmt);
  rc = sqlite3_finalize(expression->stmt);
  expression->stmt = NULL;
  return rc == SQLITE_OK ? TR_OK : tr_error_of_sqlite(err, expression->db, rc);
}

static tr_code prepare_output(tr_value_expression *expression, tr_error *err) {
  int rc =
      sqlite3_prepare_v2(expression->db, "SELECT result FROM output", -1, &expression->stmt, NULL);
  return rc == SQLITE_OK ? TR_OK : tr_error_of_sqlite(err, expression->db, rc);
}

static tr_code compile(tr_value_expression *expression, tr_bytes sql, tr_error *err) {
  if (sql.size > 0 && memchr(sql.data, 0, sql.size) != NULL) {
    return tr_error_set(err, TR_INVALID_ARGUMENT, "has a zero byte");
  }
  /* The new line ends a comment in the expression. */
  char *view = sqlite3_mprintf("CREATE VIEW output(result) AS SELECT (%.*s\n)"
                               " FROM (SELECT current_value() AS value)",
                               (int)sql.size, (const char *)sql.data);
  if (view == NULL) return tr_error_no_memory(err);
  tr_code code = run(expression, view, err);
  sqlite3_free(view);
  if (code != TR_OK) return code;
  code = prepare_output(expression, err);
  if (code != TR_OK) return code;
  sqlite3_finalize(expression->stmt);
  expression->stmt = NULL;
  char *check = sqlite3_mprintf("CREATE TABLE checked(value INTEGER, CHECK ((%.*s\n) IS NULL))",
                                (int)sql.size, (const char *)sql.data);
  if (check == NULL) return tr_error_no_memory(err);
  code = run(expression, check, err);
  sqlite3_free(check);
  return code == TR_OK ? prepare_output(expression, err) : code;
}

tr_code tr_value_expression_create(tr_bytes sql, tr_interrupt *interrupt,
                                   tr_value_expression **created, tr_error *err) {
  *created = NULL;
  tr_value_expression *expression = tr_malloc(sizeof *expression);
  if (expression == NULL) return tr_error_no_memory(err);
  *expression = (tr_value_expression){.interrupt = interrupt};
  int rc = open_sandbox(expression);
  tr_code code = TR_OK;
  if (expression->db == NULL) {
    code = tr_error_no_memory(err);
  } else if (rc != SQLITE_OK) {
    code = tr_error_of_sqlite(err, expression->db, rc);
  } else {
    code = compile(expression, sql, err);
  }
  if (code != TR_OK) {
    tr_value_expression_free(expression);
    return code;
  }
  watch(expression);
  *created = expression;
  return TR_OK;
}

void tr_value_expression_free(tr_value_expression *expression) {
  if (expression == NULL) return;
  sqlite3_finalize(expression->stmt);
  sqlite3_close(expression->db);
  tr_free(expression);
}

tr_code tr_value_expression_evaluate(tr_value_expression *expression, int64_t value,
                                     tr_value *result, tr_error *err) {
  sqlite3_reset(expression->stmt);
  expression->stopped.code = TR_OK;
  expression->value = value;
  int rc = sqlite3_step(expression->stmt);
  if (rc != SQLITE_ROW) {
    rc = sqlite3_reset(expression->stmt);
    if (rc == SQLITE_OK) return tr_error_set(err, TR_INVALID_ARGUMENT, "gives no value");
    return fail(expression, rc, err);
  }
  *result = tr_value_of_column(expression->stmt, 0);
  return TR_OK;
}

/*
** One module for all table-valued functions that fill a list. xBestIndex passes the given arguments
** to xFilter, in the order of the function's arguments, with a bit mask of those that were given as
** idxNum. xFilter fills the list, and the other methods walk it.
*/
#include "host/table_function.h"

#include <string.h>

#include "base/memory.h"
#include "combine/held_value.h"

struct tr_row_list {
  int column_count;
  tr_value *values; /* row after row; held values */
  size_t count;     /* of values */
  size_t capacity;
};

typedef struct table {
  sqlite3_vtab base;
  tr_host *host;
  const tr_table_function *function;
} table;

typedef struct cursor {
  sqlite3_vtab_cursor base;
  tr_kept_arguments arguments;
  tr_row_list rows;
  size_t row;
} cursor;

/* --- The list ----------------------------------------------------------------------------- */

static void free_values(tr_value *values, size_t count) {
  for (size_t i = 0; i < count; i++) tr_held_value_free(&values[i]);
}

static void clear_rows(tr_row_list *rows) {
  free_values(rows->values, rows->count);
  tr_free(rows->values);
  rows->values = NULL;
  rows->count = rows->capacity = 0;
}

tr_code tr_row_list_append(tr_row_list *rows, const tr_value *values, tr_error *err) {
  size_t columns = (size_t)rows->column_count;
  if (rows->capacity - rows->count < columns) {
    size_t capacity = rows->capacity * 2 + 8 * columns;
    tr_value *grown = tr_realloc(rows->values, capacity * sizeof *grown);
    if (grown == NULL) return tr_error_no_memory(err);
    rows->values = grown;
    rows->capacity = capacity;
  }
  tr_value *row = rows->values + rows->count;
  for (size_t i = 0; i < columns; i++) {
    if (tr_held_value_set(&row[i], &values[i], err) != TR_OK) {
      free_values(row, i);
      return TR_NO_MEMORY;
    }
  }
  rows->count += columns;
  return TR_OK;
}

/* --- The module --------------------------------------------------------------------------- */

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **vtab,
                   char **message) {
  (void)argc, (void)argv;
  const tr_table_function *function = tr_module_data(aux);
  int rc = tr_declare_vtab(db, function->declaration, message);
  if (rc != SQLITE_OK) return rc;
  sqlite3_vtab_config(db, function->risk);
  table *t = tr_malloc(sizeof *t);
  if (t == NULL) return SQLITE_NOMEM;
  *t = (table){.host = tr_module_host(aux), .function = function};
  *vtab = &t->base;
  return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *vtab) {
  tr_free(vtab);
  return SQLITE_OK;
}

/*
** idxNum is the mask of the given arguments. If an argument is there but not usable in this order
** of the join, the plan is refused, and SQLite tries another order. If a required argument is not
** there at all, another plan may have it (see tr_hidden_arguments_weigh). So such a plan is only
** expensive, and xFilter reports what is missing.
*/
static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
  const tr_table_function *function = ((table *)vtab)->function;
  int given[TR_KEPT_ARGUMENTS];
  for (int i = 0; i < TR_KEPT_ARGUMENTS; i++) given[i] = -1;
  int is_unusable = 0;
  for (int i = 0; i < info->nConstraint; i++) {
    const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
    int argument = constraint->iColumn - function->column_count;
    if (argument < 0 || constraint->op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    if (constraint->usable) {
      given[argument] = i;
    } else {
      is_unusable = 1;
    }
  }
  if (is_unusable) return SQLITE_CONSTRAINT;
  int next = 1;
  info->estimatedCost = 100;
  info->estimatedRows = 25;
  int count = 0;
  while (function->arguments[count] != NULL) count++;
  for (int i = 0; i < count; i++) {
    if (given[i] < 0) continue;
    info->idxNum |= 1 << i;
    info->aConstraintUsage[given[i]].argvIndex = next++;
    info->aConstraintUsage[given[i]].omit = 1;
  }
  tr_hidden_arguments_weigh(info, function->column_count, 0, count, function->required_count);
  return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **opened) {
  cursor *c = tr_malloc(sizeof *c);
  if (c == NULL) return SQLITE_NOMEM;
  *c = (cursor){.rows.column_count = ((table *)vtab)->function->column_count};
  *opened = &c->base;
  return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base) {
  clear_rows(&((cursor *)base)->rows);
  tr_kept_arguments_free(&((cursor *)base)->arguments);
  tr_free(base);
  return SQLITE_OK;
}

static tr_code check_required(const tr_table_function *function, int mask, tr_error *err) {
  for (int i = 0; i < function->required_count; i++) {
    if ((mask & 1 << i) != 0) continue;
    return tr_error_set(err, TR_INVALID_ARGUMENT, "%s(): argument %s is missing", function->name,
                        function->arguments[i]);
  }
  return TR_OK;
}

static int has_null(const cursor *c) {
  for (int i = 0; i < TR_KEPT_ARGUMENTS; i++) {
    sqlite3_value *argument = c->arguments.values[i];
    if (argument != NULL && sqlite3_value_type(argument) == SQLITE_NULL) return 1;
  }
  return 0;
}

static int filter(sqlite3_vtab_cursor *base, int mask, const char *plan, int argc,
                  sqlite3_value **argv) {
  (void)plan, (void)argc;
  cursor *c = (cursor *)base;
  table *t = (table *)base->pVtab;
  tr_error err;
  clear_rows(&c->rows);
  c->row = 0;
  tr_code code = check_required(t->function, mask, &err);
  if (code == TR_OK) code = tr_kept_arguments_set(&c->arguments, mask, argv, &err);
  if (code == TR_OK && !t->function->takes_null && has_null(c)) return SQLITE_OK;
  if (code == TR_OK) code = t->function->fill(t->host, c->arguments.values, &c->rows, &err);
  return code == TR_OK ? SQLITE_OK : tr_vtab_error(base->pVtab, &err);
}

static int next_row(sqlite3_vtab_cursor *base) {
  ((cursor *)base)->row++;
  return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base) {
  cursor *c = (cursor *)base;
  return c->row * (size_t)c->rows.column_count >= c->rows.count;
}

/* Arguments are columns, too: SQLite compares them again if it plans an OR as several scans. */
static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int i) {
  cursor *c = (cursor *)base;
  int columns = c->rows.column_count;
  if (i < columns) {
    tr_result_value(context, &c->rows.values[c->row * (size_t)columns + (size_t)i]);
    int json_columns = ((table *)base->pVtab)->function->json_columns;
    if ((json_columns >> i & 1) != 0) sqlite3_result_subtype(context, TR_JSON_SUBTYPE);
  } else if (c->arguments.values[i - columns] != NULL) {
    sqlite3_result_value(context, c->arguments.values[i - columns]);
  }
  return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id) {
  const cursor *c = (cursor *)base;
  *id = (sqlite3_int64)(c->arguments.hash + c->row + 1);
  return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion = 0,
    .xConnect = connect, /* no xCreate: the table exists without a CREATE, and only so */
    .xBestIndex = best_index,
    .xDisconnect = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next_row,
    .xEof = eof,
    .xColumn = column,
    .xRowid = rowid,
};

int tr_host_register_table_function(tr_host *host, const tr_table_function *function) {
  return tr_host_register_module_data(host, function->name, &module, function);
}

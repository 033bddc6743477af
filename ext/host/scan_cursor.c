/*
** Reads the rows of a scan table.
**
** xFilter makes a statement reader (statement_reader.h) from the plan, or takes the one that an
** earlier query left, and begins a tracked scan over it (tracked_scan.h). xNext advances the scan,
** which steps the inner statement and claims the key. xColumn returns the value of the inner
** statement's column.
**
** Text and blobs are copied from the inner row, never shared with it, because SQLite may keep a
** value longer than the row is valid.
*/
#include "host/scan_table.h"

#include <string.h>

#include "base/memory.h"
#include "host/in_lists.h"
#include "host/range_arguments.h"

/* --- The inner statement ------------------------------------------------------------------ */

static int is_used(const tr_scan_plan *plan, int column) {
  return (int)(plan->used >> (column < 63 ? column : 63) & 1);
}

/*
** The statement's column if it already selects this column of the source, as a column of the key or
** as the rowid. -1: it must be selected.
*/
static int column_of_key(const tr_source_table *source, int column) {
  const tr_source_key *key = &source->key;
  if (key->form == TR_KEY_ROWID) {
    return column < 0 || (key->column_count > 0 && key->columns[0] == column) ? 0 : -1;
  }
  if (column < 0) return key->column_count;
  for (int i = 0; i < key->column_count; i++) {
    if (key->columns[i] == column) return i;
  }
  return -1;
}

static tr_code create_reader(tr_scan_cursor *cursor, const char *conditions, int parameter_count,
                             tr_error *err) {
  tr_scan_table *table = (tr_scan_table *)cursor->base.pVtab;
  const char *output = NULL;
  tr_statement_request request = {.function = table->function,
                                  .source = &table->source,
                                  .wants_key = 1,
                                  .outputs = &output,
                                  .conditions = &conditions,
                                  .condition_count = conditions[0] != '\0',
                                  .parameter_count = parameter_count};
  if (table->column_count > 0) {
    cursor->inner.column_at =
        tr_malloc((size_t)table->column_count * sizeof *cursor->inner.column_at);
    if (cursor->inner.column_at == NULL) return tr_error_no_memory(err);
  }
  sqlite3_str *sql = sqlite3_str_new(table->db);
  int count = 0;
  for (int i = 0; i < table->column_count; i++) {
    int source = table->columns[i].source;
    int at = column_of_key(&table->source, source);
    if (at < 0 && is_used(&cursor->plan, i)) {
      if (count > 0) sqlite3_str_appendall(sql, ", ");
      tr_source_append_column(&table->source, source, sql);
      at = -2 - count++; /* an output; its column is known once the reader is created */
    }
    cursor->inner.column_at[i] = at;
  }
  request.output_count = count > 0;
  char *outputs = sqlite3_str_finish(sql);
  output = outputs;
  tr_code code = count > 0 && outputs == NULL
                     ? tr_error_no_memory(err)
                     : tr_statement_reader_create(table->db, &request, &cursor->inner.reader, err);
  sqlite3_free(outputs);
  if (code != TR_OK) return code;
  int first = tr_statement_reader_first_output(cursor->inner.reader);
  for (int i = 0; i < table->column_count; i++) {
    int *at = &cursor->inner.column_at[i];
    if (*at < -1) *at = first - 2 - *at;
  }
  return TR_OK;
}

void tr_scan_inner_free(tr_scan_inner *inner) {
  tr_statement_reader_free(inner->reader);
  sqlite3_free(inner->plan_text);
  sqlite3_free(inner->conditions);
  tr_free(inner->column_at);
  *inner = (tr_scan_inner){0};
}

/* The table's where(...) and the terms as one SQL condition. NULL: out of memory. */
static char *build_conditions(const tr_scan_table *table, const tr_term *terms, int count,
                              int *parameter_count) {
  sqlite3_str *sql = sqlite3_str_new(table->db);
  const char *between = "";
  if (table->where != NULL) {
    sqlite3_str_appendf(sql, "(%s)", table->where);
    between = " AND ";
  }
  int next = 1;
  for (int i = 0; i < count; i++) {
    if (terms[i].is_too_long) continue;
    sqlite3_str_appendall(sql, between);
    tr_term_append_condition(&table->source, &terms[i], next, sql);
    next += terms[i].parameter_count;
    between = " AND ";
  }
  *parameter_count = next - 1;
  if (sqlite3_str_length(sql) == 0 && sqlite3_str_errcode(sql) == SQLITE_OK) {
    sqlite3_free(sqlite3_str_finish(sql));
    return sqlite3_mprintf("%s", "");
  }
  return sqlite3_str_finish(sql);
}

/* Swaps the cursor's inner statement with the one that the table keeps. */
static void exchange_inner(tr_scan_cursor *cursor, tr_scan_table *table) {
  tr_scan_inner inner = cursor->inner;
  cursor->inner = table->idle;
  table->idle = inner;
}

/* Gives the cursor a reader for this plan and these terms, and binds their values. */
static tr_code ready_reader(tr_scan_cursor *cursor, const char *plan_text, const tr_term *terms,
                            int count, tr_error *err) {
  tr_scan_table *table = (tr_scan_table *)cursor->base.pVtab;
  int parameter_count;
  tr_code code = TR_OK;
  char *conditions = build_conditions(table, terms, count, &parameter_count);
  if (conditions == NULL) return tr_error_no_memory(err);
  if (cursor->inner.reader == NULL) exchange_inner(cursor, table);
  int is_ready = cursor->inner.reader != NULL && strcmp(cursor->inner.plan_text, plan_text) == 0 &&
                 strcmp(cursor->inner.conditions, conditions) == 0;
  if (is_ready) {
    sqlite3_free(conditions);
  } else {
    tr_scan_inner_free(&cursor->inner);
    cursor->inner.conditions = conditions;
    cursor->inner.plan_text = sqlite3_mprintf("%s", plan_text);
    code = cursor->inner.plan_text == NULL
               ? tr_error_no_memory(err)
               : create_reader(cursor, conditions, parameter_count, err);
    if (code != TR_OK) tr_scan_inner_free(&cursor->inner);
  }
  int index = 1;
  for (int i = 0; i < count; i++) {
    if (terms[i].is_too_long) continue;
    for (int j = 0; j < terms[i].parameter_count && code == TR_OK; j++) {
      tr_value value = tr_term_parameter(&table->source, &terms[i], j);
      code = tr_statement_reader_bind(cursor->inner.reader, index++, &value, err);
    }
  }
  return code;
}

/* --- Scanning ----------------------------------------------------------------------------- */

void tr_scan_cursor_stop(tr_scan_cursor *cursor) {
  tr_tracked_scan_end(&cursor->scan);
  sqlite3_value_free(cursor->tracker);
  sqlite3_value_free(cursor->restriction);
  cursor->tracker = NULL;
  cursor->restriction = NULL;
  cursor->is_eof = 1;
}

tr_code tr_scan_cut_by_byte_key(tr_byte_key_range *range, tr_operator op, sqlite3_value *value,
                                tr_error *err) {
  int type = sqlite3_value_type(value), is_at_least = op == TR_GE || op == TR_GT;
  if (type != SQLITE_BLOB && type != SQLITE_NULL && is_at_least) return TR_OK;
  /* The empty key, which no row has, stands for what no row is equal to or below. */
  tr_value key = type == SQLITE_BLOB ? tr_value_of_sqlite(value) : tr_value_blob((tr_bytes){0});
  if (type == SQLITE_NULL) op = TR_EQ;
  tr_restriction cut = {.kind = TR_BYTES};
  tr_restriction whole = {.kind = TR_BYTES, .bytes = *range};
  tr_code code = TR_OK;
  int has_start = op == TR_EQ || op == TR_GE || op == TR_GT;
  int has_end = op == TR_EQ || op == TR_LE || op == TR_LT;
  int starts_behind = op == TR_GT;
  int ends_behind = op != TR_LT;
  if (has_start) code = tr_buffer_set(&cut.bytes.start, key.bytes, err);
  if (code == TR_OK && has_start && starts_behind) {
    code = tr_buffer_append_byte(&cut.bytes.start, 0, err);
  }
  if (code == TR_OK && has_end) code = tr_buffer_set(&cut.bytes.end, key.bytes, err);
  /* No row has the empty key, and an empty end would mean no upper bound. */
  if (code == TR_OK && has_end && (ends_behind || key.bytes.size == 0)) {
    code = tr_buffer_append_byte(&cut.bytes.end, 0, err);
  }
  if (code == TR_OK) code = tr_restriction_intersect(&whole, &cut, err);
  *range = whole.bytes;
  tr_restriction_free(&cut);
  return code;
}

static tr_code refuse_argument(tr_error *err, const char *function, const char *argument,
                               sqlite3_value *value, const char *reason) {
  tr_value v = tr_value_of_sqlite(value);
  return tr_argument_error(err, function, argument, &v, reason);
}

/*
** A second scan by name on one cursor would get no rows. SQLite begins one for each outer row of a
** join, and for each row of the list in (a, b) IN (SELECT ...), about which it does not tell us.
*/
static tr_code check_tracker(tr_scan_cursor *cursor, sqlite3_value *tracker, tr_error *err) {
  if (cursor->has_used_tracker) {
    return refuse_argument(err, ((tr_scan_table *)cursor->base.pVtab)->function, "tracker", tracker,
                           "the scan would be begun again: for each outer row, as it is the inner "
                           "loop of a join (put it first, with CROSS JOIN behind it), or for each "
                           "row of an (a, b) IN (SELECT ...)");
  }
  cursor->has_used_tracker = 1;
  return TR_OK;
}

/* A look-up of a single row does not need the table's end. */
static tr_scan_limit *limit_of(tr_scan_cursor *cursor, const tr_scan_table *table) {
  if (cursor->limit.is_set) return &cursor->limit;
  return !cursor->is_of_one_row && tr_is_writing(table->db) ? &cursor->limit : NULL;
}

tr_code tr_scan_cursor_start(tr_scan_cursor *cursor, sqlite3_value *tracker,
                             sqlite3_value *restriction, const tr_byte_key_range *range,
                             tr_error *err) {
  tr_bytes name;
  tr_restriction given;
  tr_scan_table *table = (tr_scan_table *)cursor->base.pVtab;
  tr_scan_request request = {
      .function = table->function, .asked_for = range, .limit = limit_of(cursor, table)};
  if ((tracker != NULL && sqlite3_value_type(tracker) == SQLITE_NULL) ||
      (restriction != NULL && sqlite3_value_type(restriction) == SQLITE_NULL)) {
    return TR_OK; /* nothing equals NULL */
  }
  if (tracker != NULL) {
    tr_code code = tr_argument_text(table->function, "tracker", tracker, &name, err);
    if (code == TR_OK) code = check_tracker(cursor, tracker, err);
    if (code != TR_OK) return code;
    request.tracker = &name;
    cursor->tracker = sqlite3_value_dup(tracker);
    if (cursor->tracker == NULL) return tr_error_no_memory(err);
  }
  if (restriction != NULL) {
    tr_code code =
        tr_argument_restriction(table->function, "restriction", restriction, &given, err);
    if (code != TR_OK) return code;
    request.restriction = &given;
    cursor->restriction = sqlite3_value_dup(restriction);
    if (cursor->restriction == NULL) {
      tr_restriction_free(&given);
      return tr_error_no_memory(err);
    }
  }
  int has_row = tr_tracked_scan_begin(&cursor->scan, tr_host_trackers(table->host),
                                      cursor->inner.reader, &request, err);
  if (restriction != NULL) tr_restriction_free(&given);
  if (has_row < 0) return err->code;
  cursor->is_eof = has_row == 0;
  return TR_OK;
}

/* --- Reading the arguments ---------------------------------------------------------------- */

/* The arguments of xFilter. */
typedef struct scan_arguments {
  sqlite3_value *tracker;
  sqlite3_value *restriction;
  tr_term terms[TR_SCAN_TERMS_MAX];
  int term_count;
  sqlite3_value *single[TR_SCAN_TERMS_MAX]; /* the value of a term that is not a list */
  tr_byte_key_range range;
} scan_arguments;

static void free_arguments(scan_arguments *arguments) {
  for (int i = 0; i < arguments->term_count; i++) {
    tr_term *term = &arguments->terms[i];
    if (term->op != TR_IN) continue;
    for (int j = 0; j < term->value_count; j++) sqlite3_value_free(term->values[j]);
    tr_free(term->values);
  }
  tr_byte_key_range_free(&arguments->range);
}

/* Copies the values of a list. */
static tr_code read_list(sqlite3 *db, sqlite3_value *list, tr_term *term, tr_error *err) {
  sqlite3_value *value = NULL;
  int capacity = 0;
  int has_value;
  while ((has_value = tr_in_list_next(db, list, &value, err)) == 1) {
    if (term->value_count == capacity) {
      capacity = capacity * 2 + 8;
      sqlite3_value **values = tr_realloc(term->values, (size_t)capacity * sizeof *values);
      if (values == NULL) return tr_error_no_memory(err);
      term->values = values;
    }
    sqlite3_value *copy = sqlite3_value_dup(value);
    if (copy == NULL) return tr_error_no_memory(err);
    term->values[term->value_count++] = copy;
    /* Converts the text to UTF-8 in place now, so that reading it later needs no memory. */
    tr_value view = tr_value_of_sqlite(copy);
    if (tr_value_lacks_bytes(&view)) return tr_error_no_memory(err);
  }
  return has_value < 0 ? err->code : TR_OK;
}

/* Counts the parameters of all terms, and finds the lists for which a statement has not enough. */
static void count_parameters(const tr_scan_table *table, scan_arguments *arguments) {
  enum { OF_BOUNDS = 2 * (TR_KEY_COLUMNS_MAX + 1), OF_OTHER_TERMS = TR_SCAN_TERMS_MAX };
  int room = sqlite3_limit(table->db, SQLITE_LIMIT_VARIABLE_NUMBER, -1);
  room -= OF_BOUNDS + OF_OTHER_TERMS;
  for (int i = 0; i < arguments->term_count; i++) {
    tr_term *term = &arguments->terms[i];
    tr_term_count_parameters(&table->source, term);
    if (term->op != TR_IN) continue;
    term->is_too_long = term->parameter_count > room;
    if (!term->is_too_long) room -= term->parameter_count;
  }
}

static tr_code read_term(const tr_scan_table *table, const tr_scan_plan_term *planned,
                         sqlite3_value *value, scan_arguments *arguments, tr_error *err) {
  tr_term *term = &arguments->terms[arguments->term_count];
  *term = (tr_term){.column = planned->column < 0 ? -1 : table->columns[planned->column].source,
                    .op = planned->op,
                    .is_binary = planned->is_binary,
                    .may_be_of_pattern = planned->may_be_of_pattern};
  if (planned->op == TR_IN) {
    arguments->term_count++;
    return read_list(table->db, value, term, err);
  }
  arguments->single[arguments->term_count] = value;
  term->values = &arguments->single[arguments->term_count++];
  term->value_count = 1;
  return TR_OK;
}

/* Whether the key's first column has a blob: 1, 0, -1. One descent, since blobs sort last. */
static int has_blob_keys(const tr_scan_table *table, int column, tr_error *err) {
  sqlite3_stmt *stmt;
  const tr_source_table *source = &table->source;
  sqlite3_str *sql = sqlite3_str_new(table->db);
  sqlite3_str_appendall(sql, "SELECT 1 FROM ");
  tr_sql_append_table(sql, source->schema, source->name);
  sqlite3_str_appendall(sql, " WHERE ");
  tr_source_append_column(source, column, sql);
  sqlite3_str_appendall(sql, " COLLATE BINARY >= x'' LIMIT 1");
  if (tr_sql_prepare(table->db, sql, &stmt, err) != TR_OK) return -1;
  int rc = sqlite3_step(stmt);
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) tr_error_of_sqlite(err, table->db, rc);
  sqlite3_finalize(stmt);
  return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : -1;
}

/*
** Whether term `i` is the upper limit of a pair that may be from a pattern, and would exclude
** blobs: 1, 0, -1.
*/
static int excludes_blobs(const tr_scan_table *table, const scan_arguments *arguments, int i,
                          tr_error *err) {
  const tr_term *upper = &arguments->terms[i];
  int has_lower = 0;
  for (int j = 0; j < arguments->term_count && !has_lower; j++) {
    const tr_term *lower = &arguments->terms[j];
    has_lower = lower->op == TR_GE && lower->column == upper->column &&
                tr_may_be_of_pattern(lower->values[0], upper->values[0]);
  }
  if (!has_lower) return 0;
  const tr_source_key *key = &table->source.key;
  int is_key = key->form != TR_KEY_ROWID && key->columns[0] == upper->column;
  return is_key ? has_blob_keys(table, upper->column, err) : 1;
}

/* Drops terms that would remove rows which match a pattern. SQLite still checks them itself. */
static tr_code drop_terms_of_patterns(const tr_scan_table *table, scan_arguments *arguments,
                                      tr_error *err) {
  int i = 0;
  while (i < arguments->term_count) {
    tr_term *term = &arguments->terms[i];
    int is_dropped = term->may_be_of_pattern ? excludes_blobs(table, arguments, i, err) : 0;
    if (is_dropped < 0) return err->code;
    if (is_dropped) {
      int behind = --arguments->term_count - i;
      memmove(term, term + 1, (size_t)behind * sizeof *term);
    } else {
      i++;
    }
  }
  return TR_OK;
}

static tr_code read_arguments(const tr_scan_table *table, const tr_scan_plan *plan,
                              sqlite3_value **argv, scan_arguments *arguments, tr_error *err) {
  tr_code code = TR_OK;
  for (int i = 0; i < plan->count && code == TR_OK; i++) {
    switch (plan->terms[i].column - table->column_count) {
    case TR_SCAN_TRACKER: arguments->tracker = argv[i]; break;
    case TR_SCAN_RESTRICTION: arguments->restriction = argv[i]; break;
    case TR_SCAN_BYTE_KEY: break;
    default: code = read_term(table, &plan->terms[i], argv[i], arguments, err);
    }
  }
  if (code == TR_OK) code = drop_terms_of_patterns(table, arguments, err);
  count_parameters(table, arguments);
  if (code == TR_OK) {
    code = tr_terms_range(&table->source, arguments->terms, arguments->term_count,
                          &arguments->range, err);
  }
  for (int i = 0; i < plan->count && code == TR_OK; i++) {
    if (plan->terms[i].column - table->column_count == TR_SCAN_BYTE_KEY) {
      code = tr_scan_cut_by_byte_key(&arguments->range, plan->terms[i].op, argv[i], err);
    }
  }
  return code;
}

/* --- The module's methods ----------------------------------------------------------------- */

void tr_scan_cursor_init(tr_scan_cursor *cursor) {
  memset(cursor, 0, sizeof *cursor);
  cursor->is_eof = 1;
}

void tr_scan_cursor_free(tr_scan_cursor *cursor) {
  tr_scan_cursor_stop(cursor);
  tr_scan_cursor_forget_limit(cursor);
  if (cursor->inner.plan_text != NULL) {
    exchange_inner(cursor, (tr_scan_table *)cursor->base.pVtab);
  }
  tr_scan_inner_free(&cursor->inner);
}

void tr_scan_cursor_forget_limit(tr_scan_cursor *cursor) {
  tr_buffer_free(&cursor->limit.last_key);
  cursor->limit = (tr_scan_limit){0};
}

static tr_code begin(tr_scan_cursor *cursor, const char *plan_text, sqlite3_value **argv,
                     tr_error *err) {
  tr_scan_table *table = (tr_scan_table *)cursor->base.pVtab;
  scan_arguments arguments = {0};
  if (cursor->inner.plan_text == NULL || strcmp(cursor->inner.plan_text, plan_text) != 0) {
    tr_scan_plan_read(plan_text, &cursor->plan);
  }
  tr_code code = read_arguments(table, &cursor->plan, argv, &arguments, err);
  if (code == TR_OK) {
    code = ready_reader(cursor, plan_text, arguments.terms, arguments.term_count, err);
  }
  if (code == TR_OK) {
    code = tr_scan_cursor_start(cursor, arguments.tracker, arguments.restriction, &arguments.range,
                                err);
  }
  free_arguments(&arguments);
  return code;
}

int tr_scan_filter(sqlite3_vtab_cursor *base, int number, const char *plan_text, int argc,
                   sqlite3_value **argv) {
  (void)argc;
  tr_error err;
  tr_scan_cursor *cursor = (tr_scan_cursor *)base;
  cursor->is_of_one_row = number == TR_SCAN_OF_ONE_ROW;
  tr_scan_cursor_stop(cursor);
  tr_code code = begin(cursor, plan_text, argv, &err);
  if (code == TR_OK) return SQLITE_OK;
  tr_scan_cursor_stop(cursor);
  return tr_vtab_error(base->pVtab, &err);
}

int tr_scan_next(sqlite3_vtab_cursor *base) {
  tr_error err;
  tr_scan_cursor *cursor = (tr_scan_cursor *)base;
  int has_row = tr_tracked_scan_next(&cursor->scan, &err);
  if (has_row > 0) return SQLITE_OK;
  tr_tracked_scan_end(&cursor->scan); /* frees the tracker now, not when the statement ends */
  cursor->is_eof = 1;
  return has_row == 0 ? SQLITE_OK : tr_vtab_error(base->pVtab, &err);
}

int tr_scan_eof(sqlite3_vtab_cursor *base) {
  return ((tr_scan_cursor *)base)->is_eof;
}

static void result_text(sqlite3_context *context, sqlite3_value *value, int is_utf8) {
  /* Read as a blob, UTF-8 text is not copied. Read as text, it would be, to add a terminator. */
  const void *text = is_utf8 ? sqlite3_value_blob(value) : sqlite3_value_text(value);
  size_t size = (size_t)sqlite3_value_bytes(value);
  if (text == NULL && size > 0) {
    sqlite3_result_error_nomem(context);
  } else {
    sqlite3_result_text64(context, size == 0 ? "" : text, size, SQLITE_TRANSIENT, SQLITE_UTF8);
  }
}

static void result_blob(sqlite3_context *context, sqlite3_value *value) {
  const void *blob = sqlite3_value_blob(value);
  size_t size = (size_t)sqlite3_value_bytes(value);
  if (blob == NULL && size > 0) {
    sqlite3_result_error_nomem(context);
  } else {
    sqlite3_result_blob64(context, size == 0 ? "" : blob, size, SQLITE_TRANSIENT);
  }
}

/*
** A column of REAL affinity holds no INTEGER. But when SQLite sorts, it may return a REAL without a
** fraction of a generated column as an INTEGER.
*/
static void result_integer(sqlite3_context *context, int64_t integer, int is_real) {
  if (is_real) {
    sqlite3_result_double(context, (double)integer);
  } else {
    sqlite3_result_int64(context, integer);
  }
}

static int is_real(const tr_source_table *source, int column) {
  return column >= 0 && source->columns[column].affinity == TR_AFFINITY_REAL;
}

/* Returns the inner statement's value of a source column. */
static void result_column(sqlite3_context *context, sqlite3_value *value,
                          const tr_source_table *source, int column) {
  int is_utf8 = source->is_utf8;
  switch (sqlite3_value_type(value)) {
  case SQLITE_INTEGER:
    result_integer(context, sqlite3_value_int64(value), is_real(source, column));
    break;
  case SQLITE_FLOAT: sqlite3_result_double(context, sqlite3_value_double(value)); break;
  case SQLITE_TEXT: result_text(context, value, is_utf8); break;
  case SQLITE_BLOB: result_blob(context, value); break;
  default: break; /* the result is NULL already */
  }
}

void tr_scan_restriction_value(const tr_scan_cursor *cursor, sqlite3_context *context) {
  if (cursor->restriction == NULL) return;
  sqlite3_result_value(context, cursor->restriction);
  sqlite3_result_subtype(context, TR_JSON_SUBTYPE);
}

static void result_hidden(tr_scan_cursor *cursor, sqlite3_context *context, int hidden) {
  tr_value key;
  switch (hidden) {
  case TR_SCAN_TRACKER:
    if (cursor->tracker != NULL) sqlite3_result_value(context, cursor->tracker);
    break;
  case TR_SCAN_RESTRICTION: tr_scan_restriction_value(cursor, context); break;
  default: key = tr_value_blob(tr_tracked_scan_key(&cursor->scan)); tr_result_value(context, &key);
  }
}

int tr_scan_column_value(sqlite3_vtab_cursor *base, sqlite3_context *context, int i) {
  tr_scan_cursor *cursor = (tr_scan_cursor *)base;
  tr_scan_table *table = (tr_scan_table *)base->pVtab;
  if (i >= table->column_count) {
    result_hidden(cursor, context, i - table->column_count);
  } else if (cursor->inner.column_at[i] >= 0) {
    result_column(context,
                  tr_statement_reader_values(cursor->inner.reader)[cursor->inner.column_at[i]],
                  &table->source, table->columns[i].source);
  }
  return SQLITE_OK;
}

int tr_scan_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id) {
  *id = tr_statement_reader_rowid(((tr_scan_cursor *)base)->inner.reader);
  return SQLITE_OK;
}

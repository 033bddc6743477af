/*
** byte_key_scan('t' [, key [, columns [, where_terms]]]): any table, without a CREATE, its rows as
** JSON.
**
** The arguments are texts with the syntax of the clauses of the CREATE form: 'user_id, at' means
** key(user_id, at). The inner statement builds the row with SQLite's own JSON functions. JSON has
** no BLOBs and no infinity: a BLOB becomes a string of hexadecimal digits, an infinity becomes
** 9e999.
**
** The table has no rowid of its own. Its rowid is a hash of the byte key and of the arguments that
** say what a row is. SQLite runs `columns = 'a' AND ... OR columns = 'b' AND ...` as several scans,
** and tells by the rowid which of their rows are the same.
*/
#include "byte_key_scan.h"

#include "base/hash.h"
#include "host/in_lists.h"

enum {
  COLUMN_BYTE_KEY,
  COLUMN_ROW,
  COLUMN_SOURCE, /* from here on: arguments */
  COLUMN_KEY,
  COLUMN_COLUMNS,
  COLUMN_WHERE,
  COLUMN_TRACKER,
  COLUMN_RESTRICTION,
  COLUMN_COUNT
};

enum { ARGUMENTS = COLUMN_COUNT - COLUMN_SOURCE };

static const char *const argument_names[ARGUMENTS] = {"source",      "key",     "columns",
                                                      "where_terms", "tracker", "restriction"};

const char scan_ad_hoc_declaration[] =
    "CREATE TABLE x(byte_key BLOB NOT NULL, row TEXT, source HIDDEN, key HIDDEN,"
    " columns HIDDEN, where_terms HIDDEN, tracker HIDDEN, restriction HIDDEN)";

/* --- Planning ----------------------------------------------------------------------------- */

/*
** idxNum is a mask: a bit for each argument that is given, in their order, then a bit for each kind
** of term on byte_key that narrows the range.
*/
static const struct {
  tr_operator op; /* cuts the range; SQLite still checks every row */
  double part;    /* share of the rows that is expected to be left */
} key_terms[] = {{TR_GE, 0.25}, {TR_LE, 0.25}, {TR_EQ, 0.000001}};

enum { KEY_TERMS = sizeof key_terms / sizeof key_terms[0] };

static int key_term_of(int constraint) {
  switch (tr_operator_of_constraint(constraint)) {
  case TR_GT:
  case TR_GE: return 0;
  case TR_LT:
  case TR_LE: return 1;
  case TR_IS: /* no byte key is NULL */
  case TR_EQ: return 2;
  default: return -1;
  }
}

/*
** Fills `given` with the constraint that gives each argument, then with that of each term on
** byte_key; -1 if there is none. Returns 0 if an argument's value is not available in this order of
** joins.
*/
static int find_terms(const sqlite3_index_info *info, int *given) {
  for (int i = 0; i < ARGUMENTS + KEY_TERMS; i++) given[i] = -1;
  for (int i = 0; i < info->nConstraint; i++) {
    const struct sqlite3_index_constraint *c = &info->aConstraint[i];
    int key_term = c->iColumn == COLUMN_BYTE_KEY ? key_term_of(c->op) : -1;
    if (c->iColumn >= COLUMN_SOURCE && c->op == SQLITE_INDEX_CONSTRAINT_EQ) {
      if (!c->usable) return 0;
      given[c->iColumn - COLUMN_SOURCE] = i;
    } else if (key_term >= 0 && c->usable) {
      given[ARGUMENTS + key_term] = i;
    }
  }
  return 1;
}

/*
** Whether the constraint is an IN, or may be one, since SQLite before 3.38 does not tell. SQLite
** would then run one scan for each value of the list.
*/
static int may_be_list(sqlite3_index_info *info, int i) {
  if (tr_in_lists_are_told()) return tr_is_in_list(info, i);
  return info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ;
}

int scan_ad_hoc_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
  enum { ROWS_UNKNOWN = 1000000, TRACKER = COLUMN_TRACKER - COLUMN_SOURCE };
  static const tr_hidden_arguments arguments = {SCAN_FUNCTION, argument_names, COLUMN_SOURCE,
                                                ARGUMENTS, TRACKER};
  int rc = tr_hidden_arguments_check(&arguments, vtab, info);
  if (rc != SQLITE_OK) return rc;
  int given[ARGUMENTS + KEY_TERMS];
  if (!find_terms(info, given)) return SQLITE_CONSTRAINT;
  int next = 1;
  double part = 1;
  for (int i = 0; i < ARGUMENTS + KEY_TERMS; i++) {
    if (given[i] < 0) continue;
    if (i >= ARGUMENTS && given[TRACKER] >= 0 && may_be_list(info, given[i])) continue;
    info->idxNum |= 1 << i;
    info->aConstraintUsage[given[i]].argvIndex = next++;
    info->aConstraintUsage[given[i]].omit = i < ARGUMENTS;
    /* With a tracker no term makes a scan cheaper: two scans for an OR must cost more than one. */
    if (i >= ARGUMENTS && given[TRACKER] < 0) part *= key_terms[i - ARGUMENTS].part;
  }
  info->orderByConsumed =
      info->nOrderBy > 0 && info->aOrderBy[0].iColumn == COLUMN_BYTE_KEY && !info->aOrderBy[0].desc;
  info->estimatedRows = (sqlite3_int64)(ROWS_UNKNOWN * part);
  info->estimatedCost = 10.0 * ROWS_UNKNOWN * part;
  tr_hidden_arguments_weigh(info, COLUMN_SOURCE, 0, ARGUMENTS, 1);
  return SQLITE_OK;
}

/* --- The row as JSON ---------------------------------------------------------------------- */

static tr_code append_member(const tr_source_table *source, int column, const char *name,
                             sqlite3_str *sql, tr_error *err) {
  sqlite3_str *value = sqlite3_str_new(NULL);
  tr_source_append_column(source, column, value);
  char *text = sqlite3_str_finish(value);
  if (text == NULL) return tr_error_no_memory(err);
  sqlite3_str_appendf(sql,
                      "%Q, CASE typeof(%s) WHEN 'blob' THEN lower(hex(%s)) WHEN 'real' THEN "
                      "CASE %s WHEN 9e999 THEN json('9e999') WHEN -9e999 THEN json('-9e999') "
                      "ELSE %s END ELSE %s END",
                      name, text, text, text, text, text);
  sqlite3_free(text);
  return TR_OK;
}

/* Appends the member for an item of columns(...). */
static tr_code append_chosen_member(const tr_source_table *source, const tr_argument *item,
                                    sqlite3_str *sql, tr_error *err) {
  const char *name = item->name != NULL ? item->name : item->literal;
  int column = name == NULL ? -1 : tr_source_table_find_column(source, name);
  if (column < 0) {
    return tr_error_set(err, TR_INVALID_ARGUMENT,
                        "%s(): argument columns: there is no column %s in %s.%s", SCAN_FUNCTION,
                        item->text, source->schema, source->name);
  }
  return append_member(source, column, item->alias != NULL ? item->alias : name, sql, err);
}

/*
** json_object() takes about fifty members. A wider row is the concatenation of several objects
** without their braces. No member is an object itself, so trim() removes only the outer braces.
*/
static tr_code append_row(const tr_source_table *source, const tr_argument_list *columns,
                          sqlite3_str *sql, tr_error *err) {
  enum { MEMBERS = 40 };
  int count = columns->count > 0 ? columns->count : source->column_count;
  int is_wide = count > MEMBERS;
  if (is_wide) sqlite3_str_appendall(sql, "'{' || ");
  for (int i = 0; i < count; i++) {
    int is_first = i % MEMBERS == 0;
    if (is_first && i > 0) sqlite3_str_appendall(sql, "), '{}') || ',' || ");
    if (is_first) sqlite3_str_appendall(sql, is_wide ? "trim(json_object(" : "json_object(");
    if (!is_first) sqlite3_str_appendall(sql, ", ");
    tr_code code = columns->count > 0 ? append_chosen_member(source, &columns->items[i], sql, err)
                                      : append_member(source, i, source->columns[i].name, sql, err);
    if (code != TR_OK) return code;
  }
  sqlite3_str_appendall(sql, is_wide ? "), '{}') || '}'" : ")");
  return TR_OK;
}

/* --- Filtering ---------------------------------------------------------------------------- */

void scan_ad_hoc_close(scan_cursor *cursor) {
  tr_kept_arguments_free(&cursor->texts);
  tr_source_table_free(&cursor->source);
}

/* Reads the argument for a clause. `*value` stays empty if it is not given, or is a blank text. */
static tr_code read_clause(sqlite3_value **arguments, int argument, int clause,
                           tr_clause_value *value, tr_error *err) {
  tr_bytes text;
  *value = (tr_clause_value){0};
  if (arguments[argument] == NULL) return TR_OK;
  tr_code code =
      tr_argument_text(SCAN_FUNCTION, argument_names[argument], arguments[argument], &text, err);
  if (code != TR_OK || tr_sql_is_blank(text)) return code;
  return tr_clause_value_parse(value, &scan_syntax, clause, text, err);
}

static tr_code create_reader(scan_cursor *cursor, const tr_argument_list *columns,
                             const char *where, tr_error *err) {
  tr_scan_table *table = (tr_scan_table *)cursor->scan.base.pVtab;
  sqlite3_str *sql = sqlite3_str_new(table->db);
  tr_code code = append_row(&cursor->source, columns, sql, err);
  char *row = sqlite3_str_finish(sql);
  const char *output = row;
  tr_statement_request request = {.function = SCAN_FUNCTION,
                                  .source = &cursor->source,
                                  .wants_key = 1,
                                  .outputs = &output,
                                  .output_count = 1,
                                  .conditions = &where,
                                  .condition_count = where != NULL};
  if (code == TR_OK && row == NULL) code = tr_error_no_memory(err);
  if (code == TR_OK)
    code = tr_statement_reader_create(table->db, &request, &cursor->scan.inner.reader, err);
  sqlite3_free(row);
  return code;
}

static tr_code ready_reader(scan_cursor *cursor, sqlite3_value **arguments, tr_error *err) {
  tr_clause_value key = {0};
  tr_clause_value columns = {0};
  tr_clause_value where = {0};
  tr_code code = read_clause(arguments, COLUMN_KEY - COLUMN_SOURCE, SCAN_KEY, &key, err);
  if (code == TR_OK) {
    code = read_clause(arguments, COLUMN_COLUMNS - COLUMN_SOURCE, SCAN_COLUMNS, &columns, err);
  }
  if (code == TR_OK) {
    code = read_clause(arguments, COLUMN_WHERE - COLUMN_SOURCE, SCAN_WHERE, &where, err);
  }
  /* The old reader uses cursor->source, so it is freed first. */
  tr_statement_reader_free(cursor->scan.inner.reader);
  cursor->scan.inner.reader = NULL;
  tr_source_table_free(&cursor->source);
  if (code == TR_OK) {
    sqlite3 *db = ((tr_scan_table *)cursor->scan.base.pVtab)->db;
    code = tr_source_table_of_argument(&cursor->source, db, SCAN_FUNCTION, argument_names[0],
                                       arguments[0], &key.list, err);
  }
  if (code == TR_OK) code = create_reader(cursor, &columns.list, where.expression, err);
  tr_clause_value_free(&key);
  tr_clause_value_free(&columns);
  tr_clause_value_free(&where);
  return code;
}

/*
** Whether the cursor's reader is for these texts, and the table is what it was: so it is when the
** scan begins again in one statement, for each outer row of a join or each value of an IN.
*/
static int has_reader_for(const scan_cursor *cursor, int texts, sqlite3_value **argv) {
  return cursor->scan.inner.reader != NULL && tr_kept_arguments_are(&cursor->texts, texts, argv) &&
         tr_statement_reader_check(cursor->scan.inner.reader, NULL) == TR_OK;
}

tr_code scan_ad_hoc_filter(scan_cursor *cursor, int mask, sqlite3_value **argv, tr_error *err) {
  sqlite3_value *arguments[ARGUMENTS] = {0};
  tr_byte_key_range range = {0};
  int next = 0;
  for (int i = 0; i < ARGUMENTS; i++) {
    if ((mask & 1 << i) == 0) continue;
    arguments[i] = argv[next++];
    if (sqlite3_value_type(arguments[i]) == SQLITE_NULL) return TR_OK; /* nothing equals NULL */
  }
  if (arguments[0] == NULL) {
    return tr_error_set(err, TR_INVALID_ARGUMENT,
                        "%s(): argument source is missing: name a table, %s('t')", SCAN_FUNCTION,
                        SCAN_FUNCTION);
  }
  int texts = mask & ((1 << SCAN_TEXT_ARGUMENTS) - 1);
  tr_code code = TR_OK;
  if (!has_reader_for(cursor, texts, argv)) {
    uint64_t before = cursor->texts.hash;
    code = tr_kept_arguments_set(&cursor->texts, texts, argv, err);
    if (cursor->texts.hash != before) tr_scan_cursor_forget_limit(&cursor->scan);
    if (code == TR_OK) code = ready_reader(cursor, arguments, err);
  }
  for (int i = 0; i < KEY_TERMS && code == TR_OK; i++) {
    if ((mask & 1 << (ARGUMENTS + i)) == 0) continue;
    code = tr_scan_cut_by_byte_key(&range, key_terms[i].op, argv[next++], err);
  }
  if (code == TR_OK) {
    code = tr_scan_cursor_start(&cursor->scan, arguments[COLUMN_TRACKER - COLUMN_SOURCE],
                                arguments[COLUMN_RESTRICTION - COLUMN_SOURCE], &range, err);
  }
  tr_byte_key_range_free(&range);
  return code;
}

void scan_ad_hoc_column(scan_cursor *of, sqlite3_context *context, int column) {
  tr_scan_cursor *cursor = &of->scan;
  tr_value value;
  sqlite3_stmt *stmt = tr_statement_reader_stmt(cursor->inner.reader);
  switch (column) {
  case COLUMN_BYTE_KEY:
    value = tr_value_blob(tr_tracked_scan_key(&cursor->scan));
    tr_result_value(context, &value);
    break;
  case COLUMN_ROW:
    value = tr_value_of_column(stmt, tr_statement_reader_first_output(cursor->inner.reader));
    tr_result_value(context, &value);
    sqlite3_result_subtype(context, TR_JSON_SUBTYPE);
    break;
  case COLUMN_TRACKER:
    if (cursor->tracker != NULL) sqlite3_result_value(context, cursor->tracker);
    break;
  case COLUMN_RESTRICTION: tr_scan_restriction_value(cursor, context); break;
  default:
    if (of->texts.values[column - COLUMN_SOURCE] != NULL) {
      sqlite3_result_value(context, of->texts.values[column - COLUMN_SOURCE]);
    }
    break;
  }
}

int64_t scan_ad_hoc_rowid(const scan_cursor *cursor) {
  return (int64_t)tr_hash128_of(tr_tracked_scan_key(&cursor->scan.scan), cursor->texts.hash).low;
}

/*
** Decides which columns of a source can be its key, and in which form.
**
** The candidates are the unique indexes of exactly the named columns, in their order. The first one
** that can be used is taken. If none can, the error gives the reason of the one that came nearest.
*/
#include "host/source_table.h"

#include "base/memory.h"

/* The key that was asked for. */
typedef struct key_request {
  const char *function;
  const char *names[TR_KEY_COLUMNS_MAX];
  int count;
  int is_encoded; /* asked for as byte_key(columns...) */
} key_request;

/* Why a candidate is refused. The later ones came nearer. */
typedef enum refusal { NOT_UNIQUE, OTHER_ORDER, ONLY_PARTIAL, OTHER_COLLATION, ACCEPTED } refusal;

static tr_code refuse(const key_request *request, const tr_source_table *source, tr_error *err,
                      const char *reason) {
  tr_buffer names = {0};
  tr_code code = TR_OK;
  for (int i = 0; i < request->count && code == TR_OK; i++) {
    code = tr_buffer_printf(&names, err, "%s%s", i == 0 ? "" : ", ", request->names[i]);
  }
  if (code == TR_OK) {
    code = tr_error_set(err, TR_INVALID_ARGUMENT, "%s: %s.%s: key(%.*s): %s", request->function,
                        source->schema, source->name, (int)names.size,
                        names.data == NULL ? "" : (const char *)names.data, reason);
  }
  tr_buffer_free(&names);
  return code;
}

/* What the user can do if the key that was asked for is refused. */
static const char *way_out(const tr_source_table *source) {
  return source->rowid_name != NULL ? " (without key(...) the rowid is the key)" : "";
}

/* --- Reading what was asked for ----------------------------------------------------------- */

static tr_code read_names(key_request *request, const tr_source_table *source,
                          const tr_argument_list *columns, tr_error *err) {
  if (columns->count > TR_KEY_COLUMNS_MAX) {
    return tr_error_set(err, TR_INVALID_ARGUMENT, "%s: %s.%s: key(...) has %d columns, at most %d",
                        request->function, source->schema, source->name, columns->count,
                        TR_KEY_COLUMNS_MAX);
  }
  for (int i = 0; i < columns->count; i++) {
    const tr_argument *item = &columns->items[i];
    if (item->alias != NULL || (item->name == NULL && item->literal == NULL)) {
      return tr_error_set(err, TR_INVALID_ARGUMENT,
                          "%s: %s.%s: key(...): %s: must be the name of a column",
                          request->function, source->schema, source->name, item->text);
    }
    request->names[request->count++] = item->name != NULL ? item->name : item->literal;
  }
  return TR_OK;
}

/* Whether `name` means the rowid. `column` is the column of that name, or -1. */
static int is_rowid(const tr_source_table *source, const char *name, int column) {
  if (source->rowid_name == NULL) return 0;
  return column < 0 ? tr_is_rowid_name(name) : sqlite3_stricmp(source->rowid_name, name) == 0;
}

static tr_code find_columns(const key_request *request, tr_source_table *source, tr_error *err) {
  tr_source_key *key = &source->key;
  for (int i = 0; i < request->count; i++) {
    int column = tr_source_table_find_column(source, request->names[i]);
    if (request->count == 1 && is_rowid(source, request->names[i], column)) {
      if (request->is_encoded) return refuse(request, source, err, "the rowid needs no byte_key");
      key->form = TR_KEY_ROWID;
      key->column_count = column < 0 ? 0 : 1;
      key->columns[0] = column;
      return TR_OK;
    }
    if (column < 0) {
      tr_buffer reason = {0};
      tr_code code = tr_buffer_printf(&reason, err, "there is no column %s", request->names[i]);
      if (code == TR_OK) code = tr_buffer_append_byte(&reason, 0, err);
      if (code == TR_OK) code = refuse(request, source, err, (const char *)reason.data);
      tr_buffer_free(&reason);
      return code;
    }
    key->columns[key->column_count++] = column;
  }
  return TR_OK;
}

/* --- Candidates --------------------------------------------------------------------------- */

static int is_in_key(const tr_source_key *key, int column) {
  for (int i = 0; i < key->column_count; i++) {
    if (key->columns[i] == column) return 1;
  }
  return 0;
}

/* Judges one unique index by its columns, their collations and whether it is partial. */
static tr_code judge_index(const tr_source_table *source, sqlite3 *db, const char *index,
                           int is_partial, refusal *verdict, tr_error *err) {
  const tr_source_key *key = &source->key;
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendall(
      sql, "SELECT cid, coll FROM pragma_index_xinfo(?1, ?2) WHERE key ORDER BY seqno");
  sqlite3_stmt *stmt;
  tr_code code = tr_sql_prepare(db, sql, &stmt, err);
  if (code != TR_OK) return code;
  int rc = sqlite3_bind_text(stmt, 1, index, -1, SQLITE_TRANSIENT);
  if (rc == SQLITE_OK) rc = sqlite3_bind_text(stmt, 2, source->schema, -1, SQLITE_TRANSIENT);
  int count = 0;
  int in_key = 0;
  int in_place = 0;
  int is_binary = 1;
  while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    int column = sqlite3_column_int(stmt, 0);
    const char *collation = (const char *)sqlite3_column_text(stmt, 1);
    in_place += count < key->column_count && key->columns[count] == column;
    in_key += is_in_key(key, column);
    is_binary &= collation != NULL && sqlite3_stricmp(collation, "BINARY") == 0;
    count++;
    rc = SQLITE_OK;
  }
  if (rc != SQLITE_DONE) code = tr_error_of_sqlite(err, db, rc);
  sqlite3_finalize(stmt);
  *verdict = ACCEPTED;
  if (!is_binary) *verdict = OTHER_COLLATION;
  if (is_partial) *verdict = ONLY_PARTIAL;
  if (in_place != count) *verdict = OTHER_ORDER;
  if (count != key->column_count || in_key != count) *verdict = NOT_UNIQUE;
  return code;
}

/* Judges all unique indexes. `*best` is the best verdict. If it is ACCEPTED, key.index is set. */
static tr_code find_index(tr_source_table *source, sqlite3 *db, refusal *best, tr_error *err) {
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendall(sql, "SELECT name, partial, origin = 'pk' FROM pragma_index_list(?1, ?2) "
                             "WHERE \"unique\" ORDER BY origin <> 'pk', seq");
  sqlite3_stmt *stmt;
  tr_code code = tr_sql_prepare(db, sql, &stmt, err);
  if (code != TR_OK) return code;
  int rc = sqlite3_bind_text(stmt, 1, source->name, -1, SQLITE_TRANSIENT);
  if (rc == SQLITE_OK) rc = sqlite3_bind_text(stmt, 2, source->schema, -1, SQLITE_TRANSIENT);
  *best = NOT_UNIQUE;
  while (rc == SQLITE_OK && code == TR_OK && *best != ACCEPTED &&
         (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    rc = SQLITE_OK;
    if (sqlite3_column_type(stmt, 0) != SQLITE_TEXT) continue; /* an authorizer hides it */
    const char *name = (const char *)sqlite3_column_text(stmt, 0);
    refusal verdict = NOT_UNIQUE;
    code = name == NULL ? tr_error_no_memory(err)
                        : judge_index(source, db, name, sqlite3_column_int(stmt, 1), &verdict, err);
    if (code == TR_OK && verdict > *best) *best = verdict;
    int is_own_order = source->kind == TR_SOURCE_WITHOUT_ROWID && sqlite3_column_int(stmt, 2);
    if (code == TR_OK && verdict == ACCEPTED && !is_own_order) {
      source->key.index = sqlite3_mprintf("%s", name);
      if (source->key.index == NULL) code = tr_error_no_memory(err);
    }
  }
  if (code == TR_OK && rc != SQLITE_OK && rc != SQLITE_DONE) code = tr_error_of_sqlite(err, db, rc);
  sqlite3_finalize(stmt);
  return code;
}

/* The columns of a WITHOUT ROWID table's primary key, in order. */
static tr_code take_primary_key(key_request *request, const tr_source_table *source,
                                tr_error *err) {
  for (int position = 1; position <= source->column_count; position++) {
    int found = -1;
    for (int i = 0; i < source->column_count; i++) {
      if (source->columns[i].primary_key == position) found = i;
    }
    if (found < 0) break;
    if (request->count == TR_KEY_COLUMNS_MAX) {
      return refuse(request, source, err, "the primary key has too many columns");
    }
    request->names[request->count++] = source->columns[found].name;
  }
  return TR_OK;
}

/* --- The form ----------------------------------------------------------------------------- */

/* Whether the column may hold text. Only the types of a STRICT table exclude that. */
static int may_hold_text(const tr_source_table *source, int column) {
  const tr_source_column *c = &source->columns[column];
  return !source->is_strict || c->affinity == TR_AFFINITY_TEXT ||
         (c->affinity == TR_AFFINITY_BLOB && sqlite3_stricmp(c->type, "BLOB") != 0);
}

static tr_key_form form_of(const tr_source_table *source, int is_encoded) {
  const tr_source_key *key = &source->key;
  const tr_source_column *first = &source->columns[key->columns[0]];
  if (is_encoded || key->column_count > 1) return TR_KEY_ENCODED;
  if (first->affinity == TR_AFFINITY_TEXT) return TR_KEY_TEXT;
  int is_blob = first->affinity == TR_AFFINITY_BLOB && first->type[0] != '\0' &&
                sqlite3_stricmp(first->type, "ANY") != 0;
  return is_blob ? TR_KEY_BLOB : TR_KEY_ENCODED;
}

static tr_code settle_form(const key_request *request, tr_source_table *source, tr_error *err) {
  tr_source_key *key = &source->key;
  int has_text = 0;
  int is_nullable = 0;
  for (int i = 0; i < key->column_count; i++) {
    has_text |= may_hold_text(source, key->columns[i]);
    is_nullable |= !source->columns[key->columns[i]].is_not_null;
  }
  if (has_text && !source->is_utf8) {
    return refuse(request, source, err,
                  "the database is UTF-16, where text is not in the order of its UTF-8 bytes");
  }
  if (is_nullable && source->kind == TR_SOURCE_ROWID_TABLE && source->rowid_name == NULL) {
    return refuse(request, source, err, "may be NULL, and columns hide the rowid");
  }
  key->has_null_breaker = is_nullable && source->kind == TR_SOURCE_ROWID_TABLE;
  key->form = form_of(source, request->is_encoded);
  return TR_OK;
}

/* --- The public face ---------------------------------------------------------------------- */

static tr_code refuse_source(const key_request *request, const tr_source_table *source,
                             tr_error *err) {
  const char *what = source->kind == TR_SOURCE_VIEW ? "a view" : "a virtual table";
  return tr_error_set(err, TR_INVALID_ARGUMENT,
                      "%s: %s.%s is %s; only a table has a key in whose order it is stored",
                      request->function, source->schema, source->name, what);
}

/* Sets the key whose columns `request` names. */
static tr_code settle(const key_request *request, tr_source_table *source, sqlite3 *db,
                      tr_error *err) {
  tr_code code = find_columns(request, source, err);
  if (code != TR_OK || source->key.form == TR_KEY_ROWID) return code;
  refusal best = NOT_UNIQUE;
  code = find_index(source, db, &best, err);
  if (code != TR_OK) return code;
  if (best == ACCEPTED) return settle_form(request, source, err);
  static const char *const reasons[] = {
      [NOT_UNIQUE] = "not unique: no unique index has just these columns",
      [OTHER_ORDER] = "the unique index has its columns in another order",
      [ONLY_PARTIAL] = "unique only in part: the index has a WHERE of its own",
      [OTHER_COLLATION] = "the collation is not BINARY, so its order is not that of its bytes",
  };
  char reason[160];
  sqlite3_snprintf(sizeof reason, reason, "%s%s", reasons[best], way_out(source));
  return refuse(request, source, err, reason);
}

tr_code tr_source_table_set_key(tr_source_table *source, sqlite3 *db, const char *function,
                                const tr_argument_list *columns, tr_error *err) {
  key_request request = {.function = function};
  tr_argument_list inner = {0};
  tr_code code = TR_OK;
  tr_free(source->key.index);
  source->key = (tr_source_key){0};
  if (source->kind == TR_SOURCE_VIEW || source->kind == TR_SOURCE_VIRTUAL) {
    return refuse_source(&request, source, err);
  }
  if (columns != NULL && columns->count == 1 && columns->items[0].function != NULL &&
      sqlite3_stricmp(columns->items[0].function, "byte_key") == 0) {
    code = tr_argument_list_parse(&inner, tr_bytes_of_text(columns->items[0].inner), err);
    if (code != TR_OK) return code;
    request.is_encoded = 1;
    columns = &inner;
  }
  if (columns != NULL) code = read_names(&request, source, columns, err);
  if (code != TR_OK) goto done;
  if (request.count > 0) {
    code = settle(&request, source, db, err);
  } else if (source->kind == TR_SOURCE_WITHOUT_ROWID) {
    code = take_primary_key(&request, source, err);
    if (code == TR_OK) code = settle(&request, source, db, err);
  } else if (source->rowid_name != NULL) {
    int alias = tr_source_table_find_column(source, source->rowid_name);
    source->key.form = TR_KEY_ROWID;
    source->key.column_count = alias >= 0;
    source->key.columns[0] = alias;
  } else {
    code = tr_error_set(err, TR_INVALID_ARGUMENT,
                        "%s: %s.%s: columns named rowid, oid and _rowid_ hide the rowid; name a "
                        "key(...)",
                        function, source->schema, source->name);
  }
done:
  tr_argument_list_free(&inner);
  if (code != TR_OK) {
    tr_free(source->key.index);
    source->key = (tr_source_key){0};
  }
  return code;
}

tr_code tr_source_key_describe(const tr_source_table *source, tr_buffer *text, tr_error *err) {
  static const char *const forms[] = {
      [TR_KEY_NONE] = "none", [TR_KEY_ROWID] = "rowid",      [TR_KEY_TEXT] = "text",
      [TR_KEY_BLOB] = "blob", [TR_KEY_ENCODED] = "byte_key",
  };
  static const char *const types[] = {" BLOB", " TEXT", " NUMERIC", " INTEGER", " REAL"};
  const tr_source_key *key = &source->key;
  tr_code code = tr_buffer_append_text(text, forms[key->form], err);
  int has_columns = key->form > TR_KEY_ROWID;
  for (int i = 0; i < key->column_count && has_columns && code == TR_OK; i++) {
    const tr_source_column *column = &source->columns[key->columns[i]];
    const char *type = key->form == TR_KEY_ENCODED ? types[column->affinity] : "";
    code = tr_buffer_printf(text, err, "%s%s%s", i == 0 ? "(" : ", ", column->name, type);
  }
  if (code == TR_OK && has_columns) {
    code = tr_buffer_append_text(text, key->has_null_breaker ? ", rowid)" : ")", err);
  }
  if (code == TR_OK) code = tr_buffer_append_byte(text, 0, err);
  return code;
}

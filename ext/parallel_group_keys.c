/*
** How it works. The first key at or above a bound comes from a statement reader, which accepts a
** bound that is no key. The other look-ups have statements of their own, prepared when they are
** first used.
*/
#include "parallel_group_keys.h"

#include <string.h>

#include "group_by_fields_run.h"
#include "host/source_change.h"
#include "range/byte_key.h"

/* How many values a key has. */
static int size_of(const tr_group_keys *keys) {
  const tr_source_key *key = &keys->source.key;
  return key->form == TR_KEY_ROWID ? 1 : key->column_count;
}

static void append_key_column(const tr_source_table *source, int i, sqlite3_str *sql) {
  tr_source_append_column(source, source->key.form == TR_KEY_ROWID ? -1 : source->key.columns[i],
                          sql);
}

/* Appends the columns of the key, each with `suffix`. */
static void append_key_with(const tr_group_keys *keys, const char *suffix, sqlite3_str *sql) {
  for (int i = 0; i < size_of(keys); i++) {
    if (i > 0) sqlite3_str_appendall(sql, ", ");
    append_key_column(&keys->source, i, sql);
    sqlite3_str_appendall(sql, suffix);
  }
}

void tr_group_keys_append_columns(const tr_group_keys *keys, sqlite3_str *sql) {
  append_key_with(keys, "", sql);
}

void tr_group_keys_append_bound(const tr_group_keys *keys, const char *comparison, int *parameter,
                                sqlite3_str *sql) {
  sqlite3_str_appendchar(sql, 1, '(');
  tr_group_keys_append_columns(keys, sql);
  sqlite3_str_appendf(sql, ") %s (", comparison);
  for (int i = 0; i < size_of(keys); i++) {
    sqlite3_str_appendf(sql, "%s?%d", i == 0 ? "" : ", ", ++*parameter);
  }
  sqlite3_str_appendchar(sql, 1, ')');
}

static void drop_statements(tr_group_keys *keys) {
  for (int l = 0; l < TR_KEY_LOOK_UPS; l++) {
    sqlite3_finalize(keys->look_ups[l]);
    keys->look_ups[l] = NULL;
  }
}

tr_code tr_group_keys_look_at(tr_group_keys *keys, sqlite3 *db, const char *table, tr_error *err) {
  tr_source_table *source = &keys->source;
  if (keys->reader != NULL && strcmp(source->name, table) == 0 &&
      tr_source_table_is_current(source, db, TR_GROUP_FUNCTION, NULL) == 1) {
    return TR_OK;
  }
  tr_group_keys_free(keys);
  keys->db = db;
  tr_code code = tr_source_table_read(source, db, TR_GROUP_FUNCTION, "main", table, err);
  if (code == TR_OK) code = tr_source_table_set_key(source, db, TR_GROUP_FUNCTION, NULL, err);
  if (code != TR_OK) return code;
  if (source->key.form != TR_KEY_ROWID) source->key.form = TR_KEY_ENCODED;
  tr_statement_request request = {.function = TR_GROUP_FUNCTION, .source = source, .wants_key = 1};
  return tr_statement_reader_create(db, &request, &keys->reader, err);
}

void tr_group_keys_reset(tr_group_keys *keys) {
  if (keys->reader != NULL) tr_statement_reader_reset(keys->reader);
}

void tr_group_keys_free(tr_group_keys *keys) {
  drop_statements(keys);
  tr_statement_reader_free(keys->reader);
  tr_source_table_free(&keys->source);
  tr_buffer_free(&keys->scratch);
  tr_buffer_free(&keys->bound);
  *keys = (tr_group_keys){0};
}

/* --- looking up -------------------------------------------------------------------------- */

int tr_group_keys_first(tr_group_keys *keys, tr_bytes from, tr_buffer *key, tr_error *err) {
  tr_bytes none = {NULL, 0};
  tr_position position;
  if (tr_statement_reader_open(keys->reader, from, none, err) != TR_OK) return -1;
  int found = tr_statement_reader_next(keys->reader, &position, err);
  if (found == 1 && tr_buffer_set(key, position.key, err) != TR_OK) found = -1;
  tr_statement_reader_reset(keys->reader);
  return found;
}

tr_code tr_group_keys_bind(tr_group_keys *keys, sqlite3_stmt *stmt, tr_bytes key, int *parameter,
                           tr_error *err) {
  int rc = SQLITE_OK;
  if (keys->source.key.form == TR_KEY_ROWID) {
    rc = sqlite3_bind_int64(stmt, (*parameter)++, tr_byte_key_to_rowid(key.data));
    return rc == SQLITE_OK ? TR_OK : tr_error_of_sqlite(err, keys->db, rc);
  }
  size_t offset = 0;
  for (int i = 0; i < size_of(keys) && rc == SQLITE_OK; i++) {
    tr_value value;
    int found = tr_byte_key_next(key, &offset, &value, &keys->scratch, err);
    if (found < 0) return err->code;
    if (found == 0) return tr_error_set(err, TR_CORRUPT, "a key has too few values");
    rc = tr_bind_value(stmt, (*parameter)++, &value);
  }
  return rc == SQLITE_OK ? TR_OK : tr_error_of_sqlite(err, keys->db, rc);
}

tr_code tr_group_keys_read(tr_group_keys *keys, sqlite3_stmt *stmt, tr_buffer *key, tr_error *err) {
  key->size = 0;
  if (keys->source.key.form == TR_KEY_ROWID) {
    uint8_t bytes[TR_ROWID_KEY_SIZE];
    tr_byte_key_of_rowid(sqlite3_column_int64(stmt, 0), bytes);
    return tr_buffer_append(key, (tr_bytes){bytes, sizeof bytes}, err);
  }
  tr_code code = TR_OK;
  for (int i = 0; i < size_of(keys) && code == TR_OK; i++) {
    tr_value value = tr_value_of_sqlite(sqlite3_column_value(stmt, i));
    if (tr_value_lacks_bytes(&value)) return tr_error_no_memory(err);
    code = tr_byte_key_append(key, &value, err);
  }
  return code;
}

static sqlite3_str *look_up_sql(const tr_group_keys *keys, tr_key_look_up l) {
  static const struct {
    const char *comparison; /* NULL: there is no bound */
    const char *order;
    const char *limit;
  } forms[TR_KEY_LOOK_UPS] = {
      [TR_KEY_LAST] = {NULL, " DESC", " LIMIT 1"},
      [TR_KEY_LAST_BELOW] = {"<", " DESC", " LIMIT 1"},
      [TR_KEY_BEHIND] = {">=", "", " LIMIT 1 OFFSET ?"},
  };
  const tr_source_table *source = &keys->source;
  sqlite3_str *sql = sqlite3_str_new(keys->db);
  int parameter = 0;
  sqlite3_str_appendall(sql, "SELECT ");
  append_key_with(keys, "", sql);
  sqlite3_str_appendall(sql, " FROM ");
  tr_sql_append_table(sql, source->schema, source->name);
  if (forms[l].comparison != NULL) {
    sqlite3_str_appendall(sql, " WHERE ");
    tr_group_keys_append_bound(keys, forms[l].comparison, &parameter, sql);
  }
  sqlite3_str_appendall(sql, " ORDER BY ");
  append_key_with(keys, forms[l].order, sql);
  sqlite3_str_appendall(sql, forms[l].limit);
  return sql;
}

/*
** Looks up a key. 1: it is in `key`. 0: there is none. -1: failed. `bound` and `rows` are only for
** the forms that have them.
*/
static int look_up_key(tr_group_keys *keys, tr_key_look_up l, tr_bytes bound, uint32_t rows,
                       tr_buffer *key, tr_error *err) {
  sqlite3_stmt **stmt = &keys->look_ups[l];
  int parameter = 1, rc = SQLITE_OK;
  tr_code code = TR_OK;
  if (*stmt == NULL) code = tr_sql_prepare(keys->db, look_up_sql(keys, l), stmt, err);
  if (code == TR_OK && l != TR_KEY_LAST)
    code = tr_group_keys_bind(keys, *stmt, bound, &parameter, err);
  if (code != TR_OK) return -1;
  if (l == TR_KEY_BEHIND) rc = sqlite3_bind_int64(*stmt, parameter, rows);
  if (rc == SQLITE_OK) rc = sqlite3_step(*stmt);
  if (rc == SQLITE_ROW)
    code = tr_group_keys_read(keys, *stmt, key, err);
  else if (rc != SQLITE_DONE)
    code = tr_error_of_sqlite(err, keys->db, rc);
  sqlite3_reset(*stmt);
  return code != TR_OK ? -1 : rc == SQLITE_ROW;
}

/*
** The bound need not be a key, so it may have no values to bind. The first key at or above it
** serves as well.
*/
int tr_group_keys_last(tr_group_keys *keys, tr_bytes below, tr_buffer *key, tr_error *err) {
  int found = 0;
  if (below.size > 0) found = tr_group_keys_first(keys, below, &keys->bound, err);
  if (found < 0) return -1;
  return look_up_key(keys, found == 0 ? TR_KEY_LAST : TR_KEY_LAST_BELOW,
                     tr_buffer_bytes(&keys->bound), 0, key, err);
}

int tr_group_keys_behind(tr_group_keys *keys, tr_bytes from, uint32_t rows, tr_buffer *key,
                         tr_error *err) {
  return look_up_key(keys, TR_KEY_BEHIND, from, rows, key, err);
}

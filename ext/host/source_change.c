/*
** Compares a table as it was read with the same table read again.
**
** What matters is what a scan has built upon: the kind of the table, its columns and their types,
** the name of the rowid, and the key. A column that was added at the end changes nothing.
*/
#include "host/source_change.h"

/* 1 if every column of `then` is in `now`, unchanged and in the same place. */
static int has_same_columns(const tr_source_table *then, const tr_source_table *now,
                            const char *function, tr_error *err) {
  for (int i = 0; i < then->column_count; i++) {
    const tr_source_column *old = &then->columns[i];
    const tr_source_column *new = i < now->column_count ? &now->columns[i] : NULL;
    if (new == NULL || sqlite3_stricmp(old->name, new->name) != 0) {
      tr_error_set(err, TR_INVALID_STATE,
                   "%s: table %s has changed: it has no column %s where it was", function,
                   then->name, old->name);
      return 0;
    }
    if (sqlite3_stricmp(old->type, new->type) != 0 || old->affinity != new->affinity ||
        sqlite3_stricmp(old->collation, new->collation) != 0) {
      tr_error_set(err, TR_INVALID_STATE, "%s: table %s has changed: column %s has another type",
                   function, then->name, old->name);
      return 0;
    }
  }
  return 1;
}

/*
** Whether the rowid still has the name that was found for it. A column of that name may have been
** added, or the alias may be gone.
*/
static int has_same_rowid(const tr_source_table *then, const tr_source_table *now,
                          const char *function, tr_error *err) {
  if (then->rowid_name == NULL ||
      (now->rowid_name != NULL && sqlite3_stricmp(then->rowid_name, now->rowid_name) == 0)) {
    return 1;
  }
  tr_error_set(err, TR_INVALID_STATE, "%s: table %s has changed: %s is no longer its rowid",
               function, then->name, then->rowid_name);
  return 0;
}

static int has_same_key(const tr_source_table *then, tr_source_table *now, sqlite3 *db,
                        const char *function, tr_error *err) {
  if (then->key.form == TR_KEY_NONE) return 1;
  tr_argument items[TR_KEY_COLUMNS_MAX];
  tr_argument_list columns = {items, then->key.column_count};
  for (int i = 0; i < columns.count; i++) {
    char *name = then->columns[then->key.columns[i]].name;
    items[i] = (tr_argument){.text = name, .name = name};
  }
  tr_error reason = {0};
  tr_code code = tr_source_table_set_key(now, db, function, &columns, &reason);
  if (code == TR_OK && now->key.has_null_breaker == then->key.has_null_breaker) return 1;
  if (code == TR_NO_MEMORY || code == TR_INTERRUPTED || code == TR_HOST) {
    if (err != NULL) *err = reason;
    return -1;
  }
  tr_error_set(err, TR_INVALID_STATE, "%s: table %s has changed: its key is no longer one%s%s",
               function, then->name, code == TR_OK ? "" : ": ", reason.message);
  return 0;
}

int tr_source_table_is_as_before(const tr_source_table *then, const tr_source_table *now,
                                 const char *function, tr_error *err) {
  if (now->kind != then->kind) {
    tr_error_set(err, TR_INVALID_STATE, "%s: table %s has changed: it is another kind of table",
                 function, then->name);
    return 0;
  }
  return has_same_columns(then, now, function, err) && has_same_rowid(then, now, function, err);
}

int tr_source_table_is_current(tr_source_table *source, sqlite3 *db, const char *function,
                               tr_error *err) {
  tr_error reason = {0};
  int64_t version = 0;
  tr_code code = tr_source_table_read_version(source, db, &version, &reason);
  if (code == TR_OK && tr_source_table_has_version(source, db, version)) return 1;
  tr_source_table now = {0};
  if (code == TR_OK) {
    code = tr_source_table_read(&now, db, function, source->schema, source->name, &reason);
  }
  int is_current = -1;
  if (code == TR_INVALID_ARGUMENT) {
    tr_error_set(err, TR_INVALID_STATE, "%s: table %s.%s is gone", function, source->schema,
                 source->name);
    is_current = 0;
  } else if (code != TR_OK) {
    if (err != NULL) *err = reason;
  } else {
    is_current = tr_source_table_is_as_before(source, &now, function, err);
    if (is_current == 1) is_current = has_same_key(source, &now, db, function, err);
  }
  if (is_current == 1) {
    source->schema_version = version;
    source->file = now.file;
  }
  tr_source_table_free(&now);
  return is_current;
}

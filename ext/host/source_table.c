/*
** Reads what SQLite knows about a table, through its pragmas and sqlite3_table_column_metadata.
**
** The pragmas are called as table-valued functions with bound names, so that the only names in SQL
** text here are those of schemas. The kind of a table follows from what they give. A table without
** a root page is virtual. If the index for the primary key does not end in the rowid, the table is
** WITHOUT ROWID. If the primary key is one column without an index, that column is an alias of the
** rowid.
*/
#include "host/source_table.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "host/sql_text.h"

/* --- Small things ------------------------------------------------------------------------- */

static char *copy_of(const char *text) {
  return tr_bytes_to_text(tr_bytes_of_text(text));
}

static const char *text_of(sqlite3_stmt *stmt, int column) {
  const char *text = (const char *)sqlite3_column_text(stmt, column);
  return text == NULL ? "" : text;
}

/* Prepares a fixed text and binds up to two texts to it. */
static tr_code prepare(sqlite3 *db, const char *sql, const char *first, const char *second,
                       sqlite3_stmt **stmt, tr_error *err) {
  int rc = sqlite3_prepare_v2(db, sql, -1, stmt, NULL);
  if (rc == SQLITE_OK && first != NULL) {
    rc = sqlite3_bind_text(*stmt, 1, first, -1, SQLITE_TRANSIENT);
  }
  if (rc == SQLITE_OK && second != NULL) {
    rc = sqlite3_bind_text(*stmt, 2, second, -1, SQLITE_TRANSIENT);
  }
  if (rc == SQLITE_OK) return TR_OK;
  tr_code code = tr_error_of_sqlite(err, db, rc);
  sqlite3_finalize(*stmt);
  *stmt = NULL;
  return code;
}

/*
** Finalizes a statement whose last step gave `rc`: SQLITE_ROW, SQLITE_DONE, or an error. If there
** was no memory for the text of a column, only sqlite3_finalize reports it.
*/
static tr_code finish(sqlite3 *db, sqlite3_stmt *stmt, int rc, tr_error *err) {
  tr_code code = TR_OK;
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) code = tr_error_of_sqlite(err, db, rc);
  int finalized = sqlite3_finalize(stmt);
  return code == TR_OK && finalized != SQLITE_OK ? tr_error_of_sqlite(err, db, finalized) : code;
}

/* --- Where the table is ------------------------------------------------------------------- */

typedef struct table_entry {
  int is_found;
  int is_view;
  int is_virtual;
} table_entry;

/*
** Whether a table is STRICT. pragma_table_list would say it, too, but has SQLite connect every
** virtual table of all schemas, and each of ours would ask it again.
*/
static int read_is_strict(sqlite3_stmt *stmt, int column, tr_error *err) {
  tr_bytes sql = tr_bytes_of_text(text_of(stmt, column));
  return tr_sql_has_table_option(sql, "STRICT", err);
}

static tr_code look_in_schema(tr_source_table *source, sqlite3 *db, const char *schema,
                              const char *table, table_entry *entry, tr_error *err) {
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendall(sql, "SELECT name, type = 'view', coalesce(rootpage, 0) = 0, sql FROM ");
  tr_sql_append_table(sql, schema, "sqlite_master");
  sqlite3_str_appendall(sql, " WHERE name = ?1 COLLATE NOCASE AND type IN ('table', 'view')");
  sqlite3_stmt *stmt;
  tr_code code = tr_sql_prepare(db, sql, &stmt, err);
  if (code != TR_OK) return code;
  int rc = sqlite3_bind_text(stmt, 1, table, -1, SQLITE_TRANSIENT);
  if (rc == SQLITE_OK) rc = sqlite3_step(stmt);
  /* If an authorizer hides the name, it is not text. */
  if (rc == SQLITE_ROW && sqlite3_column_type(stmt, 0) == SQLITE_TEXT) {
    entry->is_found = 1;
    entry->is_view = sqlite3_column_int(stmt, 1);
    entry->is_virtual = !entry->is_view && sqlite3_column_int(stmt, 2);
    source->schema = copy_of(schema);
    source->name = copy_of(text_of(stmt, 0));
    if (source->schema == NULL || source->name == NULL) rc = SQLITE_NOMEM;
    if (!entry->is_view && !entry->is_virtual) source->is_strict = read_is_strict(stmt, 3, err);
    if (source->is_strict < 0) rc = SQLITE_NOMEM;
  }
  return finish(db, stmt, rc, err);
}

/*
** The schema tables under all their names; no schema lists them. `own` is the name with which their
** columns can be qualified; releases differ in whether the newer names work for that. temp's schema
** table has names of its own, and the names of the others.
*/
static const struct {
  const char *name;
  const char *own;
  int is_of_temp;
} schema_tables[] = {
    {"sqlite_master", "sqlite_master", 0},
    {"sqlite_schema", "sqlite_master", 0},
    {"sqlite_temp_master", "sqlite_temp_master", 1},
    {"sqlite_temp_schema", "sqlite_temp_master", 1},
};

enum { SCHEMA_TABLES = sizeof schema_tables / sizeof schema_tables[0] };

static tr_code set_found(tr_source_table *source, const char *schema, const char *table,
                         table_entry *entry, tr_error *err) {
  entry->is_found = 1;
  source->schema = copy_of(schema);
  source->name = copy_of(table);
  return source->schema == NULL || source->name == NULL ? tr_error_no_memory(err) : TR_OK;
}

/*
** Finds tables that no sqlite_master lists: the schema tables, which every schema has, and the
** eponymous tables of modules, which belong to no schema.
*/
static tr_code look_outside(tr_source_table *source, sqlite3 *db, const char *schema,
                            const char *table, table_entry *entry, tr_error *err) {
  for (size_t i = 0; i < SCHEMA_TABLES; i++) {
    if (sqlite3_stricmp(table, schema_tables[i].name) != 0) continue;
    int is_temp = schema != NULL && sqlite3_stricmp(schema, "temp") == 0;
    if (is_temp || (schema == NULL && schema_tables[i].is_of_temp)) {
      return set_found(source, "temp", "sqlite_temp_master", entry, err);
    }
    if (schema_tables[i].is_of_temp) return TR_OK;
    return set_found(source, schema == NULL ? "main" : schema, schema_tables[i].own, entry, err);
  }
  if (schema != NULL) return TR_OK;
  sqlite3_stmt *stmt;
  tr_code code =
      prepare(db, "SELECT count(*) FROM pragma_table_xinfo(?1)", table, NULL, &stmt, err);
  if (code != TR_OK) return code;
  int rc = sqlite3_step(stmt);
  entry->is_virtual = 1;
  int is_there = rc == SQLITE_ROW && sqlite3_column_int(stmt, 0) > 0;
  code = finish(db, stmt, rc, err);
  return code == TR_OK && is_there ? set_found(source, "main", table, entry, err) : code;
}

/*
** Looks in the order that SQLite uses: temp, main, then attached databases as they were attached.
*/
static tr_code find_table(tr_source_table *source, sqlite3 *db, const char *schema,
                          const char *table, table_entry *entry, tr_error *err) {
  sqlite3_stmt *stmt;
  tr_code code = prepare(db,
                         "SELECT name FROM pragma_database_list "
                         "WHERE ?1 IS NULL OR name = ?1 COLLATE NOCASE ORDER BY seq <> 1, seq",
                         schema, NULL, &stmt, err);
  if (code != TR_OK) return code;
  int rc;
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && code == TR_OK && !entry->is_found) {
    code = look_in_schema(source, db, text_of(stmt, 0), table, entry, err);
  }
  if (code != TR_OK) rc = SQLITE_DONE;
  tr_code finished = finish(db, stmt, rc, err);
  if (code == TR_OK) code = finished;
  if (code == TR_OK && !entry->is_found) {
    code = look_outside(source, db, schema, table, entry, err);
  }
  return code;
}

/* --- Columns ------------------------------------------------------------------------------ */

static int contains(const char *type, const char *word) {
  size_t size = strlen(word);
  for (; *type != '\0'; type++) {
    if (sqlite3_strnicmp(type, word, (int)size) == 0) return 1;
  }
  return 0;
}

/* SQLite's rules for the affinity of a declared type, in their order. */
static tr_affinity affinity_of(const char *type, int is_strict) {
  static const struct {
    const char *word;
    tr_affinity affinity;
  } rules[] = {
      {"INT", TR_AFFINITY_INTEGER}, {"CHAR", TR_AFFINITY_TEXT}, {"CLOB", TR_AFFINITY_TEXT},
      {"TEXT", TR_AFFINITY_TEXT},   {"BLOB", TR_AFFINITY_BLOB}, {"REAL", TR_AFFINITY_REAL},
      {"FLOA", TR_AFFINITY_REAL},   {"DOUB", TR_AFFINITY_REAL},
  };
  if (type[0] == '\0' || (is_strict && sqlite3_stricmp(type, "ANY") == 0)) return TR_AFFINITY_BLOB;
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    if (contains(type, rules[i].word)) return rules[i].affinity;
  }
  return TR_AFFINITY_NUMERIC;
}

static tr_code read_column(tr_source_table *source, sqlite3 *db, sqlite3_stmt *stmt,
                           tr_error *err) {
  if (sqlite3_column_type(stmt, 0) != SQLITE_TEXT) {
    return tr_error_ignored(err, "a column's name cannot be read");
  }
  tr_source_column *columns =
      tr_realloc(source->columns, (size_t)(source->column_count + 1) * sizeof *columns);
  if (columns == NULL) return tr_error_no_memory(err);
  source->columns = columns;
  tr_source_column *column = &columns[source->column_count++];
  int hidden = sqlite3_column_int(stmt, 4);
  *column = (tr_source_column){
      .name = copy_of(text_of(stmt, 0)),
      .type = copy_of(text_of(stmt, 1)),
      .is_not_null = sqlite3_column_int(stmt, 2) != 0,
      .primary_key = sqlite3_column_int(stmt, 3),
      .is_hidden = hidden == 1,
      .is_generated = hidden >= 2,
  };
  if (column->name == NULL || column->type == NULL) return tr_error_no_memory(err);
  /* In a view ANY most likely comes from a STRICT table. Elsewhere it means NUMERIC. */
  if (source->kind == TR_SOURCE_VIEW && sqlite3_stricmp(column->type, "ANY") == 0)
    column->type[0] = '\0';
  column->affinity = affinity_of(column->type, source->is_strict);
  const char *collation = NULL;
  if (source->kind == TR_SOURCE_ROWID_TABLE || source->kind == TR_SOURCE_WITHOUT_ROWID) {
    int rc = sqlite3_table_column_metadata(db, source->schema, source->name, column->name, NULL,
                                           &collation, NULL, NULL, NULL);
    if (rc == SQLITE_NOMEM) return tr_error_no_memory(err);
  }
  column->collation = copy_of(collation == NULL ? "BINARY" : collation);
  return column->collation == NULL ? tr_error_no_memory(err) : TR_OK;
}

static tr_code read_columns(tr_source_table *source, sqlite3 *db, tr_error *err) {
  sqlite3_stmt *stmt;
  tr_code code = prepare(db,
                         "SELECT name, type, \"notnull\", pk, hidden "
                         "FROM pragma_table_xinfo(?1, ?2) ORDER BY cid",
                         source->name, source->schema, &stmt, err);
  if (code != TR_OK) return code;
  int rc;
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && code == TR_OK) {
    code = read_column(source, db, stmt, err);
  }
  if (code != TR_OK) rc = SQLITE_DONE;
  tr_code finished = finish(db, stmt, rc, err);
  if (code == TR_OK) code = finished;
  if (code == TR_OK && source->column_count == 0) {
    code = tr_error_ignored(err, "a table's columns cannot be read");
  }
  return code;
}

/* --- What kind of table ------------------------------------------------------------------- */

/*
** Whether an index holds the primary key, and whether it ends in the rowid, as those of rowid
** tables do.
*/
static tr_code look_at_primary_key(const tr_source_table *source, sqlite3 *db, int *has_one,
                                   int *has_rowid, tr_error *err) {
  sqlite3_stmt *stmt;
  tr_code code = prepare(db,
                         "SELECT count(*), coalesce(max(x.cid = -1), 0) "
                         "FROM pragma_index_list(?1, ?2) AS l, pragma_index_xinfo(l.name, ?2) AS x "
                         "WHERE l.origin = 'pk'",
                         source->name, source->schema, &stmt, err);
  if (code != TR_OK) return code;
  int rc = sqlite3_step(stmt);
  if (rc == SQLITE_ROW) {
    *has_one = sqlite3_column_int(stmt, 0) > 0;
    *has_rowid = sqlite3_column_int(stmt, 1);
  }
  return finish(db, stmt, rc, err);
}

/* Without a row SQLite was compiled with SQLITE_OMIT_UTF16, and knows no other encoding. */
static tr_code read_encoding(tr_source_table *source, sqlite3 *db, tr_error *err) {
  sqlite3_stmt *stmt;
  tr_code code = prepare(db, "PRAGMA encoding", NULL, NULL, &stmt, err);
  if (code != TR_OK) return code;
  int rc = sqlite3_step(stmt);
  source->is_utf8 =
      rc == SQLITE_DONE || (rc == SQLITE_ROW && strcmp(text_of(stmt, 0), "UTF-8") == 0);
  return finish(db, stmt, rc, err);
}

static const char *const rowid_names[] = {"rowid", "_rowid_", "oid"};

#define ROWID_NAMES (sizeof rowid_names / sizeof rowid_names[0])

/* Finds a name for the rowid: its alias, or one of the three that no column hides. */
static tr_code name_rowid(tr_source_table *source, int alias, tr_error *err) {
  const char *name = alias < 0 ? NULL : source->columns[alias].name;
  for (size_t i = 0; name == NULL && i < ROWID_NAMES; i++) {
    if (tr_source_table_find_column(source, rowid_names[i]) < 0) name = rowid_names[i];
  }
  if (name == NULL) return TR_OK;
  source->rowid_name = copy_of(name);
  return source->rowid_name == NULL ? tr_error_no_memory(err) : TR_OK;
}

static tr_code read_rowid(tr_source_table *source, sqlite3 *db, tr_error *err) {
  int has_index = 0;
  int has_rowid = 0;
  tr_code code = look_at_primary_key(source, db, &has_index, &has_rowid, err);
  if (code != TR_OK) return code;
  if (has_index && !has_rowid) {
    source->kind = TR_SOURCE_WITHOUT_ROWID;
    return TR_OK;
  }
  int alias = -1;
  for (int i = 0; i < source->column_count && !has_index; i++) {
    if (source->columns[i].primary_key > 0) alias = i;
  }
  return name_rowid(source, alias, err);
}

sqlite3_str *tr_source_version_sql(const tr_source_table *source, sqlite3 *db) {
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendall(sql, "PRAGMA ");
  tr_sql_append_identifier(sql, source->schema);
  sqlite3_str_appendall(sql, ".schema_version");
  return sql;
}

tr_code tr_source_table_read_version(const tr_source_table *source, sqlite3 *db, int64_t *version,
                                     tr_error *err) {
  sqlite3_stmt *stmt;
  tr_code code = tr_sql_prepare(db, tr_source_version_sql(source, db), &stmt, err);
  if (code != TR_OK) return code;
  int rc = sqlite3_step(stmt);
  if (rc == SQLITE_ROW) *version = sqlite3_column_int64(stmt, 0);
  return finish(db, stmt, rc, err);
}

/* Another file may be attached under the same name and happen to have the same schema version. */
static uint64_t file_of(const tr_source_table *source, sqlite3 *db) {
  const char *name = sqlite3_db_filename(db, source->schema);
  return tr_hash128_of(tr_bytes_of_text(name == NULL ? "" : name), 0).high;
}

/* --- The public face ---------------------------------------------------------------------- */

int tr_source_table_has_version(const tr_source_table *source, sqlite3 *db, int64_t version) {
  return version == source->schema_version && file_of(source, db) == source->file;
}

int tr_source_table_ascends(const tr_source_table *source, sqlite3 *db, tr_error *err) {
  sqlite3_stmt *stmt;
  if (source->key.form == TR_KEY_ROWID) return 1;
  tr_code code = prepare(db,
                         "SELECT total(x.desc) = 0 FROM pragma_index_list(?1, ?2) AS i, "
                         "pragma_index_xinfo(i.name, ?2) AS x WHERE i.origin = 'pk' AND x.key",
                         source->name, source->schema, &stmt, err);
  if (code != TR_OK) return -1;
  int rc = sqlite3_step(stmt);
  int ascends = rc == SQLITE_ROW && sqlite3_column_int(stmt, 0);
  return finish(db, stmt, rc, err) == TR_OK ? ascends : -1;
}

int tr_has_table(sqlite3 *db, const char *schema, const char *name) {
  return sqlite3_table_column_metadata(db, schema, name, NULL, NULL, NULL, NULL, NULL, NULL) ==
         SQLITE_OK;
}

tr_code tr_source_table_read(tr_source_table *source, sqlite3 *db, const char *function,
                             const char *schema, const char *table, tr_error *err) {
  table_entry entry = {0};
  *source = (tr_source_table){0};
  tr_code code = find_table(source, db, schema, table, &entry, err);
  if (code != TR_OK) goto done;
  if (!entry.is_found) {
    code = tr_error_set(err, TR_INVALID_ARGUMENT, "%s: no such table: %s%s%s", function,
                        schema == NULL ? "" : schema, schema == NULL ? "" : ".", table);
    goto done;
  }
  source->kind = entry.is_view      ? TR_SOURCE_VIEW
                 : entry.is_virtual ? TR_SOURCE_VIRTUAL
                                    : TR_SOURCE_ROWID_TABLE;
  source->file = file_of(source, db);
  code = tr_source_table_read_version(source, db, &source->schema_version, err);
  if (code == TR_OK) code = read_encoding(source, db, err);
  if (code == TR_OK) code = read_columns(source, db, err);
  if (code == TR_OK && source->kind == TR_SOURCE_ROWID_TABLE) code = read_rowid(source, db, err);
done:
  if (code != TR_OK) tr_source_table_free(source);
  return code;
}

tr_code tr_source_table_of_argument(tr_source_table *source, sqlite3 *db, const char *function,
                                    const char *argument, sqlite3_value *value,
                                    const tr_argument_list *key, tr_error *err) {
  tr_bytes text;
  char *schema, *table;
  tr_error reason;
  *source = (tr_source_table){0};
  tr_code code = tr_argument_text(function, argument, value, &text, err);
  if (code != TR_OK) return code;
  if (tr_table_name_parse(text, &schema, &table, &reason) != TR_OK) {
    tr_value given = tr_value_text(text);
    return tr_argument_refused(err, function, argument, &given, &reason);
  }
  code = tr_source_table_read(source, db, function, schema, table, err);
  if (code == TR_OK) code = tr_source_table_set_key(source, db, function, key, err);
  if (code != TR_OK) tr_source_table_free(source);
  tr_free(schema);
  tr_free(table);
  return code;
}

void tr_source_table_free(tr_source_table *source) {
  for (int i = 0; i < source->column_count; i++) {
    tr_free(source->columns[i].name);
    tr_free(source->columns[i].type);
    tr_free(source->columns[i].collation);
  }
  tr_free(source->columns);
  tr_free(source->schema);
  tr_free(source->name);
  tr_free(source->rowid_name);
  tr_free(source->key.index);
  *source = (tr_source_table){0};
}

int tr_source_table_find_column(const tr_source_table *source, const char *name) {
  for (int i = 0; i < source->column_count; i++) {
    if (sqlite3_stricmp(source->columns[i].name, name) == 0) return i;
  }
  return -1;
}

int tr_is_rowid_name(const char *name) {
  for (size_t i = 0; i < ROWID_NAMES; i++) {
    if (sqlite3_stricmp(rowid_names[i], name) == 0) return 1;
  }
  return 0;
}

int tr_source_table_is_compound(const tr_source_table *source, sqlite3 *db) {
  if (source->kind != TR_SOURCE_VIEW) return 0;
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_stmt *stmt;
  sqlite3_str_appendall(sql, "EXPLAIN QUERY PLAN SELECT * FROM ");
  tr_sql_append_table(sql, source->schema, source->name);
  if (tr_sql_prepare(db, sql, &stmt, NULL) != TR_OK) return 1;
  int rc, is_compound = 0;
  while (!is_compound && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    is_compound = strcmp(text_of(stmt, 3), "COMPOUND QUERY") == 0;
  }
  if (!is_compound && rc != SQLITE_DONE) is_compound = 1;
  sqlite3_finalize(stmt);
  return is_compound;
}

/* --- SQL text ----------------------------------------------------------------------------- */

void tr_source_append_column(const tr_source_table *source, int column, sqlite3_str *sql) {
  tr_sql_append_table(sql, source->name,
                      column < 0 ? source->rowid_name : source->columns[column].name);
}

/* Whether a type can be repeated unchanged in another declaration. */
static int is_plain_type(const char *type) {
  for (const char *c = type; *c != '\0'; c++) {
    int is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
    int is_rest = (*c >= '0' && *c <= '9') || *c == ' ' || *c == '(' || *c == ')' || *c == ',';
    if (!is_letter && !(is_rest && c > type)) return 0;
  }
  return !contains(type, "hidden") && !contains(type, "generated");
}

void tr_source_column_declare(const tr_source_column *column, const char *name, sqlite3_str *sql) {
  static const char *const types[] = {"BLOB", "TEXT", "NUMERIC", "INTEGER", "REAL"};
  tr_sql_append_identifier(sql, name);
  const char *type = column->type;
  if (!is_plain_type(type) || affinity_of(type, 0) != column->affinity) {
    type = types[column->affinity];
  }
  if (type[0] != '\0') sqlite3_str_appendf(sql, " %s", type);
  sqlite3_str_appendall(sql, " COLLATE ");
  tr_sql_append_identifier(sql, column->collation);
}

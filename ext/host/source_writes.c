/*
** EXPLAIN shows where a statement writes: OpenWrite has the root page of a table and the number of
** its schema. The programs of triggers are shown, too.
*/
#include "host/source_writes.h"

#include <string.h>

/* Where a table is, in the terms of OpenWrite. */
typedef struct place {
  int64_t root;
  int64_t schema;
} place;

/* Returns 1, or 0 if the place cannot be found. */
static int find_place(const tr_source_table *source, sqlite3 *db, place *found) {
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_stmt *stmt;
  sqlite3_str_appendall(sql, "SELECT m.rootpage, l.seq FROM ");
  tr_sql_append_table(sql, source->schema, "sqlite_master");
  sqlite3_str_appendall(sql,
                        " AS m, pragma_database_list AS l WHERE m.type = 'table' AND m.name = ?1"
                        " AND l.name = ?2 COLLATE NOCASE");
  if (tr_sql_prepare(db, sql, &stmt, NULL) != TR_OK) return 0;
  int has = sqlite3_bind_text(stmt, 1, source->name, -1, SQLITE_STATIC) == SQLITE_OK &&
            sqlite3_bind_text(stmt, 2, source->schema, -1, SQLITE_STATIC) == SQLITE_OK &&
            sqlite3_step(stmt) == SQLITE_ROW;
  if (has) *found = (place){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1)};
  sqlite3_finalize(stmt);
  return has;
}

/* Whether a statement writes there, or may. */
static int writes_to(sqlite3 *db, sqlite3_stmt *writer, const place *there) {
  enum { OPCODE = 1, P2 = 3, P3 = 4 };
  sqlite3_stmt *stmt;
  if (sqlite3_sql(writer) == NULL) return 1;
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendf(sql, "EXPLAIN %s", sqlite3_sql(writer));
  if (tr_sql_prepare(db, sql, &stmt, NULL) != TR_OK) return 1;
  int rc, writes = 0;
  while (!writes && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    const char *opcode = (const char *)sqlite3_column_text(stmt, OPCODE);
    if (opcode == NULL || strcmp(opcode, "VUpdate") == 0) writes = 1;
    if (opcode == NULL || strcmp(opcode, "OpenWrite") != 0) continue;
    writes |= sqlite3_column_int64(stmt, P2) == there->root &&
              sqlite3_column_int64(stmt, P3) == there->schema;
  }
  if (!writes && rc != SQLITE_DONE) writes = 1;
  sqlite3_finalize(stmt);
  return writes;
}

int tr_source_is_written(const tr_source_table *source, sqlite3 *db) {
  place there;
  if (!tr_is_writing(db)) return 0;
  if (source->kind == TR_SOURCE_VIEW || source->kind == TR_SOURCE_VIRTUAL) return 1;
  if (!find_place(source, db, &there)) return 1;
  for (sqlite3_stmt *s = NULL; (s = tr_next_writing(db, s)) != NULL;) {
    if (writes_to(db, s, &there)) return 1;
  }
  return 0;
}

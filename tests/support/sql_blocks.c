/*
** Rows are hashed with FNV-1a, value by value; the types are included.
*/
#include "sql_blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sql_blocks_read(sql_blocks *blocks, const char *path) {
  static const char mark[] = "-- from here on\n";
  FILE *file = fopen(path, "r");
  char line[1024];
  blocks->count = 0;
  if (file == NULL) {
    fprintf(stderr, "cannot read %s (run from the root)\n", path);
    exit(1);
  }
  while (fgets(line, sizeof line, file) != NULL) {
    sql_block *block = &blocks->items[blocks->count];
    *block = (sql_block){.sql = NULL};
    if (sscanf(line, "--- %63[^\n]", block->name) == 1) {
      block->sql = calloc(1, 1);
      blocks->count++;
    } else if (blocks->count > 0) {
      block--;
      size_t old = strlen(block->sql), more = strlen(line);
      block->sql = realloc(block->sql, old + more + 1);
      memcpy(block->sql + old, line, more + 1);
    }
  }
  fclose(file);
  for (sql_block *block = blocks->items; block < blocks->items + blocks->count; block++) {
    block->is_once = strstr(block->sql, "-- once\n") != NULL;
    char *at = strstr(block->sql, mark);
    if (at == NULL) continue;
    block->before = block->sql;
    block->sql = strdup(at);
    *at = '\0';
  }
}

void sql_blocks_free(sql_blocks *blocks) {
  for (int i = 0; i < blocks->count; i++) {
    free(blocks->items[i].before);
    free(blocks->items[i].sql);
  }
  blocks->count = 0;
}

static void hash(uint64_t *sum, const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    *sum = (*sum ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
  }
}

/* SQLITE_NOMEM: SQLite could not return the value. */
static int hash_value(uint64_t *sum, sqlite3_stmt *stmt, int column) {
  int type = sqlite3_column_type(stmt, column), size = 0;
  int64_t integer = 0;
  double real_number = 0;
  const void *bytes = NULL;
  hash(sum, &type, sizeof type);
  switch (type) {
  case SQLITE_INTEGER:
    integer = sqlite3_column_int64(stmt, column);
    hash(sum, &integer, sizeof integer);
    return SQLITE_OK;
  case SQLITE_FLOAT:
    real_number = sqlite3_column_double(stmt, column);
    hash(sum, &real_number, sizeof real_number);
    return SQLITE_OK;
  case SQLITE_TEXT: bytes = sqlite3_column_text(stmt, column); break;
  case SQLITE_BLOB: bytes = sqlite3_column_blob(stmt, column); break;
  default: return SQLITE_OK;
  }
  size = sqlite3_column_bytes(stmt, column);
  if (bytes == NULL && (type == SQLITE_TEXT || size > 0)) return SQLITE_NOMEM;
  hash(sum, bytes, (size_t)size);
  return SQLITE_OK;
}

int sql_blocks_run_statement(sqlite3 *db, const char *sql, const char **rest, uint64_t *answers) {
  sqlite3_stmt *stmt = NULL;
  uint64_t sum = 0;
  int read = SQLITE_OK, rc = sqlite3_prepare_v2(db, sql, -1, &stmt, rest);
  if (rc != SQLITE_OK || stmt == NULL) return rc;
  while (read == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    uint64_t row = UINT64_C(14695981039346656037);
    int count = sqlite3_column_count(stmt);
    for (int i = 0; i < count && read == SQLITE_OK; i++) read = hash_value(&row, stmt, i);
    sum += row;
  }
  int finalized = sqlite3_finalize(stmt);
  if (read != SQLITE_OK) return read;
  if (rc != SQLITE_DONE) return finalized;
  *answers += sum;
  return SQLITE_OK;
}

int sql_blocks_run(sqlite3 *db, const char *sql, uint64_t *answers) {
  int rc = SQLITE_OK;
  *answers = 0;
  while (rc == SQLITE_OK && *sql != '\0') rc = sql_blocks_run_statement(db, sql, &sql, answers);
  return rc;
}

int sql_blocks_load(sqlite3 *db) {
  const char *path = getenv("TRANCHE");
  char *message = NULL;
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
  int rc = sqlite3_load_extension(db, path ? path : "./tranche", NULL, &message);
  sqlite3_free(message);
  return rc;
}

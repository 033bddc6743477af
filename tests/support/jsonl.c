/*
** JSON lines. getline reads the lines, two prepared statements on an in-memory database read what
** is in them, and a list keeps everything that was returned since the line began.
*/
#include "jsonl.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

struct jsonl {
  const char *path;
  FILE *stream;
  sqlite3 *db;
  sqlite3_stmt *member; /* type, value, JSON text of a member */
  sqlite3_stmt *items;  /* JSON text of each item of an array */
  long line_number;
  char *line;
  size_t line_capacity;
  void **kept;
  size_t kept_count, kept_capacity;
};

static void give_up(const jsonl *file, const char *path, const char *what) {
  fprintf(stderr, "%s:%ld: %s: %s\n", file->path, file->line_number, path, what);
  exit(1);
}

/* Memory that lives until the next line. */
static void *keep(jsonl *file, size_t size) {
  if (file->kept_count == file->kept_capacity) {
    file->kept_capacity = file->kept_capacity * 2 + 64;
    file->kept = realloc(file->kept, file->kept_capacity * sizeof *file->kept);
    if (file->kept == NULL) give_up(file, "", "out of memory");
  }
  void *memory = malloc(size > 0 ? size : 1);
  if (memory == NULL) give_up(file, "", "out of memory");
  file->kept[file->kept_count++] = memory;
  return memory;
}

static void release_kept(jsonl *file) {
  for (size_t i = 0; i < file->kept_count; i++) free(file->kept[i]);
  file->kept_count = 0;
}

static const char *keep_column(jsonl *file, sqlite3_stmt *stmt, int column) {
  const unsigned char *text = sqlite3_column_text(stmt, column);
  if (text == NULL) return NULL;
  size_t size = (size_t)sqlite3_column_bytes(stmt, column) + 1;
  return memcpy(keep(file, size), text, size);
}

static sqlite3_stmt *prepare(jsonl *file, const char *sql) {
  sqlite3_stmt *stmt = NULL;
  if (sqlite3_prepare_v2(file->db, sql, -1, &stmt, NULL) != SQLITE_OK) {
    give_up(file, sql, sqlite3_errmsg(file->db));
  }
  return stmt;
}

jsonl *jsonl_open(const char *path) {
  jsonl *file = calloc(1, sizeof *file);
  if (file == NULL) abort();
  file->path = path;
  file->stream = fopen(path, "r");
  if (file->stream == NULL) give_up(file, "", "cannot be opened (run from the project's folder)");
  if (sqlite3_open(":memory:", &file->db) != SQLITE_OK) give_up(file, "", "no database");
  file->member = prepare(file, "SELECT json_type(?1 -> ?2), ?1 ->> ?2, ?1 -> ?2");
  file->items = prepare(file, "SELECT ?1 -> fullkey FROM json_each(?1)");
  return file;
}

void jsonl_close(jsonl *file) {
  release_kept(file);
  free(file->kept);
  free(file->line);
  sqlite3_finalize(file->member);
  sqlite3_finalize(file->items);
  sqlite3_close(file->db);
  fclose(file->stream);
  free(file);
}

const char *jsonl_next(jsonl *file) {
  release_kept(file);
  for (;;) {
    ssize_t length = getline(&file->line, &file->line_capacity, file->stream);
    if (length < 0) {
      if (ferror(file->stream)) give_up(file, "", "cannot be read");
      return NULL;
    }
    file->line_number++;
    if (length > 0 && file->line[length - 1] == '\n') file->line[--length] = '\0';
    if (length > 0) return file->line;
  }
}

long jsonl_line_number(const jsonl *file) {
  return file->line_number;
}

/* Leaves the statement on the row of the member, whose columns the caller reads. */
static const char *find(jsonl *file, const char *json, const char *path) {
  sqlite3_stmt *stmt = file->member;
  sqlite3_reset(stmt);
  sqlite3_bind_text(stmt, 1, json, -1, SQLITE_STATIC);
  sqlite3_bind_text(stmt, 2, path, -1, SQLITE_STATIC);
  if (sqlite3_step(stmt) != SQLITE_ROW) give_up(file, path, sqlite3_errmsg(file->db));
  return (const char *)sqlite3_column_text(stmt, 0);
}

static int is_type(const char *type, const char *name) {
  return type != NULL && strcmp(type, name) == 0;
}

int jsonl_has(jsonl *file, const char *json, const char *path) {
  return find(file, json, path) != NULL;
}

int jsonl_is_null(jsonl *file, const char *json, const char *path) {
  return is_type(find(file, json, path), "null");
}

const char *jsonl_text(jsonl *file, const char *json, const char *path) {
  const char *type = find(file, json, path);
  if (type == NULL || is_type(type, "null")) return NULL;
  if (!is_type(type, "text")) give_up(file, path, "is no string");
  return keep_column(file, file->member, 1);
}

int64_t jsonl_integer(jsonl *file, const char *json, const char *path) {
  if (!is_type(find(file, json, path), "integer")) give_up(file, path, "is no integer");
  return sqlite3_column_int64(file->member, 1);
}

static double named_double(jsonl *file, const char *path, const char *name) {
  if (strcmp(name, "NaN") == 0) return NAN;
  if (strcmp(name, "Infinity") == 0) return HUGE_VAL;
  if (strcmp(name, "-Infinity") == 0) return -HUGE_VAL;
  give_up(file, path, "is no number");
  return 0;
}

double jsonl_double(jsonl *file, const char *json, const char *path) {
  const char *type = find(file, json, path);
  if (is_type(type, "text")) {
    return named_double(file, path, (const char *)sqlite3_column_text(file->member, 1));
  }
  if (!is_type(type, "real") && !is_type(type, "integer")) give_up(file, path, "is no number");
  return strtod((const char *)sqlite3_column_text(file->member, 2), NULL);
}

int jsonl_bool(jsonl *file, const char *json, const char *path) {
  const char *type = find(file, json, path);
  if (is_type(type, "true")) return 1;
  if (!is_type(type, "false")) give_up(file, path, "is neither true nor false");
  return 0;
}

static int hex_digit(char digit) {
  static const char digits[] = "0123456789abcdef";
  const char *found = digit == '\0' ? NULL : strchr(digits, digit);
  return found == NULL ? -1 : (int)(found - digits);
}

tr_bytes jsonl_hex(jsonl *file, const char *json, const char *path) {
  const char *text = jsonl_text(file, json, path);
  if (text == NULL) give_up(file, path, "is missing");
  size_t size = strlen(text) / 2;
  if (strlen(text) % 2 != 0) give_up(file, path, "has an odd number of digits");
  uint8_t *bytes = keep(file, size);
  for (size_t i = 0; i < size; i++) {
    int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) give_up(file, path, "is not hexadecimal");
    bytes[i] = (uint8_t)(high << 4 | low);
  }
  return (tr_bytes){bytes, size};
}

const char *jsonl_json(jsonl *file, const char *json, const char *path) {
  if (find(file, json, path) == NULL) give_up(file, path, "is missing");
  return keep_column(file, file->member, 2);
}

const char **jsonl_items(jsonl *file, const char *json, const char *path) {
  if (!is_type(find(file, json, path), "array")) give_up(file, path, "is no array");
  const char *array = keep_column(file, file->member, 2);
  sqlite3_stmt *stmt = file->items;
  size_t count = 0, capacity = 16;
  const char **items = malloc(capacity * sizeof *items);
  if (items == NULL) give_up(file, path, "out of memory");
  sqlite3_bind_text(stmt, 1, array, -1, SQLITE_STATIC);
  int rc;
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    if (count + 1 == capacity) {
      const char **grown = realloc(items, (capacity *= 2) * sizeof *items);
      if (grown == NULL) give_up(file, path, "out of memory");
      items = grown;
    }
    items[count++] = keep_column(file, stmt, 0);
  }
  if (rc != SQLITE_DONE) give_up(file, path, sqlite3_errmsg(file->db));
  sqlite3_reset(stmt);
  items[count++] = NULL;
  const char **kept = keep(file, count * sizeof *kept);
  memcpy(kept, items, count * sizeof *kept);
  free(items);
  return kept;
}

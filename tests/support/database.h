/*
** Databases with the extension, for tests: in a file in $TMPDIR or in memory. Runs statements and
** checks what they return. Do not use them after a fork.
*/
#ifndef TR_TEST_DATABASE_H
#define TR_TEST_DATABASE_H

#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tranche.h"

/* A path in $TMPDIR for this process. An existing database there is removed. */
static inline const char *database_path(const char *name, char path[512]) {
  static const char *const suffixes[] = {"", "-journal", "-wal", "-shm"};
  const char *folder = getenv("TMPDIR");
  char file[540];
  snprintf(path, 512, "%s/%s.%d.db", folder == NULL ? "." : folder, name, (int)getpid());
  for (int i = 0; i < 4; i++) {
    snprintf(file, sizeof file, "%s%s", path, suffixes[i]);
    unlink(file);
  }
  return path;
}

/* Removes the database again. */
static inline void database_remove(const char *path) {
  static const char *const suffixes[] = {"", "-journal", "-wal", "-shm"};
  char file[540];
  for (int i = 0; i < 4; i++) {
    snprintf(file, sizeof file, "%s%s", path, suffixes[i]);
    unlink(file);
  }
}

/* A connection with the extension. Aborts the process if it cannot be opened. */
static inline sqlite3 *database_open(const char *path, int busy_milliseconds) {
  sqlite3 *db = NULL;
  char *message = NULL;
  int rc = sqlite3_open(path, &db);
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, busy_milliseconds); /* loading reads the file, and may have to wait */
  if (rc == SQLITE_OK) rc = sqlite3_tranche_init(db, &message, NULL);
  if (rc != SQLITE_OK) {
    fprintf(stderr, "cannot open %s: %d, %s\n", path, rc, sqlite3_errmsg(db));
    abort();
  }
  return db;
}

/* Runs statements and returns their code. */
static inline int database_run(sqlite3 *db, const char *sql) {
  return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* Runs statements that must succeed. */
static inline void database_must(sqlite3 *db, const char *sql) {
  int rc = database_run(db, sql);
  if (rc == SQLITE_OK) return;
  fprintf(stderr, "%s: %d, %s\n", sql, rc, sqlite3_errmsg(db));
  abort();
}

/* The integer that a query returns; -1 if it returns none or fails. */
static inline int64_t database_integer(sqlite3 *db, const char *sql) {
  sqlite3_stmt *stmt = NULL;
  int64_t integer = -1;
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
      sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL) {
    integer = sqlite3_column_int64(stmt, 0);
  }
  sqlite3_finalize(stmt);
  return integer;
}

/*
** The text that a query returns, or "error: ...". NULL and no row give "". The text is valid until
** the eighth following call in this thread.
*/
static inline const char *database_text(sqlite3 *db, const char *sql) {
  static _Thread_local char texts[8][2048];
  static _Thread_local int next;
  char *text = texts[next++ % 8];
  sqlite3_stmt *stmt = NULL;
  int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_step(stmt);
  const char *value = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
  snprintf(text, 2048, "%s", value == NULL ? "" : value);
  if (rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE) {
    snprintf(text, 2048, "error: %s", sqlite3_errmsg(db));
  }
  sqlite3_finalize(stmt);
  return text;
}

/* Binds up to two texts to a prepared statement, steps it once and resets it. Returns the code. */
static inline int database_step(sqlite3_stmt *stmt, const char *first, const char *second) {
  if (first != NULL) sqlite3_bind_text(stmt, 1, first, -1, SQLITE_TRANSIENT);
  if (second != NULL) sqlite3_bind_text(stmt, 2, second, -1, SQLITE_TRANSIENT);
  int rc = sqlite3_step(stmt);
  int reset = sqlite3_reset(stmt);
  return rc == SQLITE_ROW || rc == SQLITE_DONE ? reset : rc;
}

#endif

/*
** base/memory.h over SQLite's allocator, so that its limits, statistics and fault injection see all
** that we allocate.
*/
#include "host/sqlite_api.h"

#include "base/memory.h"

void *tr_malloc(size_t size) {
  return sqlite3_malloc64(size);
}

void *tr_realloc(void *memory, size_t size) {
  return sqlite3_realloc64(memory, size);
}

void tr_free(void *memory) {
  sqlite3_free(memory);
}

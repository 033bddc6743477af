/*
** The one way to get memory in src/ and ext/.
**
** These functions are declared here and defined by the program that links src/: the extension
** defines them over sqlite3_realloc64 (ext/host/memory.c), so that SQLite's limits, statistics and
** fault injection see every byte; the unit tests of src/ define them over malloc with a counter
** that can make the n-th allocation fail (tests/support/test_memory.c).
**
** Thread-safe. Memory from tr_malloc and tr_realloc is released with tr_free, by any thread.
*/
#ifndef TR_BASE_MEMORY_H
#define TR_BASE_MEMORY_H

#include <stddef.h>

/* `size` bytes, aligned for any type, or NULL. tr_malloc(0) may give NULL: do not ask. */
void *tr_malloc(size_t size);

/* Grows or shrinks `memory` (NULL: allocates). On failure NULL, and `memory` is still valid. */
void *tr_realloc(void *memory, size_t size);

/* Releases `memory`; NULL is fine. */
void tr_free(void *memory);

#endif

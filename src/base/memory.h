/*
** The only way to get memory in src/ and ext/.
**
** The program that links src/ defines these functions. The extension defines them over
** sqlite3_realloc64 (ext/host/memory.c), so that SQLite's limits, statistics and fault injection
** see every byte. The unit tests of src/ define them over malloc, with a counter that can make the
** n-th allocation fail (tests/support/test_memory.c).
**
** Thread-safe. Any thread may release memory from tr_malloc and tr_realloc, with tr_free.
*/
#ifndef TR_BASE_MEMORY_H
#define TR_BASE_MEMORY_H

#include <stddef.h>

/* `size` bytes, aligned for any type, or NULL. `size` should not be 0: the result may be NULL. */
void *tr_malloc(size_t size);

/* Grows or shrinks `memory`; NULL allocates. On failure returns NULL, and `memory` stays valid. */
void *tr_realloc(void *memory, size_t size);

/* Releases `memory`, which may be NULL. */
void tr_free(void *memory);

#endif

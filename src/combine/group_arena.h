/*
** Memory for very many groups. It is taken in pieces and freed as a whole.
**
** With many groups, most of the time goes to waiting for memory: the system provides pages of 4 KiB
** one by one, and the processor must translate their addresses. So pieces are cut from large
** blocks, and the system is asked to use large pages for them (2 MiB on most machines). If it
** refuses, the blocks are as slow as other memory.
**
** The system must clear new pages. For a grouping with a million groups this took a tenth to a
** quarter of the time. So a freed arena may give its large blocks to a reserve, for later arenas.
** The system is told that it may take their pages when memory is short.
**
** Thread-safety: any number of threads may take pieces at the same time; a piece belongs to the
** thread that took it. Any number of arenas may use a reserve at the same time.
*/
#ifndef TR_COMBINE_GROUP_ARENA_H
#define TR_COMBINE_GROUP_ARENA_H

#include <stddef.h>

#include "combine/memory_budget.h"

typedef struct tr_group_arena tr_group_arena;

/* Blocks that are in no arena. It takes in no block that would make them more than `most` bytes. */
typedef struct tr_group_reserve tr_group_reserve;

/* TR_NO_MEMORY. */
tr_code tr_group_reserve_create(uint64_t most, tr_group_reserve **reserve, tr_error *err);
uint64_t tr_group_reserve_memory(tr_group_reserve *reserve);
void tr_group_reserve_free(tr_group_reserve *reserve); /* after its arenas; NULL is fine */

/*
** Blocks are taken from `budget`. The arena uses `reserve` unless it is NULL or the budget has a
** limit. Both must outlive the arena. TR_NO_MEMORY.
*/
tr_code tr_group_arena_create(tr_memory_budget *budget, tr_group_reserve *reserve,
                              tr_group_arena **arena, tr_error *err);

/* The size of a cache line, in bytes. */
#define TR_LINE 64

/*
** Takes a piece that begins at a multiple of TR_LINE; its bytes are undefined. TR_NO_MEMORY.
** TR_TOO_BIG: it would exceed the limit of the budget.
*/
tr_code tr_group_arena_take(tr_group_arena *arena, size_t size, void **piece, tr_error *err);

/* Gives a piece back, to be taken again for the same size. */
void tr_group_arena_give_back(tr_group_arena *arena, void *piece, size_t size);

/* The size of all blocks, in bytes. */
uint64_t tr_group_arena_memory(tr_group_arena *arena);

/* Frees all pieces at once. NULL is fine. */
void tr_group_arena_free(tr_group_arena *arena);

#endif

/*
** Memory for very many groups: taken in pieces, and given back as a whole.
**
** Where groups are many, what they cost is waiting for memory: for the system to hand out pages of
** 4 KiB one by one, and for the processor to find out where they are. So pieces are cut from large
** blocks, for which the system is asked to use large pages (2 MiB on most machines); it may refuse,
** and then they are as slow as any.
**
** Clearing pages anew for each grouping took a tenth to a quarter of the time of one with a million
** groups. So large blocks may go to a reserve when an arena is freed, for those that come after it;
** the system is told that it may take their pages if memory gets short.
**
** Thread-safety: any number of threads may take pieces at a time; a piece belongs to whoever took
** it. A reserve may serve any number of arenas at a time.
*/
#ifndef TR_COMBINE_GROUP_ARENA_H
#define TR_COMBINE_GROUP_ARENA_H

#include <stddef.h>

#include "combine/memory_budget.h"

typedef struct tr_group_arena tr_group_arena;

/* Blocks that are in no arena: `most` bytes of them, and then no more are taken in. */
typedef struct tr_group_reserve tr_group_reserve;

/* TR_NO_MEMORY. */
tr_code tr_group_reserve_create(uint64_t most, tr_group_reserve **reserve, tr_error *err);
uint64_t tr_group_reserve_memory(tr_group_reserve *reserve);
void tr_group_reserve_free(tr_group_reserve *reserve); /* after its arenas; NULL is fine */

/*
** Blocks are taken from `budget`, which must outlive the arena, and so must the `reserve`; NULL:
** there is none. Under a limit it is not used. TR_NO_MEMORY.
*/
tr_code tr_group_arena_create(tr_memory_budget *budget, tr_group_reserve *reserve,
                              tr_group_arena **arena, tr_error *err);

/* A line of the processor's cache, in bytes. */
#define TR_LINE 64

/*
** A piece that begins at a multiple of TR_LINE; its bytes are undefined. TR_NO_MEMORY, TR_TOO_BIG.
*/
tr_code tr_group_arena_take(tr_group_arena *arena, size_t size, void **piece, tr_error *err);

/* Gives a piece back, for the next one of the same size. */
void tr_group_arena_give_back(tr_group_arena *arena, void *piece, size_t size);

/* Bytes of all blocks. */
uint64_t tr_group_arena_memory(tr_group_arena *arena);

/* All pieces at once. NULL is fine. */
void tr_group_arena_free(tr_group_arena *arena);

#endif

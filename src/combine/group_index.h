/*
** The index of a group table: it maps hashes to the places of groups.
**
** How it works: extendible hashing. The leading bits of a hash choose one of the 2^depth entries of
** a directory, which point to segments. Its trailing bits choose where a linear search in the
** segment starts. When a segment is half full, it doubles. When it has its full size, it splits in
** two by the next leading bit. So the index grows one segment at a time, and no row waits until a
** table of millions has been rehashed. Groups with similar hashes lie in neighbouring segments,
** which makes merging by parts cheap.
**
** Only group_table.c uses this; it has its own file for readability. Thread-safety: as
** group_table.h.
*/
#ifndef TR_COMBINE_GROUP_INDEX_H
#define TR_COMBINE_GROUP_INDEX_H

#include "combine/group_arena.h"

/* Asks for the cache line of an address that will be needed soon. Any address is allowed. */
static inline void tr_prefetch(const void *address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

typedef struct tr_group_slot {
  uint32_t hash;
  uint32_t at; /* the place of the group; 0: the slot is free */
} tr_group_slot;

typedef struct tr_group_segment {
  uint32_t depth; /* how many leading bits, after shared_bits, all its hashes share */
  uint32_t count;
  uint32_t mask; /* the number of slots - 1 */
  tr_group_slot slots[];
} tr_group_segment;

typedef struct tr_group_index {
  tr_group_segment **directory;
  uint32_t depth;
  int shared_bits;       /* leading bits that all hashes share; they are skipped */
  tr_group_arena *arena; /* for the segments; NULL: each is allocated by itself */
} tr_group_index;

/*
** `arena` must outlive the index. NULL: segments are taken from the account. TR_NO_MEMORY,
** TR_TOO_BIG (the limit).
*/
tr_code tr_group_index_init(tr_group_index *index, int shared_bits, tr_memory_account *account,
                            tr_group_arena *arena, tr_error *err);
void tr_group_index_free(tr_group_index *index);

static inline tr_group_segment *tr_group_index_segment(const tr_group_index *index, uint32_t hash) {
  return index->directory[(uint64_t)(hash << index->shared_bits) << index->depth >> 32];
}

/* Whether the segment can take one more group before it must grow. */
static inline int tr_group_index_has_room(const tr_group_segment *segment) {
  return segment->count < (segment->mask + 1) / 2;
}

/*
** Makes sure that there is a free slot for `hash`. Slots may move. TR_NO_MEMORY, or TR_TOO_BIG from
** the account: all groups still have their slots.
*/
tr_code tr_group_index_make_room(tr_group_index *index, uint32_t hash, tr_memory_account *account,
                                 tr_error *err);

#endif

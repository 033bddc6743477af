/*
** The index of a group table: from hashes to where the groups lie.
**
** How it works. Extendible hashing: the leading bits of a hash choose one of 2^depth entries of a
** directory, which point to segments; the trailing bits are where a linear search inside the
** segment begins. A segment that is half full grows until it has its full size, and then splits in
** two by the next leading bit. So the index grows a segment at a time, and no row waits for a table
** of millions to be hashed anew. Groups of one range of hashes lie in neighbouring segments, which
** is what makes merging by parts cheap.
**
** Part of group_table.c, apart for being read; nobody else includes it. Thread-safety: as there.
*/
#ifndef TR_COMBINE_GROUP_INDEX_H
#define TR_COMBINE_GROUP_INDEX_H

#include "combine/group_arena.h"

/* Asks for the cache line of an address that will be needed soon; any address will do. */
static inline void tr_prefetch(const void *address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

typedef struct tr_group_slot {
  uint32_t hash;
  uint32_t at; /* where the group lies; 0: the slot is free */
} tr_group_slot;

typedef struct tr_group_segment {
  uint32_t depth; /* leading bits that all hashes in it share, behind shared_bits */
  uint32_t count;
  uint32_t mask; /* slots - 1 */
  tr_group_slot slots[];
} tr_group_segment;

typedef struct tr_group_index {
  tr_group_segment **directory;
  uint32_t depth;
  int shared_bits;       /* leading bits that all hashes have in common: they tell nothing */
  tr_group_arena *arena; /* of the segments; NULL: each is allocated by itself */
} tr_group_index;

/*
** `arena` must outlive the index; NULL: segments are taken from the account. TR_NO_MEMORY,
** TR_TOO_BIG.
*/
tr_code tr_group_index_init(tr_group_index *index, int shared_bits, tr_memory_account *account,
                            tr_group_arena *arena, tr_error *err);
void tr_group_index_free(tr_group_index *index);

static inline tr_group_segment *tr_group_index_segment(const tr_group_index *index, uint32_t hash) {
  return index->directory[(uint64_t)(hash << index->shared_bits) << index->depth >> 32];
}

/* Whether it takes one more group before it must grow. */
static inline int tr_group_index_has_room(const tr_group_segment *segment) {
  return segment->count < (segment->mask + 1) / 2;
}

/*
** Sees to a free slot for `hash`; slots may have moved. TR_NO_MEMORY, or TR_TOO_BIG by the account:
** no group has lost its slot.
*/
tr_code tr_group_index_make_room(tr_group_index *index, uint32_t hash, tr_memory_account *account,
                                 tr_error *err);

#endif

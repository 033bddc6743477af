/*
** The growth of the index. New memory is allocated and filled before anything changes.
*/
#include "combine/group_index.h"

#include <string.h>

#include "base/memory.h"

#define FIRST_SLOTS 32
#define FULL_SLOTS 4096
/* A segment of this depth only grows: its hashes hardly differ. */
#define MAX_DEPTH 20

static size_t segment_size(uint32_t slots) {
  return sizeof(tr_group_segment) + slots * sizeof(tr_group_slot);
}

/* An empty segment. */
static tr_code new_segment(tr_group_index *index, uint32_t slots, uint32_t depth,
                           tr_memory_account *account, tr_group_segment **created, tr_error *err) {
  size_t size = segment_size(slots);
  void *memory = NULL;
  tr_code code = index->arena == NULL ? tr_memory_account_take(account, size, err)
                                      : tr_group_arena_take(index->arena, size, &memory, err);
  if (code != TR_OK) return code;
  if (index->arena == NULL) memory = tr_malloc(size);
  if (memory == NULL) {
    account->used -= size;
    return tr_error_no_memory(err);
  }
  *created = memset(memory, 0, size);
  (*created)->mask = slots - 1;
  (*created)->depth = depth;
  return TR_OK;
}

static void free_segment(tr_group_index *index, tr_group_segment *segment,
                         tr_memory_account *account) {
  size_t size = segment_size(segment->mask + 1);
  if (index->arena != NULL) {
    tr_group_arena_give_back(index->arena, segment, size);
    return;
  }
  account->used -= size;
  tr_free(segment);
}

static void put_slot(tr_group_segment *segment, tr_group_slot slot) {
  uint32_t i = slot.hash & segment->mask;
  while (segment->slots[i].at != 0) i = (i + 1) & segment->mask;
  segment->slots[i] = slot;
  segment->count++;
}

tr_code tr_group_index_init(tr_group_index *index, int shared_bits, tr_memory_account *account,
                            tr_group_arena *arena, tr_error *err) {
  size_t size = sizeof *index->directory;
  tr_code code = tr_memory_account_take(account, size, err);
  if (code != TR_OK) return code;
  *index =
      (tr_group_index){.directory = tr_malloc(size), .shared_bits = shared_bits, .arena = arena};
  if (index->directory == NULL) {
    account->used -= size;
    return tr_error_no_memory(err);
  }
  code = new_segment(index, FIRST_SLOTS, 0, account, &index->directory[0], err);
  if (code == TR_OK) return TR_OK;
  account->used -= size;
  tr_free(index->directory);
  index->directory = NULL;
  return code;
}

void tr_group_index_free(tr_group_index *index) {
  if (index->directory == NULL) return;
  size_t entries = (size_t)1 << index->depth;
  for (size_t i = 0; i < entries && index->arena == NULL;) {
    tr_group_segment *segment = index->directory[i];
    i += entries >> segment->depth;
    tr_free(segment);
  }
  tr_free(index->directory);
  index->directory = NULL;
}

/*
** Puts `segment` into all directory entries for hashes that share their first `segment->depth` bits
** with `hash`.
*/
static void point_to(tr_group_index *index, tr_group_segment *segment, uint32_t hash) {
  size_t entries = (size_t)1 << (index->depth - segment->depth);
  size_t first = (size_t)((uint64_t)(hash << index->shared_bits) << segment->depth >> 32) * entries;
  for (size_t i = 0; i < entries; i++) index->directory[first + i] = segment;
}

/* Replaces the segment of `hash` by one with twice as many slots. */
static tr_code grow(tr_group_index *index, tr_group_segment *old, uint32_t hash,
                    tr_memory_account *account, tr_error *err) {
  uint32_t slots = old->mask + 1;
  tr_group_segment *segment;
  tr_code code = new_segment(index, 2 * slots, old->depth, account, &segment, err);
  if (code != TR_OK) return code;
  for (uint32_t i = 0; i < slots; i++) {
    if (old->slots[i].at != 0) put_slot(segment, old->slots[i]);
  }
  point_to(index, segment, hash);
  free_segment(index, old, account);
  return TR_OK;
}

static tr_code double_directory(tr_group_index *index, tr_memory_account *account, tr_error *err) {
  size_t entries = (size_t)1 << index->depth, size = entries * sizeof *index->directory;
  tr_code code = tr_memory_account_take(account, size, err);
  if (code != TR_OK) return code;
  tr_group_segment **directory = tr_malloc(2 * size);
  if (directory == NULL) {
    account->used -= size;
    return tr_error_no_memory(err);
  }
  for (size_t i = 0; i < 2 * entries; i++) directory[i] = index->directory[i / 2];
  tr_free(index->directory);
  index->directory = directory;
  index->depth++;
  return TR_OK;
}

/* Replaces the segment of `hash` by two, one for each value of the next bit. */
static tr_code split(tr_group_index *index, tr_group_segment *old, uint32_t hash,
                     tr_memory_account *account, tr_error *err) {
  uint32_t slots = old->mask + 1;
  tr_group_segment *zero, *one;
  tr_code code = old->depth == index->depth ? double_directory(index, account, err) : TR_OK;
  if (code == TR_OK) code = new_segment(index, slots, old->depth + 1, account, &zero, err);
  if (code != TR_OK) return code;
  code = new_segment(index, slots, old->depth + 1, account, &one, err);
  if (code != TR_OK) {
    free_segment(index, zero, account);
    return code;
  }
  uint32_t bit = UINT32_C(1) << (31 - (uint32_t)index->shared_bits - old->depth);
  for (uint32_t i = 0; i < slots; i++) {
    tr_group_slot slot = old->slots[i];
    if (slot.at != 0) put_slot(slot.hash & bit ? one : zero, slot);
  }
  point_to(index, zero, hash & ~bit);
  point_to(index, one, hash | bit);
  free_segment(index, old, account);
  return TR_OK;
}

tr_code tr_group_index_make_room(tr_group_index *index, uint32_t hash, tr_memory_account *account,
                                 tr_error *err) {
  for (;;) {
    tr_group_segment *segment = tr_group_index_segment(index, hash);
    if (tr_group_index_has_room(segment)) return TR_OK;
    int is_to_split = segment->mask + 1 >= FULL_SLOTS && segment->depth < MAX_DEPTH;
    tr_code code = is_to_split ? split(index, segment, hash, account, err)
                               : grow(index, segment, hash, account, err);
    if (code != TR_OK) return code;
  }
}

/*
** Growth of the index. Whatever is new is allocated and filled before anything is changed.
*/
#include "combine/group_index.h"

#include <string.h>

#include "base/memory.h"

#define FIRST_SLOTS 32
#define FULL_SLOTS 4096
/* A segment that may not split further (hashes that hardly differ) just grows on. */
#define MAX_DEPTH 20

/* The part of a limit that an account may have in hand. */
#define LEASES_OF_LIMIT 8192
#define LEAST_LEASE 1024

/* 1 if the budget has it. */
static int lease(tr_memory_budget *budget, uint64_t size) {
  uint64_t leased = atomic_load_explicit(&budget->leased, memory_order_relaxed);
  do {
    if (leased > budget->limit || size > budget->limit - leased) return 0;
  } while (!atomic_compare_exchange_weak(&budget->leased, &leased, leased + size));
  return 1;
}

static tr_code take_from_budget(tr_memory_account *account, uint64_t more, tr_error *err) {
  tr_memory_budget *budget = account->budget;
  uint64_t need = account->used + more - account->leased, extra = budget->limit / LEASES_OF_LIMIT;
  if (extra < LEAST_LEASE) extra = 0;
  if (lease(budget, need + extra)) {
    account->leased += need + extra;
  } else if (lease(budget, need)) {
    account->leased += need;
  } else {
    return tr_error_set(err, TR_TOO_BIG, "the groups need more than the limit of %llu bytes",
                        (unsigned long long)budget->limit);
  }
  account->used += more;
  return TR_OK;
}

tr_code tr_memory_account_take(tr_memory_account *account, uint64_t more, tr_error *err) {
  if (account->budget->limit != 0 && account->used + more > account->leased) {
    return take_from_budget(account, more, err);
  }
  account->used += more;
  return TR_OK;
}

void tr_memory_account_close(tr_memory_account *account) {
  atomic_fetch_sub(&account->budget->leased, account->leased);
  account->used = account->leased = 0;
}

static size_t segment_size(uint32_t slots) {
  return sizeof(tr_group_segment) + slots * sizeof(tr_group_slot);
}

static tr_group_segment *new_segment(uint32_t slots, uint32_t depth) {
  tr_group_segment *segment = tr_malloc(segment_size(slots));
  if (segment == NULL) return NULL;
  memset(segment, 0, segment_size(slots));
  segment->mask = slots - 1;
  segment->depth = depth;
  return segment;
}

static void put_slot(tr_group_segment *segment, tr_group_slot slot) {
  uint32_t i = slot.hash & segment->mask;
  while (segment->slots[i].at != 0) i = (i + 1) & segment->mask;
  segment->slots[i] = slot;
  segment->count++;
}

/* What was taken from the account and could not be allocated. */
static tr_code give_back(tr_memory_account *account, uint64_t size, tr_error *err) {
  account->used -= size;
  return tr_error_no_memory(err);
}

tr_code tr_group_index_init(tr_group_index *index, int shared_bits, tr_memory_account *account,
                            tr_error *err) {
  size_t size = sizeof *index->directory + segment_size(FIRST_SLOTS);
  tr_code code = tr_memory_account_take(account, size, err);
  if (code != TR_OK) return code;
  *index = (tr_group_index){.directory = tr_malloc(sizeof *index->directory),
                            .shared_bits = shared_bits};
  if (index->directory != NULL) index->directory[0] = new_segment(FIRST_SLOTS, 0);
  if (index->directory == NULL || index->directory[0] == NULL) {
    tr_free(index->directory);
    index->directory = NULL;
    return give_back(account, size, err);
  }
  return TR_OK;
}

void tr_group_index_free(tr_group_index *index) {
  if (index->directory == NULL) return;
  size_t entries = (size_t)1 << index->depth;
  for (size_t i = 0; i < entries;) {
    tr_group_segment *segment = index->directory[i];
    i += entries >> segment->depth;
    tr_free(segment);
  }
  tr_free(index->directory);
  index->directory = NULL;
}

/* Puts `segment` wherever the directory has hashes that begin like `hash`, in `segment->depth` bits. */
static void point_to(tr_group_index *index, tr_group_segment *segment, uint32_t hash) {
  size_t entries = (size_t)1 << (index->depth - segment->depth);
  size_t first = (size_t)((uint64_t)(hash << index->shared_bits) << segment->depth >> 32) * entries;
  for (size_t i = 0; i < entries; i++) index->directory[first + i] = segment;
}

/* Replaces the segment of `hash` by one of twice the slots. */
static tr_code grow(tr_group_index *index, tr_group_segment *old, uint32_t hash,
                    tr_memory_account *account, tr_error *err) {
  uint32_t slots = old->mask + 1;
  tr_code code = tr_memory_account_take(account, slots * sizeof(tr_group_slot), err);
  if (code != TR_OK) return code;
  tr_group_segment *segment = new_segment(2 * slots, old->depth);
  if (segment == NULL) return give_back(account, slots * sizeof(tr_group_slot), err);
  for (uint32_t i = 0; i < slots; i++) {
    if (old->slots[i].at != 0) put_slot(segment, old->slots[i]);
  }
  point_to(index, segment, hash);
  tr_free(old);
  return TR_OK;
}

static tr_code double_directory(tr_group_index *index, tr_memory_account *account, tr_error *err) {
  size_t entries = (size_t)1 << index->depth;
  tr_code code = tr_memory_account_take(account, entries * sizeof *index->directory, err);
  if (code != TR_OK) return code;
  tr_group_segment **directory = tr_malloc(2 * entries * sizeof *directory);
  if (directory == NULL) return give_back(account, entries * sizeof *directory, err);
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
  tr_code code = old->depth == index->depth ? double_directory(index, account, err) : TR_OK;
  if (code == TR_OK) code = tr_memory_account_take(account, segment_size(slots), err);
  if (code != TR_OK) return code;
  tr_group_segment *zero = new_segment(slots, old->depth + 1);
  tr_group_segment *one = new_segment(slots, old->depth + 1);
  if (zero == NULL || one == NULL) {
    tr_free(zero);
    tr_free(one);
    return give_back(account, segment_size(slots), err);
  }
  uint32_t bit = UINT32_C(1) << (31 - (uint32_t)index->shared_bits - old->depth);
  for (uint32_t i = 0; i < slots; i++) {
    tr_group_slot slot = old->slots[i];
    if (slot.at != 0) put_slot(slot.hash & bit ? one : zero, slot);
  }
  point_to(index, zero, hash & ~bit);
  point_to(index, one, hash | bit);
  tr_free(old);
  return TR_OK;
}

static int has_room(const tr_group_segment *segment) {
  return segment->count < (segment->mask + 1) / 4 * 3;
}

tr_code tr_group_index_make_room(tr_group_index *index, uint32_t hash, tr_memory_account *account,
                                 tr_error *err) {
  for (;;) {
    tr_group_segment *segment = tr_group_index_segment(index, hash);
    if (has_room(segment)) return TR_OK;
    int is_to_split = segment->mask + 1 >= FULL_SLOTS && segment->depth < MAX_DEPTH;
    tr_code code = is_to_split ? split(index, segment, hash, account, err)
                               : grow(index, segment, hash, account, err);
    if (code != TR_OK) return code;
  }
}

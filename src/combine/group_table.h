/*
** Groups and their accumulators: a hash table from keys (tuples of values) to the states of combine
** functions. Most callers want grouping.h instead, which uses many such tables if there are many
** groups.
**
** Memory. A group takes 8 bytes, its key in whole words of 8 (one word for an integer or a text of
** up to 7 bytes), the states of its accumulators, and 16 to 32 bytes of index. All of that is taken
** from a tr_memory_account; under a limit so is what the states own. A row that would exceed the
** limit fails with TR_TOO_BIG.
**
** Thread-safety: a table belongs to one thread at a time. Many threads may read a table that nobody
** changes; tr_group_table_merge_group only reads the table that its group is in. An account belongs
** to the thread of its tables.
*/
#ifndef TR_COMBINE_GROUP_TABLE_H
#define TR_COMBINE_GROUP_TABLE_H

#include "combine/combine.h"
#include "combine/group_arena.h"
#include "combine/group_index.h"
#include "combine/group_key.h"

/* One aggregate: a bound function, and which inputs of a row are its arguments. */
typedef struct tr_group_aggregate {
  tr_combine combine;
  int inputs[TR_COMBINE_MAX_ARGUMENTS]; /* for each argument; any number if that is no input */
} tr_group_aggregate;

/* What all groups have in common. All pointers are borrowed and must outlive the tables. */
typedef struct tr_group_shape {
  int key_count; /* 0: one group of all rows */
  const tr_collation *collations;
  int aggregate_count;
  const tr_group_aggregate *aggregates;
  int input_count;           /* values of a row besides its key */
  uint64_t seed;             /* for the hash; must be unknown to whoever wrote the data */
  uint64_t memory_limit;     /* bytes; 0: none */
  tr_group_reserve *reserve; /* memory of earlier groupings; NULL: none */
} tr_group_shape;

typedef struct tr_group_table tr_group_table;

/* A group. It lives as long as its table, and never moves. */
typedef struct tr_group tr_group;

/*
** Creates a table for groups whose hashes share their first `shared_bits` bits. Its memory is taken
** from `account`. With an `arena`, which must outlive the table, the groups are taken from that
** instead. TR_NO_MEMORY, TR_TOO_BIG.
*/
tr_code tr_group_table_create(const tr_group_shape *shape, int shared_bits,
                              tr_memory_account *account, tr_group_arena *arena,
                              tr_group_table **table, tr_error *err);

/*
** The group of a row; it is created if there is none. TR_NO_MEMORY, TR_TOO_BIG: the table is
** unchanged.
*/
tr_code tr_group_table_find_or_add(tr_group_table *table, const tr_group_row *row, tr_group **group,
                                   tr_error *err);

/* The group of a row, or NULL. */
const tr_group *tr_group_table_find(const tr_group_table *table, const tr_group_row *row);

/* The most rows that are added together. */
#define TR_GROUP_ROWS 256

/*
** Adds the inputs of `count` rows to the accumulators of their groups, in this order. The inputs of
** a row lie `stride` values after those of the row before. Without keys there is only one group,
** and only groups[0] is read. Text and BLOBs are borrowed for the call. TR_TOO_BIG, and the errors
** of add_input: a row may then be in some accumulators and not in others, so the table may only be
** freed.
*/
tr_code tr_group_table_add_rows(tr_group_table *table, tr_group *const *groups,
                                const tr_value *inputs, size_t stride, int count, tr_error *err);

/*
** `row` is a row of `group`. Notes whether its key looks different from the group's (1.0 instead of
** 1). This matters if rows do not arrive in the order of the source: then another row may have to
** give the key. Merging notes it too.
*/
void tr_group_table_compare_looks(tr_group_table *table, const tr_group *group,
                                  const tr_group_row *row);
int tr_group_table_has_looks(const tr_group_table *table);

/*
** Whether the keys of all groups give their values back unchanged. A row with such a key cannot
** look different from its group.
*/
int tr_group_table_is_plain(const tr_group_table *table);

/*
** Looks up at most TR_GROUP_ROWS rows together. It prefetches first the slots of all rows and then
** their groups, so that these are in the cache when tr_group_has_key reads them. groups[i] becomes
** the first group with the hash of row i, or NULL.
*/
void tr_group_table_look_up(const tr_group_table *table, const tr_group_row *rows, int count,
                            tr_group **groups);

/* Whether the group has the row's key. */
static inline int tr_group_has_key(const tr_group *group, const uint8_t *key, uint32_t size);

/* Whether the group has a key of one word, `word`, that needs no exact form. */
static inline int tr_group_has_plain_key(const tr_group *group, uint64_t word);

static inline uint32_t tr_group_hash(const tr_group *group);

/*
** Adds a group of another table of the same shape. That table does not change. A new group takes
** over the key as `group` shows it; a group that is already there keeps its own. Errors: as
** tr_group_table_add_rows.
*/
tr_code tr_group_table_merge_group(tr_group_table *table, const tr_group *group, tr_error *err);

size_t tr_group_table_count(const tr_group_table *table);

/* The bytes taken from the account. What accumulators own is included only if there is a limit. */
uint64_t tr_group_table_memory(const tr_group_table *table);

/*
** A position among all groups, which are in the order in which they were first seen. All zeros are
** the start.
*/
typedef struct tr_group_table_cursor {
  const uint8_t *at, *end; /* in a chunk of groups */
  size_t states_size;
  size_t chunk; /* the number of the next chunk; 0: at the start */
} tr_group_table_cursor;

/* The next group; NULL after the last. */
static inline const tr_group *tr_group_table_next(const tr_group_table *table,
                                                  tr_group_table_cursor *cursor);

/* The value of key field `field` as in the group's first row. Its bytes belong to the group. */
tr_value tr_group_key_field(const tr_group *group, int field);

/* A 64-bit hash of the group's key. It depends only on the key and the seed. */
uint64_t tr_group_identity(const tr_group *group, uint64_t seed);

/*
** The offset of the state of aggregate number `aggregate` from tr_group_states. It is the same in
** all groups of a shape.
*/
size_t tr_group_state_offset(const tr_group_shape *shape, int aggregate);
static inline uint8_t *tr_group_states(const tr_group *group);

/* Frees everything, states included, but returns nothing to the account. NULL is fine. */
void tr_group_table_free(tr_group_table *table);

/* --- what is inline ------------------------------------------------------------------------- */

/*
** The head of a group: one word for nearly all of them. If the key is very long, has an exact form,
** or has a REAL to be shown, a tr_group_extra with its sizes follows.
*/
struct tr_group {
  uint32_t hash;
  uint16_t key_words;   /* of the canonical form; 0 if there is an extra */
  uint16_t extra_words; /* of the extra; 0 if there is none */
};

typedef struct tr_group_extra {
  uint32_t key_size;
  uint32_t exact_size; /* 0: the key gives the values back */
  uint32_t real_fields;
  uint32_t unused;
} tr_group_extra;

static inline const tr_group_extra *tr_group_extra_of(const tr_group *group) {
  return group->extra_words == 0 ? NULL : (const tr_group_extra *)(const void *)(group + 1);
}

static inline const uint8_t *tr_group_key(const tr_group *group) {
  return (const uint8_t *)(group + 1) + group->extra_words * (size_t)8;
}

static inline uint32_t tr_group_key_size(const tr_group *group) {
  const tr_group_extra *extra = tr_group_extra_of(group);
  return extra == NULL ? group->key_words * (uint32_t)8 : extra->key_size;
}

static inline uint8_t *tr_group_states(const tr_group *group) {
  const tr_group_extra *extra = tr_group_extra_of(group);
  size_t exact_size = extra == NULL ? 0 : extra->exact_size;
  return (uint8_t *)(uintptr_t)tr_group_key(group) + tr_group_key_size(group) + exact_size;
}

static inline uint32_t tr_group_hash(const tr_group *group) {
  return group->hash;
}

static inline int tr_group_has_key(const tr_group *group, const uint8_t *key, uint32_t size) {
  if (tr_group_key_size(group) != size) return 0;
  const uint8_t *stored = tr_group_key(group);
  for (uint32_t i = 0; i < size; i += 8) {
    uint64_t a, b;
    memcpy(&a, stored + i, sizeof a);
    memcpy(&b, key + i, sizeof b);
    if (a != b) return 0;
  }
  return 1;
}

/* How far ahead to prefetch while all groups are visited, in bytes. */
#define TR_GROUPS_AHEAD 1024

/* The next group of the cursor's chunk, which must have one. */
static inline const tr_group *tr_group_table_step(tr_group_table_cursor *cursor) {
  const tr_group *group = (const tr_group *)(const void *)cursor->at;
  tr_prefetch(cursor->at + TR_GROUPS_AHEAD);
  tr_prefetch(cursor->at + TR_GROUPS_AHEAD + TR_LINE);
  cursor->at = tr_group_states(group) + cursor->states_size;
  return group;
}

/* Goes to the next chunk. 1: there is one; 0: there is none. */
int tr_group_table_open_chunk(const tr_group_table *table, tr_group_table_cursor *cursor);

static inline const tr_group *tr_group_table_next(const tr_group_table *table,
                                                  tr_group_table_cursor *cursor) {
  if (cursor->at == cursor->end && !tr_group_table_open_chunk(table, cursor)) return NULL;
  return tr_group_table_step(cursor);
}

static inline int tr_group_has_plain_key(const tr_group *group, uint64_t word) {
  uint64_t stored;
  if (group->key_words != 1 || group->extra_words != 0) return 0;
  memcpy(&stored, group + 1, sizeof stored);
  return stored == word;
}

#endif

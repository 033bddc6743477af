/*
** Groups and their accumulators: a hash table from keys (tuples of values) to the states of combine
** functions. This is one table; grouping.h, which most callers want, makes many of it when there
** are many groups.
**
** Memory. A group takes 8 bytes, its key in whole words of 8 (one for an integer or a text of up to
** 7 bytes), the states of its accumulators, and 16 to 32 bytes of index; what states own themselves
** comes on top. All of it is taken from a tr_memory_account; a row that would exceed its limit
** fails with TR_TOO_BIG.
**
** Thread-safety: a table belongs to one thread at a time; tables that nobody changes may be read by
** many (tr_group_table_merge_group reads one of a group's). An account belongs to the thread of its
** tables.
*/
#ifndef TR_COMBINE_GROUP_TABLE_H
#define TR_COMBINE_GROUP_TABLE_H

#include "combine/combine.h"
#include "combine/group_arena.h"
#include "combine/group_index.h"
#include "combine/group_key.h"

/* One aggregate: a bound function, and which of the row's inputs are its arguments. */
typedef struct tr_group_aggregate {
  tr_combine combine;
  int inputs[TR_COMBINE_MAX_ARGUMENTS]; /* by argument; any number where it is no input */
} tr_group_aggregate;

/*
** What all groups have in common. All pointers are borrowed: what they point to must outlive the
** tables.
*/
typedef struct tr_group_shape {
  int key_count; /* 0: one group of all rows */
  const tr_collation *collations;
  int aggregate_count;
  const tr_group_aggregate *aggregates;
  int input_count;           /* values of a row besides its key */
  uint64_t seed;             /* of the hash: something that whoever wrote the data cannot know */
  uint64_t memory_limit;     /* bytes; 0: none */
  tr_group_reserve *reserve; /* of memory from groupings before; NULL: none */
} tr_group_shape;

typedef struct tr_group_table tr_group_table;

/* A group, in its table until that is freed; it never moves. */
typedef struct tr_group tr_group;

/*
** A table of groups whose hashes have their first `shared_bits` bits in common. Its memory is taken
** from `account`, but for the groups themselves if there is an `arena`, which must outlive it.
** TR_NO_MEMORY, TR_TOO_BIG.
*/
tr_code tr_group_table_create(const tr_group_shape *shape, int shared_bits,
                              tr_memory_account *account, tr_group_arena *arena,
                              tr_group_table **table, tr_error *err);

/* The group of a row, made if it is not there. TR_NO_MEMORY, TR_TOO_BIG: the table is as it was. */
tr_code tr_group_table_find_or_add(tr_group_table *table, const tr_group_row *row, tr_group **group,
                                   tr_error *err);

/* The group of a row, or NULL. */
const tr_group *tr_group_table_find(const tr_group_table *table, const tr_group_row *row);

/* Rows that are added together, at most. */
#define TR_GROUP_ROWS 256

/*
** Adds the inputs of `count` rows, each `stride` values behind the one before, to the accumulators
** of their groups, in that order; bytes are borrowed for the call. TR_TOO_BIG, and what add_input
** gives; then a row is in some accumulators and not in others, and the table good for nothing but
** to be freed.
*/
tr_code tr_group_table_add_rows(tr_group_table *table, tr_group *const *groups,
                                const tr_value *inputs, size_t stride, int count, tr_error *err);

/*
** Notes whether `row`, which was found to be of `group`, would show its key in another way (1.0 in
** place of 1): where the rows of a group do not come in their order, that matters. Merging notes
** it, too.
*/
void tr_group_table_compare_looks(tr_group_table *table, const tr_group *group,
                                  const tr_group_row *row);
int tr_group_table_has_looks(const tr_group_table *table);

/*
** Whether the keys of all groups give the values back as they are: a row of which that is true,
** too, cannot look different.
*/
int tr_group_table_is_plain(const tr_group_table *table);

/*
** Looks at most TR_GROUP_ROWS rows up together: first the slots of all are asked for, and then the
** groups that stand there, so that the cache has them when tr_group_has_key looks. groups[i] is the
** first one of the hash of row i, or NULL.
*/
void tr_group_table_look_up(const tr_group_table *table, const tr_group_row *rows, int count,
                            tr_group **groups);

/* Whether the group has the row's key. */
static inline int tr_group_has_key(const tr_group *group, const uint8_t *key, uint32_t size);

/*
** Whether it has the key `word`, which is a whole one, and shows it as that says, without an exact
** form.
*/
static inline int tr_group_has_plain_key(const tr_group *group, uint64_t word);

static inline uint32_t tr_group_hash(const tr_group *group);

/*
** Adds a group of another table of the same shape, which stays as it is. A new group shows as its
** key what `group` shows; an old one keeps its own. Errors as for tr_group_table_add_rows.
*/
tr_code tr_group_table_merge_group(tr_group_table *table, const tr_group *group, tr_error *err);

size_t tr_group_table_count(const tr_group_table *table);

/* Bytes taken from the account, what accumulators own among them only under a limit. */
uint64_t tr_group_table_memory(const tr_group_table *table);

/* All groups, in the order in which they were first seen. All zero is the beginning. */
typedef struct tr_group_table_cursor {
  const uint8_t *at, *end; /* in a chunk of groups */
  size_t states_size;
  size_t chunk; /* the one that comes after that; 0: no group was asked for */
} tr_group_table_cursor;

/* NULL behind the last. */
static inline const tr_group *tr_group_table_next(const tr_group_table *table,
                                                  tr_group_table_cursor *cursor);

/* The value of key field `field` as the group's first row had it; bytes lie in the group. */
tr_value tr_group_key_field(const tr_group *group, int field);

/* A number for the group that depends on its key and the seed alone: its hash in 64 bits. */
uint64_t tr_group_identity(const tr_group *group, uint64_t seed);

/*
** Where the state of aggregate number `aggregate` is, in bytes behind tr_group_states, in all
** groups of a shape.
*/
size_t tr_group_state_offset(const tr_group_shape *shape, int aggregate);
static inline uint8_t *tr_group_states(const tr_group *group);

/* Frees all, states included; gives nothing back to the account. NULL is fine. */
void tr_group_table_free(tr_group_table *table);

/* --- what is inline ------------------------------------------------------------------------- */

/*
** The head of a group, one word for nearly all of them. Where the key is very long, or has an exact
** form or a REAL to be shown, the numbers are in a tr_group_extra behind the head.
*/
struct tr_group {
  uint32_t hash;
  uint16_t key_words;   /* of the canonical form; 0 if there is an extra */
  uint16_t extra_words; /* of the extra: 0 if there is none */
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

/* How far ahead memory is asked for where groups are visited one after another, in bytes. */
#define TR_GROUPS_AHEAD 1024

/* The next group of a cursor's chunk, which has one. */
static inline const tr_group *tr_group_table_step(tr_group_table_cursor *cursor) {
  const tr_group *group = (const tr_group *)(const void *)cursor->at;
  tr_prefetch(cursor->at + TR_GROUPS_AHEAD);
  tr_prefetch(cursor->at + TR_GROUPS_AHEAD + TR_LINE);
  cursor->at = tr_group_states(group) + cursor->states_size;
  return group;
}

/* Goes to the next chunk: 1; 0: there is none. */
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

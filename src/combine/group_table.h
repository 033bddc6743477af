/*
** The groups of a GROUP BY: a hash table from keys (tuples of values) to accumulators.
**
**   tr_group_table_create, tr_group_table_add for every row, tr_group_table_flush; then
**   for (tr_group_cursor c = {0}; (g = tr_group_table_next(table, &c)) != NULL;) ... ; free.
**
** Memory. A group takes 16 bytes, its key in whole words of 8 (one for an integer or a text of up to
** 7 bytes), the states of its accumulators, and 11 to 18 bytes of index; what states own themselves comes
** on top. tr_group_table_memory counts all of it, and a limit is kept to the chunk: a row that
** would exceed it fails with TR_TOO_BIG, and the table stays as it was.
**
** Parallel use. Each thread fills its own table; tables of one shape (seed included) are then merged:
** part i of n holds the groups whose hash falls into the i-th n-th, so n threads can merge one part
** each of all tables into n new ones, and none waits for another.
**
** Thread-safety: a table belongs to one thread at a time; tables that nobody changes may be read by
** many (tr_group_table_merge reads `from`).
*/
#ifndef TR_COMBINE_GROUP_TABLE_H
#define TR_COMBINE_GROUP_TABLE_H

#include "combine/combine.h"
#include "combine/group_key.h"

/* One aggregate: a bound function, and which of the row's inputs are its arguments. */
typedef struct tr_group_aggregate {
  tr_combine combine;
  int inputs[TR_COMBINE_MAX_ARGUMENTS]; /* by argument; any number where it is no input */
} tr_group_aggregate;

/* What all groups have in common. The arrays are borrowed: they must outlive the table. */
typedef struct tr_group_shape {
  int key_count; /* 0: one group of all rows */
  const tr_collation *collations;
  int aggregate_count;
  const tr_group_aggregate *aggregates;
  int input_count;       /* values of a row besides its key */
  uint64_t seed;         /* of the hash: something that whoever wrote the data cannot know */
  uint64_t memory_limit; /* bytes; 0: none */
} tr_group_shape;

typedef struct tr_group_table tr_group_table;

/* A group, in the table until that is freed; it never moves. */
typedef struct tr_group tr_group;

/* TR_NO_MEMORY, TR_TOO_BIG. */
tr_code tr_group_table_create(const tr_group_shape *shape, tr_group_table **table, tr_error *err);

/*
** Adds one row: `keys` are its key_count values, `inputs` its input_count ones; bytes are borrowed for
** the call. Rows may wait in the table until tr_group_table_flush, so that an error of a row can be
** told at a later one; the row it belongs to is then not in all of the group's accumulators, and the
** table good for nothing but to be freed. TR_NO_MEMORY, TR_TOO_BIG (the limit), and what
** add_input gives.
*/
tr_code tr_group_table_add(tr_group_table *table, const tr_value *keys, const tr_value *inputs,
                           tr_error *err);

/* Adds the rows that wait. To be called before anything below; errors as above. */
tr_code tr_group_table_flush(tr_group_table *table, tr_error *err);

/* Makes the one group of a shape without keys, where there was no row. */
tr_code tr_group_table_ensure_one(tr_group_table *table, tr_error *err);

/*
** Adds the groups of part `part` of `parts` (a power of two, at most 2^16) of `from`, which has the
** same shape and stays as it is. What a new group shows as its key is what `from` showed; an old one
** keeps its own. Errors as for add; then `table` is good for nothing but to be freed.
*/
tr_code tr_group_table_merge(tr_group_table *table, const tr_group_table *from, unsigned part,
                             unsigned parts, tr_error *err);

size_t tr_group_table_count(const tr_group_table *table);

/* Bytes in use, those that accumulators own included. */
uint64_t tr_group_table_memory(const tr_group_table *table);

/* All groups, in the order in which they were first seen. All zero is the beginning. */
typedef struct tr_group_cursor {
  size_t chunk;
  size_t offset;
} tr_group_cursor;

/* NULL behind the last. */
const tr_group *tr_group_table_next(const tr_group_table *table, tr_group_cursor *cursor);

/* The value of key field `field` as the group's first row had it; bytes lie in the table. */
tr_value tr_group_key_field(const tr_group_table *table, const tr_group *group, int field);

/* The state of aggregate number `aggregate`. */
const void *tr_group_state(const tr_group_table *table, const tr_group *group, int aggregate);

/* Frees all, states included. NULL is fine. */
void tr_group_table_free(tr_group_table *table);

#endif

/*
** GROUP BY in memory: rows go in, groups with their accumulators come out.
**
**   tr_grouping_create, tr_grouping_add_rows for all rows, tr_grouping_flush; then
**   for (tr_grouping_cursor c = {0}; tr_grouping_next(grouping, &c, &g, err) == 1;) ... ; free.
**
** Few groups are one table (group_table.h), which the processor's caches hold. Past a few megabytes
** each row would wait for the main memory, so the table is then cut into 64 parts by hash, and rows
** wait in the buffer of their part until that is full and is worked off at once, with its part in
** the caches. Nothing is ever hashed anew as a whole.
**
** Memory is what group_table.h says of groups, and for large groupings buffers of 448 KiB beside
** each part, or of less where many threads have some; under a limit all of them together take an
** eighth of that at most. All is counted.
**
** Parallel use. Each thread fills its own grouping; those of one shape (seed included) are then
** merged. Groupings that were made over shared parts do most of that as they go: the parts that one
** of them is cut into are the same for all, so that many groups take memory once, and each thread
** adds a buffer full of rows to a part at a time, under that part's lock.
**
** Thread-safety: a grouping belongs to one thread at a time; those that nobody changes may be read
** by many (tr_grouping_merge reads `from`).
*/
#ifndef TR_COMBINE_GROUPING_H
#define TR_COMBINE_GROUPING_H

#include "combine/group_table.h"

typedef struct tr_grouping tr_grouping;

/* `shape` is borrowed, and what it points to. TR_NO_MEMORY, TR_TOO_BIG. */
tr_code tr_grouping_create(const tr_group_shape *shape, tr_grouping **grouping, tr_error *err);

/* What several groupings share: the parts that large ones are cut into, and the limit of memory. */
typedef struct tr_group_parts tr_group_parts;

/*
** Parts for at most `most` groupings, which divide the memory for waiting rows between them.
** `shape` is borrowed, and what it points to. TR_NO_MEMORY.
*/
tr_code tr_group_parts_create(const tr_group_shape *shape, int most, tr_group_parts **parts,
                              tr_error *err);
void tr_group_parts_free(tr_group_parts *parts); /* after its groupings; NULL is fine */

/* From any thread: whoever adds rows to the parts soon ends with TR_INTERRUPTED. */
void tr_group_parts_stop(tr_group_parts *parts);

/* A grouping over shared parts. Errors as above. */
tr_code tr_grouping_create_shared(tr_group_parts *parts, tr_grouping **grouping, tr_error *err);

/*
** For when no grouping over the parts gets any more rows: adds the rows that wait, but for those
** that may be late (see tr_grouping_join), and if any of the groupings was cut, moves what this one
** has to the parts, too. To be called for each; several threads may do so for theirs at a time.
*/
tr_code tr_grouping_finish(tr_grouping *grouping, tr_error *err);

/*
** After that: makes `grouping`, whose parts it owns from then on, the one that has the groups of
** all `others`, which are its own to free from then on, whatever is returned.
**
** Rows may still wait in it, and are then added when their groups are asked for: by
** tr_grouping_next, which may fail for that reason, or all at once by tr_grouping_flush.
*/
tr_code tr_grouping_join(tr_grouping *grouping, tr_grouping *const *others, int count,
                         tr_error *err);

/* Whether rows may wait in it after joining. */
int tr_grouping_is_late(const tr_grouping *grouping);

/*
** Has threads add such rows from now on: as many as there were `others`, or as the system gives.
** They end when all were added, or tr_grouping_free ends them. Nothing happens where no rows wait.
*/
void tr_grouping_start_helpers(tr_grouping *grouping);

/* Whether equal keys were met that look different (1 and 1.0), by merging or in shared parts. */
int tr_grouping_has_looks(const tr_grouping *grouping);

/*
** Adds `count` rows, at most TR_GROUP_ROWS. `keys` are the key_count values of the first one,
** `inputs` its input_count ones, and those of the next row lie `stride` values behind; bytes are
** borrowed for the call. Rows may wait until tr_grouping_flush, so that an error of a row can be
** told at a later one; after any error the grouping is good for nothing but to be freed.
** TR_NO_MEMORY, TR_TOO_BIG (the limit), and what add_input gives.
*/
tr_code tr_grouping_add_rows(tr_grouping *grouping, const tr_value *keys, const tr_value *inputs,
                             size_t stride, int count, tr_error *err);
static inline tr_code tr_grouping_add(tr_grouping *grouping, const tr_value *keys,
                                      const tr_value *inputs, tr_error *err) {
  return tr_grouping_add_rows(grouping, keys, inputs, 0, 1, err);
}

/*
** Adds the rows that wait. To be called before anything below, but for tr_grouping_next; errors as
** above.
*/
tr_code tr_grouping_flush(tr_grouping *grouping, tr_error *err);

/* Makes the one group of a shape without keys, where there was no row. */
tr_code tr_grouping_ensure_one(tr_grouping *grouping, tr_error *err);

/*
** Adds the groups of `from`, which has the same shape and stays as it is. What a new group shows as
** its key is what `from` showed; an old one keeps its own. Errors as for add.
*/
tr_code tr_grouping_merge(tr_grouping *grouping, const tr_grouping *from, tr_error *err);

size_t tr_grouping_count(const tr_grouping *grouping);

/* Bytes in use. What accumulators own is among them only under a limit. */
uint64_t tr_grouping_memory(const tr_grouping *grouping);

/* All groups: each part's in the order in which they were first seen. All zero is the beginning. */
typedef struct tr_grouping_cursor {
  int part;
  tr_group_table_cursor at;
} tr_grouping_cursor;

/*
** 1: `*group` is the next one. 0: there is none, and it is NULL. -1: late rows could not be added:
** TR_NO_MEMORY, what add_input gives, and TR_INTERRUPTED in a process that was forked since they
** were joined.
*/
static inline int tr_grouping_next(tr_grouping *grouping, tr_grouping_cursor *cursor,
                                   const tr_group **group, tr_error *err);

/*
** The group of a key, which has key_count values; NULL: there is none. Errors as for
** tr_grouping_next, and TR_TOO_BIG for a key over 2 GiB.
*/
tr_code tr_grouping_find(tr_grouping *grouping, const tr_value *key, const tr_group **group,
                         tr_error *err);

/* The state of aggregate number `aggregate`. For the key there is tr_group_key_field. */
const void *tr_grouping_state(const tr_grouping *grouping, const tr_group *group, int aggregate);

/*
** Frees all, states included; nothing in a process that was forked while helpers were at work. NULL
** is fine.
*/
void tr_grouping_free(tr_grouping *grouping);

/* --- what is inline ------------------------------------------------------------------------- */

/* Goes on where the groups at hand have come to an end: 1, 0, -1 as tr_grouping_next has it. */
int tr_grouping_open_chunk(tr_grouping *grouping, tr_grouping_cursor *cursor, tr_error *err);

static inline int tr_grouping_next(tr_grouping *grouping, tr_grouping_cursor *cursor,
                                   const tr_group **group, tr_error *err) {
  int has_next = cursor->at.at != cursor->at.end;
  if (!has_next) has_next = tr_grouping_open_chunk(grouping, cursor, err);
  *group = has_next == 1 ? tr_group_table_step(&cursor->at) : NULL;
  return has_next;
}

#endif

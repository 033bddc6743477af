/*
** GROUP BY in memory: rows go in, groups with their accumulators come out.
**
**   tr_grouping_create, tr_grouping_add_rows for all rows, tr_grouping_flush; then
**   for (tr_grouping_cursor c = {0}; tr_grouping_next(grouping, &c, &g, err) == 1;) ... ; free.
**
** A few groups are one table (group_table.h), which fits the processor's caches. In a table of more
** than a few megabytes each row would wait for main memory. So the table is then cut into 64 parts
** by hash. Each part has a buffer, in which its rows wait. When the buffer is full, all its rows
** are added together, while the part is in the caches. No table is ever rehashed as a whole.
**
** Memory: what group_table.h says of groups. A large grouping also has a buffer of 448 KiB for each
** part, or less if there are many threads. Under a limit all buffers together take at most an
** eighth of it. All memory is counted.
**
** Parallel use. Each thread fills its own grouping. Groupings of the same shape (with the same
** seed) can be merged. Groupings over shared parts do most of that while rows are added: they all
** use the same parts, so many groups take memory only once. A thread adds a buffer full of rows to
** a part at a time, under the lock of that part.
**
** Thread-safety: a grouping belongs to one thread at a time. Many threads may read a grouping that
** nobody changes; tr_grouping_merge only reads `from`.
*/
#ifndef TR_COMBINE_GROUPING_H
#define TR_COMBINE_GROUPING_H

#include "combine/group_table.h"

typedef struct tr_grouping tr_grouping;

/* `shape` and what it points to are borrowed. TR_NO_MEMORY, TR_TOO_BIG (the limit). */
tr_code tr_grouping_create(const tr_group_shape *shape, tr_grouping **grouping, tr_error *err);

/* What several groupings share: the parts that large ones are cut into, and the memory limit. */
typedef struct tr_group_parts tr_group_parts;

/*
** Creates parts for at most `most` groupings, which divide the memory for waiting rows. `shape` and
** what it points to are borrowed. TR_NO_MEMORY.
*/
tr_code tr_group_parts_create(const tr_group_shape *shape, int most, tr_group_parts **parts,
                              tr_error *err);
void tr_group_parts_free(tr_group_parts *parts); /* after its groupings; NULL is fine */

/* From any thread. Threads that add rows to the parts soon fail with TR_INTERRUPTED. */
void tr_group_parts_stop(tr_group_parts *parts);

/* Creates a grouping over shared parts. Errors: as tr_grouping_create. */
tr_code tr_grouping_create_shared(tr_group_parts *parts, tr_grouping **grouping, tr_error *err);

/*
** To be called for each grouping when none over the parts gets any more rows. Adds the rows that
** wait, except those that may be late (see tr_grouping_join). If any of the groupings was cut into
** parts, the groups of this one move there too. Several threads may do this at the same time, each
** for its grouping.
*/
tr_code tr_grouping_finish(tr_grouping *grouping, tr_error *err);

/*
** To be called after that. `grouping` becomes the one that has the groups of all `others`. It owns
** the parts and the `others` from then on, whatever is returned.
**
** Some rows may still wait in it. They are added when their groups are asked for: by
** tr_grouping_next, which may fail for that reason, or all at once by tr_grouping_flush.
*/
tr_code tr_grouping_join(tr_grouping *grouping, tr_grouping *const *others, int count,
                         tr_error *err);

/* Whether rows may still wait in it after tr_grouping_join. */
int tr_grouping_is_late(const tr_grouping *grouping);

/*
** Starts threads that add such rows: as many as there were `others`, or as many as the system
** gives. They end when all rows are added, or when tr_grouping_free ends them. Does nothing if no
** rows wait.
*/
void tr_grouping_start_helpers(tr_grouping *grouping);

/* Whether equal keys that look different (1 and 1.0) were met, by merging or in shared parts. */
int tr_grouping_has_looks(const tr_grouping *grouping);

/*
** Adds `count` rows, at most TR_GROUP_ROWS. `keys` points to the key_count values of the first row
** and `inputs` to its input_count values; neither is NULL, even for no values. The values of the
** next row are `stride` values further on. Text and BLOBs are borrowed for the call. Rows may wait
** until tr_grouping_flush, so an error may come from an earlier row. After any error the grouping
** may only be freed. TR_NO_MEMORY, TR_TOO_BIG (the limit), and the errors of add_input.
*/
tr_code tr_grouping_add_rows(tr_grouping *grouping, const tr_value *keys, const tr_value *inputs,
                             size_t stride, int count, tr_error *err);

/*
** Adds the rows that wait. To be called before all that follows except tr_grouping_next. Errors: as
** tr_grouping_add_rows.
*/
tr_code tr_grouping_flush(tr_grouping *grouping, tr_error *err);

/* Creates the one group of a shape without keys, if there was no row. */
tr_code tr_grouping_ensure_one(tr_grouping *grouping, tr_error *err);

/*
** Adds the groups of `from`, which has the same shape and does not change. A new group takes over
** the key as `from` shows it; a group that is already there keeps its own. Errors: as
** tr_grouping_add_rows.
*/
tr_code tr_grouping_merge(tr_grouping *grouping, const tr_grouping *from, tr_error *err);

size_t tr_grouping_count(const tr_grouping *grouping);

/* Bytes in use. What accumulators own is included only if there is a limit. */
uint64_t tr_grouping_memory(const tr_grouping *grouping);

/*
** A position among all groups. Those of each part are in the order in which they were first seen.
** All zeros are the start.
*/
typedef struct tr_grouping_cursor {
  int part;
  tr_group_table_cursor at;
} tr_grouping_cursor;

/*
** 1: `*group` is the next group. 0: there is none, and `*group` is NULL. -1: late rows could not be
** added: TR_NO_MEMORY, an error of add_input, or TR_INTERRUPTED in a process that was forked after
** tr_grouping_join.
*/
static inline int tr_grouping_next(tr_grouping *grouping, tr_grouping_cursor *cursor,
                                   const tr_group **group, tr_error *err);

/*
** Finds the group of a key of key_count values; NULL if there is none. Errors: as tr_grouping_next,
** and TR_TOO_BIG for a key of more than 2 GiB.
*/
tr_code tr_grouping_find(tr_grouping *grouping, const tr_value *key, const tr_group **group,
                         tr_error *err);

/* The state of aggregate number `aggregate`. tr_group_key_field gives the key. */
const void *tr_grouping_state(const tr_grouping *grouping, const tr_group *group, int aggregate);

/*
** Frees everything, states included. In a process that was forked while helpers were at work it
** frees nothing. NULL is fine.
*/
void tr_grouping_free(tr_grouping *grouping);

/* --- what is inline ------------------------------------------------------------------------- */

/* Goes on after the last group of a chunk. Returns 1, 0 or -1 like tr_grouping_next. */
int tr_grouping_open_chunk(tr_grouping *grouping, tr_grouping_cursor *cursor, tr_error *err);

static inline int tr_grouping_next(tr_grouping *grouping, tr_grouping_cursor *cursor,
                                   const tr_group **group, tr_error *err) {
  int has_next = cursor->at.at != cursor->at.end;
  if (!has_next) has_next = tr_grouping_open_chunk(grouping, cursor, err);
  *group = has_next == 1 ? tr_group_table_step(&cursor->at) : NULL;
  return has_next;
}

#endif

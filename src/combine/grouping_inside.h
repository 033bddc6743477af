/*
** The inside of a grouping, for its three files. grouping.c takes rows in and gives groups out;
** grouping_parts.c does that for a grouping that is cut into parts. grouping_shared.c has what
** several groupings share, and joins them.
*/
#ifndef TR_COMBINE_GROUPING_INSIDE_H
#define TR_COMBINE_GROUPING_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "combine/grouping.h"
#include "combine/waiting_rows.h"

#define TR_PART_BITS 6
#define TR_PARTS (1 << TR_PART_BITS)

/* Rows of a part that are looked up together. */
#define TR_ROWS_TOGETHER 64

typedef struct tr_hash_part {
  tr_group_table *table; /* NULL: it is among the shared parts */
  tr_waiting_rows rows;  /* the last rows, in the grouping's buffers */
  tr_waiting_rows older; /* the rows before them: none, or a full buffer */
} tr_hash_part;

/* A part that several groupings share. */
typedef struct tr_shared_part {
  pthread_mutex_t mutex;
  tr_memory_account account;
  tr_group_table *table; /* NULL: the part is empty */
} tr_shared_part;

struct tr_group_parts {
  tr_group_shape shape;
  tr_memory_budget budget;
  int most;  /* how many groupings use them */
  int count; /* how many parts have a mutex; all of them, once created */
  tr_group_arena *arena;
  atomic_int is_used; /* some grouping was cut */
  atomic_int is_stopped;
  tr_shared_part parts[TR_PARTS];
};

typedef struct tr_late_rows tr_late_rows;

struct tr_grouping {
  tr_group_shape shape;
  tr_memory_budget budget; /* not used if there are shared parts */
  tr_memory_account account;
  tr_group_table *table; /* NULL: the grouping is cut into parts */
  tr_hash_part *parts;
  tr_group_arena *buffers; /* for the rows that wait; NULL: flushed */
  tr_group_arena *arena;   /* for the parts; NULL: the shared parts have one */
  int has_looks;           /* known from tables that are gone, or from another grouping */
  tr_group_parts *shared;  /* NULL: the grouping has its own parts */
  int owns_shared;
  tr_late_rows *late; /* in groupings that were joined to this one; NULL: none */
  tr_group_row *rows; /* the keys of the current rows; their bytes are in `scratch` */
  tr_buffer scratch;
  tr_value *inputs;       /* for rows that waited; only one thread at a time may use it */
  tr_group **recent;      /* a cache of groups that were met recently; NULL: there is none */
  size_t state_offsets[]; /* for each aggregate */
};

/*
** --- rows and parts ----------------------------------------------------------------------------
*/

/* The rows whose groups are being looked for. */
typedef struct tr_rows_in_hand {
  const tr_value *keys;
  size_t stride;
  int count;
} tr_rows_in_hand;

static inline const tr_value *tr_key_in_hand(const tr_rows_in_hand *in_hand, int row) {
  return in_hand->keys + (size_t)row * in_hand->stride;
}

/*
** 1: the key of a row is one integer, and `*word` is its canonical form. 0: it is not, or is
** longer.
*/
static inline int tr_plain_key(const tr_grouping *grouping, const tr_value *key, uint64_t *word) {
  return grouping->shape.key_count == 1 && key->type == TR_INTEGER &&
         tr_group_key_of_integer(key->integer, word);
}

/* The number of the part that a key with this hash belongs to. */
static inline int tr_part_of(uint32_t hash) {
  return (int)(hash >> (32 - TR_PART_BITS));
}

/* The table of a part, for reading only. NULL: the part is empty. */
static inline const tr_group_table *tr_grouping_part_table(const tr_grouping *grouping,
                                                           int number) {
  if (grouping->shared != NULL) return grouping->shared->parts[number].table;
  return grouping->parts[number].table;
}

/*
** --- grouping.c --------------------------------------------------------------------------------
*/

/*
** Encodes the keys of all rows in hand from `first` on into grouping->rows. The hashes must still
** be computed. TR_NO_MEMORY, TR_TOO_BIG.
*/
tr_code tr_grouping_encode_rows(tr_grouping *grouping, const tr_rows_in_hand *in_hand, int first,
                                tr_error *err);

/*
** --- grouping_parts.c --------------------------------------------------------------------------
*/

/* Replaces the one table by parts with the same groups. After a failure some groups are missing. */
tr_code tr_grouping_cut(tr_grouping *grouping, tr_error *err);

/*
** Puts all rows in hand into buffers. From the first key on that is not one word, all keys are
** encoded. `inputs` are those of the first row.
*/
tr_code tr_grouping_add_to_parts(tr_grouping *grouping, const tr_rows_in_hand *in_hand,
                                 const tr_value *inputs, tr_error *err);

/*
** Adds all rows that wait in part `number`. `inputs` is that of any grouping, if no other thread
** uses it.
*/
tr_code tr_grouping_work_off(tr_grouping *grouping, int number, tr_value *inputs, tr_error *err);

/* Adds a group of another table to its part. */
tr_code tr_grouping_merge_into_part(tr_grouping *grouping, const tr_group *group, tr_error *err);

/* Frees the buffers. No row may wait. */
void tr_grouping_drop_buffers(tr_grouping *grouping);

/* Frees the parts, but not the shared ones. Does nothing if there are none. */
void tr_grouping_free_parts(tr_grouping *grouping);

/*
** --- grouping_shared.c -------------------------------------------------------------------------
*/

/*
** Returns when all rows of part `number` are added: adds them, or waits for the thread that does.
** Returns TR_OK at once if no rows are late.
*/
tr_code tr_late_rows_settle(tr_grouping *grouping, int number, tr_error *err);

/*
** 1: the helpers have ended, and the joined groupings are freed. 0: the process was forked
** meanwhile. The helpers belong to the parent, and what they were doing is unknown, so nothing that
** they share may be touched. NULL is fine.
*/
int tr_late_rows_free(tr_late_rows *late);

#endif

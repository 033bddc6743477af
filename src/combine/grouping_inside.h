/*
** The inside of a grouping, for its two files: grouping.c takes rows in, and gives groups out;
** grouping_shared.c has what several groupings share, and makes one of them in the end.
*/
#ifndef TR_COMBINE_GROUPING_INSIDE_H
#define TR_COMBINE_GROUPING_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "combine/grouping.h"
#include "combine/waiting_rows.h"

#define TR_PART_BITS 6
#define TR_PARTS (1 << TR_PART_BITS)

typedef struct tr_hash_part {
  tr_group_table *table; /* NULL: it is among the shared parts */
  tr_waiting_rows rows;  /* in the grouping's buffers: the last ones */
  tr_waiting_rows older; /* and those before them: none, or as many as there was room for */
} tr_hash_part;

/* A part of several groupings. */
typedef struct tr_shared_part {
  pthread_mutex_t mutex;
  tr_memory_account account;
  tr_group_table *table; /* NULL: nothing is in it */
} tr_shared_part;

struct tr_group_parts {
  tr_group_shape shape;
  tr_memory_budget budget;
  int most;  /* groupings over them */
  int count; /* parts that have a mutex: all, once they were created */
  tr_group_arena *arena;
  atomic_int is_used; /* a grouping was cut */
  atomic_int is_stopped;
  tr_shared_part parts[TR_PARTS];
};

typedef struct tr_late_rows tr_late_rows;

struct tr_grouping {
  tr_group_shape shape;
  tr_memory_budget budget; /* unless that of the shared parts is used */
  tr_memory_account account;
  tr_group_table *table; /* NULL: it is cut into parts */
  tr_hash_part *parts;
  tr_group_arena *buffers; /* of the parts' rows; NULL: flushed */
  tr_group_arena *arena;   /* of the parts; NULL: that of the shared ones is used */
  int has_looks;           /* noticed in tables that are gone, or in another grouping */
  tr_group_parts *shared;  /* NULL: the parts are its own */
  int owns_shared;
  tr_late_rows *late; /* in groupings that were joined to this one; NULL: there are none */
  tr_group_row *rows; /* the keys of the rows in hand; their bytes are in `scratch` */
  tr_buffer scratch;
  tr_value *inputs;       /* of rows that waited: for one thread at a time */
  tr_group **recent;      /* groups that were met lately; NULL: there is no such cache */
  size_t state_offsets[]; /* by aggregate */
};

/*
** --- grouping.c --------------------------------------------------------------------------------
*/

/*
** Adds all rows that wait in part `number`; `inputs` is any grouping's that no other thread uses.
*/
tr_code tr_grouping_work_off(tr_grouping *grouping, int number, tr_value *inputs, tr_error *err);

/* When no row waits any more. */
void tr_grouping_drop_buffers(tr_grouping *grouping);

/* Replaces the one table by parts that hold the same groups; after a failure not all of them. */
tr_code tr_grouping_cut(tr_grouping *grouping, tr_error *err);

/*
** --- grouping_shared.c -------------------------------------------------------------------------
*/

/*
** Sees to all rows of part `number` being added: adds them, or waits for the thread that does.
** TR_OK at once where none are late.
*/
tr_code tr_late_rows_settle(tr_grouping *grouping, int number, tr_error *err);

/*
** Ends the helpers, and frees the groupings that were joined: 1. 0 in a process that was forked
** meanwhile: nobody can say what the helpers, who are the parent's, had in hand, so nothing that
** they share may be touched. NULL is fine.
*/
int tr_late_rows_free(tr_late_rows *late);

#endif

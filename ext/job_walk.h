/*
** Looking at the keys of a range: how many there are, which is the last of a given number, and the record of all of
** them (key_record.h).
**
** Each needs the source as it is (tr_job_need_keys).
*/
#ifndef TR_EXT_JOB_WALK_H
#define TR_EXT_JOB_WALK_H

#include "bundles.h"
#include "key_record.h"

typedef struct tr_walk {
  int64_t count;
  int has_more;   /* keys of the range behind those that were counted */
  tr_buffer last; /* the last key that was counted */
  tr_key_record record;
} tr_walk;

/* Counts up to `limit` keys from the range's start. `*walk` is to be freed, also after an error. */
tr_code tr_job_walk(tr_job *job, const tr_bundle *range, int64_t limit, tr_walk *walk,
                    tr_error *err);
void tr_walk_free(tr_walk *walk);

/* Counts the keys of [start, end), up to `limit`, and sets `last` to the last one (NULL: not wanted). */
tr_code tr_job_count_keys(tr_job *job, tr_bytes start, tr_bytes end, int64_t limit, int64_t *count,
                          tr_buffer *last, tr_error *err);

#endif

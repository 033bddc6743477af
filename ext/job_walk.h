/*
** Looks at the keys of a range: how many there are, which is the last of a given number, and the
** record of all of them (key_record.h).
**
** All of this needs the source as it is now (tr_job_need_keys).
*/
#ifndef TR_EXT_JOB_WALK_H
#define TR_EXT_JOB_WALK_H

#include "bundles.h"
#include "key_record.h"

typedef struct tr_walk {
  int64_t count;
  int has_more;   /* the range has keys after those that were counted */
  tr_buffer last; /* the last key that was counted */
  tr_key_record record;
} tr_walk;

/*
** Counts up to `limit` keys from the range's start. The caller frees `*walk`, even after an error.
*/
tr_code tr_job_walk(tr_job *job, const tr_bundle *range, int64_t limit, tr_walk *walk,
                    tr_error *err);
void tr_walk_free(tr_walk *walk);

/*
** Counts the keys of [start, end), up to `limit`. `last`, if not NULL, is set to the last one if
** `limit` was reached.
*/
tr_code tr_job_count_keys(tr_job *job, tr_bytes start, tr_bytes end, int64_t limit, int64_t *count,
                          tr_buffer *last, tr_error *err);

#endif

/*
** What a class of trackers provides to tracker.c: one function for each function of tracker.h, with
** the same meaning. Positions and restrictions are already known to be of its kind.
**
** Only the files of the trackers include this. The struct of a class begins with a tr_tracker.
*/
#ifndef TR_RANGE_TRACKER_CLASS_H
#define TR_RANGE_TRACKER_CLASS_H

#include "range/tracker.h"

typedef struct tr_tracker_class {
  tr_restriction_kind kind;
  void (*free)(tr_tracker *tracker);
  int (*try_claim)(tr_tracker *tracker, tr_position position, tr_error *err);
  tr_code (*claim_end)(tr_tracker *tracker, tr_error *err);
  int (*try_split)(tr_tracker *tracker, double fraction, tr_restriction *residual, tr_error *err);
  int (*try_split_at)(tr_tracker *tracker, tr_position position, tr_restriction *residual,
                      tr_error *err);
  tr_code (*checkpoint)(tr_tracker *tracker, tr_restriction *residual, tr_error *err);
  tr_code (*current_restriction)(tr_tracker *tracker, tr_restriction *restriction, tr_error *err);
  tr_code (*check_done)(tr_tracker *tracker, tr_error *err);
  int (*is_done)(tr_tracker *tracker);
  double (*size)(tr_tracker *tracker);
  double (*fraction_consumed)(tr_tracker *tracker);
  int (*last_claimed)(tr_tracker *tracker, tr_buffer *key, int64_t *offset, tr_error *err);
  int (*last_attempted)(tr_tracker *tracker, tr_buffer *key, int64_t *offset, tr_error *err);
  tr_code (*text)(tr_tracker *tracker, tr_buffer *text, tr_error *err);
} tr_tracker_class;

struct tr_tracker {
  const tr_tracker_class *methods;
};

#endif

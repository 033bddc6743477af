/*
** Iterates over the groups of a grouping, in tests in which that cannot fail.
*/
#ifndef TESTS_SUPPORT_NEXT_GROUP_H
#define TESTS_SUPPORT_NEXT_GROUP_H

#include "combine/grouping.h"

/* The next group; NULL after the last. */
static inline const tr_group *next_group(tr_grouping *grouping, tr_grouping_cursor *cursor) {
  const tr_group *group;
  tr_error err;
  int has_next = tr_grouping_next(grouping, cursor, &group, &err);
  if (has_next < 0) fail_msg("%s", err.message);
  assert_int_equal(has_next, group != NULL);
  return group;
}

#endif

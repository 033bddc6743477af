/*
** A scan of a group_by_fields table: what one place in a statement reads there, again and again if
** need be.
**
** A statement may begin it again and again, for the inner side of a join or a correlated subquery.
** It keeps the groups of the first time without conditions, unless the conditions let SQLite use an
** index; the ad hoc form keeps those of the same arguments.
**
** Thread-safety: belongs to its connection's thread.
*/
#ifndef TR_EXT_GROUP_BY_FIELDS_SCAN_H
#define TR_EXT_GROUP_BY_FIELDS_SCAN_H

#include "group_by_fields_run.h"
#include "host/hidden_arguments.h"

/* The arguments of the ad hoc form: source, by, aggregates, where_terms, workers. */
#define TR_GROUP_ARGUMENTS 5
extern const char *const tr_group_argument_names[TR_GROUP_ARGUMENTS];

typedef struct tr_group_scan {
  /* What there is to read. */
  tr_group_plan *plan;
  tr_group_result *result;
  const tr_group *group;       /* the one at hand; NULL: the end */
  tr_kept_arguments arguments; /* of the ad hoc form */

  /* Its own. */
  tr_host *host;
  tr_group_plan ad_hoc_plan;
  uint64_t outputs;               /* that are in the result */
  int is_whole;                   /* the result has all groups: conditions or not, it will do */
  tr_group_condition *conditions; /* of the result */
  int condition_count;
  int was_in_vain;     /* the last conditions did not save a scan of the whole table */
  int is_written;      /* whether its statement writes to the source; -1: not asked yet */
  uint64_t equal_keys; /* those that an = compares, a bit each */
  tr_grouping_cursor at;
  int is_one; /* the group was found, and no other comes */
} tr_group_scan;

/*
** A scan of a table with that plan, which must outlive it; NULL: of the ad hoc form. NULL is
** returned when out of memory.
*/
tr_group_scan *tr_group_scan_create(tr_host *host, tr_group_plan *plan);
void tr_group_scan_free(tr_group_scan *scan); /* NULL is fine */

/*
** Begins with the first group, by what xBestIndex wrote. Of a created table that is a text: the
** outputs as a number, then the conditions (group_by_fields_conditions.h); and `number` is 1 where
** they compare with the same values in every scan of a statement. Of the ad hoc form bit i of
** `number` says that argument i is given. Errors: those of tr_group_run; TR_INVALID_ARGUMENT,
** TR_INVALID_STATE.
*/
tr_code tr_group_scan_begin(tr_group_scan *scan, int number, const char *text, int argc,
                            sqlite3_value **argv, tr_error *err);

/*
** The next group, or the end. TR_NO_MEMORY, TR_INTERRUPTED, what add_input gives: as
** tr_grouping_next.
*/
tr_code tr_group_scan_next(tr_group_scan *scan, tr_error *err);

#endif

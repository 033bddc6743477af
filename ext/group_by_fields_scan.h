/*
** A scan of a group_by_fields table: what one place in a statement reads there, once or many times.
**
** A scan begins again as the inner side of a join or in a correlated subquery. It keeps its groups
** if these are all groups, or if the conditions (or the arguments of the ad hoc form) are the same.
** If conditions have not saved a scan of the whole source, the next result is made without them.
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
  /* What the owner of the scan reads. */
  tr_group_plan *plan;
  tr_group_result *result;
  const tr_group *group;       /* the current one; NULL: the end */
  tr_kept_arguments arguments; /* of the ad hoc form */

  /* Private. */
  tr_host *host;
  tr_group_plan ad_hoc_plan;
  uint64_t outputs;               /* those that are in the result */
  int is_whole;                   /* the result has all groups, so it serves for any conditions */
  tr_group_conditions conditions; /* those that the result was made with */
  int was_in_vain;                /* the last conditions did not save a scan of the whole table */
  int is_written;      /* whether the statement writes to the source; -1: not asked yet */
  uint64_t equal_keys; /* key fields that are compared by =, a bit for each */
  tr_grouping_cursor at;
  int is_one; /* `group` was found by its key and is the only one */
} tr_group_scan;

/*
** Creates a scan of a table with that plan, which must outlive it; NULL means the ad hoc form.
** Returns NULL if out of memory.
*/
tr_group_scan *tr_group_scan_create(tr_host *host, tr_group_plan *plan);
void tr_group_scan_free(tr_group_scan *scan); /* NULL is fine */

/*
** Begins a scan with what xBestIndex wrote, and goes to the first group.
**
** For a created table `text` has the outputs as a number, then the conditions
** (group_by_fields_conditions.h). `number` is 1 if they compare with the same values in every scan
** of a statement. For the ad hoc form bit i of `number` says that argument i is given.
** Errors: those of tr_group_run; TR_INVALID_ARGUMENT, TR_INVALID_STATE.
*/
tr_code tr_group_scan_begin(tr_group_scan *scan, int number, const char *text, int argc,
                            sqlite3_value **argv, tr_error *err);

/*
** Goes to the next group, or to the end. Errors: those of tr_grouping_next (TR_NO_MEMORY,
** TR_INTERRUPTED, and what add_input returns).
*/
tr_code tr_group_scan_next(tr_group_scan *scan, tr_error *err);

#endif

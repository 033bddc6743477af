/*
** Runs a group_by_fields plan with one inner SELECT. Its only column is an aggregate function of
** ours, which adds every row to the groups.
**
** `SELECT tranche_group(key, ..., argument, ...) FROM t WHERE ...` is stepped once. That is twice
** as fast as stepping a SELECT row by row, since SQLite's virtual machine never leaves its loop.
** The function finds its run through the host, and fails if there is none.
**
** Thread-safety: belongs to its connection's thread.
*/
#ifndef TR_EXT_GROUP_BY_FIELDS_RUN_H
#define TR_EXT_GROUP_BY_FIELDS_RUN_H

#include "combine/grouping.h"
#include "group_by_fields_plan.h"

int tr_group_register_function(tr_host *host);

/* A condition on a key field that a row must satisfy to be read. */
typedef struct tr_group_condition {
  int key;
  int op;                 /* SQLITE_INDEX_CONSTRAINT_EQ, LT, LE, GT, GE, IS, ISNULL */
  sqlite3_value **values; /* none for ISNULL; any number for EQ, which means one of them */
  int value_count;
} tr_group_condition;

/* A row must satisfy all of them. All zero, there is none. */
typedef struct tr_group_conditions {
  tr_group_condition *items;
  int count;
} tr_group_conditions;

typedef struct tr_group_request {
  uint64_t outputs;               /* bit i: output i is wanted; bit 63: that one and all after it */
  tr_group_conditions conditions; /* borrowed */
} tr_group_request;

/* The aggregate function that the inner statement calls. */
#define TR_GROUP_INNER_FUNCTION "tranche_group"

typedef struct tr_group_result tr_group_result;

/*
** Makes all groups. `*scanned_whole` says whether SQLite read the whole table for it, with or
** without conditions, so that a run with other conditions would cost as much.
** TR_HOST: with SQLite's text. TR_TOO_BIG: the memory limit. TR_INTERRUPTED, TR_NO_MEMORY, and what
** the functions' add_input returns.
*/
tr_code tr_group_run(tr_host *host, const tr_group_plan *plan, const tr_group_request *request,
                     tr_group_result **result, int *scanned_whole, tr_error *err);

/* Prepares without running, to find out whether all expressions compile. Errors as above. */
tr_code tr_group_check(tr_host *host, const tr_group_plan *plan, tr_error *err);

/* The next group. Returns what tr_grouping_next does. */
int tr_group_result_next(tr_group_result *result, tr_grouping_cursor *cursor,
                         const tr_group **group, tr_error *err);

/* The most key fields that conditions can be about. Those on later fields are left to SQLite. */
#define TR_GROUP_MOST_CONDITIONS 64

/*
** Finds the group, if the conditions ask for one value of each key field.
**
** 1: `*group` is the only group that can pass them, or NULL if there is none.
** 0: they ask for something else, or for a value that cannot be looked up.
** -1: as tr_grouping_next.
*/
int tr_group_result_find(tr_group_result *result, const tr_group_conditions *conditions,
                         const tr_group **group, tr_error *err);

/* The value of key field `key` of a group. Its bytes belong to the result. */
tr_value tr_group_result_key(const tr_group_result *result, const tr_group *group, int key);

/* Sets `output`, which holds zeros, to an output that was wanted. The caller frees it. */
tr_code tr_group_result_output(const tr_group_result *result, const tr_group *group, int index,
                               tr_combine_output *output, tr_error *err);

void tr_group_result_free(tr_group_result *result); /* NULL is fine */

#endif

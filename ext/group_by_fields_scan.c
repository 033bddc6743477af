/*
** Makes the groups, keeps them for the next scan, and walks them.
*/
#include "group_by_fields_scan.h"

#include <stdlib.h>

#include "base/memory.h"
#include "group_by_fields_conditions.h"
#include "host/source_change.h"
#include "host/source_writes.h"
#include "parallel_group.h"

const char *const tr_group_argument_names[TR_GROUP_ARGUMENTS] = {"source", "by", "aggregates",
                                                                 "where_terms", "workers"};

tr_group_scan *tr_group_scan_create(tr_host *host, tr_group_plan *plan) {
  tr_group_scan *scan = tr_malloc(sizeof *scan);
  if (scan == NULL) return NULL;
  *scan = (tr_group_scan){.host = host, .plan = plan, .is_written = -1};
  if (plan == NULL) scan->plan = &scan->ad_hoc_plan;
  return scan;
}

static void drop_result(tr_group_scan *scan) {
  tr_group_conditions_free(&scan->conditions);
  tr_group_result_free(scan->result);
  scan->result = NULL;
  scan->group = NULL;
}

void tr_group_scan_free(tr_group_scan *scan) {
  if (scan == NULL) return;
  drop_result(scan);
  tr_group_plan_free(&scan->ad_hoc_plan);
  tr_kept_arguments_free(&scan->arguments);
  tr_free(scan);
}

/* --- walking ---------------------------------------------------------------------------------- */

/*
** Whether the group has NULL in a field that is compared by =, so that it cannot pass. SQLite
** before 3.38, which runs one scan for each value of an IN, lets it pass when it checks the row
** again.
*/
static int is_null_where_equal(const tr_group_scan *scan) {
  for (int i = 0; i < scan->plan->key_count && i < TR_GROUP_MOST_CONDITIONS; i++) {
    if (!(scan->equal_keys >> i & 1)) continue;
    if (tr_group_result_key(scan->result, scan->group, i).type == TR_NULL) return 1;
  }
  return 0;
}

tr_code tr_group_scan_next(tr_group_scan *scan, tr_error *err) {
  int has_next;
  if (scan->is_one) {
    scan->group = NULL;
    return TR_OK;
  }
  do {
    has_next = tr_group_result_next(scan->result, &scan->at, &scan->group, err);
  } while (has_next == 1 && scan->equal_keys != 0 && is_null_where_equal(scan));
  return has_next >= 0 ? TR_OK : err->code;
}

static tr_code rewind_groups(tr_group_scan *scan, tr_error *err) {
  scan->is_one = 0;
  scan->at = (tr_grouping_cursor){0};
  return tr_group_scan_next(scan, err);
}

/* Begins with a result that has all groups: finds the one that is asked for, or walks all. */
static tr_code begin_whole(tr_group_scan *scan, char *text, int argc, sqlite3_value **argv,
                           tr_error *err) {
  tr_group_conditions conditions = {0};
  int found = 0;
  if (scan->equal_keys == 0) return rewind_groups(scan, err);
  tr_code code = tr_group_conditions_read(tr_host_db(scan->host), scan->plan, text, argv, argc,
                                          &conditions, err);
  if (code == TR_OK) found = tr_group_result_find(scan->result, &conditions, &scan->group, err);
  tr_group_conditions_free(&conditions);
  if (code != TR_OK || found < 0) return err->code;
  if (!found) return rewind_groups(scan, err);
  scan->is_one = 1;
  return TR_OK;
}

/* --- a created table --------------------------------------------------------------------- */

/*
** Whether the statement writes to the source. Asked once: the statement's program says it, and a
** scan lives no longer than its statement.
*/
static int is_source_written(tr_group_scan *scan) {
  if (scan->is_written < 0) {
    scan->is_written = tr_source_is_written(&scan->plan->source, tr_host_db(scan->host));
  }
  return scan->is_written;
}

/*
** Makes the groups that the scan's conditions ask for. Before anything of the file is read, its
** state is noted: what was noted when the statement was prepared may be outdated.
*/
static tr_code make_groups(tr_group_scan *scan, tr_error *err) {
  tr_group_request request = {scan->outputs, scan->conditions};
  int scanned_whole = 0;
  tr_parallel_group_note(scan->host, scan->plan);
  if (tr_source_table_is_current(&scan->plan->source, tr_host_db(scan->host), TR_GROUP_FUNCTION,
                                 err) != 1) {
    return err->code;
  }
  tr_code code = tr_group_run(scan->host, scan->plan, &request, &scan->result, &scanned_whole, err);
  scan->is_whole = request.conditions.count == 0;
  scan->was_in_vain = request.conditions.count > 0 && scanned_whole;
  return code;
}

/*
** A result serves for the rest of the statement if it has all groups, or if the same ones are asked
** for again. In a statement that writes to the source it must serve, since the scan must not read
** what the statement has written. So conditions that may be others the next time are not passed on
** there.
*/
static tr_code begin_created(tr_group_scan *scan, int are_fixed, const char *text, int argc,
                             sqlite3_value **argv, tr_error *err) {
  char *rest;
  uint64_t outputs = strtoull(text, &rest, 10);
  scan->equal_keys = tr_group_conditions_equal_keys(rest, argc);
  if (outputs != scan->outputs) drop_result(scan);
  scan->outputs = outputs;
  if (scan->result != NULL && scan->is_whole) return begin_whole(scan, rest, argc, argv, err);
  tr_group_conditions conditions = {0};
  tr_code code = TR_OK;
  if (are_fixed || !is_source_written(scan)) {
    code = tr_group_conditions_read(tr_host_db(scan->host), scan->plan, rest, argv, argc,
                                    &conditions, err);
  }
  int is_same = code == TR_OK && scan->result != NULL &&
                tr_group_conditions_are_same(&conditions, &scan->conditions);
  if (is_same || scan->was_in_vain) tr_group_conditions_free(&conditions);
  if (is_same) return rewind_groups(scan, err);
  drop_result(scan);
  scan->conditions = conditions;
  if (code == TR_OK) code = make_groups(scan, err);
  if (code != TR_OK) return code;
  return scan->is_whole ? begin_whole(scan, rest, argc, argv, err) : rewind_groups(scan, err);
}

/* --- the ad hoc form --------------------------------------------------------------------- */

static tr_code read_call(const tr_kept_arguments *arguments, tr_group_call *call, tr_error *err) {
  enum { WORKERS = TR_GROUP_ARGUMENTS - 1 };
  tr_bytes *const texts[WORKERS] = {&call->source, &call->by, &call->aggregates, &call->where};
  *call = (tr_group_call){.has_workers = 0};
  for (int i = 0; i < TR_GROUP_ARGUMENTS; i++) {
    const char *name = tr_group_argument_names[i];
    sqlite3_value *value = arguments->values[i];
    if (value == NULL || (sqlite3_value_type(value) == SQLITE_NULL && i > 0)) continue;
    tr_code code;
    if (i < WORKERS) {
      code = tr_argument_text(TR_GROUP_FUNCTION, name, value, texts[i], err);
    } else {
      code = tr_argument_integer(TR_GROUP_FUNCTION, name, value, &call->workers, err);
      call->has_workers = 1;
    }
    if (code != TR_OK) return code;
  }
  if (arguments->values[0] != NULL) return TR_OK;
  return tr_error_set(err, TR_INVALID_ARGUMENT,
                      TR_GROUP_FUNCTION "(): argument source is missing: the name of a table");
}

/* Begins again with the same result, if the arguments are the same. */
static tr_code begin_ad_hoc(tr_group_scan *scan, int given, sqlite3_value **argv, tr_error *err) {
  if (scan->result != NULL && tr_kept_arguments_are(&scan->arguments, given, argv)) {
    return rewind_groups(scan, err);
  }
  drop_result(scan);
  tr_parallel_group_note(scan->host, NULL); /* as in make_groups */
  tr_group_plan_free(scan->plan);
  tr_group_call call;
  int scanned_whole;
  tr_group_request request = {.outputs = UINT64_MAX};
  tr_code code = tr_kept_arguments_set(&scan->arguments, given, argv, err);
  if (code == TR_OK) code = read_call(&scan->arguments, &call, err);
  if (code == TR_OK) code = tr_group_plan_of_call(scan->plan, scan->host, &call, err);
  if (code == TR_OK) {
    code = tr_group_run(scan->host, scan->plan, &request, &scan->result, &scanned_whole, err);
  }
  return code == TR_OK ? rewind_groups(scan, err) : code;
}

tr_code tr_group_scan_begin(tr_group_scan *scan, int number, const char *text, int argc,
                            sqlite3_value **argv, tr_error *err) {
  int is_ad_hoc = scan->plan == &scan->ad_hoc_plan;
  return is_ad_hoc ? begin_ad_hoc(scan, number, argv, err)
                   : begin_created(scan, number, text, argc, argv, err);
}

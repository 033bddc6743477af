/*
** Runs the inner statement: the aggregate function that it calls, the run itself, and its result.
*/
#include "group_by_fields_run.h"

#include <string.h>

#include "base/memory.h"
#include "combine/accumulator.h"
#include "group_by_fields_inside.h"
#include "group_by_fields_take.h"
#include "parallel_group.h"
#include "run_report.h"

/* --- the aggregate function ---------------------------------------------------------------- */

/* How much of the memory of its large groupings a connection keeps for the next one, in bytes. */
#define RESERVE ((uint64_t)256 << 20)

/* The state of a connection. */
typedef struct group_state {
  /*
  ** The run whose inner statement is running, so that the function can find it; NULL if there is
  ** none. A run within a run (over a view that groups) restores the outer one when it ends.
  */
  tr_group_intake *run;
  tr_group_reserve *reserve;
} group_state;

static const char state_owner;

static group_state *state_of(const tr_host *host) {
  return tr_host_state(host, &state_owner);
}

static void free_state(void *pointer) {
  group_state *state = pointer;
  tr_group_reserve_free(state->reserve);
  tr_free(state);
}

static void step(sqlite3_context *context, int argc, sqlite3_value **argv) {
  tr_group_intake **run = sqlite3_aggregate_context(context, sizeof *run);
  if (run == NULL) {
    sqlite3_result_error_nomem(context);
    return;
  }
  if (*run == NULL) {
    tr_group_intake *inner = state_of(tr_function_host(context))->run;
    if (inner == NULL || inner->is_taken || inner->argument_count != argc) {
      sqlite3_result_error(context, TR_GROUP_INNER_FUNCTION "() is for group_by_fields alone", -1);
      return;
    }
    inner->is_taken = 1;
    *run = inner;
  }
  int taken = tr_group_intake_take(*run, argv);
  if (taken > 0 && tr_group_intake_commit(*run) != TR_OK) taken = -1;
  if (taken < 0) tr_result_error(context, TR_GROUP_FUNCTION, &(*run)->err);
}

static void finish(sqlite3_context *context) {
  sqlite3_result_null(context);
}

int tr_group_register_function(tr_host *host) {
  static const tr_function function = {.name = TR_GROUP_INNER_FUNCTION,
                                       .argument_count = -1,
                                       .flags = TR_DIRECT,
                                       .step = step,
                                       .final = finish};
  group_state *state = tr_malloc(sizeof *state);
  if (state == NULL) return SQLITE_NOMEM;
  *state = (group_state){.run = NULL};
  if (tr_group_reserve_create(RESERVE, &state->reserve, NULL) != TR_OK) {
    tr_free(state);
    return SQLITE_NOMEM;
  }
  if (tr_host_set_state(host, &state_owner, state, free_state) != TR_OK) return SQLITE_NOMEM;
  return tr_host_register_functions(host, &function, 1);
}

/* --- running -------------------------------------------------------------------------------- */

tr_code tr_group_bind_conditions(sqlite3 *db, sqlite3_stmt *stmt, const tr_group_request *request,
                                 tr_error *err) {
  int parameter = 1, rc = SQLITE_OK;
  for (int i = 0; i < request->conditions.count; i++) {
    const tr_group_condition *condition = &request->conditions.items[i];
    for (int j = 0; j < condition->value_count && rc == SQLITE_OK; j++) {
      rc = sqlite3_bind_value(stmt, parameter++, condition->values[j]);
    }
  }
  return rc == SQLITE_OK ? TR_OK : tr_error_of_sqlite(err, db, rc);
}

/* Runs the statement, which adds all rows to the groups. */
static tr_code fill(tr_host *host, sqlite3_stmt *stmt, tr_group_intake *run, tr_error *err) {
  tr_group_result *result = run->result;
  group_state *state = state_of(host);
  tr_group_intake *outer = state->run;
  state->run = run;
  int rc = sqlite3_step(stmt);
  if (rc == SQLITE_ROW) rc = sqlite3_step(stmt);
  state->run = outer;
  if (rc != SQLITE_DONE) {
    if (run->err.code == TR_OK) return tr_error_of_sqlite(err, tr_host_db(host), rc);
    *err = run->err;
    return err->code;
  }
  tr_code code = tr_group_intake_commit(run);
  if (code != TR_OK) *err = run->err;
  if (code == TR_OK) code = tr_grouping_flush(result->grouping, err);
  if (code == TR_OK && result->shape.key_count == 0) {
    code = tr_grouping_ensure_one(result->grouping, err);
  }
  return code;
}

tr_code tr_group_name_error(tr_error *err, tr_code code) {
  static const char name[] = TR_GROUP_FUNCTION;
  if (code == TR_OK || code == TR_NO_MEMORY || code == TR_INTERRUPTED ||
      strncmp(err->message, name, sizeof name - 1) == 0) {
    return code;
  }
  char message[TR_MESSAGE_SIZE];
  memcpy(message, err->message, sizeof message);
  int host_code = err->host_code;
  tr_error_set(err, code, "%s: %s", name, message);
  err->host_code = host_code;
  return code;
}

/* One attempt to run a plan. */
typedef struct attempt {
  tr_host *host;
  const tr_group_plan *plan;
  const tr_group_request *request;
  int is_check; /* only find out whether it can be run */
  int is_alone; /* do not try other threads; they have been refused */

  /* What came out. */
  int is_refused;    /* other threads cannot run it, but it was laid out for them */
  int scanned_whole; /* SQLite read the whole table */
} attempt;

/* Runs on the caller's connection alone. */
static tr_code run_alone(attempt *a, sqlite3_stmt *stmt, tr_group_intake *run, tr_error *err) {
  tr_code code = tr_grouping_create(&run->result->shape, &run->result->grouping, err);
  run->grouping = run->result->grouping;
  if (code == TR_OK) code = tr_group_intake_make_batch(run, err);
  if (code == TR_OK) code = tr_group_bind_conditions(tr_host_db(a->host), stmt, a->request, err);
  if (code == TR_OK) code = fill(a->host, stmt, run, err);
  a->scanned_whole = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0) > 0;
  return code;
}

/* Runs on several connections and threads, if that is possible. */
static tr_code run_on_all(attempt *a, sqlite3_stmt *stmt, tr_group_intake *run, int worker_count,
                          tr_error *err) {
  tr_parallel_group job = {a->host, a->plan, a->request, worker_count, run, stmt};
  int is_done = tr_parallel_group_run(&job, &run->result->grouping, err);
  if (is_done < 0) return err->code;
  a->is_refused = is_done == 0 && worker_count > 1;
  if (a->is_refused) return TR_OK;
  if (is_done == 0) return run_alone(a, stmt, run, err);
  a->scanned_whole = 1;
  if (run->result->shape.key_count > 0) return TR_OK;
  return tr_grouping_ensure_one(run->result->grouping, err);
}

/*
** Ends the report on the run. If late rows may still make groups, their number is reported when all
** groups have been read.
*/
static void report(tr_host *host, tr_group_result *result) {
  int is_late = tr_grouping_is_late(result->grouping);
  tr_run_report_end(host, is_late ? -1 : (int64_t)tr_grouping_count(result->grouping));
  const tr_run_report *run = tr_run_report_of(host);
  if (!is_late || run == NULL) return;
  result->uncounted = host;
  result->began = run->began;
}

static tr_code prepare_and_run(attempt *a, tr_group_intake *run, tr_error *err) {
  sqlite3 *db = tr_host_db(a->host);
  sqlite3_stmt *stmt = NULL;
  int worker_count = 0;
  if (!a->is_check && !a->is_alone) {
    worker_count = tr_parallel_group_workers(a->host, a->plan, err);
  }
  if (worker_count < 0) return err->code;
  tr_code code = tr_group_intake_lay_out(run, a->request, worker_count > 1, err);
  run->result->shape.reserve = state_of(a->host)->reserve;
  if (code == TR_OK) {
    code = tr_group_intake_prepare(run, db, a->plan->source.schema, a->request, &stmt, err);
    if (code != TR_OK) code = tr_group_name_wrong_part(a->plan, db, err);
  }
  if (code == TR_OK && worker_count > 0) {
    code = run_on_all(a, stmt, run, worker_count, err);
  } else if (code == TR_OK && !a->is_check) {
    code = run_alone(a, stmt, run, err);
  }
  sqlite3_finalize(stmt);
  if (code == TR_OK && !a->is_check && !a->is_refused) report(a->host, run->result);
  return tr_group_name_error(err, code);
}

static tr_code run_once(attempt *a, tr_group_result **result, tr_error *err) {
  tr_group_intake run = {0};
  *result = tr_group_zeros(0, sizeof **result);
  if (*result == NULL) return tr_error_no_memory(err);
  tr_code code = tr_group_intake_init(&run, a->plan, *result);
  if (code != TR_OK) tr_error_no_memory(err);
  if (code == TR_OK) code = prepare_and_run(a, &run, err);
  tr_group_intake_release(&run);
  if (code != TR_OK || a->is_check || a->is_refused) {
    tr_group_result_free(*result);
    *result = NULL;
  }
  return code;
}

/*
** To show keys as their first row has them, rows that come in any order need other aggregates than
** rows that come in SQLite's order. So if other threads cannot run the plan after all, it is laid
** out again.
*/
tr_code tr_group_run(tr_host *host, const tr_group_plan *plan, const tr_group_request *request,
                     tr_group_result **result, int *scanned_whole, tr_error *err) {
  attempt first = {.host = host, .plan = plan, .request = request};
  attempt second = {.host = host, .plan = plan, .request = request, .is_alone = 1};
  tr_code code = run_once(&first, result, err);
  if (code == TR_OK && first.is_refused) code = run_once(&second, result, err);
  *scanned_whole = first.scanned_whole || second.scanned_whole;
  return code;
}

tr_code tr_group_check(tr_host *host, const tr_group_plan *plan, tr_error *err) {
  tr_group_result *none;
  tr_group_request request = {.outputs = UINT64_MAX};
  attempt check = {.host = host, .plan = plan, .request = &request, .is_check = 1};
  return run_once(&check, &none, err);
}

/* --- the result -------------------------------------------------------------------------- */

void tr_group_result_free(tr_group_result *result) {
  if (result == NULL) return;
  tr_grouping_free(result->grouping);
  tr_free(result->collations);
  tr_free(result->aggregates);
  tr_free(result->outputs);
  tr_free(result->key_types);
  tr_free(result->aggregate_of_key);
  tr_free(result);
}

int tr_group_result_next(tr_group_result *result, tr_grouping_cursor *cursor,
                         const tr_group **group, tr_error *err) {
  int has_next = tr_grouping_next(result->grouping, cursor, group, err);
  if (has_next == 1) return 1;
  if (has_next < 0) tr_group_name_error(err, err->code);
  if (has_next == 0 && result->uncounted != NULL) {
    tr_run_report_set_groups(result->uncounted, result->began,
                             (int64_t)tr_grouping_count(result->grouping));
    result->uncounted = NULL;
  }
  return has_next;
}

tr_value tr_group_result_key(const tr_group_result *result, const tr_group *group, int key) {
  int aggregate = result->aggregate_of_key[key];
  if (aggregate < 0) return tr_group_key_field(group, key);
  tr_combine_output first = {0};
  const tr_combine *combine = &result->aggregates[aggregate].combine;
  combine->fn->extract_output(combine, tr_grouping_state(result->grouping, group, aggregate),
                              &first, NULL);
  return first.value;
}

tr_code tr_group_result_output(const tr_group_result *result, const tr_group *group, int index,
                               tr_combine_output *output, tr_error *err) {
  const tr_combine *combine = result->outputs[index].combine;
  const void *state = tr_group_states(group) + result->outputs[index].offset;
  tr_code code;
  if (result->plan->emits_accumulators) {
    code = tr_accumulator_write(combine, state, &output->storage, err);
    output->value = tr_value_blob(tr_buffer_bytes(&output->storage));
  } else {
    code = combine->fn->extract_output(combine, state, output, err);
  }
  return code == TR_OK ? TR_OK : tr_group_name_error(err, code);
}

/*
** Decides whether a plan runs on several threads, and runs it.
**
** The caller's thread does not read. It starts the workers, polls every few milliseconds whether
** the caller was interrupted, and if so stops them. Threads are started for a run and joined at its
** end, so none lives while no query runs. Only the connections stay open between queries.
**
** Putting the groups together. As long as groups are few, each worker has its own, and the caller's
** thread merges them at the end. Many groups are kept in parts that all workers share (grouping.h).
** Their last rows are added while groups are already being returned, by helper threads that end
** when this is done or the groups are freed.
*/
#include "parallel_group.h"

#include <unistd.h>

#include "host/interrupt.h"
#include "host/source_estimate.h"
#include "run_report.h"

/* A smaller table is read before a second thread has even begun. */
#define LEAST_ROWS 10000

/*
** The time between two polls for an interrupt, and how many polls there are for each drawing of the
** progress bar.
*/
#define POLL_MILLISECONDS 2
#define POLLS_PER_BAR 50

#define ONE_WORKER "there is one worker"

static const char pool_owner;

static void free_pool(void *pool) {
  tr_snapshot_pool_free(pool);
}

/* The connection's snapshot pool. NULL: out of memory. */
static tr_snapshot_pool *pool_of(tr_host *host) {
  tr_snapshot_pool *pool = tr_host_state(host, &pool_owner);
  if (pool != NULL) return pool;
  pool = tr_snapshot_pool_create(tr_host_db(host));
  if (pool == NULL) return NULL;
  return tr_host_set_state(host, &pool_owner, pool, free_pool) == TR_OK ? pool : NULL;
}

/* --- deciding ---------------------------------------------------------------------------- */

static int count_cores(void) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores < 1 ? 1 : cores > TR_MOST_WORKERS ? TR_MOST_WORKERS : (int)cores;
}

/*
** A reason against other connections that the plan alone shows, or NULL. If the user asks for
** several workers, the size of the source does not matter.
*/
static const char *reason_against(tr_host *host, const tr_group_plan *plan) {
  switch (plan->source.kind) {
  case TR_SOURCE_VIEW: return "the source is a view";
  case TR_SOURCE_VIRTUAL: return "the source is a virtual table";
  default: break;
  }
  if (plan->source.key.form == TR_KEY_NONE) return "the source has no key to divide it by";
  if (plan->workers > 1) return NULL;
  if (tr_source_table_estimated_rows(&plan->source, tr_host_db(host)) < LEAST_ROWS) {
    return plan->workers == 1 ? ONE_WORKER : "the source is small";
  }
  return NULL;
}

int tr_parallel_group_workers(tr_host *host, const tr_group_plan *plan, tr_error *err) {
  tr_run_report *report = tr_run_report_of(host);
  if (report == NULL ||
      tr_run_report_begin(report, plan->source.schema, plan->source.name) != TR_OK) {
    return tr_error_no(err, TR_NO_MEMORY, "out of memory");
  }
  report->reason = reason_against(host, plan);
  if (report->reason != NULL) return 0;
  int ascends = tr_source_table_ascends(&plan->source, tr_host_db(host), err);
  if (ascends < 0) return -1;
  if (!ascends) {
    report->reason = TR_GROUP_DESCENDS;
    return 0;
  }
  return plan->workers > 0 ? plan->workers : count_cores();
}

void tr_parallel_group_note(tr_host *host, const tr_group_plan *plan) {
  if (plan != NULL && reason_against(host, plan) != NULL) return;
  tr_snapshot_pool *pool = pool_of(host);
  if (pool != NULL) tr_snapshot_pool_note(pool, plan == NULL ? "main" : plan->source.schema);
}

void tr_parallel_group_rest(tr_host *host) {
  tr_snapshot_pool *pool = tr_host_state(host, &pool_owner);
  if (pool != NULL) tr_snapshot_pool_close(pool);
}

/* --- the run ----------------------------------------------------------------------------- */

typedef struct parallel_run {
  const tr_parallel_group *job;
  tr_snapshot_pool *snapshots;
  tr_group_worker *workers[TR_MOST_WORKERS];
  int count;
  tr_worker_pool *pool;
  tr_group_parts *parts; /* until the result owns them */
  tr_buffer first, last; /* the first and the last key; the end of the range is made from `last` */
  tr_run_report *report;
  int has_threads;
} parallel_run;

static tr_group_keys *keys_of(void *context, int worker) {
  return tr_group_worker_keys(((parallel_run *)context)->workers[worker]);
}

static int first_key(void *context, int worker, tr_bytes from, tr_buffer *key, tr_error *err) {
  return tr_group_keys_first(keys_of(context, worker), from, key, err);
}

static int last_key(void *context, int worker, tr_bytes below, tr_buffer *key, tr_error *err) {
  return tr_group_keys_last(keys_of(context, worker), below, key, err);
}

static int key_behind(void *context, int worker, tr_bytes from, uint32_t rows, tr_buffer *key,
                      tr_error *err) {
  return tr_group_keys_behind(keys_of(context, worker), from, rows, key, err);
}

static tr_code read_piece(void *context, int worker, tr_piece *piece, tr_error *err) {
  return tr_group_worker_read(((parallel_run *)context)->workers[worker], piece, err);
}

static tr_code settle(void *context, int worker, uint64_t *rows, tr_error *err) {
  return tr_group_worker_settle(((parallel_run *)context)->workers[worker], rows, err);
}

static void interrupt_worker(void *context, int worker) {
  parallel_run *run = context;
  tr_group_parts_stop(run->parts);
  sqlite3_interrupt(tr_group_worker_db(run->workers[worker]));
}

static tr_code finish(void *context, int worker, tr_error *err) {
  parallel_run *run = context;
  return tr_grouping_finish(tr_group_worker_grouping(run->workers[worker]), err);
}

static const tr_work work = {first_key, last_key,         key_behind, read_piece,
                             settle,    interrupt_worker, finish};

/* Opens the workers. 1: all are ready. 0: it cannot be done, and `*reason` says why. -1: failed. */
static int open_workers(parallel_run *run, int count, const char **reason, tr_error *err) {
  const tr_parallel_group *job = run->job;
  tr_error why = {0};
  if (tr_group_intake_create_parts(job->intake, count, &run->parts, err) != TR_OK) return -1;
  for (int i = 0; i < count; i++) {
    int opened =
        tr_group_worker_open(job, run->parts, run->snapshots, i, &run->workers[i], reason, &why);
    if (opened < 0) *err = why;
    if (opened <= 0) return opened;
    run->count = i + 1;
  }
  sqlite3 *first = tr_snapshot_pool_connection(run->snapshots, 0);
  if (tr_parallel_group_disproof(job, first, reason, err) != TR_OK) return -1;
  return *reason == NULL;
}

/* Starts the threads and waits for them. Stops them if the caller is interrupted. */
static tr_code see_through(parallel_run *run, const tr_running *running, tr_error *err) {
  tr_interrupt interrupt = {.db = tr_host_db(run->job->host)};
  tr_error reason;
  int is_stopped = 0;
  run->has_threads = tr_worker_pool_start(run->pool);
  if (!run->has_threads) return TR_OK;
  for (int polls = 1; !tr_worker_pool_wait(run->pool, POLL_MILLISECONDS); polls++) {
    if (run->job->plan->shows_progress && polls % POLLS_PER_BAR == 0) tr_running_draw(running, 0);
    if (is_stopped || tr_interrupt_poll(&interrupt, &reason) == TR_OK) continue;
    tr_worker_pool_stop(run->pool, &reason);
    is_stopped = 1;
  }
  if (run->job->plan->shows_progress) tr_running_draw(running, 1);
  tr_interrupt_close(&interrupt);
  return tr_worker_pool_join(run->pool, err);
}

static tr_code read_all(parallel_run *run, tr_error *err) {
  tr_bytes none = {NULL, 0};
  tr_group_keys *keys = tr_group_worker_keys(run->workers[0]);
  int found = tr_group_keys_first(keys, none, &run->first, err);
  if (found == 1) found = tr_group_keys_last(keys, none, &run->last, err);
  if (found <= 0) return found == 0 ? TR_OK : err->code;
  tr_byte_key_range range = {0};
  tr_code code = tr_buffer_append_byte(&run->last, 0, err);
  if (code == TR_OK) {
    code = tr_byte_key_range_init(&range, tr_buffer_bytes(&run->first), tr_buffer_bytes(&run->last),
                                  err);
  }
  const tr_source_table *source = &run->job->plan->source;
  uint64_t rows = (uint64_t)tr_source_table_estimated_rows(source, tr_host_db(run->job->host));
  if (code == TR_OK) {
    code = tr_worker_pool_create(&work, run, run->count, &range, rows, &run->pool, err);
  }
  tr_byte_key_range_free(&range);
  if (code != TR_OK) return code;
  tr_running running = {run->pool, run->report->source, run->count, tr_monotonic_now(), NULL};
  tr_running_add(&running);
  code = see_through(run, &running, err);
  tr_running_remove(&running);
  tr_worker_progress progress = tr_worker_pool_progress(run->pool);
  run->report->splits = progress.splits;
  run->report->rows = (int64_t)progress.rows;
  return code;
}

/*
** Makes one grouping of all workers' groups. 1: it is in `*grouping`. 0: the result depends on the
** order of the rows, for `*reason`. -1: failed.
*/
static int join(parallel_run *run, tr_grouping **grouping, const char **reason, tr_error *err) {
  tr_grouping *all[TR_MOST_WORKERS];
  for (int i = 0; i < run->count; i++) all[i] = tr_group_worker_take_grouping(run->workers[i]);
  tr_code code = tr_grouping_join(all[0], all + 1, run->count - 1, err);
  run->parts = NULL;
  *reason = "a group has keys that are equal and look different, and shows the first";
  int shows_order = code == TR_OK && run->count > 1 && tr_grouping_has_looks(all[0]) &&
                    !tr_group_intake_knows_looks(run->job->intake);
  if (code != TR_OK || shows_order) {
    tr_grouping_free(all[0]);
    return code == TR_OK ? 0 : -1;
  }
  tr_grouping_start_helpers(all[0]);
  *grouping = all[0];
  return 1;
}

static int run_workers(parallel_run *run, tr_grouping **grouping, const char **reason,
                       tr_error *err) {
  run->has_threads = 1;
  if (read_all(run, err) != TR_OK) return -1;
  *reason = "no thread could be started";
  return run->has_threads ? join(run, grouping, reason, err) : 0;
}

/*
** Closes the workers and frees the rest. The first worker goes last, since its grouping owns the
** parts.
*/
static void close_workers(parallel_run *run) {
  for (int i = run->count - 1; i >= 0; i--) tr_group_worker_close(run->workers[i]);
  tr_group_parts_free(run->parts);
  tr_worker_pool_free(run->pool);
  tr_buffer_free(&run->first);
  tr_buffer_free(&run->last);
}

int tr_parallel_group_run(const tr_parallel_group *job, tr_grouping **grouping, tr_error *err) {
  parallel_run run = {.job = job, .report = tr_run_report_of(job->host)};
  int count = job->worker_count;
  *grouping = NULL;
  run.snapshots = pool_of(job->host);
  if (run.snapshots == NULL || run.report == NULL)
    return tr_error_no(err, TR_NO_MEMORY, "out of memory");
  const char *reason = "the order of rows shows in the result";
  int result = tr_group_intake_has_order(job->intake) ? 0 : 1;
  if (result == 1) {
    result = tr_snapshot_pool_begin(run.snapshots, job->plan->source.schema, count, &reason, err);
  }
  if (result == 1) {
    result = open_workers(&run, count, &reason, err);
    if (result == 1) result = run_workers(&run, grouping, &reason, err);
    close_workers(&run);
    tr_snapshot_pool_end(run.snapshots);
  }
  run.report->reason = result == 0 ? reason : count == 1 ? ONE_WORKER : NULL;
  run.report->workers = result == 0 ? 1 : count;
  return result;
}

/*
** The functions on jobs. Each finds the job, reads its other arguments from left to right, and does
** its work between tr_job_begin and tr_job_end.
**
**   job_claim(job, worker [, max_keys [, lease_seconds]])
**                                            -> a bundle, or NULL: none is free
**   job_next(job, bundle, worker [, max_keys [, lease_seconds]])
**                                            -> the same, after ending `bundle` as done
**   job_done(job, bundle [, worker])         -> 1
**   job_heartbeat(job, bundle [, seconds [, worker]])
**                                            -> 1
**   job_release(job, bundle [, worker])      -> 1
**   job_fail(job, bundle, message [, worker])
**                                            -> 'pending', 'halved', 'failed' or 'done'
**   job_retry(job [, bundle])                -> how many failed bundles are pending again
**   job_rescan(job)                          -> how many keys are pending again
**
** All are DIRECTONLY. The table `bundle_functions` has those about one bundle that the caller
** holds; on_bundle does what they share.
*/
#include "job_functions.h"

#include "bundle_call.h"
#include "range/restriction.h"

enum { DEFAULT_MAX_KEYS = 1000, DEFAULT_LEASE_SECONDS = 60 };

/* A lease longer than this many seconds would not fit the clock. */
static const double LONGEST_LEASE = 1e9;

/* --- Arguments ---------------------------------------------------------------------------- */

static tr_code find_job(sqlite3_context *context, const char *function, sqlite3_value *name,
                        tr_job **job, tr_error *err) {
  tr_host *host = tr_function_host(context);
  tr_jobs *jobs = tr_jobs_of_host(host);
  *job = NULL;
  if (jobs == NULL) return tr_error_no_memory(err);
  return tr_jobs_find(jobs, tr_host_db(host), function, name, job, err);
}

static int is_in_transaction(sqlite3_context *context) {
  return sqlite3_get_autocommit(sqlite3_context_db_handle(context)) == 0;
}

/*
** Begins a transaction on the job that was found. If this shows that the job is gone, another
** connection has changed the schema and may have created a job of the same name, which is then
** looked for. But not after an interrupt or a failed allocation: the caller's transaction may then
** be gone, and with it its changes of the schema.
*/
static tr_code begin(sqlite3_context *context, const char *function, sqlite3_value *name,
                     tr_job **job, tr_job_transaction *transaction, tr_error *err) {
  int is_open = is_in_transaction(context);
  tr_code code = tr_job_begin(*job, function, transaction, err);
  if (code == TR_OK || (*job)->is_connected) return code;
  if (code == TR_INTERRUPTED || code == TR_NO_MEMORY || is_open != is_in_transaction(context)) {
    return code;
  }
  tr_job_release(*job);
  code = find_job(context, function, name, job, err);
  return code == TR_OK ? tr_job_begin(*job, function, transaction, err) : code;
}

static tr_code lease_argument(const char *function, const char *argument, sqlite3_value *value,
                              double *seconds, tr_error *err) {
  tr_code code = tr_argument_real(function, argument, value, seconds, err);
  if (code != TR_OK || (*seconds >= 0 && *seconds <= LONGEST_LEASE)) return code;
  tr_value v = tr_value_of_sqlite(value);
  return tr_argument_error(err, function, argument, &v, "must be from 0 to 1000000000 seconds");
}

static int is_given(int argc, sqlite3_value **argv, int i) {
  return argc > i && sqlite3_value_type(argv[i]) != SQLITE_NULL;
}

/* --- Claiming ----------------------------------------------------------------------------- */

/* Reads the arguments from the worker on, which is `argv[0]`. */
static tr_code read_claim(const char *function, int argc, sqlite3_value **argv, tr_claim *claim,
                          tr_error *err) {
  *claim = (tr_claim){
      .function = function, .max_keys = DEFAULT_MAX_KEYS, .lease_seconds = DEFAULT_LEASE_SECONDS};
  tr_code code = tr_argument_text(function, "worker", argv[0], &claim->worker, err);
  if (code == TR_OK && is_given(argc, argv, 1)) {
    code = tr_argument_integer(function, "max_keys", argv[1], &claim->max_keys, err);
  }
  if (code == TR_OK && claim->max_keys < 1) {
    tr_value value = tr_value_of_sqlite(argv[1]);
    return tr_argument_error(err, function, "max_keys", &value, "must be 1 or more");
  }
  if (code == TR_OK && is_given(argc, argv, 2)) {
    code = lease_argument(function, "lease_seconds", argv[2], &claim->lease_seconds, err);
  }
  return code;
}

/*
** Ends the worker's bundle before the next one is claimed, whose size depends on how long it took.
*/
static tr_code end_bundle(tr_job *job, tr_job_transaction *transaction, const tr_claim *claim,
                          tr_restriction *restriction, tr_bundle *bundle, tr_error *err) {
  tr_bundle_call named = {claim->function, restriction, &claim->worker, claim->rest};
  tr_code code = tr_bundle_find_own(job, &named, bundle, err);
  if (code == TR_OK) code = tr_bundle_end(job, transaction, bundle, err);
  if (code == TR_OK && job->target_seconds > 0) {
    code = tr_job_look(job, claim->function, transaction, err);
  }
  return code;
}

/*
** Claims a bundle. `done`, if not NULL, is the bundle that the worker has done. Both happen, or
** neither.
*/
static tr_code claim_bundle(tr_job *job, tr_job_transaction *transaction, const tr_claim *asked,
                            tr_restriction *done, sqlite3_context *context, tr_error *err) {
  tr_claim claim = *asked;
  tr_bundle bundle = {0};
  tr_bundle ended = {0};
  tr_bundle rest = {0};
  tr_buffer text = {0};
  tr_error reason;
  tr_code code = TR_OK;
  int is_claimed = 0;
  if (done != NULL) {
    claim.done = &ended;
    claim.rest = &rest;
    code = end_bundle(job, transaction, &claim, done, &ended, &reason);
  }
  if (code == TR_OK) is_claimed = tr_job_claim(job, transaction, &claim, &bundle, &reason);
  if (is_claimed < 0) code = reason.code;
  if (is_claimed == 1) code = tr_bundle_restriction(&bundle, transaction, &text, &reason);
  if (code != TR_OK && err != NULL) *err = reason;
  code = tr_job_end(job, transaction, code, err);
  if (code == TR_OK && is_claimed == 1) tr_result_json(context, &text);
  tr_buffer_free(&text);
  tr_bundle_free(&bundle);
  tr_bundle_free(&ended);
  tr_bundle_free(&rest);
  return code;
}

static void job_claim(sqlite3_context *context, int argc, sqlite3_value **argv) {
  static const char function[] = "job_claim";
  tr_error err;
  tr_claim claim;
  tr_job_transaction transaction;
  tr_job *job = NULL;
  if (argc < 2 || argc > 4) {
    sqlite3_result_error(context, "job_claim() takes job, worker [, max_keys [, lease_seconds]]",
                         -1);
    return;
  }
  tr_code code = find_job(context, function, argv[0], &job, &err);
  if (code == TR_OK) code = read_claim(function, argc - 1, argv + 1, &claim, &err);
  if (code == TR_OK) code = begin(context, function, argv[0], &job, &transaction, &err);
  if (code == TR_OK) code = claim_bundle(job, &transaction, &claim, NULL, context, &err);
  if (code != TR_OK) tr_result_error(context, function, &err);
  tr_job_release(job);
}

/* If the bundle is NULL there is none to end. So a loop can begin with it. */
static void job_next(sqlite3_context *context, int argc, sqlite3_value **argv) {
  static const char function[] = "job_next";
  tr_error err;
  tr_claim claim;
  tr_restriction done = {0};
  tr_job_transaction transaction;
  tr_job *job = NULL;
  if (argc < 3 || argc > 5) {
    sqlite3_result_error(context,
                         "job_next() takes job, bundle, worker [, max_keys [, lease_seconds]]", -1);
    return;
  }
  int ends_one = is_given(argc, argv, 1);
  tr_code code = find_job(context, function, argv[0], &job, &err);
  if (code == TR_OK && ends_one) code = tr_bundle_argument(function, argv[1], &done, &err);
  if (code == TR_OK) code = read_claim(function, argc - 2, argv + 2, &claim, &err);
  if (code == TR_OK) code = begin(context, function, argv[0], &job, &transaction, &err);
  if (code == TR_OK) {
    code = claim_bundle(job, &transaction, &claim, ends_one ? &done : NULL, context, &err);
  }
  if (code != TR_OK) tr_result_error(context, function, &err);
  tr_restriction_free(&done);
  tr_job_release(job);
}

/* --- Calls on one bundle ------------------------------------------------------------------ */

/* The argument between the bundle and the worker. */
typedef struct bundle_argument {
  double seconds; /* -1: not given */
  tr_bytes message;
} bundle_argument;

typedef struct bundle_function {
  const char *name;
  const char *usage;
  int least; /* least number of arguments */
  int worker_at;
  tr_code (*read)(sqlite3_value *value, bundle_argument *given, tr_error *err); /* or NULL */
  tr_code (*call)(tr_job *job, const tr_job_transaction *transaction, tr_bundle *bundle,
                  const bundle_argument *given, sqlite3_context *context, tr_error *err);
} bundle_function;

static tr_code call_done(tr_job *job, const tr_job_transaction *transaction, tr_bundle *bundle,
                         const bundle_argument *given, sqlite3_context *context, tr_error *err) {
  (void)given;
  sqlite3_result_int(context, 1);
  return tr_bundle_done(job, transaction, bundle, err);
}

static tr_code read_seconds(sqlite3_value *value, bundle_argument *given, tr_error *err) {
  if (sqlite3_value_type(value) == SQLITE_NULL) return TR_OK;
  return lease_argument("job_heartbeat", "seconds", value, &given->seconds, err);
}

static tr_code call_heartbeat(tr_job *job, const tr_job_transaction *transaction, tr_bundle *bundle,
                              const bundle_argument *given, sqlite3_context *context,
                              tr_error *err) {
  sqlite3_result_int(context, 1);
  return tr_bundle_heartbeat(job, transaction, bundle, given->seconds, err);
}

static tr_code call_release(tr_job *job, const tr_job_transaction *transaction, tr_bundle *bundle,
                            const bundle_argument *given, sqlite3_context *context, tr_error *err) {
  (void)transaction, (void)given;
  sqlite3_result_int(context, 1);
  return tr_bundle_give_back(job, bundle, err);
}

static tr_code read_message(sqlite3_value *value, bundle_argument *given, tr_error *err) {
  return tr_argument_text("job_fail", "message", value, &given->message, err);
}

static tr_code call_fail(tr_job *job, const tr_job_transaction *transaction, tr_bundle *bundle,
                         const bundle_argument *given, sqlite3_context *context, tr_error *err) {
  int is_halved = 0;
  tr_code code = tr_bundle_fail(job, transaction, bundle, given->message, &is_halved, err);
  if (code != TR_OK) return code;
  const char *became = is_halved ? "halved" : tr_bundle_state_names[bundle->state];
  sqlite3_result_text(context, became, -1, SQLITE_STATIC);
  return TR_OK;
}

static const bundle_function bundle_functions[] = {
    {"job_done", "job, bundle [, worker]", 2, 2, NULL, call_done},
    {"job_heartbeat", "job, bundle [, seconds [, worker]]", 2, 3, read_seconds, call_heartbeat},
    {"job_release", "job, bundle [, worker]", 2, 2, NULL, call_release},
    {"job_fail", "job, bundle, message [, worker]", 3, 3, read_message, call_fail},
};

/* Does what the call is for, and ends its transaction. */
static tr_code run_on_bundle(const bundle_function *f, tr_job *job,
                             const tr_job_transaction *transaction, const tr_bundle_call *named,
                             const bundle_argument *given, sqlite3_context *context,
                             tr_error *err) {
  tr_bundle bundle = {0};
  tr_code code = tr_bundle_find_own(job, named, &bundle, err);
  if (code == TR_OK) code = f->call(job, transaction, &bundle, given, context, err);
  tr_bundle_free(&bundle);
  return tr_job_end(job, transaction, code, err);
}

static void on_bundle(sqlite3_context *context, int argc, sqlite3_value **argv) {
  const bundle_function *f = tr_function_data(context);
  tr_error err;
  tr_restriction restriction = {0};
  tr_bytes worker;
  bundle_argument given = {.seconds = -1};
  tr_job_transaction transaction;
  tr_job *job = NULL;
  if (argc < f->least || argc > f->worker_at + 1) {
    char *message = sqlite3_mprintf("%s() takes %s", f->name, f->usage);
    sqlite3_result_error(context, message == NULL ? "wrong number of arguments" : message, -1);
    sqlite3_free(message);
    return;
  }
  int names_worker = is_given(argc, argv, f->worker_at);
  tr_code code = find_job(context, f->name, argv[0], &job, &err);
  if (code == TR_OK) code = tr_bundle_argument(f->name, argv[1], &restriction, &err);
  if (code == TR_OK && f->read != NULL && argc > 2) code = f->read(argv[2], &given, &err);
  if (code == TR_OK && names_worker) {
    code = tr_argument_text(f->name, "worker", argv[f->worker_at], &worker, &err);
  }
  if (code == TR_OK) code = begin(context, f->name, argv[0], &job, &transaction, &err);
  tr_bundle_call named = {f->name, &restriction, names_worker ? &worker : NULL, NULL};
  if (code == TR_OK) code = run_on_bundle(f, job, &transaction, &named, &given, context, &err);
  if (code != TR_OK) tr_result_error(context, f->name, &err);
  tr_restriction_free(&restriction);
  tr_job_release(job);
}

/* --- Retrying and rescanning -------------------------------------------------------------- */

static tr_code retry_all(tr_job *job, int64_t *count, tr_error *err) {
  tr_code code = tr_job_need_keys(job, "job_retry", err);
  if (code == TR_OK) code = tr_job_do(job, TR_BUNDLE_RETRY_ALL, err);
  if (code == TR_OK) *count = sqlite3_changes(job->db);
  return code == TR_OK && *count == 0 ? tr_job_check_states(job, err) : code;
}

static tr_code retry_one(tr_job *job, tr_restriction *restriction, int64_t *count, tr_error *err) {
  tr_bundle bundle = {0};
  tr_bundle_call named = {"job_retry", restriction, NULL, NULL};
  tr_code code = tr_bundle_find_failed(job, &named, &bundle, err);
  if (code == TR_OK) {
    bundle.state = TR_BUNDLE_PENDING;
    bundle.failures = 0;
    bundle.finished_at = 0;
    tr_bundle_let_go(&bundle);
    code = tr_bundle_write(job, &bundle, err);
  }
  if (code == TR_OK) *count = 1;
  tr_bundle_free(&bundle);
  return code;
}

static void job_retry(sqlite3_context *context, int argc, sqlite3_value **argv) {
  static const char function[] = "job_retry";
  tr_error err;
  tr_job_transaction transaction;
  tr_restriction restriction = {0};
  tr_job *job = NULL;
  int64_t count = 0;
  if (argc < 1 || argc > 2) {
    sqlite3_result_error(context, "job_retry() takes job [, bundle]", -1);
    return;
  }
  int names_bundle = is_given(argc, argv, 1);
  tr_code code = find_job(context, function, argv[0], &job, &err);
  if (code == TR_OK && names_bundle)
    code = tr_bundle_argument(function, argv[1], &restriction, &err);
  if (code == TR_OK) code = begin(context, function, argv[0], &job, &transaction, &err);
  if (code == TR_OK) {
    code = names_bundle ? retry_one(job, &restriction, &count, &err) : retry_all(job, &count, &err);
    code = tr_job_end(job, &transaction, code, &err);
  }
  if (code == TR_OK) {
    sqlite3_result_int64(context, count);
  } else {
    tr_result_error(context, function, &err);
  }
  tr_restriction_free(&restriction);
  tr_job_release(job);
}

/*
** Looks through the whole job, in as many short transactions as it takes, so that workers can
** continue meanwhile. `transaction` is the first of them. In the caller's transaction all are part
** of that.
*/
static tr_code rescan(tr_job *job, tr_job_transaction *transaction, const char *function,
                      int64_t *found, tr_error *err) {
  tr_buffer start = {0};
  int is_complete = 0;
  tr_code code = TR_OK;
  for (;;) {
    if (transaction->scope == TR_SCOPE_STATEMENT) {
      code = tr_error_set(err, TR_INVALID_STATE,
                          "%s: cannot run inside a statement that writes; use a SELECT", function);
    } else {
      code = tr_job_rescan(job, function, &start, found, &is_complete, err);
    }
    code = tr_job_end(job, transaction, code, err);
    if (code != TR_OK || is_complete) break;
    code = tr_job_begin(job, function, transaction, err);
    if (code != TR_OK) break;
  }
  tr_buffer_free(&start);
  return code;
}

static void job_rescan(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  static const char function[] = "job_rescan";
  tr_error err;
  tr_job_transaction transaction;
  tr_job *job = NULL;
  int64_t found = 0;
  tr_code code = find_job(context, function, argv[0], &job, &err);
  if (code == TR_OK) code = begin(context, function, argv[0], &job, &transaction, &err);
  if (code == TR_OK) code = rescan(job, &transaction, function, &found, &err);
  if (code == TR_OK) {
    sqlite3_result_int64(context, found);
  } else {
    tr_result_error(context, function, &err);
  }
  tr_job_release(job);
}

int tr_register_job_functions(tr_host *host) {
  static const tr_function functions[] = {
      {.name = "job_claim",
       .argument_count = -1,
       .flags = TR_DIRECT | SQLITE_RESULT_SUBTYPE,
       .call = job_claim},
      {.name = "job_next",
       .argument_count = -1,
       .flags = TR_DIRECT | SQLITE_RESULT_SUBTYPE,
       .call = job_next},
      {.name = "job_retry", .argument_count = -1, .flags = TR_DIRECT, .call = job_retry},
      {.name = "job_rescan", .argument_count = 1, .flags = TR_DIRECT, .call = job_rescan},
  };
  const size_t about_bundles = sizeof bundle_functions / sizeof bundle_functions[0];
  int rc = tr_host_register_functions(host, functions, sizeof functions / sizeof functions[0]);
  for (size_t i = 0; i < about_bundles && rc == SQLITE_OK; i++) {
    tr_function function = {.name = bundle_functions[i].name,
                            .argument_count = -1,
                            .flags = TR_DIRECT,
                            .call = on_bundle,
                            .data = &bundle_functions[i]};
    rc = tr_host_register_functions(host, &function, 1);
  }
  return rc;
}

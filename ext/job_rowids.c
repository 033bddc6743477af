/*
** job_rowids(job, bundle): the rowids that a bundle had when it was claimed. Each run of
** consecutive ones is a row [first, last].
**
** A row of the job's table passes through two statements, which takes twice the time of reading it.
** Joined with these ranges the source is read by SQLite alone, and returns the same rows as the
** job's table:
**
**   FROM job_rowids('backfill', :bundle) AS r
**     CROSS JOIN events AS e ON e.id BETWEEN r.first AND r.last
**
** It needs nothing but the record of the claim (key_record.h). Keys other than rowids have no such
** record.
*/
#include "job_rowids.h"

#include "bundle_call.h"
#include "key_record.h"

static const char function[] = "job_rowids";

/*
** Cuts a run to the rowids of the bundle, since a record may be that of a larger bundle. 0: nothing
** is left.
*/
static int clip(const tr_bundle *bundle, int64_t *first, int64_t *last) {
  int64_t least, greatest;
  if (!tr_bundle_rowids(bundle, &least, &greatest)) return 0;
  if (*first < least) *first = least;
  if (*last > greatest) *last = greatest;
  return *first <= *last;
}

static tr_code append_runs(const tr_job *job, const tr_bundle *bundle, tr_row_list *rows,
                           tr_error *err) {
  tr_key_runs runs;
  int64_t first;
  int64_t last;
  tr_code code = TR_OK;
  if (!tr_key_runs_begin(&runs, tr_buffer_bytes(&bundle->record))) {
    return tr_error_set(err, TR_INVALID_STATE, "%s: this bundle of job %s is not claimed", function,
                        job->name);
  }
  while (code == TR_OK && tr_key_runs_next(&runs, &first, &last)) {
    if (!clip(bundle, &first, &last)) continue;
    tr_value row[] = {tr_value_integer(first), tr_value_integer(last)};
    code = tr_row_list_append(rows, row, err);
  }
  if (code == TR_OK && runs.is_damaged) code = tr_bundle_refuse_record(bundle, err);
  return code;
}

static tr_code fill_from(tr_job *job, tr_restriction *restriction, tr_row_list *rows,
                         tr_error *err) {
  tr_bundle bundle = {0};
  tr_bundle_call named = {function, restriction, NULL, NULL};
  tr_code code = tr_bundle_find_any(job, &named, &bundle, err);
  if (code == TR_OK && job->source.key.form != TR_KEY_ROWID) {
    code = tr_error_set(err, TR_INVALID_STATE, "%s: the key of job %s is %s, and not the rowid",
                        function, job->name, job->source_key);
  }
  if (code == TR_OK) code = append_runs(job, &bundle, rows, err);
  tr_bundle_free(&bundle);
  return code;
}

static tr_code fill(tr_host *host, sqlite3_value **arguments, tr_row_list *rows, tr_error *err) {
  tr_jobs *jobs = tr_jobs_of_host(host);
  tr_restriction restriction = {0};
  tr_job *job = NULL;
  if (jobs == NULL) return tr_error_no_memory(err);
  tr_code code = tr_jobs_look(jobs, tr_host_db(host), function, arguments[0], &job, err);
  /* A claim returns NULL if nothing is left; NULL has no rows. */
  if (code == TR_OK && sqlite3_value_type(arguments[1]) != SQLITE_NULL) {
    code = tr_bundle_argument(function, arguments[1], &restriction, err);
    if (code == TR_OK) code = fill_from(job, &restriction, rows, err);
  }
  if (code != TR_OK && job != NULL) tr_job_forget_spoilt(job, err);
  tr_restriction_free(&restriction);
  tr_job_release(job);
  return code;
}

const tr_table_function tr_job_rowids = {
    .name = "job_rowids",
    .declaration = "CREATE TABLE x(first INTEGER, last INTEGER, job HIDDEN, bundle HIDDEN)",
    .column_count = 2,
    .risk = SQLITE_VTAB_DIRECTONLY,
    .required_count = 2,
    .takes_null = 1,
    .arguments = {"job", "bundle"},
    .fill = fill,
};

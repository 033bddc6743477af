/*
** job_progress(job): one row about how far a job is.
**
** It only reads. In WAL mode it never waits for a worker or delays one. In rollback mode it holds a
** read lock while it runs.
**
** The remaining keys are counted exactly up to COUNT_AT_MOST. Beyond that the rest of the table is
** estimated: its keys are assumed to lie as densely as the known ones, those in bundles and those
** just counted. So small tables show exact figures, and large ones take no longer.
**
** The rate is that of the bundles that were done last, of all workers together, by the wall clock:
** the number of their keys, divided by the time in which somebody held one of them. Short waits
** between two bundles count as work. A pause does not: it says nothing about how long the rest
** takes once work continues.
*/
#include "job_progress.h"

#include <math.h>
#include <string.h>

#include "base/argument.h"
#include "bundles.h"
#include "host/source_estimate.h"
#include "job_walk.h"

enum { COUNT_AT_MOST = 20000, BAR_CELLS = 20 };

/* If nobody held a bundle for longer than this, nobody was working. */
enum { PAUSE_MILLISECONDS = 10000 };

typedef struct progress {
  int64_t bundles[TR_BUNDLE_STATES];
  int64_t keys[TR_BUNDLE_STATES]; /* in bundles that were counted */
  int64_t remaining;              /* keys in the last range, which was never counted */
  double rate;                    /* keys a second; below 0: not known */
} progress;

/* --- Reading ------------------------------------------------------------------------------ */

/* Reads a number that is from 0 to 2^53 unless a bundle is damaged. */
static tr_code read_sum(sqlite3_stmt *stmt, int column, const char *state, const char *what,
                        int64_t *sum, tr_error *err) {
  static const double most = 0x1p53;
  double number = sqlite3_column_double(stmt, column);
  *sum = number >= 0 && number <= most ? (int64_t)number : 0;
  if (number >= 0 && number <= most) return TR_OK;
  tr_literal literal;
  tr_value value = tr_value_real(number);
  return tr_error_set(err, TR_CORRUPT, "job_progress: the bundles that are %s are damaged: %s = %s",
                      state, what, tr_value_literal(&value, literal));
}

static tr_code read_counts(tr_job *job, progress *p, tr_error *err) {
  sqlite3_stmt *stmt;
  tr_error reason = {0};
  tr_code code = tr_job_statement(job, TR_JOB_COUNTS, &stmt, err);
  int has_row = 0;
  while (code == TR_OK && (has_row = tr_job_step(job, stmt, &reason)) == 1) {
    const char *state = (const char *)sqlite3_column_text(stmt, 0);
    for (int i = 0; i < TR_BUNDLE_STATES && state != NULL; i++) {
      if (strcmp(state, tr_bundle_state_names[i]) != 0) continue;
      /* The range that was never counted is not yet a bundle. */
      int64_t uncounted = sqlite3_column_int64(stmt, 3);
      p->bundles[i] = sqlite3_column_int64(stmt, 1) - uncounted;
      if (uncounted != (i == TR_BUNDLE_PENDING)) {
        code = tr_error_ignored(err, "the bundles' keys cannot be read");
        break;
      }
      code = read_sum(stmt, 2, state, "keys", &p->keys[i], err);
    }
  }
  sqlite3_reset(stmt);
  if (has_row < 0) {
    code = reason.code;
    if (err != NULL) *err = reason;
  }
  return code;
}

static int64_t keys_in_bundles(const progress *p) {
  int64_t keys = 0;
  for (int i = 0; i < TR_BUNDLE_STATES; i++) keys += p->keys[i];
  return keys;
}

/* --- Estimating --------------------------------------------------------------------------- */

/* The bytes that text keys are made of: all from the least to the greatest that was seen. */
typedef struct alphabet {
  size_t skip; /* how many bytes at the beginning all keys share */
  uint8_t least;
  uint8_t greatest;
} alphabet;

static void see(alphabet *a, tr_bytes key) {
  for (size_t i = a->skip; i < key.size; i++) {
    if (key.data[i] < a->least) a->least = key.data[i];
    if (key.data[i] > a->greatest) a->greatest = key.data[i];
  }
}

/* The key as a number below 1 whose digits are the bytes. */
static double number_of(const alphabet *a, tr_bytes key) {
  enum { DIGITS = 16 };
  double number = 0;
  double unit = 1;
  for (size_t i = a->skip; i < key.size && i < a->skip + DIGITS; i++) {
    unit /= a->greatest - a->least + 1;
    number += unit * (key.data[i] - a->least);
  }
  return number;
}

/*
** How far a text key is on the way from the first to the last. Texts use few of the 256 bytes, and
** numbers written as text only ten. If all bytes counted, most of the way would be where no key can
** be.
** 0: unknown.
*/
static double text_fraction(tr_bytes first, tr_bytes last, tr_bytes key) {
  alphabet a = {.least = UINT8_MAX};
  while (a.skip < first.size && a.skip < last.size && a.skip < key.size &&
         first.data[a.skip] == last.data[a.skip]) {
    a.skip++;
  }
  see(&a, first);
  see(&a, last);
  see(&a, key);
  if (a.least > a.greatest) return 0;
  if (a.least >= '0' && a.greatest <= '9') a = (alphabet){a.skip, '0', '9'};
  double from = number_of(&a, first);
  double to = number_of(&a, last);
  return to > from ? (number_of(&a, key) - from) / (to - from) : 0;
}

static double fraction_behind(const tr_job *job, const tr_byte_key_range *ends, tr_bytes key) {
  double fraction = 0;
  if (job->source.key.form == TR_KEY_TEXT) {
    fraction = text_fraction(tr_buffer_bytes(&ends->start), tr_buffer_bytes(&ends->end), key);
  } else if (tr_byte_key_range_estimate_fraction(ends, key, &fraction, NULL) != TR_OK) {
    return 0;
  }
  return fraction > 1 ? 1 : fraction;
}

/*
** Estimates how many keys come after `counted`, the last key that was counted, from how many come
** before it and how far it is on the way from the table's first key to its last. -1: failed.
** `*keys` stays unchanged if the ends say nothing.
*/
static int extrapolate(tr_job *job, tr_bytes counted, int64_t known, int64_t *keys, tr_error *err) {
  tr_byte_key_range ends = {{0}, {0}};
  int has_ends = tr_statement_reader_end_key(job->keys, 0, &ends.start, NULL, err);
  if (has_ends == 1) has_ends = tr_statement_reader_end_key(job->keys, 1, &ends.end, NULL, err);
  double fraction = has_ends == 1 ? fraction_behind(job, &ends, counted) : 0;
  if (fraction > 0) {
    double behind = (double)known * (1 - fraction) / fraction;
    *keys = behind < 1e18 ? (int64_t)behind : INT64_C(1000000000000000000);
  }
  tr_buffer_free(&ends.start);
  tr_buffer_free(&ends.end);
  return has_ends;
}

static tr_code count_remaining(tr_job *job, const char *function, progress *p, tr_error *err) {
  tr_bundle range = {0};
  tr_buffer last = {0};
  tr_error reason = {0};
  tr_code code = tr_job_need_keys(job, function, err);
  if (code == TR_OK) code = tr_bundle_find_rest(job, &range, err);
  if (code == TR_OK) {
    code = tr_job_count_keys(job, tr_buffer_bytes(&range.start), tr_buffer_bytes(&range.end),
                             COUNT_AT_MOST, &p->remaining, &last, err);
  }
  tr_bundle_free(&range);
  if (code == TR_OK && p->remaining == COUNT_AT_MOST) {
    int64_t known = keys_in_bundles(p) + p->remaining;
    int64_t behind = tr_source_table_estimated_rows(&job->source, job->db) - known;
    if (extrapolate(job, tr_buffer_bytes(&last), known, &behind, &reason) < 0) {
      code = reason.code;
      if (err != NULL) *err = reason;
    }
    if (behind > 0) p->remaining += behind;
  }
  tr_buffer_free(&last);
  return code;
}

/* For how long bundles were worked on. Bundles are added from the last done backwards. */
typedef struct work {
  double keys;
  int64_t began; /* all work from here on is counted */
  int64_t milliseconds;
} work;

/*
** Adds the time of a bundle in which no bundle that was done later was worked on. The wait up to
** that one counts, too, unless it is a pause.
*/
static void add_time(work *w, int64_t claimed_at, int64_t finished_at) {
  int is_first = w->keys == 0;
  if (is_first || w->began - finished_at > PAUSE_MILLISECONDS) w->began = finished_at;
  if (claimed_at >= w->began) return;
  w->milliseconds += w->began - claimed_at;
  w->began = claimed_at;
}

static tr_code add_bundle(sqlite3_stmt *stmt, work *w, tr_error *err) {
  int64_t keys, claimed_at, finished_at;
  tr_code code = read_sum(stmt, 0, "done", "keys", &keys, err);
  if (code == TR_OK) code = read_sum(stmt, 1, "done", "claimed_at", &claimed_at, err);
  if (code == TR_OK) code = read_sum(stmt, 2, "done", "finished_at", &finished_at, err);
  if (code != TR_OK) return code;
  add_time(w, claimed_at, finished_at);
  w->keys += (double)keys;
  return TR_OK;
}

static tr_code read_rate(tr_job *job, progress *p, tr_error *err) {
  sqlite3_stmt *stmt;
  tr_error reason = {0};
  work w = {0};
  int has_row = 0;
  tr_code code = tr_job_statement(job, TR_JOB_RECENT, &stmt, err);
  while (code == TR_OK && (has_row = tr_job_step(job, stmt, &reason)) == 1) {
    code = add_bundle(stmt, &w, err);
  }
  sqlite3_reset(stmt);
  if (has_row < 0) {
    code = reason.code;
    if (err != NULL) *err = reason;
  }
  p->rate = w.milliseconds > 0 ? w.keys * 1000 / (double)w.milliseconds : -1;
  return code;
}

/* --- The row ------------------------------------------------------------------------------ */

static double fraction_of(const progress *p) {
  int64_t done = p->keys[TR_BUNDLE_DONE];
  int64_t open = p->remaining + p->keys[TR_BUNDLE_PENDING] + p->keys[TR_BUNDLE_CLAIMED] +
                 p->keys[TR_BUNDLE_FAILED];
  return open == 0 ? 1 : (double)done / (double)(done + open);
}

/* Appends a time as hours, minutes and seconds. */
static tr_code append_time(tr_buffer *text, double seconds, tr_error *err) {
  int64_t s = seconds < 1e9 ? (int64_t)ceil(seconds) : INT64_C(1000000000);
  return tr_buffer_printf(text, err, "%lld:%02lld:%02lld", (long long)(s / 3600),
                          (long long)(s / 60 % 60), (long long)(s % 60));
}

/* `[#######.............]  36 %  1200 rows/s  0:04:10 left  2 failed` */
static tr_code append_bar(const progress *p, double fraction, double eta, tr_buffer *bar,
                          tr_error *err) {
  int cells = (int)(fraction * BAR_CELLS);
  tr_code code = tr_buffer_append_byte(bar, '[', err);
  for (int i = 0; i < BAR_CELLS && code == TR_OK; i++) {
    code = tr_buffer_append_byte(bar, i < cells ? '#' : '.', err);
  }
  if (code == TR_OK) code = tr_buffer_printf(bar, err, "] %3d %%", (int)(fraction * 100));
  if (code == TR_OK && eta > 0) {
    code = tr_buffer_printf(bar, err, "  %lld rows/s  ", (long long)llround(p->rate));
    if (code == TR_OK) code = append_time(bar, eta, err);
    if (code == TR_OK) code = tr_buffer_append_text(bar, " left", err);
  }
  if (code == TR_OK && p->bundles[TR_BUNDLE_FAILED] > 0) {
    code = tr_buffer_printf(bar, err, "  %lld failed", (long long)p->bundles[TR_BUNDLE_FAILED]);
  }
  return code;
}

static tr_code append_row(const progress *p, tr_row_list *rows, tr_error *err) {
  double fraction = fraction_of(p);
  int64_t open = p->remaining + p->keys[TR_BUNDLE_PENDING] + p->keys[TR_BUNDLE_CLAIMED];
  double eta = open == 0 ? 0 : p->rate > 0 ? (double)open / p->rate : -1;
  tr_buffer bar = {0};
  tr_code code = append_bar(p, fraction, eta, &bar, err);
  tr_value row[] = {
      tr_value_integer(p->bundles[TR_BUNDLE_PENDING]),
      tr_value_integer(p->bundles[TR_BUNDLE_CLAIMED]),
      tr_value_integer(p->bundles[TR_BUNDLE_DONE]),
      tr_value_integer(p->bundles[TR_BUNDLE_FAILED]),
      tr_value_real(fraction),
      tr_value_integer(p->keys[TR_BUNDLE_DONE]),
      tr_value_integer(open),
      p->rate < 0 ? tr_value_null() : tr_value_real(p->rate),
      eta < 0 ? tr_value_null() : tr_value_real(eta),
      tr_value_text(tr_buffer_bytes(&bar)),
  };
  if (code == TR_OK) code = tr_row_list_append(rows, row, err);
  tr_buffer_free(&bar);
  return code;
}

static tr_code fill(tr_host *host, sqlite3_value **arguments, tr_row_list *rows, tr_error *err) {
  static const char function[] = "job_progress";
  tr_jobs *jobs = tr_jobs_of_host(host);
  tr_job *job;
  progress p = {0};
  if (jobs == NULL) return tr_error_no_memory(err);
  tr_code code = tr_jobs_look(jobs, tr_host_db(host), function, arguments[0], &job, err);
  if (code != TR_OK) return code;
  code = tr_job_check_states(job, err);
  if (code == TR_OK) code = read_counts(job, &p, err);
  if (code == TR_OK) code = count_remaining(job, function, &p, err);
  if (code == TR_OK) code = read_rate(job, &p, err);
  if (code != TR_OK) tr_job_forget_spoilt(job, err);
  tr_job_release(job);
  return code == TR_OK ? append_row(&p, rows, err) : code;
}

const tr_table_function tr_job_progress = {
    .name = "job_progress",
    .declaration = "CREATE TABLE x(pending INTEGER, claimed INTEGER, done INTEGER, failed INTEGER,"
                   " fraction REAL, rows INTEGER, remaining INTEGER, rate REAL, eta REAL, bar TEXT,"
                   " job HIDDEN)",
    .column_count = 10,
    .risk = SQLITE_VTAB_DIRECTONLY,
    .required_count = 1,
    .takes_null = 1,
    .arguments = {"job"},
    .fill = fill,
};

/*
** tranche_last_run() and tranche_progress: what the last group_by_fields of the connection did, and
** what the runs in this process are doing.
*/
#include "run_report.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "host/interrupt.h"
#include "host/table_function.h"
#include "surfaces.h"

static const char report_owner;

static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
static tr_running *list;

static void free_report(void *pointer) {
  tr_run_report *report = pointer;
  sqlite3_free(report->source);
  tr_free(report);
}

tr_run_report *tr_run_report_of(tr_host *host) {
  tr_run_report *report = tr_host_state(host, &report_owner);
  if (report != NULL) return report;
  report = tr_malloc(sizeof *report);
  if (report == NULL) return NULL;
  *report = (tr_run_report){.source = NULL};
  return tr_host_set_state(host, &report_owner, report, free_report) == TR_OK ? report : NULL;
}

tr_code tr_run_report_begin(tr_run_report *report, const char *schema, const char *table) {
  sqlite3_free(report->source);
  *report = (tr_run_report){.source = sqlite3_mprintf("%s.%s", schema, table),
                            .workers = 1,
                            .rows = -1,
                            .began = tr_monotonic_now()};
  return report->source == NULL ? TR_NO_MEMORY : TR_OK;
}

void tr_run_report_end(tr_host *host, int64_t groups) {
  tr_run_report *report = tr_run_report_of(host);
  if (report == NULL) return;
  report->groups = groups;
  report->nanoseconds = tr_monotonic_now() - report->began;
}

void tr_run_report_set_groups(tr_host *host, int64_t began, int64_t groups) {
  tr_run_report *report = tr_run_report_of(host);
  if (report != NULL && report->began == began) report->groups = groups;
}

void tr_running_add(tr_running *running) {
  pthread_mutex_lock(&list_mutex);
  running->next = list;
  list = running;
  pthread_mutex_unlock(&list_mutex);
}

void tr_running_remove(tr_running *running) {
  pthread_mutex_lock(&list_mutex);
  tr_running **at = &list;
  while (*at != running) at = &(*at)->next;
  *at = running->next;
  pthread_mutex_unlock(&list_mutex);
}

/* The state of a run at this moment. The time left is a guess, and -1 until there is one. */
typedef struct running_state {
  tr_worker_progress progress;
  double rows_per_second;
  double seconds_left;
} running_state;

static running_state look_at(const tr_running *running) {
  running_state state = {.progress = tr_worker_pool_progress(running->pool), .seconds_left = -1};
  double seconds = (double)(tr_monotonic_now() - running->began) * 1e-9;
  double fraction = state.progress.fraction;
  if (seconds > 0) state.rows_per_second = (double)state.progress.rows / seconds;
  if (fraction > 0) state.seconds_left = seconds * (1 - fraction) / fraction;
  return state;
}

void tr_running_draw(const tr_running *running, int is_over) {
  enum { WIDTH = 40 };
  static const char full[] = "########################################";
  if (!isatty(STDERR_FILENO)) return;
  if (is_over) {
    fputs("\r\033[K", stderr);
  } else {
    running_state state = look_at(running);
    int done = (int)(state.progress.fraction * WIDTH);
    fprintf(stderr, "\r\033[K[%.*s%*s] %d %%, %llu rows, %lld rows/s", done, full, WIDTH - done, "",
            (int)(state.progress.fraction * 100), (unsigned long long)state.progress.rows,
            (long long)state.rows_per_second);
    if (state.seconds_left >= 0) fprintf(stderr, ", %.0f s left", state.seconds_left);
  }
  fflush(stderr);
}

static tr_value text_or_null(const char *text) {
  return text == NULL ? tr_value_null() : tr_value_text(tr_bytes_of_text(text));
}

static tr_code fill_last_run(tr_host *host, sqlite3_value **arguments, tr_row_list *rows,
                             tr_error *err) {
  (void)arguments;
  const tr_run_report *report = tr_run_report_of(host);
  if (report == NULL) return tr_error_no_memory(err);
  if (report->source == NULL) return TR_OK;
  tr_value row[] = {
      text_or_null(report->source),
      tr_value_integer(report->workers),
      tr_value_integer(report->splits),
      report->rows < 0 ? tr_value_null() : tr_value_integer(report->rows),
      report->groups < 0 ? tr_value_null() : tr_value_integer(report->groups),
      tr_value_real((double)report->nanoseconds * 1e-9),
      text_or_null(report->reason),
  };
  return tr_row_list_append(rows, row, err);
}

static tr_code fill_progress(tr_host *host, sqlite3_value **arguments, tr_row_list *rows,
                             tr_error *err) {
  (void)host, (void)arguments;
  tr_code code = TR_OK;
  pthread_mutex_lock(&list_mutex);
  for (const tr_running *running = list; running != NULL && code == TR_OK;
       running = running->next) {
    running_state state = look_at(running);
    tr_value row[] = {
        text_or_null(running->source),
        tr_value_integer(running->workers),
        tr_value_integer((int64_t)state.progress.rows),
        tr_value_real(state.progress.fraction),
        tr_value_real(state.rows_per_second),
        state.seconds_left >= 0 ? tr_value_real(state.seconds_left) : tr_value_null(),
    };
    code = tr_row_list_append(rows, row, err);
  }
  pthread_mutex_unlock(&list_mutex);
  return code;
}

int tr_register_run_report(tr_host *host) {
  static const tr_table_function functions[] = {
      {.name = "tranche_last_run",
       .declaration = "CREATE TABLE x(source TEXT, workers INTEGER, splits INTEGER, rows INTEGER,"
                      " groups INTEGER, seconds REAL, reason TEXT)",
       .column_count = 7,
       .risk = SQLITE_VTAB_DIRECTONLY,
       .fill = fill_last_run},
      {.name = "tranche_progress",
       .declaration = "CREATE TABLE x(source TEXT, workers INTEGER, rows INTEGER, fraction REAL,"
                      " rows_per_second REAL, seconds_left REAL)",
       .column_count = 6,
       .risk = SQLITE_VTAB_DIRECTONLY,
       .fill = fill_progress},
  };
  int rc = SQLITE_OK;
  for (size_t i = 0; i < sizeof functions / sizeof *functions && rc == SQLITE_OK; i++) {
    rc = tr_host_register_table_function(host, &functions[i]);
  }
  return rc;
}

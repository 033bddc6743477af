/*
** What tranche_last_run() and tranche_progress show: the connection's last run of group_by_fields,
** and all runs in the process that are under way.
**
** Thread-safety: the last run belongs to its connection's thread. The runs under way are in one
** list for the process, under a mutex; tr_worker_pool_progress, which is called for each, is safe
** from any thread.
*/
#ifndef TR_EXT_RUN_REPORT_H
#define TR_EXT_RUN_REPORT_H

#include "host/sqlite_host.h"
#include "reader/worker_pool.h"

typedef struct tr_run_report {
  char *source;   /* schema.table; NULL: there was no run yet */
  int workers;    /* 1: the caller's thread did it alone, or there was one worker */
  int splits;     /* how many ranges were taken over by another worker */
  int64_t rows;   /* rows that workers have read; -1: not counted */
  int64_t groups; /* -1: not known (yet) */
  int64_t began;  /* tr_monotonic_now */
  int64_t nanoseconds;
  const char *reason; /* why there was one thread; static; NULL: there were several */
} tr_run_report;

/* The connection's report, which is made at the first call. NULL: out of memory. */
tr_run_report *tr_run_report_of(tr_host *host);

/* Begins a report on a run over that source. Returns TR_OK or TR_NO_MEMORY. */
tr_code tr_run_report_begin(tr_run_report *report, const char *schema, const char *table);

/*
** The first ends the report, if there is one. The second sets `groups` later, for a caller that
** knows `began` of its report; it does nothing if another run has begun since.
*/
void tr_run_report_end(tr_host *host, int64_t groups);
void tr_run_report_set_groups(tr_host *host, int64_t began, int64_t groups);

/* A run that other connections can see, from tr_running_add until tr_running_remove. */
typedef struct tr_running {
  tr_worker_pool *pool;
  const char *source;
  int workers;
  int64_t began; /* tr_monotonic_now */
  struct tr_running *next;
} tr_running;

/*
** Draws a progress bar on standard error over the last one, or erases it if `is_over`. Does nothing
** if standard error is not a terminal.
*/
void tr_running_draw(const tr_running *running, int is_over);

void tr_running_add(tr_running *running);
void tr_running_remove(tr_running *running);

#endif

/*
** What is known of the connection's last run of group_by_fields, and of all runs in the process
** while they last: behind tranche_last_run() and tranche_progress.
**
** Thread-safety: the last run belongs to its connection's thread. Runs in progress are in one list
** for the process, under a mutex; what is asked of each (tr_worker_pool_progress) is safe from any
** thread.
*/
#ifndef TR_EXT_RUN_REPORT_H
#define TR_EXT_RUN_REPORT_H

#include "host/sqlite_host.h"
#include "reader/worker_pool.h"

typedef struct tr_run_report {
  char *source;   /* schema.table; NULL: there was no run */
  int workers;    /* 1: the caller's thread alone did it */
  int splits;     /* ranges that changed hands */
  int64_t rows;   /* that were read by workers; -1: not counted */
  int64_t groups; /* -1: not known (yet) */
  int64_t began;  /* tr_monotonic_now */
  int64_t nanoseconds;
  const char *reason; /* for one thread; static; NULL: there were several */
} tr_run_report;

/* The connection's; made when it is first asked for. NULL: out of memory. */
tr_run_report *tr_run_report_of(tr_host *host);

/* Begins a report on a run over that source. TR_NO_MEMORY. */
tr_code tr_run_report_begin(tr_run_report *report, const char *schema, const char *table);

/*
** Ends it, if there is one; `groups` may be said later, by whoever has its `began`, unless another
** run has begun.
*/
void tr_run_report_end(tr_host *host, int64_t groups);
void tr_run_report_set_groups(tr_host *host, int64_t began, int64_t groups);

/* A run that others can look at until it is taken off the list. */
typedef struct tr_running {
  tr_worker_pool *pool;
  const char *source;
  int workers;
  int64_t began; /* tr_monotonic_now */
  struct tr_running *next;
} tr_running;

/*
** Draws a bar of how far it is on standard error, over the last one, or with `is_over` wipes it
** away; nothing where that is no terminal.
*/
void tr_running_draw(const tr_running *running, int is_over);

void tr_running_add(tr_running *running);
void tr_running_remove(tr_running *running);

#endif

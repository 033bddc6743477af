/*
** The polling statement, and a sleep made of short ones.
*/
#include "host/interrupt.h"

#include <time.h>

/* Between two polls: short for a person who pressed Ctrl-C, long against the price of a poll. */
#define SLICE_NANOSECONDS 3000000

/* 64 rounds of a join without tables: some 400 steps, and nothing an authorizer could object to. */
static const char poll_sql[] = "SELECT count(*) FROM"
                               " (VALUES (1), (1), (1), (1), (1), (1), (1), (1)) AS a,"
                               " (VALUES (1), (1), (1), (1), (1), (1), (1), (1)) AS b";

tr_code tr_interrupt_poll(tr_interrupt *interrupt, tr_error *err) {
  int rc = SQLITE_OK;
  if (interrupt->poll == NULL) {
    rc = sqlite3_prepare_v2(interrupt->db, poll_sql, -1, &interrupt->poll, NULL);
    if (rc != SQLITE_OK) return tr_error_of_sqlite(err, interrupt->db, rc);
  }
  sqlite3_step(interrupt->poll);
  rc = sqlite3_reset(interrupt->poll);
  return rc == SQLITE_OK ? TR_OK : tr_error_of_sqlite(err, interrupt->db, rc);
}

int64_t tr_monotonic_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

tr_code tr_interrupt_sleep_until(tr_interrupt *interrupt, int64_t time, tr_error *err) {
  for (;;) {
    tr_code code = tr_interrupt_poll(interrupt, err);
    int64_t left = time - tr_monotonic_now();
    if (code != TR_OK || left <= 0) return code;
    struct timespec slice = {.tv_nsec = left < SLICE_NANOSECONDS ? left : SLICE_NANOSECONDS};
    nanosleep(&slice, NULL);
  }
}

void tr_interrupt_close(tr_interrupt *interrupt) {
  sqlite3_finalize(interrupt->poll);
  interrupt->poll = NULL;
}

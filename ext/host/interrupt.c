/*
** The polling statement, and a sleep that is made of short sleeps.
*/
#include "host/interrupt.h"

#include <time.h>

/* The time between two polls: short for a person who presses Ctrl-C, long compared with a poll. */
#define SLICE_NANOSECONDS 3000000

/*
** 64 sums of seven steps each. All differ, because SQLite computes equal ones once. It is one
** narrow and shallow SELECT of numbers, so that an authorizer can object to nothing but the SELECT
** itself, and the low limits of a careful program are not exceeded. There are no SELECTs inside: if
** an authorizer has one of those ignored, SQLite may read registers that were never set.
*/
#define SUM(n) ", (" n "+1)+(" n "+2)"
#define FOUR_SUMS(n) SUM(n "0") SUM(n "1") SUM(n "2") SUM(n "3")
#define SIXTEEN_SUMS(n) FOUR_SUMS(n "0") FOUR_SUMS(n "1") FOUR_SUMS(n "2") FOUR_SUMS(n "3")
static const char poll_sql[] =
    "SELECT 0" SIXTEEN_SUMS("1") SIXTEEN_SUMS("2") SIXTEEN_SUMS("3") SIXTEEN_SUMS("4");

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

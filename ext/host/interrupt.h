/*
** Stops on request where our own code spends time: in a wait, in a long loop, or in a statement of
** another connection.
**
** SQLite checks sqlite3_interrupt() and calls the progress handler only while it runs a statement.
** So a poll runs one: a tiny statement on the same connection. It takes some hundred steps of the
** virtual machine, so that a progress handler is called once in a few polls.
** (sqlite3_is_interrupted is newer than the oldest SQLite that we load into, and does not call the
** progress handler.)
**
** Thread-safety: belongs to the thread of its connection.
*/
#ifndef TR_HOST_INTERRUPT_H
#define TR_HOST_INTERRUPT_H

#include "host/sqlite_host.h"

/* All zero but `db`: no statement is prepared yet. Release with tr_interrupt_close. */
typedef struct tr_interrupt {
  sqlite3 *db;
  sqlite3_stmt *poll;
} tr_interrupt;

/*
** TR_OK: go on. TR_INTERRUPTED: stop. TR_NO_MEMORY, TR_HOST: the poll failed. Costs about 2
** microseconds.
*/
tr_code tr_interrupt_poll(tr_interrupt *interrupt, tr_error *err);

/* Nanoseconds of a monotonic clock, from an arbitrary beginning. */
int64_t tr_monotonic_now(void);

/* Sleeps until that time and polls every few milliseconds. Errors as tr_interrupt_poll. */
tr_code tr_interrupt_sleep_until(tr_interrupt *interrupt, int64_t time, tr_error *err);

void tr_interrupt_close(tr_interrupt *interrupt);

#endif

/*
** Stopping on request where our own code spends time: a wait, a long loop, a statement of another
** connection.
**
** SQLite looks at sqlite3_interrupt() and calls the progress handler while it runs a statement, and
** only then. So the way to ask is to run one: a tiny statement on the same connection, long enough
** (some hundred steps of the virtual machine) that a progress handler gets its turn every few
** polls. (sqlite3_is_interrupted is newer than what we load into, and knows no progress handler.)
**
** Thread-safety: belongs to the thread of its connection.
*/
#ifndef TR_HOST_INTERRUPT_H
#define TR_HOST_INTERRUPT_H

#include "host/sqlite_host.h"

/* All zero but `db`: nothing prepared yet. Release with tr_interrupt_close. */
typedef struct tr_interrupt {
  sqlite3 *db;
  sqlite3_stmt *poll;
} tr_interrupt;

/*
** TR_OK: go on. TR_INTERRUPTED: stop. TR_NO_MEMORY, TR_HOST: could not ask. Some 2 microseconds.
*/
tr_code tr_interrupt_poll(tr_interrupt *interrupt, tr_error *err);

/* Nanoseconds of a clock that only ever moves forward, from an arbitrary beginning. */
int64_t tr_monotonic_now(void);

/* Sleeps until that time, polling every few milliseconds. Errors as tr_interrupt_poll. */
tr_code tr_interrupt_sleep_until(tr_interrupt *interrupt, int64_t time, tr_error *err);

void tr_interrupt_close(tr_interrupt *interrupt);

#endif

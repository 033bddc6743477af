/*
** WHERE terms on an integer column as a range of int64: `value > 2.5` keeps 3 and up.
**
** Exact for whatever stands on the other side, by SQLite's rules for a column of INTEGER affinity:
** text that looks like a number is one; other text and every BLOB sort above all integers; a REAL
** may have a fraction or lie beyond int64; nothing compares with NULL. So a term that is applied
** here need not be looked at again.
**
** Thread-safety: as SQLite's for one connection.
*/
#ifndef TR_HOST_INTEGER_TERMS_H
#define TR_HOST_INTEGER_TERMS_H

#include "host/sqlite_host.h"

/* From low to high, both included; low > high: nothing. */
typedef struct tr_integer_bounds {
  int64_t low;
  int64_t high;
} tr_integer_bounds;

tr_integer_bounds tr_integer_bounds_all(void);

/* Keeps what `column OP value` keeps; `op` is SQLITE_INDEX_CONSTRAINT_EQ, LT, LE, GT or GE. */
void tr_integer_bounds_apply(tr_integer_bounds *bounds, int op, sqlite3_value *value);

#endif

/*
** WHERE terms on an integer column as a range of int64: `value > 2.5` keeps 3 and up.
**
** The result is exact for any value, by SQLite's rules for a column of INTEGER affinity: text that
** looks like a number is one; other text and every BLOB are above all integers; a REAL may have a
** fraction or be beyond int64; a comparison with NULL is never true. So SQLite need not check a
** term again that was applied here.
**
** Thread-safety: as SQLite's for one connection.
*/
#ifndef TR_HOST_INTEGER_TERMS_H
#define TR_HOST_INTEGER_TERMS_H

#include "host/sqlite_host.h"

/* From low to high, both included. low > high: no integer. */
typedef struct tr_integer_bounds {
  int64_t low;
  int64_t high;
} tr_integer_bounds;

tr_integer_bounds tr_integer_bounds_all(void);

/*
** Keeps what `column OP value` is true for; `op` is SQLITE_INDEX_CONSTRAINT_EQ, LT, LE, GT or GE.
*/
void tr_integer_bounds_apply(tr_integer_bounds *bounds, int op, sqlite3_value *value);

#endif

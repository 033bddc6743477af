/*
** An SQL expression of one integer, `value`, whose text came from an argument: evaluated where it
** can do no harm.
**
** Text from an argument may be text from a view of a database that somebody else wrote. Compiled on
** the caller's connection it would be trusted as the caller is: it could read every table and call
** functions that SQLite keeps out of views. So it is compiled in a view of an empty database in
** memory, on a connection of its own with an untrusted schema. What it can use is SQLite's own
** harmless functions of one row and `value`; it sees no table, no function and no collation of the
** caller's connection. That holds wherever the argument comes from, so that who uses this need not
** be DIRECTONLY.
**
** Thread-safety: belongs to the thread of the connection that `interrupt` polls.
*/
#ifndef TR_HOST_VALUE_EXPRESSION_H
#define TR_HOST_VALUE_EXPRESSION_H

#include "host/interrupt.h"

typedef struct tr_value_expression tr_value_expression;

/*
** Compiles. `interrupt` (borrowed, must outlive it) also stops a long evaluation. TR_HOST with
** SQLite's text: not an expression, a function that is not available; TR_NO_MEMORY. `*expression`
** is NULL then.
*/
tr_code tr_value_expression_create(tr_bytes sql, tr_interrupt *interrupt,
                                   tr_value_expression **expression, tr_error *err);
void tr_value_expression_free(tr_value_expression *expression); /* NULL is fine */

/* The expression for `value`; `*result` is valid until the next call. */
tr_code tr_value_expression_evaluate(tr_value_expression *expression, int64_t value,
                                     tr_value *result, tr_error *err);

#endif

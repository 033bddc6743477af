/*
** An SQL expression of one integer, `value`, whose text came from an argument. It is evaluated
** where it can do no harm.
**
** Text from an argument may come from a view in a database that somebody else wrote. Compiled on
** the caller's connection, it would be trusted as the caller is: it could read every table and call
** functions that SQLite does not allow in views. So it is compiled in a view of an empty database
** in memory, on a connection of its own with an untrusted schema. There it can use SQLite's own
** harmless functions of one row and `value`. It sees no table, function or collation of the
** caller's connection. So a function that uses this need not be DIRECTONLY.
**
** Thread-safety: belongs to the thread of the connection that `interrupt` polls.
*/
#ifndef TR_HOST_VALUE_EXPRESSION_H
#define TR_HOST_VALUE_EXPRESSION_H

#include "host/interrupt.h"

typedef struct tr_value_expression tr_value_expression;

/*
** Compiles the expression. `interrupt` also stops a long evaluation; it is borrowed and must
** outlive the expression. TR_HOST with SQLite's text: not an expression, or a function that is not
** available.
** TR_INVALID_ARGUMENT: more than one expression, or a zero byte. TR_NO_MEMORY. On failure
** `*expression` is NULL.
*/
tr_code tr_value_expression_create(tr_bytes sql, tr_interrupt *interrupt,
                                   tr_value_expression **expression, tr_error *err);
void tr_value_expression_free(tr_value_expression *expression); /* NULL is fine */

/* Evaluates the expression for `value`. `*result` is valid until the next call. */
tr_code tr_value_expression_evaluate(tr_value_expression *expression, int64_t value,
                                     tr_value *result, tr_error *err);

#endif

/*
** Values that outlive their row, and the order that picks one of several values.
**
** A held value owns its text or BLOB. The order is SQLite's (with the BINARY collation). Where
** SQLite calls two different values equal, this order goes on: 1 comes before 1.0, and -0.0 before
** 0.0. So the value that is kept never depends on which one came first.
**
** Thread-safety: a held value belongs to one thread at a time.
*/
#ifndef TR_COMBINE_HELD_VALUE_H
#define TR_COMBINE_HELD_VALUE_H

#include "base/value.h"

/* Copies `value` to `held`, whose old value is not freed. TR_NO_MEMORY: `held` is unchanged. */
tr_code tr_held_value_set(tr_value *held, const tr_value *value, tr_error *err);

/* The bytes that it owns. */
size_t tr_held_value_size(const tr_value *held);

/* Releases its bytes and makes it NULL. */
void tr_held_value_free(tr_value *held);

/*
** Compares tuples of `width` values. First it compares each value in turn by SQLite's order. If all
** are equal in SQL, it compares what still differs (1 and 1.0), from the last value to the first.
** So in a tuple (key, value) the value decides before the spelling of the key does. Returns <0, 0
** or >0; 0 only if the tuples are the same.
*/
int tr_tuple_compare(const tr_value *a, const tr_value *b, int width);

#endif

/*
** Values that outlive the row they came from, and the order that decides between them.
**
** A held value owns its text or blob. The order is SQLite's (BINARY collation) and, where that
** calls two values equal that are not the same, goes on: 1 comes before 1.0, -0.0 before 0.0. So of
** different values one always comes first, and what is kept cannot depend on who came first.
**
** Thread-safety: a held value belongs to one thread at a time.
*/
#ifndef TR_COMBINE_HELD_VALUE_H
#define TR_COMBINE_HELD_VALUE_H

#include "base/value.h"

/* Copies `value` to `held`, which was nothing before. TR_NO_MEMORY: `held` is not touched. */
tr_code tr_held_value_set(tr_value *held, const tr_value *value, tr_error *err);

/* Bytes that it owns. */
size_t tr_held_value_size(const tr_value *held);

/* Releases them and makes it NULL. */
void tr_held_value_free(tr_value *held);

/*
** Compares tuples of `width` values: first by SQLite's order of each in turn, then by what that
** leaves open, from the last to the first: of rows whose keys are equal in SQL, the value decides
** in whole before the spelling of the keys does. 0 only if they are the same. <0, 0, >0.
*/
int tr_tuple_compare(const tr_value *a, const tr_value *b, int width);

#endif

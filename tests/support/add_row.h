/*
** Adds rows to a grouping one by one.
*/
#ifndef TESTS_SUPPORT_ADD_ROW_H
#define TESTS_SUPPORT_ADD_ROW_H

#include "combine/grouping.h"

/* Adds one row. `keys` and `inputs` may be NULL if the shape has none. */
static inline tr_code add_row(tr_grouping *grouping, const tr_value *keys, const tr_value *inputs,
                              tr_error *err) {
  const tr_value none = {0};
  return tr_grouping_add_rows(grouping, keys != NULL ? keys : &none,
                              inputs != NULL ? inputs : &none, 0, 1, err);
}

#endif

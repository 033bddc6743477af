/*
** Taking one row in hand.
**
** This is done for every row of a scan. A row of one number, as in approx_quantile(cost) over a
** whole table, is taken right where SQLite calls us. Another call, with the registers that it
** saves, cost a twentieth of such a scan.
*/
#ifndef TR_EXT_GROUP_BY_FIELDS_TAKE_H
#define TR_EXT_GROUP_BY_FIELDS_TAKE_H

#include "group_by_fields_inside.h"

/*
** Takes a number or NULL and returns 1; takes nothing else and returns 0. The value is filled
** member by member, because copying a whole tr_value just after its parts were written makes the
** processor wait.
*/
static inline int tr_take_number(sqlite3_value *const *from, tr_value *value) {
  int type = sqlite3_value_type(*from);
  if (type == SQLITE_INTEGER) {
    value->type = TR_INTEGER;
    value->integer = sqlite3_value_int64(*from);
  } else if (type == SQLITE_FLOAT) {
    value->type = TR_REAL;
    value->real = sqlite3_value_double(*from);
  } else if (type == SQLITE_NULL) {
    value->type = TR_NULL;
  } else {
    return 0;
  }
  return 1;
}

/* Takes a value that is text or a BLOB, or made of arguments. The intake has the error. */
tr_code tr_group_intake_take_other(tr_group_intake *intake, const tr_row_value *plan,
                                   sqlite3_value **arguments, tr_value *value);

/* tr_group_intake_take for a row of any kind. */
int tr_group_intake_take_any(tr_group_intake *intake, sqlite3_value **arguments);

/*
** Takes a row in hand, given the arguments of the aggregate function.
**
** 0: there is room for another row.
** 1: there is none: commit or drop before the next row.
** -1: failed; the intake has the error. That includes a row for which there is no room: the
** statement has then sorted its rows first.
*/
static inline int tr_group_intake_take(tr_group_intake *intake, sqlite3_value **arguments) {
  tr_row_batch *rows = &intake->rows;
  /*
  ** Instead of tr_row_batch_is_full: a number adds no bytes, and rows with bytes go the other way.
  */
  if (!intake->has_one_value || rows->count == rows->capacity ||
      !tr_take_number(arguments, rows->values + rows->count)) {
    return tr_group_intake_take_any(intake, arguments);
  }
  return ++rows->count == rows->capacity;
}

#endif

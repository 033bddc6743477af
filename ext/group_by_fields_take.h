/*
** Taking one row in hand.
**
** This is done for every row of a scan, so it is inlined where SQLite calls us: another call, with
** the registers that it saves, cost a twentieth of a scan. Rows of one value, as in
** approx_quantile(cost) over a whole table, have a function of their own for the same reason.
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

/* There is no room for another row: sets the error and returns -1. */
int tr_group_intake_refuse(tr_group_intake *intake);

/* tr_group_intake_take, not inlined. */
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
  if (rows->count == rows->capacity) return tr_group_intake_refuse(intake);
  tr_value *value = tr_row_batch_next(rows), *end = value + rows->width;
  for (const tr_row_value *plan = intake->row_values; value < end; value++, plan++) {
    if (plan->made == NULL && tr_take_number(&arguments[plan->argument], value)) continue;
    if (tr_group_intake_take_other(intake, plan, arguments, value) != TR_OK) return -1;
  }
  rows->count++;
  return tr_row_batch_is_full(rows);
}

/* The same for rows of one value, which is the only argument. */
static inline int tr_group_intake_take_one(tr_group_intake *intake, sqlite3_value **arguments) {
  tr_row_batch *rows = &intake->rows;
  if (rows->count == rows->capacity || !tr_take_number(arguments, rows->values + rows->count)) {
    return tr_group_intake_take_any(intake, arguments);
  }
  /* Not tr_row_batch_is_full: a number adds no bytes. */
  return ++rows->count == rows->capacity;
}

#endif

/*
** Takes a row of any kind in hand. What is not needed for every value is in
** group_by_fields_intake.c, so that it is not inlined into this loop and takes none of its
** registers.
*/
#include "group_by_fields_take.h"

int tr_group_intake_take_any(tr_group_intake *intake, sqlite3_value **arguments) {
  tr_row_batch *rows = &intake->rows;
  if (rows->count == rows->capacity) {
    tr_error_set(&intake->err, TR_INVALID_STATE, TR_GROUP_FUNCTION ": rows came in no order");
    return -1;
  }
  tr_value *value = tr_row_batch_next(rows), *end = value + rows->width;
  for (const tr_row_value *plan = intake->row_values; value < end; value++, plan++) {
    if (plan->made == NULL && tr_take_number(&arguments[plan->argument], value)) continue;
    if (tr_group_intake_take_other(intake, plan, arguments, value) != TR_OK) return -1;
  }
  rows->count++;
  return tr_row_batch_is_full(rows);
}

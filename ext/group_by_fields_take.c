/*
** What group_by_fields_take.h does not inline.
*/
#include "group_by_fields_take.h"

int tr_group_intake_refuse(tr_group_intake *intake) {
  tr_error_set(&intake->err, TR_INVALID_STATE, TR_GROUP_FUNCTION ": rows came in no order");
  return -1;
}

int tr_group_intake_take_any(tr_group_intake *intake, sqlite3_value **arguments) {
  return tr_group_intake_take(intake, arguments);
}

/*
** Wraps the functions that SQLite 3.38 added, if they are available.
*/
#include "host/in_lists.h"

enum { FIRST_VERSION = 3038000 };

int tr_in_lists_are_told(void) {
  return SQLITE_VERSION_NUMBER >= FIRST_VERSION && sqlite3_libversion_number() >= FIRST_VERSION;
}

#if SQLITE_VERSION_NUMBER >= 3038000

int tr_is_in_list(sqlite3_index_info *info, int i) {
  return tr_in_lists_are_told() && info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ &&
         sqlite3_vtab_in(info, i, -1);
}

void tr_take_in_list(sqlite3_index_info *info, int i) {
  sqlite3_vtab_in(info, i, 1);
}

sqlite3_value *tr_constraint_value(sqlite3_index_info *info, int i) {
  sqlite3_value *value = NULL;
  if (!tr_in_lists_are_told() || sqlite3_vtab_rhs_value(info, i, &value) != SQLITE_OK) return NULL;
  return value;
}

int tr_in_list_next(sqlite3 *db, sqlite3_value *list, sqlite3_value **value, tr_error *err) {
  int rc = *value == NULL ? sqlite3_vtab_in_first(list, value) : sqlite3_vtab_in_next(list, value);
  if (rc == SQLITE_OK) return 1;
  if (rc == SQLITE_DONE) return 0;
  tr_error_of_sqlite(err, db, rc);
  return -1;
}

#else

int tr_is_in_list(sqlite3_index_info *info, int i) {
  (void)info, (void)i;
  return 0;
}

void tr_take_in_list(sqlite3_index_info *info, int i) {
  (void)info, (void)i;
}

sqlite3_value *tr_constraint_value(sqlite3_index_info *info, int i) {
  (void)info, (void)i;
  return NULL;
}

int tr_in_list_next(sqlite3 *db, sqlite3_value *list, sqlite3_value **value, tr_error *err) {
  (void)db, (void)list, (void)value, (void)err;
  return 0;
}

#endif

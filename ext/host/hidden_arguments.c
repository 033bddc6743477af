/*
** Looking through the constraints for those on hidden columns.
*/
#include "host/hidden_arguments.h"

#include "host/in_lists.h"

/* Comparisons that are never true of NULL, as they are written. */
static const struct {
  int op;
  const char *text;
} comparisons[] = {
    {SQLITE_INDEX_CONSTRAINT_LT, "<"},          {SQLITE_INDEX_CONSTRAINT_LE, "<="},
    {SQLITE_INDEX_CONSTRAINT_GT, ">"},          {SQLITE_INDEX_CONSTRAINT_GE, ">="},
    {SQLITE_INDEX_CONSTRAINT_NE, "<>"},         {SQLITE_INDEX_CONSTRAINT_IS, "IS"},
    {SQLITE_INDEX_CONSTRAINT_LIKE, "LIKE"},     {SQLITE_INDEX_CONSTRAINT_GLOB, "GLOB"},
    {SQLITE_INDEX_CONSTRAINT_REGEXP, "REGEXP"}, {SQLITE_INDEX_CONSTRAINT_MATCH, "MATCH"},
};

static const char *comparison_text(int op) {
  for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
    if (comparisons[i].op == op) return comparisons[i].text;
  }
  return NULL;
}

static int has_constraint(const sqlite3_index_info *info, int column, int op) {
  for (int i = 0; i < info->nConstraint; i++) {
    if (info->aConstraint[i].iColumn == column && info->aConstraint[i].op == op) return 1;
  }
  return 0;
}

static int is_given(const sqlite3_index_info *info, int column) {
  return has_constraint(info, column, SQLITE_INDEX_CONSTRAINT_EQ);
}

/* What SQLite makes of a pattern's beginning comes before the pattern, or instead of it. */
static int may_be_pattern(const sqlite3_index_info *info, int column) {
  return has_constraint(info, column, SQLITE_INDEX_CONSTRAINT_GE) &&
         has_constraint(info, column, SQLITE_INDEX_CONSTRAINT_LT);
}

static int refuse(sqlite3_vtab *vtab, char *message) {
  sqlite3_free(vtab->zErrMsg);
  vtab->zErrMsg = message;
  return message == NULL ? SQLITE_NOMEM : SQLITE_ERROR;
}

int tr_hidden_arguments_check(const tr_hidden_arguments *arguments, sqlite3_vtab *vtab,
                              sqlite3_index_info *info) {
  for (int i = 0; i < info->nConstraint; i++) {
    int argument = info->aConstraint[i].iColumn - arguments->first;
    if (argument < 0 || argument >= arguments->count) continue;
    const char *comparison = comparison_text(info->aConstraint[i].op);
    const char *name = arguments->names[argument];
    if (argument == arguments->single && tr_is_in_list(info, i)) {
      return refuse(vtab, sqlite3_mprintf("%s(): argument %s takes one name, not IN (...)",
                                          arguments->function, name));
    }
    if (comparison != NULL && !is_given(info, info->aConstraint[i].iColumn)) {
      if (may_be_pattern(info, info->aConstraint[i].iColumn)) comparison = "a range or a pattern";
      return refuse(vtab, sqlite3_mprintf("%s(): argument %s is given by =, not by %s",
                                          arguments->function, name, comparison));
    }
  }
  return SQLITE_OK;
}

double tr_hidden_columns_penalty(const sqlite3_index_info *info, int first, int count) {
  enum { LAST_BIT = 63 }; /* it stands for all further columns, too */
  double penalty = 1;
  for (int column = first; column < first + count; column++) {
    int is_used = (info->colUsed >> (column < LAST_BIT ? column : LAST_BIT) & 1) != 0;
    if (is_used && !is_given(info, column)) penalty *= 1e9;
  }
  return penalty;
}

/*
** Checks the constraints on hidden columns, and keeps the values of arguments.
*/
#include "host/hidden_arguments.h"

#include <math.h>

#include "base/hash.h"
#include "base/little_endian.h"
#include "host/in_lists.h"

/* Comparisons that are never true for a column that is NULL, with the text for the error. */
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

/* SQLite shows the range of a pattern's beginning before the pattern, or instead of it. */
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

int tr_hidden_argument_is_missing(const sqlite3_index_info *info, int column) {
  enum { LAST_BIT = 63 }; /* this bit stands for all further columns, too */
  int is_used = (info->colUsed >> (column < LAST_BIT ? column : LAST_BIT) & 1) != 0;
  return is_used && !is_given(info, column);
}

/*
** Lacking the first argument costs a moderate factor. The estimates do not show how long a scan
** without it is, but such a scan must not look cheaper than two look-ups. Each further argument
** outweighs all before it and the rows of any table.
*/
void tr_hidden_arguments_weigh(sqlite3_index_info *info, int first, int place, int count,
                               int required_count) {
  static const int bits[] = {10, 66, 132, 264, 480};
  enum { LAST = sizeof bits / sizeof bits[0] - 1, MOST_BITS = 950 };
  int sum = 0, lacks_first = 0;
  for (int i = 0; i < count; i++) {
    int is_required = i < required_count && !is_given(info, first + i);
    if (!is_required && !tr_hidden_argument_is_missing(info, first + i)) continue;
    sum += bits[place + i < LAST ? place + i : LAST];
    if (place + i == 0) lacks_first = 1;
  }
  info->estimatedCost = ldexp(info->estimatedCost, sum < MOST_BITS ? sum : MOST_BITS);
  if (lacks_first) info->estimatedRows = (sqlite3_int64)fmin(info->estimatedCost, 0x1p62);
}

/* A hash of the argument and of all arguments before it. */
static uint64_t hash_argument(tr_value value, int number, uint64_t before) {
  uint8_t word[8] = {0};
  int64_t integer;
  if (value.type == TR_REAL && tr_real_is_integer(value.real, &integer)) {
    value = tr_value_integer(integer);
  }
  if (value.type == TR_INTEGER) tr_store_u64(word, (uint64_t)value.integer);
  if (value.type == TR_REAL) tr_store_double(word, value.real);
  tr_bytes bytes = value.type >= TR_TEXT ? value.bytes : (tr_bytes){word, sizeof word};
  return tr_hash128_of(bytes, before + 8 * (uint64_t)number + (uint64_t)value.type).low;
}

tr_code tr_kept_arguments_set(tr_kept_arguments *kept, int mask, sqlite3_value **argv,
                              tr_error *err) {
  tr_kept_arguments_free(kept);
  for (int i = 0; i < TR_KEPT_ARGUMENTS; i++) {
    if ((mask & 1 << i) == 0) continue;
    kept->values[i] = sqlite3_value_dup(*argv++);
    if (kept->values[i] == NULL) return tr_error_no_memory(err);
    /* Converts the text to UTF-8 in place now, so that reading it later needs no memory. */
    tr_value value = tr_value_of_sqlite(kept->values[i]);
    if (tr_value_lacks_bytes(&value)) return tr_error_no_memory(err);
    kept->hash = hash_argument(value, i, kept->hash);
  }
  return TR_OK;
}

int tr_kept_arguments_are(const tr_kept_arguments *kept, int mask, sqlite3_value **argv) {
  for (int i = 0; i < TR_KEPT_ARGUMENTS; i++) {
    int is_given = (mask & 1 << i) != 0;
    if (is_given != (kept->values[i] != NULL)) return 0;
    if (is_given && !tr_values_are_same(kept->values[i], *argv++)) return 0;
  }
  return 1;
}

void tr_kept_arguments_free(tr_kept_arguments *kept) {
  for (int i = 0; i < TR_KEPT_ARGUMENTS; i++) sqlite3_value_free(kept->values[i]);
  *kept = (tr_kept_arguments){.hash = 0};
}

/*
** The plan that counting_input's xBestIndex makes for its xFilter, and the columns that both know.
**
** idxStr has one mark for each value that xFilter is given, in that order:
**   a .. j      an argument, in the order of the hidden columns
**   = < ( > )   value =, <, <=, >, >=
**   I           value IN, all of it at once
**   L O         LIMIT, OFFSET
** idxNum is the order in which rows must come (COUNTING_ORDER_...).
**
** Private to counting_input. Thread-safety: as SQLite's for one connection.
*/
#ifndef TR_EXT_COUNTING_INPUT_PLAN_H
#define TR_EXT_COUNTING_INPUT_PLAN_H

#include "host/integer_terms.h"

#define COUNTING_FUNCTION "counting_input"

enum { COUNTING_VALUE, COUNTING_TIMESTAMP, COUNTING_FIRST_ARGUMENT };

enum {
  COUNTING_UP_TO,
  COUNTING_START,
  COUNTING_STEP,
  COUNTING_RATE,
  COUNTING_PERIOD,
  COUNTING_MAX_RECORDS,
  COUNTING_MAX_READ_TIME,
  COUNTING_TIMESTAMP_EXPR,
  COUNTING_TRACKER,
  COUNTING_RESTRICTION,
  COUNTING_ARGUMENTS
};

extern const char *const counting_argument_names[COUNTING_ARGUMENTS];

enum { COUNTING_ORDER_NONE, COUNTING_ORDER_UP, COUNTING_ORDER_DOWN };

#define COUNTING_PLAN_LIST 'I'
#define COUNTING_PLAN_LIMIT 'L'
#define COUNTING_PLAN_OFFSET 'O'

/* The argument that a mark means, or -1. */
int counting_plan_argument(char mark);
/* The operator (SQLITE_INDEX_CONSTRAINT_...) that a mark for a term on value means, or 0. */
int counting_plan_operator(char mark);

int counting_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info);

#endif

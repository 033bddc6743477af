/*
** What a scan of counting_input was asked for: its checked arguments, and what the WHERE terms say.
**
** Private to counting_input. Text and the list belong to SQLite and are valid during xFilter.
** Thread-safety: as SQLite's for one connection.
*/
#ifndef TR_EXT_COUNTING_INPUT_REQUEST_H
#define TR_EXT_COUNTING_INPUT_REQUEST_H

#include "counting_input_plan.h"
#include "range/offset_range.h"
#include "reader/counting_source.h"

typedef struct counting_request {
  tr_value given[COUNTING_ARGUMENTS]; /* TR_NULL: left out */
  int has_null; /* an argument is NULL: nothing equals NULL, so there are no rows */
  tr_integer_bounds bounds;
  sqlite3_value *list; /* of `value IN (...)`, or NULL */
  int64_t limit;       /* -1: none */
  int64_t offset;
} counting_request;

/*
** Reads the `count` values that xFilter was given. `plan` has their marks; it may be NULL if there
** are none.
** TR_INVALID_ARGUMENT: the message names the argument, its value and what it must be.
*/
tr_code counting_request_read(counting_request *request, const char *plan, int count,
                              sqlite3_value **values, tr_error *err);

/*
** Whether an argument was given, and its value, or `otherwise` if it was not. Seconds are returned
** as nanoseconds, at most 292 years.
*/
int counting_request_has(const counting_request *request, int argument);
int64_t counting_request_integer(const counting_request *request, int argument, int64_t otherwise);
int64_t counting_request_nanoseconds(const counting_request *request, int argument,
                                     int64_t otherwise);

/* The sequence of up_to, start, step and restriction, without the WHERE terms. */
tr_code counting_request_source(const counting_request *request, tr_counting_source *source,
                                tr_error *err);

/* The same as a range of offsets, cut to the WHERE terms, too. A new tracker is opened over it. */
tr_code counting_request_range(const counting_request *request, tr_offset_range *range,
                               tr_error *err);

#endif

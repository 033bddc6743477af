/*
** Values and arguments of SQL functions: SQLite's as ours, and back.
**
** Thread-safety: as SQLite's own for one connection.
*/
#ifndef TR_HOST_SQLITE_VALUES_H
#define TR_HOST_SQLITE_VALUES_H

#include "base/argument.h"
#include "base/bytes.h"
#include "base/value.h"
#include "host/sqlite_api.h"

/* --- Values ------------------------------------------------------------------------------- */

/*
** A view of an SQL value. SQLite owns the bytes of text and blobs; they are valid as it documents.
** Text has an address, even if it is empty, unless memory failed.
*/
tr_value tr_value_of_sqlite(sqlite3_value *value);

/*
** Whether memory failed when such a view was made: the text could not be converted, or the BLOB
** could not be expanded. Code that uses the bytes must ask. For a value that we have copied, which
** belongs to no connection, SQLite does not remember the failure.
*/
static inline int tr_value_lacks_bytes(const tr_value *value) {
  if (value->type < TR_TEXT || value->bytes.data != NULL) return 0;
  return value->type == TR_TEXT || value->bytes.size > 0;
}

/*
** The same for a value of a database whose encoding is known to be UTF-8 (tr_source_table.is_utf8).
** The view is of the text where it lies; sqlite3_value_text might copy it to add a terminator.
*/
tr_value tr_value_of_utf8(sqlite3_value *value);

/* The same for a statement's column. */
tr_value tr_value_of_column(sqlite3_stmt *stmt, int column);

/*
** Whether two values have the same type and are equal, text byte by byte; 1 and 1.0 are not the
** same. Also 0 if memory runs out.
*/
int tr_values_are_same(sqlite3_value *a, sqlite3_value *b);

/*
** Whether `value` is text that spells a number, with nothing around it but spaces, as SQLite's
** numeric affinity has it. `text` is that text as UTF-8. 1: `*number` is the number, INTEGER for an
** integer that fits, else REAL. 0: it is not. `value` stays text.
**
** sqlite3_value_numeric_type is not used, because newer releases need the value's connection for
** it, and copies and elements of an IN list have none.
*/
int tr_spelled_number(sqlite3_value *value, tr_bytes text, tr_value *number);

/*
** The number that a numeric aggregate makes of a value, as SQLite's sum() does. NULL and INTEGER
** stay as they are; text that spells a number is that number; any other value is a REAL: the number
** that the text or BLOB begins with, or 0.0. The result is text without bytes if memory ran out.
*/
tr_value tr_number_of_sqlite(sqlite3_value *value);

/* Returns a value from a function. Text and blobs are copied. */
void tr_result_value(sqlite3_context *context, const tr_value *value);
void tr_result_text(sqlite3_context *context, const tr_buffer *text);
void tr_result_json(sqlite3_context *context, const tr_buffer *json);
void tr_result_blob(sqlite3_context *context, const tr_buffer *blob);

/* Binds `value` to parameter `index` of `stmt`, copied. Returns a SQLite code. */
int tr_bind_value(sqlite3_stmt *stmt, int index, const tr_value *value);

/* --- Arguments ---------------------------------------------------------------------------- */

/* Reads an argument that must be an integer (or an integral REAL), a number, text, or a BLOB. */
tr_code tr_argument_integer(const char *function, const char *argument, sqlite3_value *value,
                            int64_t *integer, tr_error *err);
tr_code tr_argument_real(const char *function, const char *argument, sqlite3_value *value,
                         double *real, tr_error *err);
tr_code tr_argument_text(const char *function, const char *argument, sqlite3_value *value,
                         tr_bytes *text, tr_error *err);
tr_code tr_argument_blob(const char *function, const char *argument, sqlite3_value *value,
                         tr_bytes *blob, tr_error *err);

#endif

/*
** Restrictions and positions as arguments of SQL functions and tables.
**
** A restriction is its JSON text. A byte key is a BLOB, or TEXT, which stands for its UTF-8 bytes.
** A position in a restriction of integers is an integer. Every error names the function, the
** argument and the value.
**
** Ownership: SQLite owns the bytes, which are valid as long as the argument. Thread-safety: as
** sqlite_host.h.
*/
#ifndef TR_HOST_RANGE_ARGUMENTS_H
#define TR_HOST_RANGE_ARGUMENTS_H

#include "host/sqlite_host.h"

#include "range/restriction.h"

/* Reads a byte key. TR_INVALID_ARGUMENT: neither a BLOB nor TEXT. TR_NO_MEMORY. */
tr_code tr_argument_key(const char *function, const char *argument, sqlite3_value *value,
                        tr_bytes *key, tr_error *err);

/*
** Reads a restriction, and ignores the claim that the JSON may have. The caller frees it.
** TR_INVALID_ARGUMENT: not a restriction. TR_NO_MEMORY.
*/
tr_code tr_argument_restriction(const char *function, const char *argument, sqlite3_value *value,
                                tr_restriction *restriction, tr_error *err);

/* Reads the argument `key` as a position of `kind`. */
tr_code tr_argument_position(const char *function, sqlite3_value *value, tr_restriction_kind kind,
                             tr_position *position, tr_error *err);

#endif

/*
** The message for a wrong argument of an SQL function, in src/ and in ext/: it names the function
** and the argument, and shows the value and the reason.
*/
#ifndef TR_BASE_ARGUMENT_H
#define TR_BASE_ARGUMENT_H

#include "base/value.h"

/* How many bytes of a text or BLOB are shown. */
#define TR_LITERAL_SHOWN_BYTES 80

/* Room for a literal: two digits for each byte of a BLOB, with quotes and dots around them. */
typedef char tr_literal[2 * TR_LITERAL_SHOWN_BYTES + 16];

/* Writes `value` into `text` as an SQL literal and returns `text`. A long literal is cut. */
const char *tr_value_literal(const tr_value *value, tr_literal text);

/*
** Fills `err` with `function(): argument NAME = VALUE: reason` and returns TR_INVALID_ARGUMENT.
** VALUE is an SQL literal, cut if it is long.
*/
tr_code tr_argument_error(tr_error *err, const char *function, const char *argument,
                          const tr_value *value, const char *reason);

/*
** The same with another error: its message is the reason, and its code is returned. TR_NO_MEMORY
** keeps its own message.
*/
tr_code tr_argument_refused(tr_error *err, const char *function, const char *argument,
                            const tr_value *value, const tr_error *reason);

#endif

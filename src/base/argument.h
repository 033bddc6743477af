/*
** What every refused argument says, in src/ and in ext/: which function, which argument, its value,
** and why.
*/
#ifndef TR_BASE_ARGUMENT_H
#define TR_BASE_ARGUMENT_H

#include "base/value.h"

/* Bytes of a text or BLOB that are shown. */
#define TR_LITERAL_SHOWN_BYTES 80

/* Room for a literal: quotes and dots around two digits for each byte of a BLOB. */
typedef char tr_literal[2 * TR_LITERAL_SHOWN_BYTES + 16];

/* Writes the value into `text` as an SQL literal, cut where it is long, and returns it. */
const char *tr_value_literal(const tr_value *value, tr_literal text);

/*
** Fills `err` with `function(): argument NAME = VALUE: reason` and returns TR_INVALID_ARGUMENT. The
** value stands as an SQL literal; long ones are cut.
*/
tr_code tr_argument_error(tr_error *err, const char *function, const char *argument,
                          const tr_value *value, const char *reason);

/*
** The same with another error's text as the reason and its code as the result; running out of
** memory stays just that.
*/
tr_code tr_argument_refused(tr_error *err, const char *function, const char *argument,
                            const tr_value *value, const tr_error *reason);

#endif

/*
** What every refused argument says, in src/ and in ext/: which function, which argument, its value,
** and why.
*/
#ifndef TR_BASE_ARGUMENT_H
#define TR_BASE_ARGUMENT_H

#include "base/value.h"

/*
** Fills `err` with `function(): argument NAME = VALUE: reason` and returns TR_INVALID_ARGUMENT. The
** value stands as an SQL literal; long ones are cut.
*/
tr_code tr_argument_error(tr_error *err, const char *function, const char *argument,
                          const tr_value *value, const char *reason);

/*
** The same with another error's text as the reason and its code as the result; running out of memory
** stays just that.
*/
tr_code tr_argument_refused(tr_error *err, const char *function, const char *argument,
                            const tr_value *value, const tr_error *reason);

#endif

/*
** What went wrong: a code and a text, in a struct that the caller owns.
**
** A function that can fail takes a `tr_error *err` as its last argument. It returns a `tr_code`
** (TR_OK is 0) or, if it answers yes or no, an int: 1 yes, 0 no, -1 failed. It fills `err` only
** when it fails. `err` may be NULL if the caller does not need the text. A failed call changes
** nothing that it was given, unless its header says otherwise.
**
** Thread-safety: a tr_error belongs to one thread. Nothing here allocates.
*/
#ifndef TR_BASE_ERROR_H
#define TR_BASE_ERROR_H

typedef enum tr_code {
  TR_OK = 0,
  TR_INVALID_ARGUMENT, /* the call's arguments are wrong */
  TR_INVALID_STATE,    /* the arguments are fine, but not at this moment */
  TR_NO_MEMORY,        /* memory or mutexes ran out; nothing is left half-done */
  TR_TOO_BIG,          /* over a documented limit */
  TR_OVERFLOW,         /* a result does not fit its type */
  TR_CORRUPT,          /* stored bytes are not what they claim to be */
  TR_INTERRUPTED,      /* the caller asked to stop */
  TR_HOST              /* the host database failed; host_code says how */
} tr_code;

/*
** The size of a message with its terminator. A longer message is cut and ends in "...". A message
** is always valid UTF-8.
*/
#define TR_MESSAGE_SIZE 1024

typedef struct tr_error {
  tr_code code;
  int host_code; /* with TR_HOST the host's own (extended) code, else 0 */
  char message[TR_MESSAGE_SIZE];
} tr_error;

#if defined(__GNUC__)
#define TR_PRINTF(text_at, values_at) __attribute__((__format__(__printf__, text_at, values_at)))
#else
#define TR_PRINTF(text_at, values_at)
#endif

/*
** Fills `err` (unless it is NULL) and returns `code`, so that a function can end with
** `return tr_error_set(err, TR_INVALID_ARGUMENT, "...", ...)`. The format is printf's, without
** doubles: base/double_text.h prints those independently of the locale.
*/
tr_code tr_error_set(tr_error *err, tr_code code, const char *format, ...) TR_PRINTF(3, 4);

/* The same for yes-or-no functions: fills `err` and returns -1. */
int tr_error_no(tr_error *err, tr_code code, const char *format, ...) TR_PRINTF(3, 4);

/* Appends to the message of `err`, which has been filled before, or is NULL. */
void tr_error_append(tr_error *err, const char *format, ...) TR_PRINTF(2, 3);

/* Fills `err` with TR_NO_MEMORY and "out of memory", and returns the code. */
tr_code tr_error_no_memory(tr_error *err);

#endif

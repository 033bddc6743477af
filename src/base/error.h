/*
** What went wrong: a code and a text, in a struct that the caller owns.
**
** A function that can fail takes a `tr_error *err` last and either returns a `tr_code` (TR_OK = 0)
** or, where its answer is a yes or no, an int: 1 yes, 0 no, -1 failed. It fills `err` when it
** fails, and only then; `err` may be NULL where the caller has no use for the text. What a failed
** call was given is left as it was, unless its header says otherwise.
**
** Thread-safety: a tr_error belongs to one thread. Nothing here allocates.
*/
#ifndef TR_BASE_ERROR_H
#define TR_BASE_ERROR_H

typedef enum tr_code {
  TR_OK = 0,
  TR_INVALID_ARGUMENT, /* the call's arguments are wrong in themselves */
  TR_INVALID_STATE,    /* the arguments are fine, but not now */
  TR_NO_MEMORY,        /* an allocation failed; nothing was half-done */
  TR_TOO_BIG,          /* over a documented limit */
  TR_OVERFLOW,         /* a result does not fit its type */
  TR_CORRUPT,          /* stored bytes are not what they claim to be */
  TR_INTERRUPTED,      /* the caller asked to stop */
  TR_HOST              /* the host database failed; host_code says how */
} tr_code;

/*
** Bytes of a message with its terminator; a longer one is cut and ends in "...". Always valid
** UTF-8.
*/
#define TR_MESSAGE_SIZE 1024

typedef struct tr_error {
  tr_code code;
  int host_code; /* with TR_HOST: the host's own (extended) code; else 0 */
  char message[TR_MESSAGE_SIZE];
} tr_error;

#if defined(__GNUC__)
#define TR_PRINTF(text_at, values_at) __attribute__((__format__(__printf__, text_at, values_at)))
#else
#define TR_PRINTF(text_at, values_at)
#endif

/*
** Fills `err` (unless it is NULL) and returns `code`, so that a function can end with
** `return tr_error_set(err, TR_INVALID_ARGUMENT, "...", ...)`. The format is printf's; numbers are
** integers only (a double goes through base/double_text.h, which knows no locale).
*/
tr_code tr_error_set(tr_error *err, tr_code code, const char *format, ...) TR_PRINTF(3, 4);

/* The same for yes-or-no functions: fills `err` and returns -1. */
int tr_error_no(tr_error *err, tr_code code, const char *format, ...) TR_PRINTF(3, 4);

/* Adds to the message. `err` is filled, or NULL. */
void tr_error_append(tr_error *err, const char *format, ...) TR_PRINTF(2, 3);

/* "out of memory", in one place. */
tr_code tr_error_no_memory(tr_error *err);

#endif

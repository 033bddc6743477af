/*
** Decides when a reader may take its next record, and whether: a gate in front of any reader.
**
** Record n (from 0) of a scan is due at n * period / rate after the start of the scan. So at each
** moment at most rate * elapsed / period + 1 records have been given. A caller who paused catches
** up, and nothing is skipped. The count is limited, not the value: a source that starts at 1000
** gives its first record at once.
**
** max_records ends the scan after so many records. max_read_time ends it after so much time, which
** is checked before every record. When the gate says "no more", the rest of the source stays unread
** and so unclaimed.
**
** Times are nanoseconds of a clock that the caller supplies. In production it is a monotonic clock,
** which a change of the wall clock does not affect. In tests it is a scripted one. Products are
** exact (128 bits).
**
** Thread-safety: none; a pacing belongs to its reader's thread.
**
** Source: Apache Beam, GenerateSequence.withRate, withMaxReadTime, withMaxNumRecords.
*/
#ifndef TR_READER_PACING_H
#define TR_READER_PACING_H

#include <stdint.h>

#include "base/error.h"

typedef struct tr_clock {
  int64_t (*now)(void *context);
  /* Returns TR_OK once `time` has come. An error (TR_INTERRUPTED) ends the wait. */
  tr_code (*wait_until)(void *context, int64_t time, tr_error *err);
  void *context;
} tr_clock;

typedef struct tr_pace {
  int64_t rate;          /* records per period; 0: no limit */
  int64_t period;        /* nanoseconds; 0: no limit */
  int64_t max_records;   /* -1: no limit */
  int64_t max_read_time; /* nanoseconds; -1: no limit */
} tr_pace;

typedef struct tr_pacing {
  tr_pace pace;
  tr_clock clock;
  int64_t start; /* the clock at the first question; valid once has_started */
  int has_started;
  int64_t given; /* records let through */
} tr_pacing;

/* TR_INVALID_ARGUMENT: a negative rate or period, or a limit below -1. */
tr_code tr_pacing_init(tr_pacing *pacing, const tr_pace *pace, tr_clock clock, tr_error *err);

/*
** Asks for one more record. 1: take it; the call has waited until it is due. 0: no more: a limit is
** reached, or would be reached before the record is due, which is not waited for. -1: the clock's
** wait ended with an error. After 0 and -1 nothing was counted, and the caller may ask again. The
** scan starts with the first question.
*/
int tr_pacing_admit(tr_pacing *pacing, tr_error *err);

/* How long after the start record `n` (from 0) is due, rounded up. INT64_MAX: never. */
int64_t tr_pace_due(const tr_pace *pace, int64_t n);

#endif

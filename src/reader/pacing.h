/*
** When a reader may take its next record, and whether: a gate in front of any reader.
**
** Record n (from 0) of a scan is due n * period / rate after the scan's start, so that at each
** moment at most rate * elapsed / period + 1 records were given out: a caller who paused catches
** up, and nothing is skipped. It is the count that is limited, not the value: a source that starts
** at 1000 gives its first record at once. max_records ends the scan after so many; max_read_time
** ends it when so much time has passed, looked at before every record. A gate that says "no more"
** leaves the rest of the source unread, and so unclaimed.
**
** Times are nanoseconds of a clock that the caller supplies: a monotonic one in production, which a
** change of the wall clock cannot stop, a scripted one in tests. Products are exact (128 bits).
** Thread-safety: none; a pacing belongs to its reader's thread.
** Source: Apache Beam, GenerateSequence.withRate, withMaxReadTime, withMaxNumRecords.
*/
#ifndef TR_READER_PACING_H
#define TR_READER_PACING_H

#include <stdint.h>

#include "base/error.h"

typedef struct tr_clock {
  int64_t (*now)(void *context);
  /* Returns TR_OK when `time` has come; an error (TR_INTERRUPTED) ends the wait. */
  tr_code (*wait_until)(void *context, int64_t time, tr_error *err);
  void *context;
} tr_clock;

typedef struct tr_pace {
  int64_t rate;          /* records per period; 0: as fast as they are taken */
  int64_t period;        /* nanoseconds; 0: no limit either */
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

/* TR_INVALID_ARGUMENT: a negative rate or period, or limits below -1. */
tr_code tr_pacing_init(tr_pacing *pacing, const tr_pace *pace, tr_clock clock, tr_error *err);

/*
** Asks for one more record: 1 take it (having waited until it is due); 0 no more, a limit is
** reached (or would be before the record is due: it does not wait for that); -1 the clock's wait
** ended with an error. After 0 and -1 nothing has been counted, and one may ask again. The first
** question starts the scan's time.
*/
int tr_pacing_admit(tr_pacing *pacing, tr_error *err);

/* How long after the start record `n` (from 0) is due, rounded up; INT64_MAX: never. */
int64_t tr_pace_due(const tr_pace *pace, int64_t n);

#endif

/*
** The gate in front of a reader: first the limits, then the wait.
*/
#include "reader/pacing.h"

/* n * period needs 126 bits. */
__extension__ typedef unsigned __int128 wide;

tr_code tr_pacing_init(tr_pacing *pacing, const tr_pace *pace, tr_clock clock, tr_error *err) {
  if (pace->rate < 0 || pace->period < 0 || pace->max_records < -1 || pace->max_read_time < -1) {
    return tr_error_set(err, TR_INVALID_ARGUMENT, "a pace cannot be negative");
  }
  *pacing = (tr_pacing){.pace = *pace, .clock = clock};
  return TR_OK;
}

static int has_rate(const tr_pace *pace) {
  return pace->rate > 0 && pace->period > 0;
}

int64_t tr_pace_due(const tr_pace *pace, int64_t n) {
  if (!has_rate(pace)) return 0;
  wide rate = (wide)pace->rate;
  wide due = ((wide)n * (wide)pace->period + rate - 1) / rate;
  return due > INT64_MAX ? INT64_MAX : (int64_t)due;
}

int tr_pacing_admit(tr_pacing *pacing, tr_error *err) {
  const tr_pace *pace = &pacing->pace;
  if (pace->max_records >= 0 && pacing->given >= pace->max_records) return 0;
  if (pace->rate > 0 || pace->max_read_time >= 0) {
    int64_t now = pacing->clock.now(pacing->clock.context);
    if (!pacing->has_started) {
      pacing->start = now;
      pacing->has_started = 1;
    }
    int64_t elapsed = now - pacing->start;
    int64_t due = tr_pace_due(pace, pacing->given);
    int64_t when = due > elapsed ? due : elapsed;
    if (pace->max_read_time >= 0 && when >= pace->max_read_time) return 0;
    if (has_rate(pace) && due > elapsed) {
      int is_beyond = pacing->start > 0 && due > INT64_MAX - pacing->start;
      int64_t time = is_beyond ? INT64_MAX : pacing->start + due;
      if (pacing->clock.wait_until(pacing->clock.context, time, err) != TR_OK) return -1;
    }
  }
  pacing->given++;
  return 1;
}

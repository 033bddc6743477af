/*
** The rules of a reader, in one place for all cursors.
**
** The owner's thread moves through the phases below. Only it changes `phase`; threads that split
** read it. A split that sees PHASE_RUNNING may find the reader at its end a moment later. The
** tracker then refuses the split, because everything has been attempted. So the phase only answers
** what the tracker cannot know (whether this reader has started), and the tracker's mutex decides
** every race.
*/
#include "reader/reader.h"

#include "base/thread.h"

enum {
  PHASE_UNSTARTED,
  PHASE_RUNNING, /* `position` is the present record */
  PHASE_ENDED,
  PHASE_FAILED,
  PHASE_CLOSED
};

tr_code tr_reader_init(tr_reader *reader, const tr_cursor_class *cursor_class, void *cursor,
                       tr_tracker *tracker, tr_error *err) {
  reader->cursor_class = cursor_class;
  reader->cursor = cursor;
  reader->tracker = tracker;
  reader->byte_keys = tr_byte_key_tracker_of(tracker);
  reader->position = tr_position_of_offset(0);
  atomic_init(&reader->phase, PHASE_UNSTARTED);
  atomic_init(&reader->reported_fraction, 0.0);
  return tr_mutex_init(&reader->splitting, err);
}

/* Claims the present record. The tracker refuses a position of the wrong kind. */
static int claim(tr_reader *reader, tr_error *err) {
  if (reader->byte_keys != NULL && reader->position.kind == TR_BYTES) {
    return tr_byte_key_tracker_try_claim(reader->byte_keys, reader->position.key, err);
  }
  return tr_tracker_try_claim(reader->tracker, reader->position, err);
}

/* Sets the phase that follows from `moved`. 0 and -1 end the reading. */
static void note_phase(tr_reader *reader, int moved) {
  if (moved == 0) atomic_store(&reader->reported_fraction, 1.0);
  atomic_store(&reader->phase, moved > 0 ? PHASE_RUNNING : moved == 0 ? PHASE_ENDED : PHASE_FAILED);
}

/*
** Gets the next record and claims it. At the end of the source it claims the end, so that nothing
** stays unclaimed.
*/
static int move(tr_reader *reader, tr_error *err) {
  int moved = reader->cursor_class->next(reader->cursor, &reader->position, err);
  if (moved > 0) return claim(reader, err);
  if (moved == 0 && tr_tracker_claim_end(reader->tracker, err) != TR_OK) return -1;
  return moved;
}

int tr_reader_start(tr_reader *reader, tr_error *err) {
  if (atomic_load(&reader->phase) != PHASE_UNSTARTED) {
    return tr_error_no(err, TR_INVALID_STATE, "the reader was started already");
  }
  int moved = move(reader, err);
  note_phase(reader, moved);
  return moved;
}

int tr_reader_advance(tr_reader *reader, tr_error *err) {
  static const char *const refusals[] = {
      [PHASE_UNSTARTED] = "the reader has not been started",
      [PHASE_FAILED] = "the reader has failed before",
      [PHASE_CLOSED] = "the reader is closed",
  };
  int phase = atomic_load(&reader->phase);
  if (phase == PHASE_RUNNING) {
    int moved = move(reader, err);
    /* From one record to the next the phase stays, and an atomic store for each would be slow. */
    if (moved <= 0) note_phase(reader, moved);
    return moved;
  }
  if (phase == PHASE_ENDED) return 0;
  return tr_error_no(err, TR_INVALID_STATE, "%s", refusals[phase]);
}

tr_code tr_reader_current(const tr_reader *reader, tr_position *position, tr_error *err) {
  if (atomic_load(&reader->phase) != PHASE_RUNNING) {
    return tr_error_set(err, TR_INVALID_STATE, "the reader has no current record");
  }
  *position = reader->position;
  return TR_OK;
}

/* Splits at the position that is at `fraction` of the source as it is now. */
static int split_source(tr_reader *reader, double fraction, tr_restriction *residual,
                        tr_error *err) {
  tr_restriction source;
  tr_buffer key = {0};
  int64_t offset = 0;
  tr_error reason;
  if (tr_tracker_current_restriction(reader->tracker, &source, err) != TR_OK) return -1;
  int split = -1;
  tr_code code = tr_restriction_interpolate(&source, fraction, &key, &offset, &reason);
  if (code == TR_NO_MEMORY) {
    tr_error_no_memory(err);
  } else if (code != TR_OK) {
    split = 0; /* too narrow for a point in between */
  } else {
    tr_position point = source.kind == TR_BYTES ? tr_position_of_key(tr_buffer_bytes(&key))
                                                : tr_position_of_offset(offset);
    split = tr_tracker_try_split_at(reader->tracker, point, residual, err);
  }
  tr_buffer_free(&key);
  tr_restriction_free(&source);
  return split;
}

int tr_reader_split_at_fraction(tr_reader *reader, double fraction, tr_restriction *residual,
                                tr_error *err) {
  int phase = atomic_load(&reader->phase);
  if (phase != PHASE_RUNNING && phase != PHASE_FAILED) return 0;
  if (!(fraction > 0 && fraction < 1)) return 0;
  pthread_mutex_lock(&reader->splitting);
  int split = split_source(reader, fraction, residual, err);
  pthread_mutex_unlock(&reader->splitting);
  return split;
}

double tr_reader_fraction_consumed(tr_reader *reader) {
  int phase = atomic_load(&reader->phase);
  double reported = atomic_load(&reader->reported_fraction);
  if (phase != PHASE_RUNNING && phase != PHASE_FAILED) return reported;
  double fraction = tr_tracker_fraction_consumed(reader->tracker);
  if (fraction > 1) fraction = 1;
  while (fraction > reported) {
    if (atomic_compare_exchange_weak(&reader->reported_fraction, &reported, fraction)) {
      return fraction;
    }
  }
  return reported;
}

tr_code tr_reader_current_source(tr_reader *reader, tr_restriction *source, tr_error *err) {
  return tr_tracker_current_restriction(reader->tracker, source, err);
}

void tr_reader_close(tr_reader *reader) {
  if (atomic_exchange(&reader->phase, PHASE_CLOSED) == PHASE_CLOSED) return;
  reader->cursor_class->close(reader->cursor);
  pthread_mutex_destroy(&reader->splitting);
}

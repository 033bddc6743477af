/*
** Passes each call to the tracker's class. Two things are decided here: which class a restriction
** gets, and that a position of the wrong kind never reaches a class.
*/
#include "range/tracker.h"

#include "range/byte_key_tracker.h"
#include "range/offset_tracker.h"
#include "range/tracker_class.h"

tr_code tr_tracker_create(const tr_restriction *restriction, tr_tracker **tracker, tr_error *err) {
  *tracker = NULL;
  if (restriction->kind == TR_BYTES) {
    tr_byte_key_tracker *bytes;
    tr_code code = tr_byte_key_tracker_create(&restriction->bytes, &bytes, err);
    if (code == TR_OK) *tracker = tr_byte_key_tracker_base(bytes);
    return code;
  }
  tr_offset_tracker *integers;
  tr_code code = tr_offset_tracker_create(restriction->integers, &integers, err);
  if (code == TR_OK) *tracker = tr_offset_tracker_base(integers);
  return code;
}

void tr_tracker_free(tr_tracker *tracker) {
  if (tracker != NULL) tracker->methods->free(tracker);
}

tr_restriction_kind tr_tracker_kind(const tr_tracker *tracker) {
  return tracker->methods->kind;
}

/* 1 if the position is of the tracker's kind. */
static int is_of_kind(const tr_tracker *tracker, tr_position position, tr_error *err) {
  if (position.kind == tracker->methods->kind) return 1;
  tr_error_set(err, TR_INVALID_ARGUMENT,
               position.kind == TR_BYTES ? "a byte key is no position in a range of integers"
                                         : "an integer is no position in a range of byte keys");
  return 0;
}

int tr_tracker_try_claim(tr_tracker *tracker, tr_position position, tr_error *err) {
  if (!is_of_kind(tracker, position, err)) return -1;
  return tracker->methods->try_claim(tracker, position, err);
}

tr_code tr_tracker_claim_end(tr_tracker *tracker, tr_error *err) {
  return tracker->methods->claim_end(tracker, err);
}

int tr_tracker_try_split(tr_tracker *tracker, double fraction, tr_restriction *residual,
                         tr_error *err) {
  return tracker->methods->try_split(tracker, fraction, residual, err);
}

int tr_tracker_try_split_at(tr_tracker *tracker, tr_position position, tr_restriction *residual,
                            tr_error *err) {
  if (!is_of_kind(tracker, position, err)) return -1;
  return tracker->methods->try_split_at(tracker, position, residual, err);
}

tr_code tr_tracker_checkpoint(tr_tracker *tracker, tr_restriction *residual, tr_error *err) {
  return tracker->methods->checkpoint(tracker, residual, err);
}

tr_code tr_tracker_current_restriction(tr_tracker *tracker, tr_restriction *restriction,
                                       tr_error *err) {
  return tracker->methods->current_restriction(tracker, restriction, err);
}

tr_code tr_tracker_check_done(tr_tracker *tracker, tr_error *err) {
  return tracker->methods->check_done(tracker, err);
}

int tr_tracker_is_done(tr_tracker *tracker) {
  return tracker->methods->is_done(tracker);
}

double tr_tracker_size(tr_tracker *tracker) {
  return tracker->methods->size(tracker);
}

double tr_tracker_fraction_consumed(tr_tracker *tracker) {
  return tracker->methods->fraction_consumed(tracker);
}

int tr_tracker_last_claimed(tr_tracker *tracker, tr_buffer *key, int64_t *offset, tr_error *err) {
  return tracker->methods->last_claimed(tracker, key, offset, err);
}

int tr_tracker_last_attempted(tr_tracker *tracker, tr_buffer *key, int64_t *offset, tr_error *err) {
  return tracker->methods->last_attempted(tracker, key, offset, err);
}

tr_code tr_tracker_text(tr_tracker *tracker, tr_buffer *text, tr_error *err) {
  return tracker->methods->text(tracker, text, err);
}

/*
** Claims keys of one half-open byte range [start, end) in increasing order, while others may take
** the unclaimed rest away.
**
** How it works. The position is the last key that somebody tried to claim. A claim moves it
** forward, and succeeds if it is below the end. A split moves the end down to a point above the
** position. Both happen under one mutex, so every key of the old range is in exactly one of the two
** new ones. A claimer that claims ahead stores the limit of its window here, and splits stay above
** that, too. The lowest key that is neither attempted nor in a window is the *frontier*.
**
** A claim is on the path of every row. In the common case, one key claimed after another, it is two
** comparisons, each of eight bytes as a number, and a copy into memory that is already allocated:
** see claim_quickly. All other cases, errors included, are in claim_carefully.
**
** Invariants (under the mutex):
**   start <= end, or the end is open;
**   last claimed <= last attempted < frontier <= end, unless the last attempt was at or above the
**   end;
**   `attempted` has room for one more byte, and that byte is 0, so next(attempted) is a view of it;
**   if the last attempt succeeded, the last claimed key is `attempted`, else it is `claimed`;
**   a split that fails for lack of memory has changed nothing.
**
** Source: Apache Beam, ByteKeyRangeTracker (sdk.transforms.splittabledofn) 2.15 and 2.30.
*/
#include "range/byte_key_tracker.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/thread.h"
#include "range/tracker_class.h"

/* The result of the attempts so far. */
typedef enum attempts { NONE_YET, LAST_CLAIMED, LAST_REFUSED, END_CLAIMED } attempts;

struct tr_byte_key_tracker {
  tr_tracker base;
  pthread_mutex_t mutex;
  /*
  ** What a claim looks at first: tr_byte_key_lead of the last key (UINT64_MAX: it was not claimed)
  ** and of the end (UINT64_MAX: there is none), and shared_words of the two.
  */
  uint64_t attempted_lead;
  uint64_t end_lead;
  size_t shared_with_end;
  tr_buffer attempted; /* the last attempted key; empty before the first and after the end */
  attempts attempts;
  int has_claimed;
  tr_buffer claimed; /* the last claimed key, unless that is `attempted` */
  tr_byte_key_range range;
  tr_byte_key_range extent; /* where the keys probably are; all keys until it is set */
  int has_ahead;            /* a window is open, and its limit is `ahead` */
  tr_buffer ahead;
  int has_rest; /* a window is open up to the end, wherever that is */
};

static const tr_tracker_class byte_key_tracker_class;

/* Keys up to this size never make a claim allocate memory. */
#define USUAL_KEY_SIZE 64

static tr_byte_key_tracker *of(tr_tracker *tracker) {
  return (tr_byte_key_tracker *)tracker;
}

static tr_bytes start_of(const tr_byte_key_tracker *t) {
  return tr_buffer_bytes(&t->range.start);
}

static tr_bytes end_of(const tr_byte_key_tracker *t) {
  return tr_buffer_bytes(&t->range.end);
}

/* How many leading bytes two keys share, in whole words of eight. */
static size_t shared_words(tr_bytes a, tr_bytes b) {
  size_t shorter = a.size < b.size ? a.size : b.size, shared = 0;
  while (shared + 8 <= shorter && memcmp(a.data + shared, b.data + shared, 8) == 0) shared += 8;
  return shared;
}

static tr_bytes behind(tr_bytes key, size_t skipped) {
  if (skipped == 0) return key; /* the empty key may be at NULL */
  return (tr_bytes){key.data + skipped, key.size - skipped};
}

/* The order of two keys that share their first `skipped` bytes. */
static int compare_behind(tr_bytes a, tr_bytes b, size_t skipped) {
  tr_bytes rest_a = behind(a, skipped), rest_b = behind(b, skipped);
  if (rest_a.size >= 8 && rest_b.size >= 8) {
    uint64_t x = tr_byte_key_lead(rest_a), y = tr_byte_key_lead(rest_b);
    if (x != y) return x < y ? -1 : 1;
  }
  return tr_bytes_compare(rest_a, rest_b);
}

/* Called after each change of the end or of the last key. */
static void note_leads(tr_byte_key_tracker *t) {
  t->attempted_lead =
      t->attempts == LAST_CLAIMED ? tr_byte_key_lead(tr_buffer_bytes(&t->attempted)) : UINT64_MAX;
  t->end_lead = tr_byte_key_range_has_end(&t->range) ? tr_byte_key_lead(end_of(t)) : UINT64_MAX;
  t->shared_with_end = shared_words(tr_buffer_bytes(&t->attempted), end_of(t));
}

/* ---- Where the tracker stands --------------------------------------------------------------- */

/* The lowest key above all attempts. 0: there is none. The view is valid as long as `attempted`. */
static int next_to_attempt(const tr_byte_key_tracker *t, tr_bytes *key) {
  if (t->attempts == END_CLAIMED) return 0;
  *key =
      t->attempts == NONE_YET ? start_of(t) : (tr_bytes){t->attempted.data, t->attempted.size + 1};
  return 1;
}

/* The lowest key that is neither attempted nor in a window; it may be the end. 0: there is none. */
static int frontier(const tr_byte_key_tracker *t, tr_bytes *key) {
  if (t->has_rest || !next_to_attempt(t, key)) return 0;
  tr_bytes ahead = tr_buffer_bytes(&t->ahead);
  if (t->has_ahead && tr_bytes_compare(ahead, *key) > 0) *key = ahead;
  return 1;
}

static int is_below_end(const tr_byte_key_tracker *t, tr_bytes key) {
  return !tr_byte_key_range_has_end(&t->range) || tr_bytes_compare(key, end_of(t)) < 0;
}

/* 1 if [key, end) holds no key that can be claimed. */
static int is_nothing_from(const tr_byte_key_tracker *t, tr_bytes key) {
  return tr_byte_key_range_is_no_keys(&t->range) || !is_below_end(t, key);
}

/* Whether every key was attempted or is in a window. */
static int is_spoken_for(const tr_byte_key_tracker *t) {
  tr_bytes key;
  return !frontier(t, &key) || is_nothing_from(t, key);
}

/* Whether every key was attempted. */
static int is_finished(const tr_byte_key_tracker *t) {
  tr_bytes key;
  return !next_to_attempt(t, &key) || is_nothing_from(t, key);
}

/*
** Whether the last attempt was the empty key, or at or above the end: not even an empty rest is
** left.
*/
static int is_past_end(const tr_byte_key_tracker *t) {
  if (t->attempts == END_CLAIMED || t->has_rest) return 1;
  return t->attempts != NONE_YET && !is_below_end(t, tr_buffer_bytes(&t->attempted));
}

/*
** [from, the range's end), cut to where the keys probably are, as views. A split measures it with
** the frontier as `from`, and the fraction with the range's start. If the hint would leave nothing,
** it is ignored.
*/
static void cut_to_extent(const tr_byte_key_tracker *t, tr_bytes from, tr_byte_key_range *cut) {
  tr_byte_key_range whole = {
      .start = {.data = (uint8_t *)from.data, .size = from.size},
      .end = t->range.end,
  };
  *cut = whole;
  if (tr_bytes_compare(tr_buffer_bytes(&t->extent.start), from) > 0) cut->start = t->extent.start;
  if (!tr_byte_key_range_has_end(&t->extent)) return;
  if (!tr_byte_key_range_has_end(cut) ||
      tr_bytes_compare(tr_buffer_bytes(&t->extent.end), end_of(t)) < 0) {
    cut->end = t->extent.end;
  }
  if (tr_bytes_compare(tr_buffer_bytes(&cut->start), tr_buffer_bytes(&cut->end)) >= 0) *cut = whole;
}

static double fraction_consumed(const tr_byte_key_tracker *t) {
  if (is_finished(t)) return 1;
  double fraction = 0;
  if (t->attempts == NONE_YET) return fraction;
  tr_byte_key_range measured;
  cut_to_extent(t, start_of(t), &measured);
  tr_bytes attempted = tr_buffer_bytes(&t->attempted);
  if (tr_bytes_compare(attempted, tr_buffer_bytes(&measured.start)) < 0) return 0;
  /* Beyond the extent: there is more than was expected, and nobody knows how much. */
  int is_beyond = tr_byte_key_range_has_end(&measured) &&
                  tr_bytes_compare(attempted, tr_buffer_bytes(&measured.end)) >= 0;
  if (is_beyond) return nextafter(1, 0);
  /* This cannot fail: the key is not empty and is in the range. */
  tr_byte_key_range_estimate_fraction(&measured, attempted, &fraction, NULL);
  return fraction;
}

/* ---- Claiming ------------------------------------------------------------------------------- */

/* Makes `key` the last attempt. What can fail is done first. */
static tr_code note_attempt(tr_byte_key_tracker *t, tr_bytes key, attempts outcome, tr_error *err) {
  /* A refused attempt must not overwrite the last claimed key, so it uses the other buffer. */
  int keeps_claimed = outcome != LAST_CLAIMED && t->attempts == LAST_CLAIMED;
  tr_buffer *room = keeps_claimed ? &t->claimed : &t->attempted;
  tr_code code = tr_buffer_make_room(room, key.size + 1, err);
  if (code != TR_OK) return code;
  if (key.size > 0) memcpy(room->data, key.data, key.size);
  room->data[key.size] = 0;
  room->size = key.size;
  if (keeps_claimed) {
    tr_buffer swapped = t->claimed;
    t->claimed = t->attempted;
    t->attempted = swapped;
  }
  t->attempts = outcome;
  t->has_claimed |= outcome == LAST_CLAIMED;
  note_leads(t);
  return TR_OK;
}

static int refuse_not_above(tr_bytes key, tr_bytes last, tr_error *err) {
  char key_text[TR_KEY_MESSAGE_SIZE], last_text[TR_KEY_MESSAGE_SIZE];
  return tr_error_no(err, TR_INVALID_ARGUMENT,
                     "Trying to claim key %s while last attempted key was %s",
                     tr_byte_key_message(key, key_text), tr_byte_key_message(last, last_text));
}

static int refuse_below_start(const tr_byte_key_tracker *t, tr_bytes key, tr_error *err) {
  char text[TR_KEY_MESSAGE_SIZE], start[TR_KEY_MESSAGE_SIZE], end[TR_KEY_MESSAGE_SIZE];
  return tr_error_no(err, TR_INVALID_ARGUMENT,
                     "Trying to claim key %s before start of the range "
                     "ByteKeyRange{startKey=%s, endKey=%s}",
                     tr_byte_key_message(key, text), tr_byte_key_message(start_of(t), start),
                     tr_byte_key_message(end_of(t), end));
}

static int claim_carefully(tr_byte_key_tracker *t, tr_bytes key, tr_error *err) {
  tr_bytes last = tr_buffer_bytes(&t->attempted);
  if (t->attempts == END_CLAIMED) return refuse_not_above(key, last, err);
  attempts outcome = END_CLAIMED;
  if (key.size > 0) {
    if (t->attempts != NONE_YET && tr_bytes_compare(key, last) <= 0) {
      return refuse_not_above(key, last, err);
    }
    if (tr_bytes_compare(key, start_of(t)) < 0) return refuse_below_start(t, key, err);
    outcome = tr_byte_key_range_contains(&t->range, key) ? LAST_CLAIMED : LAST_REFUSED;
  }
  if (note_attempt(t, key, outcome, err) != TR_OK) return -1;
  return outcome == LAST_CLAIMED;
}

/*
** If the last key was claimed: whether `key` is above it and below the end. `*shared` is
** shared_words of the two keys, and `*shared_with_end` is that of `key` and the end.
**
** If `key` shares more words with the last key than the last key shares with the end, `key` is
** below the end, because the last key is. Else it shares at least `*shared` with the end, too.
*/
static int is_next(const tr_byte_key_tracker *t, tr_bytes key, size_t *shared,
                   size_t *shared_with_end) {
  tr_bytes last = tr_buffer_bytes(&t->attempted), end = end_of(t);
  *shared = shared_words(key, last);
  *shared_with_end = t->shared_with_end;
  if (compare_behind(key, last, *shared) <= 0) return 0;
  if (end.size == 0 || *shared > t->shared_with_end) return 1;
  if (compare_behind(key, end, *shared) >= 0) return 0;
  *shared_with_end = *shared + shared_words(behind(key, *shared), behind(end, *shared));
  return 1;
}

/* The common case, one key claimed after another. 0: this is not it, and nothing was done. */
static inline int claim_quickly(tr_byte_key_tracker *t, tr_bytes key) {
  uint64_t lead = tr_byte_key_lead(key);
  size_t shared = 0, shared_with_end = 0;
  if (key.size >= t->attempted.capacity) return 0;
  if (lead <= t->attempted_lead || lead >= t->end_lead) {
    if (t->attempts != LAST_CLAIMED || !is_next(t, key, &shared, &shared_with_end)) return 0;
  }
  /* What both keys share is not written again: the next claim would have to wait for the store. */
  uint8_t *to = t->attempted.data + shared;
  tr_bytes rest = behind(key, shared);
  if (rest.size == 8) {
    memcpy(to, rest.data, 8);
  } else {
    memcpy(to, rest.data, rest.size);
  }
  to[rest.size] = 0;
  t->attempted.size = key.size;
  t->attempted_lead = lead;
  t->shared_with_end = shared_with_end;
  return 1;
}

int tr_byte_key_tracker_try_claim(tr_byte_key_tracker *t, tr_bytes key, tr_error *err) {
  pthread_mutex_lock(&t->mutex);
  int claimed = claim_quickly(t, key) ? 1 : claim_carefully(t, key, err);
  pthread_mutex_unlock(&t->mutex);
  return claimed;
}

static int try_claim(tr_tracker *tracker, tr_position position, tr_error *err) {
  return tr_byte_key_tracker_try_claim(of(tracker), position.key, err);
}

static tr_code claim_end(tr_tracker *tracker, tr_error *err) {
  tr_byte_key_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  tr_code code = TR_OK;
  if (t->attempts != END_CLAIMED) code = note_attempt(t, (tr_bytes){NULL, 0}, END_CLAIMED, err);
  pthread_mutex_unlock(&t->mutex);
  return code;
}

/* ---- Claiming ahead ------------------------------------------------------------------------- */

/* Opens a window behind `key`, which was just claimed. Without memory there is no window. */
static void open_window(tr_byte_key_tracker *t, tr_byte_key_window *window, tr_bytes key) {
  t->has_ahead = tr_byte_key_window_open(window, key, end_of(t));
  if (t->has_ahead && tr_buffer_set(&t->ahead, tr_buffer_bytes(&window->limit), NULL) != TR_OK) {
    t->has_ahead = 0;
    tr_byte_key_window_close(window);
  }
}

int tr_byte_key_tracker_claim_ahead(tr_byte_key_tracker *t, tr_byte_key_window *window,
                                    tr_bytes key, tr_error *err) {
  pthread_mutex_lock(&t->mutex);
  int claimed = claim_quickly(t, key) ? 1 : claim_carefully(t, key, err);
  if (claimed == 1) open_window(t, window, key);
  if (claimed == 0) tr_byte_key_window_close(window);
  pthread_mutex_unlock(&t->mutex);
  return claimed;
}

int tr_byte_key_tracker_claim_rest(tr_byte_key_tracker *t, tr_byte_key_window *window,
                                   tr_error *err) {
  pthread_mutex_lock(&t->mutex);
  int is_left = !is_spoken_for(t);
  if (is_left) {
    t->has_rest = tr_byte_key_window_open_all(window, end_of(t), err) == TR_OK;
    if (!t->has_rest) is_left = -1;
  }
  pthread_mutex_unlock(&t->mutex);
  return is_left;
}

static tr_code refuse_release(const tr_byte_key_tracker *t, tr_bytes last, tr_error *err) {
  char text[TR_KEY_MESSAGE_SIZE], start[TR_KEY_MESSAGE_SIZE], end[TR_KEY_MESSAGE_SIZE];
  return tr_error_set(err, TR_INVALID_ARGUMENT,
                      "Releasing a window behind key %s outside the range "
                      "ByteKeyRange{startKey=%s, endKey=%s}",
                      tr_byte_key_message(last, text), tr_byte_key_message(start_of(t), start),
                      tr_byte_key_message(end_of(t), end));
}

tr_code tr_byte_key_tracker_release(tr_byte_key_tracker *t, tr_byte_key_window *window,
                                    tr_bytes last, tr_error *err) {
  pthread_mutex_lock(&t->mutex);
  tr_code code = TR_OK;
  if (last.size > 0) {
    if (!tr_byte_key_range_contains(&t->range, last)) {
      code = refuse_release(t, last, err);
    } else if (t->attempts == LAST_REFUSED || t->attempts == END_CLAIMED) {
      code = tr_buffer_set(&t->claimed, last, err);
      t->has_claimed |= code == TR_OK;
    } else if (t->attempts == NONE_YET ||
               tr_bytes_compare(last, tr_buffer_bytes(&t->attempted)) > 0) {
      code = note_attempt(t, last, LAST_CLAIMED, err);
    }
  }
  if (code == TR_OK) {
    t->has_ahead = 0;
    t->has_rest = 0;
    tr_byte_key_window_close(window);
  }
  pthread_mutex_unlock(&t->mutex);
  return code;
}

/* ---- Giving away ---------------------------------------------------------------------------- */

/*
** Replaces the range by `primary`, and sets `*residual` to [start, the old end). Both `primary` and
** `start` are moved, not copied.
*/
static void give_away(tr_byte_key_tracker *t, tr_byte_key_range primary, tr_buffer start,
                      tr_restriction *residual) {
  *residual = (tr_restriction){.kind = TR_BYTES, .bytes = {.start = start, .end = t->range.end}};
  tr_buffer_free(&t->range.start);
  t->range = primary;
  note_leads(t);
}

/*
** Cuts the range at `at`, which is not below its start. The tracker keeps [start, at) and gives the
** rest away.
*/
static tr_code cut(tr_byte_key_tracker *t, tr_bytes at, tr_restriction *residual, tr_error *err) {
  tr_byte_key_range primary;
  tr_buffer start = {0};
  /* [empty, empty) would mean all keys, but none is meant. */
  tr_code code = at.size == 0 ? tr_byte_key_range_init_no_keys(&primary, err)
                              : tr_byte_key_range_init(&primary, start_of(t), at, err);
  if (code != TR_OK) return code;
  code = tr_buffer_set(&start, at, err);
  if (code != TR_OK) {
    tr_byte_key_range_free(&primary);
    return code;
  }
  give_away(t, primary, start, residual);
  return TR_OK;
}

static int split(tr_byte_key_tracker *t, double fraction, tr_restriction *residual, tr_error *err) {
  tr_bytes from;
  if (!frontier(t, &from) || is_nothing_from(t, from)) return 0;
  if (fraction == 0) return cut(t, from, residual, err) == TR_OK ? 1 : -1;

  tr_byte_key_range rest;
  tr_buffer at = {0};
  int is_split = 0;
  cut_to_extent(t, from, &rest);
  /*
  ** A fraction out of bounds, or no room between the ends, is not an error: the split is refused.
  */
  tr_error why;
  tr_code code = tr_byte_key_range_interpolate(&rest, fraction, &at, &why);
  if (code == TR_NO_MEMORY) tr_error_no_memory(err);
  if (code == TR_OK) {
    code = cut(t, tr_buffer_bytes(&at), residual, err);
    is_split = code == TR_OK;
  }
  tr_buffer_free(&at);
  return code == TR_NO_MEMORY ? -1 : is_split;
}

/* Splits so that `key` is the first key of the residual. */
static int split_at(tr_byte_key_tracker *t, tr_bytes key, tr_restriction *residual, tr_error *err) {
  tr_bytes from;
  if (key.size == 0 || !frontier(t, &from) || is_nothing_from(t, key)) return 0;
  int order = tr_bytes_compare(key, from);
  if (order < 0 || (order == 0 && t->attempts == NONE_YET)) return 0;
  return cut(t, key, residual, err) == TR_OK ? 1 : -1;
}

static int try_split(tr_tracker *tracker, double fraction, tr_restriction *residual,
                     tr_error *err) {
  tr_byte_key_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int is_split = split(t, fraction, residual, err);
  pthread_mutex_unlock(&t->mutex);
  return is_split;
}

static int try_split_at(tr_tracker *tracker, tr_position position, tr_restriction *residual,
                        tr_error *err) {
  tr_byte_key_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int is_split = split_at(t, position.key, residual, err);
  pthread_mutex_unlock(&t->mutex);
  return is_split;
}

static tr_code checkpoint(tr_tracker *tracker, tr_restriction *residual, tr_error *err) {
  tr_byte_key_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  tr_code code;
  tr_bytes from = {NULL, 0};
  tr_byte_key_range nothing;
  if (t->attempts == NONE_YET && !t->has_rest) {
    code = tr_byte_key_range_init_no_keys(&nothing, err);
    if (code == TR_OK) {
      tr_buffer start = t->range.start;
      t->range.start = (tr_buffer){0};
      give_away(t, nothing, start, residual);
    }
  } else if (is_past_end(t) || !frontier(t, &from)) {
    code = tr_byte_key_range_init_no_keys(&nothing, err);
    if (code == TR_OK) *residual = (tr_restriction){.kind = TR_BYTES, .bytes = nothing};
  } else {
    code = cut(t, from, residual, err);
  }
  pthread_mutex_unlock(&t->mutex);
  return code;
}

/* ---- Answering ------------------------------------------------------------------------------ */

static tr_code current_restriction(tr_tracker *tracker, tr_restriction *restriction,
                                   tr_error *err) {
  tr_byte_key_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  *restriction = (tr_restriction){.kind = TR_BYTES};
  tr_code code = tr_byte_key_range_init(&restriction->bytes, start_of(t), end_of(t), err);
  pthread_mutex_unlock(&t->mutex);
  return code;
}

/* The error that [from, end) was not attempted. */
static tr_code refuse_done(const tr_byte_key_tracker *t, tr_bytes from, tr_error *err) {
  char start[TR_KEY_MESSAGE_SIZE], end[TR_KEY_MESSAGE_SIZE];
  char last_text[TR_KEY_MESSAGE_SIZE], from_text[TR_KEY_MESSAGE_SIZE];
  tr_byte_key_message(start_of(t), start);
  tr_byte_key_message(end_of(t), end);
  if (t->attempts == NONE_YET) {
    return tr_error_set(err, TR_INVALID_STATE,
                        "Key range is non-empty ByteKeyRange{startKey=%s, endKey=%s} and no keys "
                        "have been attempted.",
                        start, end);
  }
  return tr_error_set(err, TR_INVALID_STATE,
                      "Last attempted key was %s in range ByteKeyRange{startKey=%s, endKey=%s}, "
                      "claiming work in [%s, %s) was not attempted",
                      tr_byte_key_message(tr_buffer_bytes(&t->attempted), last_text), start, end,
                      tr_byte_key_message(from, from_text), end);
}

static tr_code check_done(tr_tracker *tracker, tr_error *err) {
  tr_byte_key_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  tr_bytes from;
  tr_code code = TR_OK;
  if (frontier(t, &from) && !is_nothing_from(t, from)) code = refuse_done(t, from, err);
  pthread_mutex_unlock(&t->mutex);
  return code;
}

static int is_done(tr_tracker *tracker) {
  tr_byte_key_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int done = is_spoken_for(t);
  pthread_mutex_unlock(&t->mutex);
  return done;
}

static double fraction(tr_tracker *tracker) {
  tr_byte_key_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  double consumed = fraction_consumed(t);
  pthread_mutex_unlock(&t->mutex);
  return consumed;
}

static double size(tr_tracker *tracker) {
  return 1 - fraction(tracker);
}

static const tr_buffer *claimed_key(const tr_byte_key_tracker *t) {
  return t->attempts == LAST_CLAIMED ? &t->attempted : &t->claimed;
}

static int last_claimed(tr_tracker *tracker, tr_buffer *key, int64_t *offset, tr_error *err) {
  (void)offset;
  tr_byte_key_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int has = t->has_claimed;
  if (has && tr_buffer_set(key, tr_buffer_bytes(claimed_key(t)), err) != TR_OK) has = -1;
  pthread_mutex_unlock(&t->mutex);
  return has;
}

static int last_attempted(tr_tracker *tracker, tr_buffer *key, int64_t *offset, tr_error *err) {
  (void)offset;
  tr_byte_key_tracker *t = of(tracker);
  pthread_mutex_lock(&t->mutex);
  int has = t->attempts != NONE_YET;
  if (has && tr_buffer_set(key, tr_buffer_bytes(&t->attempted), err) != TR_OK) has = -1;
  pthread_mutex_unlock(&t->mutex);
  return has;
}

/* Appends `name` and the key; `null` if there is none. */
static tr_code key_member(const char *name, const tr_buffer *key, int has_key, tr_buffer *text,
                          tr_error *err) {
  tr_code code = tr_buffer_append_text(text, name, err);
  if (code != TR_OK) return code;
  if (!has_key) return tr_buffer_append_text(text, "null", err);
  return tr_byte_key_text(tr_buffer_bytes(key), text, err);
}

static tr_code text_of(tr_tracker *tracker, tr_buffer *text, tr_error *err) {
  tr_byte_key_tracker *t = of(tracker);
  size_t before = text->size;
  pthread_mutex_lock(&t->mutex);
  tr_code code = tr_buffer_append_text(text, "ByteKeyRangeTracker{range=", err);
  if (code == TR_OK) code = tr_byte_key_range_text(&t->range, text, err);
  if (code == TR_OK) {
    code = key_member(", lastClaimedKey=", claimed_key(t), t->has_claimed, text, err);
  }
  if (code == TR_OK) {
    code = key_member(", lastAttemptedKey=", &t->attempted, t->attempts != NONE_YET, text, err);
  }
  pthread_mutex_unlock(&t->mutex);
  if (code == TR_OK) code = tr_buffer_append_text(text, "}", err);
  if (code != TR_OK) text->size = before;
  return code;
}

/* ---- The beginning and the end -------------------------------------------------------------- */

static void release(tr_tracker *tracker) {
  tr_byte_key_tracker *t = of(tracker);
  pthread_mutex_destroy(&t->mutex);
  tr_byte_key_range_free(&t->range);
  tr_byte_key_range_free(&t->extent);
  tr_buffer_free(&t->attempted);
  tr_buffer_free(&t->claimed);
  tr_buffer_free(&t->ahead);
  tr_free(t);
}

tr_code tr_byte_key_tracker_create(const tr_byte_key_range *range, tr_byte_key_tracker **tracker,
                                   tr_error *err) {
  *tracker = NULL;
  tr_byte_key_tracker *t = tr_malloc(sizeof *t);
  if (t == NULL) return tr_error_no_memory(err);
  *t = (tr_byte_key_tracker){.base = {&byte_key_tracker_class}};
  tr_code code = tr_mutex_init(&t->mutex, err);
  if (code != TR_OK) {
    tr_free(t);
    return code;
  }
  code = tr_byte_key_range_init(&t->range, tr_buffer_bytes(&range->start),
                                tr_buffer_bytes(&range->end), err);
  if (code == TR_OK) code = tr_buffer_make_room(&t->attempted, USUAL_KEY_SIZE + 1, err);
  /* Room for at least the empty key, so that claiming the end never fails. */
  if (code == TR_OK) code = tr_buffer_make_room(&t->claimed, USUAL_KEY_SIZE + 1, err);
  if (code != TR_OK) {
    release(&t->base);
    return code;
  }
  note_leads(t);
  *tracker = t;
  return TR_OK;
}

tr_code tr_byte_key_tracker_set_extent(tr_byte_key_tracker *t, tr_bytes first, tr_bytes last,
                                       tr_error *err) {
  tr_byte_key_range extent;
  tr_buffer end = {0};
  tr_code code = tr_buffer_append(&end, last, err);
  if (code == TR_OK) code = tr_buffer_append_byte(&end, 0, err);
  if (code == TR_OK) code = tr_byte_key_range_init(&extent, first, tr_buffer_bytes(&end), err);
  tr_buffer_free(&end);
  if (code != TR_OK) return code;
  pthread_mutex_lock(&t->mutex);
  tr_byte_key_range before = t->extent;
  t->extent = extent;
  pthread_mutex_unlock(&t->mutex);
  tr_byte_key_range_free(&before);
  return TR_OK;
}

tr_tracker *tr_byte_key_tracker_base(tr_byte_key_tracker *tracker) {
  return &tracker->base;
}

tr_byte_key_tracker *tr_byte_key_tracker_of(tr_tracker *tracker) {
  return tracker->methods == &byte_key_tracker_class ? of(tracker) : NULL;
}

static const tr_tracker_class byte_key_tracker_class = {
    .kind = TR_BYTES,
    .free = release,
    .try_claim = try_claim,
    .claim_end = claim_end,
    .try_split = try_split,
    .try_split_at = try_split_at,
    .checkpoint = checkpoint,
    .current_restriction = current_restriction,
    .check_done = check_done,
    .is_done = is_done,
    .size = size,
    .fraction_consumed = fraction,
    .last_claimed = last_claimed,
    .last_attempted = last_attempted,
    .text = text_of,
};

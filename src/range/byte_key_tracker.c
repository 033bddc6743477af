/*
** Claims keys of one half-open byte range [start, end) in increasing order, and lets others take
** the unclaimed rest away while that goes on.
**
** How it works. The position is the last key that somebody tried to claim. A claim moves it forward
** and succeeds while it is below the end; a split moves the end down to a point above it. Both happen
** under one mutex, so that every key of the old range is in exactly one of the two new ones. A
** claimer that claims ahead publishes the limit of its window here, and splits stay above that too:
** the lowest key that nobody has spoken for is the *frontier*.
**
** A claim is on the path of every row. Its common case is two comparisons of the keys' first eight
** bytes as numbers and a copy into memory that is already there; everything else, errors included,
** is in claim_carefully.
**
** Invariants (under the mutex):
**   start <= end, or the end is open;
**   last claimed <= last attempted < frontier <= end, unless the last attempt was at or above the end;
**   `attempted` has room for one more byte, and that byte is 0: next(attempted) is a view;
**   where the last attempt was a success, the last claimed key is `attempted`, else it is `claimed`;
**   a split that fails for want of memory has changed nothing.
**
** Source: Apache Beam, ByteKeyRangeTracker (sdk.transforms.splittabledofn) 2.15 and 2.30.
*/
#include "range/byte_key_tracker.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "range/tracker_class.h"

/* What came of the attempts so far. */
typedef enum attempts { NONE_YET, LAST_CLAIMED, LAST_REFUSED, END_CLAIMED } attempts;

struct tr_byte_key_tracker {
  tr_tracker base;
  pthread_mutex_t mutex;
  /* The fast path of a claim: above the one, below the other, with `attempts` already LAST_CLAIMED. */
  uint64_t attempted_lead; /* UINT64_MAX unless the last attempt was claimed */
  uint64_t end_lead;       /* UINT64_MAX where there is no end */
  tr_buffer attempted;     /* the last attempted key; empty before the first and after the end */
  attempts attempts;
  int has_claimed;
  tr_buffer claimed; /* the last claimed key, unless that is `attempted` */
  tr_byte_key_range range;
  int has_ahead; /* a window is out, and its limit is `ahead` */
  tr_buffer ahead;
  int has_rest; /* a window is out that goes to the end, wherever that is */
};

static const tr_tracker_class byte_key_tracker_class;

/* Keys up to this size never make a claim allocate. */
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

static void note_end(tr_byte_key_tracker *t) {
  t->end_lead = tr_byte_key_range_has_end(&t->range) ? tr_byte_key_lead(end_of(t)) : UINT64_MAX;
}

static tr_code make_room(tr_buffer *buffer, size_t size, tr_error *err) {
  if (size <= buffer->capacity) return TR_OK;
  return tr_buffer_reserve(buffer, size - buffer->size, err);
}

/* ---- Where the tracker stands --------------------------------------------------------------- */

/* The lowest key above all attempts. 0: there is none. The view lives as long as `attempted`. */
static int next_to_attempt(const tr_byte_key_tracker *t, tr_bytes *key) {
  if (t->attempts == END_CLAIMED) return 0;
  *key =
      t->attempts == NONE_YET ? start_of(t) : (tr_bytes){t->attempted.data, t->attempted.size + 1};
  return 1;
}

/* The lowest key that nobody has spoken for, which may be the end. 0: all is spoken for. */
static int frontier(const tr_byte_key_tracker *t, tr_bytes *key) {
  if (t->has_rest || !next_to_attempt(t, key)) return 0;
  tr_bytes ahead = tr_buffer_bytes(&t->ahead);
  if (t->has_ahead && tr_bytes_compare(ahead, *key) > 0) *key = ahead;
  return 1;
}

/* 1 if [key, end) holds nothing that can be claimed. */
static int is_nothing_from(const tr_byte_key_tracker *t, tr_bytes key) {
  if (!tr_byte_key_range_has_end(&t->range)) return 0;
  return tr_byte_key_range_is_no_keys(&t->range) || tr_bytes_compare(key, end_of(t)) >= 0;
}

/* Every key was attempted, or has been given to a window. */
static int is_spoken_for(const tr_byte_key_tracker *t) {
  tr_bytes key;
  return !frontier(t, &key) || is_nothing_from(t, key);
}

/* Every key was attempted. */
static int is_finished(const tr_byte_key_tracker *t) {
  tr_bytes key;
  return !next_to_attempt(t, &key) || is_nothing_from(t, key);
}

/* The last attempt was the empty key, or at or above the end: there is not even an empty rest. */
static int is_past_end(const tr_byte_key_tracker *t) {
  if (t->attempts == END_CLAIMED || t->has_rest) return 1;
  return t->attempts != NONE_YET && tr_byte_key_range_has_end(&t->range) &&
         tr_bytes_compare(tr_buffer_bytes(&t->attempted), end_of(t)) >= 0;
}

static double fraction_consumed(const tr_byte_key_tracker *t) {
  if (is_finished(t)) return 1;
  double fraction = 0;
  if (t->attempts == NONE_YET) return fraction;
  /* The key is not empty and lies in the range: this cannot fail. */
  tr_byte_key_range_estimate_fraction(&t->range, tr_buffer_bytes(&t->attempted), &fraction, NULL);
  return fraction;
}

/* ---- Claiming ------------------------------------------------------------------------------- */

/* Makes `key` the last attempt. What can fail comes first. */
static tr_code note_attempt(tr_byte_key_tracker *t, tr_bytes key, attempts outcome, tr_error *err) {
  /* A refused attempt must not overwrite the last claimed key: it takes the other buffer. */
  int keeps_claimed = outcome != LAST_CLAIMED && t->attempts == LAST_CLAIMED;
  tr_buffer *room = keeps_claimed ? &t->claimed : &t->attempted;
  tr_code code = make_room(room, key.size + 1, err);
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
  t->attempted_lead = outcome == LAST_CLAIMED ? tr_byte_key_lead(key) : UINT64_MAX;
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

static int claim(tr_byte_key_tracker *t, tr_bytes key, tr_error *err) {
  uint64_t lead = tr_byte_key_lead(key);
  if (lead <= t->attempted_lead || lead >= t->end_lead || key.size >= t->attempted.capacity) {
    return claim_carefully(t, key, err);
  }
  /* Both leads differ, so the key is above the last one and below the end; and it is not empty. */
  if (key.size == 8) {
    memcpy(t->attempted.data, key.data, 8);
  } else {
    memcpy(t->attempted.data, key.data, key.size);
  }
  t->attempted.data[key.size] = 0;
  t->attempted.size = key.size;
  t->attempted_lead = lead;
  return 1;
}

int tr_byte_key_tracker_try_claim(tr_byte_key_tracker *t, tr_bytes key, tr_error *err) {
  pthread_mutex_lock(&t->mutex);
  int claimed = claim(t, key, err);
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

static size_t shared_prefix(tr_bytes a, tr_bytes b) {
  size_t shorter = a.size < b.size ? a.size : b.size, shared = 0;
  while (shared < shorter && a.data[shared] == b.data[shared]) shared++;
  return shared;
}

/* The eight bytes behind the first `skipped`, as tr_byte_key_lead. */
static uint64_t lead_behind(tr_bytes key, size_t skipped) {
  if (skipped >= key.size) return 0;
  return tr_byte_key_lead((tr_bytes){key.data + skipped, key.size - skipped});
}

/* Makes `step` 256 times finer by one more byte of depth; UINT64_MAX stands for all above it. */
static void deepen(tr_byte_key_window *window) {
  window->depth++;
  window->step = window->step >> 56 != 0 ? UINT64_MAX : window->step << 8;
}

/* Halves the step; at its finest it gets another byte, as long as keys may differ there. */
static void narrow(tr_byte_key_window *window, tr_bytes key) {
  if (window->step == 1 && window->depth < key.size + 8) deepen(window);
  if (window->step > 1) window->step >>= 1;
}

/* Doubles the step; at its widest it moves up a byte, unless that is needed. */
static void widen(tr_byte_key_window *window, size_t least_depth) {
  if (window->step >> 62 != 0) {
    if (window->depth <= least_depth) return;
    window->depth--;
    window->step >>= 8;
  }
  window->step <<= 1;
}

/*
** Chooses depth and step for the window that begins at `key`: what the last window taught, and at most
** an eighth of what is left. A step of 0 means that no window fits.
**
** All keys from `key` to the end share the prefix that these two share, so that only the bytes behind
** it tell them apart: the limit is made of that prefix and at least eight bytes more.
*/
static void plan_window(tr_byte_key_window *window, tr_bytes key, int has_end, tr_bytes end) {
  size_t shared = has_end ? shared_prefix(key, end) : 0;
  if (window->depth == 0) {
    /* The first one: a millionth of the rest, which will double until it holds enough. */
    window->depth = shared + 8;
    uint64_t to = has_end ? lead_behind(end, shared) : UINT64_MAX;
    window->step = (to - lead_behind(key, shared)) >> 20 | 1;
  } else if (window->given > 0) {
    uint64_t used = window->given - window->left;
    if (window->left == 0) {
      narrow(window, key);
    } else if (used < window->given / 2) {
      widen(window, shared + 8);
    }
  }
  while (window->depth < shared + 8) deepen(window);
  /* Where more than eight bytes tell the end from the key, the rest is more than any step. */
  size_t skipped = window->depth - 8;
  if (skipped > shared) return;
  uint64_t to = has_end ? lead_behind(end, skipped) : UINT64_MAX;
  uint64_t most = (to - lead_behind(key, skipped)) / 8;
  if (window->step > most) window->step = most;
}

/* Appends the first `depth` bytes of `key`, plus the step. 0: that is beyond every key. */
static int append_limit(tr_buffer *limit, const tr_byte_key_window *window, tr_bytes key) {
  size_t kept = key.size < window->depth ? key.size : window->depth;
  memcpy(limit->data, key.data, kept);
  memset(limit->data + kept, 0, window->depth - kept);
  limit->size = window->depth;
  uint64_t carry = window->step;
  for (size_t at = window->depth; at-- > 0 && carry != 0;) {
    uint64_t sum = limit->data[at] + (carry & 255);
    limit->data[at] = (uint8_t)sum;
    carry = (carry >> 8) + (sum >> 8);
  }
  return carry == 0;
}

static void close_window(tr_byte_key_window *window) {
  window->given = 0;
  window->left = 0;
  window->is_open = 0;
  window->limit.size = 0;
}

/* Opens a window behind `key`, which was just claimed. Without memory there is none. */
static void open_window(tr_byte_key_tracker *t, tr_byte_key_window *window, tr_bytes key) {
  int has_end = tr_byte_key_range_has_end(&t->range);
  plan_window(window, key, has_end, end_of(t));
  close_window(window);
  t->has_ahead = 0;
  if (window->step == 0) return;
  size_t size = window->depth > t->range.end.size ? window->depth : t->range.end.size;
  if (make_room(&window->limit, size, NULL) != TR_OK) return;
  if (make_room(&t->ahead, size, NULL) != TR_OK) return;
  if (!append_limit(&window->limit, window, key)) {
    window->limit.size = 0;
    return;
  }
  tr_bytes limit = tr_buffer_bytes(&window->limit);
  if (has_end && tr_bytes_compare(limit, end_of(t)) > 0) {
    tr_buffer_set(&window->limit, end_of(t), NULL);
    limit = tr_buffer_bytes(&window->limit);
  }
  tr_buffer_set(&t->ahead, limit, NULL);
  t->has_ahead = 1;
  window->limit_lead = tr_byte_key_lead(limit);
  window->given = window->wanted;
  window->left = window->wanted;
}

int tr_byte_key_tracker_claim_ahead(tr_byte_key_tracker *t, tr_byte_key_window *window,
                                    tr_bytes key, tr_error *err) {
  pthread_mutex_lock(&t->mutex);
  int claimed = claim(t, key, err);
  if (claimed == 1) open_window(t, window, key);
  if (claimed == 0) close_window(window);
  pthread_mutex_unlock(&t->mutex);
  return claimed;
}

int tr_byte_key_tracker_claim_rest(tr_byte_key_tracker *t, tr_byte_key_window *window,
                                   tr_error *err) {
  pthread_mutex_lock(&t->mutex);
  int is_left = !is_spoken_for(t);
  if (is_left) {
    if (tr_buffer_set(&window->limit, end_of(t), err) != TR_OK) {
      is_left = -1;
    } else {
      t->has_rest = 1;
      window->is_open = !tr_byte_key_range_has_end(&t->range);
      window->limit_lead = t->end_lead;
      window->given = UINT64_MAX;
      window->left = UINT64_MAX;
    }
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
    close_window(window);
  }
  pthread_mutex_unlock(&t->mutex);
  return code;
}

void tr_byte_key_window_free(tr_byte_key_window *window) {
  tr_buffer_free(&window->limit);
  *window = (tr_byte_key_window){.wanted = window->wanted};
}

/* ---- Giving away ---------------------------------------------------------------------------- */

/* Replaces the range by `primary`, and makes `*residual` [start, the old end). Both are moved. */
static void give_away(tr_byte_key_tracker *t, tr_byte_key_range primary, tr_buffer start,
                      tr_restriction *residual) {
  *residual = (tr_restriction){.kind = TR_BYTES, .bytes = {.start = start, .end = t->range.end}};
  tr_buffer_free(&t->range.start);
  t->range = primary;
  note_end(t);
}

/* Cuts the range at `at`, not below its start: the tracker keeps [start, at), the rest is given. */
static tr_code cut(tr_byte_key_tracker *t, tr_bytes at, tr_restriction *residual, tr_error *err) {
  tr_byte_key_range primary;
  tr_buffer start = {0};
  /* [empty, empty) would be everything, where nothing is meant. */
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
  tr_code code = tr_byte_key_range_init(&rest, from, end_of(t), err);
  if (code == TR_OK) {
    /* A fraction out of bounds, or no room between the ends, is no error: the split is refused. */
    tr_error why;
    code = tr_byte_key_range_interpolate(&rest, fraction, &at, &why);
    if (code == TR_NO_MEMORY) tr_error_no_memory(err);
  }
  if (code == TR_OK) {
    code = cut(t, tr_buffer_bytes(&at), residual, err);
    is_split = code == TR_OK;
  }
  tr_buffer_free(&at);
  tr_byte_key_range_free(&rest);
  return code == TR_NO_MEMORY ? -1 : is_split;
}

/* `key` is to be the first of the residual. */
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

/* Says that [from, end) was not attempted. */
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

/* Appends `name` and the key, or null where there is none. */
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
  *t = (tr_byte_key_tracker){.base = {&byte_key_tracker_class}, .attempted_lead = UINT64_MAX};
  if (pthread_mutex_init(&t->mutex, NULL) != 0) {
    tr_free(t);
    return tr_error_no_memory(err);
  }
  tr_code code = tr_byte_key_range_init(&t->range, tr_buffer_bytes(&range->start),
                                        tr_buffer_bytes(&range->end), err);
  if (code == TR_OK) code = make_room(&t->attempted, USUAL_KEY_SIZE + 1, err);
  /* Room for the empty key at least, so that claiming the end never fails. */
  if (code == TR_OK) code = make_room(&t->claimed, USUAL_KEY_SIZE + 1, err);
  if (code != TR_OK) {
    release(&t->base);
    return code;
  }
  note_end(t);
  *tracker = t;
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

/*
** What a claimer of byte keys may take without asking: the keys below a limit, which a tracker has
** given to it whole (tr_byte_key_tracker_claim_ahead). Nobody else gets what lies in it, so it
** should not be wide; and each new one takes a lock, so it should not be narrow either. How many
** keys lie in how much key space only the keys themselves tell: each window is chosen after what
** became of the last.
**
** Thread-safety: a window belongs to its claimer.
*/
#ifndef TR_RANGE_BYTE_KEY_WINDOW_H
#define TR_RANGE_BYTE_KEY_WINDOW_H

#include "base/big_endian.h"
#include "base/bytes.h"

/*
** `{.wanted = n}` asks for about n keys at a time (1,000 is a good number: the lock then costs
** nothing, and a split finds all but those); release with tr_byte_key_window_free. It may serve one
** tracker after another.
*/
typedef struct tr_byte_key_window {
  uint32_t wanted;
  /* The rest is the trackers' own. */
  uint64_t expected;   /* keys in the range, as a guess for the first window; 0: there is none */
  uint64_t given;      /* how many keys it was opened for; 0: it is closed */
  uint64_t left;       /* how many of them are not yet used */
  int is_open;         /* there is no upper bound, `limit` does not count */
  uint64_t limit_lead; /* tr_byte_key_lead of `limit`; UINT64_MAX: no upper bound */
  tr_buffer limit;     /* keys below it are claimed */
  size_t depth;        /* how many leading bytes of a key the limit is made of */
  uint64_t step;       /* what is added to them to make the limit, in units of the last one */
} tr_byte_key_window;

void tr_byte_key_window_free(tr_byte_key_window *window);

/*
** The first eight bytes as a big-endian number, missing ones as zero. Where two keys' numbers
** differ, they are ordered as the keys are; where they are equal, the keys must be compared.
*/
static inline uint64_t tr_byte_key_lead(tr_bytes key) {
  if (key.size >= 8) return tr_load_big_u64(key.data);
  uint64_t lead = 0;
  for (size_t i = 0; i < key.size; i++) lead |= (uint64_t)key.data[i] << (56 - 8 * i);
  return lead;
}

/* 1 if `key` lies in the window. Of its order among the keys of the window nothing is checked. */
static inline int tr_byte_key_window_holds(const tr_byte_key_window *window, tr_bytes key) {
  if (window->left == 0 || key.size == 0) return 0;
  uint64_t lead = tr_byte_key_lead(key);
  if (lead != window->limit_lead) return lead < window->limit_lead;
  return window->is_open || tr_bytes_compare(key, tr_buffer_bytes(&window->limit)) < 0;
}

/*
** Says that `keys` keys of the window were used, for a claimer that reads a window as a whole and
** does not come for each.
*/
static inline void tr_byte_key_window_use(tr_byte_key_window *window, uint64_t keys) {
  window->left = keys < window->left ? window->left - keys : 0;
}

/*
** Says that a range begins that nothing is known of but that it may have `keys` keys: the first
** window is made for as many as are wanted if they lie evenly, but not over more than an eighth.
** For a claimer that can give back what turns out to be too wide; without this the first window is
** next to nothing, and windows grow.
*/
static inline void tr_byte_key_window_expect(tr_byte_key_window *window, uint64_t keys) {
  window->expected = keys;
  window->step = 0;
}

/*
** Says that what was asked for reached from `from` to `last` already: the next window is made as
** wide as that. For a claimer that gave the rest of a window back.
*/
void tr_byte_key_window_trim(tr_byte_key_window *window, tr_bytes from, tr_bytes last);

/*
** ---- For trackers: under the tracker's lock ---------------------------------------------------
*/

/*
** Opens the window behind `key`, which lies below `end` (empty: there is none), for about as many
** keys as are wanted, over at most an eighth of what is left. 0: it stays closed, since so little
** is left or memory failed.
*/
int tr_byte_key_window_open(tr_byte_key_window *window, tr_bytes key, tr_bytes end);

/* Opens the window up to `end` (empty: there is none), for any number of keys. TR_NO_MEMORY. */
tr_code tr_byte_key_window_open_all(tr_byte_key_window *window, tr_bytes end, tr_error *err);

void tr_byte_key_window_close(tr_byte_key_window *window);

#endif

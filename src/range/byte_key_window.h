/*
** A window is the keys that a claimer may take without asking: those below a limit, which a tracker
** has given to it whole (tr_byte_key_tracker_claim_ahead). Nobody else gets a key in it, so a
** window should not be wide. Each new window takes a lock, so it should not be narrow either. Only
** the keys tell how many of them lie in how much key space. So the width of each window is chosen
** by how many keys of the last one were used.
**
** Thread-safety: a window belongs to its claimer.
*/
#ifndef TR_RANGE_BYTE_KEY_WINDOW_H
#define TR_RANGE_BYTE_KEY_WINDOW_H

#include "base/big_endian.h"
#include "base/bytes.h"

/*
** `{.wanted = n}` asks for about n keys at a time. 1,000 is a good number: the cost of the lock is
** then negligible, and only those keys are withheld from a split. Release with
** tr_byte_key_window_free. One window can serve one tracker after another.
*/
typedef struct tr_byte_key_window {
  uint32_t wanted;
  /* The rest belongs to the trackers. */
  uint64_t expected;   /* keys in the range, a guess for the first window; 0: no guess */
  uint64_t given;      /* how many keys it was opened for; 0: it is closed */
  uint64_t left;       /* how many of them are not yet used */
  int is_open;         /* there is no upper bound, and `limit` is not used */
  uint64_t limit_lead; /* tr_byte_key_lead of `limit`; UINT64_MAX: no upper bound */
  tr_buffer limit;     /* the keys below it are claimed */
  size_t depth;        /* how many leading bytes of a key the limit is made of */
  /* what is added to those bytes to make the limit, in units of the last byte */
  uint64_t step;
} tr_byte_key_window;

void tr_byte_key_window_free(tr_byte_key_window *window);

/*
** The first eight bytes as a big-endian number; missing bytes are zero. If the numbers of two keys
** differ, they are ordered as the keys are. If they are equal, the keys must be compared.
*/
static inline uint64_t tr_byte_key_lead(tr_bytes key) {
  if (key.size >= 8) return tr_load_big_u64(key.data);
  uint64_t lead = 0;
  for (size_t i = 0; i < key.size; i++) lead |= (uint64_t)key.data[i] << (56 - 8 * i);
  return lead;
}

/* The same of the bytes behind the first `skipped`. */
static inline uint64_t tr_byte_key_lead_behind(tr_bytes key, size_t skipped) {
  if (skipped >= key.size) return 0;
  return tr_byte_key_lead((tr_bytes){key.data + skipped, key.size - skipped});
}

/* 1 if `key` is in the window. Its order among the keys of the window is not checked. */
static inline int tr_byte_key_window_holds(const tr_byte_key_window *window, tr_bytes key) {
  if (window->left == 0 || key.size == 0) return 0;
  uint64_t lead = tr_byte_key_lead(key);
  if (lead != window->limit_lead) return lead < window->limit_lead;
  return window->is_open || tr_bytes_compare(key, tr_buffer_bytes(&window->limit)) < 0;
}

/*
** Says that `keys` keys of the window were used. For a claimer that reads a whole window at once
** and does not ask for each key.
*/
static inline void tr_byte_key_window_use(tr_byte_key_window *window, uint64_t keys) {
  window->left = keys < window->left ? window->left - keys : 0;
}

/*
** Says that a range begins of which nothing is known but that it may have `keys` keys. The first
** window is then as wide as the wanted number of keys is if they are evenly spread, but not wider
** than an eighth of the range. For a claimer that can give back the rest of a window that is too
** wide. Without this the first window is tiny, and windows grow.
*/
static inline void tr_byte_key_window_expect(tr_byte_key_window *window, uint64_t keys) {
  window->expected = keys;
  window->step = 0;
}

/*
** Says that the wanted number of keys already reached from `from` to `last`. The next window is
** made as wide as that. For a claimer that gave the rest of a window back.
*/
void tr_byte_key_window_trim(tr_byte_key_window *window, tr_bytes from, tr_bytes last);

/* ---- For trackers: under the tracker's lock ------------------------------------------------- */

/*
** Opens the window behind `key`, which is below `end` (empty: there is none), for about as many
** keys as are wanted, over at most an eighth of what is left. 0: the window stays closed, because
** too little is left or memory ran out.
*/
int tr_byte_key_window_open(tr_byte_key_window *window, tr_bytes key, tr_bytes end);

/* Opens the window up to `end` (empty: no upper bound), for any number of keys. TR_NO_MEMORY. */
tr_code tr_byte_key_window_open_all(tr_byte_key_window *window, tr_bytes end, tr_error *err);

void tr_byte_key_window_close(tr_byte_key_window *window);

#endif

/*
** Where a window ends. Its limit is the first `depth` bytes of the key at which it begins, as a
** big-endian number, plus `step`.
**
** All keys from there to the end of the range share the bytes that the key and the end share, and
** only the bytes behind those differ. So the limit is made of the shared bytes and at least eight
** more. If all keys that a window was opened for were used, it was too wide, and the step is
** halved. If less than half of them were used, it was too narrow, and the step is doubled.
*/
#include "range/byte_key_window.h"

#include <string.h>

void tr_byte_key_window_free(tr_byte_key_window *window) {
  tr_buffer_free(&window->limit);
  *window = (tr_byte_key_window){.wanted = window->wanted};
}

void tr_byte_key_window_close(tr_byte_key_window *window) {
  window->given = 0;
  window->left = 0;
  window->is_open = 0;
  window->limit.size = 0;
}

/* Opens the window up to its limit, for `keys` keys. */
static void give(tr_byte_key_window *window, uint64_t keys) {
  window->is_open = window->limit.size == 0;
  window->limit_lead =
      window->is_open ? UINT64_MAX : tr_byte_key_lead(tr_buffer_bytes(&window->limit));
  window->given = keys;
  window->left = keys;
}

static uint8_t byte_at(tr_bytes key, size_t at) {
  return at < key.size ? key.data[at] : 0;
}

/*
** The distance from `key` to the end, in units of the byte at `depth`, at most UINT64_MAX. Without
** an end it is the distance to where keys would need one more byte in front.
*/
static uint64_t distance(tr_bytes key, tr_bytes end, size_t shared, size_t depth) {
  size_t skipped = depth - 8, at = shared;
  uint64_t from = tr_byte_key_lead_behind(key, skipped), to = tr_byte_key_lead_behind(end, skipped);
  if (end.size == 0) {
    for (; at < skipped; at++) {
      if (byte_at(key, at) != 0xff) return UINT64_MAX;
    }
    return UINT64_MAX - from;
  }
  if (shared >= skipped) return to - from;
  /*
  ** The distance fits only if the bytes between differ by 1 in all, as those of 7f ff ff and 80 00
  ** 00 do.
  */
  if (byte_at(end, at) - byte_at(key, at) != 1 || to >= from) return UINT64_MAX;
  while (++at < skipped) {
    if (byte_at(key, at) != 0xff || byte_at(end, at) != 0) return UINT64_MAX;
  }
  return to - from;
}

/* Makes `step` 256 times finer with one more byte of depth. UINT64_MAX stands for all above it. */
static void deepen(tr_byte_key_window *window) {
  window->depth++;
  window->step = window->step >> 56 != 0 ? UINT64_MAX : window->step << 8;
}

/* Halves the step. A step of 1 first gets another byte, as long as keys may differ there. */
static void narrow(tr_byte_key_window *window, tr_bytes key) {
  if (window->step == 1 && window->depth < key.size + 8) deepen(window);
  if (window->step > 1) window->step >>= 1;
}

/* Doubles the step. At its widest it first moves up a byte, unless that byte is needed. */
static void widen(tr_byte_key_window *window, size_t least_depth) {
  /* An eighth of a distance that does not fit 64 bits counts as 2^61, so the step reaches that. */
  if (window->step >> 60 != 0) {
    if (window->depth <= least_depth) return;
    window->depth--;
    window->step >>= 8;
  }
  window->step <<= 1;
}

void tr_byte_key_window_trim(tr_byte_key_window *window, tr_bytes from, tr_bytes last) {
  size_t shared = tr_bytes_shared_prefix(from, last);
  window->depth = shared + 8;
  window->step =
      (tr_byte_key_lead_behind(last, shared) - tr_byte_key_lead_behind(from, shared)) | 1;
}

/*
** The step of a first window: as expected, or else a millionth of the rest, which is doubled until
** it holds enough keys.
*/
static uint64_t first_step(const tr_byte_key_window *window, uint64_t rest) {
  return (window->expected == 0 ? rest >> 20 : rest / (window->expected / window->wanted + 1)) | 1;
}

/*
** Chooses depth and step for the window that begins at `key`, by the use of the last window and for
** at most an eighth of what is left. A step of 0 means that no window fits.
*/
static void plan(tr_byte_key_window *window, tr_bytes key, tr_bytes end) {
  size_t shared = tr_bytes_shared_prefix(key, end);
  if (window->step == 0) {
    /* The first window, or none fitted before. */
    window->depth = shared + 8;
    window->step = first_step(window, distance(key, end, shared, window->depth));
  } else if (window->given > 0 && window->left == 0) {
    narrow(window, key);
  } else if (window->given > 0 && window->given - window->left < window->given / 2) {
    widen(window, shared + 8);
  }
  while (window->depth < shared + 8) deepen(window);
  uint64_t most = distance(key, end, shared, window->depth) / 8;
  if (window->step > most) window->step = most;
}

/* Sets `limit` to the first `depth` bytes of `key` plus the step. `limit` has room for them. */
static void put_limit(tr_buffer *limit, const tr_byte_key_window *window, tr_bytes key) {
  size_t kept = key.size < window->depth ? key.size : window->depth;
  if (kept > 0) memcpy(limit->data, key.data, kept);
  memset(limit->data + kept, 0, window->depth - kept);
  limit->size = window->depth;
  uint64_t carry = window->step;
  for (size_t at = window->depth; at-- > 0 && carry != 0;) {
    uint64_t sum = limit->data[at] + (carry & 255);
    limit->data[at] = (uint8_t)sum;
    carry = (carry >> 8) + (sum >> 8);
  }
}

int tr_byte_key_window_open(tr_byte_key_window *window, tr_bytes key, tr_bytes end) {
  plan(window, key, end);
  tr_byte_key_window_close(window);
  if (window->step == 0) return 0;
  if (tr_buffer_reserve(&window->limit, window->depth, NULL) != TR_OK) return 0;
  put_limit(&window->limit, window, key);
  give(window, window->wanted);
  return 1;
}

tr_code tr_byte_key_window_open_all(tr_byte_key_window *window, tr_bytes end, tr_error *err) {
  tr_code code = tr_buffer_set(&window->limit, end, err);
  if (code == TR_OK) give(window, UINT64_MAX);
  return code;
}

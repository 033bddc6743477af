/*
** Well-formed UTF-8 by table 3-7 of the Unicode standard (section 3.9): the first byte decides the
** length and the range of the second byte; all further bytes are continuation bytes.
*/
#include "base/utf8.h"

static int is_continuation(uint8_t byte) {
  return (byte & 0xC0) == 0x80;
}

size_t tr_utf8_cut(tr_bytes text, size_t most) {
  enum { MOST_CONTINUATIONS = 3 };
  if (text.size <= most) return text.size;
  size_t size = most;
  while (size > 0 && most - size < MOST_CONTINUATIONS && is_continuation(text.data[size])) size--;
  return is_continuation(text.data[size]) ? most : size;
}

/*
** The size of the character that begins here, or 0 if none does. Never reads past the terminator,
** because that is not a continuation byte.
*/
static size_t character_size(const uint8_t *text) {
  static const struct {
    uint8_t first, last; /* of the first byte */
    uint8_t from, to;    /* of the second */
    size_t size;
  } forms[] = {
      {0x01, 0x7F, 0x00, 0xFF, 1}, {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
      {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
      {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
  };
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    if (text[0] < forms[i].first || text[0] > forms[i].last) continue;
    if (forms[i].size > 1 && (text[1] < forms[i].from || text[1] > forms[i].to)) return 0;
    for (size_t at = 2; at < forms[i].size; at++) {
      if (!is_continuation(text[at])) return 0;
    }
    return forms[i].size;
  }
  return 0;
}

void tr_utf8_make_valid(char *text) {
  while (*text != '\0') {
    size_t size = character_size((const uint8_t *)text);
    if (size == 0) *text = '?';
    text += size == 0 ? 1 : size;
  }
}

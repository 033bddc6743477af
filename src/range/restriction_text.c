/*
** Writes and reads the text of a restriction.
**
** The reader is a small JSON parser for the shapes that a restriction can have: an object of two
** members, whose names and types follow from its kind, and a claim (the table `members`). It reads
** strings character by character, so that escapes may be anywhere, and keeps only the five values.
*/
#include "range/restriction.h"

#include <string.h>

tr_code tr_restriction_text(const tr_restriction *restriction, tr_buffer *text, tr_error *err) {
  if (restriction->kind == TR_INTEGERS) {
    return tr_buffer_printf(text, err, "{\"from\":%lld,\"to\":%lld}",
                            (long long)restriction->integers.from,
                            (long long)restriction->integers.to);
  }
  size_t before = text->size;
  /* For all of a usual one at once. */
  tr_code code = tr_buffer_reserve(text, 100, err);
  if (code == TR_OK) code = tr_buffer_append_text(text, "{\"start\":\"", err);
  if (code == TR_OK) {
    code = tr_buffer_append_hex(text, tr_buffer_bytes(&restriction->bytes.start), err);
  }
  if (code == TR_OK) code = tr_buffer_append_text(text, "\",\"end\":\"", err);
  if (code == TR_OK) {
    code = tr_buffer_append_hex(text, tr_buffer_bytes(&restriction->bytes.end), err);
  }
  if (code == TR_OK) code = tr_buffer_append_text(text, "\"", err);
  if (code == TR_OK && restriction->claim > 0) {
    code = tr_buffer_printf(text, err, ",\"claim\":%lld", (long long)restriction->claim);
  }
  if (code == TR_OK) code = tr_buffer_append_text(text, "}", err);
  if (code != TR_OK) text->size = before;
  return code;
}

/* Room for a member's name; the longest known is "start". */
#define NAME_SIZE 16

typedef struct parser {
  tr_bytes text;
  size_t at;
  tr_error *err;
  tr_buffer keys[2];   /* start, end */
  int64_t integers[3]; /* from, to, claim */
} parser;

enum { CLAIM = 2 };

/*
** Where the value of a member goes. A restriction has all members of one kind; only the claim may
** be left out.
*/
static const struct {
  const char *name;
  tr_restriction_kind kind;
  int is_key;
  int slot;
} members[] = {{"start", TR_BYTES, 1, 0},
               {"end", TR_BYTES, 1, 1},
               {"claim", TR_BYTES, 0, CLAIM},
               {"from", TR_INTEGERS, 0, 0},
               {"to", TR_INTEGERS, 0, 1}};

#define MEMBER_COUNT (sizeof members / sizeof *members)

/* "not a restriction, at byte 12: what"; `at` counts from 0. */
static tr_code fail_at(parser *p, size_t at, const char *what) {
  return tr_error_set(p->err, TR_INVALID_ARGUMENT, "not a restriction, at byte %zu: %s", at, what);
}

static tr_code fail(parser *p, const char *what) {
  return fail_at(p, p->at, p->at < p->text.size ? what : "the text ends here");
}

/* The next character, or -1 at the end. */
static int peek(const parser *p) {
  return p->at < p->text.size ? p->text.data[p->at] : -1;
}

static void skip_blanks(parser *p) {
  while (peek(p) == ' ' || peek(p) == '\t' || peek(p) == '\n' || peek(p) == '\r') p->at++;
}

/* Skips blanks, and then the given character. */
static tr_code expect(parser *p, char character, const char *what) {
  skip_blanks(p);
  if (peek(p) != character) return fail(p, what);
  p->at++;
  return TR_OK;
}

static int hex_digit(int character) {
  if (character >= '0' && character <= '9') return character - '0';
  if (character >= 'a' && character <= 'f') return character - 'a' + 10;
  if (character >= 'A' && character <= 'F') return character - 'A' + 10;
  return -1;
}

static tr_code read_unicode_escape(parser *p, int *character) {
  *character = 0;
  for (int i = 0; i < 4; i++) {
    int digit = hex_digit(peek(p));
    if (digit < 0) return fail(p, "\\u takes four hexadecimal digits");
    *character = *character * 16 + digit;
    p->at++;
  }
  return TR_OK;
}

static tr_code read_escape(parser *p, int *character) {
  static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  int escape = peek(p);
  const char *found = escape > 0 ? strchr(escapes, escape) : NULL;
  if (escape != 'u' && found == NULL) return fail(p, "no such escape");
  p->at++;
  if (escape == 'u') return read_unicode_escape(p, character);
  *character = (unsigned char)meant[found - escapes];
  return TR_OK;
}

/* Reads the next character of a string (a UTF-16 unit or a byte of UTF-8); -1 is its end. */
static tr_code read_character(parser *p, int *character) {
  int c = peek(p);
  if (c < ' ') return fail(p, "a control character in a string");
  p->at++;
  if (c == '\\') return read_escape(p, character);
  *character = c == '"' ? -1 : c;
  return TR_OK;
}

/* Reads a member's name. A name that is longer than any known one is cut. */
static tr_code read_name(parser *p, char name[NAME_SIZE]) {
  tr_code code = expect(p, '"', "a member's name must stand here");
  size_t length = 0;
  for (int character = 0; code == TR_OK && character >= 0;) {
    code = read_character(p, &character);
    if (code != TR_OK || character < 0 || length == NAME_SIZE - 1) continue;
    /* No known name has a zero byte or a character that is not ASCII. */
    name[length++] = (char)(character > 0 && character < 127 ? character : '?');
  }
  name[length] = '\0';
  return code;
}

static tr_code read_key(parser *p, tr_buffer *key) {
  tr_code code = expect(p, '"', "a string of hexadecimal digits must stand here");
  int half = -1; /* the first digit of a pair, or -1 */
  while (code == TR_OK) {
    size_t at = p->at;
    int character;
    code = read_character(p, &character);
    if (code != TR_OK) break;
    if (character < 0) return half < 0 ? TR_OK : fail_at(p, at, "an odd number of digits");
    int digit = hex_digit(character);
    if (digit < 0) return fail_at(p, at, "not a hexadecimal digit");
    if (half >= 0) code = tr_buffer_append_byte(key, (uint8_t)(half << 4 | digit), p->err);
    half = half < 0 ? digit : -1;
  }
  return code;
}

static tr_code read_integer(parser *p, int64_t *integer) {
  skip_blanks(p);
  size_t start = p->at;
  int is_negative = peek(p) == '-';
  if (is_negative) p->at++;
  size_t first = p->at;
  uint64_t limit = (uint64_t)INT64_MAX + (uint64_t)is_negative, value = 0;
  for (; peek(p) >= '0' && peek(p) <= '9'; p->at++) {
    uint64_t digit = (uint64_t)(peek(p) - '0');
    if (value > (limit - digit) / 10) return fail_at(p, start, "a number beyond 64 bits");
    value = value * 10 + digit;
  }
  if (p->at == first) return fail(p, "an integer must stand here");
  if (p->text.data[first] == '0' && p->at > first + 1) {
    return fail_at(p, first, "a number with a leading zero");
  }
  if (peek(p) == '.' || peek(p) == 'e' || peek(p) == 'E') {
    return fail_at(p, start, "a number that is not written as an integer");
  }
  *integer = is_negative ? (int64_t)(0 - value) : (int64_t)value;
  return TR_OK;
}

/* Reads `"name": value`. `*seen` has a bit for each member that was read before. */
static tr_code read_member(parser *p, unsigned *seen) {
  skip_blanks(p);
  size_t at = p->at, i = 0;
  char name[NAME_SIZE];
  tr_code code = read_name(p, name);
  if (code != TR_OK) return code;
  while (i < MEMBER_COUNT && strcmp(members[i].name, name) != 0) i++;
  if (i == MEMBER_COUNT) {
    return fail_at(p, at, "unknown member (known: start, end, claim; from, to)");
  }
  if (*seen & 1u << i) return fail_at(p, at, "repeated member");
  *seen |= 1u << i;
  code = expect(p, ':', "a colon must stand here");
  if (code != TR_OK) return code;
  if (members[i].is_key) return read_key(p, &p->keys[members[i].slot]);
  skip_blanks(p);
  at = p->at;
  code = read_integer(p, &p->integers[members[i].slot]);
  if (code != TR_OK || members[i].slot != CLAIM || p->integers[CLAIM] > 0) return code;
  return fail_at(p, at, "a claim is 1 or more");
}

/* Finds the kind of restriction that has exactly these members. */
static tr_code kind_of_members(parser *p, unsigned seen, tr_restriction_kind *kind) {
  unsigned of_kind[2] = {0, 0}, optional = 0;
  for (size_t i = 0; i < MEMBER_COUNT; i++) {
    of_kind[members[i].kind] |= 1u << i;
    if (members[i].slot == CLAIM) optional |= 1u << i;
  }
  for (int k = TR_BYTES; k <= TR_INTEGERS; k++) {
    if ((seen | (of_kind[k] & optional)) == of_kind[k]) {
      *kind = (tr_restriction_kind)k;
      return TR_OK;
    }
  }
  return fail_at(p, p->at - 1, "the members must be start and end, or from and to");
}

static tr_code read_object(parser *p, tr_restriction_kind *kind) {
  unsigned seen = 0;
  tr_code code = expect(p, '{', "an object must stand here");
  skip_blanks(p);
  while (code == TR_OK && peek(p) != '}') {
    if (seen != 0) code = expect(p, ',', "a comma or the object's end must stand here");
    if (code == TR_OK) code = read_member(p, &seen);
    skip_blanks(p);
  }
  if (code != TR_OK) return code;
  p->at++;
  code = kind_of_members(p, seen, kind);
  skip_blanks(p);
  if (code == TR_OK && p->at < p->text.size) code = fail(p, "nothing may follow the object");
  return code;
}

tr_code tr_restriction_parse(tr_restriction *restriction, tr_bytes text, tr_error *err) {
  parser p = {.text = text, .err = err};
  tr_restriction_kind kind = TR_BYTES;
  *restriction = (tr_restriction){0};
  tr_code code = read_object(&p, &kind);
  if (code != TR_OK) goto done;
  restriction->kind = kind;
  restriction->claim = p.integers[CLAIM];
  if (kind == TR_BYTES) {
    code = tr_byte_key_range_init(&restriction->bytes, tr_buffer_bytes(&p.keys[0]),
                                  tr_buffer_bytes(&p.keys[1]), err);
  } else {
    code = tr_offset_range_init(&restriction->integers, p.integers[0], p.integers[1], err);
  }
done:
  if (code != TR_OK) *restriction = (tr_restriction){0};
  tr_buffer_free(&p.keys[0]);
  tr_buffer_free(&p.keys[1]);
  return code;
}

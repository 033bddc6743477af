/*
** The layout of byte keys. A value is a class byte and what its class needs:
**
**   10                      NULL
**   20 (8 bytes)            REAL below -2^63: the bits of its magnitude, inverted
**   21 (8 bytes) (0..10)    any other number below 2^63: its floor as a rowid's key, a fraction
**   22 (8 bytes)            REAL from 2^63 on: its bits
**   30 (bytes) 00           text; a zero byte inside is written 00 ff
**   40 (bytes) 00           blob; the same
**
** A text sorts before all texts that begin with it. Behind its terminator comes a class byte or the
** end of the key, and both are below the ff that follows a zero byte inside a text.
**
** A number has a fraction only if it is not whole. The fraction is groups of seven bits, the
** highest first, each in a byte from 80 up. Groups of zeros at the end are left out. A whole number
** sorts before the fractions above it, since class bytes and the end of the key are below 80.
**
** The groups are the binary digits of x - floor(x). A double has at most 59 of them, unless it is
** tiny, that is within 2^-7 of zero; then there may be 1074. For tiny numbers the first group is
** all zeros above zero and all ones below, and is followed by the 63 bits of the magnitude as a
** double, which sort in the same order. Below zero those bits are subtracted from 2^63.
**
** Reading accepts exactly what writing gives. For most classes any bytes are what writing gives. A
** fraction is written again and compared.
*/
#include "range/byte_key.h"

#include <math.h>
#include <string.h>

enum {
  CLASS_NULL = 0x10,
  CLASS_BELOW = 0x20,
  CLASS_NUMBER = 0x21,
  CLASS_ABOVE = 0x22,
  CLASS_TEXT = 0x30,
  CLASS_BLOB = 0x40
};

/* The class byte of a number and the eight bytes that always follow it. */
#define NUMBER_SIZE 9

/* The groups of a fraction: the first, and those of 63 more bits. */
#define GROUP_BITS 7
#define GROUP_MARK 0x80
#define FIRST_GROUP_MAX 0x7f
#define REST_BITS 63
#define GROUPS 10

/* Numbers nearer to zero than this are tiny. */
#define TINY 0x1p-7

#define ESCAPED_ZERO 0xff

static uint64_t bits_of_double(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static double double_of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The fraction of a number that is not whole: its first group, and the bits of the others. */
typedef struct fraction {
  uint64_t first;
  uint64_t rest;
} fraction;

static fraction fraction_of(double x, double floor_of_x) {
  if (x > 0 && x < TINY) return (fraction){0, bits_of_double(x)};
  if (x < 0 && x > -TINY) {
    return (fraction){FIRST_GROUP_MAX, (UINT64_C(1) << REST_BITS) - bits_of_double(-x)};
  }
  /*
  ** 63 binary digits behind the point, which is exact. 1 - |x| is computed in integers, since it
  ** may have more digits than a double.
  */
  uint64_t digits = floor_of_x == -1 ? (UINT64_C(1) << 63) - (uint64_t)(-x * 0x1p63)
                                     : (uint64_t)((x - floor_of_x) * 0x1p63);
  return (fraction){digits >> (63 - GROUP_BITS),
                    digits << GROUP_BITS & ((UINT64_C(1) << REST_BITS) - 1)};
}

/* Writes at most GROUPS bytes and returns their number. */
static size_t put_fraction(fraction f, uint8_t *to) {
  to[0] = (uint8_t)(GROUP_MARK | f.first);
  for (int i = 1; i < GROUPS; i++) {
    to[i] = (uint8_t)(GROUP_MARK | (f.rest >> (REST_BITS - GROUP_BITS * i) & FIRST_GROUP_MAX));
  }
  size_t count = GROUPS;
  while (to[count - 1] == GROUP_MARK) count--;
  return count;
}

static void put_integer(int64_t integer, uint8_t *to) {
  to[0] = CLASS_NUMBER;
  tr_byte_key_of_rowid(integer, to + 1);
}

/* Writes at most NUMBER_SIZE + GROUPS bytes and returns their number. */
static size_t put_real(double x, uint8_t *to) {
  if (x >= 0x1p63) {
    to[0] = CLASS_ABOVE;
    tr_store_big_u64(to + 1, bits_of_double(x));
    return NUMBER_SIZE;
  }
  if (x < -0x1p63) {
    to[0] = CLASS_BELOW;
    tr_store_big_u64(to + 1, ~bits_of_double(-x));
    return NUMBER_SIZE;
  }
  int64_t whole = (int64_t)x;
  if ((double)whole > x) whole--; /* the cast cuts off towards zero */
  put_integer(whole, to);
  if ((double)whole == x) return NUMBER_SIZE;
  return NUMBER_SIZE + put_fraction(fraction_of(x, (double)whole), to + NUMBER_SIZE);
}

/* Makes room. In the usual case there is enough, and no function is called. */
static inline tr_code make_room(tr_buffer *key, size_t more, tr_error *err) {
  if (more <= key->capacity - key->size) return TR_OK;
  return tr_buffer_reserve(key, more, err);
}

static tr_code append_integer(tr_buffer *key, int64_t integer, tr_error *err) {
  tr_code code = make_room(key, NUMBER_SIZE, err);
  if (code != TR_OK) return code;
  put_integer(integer, key->data + key->size);
  key->size += NUMBER_SIZE;
  return TR_OK;
}

static tr_code append_real(tr_buffer *key, double real, tr_error *err) {
  tr_code code = make_room(key, NUMBER_SIZE + GROUPS, err);
  if (code != TR_OK) return code;
  key->size += put_real(real, key->data + key->size);
  return TR_OK;
}

/* From this size on, memchr is worth its call. */
#define LONG_TEXT 32

static int word_has_zero(const uint8_t *eight_bytes) {
  const uint64_t ones = UINT64_MAX / 255, tops = ones << 7;
  uint64_t word;
  memcpy(&word, eight_bytes, sizeof word);
  return ((word - ones) & ~word & tops) != 0;
}

static int has_zero(tr_bytes bytes) {
  if (bytes.size >= LONG_TEXT) return memchr(bytes.data, 0, bytes.size) != NULL;
  int found = 0;
  if (bytes.size >= 8) {
    for (size_t at = 0; at < bytes.size - 8; at += 8) found |= word_has_zero(bytes.data + at);
    return found | word_has_zero(bytes.data + bytes.size - 8);
  }
  for (size_t at = 0; at < bytes.size; at++) found |= bytes.data[at] == 0;
  return found;
}

static size_t count_zeros(tr_bytes bytes) {
  size_t count = 0;
  for (size_t i = 0; i < bytes.size; i++) count += bytes.data[i] == 0;
  return count;
}

/* Copies to `to` and escapes zeros. Returns the end of the copy. */
static uint8_t *put_escaped(tr_bytes bytes, uint8_t *to) {
  for (size_t i = 0; i < bytes.size; i++) {
    *to++ = bytes.data[i];
    if (bytes.data[i] == 0) *to++ = ESCAPED_ZERO;
  }
  return to;
}

static tr_code append_bytes(tr_buffer *key, uint8_t class, tr_bytes bytes, tr_error *err) {
  if (bytes.size > SIZE_MAX / 4) return tr_error_no_memory(err);
  size_t zeros = has_zero(bytes) ? count_zeros(bytes) : 0;
  tr_code code = make_room(key, bytes.size + zeros + 2, err);
  if (code != TR_OK) return code;
  uint8_t *to = key->data + key->size;
  *to++ = class;
  if (zeros > 0) {
    to = put_escaped(bytes, to);
  } else if (bytes.size > 0) {
    memcpy(to, bytes.data, bytes.size);
    to += bytes.size;
  }
  *to = 0;
  key->size += bytes.size + zeros + 2;
  return TR_OK;
}

tr_code tr_byte_key_append(tr_buffer *key, const tr_value *value, tr_error *err) {
  switch (value->type) {
  case TR_INTEGER: return append_integer(key, value->integer, err);
  case TR_REAL: return append_real(key, value->real, err);
  case TR_TEXT: return append_bytes(key, CLASS_TEXT, value->bytes, err);
  case TR_BLOB: return append_bytes(key, CLASS_BLOB, value->bytes, err);
  case TR_NULL: break;
  }
  return tr_buffer_append_byte(key, CLASS_NULL, err);
}

static int fail_at(size_t offset, const char *what, tr_error *err) {
  return tr_error_no(err, TR_CORRUPT, "not a byte key, at byte %zu: %s", offset, what);
}

/* Reads the groups at the beginning of `from` into `*f` and returns their number. */
static size_t get_fraction(tr_bytes from, fraction *f) {
  size_t count = 0;
  *f = (fraction){0, 0};
  for (; count < from.size && count < GROUPS && from.data[count] >= GROUP_MARK; count++) {
    uint64_t group = from.data[count] & FIRST_GROUP_MAX;
    if (count == 0) {
      f->first = group;
    } else {
      f->rest |= group << (REST_BITS - GROUP_BITS * count);
    }
  }
  return count;
}

/*
** The number with this floor and fraction. If there is none, a number near it, whose key is
** another: the caller compares.
*/
static double number_of(int64_t floor_of_x, fraction f) {
  uint64_t tiny = bits_of_double(TINY);
  uint64_t below = (UINT64_C(1) << REST_BITS) - f.rest;
  if (floor_of_x == 0 && f.first == 0 && f.rest < tiny) return double_of_bits(f.rest);
  if (floor_of_x == -1 && f.first == FIRST_GROUP_MAX && below < tiny) return -double_of_bits(below);
  uint64_t digits = f.first << (63 - GROUP_BITS) | f.rest >> GROUP_BITS;
  if (floor_of_x == -1) return -ldexp((double)((UINT64_C(1) << 63) - digits), -63);
  return (double)floor_of_x + ldexp((double)digits, -63);
}

/* Each of these reads a value of one class at `from`. Returns its size, or 0 if it is not valid. */

static size_t next_number(tr_bytes from, tr_value *value) {
  if (from.size < NUMBER_SIZE) return 0;
  int64_t floor_of_x = tr_byte_key_to_rowid(from.data + 1);
  fraction f;
  size_t groups = get_fraction((tr_bytes){from.data + NUMBER_SIZE, from.size - NUMBER_SIZE}, &f);
  if (groups == 0) {
    *value = tr_value_integer(floor_of_x);
    return NUMBER_SIZE;
  }
  double x = number_of(floor_of_x, f);
  uint8_t again[NUMBER_SIZE + GROUPS];
  size_t size = put_real(x, again);
  if (size != NUMBER_SIZE + groups || memcmp(again, from.data, size) != 0) return 0;
  *value = tr_value_real(x);
  return size;
}

static size_t next_above(tr_bytes from, tr_value *value) {
  if (from.size < NUMBER_SIZE) return 0;
  double x = double_of_bits(tr_load_big_u64(from.data + 1));
  if (!(x >= 0x1p63)) return 0;
  *value = tr_value_real(x);
  return NUMBER_SIZE;
}

static size_t next_below(tr_bytes from, tr_value *value) {
  if (from.size < NUMBER_SIZE) return 0;
  double x = -double_of_bits(~tr_load_big_u64(from.data + 1));
  if (!(x < -0x1p63)) return 0;
  *value = tr_value_real(x);
  return NUMBER_SIZE;
}

/* The size of text or a blob with its class byte and terminator. 0: it is not terminated. */
static size_t size_of_bytes(tr_bytes from) {
  size_t at = 1;
  while (at < from.size) {
    const uint8_t *zero = memchr(from.data + at, 0, from.size - at);
    if (zero == NULL) return 0;
    at = (size_t)(zero - from.data) + 1;
    if (at == from.size || from.data[at] != ESCAPED_ZERO) return at;
    at++;
  }
  return 0;
}

/* Sets `scratch` to the bytes between class byte and terminator, without their escapes. */
static tr_code unescape(tr_bytes from, tr_buffer *scratch, tr_error *err) {
  scratch->size = 0;
  tr_code code = make_room(scratch, from.size, err);
  if (code != TR_OK) return code;
  uint8_t *to = scratch->data;
  for (size_t i = 1; i < from.size - 1; i++) {
    *to++ = from.data[i];
    if (from.data[i] == 0) i++;
  }
  scratch->size = (size_t)(to - scratch->data);
  return TR_OK;
}

int tr_byte_key_next(tr_bytes key, size_t *offset, tr_value *value, tr_buffer *scratch,
                     tr_error *err) {
  if (*offset >= key.size) return 0;
  tr_bytes from = {key.data + *offset, key.size - *offset};
  int class = from.data[0];
  size_t size = 0;
  switch (class) {
  case CLASS_NULL:
    *value = tr_value_null();
    size = 1;
    break;
  case CLASS_NUMBER: size = next_number(from, value); break;
  case CLASS_ABOVE: size = next_above(from, value); break;
  case CLASS_BELOW: size = next_below(from, value); break;
  case CLASS_TEXT:
  case CLASS_BLOB: size = size_of_bytes(from); break;
  default: return fail_at(*offset, "no value begins like this", err);
  }
  if (size == 0) return fail_at(*offset, "a value that is cut off or was not written so", err);
  if (class == CLASS_TEXT || class == CLASS_BLOB) {
    if (unescape((tr_bytes){from.data, size}, scratch, err) != TR_OK) return -1;
    *value = class == CLASS_TEXT ? tr_value_text(tr_buffer_bytes(scratch))
                                 : tr_value_blob(tr_buffer_bytes(scratch));
  }
  *offset += size;
  return 1;
}

/* The bounds of bytes that begin like a number but are none. */
static void bound_number(tr_bytes from, tr_value *low, tr_value *high) {
  uint8_t padded[NUMBER_SIZE] = {0};
  memcpy(padded, from.data, from.size < NUMBER_SIZE ? from.size : NUMBER_SIZE);
  uint64_t word = tr_load_big_u64(padded + 1);
  double x;
  switch (padded[0]) {
  case CLASS_NUMBER:
    *low = tr_value_integer(tr_byte_key_to_rowid(padded + 1));
    *high = *low;
    if (from.size <= NUMBER_SIZE) return;
    *high = low->integer == INT64_MAX ? tr_value_real(0x1p63) : tr_value_integer(low->integer + 1);
    return;
  case CLASS_ABOVE:
    x = double_of_bits(word);
    if (isnan(x) || word >> 63 != 0) x = INFINITY;
    if (x < 0x1p63) x = 0x1p63;
    break;
  default:
    x = -double_of_bits(~word);
    if (isnan(x) || word >> 63 == 0) x = -INFINITY;
    if (x > -0x1p63) x = -0x1p63;
  }
  *low = *high = tr_value_real(x);
}

int tr_byte_key_next_bounds(tr_bytes key, size_t *offset, tr_value *low, tr_value *high,
                            tr_buffer *scratch, tr_error *err) {
  tr_error reason;
  int read = tr_byte_key_next(key, offset, low, scratch, &reason);
  if (read == 1) *high = *low;
  if (read >= 0) return read;
  if (reason.code != TR_CORRUPT) {
    if (err != NULL) *err = reason;
    return -1;
  }
  tr_bytes from = {key.data + *offset, key.size - *offset};
  int class = from.data[0];
  if (class > CLASS_BLOB) return 3;
  if (class == CLASS_TEXT || class == CLASS_BLOB) {
    /* Not terminated. The bytes are the beginning of a text, and sort just where that text does. */
    if (unescape((tr_bytes){from.data, from.size + 1}, scratch, err) != TR_OK) return -1;
    *low = class == CLASS_TEXT ? tr_value_text(tr_buffer_bytes(scratch))
                               : tr_value_blob(tr_buffer_bytes(scratch));
  } else if (class > CLASS_TEXT) {
    *low = tr_value_blob((tr_bytes){0});
  } else if (class > CLASS_ABOVE) {
    *low = tr_value_text((tr_bytes){0});
  } else if (class >= CLASS_BELOW) {
    bound_number(from, low, high);
    return 2;
  } else {
    *low = class > CLASS_NULL ? tr_value_real(-INFINITY) : tr_value_null();
  }
  *high = *low;
  return 2;
}

/*
** Ranges of byte keys. Questions about a range need only comparisons. To cut one, start and end are
** padded to one size and used as numbers (big_fraction.h). An open end is the first number that
** needs one byte more than the keys have: 01 and as many zero bytes.
*/
#include "range/byte_key_range.h"

#include "range/big_fraction.h"

/* Interpolated keys get enough zero bytes that the range has this many bits, or up to 7 more. */
#define ENOUGH_BITS 53

static const uint8_t zero_byte[] = {0};
static const uint8_t one_byte[] = {1};

/* The ends of a range on the number line, padded so that keys have `size` bytes. */
typedef struct number_line {
  tr_big low;
  tr_big high;
} number_line;

static number_line line_of(const tr_byte_key_range *range, size_t size) {
  tr_big low = {tr_buffer_bytes(&range->start), size};
  tr_big high = {tr_buffer_bytes(&range->end), size};
  if (!tr_byte_key_range_has_end(range)) high = (tr_big){{one_byte, 1}, size + 1};
  return (number_line){low, high};
}

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

tr_code tr_byte_key_range_init(tr_byte_key_range *range, tr_bytes start, tr_bytes end,
                               tr_error *err) {
  *range = (tr_byte_key_range){0};
  if (end.size > 0 && tr_bytes_compare(start, end) > 0) {
    char start_text[TR_KEY_MESSAGE_SIZE], end_text[TR_KEY_MESSAGE_SIZE];
    return tr_error_set(err, TR_INVALID_ARGUMENT, "Start %s must be less than or equal to end %s",
                        tr_byte_key_message(start, start_text), tr_byte_key_message(end, end_text));
  }
  tr_code code = tr_buffer_set(&range->start, start, err);
  if (code == TR_OK) code = tr_buffer_set(&range->end, end, err);
  if (code != TR_OK) tr_byte_key_range_free(range);
  return code;
}

void tr_byte_key_range_free(tr_byte_key_range *range) {
  tr_buffer_free(&range->start);
  tr_buffer_free(&range->end);
}

tr_code tr_byte_key_range_init_no_keys(tr_byte_key_range *range, tr_error *err) {
  return tr_byte_key_range_init(range, (tr_bytes){0}, (tr_bytes){zero_byte, 1}, err);
}

int tr_byte_key_range_is_no_keys(const tr_byte_key_range *range) {
  return range->start.size == 0 && range->end.size == 1 && range->end.data[0] == 0;
}

int tr_byte_key_range_has_end(const tr_byte_key_range *range) {
  return range->end.size > 0;
}

tr_code tr_byte_key_text(tr_bytes key, tr_buffer *text, tr_error *err) {
  size_t before = text->size;
  tr_code code = tr_buffer_append_byte(text, '[', err);
  if (code == TR_OK) code = tr_buffer_append_hex(text, key, err);
  if (code == TR_OK) code = tr_buffer_append_byte(text, ']', err);
  if (code != TR_OK) text->size = before;
  return code;
}

tr_code tr_byte_key_range_text(const tr_byte_key_range *range, tr_buffer *text, tr_error *err) {
  size_t before = text->size;
  tr_code code = tr_buffer_append_text(text, "ByteKeyRange{startKey=", err);
  if (code == TR_OK) code = tr_byte_key_text(tr_buffer_bytes(&range->start), text, err);
  if (code == TR_OK) code = tr_buffer_append_text(text, ", endKey=", err);
  if (code == TR_OK) code = tr_byte_key_text(tr_buffer_bytes(&range->end), text, err);
  if (code == TR_OK) code = tr_buffer_append_byte(text, '}', err);
  if (code != TR_OK) text->size = before;
  return code;
}

char *tr_byte_key_message(tr_bytes key, char *text) {
  static const char digits[] = "0123456789abcdef";
  char *to = text;
  *to++ = '[';
  for (size_t i = 0; i < key.size && to < text + TR_KEY_MESSAGE_SIZE - 3; i++) {
    *to++ = digits[key.data[i] >> 4];
    *to++ = digits[key.data[i] & 15];
  }
  *to++ = ']';
  *to = '\0';
  return text;
}

int tr_byte_key_range_contains(const tr_byte_key_range *range, tr_bytes key) {
  if (tr_bytes_compare(key, tr_buffer_bytes(&range->start)) < 0) return 0;
  return !tr_byte_key_range_has_end(range) ||
         tr_bytes_compare(key, tr_buffer_bytes(&range->end)) < 0;
}

/* Whether a's start is below b's end. */
static int starts_before_end(const tr_byte_key_range *a, const tr_byte_key_range *b) {
  return !tr_byte_key_range_has_end(b) ||
         tr_bytes_compare(tr_buffer_bytes(&a->start), tr_buffer_bytes(&b->end)) < 0;
}

int tr_byte_key_range_overlaps(const tr_byte_key_range *a, const tr_byte_key_range *b) {
  return starts_before_end(a, b) && starts_before_end(b, a);
}

static tr_code refuse_near_empty(const tr_byte_key_range *range, tr_error *err) {
  char start[TR_KEY_MESSAGE_SIZE], end[TR_KEY_MESSAGE_SIZE];
  return tr_error_set(err, TR_INVALID_STATE,
                      "Refusing to interpolate for near-empty ByteKeyRange{startKey=%s, endKey=%s} "
                      "where start and end keys differ only by trailing zero bytes.",
                      tr_byte_key_message(tr_buffer_bytes(&range->start), start),
                      tr_byte_key_message(tr_buffer_bytes(&range->end), end));
}

tr_code tr_byte_key_range_interpolate_decimal(const tr_byte_key_range *range,
                                              const tr_double_digits *fraction, tr_buffer *key,
                                              tr_error *err) {
  size_t size = larger(range->start.size, range->end.size);
  number_line line = line_of(range, size);
  size_t bits = tr_big_difference_bits(line.low, line.high);
  if (bits == 0) return refuse_near_empty(range, err);
  if (bits < ENOUGH_BITS) {
    size += (ENOUGH_BITS + 7 - bits) / 8;
    line = line_of(range, size);
  }
  tr_code code = tr_buffer_make_room(key, size, err);
  if (code == TR_OK) code = tr_big_interpolate(line.low, line.high, fraction, key->data, err);
  if (code == TR_OK) key->size = size;
  return code;
}

tr_code tr_byte_key_range_interpolate(const tr_byte_key_range *range, double fraction,
                                      tr_buffer *key, tr_error *err) {
  if (!(fraction >= 0 && fraction < 1)) {
    char text[TR_DOUBLE_TEXT_SIZE];
    return tr_error_set(err, TR_INVALID_ARGUMENT, "Fraction %s must be in the range [0, 1)",
                        tr_double_text(fraction, text));
  }
  tr_double_digits digits = tr_double_shortest(fraction);
  return tr_byte_key_range_interpolate_decimal(range, &digits, key, err);
}

tr_code tr_byte_key_range_estimate_fraction(const tr_byte_key_range *range, tr_bytes key,
                                            double *fraction, tr_error *err) {
  char text[TR_KEY_MESSAGE_SIZE], start[TR_KEY_MESSAGE_SIZE], end[TR_KEY_MESSAGE_SIZE];
  if (key.size == 0) {
    return tr_error_set(err, TR_INVALID_ARGUMENT, "Cannot compute fraction for an empty key");
  }
  if (tr_bytes_compare(key, tr_buffer_bytes(&range->start)) < 0) {
    return tr_error_set(err, TR_INVALID_ARGUMENT, "Expected key %s >= range start key %s",
                        tr_byte_key_message(key, text),
                        tr_byte_key_message(tr_buffer_bytes(&range->start), start));
  }
  if (tr_bytes_compare(key, tr_buffer_bytes(&range->end)) == 0) {
    *fraction = 1;
    return TR_OK;
  }
  if (!tr_byte_key_range_contains(range, key)) {
    return tr_error_set(
        err, TR_INVALID_ARGUMENT,
        "Cannot compute fraction for %s outside this ByteKeyRange{startKey=%s, endKey=%s}",
        tr_byte_key_message(key, text), tr_byte_key_message(tr_buffer_bytes(&range->start), start),
        tr_byte_key_message(tr_buffer_bytes(&range->end), end));
  }
  size_t size = larger(key.size, larger(range->start.size, range->end.size));
  number_line line = line_of(range, size);
  *fraction = tr_big_difference_bits(line.low, line.high) == 0
                  ? 0
                  : tr_big_ratio(line.low, line.high, (tr_big){key, size});
  return TR_OK;
}

/* Emits the bounds between the first and the last. There are none if the range is one point. */
static tr_code emit_inner_bounds(const tr_byte_key_range *range, int64_t count,
                                 tr_code (*emit)(void *context, tr_bytes bound, tr_error *err),
                                 void *context, tr_error *err) {
  number_line line = line_of(range, larger(range->start.size, range->end.size));
  if (tr_big_difference_bits(line.low, line.high) == 0) return TR_OK;
  tr_buffer key = {0};
  tr_code code = TR_OK;
  for (int64_t i = 1; i < count && code == TR_OK; i++) {
    code = tr_byte_key_range_interpolate(range, (double)i / (double)count, &key, err);
    if (code == TR_OK) code = emit(context, tr_buffer_bytes(&key), err);
  }
  tr_buffer_free(&key);
  return code;
}

tr_code tr_byte_key_range_split(const tr_byte_key_range *range, int64_t count,
                                tr_code (*emit)(void *context, tr_bytes bound, tr_error *err),
                                void *context, tr_error *err) {
  if (count < 1) {
    return tr_error_set(err, TR_INVALID_ARGUMENT, "numSplits %lld must be a positive integer",
                        (long long)count);
  }
  tr_code code = emit(context, tr_buffer_bytes(&range->start), err);
  if (code == TR_OK) code = emit_inner_bounds(range, count, emit, context, err);
  if (code == TR_OK) code = emit(context, tr_buffer_bytes(&range->end), err);
  return code;
}

/*
** Restrictions. Each operation is passed to the range of the restriction's kind. The text is in
** restriction_text.c.
*/
#include "range/restriction.h"

#include "base/big_endian.h"
#include "range/big_fraction.h"

static const char *const kind_names[] = {[TR_BYTES] = "byte keys", [TR_INTEGERS] = "integers"};

tr_code tr_restriction_copy(tr_restriction *to, const tr_restriction *from, tr_error *err) {
  if (from->kind == TR_INTEGERS) {
    *to = *from;
    return TR_OK;
  }
  *to = (tr_restriction){.kind = TR_BYTES};
  return tr_byte_key_range_init(&to->bytes, tr_buffer_bytes(&from->bytes.start),
                                tr_buffer_bytes(&from->bytes.end), err);
}

void tr_restriction_free(tr_restriction *restriction) {
  if (restriction->kind == TR_BYTES) tr_byte_key_range_free(&restriction->bytes);
  *restriction = (tr_restriction){0};
}

static tr_code check_kind(const tr_restriction *restriction, tr_restriction_kind kind,
                          const char *what, tr_error *err) {
  if (restriction->kind == kind) return TR_OK;
  return tr_error_set(err, TR_INVALID_ARGUMENT, "a restriction of %s has no %s of %s",
                      kind_names[restriction->kind], what, kind_names[kind]);
}

int tr_restriction_contains(const tr_restriction *restriction, tr_position position,
                            tr_error *err) {
  if (check_kind(restriction, position.kind, "position", err) != TR_OK) return -1;
  if (position.kind == TR_BYTES)
    return tr_byte_key_range_contains(&restriction->bytes, position.key);
  return tr_offset_range_contains(&restriction->integers, position.offset);
}

static int is_below(const tr_buffer *a, const tr_buffer *b) {
  return tr_bytes_compare(tr_buffer_bytes(a), tr_buffer_bytes(b)) < 0;
}

/* The lower of two ends. An empty end is the highest. */
static const tr_buffer *lower_end(const tr_buffer *a, const tr_buffer *b) {
  if (a->size == 0) return b;
  if (b->size == 0) return a;
  return is_below(b, a) ? b : a;
}

static tr_code intersect_bytes(tr_byte_key_range *range, const tr_byte_key_range *other,
                               tr_error *err) {
  const tr_buffer *start = is_below(&range->start, &other->start) ? &other->start : &range->start;
  const tr_buffer *end = lower_end(&range->end, &other->end);
  tr_byte_key_range cut;
  tr_code code;
  if (end->size == 0 || is_below(start, end)) {
    code = tr_byte_key_range_init(&cut, tr_buffer_bytes(start), tr_buffer_bytes(end), err);
  } else if (range->start.size > 0) {
    tr_bytes empty = tr_buffer_bytes(&range->start);
    code = tr_byte_key_range_init(&cut, empty, empty, err);
  } else {
    code = tr_byte_key_range_init_no_keys(&cut, err);
  }
  if (code != TR_OK) return code;
  tr_byte_key_range_free(range);
  *range = cut;
  return TR_OK;
}

static void intersect_integers(tr_offset_range *range, const tr_offset_range *other) {
  int64_t from = range->from > other->from ? range->from : other->from;
  int64_t to = range->to < other->to ? range->to : other->to;
  *range = from < to ? (tr_offset_range){from, to} : (tr_offset_range){range->from, range->from};
}

tr_code tr_restriction_intersect(tr_restriction *restriction, const tr_restriction *other,
                                 tr_error *err) {
  tr_code code = check_kind(restriction, other->kind, "intersection with one", err);
  if (code != TR_OK) return code;
  restriction->claim = 0;
  if (other->kind == TR_BYTES) return intersect_bytes(&restriction->bytes, &other->bytes, err);
  intersect_integers(&restriction->integers, &other->integers);
  return TR_OK;
}

/*
** For arithmetic an integer is a number of eight big-endian bytes, counted from the beginning of
** the range.
*/
#define INTEGER_BYTES 8

static tr_big big_of_integer(uint64_t integer, uint8_t bytes[INTEGER_BYTES]) {
  tr_store_big_u64(bytes, integer);
  return (tr_big){{bytes, INTEGER_BYTES}, INTEGER_BYTES};
}

static const tr_big integer_zero = {{NULL, 0}, INTEGER_BYTES};

static tr_code interpolate_integers(const tr_offset_range *range, double fraction, int64_t *offset,
                                    tr_error *err) {
  if (!(fraction >= 0 && fraction < 1)) {
    char text[TR_DOUBLE_TEXT_SIZE];
    return tr_error_set(err, TR_INVALID_ARGUMENT, "Fraction %s must be in the range [0, 1)",
                        tr_double_text(fraction, text));
  }
  if (range->from == range->to) {
    return tr_error_set(err, TR_INVALID_STATE, "Refusing to interpolate for empty [%lld, %lld)",
                        (long long)range->from, (long long)range->to);
  }
  uint8_t width[INTEGER_BYTES], distance[INTEGER_BYTES];
  tr_double_digits digits = tr_double_shortest(fraction);
  tr_big high = big_of_integer(tr_offset_range_width(range), width);
  tr_code code = tr_big_interpolate(integer_zero, high, &digits, distance, err);
  if (code != TR_OK) return code;
  *offset = (int64_t)((uint64_t)range->from + tr_load_big_u64(distance));
  return TR_OK;
}

tr_code tr_restriction_interpolate(const tr_restriction *restriction, double fraction,
                                   tr_buffer *key, int64_t *offset, tr_error *err) {
  if (restriction->kind == TR_INTEGERS) {
    return interpolate_integers(&restriction->integers, fraction, offset, err);
  }
  return tr_byte_key_range_interpolate(&restriction->bytes, fraction, key, err);
}

static tr_code fraction_of_integers(const tr_offset_range *range, int64_t offset, double *fraction,
                                    tr_error *err) {
  if (offset < range->from || offset > range->to) {
    return tr_error_set(err, TR_INVALID_ARGUMENT,
                        "Cannot compute fraction for %lld outside this [%lld, %lld)",
                        (long long)offset, (long long)range->from, (long long)range->to);
  }
  if (offset == range->to) {
    *fraction = 1;
    return TR_OK;
  }
  tr_offset_range before = {range->from, offset};
  uint8_t width[INTEGER_BYTES], distance[INTEGER_BYTES];
  *fraction = tr_big_ratio(integer_zero, big_of_integer(tr_offset_range_width(range), width),
                           big_of_integer(tr_offset_range_width(&before), distance));
  return TR_OK;
}

tr_code tr_restriction_fraction(const tr_restriction *restriction, tr_position position,
                                double *fraction, tr_error *err) {
  tr_code code = check_kind(restriction, position.kind, "position", err);
  if (code != TR_OK) return code;
  if (position.kind == TR_INTEGERS) {
    return fraction_of_integers(&restriction->integers, position.offset, fraction, err);
  }
  return tr_byte_key_range_estimate_fraction(&restriction->bytes, position.key, fraction, err);
}

typedef tr_code emit_piece(void *context, const tr_restriction *piece, tr_error *err);

/*
** Makes pieces of the bounds as they come: each bound ends the piece that the last one began. A
** bound that is not above the last one is skipped, so that no piece is empty.
*/
typedef struct piece_maker {
  emit_piece *emit;
  void *context;
  const tr_byte_key_range *whole;
  tr_restriction piece; /* of bytes; its start is that of the next piece */
  int has_start;
} piece_maker;

static tr_code emit_up_to(piece_maker *maker, tr_bytes end, tr_error *err) {
  tr_code code = tr_buffer_set(&maker->piece.bytes.end, end, err);
  if (code == TR_OK) code = maker->emit(maker->context, &maker->piece, err);
  return code;
}

static tr_code take_bound(void *context, tr_bytes bound, tr_error *err) {
  piece_maker *maker = context;
  tr_buffer *start = &maker->piece.bytes.start;
  if (maker->has_start) {
    /* The last bound is the end of the range, which may be empty. split_bytes handles it. */
    if (tr_bytes_compare(bound, tr_buffer_bytes(start)) <= 0) return TR_OK;
    if (tr_bytes_compare(bound, tr_buffer_bytes(&maker->whole->end)) == 0) return TR_OK;
    tr_code code = emit_up_to(maker, bound, err);
    if (code != TR_OK) return code;
  }
  maker->has_start = 1;
  return tr_buffer_set(start, bound, err);
}

static tr_code split_bytes(const tr_byte_key_range *range, int64_t count, emit_piece *emit,
                           void *context, tr_error *err) {
  piece_maker maker = {.emit = emit, .context = context, .whole = range};
  tr_code code = tr_byte_key_range_split(range, count, take_bound, &maker, err);
  if (code == TR_OK) code = emit_up_to(&maker, tr_buffer_bytes(&range->end), err);
  tr_byte_key_range_free(&maker.piece.bytes);
  return code;
}

static tr_code split_integers(const tr_offset_range *range, int64_t count, emit_piece *emit,
                              void *context, tr_error *err) {
  uint64_t width = tr_offset_range_width(range);
  uint64_t pieces = width < (uint64_t)count ? width : (uint64_t)count;
  if (pieces == 0) pieces = 1;
  uint64_t left = width % pieces; /* this many pieces are longer by one */
  tr_restriction piece = {.kind = TR_INTEGERS, .integers = {range->from, range->from}};
  for (uint64_t i = 0; i < pieces; i++) {
    uint64_t size = width / pieces + (i < left);
    piece.integers.from = piece.integers.to;
    piece.integers.to = (int64_t)((uint64_t)piece.integers.from + size);
    tr_code code = emit(context, &piece, err);
    if (code != TR_OK) return code;
  }
  return TR_OK;
}

tr_code tr_restriction_split(const tr_restriction *restriction, int64_t count,
                             tr_code (*emit)(void *context, const tr_restriction *piece,
                                             tr_error *err),
                             void *context, tr_error *err) {
  if (count < 1) {
    return tr_error_set(err, TR_INVALID_ARGUMENT,
                        "number of pieces %lld must be a positive integer", (long long)count);
  }
  if (restriction->kind == TR_INTEGERS) {
    return split_integers(&restriction->integers, count, emit, context, err);
  }
  return split_bytes(&restriction->bytes, count, emit, context, err);
}

/*
** Any bytes as the text of a restriction. If they are read, they can be written and read again with
** the same result, and the range answers questions consistently. If they are refused, the error has
** a text.
*/
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "range/restriction.h"
#include "same_restriction.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds) {
  if (!holds) abort();
}

static void check_text(const tr_restriction *restriction) {
  tr_buffer text = {0}, again = {0};
  tr_restriction copy;
  must(tr_restriction_text(restriction, &text, NULL) == TR_OK);
  must(tr_restriction_parse(&copy, tr_buffer_bytes(&text), NULL) == TR_OK);
  must(is_same_restriction(restriction, &copy) && copy.claim == restriction->claim);
  must(tr_restriction_text(&copy, &again, NULL) == TR_OK);
  must(tr_bytes_compare(tr_buffer_bytes(&text), tr_buffer_bytes(&again)) == 0);
  tr_restriction_free(&copy);
  tr_buffer_free(&text);
  tr_buffer_free(&again);
}

/* The position at a fraction lies inside, and its fraction is about that one. */
static void check_interpolation(const tr_restriction *restriction, double fraction) {
  tr_buffer key = {0};
  int64_t offset = 0;
  double back = -1;
  if (tr_restriction_interpolate(restriction, fraction, &key, &offset, NULL) == TR_OK) {
    int is_bytes = restriction->kind == TR_BYTES;
    tr_position position =
        is_bytes ? tr_position_of_key(tr_buffer_bytes(&key)) : tr_position_of_offset(offset);
    must(tr_restriction_contains(restriction, position, NULL) == 1);
    must(tr_restriction_fraction(restriction, position, &back, NULL) == TR_OK);
    must(back >= 0 && back <= 1);
    must(!is_bytes || fabs(back - fraction) <= 0x1p-51);
  }
  tr_buffer_free(&key);
}

/* Counts pieces, and checks that each begins where the one before ended. */
typedef struct cover {
  tr_restriction before;
  int count;
} cover;

static int is_next(const tr_restriction *before, const tr_restriction *piece) {
  if (piece->kind == TR_INTEGERS) return piece->integers.from == before->integers.to;
  return tr_bytes_compare(tr_buffer_bytes(&piece->bytes.start),
                          tr_buffer_bytes(&before->bytes.end)) == 0;
}

static tr_code check_piece(void *context, const tr_restriction *piece, tr_error *err) {
  cover *c = context;
  must(c->count == 0 || is_next(&c->before, piece));
  c->count++;
  tr_restriction_free(&c->before);
  return tr_restriction_copy(&c->before, piece, err);
}

static void check_split(const tr_restriction *restriction) {
  cover c = {0};
  must(tr_restriction_split(restriction, 5, check_piece, &c, NULL) == TR_OK);
  must(c.count >= 1 && c.count <= 5);
  tr_restriction_free(&c.before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tr_restriction restriction;
  tr_error err = {.code = TR_OK};
  if (tr_restriction_parse(&restriction, (tr_bytes){data, size}, &err) != TR_OK) {
    must(err.code == TR_INVALID_ARGUMENT && err.message[0] != '\0');
    return 0;
  }
  static const double fractions[] = {0, 0x1p-1074, 1e-9, 0.1, 0.5, 0x1.fffffffffffffp-1};
  check_text(&restriction);
  for (size_t i = 0; i < sizeof fractions / sizeof *fractions; i++) {
    check_interpolation(&restriction, fractions[i]);
  }
  check_split(&restriction);
  tr_restriction_free(&restriction);
  return 0;
}

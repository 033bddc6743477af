/*
** Exact sums in fixed point.
**
** How it works. Each term is an integer of at most 128 bits times a power of two; a double is
** mantissa * 2^exponent. A sum starts as a window: one 128-bit integer in units of 2^exponent. The
** first terms decide the exponent, which leaves room below and above them. Adding a term is a shift
** and an addition. If a term lies outside the window, the window moves to where the sum and the
** term both fit. If there is no such place, the sum becomes digits and stays so. Digits are 32 bits
** apart and are held in 64 bits, so that a billion terms can be added before carries must be
** propagated.
**
** Invariant: without digits, the value is low and high as one signed integer, times 2^exponent, and
** its absolute value is below 2^127. With digits, it is the sum of digit[i] * 2^(32 * (first + i) -
** BIAS).
**
** Sources: Kulisch's fixed-point ("long") accumulators; digits with room for delayed carries, as in
** R. Neal, "Fast exact summation using small and large superaccumulators", 2015.
*/
#include "combine/exact_sum.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/*
** Added to exponents, so that the index of every digit is at least 0. The lowest term is 2^-2148,
** the square of the smallest double. A window may reach ROOM_BELOW bits below it.
*/
#define BIAS 2176

/* Terms between two propagations of carries. Each adds less than 2^32 to a digit. */
#define MOST_PENDING (UINT32_C(1) << 30)

/* The bits that a new window leaves free below its lowest term, if there are so many. */
#define ROOM_BELOW 24

struct tr_exact_digits {
  int64_t plus, minus; /* how many infinities of each sign */
  int32_t first;       /* the index of digit[0] */
  int32_t count;
  uint32_t pending; /* terms added since the last propagation of carries */
  int64_t digit[];
};

/* NULL: the value is in the window. */
static inline tr_exact_digits *digits_of(const tr_exact_sum *sum) {
  return (sum->place & 1) != 0 ? NULL : (tr_exact_digits *)sum->place;
}

/* The exponent of the window, if there are no digits. */
static inline int exponent_of(const tr_exact_sum *sum) {
  return (int)((sum->place - 1) / 2); /* 0 gives 0 */
}

/* An exponent of 0 is the place 0, so that `place` is 0 for integers. */
static inline intptr_t place_of_exponent(int exponent) {
  return exponent == 0 ? 0 : (intptr_t)exponent * 2 + 1;
}

/* (is_negative ? -1 : 1) * (high * 2^64 + low) * 2^exponent */
typedef struct term {
  uint64_t low, high;
  int exponent;
  int is_negative;
} term;

/* --- terms ---------------------------------------------------------------------------------- */

static int bits_of(uint64_t x) {
  return x == 0 ? 0 : 64 - __builtin_clzll(x);
}

static int term_bits(const term *t) {
  return t->high != 0 ? 64 + bits_of(t->high) : bits_of(t->low);
}

static inline term term_of_integer(int64_t integer) {
  uint64_t magnitude = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
  return (term){.low = magnitude, .is_negative = integer < 0};
}

static inline term term_of_real(double real) {
  uint64_t bits;
  memcpy(&bits, &real, sizeof bits);
  int biased = (int)(bits >> 52 & 0x7ff);
  uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
  if (biased > 0) mantissa |= UINT64_C(1) << 52;
  return (term){
      .low = mantissa, .exponent = biased - 1075 + (biased == 0), .is_negative = (int)(bits >> 63)};
}

/* What term_of_real gives an infinity. */
#define INFINITE_EXPONENT (0x7ff - 1075)

static inline term term_of(const tr_value *number) {
  return number->type == TR_INTEGER ? term_of_integer(number->integer) : term_of_real(number->real);
}

/* The square of a term that has at most 64 bits. */
static term square_of(const term *t) {
  uint64_t top = t->low >> 32, bottom = t->low & UINT32_MAX;
  uint64_t middle = top * bottom;
  term square = {.low = t->low * t->low, .exponent = 2 * t->exponent};
  uint64_t carry = ((bottom * bottom >> 32) + (middle << 1 & UINT32_MAX)) >> 32;
  square.high = top * top + (middle >> 31) + carry;
  return square;
}

/* Moves the integer's factors of two to the exponent. */
static void strip(term *t) {
  if (t->low == 0) {
    if (t->high == 0) return;
    t->low = t->high;
    t->high = 0;
    t->exponent += 64;
  }
  int zeros = __builtin_ctzll(t->low);
  if (zeros == 0) return;
  t->low = t->low >> zeros | t->high << (64 - zeros);
  t->high >>= zeros;
  t->exponent += zeros;
}

/*
** Multiplies the integer by 2^bits and lowers the exponent by as much. The integer must fit 128
** bits.
*/
static void shift_left(term *t, int bits) {
  if (bits >= 64) {
    t->high = t->low << (bits - 64);
    t->low = 0;
  } else if (bits > 0) {
    t->high = t->high << bits | t->low >> (64 - bits);
    t->low <<= bits;
  }
  t->exponent -= bits;
}

/* --- 128 bits ------------------------------------------------------------------------------- */

static term term_of_window(const tr_exact_sum *sum) {
  term t = {sum->low, sum->high, exponent_of(sum), (int)(sum->high >> 63)};
  if (t.is_negative) {
    t.low = 0 - t.low;
    t.high = 0 - t.high - (t.low != 0);
  }
  return t;
}

/*
** Adds high * 2^64 + low, which is below 2^127, or its negative. 0: the result does not fit, and
** nothing changed.
*/
static inline int add_to_window(tr_exact_sum *sum, uint64_t low, uint64_t high, uint64_t negative) {
  uint64_t mask = 0 - negative;
  low = (low ^ mask) + negative;
  high = (high ^ mask) + (low < negative);
  uint64_t new_low = sum->low + low;
  uint64_t new_high = sum->high + high + (new_low < low);
  if (((sum->high ^ new_high) & (high ^ new_high)) >> 63) return 0;
  sum->low = new_low;
  sum->high = new_high;
  return 1;
}

static int add_shifted(tr_exact_sum *sum, const term *t) {
  int shift = t->exponent - exponent_of(sum);
  if (shift < 0 || shift + term_bits(t) > 126) return 0;
  term moved = *t;
  shift_left(&moved, shift);
  return add_to_window(sum, moved.low, moved.high, (uint64_t)moved.is_negative);
}

/* Moves the window to where the sum and the term both fit. 0: there is no such place. */
static int place_window(tr_exact_sum *sum, const term *t) {
  term s = term_of_window(sum);
  strip(&s);
  int is_empty = term_bits(&s) == 0;
  int low = is_empty || t->exponent < s.exponent ? t->exponent : s.exponent;
  int high = t->exponent + term_bits(t);
  if (!is_empty && s.exponent + term_bits(&s) > high) high = s.exponent + term_bits(&s);
  int room = 124 - (high - low);
  if (room < 0) return 0;
  int exponent = low - (room / 2 < ROOM_BELOW ? room / 2 : ROOM_BELOW);
  if (is_empty) s.exponent = exponent;
  shift_left(&s, s.exponent - exponent);
  *sum = (tr_exact_sum){.place = place_of_exponent(exponent)};
  return add_to_window(sum, s.low, s.high, (uint64_t)s.is_negative);
}

/* --- digits --------------------------------------------------------------------------------- */

static void propagate_carries(int64_t *digit, int count) {
  for (int i = 0; i + 1 < count; i++) {
    int64_t rest = (int64_t)(uint32_t)digit[i];
    digit[i + 1] += (digit[i] - rest) / (INT64_C(1) << 32);
    digit[i] = rest;
  }
}

/* Makes sure that the digits with the indices first..end-1 exist. */
static tr_code ensure_digits(tr_exact_sum *sum, int first, int end, tr_error *err) {
  tr_exact_digits *digits = digits_of(sum);
  int old_count = digits != NULL ? digits->count : 0;
  if (old_count > 0) {
    int old_end = digits->first + old_count;
    if (first >= digits->first && end <= old_end) return TR_OK;
    if (digits->first < first) first = digits->first;
    if (end < old_end) end = old_end;
  }
  size_t size = sizeof *digits + (size_t)(end - first) * sizeof *digits->digit;
  tr_exact_digits *grown = tr_realloc(digits, size);
  if (grown == NULL) return tr_error_no_memory(err);
  if (digits == NULL) *grown = (tr_exact_digits){0};
  int below = old_count > 0 ? grown->first - first : 0;
  memmove(grown->digit + below, grown->digit, (size_t)old_count * sizeof *grown->digit);
  memset(grown->digit, 0, (size_t)below * sizeof *grown->digit);
  int above = end - first - below - old_count;
  memset(grown->digit + below + old_count, 0, (size_t)above * sizeof *grown->digit);
  grown->first = first;
  grown->count = end - first;
  sum->place = (intptr_t)grown;
  return TR_OK;
}

static void count_pending(tr_exact_digits *digits) {
  if (++digits->pending < MOST_PENDING) return;
  propagate_carries(digits->digit, digits->count);
  digits->pending = 0;
}

/* Makes sure that the digits for a number exist, and one more for its carries. */
static tr_code ensure_range(tr_exact_sum *sum, int exponent, int bits, tr_error *err) {
  int first = (exponent + BIAS) / 32, shift = (exponent + BIAS) % 32;
  return ensure_digits(sum, first, first + (bits + shift + 31) / 32 + 1, err);
}

/* Adds a term to digits, which all exist. */
static void add_to_digits(tr_exact_digits *digits, const term *t) {
  int index = (t->exponent + BIAS) / 32 - digits->first, shift = (t->exponent + BIAS) % 32;
  int count = (term_bits(t) + shift + 31) / 32;
  uint64_t carried = 0;
  uint64_t words[] = {(uint32_t)t->low, t->low >> 32, (uint32_t)t->high, t->high >> 32, 0};
  for (int i = 0; i < count; i++) {
    carried |= words[i] << shift;
    int64_t part = (int64_t)(uint32_t)carried;
    digits->digit[index + i] += t->is_negative ? -part : part;
    carried >>= 32;
  }
  count_pending(digits);
}

/* Replaces the window, if there still is one, by digits of the same value. */
static tr_code make_digits(tr_exact_sum *sum, tr_error *err) {
  if (digits_of(sum) != NULL) return TR_OK;
  term window = term_of_window(sum);
  strip(&window);
  tr_code code = ensure_range(sum, window.exponent, term_bits(&window), err);
  if (code == TR_OK) add_to_digits(digits_of(sum), &window);
  return code;
}

/* --- adding --------------------------------------------------------------------------------- */

/* Adds a term of one word, if its three digits exist and one more for carries. 0: they do not. */
static inline int add_word_to_digits(tr_exact_digits *digits, const term *t) {
  int64_t index = (t->exponent + BIAS) / 32 - digits->first;
  int shift = (t->exponent + BIAS) % 32;
  if (index < 0 || index + 3 >= digits->count) return 0;
  uint64_t low = t->low << shift, high = t->low >> 1 >> (63 - shift);
  int64_t sign = t->is_negative ? -1 : 1;
  int64_t *digit = digits->digit + index;
  digit[0] += sign * (int64_t)(low & UINT32_MAX);
  digit[1] += sign * (int64_t)(low >> 32);
  digit[2] += sign * (int64_t)high;
  count_pending(digits);
  return 1;
}

/*
** The common case: adds a term of one word that fits the window or the digits. 0: it does not fit.
*/
static inline int add_fast(tr_exact_sum *sum, const term *t) {
  tr_exact_digits *digits = digits_of(sum);
  if (digits != NULL) return add_word_to_digits(digits, t);
  unsigned shift = (unsigned)(t->exponent - exponent_of(sum));
  if (shift > 62) return 0;
  return add_to_window(sum, t->low << shift, t->low >> 1 >> (63 - shift), (uint64_t)t->is_negative);
}

static int add_or_place(tr_exact_sum *sum, const term *t) {
  return add_shifted(sum, t) || (place_window(sum, t) && add_shifted(sum, t));
}

static tr_code add_term(tr_exact_sum *sum, term t, tr_error *err) {
  if (term_bits(&t) == 0) return TR_OK;
  if (digits_of(sum) == NULL) {
    if (add_or_place(sum, &t)) return TR_OK;
    strip(&t);
    if (add_or_place(sum, &t)) return TR_OK;
  }
  tr_code code = make_digits(sum, err);
  if (code == TR_OK) code = ensure_range(sum, t.exponent, term_bits(&t), err);
  if (code == TR_OK) add_to_digits(digits_of(sum), &t);
  return code;
}

static tr_code add_infinities(tr_exact_sum *sum, int64_t plus, int64_t minus, tr_error *err) {
  tr_code code = make_digits(sum, err);
  if (code != TR_OK) return code;
  digits_of(sum)->plus += plus;
  digits_of(sum)->minus += minus;
  return TR_OK;
}

int tr_exact_sum_add_real(tr_exact_sum *sum, double real) {
  term t = term_of_real(real);
  return t.exponent < INFINITE_EXPONENT && add_fast(sum, &t);
}

tr_code tr_exact_sum_add(tr_exact_sum *sum, const tr_value *number, tr_exact_sign sign,
                         tr_error *err) {
  if (number->type == TR_REAL && isinf(number->real)) {
    int64_t times = sign == TR_EXACT_SUBTRACT ? -1 : 1;
    return number->real > 0 ? add_infinities(sum, times, 0, err)
                            : add_infinities(sum, 0, times, err);
  }
  term t = term_of(number);
  t.is_negative ^= (int)sign;
  return add_fast(sum, &t) ? TR_OK : add_term(sum, t, err);
}

tr_code tr_exact_sum_add_square(tr_exact_sum *sum, const tr_value *number, tr_exact_sign sign,
                                tr_error *err) {
  if (number->type == TR_REAL && isinf(number->real)) return TR_OK;
  term t = term_of(number);
  t = square_of(&t);
  t.is_negative = (int)sign;
  return add_term(sum, t, err);
}

/* Adds a number of any size. */
static tr_code add_number(tr_exact_sum *sum, const tr_exact_number *number, tr_error *err) {
  const uint32_t *digits = number->magnitude.digits;
  int count = number->magnitude.count;
  if (count > 4) {
    tr_code code = make_digits(sum, err);
    int bits = tr_natural_bits(&number->magnitude);
    if (code == TR_OK) code = ensure_range(sum, number->exponent, bits, err);
    if (code != TR_OK) return code;
  }
  /* If there are several terms, all their digits exist, so that no addition fails. */
  for (int i = 0; i < count; i += 4) {
    uint64_t words[4] = {0};
    for (int j = 0; j < 4 && i + j < count; j++) words[j] = digits[i + j];
    term t = {words[1] << 32 | words[0], words[3] << 32 | words[2], number->exponent + 32 * i,
              number->is_negative};
    tr_code code = add_term(sum, t, err);
    if (code != TR_OK) return code;
  }
  return TR_OK;
}

tr_code tr_exact_sum_merge(tr_exact_sum *sum, const tr_exact_sum *other, tr_error *err) {
  const tr_exact_digits *digits = digits_of(other);
  if (digits == NULL) {
    term window = term_of_window(other);
    strip(&window); /* drops the room below it, so that no term reaches below 2^-2148 */
    return add_term(sum, window, err);
  }
  int64_t plus = digits->plus, minus = digits->minus;
  if (plus != 0 || minus != 0) {
    /* Digits first: then adding the number can fail but adding the infinities cannot. */
    tr_code code = make_digits(sum, err);
    if (code != TR_OK) return code;
  }
  tr_exact_number number;
  tr_exact_sum_number(other, &number);
  tr_code code = add_number(sum, &number, err);
  return code == TR_OK && (plus != 0 || minus != 0) ? add_infinities(sum, plus, minus, err) : code;
}

/* --- asking --------------------------------------------------------------------------------- */

uint64_t tr_exact_sum_infinities(const tr_exact_sum *sum) {
  const tr_exact_digits *digits = digits_of(sum);
  return digits == NULL ? 0 : (uint64_t)digits->plus + (uint64_t)digits->minus;
}

double tr_exact_sum_infinity(const tr_exact_sum *sum) {
  const tr_exact_digits *digits = digits_of(sum);
  if (digits == NULL) return 0;
  double plus = digits->plus != 0 ? HUGE_VAL : 0;
  double minus = digits->minus != 0 ? -HUGE_VAL : 0;
  return plus + minus;
}

static void number_of_window(const tr_exact_sum *sum, tr_exact_number *number) {
  term t = term_of_window(sum);
  uint32_t digits[4] = {(uint32_t)t.low, (uint32_t)(t.low >> 32), (uint32_t)t.high,
                        (uint32_t)(t.high >> 32)};
  memcpy(number->magnitude.digits, digits, sizeof digits);
  number->magnitude.count = (term_bits(&t) + 31) / 32;
  number->is_negative = t.is_negative;
  number->exponent = t.exponent;
}

/* Propagates the carries of a copy, so that all digits but the highest are in [0, 2^32). */
static void number_of_digits(const tr_exact_digits *digits, tr_exact_number *number) {
  int64_t digit[TR_NATURAL_DIGITS];
  int count = digits->count;
  memcpy(digit, digits->digit, (size_t)count * sizeof *digit);
  propagate_carries(digit, count);
  number->is_negative = digit[count - 1] < 0;
  if (number->is_negative) {
    for (int i = 0; i < count; i++) digit[i] = -digit[i];
    propagate_carries(digit, count);
  }
  for (int i = 0; i < count; i++) number->magnitude.digits[i] = (uint32_t)digit[i];
  number->magnitude.digits[count] = (uint32_t)(digit[count - 1] >> 32);
  while (count >= 0 && number->magnitude.digits[count] == 0) count--;
  number->magnitude.count = count + 1;
  number->exponent = 32 * digits->first - BIAS;
}

void tr_exact_sum_number(const tr_exact_sum *sum, tr_exact_number *number) {
  const tr_exact_digits *digits = digits_of(sum);
  if (digits != NULL)
    number_of_digits(digits, number);
  else
    number_of_window(sum, number);
  int zeros = tr_natural_trailing_zeros(&number->magnitude);
  if (zeros > 0) tr_natural_shift_right(&number->magnitude, zeros);
  number->exponent = number->magnitude.count == 0 ? 0 : number->exponent + zeros;
}

int tr_exact_number_integer(const tr_exact_number *number, int64_t *integer) {
  int bits = tr_natural_bits(&number->magnitude) + number->exponent;
  if (number->exponent < 0 || bits > 64) return 0;
  uint64_t magnitude = number->magnitude.count > 0 ? number->magnitude.digits[0] : 0;
  if (number->magnitude.count > 1) magnitude |= (uint64_t)number->magnitude.digits[1] << 32;
  magnitude <<= number->exponent % 64;
  if (magnitude > (uint64_t)INT64_MAX + (uint64_t)number->is_negative) return 0;
  *integer = (int64_t)(number->is_negative ? 0 - magnitude : magnitude);
  return 1;
}

int tr_exact_number_is_real(const tr_exact_number *number) {
  int bits = tr_natural_bits(&number->magnitude);
  return bits <= 53 && number->exponent >= -1074 && number->exponent + bits <= 1024;
}

int tr_exact_number_is_sum(const tr_exact_number *number, uint64_t integers, uint64_t reals) {
  /* All numbers are in units of the smallest REAL. */
  tr_natural magnitude = number->magnitude, mantissa, count, most;
  if (number->exponent < (reals > 0 ? -1074 : 0)) return 0;
  tr_natural_shift_left(&magnitude, number->exponent + 1074);
  tr_natural_set(&count, reals);
  tr_natural_set(&mantissa, (UINT64_C(1) << 53) - 1);
  tr_natural_multiply(&count, &mantissa, &most);
  tr_natural_shift_left(&most, 971 + 1074);
  if (tr_natural_compare(&magnitude, &most) <= 0) return 1;
  /* What the REALs cannot reach must come from the INTEGERs: -2^63 or 2^63 - 1 each. */
  tr_natural_subtract(&magnitude, &most);
  tr_natural_set(&count, integers);
  tr_natural_set(&mantissa, (uint64_t)INT64_MAX + (uint64_t)number->is_negative);
  tr_natural_multiply(&count, &mantissa, &most);
  tr_natural_shift_left(&most, 1074);
  return tr_natural_compare(&magnitude, &most) <= 0;
}

double tr_exact_number_quotient(const tr_exact_number *number, uint64_t divisor) {
  double quotient;
  if (divisor == 1) {
    quotient = tr_natural_round(&number->magnitude, 0, number->exponent);
  } else {
    tr_natural by, n = number->magnitude;
    tr_natural_set(&by, divisor);
    int shift = 66 + tr_natural_bits(&by) - tr_natural_bits(&n);
    if (shift < 0) shift = 0;
    tr_natural_shift_left(&n, shift);
    int has_rest = tr_natural_divide(&n, &by);
    quotient = tr_natural_round(&n, has_rest, number->exponent - shift);
  }
  return number->is_negative ? -quotient : quotient;
}

/* --- bytes ---------------------------------------------------------------------------------- */

tr_code tr_exact_sum_write(const tr_exact_sum *sum, tr_buffer *bytes, tr_error *err) {
  tr_exact_number number;
  tr_exact_sum_number(sum, &number);
  const tr_exact_digits *digits = digits_of(sum);
  uint64_t plus = digits != NULL ? (uint64_t)digits->plus : 0;
  uint64_t minus = digits != NULL ? (uint64_t)digits->minus : 0;
  uint64_t size = (uint64_t)(tr_natural_bits(&number.magnitude) + 7) / 8;
  tr_code code = tr_put_varint(bytes, plus, err);
  if (code == TR_OK) code = tr_put_varint(bytes, minus, err);
  if (code == TR_OK) code = tr_put_varint(bytes, 2 * size + (uint64_t)number.is_negative, err);
  if (code == TR_OK && size > 0) code = tr_put_signed(bytes, number.exponent, err);
  if (code == TR_OK) code = tr_natural_append_bytes(&number.magnitude, bytes, err);
  return code;
}

/* A sum of each kind is a multiple of 2^low, and below 2^high. */
static const struct {
  int low, high;
} limits[] = {
    [TR_EXACT_INTEGERS] = {0, 126},
    [TR_EXACT_NUMBERS] = {-1074, 1024 + 63},
    [TR_EXACT_SQUARES] = {-2148, 2048 + 63},
};

static tr_code take_number(tr_decoder *from, tr_exact_kind kind, tr_exact_number *number,
                           tr_error *err) {
  uint64_t size;
  int64_t exponent = 0;
  tr_bytes bytes = {0};
  tr_code code = tr_take_varint(from, "sum", &size, err);
  number->is_negative = (int)(size & 1);
  size >>= 1;
  if (code == TR_OK && size > 0) code = tr_take_signed(from, "exponent", &exponent, err);
  if (code == TR_OK) code = tr_take_bytes(from, "sum", size, &bytes, err);
  if (code != TR_OK) return code;
  if (exponent < limits[kind].low || exponent > limits[kind].high ||
      bytes.size * 8 > (size_t)(limits[kind].high - limits[kind].low + 8)) {
    return tr_take_fail(from, "sum", "is beyond all sums of its kind", err);
  }
  tr_natural_read_bytes(&number->magnitude, bytes);
  number->exponent = (int)exponent;
  int bits = tr_natural_bits(&number->magnitude);
  if (number->exponent + bits > limits[kind].high ||
      (kind == TR_EXACT_SQUARES && number->is_negative)) {
    return tr_take_fail(from, "sum", "is beyond all sums of its kind", err);
  }
  int is_canonical =
      size == 0 ? !number->is_negative : bytes.data[size - 1] != 0 && (bytes.data[0] & 1) != 0;
  return is_canonical ? TR_OK : tr_take_fail(from, "sum", "is not in lowest terms", err);
}

tr_code tr_exact_sum_read(tr_exact_sum *sum, tr_exact_kind kind, tr_decoder *from, tr_error *err) {
  uint64_t plus, minus;
  tr_exact_number number;
  tr_code code = tr_take_varint(from, "count of infinities", &plus, err);
  if (code == TR_OK) code = tr_take_varint(from, "count of negative infinities", &minus, err);
  if (code == TR_OK) code = take_number(from, kind, &number, err);
  if (code != TR_OK) return code;
  uint64_t most = kind == TR_EXACT_NUMBERS ? INT64_MAX : 0;
  if (plus > most || minus > most - plus) {
    return tr_take_fail(from, "count of infinities", "is beyond all counts of its kind", err);
  }
  code = add_number(sum, &number, err);
  if (code == TR_OK && (plus != 0 || minus != 0)) {
    code = add_infinities(sum, (int64_t)plus, (int64_t)minus, err);
  }
  if (code != TR_OK) tr_exact_sum_free(sum);
  return code;
}

size_t tr_exact_sum_heap_size(const tr_exact_sum *sum) {
  const tr_exact_digits *digits = digits_of(sum);
  if (digits == NULL) return 0;
  return sizeof *digits + (size_t)digits->count * sizeof *digits->digit;
}

void tr_exact_sum_free(tr_exact_sum *sum) {
  tr_free(digits_of(sum));
  *sum = (tr_exact_sum){0};
}

/*
** Numbers are used as words of 32 bits, the lowest first, so that every product and every dividend
** fits in 64 bits of plain C.
**
** A ratio needs no memory. Its leading 64 bits are guessed from the leading 64 bits of both
** differences. The guess is off by a few units at most, and is corrected by exact comparisons, word
** by word from the low end.
**
** A fraction of a distance is distance * digits / 10^k with at most 17 digits. So the product is
** only two words longer, and the division by 10^k is a few short divisions by 10^9, because
** floor(floor(x / a) / b) = floor(x / ab).
*/
#include "range/big_fraction.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

#define WORD_BITS 32
#define WORD_BYTES 4

/* Words on the stack: enough for numbers of 248 bytes. */
#define SMALL_WORDS 64

/* The largest power of ten in a word, and its exponent. */
#define DECIMAL_CHUNK UINT32_C(1000000000)
#define DECIMAL_CHUNK_DIGITS 9

static size_t word_count(tr_big number) {
  return (number.size + WORD_BYTES - 1) / WORD_BYTES;
}

/* Word `index` of a number; 0 is the lowest. Words above the number are zero. */
static uint32_t word_at(tr_big number, size_t index) {
  if (index * WORD_BYTES >= number.size) return 0;
  size_t end = number.size - index * WORD_BYTES; /* the byte behind the word's lowest one */
  if (end >= WORD_BYTES && end <= number.bytes.size) {
    const uint8_t *at = number.bytes.data + end - WORD_BYTES;
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
  }
  uint32_t word = 0;
  for (size_t at = end < WORD_BYTES ? 0 : end - WORD_BYTES; at < end; at++) {
    word = word << 8 | (at < number.bytes.size ? number.bytes.data[at] : 0);
  }
  return word;
}

/*
** One word of high - low, for each index from 0 on. `*borrow` is 0 at first and is carried along.
*/
static uint32_t difference_word(tr_big high, tr_big low, size_t index, uint32_t *borrow) {
  uint64_t word = (uint64_t)word_at(high, index) - word_at(low, index) - *borrow;
  *borrow = word >> 63 != 0;
  return (uint32_t)word;
}

static size_t bits_of_word(uint32_t word) {
  size_t bits = 0;
  for (; word != 0; word >>= 1) bits++;
  return bits;
}

size_t tr_big_difference_bits(tr_big low, tr_big high) {
  uint32_t borrow = 0;
  size_t bits = 0;
  for (size_t i = 0; i < word_count(high); i++) {
    uint32_t word = difference_word(high, low, i, &borrow);
    if (word != 0) bits = i * WORD_BITS + bits_of_word(word);
  }
  return bits;
}

/* The 64 bits of high - low below bit `top`, followed by zeros if top < 64. */
static uint64_t leading_bits(tr_big low, tr_big high, size_t top) {
  size_t top_word = (top - 1) / WORD_BITS;
  uint32_t borrow = 0;
  uint32_t words[3] = {0}; /* the top word and the two below it, the highest last */
  for (size_t i = 0; i <= top_word; i++) {
    uint32_t word = difference_word(high, low, i, &borrow);
    words[0] = words[1];
    words[1] = words[2];
    words[2] = word;
  }
  size_t used = top - top_word * WORD_BITS; /* bits of the top word, 1 to 32 */
  uint64_t high_part = (uint64_t)words[2] << (64 - used);
  uint64_t low_part = ((uint64_t)words[1] << WORD_BITS | words[0]) >> used;
  return high_part | low_part;
}

/* floor(a * 2^64 / b), at most 2^64 - 1. */
static uint64_t divide_leading(uint64_t a, uint64_t b) {
  if (a >= b) return UINT64_MAX;
  uint64_t quotient = 0;
  for (int i = 0; i < 64; i++) {
    uint64_t carry = a >> 63;
    a <<= 1;
    quotient <<= 1;
    if (carry || a >= b) {
      a -= b;
      quotient |= 1;
    }
  }
  return quotient;
}

/* 1 if quotient * (high - low) <= (x - low) * 2^64. */
static int is_at_most(uint64_t quotient, tr_big low, tr_big high, tr_big x) {
  uint32_t factors[2] = {(uint32_t)quotient, (uint32_t)(quotient >> WORD_BITS)};
  uint32_t borrow_width = 0, borrow_distance = 0, borrow = 0, previous = 0;
  uint64_t carry_low = 0, carry_high = 0;
  size_t count = word_count(high);
  /*
  ** Subtracts the product from the distance, which is shifted by two words. Only the borrow at the
  ** end matters. Word i of the product is made of words i and i - 1 of the width.
  */
  for (size_t i = 0; i < count + 2; i++) {
    uint32_t width = i < count ? difference_word(high, low, i, &borrow_width) : 0;
    uint32_t distance = i < 2 ? 0 : difference_word(x, low, i - 2, &borrow_distance);
    carry_low += (uint64_t)width * factors[0];
    carry_high += (uint64_t)previous * factors[1];
    uint64_t product = (carry_low & UINT32_MAX) + (carry_high & UINT32_MAX);
    carry_low >>= WORD_BITS;
    carry_high = (carry_high >> WORD_BITS) + (product >> WORD_BITS);
    uint64_t rest = (uint64_t)distance - (product & UINT32_MAX) - borrow;
    borrow = rest >> 63 != 0;
    previous = width;
  }
  return borrow == 0;
}

double tr_big_ratio(tr_big low, tr_big high, tr_big x) {
  if (tr_big_difference_bits(x, high) == 0) return 1.0;
  size_t top = tr_big_difference_bits(low, high);
  uint64_t quotient = divide_leading(leading_bits(low, x, top), leading_bits(low, high, top));
  while (!is_at_most(quotient, low, high, x)) quotient--;
  while (quotient < UINT64_MAX && is_at_most(quotient + 1, low, high, x)) quotient++;
  return ldexp((double)quotient, -64);
}

/* words += number. The sum fits. */
static void add(uint32_t *words, size_t count, tr_big number) {
  uint64_t carry = 0;
  for (size_t i = 0; i < count; i++) {
    carry += (uint64_t)words[i] + word_at(number, i);
    words[i] = (uint32_t)carry;
    carry >>= WORD_BITS;
  }
}

/* words *= factor, which has up to two words. `count` includes the room for the product. */
static void multiply(uint32_t *words, size_t count, uint64_t factor) {
  uint32_t low = (uint32_t)factor, high = (uint32_t)(factor >> WORD_BITS);
  uint64_t carry = 0;
  uint32_t previous = 0;
  for (size_t i = 0; i < count; i++) {
    uint32_t word = words[i];
    uint64_t first = (uint64_t)word * low;
    uint64_t second = (uint64_t)previous * high;
    uint64_t sum = (first & UINT32_MAX) + (second & UINT32_MAX) + (carry & UINT32_MAX);
    words[i] = (uint32_t)sum;
    carry =
        (carry >> WORD_BITS) + (first >> WORD_BITS) + (second >> WORD_BITS) + (sum >> WORD_BITS);
    previous = word;
  }
}

/* words /= divisor, cut off. Returns the count without leading zeros. */
static size_t divide(uint32_t *words, size_t count, uint32_t divisor) {
  uint64_t rest = 0;
  for (size_t i = count; i-- > 0;) {
    uint64_t dividend = rest << WORD_BITS | words[i];
    words[i] = (uint32_t)(dividend / divisor);
    rest = dividend % divisor;
  }
  while (count > 0 && words[count - 1] == 0) count--;
  return count;
}

static uint32_t power_of_ten(int exponent) {
  uint32_t power = 1;
  for (int i = 0; i < exponent; i++) power *= 10;
  return power;
}

/* words = floor(words * fraction). There is room for two words more than the number has. */
static void multiply_by_fraction(uint32_t *words, size_t count, const tr_double_digits *fraction) {
  uint64_t digits = 0;
  for (int i = 0; i < fraction->count; i++) {
    digits = digits * 10 + (uint64_t)(fraction->digits[i] - '0');
  }
  multiply(words, count, digits);
  int zeros = fraction->count - fraction->exponent;
  for (; zeros >= DECIMAL_CHUNK_DIGITS && count > 0; zeros -= DECIMAL_CHUNK_DIGITS) {
    count = divide(words, count, DECIMAL_CHUNK);
  }
  if (zeros > 0 && count > 0) divide(words, count, power_of_ten(zeros));
}

static void store(const uint32_t *words, uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    bytes[size - 1 - i] = (uint8_t)(words[i / WORD_BYTES] >> (8 * (i % WORD_BYTES)));
  }
}

tr_code tr_big_interpolate(tr_big low, tr_big high, const tr_double_digits *fraction,
                           uint8_t *result, tr_error *err) {
  size_t number_words = word_count(high), count = number_words + 2;
  uint32_t small[SMALL_WORDS];
  uint32_t *words = small;
  if (count > SMALL_WORDS) words = tr_malloc(count * sizeof *words);
  if (words == NULL) return tr_error_no_memory(err);

  memset(words, 0, count * sizeof *words);
  uint32_t borrow = 0;
  size_t used = 0;
  for (size_t i = 0; i < number_words; i++) {
    words[i] = difference_word(high, low, i, &borrow);
    if (words[i] != 0) used = i + 1;
  }
  multiply_by_fraction(words, used + 2, fraction);
  add(words, number_words, low);
  store(words, result, low.size);

  if (words != small) tr_free(words);
  return TR_OK;
}

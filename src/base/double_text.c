/*
** Shortest round-trip digits by asking the C library for more and more digits and reading each
** text back. 15 digits of a normal double always survive, so if the shortest form has at most 15
** digits, it is what 15 digits print without their trailing zeros; a subnormal has fewer to give
** and starts from two. 17 digits always suffice.
**
** The library rounds to the nearest decimal. Only a power of two has a case where that one does not
** read back and another of the same length does: its neighbour below is half as far as the one
** above, so the next decimal up may be the shortest one.
**
** The library prints and reads the locale's decimal point: the round trip uses the same text for
** both, and the digits are picked out of it without looking at the separator.
*/
#include "base/double_text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds one to the last digit of a text such as 1.25e-07; 1 if that carries through all digits. */
static int next_decimal_up(char *text) {
  for (char *at = strchr(text, 'e'); at-- != text;) {
    if (*at == '9') {
      *at = '0';
    } else if (*at >= '0' && *at < '9') {
      ++*at;
      return 0;
    }
  }
  return 1;
}

/* Prints x > 0 with `precision` digits so that it reads back. 1 if that can be done. */
static int print_round_trip(double x, int precision, char *text, size_t size) {
  snprintf(text, size, "%.*e", precision - 1, x);
  if (strtod(text, NULL) == x) return 1;
  int exponent;
  if (frexp(x, &exponent) != 0.5) return 0;
  return !next_decimal_up(text) && strtod(text, NULL) == x;
}

tr_double_digits tr_double_shortest(double x) {
  tr_double_digits out = {.count = 0, .exponent = 0};
  x = fabs(x);
  if (x == 0) return out;
  char text[64];
  int precision = x < DBL_MIN ? 2 : 15;
  while (!print_round_trip(x, precision, text, sizeof text) && precision < 17) precision++;
  const char *at = text;
  for (; *at != 'e'; at++) {
    if (*at >= '0' && *at <= '9') out.digits[out.count++] = *at;
  }
  out.exponent = (int)strtol(at + 1, NULL, 10) + 1;
  while (out.count > 1 && out.digits[out.count - 1] == '0') out.count--;
  return out;
}

/* d digits before the point, the rest behind it; missing ones are zeros, at least one behind. */
static char *put_plain(char *to, const tr_double_digits *number, int before) {
  int at = 0;
  if (before <= 0) *to++ = '0';
  for (; at < before; at++) *to++ = at < number->count ? number->digits[at] : '0';
  *to++ = '.';
  for (int zeros = before; zeros < 0; zeros++) *to++ = '0';
  if (at >= number->count) *to++ = '0';
  for (; at < number->count; at++) *to++ = number->digits[at];
  return to;
}

char *tr_double_text(double x, char *text) {
  char *to = text;
  if (isnan(x)) return strcpy(text, "NaN");
  if (signbit(x)) *to++ = '-';
  if (isinf(x)) {
    strcpy(to, "Infinity");
    return text;
  }
  tr_double_digits number = tr_double_shortest(x);
  if (number.count == 0) {
    strcpy(to, "0.0");
  } else if (number.exponent > -3 && number.exponent <= 7) {
    *put_plain(to, &number, number.exponent) = '\0';
  } else {
    to = put_plain(to, &number, 1);
    snprintf(to, (size_t)(text + TR_DOUBLE_TEXT_SIZE - to), "E%d", number.exponent - 1);
  }
  return text;
}

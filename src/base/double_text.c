/*
** Finds the shortest digits that round-trip: the C library prints more and more digits, and each
** text is read back until it gives the same double.
**
** 15 digits of a normal double always survive. So if its shortest form has at most 15 digits, it is
** what 15 digits print without their trailing zeros. A subnormal has fewer digits, so there the
** search begins at two. 17 digits are always enough.
**
** The library rounds to the nearest decimal. For a power of two that decimal may not read back
** although another of the same length does: the double below a power of two is half as far away as
** the one above, so the next decimal up may be the shortest that reads back.
**
** The library prints and reads the decimal point of the locale. Both directions use the same text,
** and the digits are taken from it without looking at the separator.
*/
#include "base/double_text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
** Adds one to the last digit of a text such as 1.25e-07. Returns 1 if the carry runs out of the
** first digit.
*/
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

/* Prints x > 0 with `precision` digits. Returns 1 if the text reads back as x. */
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

/*
** Writes `before` digits in front of the point and the rest behind it, at least one. Digits that
** the number does not have are zeros.
*/
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

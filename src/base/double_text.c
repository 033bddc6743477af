/*
** Shortest round-trip digits by asking the C library for 15, 16 and 17 digits and reading each
** back. 15 digits always survive decimal -> double -> decimal, so if the shortest form has at most
** 15 digits, it is what 15 digits print without their trailing zeros; 17 digits always suffice.
**
** The library prints and reads the locale's decimal point: the round trip uses the same text for
** both, and the digits are picked out of it without looking at the separator.
*/
#include "base/double_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tr_double_digits tr_double_shortest(double x) {
  tr_double_digits out = {.count = 0, .exponent = 0};
  x = fabs(x);
  if (x == 0) return out;
  char text[64];
  for (int precision = 15; precision <= 17; precision++) {
    snprintf(text, sizeof text, "%.*e", precision - 1, x);
    if (precision == 17 || strtod(text, NULL) == x) break;
  }
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

/*
** Doubles as text that reads back as the same double, in any locale.
**
** tr_double_shortest gives the shortest decimal digits that round-trip. If there are several of
** that length, it gives those nearest to the double. tr_double_text prints the digits as the
** reference classes do, which is Java's Double.toString as specified since Java 19: 1.0, 1.0E-9,
** NaN, Infinity. As in Java, a number for which one digit would be enough gets two if two are
** nearer: the smallest double is 4.9E-324, not 5.0E-324.
**
** Pure. Thread-safe as long as no other thread calls setlocale.
*/
#ifndef TR_BASE_DOUBLE_TEXT_H
#define TR_BASE_DOUBLE_TEXT_H

/* Room for any double printed by tr_double_text, with its terminator. */
#define TR_DOUBLE_TEXT_SIZE 32

/*
** The value |x| = 0.d1d2d3... * 10^exponent, with d1 != 0 and no trailing zero among the `count`
** digits (each '0'..'9', at most 17, no terminator). x must be finite; 0 gives count 0.
*/
typedef struct tr_double_digits {
  char digits[17];
  int count;
  int exponent;
} tr_double_digits;

tr_double_digits tr_double_shortest(double x);

/* Prints into `text` (TR_DOUBLE_TEXT_SIZE bytes, terminated) and returns `text`. */
char *tr_double_text(double x, char *text);

#endif

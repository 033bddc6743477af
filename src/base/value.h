/*
** One SQL value as src/ sees it, and SQLite's order of values.
**
** The order is that of SQLite's BINARY collation: NULL < numbers < text < blob. INTEGER and REAL
** are compared exactly, so that 2^53+1 is above 9007199254740992.0. Text and blobs are compared
** byte by byte, the shorter first. 0.0, -0.0 and 0 are equal. A REAL is never NaN: SQLite stores
** NaN as NULL, and tr_value_real does the same.
**
** Ownership: the bytes of text and blobs are borrowed. Code that keeps a value copies them.
*/
#ifndef TR_BASE_VALUE_H
#define TR_BASE_VALUE_H

#include <stdint.h>

#include "base/bytes.h"

/* In sort order, but INTEGER and REAL sort as one. */
typedef enum tr_type { TR_NULL, TR_INTEGER, TR_REAL, TR_TEXT, TR_BLOB } tr_type;

typedef struct tr_value {
  tr_type type;
  union {
    int64_t integer;
    double real;
    tr_bytes bytes; /* TR_TEXT (UTF-8, no terminator) and TR_BLOB */
  };
} tr_value;

tr_value tr_value_null(void);
tr_value tr_value_integer(int64_t integer);
tr_value tr_value_real(double real); /* NaN gives NULL */
tr_value tr_value_text(tr_bytes text);
tr_value tr_value_blob(tr_bytes blob);

/* 1 if `real` is exactly an int64, now in `*integer`; else 0, and `*integer` is unchanged. */
static inline int tr_real_is_integer(double real, int64_t *integer) {
  if (!(real >= -0x1p63 && real < 0x1p63) || (double)(int64_t)real != real) return 0;
  *integer = (int64_t)real;
  return 1;
}

/* Returns <0, 0 or >0 in SQLite's order. NULL equals NULL. */
int tr_value_compare(const tr_value *a, const tr_value *b);

/* Compares an integer exactly with a double that is not NaN. Returns <0, 0 or >0. */
int tr_compare_integer_real(int64_t integer, double real);

#endif

/*
** A source's keys as bytes (the forms are in source_table.h), and bounds of keys back as SQL.
**
** The key of a row is exact. A bound need not be the key of a row: it may have been interpolated
** and lie between two. The SQL for such a bound begins a little too early or ends a little too
** late, and its is_exact is 0. The reader must then compare keys.
*/
#ifndef TR_HOST_KEY_BYTES_H
#define TR_HOST_KEY_BYTES_H

#include "host/source_table.h"

/*
** The key of a row. `values` are those of the key's columns, followed by the rowid if the key has
** has_null_breaker; for TR_KEY_ROWID the rowid alone. `*key` points into `buffer` or into the
** values, and is valid as long as both are. TR_INVALID_STATE: a value that has no key.
** TR_HOST: an authorizer hides a value. TR_NO_MEMORY.
*/
tr_code tr_key_of_row(const tr_source_table *source, const char *function,
                      sqlite3_value *const *values, tr_buffer *buffer, tr_bytes *key,
                      tr_error *err);

/*
** Appends the bytes that begin the key of every row whose first `count` key columns are `values`.
** Not for TR_KEY_ROWID.
*/
tr_code tr_key_of_values(const tr_source_table *source, const tr_value *values, int count,
                         tr_buffer *key, tr_error *err);

/* Appends bytes that are above all keys that begin with `values` and below all greater keys. */
tr_code tr_key_behind_values(const tr_source_table *source, const tr_value *values, int count,
                             tr_buffer *key, tr_error *err);

/*
** A bound as a row comparison in SQL: (c1, ..., ccount) op (values), with the key's columns from
** `from` on. The rowid of has_null_breaker counts as the last column. count 0: there is no bound.
*/
typedef struct tr_sql_bound {
  int count;
  int is_strict; /* > and <, else >= and <= */
  int is_exact;  /* the SQL says exactly what the bytes say; else keys must be compared */
  tr_value values[TR_KEY_COLUMNS_MAX + 1];
  tr_buffer bytes[TR_KEY_COLUMNS_MAX + 1]; /* the bytes of text and blobs among `values` */
} tr_sql_bound;

/*
** A part of a range that one SELECT can read. It is the whole range, unless the first key column
** may be NULL: then the rows where it is NULL are one part (with `from` 1), and the others another.
*/
typedef enum tr_segment_nulls { TR_NULLS_ANY, TR_NULLS_ONLY, TR_NULLS_NONE } tr_segment_nulls;

typedef struct tr_key_segment {
  tr_segment_nulls nulls;
  int from;
  tr_sql_bound lower;
  tr_sql_bound upper;
} tr_key_segment;

#define TR_KEY_SEGMENTS_MAX 2

typedef struct tr_key_segments {
  int count; /* 0: no key can be in the range */
  tr_key_segment segments[TR_KEY_SEGMENTS_MAX];
} tr_key_segments;

/*
** Divides the range [start, end) of the source's keys into segments, in the order of the keys.
** `*segments` is all zero or was filled before; its memory is used again. TR_NO_MEMORY.
*/
tr_code tr_key_segments_of_range(const tr_source_table *source, tr_bytes start, tr_bytes end,
                                 tr_key_segments *segments, tr_error *err);
void tr_key_segments_free(tr_key_segments *segments);

#endif

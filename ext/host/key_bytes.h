/*
** A source's keys as bytes (the forms of source_table.h), and byte bounds as SQL again.
**
** From a row to its key is exact. From a bound to SQL is a question of how much of the bytes are
** whole values: a bound may have been interpolated and lie between two. What is said in SQL then
** begins a little too early or ends a little too late, and says so; whoever reads compares keys
** there.
*/
#ifndef TR_HOST_KEY_BYTES_H
#define TR_HOST_KEY_BYTES_H

#include "host/source_table.h"

/*
** The key of a row: `values` are those of the key's columns, then the rowid with has_null_breaker
** (TR_KEY_ROWID: the rowid alone). `*key` lies in `buffer` or in the values' own memory, and holds
** as long as both. TR_INVALID_STATE: a value that has no key.
*/
tr_code tr_key_of_row(const tr_source_table *source, const char *function,
                      sqlite3_value *const *values, tr_buffer *buffer, tr_bytes *key,
                      tr_error *err);

/*
** Appends to `key` what the keys of all rows begin with whose first `count` key columns are
** `values`. Not for TR_KEY_ROWID.
*/
tr_code tr_key_of_values(const tr_source_table *source, const tr_value *values, int count,
                         tr_buffer *key, tr_error *err);

/*
** Appends the bytes that lie behind all keys that begin with `values`, and before all greater ones.
*/
tr_code tr_key_behind_values(const tr_source_table *source, const tr_value *values, int count,
                             tr_buffer *key, tr_error *err);

/*
** One bound in SQL: (c1, ..., ccount) op (values), over the key's columns from `from` on, the rowid
** of has_null_breaker counting as the last. count 0: there is none.
*/
typedef struct tr_sql_bound {
  int count;
  int is_strict; /* > and <, else >= and <= */
  int is_exact;  /* SQL says just what the bytes say; else keys must be compared */
  tr_value values[TR_KEY_COLUMNS_MAX + 1];
  tr_buffer bytes[TR_KEY_COLUMNS_MAX + 1]; /* what text and blobs among `values` point into */
} tr_sql_bound;

/*
** A part of a range that one SELECT can read: all of it; or, where the first key column may be
** NULL, the rows where it is (`from` is then 1), and those where it is not.
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
  int count; /* 0: nothing can lie in the range */
  tr_key_segment segments[TR_KEY_SEGMENTS_MAX];
} tr_key_segments;

/*
** The parts of [start, end) of the source's keys, in their order. `*segments` is all zero or was
** filled before (its memory is used again). TR_NO_MEMORY.
*/
tr_code tr_key_segments_of_range(const tr_source_table *source, tr_bytes start, tr_bytes end,
                                 tr_key_segments *segments, tr_error *err);
void tr_key_segments_free(tr_key_segments *segments);

#endif

/*
** Turns ranges of keys into bounds in SQL.
**
** A bound's bytes are read value by value, as long as they are whole values that SQL compares as
** keys are compared. What follows them decides whether the bound is exact. SQL compares otherwise
** in two cases, and the bound ends there: a NULL, with which nothing compares, and a value that the
** column's affinity would convert (the text '5' beside a numeric column, a number beside a text
** column).
**
** Rows with a NULL in a column of the bound sort below an upper bound, but the comparison with it
** is unknown, so the bound would lose them. An upper bound therefore ends before the first column
** that may be NULL. The first key column is an exception: its NULLs are a segment of their own.
*/
#include "host/key_bytes.h"

#include <string.h>

#include "range/byte_key.h"

/* A range that is being divided into segments. */
typedef struct division {
  const tr_source_table *source;
  tr_key_segments *segments;
  tr_buffer scratch; /* for values that are read */
} division;

/* --- One bound ---------------------------------------------------------------------------- */

static void clear_bound(tr_sql_bound *bound) {
  bound->count = 0;
  bound->is_strict = 0;
  bound->is_exact = 1;
}

/* Adds a value to a bound. Bytes are copied. */
static tr_code add_value(tr_sql_bound *bound, const tr_value *value, tr_error *err) {
  tr_value copy = *value;
  if (value->type >= TR_TEXT) {
    tr_buffer *bytes = &bound->bytes[bound->count];
    tr_code code = tr_buffer_set(bytes, value->bytes, err);
    if (code != TR_OK) return code;
    copy.bytes = tr_buffer_bytes(bytes);
  }
  bound->values[bound->count++] = copy;
  return TR_OK;
}

/* Whether a numeric column might convert the text to a number. */
static int looks_numeric(tr_bytes text) {
  return text.size > 0 && strchr(" \t\n\v\f\r+-.0123456789", text.data[0]) != NULL;
}

/* Whether SQL compares the key's column `i` with `value` in the order of their keys. */
static int compares_as_key(const tr_source_table *source, int i, const tr_value *value) {
  if (value->type == TR_NULL) return 0;
  tr_affinity affinity = i == source->key.column_count
                             ? TR_AFFINITY_INTEGER
                             : source->columns[source->key.columns[i]].affinity;
  int is_number = value->type == TR_INTEGER || value->type == TR_REAL;
  if (affinity == TR_AFFINITY_TEXT) return !is_number;
  if (affinity == TR_AFFINITY_BLOB) return 1;
  return !(value->type == TR_TEXT && looks_numeric(value->bytes));
}

static int may_be_null(const tr_source_table *source, int i) {
  return i < source->key.column_count && !source->columns[source->key.columns[i]].is_not_null;
}

/*
** How many values a key has in all. The rowid is among them only if the first column is NULL, which
** `from` says.
*/
static int tuple_size(const tr_source_table *source, int from) {
  return source->key.column_count + (from > 0 && source->key.has_null_breaker);
}

/* Whether the bytes are whole values: 1, 0, or -1 for TR_NO_MEMORY. */
static int is_whole(tr_bytes bytes, tr_buffer *scratch, tr_error *err) {
  size_t offset = 0;
  tr_value value;
  tr_error reason;
  int read;
  do {
    read = tr_byte_key_next(bytes, &offset, &value, scratch, &reason);
  } while (read > 0);
  if (read == 0) return 1;
  return reason.code == TR_NO_MEMORY ? tr_error_no(err, TR_NO_MEMORY, "out of memory") : 0;
}

/*
** Whether the bytes are whole values and TR_BYTE_KEY_BEHIND: 1, with that byte taken off `*bytes`;
** 0; -1 for TR_NO_MEMORY. Bytes that are whole values with that byte give 0.
*/
static int take_behind_mark(tr_bytes *bytes, tr_buffer *scratch, tr_error *err) {
  if (bytes->size == 0 || bytes->data[bytes->size - 1] != TR_BYTE_KEY_BEHIND) return 0;
  int whole = is_whole(*bytes, scratch, err);
  if (whole != 0) return whole < 0 ? -1 : 0;
  tr_bytes rest = {bytes->data, bytes->size - 1};
  int is_behind = is_whole(rest, scratch, err);
  if (is_behind == 1) *bytes = rest;
  return is_behind;
}

/*
** Reads byte_key's encoding into a bound on the key's columns from `from` on. If there are no
** bytes, there is no bound.
*/
static tr_code bound_tuple(division *d, int from, tr_bytes bytes, int is_lower, tr_sql_bound *bound,
                           tr_error *err) {
  const tr_source_table *source = d->source;
  clear_bound(bound);
  if (bytes.size == 0) return TR_OK;
  int is_behind = take_behind_mark(&bytes, &d->scratch, err);
  if (is_behind < 0) return TR_NO_MEMORY;
  size_t offset = 0;
  for (int i = from; offset < bytes.size && bound->is_exact; i++) {
    if (i == tuple_size(source, from)) {
      /* Longer than any key, so just behind the key of these values. */
      is_behind = 1;
      break;
    }
    tr_value low, high;
    int kind = tr_byte_key_next_bounds(bytes, &offset, &low, &high, &d->scratch, err);
    if (kind < 0) return TR_NO_MEMORY;
    const tr_value *value = is_lower ? &low : &high;
    int can_add = kind < 3 && compares_as_key(source, i, value) &&
                  (is_lower || i == 0 || !may_be_null(source, i));
    bound->is_exact = kind == 1 && can_add;
    if (can_add && add_value(bound, value, err) != TR_OK) return TR_NO_MEMORY;
  }
  if (is_behind && bytes.size == 0 && is_lower) bound->is_exact = 0; /* behind all there is */
  bound->is_strict = bound->is_exact && is_behind == is_lower;
  return TR_OK;
}

/* The same for raw bytes, which are one value of `type`. */
static tr_code bound_raw(tr_bytes bytes, tr_type type, int is_lower, tr_sql_bound *bound,
                         tr_error *err) {
  clear_bound(bound);
  if (bytes.size == 0) return TR_OK;
  bound->is_strict = !is_lower;
  tr_value value = type == TR_TEXT ? tr_value_text(bytes) : tr_value_blob(bytes);
  return add_value(bound, &value, err);
}

/* A bound at a text that is nobody's key, but lies between the keys below and above the bound. */
static tr_code bound_between(const char *text, int is_lower, tr_sql_bound *bound, tr_error *err) {
  clear_bound(bound);
  bound->is_exact = 0;
  bound->is_strict = !is_lower;
  tr_value value = tr_value_text(tr_bytes_of_text(text));
  return add_value(bound, &value, err);
}

/*
** A bound behind one of a text key's escapes (source_table.h). The bytes behind the escape may be a
** value that never stands there, because its own bytes are its key. Then the bound lies between the
** keys with the escape and the plain ones.
*/
static tr_code bound_escape(division *d, uint8_t escape, tr_bytes bytes, int is_lower,
                            tr_sql_bound *bound, tr_error *err) {
  static const char behind_low[] = "\x01";
  static const char before_high[] = "\xff";
  const char *edge = escape == 0x00 ? behind_low : before_high;
  clear_bound(bound);
  int is_behind = take_behind_mark(&bytes, &d->scratch, err);
  tr_value low = tr_value_null(), high = low;
  size_t offset = 0;
  int kind =
      is_behind < 0 ? -1 : tr_byte_key_next_bounds(bytes, &offset, &low, &high, &d->scratch, err);
  if (kind < 0) return TR_NO_MEMORY;
  const tr_value *value = is_lower ? &low : &high;
  tr_bytes text = value->type == TR_TEXT ? value->bytes : (tr_bytes){0};
  uint8_t first = text.size > 0 ? text.data[0] : 0x00;
  if (kind == 3 && escape == 0xff) {
    bound->is_exact = 0; /* above all keys */
    return TR_OK;
  }
  if (value->type < TR_TEXT && kind != 3 && escape == 0x00) {
    return bound_between("", is_lower, bound, err); /* below all text */
  }
  int is_its_own = kind == 3 || value->type < TR_TEXT ||
                   (value->type == TR_TEXT ? first != escape : escape == 0x00);
  if (is_its_own) return bound_between(edge, is_lower, bound, err);
  bound->is_exact = kind == 1;
  if (offset < bytes.size) is_behind = 1;
  bound->is_strict = bound->is_exact && is_behind == is_lower;
  return add_value(bound, value, err);
}

static tr_code bound_text(division *d, tr_bytes bytes, int is_lower, tr_sql_bound *bound,
                          tr_error *err) {
  uint8_t first = bytes.size > 0 ? bytes.data[0] : 1;
  if (first != 0x00 && first != 0xff) return bound_raw(bytes, TR_TEXT, is_lower, bound, err);
  tr_bytes rest = {bytes.data + 1, bytes.size - 1};
  return bound_escape(d, first, rest, is_lower, bound, err);
}

static tr_code bound_key(division *d, tr_bytes bytes, int is_lower, tr_sql_bound *bound,
                         tr_error *err) {
  switch (d->source->key.form) {
  case TR_KEY_TEXT: return bound_text(d, bytes, is_lower, bound, err);
  case TR_KEY_BLOB: return bound_raw(bytes, TR_BLOB, is_lower, bound, err);
  default: return bound_tuple(d, 0, bytes, is_lower, bound, err);
  }
}

/* --- The rowid ---------------------------------------------------------------------------- */

/* Keys of rowids have eight bytes. Any bound is at one of them or just behind it. */
static void bound_rowid(tr_bytes bytes, int is_lower, tr_sql_bound *bound) {
  clear_bound(bound);
  if (bytes.size == 0) return;
  uint8_t padded[TR_ROWID_KEY_SIZE] = {0};
  size_t size = bytes.size < sizeof padded ? bytes.size : sizeof padded;
  memcpy(padded, bytes.data, size);
  int is_behind = bytes.size > sizeof padded;
  bound->values[bound->count++] = tr_value_integer(tr_byte_key_to_rowid(padded));
  bound->is_strict = is_behind == is_lower;
}

/* --- Segments ----------------------------------------------------------------------------- */

/* Where a bound lies relative to the keys of rows whose first column is NULL. */
typedef enum null_place { BEFORE_NULLS, AMONG_NULLS, BEHIND_NULLS } null_place;

/*
** Sets `*place`, and with AMONG_NULLS `*tail` to what follows the NULL in the bound. Returns 1, or
** 0 for TR_NO_MEMORY.
*/
static int place_of(division *d, tr_bytes bytes, null_place *place, tr_bytes *tail, tr_error *err) {
  *place = bytes.size == 0 ? BEFORE_NULLS : BEHIND_NULLS;
  if (bytes.size == 0 || d->source->key.form == TR_KEY_BLOB) return 1;
  size_t offset = 0;
  if (d->source->key.form == TR_KEY_TEXT) {
    if (bytes.data[0] != 0x00) return 1;
    bytes = (tr_bytes){bytes.data + 1, bytes.size - 1};
    *place = bytes.size == 0 ? BEFORE_NULLS : BEHIND_NULLS;
  }
  tr_value low, high;
  int kind = tr_byte_key_next_bounds(bytes, &offset, &low, &high, &d->scratch, err);
  if (kind < 0) return 0;
  if ((kind == 1 || kind == 2) && low.type == TR_NULL) {
    *place = kind == 1 ? AMONG_NULLS : BEFORE_NULLS;
    *tail = (tr_bytes){bytes.data + offset, bytes.size - offset};
    if (tail->size == 0) *place = BEFORE_NULLS;
  }
  return 1;
}

static tr_key_segment *add_segment(tr_key_segments *segments, tr_segment_nulls nulls, int from) {
  tr_key_segment *segment = &segments->segments[segments->count++];
  segment->nulls = nulls;
  segment->from = from;
  clear_bound(&segment->lower);
  clear_bound(&segment->upper);
  return segment;
}

/* Adds the rows whose first column is NULL, from the tail of one bound to the tail of the other. */
static tr_code add_nulls(division *d, tr_bytes lower, tr_bytes upper, tr_error *err) {
  tr_key_segment *segment = add_segment(d->segments, TR_NULLS_ONLY, 1);
  tr_code code = bound_tuple(d, 1, lower, 1, &segment->lower, err);
  if (code == TR_OK) code = bound_tuple(d, 1, upper, 0, &segment->upper, err);
  return code;
}

static tr_code add_rest(division *d, tr_segment_nulls nulls, tr_bytes start, tr_bytes end,
                        tr_error *err) {
  tr_key_segment *segment = add_segment(d->segments, nulls, 0);
  tr_code code = bound_key(d, start, 1, &segment->lower, err);
  if (code == TR_OK) code = bound_key(d, end, 0, &segment->upper, err);
  return code;
}

static tr_code divide(division *d, tr_bytes start, tr_bytes end, tr_error *err) {
  const tr_bytes none = {0};
  null_place start_place, end_place = BEHIND_NULLS;
  tr_bytes start_tail = none, end_tail = none;
  if (!place_of(d, start, &start_place, &start_tail, err)) return TR_NO_MEMORY;
  if (end.size > 0 && !place_of(d, end, &end_place, &end_tail, err)) return TR_NO_MEMORY;
  if (end_place == BEFORE_NULLS) return TR_OK;
  if (!may_be_null(d->source, 0)) {
    if (end_place == AMONG_NULLS) return TR_OK;
    return add_rest(d, TR_NULLS_ANY, start, end, err);
  }
  tr_code code = TR_OK;
  if (start_place == BEFORE_NULLS && end.size == 0) {
    add_segment(d->segments, TR_NULLS_ANY, 0);
    return TR_OK;
  }
  if (start_place != BEHIND_NULLS) {
    code = add_nulls(d, start_tail, end_tail, err);
    start = none;
  }
  if (code != TR_OK || end_place == AMONG_NULLS) return code;
  return add_rest(d, TR_NULLS_NONE, start, end, err);
}

tr_code tr_key_segments_of_range(const tr_source_table *source, tr_bytes start, tr_bytes end,
                                 tr_key_segments *segments, tr_error *err) {
  segments->count = 0;
  if (end.size > 0 && tr_bytes_compare(start, end) >= 0) return TR_OK;
  if (source->key.form == TR_KEY_ROWID) {
    tr_key_segment *segment = add_segment(segments, TR_NULLS_ANY, 0);
    bound_rowid(start, 1, &segment->lower);
    bound_rowid(end, 0, &segment->upper);
    return TR_OK;
  }
  division d = {.source = source, .segments = segments};
  tr_code code = divide(&d, start, end, err);
  tr_buffer_free(&d.scratch);
  return code;
}

void tr_key_segments_free(tr_key_segments *segments) {
  for (int i = 0; i < TR_KEY_SEGMENTS_MAX; i++) {
    for (int j = 0; j <= TR_KEY_COLUMNS_MAX; j++) {
      tr_buffer_free(&segments->segments[i].lower.bytes[j]);
      tr_buffer_free(&segments->segments[i].upper.bytes[j]);
    }
  }
  segments->count = 0;
}

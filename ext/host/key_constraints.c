/*
** Turns terms into SQL conditions, and into ranges of keys.
*/
#include "host/key_constraints.h"

#include <math.h>
#include <string.h>

#include "host/in_lists.h"
#include "host/key_bytes.h"
#include "range/byte_key.h"

/* --- Operators ---------------------------------------------------------------------------- */

static const struct {
  const char *text;
  int constraint;
  int has_value;
} operators[] = {
    [TR_EQ] = {"=", SQLITE_INDEX_CONSTRAINT_EQ, 1},
    [TR_GT] = {">", SQLITE_INDEX_CONSTRAINT_GT, 1},
    [TR_GE] = {">=", SQLITE_INDEX_CONSTRAINT_GE, 1},
    [TR_LT] = {"<", SQLITE_INDEX_CONSTRAINT_LT, 1},
    [TR_LE] = {"<=", SQLITE_INDEX_CONSTRAINT_LE, 1},
    [TR_IS] = {"IS", SQLITE_INDEX_CONSTRAINT_IS, 1},
    [TR_IS_NULL] = {"IS NULL", SQLITE_INDEX_CONSTRAINT_ISNULL, 0},
    [TR_IN] = {"IN", -1, 1},
};

tr_operator tr_operator_of_constraint(int op) {
  int i = 0;
  while (i < TR_OPERATORS && operators[i].constraint != op) i++;
  return (tr_operator)i;
}

/* --- Conditions --------------------------------------------------------------------------- */

static tr_affinity affinity_of(const tr_source_table *source, int column) {
  return column < 0 ? TR_AFFINITY_INTEGER : source->columns[column].affinity;
}

static int is_numeric(tr_affinity affinity) {
  return affinity >= TR_AFFINITY_NUMERIC;
}

int tr_equals_one_value(sqlite3_index_info *info, int i, tr_affinity affinity) {
  sqlite3_value *value = tr_constraint_value(info, i);
  int type = value == NULL ? SQLITE_NULL : sqlite3_value_type(value);
  return is_numeric(affinity) || type == SQLITE_TEXT || type == SQLITE_BLOB;
}

int tr_term_is_exact(const tr_source_table *source, int column, tr_operator op) {
  if (!operators[op].has_value) return 1;
  return is_numeric(affinity_of(source, column)) && (op <= TR_LE || op == TR_IS);
}

/* Whether a value may mean more than one thing beside the column (key_constraints.h). */
static int is_ambiguous(const tr_source_table *source, const tr_term *term, int i) {
  if (is_numeric(affinity_of(source, term->column))) return 0;
  int type = sqlite3_value_type(term->values[i]);
  return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

/* Whether ":" is above all text that spells a number, by the collation of the term. */
static int has_order_of_digits(const tr_source_table *source, const tr_term *term) {
  static const char *const collations[] = {"BINARY", "NOCASE", "RTRIM"};
  const char *collation = term->is_binary ? "BINARY" : source->columns[term->column].collation;
  int i = 0;
  while (i < 3 && sqlite3_stricmp(collation, collations[i]) != 0) i++;
  return i < 3;
}

/* Value `i` of the term, as it must be bound. */
static tr_value bound_value(const tr_source_table *source, const tr_term *term, int i) {
  static const uint8_t above_numbers[] = {':'};
  tr_value value = tr_value_of_sqlite(term->values[i]);
  if (value.type != TR_TEXT || tr_value_lacks_bytes(&value)) return value;
  if (term->op != TR_LT && term->op != TR_LE) return value;
  if (is_numeric(affinity_of(source, term->column)) || !has_order_of_digits(source, term)) {
    return value;
  }
  tr_bytes least = {above_numbers, sizeof above_numbers};
  return tr_bytes_compare(value.bytes, least) < 0 ? tr_value_text(least) : value;
}

static uint8_t lower_case(uint8_t byte) {
  return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte + 'a' - 'A') : byte;
}

/*
** SQLite adds one to the last byte of the beginning; newer releases add one to its last character.
** In UTF-8 the bytes behind the incremented one then go from the greatest continuation byte to the
** least.
*/
int tr_may_be_of_pattern(sqlite3_value *lower, sqlite3_value *upper) {
  if (sqlite3_value_type(lower) != SQLITE_TEXT || sqlite3_value_type(upper) != SQLITE_TEXT)
    return 0;
  tr_bytes from = tr_value_of_sqlite(lower).bytes;
  tr_bytes to = tr_value_of_sqlite(upper).bytes;
  if (from.size != to.size || from.data == NULL || to.data == NULL) return 0;
  size_t same = 0;
  while (same < from.size && lower_case(from.data[same]) == lower_case(to.data[same])) same++;
  if (same == from.size) return 0;
  for (size_t i = same + 1; i < from.size; i++) {
    if (from.data[i] != 0xbf || to.data[i] != 0x80) return 0;
  }
  return to.data[same] == from.data[same] + 1 || to.data[same] == lower_case(from.data[same]) + 1;
}

int tr_constraint_may_be_of_pattern(sqlite3_index_info *info, int i) {
  sqlite3_value *upper = tr_constraint_value(info, i);
  if (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_LT) return 0;
  if (upper == NULL && tr_in_lists_are_told()) return 0; /* not a constant, so not of a pattern */
  for (int j = 0; j < info->nConstraint; j++) {
    const struct sqlite3_index_constraint *c = &info->aConstraint[j];
    if (c->iColumn != info->aConstraint[i].iColumn || c->op != SQLITE_INDEX_CONSTRAINT_GE) continue;
    sqlite3_value *lower = tr_constraint_value(info, j);
    if (upper == NULL || (lower != NULL && tr_may_be_of_pattern(lower, upper))) return 1;
  }
  return 0;
}

static void append_column(const tr_source_table *source, const tr_term *term, sqlite3_str *sql) {
  tr_source_append_column(source, term->column, sql);
  int is_own =
      term->column < 0 || sqlite3_stricmp(source->columns[term->column].collation, "BINARY") == 0;
  if (term->is_binary && !is_own) sqlite3_str_appendall(sql, " COLLATE BINARY");
}

/* Whether a value of the list is ambiguous. */
static int has_ambiguous(const tr_source_table *source, const tr_term *term) {
  for (int i = 0; i < term->value_count; i++) {
    if (is_ambiguous(source, term, i)) return 1;
  }
  return 0;
}

void tr_term_count_parameters(const tr_source_table *source, tr_term *term) {
  term->parameter_count = operators[term->op].has_value ? term->value_count : 0;
  if (term->op == TR_IN && has_ambiguous(source, term)) term->parameter_count *= 2;
}

tr_value tr_term_parameter(const tr_source_table *source, const tr_term *term, int i) {
  return bound_value(source, term, i % term->value_count);
}

/*
** The second list compares all values as numbers; for those that are none, SQLite's own check
** decides. It is a subquery because a list of expressions would compare by the affinity of the
** column alone.
**
** Only the first parameter has its number, and the others follow from it: SQLite takes time in the
** square of their count to look up numbers.
*/
static void append_list(const tr_source_table *source, const tr_term *term, int first,
                        sqlite3_str *sql) {
  append_column(source, term, sql);
  sqlite3_str_appendall(sql, " IN (");
  for (int i = 0; i < term->value_count; i++) {
    if (i == 0) {
      sqlite3_str_appendf(sql, "?%d", first);
    } else {
      sqlite3_str_appendall(sql, ", ?");
    }
  }
  sqlite3_str_appendall(sql, ")");
  if (term->parameter_count == term->value_count) return;
  sqlite3_str_appendall(sql, " OR ");
  append_column(source, term, sql);
  sqlite3_str_appendall(sql, " IN (VALUES ");
  for (int i = 0; i < term->value_count; i++) {
    sqlite3_str_appendf(sql, "%s(CAST(? AS NUMERIC))", i == 0 ? "" : ", ");
  }
  sqlite3_str_appendall(sql, ")");
}

/* Whether all text satisfies the operator if the value is taken as a number. */
static int holds_for_all_text(const tr_source_table *source, const tr_term *term) {
  return affinity_of(source, term->column) == TR_AFFINITY_TEXT &&
         (term->op == TR_GT || term->op == TR_GE);
}

/* The condition for an ambiguous value: true if it is true for one of the meanings. */
static void append_ambiguous(const tr_source_table *source, const tr_term *term, int first,
                             sqlite3_str *sql) {
  const char *comparison = operators[term->op].text;
  if (holds_for_all_text(source, term)) {
    sqlite3_str_appendall(sql, "1");
    return;
  }
  append_column(source, term, sql);
  sqlite3_str_appendf(sql, " %s ?%d OR ", comparison, first);
  append_column(source, term, sql);
  sqlite3_str_appendf(sql, " %s CAST(?%d AS NUMERIC)", comparison, first);
}

void tr_term_append_condition(const tr_source_table *source, const tr_term *term, int first,
                              sqlite3_str *sql) {
  sqlite3_str_appendall(sql, "(");
  if (term->op == TR_IN) {
    append_list(source, term, first, sql);
  } else if (operators[term->op].has_value && is_ambiguous(source, term, 0)) {
    append_ambiguous(source, term, first, sql);
  } else {
    append_column(source, term, sql);
    sqlite3_str_appendf(sql, " %s", operators[term->op].text);
    if (operators[term->op].has_value) sqlite3_str_appendf(sql, " ?%d", first);
  }
  sqlite3_str_appendall(sql, ")");
}

/* --- Ranges ------------------------------------------------------------------------------- */

/* The limits that the terms set for one key column. */
typedef struct column_limits {
  tr_value lower;
  tr_value upper;
  int has_lower;
  int has_upper;
  int is_above; /* the column is > lower, else >= */
  int is_below; /* the column is < upper, else <= */
  int is_never; /* a term compares with NULL and is never true */
} column_limits;

/* The value that the column is compared with, after affinity. 0: it sets no limit. */
static int comparable_value(const tr_source_table *source, const tr_term *term, int i,
                            tr_value *value) {
  sqlite3_value *given = term->values[i];
  if (is_ambiguous(source, term, i)) return 0;
  *value = bound_value(source, term, i);
  if (value->type == TR_TEXT && is_numeric(affinity_of(source, term->column))) {
    tr_spelled_number(given, value->bytes, value);
  }
  return value->type != TR_NULL;
}

static void limit_lower(column_limits *limits, const tr_value *value, int is_above) {
  int order = limits->has_lower ? tr_value_compare(value, &limits->lower) : 1;
  if (order < 0) return;
  limits->is_above = order > 0 ? is_above : limits->is_above | is_above;
  limits->lower = *value;
  limits->has_lower = 1;
}

static void limit_upper(column_limits *limits, const tr_value *value, int is_below) {
  int order = limits->has_upper ? tr_value_compare(value, &limits->upper) : -1;
  if (order > 0) return;
  limits->is_below = order < 0 ? is_below : limits->is_below | is_below;
  limits->upper = *value;
  limits->has_upper = 1;
}

/*
** The limits of a list are its least and its greatest value. NULLs in it are ignored, since nothing
** equals NULL. A list of NULLs alone, or of nothing, is never true.
*/
static void limit_list(const tr_source_table *source, const tr_term *term, column_limits *limits) {
  tr_value least, greatest;
  int has_one = 0;
  for (int i = 0; i < term->value_count; i++) {
    tr_value value;
    if (sqlite3_value_type(term->values[i]) == SQLITE_NULL) continue;
    if (!comparable_value(source, term, i, &value)) return;
    if (!has_one || tr_value_compare(&value, &least) < 0) least = value;
    if (!has_one || tr_value_compare(&value, &greatest) > 0) greatest = value;
    has_one = 1;
  }
  limits->is_never |= !has_one;
  if (!has_one) return;
  limit_lower(limits, &least, 0);
  limit_upper(limits, &greatest, 0);
}

/* Whether a term compares as keys do: by BINARY. */
static int is_by_bytes(const tr_source_table *source, const tr_term *term) {
  return term->is_binary || term->column < 0 ||
         sqlite3_stricmp(source->columns[term->column].collation, "BINARY") == 0;
}

static column_limits limits_of(const tr_source_table *source, int column, int is_rowid,
                               const tr_term *terms, int count) {
  column_limits limits = {0};
  for (int i = 0; i < count; i++) {
    const tr_term *term = &terms[i];
    int is_it = term->column == column || (is_rowid && term->column < 0);
    tr_value value;
    if (!is_it || !is_by_bytes(source, term)) continue;
    if (term->op == TR_IN) limit_list(source, term, &limits);
    if (term->op > TR_LE && term->op != TR_IS) continue;
    limits.is_never |= term->op <= TR_LE && sqlite3_value_type(term->values[0]) == SQLITE_NULL;
    if (!comparable_value(source, term, 0, &value)) continue;
    if (term->op != TR_LT && term->op != TR_LE) limit_lower(&limits, &value, term->op == TR_GT);
    if (term->op != TR_GT && term->op != TR_GE) limit_upper(&limits, &value, term->op == TR_LT);
  }
  return limits;
}

/* Whether exactly one value is within the limits. */
static int is_single(const column_limits *limits) {
  return limits->has_lower && limits->has_upper && !limits->is_above && !limits->is_below &&
         tr_value_compare(&limits->lower, &limits->upper) == 0;
}

/* The least rowid that satisfies a lower limit. Returns 0 if no rowid does. */
static int rowid_at_least(const tr_value *value, int is_above, int64_t *rowid) {
  if (value->type == TR_REAL) {
    double least = is_above ? floor(value->real) + 1 : ceil(value->real);
    if (least >= 0x1p63) return 0;
    *rowid = least < -0x1p63 ? INT64_MIN : (int64_t)least;
    /* Above 2^53 a double plus one may be the same double. */
    while (tr_compare_integer_real(*rowid, value->real) < !!is_above) {
      if (*rowid == INT64_MAX) return 0;
      (*rowid)++;
    }
    return 1;
  }
  if (value->type != TR_INTEGER) return 0; /* text and blobs are above every number */
  if (is_above && value->integer == INT64_MAX) return 0;
  *rowid = value->integer + (is_above ? 1 : 0);
  return 1;
}

static tr_code append_rowid_key(int64_t rowid, tr_buffer *key, tr_error *err) {
  uint8_t bytes[TR_ROWID_KEY_SIZE];
  tr_byte_key_of_rowid(rowid, bytes);
  return tr_buffer_append(key, (tr_bytes){bytes, sizeof bytes}, err);
}

static tr_code rowid_range(column_limits *limits, tr_buffer *start, tr_buffer *end, tr_error *err) {
  tr_code code = TR_OK;
  int64_t rowid;
  if (limits->has_lower && rowid_at_least(&limits->lower, limits->is_above, &rowid)) {
    code = append_rowid_key(rowid, start, err);
  } else {
    limits->is_never |= limits->has_lower;
  }
  /* The end is the least rowid above the upper limit. */
  if (code == TR_OK && limits->has_upper &&
      rowid_at_least(&limits->upper, !limits->is_below, &rowid)) {
    code = append_rowid_key(rowid, end, err);
  }
  return code;
}

/*
** The bounds of the keys whose first columns are `prefix` and whose next column is within limits.
*/
static tr_code tuple_range(const tr_source_table *source, tr_value *prefix, int count,
                           const column_limits *limits, tr_buffer *start, tr_buffer *end,
                           tr_error *err) {
  tr_code code = TR_OK;
  /*
  ** A row without a blob has no key, and must be reported as an error, so it must be in the range.
  */
  int is_raw_blob = source->key.form == TR_KEY_BLOB;
  int has_lower = limits->has_lower && !(is_raw_blob && limits->lower.type != TR_BLOB);
  if (has_lower) {
    prefix[count] = limits->lower;
    code = limits->is_above ? tr_key_behind_values(source, prefix, count + 1, start, err)
                            : tr_key_of_values(source, prefix, count + 1, start, err);
  } else if (count > 0) {
    code = tr_key_of_values(source, prefix, count, start, err);
  }
  if (code != TR_OK) return code;
  if (limits->has_upper) {
    prefix[count] = limits->upper;
    code = limits->is_below ? tr_key_of_values(source, prefix, count + 1, end, err)
                            : tr_key_behind_values(source, prefix, count + 1, end, err);
    /* If the upper limit is not a blob, no blob is below it. */
    if (code == TR_OK && end->size == 0) code = tr_buffer_append_byte(end, 0, err);
  } else if (count > 0) {
    code = tr_key_behind_values(source, prefix, count, end, err);
  }
  return code;
}

tr_code tr_terms_range(const tr_source_table *source, const tr_term *terms, int count,
                       tr_byte_key_range *range, tr_error *err) {
  const tr_source_key *key = &source->key;
  tr_value prefix[TR_KEY_COLUMNS_MAX + 1];
  column_limits limits = {0};
  tr_buffer start = {0};
  tr_buffer end = {0};
  tr_code code = TR_OK;
  *range = (tr_byte_key_range){0};
  if (key->form == TR_KEY_ROWID) {
    int alias = key->column_count > 0 ? key->columns[0] : -1;
    limits = limits_of(source, alias, 1, terms, count);
    code = rowid_range(&limits, &start, &end, err);
  } else {
    int equal = 0;
    for (; equal < key->column_count; equal++) {
      limits = limits_of(source, key->columns[equal], 0, terms, count);
      if (!is_single(&limits) || equal + 1 == key->column_count) break;
      prefix[equal] = limits.lower;
    }
    code = tuple_range(source, prefix, equal, &limits, &start, &end, err);
  }
  /* If nothing can be true, the range is [x, x) with an x that is not empty. */
  int is_never = limits.is_never || (end.size > 0 && tr_bytes_compare(tr_buffer_bytes(&start),
                                                                      tr_buffer_bytes(&end)) > 0);
  if (code == TR_OK && is_never && start.size == 0) code = tr_buffer_append_byte(&start, 0, err);
  if (code == TR_OK && is_never) code = tr_buffer_set(&end, tr_buffer_bytes(&start), err);
  if (code == TR_OK) {
    code = tr_byte_key_range_init(range, tr_buffer_bytes(&start), tr_buffer_bytes(&end), err);
  }
  tr_buffer_free(&start);
  tr_buffer_free(&end);
  return code;
}

/*
** Planning: which terms of a query the scan takes, in what order it gives rows, and what that
** costs.
**
** Every term on a column of the source that can be passed on (host/key_constraints.h) goes into the
** inner statement, and SQLite plans it there. Terms on leading key columns also narrow the range of
** keys. SQLite checks a term again, unless the inner statement is sure to have the same result.
**
** A plan is text, which people can read in EXPLAIN QUERY PLAN: the columns that are read, as a
** hexadecimal mask, then a word for each argument of xFilter: `used=1f 0:ge 3:eq.binary`.
*/
#include "host/scan_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/hidden_arguments.h"
#include "host/in_lists.h"
#include "host/source_estimate.h"
#include "host/stored_expression.h"

static const char *const words[TR_OPERATORS] = {
    [TR_EQ] = "eq", [TR_GT] = "gt", [TR_GE] = "ge",          [TR_LT] = "lt",
    [TR_LE] = "le", [TR_IS] = "is", [TR_IS_NULL] = "isnull", [TR_IN] = "in",
};

/* --- Plans as text ------------------------------------------------------------------------ */

static char *write_plan(const tr_scan_plan *plan) {
  sqlite3_str *text = sqlite3_str_new(NULL);
  sqlite3_str_appendf(text, "used=%llx", (unsigned long long)plan->used);
  for (int i = 0; i < plan->count; i++) {
    const tr_scan_plan_term *term = &plan->terms[i];
    sqlite3_str_appendf(text, " %d:%s%s%s", term->column, words[term->op],
                        term->is_binary ? ".binary" : "",
                        term->may_be_of_pattern ? ".pattern" : "");
  }
  return sqlite3_str_finish(text);
}

void tr_scan_plan_read(const char *text, tr_scan_plan *plan) {
  char *at;
  *plan = (tr_scan_plan){.used = strtoull(text + strlen("used="), &at, 16)};
  while (*at == ' ' && plan->count < TR_SCAN_TERMS_MAX) {
    tr_scan_plan_term *term = &plan->terms[plan->count++];
    term->column = (int)strtol(at, &at, 10);
    size_t size = strcspn(++at, " .");
    for (int op = 0; op < TR_OPERATORS; op++) {
      if (strlen(words[op]) == size && memcmp(words[op], at, size) == 0) term->op = (tr_operator)op;
    }
    at += size;
    for (; *at == '.'; at += strcspn(at + 1, " .") + 1) {
      term->is_binary |= at[1] == 'b';
      term->may_be_of_pattern |= at[1] == 'p';
    }
  }
}

/* --- Terms -------------------------------------------------------------------------------- */

/* What the terms say about the key, collected while they are taken. */
typedef struct key_terms {
  int has_tracker;
  int has_restriction;
  int has_byte_key; /* there is a byte_key = ... */
  int has_byte_key_range;
  double other_factor;   /* the part of the rows that terms on other columns let through */
  double indexed_factor; /* the part of the rows that must be read with an index on one of them */
  uint32_t equal;        /* key columns with = */
  uint32_t listed;       /* key columns with IN */
  uint32_t above;        /* key columns with a lower limit */
  uint32_t below;
  uint32_t certain; /* key columns with an = that only one value of the column can satisfy */
} key_terms;

/* One call of xBestIndex. */
typedef struct planning {
  const tr_scan_table *table;
  sqlite3_index_info *info;
  tr_scan_plan plan;
  key_terms key;
} planning;

static int hidden_column(const tr_scan_table *table, int column) {
  return column < table->column_count ? -1 : column - table->column_count;
}

static int source_column(const tr_scan_table *table, int column) {
  return column < 0 ? -1 : table->columns[column].source;
}

/* The position of a source column in the key, or -1. */
static int place_in_key(const tr_scan_table *table, int source) {
  const tr_source_key *key = &table->source.key;
  if (key->form == TR_KEY_ROWID && source < 0) return 0;
  for (int i = 0; i < key->column_count; i++) {
    if (key->columns[i] == source) return i;
  }
  return -1;
}

static const char *collation_of(const tr_scan_table *table, int source) {
  return source < 0 ? "BINARY" : table->source.columns[source].collation;
}

/*
** Whether the inner statement can make a term's comparison: by the column's own collation, or by
** BINARY (`*is_binary`).
*/
static int can_compare(const planning *p, int i, tr_operator op, int source, int *is_binary) {
  *is_binary = 0;
  if (op == TR_IS_NULL) return 1;
  const char *collation = sqlite3_vtab_collation(p->info, i), *own = collation_of(p->table, source);
  if (collation == NULL || sqlite3_stricmp(collation, own) == 0) return 1;
  *is_binary = sqlite3_stricmp(collation, "BINARY") == 0;
  return *is_binary;
}

static void note_key_term(key_terms *key, int place, tr_operator op, int certain) {
  uint32_t bit = UINT32_C(1) << place;
  if (op == TR_EQ) key->equal |= bit;
  if (op == TR_EQ && certain) key->certain |= bit;
  if (op == TR_IN) key->listed |= bit;
  if (op == TR_GT || op == TR_GE) key->above |= bit;
  if (op == TR_LT || op == TR_LE) key->below |= bit;
}

static void note_other_term(key_terms *key, const tr_scan_column *column, tr_operator op) {
  static const double factors[TR_OPERATORS] = {
      [TR_EQ] = 0.1,  [TR_IS] = 0.1,  [TR_IN] = 0.2,  [TR_GT] = 0.25,
      [TR_GE] = 0.25, [TR_LT] = 0.25, [TR_LE] = 0.25, [TR_IS_NULL] = 0.1,
  };
  key->other_factor *= factors[op];
  int is_equal = op == TR_EQ || op == TR_IS || op == TR_IN;
  if (is_equal && column != NULL && column->is_indexed && factors[op] < key->indexed_factor) {
    key->indexed_factor = factors[op];
  }
}

/* Has SQLite pass the value of constraint `i`. With `omit` it does not check the term itself. */
static void take(planning *p, int i, tr_scan_plan_term term, int omit) {
  p->plan.terms[p->plan.count++] = term;
  p->info->aConstraintUsage[i].argvIndex = p->plan.count;
  p->info->aConstraintUsage[i].omit = (unsigned char)omit;
}

/*
** Takes the terms on tracker and restriction. Returns 0 if the value of one is not available in
** this order of the join.
*/
static int take_arguments(planning *p) {
  for (int i = 0; i < p->info->nConstraint; i++) {
    const struct sqlite3_index_constraint *c = &p->info->aConstraint[i];
    int hidden = hidden_column(p->table, c->iColumn);
    if (c->op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    if (hidden != TR_SCAN_TRACKER && hidden != TR_SCAN_RESTRICTION) continue;
    if (!c->usable) return 0;
    int *has = hidden == TR_SCAN_TRACKER ? &p->key.has_tracker : &p->key.has_restriction;
    if (!*has) take(p, i, (tr_scan_plan_term){.column = c->iColumn, .op = TR_EQ}, 1);
    *has = 1;
  }
  return 1;
}

static void take_byte_key(planning *p, int i, tr_operator op) {
  if (op == TR_IS) op = TR_EQ; /* no byte key is NULL */
  if (op > TR_LE || tr_is_in_list(p->info, i)) return;
  take(p, i, (tr_scan_plan_term){.column = p->info->aConstraint[i].iColumn, .op = op}, 0);
  if (op == TR_EQ) p->key.has_byte_key = 1;
  if (op != TR_EQ) p->key.has_byte_key_range = 1;
}

/* Whether the column can hold blobs, and a blob can be LIKE a pattern. */
static int may_hold_blobs(const tr_scan_table *table, int source) {
  if (sqlite3_compileoption_used("LIKE_DOESNT_MATCH_BLOBS")) return 0;
  const tr_source_table *t = &table->source;
  if (source < 0 || (t->key.form == TR_KEY_ROWID && place_in_key(table, source) == 0)) return 0;
  return !t->is_strict || t->columns[source].affinity == TR_AFFINITY_BLOB;
}

static void take_column(planning *p, int i, tr_operator op) {
  const tr_scan_table *table = p->table;
  sqlite3_index_info *info = p->info;
  int column = info->aConstraint[i].iColumn;
  int source = source_column(table, column);
  int is_binary;
  if (source < 0 && table->source.rowid_name == NULL) return;
  /* On an older host = may be an IN, and the scan would run once for each value of the list. */
  if (p->key.has_tracker && op == TR_EQ && !tr_in_lists_are_told()) return;
  if (!can_compare(p, i, op, source, &is_binary)) return;
  if (tr_is_in_list(info, i)) {
    tr_take_in_list(info, i);
    op = TR_IN;
  }
  int may_be_of_pattern = tr_constraint_may_be_of_pattern(info, i);
  int is_suspect = may_be_of_pattern && may_hold_blobs(table, source);
  int exact = op != TR_IN && !may_be_of_pattern && tr_term_is_exact(&table->source, source, op);
  take(p, i, (tr_scan_plan_term){column, op, is_binary, is_suspect}, exact);
  int place = place_in_key(table, source);
  int is_by_bytes = is_binary || sqlite3_stricmp(collation_of(table, source), "BINARY") == 0;
  if (place >= 0 && is_by_bytes && (op <= TR_LE || op == TR_IN)) {
    tr_affinity affinity =
        source < 0 ? TR_AFFINITY_INTEGER : table->source.columns[source].affinity;
    note_key_term(&p->key, place, op, tr_equals_one_value(info, i, affinity));
  } else {
    note_other_term(&p->key, column < 0 ? NULL : &table->columns[column], op);
  }
}

static void take_terms(planning *p) {
  for (int i = 0; i < p->info->nConstraint && p->plan.count < TR_SCAN_TERMS_MAX; i++) {
    const struct sqlite3_index_constraint *c = &p->info->aConstraint[i];
    tr_operator op = tr_operator_of_constraint(c->op);
    if (!c->usable || op == TR_OPERATORS) continue;
    int hidden = hidden_column(p->table, c->iColumn);
    if (hidden == TR_SCAN_BYTE_KEY) {
      take_byte_key(p, i, op);
    } else if (hidden < 0) {
      take_column(p, i, op);
    }
  }
}

/* --- Order -------------------------------------------------------------------------------- */

static int key_size(const tr_scan_table *table) {
  const tr_source_key *key = &table->source.key;
  return key->form == TR_KEY_ROWID ? 1 : key->column_count;
}

/* Whether ORDER BY on the key's column has the order of the bytes. */
static int is_ordered_by_bytes(const tr_scan_table *table, int source) {
  return sqlite3_stricmp(collation_of(table, source), "BINARY") == 0;
}

/* Whether the order of the keys is the order that the query asks for. */
static int is_in_order(const tr_scan_table *table, const sqlite3_index_info *info,
                       const key_terms *key) {
  int place = 0;
  for (int i = 0; i < info->nOrderBy; i++) {
    int column = info->aOrderBy[i].iColumn;
    if (info->aOrderBy[i].desc) return 0;
    if (hidden_column(table, column) == TR_SCAN_BYTE_KEY) return 1;
    if (hidden_column(table, column) >= 0) return 0;
    int source = source_column(table, column);
    int at = place_in_key(table, source);
    if (at < 0 || !is_ordered_by_bytes(table, source)) return 0;
    if (key->certain & UINT32_C(1) << at) continue;
    while (place < at && (key->certain & UINT32_C(1) << place)) place++;
    if (at != place) return 0;
    place++;
    /* The whole key is unique, so further columns cannot change the order. */
    if (place == key_size(table) && !table->source.key.has_null_breaker) return 1;
  }
  return 1;
}

/* --- Cost --------------------------------------------------------------------------------- */

/* The part of all rows that the range of keys leaves; 0: one row. */
static double part_read(const tr_scan_table *table, const key_terms *key) {
  int size = key_size(table);
  int equal = 0;
  double part = 1;
  if (key->has_tracker) return 1; /* the tracker has the range, and the terms only filter it */
  if (key->has_byte_key) return 0;
  while (equal < size && (key->equal & UINT32_C(1) << equal)) equal++;
  if (equal == size) return 0;
  if (equal > 0) part = pow(0.1, equal);
  uint32_t bit = UINT32_C(1) << equal;
  if (key->listed & bit) part *= 0.1;
  if (key->above & bit) part *= 0.25;
  if (key->below & bit) part *= 0.25;
  if (key->has_byte_key_range) part *= 0.25;
  if (key->has_restriction) part *= 0.25;
  return part;
}

static void estimate(const tr_scan_table *table, sqlite3_index_info *info, const key_terms *key) {
  enum { SETUP = 30, ROW_READ = 5 }; /* in SQLite's units, where a native scan costs 3 for a row */
  double rows = (double)tr_source_table_estimated_rows(&table->source, table->db);
  double part = part_read(table, key);
  /* With a tracker no term makes a scan cheaper, so that two scans for an OR cost more than one. */
  double indexed_factor = key->has_tracker ? 1 : key->indexed_factor;
  double other_factor = key->has_tracker ? 1 : key->other_factor;
  double read = part == 0 ? 1 : rows * part * indexed_factor;
  double given = part == 0 ? 1 : rows * part * other_factor;
  info->estimatedCost = SETUP + log2(rows + 2) + ROW_READ * (read + given) / 2 + read;
  info->estimatedRows = given < 1 ? 1 : (sqlite3_int64)given;
  uint32_t whole = (uint32_t)((UINT64_C(1) << key_size(table)) - 1);
  if (!key->has_tracker && (key->certain & whole) == whole) {
    info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
    info->idxNum = TR_SCAN_OF_ONE_ROW;
    info->estimatedRows = 1;
  }
}

int tr_scan_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
  static const char *const names[] = {"tracker", "restriction"};
  tr_scan_table *table = (tr_scan_table *)vtab;
  tr_hidden_arguments arguments = {table->function, names, table->column_count, 2, TR_SCAN_TRACKER};
  int rc = tr_hidden_arguments_check(&arguments, vtab, info);
  if (rc != SQLITE_OK) return rc;
  planning p = {.table = table,
                .info = info,
                .plan.used = info->colUsed,
                .key = {.other_factor = 1, .indexed_factor = 1}};
  if (table->needs_trust && !tr_schemas_are_trusted(table->db)) {
    tr_error err;
    tr_error_set(&err, TR_INVALID_STATE,
                 "%s: where(%s): a function in it may not be called by what a file says while "
                 "trusted_schema is off",
                 table->function, table->where);
    return tr_vtab_error(vtab, &err);
  }
  if (!take_arguments(&p)) return SQLITE_CONSTRAINT;
  take_terms(&p);
  info->orderByConsumed = info->nOrderBy > 0 && is_in_order(table, info, &p.key);
  estimate(table, info, &p.key);
  tr_hidden_arguments_weigh(info, arguments.first, 1, arguments.count, 0);
  info->idxStr = write_plan(&p.plan);
  info->needToFreeIdxStr = 1;
  return info->idxStr == NULL ? SQLITE_NOMEM : SQLITE_OK;
}

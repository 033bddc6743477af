/*
** xBestIndex of counting_input: which terms of a query are taken, and what the scan will cost.
**
** Every term that is taken is applied exactly, so SQLite need not check it (omit). SQLite checks
** the other terms row by row. LIMIT and OFFSET count the rows that pass all terms, so they are
** taken only if every other term is. They are also left to SQLite if `value >= ?` may be part of a
** row value (see take_value_term).
**
** Two arguments make the scan's own order and length matter. With them, fewer terms are taken.
** - With `tracker`, numbers are claimed one by one in the direction of the sequence. So the order
**   cannot be reversed, and OFFSET must not skip numbers without a claim. An IN on value, which
**   could start the scan again for each of its numbers, is left to SQLite.
** - With `max_read_time`, the rows are those that come first, so neither order nor LIMIT may change
**   which these are.
*/
#include "counting_input_plan.h"

#include "host/hidden_arguments.h"
#include "host/in_lists.h"
#include "host/key_constraints.h"
#include "reader/counting_source.h"

/* Guesses for where a query has a parameter or the column of another table. */
#define UNKNOWN_END_ROWS 1000.0
#define UNKNOWN_BOUND_SHARE 4.0
#define LIST_ROWS 25.0

/*
** The most rows that are estimated for a scan with a tracker. A query that names trackers must not
** find a scan without them cheaper: see tr_hidden_arguments_weigh.
*/
#define TRACKED_ROWS 1e6

static const struct {
  char mark;
  int op;
} operators[] = {
    {'=', SQLITE_INDEX_CONSTRAINT_EQ}, {'<', SQLITE_INDEX_CONSTRAINT_LT},
    {'(', SQLITE_INDEX_CONSTRAINT_LE}, {'>', SQLITE_INDEX_CONSTRAINT_GT},
    {')', SQLITE_INDEX_CONSTRAINT_GE},
};
#define OPERATOR_COUNT (sizeof operators / sizeof operators[0])

int counting_plan_argument(char mark) {
  return mark >= 'a' && mark < 'a' + COUNTING_ARGUMENTS ? mark - 'a' : -1;
}

int counting_plan_operator(char mark) {
  for (size_t i = 0; i < OPERATOR_COUNT; i++) {
    if (operators[i].mark == mark) return operators[i].op;
  }
  return 0;
}

static char mark_of_operator(int op) {
  for (size_t i = 0; i < OPERATOR_COUNT; i++) {
    if (operators[i].op == op) return operators[i].mark;
  }
  return '\0';
}

/* --- Taking terms --------------------------------------------------------------------------- */

typedef struct plan {
  sqlite3_index_info *info;
  sqlite3_str *marks;
  int taken;                           /* how many values xFilter will be given */
  int argument_at[COUNTING_ARGUMENTS]; /* the constraint that gives the argument, or -1 */
  int has_left_term;                   /* some term is left for SQLite to check */
  int has_repeated_scan; /* an argument comes from an IN: one scan for each of its values */
  int is_one_row;        /* value = ... */
  int has_list;
  int unknown_bounds;  /* terms on value whose right side is not known while planning */
  int may_have_vector; /* one of those may be part of a row value */
  tr_integer_bounds bounds;
} plan;

static void take(plan *p, int constraint, char mark) {
  p->info->aConstraintUsage[constraint].argvIndex = ++p->taken;
  p->info->aConstraintUsage[constraint].omit = 1;
  sqlite3_str_appendchar(p->marks, 1, mark);
}

static int is_given(const plan *p, int argument) {
  return p->argument_at[argument] >= 0;
}

static int is_limit(int op) {
  return op == SQLITE_INDEX_CONSTRAINT_LIMIT || op == SQLITE_INDEX_CONSTRAINT_OFFSET;
}

/*
** Takes the arguments: the first `=` on each hidden column. SQLITE_CONSTRAINT: an argument comes
** from a table that this plan reads later. A scan without it would give another result.
*/
static int take_arguments(plan *p) {
  for (int i = 0; i < COUNTING_ARGUMENTS; i++) p->argument_at[i] = -1;
  for (int i = 0; i < p->info->nConstraint; i++) {
    const struct sqlite3_index_constraint *term = &p->info->aConstraint[i];
    int argument = term->iColumn - COUNTING_FIRST_ARGUMENT;
    if (is_limit(term->op) || argument < 0 || term->op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    if (!term->usable) return SQLITE_CONSTRAINT;
    if (is_given(p, argument)) continue;
    p->argument_at[argument] = i;
    if (tr_is_in_list(p->info, i)) p->has_repeated_scan = 1;
    take(p, i, (char)('a' + argument));
  }
  return SQLITE_OK;
}

/* Takes a term on value (or on the rowid, which is the same). Returns 0 if it is left to SQLite. */
static int take_value_term(plan *p, int i) {
  const struct sqlite3_index_constraint *term = &p->info->aConstraint[i];
  char mark = mark_of_operator(term->op);
  if (!term->usable || mark == '\0') return 0;
  /*
  ** SQLite adds a range of texts to LIKE and GLOB: value >= 'A' AND value < 'b'. No number is in
  ** such a range, and its upper limit must be left to SQLite (host/key_constraints.h).
  */
  if (tr_in_lists_are_told() && tr_constraint_may_be_of_pattern(p->info, i)) return 0;
  if (term->op == SQLITE_INDEX_CONSTRAINT_EQ) {
    int is_list = tr_is_in_list(p->info, i);
    if (is_given(p, COUNTING_TRACKER) && (is_list || !tr_in_lists_are_told())) return 0;
    if (is_list && p->has_list) return 0;
    if (is_list) {
      tr_take_in_list(p->info, i);
      take(p, i, COUNTING_PLAN_LIST);
      p->has_list = 1;
      return 1;
    }
    p->is_one_row = 1;
  }
  take(p, i, mark);
  sqlite3_value *constant = tr_constraint_value(p->info, i);
  if (constant != NULL) {
    tr_integer_bounds_apply(&p->bounds, term->op, constant);
  } else {
    p->unknown_bounds++;
    /*
    ** SQLite offers `(value, x) > (?, ?)` as value >= ?, and checks the rows again itself. We
    ** cannot tell it from a plain value >= ?. If SQLite may still drop rows, LIMIT must not be
    ** taken.
    */
    if (term->op == SQLITE_INDEX_CONSTRAINT_LE || term->op == SQLITE_INDEX_CONSTRAINT_GE) {
      p->may_have_vector = 1;
    }
  }
  return 1;
}

static void take_value_terms(plan *p) {
  p->bounds = tr_integer_bounds_all();
  for (int i = 0; i < p->info->nConstraint; i++) {
    const struct sqlite3_index_constraint *term = &p->info->aConstraint[i];
    if (is_limit(term->op) || p->info->aConstraintUsage[i].argvIndex > 0) continue;
    int is_value = term->iColumn == COUNTING_VALUE || term->iColumn < 0;
    if (!is_value || !take_value_term(p, i)) p->has_left_term = 1;
  }
}

static int64_t constant_integer(const plan *p, int constraint, int64_t otherwise, int *is_known) {
  sqlite3_value *constant = constraint < 0 ? NULL : tr_constraint_value(p->info, constraint);
  *is_known =
      constraint < 0 || (constant != NULL && sqlite3_value_type(constant) == SQLITE_INTEGER);
  return constraint >= 0 && *is_known ? sqlite3_value_int64(constant) : otherwise;
}

/*
** Takes an ORDER BY that begins with value. Values are unique, so the rest of it changes nothing.
*/
static int take_order(plan *p) {
  sqlite3_index_info *info = p->info;
  if (info->nOrderBy == 0) return COUNTING_ORDER_NONE;
  int column = info->aOrderBy[0].iColumn;
  if (column != COUNTING_VALUE && column >= 0) return COUNTING_ORDER_NONE;
  int is_down = info->aOrderBy[0].desc;
  if (is_given(p, COUNTING_TRACKER) || is_given(p, COUNTING_MAX_READ_TIME)) {
    int is_known;
    int64_t step = constant_integer(p, p->argument_at[COUNTING_STEP], 1, &is_known);
    if (!is_known || (step < 0) != is_down) return COUNTING_ORDER_NONE;
  }
  info->orderByConsumed = 1;
  return is_down ? COUNTING_ORDER_DOWN : COUNTING_ORDER_UP;
}

/*
** Whether the query has a term that SQLite does not show us, such as `value > value % 7`. SQLite
** 3.38 to at least 3.50 (but not 3.53) offers LIMIT and OFFSET even then, and checks the hidden
** term only on the rows that we return. If we applied LIMIT, rows would be missing. Each term that
** we are shown has its number among all terms, so a gap in the numbers means a hidden one.
*/
static int has_hidden_term(const sqlite3_index_info *info) {
  if (sqlite3_libversion_number() >= 3053000) return 0;
  int count = 0;
  for (int i = 0; i < info->nConstraint; i++) {
    int place = info->aConstraint[i].iTermOffset;
    if (place >= count) count = place + 1;
  }
  return count > info->nConstraint;
}

/* Takes LIMIT and OFFSET, which count what all other terms leave, in the order of ORDER BY. */
static void take_limits(plan *p) {
  int limit = -1, offset = -1;
  for (int i = 0; i < p->info->nConstraint; i++) {
    if (!is_limit(p->info->aConstraint[i].op)) continue;
    if (!p->info->aConstraint[i].usable) return;
    if (p->info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_LIMIT) {
      limit = i;
    } else {
      offset = i;
    }
  }
  if (p->has_left_term || p->may_have_vector || p->has_repeated_scan || has_hidden_term(p->info) ||
      is_given(p, COUNTING_TRACKER) || is_given(p, COUNTING_MAX_READ_TIME) ||
      (p->info->nOrderBy > 0 && !p->info->orderByConsumed)) {
    return;
  }
  if (offset >= 0) take(p, offset, COUNTING_PLAN_OFFSET);
  if (limit >= 0) take(p, limit, COUNTING_PLAN_LIMIT);
}

/* --- What it will cost ---------------------------------------------------------------------- */

/* Exact if all values are constants in the query, else a guess on the large side. */
static double estimate_rows(const plan *p) {
  int knows_up_to, knows_start, knows_step, knows_max_records;
  int64_t up_to = constant_integer(p, p->argument_at[COUNTING_UP_TO], 0, &knows_up_to);
  int64_t start = constant_integer(p, p->argument_at[COUNTING_START], 0, &knows_start);
  int64_t step = constant_integer(p, p->argument_at[COUNTING_STEP], 1, &knows_step);
  int64_t max_records =
      constant_integer(p, p->argument_at[COUNTING_MAX_RECORDS], -1, &knows_max_records);
  /* With a tracker no term makes the scan shorter: two scans for an OR must cost more than one. */
  int is_cut = !is_given(p, COUNTING_TRACKER);
  if (p->is_one_row && is_cut) return 1;
  tr_counting_source source;
  tr_code code = is_given(p, COUNTING_UP_TO)
                     ? tr_counting_source_init(&source, start, up_to, step, NULL)
                     : tr_counting_source_init_unbounded(&source, start, step, NULL);
  if (code != TR_OK) return 1;
  if (knows_max_records && max_records >= 0)
    tr_counting_source_take(&source, (uint64_t)max_records);
  if (is_cut) tr_counting_source_restrict(&source, p->bounds.low, p->bounds.high);
  double rows = (double)tr_counting_source_count(&source);
  /*
  ** The query has an up_to, but not for this plan. Most likely this is one side of an OR, and up_to
  ** is an AND term outside the OR.
  */
  int may_have_end =
      tr_hidden_argument_is_missing(p->info, COUNTING_FIRST_ARGUMENT + COUNTING_UP_TO);
  int knows_all = knows_up_to && knows_start && knows_step && knows_max_records;
  if (!knows_all || (may_have_end && rows > UNKNOWN_END_ROWS)) rows = UNKNOWN_END_ROWS;
  for (int i = 0; i < p->unknown_bounds && is_cut; i++) rows /= UNKNOWN_BOUND_SHARE;
  if (p->has_list && is_cut && rows > LIST_ROWS) rows = LIST_ROWS;
  if (!is_cut && rows > TRACKED_ROWS) rows = TRACKED_ROWS;
  return rows < 1 ? 1 : rows;
}

int counting_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
  static const tr_hidden_arguments arguments = {COUNTING_FUNCTION, counting_argument_names,
                                                COUNTING_FIRST_ARGUMENT, COUNTING_ARGUMENTS,
                                                COUNTING_TRACKER};
  int checked = tr_hidden_arguments_check(&arguments, vtab, info);
  if (checked != SQLITE_OK) return checked;
  plan p = {.info = info, .marks = sqlite3_str_new(NULL)};
  int rc = take_arguments(&p);
  if (rc != SQLITE_OK) {
    sqlite3_free(sqlite3_str_finish(p.marks));
    return rc;
  }
  take_value_terms(&p);
  info->idxNum = take_order(&p);
  take_limits(&p);
  double rows = estimate_rows(&p);
  info->estimatedRows = rows < 0x1p62 ? (sqlite3_int64)rows : (sqlite3_int64)1 << 62;
  info->estimatedCost = rows + 1;
  tr_hidden_arguments_weigh(info, COUNTING_FIRST_ARGUMENT, 0, COUNTING_ARGUMENTS, 0);
  if (p.is_one_row && !is_given(&p, COUNTING_TRACKER)) info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
  rc = sqlite3_str_errcode(p.marks);
  info->idxStr = sqlite3_str_finish(p.marks);
  info->needToFreeIdxStr = 1;
  return rc;
}

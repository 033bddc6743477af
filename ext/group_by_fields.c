/*
** The virtual table group_by_fields, in two forms.
**
**   CREATE VIRTUAL TABLE temp.t USING group_by_fields(source, by_field_names(...),
**                                                     sum(x) AS s, ...)
**     has the key fields and the aggregates as columns. Its plan is made here, once.
**   SELECT key, value FROM group_by_fields('source', 'a, b', 'sum(x) AS s')
**     has them as two JSON objects. Each scan makes its plan from the hidden columns.
**
** xBestIndex passes terms on key fields to the inner statement, and notes which aggregates the
** query uses. SQLite checks the terms once more. So a term that is passed on may keep too many
** rows, but must keep all rows of every group that can pass. The scan of a cursor
** (group_by_fields_scan.h) makes the groups and walks them.
*/
#include "base/json.h"
#include "base/memory.h"
#include "group_by_fields_scan.h"
#include "host/collation.h"
#include "host/in_lists.h"
#include "host/key_constraints.h"
#include "host/schema_freshness.h"
#include "host/source_estimate.h"
#include "parallel_group.h"
#include "surfaces.h"

/* The ad hoc form's columns; the hidden ones are arguments. */
enum { KEY, VALUE, SOURCE };
static const char ad_hoc_declaration[] = "CREATE TABLE x(key, value, source HIDDEN, \"by\" HIDDEN, "
                                         "aggregates HIDDEN, where_terms HIDDEN, "
                                         "workers HIDDEN)";

typedef struct group_cursor {
  sqlite3_vtab_cursor base;
  tr_group_scan *scan; /* NULL: not begun */
} group_cursor;

typedef struct group_vtab {
  sqlite3_vtab base;
  tr_host *host;
  sqlite3 *db;
  int is_ad_hoc;
  uint64_t seed;      /* for rowids */
  tr_group_plan plan; /* of the CREATE form */
  int open_cursors;
  group_cursor *newest; /* the cursor that was opened last; NULL: that one is closed */
} group_vtab;

/* --- creating ---------------------------------------------------------------------------- */

static tr_code declare(sqlite3 *db, const tr_group_plan *plan, char **message, tr_error *err) {
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendall(sql, "CREATE TABLE x(");
  for (int i = 0; i < plan->key_count; i++) {
    const tr_group_field *key = &plan->keys[i];
    static const tr_source_column without_type = {.type = ""};
    tr_source_column column = key->column >= 0 ? plan->source.columns[key->column] : without_type;
    column.collation = key->collation_name;
    if (i > 0) sqlite3_str_appendall(sql, ", ");
    tr_source_column_declare(&column, key->name, sql);
  }
  for (int i = 0; i < plan->output_count; i++) {
    if (i + plan->key_count > 0) sqlite3_str_appendall(sql, ", ");
    tr_sql_append_identifier(sql, plan->outputs[i].name);
  }
  sqlite3_str_appendchar(sql, 1, ')');
  char *text = sqlite3_str_finish(sql);
  if (text == NULL) return tr_error_no_memory(err);
  int rc = tr_declare_vtab(db, text, message);
  sqlite3_free(text);
  return rc == SQLITE_OK ? TR_OK : tr_error_of_sqlite(err, db, rc);
}

static void free_vtab(group_vtab *vtab) {
  tr_group_plan_free(&vtab->plan);
  tr_free(vtab);
}

static tr_code make_plan(group_vtab *vtab, int argc, const char *const *argv, char **message,
                         tr_error *err) {
  /*
  ** The arguments are SQL that runs as if the user had typed it. In another schema than temp they
  ** would be part of a file, and run for whoever opens that file.
  */
  if (sqlite3_stricmp(argv[1], "temp") != 0) {
    return tr_error_set(
        err, TR_INVALID_ARGUMENT,
        TR_GROUP_FUNCTION ": the table must be in temp: CREATE VIRTUAL TABLE temp.%s", argv[2]);
  }
  tr_code code = tr_group_plan_of_module(&vtab->plan, vtab->host, argc - 3, argv + 3, err);
  if (code == TR_OK) code = tr_group_check(vtab->host, &vtab->plan, err);
  return code == TR_OK ? declare(vtab->db, &vtab->plan, message, err) : code;
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **table,
                   char **message) {
  int fresh = argc == 3 ? SQLITE_OK : tr_schemas_read_afresh(db, argv[1], message);
  if (fresh != SQLITE_OK) return fresh;
  group_vtab *vtab = tr_malloc(sizeof *vtab);
  if (vtab == NULL) return SQLITE_NOMEM;
  *vtab = (group_vtab){.host = aux, .db = db, .is_ad_hoc = argc == 3};
  sqlite3_randomness(sizeof vtab->seed, &vtab->seed);
  int rc = sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
  if (rc == SQLITE_OK && vtab->is_ad_hoc) rc = tr_declare_vtab(db, ad_hoc_declaration, message);
  tr_error err;
  if (rc == SQLITE_OK && !vtab->is_ad_hoc && make_plan(vtab, argc, argv, message, &err) != TR_OK) {
    rc = tr_create_error(message, &err);
  }
  if (rc != SQLITE_OK) {
    free_vtab(vtab);
    return rc;
  }
  *table = &vtab->base;
  return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *table) {
  tr_parallel_group_rest(((group_vtab *)table)->host);
  free_vtab((group_vtab *)table);
  return SQLITE_OK;
}

/* --- xBestIndex -------------------------------------------------------------------------- */

/*
** Whether a term with this operator may be passed on. IS NOT NULL and the like may not, since they
** may be in the ON of an outer join (host/key_constraints.h).
*/
static int is_condition(int op) {
  static const int ops[] = {SQLITE_INDEX_CONSTRAINT_EQ,    SQLITE_INDEX_CONSTRAINT_LT,
                            SQLITE_INDEX_CONSTRAINT_LE,    SQLITE_INDEX_CONSTRAINT_GT,
                            SQLITE_INDEX_CONSTRAINT_GE,    SQLITE_INDEX_CONSTRAINT_IS,
                            SQLITE_INDEX_CONSTRAINT_ISNULL};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    if (ops[i] == op) return 1;
  }
  return 0;
}

/* Whether the query compares the field with the collation that its groups were made by. */
static int has_collation_of_key(sqlite3_index_info *info, int constraint,
                                const tr_group_field *key) {
  return sqlite3_stricmp(sqlite3_vtab_collation(info, constraint), key->collation_name) == 0;
}

/* The aggregates that the query uses, as tr_group_request has them. */
static uint64_t outputs_used(const sqlite3_index_info *info, int key_count) {
  if (key_count >= 63) return UINT64_MAX;
  uint64_t used = (uint64_t)info->colUsed >> key_count;
  /* Bit 63 of colUsed stands for all columns from there on. */
  if (info->colUsed >> 63) used |= UINT64_MAX << (63 - key_count);
  return used;
}

/* The affinity that all values of a key were stored with. An expression or a view has none. */
static tr_affinity stored_affinity(const tr_group_plan *plan, int key) {
  int column = plan->keys[key].column;
  int is_stored = column >= 0 && plan->source.kind <= TR_SOURCE_WITHOUT_ROWID;
  return is_stored ? plan->source.columns[column].affinity : TR_AFFINITY_BLOB;
}

static int best_index_created(group_vtab *vtab, sqlite3_index_info *info) {
  const tr_group_plan *plan = &vtab->plan;
  tr_parallel_group_note(vtab->host, plan);
  sqlite3_str *text = sqlite3_str_new(vtab->db);
  sqlite3_str_appendf(text, "%llu", outputs_used(info, plan->key_count));
  int count = 0, equal = 0, are_fixed = 1;
  uint64_t equal_keys = 0; /* those of which at most one value satisfies an = */
  /* With a foreign collation SQLite numbers the groups; other conditions give other numbers. */
  int takes_none = tr_group_plan_has_foreign_collation(plan) ||
                   tr_source_table_is_compound(&plan->source, vtab->db);
  int constraints = takes_none ? 0 : info->nConstraint;
  for (int i = 0; i < constraints; i++) {
    const struct sqlite3_index_constraint *c = &info->aConstraint[i];
    if (!c->usable || c->iColumn < 0 || c->iColumn >= plan->key_count) continue;
    if (c->iColumn >= TR_GROUP_MOST_CONDITIONS || !is_condition(c->op)) continue;
    if (!has_collation_of_key(info, i, &plan->keys[c->iColumn])) continue;
    if (tr_constraint_may_be_of_pattern(info, i)) continue;
    info->aConstraintUsage[i].argvIndex = ++count;
    are_fixed &= tr_constraint_value(info, i) != NULL || c->op == SQLITE_INDEX_CONSTRAINT_ISNULL;
    int is_in = tr_is_in_list(info, i);
    if (is_in) tr_take_in_list(info, i);
    sqlite3_str_appendf(text, " %s%d", is_in ? "-" : "", c->iColumn * 1000 + c->op);
    if (c->op == SQLITE_INDEX_CONSTRAINT_EQ && !is_in) {
      tr_affinity affinity = stored_affinity(plan, c->iColumn);
      if (tr_equals_one_value(info, i, affinity)) equal_keys |= UINT64_C(1) << c->iColumn;
      equal++;
    }
  }
  info->idxNum = are_fixed;
  info->idxStr = sqlite3_str_finish(text);
  if (info->idxStr == NULL) return SQLITE_NOMEM;
  info->needToFreeIdxStr = 1;
  double rows = (double)tr_source_table_estimated_rows(&plan->source, vtab->db);
  double groups = plan->key_count == 0 ? 1 : rows / 10;
  for (int i = 0; i < count; i++) groups /= 4;
  int is_one = plan->key_count == 0 ||
               (plan->key_count < 63 && equal_keys + 1 == UINT64_C(1) << plan->key_count);
  if (is_one) {
    groups = 1;
    info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
  }
  info->estimatedRows = groups < 1 ? 1 : (sqlite3_int64)groups;
  info->estimatedCost = rows / (1 + equal) + groups;
  return SQLITE_OK;
}

static int best_index_ad_hoc(sqlite3_vtab *vtab, sqlite3_index_info *info) {
  static const tr_hidden_arguments arguments = {TR_GROUP_FUNCTION, tr_group_argument_names, SOURCE,
                                                TR_GROUP_ARGUMENTS, -1};
  int rc = tr_hidden_arguments_check(&arguments, vtab, info);
  if (rc != SQLITE_OK) return rc;
  int position[TR_GROUP_ARGUMENTS], count = 0;
  for (int i = 0; i < TR_GROUP_ARGUMENTS; i++) position[i] = -1;
  for (int i = 0; i < info->nConstraint; i++) {
    const struct sqlite3_index_constraint *c = &info->aConstraint[i];
    if (c->iColumn < SOURCE || c->op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    if (!c->usable) return SQLITE_CONSTRAINT;
    position[c->iColumn - SOURCE] = i;
  }
  for (int i = 0; i < TR_GROUP_ARGUMENTS; i++) {
    if (position[i] < 0) continue;
    info->aConstraintUsage[position[i]].argvIndex = ++count;
    info->aConstraintUsage[position[i]].omit = 1;
    info->idxNum |= 1 << i;
  }
  info->estimatedCost = 1e6;
  info->estimatedRows = 1000;
  tr_hidden_arguments_weigh(info, SOURCE, 0, TR_GROUP_ARGUMENTS, 1);
  return SQLITE_OK;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info) {
  group_vtab *vtab = (group_vtab *)table;
  if (vtab->is_ad_hoc) tr_parallel_group_note(vtab->host, NULL);
  return vtab->is_ad_hoc ? best_index_ad_hoc(table, info) : best_index_created(vtab, info);
}

/* --- scanning ---------------------------------------------------------------------------- */

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor) {
  group_vtab *vtab = (group_vtab *)table;
  group_cursor *made = tr_malloc(sizeof *made);
  if (made == NULL) return SQLITE_NOMEM;
  *made = (group_cursor){.scan = NULL};
  vtab->open_cursors++;
  vtab->newest = made;
  *cursor = &made->base;
  return SQLITE_OK;
}

/*
** Hands the scan of the closed cursor to the newest one, if that is being opened in its place.
**
** SQLite before 3.51 opens the cursor of a correlated subquery, or of the recursive part of a WITH,
** again for each run of it. It calls xOpen, then xClose for the old cursor in that place of the
** program, and only then counts the new one in nRef. So if a cursor is closed while nRef is one
** less than the number of open cursors, the newest cursor takes its place in the same run of the
** same statement. Newer releases leave the cursor open.
*/
static void hand_over(group_vtab *vtab, group_cursor *closed) {
  int is_replaced = vtab->base.nRef == vtab->open_cursors - 1;
  if (!is_replaced || vtab->newest == NULL) return;
  vtab->newest->scan = closed->scan;
  closed->scan = NULL;
}

static int close_cursor(sqlite3_vtab_cursor *base) {
  group_cursor *cursor = (group_cursor *)base;
  group_vtab *vtab = (group_vtab *)base->pVtab;
  vtab->open_cursors--;
  if (vtab->newest == cursor) vtab->newest = NULL;
  hand_over(vtab, cursor);
  tr_group_scan_free(cursor->scan);
  tr_free(cursor);
  return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                  sqlite3_value **argv) {
  group_cursor *cursor = (group_cursor *)base;
  group_vtab *vtab = (group_vtab *)base->pVtab;
  tr_error err = {0};
  if (cursor->scan == NULL) {
    cursor->scan = tr_group_scan_create(vtab->host, vtab->is_ad_hoc ? NULL : &vtab->plan);
  }
  if (cursor->scan == NULL) return SQLITE_NOMEM;
  tr_code code = tr_group_scan_begin(cursor->scan, number, text, argc, argv, &err);
  return code == TR_OK ? SQLITE_OK : tr_vtab_error(base->pVtab, &err);
}

static int next(sqlite3_vtab_cursor *base) {
  tr_error err;
  tr_code code = tr_group_scan_next(((group_cursor *)base)->scan, &err);
  return code == TR_OK ? SQLITE_OK : tr_vtab_error(base->pVtab, &err);
}

static int eof(sqlite3_vtab_cursor *base) {
  return ((group_cursor *)base)->scan->group == NULL;
}

/* --- columns ----------------------------------------------------------------------------- */

static tr_code give_output(const tr_group_scan *scan, sqlite3_context *context, int index,
                           tr_error *err) {
  tr_combine_output output = {0};
  tr_code code = tr_group_result_output(scan->result, scan->group, index, &output, err);
  if (code == TR_OK) {
    tr_result_value(context, &output.value);
    if (output.is_json) sqlite3_result_subtype(context, TR_JSON_SUBTYPE);
  }
  tr_combine_output_free(&output);
  return code;
}

static tr_code append_member(tr_buffer *json, const char *name, const tr_value *value, int is_json,
                             tr_error *err) {
  tr_code code = json->size > 1 ? tr_buffer_append_byte(json, ',', err) : TR_OK;
  if (code == TR_OK) code = tr_json_append_text(json, tr_bytes_of_text(name), err);
  if (code == TR_OK) code = tr_buffer_append_byte(json, ':', err);
  if (code != TR_OK) return code;
  return is_json ? tr_buffer_append(json, value->bytes, err)
                 : tr_json_append_value(json, value, err);
}

static tr_code append_key_members(const tr_group_scan *scan, tr_buffer *json, tr_error *err) {
  tr_code code = TR_OK;
  for (int i = 0; i < scan->plan->key_count && code == TR_OK; i++) {
    tr_value value = tr_group_result_key(scan->result, scan->group, i);
    code = append_member(json, scan->plan->keys[i].name, &value, 0, err);
  }
  return code;
}

static tr_code append_value_members(const tr_group_scan *scan, tr_buffer *json, tr_error *err) {
  tr_code code = TR_OK;
  for (int i = 0; i < scan->plan->output_count && code == TR_OK; i++) {
    tr_combine_output output = {0};
    code = tr_group_result_output(scan->result, scan->group, i, &output, err);
    int is_json = output.is_json && output.value.type == TR_TEXT;
    if (code == TR_OK) {
      code = append_member(json, scan->plan->outputs[i].name, &output.value, is_json, err);
    }
    tr_combine_output_free(&output);
  }
  return code;
}

/* A column of the ad hoc form. */
static tr_code give_object(const tr_group_scan *scan, sqlite3_context *context, int column,
                           tr_error *err) {
  if (column >= SOURCE) {
    sqlite3_value *argument = scan->arguments.values[column - SOURCE];
    if (argument != NULL) sqlite3_result_value(context, argument);
    return TR_OK;
  }
  tr_buffer json = {0};
  tr_code code = tr_buffer_append_byte(&json, '{', err);
  if (code == TR_OK && column == KEY) code = append_key_members(scan, &json, err);
  if (code == TR_OK && column == VALUE) code = append_value_members(scan, &json, err);
  if (code == TR_OK) code = tr_buffer_append_byte(&json, '}', err);
  if (code == TR_OK) tr_result_json(context, &json);
  tr_buffer_free(&json);
  return code;
}

static tr_code give_key(const tr_group_scan *scan, sqlite3_context *context, int key) {
  tr_value value = tr_group_result_key(scan->result, scan->group, key);
  tr_result_value(context, &value);
  return TR_OK;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index) {
  const tr_group_scan *scan = ((group_cursor *)base)->scan;
  int key_count = scan->plan->key_count;
  tr_error err;
  tr_code code;
  if (((group_vtab *)base->pVtab)->is_ad_hoc) {
    code = give_object(scan, context, index, &err);
  } else if (index < key_count) {
    code = give_key(scan, context, index);
  } else {
    code = give_output(scan, context, index - key_count, &err);
  }
  return code == TR_OK ? SQLITE_OK : tr_vtab_error(base->pVtab, &err);
}

/*
** A hash of 64 bits. It is the same for a group in every scan of the table with the same arguments,
** whatever the conditions: SQLite runs `a = 1 OR b = 2` as two scans, and tells by the rowid which
** of their rows are the same.
*/
static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid_out) {
  const tr_group_scan *scan = ((const group_cursor *)base)->scan;
  uint64_t seed = ((const group_vtab *)base->pVtab)->seed;
  *rowid_out = (sqlite3_int64)tr_group_identity(scan->group, seed + scan->arguments.hash);
  return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion = 0,
    .xCreate = connect, /* the same as xConnect: the table also exists without a CREATE */
    .xConnect = connect,
    .xBestIndex = best_index,
    .xDisconnect = disconnect,
    .xDestroy = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = eof,
    .xColumn = column,
    .xRowid = rowid,
};

int tr_register_group_by_fields(tr_host *host) {
  int rc = tr_group_register_function(host);
  if (rc == SQLITE_OK) rc = tr_collation_register(host);
  return rc == SQLITE_OK ? tr_host_register_module(host, TR_GROUP_FUNCTION, &module) : rc;
}

/*
** Finds the part of a grouping that SQLite refuses. SQLite says `no such column: x` of a whole
** statement. So once this has failed, each part is prepared alone over the source until one fails
** as well.
*/
#include "base/argument.h"
#include "base/utf8.h"
#include "group_by_fields_parts.h"
#include "group_by_fields_run.h"

/* How much of the text of a part is shown, so that there is room for the reason. */
#define SHOWN_BYTES 300

typedef struct part_search {
  const tr_group_plan *plan;
  sqlite3 *db;
  tr_error reason; /* why the last part that was tried was refused */
} part_search;

/* Whether SQLite refuses the argument, or the condition. One that is NULL is not tried. */
static int is_refused(part_search *search, const char *argument, const char *condition) {
  const tr_source_table *source = &search->plan->source;
  sqlite3_str *sql = sqlite3_str_new(search->db);
  sqlite3_stmt *stmt;
  sqlite3_str_appendf(sql, "SELECT " TR_GROUP_INNER_FUNCTION "(%s) FROM ",
                      argument != NULL ? argument : "1");
  tr_sql_append_table(sql, source->schema, source->name);
  if (condition != NULL) sqlite3_str_appendf(sql, " WHERE %s", condition);
  tr_code code = tr_sql_prepare(search->db, sql, &stmt, &search->reason);
  sqlite3_finalize(stmt);
  return code != TR_OK;
}

/*
** Fills the error: `before`, `sql` and the reason. `sql` begins or ends the parentheses: it has its
** own, or closes the one that `before` has opened.
*/
static tr_code name_part(const part_search *search, const char *before, const char *sql,
                         tr_error *err) {
  if (search->reason.code != TR_HOST) { /* out of memory or interrupted: not the part's fault */
    *err = search->reason;
    return err->code;
  }
  tr_bytes text = tr_bytes_of_text(sql);
  size_t shown = tr_utf8_cut(text, SHOWN_BYTES);
  tr_code code =
      tr_error_set(err, search->reason.code, TR_GROUP_FUNCTION ": %s%.*s%s: %s", before, (int)shown,
                   sql, shown < text.size ? "...)" : "", search->reason.message);
  err->host_code = search->reason.host_code;
  return code;
}

/* A field that is a column is not tried: the column exists, or the source is at fault. */
static int is_wrong_key(part_search *search, const tr_group_field *key, tr_error *err) {
  if (key->column >= 0 || !is_refused(search, key->sql, NULL)) return 0;
  name_part(search, "key field ", key->sql, err);
  return 1;
}

static int is_wrong_output(part_search *search, const tr_group_output *output, tr_error *err) {
  char before[64];
  const char *name = output->combine.fn->name;
  for (int i = 0; i < TR_COMBINE_MAX_ARGUMENTS; i++) {
    const char *sql = output->inputs[i].sql;
    if (sql == NULL || !is_refused(search, sql, NULL)) continue;
    /* The message leaves out the arguments before it. */
    sqlite3_snprintf(sizeof before, before, i == 0 ? "%s" : "%s(..., ", name);
    name_part(search, before, i == 0 ? sql : sql + 1, err);
    return 1;
  }
  if (output->filter == NULL || !is_refused(search, output->filter, NULL)) return 0;
  sqlite3_snprintf(sizeof before, before, "%s() FILTER (WHERE ", name);
  name_part(search, before, output->filter + 1, err);
  return 1;
}

tr_code tr_group_name_wrong_part(const tr_group_plan *plan, sqlite3 *db, tr_error *err) {
  part_search search = {.plan = plan, .db = db};
  if (err->code != TR_HOST || !tr_error_is_lasting(err)) return err->code;
  if (is_refused(&search, NULL, NULL)) {
    if (search.reason.code != TR_HOST) *err = search.reason;
    return err->code;
  }
  for (int i = 0; i < plan->key_count; i++) {
    if (is_wrong_key(&search, &plan->keys[i], err)) return err->code;
  }
  for (int i = 0; i < plan->output_count; i++) {
    if (is_wrong_output(&search, &plan->outputs[i], err)) return err->code;
  }
  if (plan->where != NULL && is_refused(&search, NULL, plan->where)) {
    return name_part(&search, "where", plan->where, err);
  }
  return err->code;
}

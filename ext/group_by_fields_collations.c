/*
** Finds the collation of every key field, so that keys are grouped as SQLite would group them. The
** description of a table has the collations of its columns. For views and expressions SQLite is
** asked. Also checks that min and max are asked for BINARY only.
*/
#include <string.h>

#include "group_by_fields_parts.h"
#include "host/collation.h"

static const char *const names[] = {
    [TR_COLLATION_BINARY] = "BINARY",
    [TR_COLLATION_NOCASE] = "NOCASE",
    [TR_COLLATION_RTRIM] = "RTRIM",
};

/* Whether the description of the source has the collations of its columns. */
static int knows_collations(const tr_source_table *source) {
  return source->kind == TR_SOURCE_ROWID_TABLE || source->kind == TR_SOURCE_WITHOUT_ROWID;
}

static tr_code settle(tr_group_field *field, const tr_source_table *source, tr_host *host,
                      tr_error *err) {
  if (field->column >= 0 && knows_collations(source)) {
    field->collation_name = sqlite3_mprintf("%s", source->columns[field->column].collation);
    if (field->collation_name == NULL) return tr_error_no_memory(err);
  } else {
    tr_code code = tr_collation_of_expression(host, source->schema, source->name, field->sql,
                                              &field->collation_name, err);
    if (code != TR_OK) return code;
  }
  field->is_foreign = 1;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (sqlite3_stricmp(field->collation_name, names[i]) != 0) continue;
    field->collation = (tr_collation)i;
    field->is_foreign = 0;
  }
  return TR_OK;
}

/* SQLite's min() and max() compare by the collation of their argument. Ours know only BINARY. */
static tr_code check_extremum(const tr_group_output *output, const tr_source_table *source,
                              tr_host *host, tr_error *err) {
  const tr_combine_fn *fn = output->combine.fn;
  if (!fn->is_builtin || (strcmp(fn->name, "min") != 0 && strcmp(fn->name, "max") != 0))
    return TR_OK;
  char *name;
  const char *sql = output->inputs[0].sql;
  tr_code code = tr_collation_of_expression(host, source->schema, source->name, sql, &name, err);
  if (code != TR_OK) return code;
  if (sqlite3_stricmp(name, names[TR_COLLATION_BINARY]) != 0) {
    code = tr_error_set(err, TR_INVALID_ARGUMENT,
                        TR_GROUP_FUNCTION ": %s%s: collation %s: only BINARY is compared here; "
                                          "say %s(... COLLATE BINARY)",
                        fn->name, sql, name, fn->name);
  }
  sqlite3_free(name);
  return code;
}

tr_code tr_group_plan_settle_collations(tr_group_plan *plan, tr_host *host, tr_error *err) {
  tr_code code = TR_OK;
  for (int i = 0; i < plan->key_count && code == TR_OK; i++) {
    code = settle(&plan->keys[i], &plan->source, host, err);
  }
  for (int i = 0; i < plan->output_count && code == TR_OK; i++) {
    code = check_extremum(&plan->outputs[i], &plan->source, host, err);
  }
  return code == TR_OK ? TR_OK : tr_group_name_wrong_part(plan, tr_host_db(host), err);
}

int tr_group_plan_has_foreign_collation(const tr_group_plan *plan) {
  int has = 0;
  for (int i = 0; i < plan->key_count; i++) has |= plan->keys[i].is_foreign;
  return has;
}

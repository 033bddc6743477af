/* placeholder replaced below */
#include <string.h>

#include "group_by_fields_parts.h"

char *tr_group_path_sql(const tr_source_column *column, const tr_field_path *path) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  sqlite3_str *json = sqlite3_str_new(NULL);
  sqlite3_str_appendchar(json, 1, '$');
  for (int i = 1; i < path->step_count; i++)
    sqlite3_str_appendf(json, ".\"%s\"", path->steps[i].name);
  char *json_path = sqlite3_str_finish(json);
  sqlite3_str_appendall(sql, "json_extract(");
  tr_sql_append_identifier(sql, column->name);
  sqlite3_str_appendf(sql, ", %Q)", json_path);
  sqlite3_free(json_path);
  return sqlite3_str_finish(sql);
}

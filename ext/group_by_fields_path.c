/*
** A path into JSON as an SQL expression over SQLite's own JSON functions, so that what is JSON, and
** what its values are, is for SQLite to say:
**
**   address.city     json_extract(address, '$."city"')
**   items[].sku      CASE json_type(items, '$') WHEN 'array' THEN
**                      (SELECT json_group_array(json_extract(e1, '$."sku"')) FROM json_each(items, '$'))
**                    END
**   attrs{}.x        the same with 'object' and json_group_object(key, ...)
**
** A list without its qualifier, `items.sku`, is found when it is met: json_extract gives NULL there,
** and COALESCE then looks whether a list stands on the way. Two such lists, one in the other, are
** followed; more have to be written. A map cannot be told from an object, so `{}` has to be written.
** What is of another kind than the path says gives NULL.
*/
#include "group_by_fields_parts.h"

#define UNWRITTEN_LISTS 2

/* Where a path has got to: the value at `json_path` of `expression`. */
typedef struct path_place {
  const char *expression;
  char *json_path;
  int step;
  int qualifier; /* of the step: how many have been followed */
  int lists;     /* unwritten ones that may still be followed */
  int depth;     /* subqueries around */
  int *is_out_of_memory;
} path_place;

/* A piece of text for a place, which is to be freed with sqlite3_free. */
static char *piece(const path_place *place, char *text) {
  if (text == NULL) *place->is_out_of_memory = 1;
  return text;
}

static void append_place(sqlite3_str *sql, const tr_field_path *path, path_place place);

/* The elements of a list, or the values of a map, with what the path takes from each. */
static void append_elements(sqlite3_str *sql, const tr_field_path *path, path_place place,
                            int is_map) {
  static const char format[] = "(CASE WHEN e%d.type IN ('object', 'array') THEN e%d.value END)";
  char *element = piece(&place, sqlite3_mprintf(format, place.depth, place.depth));
  sqlite3_str_appendf(sql, "CASE json_type(%s, %Q) WHEN '%s' THEN (SELECT ", place.expression,
                      place.json_path, is_map ? "object" : "array");
  if (is_map)
    sqlite3_str_appendf(sql, "json_group_object(e%d.key, ", place.depth);
  else
    sqlite3_str_appendall(sql, "json_group_array(");
  path_place inside = place;
  inside.expression = element;
  inside.json_path = piece(&place, sqlite3_mprintf("$"));
  inside.depth++;
  if (element != NULL && inside.json_path != NULL) append_place(sql, path, inside);
  sqlite3_free(inside.json_path);
  sqlite3_free(element);
  sqlite3_str_appendf(sql, ") FROM json_each(%s, %Q) AS e%d) END", place.expression,
                      place.json_path, place.depth);
}

static void append_next_step(sqlite3_str *sql, const tr_field_path *path, path_place place) {
  path_place next = place;
  next.step++;
  next.qualifier = 0;
  const char *name = path->steps[next.step].name;
  next.json_path = piece(&place, sqlite3_mprintf("%s.\"%s\"", place.json_path, name));
  if (next.json_path != NULL) append_place(sql, path, next);
  sqlite3_free(next.json_path);
}

static void append_place(sqlite3_str *sql, const tr_field_path *path, path_place place) {
  const char *qualifiers = path->steps[place.step].qualifiers;
  if (place.step == path->step_count - 1) {
    sqlite3_str_appendf(sql, "json_extract(%s, %Q)", place.expression, place.json_path);
  } else if (qualifiers[place.qualifier] != 0) {
    int is_map = qualifiers[place.qualifier] == '{';
    place.qualifier++;
    append_elements(sql, path, place, is_map);
  } else if (place.lists == 0) {
    append_next_step(sql, path, place);
  } else {
    sqlite3_str_appendall(sql, "coalesce(");
    append_next_step(sql, path, place);
    sqlite3_str_appendall(sql, ", ");
    place.lists--;
    append_elements(sql, path, place, 0);
    sqlite3_str_appendchar(sql, 1, ')');
  }
}

char *tr_group_path_sql(const tr_source_column *column, const tr_field_path *path) {
  sqlite3_str *quoted = sqlite3_str_new(NULL), *sql = sqlite3_str_new(NULL);
  tr_sql_append_identifier(quoted, column->name);
  int is_out_of_memory = 0;
  path_place start = {.lists = UNWRITTEN_LISTS, .is_out_of_memory = &is_out_of_memory};
  char *name = piece(&start, sqlite3_str_finish(quoted));
  start.expression = name;
  start.json_path = piece(&start, sqlite3_mprintf("$"));
  if (!is_out_of_memory) append_place(sql, path, start);
  sqlite3_free(start.json_path);
  sqlite3_free(name);
  char *text = sqlite3_str_finish(sql);
  if (!is_out_of_memory) return text;
  sqlite3_free(text);
  return NULL;
}

/*
** Makes an SQL expression of a path into JSON. It uses SQLite's own JSON functions, so SQLite
** decides what is JSON and what its values are:
**
**   address.city     json_extract(address, '$."city"')
**   items[].sku      CASE json_type(items, '$') WHEN 'array' THEN
**                      (SELECT json_group_array(json_extract(e1, '$."sku"'))
**                         FROM json_each(items, '$'))
**                    END
**   attrs{}.x        the same with 'object' and json_group_object(key, ...)
**
** A list is also found without its qualifier, as in `items.sku`. json_extract returns NULL there,
** and COALESCE then looks for a list on the way, at the deepest step first. Two such lists, one in
** the other, are followed; more have to be written. A map looks like any other object, so `{}` has
** to be written. A value of another kind than the path says becomes NULL.
**
** SQLite's parser before 3.46 has a stack of 100 symbols. Each list takes 13 of them, a map 15, and
** looking for an unwritten list 5 more. Hence TR_FIELD_PATH_MAX_QUALIFIERS, and no more unwritten
** lists than that leaves. Names alone do not nest.
*/
#include <string.h>

#include "group_by_fields_parts.h"

#define UNWRITTEN_LISTS 2

/*
** How far a path has been followed: to the column itself, into the elements of a list, or into the
** values of a map.
*/
typedef struct path_place {
  const char *expression;
  int step;
  int qualifier; /* how many qualifiers of the step have been followed */
  int lists;     /* how many unwritten lists may still be followed */
  int depth;     /* how many subqueries this is in */
  int *is_out_of_memory;
} path_place;

static void append_place(sqlite3_str *sql, const tr_field_path *path, path_place place);

/*
** Appends the elements of the list, or the values of the map, at `json_path` of the place's
** expression, with what the path takes from each.
*/
static void append_elements(sqlite3_str *sql, const tr_field_path *path, path_place place,
                            tr_bytes json_path, int is_map) {
  static const char format[] = "(CASE WHEN e%d.type IN ('object', 'array') THEN e%d.value END)";
  char *element = sqlite3_mprintf(format, place.depth, place.depth);
  if (element == NULL) {
    *place.is_out_of_memory = 1;
    return;
  }
  int size = (int)json_path.size;
  sqlite3_str_appendf(sql, "CASE json_type(%s, %.*Q) WHEN '%s' THEN (SELECT ", place.expression,
                      size, json_path.data, is_map ? "object" : "array");
  if (is_map)
    sqlite3_str_appendf(sql, "json_group_object(e%d.key, ", place.depth);
  else
    sqlite3_str_appendall(sql, "json_group_array(");
  path_place inside = place;
  inside.expression = element;
  inside.depth++;
  append_place(sql, path, inside);
  sqlite3_free(element);
  sqlite3_str_appendf(sql, ") FROM json_each(%s, %.*Q) AS e%d) END", place.expression, size,
                      json_path.data, place.depth);
}

/* Follows plain names from the place to the end of the path or to the next qualifier. */
static void append_place(sqlite3_str *sql, const tr_field_path *path, path_place place) {
  tr_buffer names = {0};
  size_t sizes[TR_FIELD_PATH_MAX_STEPS]; /* of the JSON path up to each step */
  int first = place.step, last = path->step_count - 1;
  tr_code code = tr_buffer_append_byte(&names, '$', NULL);
  sizes[first] = names.size;
  while (place.step < last && path->steps[place.step].qualifiers[place.qualifier] == 0 &&
         code == TR_OK) {
    code = tr_buffer_printf(&names, NULL, ".\"%s\"", path->steps[++place.step].name);
    sizes[place.step] = names.size;
    place.qualifier = 0;
  }
  if (code != TR_OK) {
    *place.is_out_of_memory = 1;
    tr_buffer_free(&names);
    return;
  }
  int looks_for_lists = place.lists > 0 && place.step > first;
  if (looks_for_lists) sqlite3_str_appendall(sql, "coalesce(");
  if (place.step == last) {
    sqlite3_str_appendf(sql, "json_extract(%s, %.*Q)", place.expression, (int)names.size,
                        names.data);
  } else {
    path_place list = place;
    list.qualifier++;
    append_elements(sql, path, list, tr_buffer_bytes(&names),
                    path->steps[place.step].qualifiers[place.qualifier] == '{');
  }
  for (int step = place.step - 1; looks_for_lists && step >= first; step--) {
    path_place list = place;
    list.step = step;
    list.qualifier = (int)strlen(path->steps[step].qualifiers);
    list.lists--;
    sqlite3_str_appendall(sql, ", ");
    append_elements(sql, path, list, (tr_bytes){names.data, sizes[step]}, 0);
  }
  if (looks_for_lists) sqlite3_str_appendchar(sql, 1, ')');
  tr_buffer_free(&names);
}

static int count_qualifiers(const tr_field_path *path) {
  size_t count = 0;
  for (int i = 0; i < path->step_count - 1; i++) count += strlen(path->steps[i].qualifiers);
  return (int)count;
}

char *tr_group_path_sql(const tr_source_column *column, const tr_field_path *path) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  char *name = tr_group_identifier(column->name);
  int is_out_of_memory = name == NULL;
  int left = TR_FIELD_PATH_MAX_QUALIFIERS - count_qualifiers(path);
  path_place start = {.expression = name,
                      .lists = left < 0                 ? 0
                               : left < UNWRITTEN_LISTS ? left
                                                        : UNWRITTEN_LISTS,
                      .is_out_of_memory = &is_out_of_memory};
  if (!is_out_of_memory) append_place(sql, path, start);
  sqlite3_free(name);
  char *text = sqlite3_str_finish(sql);
  if (!is_out_of_memory) return text;
  sqlite3_free(text);
  return NULL;
}

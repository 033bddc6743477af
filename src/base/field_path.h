/*
** Paths to fields, as by_field_access takes them: `country`, `address.city`, `items[*].sku`,
** `attrs{*}.x`, `address.*`, `*`.
**
**   path      = component ("." component)*
**   component = "*" | name qualifier*
**   qualifier = "[]" | "[*]" | "{}" | "{*}"
**   name      = letters, digits, "_", "$" and bytes above 7f; or any text in one of SQL's
**               quotes for names: "x y", `x y`, [x y]
**
** Blanks may stand between these, not inside a qualifier. "[]" says that the field is a list and
** goes into its elements, "{}" that it is a map and goes into its values; "*" takes all fields, and
** only the last component can be one. Anything else is an error that says where and why.
**
** Ownership: a path owns its texts. Pure but for memory; thread-safe.
** Source: Apache Beam, FieldAccessDescriptor and its text form, of which it repairs what is wrong
** where we refuse it. Names in quotes are our addition.
*/
#ifndef TR_BASE_FIELD_PATH_H
#define TR_BASE_FIELD_PATH_H

#include "base/bytes.h"

typedef struct tr_field_step {
  const char *name;       /* terminated */
  const char *qualifiers; /* terminated; a '[' or '{' for each */
} tr_field_step;

typedef struct tr_field_path {
  tr_field_step *steps;
  int step_count; /* 0: the path is "*" */
  int takes_all;  /* it ends in "*" */
  char *texts;
} tr_field_path;

/* What a path may have: an error points at the first name or qualifier beyond. */
#define TR_FIELD_PATH_MAX_STEPS 32
#define TR_FIELD_PATH_MAX_QUALIFIERS 4

/* TR_INVALID_ARGUMENT: `field path 'a..b', at 3: a name or * must stand here`; TR_NO_MEMORY. */
tr_code tr_field_path_parse(tr_field_path *path, tr_bytes text, tr_error *err);

/* Releases the texts. An empty (all zero) path is fine. */
void tr_field_path_free(tr_field_path *path);

/* What a selected field is called: the last name. NULL for "*". */
const char *tr_field_path_name(const tr_field_path *path);

/*
** 1 if all that `other` selects is selected by `path`: "*" covers everything, a whole field its
** nested parts, a field itself. Qualifiers make no difference, since missing ones are filled in.
*/
int tr_field_path_covers(const tr_field_path *path, const tr_field_path *other);

#endif

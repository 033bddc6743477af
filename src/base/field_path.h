/*
** Paths to fields, the arguments of by_field_access: `country`, `address.city`, `items[*].sku`,
** `attrs{*}.x`, `address.*`, `*`.
**
**   path      = component ("." component)*
**   component = "*" | name qualifier*
**   qualifier = "[]" | "[*]" | "{}" | "{*}"
**   name      = letters, digits, "_", "$" and bytes above 7f; or any text in one of SQL's
**               quotes for names: "x y", `x y`, [x y]
**
** Blanks may stand between these parts, but not inside a qualifier. "[]" means that the field is a
** list and selects from its elements. "{}" means that the field is a map and selects from its
** values. "*" selects all fields, and can only be the last component. Anything else is an error
** that gives the position and the reason.
**
** Ownership: a path owns its texts. Pure except for memory. Thread-safe.
** Source: Apache Beam, FieldAccessDescriptor and its text form. Beam repairs some malformed paths;
** here they are errors. Names in quotes are our addition.
*/
#ifndef TR_BASE_FIELD_PATH_H
#define TR_BASE_FIELD_PATH_H

#include "base/bytes.h"

typedef struct tr_field_step {
  const char *name;       /* terminated */
  const char *qualifiers; /* terminated; one '[' or '{' for each qualifier */
} tr_field_step;

typedef struct tr_field_path {
  tr_field_step *steps;
  int step_count; /* 0: the path is "*" */
  int takes_all;  /* the path ends in "*" */
  char *texts;
} tr_field_path;

/* The limits of a path. The error points at the first name or qualifier beyond them. */
#define TR_FIELD_PATH_MAX_STEPS 32
#define TR_FIELD_PATH_MAX_QUALIFIERS 4

/* TR_INVALID_ARGUMENT: `field path 'a..b', at 3: a name or * must stand here`; TR_NO_MEMORY. */
tr_code tr_field_path_parse(tr_field_path *path, tr_bytes text, tr_error *err);

/* Releases the texts. An empty (all zero) path is fine. */
void tr_field_path_free(tr_field_path *path);

/* The name of the selected field, which is the last name of the path. NULL for "*". */
const char *tr_field_path_name(const tr_field_path *path);

/*
** 1 if `path` selects everything that `other` selects, else 0. "*" covers everything, and a field
** covers itself and its nested parts. Qualifiers make no difference, since missing ones are filled
** in later.
*/
int tr_field_path_covers(const tr_field_path *path, const tr_field_path *other);

#endif

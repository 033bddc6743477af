/*
** Reads files of JSON lines (the recorded behaviour in tests/vectors/) with SQLite's own JSON
** operators. One way for all replays:
**
**   jsonl *file = jsonl_open("tests/vectors/x.jsonl");
**   for (const char *line; (line = jsonl_next(file)) != NULL;) {
**     tr_bytes start = jsonl_hex(file, line, "start");
**     for (const char **step = jsonl_items(file, line, "steps"); *step != NULL; step++) {
**       const char *op = jsonl_text(file, *step, "op");
**       if (jsonl_has(file, *step, "ret")) ... jsonl_hex(file, *step, "$.ret.start") ...
**     }
**   }
**   jsonl_close(file);
**
** A line, an item of an array and any object in them is JSON text, and each function below takes
** such a text and a path in it: a member's name or a path that begins with '$' (what the right side
** of SQLite's -> takes); "$" is the text itself, e.g. an item that is a string. Everything handed
** out lives until the next jsonl_next.
**
** A file that cannot be read, a member that is missing or of another type: the program says which
** file, line and path, and exits with 1. A replay cannot pass by reading nothing.
*/
#ifndef TR_TEST_JSONL_H
#define TR_TEST_JSONL_H

#include <stdint.h>

#include "base/bytes.h"

typedef struct jsonl jsonl;

jsonl *jsonl_open(const char *path);
void jsonl_close(jsonl *file);

/* The next line that is not empty, or NULL at the end. */
const char *jsonl_next(jsonl *file);

/* The number of the present line, from 1. */
long jsonl_line_number(const jsonl *file);

/* 1 if the member is there, null included. */
int jsonl_has(jsonl *file, const char *json, const char *path);
/* 1 if the member is there and is null. */
int jsonl_is_null(jsonl *file, const char *json, const char *path);

/* A string's text; NULL where the member is null or missing. */
const char *jsonl_text(jsonl *file, const char *json, const char *path);

/* An integer, all 64 bits of it. */
int64_t jsonl_integer(jsonl *file, const char *json, const char *path);

/* The double nearest to the number as it stands in the file, or "NaN", "Infinity", "-Infinity". */
double jsonl_double(jsonl *file, const char *json, const char *path);

/* true 1, false 0. */
int jsonl_bool(jsonl *file, const char *json, const char *path);

/* The bytes that a string of hexadecimal digits names. */
tr_bytes jsonl_hex(jsonl *file, const char *json, const char *path);

/* The JSON text of any member, e.g. an object to look into. */
const char *jsonl_json(jsonl *file, const char *json, const char *path);

/* The JSON texts of an array's items, followed by NULL. */
const char **jsonl_items(jsonl *file, const char *json, const char *path);

#endif

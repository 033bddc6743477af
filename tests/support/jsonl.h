/*
** Reads files of JSON lines (the recorded behaviour in tests/vectors/) with SQLite's own JSON
** operators. All replays use it:
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
** A line, an item of an array and an object are each JSON text. Each function below takes such a
** text and a path in it: the name of a member, or a path that begins with '$' (as on the right side
** of SQLite's ->). "$" is the text itself, for example an item that is a string. Everything
** returned lives until the next jsonl_next.
**
** If a file cannot be read, or a member is missing or of another type, the program prints the file,
** line and path, and exits with 1. So a replay cannot pass by reading nothing.
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

/* The number of the current line, from 1. */
long jsonl_line_number(const jsonl *file);

/* 1 if the member exists, even if it is null. */
int jsonl_has(jsonl *file, const char *json, const char *path);
/* 1 if the member exists and is null. */
int jsonl_is_null(jsonl *file, const char *json, const char *path);

/* The text of a string; NULL if the member is null or missing. */
const char *jsonl_text(jsonl *file, const char *json, const char *path);

/* An integer, in all 64 bits. */
int64_t jsonl_integer(jsonl *file, const char *json, const char *path);

/* The double nearest to the number in the file, which may be "NaN", "Infinity" or "-Infinity". */
double jsonl_double(jsonl *file, const char *json, const char *path);

/* 1 for true, 0 for false. */
int jsonl_bool(jsonl *file, const char *json, const char *path);

/* The bytes that a string of hexadecimal digits stands for. */
tr_bytes jsonl_hex(jsonl *file, const char *json, const char *path);

/* The JSON text of any member, for example an object to look into. */
const char *jsonl_json(jsonl *file, const char *json, const char *path);

/* The JSON texts of the items of an array, with NULL after the last. */
const char **jsonl_items(jsonl *file, const char *json, const char *path);

#endif

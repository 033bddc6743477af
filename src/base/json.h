/*
** SQL values as JSON text.
**
** - INTEGERs have all their digits.
** - REALs have the shortest digits that read back as the same double, and always a point, so that
**   they read back as REAL. Infinities are 9e999 and -9e999, which SQLite reads as infinities.
** - NULL is null.
** - In text, what JSON requires to be escaped is escaped. All else is copied byte by byte.
** - JSON has no BLOBs. They are an error, as in SQLite's own functions.
**
** All functions append to a buffer, and leave it as it was if they fail. Thread-safety: as bytes.h.
*/
#ifndef TR_BASE_JSON_H
#define TR_BASE_JSON_H

#include "base/bytes.h"
#include "base/value.h"

/* Appends a string in quotes. TR_NO_MEMORY. */
tr_code tr_json_append_text(tr_buffer *json, tr_bytes text, tr_error *err);

/*
** Appends any value. TR_INVALID_ARGUMENT for a BLOB: "JSON cannot hold BLOB values". TR_NO_MEMORY.
*/
tr_code tr_json_append_value(tr_buffer *json, const tr_value *value, tr_error *err);

#endif

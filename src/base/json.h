/*
** SQL values as JSON text.
**
** INTEGERs stand with all their digits; REALs with the shortest digits that read back to the same
** double and always with a point, so that they come back as REAL; infinities as 9e999 and -9e999,
** which SQLite reads as infinities; NULL as null. Text is escaped where JSON demands it and else
** copied byte by byte. JSON has no BLOBs: like SQLite's own functions we refuse them.
**
** All append to a buffer; what fails leaves the buffer as it was. Thread-safety: as bytes.h.
*/
#ifndef TR_BASE_JSON_H
#define TR_BASE_JSON_H

#include "base/bytes.h"
#include "base/value.h"

/* A string in quotes. TR_NO_MEMORY. */
tr_code tr_json_append_text(tr_buffer *json, tr_bytes text, tr_error *err);

/* Any value. TR_INVALID_ARGUMENT for a BLOB: "JSON cannot hold BLOB values"; TR_NO_MEMORY. */
tr_code tr_json_append_value(tr_buffer *json, const tr_value *value, tr_error *err);

#endif

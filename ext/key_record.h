/*
** A short record of the keys that a bundle had when it was claimed. By it job_rescan tells new rows
** from old ones.
**
** Rowids are recorded exactly, as runs of consecutive ones. A run takes two or three bytes, and a
** bundle of a table without gaps is one run. Of other keys only a hash of all of them in their
** order is kept, in eight bytes. It says whether anything has changed, but not what.
**
** Format: the byte 'r', then for each run its distance from the end of the last one (for the first
** run: from the lowest rowid) and its length less one, both as LEB128. Or the byte 'h' and the
** hash, little-endian.
**
** Ownership: a record that is being made owns its buffer. Pure except for memory; thread-safe.
*/
#ifndef TR_EXT_KEY_RECORD_H
#define TR_EXT_KEY_RECORD_H

#include "base/bytes.h"

/* A record that is being made. All zero except for `is_rowid`, it is the record of no keys. */
typedef struct tr_key_record {
  int is_rowid;
  tr_buffer runs;   /* finished runs */
  uint64_t from;    /* the current run [from, to), of rowids counted from the lowest */
  uint64_t to;      /* 0: after the greatest rowid */
  uint64_t run_end; /* the end of the last finished run */
  int is_in_run;
  uint64_t hash;
} tr_key_record;

/* Adds a key, which must be above all that were added before. TR_NO_MEMORY. */
tr_code tr_key_record_add(tr_key_record *record, tr_bytes key, tr_error *err);

/* The same for all rowids from `first` to `last`. */
tr_code tr_key_record_add_run(tr_key_record *record, int64_t first, int64_t last, tr_error *err);

/* Sets `*bytes` to the record of what was added. TR_NO_MEMORY. */
tr_code tr_key_record_finish(tr_key_record *record, tr_buffer *bytes, tr_error *err);
void tr_key_record_free(tr_key_record *record);

/* Reads a record of runs, in ascending order. */
typedef struct tr_key_runs {
  tr_bytes bytes;
  size_t offset;
  uint64_t from;
  uint64_t last; /* of the current run [from, last] */
  int has_run;
  int is_started;
  int is_damaged; /* the bytes end within a run, or a run goes past the greatest rowid */
} tr_key_runs;

/*
** Begins to read. 1: the bytes are runs, which can tell which keys are new. 0: a hash or anything
** else.
*/
int tr_key_runs_begin(tr_key_runs *runs, tr_bytes bytes);

/* Whether the record has the key. Keys must be asked for in ascending order. */
int tr_key_runs_contain(tr_key_runs *runs, tr_bytes key);

/* The next run as rowids, for callers that do not ask for keys. 1, or 0 after the last one. */
int tr_key_runs_next(tr_key_runs *runs, int64_t *first, int64_t *last);

/* Whether the bytes may be a record, by the first byte and the size. */
int tr_key_record_may_be(tr_bytes bytes);

/* Whether all bytes are a valid record. */
int tr_key_record_is_whole(tr_bytes bytes);

/*
** Whether the record has all keys from the last one that was asked for, which it has, up to `end`.
*/
int tr_key_runs_reach(const tr_key_runs *runs, tr_bytes end);

#endif

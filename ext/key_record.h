/*
** What keys a bundle had when it was claimed, in few bytes, so that later rows can be told from earlier
** ones (job_rescan).
**
** Rowids are kept exactly, as runs of consecutive ones: two or three bytes for each run, so for a whole
** bundle of an unbroken table. Of other keys only a hash of all of them in their order is kept, eight
** bytes: it says whether anything has changed, not what.
**
** Format: the byte 'r', then for each run the distance from the end of the last one (the first: from the
** lowest rowid) and its length less one, as LEB128; or the byte 'h' and the hash, little-endian.
**
** Ownership: a record that is being made owns its buffer. Pure but for memory; thread-safe.
*/
#ifndef TR_EXT_KEY_RECORD_H
#define TR_EXT_KEY_RECORD_H

#include "base/bytes.h"

/* Making one. All zero but for `is_rowid` is the record of no keys. */
typedef struct tr_key_record {
  int is_rowid;
  tr_buffer runs;   /* finished runs */
  uint64_t from;    /* the present run [from, to), of rowids counted from the lowest */
  uint64_t to;      /* 0 behind the greatest rowid */
  uint64_t run_end; /* the end of the last finished run */
  int is_in_run;
  uint64_t hash;
} tr_key_record;

/* Adds a key above all before. TR_NO_MEMORY. */
tr_code tr_key_record_add(tr_key_record *record, tr_bytes key, tr_error *err);

/* The same for all rowids from `first` to `last`. */
tr_code tr_key_record_add_run(tr_key_record *record, int64_t first, int64_t last, tr_error *err);

/* Sets `*bytes` to the record of what was added. TR_NO_MEMORY. */
tr_code tr_key_record_finish(tr_key_record *record, tr_buffer *bytes, tr_error *err);
void tr_key_record_free(tr_key_record *record);

/* Reading one of runs, in ascending order. */
typedef struct tr_key_runs {
  tr_bytes bytes;
  size_t offset;
  uint64_t from;
  uint64_t last; /* of the present run [from, last] */
  int has_run;
  int is_started;
  int is_damaged; /* the bytes end within a run, or run over the greatest rowid */
} tr_key_runs;

/* 1 if the bytes are runs, and so can tell which keys are new; 0 for a hash or anything else. */
int tr_key_runs_begin(tr_key_runs *runs, tr_bytes bytes);

/* Whether the record has the key. To be asked in ascending order. */
int tr_key_runs_contain(tr_key_runs *runs, tr_bytes key);

/* The next run as rowids, instead of asking for keys: 1, or 0 behind the last. */
int tr_key_runs_next(tr_key_runs *runs, int64_t *first, int64_t *last);

/* Whether the bytes are a record, as far as the first of them and their number say. */
int tr_key_record_may_be(tr_bytes bytes);

/* Whether they are one from the first to the last. */
int tr_key_record_is_whole(tr_bytes bytes);

/* Whether the record has all that lie between the key that was asked for last, which it has, and `end`. */
int tr_key_runs_reach(const tr_key_runs *runs, tr_bytes end);

#endif

/*
** Records of keys: LEB128 runs of rowids, or a hash over all keys.
*/
#include "key_record.h"

#include "base/hash.h"
#include "base/little_endian.h"
#include "range/byte_key.h"

enum { RUNS = 'r', HASH = 'h', HASH_SIZE = 8 };

/* A rowid's key is its number counted from the lowest, big-endian. */
static uint64_t number_of(tr_bytes key) {
  uint64_t number = 0;
  for (size_t i = 0; i < key.size; i++) number = number << 8 | key.data[i];
  return number;
}

static uint64_t number_of_rowid(int64_t rowid) {
  return (uint64_t)rowid ^ UINT64_C(1) << 63;
}

enum { NUMBER_SIZE_MAX = 10 };

/* Writes a number as LEB128. Returns its size in bytes. */
static size_t put_number(uint8_t *bytes, uint64_t number) {
  size_t size = 0;
  do {
    bytes[size] = (uint8_t)(number & 0x7f);
    number >>= 7;
    if (number != 0) bytes[size] |= 0x80;
    size++;
  } while (number != 0);
  return size;
}

/* Reads a number. 0: the bytes have ended. */
static int read_number(tr_key_runs *runs, uint64_t *number) {
  *number = 0;
  for (int shift = 0; shift < 64 && runs->offset < runs->bytes.size; shift += 7) {
    uint8_t byte = runs->bytes.data[runs->offset++];
    *number |= (uint64_t)(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return 1;
  }
  return 0;
}

static tr_code end_run(tr_key_record *record, tr_error *err) {
  uint8_t bytes[2 * NUMBER_SIZE_MAX];
  if (!record->is_in_run) return TR_OK;
  size_t size = put_number(bytes, record->from - record->run_end);
  size += put_number(bytes + size, record->to - record->from - 1);
  record->run_end = record->to;
  record->is_in_run = 0;
  return tr_buffer_append(&record->runs, (tr_bytes){bytes, size}, err);
}

/* Adds [from, to). */
static tr_code add_numbers(tr_key_record *record, uint64_t from, uint64_t to, tr_error *err) {
  if (record->is_in_run && from == record->to) {
    record->to = to;
    return TR_OK;
  }
  tr_code code = end_run(record, err);
  record->from = from;
  record->to = to;
  record->is_in_run = 1;
  return code;
}

tr_code tr_key_record_add(tr_key_record *record, tr_bytes key, tr_error *err) {
  if (!record->is_rowid) {
    record->hash = tr_hash128_of(key, record->hash).low;
    return TR_OK;
  }
  int64_t rowid = tr_byte_key_to_rowid(key.data);
  return tr_key_record_add_run(record, rowid, rowid, err);
}

tr_code tr_key_record_add_run(tr_key_record *record, int64_t first, int64_t last, tr_error *err) {
  return add_numbers(record, number_of_rowid(first), number_of_rowid(last) + 1, err);
}

tr_code tr_key_record_finish(tr_key_record *record, tr_buffer *bytes, tr_error *err) {
  uint8_t hash[8];
  tr_store_u64(hash, record->hash);
  tr_code code = end_run(record, err);
  bytes->size = 0;
  if (code == TR_OK) code = tr_buffer_append_byte(bytes, record->is_rowid ? RUNS : HASH, err);
  if (code != TR_OK) return code;
  return tr_buffer_append(
      bytes, record->is_rowid ? tr_buffer_bytes(&record->runs) : (tr_bytes){hash, sizeof hash},
      err);
}

void tr_key_record_free(tr_key_record *record) {
  tr_buffer_free(&record->runs);
}

int tr_key_runs_begin(tr_key_runs *runs, tr_bytes bytes) {
  *runs = (tr_key_runs){.bytes = bytes, .offset = 1};
  return bytes.size > 0 && bytes.data[0] == RUNS;
}

/* Moves to the next run. */
static void next_run(tr_key_runs *runs) {
  uint64_t distance;
  uint64_t more;
  uint64_t end = runs->is_started ? runs->last + 1 : 0;
  int is_at_end = runs->offset >= runs->bytes.size;
  runs->has_run = read_number(runs, &distance) && read_number(runs, &more);
  if (runs->has_run) {
    runs->from = end + distance;
    runs->last = runs->from + more;
  }
  int runs_over = runs->has_run &&
                  (runs->from < end || runs->last < runs->from || (runs->is_started && end == 0));
  runs->is_started = 1;
  if (!runs_over && (runs->has_run || is_at_end)) return;
  runs->has_run = 0;
  runs->is_damaged = 1;
}

int tr_key_record_may_be(tr_bytes bytes) {
  if (bytes.size == 0) return 1;
  return bytes.data[0] == RUNS || (bytes.data[0] == HASH && bytes.size == 1 + HASH_SIZE);
}

int tr_key_record_is_whole(tr_bytes bytes) {
  tr_key_runs runs;
  if (!tr_key_runs_begin(&runs, bytes)) return tr_key_record_may_be(bytes);
  do {
    next_run(&runs);
  } while (runs.has_run);
  return !runs.is_damaged;
}

int tr_key_runs_contain(tr_key_runs *runs, tr_bytes key) {
  uint64_t number = number_of(key);
  if (!runs->is_started) next_run(runs);
  while (runs->has_run && runs->last < number) next_run(runs);
  return runs->has_run && runs->from <= number;
}

/* The rowid of a number counted from the lowest. */
static int64_t rowid_of(uint64_t number) {
  return (int64_t)(number ^ UINT64_C(1) << 63);
}

int tr_key_runs_next(tr_key_runs *runs, int64_t *first, int64_t *last) {
  next_run(runs);
  if (!runs->has_run) return 0;
  *first = rowid_of(runs->from);
  *last = rowid_of(runs->last);
  return 1;
}

int tr_key_runs_reach(const tr_key_runs *runs, tr_bytes end) {
  return runs->has_run && end.size == TR_ROWID_KEY_SIZE && runs->last >= number_of(end) - 1;
}

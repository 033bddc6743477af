/*
** Prepares and steps the inner SELECT (its text: statement_sql.h).
**
** Its columns are those of the key, the rowid, and the outputs. Its parameters are those of the
** caller, of the lower bound, and of the upper bound. A range is read segment by segment
** (key_bytes.h), each with SQL of its own. The statement is kept as long as the next range or
** segment needs SQL of the same shape.
**
** If a bound is not exact, the reader compares keys: with the start until the first key that
** reaches it, and with the end for each row.
*/
#include "host/statement_reader.h"

#include <string.h>

#include "base/memory.h"
#include "host/key_bytes.h"
#include "host/source_change.h"
#include "host/statement_sql.h"
#include "range/byte_key.h"

/* A value that the caller bound, with its bytes. */
typedef struct parameter {
  tr_value value;
  tr_buffer bytes;
} parameter;

struct tr_statement_reader {
  sqlite3 *db;
  const char *function;
  tr_source_table *source;
  int has_key; /* reads in key order; positions are keys */
  char *outputs;
  char *conditions; /* `(a) AND (b)`; `1`: there is none */
  parameter *parameters;
  int parameter_count;

  sqlite3_stmt *stmt;
  int is_proven;    /* since it was prepared, the table was found to be what `source` says */
  int has_seen_key; /* since it was prepared, a key of the table was read */
  sqlite3_stmt *version_stmt;
  tr_statement_shape shape;
  sqlite3_stmt *end_stmts[2];    /* for the table's first and last key; NULL until used */
  sqlite3_stmt *last_rowid_stmt; /* for its greatest rowid; NULL until used */
  int first_output;
  sqlite3_value **values; /* of the present row, by columns */
  int knows_values;       /* `values` are where this run of the statement puts its rows */
  uint32_t checked_rows;  /* rows of this statement for which that was checked */
  int has_one_place;      /* the program of the statement puts all rows in one place */

  tr_buffer start;
  tr_buffer end;
  tr_key_segments segments;
  int segment;        /* the one that is being read; -1: not open */
  int must_skip;      /* no key at or above the start was read yet */
  int must_cut;       /* keys at or above the end may come */
  int64_t row_number; /* of the next row */
  uint8_t rowid_key[TR_ROWID_KEY_SIZE];
  tr_buffer key;      /* a key of another form */
  tr_buffer last_key; /* of such a form: that of the last row; empty before the first */
};

static tr_statement_parts parts_of(const tr_statement_reader *reader) {
  return (tr_statement_parts){reader->source, reader->has_key, reader->outputs, reader->conditions,
                              reader->parameter_count};
}

static int selects_rowid(const tr_statement_reader *reader) {
  const tr_statement_parts parts = parts_of(reader);
  return tr_statement_selects_rowid(&parts);
}

/* --- Preparing and binding ---------------------------------------------------------------- */

/*
** Fills `err` for a failure of the inner statement. If the table has changed, that is the cause,
** and the error says so. Returns -1.
*/
static int explain_failure(tr_statement_reader *reader, const tr_error *reason, tr_error *err) {
  tr_error change;
  int is_plain = reason->code == TR_HOST && (reason->host_code & 0xff) == SQLITE_ERROR;
  if (is_plain &&
      tr_source_table_is_current(reader->source, reader->db, reader->function, &change) == 0) {
    reason = &change;
  }
  if (err != NULL) *err = *reason;
  return -1;
}

static tr_code prepare(tr_statement_reader *reader, const tr_statement_shape *s, tr_error *err) {
  tr_error reason;
  const tr_statement_parts parts = parts_of(reader);
  sqlite3_finalize(reader->stmt);
  reader->stmt = NULL;
  tr_code code =
      tr_sql_prepare(reader->db, tr_statement_sql(reader->db, &parts, s), &reader->stmt, &reason);
  if (code != TR_OK) {
    explain_failure(reader, &reason, err);
    return err != NULL ? err->code : code;
  }
  reader->shape = *s;
  reader->is_proven = 0;
  reader->has_seen_key = 0;
  reader->checked_rows = 0;
  reader->has_one_place = 0;
  return TR_OK;
}

static int bind_all(const tr_statement_reader *reader, const tr_sql_bound *lower,
                    const tr_sql_bound *upper) {
  int rc = SQLITE_OK;
  int index = 1;
  for (int i = 0; i < reader->parameter_count && rc == SQLITE_OK; i++) {
    rc = tr_bind_value(reader->stmt, index++, &reader->parameters[i].value);
    if (rc == SQLITE_RANGE) rc = SQLITE_OK; /* no condition uses it */
  }
  for (int i = 0; i < lower->count && rc == SQLITE_OK; i++) {
    rc = tr_bind_value(reader->stmt, index++, &lower->values[i]);
  }
  for (int i = 0; i < upper->count && rc == SQLITE_OK; i++) {
    rc = tr_bind_value(reader->stmt, index++, &upper->values[i]);
  }
  return rc;
}

/* Makes the statement ready for the present segment. */
static tr_code begin_segment(tr_statement_reader *reader, tr_error *err) {
  static const tr_sql_bound no_bound = {.is_exact = 1};
  const tr_sql_bound *lower = &no_bound;
  const tr_sql_bound *upper = &no_bound;
  tr_statement_shape s = {0};
  if (reader->has_key) {
    const tr_key_segment *segment = &reader->segments.segments[reader->segment];
    lower = &segment->lower;
    upper = &segment->upper;
    s = (tr_statement_shape){segment->nulls,   segment->from, lower->count,
                             lower->is_strict, upper->count,  upper->is_strict};
  }
  reader->must_cut = !upper->is_exact;
  reader->knows_values = 0;
  if (reader->stmt == NULL || memcmp(&s, &reader->shape, sizeof s) != 0) {
    tr_code code = prepare(reader, &s, err);
    if (code != TR_OK) return code;
  } else {
    sqlite3_reset(reader->stmt);
  }
  int rc = bind_all(reader, lower, upper);
  return rc == SQLITE_OK ? TR_OK : tr_error_of_sqlite(err, reader->db, rc);
}

/* --- Creating ----------------------------------------------------------------------------- */

/*
** Joins texts, each in parentheses if `is_enclosed` is set; `without` if there are none. NULL: out
** of memory.
*/
static char *join(sqlite3 *db, const char *const *texts, int count, const char *between,
                  int is_enclosed, const char *without) {
  sqlite3_str *sql = sqlite3_str_new(db);
  for (int i = 0; i < count; i++) {
    if (i > 0) sqlite3_str_appendall(sql, between);
    sqlite3_str_appendf(sql, is_enclosed ? "(%s)" : "%s", texts[i]);
  }
  if (count == 0) sqlite3_str_appendall(sql, without);
  return sqlite3_str_finish(sql);
}

static tr_code create_parameters(tr_statement_reader *reader, int count, tr_error *err) {
  if (count == 0) return TR_OK;
  reader->parameters = tr_malloc((size_t)count * sizeof *reader->parameters);
  if (reader->parameters == NULL) return tr_error_no_memory(err);
  reader->parameter_count = count;
  for (int i = 0; i < count; i++) reader->parameters[i] = (parameter){.value = tr_value_null()};
  return TR_OK;
}

static tr_code look_at_source(tr_statement_reader *reader, tr_error *err) {
  int is_current = tr_source_table_is_current(reader->source, reader->db, reader->function, err);
  if (is_current == 1) return TR_OK;
  return is_current == 0 || err == NULL ? TR_INVALID_STATE : err->code;
}

tr_code tr_statement_reader_create(sqlite3 *db, const tr_statement_request *request,
                                   tr_statement_reader **reader_out, tr_error *err) {
  *reader_out = NULL;
  tr_statement_reader *reader = tr_malloc(sizeof *reader);
  if (reader == NULL) return tr_error_no_memory(err);
  memset(reader, 0, sizeof *reader);
  reader->db = db;
  reader->function = request->function;
  reader->source = request->source;
  reader->has_key = request->wants_key && request->source->key.form != TR_KEY_NONE;
  reader->segment = -1;
  reader->first_output = selects_rowid(reader);
  if (reader->has_key && reader->source->key.form != TR_KEY_ROWID) {
    reader->first_output += reader->source->key.column_count;
  }
  reader->outputs = join(db, request->outputs, request->output_count, ", ", 0, "NULL");
  reader->conditions = join(db, request->conditions, request->condition_count, " AND ", 1, "1");
  tr_code code = create_parameters(reader, request->parameter_count, err);
  if (code == TR_OK && (reader->outputs == NULL || reader->conditions == NULL)) {
    code = tr_error_no_memory(err);
  }
  if (code == TR_OK) code = look_at_source(reader, err);
  if (code != TR_OK) {
    tr_statement_reader_free(reader);
    return code;
  }
  *reader_out = reader;
  return TR_OK;
}

void tr_statement_reader_free(tr_statement_reader *reader) {
  if (reader == NULL) return;
  sqlite3_finalize(reader->stmt);
  for (int i = 0; i < 2; i++) sqlite3_finalize(reader->end_stmts[i]);
  sqlite3_finalize(reader->last_rowid_stmt);
  sqlite3_finalize(reader->version_stmt);
  sqlite3_free(reader->outputs);
  sqlite3_free(reader->conditions);
  for (int i = 0; i < reader->parameter_count; i++) tr_buffer_free(&reader->parameters[i].bytes);
  tr_free(reader->parameters);
  tr_buffer_free(&reader->start);
  tr_buffer_free(&reader->end);
  tr_buffer_free(&reader->key);
  tr_buffer_free(&reader->last_key);
  tr_free(reader->values);
  tr_key_segments_free(&reader->segments);
  tr_free(reader);
}

tr_code tr_statement_reader_bind(tr_statement_reader *reader, int index, const tr_value *value,
                                 tr_error *err) {
  parameter *p = &reader->parameters[index - 1];
  tr_value copy = *value;
  if (value->type >= TR_TEXT) {
    tr_code code = tr_buffer_set(&p->bytes, value->bytes, err);
    if (code != TR_OK) return code;
    copy.bytes = tr_buffer_bytes(&p->bytes);
  }
  p->value = copy;
  return TR_OK;
}

/* --- Reading ------------------------------------------------------------------------------ */

tr_code tr_statement_reader_open(tr_statement_reader *reader, tr_bytes start, tr_bytes end,
                                 tr_error *err) {
  tr_statement_reader_reset(reader);
  reader->row_number = 0;
  reader->last_key.size = 0;
  reader->must_skip = start.size > 0; /* ends at the first row if the bound is exact */
  if (reader->has_key) {
    tr_code code = tr_buffer_set(&reader->start, start, err);
    if (code == TR_OK) code = tr_buffer_set(&reader->end, end, err);
    if (code == TR_OK) {
      code = tr_key_segments_of_range(reader->source, start, end, &reader->segments, err);
    }
    if (code != TR_OK) return code;
    if (reader->segments.count == 0) return tr_statement_reader_check(reader, err);
  }
  reader->segment = 0;
  tr_code code = begin_segment(reader, err);
  if (code != TR_OK) reader->segment = -1;
  return code;
}

void tr_statement_reader_reset(tr_statement_reader *reader) {
  sqlite3_reset(reader->stmt);
  reader->segment = -1;
}

/* Finds where the values of the present row are. */
static int find_values(tr_statement_reader *reader, tr_error *err) {
  int count = sqlite3_column_count(reader->stmt);
  sqlite3_value **values = tr_realloc(reader->values, (size_t)count * sizeof *values);
  if (values == NULL) return tr_error_no(err, TR_NO_MEMORY, "out of memory");
  for (int i = 0; i < count; i++) values[i] = sqlite3_column_value(reader->stmt, i);
  reader->values = values;
  reader->knows_values = 1;
  return 1;
}

/*
** Whether the schema is the same as when the source was last found to be right. 0: the source must
** be checked.
*/
static int has_known_schema(tr_statement_reader *reader) {
  if (reader->version_stmt == NULL &&
      tr_sql_prepare(reader->db, tr_source_version_sql(reader->source, reader->db),
                     &reader->version_stmt, NULL) != TR_OK) {
    return 0;
  }
  int is_known = sqlite3_step(reader->version_stmt) == SQLITE_ROW &&
                 tr_source_table_has_version(reader->source, reader->db,
                                             sqlite3_column_int64(reader->version_stmt, 0));
  sqlite3_reset(reader->version_stmt);
  return is_known;
}

tr_code tr_statement_reader_check(tr_statement_reader *reader, tr_error *err) {
  if (has_known_schema(reader)) return TR_OK;
  return look_at_source(reader, err);
}

/*
** Checks the table if the statement has been prepared since the last check, by us or again by
** SQLite. A check that failed is still due.
*/
static tr_code prove(tr_statement_reader *reader, tr_error *err) {
  int is_prepared_again = sqlite3_stmt_status(reader->stmt, SQLITE_STMTSTATUS_REPREPARE, 0) > 0;
  if (reader->is_proven && !is_prepared_again) return TR_OK;
  tr_code code = tr_statement_reader_check(reader, err);
  if (code != TR_OK) return code;
  sqlite3_stmt_status(reader->stmt, SQLITE_STMTSTATUS_REPREPARE, 1);
  reader->is_proven = 1;
  if (is_prepared_again) {
    reader->has_seen_key = 0;
    reader->checked_rows = 0;
    reader->has_one_place = 0;
  }
  return TR_OK;
}

/* Handles the first row of a run, and any step that gave no row. */
static int step_specially(tr_statement_reader *reader, int rc, tr_error *err) {
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
    tr_error reason;
    tr_error_of_sqlite(&reason, reader->db, rc);
    return explain_failure(reader, &reason, err);
  }
  if (prove(reader, err) != TR_OK) return -1;
  return rc == SQLITE_ROW ? find_values(reader, err) : 0;
}

/*
** Whether all instructions of the statement's program that give a row give it from the same place.
** If SQLite cannot explain the statement the answer is no, and each row is checked.
*/
static int has_one_place(const tr_statement_reader *reader) {
  sqlite3_stmt *program;
  int first = 0, count = 0, is_same = 1;
  sqlite3_str *sql = sqlite3_str_new(reader->db);
  sqlite3_str_appendf(sql, "EXPLAIN %s", sqlite3_sql(reader->stmt));
  if (tr_sql_prepare(reader->db, sql, &program, NULL) != TR_OK) return 0;
  int rc;
  while ((rc = sqlite3_step(program)) == SQLITE_ROW) {
    const char *opcode = (const char *)sqlite3_column_text(program, 1);
    if (opcode == NULL || strcmp(opcode, "ResultRow") != 0) continue;
    int place = sqlite3_column_int(program, 2);
    if (count++ == 0) first = place;
    is_same &= place == first;
  }
  sqlite3_finalize(program);
  return rc == SQLITE_DONE && count > 0 && is_same;
}

/* After so many rows it pays to look at the program once. */
#define ROWS_TO_CHECK 4000

/*
** Steps the statement. 1: a row. 0: the end of the segment. -1: failed.
**
** A statement puts the values of all its rows in the same place. So the place is found for the
** first row, and while the first value has not moved, the others have not, either. That check takes
** the connection's mutex twice, which is a tenth of the time of a row. So for a statement with many
** rows its program is inspected once, to prove that nothing can move. (SQLite prepares a statement
** again only before the first row of a run.)
*/
static int step(tr_statement_reader *reader, tr_error *err) {
  int rc = sqlite3_step(reader->stmt);
  if (rc != SQLITE_ROW || !reader->knows_values) return step_specially(reader, rc, err);
  if (reader->has_one_place) return 1;
  if (sqlite3_column_value(reader->stmt, 0) != reader->values[0]) {
    return step_specially(reader, rc, err);
  }
  if (reader->checked_rows < ROWS_TO_CHECK && ++reader->checked_rows == ROWS_TO_CHECK) {
    reader->has_one_place = has_one_place(reader);
  }
  return 1;
}

/* Makes the key of the present row. */
static tr_code make_key(tr_statement_reader *reader, tr_bytes *key, tr_error *err) {
  if (reader->source->key.form == TR_KEY_ROWID) {
    if (sqlite3_value_type(reader->values[0]) != SQLITE_INTEGER) {
      return tr_error_ignored(err, "a row's rowid cannot be read");
    }
    tr_byte_key_of_rowid(sqlite3_value_int64(reader->values[0]), reader->rowid_key);
    *key = (tr_bytes){reader->rowid_key, TR_ROWID_KEY_SIZE};
    return TR_OK;
  }
  return tr_key_of_row(reader->source, reader->function, reader->values, &reader->key, key, err);
}

/* Where the row's key is: 1 in the range, 0 before it, -1 behind it. */
static int place_in_range(tr_statement_reader *reader, tr_bytes key) {
  if (reader->must_skip) {
    if (tr_bytes_compare(key, tr_buffer_bytes(&reader->start)) < 0) return 0;
    reader->must_skip = 0;
  }
  if (reader->must_cut && reader->end.size > 0 &&
      tr_bytes_compare(key, tr_buffer_bytes(&reader->end)) >= 0) {
    return -1;
  }
  return 1;
}

/*
** Whether the row is the last one once more. 1: it is. 0: it is not, and its key was noted. -1: out
** of memory.
**
** SQLite finds its place in an index again by the whole record. So if the last row of a WITHOUT
** ROWID table was rewritten in its place after it was read (by an upsert of the same statement, or
** by another one of this connection), the new record counts as the next. A rowid finds the row
** itself.
*/
static int is_last_again(tr_statement_reader *reader, tr_bytes key, tr_error *err) {
  if (reader->source->key.form == TR_KEY_ROWID) return 0;
  tr_buffer *last = &reader->last_key;
  if (key.size == last->size && key.size > 0 && memcmp(key.data, last->data, key.size) == 0) {
    return 1;
  }
  return tr_buffer_set(last, key, err) == TR_OK ? 0 : -1;
}

/* Goes on to the next segment. 1: done. 0: there is none. -1: failed. */
static int next_segment(tr_statement_reader *reader, tr_error *err) {
  if (!reader->has_key || reader->segment + 1 >= reader->segments.count) return 0;
  reader->segment++;
  return begin_segment(reader, err) == TR_OK ? 1 : -1;
}

/*
** Makes sure that a range without rows really has none. If an authorizer has the key's columns
** ignored, they are NULL, and no row is within any bound. So one key of the table is read, which
** fails in that case. Returns 0, or -1. (A key that may be NULL proves nothing.)
*/
static int end_without_row(tr_statement_reader *reader, tr_error *err) {
  tr_error reason = {0};
  if (!reader->has_key || reader->has_seen_key) return 0;
  int has_key = tr_statement_reader_end_key(reader, 1, &reader->key, NULL, &reason);
  reader->has_seen_key = has_key == 1;
  if (has_key >= 0 || reason.code == TR_INVALID_STATE) return 0;
  if (err != NULL) *err = reason;
  return -1;
}

/*
** Drops the prepared statements. What an authorizer had SQLite ignore stays ignored in them, even
** after the authorizer is removed. Returns -1.
*/
static int forget_statements(tr_statement_reader *reader) {
  sqlite3_finalize(reader->stmt);
  reader->stmt = NULL;
  for (int i = 0; i < 2; i++) {
    sqlite3_finalize(reader->end_stmts[i]);
    reader->end_stmts[i] = NULL;
  }
  return -1;
}

static int find_next(tr_statement_reader *reader, tr_position *position, tr_error *err) {
  int result = reader->segment < 0 ? 0 : 1;
  while (result == 1) {
    result = step(reader, err);
    if (result == 0) {
      result = next_segment(reader, err);
      if (result == 0) result = end_without_row(reader, err);
      continue;
    }
    if (result < 0) break;
    if (!reader->has_key) {
      *position = tr_position_of_offset(reader->row_number++);
      return 1;
    }
    tr_bytes key;
    if (make_key(reader, &key, err) != TR_OK) {
      result = -1;
      break;
    }
    reader->has_seen_key = 1;
    int place = place_in_range(reader, key);
    if (place == 0) continue;
    if (place < 0) {
      result = 0;
      break;
    }
    int is_again = is_last_again(reader, key, err);
    if (is_again > 0) continue;
    if (is_again < 0) {
      result = -1;
      break;
    }
    *position = tr_position_of_key(key);
    return 1;
  }
  tr_statement_reader_reset(reader);
  return result;
}

int tr_statement_reader_next(tr_statement_reader *reader, tr_position *position, tr_error *err) {
  int result = find_next(reader, position, err);
  if (result >= 0) return result;
  int may_be_refused =
      err == NULL || (err->code == TR_HOST && (err->host_code & 0xff) == SQLITE_AUTH);
  return may_be_refused ? forget_statements(reader) : -1;
}

static tr_code read_last_rowid(tr_statement_reader *reader, int64_t *rowid, tr_error *err) {
  sqlite3_stmt **stmt = &reader->last_rowid_stmt;
  const tr_statement_parts parts = parts_of(reader);
  if (*stmt == NULL) {
    tr_code code =
        tr_sql_prepare(reader->db, tr_statement_last_rowid_sql(reader->db, &parts), stmt, err);
    if (code != TR_OK) return code;
  }
  int rc = sqlite3_step(*stmt);
  tr_code code = rc == SQLITE_ROW ? TR_OK : tr_error_of_sqlite(err, reader->db, rc);
  if (code == TR_OK) *rowid = sqlite3_column_int64(*stmt, 0);
  sqlite3_reset(*stmt);
  return code;
}

/* Copies the key that a statement's row begins with. */
static tr_code copy_key(const tr_statement_reader *reader, sqlite3_stmt *stmt, tr_buffer *key,
                        tr_error *err) {
  tr_bytes bytes;
  sqlite3_value *values[TR_KEY_COLUMNS_MAX + 1];
  for (int i = 0; i < reader->first_output; i++) values[i] = sqlite3_column_value(stmt, i);
  tr_code code = tr_key_of_row(reader->source, reader->function, values, key, &bytes, err);
  if (code != TR_OK || bytes.data == key->data) return code; /* it is there already */
  return tr_buffer_set(key, bytes, err);
}

int tr_statement_reader_end_key(tr_statement_reader *reader, int is_last, tr_buffer *key,
                                int64_t *last_rowid, tr_error *err) {
  sqlite3_stmt **kept = &reader->end_stmts[is_last];
  const tr_statement_parts parts = parts_of(reader);
  if (*kept == NULL && tr_sql_prepare(reader->db, tr_statement_end_sql(reader->db, &parts, is_last),
                                      kept, err) != TR_OK) {
    return -1;
  }
  sqlite3_stmt *stmt = *kept;
  int rc = sqlite3_step(stmt);
  int result = rc == SQLITE_ROW ? 1 : 0;
  /*
  ** Read before anything else is called: without a row, every other call would replace the error by
  ** its own.
  */
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
    tr_error_of_sqlite(err, reader->db, rc);
    result = -1;
  }
  if (result == 1 && copy_key(reader, stmt, key, err) != TR_OK) result = -1;
  sqlite3_reset(stmt);
  if (result == 1 && last_rowid != NULL && selects_rowid(reader) &&
      read_last_rowid(reader, last_rowid, err) != TR_OK) {
    result = -1;
  }
  return result;
}

const tr_source_table *tr_statement_reader_source(const tr_statement_reader *reader) {
  return reader->source;
}

sqlite3_stmt *tr_statement_reader_stmt(const tr_statement_reader *reader) {
  return reader->stmt;
}

int tr_statement_reader_first_output(const tr_statement_reader *reader) {
  return reader->first_output;
}

sqlite3_value *const *tr_statement_reader_values(const tr_statement_reader *reader) {
  return reader->values;
}

int tr_statement_reader_has_rowid(const tr_statement_reader *reader) {
  return selects_rowid(reader);
}

int64_t tr_statement_reader_rowid(const tr_statement_reader *reader) {
  return sqlite3_value_int64(reader->values[reader->first_output - 1]);
}

/* --- As a cursor -------------------------------------------------------------------------- */

static int cursor_next(void *cursor, tr_position *position, tr_error *err) {
  return tr_statement_reader_next(cursor, position, err);
}

static void cursor_close(void *cursor) {
  tr_statement_reader_free(cursor);
}

static void borrowed_cursor_close(void *cursor) {
  tr_statement_reader_reset(cursor);
}

const tr_cursor_class tr_statement_cursor_class = {cursor_next, cursor_close};
const tr_cursor_class tr_borrowed_statement_cursor_class = {cursor_next, borrowed_cursor_close};

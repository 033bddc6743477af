/*
** Rows of the bundle table: reading them, writing them, and finding one by its place among others.
**
** A row is always read as a whole, changed in memory and written as a whole. So there is one way to
** read and one to write, whatever happens to a bundle. Rows that change together (a cut) are
** written by one statement.
*/
#include "bundles.h"

#include <string.h>

#include "key_record.h"
#include "range/byte_key.h"

const char *const tr_bundle_state_names[TR_BUNDLE_STATES] = {
    [TR_BUNDLE_PENDING] = "pending",
    [TR_BUNDLE_CLAIMED] = "claimed",
    [TR_BUNDLE_DONE] = "done",
    [TR_BUNDLE_FAILED] = "failed",
};

/* --- Columns ------------------------------------------------------------------------------- */

enum {
  START,
  END,
  STATE,
  KEYS,
  CLAIMS,
  FAILURES,
  WORKER,
  LEASE,
  BOOT,
  SINCE,
  UNTIL,
  LEASE_LENGTH,
  CLAIMED_AT,
  FINISHED_AT,
  SECONDS,
  MESSAGE,
  RECORD,
  COLUMNS
};

/* When a column must have a value: never, while the bundle is claimed, always. */
typedef enum column_need { OPTIONAL, OF_CLAIMED, ALWAYS } column_need;

static const struct {
  const char *name;
  const char *declared;
  int type;
  column_need need;
  int64_t least;
  int64_t most;
} columns[COLUMNS] = {
    [START] = {"start_key", "BLOB NOT NULL PRIMARY KEY", SQLITE_BLOB, ALWAYS, 0, 0},
    [END] = {"end_key", "BLOB NOT NULL", SQLITE_BLOB, ALWAYS, 0, 0},
    [STATE] = {"state", "TEXT NOT NULL", SQLITE_TEXT, ALWAYS, 0, 0},
    [KEYS] = {"keys", "INTEGER", SQLITE_INTEGER, OPTIONAL, 0, TR_BUNDLE_MOST},
    [CLAIMS] = {"claims", "INTEGER NOT NULL", SQLITE_INTEGER, ALWAYS, 0, TR_BUNDLE_MOST},
    [FAILURES] = {"failures", "INTEGER NOT NULL", SQLITE_INTEGER, ALWAYS, 0, TR_BUNDLE_MOST},
    [WORKER] = {"worker", "TEXT", SQLITE_TEXT, OF_CLAIMED, 0, 0},
    [LEASE] = {"lease", "INTEGER", SQLITE_INTEGER, OF_CLAIMED, 1, INT64_MAX},
    [BOOT] = {"boot", "TEXT", SQLITE_TEXT, OF_CLAIMED, 0, 0},
    [SINCE] = {"since", "INTEGER", SQLITE_INTEGER, OF_CLAIMED, 0, TR_BUNDLE_MOST},
    [UNTIL] = {"until", "INTEGER", SQLITE_INTEGER, OF_CLAIMED, 0, TR_BUNDLE_MOST},
    [LEASE_LENGTH] = {"lease_length", "INTEGER", SQLITE_INTEGER, OF_CLAIMED, 0, TR_BUNDLE_MOST},
    [CLAIMED_AT] = {"claimed_at", "INTEGER", SQLITE_INTEGER, OF_CLAIMED, 1, TR_BUNDLE_MOST},
    [FINISHED_AT] = {"finished_at", "INTEGER", SQLITE_INTEGER, OPTIONAL, 1, TR_BUNDLE_MOST},
    [SECONDS] = {"seconds", "REAL", SQLITE_FLOAT, OPTIONAL, 0, 0},
    [MESSAGE] = {"message", "TEXT", SQLITE_TEXT, OPTIONAL, 0, 0},
    [RECORD] = {"record", "BLOB", SQLITE_BLOB, OPTIONAL, 0, 0},
};

void tr_bundle_append_columns(sqlite3_str *sql, int are_declared) {
  for (int i = 0; i < COLUMNS; i++) {
    sqlite3_str_appendf(sql, "%s%s", i == 0 ? "" : ", ", columns[i].name);
    if (are_declared) sqlite3_str_appendf(sql, " %s", columns[i].declared);
  }
}

void tr_bundle_append_parameters(sqlite3_str *sql, int rows) {
  for (int i = 0; i < rows * COLUMNS; i++) {
    int is_first = i % COLUMNS == 0;
    sqlite3_str_appendf(sql, "%s?%d", i == 0 ? "(" : is_first ? "), (" : ", ", i + 1);
  }
  sqlite3_str_appendall(sql, ")");
}

void tr_bundle_free(tr_bundle *bundle) {
  tr_buffer_free(&bundle->start);
  tr_buffer_free(&bundle->end);
  tr_buffer_free(&bundle->worker);
  tr_buffer_free(&bundle->message);
  tr_buffer_free(&bundle->record);
  *bundle = (tr_bundle){0};
}

/* --- Reading ------------------------------------------------------------------------------ */

/*
** The values of a row. They are asked for once and then read without taking the connection's mutex,
** which is held since we are in a call.
*/
typedef sqlite3_value *row_values[COLUMNS];

tr_code tr_bundle_read_bytes(sqlite3_value *value, tr_buffer *buffer, tr_error *err) {
  int type = sqlite3_value_type(value);
  if (type == SQLITE_NULL) {
    buffer->size = 0;
    return TR_OK;
  }
  const void *bytes =
      type == SQLITE_TEXT ? (const void *)sqlite3_value_text(value) : sqlite3_value_blob(value);
  size_t size = (size_t)sqlite3_value_bytes(value);
  if (bytes == NULL && size > 0) return tr_error_no_memory(err);
  return tr_buffer_set(buffer, (tr_bytes){bytes, size}, err);
}

/* The start of the bundle as an SQL literal. */
static const char *start_of(const tr_bundle *bundle, tr_literal literal) {
  tr_value start = tr_value_blob(tr_buffer_bytes(&bundle->start));
  return tr_value_literal(&start, literal);
}

tr_code tr_bundle_error(const tr_bundle *bundle, const char *what, tr_error *err) {
  tr_literal start;
  return tr_error_set(err, TR_CORRUPT, "bundle %s %s", start_of(bundle, start), what);
}

tr_code tr_bundle_refuse_record(const tr_bundle *bundle, tr_error *err) {
  return tr_bundle_error(bundle, "has a record that is damaged", err);
}

static tr_code read_state(sqlite3_value *value, tr_bundle *bundle, tr_error *err) {
  tr_literal start;
  if (sqlite3_value_type(value) == SQLITE_NULL) {
    return tr_error_ignored(err, "a bundle's state cannot be read");
  }
  const char *text = (const char *)sqlite3_value_text(value);
  if (text == NULL) return tr_error_no_memory(err);
  for (int i = 0; i < TR_BUNDLE_STATES; i++) {
    if (strcmp(text, tr_bundle_state_names[i]) != 0) continue;
    bundle->state = (tr_bundle_state)i;
    return TR_OK;
  }
  return tr_error_set(err, TR_CORRUPT, "bundle %s has the state '%s', which there is not",
                      start_of(bundle, start), text);
}

static int is_null(sqlite3_value *value) {
  return sqlite3_value_type(value) == SQLITE_NULL;
}

/*
** Checks that each column has what bind() writes. A damaged number could overflow, or be no time.
*/
static tr_code check_columns(const row_values values, const tr_bundle *bundle, tr_error *err) {
  for (int i = 0; i < COLUMNS; i++) {
    sqlite3_value *value = values[i];
    int type = sqlite3_value_type(value);
    int64_t integer = type == SQLITE_INTEGER ? sqlite3_value_int64(value) : 0;
    int may_be_null = columns[i].need == OPTIONAL ||
                      (columns[i].need == OF_CLAIMED && bundle->state != TR_BUNDLE_CLAIMED);
    if (type == SQLITE_NULL ? may_be_null
                            : type == columns[i].type &&
                                  (type != SQLITE_INTEGER ||
                                   (integer >= columns[i].least && integer <= columns[i].most))) {
      continue;
    }
    tr_literal literal;
    tr_literal start;
    tr_value wrong = tr_value_of_sqlite(value);
    return tr_error_set(err, TR_CORRUPT, "bundle %s is damaged: %s = %s", start_of(bundle, start),
                        columns[i].name, tr_value_literal(&wrong, literal));
  }
  return TR_OK;
}

/*
** Checks that the range without an upper bound is pending and not counted, that every other is
** counted, and that each ends after its start. Otherwise claiming and rescanning might not end.
*/
static tr_code check_range(const tr_bundle *bundle, tr_error *err) {
  tr_bytes end = tr_buffer_bytes(&bundle->end);
  int is_open = end.size == 0;
  if (is_open && (bundle->state != TR_BUNDLE_PENDING || bundle->keys >= 0)) {
    return tr_bundle_error(bundle, "has no end, and is not the rest of the table", err);
  }
  if (!is_open && bundle->keys < 0) return tr_bundle_error(bundle, "was never counted", err);
  if (!is_open && tr_bytes_compare(tr_buffer_bytes(&bundle->start), end) >= 0) {
    return tr_bundle_error(bundle, "holds no key: it ends where it begins, or before", err);
  }
  if (!tr_key_record_may_be(tr_buffer_bytes(&bundle->record))) {
    return tr_bundle_error(bundle, "has a record that is none", err);
  }
  return TR_OK;
}

/* Copies the name of a boot, as much of it as fits: another machine's may be longer. */
static void read_boot(sqlite3_value *value, char boot[TR_BOOT_NAME_SIZE]) {
  const char *text = is_null(value) ? NULL : (const char *)sqlite3_value_text(value);
  size_t size = text == NULL ? 0 : strnlen(text, TR_BOOT_NAME_SIZE - 1);
  if (size > 0) memcpy(boot, text, size);
  boot[size] = '\0';
}

tr_code tr_bundle_read(sqlite3_stmt *stmt, tr_bundle *bundle, tr_error *err) {
  row_values values;
  for (int i = 0; i < COLUMNS; i++) values[i] = sqlite3_column_value(stmt, i);
  bundle->keys = is_null(values[KEYS]) ? -1 : sqlite3_value_int64(values[KEYS]);
  bundle->claims = sqlite3_value_int64(values[CLAIMS]);
  bundle->failures = sqlite3_value_int64(values[FAILURES]);
  bundle->has_worker = !is_null(values[WORKER]);
  bundle->lease = sqlite3_value_int64(values[LEASE]);
  bundle->since = sqlite3_value_int64(values[SINCE]);
  bundle->until = sqlite3_value_int64(values[UNTIL]);
  bundle->lease_length = sqlite3_value_int64(values[LEASE_LENGTH]);
  bundle->claimed_at = sqlite3_value_int64(values[CLAIMED_AT]);
  bundle->finished_at = sqlite3_value_int64(values[FINISHED_AT]);
  bundle->seconds = is_null(values[SECONDS]) ? -1 : sqlite3_value_double(values[SECONDS]);
  bundle->has_message = !is_null(values[MESSAGE]);
  read_boot(values[BOOT], bundle->boot);
  tr_code code = tr_bundle_read_bytes(values[START], &bundle->start, err);
  if (code == TR_OK) code = read_state(values[STATE], bundle, err);
  if (code == TR_OK) code = check_columns(values, bundle, err);
  if (code == TR_OK) code = tr_bundle_read_bytes(values[END], &bundle->end, err);
  if (code == TR_OK) code = tr_bundle_read_bytes(values[WORKER], &bundle->worker, err);
  if (code == TR_OK) code = tr_bundle_read_bytes(values[MESSAGE], &bundle->message, err);
  if (code == TR_OK) code = tr_bundle_read_bytes(values[RECORD], &bundle->record, err);
  return code == TR_OK ? check_range(bundle, err) : code;
}

int tr_bundle_step(tr_job *job, sqlite3_stmt *stmt, tr_bundle *bundle, tr_error *err) {
  int has_row = tr_job_step(job, stmt, err);
  if (has_row <= 0) return has_row;
  tr_code code = tr_bundle_read(stmt, bundle, err);
  sqlite3_reset(stmt);
  sqlite3_clear_bindings(stmt);
  return code == TR_OK ? 1 : -1;
}

/* --- Writing ------------------------------------------------------------------------------ */

static tr_value integer_or_null(int has_value, int64_t integer) {
  return has_value ? tr_value_integer(integer) : tr_value_null();
}

/* Binds a value without a copy: the bundle does not change until the statement has run. */
static int bind_borrowed(sqlite3_stmt *stmt, int index, const tr_value *value) {
  if (value->type < TR_TEXT) return tr_bind_value(stmt, index, value);
  const char *bytes = value->bytes.size == 0 ? "" : (const char *)value->bytes.data;
  int size = (int)value->bytes.size;
  return value->type == TR_TEXT ? sqlite3_bind_text(stmt, index, bytes, size, SQLITE_STATIC)
                                : sqlite3_bind_blob(stmt, index, bytes, size, SQLITE_STATIC);
}

static int bind(sqlite3_stmt *stmt, int first, const tr_bundle *bundle) {
  int was_claimed = bundle->claimed_at != 0;
  tr_value values[COLUMNS] = {
      [START] = tr_value_blob(tr_buffer_bytes(&bundle->start)),
      [END] = tr_value_blob(tr_buffer_bytes(&bundle->end)),
      [STATE] = tr_value_text(tr_bytes_of_text(tr_bundle_state_names[bundle->state])),
      [KEYS] = integer_or_null(bundle->keys >= 0, bundle->keys),
      [CLAIMS] = tr_value_integer(bundle->claims),
      [FAILURES] = tr_value_integer(bundle->failures),
      [LEASE] = integer_or_null(bundle->lease != 0, bundle->lease),
      [SINCE] = integer_or_null(was_claimed, bundle->since),
      [UNTIL] = integer_or_null(was_claimed, bundle->until),
      [LEASE_LENGTH] = integer_or_null(was_claimed, bundle->lease_length),
      [CLAIMED_AT] = integer_or_null(was_claimed, bundle->claimed_at),
      [FINISHED_AT] = integer_or_null(bundle->finished_at != 0, bundle->finished_at),
      [SECONDS] = bundle->seconds < 0 ? tr_value_null() : tr_value_real(bundle->seconds),
  };
  if (bundle->has_worker) values[WORKER] = tr_value_text(tr_buffer_bytes(&bundle->worker));
  if (was_claimed) values[BOOT] = tr_value_text(tr_bytes_of_text(bundle->boot));
  if (bundle->has_message) values[MESSAGE] = tr_value_text(tr_buffer_bytes(&bundle->message));
  if (bundle->record.size > 0) values[RECORD] = tr_value_blob(tr_buffer_bytes(&bundle->record));
  int rc = SQLITE_OK;
  for (int i = 0; i < COLUMNS && rc == SQLITE_OK; i++) {
    /* A parameter that is not bound is NULL. */
    if (values[i].type != TR_NULL) rc = bind_borrowed(stmt, first + i, &values[i]);
  }
  return rc;
}

tr_code tr_bundles_write(tr_job *job, const tr_bundle *const *bundles, int count, tr_error *err) {
  tr_job_sql sql = (tr_job_sql)(TR_BUNDLE_WRITE_ONE + count - 1);
  sqlite3_stmt *stmt;
  tr_code code = tr_job_statement(job, sql, &stmt, err);
  int rc = SQLITE_OK;
  if (code != TR_OK) return code;
  for (int i = 0; i < count && rc == SQLITE_OK; i++) rc = bind(stmt, 1 + i * COLUMNS, bundles[i]);
  if (rc != SQLITE_OK) {
    sqlite3_clear_bindings(stmt);
    return tr_error_of_sqlite(err, job->db, rc);
  }
  /* Unsigned, because the total wraps around after 2^31 changes. */
  unsigned before = (unsigned)sqlite3_total_changes(job->db);
  code = tr_job_run(job, stmt, err);
  unsigned changes = (unsigned)sqlite3_total_changes(job->db) - before;
  if (code != TR_OK || changes >= (unsigned)count) return code;
  tr_job_forget_statement(job, sql);
  return tr_error_ignored(err, "a bundle was not written down");
}

tr_code tr_bundle_write(tr_job *job, const tr_bundle *bundle, tr_error *err) {
  return tr_bundles_write(job, &bundle, 1, err);
}

void tr_bundle_count(int64_t *counter) {
  if (*counter < TR_BUNDLE_MOST) ++*counter;
}

void tr_bundle_let_go(tr_bundle *bundle) {
  bundle->lease = 0;
  bundle->has_worker = 0;
  bundle->claimed_at = 0;
}

/* --- Finding ------------------------------------------------------------------------------ */

/*
** A statement whose only parameter is the start of a bundle. The value is copied, since `start` may
** belong to the bundle that is then read.
*/
static tr_code statement_of_start(tr_job *job, tr_job_sql sql, tr_bytes start, sqlite3_stmt **stmt,
                                  tr_error *err) {
  tr_value value = tr_value_blob(start);
  tr_code code = tr_job_statement(job, sql, stmt, err);
  if (code != TR_OK) return code;
  int rc = tr_bind_value(*stmt, 1, &value);
  return rc == SQLITE_OK ? TR_OK : tr_error_of_sqlite(err, job->db, rc);
}

int tr_bundle_find_start(tr_job *job, tr_bytes start, tr_bundle *bundle, tr_error *err) {
  sqlite3_stmt *stmt;
  tr_code code = statement_of_start(job, TR_BUNDLE_OF_START, start, &stmt, err);
  int is_found = code == TR_OK ? tr_bundle_step(job, stmt, bundle, err) : -1;
  /* If an authorizer makes SQLite ignore the column, nothing is found either. Do not keep that. */
  if (is_found == 0) tr_job_forget_statement(job, TR_BUNDLE_OF_START);
  return is_found;
}

int tr_bundle_find(tr_job *job, const tr_byte_key_range *range, tr_bundle *bundle, tr_error *err) {
  int is_found = tr_bundle_find_start(job, tr_buffer_bytes(&range->start), bundle, err);
  if (is_found != 1) return is_found;
  return tr_bytes_compare(tr_buffer_bytes(&bundle->end), tr_buffer_bytes(&range->end)) == 0;
}

/*
** Whether the bound of a neighbour is that of the bundle. `value` is NULL if there is no neighbour,
** and then the bound must be empty.
*/
static int is_border(sqlite3_value *value, tr_bytes bound) {
  if (sqlite3_value_type(value) == SQLITE_NULL) return bound.size == 0;
  const void *bytes = sqlite3_value_blob(value);
  tr_bytes neighbour = {bytes, (size_t)sqlite3_value_bytes(value)};
  return bound.size > 0 && tr_bytes_compare(neighbour, bound) == 0;
}

static tr_code refuse_borders(const tr_bundle *bundle, tr_error *err) {
  return tr_bundle_error(
      bundle,
      "does not end where the next one begins, or does not begin where the one before "
      "it ends: the job's table is damaged",
      err);
}

tr_code tr_bundle_check_borders(tr_job *job, const tr_bundle *bundle, tr_error *err) {
  tr_bytes start = tr_buffer_bytes(&bundle->start);
  sqlite3_stmt *stmt;
  tr_code code = statement_of_start(job, TR_BUNDLE_NEIGHBOURS, start, &stmt, err);
  if (code != TR_OK) return code;
  int has_row = tr_job_step(job, stmt, err);
  if (has_row < 0) return err->code;
  int is_bordered = has_row == 1 && is_border(sqlite3_column_value(stmt, 0), start) &&
                    is_border(sqlite3_column_value(stmt, 1), tr_buffer_bytes(&bundle->end));
  sqlite3_reset(stmt);
  sqlite3_clear_bindings(stmt);
  return is_bordered ? TR_OK : refuse_borders(bundle, err);
}

/* Steps to the last bundle, which must be the one without an end, and reads it. */
static tr_code step_to_rest(tr_job *job, sqlite3_stmt **stmt, tr_bundle *rest, tr_error *err) {
  tr_error reason;
  tr_code code = tr_job_statement(job, TR_BUNDLE_LAST, stmt, err);
  if (code != TR_OK) return code;
  int has_row = tr_job_step(job, *stmt, &reason);
  if (has_row == 0) return tr_error_ignored(err, "the bundles cannot be read");
  if (has_row < 0) {
    if (err != NULL) *err = reason;
    return reason.code;
  }
  code = tr_bundle_read(*stmt, rest, err);
  return code == TR_OK && rest->end.size > 0 ? refuse_borders(rest, err) : code;
}

/*
** Steps on to the bundle before `rest`, and checks that it ends where that begins. 1: it begins at
** `start`, and is read into `*before`. 0: it does not, or `before` is NULL. -1: failed.
*/
static int step_before_rest(tr_job *job, sqlite3_stmt *stmt, const tr_bundle *rest, tr_bytes start,
                            tr_bundle *before, tr_error *err) {
  tr_bytes bound = tr_buffer_bytes(&rest->start);
  int has_row = tr_job_step(job, stmt, err);
  if (has_row < 0) return -1;
  int is_bordered =
      has_row == 1 ? is_border(sqlite3_column_value(stmt, END), bound) : bound.size == 0;
  if (!is_bordered) {
    refuse_borders(rest, err);
    return -1;
  }
  int is_before =
      has_row == 1 && before != NULL && is_border(sqlite3_column_value(stmt, START), start);
  if (is_before && tr_bundle_read(stmt, before, err) != TR_OK) return -1;
  return is_before;
}

tr_code tr_bundle_find_rest(tr_job *job, tr_bundle *rest, tr_error *err) {
  sqlite3_stmt *stmt;
  tr_code code = step_to_rest(job, &stmt, rest, err);
  sqlite3_reset(stmt);
  return code;
}

int tr_bundle_find_last(tr_job *job, tr_bundle *rest, tr_bytes start, tr_bundle *before,
                        tr_error *err) {
  sqlite3_stmt *stmt;
  int is_before = -1;
  if (step_to_rest(job, &stmt, rest, err) == TR_OK) {
    is_before = step_before_rest(job, stmt, rest, start, before, err);
  }
  sqlite3_reset(stmt);
  return is_before;
}

tr_code tr_job_check_states(tr_job *job, tr_error *err) {
  tr_bundle rest = {0};
  sqlite3_stmt *stmt;
  tr_code code = tr_bundle_find_rest(job, &rest, err);
  tr_bundle_free(&rest);
  if (code == TR_OK) code = tr_job_statement(job, TR_BUNDLE_STATELESS, &stmt, err);
  if (code != TR_OK) return code;
  tr_bundle damaged = {0};
  int is_found = tr_bundle_step(job, stmt, &damaged, err);
  tr_bundle_free(&damaged);
  if (is_found == 0) return TR_OK;
  return is_found < 0 && err != NULL ? err->code : TR_CORRUPT;
}

/* --- Rowids -------------------------------------------------------------------------------- */

/* Finds the least rowid whose key is not below `bound`. 0: there is none. */
static int least_rowid(tr_bytes bound, int64_t *rowid) {
  uint8_t key[TR_ROWID_KEY_SIZE] = {0};
  size_t size = bound.size < sizeof key ? bound.size : sizeof key;
  if (size > 0) memcpy(key, bound.data, size);
  *rowid = tr_byte_key_to_rowid(key);
  if (bound.size <= sizeof key) return 1;
  if (*rowid == INT64_MAX) return 0;
  ++*rowid;
  return 1;
}

int tr_bundle_rowids(const tr_bundle *bundle, int64_t *least, int64_t *greatest) {
  int64_t behind;
  *greatest = INT64_MAX;
  if (!least_rowid(tr_buffer_bytes(&bundle->start), least)) return 0;
  if (bundle->end.size == 0 || !least_rowid(tr_buffer_bytes(&bundle->end), &behind)) return 1;
  if (behind <= *least) return 0;
  *greatest = behind - 1;
  return 1;
}

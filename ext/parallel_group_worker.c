/*
** One worker: a connection, what it has prepared, and the rows that it takes in.
**
** A piece is read by one statement whose bounds are bound anew. There are two forms of it. Where a piece
** cannot hold many rows, since its keys are rowids close to each other, the statement is
**   SELECT tranche_group(arguments) FROM t WHERE conditions AND key >= ? AND key < ?
** and never leaves SQLite's loop. Else it might hold any number, and must be cut when it holds too many,
** for which the function has to know the row's key:
**   SELECT NULL FROM t WHERE key >= ? AND key < ?
**     AND CASE WHEN conditions THEN tranche_group_row(key, arguments) ELSE 0 END ORDER BY key
** The function says 1 at the row where the piece is to end, and the statement stops there with a row. It
** must see the rows in the order of their keys, so SQLite must have no need to sort.
**
** Keys are looked up by a statement reader. A source's text and BLOB keys are all read as byte_key's
** encoding here, in which any value has its place.
*/
#include "parallel_group.h"

#include <string.h>

#include "base/memory.h"
#include "group_by_fields_parts.h"
#include "host/key_bytes.h"
#include "host/statement_reader.h"
#include "range/byte_key.h"

#define AGGREGATE "tranche_group"
#define ROW_FUNCTION "tranche_group_row"

/* Rowids so close to each other that the piece is short whatever it holds, in pieces. */
#define SHORT_WIDTH 4

/* Steps of SQLite's machine that count as one row, for conditions that few rows pass. */
#define STEPS_PER_ROW 8

typedef enum form { UNCUT, CUTTABLE, FORMS } form;

/* A statement for pieces, with a bound at its end or without. */
typedef struct piece_statement {
  char *sql;
  sqlite3_stmt *stmt;
  int has_conditions_bound;
} piece_statement;

struct tr_group_worker {
  sqlite3 *db;
  tr_source_table source; /* as this connection sees it */
  tr_statement_reader *keys;
  tr_buffer key_scratch;
  piece_statement statements[FORMS][2];
  /* Of the run. */
  const tr_parallel_group *job;
  tr_group_intake *intake;
  tr_piece *piece;
  int has_failed; /* the intake has the error */
};

/* --- the functions ---------------------------------------------------------------------------------- */

/* Adds a row; on failure the statement ends. */
static int take_row(tr_group_worker *worker, sqlite3_context *context, sqlite3_value **arguments) {
  worker->piece->rows++;
  if (tr_group_intake_add(worker->intake, arguments) == TR_OK) return 1;
  worker->has_failed = 1;
  sqlite3_result_error(context, "a row could not be added", -1);
  return 0;
}

static void step(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  take_row(sqlite3_user_data(context), context, argv);
}

static void finish(sqlite3_context *context) {
  sqlite3_result_null(context);
}

/* How many of the key's values come before the other arguments. */
static int key_size(const tr_group_worker *worker) {
  const tr_source_key *key = &worker->source.key;
  return key->form == TR_KEY_ROWID ? 1 : key->column_count;
}

/* Ends the piece at this row. */
static tr_code cut_here(tr_group_worker *worker, sqlite3_value **key, tr_error *err) {
  tr_piece *piece = worker->piece;
  piece->is_cut = 1;
  piece->last.size = 0;
  if (worker->source.key.form == TR_KEY_ROWID) {
    uint8_t bytes[TR_ROWID_KEY_SIZE];
    tr_byte_key_of_rowid(sqlite3_value_int64(key[0]), bytes);
    return tr_buffer_append(&piece->last, (tr_bytes){bytes, sizeof bytes}, err);
  }
  tr_code code = TR_OK;
  for (int i = 0; i < key_size(worker) && code == TR_OK; i++) {
    tr_value value = tr_value_of_sqlite(key[i]);
    code = tr_byte_key_append(&piece->last, &value, err);
  }
  return code;
}

static void take_row_or_cut(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  tr_group_worker *worker = sqlite3_user_data(context);
  tr_piece *piece = worker->piece;
  if (!take_row(worker, context, argv + key_size(worker))) return;
  if (piece->rows < piece->most) {
    sqlite3_result_int(context, 0);
  } else if (cut_here(worker, argv, NULL) == TR_OK) {
    sqlite3_result_int(context, 1);
  } else {
    sqlite3_result_error_nomem(context);
  }
}

static int register_functions(tr_group_worker *worker) {
  int rc = sqlite3_create_function_v2(worker->db, AGGREGATE, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                      worker, NULL, step, finish, NULL);
  if (rc != SQLITE_OK) return rc;
  return sqlite3_create_function_v2(worker->db, ROW_FUNCTION, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                    worker, take_row_or_cut, NULL, NULL, NULL);
}

/* --- SQL ---------------------------------------------------------------------------------------------- */

static void append_key_column(const tr_source_table *source, int i, sqlite3_str *sql) {
  tr_source_append_column(source, source->key.form == TR_KEY_ROWID ? -1 : source->key.columns[i],
                          sql);
}

static void append_key(const tr_group_worker *worker, sqlite3_str *sql) {
  for (int i = 0; i < key_size(worker); i++) {
    if (i > 0) sqlite3_str_appendall(sql, ", ");
    append_key_column(&worker->source, i, sql);
  }
}

/* ` AND (k1, k2) >= (?3, ?4)` */
static void append_bound(const tr_group_worker *worker, const char *operator, int * parameter,
                         sqlite3_str *sql) {
  sqlite3_str_appendchar(sql, 1, '(');
  append_key(worker, sql);
  sqlite3_str_appendf(sql, ") %s (", operator);
  for (int i = 0; i < key_size(worker); i++) {
    sqlite3_str_appendf(sql, "%s?%d", i == 0 ? "" : ", ", ++*parameter);
  }
  sqlite3_str_appendchar(sql, 1, ')');
}

static sqlite3_str *piece_sql(const tr_group_worker *worker, form f, int has_end) {
  const tr_parallel_group *job = worker->job;
  const tr_source_table *source = &worker->source;
  sqlite3_str *sql = sqlite3_str_new(worker->db);
  sqlite3_str *conditions = sqlite3_str_new(worker->db);
  int parameter = tr_group_append_conditions(job->plan, job->request, conditions);
  char *condition_text = sqlite3_str_finish(conditions);
  sqlite3_str_appendall(sql, f == UNCUT ? "SELECT " AGGREGATE "(" : "SELECT NULL");
  if (f == UNCUT) {
    tr_group_intake_append_arguments(job->intake, sql);
    sqlite3_str_appendchar(sql, 1, ')');
  }
  sqlite3_str_appendall(sql, " FROM ");
  tr_sql_append_table(sql, source->schema, source->name);
  /* No other index may change the order, or be read whole for each piece. */
  if (source->key.form == TR_KEY_ROWID) sqlite3_str_appendall(sql, " NOT INDEXED");
  sqlite3_str_appendall(sql, " WHERE ");
  append_bound(worker, ">=", &parameter, sql);
  if (has_end) {
    sqlite3_str_appendall(sql, " AND ");
    append_bound(worker, "<", &parameter, sql);
  }
  if (f == UNCUT) {
    sqlite3_str_appendf(sql, " AND %s", condition_text == NULL ? "" : condition_text);
  } else {
    sqlite3_str_appendf(sql, " AND CASE WHEN %s THEN " ROW_FUNCTION "(",
                        condition_text == NULL ? "" : condition_text);
    append_key(worker, sql);
    if (tr_group_intake_argument_count(job->intake) > 0) sqlite3_str_appendall(sql, ", ");
    tr_group_intake_append_arguments(job->intake, sql);
    sqlite3_str_appendall(sql, ") ELSE 0 END ORDER BY ");
    append_key(worker, sql);
  }
  sqlite3_free(condition_text);
  return sql;
}

/* Prepares a statement, unless the one at hand has that text already. */
static tr_code prepare(tr_group_worker *worker, form f, int has_end, piece_statement **prepared,
                       tr_error *err) {
  piece_statement *p = &worker->statements[f][has_end];
  *prepared = p;
  if (p->stmt != NULL) return TR_OK;
  sqlite3_str *sql = piece_sql(worker, f, has_end);
  return tr_sql_prepare(worker->db, sql, &p->stmt, err);
}

static void drop_statements(tr_group_worker *worker) {
  for (int f = 0; f < FORMS; f++) {
    for (int i = 0; i < 2; i++) {
      sqlite3_finalize(worker->statements[f][i].stmt);
      worker->statements[f][i] = (piece_statement){.stmt = NULL};
    }
  }
}

/* --- opening ------------------------------------------------------------------------------------------ */

static void release_worker(void *pointer) {
  tr_group_worker *worker = pointer;
  if (worker == NULL) return;
  drop_statements(worker);
  tr_statement_reader_free(worker->keys);
  tr_source_table_free(&worker->source);
  tr_buffer_free(&worker->key_scratch);
  tr_free(worker);
}

/* What the worker knows of its source, unless it knows it already. */
static tr_code look_at_source(tr_group_worker *worker, const tr_source_table *wanted,
                              tr_error *err) {
  tr_source_table *source = &worker->source;
  if (source->name != NULL && strcmp(source->name, wanted->name) == 0 &&
      tr_source_table_is_current(source, worker->db, TR_GROUP_FUNCTION, NULL) == 1) {
    return TR_OK;
  }
  drop_statements(worker);
  tr_statement_reader_free(worker->keys);
  worker->keys = NULL;
  tr_source_table_free(source);
  memset(source, 0, sizeof *source);
  tr_code code =
      tr_source_table_read(source, worker->db, TR_GROUP_FUNCTION, "main", wanted->name, err);
  if (code == TR_OK)
    code = tr_source_table_set_key(source, worker->db, TR_GROUP_FUNCTION, NULL, err);
  if (code != TR_OK) return code;
  if (source->key.form != TR_KEY_ROWID) source->key.form = TR_KEY_ENCODED;
  tr_statement_request keys = {.function = TR_GROUP_FUNCTION, .source = source, .wants_key = 1};
  return tr_statement_reader_create(worker->db, &keys, &worker->keys, err);
}

static tr_code open_run(tr_group_worker *worker, const tr_parallel_group *job, tr_error *err) {
  piece_statement *p;
  worker->job = job;
  worker->has_failed = 0;
  tr_code code = look_at_source(worker, &job->plan->source, err);
  drop_statements(worker);
  for (int f = 0; f < FORMS && code == TR_OK; f++) code = prepare(worker, (form)f, 1, &p, err);
  return code;
}

/* Whether pieces are read by the key, and in its order as they lie. */
static int reads_by_key(tr_group_worker *worker) {
  sqlite3_str *sql = sqlite3_str_new(worker->db);
  sqlite3_stmt *stmt;
  tr_error err;
  sqlite3_str_appendf(sql, "EXPLAIN QUERY PLAN %s",
                      sqlite3_sql(worker->statements[CUTTABLE][1].stmt));
  if (tr_sql_prepare(worker->db, sql, &stmt, &err) != TR_OK) return 0;
  int reads = 0;
  for (int is_first = 1; sqlite3_step(stmt) == SQLITE_ROW; is_first = 0) {
    const char *line = (const char *)sqlite3_column_text(stmt, 3);
    if (line == NULL) line = "";
    if (is_first) reads = strstr(line, "PRIMARY KEY") != NULL;
    if (strstr(line, "TEMP B-TREE FOR ORDER BY") != NULL) reads = 0;
  }
  sqlite3_finalize(stmt);
  return reads;
}

int tr_group_worker_open(const tr_parallel_group *job, tr_group_parts *parts,
                         tr_snapshot_pool *pool, int index, tr_group_worker **opened,
                         const char **reason, tr_error *err) {
  tr_group_worker *worker = tr_snapshot_pool_data(pool, index);
  *reason = "another connection cannot prepare the statement";
  if (worker == NULL) {
    worker = tr_malloc(sizeof *worker);
    if (worker == NULL) return tr_error_no(err, TR_NO_MEMORY, "out of memory");
    memset(worker, 0, sizeof *worker);
    worker->db = tr_snapshot_pool_connection(pool, index);
    tr_snapshot_pool_set_data(pool, index, worker, release_worker);
    int rc = register_functions(worker);
    if (rc == SQLITE_NOMEM) return tr_error_no(err, TR_NO_MEMORY, "out of memory");
    if (rc != SQLITE_OK) return 0;
  }
  tr_code code = open_run(worker, job, err);
  if (code == TR_OK) code = tr_group_intake_copy(job->intake, parts, &worker->intake, err);
  if (code == TR_NO_MEMORY || code == TR_TOO_BIG) return -1;
  if (code == TR_OK && index == 0 && !reads_by_key(worker)) {
    *reason = "the primary key does not lie in ascending order";
    tr_group_worker_close(worker);
    return 0;
  }
  *opened = worker;
  return code == TR_OK;
}

void tr_group_worker_close(tr_group_worker *worker) {
  for (int f = 0; f < FORMS; f++) {
    for (int i = 0; i < 2; i++) sqlite3_reset(worker->statements[f][i].stmt);
  }
  if (worker->keys != NULL) tr_statement_reader_reset(worker->keys);
  tr_group_intake_free_copy(worker->intake);
  worker->intake = NULL;
  worker->job = NULL;
}

/* --- keys --------------------------------------------------------------------------------------------- */

int tr_group_worker_first_key(tr_group_worker *worker, tr_bytes from, tr_buffer *key,
                              tr_error *err) {
  tr_bytes none = {NULL, 0};
  tr_position position;
  if (tr_statement_reader_open(worker->keys, from, none, err) != TR_OK) return -1;
  int found = tr_statement_reader_next(worker->keys, &position, err);
  if (found == 1 && tr_buffer_set(key, position.key, err) != TR_OK) found = -1;
  tr_statement_reader_reset(worker->keys);
  return found;
}

static int find_last_key(tr_group_worker *worker, tr_buffer *key, tr_error *err) {
  const tr_source_table *source = &worker->source;
  sqlite3_stmt *stmt;
  sqlite3_str *sql = sqlite3_str_new(worker->db);
  sqlite3_str_appendall(sql, "SELECT ");
  append_key(worker, sql);
  sqlite3_str_appendall(sql, " FROM ");
  tr_sql_append_table(sql, source->schema, source->name);
  sqlite3_str_appendall(sql, " ORDER BY ");
  for (int i = 0; i < key_size(worker); i++) {
    if (i > 0) sqlite3_str_appendall(sql, ", ");
    append_key_column(source, i, sql);
    sqlite3_str_appendall(sql, " DESC");
  }
  sqlite3_str_appendall(sql, " LIMIT 1");
  if (tr_sql_prepare(worker->db, sql, &stmt, err) != TR_OK) return -1;
  int found = -1, rc = sqlite3_step(stmt);
  sqlite3_value *values[TR_KEY_COLUMNS_MAX];
  tr_bytes last;
  if (rc == SQLITE_DONE) {
    found = 0;
  } else if (rc != SQLITE_ROW) {
    tr_error_of_sqlite(err, worker->db, rc);
  } else {
    for (int i = 0; i < key_size(worker); i++) values[i] = sqlite3_column_value(stmt, i);
    tr_code code =
        tr_key_of_row(source, TR_GROUP_FUNCTION, values, &worker->key_scratch, &last, err);
    if (code == TR_OK) code = tr_buffer_set(key, last, err);
    found = code == TR_OK ? 1 : -1;
  }
  sqlite3_finalize(stmt);
  return found;
}

int tr_group_worker_find_ends(tr_group_worker *worker, tr_buffer *first, tr_buffer *last,
                              tr_error *err) {
  int found = tr_group_worker_first_key(worker, (tr_bytes){NULL, 0}, first, err);
  return found == 1 ? find_last_key(worker, last, err) : found;
}

/* --- pieces ------------------------------------------------------------------------------------------- */

/* Binds the values of a key that there is, from parameter `*parameter` on. */
static tr_code bind_key(tr_group_worker *worker, sqlite3_stmt *stmt, tr_bytes key, int *parameter,
                        tr_error *err) {
  int rc = SQLITE_OK;
  if (worker->source.key.form == TR_KEY_ROWID) {
    rc = sqlite3_bind_int64(stmt, (*parameter)++, tr_byte_key_to_rowid(key.data));
    return rc == SQLITE_OK ? TR_OK : tr_error_of_sqlite(err, worker->db, rc);
  }
  size_t offset = 0;
  for (int i = 0; i < key_size(worker) && rc == SQLITE_OK; i++) {
    tr_value value;
    if (tr_byte_key_next(key, &offset, &value, &worker->key_scratch, err) != 1) return TR_CORRUPT;
    rc = tr_bind_value(stmt, (*parameter)++, &value);
  }
  return rc == SQLITE_OK ? TR_OK : tr_error_of_sqlite(err, worker->db, rc);
}

static int count_condition_values(const tr_group_request *request) {
  int count = 0;
  for (int i = 0; i < request->condition_count; i++) count += request->conditions[i].value_count;
  return count;
}

static tr_code bind_piece(tr_group_worker *worker, piece_statement *p, const tr_piece *piece,
                          tr_error *err) {
  const tr_group_request *request = worker->job->request;
  int parameter = count_condition_values(request) + 1;
  tr_code code = TR_OK;
  if (!p->has_conditions_bound) {
    code = tr_group_bind_conditions(worker->db, p->stmt, request, err);
    p->has_conditions_bound = 1;
  }
  if (code == TR_OK) code = bind_key(worker, p->stmt, piece->from, &parameter, err);
  if (code == TR_OK && piece->to.size > 0) {
    code = bind_key(worker, p->stmt, piece->to, &parameter, err);
  }
  return code;
}

/* Whether the piece is short whatever it holds. */
static int is_narrow(const tr_group_worker *worker, const tr_piece *piece) {
  if (worker->source.key.form != TR_KEY_ROWID || piece->to.size == 0) return 0;
  uint64_t from = (uint64_t)tr_byte_key_to_rowid(piece->from.data);
  uint64_t to = (uint64_t)tr_byte_key_to_rowid(piece->to.data);
  return to - from <= SHORT_WIDTH * piece->most;
}

tr_code tr_group_worker_read(tr_group_worker *worker, tr_piece *piece, tr_error *err) {
  piece_statement *p;
  form f = is_narrow(worker, piece) ? UNCUT : CUTTABLE;
  tr_code code = prepare(worker, f, piece->to.size > 0, &p, err);
  if (code == TR_OK) code = bind_piece(worker, p, piece, err);
  if (code != TR_OK) return code;
  worker->piece = piece;
  int rc = sqlite3_step(p->stmt);
  if (rc == SQLITE_ROW && f == UNCUT) rc = sqlite3_step(p->stmt);
  if (rc == SQLITE_ROW && piece->is_cut) rc = SQLITE_DONE;
  if (rc != SQLITE_DONE && worker->has_failed) {
    *err = *tr_group_intake_error(worker->intake);
    code = err->code;
  } else if (rc != SQLITE_DONE) {
    code = tr_error_of_sqlite(err, worker->db, rc);
  }
  sqlite3_reset(p->stmt);
  int steps = sqlite3_stmt_status(p->stmt, SQLITE_STMTSTATUS_VM_STEP, 1);
  piece->work = steps > 0 ? (uint64_t)steps / STEPS_PER_ROW : 0;
  return code;
}

sqlite3 *tr_group_worker_db(const tr_group_worker *worker) {
  return worker->db;
}

tr_grouping *tr_group_worker_grouping(const tr_group_worker *worker) {
  return tr_group_intake_grouping(worker->intake);
}

tr_grouping *tr_group_worker_take_grouping(tr_group_worker *worker) {
  return tr_group_intake_take_grouping(worker->intake);
}

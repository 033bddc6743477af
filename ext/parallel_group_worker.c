/*
** One worker: a connection, its prepared statements, and the rows that it takes in.
**
** A worker takes a few hundred rows in hand and then adds them to the groups together. There are
** three forms of statement to read them. In all of them the bounds are bound again for each piece.
**
** AHEAD is used if there are no conditions:
**   SELECT key FROM t WHERE key >= ? AND tranche_group_row(arguments) IS NOT NULL ORDER BY key
** It has no end and runs on from piece to piece, since comparing each row's key with an end would
** cost a fifth of all the time. The function returns NULL until the hand is full. Then the
** statement returns a row, with the key of the last row in hand. If this key is in the piece, so
** are all rows in hand, and they are added. If not, some of them may belong to another worker. They
** stay in hand until a later piece contains them all, or until the pool says that no piece follows
** (settle). Then they are dropped, and BOUNDED reads those of them again that belong to this
** worker.
**
** BOUNDED has an end:
**   SELECT key FROM t WHERE key >= ? AND key < ?
**     AND CASE WHEN conditions THEN tranche_group_row(arguments) END IS NOT NULL ORDER BY key
** AHEAD and BOUNDED may be stopped after any full hand, because it is then known how far they came.
** They must read the rows in the order of their keys, so their plans must not sort.
**
** NARROW is used for pieces that cannot have many rows, because their keys are rowids close to each
** other:
**   SELECT tranche_group(arguments) FROM t WHERE key >= ? AND key < ? AND conditions
** Here SQLite sees the conditions as they are and can use them.
**
** The keys are in parallel_group_keys.h.
*/
#include "parallel_group.h"

#include <string.h>

#include "base/memory.h"
#include "group_by_fields_take.h"
#include "range/byte_key.h"

#define ROW_FUNCTION TR_GROUP_INNER_FUNCTION "_row"
#define ONE_FUNCTION TR_GROUP_INNER_FUNCTION "_one" /* the same for rows of one value */

/* A piece of at most this many rowids for each row that it should have is read by NARROW. */
#define SHORT_WIDTH 4

/*
** How many steps of SQLite's virtual machine count as one row that was looked at. Used if there are
** conditions, which few rows may pass.
*/
#define STEPS_PER_ROW 8

typedef enum form { AHEAD, BOUNDED, NARROW, FORMS } form;

/* A statement that reads pieces, with an end or without one. */
typedef struct piece_statement {
  sqlite3_stmt *stmt;
  int has_conditions_bound;
} piece_statement;

/* The state of AHEAD. */
typedef struct reading_ahead {
  sqlite3_stmt *stmt; /* the running statement; NULL: none */
  int holds_rows;     /* rows are in hand, up to the key `reached`; some may be another worker's */
  /* the rows in hand are the last ones of the source; `reached` is then not theirs */
  int is_at_end;
  tr_buffer reached;
  tr_buffer open; /* all rows below this key were added */
  tr_buffer end;  /* rows below this key are ours; empty: all are */
} reading_ahead;

struct tr_group_worker {
  sqlite3 *db;
  tr_group_keys keys;
  piece_statement statements[FORMS][2];
  reading_ahead ahead;
  /* The current run. */
  const tr_parallel_group *job;
  tr_group_intake *intake;
  int has_failed; /* the intake has the error */
  uint64_t rows;  /* rows that were added in the current call */
  uint64_t taken; /* rows that AHEAD took in hand in the current call */
};

/* --- the functions ----------------------------------------------------------------------- */

/* Adds the rows in hand to the groups. The error is the intake's. */
static tr_code commit(tr_group_worker *worker) {
  worker->rows += (uint64_t)tr_group_intake_rows(worker->intake);
  tr_code code = tr_group_intake_commit(worker->intake);
  worker->has_failed |= code != TR_OK;
  return code;
}

/* Ends the statement. The intake has the error. */
static void fail(tr_group_worker *worker, sqlite3_context *context) {
  worker->has_failed = 1;
  sqlite3_result_error(context, "a row could not be taken in hand", -1);
}

static void step(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  tr_group_worker *worker = sqlite3_user_data(context);
  int taken = tr_group_intake_take(worker->intake, argv);
  if (taken < 0) fail(worker, context);
  if (taken <= 0) return;
  if (commit(worker) != TR_OK) sqlite3_result_error(context, "rows could not be added", -1);
}

static void finish(sqlite3_context *context) {
  sqlite3_result_null(context);
}

static void take_row_until_full(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  tr_group_worker *worker = sqlite3_user_data(context);
  int taken = tr_group_intake_take(worker->intake, argv);
  /* Without a result the function returns NULL. */
  if (taken > 0) sqlite3_result_int(context, 1);
  if (taken < 0) fail(worker, context);
}

static void take_one_until_full(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  tr_group_worker *worker = sqlite3_user_data(context);
  int taken = tr_group_intake_take_one(worker->intake, argv);
  if (taken > 0) sqlite3_result_int(context, 1);
  if (taken < 0) fail(worker, context);
}

static int register_functions(tr_group_worker *worker) {
  enum { FLAGS = SQLITE_UTF8 | SQLITE_DIRECTONLY };
  sqlite3 *db = worker->db;
  int rc = sqlite3_create_function_v2(db, TR_GROUP_INNER_FUNCTION, -1, FLAGS, worker, NULL, step,
                                      finish, NULL);
  if (rc == SQLITE_OK) {
    rc = sqlite3_create_function_v2(db, ROW_FUNCTION, -1, FLAGS, worker, take_row_until_full, NULL,
                                    NULL, NULL);
  }
  if (rc == SQLITE_OK) {
    rc = sqlite3_create_function_v2(db, ONE_FUNCTION, 1, FLAGS, worker, take_one_until_full, NULL,
                                    NULL, NULL);
  }
  return rc;
}

/* --- SQL --------------------------------------------------------------------------------- */

static int has_conditions(const tr_parallel_group *job) {
  return job->plan->where != NULL || job->request->conditions.count > 0;
}

static void append_conditions(const tr_group_worker *worker, sqlite3_str *sql) {
  tr_group_append_conditions(worker->job->plan, worker->job->request, sql);
}

static void append_call(const tr_group_worker *worker, const char *function, sqlite3_str *sql) {
  sqlite3_str_appendf(sql, "%s(", function);
  tr_group_intake_append_arguments(worker->job->intake, sql);
  sqlite3_str_appendchar(sql, 1, ')');
}

static int count_condition_values(const tr_group_request *request) {
  int count = 0;
  for (int i = 0; i < request->conditions.count; i++)
    count += request->conditions.items[i].value_count;
  return count;
}

static sqlite3_str *piece_sql(const tr_group_worker *worker, form f, int has_end) {
  const tr_source_table *source = &worker->keys.source;
  sqlite3_str *sql = sqlite3_str_new(worker->db);
  int parameter = count_condition_values(worker->job->request);
  sqlite3_str_appendall(sql, "SELECT ");
  if (f == NARROW)
    append_call(worker, TR_GROUP_INNER_FUNCTION, sql);
  else
    tr_group_keys_append_columns(&worker->keys, sql);
  sqlite3_str_appendall(sql, " FROM ");
  tr_sql_append_table(sql, source->schema, source->name);
  /* No other index may change the order, or be read as a whole for each piece. */
  if (source->key.form == TR_KEY_ROWID) sqlite3_str_appendall(sql, " NOT INDEXED");
  sqlite3_str_appendall(sql, " WHERE ");
  tr_group_keys_append_bound(&worker->keys, ">=", &parameter, sql);
  if (has_end) {
    sqlite3_str_appendall(sql, " AND ");
    tr_group_keys_append_bound(&worker->keys, "<", &parameter, sql);
  }
  sqlite3_str_appendall(sql, " AND ");
  if (f == BOUNDED) sqlite3_str_appendall(sql, "CASE WHEN ");
  if (f != AHEAD) append_conditions(worker, sql);
  if (f == NARROW) return sql;
  if (f == BOUNDED) sqlite3_str_appendall(sql, " THEN ");
  append_call(worker, worker->job->intake->has_one_value ? ONE_FUNCTION : ROW_FUNCTION, sql);
  if (f == BOUNDED) sqlite3_str_appendall(sql, " END");
  sqlite3_str_appendall(sql, " IS NOT NULL ORDER BY ");
  tr_group_keys_append_columns(&worker->keys, sql);
  return sql;
}

/* Prepares a statement, unless this run has already done so. */
static tr_code prepare(tr_group_worker *worker, form f, int has_end, piece_statement **prepared,
                       tr_error *err) {
  piece_statement *p = &worker->statements[f][has_end];
  *prepared = p;
  if (p->stmt != NULL) return TR_OK;
  return tr_sql_prepare(worker->db, piece_sql(worker, f, has_end), &p->stmt, err);
}

static void drop_statements(tr_group_worker *worker) {
  for (int f = 0; f < FORMS; f++) {
    for (int i = 0; i < 2; i++) {
      sqlite3_finalize(worker->statements[f][i].stmt);
      worker->statements[f][i] = (piece_statement){.stmt = NULL};
    }
  }
  worker->ahead.stmt = NULL;
}

/* --- opening ----------------------------------------------------------------------------- */

static void release_worker(void *pointer) {
  tr_group_worker *worker = pointer;
  if (worker == NULL) return;
  drop_statements(worker);
  tr_group_keys_free(&worker->keys);
  tr_buffer_free(&worker->ahead.reached);
  tr_buffer_free(&worker->ahead.open);
  tr_buffer_free(&worker->ahead.end);
  tr_free(worker);
}

/* Whether the run may need the form, with an end or without one. */
static int uses(const tr_group_worker *worker, form f, int has_end) {
  int has = has_conditions(worker->job);
  switch (f) {
  case AHEAD: return !has && !has_end;
  case BOUNDED: return has || has_end;
  default: return has && has_end;
  }
}

static tr_code open_run(tr_group_worker *worker, const tr_parallel_group *job, tr_error *err) {
  piece_statement *p;
  worker->job = job;
  worker->has_failed = 0;
  drop_statements(worker);
  tr_code code = tr_group_keys_look_at(&worker->keys, worker->db, job->plan->source.name, err);
  for (int i = 0; i < 2 * FORMS && code == TR_OK; i++) {
    if (uses(worker, (form)(i / 2), i % 2)) code = prepare(worker, (form)(i / 2), i % 2, &p, err);
  }
  return code;
}

/* Finds out whether a statement reads by the key and in its order, without sorting: `*reads`. */
static tr_code look_at_plan(tr_group_worker *worker, sqlite3_stmt *reading, int *reads,
                            tr_error *err) {
  sqlite3_str *sql = sqlite3_str_new(worker->db);
  sqlite3_stmt *stmt;
  sqlite3_str_appendf(sql, "EXPLAIN QUERY PLAN %s", sqlite3_sql(reading));
  tr_code code = tr_sql_prepare(worker->db, sql, &stmt, err);
  if (code != TR_OK) return code;
  int rc;
  *reads = 0;
  for (int is_first = 1; (rc = sqlite3_step(stmt)) == SQLITE_ROW; is_first = 0) {
    const char *line = (const char *)sqlite3_column_text(stmt, 3);
    if (line == NULL) break;
    if (is_first) *reads = strstr(line, "PRIMARY KEY") != NULL;
    if (strstr(line, "TEMP B-TREE") != NULL) *reads = 0;
  }
  if (rc == SQLITE_ROW) rc = SQLITE_NOMEM; /* for the text of a line */
  if (rc != SQLITE_DONE) code = tr_error_of_sqlite(err, worker->db, rc);
  sqlite3_finalize(stmt);
  return code;
}

static tr_code look_at_plans(tr_group_worker *worker, int *all_read_by_key, tr_error *err) {
  tr_code code = TR_OK;
  *all_read_by_key = 1;
  for (int f = AHEAD; f <= BOUNDED; f++) {
    for (int i = 0; i < 2 && code == TR_OK && *all_read_by_key; i++) {
      sqlite3_stmt *stmt = worker->statements[f][i].stmt;
      if (stmt != NULL) code = look_at_plan(worker, stmt, all_read_by_key, err);
    }
  }
  return code;
}

/*
** The worker of a connection, with its functions. Made at the first call. Returns 1, 0 or -1, as
** tr_group_worker_open.
*/
static int worker_of(tr_snapshot_pool *pool, int index, tr_group_worker **worker, tr_error *err) {
  *worker = tr_snapshot_pool_data(pool, index);
  if (*worker != NULL) return 1;
  *worker = tr_malloc(sizeof **worker);
  if (*worker == NULL) return tr_error_no(err, TR_NO_MEMORY, "out of memory");
  memset(*worker, 0, sizeof **worker);
  (*worker)->db = tr_snapshot_pool_connection(pool, index);
  int rc = register_functions(*worker);
  if (rc == SQLITE_OK) {
    tr_snapshot_pool_set_data(pool, index, *worker, release_worker);
    return 1;
  }
  release_worker(*worker);
  return rc == SQLITE_NOMEM ? tr_error_no(err, TR_NO_MEMORY, "out of memory") : 0;
}

int tr_group_worker_open(const tr_parallel_group *job, tr_group_parts *parts,
                         tr_snapshot_pool *pool, int index, tr_group_worker **opened,
                         const char **reason, tr_error *err) {
  tr_group_worker *worker;
  *reason = "another connection cannot prepare the statement";
  int made = worker_of(pool, index, &worker, err);
  if (made != 1) return made;
  int reads_by_key = 1;
  tr_code code = open_run(worker, job, err);
  if (code == TR_OK) code = tr_group_intake_copy(job->intake, parts, &worker->intake, err);
  if (code == TR_OK && index == 0) code = look_at_plans(worker, &reads_by_key, err);
  if (code == TR_OK && reads_by_key) {
    *opened = worker;
    return 1;
  }
  tr_group_worker_close(worker);
  if (code == TR_OK) *reason = TR_GROUP_DESCENDS;
  return code == TR_NO_MEMORY || code == TR_TOO_BIG ? -1 : 0;
}

void tr_group_worker_close(tr_group_worker *worker) {
  for (int f = 0; f < FORMS; f++) {
    for (int i = 0; i < 2; i++) sqlite3_reset(worker->statements[f][i].stmt);
  }
  worker->ahead.stmt = NULL;
  tr_group_keys_reset(&worker->keys);
  tr_group_intake_free_copy(worker->intake);
  worker->intake = NULL;
  worker->job = NULL;
}

/* --- pieces ------------------------------------------------------------------------------ */

/*
** Binds the bounds of a statement; `to` is empty if it has no end. Binds the conditions' values,
** too, if they are not bound yet.
*/
static tr_code bind_piece(tr_group_worker *worker, piece_statement *p, tr_bytes from, tr_bytes to,
                          tr_error *err) {
  const tr_group_request *request = worker->job->request;
  int parameter = count_condition_values(request) + 1;
  tr_code code = TR_OK;
  if (!p->has_conditions_bound) {
    code = tr_group_bind_conditions(worker->db, p->stmt, request, err);
    p->has_conditions_bound = 1;
  }
  if (code == TR_OK) code = tr_group_keys_bind(&worker->keys, p->stmt, from, &parameter, err);
  if (code == TR_OK && to.size > 0)
    code = tr_group_keys_bind(&worker->keys, p->stmt, to, &parameter, err);
  return code;
}

/* Fills `err` with what made a statement or a commit fail. */
static tr_code explain(tr_group_worker *worker, int rc, tr_error *err) {
  if (!worker->has_failed) return tr_error_of_sqlite(err, worker->db, rc);
  *err = *tr_group_intake_error(worker->intake);
  return err->code;
}

static tr_code commit_or_explain(tr_group_worker *worker, tr_error *err) {
  return commit(worker) == TR_OK ? TR_OK : explain(worker, SQLITE_ERROR, err);
}

/*
** Reads the piece [from, to) with an end. NARROW reads it as a whole. BOUNDED stops at the first
** full hand after `most` rows.
**
** 0: stopped; `last` is the key of the last row.
** 1: all was read.
** -1: failed.
*/
static int read_bounded(tr_group_worker *worker, form f, const tr_piece *piece, tr_buffer *last,
                        tr_error *err) {
  piece_statement *p;
  tr_code code = prepare(worker, f, piece->to.size > 0, &p, err);
  if (code == TR_OK) code = bind_piece(worker, p, piece->from, piece->to, err);
  if (code != TR_OK) return -1;
  int rc, is_cut = 0;
  while (!is_cut && code == TR_OK && (rc = sqlite3_step(p->stmt)) == SQLITE_ROW) {
    if (f == NARROW) continue; /* the one row of the aggregate */
    code = commit_or_explain(worker, err);
    is_cut = worker->rows >= piece->most;
    if (code == TR_OK && is_cut) code = tr_group_keys_read(&worker->keys, p->stmt, last, err);
  }
  if (code == TR_OK && !is_cut) {
    code = rc == SQLITE_DONE ? commit_or_explain(worker, err) : explain(worker, rc, err);
  }
  sqlite3_reset(p->stmt);
  return code != TR_OK ? -1 : !is_cut;
}

/* Starts AHEAD at `from`. */
static tr_code begin_ahead(tr_group_worker *worker, tr_bytes from, tr_error *err) {
  reading_ahead *ahead = &worker->ahead;
  piece_statement *p;
  tr_code code = prepare(worker, AHEAD, 0, &p, err);
  if (code == TR_OK) code = bind_piece(worker, p, from, (tr_bytes){NULL, 0}, err);
  if (code == TR_OK) code = tr_buffer_set(&ahead->open, from, err);
  ahead->holds_rows = ahead->is_at_end = 0;
  if (code == TR_OK) ahead->stmt = p->stmt;
  return code;
}

/* Takes the next rows in hand. */
static tr_code take_ahead(tr_group_worker *worker, tr_error *err) {
  reading_ahead *ahead = &worker->ahead;
  int rc = sqlite3_step(ahead->stmt);
  ahead->holds_rows = 1;
  ahead->is_at_end = rc == SQLITE_DONE;
  worker->taken += (uint64_t)tr_group_intake_rows(worker->intake);
  if (rc == SQLITE_ROW) return tr_group_keys_read(&worker->keys, ahead->stmt, &ahead->reached, err);
  return rc == SQLITE_DONE ? TR_OK : explain(worker, rc, err);
}

/* Adds the rows in hand, all of which are ours. */
static tr_code add_held(tr_group_worker *worker, tr_error *err) {
  reading_ahead *ahead = &worker->ahead;
  ahead->holds_rows = 0;
  tr_code code = commit_or_explain(worker, err);
  if (code == TR_OK) code = tr_buffer_set(&ahead->open, tr_buffer_bytes(&ahead->reached), err);
  return code == TR_OK ? tr_buffer_append_byte(&ahead->open, 0, err) : code;
}

static tr_code read_ahead(tr_group_worker *worker, tr_piece *piece, tr_error *err) {
  reading_ahead *ahead = &worker->ahead;
  tr_code code = tr_buffer_set(&ahead->end, piece->to, err);
  if (code == TR_OK && ahead->stmt == NULL) code = begin_ahead(worker, piece->from, err);
  while (code == TR_OK) {
    if (!ahead->holds_rows) code = take_ahead(worker, err);
    if (!ahead->is_at_end) piece->reached = tr_buffer_bytes(&ahead->reached);
    int is_beyond =
        ahead->is_at_end || tr_bytes_compare(tr_buffer_bytes(&ahead->reached), piece->to) >= 0;
    if (code != TR_OK || (piece->to.size > 0 && is_beyond)) break;
    code = add_held(worker, err);
    if (code != TR_OK || ahead->is_at_end) break;
    piece->is_cut = worker->rows >= piece->most;
    if (piece->is_cut) return tr_buffer_set(&piece->last, tr_buffer_bytes(&ahead->reached), err);
  }
  return code;
}

tr_code tr_group_worker_settle(tr_group_worker *worker, uint64_t *rows, tr_error *err) {
  reading_ahead *ahead = &worker->ahead;
  worker->rows = *rows = 0;
  if (ahead->stmt == NULL) return TR_OK;
  sqlite3_reset(ahead->stmt);
  ahead->stmt = NULL;
  if (!ahead->holds_rows) return TR_OK;
  tr_group_intake_drop(worker->intake);
  tr_piece rest = {.to = tr_buffer_bytes(&ahead->end), .most = UINT64_MAX};
  int found =
      tr_group_keys_first(&worker->keys, tr_buffer_bytes(&ahead->open), &ahead->reached, err);
  rest.from = tr_buffer_bytes(&ahead->reached);
  if (found == 1 && tr_bytes_compare(rest.from, rest.to) < 0) {
    found = read_bounded(worker, BOUNDED, &rest, NULL, err);
  }
  *rows = worker->rows;
  return found < 0 ? err->code : TR_OK;
}

/* Whether the piece cannot have many rows. */
static int is_narrow(const tr_group_worker *worker, const tr_piece *piece) {
  if (worker->keys.source.key.form != TR_KEY_ROWID || piece->to.size == 0) return 0;
  uint64_t from = (uint64_t)tr_byte_key_to_rowid(piece->from.data);
  uint64_t to = (uint64_t)tr_byte_key_to_rowid(piece->to.data);
  return to - from <= SHORT_WIDTH * piece->most;
}

/* How many rows SQLite has looked at in the form that was just used. */
static uint64_t work_of(tr_group_worker *worker, form f, int has_end) {
  sqlite3_stmt *stmt = worker->statements[f][has_end].stmt;
  int steps = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 1);
  return steps > 0 ? (uint64_t)steps / STEPS_PER_ROW : 0;
}

tr_code tr_group_worker_read(tr_group_worker *worker, tr_piece *piece, tr_error *err) {
  tr_code code = TR_OK;
  worker->rows = worker->taken = 0;
  if (has_conditions(worker->job)) {
    form f = is_narrow(worker, piece) ? NARROW : BOUNDED;
    int read = read_bounded(worker, f, piece, &piece->last, err);
    piece->is_cut = read == 0;
    piece->work = read < 0 ? 0 : work_of(worker, f, piece->to.size > 0);
    code = read < 0 ? err->code : TR_OK;
  } else {
    code = read_ahead(worker, piece, err);
    piece->work = worker->taken;
  }
  piece->rows = worker->rows;
  return code;
}

tr_group_keys *tr_group_worker_keys(tr_group_worker *worker) {
  return &worker->keys;
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

/*
** scan_splits(table, n [, key]) -> rows (ordinal, restriction, rows): at most n restrictions that
** together contain every row of the table exactly once. Their numbers of rows differ by at most
** one.
**
** How it works. First the rows are counted: SQLite counts the entries of the narrowest index
** without looking at them. Then the key's index is walked once (or the table, if the key is its own
** order), and the keys where a piece begins are kept. An open statement holds the snapshot, so that
** both see the same rows. The first piece begins at the lowest possible key and the last has no
** end, so rows that are inserted later are in a piece, too.
*/
#include "surfaces.h"

#include "host/module_arguments.h"
#include "host/source_table.h"
#include "host/statement_reader.h"
#include "host/table_function.h"

static const char function_name[] = "scan_splits";

/* The most pieces: each is a row held in memory. */
#define MAX_PIECES 1000000

/* The third argument has the syntax of the clause key(...). */
static const tr_clause clauses[] = {{.name = "key", .form = TR_CLAUSE_LIST}};
static const tr_module_syntax syntax = {function_name, clauses, 1, 0};

/* The state of one call. */
typedef struct split_work {
  sqlite3 *db;
  tr_source_table source;
  sqlite3_stmt *snapshot; /* keeps the read transaction open */
  tr_statement_reader *reader;
  tr_row_list *rows;
  tr_byte_key_range piece;
  tr_buffer text;
} split_work;

static tr_code read_source(split_work *work, sqlite3_value **arguments, tr_error *err) {
  tr_bytes text;
  tr_clause_value key = {0};
  tr_code code = TR_OK;
  if (arguments[2] != NULL) {
    code = tr_argument_text(function_name, "key", arguments[2], &text, err);
    if (code == TR_OK) code = tr_clause_value_parse(&key, &syntax, 0, text, err);
  }
  if (code == TR_OK) {
    code = tr_source_table_of_argument(&work->source, work->db, function_name, "table",
                                       arguments[0], &key.list, err);
  }
  tr_clause_value_free(&key);
  return code;
}

/* Prepares `SELECT <what> FROM <table>` and steps it once. */
static tr_code ask(split_work *work, const char *what, sqlite3_stmt **stmt, tr_error *err) {
  sqlite3_str *sql = sqlite3_str_new(work->db);
  sqlite3_str_appendf(sql, "SELECT %s FROM ", what);
  tr_sql_append_table(sql, work->source.schema, work->source.name);
  tr_code code = tr_sql_prepare(work->db, sql, stmt, err);
  if (code != TR_OK) return code;
  int rc = sqlite3_step(*stmt);
  return rc == SQLITE_ROW || rc == SQLITE_DONE ? TR_OK : tr_error_of_sqlite(err, work->db, rc);
}

/* Opens the snapshot and counts the table's rows in it. */
static tr_code count_rows(split_work *work, int64_t *count, tr_error *err) {
  sqlite3_stmt *stmt = NULL;
  tr_code code = ask(work, "1", &work->snapshot, err);
  if (code == TR_OK) code = ask(work, "count(*)", &stmt, err);
  if (code == TR_OK) *count = sqlite3_column_int64(stmt, 0);
  sqlite3_finalize(stmt);
  return code;
}

/*
** Appends the row of the piece that ends at `end`, the first key of the next piece. `work->piece`
** then begins there.
*/
static tr_code give_piece(split_work *work, int64_t ordinal, tr_bytes end, int64_t rows,
                          tr_error *err) {
  tr_code code = tr_buffer_set(&work->piece.end, end, err);
  if (code != TR_OK) return code;
  tr_restriction restriction = {.kind = TR_BYTES, .bytes = work->piece};
  work->text.size = 0;
  code = tr_restriction_text(&restriction, &work->text, err);
  if (code != TR_OK) return code;
  const tr_value row[3] = {tr_value_integer(ordinal), tr_value_text(tr_buffer_bytes(&work->text)),
                           tr_value_integer(rows)};
  code = tr_row_list_append(work->rows, row, err);
  if (code == TR_OK) code = tr_buffer_set(&work->piece.start, end, err);
  return code;
}

/* Where the i-th of n pieces of `count` rows begins, without overflow. */
static int64_t begin_of(int64_t i, int64_t n, int64_t count) {
  return count / n * i + count % n * i / n;
}

static tr_code walk(split_work *work, int64_t n, int64_t count, tr_error *err) {
  tr_bytes none = {0};
  tr_position position;
  tr_statement_request request = {
      .function = function_name, .source = &work->source, .wants_key = 1};
  tr_code code = tr_statement_reader_create(work->db, &request, &work->reader, err);
  if (code == TR_OK) code = tr_statement_reader_open(work->reader, none, none, err);
  int64_t row = 0;
  for (int64_t i = 1; i <= n && code == TR_OK; i++) {
    int64_t begin = begin_of(i - 1, n, count);
    int64_t end = begin_of(i, n, count);
    tr_bytes bound = none;
    /*
    ** Read the first row even if it needs no bound. A value that cannot be a key sorts first, and
    ** meeting it is an error.
    */
    for (; (i < n || row == 0) && row <= end && code == TR_OK; row++) {
      int has_row = tr_statement_reader_next(work->reader, &position, err);
      if (has_row < 0) code = err->code;
      if (has_row == 0) {
        code = tr_error_set(err, TR_CORRUPT, "%s: %s.%s has fewer rows than an index of it",
                            function_name, work->source.schema, work->source.name);
      }
      if (has_row > 0 && row == end) bound = position.key;
    }
    if (code == TR_OK) code = give_piece(work, i - 1, bound, end - begin, err);
  }
  return code;
}

static tr_code fill(tr_host *host, sqlite3_value **arguments, tr_row_list *rows, tr_error *err) {
  split_work work = {.db = tr_host_db(host), .rows = rows};
  int64_t n = 0;
  int64_t count = 0;
  tr_code code = tr_argument_integer(function_name, "n", arguments[1], &n, err);
  if (code != TR_OK) return code;
  if (n < 1 || n > MAX_PIECES) {
    tr_value value = tr_value_integer(n);
    return tr_argument_error(err, function_name, "n", &value, "must be from 1 to 1000000");
  }
  code = read_source(&work, arguments, err);
  if (code == TR_OK) code = count_rows(&work, &count, err);
  if (n > count) n = count;
  if (code == TR_OK && n > 0) code = walk(&work, n, count, err);
  tr_statement_reader_free(work.reader);
  sqlite3_finalize(work.snapshot);
  tr_source_table_free(&work.source);
  tr_byte_key_range_free(&work.piece);
  tr_buffer_free(&work.text);
  return code;
}

int tr_register_scan_splits(tr_host *host) {
  static const tr_table_function table = {
      .name = function_name,
      .declaration = "CREATE TABLE x(ordinal INTEGER, restriction TEXT, rows INTEGER,"
                     " \"table\" HIDDEN, n HIDDEN, key HIDDEN)",
      .column_count = 3,
      .json_columns = 1 << 1,
      .risk = SQLITE_VTAB_DIRECTONLY,
      .required_count = 2,
      .arguments = {"table", "n", "key"},
      .fill = fill,
  };
  return tr_host_register_table_function(host, &table);
}

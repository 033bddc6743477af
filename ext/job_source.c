/*
** The source of a job: reads it again whenever its schema has changed, and finds out whether the
** job can still continue.
**
** A restriction is about the keys that the job was made for. So the key is described in words when
** the job is created, and compared whenever the source is read. The job does not continue either if
** its virtual table cannot be read over the source as it is now.
*/
#include "job.h"

#include <string.h>

#include "base/memory.h"
#include "host/source_change.h"
#include "range/byte_key.h"

void tr_job_forget_source(tr_job *job) {
  tr_statement_reader_free(job->keys);
  job->keys = NULL;
  for (int i = TR_SOURCE_ROWIDS; i <= TR_SOURCE_VERSION; i++) {
    sqlite3_finalize(job->statements[i]);
    job->statements[i] = NULL;
  }
  if (job->has_source) tr_source_table_free(&job->source);
  job->has_source = 0;
}

/*
** Reads the source and its key. While the job is being created, a name without a schema means a
** table of the job's own schema, or else what SQLite finds. Later it means the table in that schema
** and no other.
*/
static tr_code read_source(const tr_job *job, const char *function, tr_source_table *source,
                           tr_error *err) {
  const tr_module_arguments *arguments = &job->arguments;
  const char *schema = arguments->schema != NULL ? arguments->schema : job->source_schema;
  if (schema == NULL && tr_has_table(job->db, job->schema, arguments->table)) schema = job->schema;
  tr_code code = tr_source_table_read(source, job->db, function, schema, arguments->table, err);
  if (code == TR_INVALID_ARGUMENT && arguments->schema == NULL && schema != NULL &&
      sqlite3_stricmp(schema, job->schema) == 0) {
    return tr_error_set(err, code, "%s: no such table: %s", function, arguments->table);
  }
  if (code != TR_OK) return code;
  code =
      tr_source_table_set_key(source, job->db, function, &arguments->clauses[TR_JOB_KEY].list, err);
  if (code != TR_OK) tr_source_table_free(source);
  return code;
}

/* A copy of the expression of where(...), if there is one. */
static tr_code copy_where(const tr_job *job, char **where, tr_error *err) {
  const char *expression = job->arguments.clauses[TR_JOB_WHERE].expression;
  *where = NULL;
  if (expression == NULL) return TR_OK;
  size_t size = strlen(expression) + 1;
  *where = tr_malloc(size);
  if (*where == NULL) return tr_error_no_memory(err);
  memcpy(*where, expression, size);
  return TR_OK;
}

tr_code tr_job_describe_scan(const tr_job *job, const char *function, tr_scan_table *table,
                             tr_error *err) {
  tr_source_table source;
  char *where;
  tr_code code = read_source(job, function, &source, err);
  if (code != TR_OK) return code;
  code = copy_where(job, &where, err);
  if (code != TR_OK) {
    tr_source_table_free(&source);
    return code;
  }
  return tr_scan_table_describe(table, &source, &job->arguments.clauses[TR_JOB_COLUMNS].list, where,
                                err);
}

tr_code tr_job_explain(const tr_job *job, tr_error *err) {
  if (tr_error_is_lasting(err)) {
    tr_error_append(err, "; job %s reads that table: change it back, or drop the job", job->name);
  }
  return err->code;
}

/* Whether the job's table can be read over the source as it is now. */
static tr_code check_scan(const tr_job *job, const char *function, tr_error *err) {
  tr_scan_table table = {.function = function,
                         .host = job->host,
                         .db = job->db,
                         .is_stored = sqlite3_stricmp(job->schema, "temp") != 0};
  tr_code code = tr_job_describe_scan(job, function, &table, err);
  tr_scan_table_free(&table);
  return code;
}

/*
** Appends the schema in which the source was found, if only the search has decided it. So the
** search is not made again.
*/
static tr_code append_found_schema(const tr_job *job, const char *schema, tr_buffer *text,
                                   tr_error *err) {
  if (job->arguments.schema != NULL || sqlite3_stricmp(schema, job->schema) == 0) return TR_OK;
  char *quoted = sqlite3_mprintf("\"%w\".", schema);
  tr_code code =
      quoted == NULL ? tr_error_no_memory(err) : tr_buffer_append_text(text, quoted, err);
  sqlite3_free(quoted);
  return code;
}

/*
** What decides how the values of a column become bytes. A column converts what is stored in it, and
** the bytes of 1 and '1' are far apart. INTEGER, BIGINT and DECIMAL convert everything alike.
*/
static const char *const value_types[] = {
    [TR_AFFINITY_BLOB] = " BLOB",       [TR_AFFINITY_TEXT] = " TEXT",
    [TR_AFFINITY_NUMERIC] = " NUMERIC", [TR_AFFINITY_INTEGER] = " NUMERIC",
    [TR_AFFINITY_REAL] = " REAL",
};

/*
** Appends the columns of the key. The forms text and blob already say the type. With `is_brief` the
** description is that of former versions: without types, and without the column that is the rowid.
*/
static tr_code append_columns(const tr_source_table *source, int is_brief, tr_buffer *text,
                              tr_error *err) {
  const tr_source_key *key = &source->key;
  int count = is_brief && key->form == TR_KEY_ROWID ? 0 : key->column_count;
  int has_types = !is_brief && key->form == TR_KEY_ENCODED;
  tr_code code = TR_OK;
  for (int i = 0; i < count && code == TR_OK; i++) {
    const tr_source_column *column = &source->columns[key->columns[i]];
    code = tr_buffer_printf(text, err, "%s%s%s", i == 0 ? "" : ", ", column->name,
                            has_types ? value_types[column->affinity] : "");
  }
  if (code == TR_OK && key->form == TR_KEY_ROWID && count == 0 && !is_brief) {
    code = tr_buffer_append_text(text, "rowid", err);
  }
  return code;
}

static tr_code describe_key(const tr_job *job, const tr_source_table *source, int is_brief,
                            tr_buffer *text, tr_error *err) {
  static const char *const forms[] = {
      [TR_KEY_NONE] = "none", [TR_KEY_ROWID] = "rowid",      [TR_KEY_TEXT] = "text",
      [TR_KEY_BLOB] = "blob", [TR_KEY_ENCODED] = "byte_key",
  };
  const tr_source_key *key = &source->key;
  tr_code code = append_found_schema(job, source->schema, text, err);
  if (code == TR_OK) code = tr_buffer_printf(text, err, "%s(", forms[key->form]);
  if (code == TR_OK) code = append_columns(source, is_brief, text, err);
  if (code == TR_OK && key->has_null_breaker) code = tr_buffer_append_text(text, ", rowid", err);
  if (code == TR_OK) code = tr_buffer_append_text(text, ")", err);
  return code;
}

tr_code tr_job_describe_key(const tr_job *job, const tr_source_table *source, tr_buffer *text,
                            tr_error *err) {
  return describe_key(job, source, 0, text, err);
}

/*
** Whether the job was made for the key, described in that way. The case of names does not matter.
** -1: failed.
*/
static int was_made_for(const tr_job *job, const tr_source_table *source, int is_brief,
                        tr_buffer *text, tr_error *err) {
  text->size = 0;
  tr_code code = describe_key(job, source, is_brief, text, err);
  if (code == TR_OK) code = tr_buffer_append_byte(text, 0, err);
  if (code != TR_OK) return -1;
  return sqlite3_stricmp((const char *)text->data, job->source_key) == 0;
}

/*
** Checks that the key is the one that the job was made for. With another key its restrictions would
** mean other rows.
*/
static tr_code check_key(const tr_job *job, const char *function, const tr_source_table *source,
                         tr_error *err) {
  tr_buffer text = {0};
  tr_code code = TR_OK;
  if (job->source_key == NULL) {
    return tr_error_set(err, TR_CORRUPT, "%s: the tables of job %s cannot be read", function,
                        job->name);
  }
  int is_same = was_made_for(job, source, 1, &text, err);
  if (is_same == 0) is_same = was_made_for(job, source, 0, &text, err);
  if (is_same < 0) code = TR_NO_MEMORY;
  if (is_same == 0) {
    code = tr_error_set(err, TR_INVALID_STATE,
                        "%s: the key of %s is now %s, and job %s was made for %s", function,
                        source->name, (const char *)text.data, job->name, job->source_key);
  }
  tr_buffer_free(&text);
  return code;
}

static tr_code read_source_again(tr_job *job, const char *function, tr_error *err) {
  tr_error reason;
  tr_job_forget_source(job);
  tr_code code = read_source(job, function, &job->source, &reason);
  job->has_source = code == TR_OK;
  if (code == TR_OK) code = check_key(job, function, &job->source, &reason);
  if (code == TR_OK) code = check_scan(job, function, &reason);
  tr_statement_request request = {
      .function = "scan_job", .source = &job->source, .wants_key = 1, .output_count = 0};
  if (code == TR_OK) code = tr_statement_reader_create(job->db, &request, &job->keys, &reason);
  if (code == TR_OK) return TR_OK;
  tr_job_forget_source(job);
  tr_job_explain(job, &reason);
  if (err != NULL) *err = reason;
  return code;
}

/*
** Whether the virtual table of `job` can return its rows over `now`, the source as it is: 1, 0. The
** table knows the source as it was when SQLite connected it. If this connection drops and creates
** the source again, SQLite does not connect the table again.
*/
static int can_be_read(const tr_job *job, const tr_source_table *now, const char *function,
                       tr_error *err) {
  if (job->table == NULL) return 1;
  if (job->is_broken) {
    tr_error_set(err, TR_INVALID_STATE,
                 "%s: table %s was gone, or another, when this connection first used job %s: open "
                 "the connection anew",
                 function, now->name, job->name);
    return 0;
  }
  if (tr_source_table_is_as_before(&job->table->source, now, function, err)) return 1;
  tr_error_append(err,
                  "; job %s reads that table: change it back, open the connection anew, or drop "
                  "the job",
                  job->name);
  return 0;
}

/*
** Checks that the rows can be read on this connection, by the virtual table that its statements use
** now. SQLite connects a table again only if the connection is opened again or the schema changes
** again.
*/
static tr_code check_connected(tr_job *job, const char *function, tr_error *err) {
  tr_job *present;
  tr_error change = {0};
  if (can_be_read(job, &job->source, function, &change)) return TR_OK;
  tr_code code = tr_job_present(job, &present, err);
  if (code != TR_OK) return code;
  if (present == NULL || can_be_read(present, &job->source, function, &change)) return TR_OK;
  if (err != NULL) *err = change;
  return change.code;
}

/* Whether nothing in the source's schema has changed since it was read. -1: failed. */
static int has_same_schema(tr_job *job, tr_error *err) {
  sqlite3_stmt *stmt;
  if (tr_job_statement(job, TR_SOURCE_VERSION, &stmt, err) != TR_OK) return -1;
  int has_row = tr_job_step(job, stmt, err);
  if (has_row < 0) return -1;
  int is_same = has_row == 1 &&
                tr_source_table_has_version(&job->source, job->db, sqlite3_column_int64(stmt, 0));
  sqlite3_reset(stmt);
  return is_same;
}

/* Whether the source is still what was read of it. -1: failed. */
static int is_current(tr_job *job, const char *function, tr_error *err) {
  if (!job->has_source) return 0;
  int is_same = has_same_schema(job, err);
  return is_same != 0 ? is_same : tr_source_table_is_current(&job->source, job->db, function, err);
}

tr_code tr_job_need_keys(tr_job *job, const char *function, tr_error *err) {
  tr_error reason;
  if (job->has_source && job->has_current_source) return TR_OK;
  int is_known = is_current(job, function, &reason);
  /* What was read of it is true, but may be incomplete: see whether there is more. */
  int is_readable = is_known == 1 && can_be_read(job, &job->source, function, &reason);
  tr_code code = is_known < 0  ? reason.code
                 : is_readable ? TR_OK
                               : read_source_again(job, function, &reason);
  if (code == TR_OK && !is_readable) code = check_connected(job, function, &reason);
  if (code != TR_OK && err != NULL) *err = reason;
  job->has_current_source = code == TR_OK && job->is_in_call;
  return code;
}

tr_code tr_job_key_behind(const tr_job *job, tr_bytes key, tr_buffer *bound, tr_error *err) {
  tr_code code = tr_buffer_set(bound, key, err);
  if (code != TR_OK) return code;
  if (job->source.key.form == TR_KEY_ROWID) {
    int64_t rowid = tr_byte_key_to_rowid(key.data);
    if (rowid < INT64_MAX) {
      tr_byte_key_of_rowid(rowid + 1, bound->data);
      return TR_OK;
    }
  }
  return tr_buffer_append_byte(bound, 0, err);
}

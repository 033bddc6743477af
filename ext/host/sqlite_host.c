/*
** The shared host layer: reference-counted state for each connection, registration from tables, and
** conversions between SQLite's values and errors and ours.
**
** Registration asks PRAGMA function_list and module_list what the connection already has, and
** leaves those names alone: an extension must not change what a program's own functions do, or
** those of a newer SQLite.
*/
#include "host/sqlite_host.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "host/tracker_registry.h"

/* What one surface keeps for the connection. */
typedef struct kept_state {
  struct kept_state *next;
  const void *owner;
  void *state;
  void (*release)(void *);
} kept_state;

struct tr_host {
  sqlite3 *db;
  int references;
  tr_tracker_registry *trackers;
  kept_state *states;
  tr_buffer left_alone;  /* JSON array, terminated */
  char *known_functions; /* while registering: |name/argument count|name/...|, or NULL */
  char *known_modules;   /* while registering: |name|name|, or NULL */
};

/* The pApp of a registered function, and the pAux of a module with data. */
typedef struct binding {
  tr_host *host;
  const void *data;
  int argument_count; /* of a function */
} binding;

/*
** Lists what the connection already has, in one pass, since asking for each name would walk
** SQLite's whole list of functions a hundred times. `columns` are the numbers of the column with
** the name and of the one that follows it after a slash (-1: none). The list is in lower case, as
** our names are, because SQLite compares names without case. If the host was built without the
** pragma or its authorizer forbids it, the list is NULL; then no name is known, and all are
** registered.
**
** The lists must come from PRAGMA statements. Table-valued pragmas would make SQLite read the
** schema now. But SQLite only recognizes the shadow tables of our modules if it reads the schema
** after the modules are registered.
*/
static int read_known(sqlite3 *db, const char *pragma, const int columns[2], char **known) {
  sqlite3_stmt *stmt = NULL;
  int rc = sqlite3_prepare_v2(db, pragma, -1, &stmt, NULL);
  if (rc == SQLITE_ERROR || rc == SQLITE_AUTH) return SQLITE_OK;
  if (rc != SQLITE_OK) return rc;
  sqlite3_str *text = sqlite3_str_new(db);
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    sqlite3_str_appendf(text, "|%s", sqlite3_column_text(stmt, columns[0]));
    if (columns[1] >= 0) sqlite3_str_appendf(text, "/%s", sqlite3_column_text(stmt, columns[1]));
  }
  int is_empty = sqlite3_str_length(text) == 0;
  if (!is_empty) sqlite3_str_appendchar(text, 1, '|');
  int failed = sqlite3_str_errcode(text);
  *known = sqlite3_str_finish(text);
  for (char *c = *known; c != NULL && *c != '\0'; c++) {
    if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
  }
  int finalized = sqlite3_finalize(stmt);
  if (rc != SQLITE_DONE) return finalized != SQLITE_OK ? finalized : rc;
  return failed;
}

int tr_host_create(sqlite3 *db, tr_host **created) {
  tr_host *host = tr_malloc(sizeof *host);
  *created = NULL;
  if (host == NULL) return SQLITE_NOMEM;
  *host = (tr_host){.db = db, .references = 1, .trackers = tr_tracker_registry_create()};
  tr_bytes no_names = {(const uint8_t *)"[]", sizeof "[]"};
  int rc = SQLITE_OK;
  if (host->trackers == NULL || tr_buffer_append(&host->left_alone, no_names, NULL) != TR_OK) {
    rc = SQLITE_NOMEM;
  }
  if (rc == SQLITE_OK) {
    rc = read_known(db, "PRAGMA function_list", (const int[]){0, 4}, &host->known_functions);
  }
  if (rc == SQLITE_OK) {
    rc = read_known(db, "PRAGMA module_list", (const int[]){0, -1}, &host->known_modules);
  }
  if (rc != SQLITE_OK) {
    tr_host_release(host);
    return rc;
  }
  *created = host;
  return SQLITE_OK;
}

void tr_host_end_registration(tr_host *host) {
  sqlite3_free(host->known_functions);
  sqlite3_free(host->known_modules);
  host->known_functions = host->known_modules = NULL;
}

void tr_host_release(tr_host *host) {
  if (--host->references > 0) return;
  tr_host_end_registration(host);
  if (host->trackers != NULL) tr_tracker_registry_free(host->trackers);
  tr_buffer_free(&host->left_alone);
  while (host->states != NULL) {
    kept_state *kept = host->states;
    host->states = kept->next;
    kept->release(kept->state);
    tr_free(kept);
  }
  tr_free(host);
}

void *tr_host_state(const tr_host *host, const void *owner) {
  const kept_state *kept = host->states;
  while (kept != NULL && kept->owner != owner) kept = kept->next;
  return kept == NULL ? NULL : kept->state;
}

tr_code tr_host_set_state(tr_host *host, const void *owner, void *state, void (*release)(void *)) {
  kept_state *kept = tr_malloc(sizeof *kept);
  if (kept == NULL) {
    release(state);
    return TR_NO_MEMORY;
  }
  *kept = (kept_state){host->states, owner, state, release};
  host->states = kept;
  return TR_OK;
}

static void release_host(void *host) {
  tr_host_release(host);
}

static void release_binding(void *pointer) {
  binding *bound = pointer;
  tr_host_release(bound->host);
  tr_free(bound);
}

/* A binding that holds a reference to the host. release_binding releases it. */
static binding *bind_data(tr_host *host, const void *data) {
  binding *bound = tr_malloc(sizeof *bound);
  if (bound == NULL) return NULL;
  *bound = (binding){.host = host, .data = data};
  host->references++;
  return bound;
}

sqlite3 *tr_host_db(const tr_host *host) {
  return host->db;
}

tr_tracker_registry *tr_host_trackers(const tr_host *host) {
  return host->trackers;
}

const char *tr_host_left_alone(const tr_host *host) {
  return (const char *)host->left_alone.data;
}

tr_host *tr_function_host(sqlite3_context *context) {
  return ((binding *)sqlite3_user_data(context))->host;
}

const void *tr_function_data(sqlite3_context *context) {
  return ((binding *)sqlite3_user_data(context))->data;
}

int tr_function_argument_count(sqlite3_context *context) {
  return ((binding *)sqlite3_user_data(context))->argument_count;
}

tr_host *tr_module_host(void *aux) {
  return ((binding *)aux)->host;
}

const void *tr_module_data(void *aux) {
  return ((binding *)aux)->data;
}

/* Adds `name` to the JSON array of names left alone. Our names need no escaping. */
static int note_left_alone(tr_host *host, const char *name) {
  tr_buffer *list = &host->left_alone;
  size_t before = list->size;
  list->size -= 2; /* the bracket and the terminator */
  const char *comma = list->size > 1 ? "," : "";
  if (tr_buffer_printf(list, NULL, "%s\"%s\"]", comma, name) != TR_OK ||
      tr_buffer_append_byte(list, 0, NULL) != TR_OK) {
    memcpy(list->data + before - 2, "]", 2);
    list->size = before;
    return SQLITE_NOMEM;
  }
  return SQLITE_OK;
}

/* Whether `known` lists `name` followed by `rest`. */
static int is_known(const char *known, const char *name, const char *rest) {
  char entry[128];
  snprintf(entry, sizeof entry, "|%s%s|", name, rest);
  return known != NULL && strstr(known, entry) != NULL;
}

static int is_known_function(const tr_host *host, const tr_function *f) {
  char count[16];
  snprintf(count, sizeof count, "/%d", f->argument_count);
  return is_known(host->known_functions, f->name, count) ||
         is_known(host->known_functions, f->name, "/-1");
}

static int register_function(tr_host *host, const tr_function *f) {
  binding *bound = bind_data(host, f->data); /* SQLite releases it, also when it fails */
  if (bound == NULL) return SQLITE_NOMEM;
  bound->argument_count = f->argument_count;
  int flags = SQLITE_UTF8 | f->flags;
  if (f->value != NULL) {
    return sqlite3_create_window_function(host->db, f->name, f->argument_count, flags, bound,
                                          f->step, f->final, f->value, f->inverse, release_binding);
  }
  return sqlite3_create_function_v2(host->db, f->name, f->argument_count, flags, bound, f->call,
                                    f->step, f->final, release_binding);
}

int tr_host_register_functions(tr_host *host, const tr_function *functions, int count) {
  int rc = SQLITE_OK;
  for (int i = 0; i < count && rc == SQLITE_OK; i++) {
    const tr_function *f = &functions[i];
    rc = is_known_function(host, f) ? note_left_alone(host, f->name) : register_function(host, f);
  }
  return rc;
}

int tr_host_register_module(tr_host *host, const char *name, const sqlite3_module *module) {
  if (is_known(host->known_modules, name, "")) return note_left_alone(host, name);
  host->references++; /* from here on SQLite calls release_host, also when it fails */
  return sqlite3_create_module_v2(host->db, name, module, host, release_host);
}

int tr_host_register_module_data(tr_host *host, const char *name, const sqlite3_module *module,
                                 const void *data) {
  if (is_known(host->known_modules, name, "")) return note_left_alone(host, name);
  binding *bound = bind_data(host, data);
  if (bound == NULL) return SQLITE_NOMEM;
  return sqlite3_create_module_v2(host->db, name, module, bound, release_binding);
}

/* --- Values ------------------------------------------------------------------------------- */

/*
** The size of a text is only asked for if there are bytes. If the text could not be converted,
** asking for its size would convert it again, and give a size for bytes that are not there.
*/
tr_value tr_value_of_sqlite(sqlite3_value *value) {
  switch (sqlite3_value_type(value)) {
  case SQLITE_INTEGER: return tr_value_integer(sqlite3_value_int64(value));
  case SQLITE_FLOAT: return tr_value_real(sqlite3_value_double(value));
  case SQLITE_TEXT: {
    const uint8_t *text = sqlite3_value_text(value);
    size_t size = text == NULL ? 0 : (size_t)sqlite3_value_bytes(value);
    return tr_value_text((tr_bytes){text, size});
  }
  case SQLITE_BLOB: {
    const uint8_t *blob = sqlite3_value_blob(value);
    return tr_value_blob((tr_bytes){blob, (size_t)sqlite3_value_bytes(value)});
  }
  default: return tr_value_null();
  }
}

tr_value tr_value_of_utf8(sqlite3_value *value) {
  if (sqlite3_value_type(value) != SQLITE_TEXT) return tr_value_of_sqlite(value);
  const uint8_t *text = sqlite3_value_blob(value);
  size_t size = (size_t)sqlite3_value_bytes(value);
  return tr_value_text(size == 0 ? tr_bytes_of_text("") : (tr_bytes){text, size});
}

tr_value tr_value_of_column(sqlite3_stmt *stmt, int column) {
  switch (sqlite3_column_type(stmt, column)) {
  case SQLITE_INTEGER: return tr_value_integer(sqlite3_column_int64(stmt, column));
  case SQLITE_FLOAT: return tr_value_real(sqlite3_column_double(stmt, column));
  case SQLITE_TEXT: {
    const uint8_t *text = sqlite3_column_text(stmt, column);
    size_t size = text == NULL ? 0 : (size_t)sqlite3_column_bytes(stmt, column);
    return tr_value_text((tr_bytes){text, size});
  }
  case SQLITE_BLOB: {
    const uint8_t *blob = sqlite3_column_blob(stmt, column);
    return tr_value_blob((tr_bytes){blob, (size_t)sqlite3_column_bytes(stmt, column)});
  }
  default: return tr_value_null();
  }
}

int tr_values_are_same(sqlite3_value *a, sqlite3_value *b) {
  tr_value x = tr_value_of_sqlite(a), y = tr_value_of_sqlite(b);
  if (x.type != y.type) return 0;
  int is_short = x.type == TR_TEXT && (x.bytes.data == NULL || y.bytes.data == NULL);
  return !is_short && tr_value_compare(&x, &y) == 0;
}

static int is_space(uint8_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static size_t skip_digits(tr_bytes text, size_t at) {
  while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9') at++;
  return at;
}

/* Reads `[+-]digits`, which must be all of the text. Returns 0 if it does not fit. */
static int read_integer(tr_bytes text, int64_t *integer) {
  int is_negative = text.data[0] == '-';
  uint64_t limit = is_negative ? UINT64_C(1) << 63 : INT64_MAX, magnitude = 0;
  for (size_t i = text.data[0] == '-' || text.data[0] == '+'; i < text.size; i++) {
    uint64_t digit = (uint64_t)(text.data[i] - '0');
    if (magnitude > (limit - digit) / 10) return 0;
    magnitude = magnitude * 10 + digit;
  }
  *integer = (int64_t)(is_negative ? UINT64_C(0) - magnitude : magnitude);
  return 1;
}

/*
** Newer releases read a number only as far as the first zero byte. In older ones a text with that
** byte is not a number.
*/
static tr_bytes readable_as_number(tr_bytes text) {
  enum { FIRST_TO_STOP = 3052000 };
  if (text.size == 0 || sqlite3_libversion_number() < FIRST_TO_STOP) return text;
  const uint8_t *zero = memchr(text.data, 0, text.size);
  return zero == NULL ? text : (tr_bytes){text.data, (size_t)(zero - text.data)};
}

int tr_spelled_number(sqlite3_value *value, tr_bytes text, tr_value *number) {
  size_t start = 0, at, end;
  text = readable_as_number(text);
  while (start < text.size && is_space(text.data[start])) start++;
  at = start;
  if (at < text.size && (text.data[at] == '-' || text.data[at] == '+')) at++;
  size_t whole = skip_digits(text, at), digits = whole - at;
  at = end = whole;
  if (at < text.size && text.data[at] == '.') {
    end = skip_digits(text, at + 1);
    digits += end - at - 1;
    at = end;
  }
  if (digits == 0) return 0;
  if (at < text.size && (text.data[at] == 'e' || text.data[at] == 'E')) {
    at++;
    if (at < text.size && (text.data[at] == '-' || text.data[at] == '+')) at++;
    end = skip_digits(text, at);
    if (end == at) return 0;
    at = end;
  }
  while (at < text.size && is_space(text.data[at])) at++;
  if (at < text.size) return 0;
  int64_t integer;
  if (end == whole && read_integer((tr_bytes){text.data + start, whole - start}, &integer)) {
    *number = tr_value_integer(integer);
  } else {
    *number = tr_value_real(sqlite3_value_double(value));
  }
  return 1;
}

tr_value tr_number_of_sqlite(sqlite3_value *value) {
  tr_value given = tr_value_of_sqlite(value);
  if (given.type == TR_TEXT) {
    if (tr_value_lacks_bytes(&given) || tr_spelled_number(value, given.bytes, &given)) return given;
  }
  if (given.type < TR_TEXT) return given;
  return tr_value_real(sqlite3_value_double(value));
}

/* The bytes of a view. SQLite would make NULL of an empty value with a null pointer. */
static const char *non_null(tr_bytes bytes) {
  return bytes.size == 0 ? "" : (const char *)bytes.data;
}

void tr_result_value(sqlite3_context *context, const tr_value *value) {
  switch (value->type) {
  case TR_NULL: sqlite3_result_null(context); break;
  case TR_INTEGER: sqlite3_result_int64(context, value->integer); break;
  case TR_REAL: sqlite3_result_double(context, value->real); break;
  case TR_TEXT:
    sqlite3_result_text64(context, non_null(value->bytes), value->bytes.size, SQLITE_TRANSIENT,
                          SQLITE_UTF8);
    break;
  case TR_BLOB:
    sqlite3_result_blob64(context, non_null(value->bytes), value->bytes.size, SQLITE_TRANSIENT);
    break;
  }
}

void tr_result_text(sqlite3_context *context, const tr_buffer *text) {
  tr_value value = tr_value_text(tr_buffer_bytes(text));
  tr_result_value(context, &value);
}

void tr_result_json(sqlite3_context *context, const tr_buffer *json) {
  tr_result_text(context, json);
  sqlite3_result_subtype(context, TR_JSON_SUBTYPE);
}

void tr_result_blob(sqlite3_context *context, const tr_buffer *blob) {
  tr_value value = tr_value_blob(tr_buffer_bytes(blob));
  tr_result_value(context, &value);
}

int tr_bind_value(sqlite3_stmt *stmt, int index, const tr_value *value) {
  switch (value->type) {
  case TR_INTEGER: return sqlite3_bind_int64(stmt, index, value->integer);
  case TR_REAL: return sqlite3_bind_double(stmt, index, value->real);
  case TR_TEXT:
    return sqlite3_bind_text64(stmt, index, non_null(value->bytes), value->bytes.size,
                               SQLITE_TRANSIENT, SQLITE_UTF8);
  case TR_BLOB:
    return sqlite3_bind_blob64(stmt, index, non_null(value->bytes), value->bytes.size,
                               SQLITE_TRANSIENT);
  default: return sqlite3_bind_null(stmt, index);
  }
}

/* --- Errors ------------------------------------------------------------------------------- */

int tr_sqlite_code(const tr_error *err) {
  static const int codes[] = {
      [TR_OK] = SQLITE_OK,
      [TR_INVALID_ARGUMENT] = SQLITE_ERROR,
      [TR_INVALID_STATE] = SQLITE_ERROR,
      [TR_NO_MEMORY] = SQLITE_NOMEM,
      [TR_TOO_BIG] = SQLITE_TOOBIG,
      [TR_OVERFLOW] = SQLITE_ERROR,
      [TR_CORRUPT] = SQLITE_ERROR,
      [TR_INTERRUPTED] = SQLITE_INTERRUPT,
  };
  return err->code == TR_HOST ? err->host_code : codes[err->code];
}

/*
** An interrupt is SQLITE_INTERRUPT almost everywhere. But if it comes inside sqlite3_declare_vtab,
** only its text remains. In older releases only the text remains also when such a table is
** connected.
*/
static int is_interrupt(sqlite3 *db, int rc) {
  if (rc == SQLITE_INTERRUPT) return 1;
  return rc == SQLITE_ERROR && strcmp(sqlite3_errmsg(db), sqlite3_errstr(SQLITE_INTERRUPT)) == 0;
}

/*
** If a table of another module (json_each) was interrupted, even the text is lost. But an interrupt
** stays in force while any statement runs, so it stops another statement, too.
*/
static int is_interrupted(sqlite3 *db) {
  sqlite3_stmt *stmt = NULL;
  int rc = sqlite3_prepare_v2(db, "SELECT 1", -1, &stmt, NULL);
  sqlite3_finalize(stmt);
  return rc == SQLITE_INTERRUPT;
}

tr_code tr_error_ignored(tr_error *err, const char *text) {
  tr_error_set(err, TR_HOST, "%s; does an authorizer have it ignored?", text);
  if (err != NULL) err->host_code = SQLITE_AUTH;
  return TR_HOST;
}

/*
** While CREATE TEMP TABLE ... AS reads its rows, it has written only half a line of temp's schema.
** If an inner statement then finds another schema stale, SQLite forgets and reads temp's, too,
** which is malformed at that moment. SQLITE_SCHEMA makes SQLite begin the statement again, and then
** temp's schema is whole. (A schema that stays malformed fails there, before we are called.)
*/
static int is_temp_half_made(sqlite3 *db, int rc) {
  if ((rc & 0xff) != SQLITE_CORRUPT || !tr_is_writing(db)) return 0;
  sqlite3_stmt *stmt = NULL;
  int again = sqlite3_prepare_v2(db, "SELECT 1 FROM temp.sqlite_master", -1, &stmt, NULL);
  sqlite3_finalize(stmt);
  return (again & 0xff) == SQLITE_CORRUPT;
}

tr_code tr_error_of_sqlite(tr_error *err, sqlite3 *db, int rc) {
  /* These are no errors: SQLite would take either from a module's method for a row. */
  if (rc == SQLITE_ROW) return tr_error_ignored(err, "an inner statement gave too many rows");
  if (rc == SQLITE_DONE) return tr_error_ignored(err, "an inner statement gave no row");
  if ((rc & 0xff) == SQLITE_NOMEM) return tr_error_no_memory(err);
  int extended = sqlite3_extended_errcode(db);
  int is_current = (extended & 0xff) == (rc & 0xff);
  int was_interrupted = is_interrupt(db, rc);
  tr_error_set(err, TR_HOST, "%s", is_current ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
  if (err != NULL) err->host_code = is_current ? extended : rc;
  if (was_interrupted || (rc == SQLITE_ERROR && is_interrupted(db))) {
    return tr_error_set(err, TR_INTERRUPTED, "interrupted");
  }
  if (err != NULL && is_temp_half_made(db, rc)) err->host_code = SQLITE_SCHEMA;
  return TR_HOST;
}

int tr_error_is_lasting(const tr_error *err) {
  if (err->code == TR_HOST) return (err->host_code & 0xff) == SQLITE_ERROR;
  return err->code == TR_INVALID_ARGUMENT || err->code == TR_INVALID_STATE ||
         err->code == TR_CORRUPT;
}

void tr_result_error(sqlite3_context *context, const char *function, const tr_error *err) {
  if (err->code == TR_NO_MEMORY) {
    sqlite3_result_error_nomem(context);
    return;
  }
  int is_named = function == NULL || strncmp(err->message, function, strlen(function)) == 0;
  char *message = is_named ? sqlite3_mprintf("%s", err->message)
                           : sqlite3_mprintf("%s: %s", function, err->message);
  if (message == NULL) {
    sqlite3_result_error_nomem(context);
    return;
  }
  sqlite3_result_error(context, message, -1);
  sqlite3_result_error_code(context, tr_sqlite_code(err));
  sqlite3_free(message);
}

int tr_create_error(char **message, const tr_error *err) {
  if (err->code == TR_NO_MEMORY) return SQLITE_NOMEM;
  sqlite3_free(*message);
  *message = sqlite3_mprintf("%s", err->message);
  return *message == NULL ? SQLITE_NOMEM : tr_sqlite_code(err);
}

/*
** If no statement is running (the first is being compiled), SQLite documents that an interrupt has
** no effect: it ends when the next text is parsed, and the second attempt succeeds. If one is
** running, the interrupt stays, and the second attempt fails, too.
*/
int tr_declare_vtab(sqlite3 *db, const char *declaration, char **message) {
  int rc = sqlite3_declare_vtab(db, declaration);
  if (rc == SQLITE_OK || !is_interrupt(db, rc)) return rc;
  rc = sqlite3_declare_vtab(db, declaration);
  if (rc == SQLITE_OK || !is_interrupt(db, rc)) return rc;
  sqlite3_free(*message);
  *message = sqlite3_mprintf("%s", sqlite3_errstr(SQLITE_INTERRUPT));
  return *message == NULL ? SQLITE_NOMEM : SQLITE_INTERRUPT;
}

int tr_vtab_error(sqlite3_vtab *vtab, const tr_error *err) {
  return tr_create_error(&vtab->zErrMsg, err);
}

tr_code tr_argument_integer(const char *function, const char *argument, sqlite3_value *value,
                            int64_t *integer, tr_error *err) {
  tr_value v = tr_value_of_sqlite(value);
  if (v.type == TR_INTEGER) {
    *integer = v.integer;
  } else if (v.type != TR_REAL || !tr_real_is_integer(v.real, integer)) {
    return tr_argument_error(err, function, argument, &v, "must be an integer");
  }
  return TR_OK;
}

tr_code tr_argument_real(const char *function, const char *argument, sqlite3_value *value,
                         double *real, tr_error *err) {
  tr_value v = tr_value_of_sqlite(value);
  if (v.type != TR_INTEGER && v.type != TR_REAL) {
    return tr_argument_error(err, function, argument, &v, "must be a number");
  }
  *real = sqlite3_value_double(value);
  return TR_OK;
}

tr_code tr_argument_text(const char *function, const char *argument, sqlite3_value *value,
                         tr_bytes *text, tr_error *err) {
  tr_value v = tr_value_of_sqlite(value);
  if (v.type != TR_TEXT) return tr_argument_error(err, function, argument, &v, "must be text");
  if (tr_value_lacks_bytes(&v)) return tr_error_no_memory(err);
  *text = v.bytes;
  return TR_OK;
}

tr_code tr_argument_blob(const char *function, const char *argument, sqlite3_value *value,
                         tr_bytes *blob, tr_error *err) {
  tr_value v = tr_value_of_sqlite(value);
  if (v.type != TR_BLOB) return tr_argument_error(err, function, argument, &v, "must be a BLOB");
  if (tr_value_lacks_bytes(&v)) return tr_error_no_memory(err);
  *blob = v.bytes;
  return TR_OK;
}

/* --- SQL text ----------------------------------------------------------------------------- */

void tr_sql_append_identifier(sqlite3_str *sql, const char *name) {
  sqlite3_str_appendf(sql, "\"%w\"", name);
}

void tr_sql_append_shadow(sqlite3_str *sql, const char *name, const char *suffix) {
  sqlite3_str_appendf(sql, "\"%w_%s\"", name, suffix);
}

void tr_sql_append_table(sqlite3_str *sql, const char *schema, const char *name) {
  tr_sql_append_identifier(sql, schema);
  sqlite3_str_appendchar(sql, 1, '.');
  tr_sql_append_identifier(sql, name);
}

sqlite3_stmt *tr_next_writing(sqlite3 *db, sqlite3_stmt *after) {
  sqlite3_stmt *stmt = after;
  do {
    stmt = sqlite3_next_stmt(db, stmt);
  } while (stmt != NULL && (!sqlite3_stmt_busy(stmt) || sqlite3_stmt_readonly(stmt)));
  return stmt;
}

int tr_is_writing(sqlite3 *db) {
  return tr_next_writing(db, NULL) != NULL;
}

tr_code tr_sql_prepare(sqlite3 *db, sqlite3_str *sql, sqlite3_stmt **stmt, tr_error *err) {
  *stmt = NULL;
  int rc = sqlite3_str_errcode(sql);
  char *text = sqlite3_str_finish(sql);
  if (rc == SQLITE_TOOBIG) {
    sqlite3_free(text);
    return tr_error_set(err, TR_TOO_BIG, "SQL text too long");
  }
  if (rc != SQLITE_OK || text == NULL) {
    sqlite3_free(text);
    return tr_error_no_memory(err);
  }
  rc = sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
  sqlite3_free(text);
  return rc == SQLITE_OK ? TR_OK : tr_error_of_sqlite(err, db, rc);
}

/*
** What every surface shares of SQLite: registering, values, errors, SQL text.
**
** A tr_host is one connection's share of the extension. Every function and module that we register
** on a connection holds a reference to it, so it lives exactly as long as the connection, and what
** hangs on it (private trackers) is released with the connection.
**
** Thread-safety: as SQLite's own for one connection: calls that take a sqlite3*, a context or a
** host belong to the thread that is using that connection.
*/
#ifndef TR_HOST_SQLITE_HOST_H
#define TR_HOST_SQLITE_HOST_H

#include "host/sqlite_api.h"

#include "base/argument.h"
#include "base/bytes.h"
#include "base/value.h"

typedef struct tr_host tr_host;
typedef struct tr_tracker_registry tr_tracker_registry;

/* --- Registering -------------------------------------------------------------------------- */

/* One SQL function: scalar if `call` is set, else an aggregate. */
typedef struct tr_function {
  const char *name;
  int argument_count; /* -1: any */
  int flags;          /* SQLITE_DETERMINISTIC, SQLITE_INNOCUOUS, ...; UTF-8 is added */
  void (*call)(sqlite3_context *, int, sqlite3_value **);
  void (*step)(sqlite3_context *, int, sqlite3_value **);
  void (*final)(sqlite3_context *);
  void (*value)(sqlite3_context *); /* with `inverse`: may be a window function */
  void (*inverse)(sqlite3_context *, int, sqlite3_value **);
  const void *data; /* for tr_function_data; must outlive the connection (a static table) */
} tr_function;

/* Flags of the two kinds of function that we have. */
#define TR_PURE (SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS)
#define TR_DIRECT SQLITE_DIRECTONLY

/*
** A new host with one reference, the caller's. Returns a SQLite code. Between this and
** tr_host_end_registration the surfaces register themselves.
*/
int tr_host_create(sqlite3 *db, tr_host **created);
void tr_host_end_registration(tr_host *host);
void tr_host_release(tr_host *host);

sqlite3 *tr_host_db(const tr_host *host);
tr_tracker_registry *tr_host_trackers(const tr_host *host);

/*
** What a surface keeps for the connection: one pointer for each `owner`, the address of something
** static in that surface. NULL: nothing yet. Setting takes `state` over, also on failure
** (TR_NO_MEMORY); `release` frees it with the host.
*/
void *tr_host_state(const tr_host *host, const void *owner);
tr_code tr_host_set_state(tr_host *host, const void *owner, void *state, void (*release)(void *));

/*
** Registers `count` functions, or one module with the host as its pAux. A name that the connection
** already has (a function of that name with that number of arguments or with any number; a module
** of that name) is left alone and noted. Returns a SQLite code.
*/
int tr_host_register_functions(tr_host *host, const tr_function *functions, int count);
int tr_host_register_module(tr_host *host, const char *name, const sqlite3_module *module);

/*
** The same for a module that serves several names: its pAux is opaque, and gives the host and
** `data` (which must outlive the connection) back.
*/
int tr_host_register_module_data(tr_host *host, const char *name, const sqlite3_module *module,
                                 const void *data);
tr_host *tr_module_host(void *aux);
const void *tr_module_data(void *aux);

/* A JSON array of the names that were left alone; borrowed until the next registration. */
const char *tr_host_left_alone(const tr_host *host);

/* Inside a registered function: its host, the data of its table entry. */
tr_host *tr_function_host(sqlite3_context *context);
const void *tr_function_data(sqlite3_context *context);

/* And the number of arguments it was registered with: an aggregate over no rows never sees them. */
int tr_function_argument_count(sqlite3_context *context);

/* --- Values ------------------------------------------------------------------------------- */

/* A view of an SQL value: text and blob bytes are SQLite's, valid as SQLite says. */
tr_value tr_value_of_sqlite(sqlite3_value *value);

/*
** The same where the database's encoding is known to be UTF-8 (tr_source_table.is_utf8): text is
** taken as it lies there. Asking for text proper copies it, to put a terminator behind it.
*/
tr_value tr_value_of_utf8(sqlite3_value *value);

/* The same of a statement's column. */
tr_value tr_value_of_column(sqlite3_stmt *stmt, int column);

/*
** 1: `value` is text (`text`, as UTF-8) that spells a number and nothing else but spaces around it,
** which `*number` then is: INTEGER for an integer that fits, else REAL. 0: it is not. So SQLite's
** numeric affinity has it. `value` stays text.
**
** For this and not sqlite3_value_numeric_type, which in newer releases needs the value's
** connection: copies and the elements of an IN list have none.
*/
int tr_spelled_number(sqlite3_value *value, tr_bytes text, tr_value *number);

/*
** The number that an aggregate of numbers makes of a value, as SQLite's sum() does: NULL and
** INTEGER stay, so does text that spells one; all else is a REAL, the one that the text or BLOB
** begins with, or 0.0. A text without bytes: out of memory.
*/
tr_value tr_number_of_sqlite(sqlite3_value *value);

/* Gives a result; text and blobs are copied. */
void tr_result_value(sqlite3_context *context, const tr_value *value);
void tr_result_text(sqlite3_context *context, const tr_buffer *text);
void tr_result_json(sqlite3_context *context, const tr_buffer *json);
void tr_result_blob(sqlite3_context *context, const tr_buffer *blob);

/* Binds `value` to parameter `index` of `stmt`, copied. Returns a SQLite code. */
int tr_bind_value(sqlite3_stmt *stmt, int index, const tr_value *value);

/* --- Errors ------------------------------------------------------------------------------- */

/* SQLite's code for an error. */
int tr_sqlite_code(const tr_error *err);

/*
** What could not be had since an authorizer has SQLite ignore it: SQLITE_AUTH, with `text`. Returns
** TR_HOST.
*/
tr_code tr_error_ignored(tr_error *err, const char *text);

/*
** Fills `err` from the connection's last error. Returns TR_HOST (or TR_NO_MEMORY, TR_INTERRUPTED).
*/
tr_code tr_error_of_sqlite(tr_error *err, sqlite3 *db, int rc);

/* Whether the error is one that lasts, and not SQLite's of the moment (busy, no memory). */
int tr_error_is_lasting(const tr_error *err);

/*
** Ends a function with an error: `function: message`, or the message as it is where it begins with
** the function's name already (that of tr_argument_error) or `function` is NULL.
*/
void tr_result_error(sqlite3_context *context, const char *function, const tr_error *err);

/*
** sqlite3_declare_vtab for xCreate and xConnect. It calls an interrupt SQLITE_ERROR; from here it
** comes as SQLITE_INTERRUPT, and `*message` says so.
*/
int tr_declare_vtab(sqlite3 *db, const char *declaration, char **message);

/* Gives a virtual table the error's text and returns the code for the method to return. */
int tr_vtab_error(sqlite3_vtab *vtab, const tr_error *err);
/* The same for xCreate and xConnect, which have no table yet. */
int tr_create_error(char **message, const tr_error *err);

/* Reads an argument that must be an integer (or an integral REAL), a number, text, or a BLOB. */
tr_code tr_argument_integer(const char *function, const char *argument, sqlite3_value *value,
                            int64_t *integer, tr_error *err);
tr_code tr_argument_real(const char *function, const char *argument, sqlite3_value *value,
                         double *real, tr_error *err);
tr_code tr_argument_text(const char *function, const char *argument, sqlite3_value *value,
                         tr_bytes *text, tr_error *err);
tr_code tr_argument_blob(const char *function, const char *argument, sqlite3_value *value,
                         tr_bytes *blob, tr_error *err);

/* --- Statements --------------------------------------------------------------------------- */

/*
** Whether a statement of the connection is in the middle of writing: the one that calls us, or
** another.
*/
int tr_is_writing(sqlite3 *db);

/* Those statements one after another, from NULL on; NULL behind the last. */
sqlite3_stmt *tr_next_writing(sqlite3 *db, sqlite3_stmt *after);

/* --- SQL text ----------------------------------------------------------------------------- */

/* A number that is a macro, as text. */
#define TR_TEXT_OF_TOKEN(token) #token
#define TR_TEXT_OF(number) TR_TEXT_OF_TOKEN(number)

/* Appends an identifier in double quotes, as all that go into SQL are. */
void tr_sql_append_identifier(sqlite3_str *sql, const char *name);

/* Appends "name_suffix", as the tables of a virtual table are called. */
void tr_sql_append_shadow(sqlite3_str *sql, const char *name, const char *suffix);

/* Appends "schema"."name". */
void tr_sql_append_table(sqlite3_str *sql, const char *schema, const char *name);

/* Prepares the text (always freed with `sql`). On failure `*stmt` is NULL and `err` is filled. */
tr_code tr_sql_prepare(sqlite3 *db, sqlite3_str *sql, sqlite3_stmt **stmt, tr_error *err);

#endif

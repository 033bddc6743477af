/*
** What all surfaces need of SQLite: registration, values, errors, SQL text.
**
** A tr_host is what the extension keeps for one connection. Every function and module that we
** register on the connection holds a reference to it. So the host lives exactly as long as the
** connection, and what belongs to it (private trackers) is released with the connection.
**
** Thread-safety: as SQLite's own for one connection. Calls that take a sqlite3*, a context or a
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

/* --- Registration ------------------------------------------------------------------------- */

/* One SQL function: scalar if `call` is set, else an aggregate. */
typedef struct tr_function {
  const char *name;
  int argument_count; /* -1: any */
  int flags;          /* SQLITE_DETERMINISTIC, SQLITE_INNOCUOUS, ...; UTF-8 is added */
  void (*call)(sqlite3_context *, int, sqlite3_value **);
  void (*step)(sqlite3_context *, int, sqlite3_value **);
  void (*final)(sqlite3_context *);
  void (*value)(sqlite3_context *); /* with `inverse`: it can be a window function */
  void (*inverse)(sqlite3_context *, int, sqlite3_value **);
  const void *data; /* for tr_function_data; must outlive the connection (a static table) */
} tr_function;

/* The flags of the two kinds of functions that we have. */
#define TR_PURE (SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS)
#define TR_DIRECT SQLITE_DIRECTONLY

/*
** Creates a host with one reference, which the caller holds. Returns a SQLite code. The surfaces
** register themselves between this call and tr_host_end_registration.
*/
int tr_host_create(sqlite3 *db, tr_host **created);
void tr_host_end_registration(tr_host *host);
void tr_host_release(tr_host *host);

sqlite3 *tr_host_db(const tr_host *host);
tr_tracker_registry *tr_host_trackers(const tr_host *host);

/*
** What a surface keeps for the connection: one pointer for each `owner`, which is the address of
** something static in that surface. NULL: nothing yet. tr_host_set_state takes `state` over, also
** if it fails (TR_NO_MEMORY); `release` frees it with the host.
*/
void *tr_host_state(const tr_host *host, const void *owner);
tr_code tr_host_set_state(tr_host *host, const void *owner, void *state, void (*release)(void *));

/*
** Registers `count` functions, or one module with the host as its pAux. Returns a SQLite code. If
** the connection already has the name, it is left alone and noted. For a function that means: the
** same name with the same number of arguments or with any number.
*/
int tr_host_register_functions(tr_host *host, const tr_function *functions, int count);
int tr_host_register_module(tr_host *host, const char *name, const sqlite3_module *module);

/*
** The same for a module that serves several names. Its pAux is opaque: tr_module_host and
** tr_module_data get the host and `data` from it. `data` must outlive the connection.
*/
int tr_host_register_module_data(tr_host *host, const char *name, const sqlite3_module *module,
                                 const void *data);
tr_host *tr_module_host(void *aux);
const void *tr_module_data(void *aux);

/* A JSON array of the names that were left alone, valid until the next registration. */
const char *tr_host_left_alone(const tr_host *host);

/* For a registered function: its host, and the data of its table entry. */
tr_host *tr_function_host(sqlite3_context *context);
const void *tr_function_data(sqlite3_context *context);

/* The number of arguments it was registered with. An aggregate over no rows sees no arguments. */
int tr_function_argument_count(sqlite3_context *context);

/* --- Values ------------------------------------------------------------------------------- */

/*
** A view of an SQL value. SQLite owns the bytes of text and blobs; they are valid as it documents.
** Text has an address, even if it is empty, unless memory failed.
*/
tr_value tr_value_of_sqlite(sqlite3_value *value);

/*
** Whether memory failed when such a view was made: the text could not be converted, or the BLOB
** could not be expanded. Code that uses the bytes must ask. For a value that we have copied, which
** belongs to no connection, SQLite does not remember the failure.
*/
static inline int tr_value_lacks_bytes(const tr_value *value) {
  if (value->type < TR_TEXT || value->bytes.data != NULL) return 0;
  return value->type == TR_TEXT || value->bytes.size > 0;
}

/*
** The same for a value of a database whose encoding is known to be UTF-8 (tr_source_table.is_utf8).
** The view is of the text where it lies; sqlite3_value_text might copy it to add a terminator.
*/
tr_value tr_value_of_utf8(sqlite3_value *value);

/* The same for a statement's column. */
tr_value tr_value_of_column(sqlite3_stmt *stmt, int column);

/*
** Whether two values have the same type and are equal, text byte by byte; 1 and 1.0 are not the
** same. Also 0 if memory runs out.
*/
int tr_values_are_same(sqlite3_value *a, sqlite3_value *b);

/*
** Whether `value` is text that spells a number, with nothing around it but spaces, as SQLite's
** numeric affinity has it. `text` is that text as UTF-8. 1: `*number` is the number, INTEGER for an
** integer that fits, else REAL. 0: it is not. `value` stays text.
**
** sqlite3_value_numeric_type is not used, because newer releases need the value's connection for
** it, and copies and elements of an IN list have none.
*/
int tr_spelled_number(sqlite3_value *value, tr_bytes text, tr_value *number);

/*
** The number that a numeric aggregate makes of a value, as SQLite's sum() does. NULL and INTEGER
** stay as they are; text that spells a number is that number; any other value is a REAL: the number
** that the text or BLOB begins with, or 0.0. The result is text without bytes if memory ran out.
*/
tr_value tr_number_of_sqlite(sqlite3_value *value);

/* Returns a value from a function. Text and blobs are copied. */
void tr_result_value(sqlite3_context *context, const tr_value *value);
void tr_result_text(sqlite3_context *context, const tr_buffer *text);
void tr_result_json(sqlite3_context *context, const tr_buffer *json);
void tr_result_blob(sqlite3_context *context, const tr_buffer *blob);

/* Binds `value` to parameter `index` of `stmt`, copied. Returns a SQLite code. */
int tr_bind_value(sqlite3_stmt *stmt, int index, const tr_value *value);

/* --- Errors ------------------------------------------------------------------------------- */

/* The SQLite code for an error. */
int tr_sqlite_code(const tr_error *err);

/*
** The error for something that cannot be read because an authorizer has SQLite ignore it:
** SQLITE_AUTH, with `text`. Returns TR_HOST.
*/
tr_code tr_error_ignored(tr_error *err, const char *text);

/* Fills `err` with the connection's last error. Returns TR_HOST, TR_NO_MEMORY or TR_INTERRUPTED. */
tr_code tr_error_of_sqlite(tr_error *err, sqlite3 *db, int rc);

/* Whether the error would happen again, unlike those of the moment (busy, out of memory). */
int tr_error_is_lasting(const tr_error *err);

/*
** Ends a function with an error, `function: message`. The message stays as it is if it already
** begins with the function's name, as tr_argument_error's does, or if `function` is NULL.
*/
void tr_result_error(sqlite3_context *context, const char *function, const tr_error *err);

/*
** sqlite3_declare_vtab for xCreate and xConnect. sqlite3_declare_vtab reports an interrupt as
** SQLITE_ERROR; this returns SQLITE_INTERRUPT, and `*message` says so.
*/
int tr_declare_vtab(sqlite3 *db, const char *declaration, char **message);

/* Gives a virtual table the error's text. Returns the code that the method must return. */
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

/* Whether a statement of the connection is writing: the one that called us, or another. */
int tr_is_writing(sqlite3 *db);

/* Walks those statements: begins with NULL, and returns NULL after the last. */
sqlite3_stmt *tr_next_writing(sqlite3 *db, sqlite3_stmt *after);

/* --- SQL text ----------------------------------------------------------------------------- */

/* The text of a number that is a macro. */
#define TR_TEXT_OF_TOKEN(token) #token
#define TR_TEXT_OF(number) TR_TEXT_OF_TOKEN(number)

/* Appends an identifier in double quotes. All identifiers in our SQL go through this. */
void tr_sql_append_identifier(sqlite3_str *sql, const char *name);

/* Appends "name_suffix", the name of a virtual table's shadow table. */
void tr_sql_append_shadow(sqlite3_str *sql, const char *name, const char *suffix);

/* Appends "schema"."name". */
void tr_sql_append_table(sqlite3_str *sql, const char *schema, const char *name);

/* Prepares the text, and always frees `sql`. On failure `*stmt` is NULL and `err` is filled. */
tr_code tr_sql_prepare(sqlite3 *db, sqlite3_str *sql, sqlite3_stmt **stmt, tr_error *err);

#endif

/*
** Statements of our own on the user's connection: their text, and SQLite's errors as ours, and
** back.
**
** Thread-safety: as SQLite's own for one connection.
*/
#ifndef TR_HOST_SQLITE_STATEMENTS_H
#define TR_HOST_SQLITE_STATEMENTS_H

#include "base/error.h"
#include "host/sqlite_api.h"

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

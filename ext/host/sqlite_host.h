/*
** What all surfaces need of SQLite: registration here, and with it values and statements.
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

#include "host/sqlite_statements.h"
#include "host/sqlite_values.h"

typedef struct tr_host tr_host;
typedef struct tr_tracker_registry tr_tracker_registry;

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

#endif

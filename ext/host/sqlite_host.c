/*
** Reference-counted state for each connection, and registration from tables.
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

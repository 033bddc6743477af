/*
** The entry point: registers every surface on the connection that loads us.
**
** When the extension is loaded (`.load ./tranche`, sqlite3_load_extension), SQLite calls
** sqlite3_tranche_init with its table of functions. A program that links us statically
** (-DSQLITE_CORE) calls sqlite3_auto_extension((void (*)(void))sqlite3_tranche_init), or, for one
** connection, the function itself with a NULL table. No other name is exported.
**
** If a surface cannot be registered (out of memory), the load fails as a whole.
*/
#define TR_DEFINES_SQLITE_API
#include "surfaces.h"

#include <pthread.h>

#include "tranche.h"

#ifdef SQLITE_CORE
static void use_table(const sqlite3_api_routines *api) {
  (void)api;
}
#else
SQLITE_EXTENSION_INIT1

/*
** Keeps SQLite's table for all later calls. Several threads may load us at once, each for its own
** connection. So the table is written once, under a mutex, and no thread reads it during the write.
*/
static void use_table(const sqlite3_api_routines *api) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  if (sqlite3_api != api) {
    SQLITE_EXTENSION_INIT2(api)
  }
  pthread_mutex_unlock(&mutex);
}
#endif

/* The oldest SQLite that has what every surface needs: DIRECTONLY and INNOCUOUS. */
#define OLDEST_SQLITE 3031000

/* From this SQLite on at the latest, statements are compiled again when the encoding changes. */
#define RECOMPILING_SQLITE 3053000

static int (*const surfaces[])(tr_host *) = {
    tr_register_about,          tr_register_keys,
    tr_register_trackers,       tr_register_group_by_fields,
    tr_register_byte_key_scan,  tr_register_scan_splits,
    tr_register_scan_job,       tr_register_combine_functions,
    tr_register_counting_input, tr_register_sketches,
    tr_register_run_report,
};

#if defined(_WIN32)
#define TR_EXPORT __declspec(dllexport)
#else
#define TR_EXPORT __attribute__((visibility("default")))
#endif

/*
** Makes SQLite learn the encoding of the file. A SQLite of some years ago learns it with the first
** table that is looked at. If one of our functions looks at it, in a statement that names no table,
** SQLite takes the texts of that statement, which are in UTF-8, for UTF-16 from its second run on.
** If the file cannot be read now, the next statement says so.
*/
static void read_encoding(sqlite3 *db) {
  sqlite3_stmt *stmt = NULL;
  sqlite3_prepare_v2(db, "SELECT 1 FROM main.sqlite_master", -1, &stmt, NULL);
  sqlite3_finalize(stmt);
}

TR_EXPORT int sqlite3_tranche_init(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
  use_table(api);
  if (sqlite3_libversion_number() < OLDEST_SQLITE) {
    *message =
        sqlite3_mprintf("tranche needs SQLite 3.31.0 or newer, this is %s", sqlite3_libversion());
    return SQLITE_ERROR;
  }
  tr_host *host;
  int rc = tr_host_create(db, &host);
  for (size_t i = 0; i < sizeof surfaces / sizeof surfaces[0] && rc == SQLITE_OK; i++) {
    rc = surfaces[i](host);
  }
  if (rc == SQLITE_OK && sqlite3_libversion_number() < RECOMPILING_SQLITE) read_encoding(db);
  if (host == NULL) return rc;
  tr_host_end_registration(host);
  tr_host_release(host);
  return rc;
}

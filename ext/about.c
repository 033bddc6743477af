/*
** tranche_version() and tranche_debug(): what is loaded.
**
** tranche_debug() is a JSON object: version, commit and build flags of the extension, the version
** of SQLite, and the names that were left alone because the connection already had them.
*/
#include "surfaces.h"

#include "tranche.h"

#ifndef TRANCHE_COMMIT
#define TRANCHE_COMMIT "unknown"
#endif
#ifndef TRANCHE_BUILD_FLAGS
#define TRANCHE_BUILD_FLAGS ""
#endif

static void version(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc, (void)argv;
  sqlite3_result_text(context, TRANCHE_VERSION, -1, SQLITE_STATIC);
}

static void debug(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc, (void)argv;
  char *json = sqlite3_mprintf("{\"version\":\"%s\",\"commit\":\"%s\",\"build\":\"%s\","
                               "\"sqlite\":\"%s\",\"left_alone\":%s}",
                               TRANCHE_VERSION, TRANCHE_COMMIT, TRANCHE_BUILD_FLAGS,
                               sqlite3_libversion(), tr_host_left_alone(tr_function_host(context)));
  if (json == NULL) {
    sqlite3_result_error_nomem(context);
    return;
  }
  sqlite3_result_text(context, json, -1, sqlite3_free);
  sqlite3_result_subtype(context, TR_JSON_SUBTYPE);
}

int tr_register_about(tr_host *host) {
  static const tr_function functions[] = {
      {.name = "tranche_version", .argument_count = 0, .flags = TR_PURE, .call = version},
      {.name = "tranche_debug",
       .argument_count = 0,
       .flags = SQLITE_INNOCUOUS | SQLITE_RESULT_SUBTYPE,
       .call = debug},
  };
  return tr_host_register_functions(host, functions, sizeof functions / sizeof functions[0]);
}

/*
** host/in_lists.h: if a list cannot be read to its end, that is an error, and not a shorter list.
**
** SQLite stores the values of a long IN (SELECT ...) in a temporary file. The VFS of this test can
** write that file, but not read it.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "database.h"

/* --- A VFS whose transient files cannot be read ------------------------------------------ */

static sqlite3_vfs *real;
static sqlite3_io_methods unreadable; /* the system's methods for such a file, but for reading */
static int failed_reads;

static int refuse_to_read(sqlite3_file *file, void *to, int size, sqlite3_int64 offset) {
  (void)file, (void)to, (void)size, (void)offset;
  failed_reads++;
  return SQLITE_IOERR_READ;
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out) {
  (void)vfs;
  int rc = real->xOpen(real, name, file, flags, out);
  if (rc == SQLITE_OK && (flags & SQLITE_OPEN_TRANSIENT_DB)) {
    unreadable = *file->pMethods;
    unreadable.iVersion = 1; /* no memory map either */
    unreadable.xRead = refuse_to_read;
    file->pMethods = &unreadable;
  }
  return rc;
}

static void install(void) {
  static sqlite3_vfs vfs;
  real = sqlite3_vfs_find(NULL);
  vfs = *real;
  vfs.zName = "unreadable";
  vfs.xOpen = open_file;
  if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK) abort();
}

/* --- Tests ------------------------------------------------------------------------------- */

static void a_list_that_breaks_off_is_an_error(void **state) {
  (void)state;
  static const char *const tables[] = {
      "byte_key_scan(t)",
      "group_by_fields(t, by_field_names(k), count(*) AS n)",
  };
  char path[512];
  sqlite3 *db = database_open(database_path("in_lists", path), 1000);
  database_must(db, "PRAGMA temp_store = file; CREATE TABLE t(k TEXT); INSERT INTO t VALUES ('a');"
                    "CREATE TABLE many(k TEXT); INSERT INTO many"
                    " SELECT printf('%0300d', value) FROM counting_input(20000)");
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    char sql[200];
    snprintf(sql, sizeof sql, "CREATE VIRTUAL TABLE temp.v USING %s", tables[i]);
    database_must(db, sql);
    failed_reads = 0;
    const char *answer =
        database_text(db, "SELECT count(*) FROM v WHERE k IN (SELECT k FROM many)");
    assert_true(failed_reads > 0);
    if (strcmp(answer, "error: disk I/O error") != 0) fail_msg("%s: %s", tables[i], answer);
    database_must(db, "DROP TABLE v");
  }
  sqlite3_close(db);
  database_remove(path);
}

int main(void) {
  install();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_list_that_breaks_off_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

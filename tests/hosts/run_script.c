/*
** A sqlite3 shell in small, for SQLite libraries that the installed shell cannot run with: loads
** the extension $TRANCHE, runs the SQL of standard input, prints rows with '|' between values, and
** an error's text.
*/
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static int print_row(void *unused, int count, char **values, char **names) {
  (void)unused, (void)names;
  for (int i = 0; i < count; i++) printf("%s%s", i == 0 ? "" : "|", values[i] ? values[i] : "");
  printf("\n");
  return 0;
}

int main(void) {
  static char sql[65536];
  sql[fread(sql, 1, sizeof sql - 1, stdin)] = '\0';
  const char *path = getenv("TRANCHE");
  sqlite3 *db = NULL;
  char *message = NULL;
  int rc = sqlite3_open(":memory:", &db);
  if (rc == SQLITE_OK) {
    rc = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
  }
  if (rc == SQLITE_OK) rc = sqlite3_load_extension(db, path ? path : "./tranche", NULL, &message);
  if (rc == SQLITE_OK) rc = sqlite3_exec(db, sql, print_row, NULL, &message);
  if (rc != SQLITE_OK) printf("%s\n", message ? message : sqlite3_errmsg(db));
  sqlite3_free(message);
  if (sqlite3_close(db) != SQLITE_OK) printf("the connection does not close\n");
  return rc;
}

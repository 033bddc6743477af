/*
** group_by_fields gives the same result if the system gives fewer threads than there are workers,
** or none. Every subset of three threads fails to start, with few groups and with many.
**
** This program has its own pthread_create, which is used in place of the system's and fails on
** demand.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>

#include "database.h"

enum { WORKERS = 3 };

static unsigned refused; /* bit i: the i-th thread from now on */
static int asked;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument) {
  int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (refused >> asked++ & 1) return EAGAIN;
  *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  return real(thread, attributes, run, argument);
}

static void check(sqlite3 *db, const char *table, const char *expected) {
  char sql[200];
  for (unsigned pattern = 0; pattern < 1u << WORKERS; pattern++) {
    refused = pattern;
    asked = 0;
    snprintf(sql, sizeof sql, "SELECT count(*) || ' ' || sum(n) || ' ' || sum(s) FROM %s", table);
    assert_string_equal(database_text(db, sql), expected);
    assert_true(asked >= WORKERS);
    int has_none = pattern == (1u << WORKERS) - 1;
    assert_string_equal(database_text(db, "SELECT coalesce(reason, '') FROM tranche_last_run()"),
                        has_none ? "no thread could be started" : "");
  }
  refused = 0;
}

static void fewer_threads_give_the_same(void **state) {
  (void)state;
  char path[512], expected[2][100];
  sqlite3 *db = database_open(database_path("few_threads", path), 10000);
  database_must(db, "PRAGMA synchronous = off; CREATE TABLE t(id INTEGER PRIMARY KEY, few, many);"
                    "INSERT INTO t SELECT value, value % 7, value * 7919 % 150001"
                    " FROM counting_input(200000);"
                    "CREATE VIRTUAL TABLE temp.few USING group_by_fields(t, by_field_names(few),"
                    " count(*) AS n, sum(id) AS s, workers(3));"
                    "CREATE VIRTUAL TABLE temp.many USING group_by_fields(t, by_field_names(many),"
                    " count(*) AS n, sum(id) AS s, workers(3))");
  for (int i = 0; i < 2; i++) {
    char sql[200];
    const char *key = i == 0 ? "few" : "many";
    snprintf(sql, sizeof sql,
             "SELECT count(*) || ' ' || sum(n) || ' ' || sum(s) FROM"
             " (SELECT count(*) AS n, sum(id) AS s FROM t GROUP BY %s)",
             key);
    snprintf(expected[i], sizeof expected[i], "%s", database_text(db, sql));
    check(db, key, expected[i]);
  }
  sqlite3_close(db);
  database_remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fewer_threads_give_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

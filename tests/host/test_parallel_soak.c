/*
** A soak test for SOAK_SECONDS (a few in make test, 600 in make soak). Two threads ask random
** group_by_fields queries of one file and compare the answers with SQLite's own GROUP BY in the
** same read transaction. A third thread writes to the file, and a fourth interrupts the queries.
** Connections are closed and reopened all the time, in WAL and in rollback mode by turns. At the
** end no memory, file or thread may be left.
**
** Interrupts and writes come once in so many queries, so they depend on the work that is done and
** not on how fast a machine, a sanitizer or valgrind is.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "database.h"
#include "test_random.h"

enum { READERS = 2 };

typedef struct soak {
  char path[512];
  atomic_int is_over;
  pthread_mutex_t mutex; /* of `readers`, so that nobody interrupts a connection that is gone */
  sqlite3 *readers[READERS];
  long question; /* microseconds of work that one is */
  atomic_long asked, compared, interrupted, busy, parallel, commits, opened;
  atomic_long wrong;
} soak;

typedef struct actor {
  soak *soak;
  int number;
  test_random random;
  pthread_t thread;
} actor;

static double seconds_of(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double now(void) {
  return seconds_of(CLOCK_MONOTONIC);
}

static void sleep_microseconds(long microseconds) {
  struct timespec pause = {.tv_nsec = microseconds * 1000};
  nanosleep(&pause, NULL);
}

static const char *const keys[] = {"g", "name", "g, name", "mixed", "id % 1000 AS e", "id"};
static const char *const native_keys[] = {"g", "name", "g, name", "mixed", "id % 1000", "id"};
static const char *const aggregates[] = {
    "count(*) AS c", "sum(g) AS s", "min(r) AS lo, max(r) AS hi", "count(r) AS n, sum(id) AS t"};
static const char *const wheres[] = {NULL, "g > 5", "name LIKE '%7'", "r IS NULL"};
#define ONE_OF(list, random) (list)[test_random_below(random, sizeof(list) / sizeof *(list))]

/* A hash over all rows, their order included. 0 and the code in `*rc` if the query fails. */
static uint64_t hash_of(sqlite3 *db, const char *sql, int *rc) {
  sqlite3_stmt *stmt = NULL;
  uint64_t hash = 1469598103934665603u;
  *rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
  while (*rc == SQLITE_OK || *rc == SQLITE_ROW) {
    *rc = sqlite3_step(stmt);
    if (*rc != SQLITE_ROW) break;
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
      hash = (hash ^ (uint64_t)sqlite3_column_type(stmt, i)) * 1099511628211u;
      const unsigned char *text = sqlite3_column_text(stmt, i);
      for (int j = 0; j < sqlite3_column_bytes(stmt, i); j++) {
        hash = (hash ^ text[j]) * 1099511628211u;
      }
    }
  }
  sqlite3_finalize(stmt);
  if (*rc == SQLITE_DONE) *rc = SQLITE_OK;
  return *rc == SQLITE_OK ? hash : 0;
}

static int is_expected(int rc) {
  return rc == SQLITE_INTERRUPT || (rc & 0xff) == SQLITE_BUSY;
}

/* What must be done, interrupts or not. */
static void run_until_done(sqlite3 *db, const char *sql) {
  while (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_INTERRUPT) continue;
}

/* One question, asked of both. */
static void ask(actor *a, sqlite3 *db) {
  size_t key = test_random_below(&a->random, sizeof keys / sizeof *keys);
  const char *aggregate = ONE_OF(aggregates, &a->random), *where = ONE_OF(wheres, &a->random);
  char *create = sqlite3_mprintf("CREATE VIRTUAL TABLE temp.o USING group_by_fields(t, "
                                 "by_field_names(%s), %s%s%s%s, workers(%d))",
                                 keys[key], aggregate, where == NULL ? "" : ", where(",
                                 where == NULL ? "" : where, where == NULL ? "" : ")",
                                 1 + (int)test_random_below(&a->random, 4));
  char *native =
      sqlite3_mprintf("SELECT %s, %s FROM t WHERE %s GROUP BY %s ORDER BY 1, 2", native_keys[key],
                      aggregate, where == NULL ? "1" : where, native_keys[key]);
  int rc = database_run(db, create), native_rc = SQLITE_OK;
  a->soak->asked++;
  if (rc == SQLITE_OK) {
    int is_in_transaction = test_random_below(&a->random, 2) == 0;
    if (is_in_transaction) run_until_done(db, "BEGIN");
    /* Some give up when the first groups have come, while late rows are still being added. */
    if (test_random_below(&a->random, 4) == 0) database_run(db, "SELECT * FROM o LIMIT 3");
    /*
    ** In a transaction of its own our query is only run. In one with SQLite's query it must give
    ** the same.
    */
    uint64_t ours = hash_of(db, "SELECT * FROM o ORDER BY 1, 2", &rc);
    if (rc == SQLITE_OK) {
      a->soak->parallel += strcmp(database_text(db, "SELECT coalesce(reason, 'parallel') FROM "
                                                    "tranche_last_run()"),
                                  "parallel") == 0;
    }
    if (is_in_transaction && rc == SQLITE_OK) {
      uint64_t theirs = hash_of(db, native, &native_rc);
      if (native_rc == SQLITE_OK && ours != theirs) {
        a->soak->wrong++;
        fprintf(stderr, "%s differs from %s\n", create, native);
      }
      a->soak->compared += native_rc == SQLITE_OK;
    }
    if (is_in_transaction) run_until_done(db, "ROLLBACK");
    run_until_done(db, "DROP TABLE IF EXISTS temp.o");
  }
  if (rc == SQLITE_OK) rc = native_rc;
  a->soak->interrupted += rc == SQLITE_INTERRUPT;
  a->soak->busy += (rc & 0xff) == SQLITE_BUSY;
  if (rc != SQLITE_OK && !is_expected(rc)) {
    a->soak->wrong++;
    fprintf(stderr, "%s: %d, %s\n", create, rc, sqlite3_errmsg(db));
  }
  sqlite3_free(create);
  sqlite3_free(native);
}

static void *read_again_and_again(void *pointer) {
  actor *a = pointer;
  soak *s = a->soak;
  while (!s->is_over) {
    sqlite3 *db = database_open(s->path, 5000);
    s->opened++;
    pthread_mutex_lock(&s->mutex);
    s->readers[a->number] = db;
    pthread_mutex_unlock(&s->mutex);
    for (int i = 0; i < 20 && !s->is_over; i++) ask(a, db);
    pthread_mutex_lock(&s->mutex);
    s->readers[a->number] = NULL;
    pthread_mutex_unlock(&s->mutex);
    if (sqlite3_close(db) != SQLITE_OK) s->wrong++;
  }
  return NULL;
}

static void *write_again_and_again(void *pointer) {
  actor *a = pointer;
  soak *s = a->soak;
  sqlite3 *db = database_open(s->path, 5000);
  database_run(db, "PRAGMA synchronous = off");
  for (int64_t id = 1000000; !s->is_over; id++) {
    char sql[300];
    snprintf(sql, sizeof sql,
             "BEGIN IMMEDIATE; INSERT INTO t VALUES (%lld, %d, %d / 8.0, 'name %d', %d);"
             "UPDATE t SET g = g + 1, r = NULL WHERE id = %d; DELETE FROM t WHERE id = %d; COMMIT",
             (long long)id, (int)(id % 17), (int)(id % 1001), (int)(id % 101), (int)(id % 10),
             (int)test_random_below(&a->random, 30000), (int)test_random_below(&a->random, 30000));
    if (database_run(db, sql) == SQLITE_OK)
      s->commits++;
    else if (!sqlite3_get_autocommit(db))
      database_run(db, "ROLLBACK");
    sleep_microseconds((long)test_random_below(&a->random, (uint64_t)s->question / 5));
  }
  sqlite3_close(db);
  return NULL;
}

static void *interrupt_again_and_again(void *pointer) {
  actor *a = pointer;
  soak *s = a->soak;
  while (!s->is_over) {
    double work = (double)test_random_below(&a->random, 5 * (uint64_t)s->question) * 1e-6;
    double until = seconds_of(CLOCK_PROCESS_CPUTIME_ID) + work;
    while (!s->is_over && seconds_of(CLOCK_PROCESS_CPUTIME_ID) < until) sleep_microseconds(1000);
    pthread_mutex_lock(&s->mutex);
    sqlite3 *db = s->readers[test_random_below(&a->random, READERS)];
    if (db != NULL) sqlite3_interrupt(db);
    pthread_mutex_unlock(&s->mutex);
  }
  return NULL;
}

/* How many entries a folder of /proc/self has; 0 if there is no such folder. */
static int count_entries(const char *folder) {
  int count = 0;
  DIR *entries = opendir(folder);
  if (entries == NULL) return 0;
  while (readdir(entries) != NULL) count++;
  closedir(entries);
  return count;
}

/* How many microseconds of work a question is that nobody disturbs. */
static long time_of_question(sqlite3 *db, test_random random) {
  enum { QUESTIONS = 10 };
  soak alone = {.wrong = 0};
  actor a = {.soak = &alone, .random = random};
  double began = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < QUESTIONS; i++) ask(&a, db);
  assert_int_equal(alone.wrong, 0);
  return 1000 + (long)((seconds_of(CLOCK_PROCESS_CPUTIME_ID) - began) * 1e6) / QUESTIONS;
}

/* With many rows the groups by id are so many that they are in parts. */
static void run_phase(soak *s, test_random *random, const char *mode, int rows, double seconds) {
  char sql[400];
  sqlite3 *db = database_open(database_path("soak", s->path), 5000);
  snprintf(sql, sizeof sql,
           "PRAGMA journal_mode = %s; PRAGMA synchronous = off;"
           "CREATE TABLE t(id INTEGER PRIMARY KEY, g INT, r REAL, name TEXT, mixed);"
           "INSERT INTO t SELECT value, value %% 17, value %% 1001 / 8.0,"
           " printf('name %%d', value %% 101), value %% 10 FROM counting_input(%d)",
           mode, rows);
  database_must(db, sql);
  s->question = time_of_question(db, *random);
  sqlite3_close(db);
  actor actors[READERS + 2];
  void *(*const acts[READERS + 2])(void *) = {read_again_and_again, read_again_and_again,
                                              write_again_and_again, interrupt_again_and_again};
  s->is_over = 0;
  for (int i = 0; i < READERS + 2; i++) {
    actors[i] = (actor){.soak = s, .number = i};
    actors[i].random = *random;
    for (int j = 0; j <= i; j++) test_random_next(&actors[i].random);
    pthread_create(&actors[i].thread, NULL, acts[i], &actors[i]);
  }
  test_random_next(random);
  /* A phase in which nothing was compared, or nothing ran in parallel, has shown nothing. */
  long compared = s->compared, parallel = s->parallel;
  double end = now() + seconds;
  while (now() < end || s->compared == compared || s->parallel == parallel)
    sleep_microseconds(100000);
  s->is_over = 1;
  for (int i = 0; i < READERS + 2; i++) pthread_join(actors[i].thread, NULL);
  database_remove(s->path);
}

static void nothing_is_wrong_and_nothing_is_left(void **state) {
  (void)state;
  const char *given = getenv("SOAK_SECONDS");
  double seconds = given == NULL ? 6 : atof(given), end = now() + seconds;
  test_random random = test_random_begin("soak");
  static soak s;
  pthread_mutex_init(&s.mutex, NULL);
  int files = count_entries("/proc/self/fd"), threads = count_entries("/proc/self/task");
  sqlite3_int64 memory = sqlite3_memory_used();
  double phase = seconds / 2 < 30 ? seconds / 2 : 30;
  for (int i = 0; i < 2 || now() < end - 0.1; i++)
    run_phase(&s, &random, i % 2 == 0 ? "wal" : "delete", (i + i / 2) % 2 == 0 ? 30000 : 120000,
              phase);
  print_message("  %.0f s, %.0f ms a question: %ld asked (%ld parallel), %ld compared, "
                "%ld interrupted, %ld busy, %ld commits, %ld connections, %ld wrong\n",
                seconds, (double)s.question / 1e3, s.asked, s.parallel, s.compared, s.interrupted,
                s.busy, s.commits, s.opened, s.wrong);
  assert_int_equal(s.wrong, 0);
  assert_int_equal(sqlite3_memory_used(), memory);
  assert_int_equal(count_entries("/proc/self/fd"), files);
  assert_true(count_entries("/proc/self/task") <= threads + 1); /* a sanitizer may have its own */
  pthread_mutex_destroy(&s.mutex);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_wrong_and_nothing_is_left)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

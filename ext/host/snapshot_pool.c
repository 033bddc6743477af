/*
** Opens the connections, proves that their snapshot is the caller's, and keeps them open.
**
** The pool is for one file at a time: when a query reads another file, all connections are closed.
** The spare connection, which watches the file, is opened like the others.
*/
#include "host/snapshot_pool.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

/* Attempts at one snapshot. Most succeed at once, even while another process writes. */
#define ATTEMPTS 8
#define PAUSE_NANOSECONDS 500000

/* How long a connection waits for a lock. It is short, since others may be waiting for ours. */
#define BUSY_MILLISECONDS 2

/* SQLite maps no more of the file than it was built to. */
#define MAP_SIZE "1099511627776"

typedef struct connection {
  sqlite3 *db;
  sqlite3_stmt *begin, *look, *end; /* BEGIN; take the snapshot; COMMIT */
  void *data;
  void (*release)(void *data);
} connection;

struct tr_snapshot_pool {
  sqlite3 *caller;
  pid_t process;
  char *schema; /* the schema of the pool's file; NULL: none yet */
  char *uri;
  sqlite3_vfs *vfs;
  connection spare;
  sqlite3_stmt *data_version; /* of the spare */
  int has_note;
  int64_t note; /* data_version at a moment when the caller had no snapshot */
  connection connections[TR_SNAPSHOT_MOST];
  int open_count;
  int begun_count;
  int is_in_use;      /* between begin and end */
  int is_to_close;    /* at the end */
  sqlite3_stmt *hold; /* the caller's own snapshot */
};

/* --- The caller's file -------------------------------------------------------------------- */

/* VFSes of SQLite itself, which give the same file for the same name. */
static const char *const file_vfses[] = {"unix",       "unix-dotfile", "unix-excl",
                                         "unix-flock", "unix-posix",   "unix-namedsem",
                                         "unix-afp",   "win32",        "win32-longpath"};

static int is_file_vfs(const sqlite3_vfs *vfs) {
  for (size_t i = 0; i < sizeof file_vfses / sizeof *file_vfses; i++) {
    if (vfs->zName != NULL && strcmp(vfs->zName, file_vfses[i]) == 0) return 1;
  }
  return 0;
}

/*
** Whether a parameter of the caller's URI says how to open the file: the pool decides that itself.
*/
static int is_own_parameter(const char *name) {
  return strcmp(name, "mode") == 0 || strcmp(name, "cache") == 0 || strcmp(name, "vfs") == 0;
}

static void append_escaped(sqlite3_str *uri, const char *text) {
  for (; *text != '\0'; text++) {
    unsigned char c = (unsigned char)*text;
    int is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   strchr("-_./~", c) != NULL;
    sqlite3_str_appendf(uri, is_plain ? "%c" : "%%%02x", c);
  }
}

/* The name of the caller's file as a URI; NULL: out of memory. */
static char *uri_of(const char *filename) {
  sqlite3_str *uri = sqlite3_str_new(NULL);
  sqlite3_str_appendall(uri, "file:");
  append_escaped(uri, filename);
  char mark = '?';
  const char *name;
  for (int i = 0; (name = sqlite3_uri_key(filename, i)) != NULL; i++) {
    if (is_own_parameter(name)) continue;
    sqlite3_str_appendchar(uri, 1, mark);
    append_escaped(uri, name);
    sqlite3_str_appendchar(uri, 1, '=');
    append_escaped(uri, sqlite3_uri_parameter(filename, name));
    mark = '&';
  }
  return sqlite3_str_finish(uri);
}

static int has_moved(sqlite3 *db, const char *schema) {
  int moved = 0;
  int rc = sqlite3_file_control(db, schema, SQLITE_FCNTL_HAS_MOVED, &moved);
  return rc == SQLITE_OK && moved;
}

/*
** Whether SQLite works with threads. If it was configured to be single-threaded
** (SQLITE_CONFIG_SINGLETHREAD), every mutex that it allocates is the same.
*/
static int has_threads(void) {
  if (sqlite3_threadsafe() == 0) return 0;
  sqlite3_mutex *a = sqlite3_mutex_alloc(SQLITE_MUTEX_FAST);
  sqlite3_mutex *b = sqlite3_mutex_alloc(SQLITE_MUTEX_FAST);
  int has = a != b || a == NULL;
  sqlite3_mutex_free(a);
  sqlite3_mutex_free(b);
  return has;
}

typedef enum snapshot_state { NO_SNAPSHOT, HAS_SNAPSHOT, HAS_CHANGES } snapshot_state;

/* The state of the caller for a host without sqlite3_txn_state: what its statements are doing. */
static snapshot_state state_by_statements(sqlite3 *db) {
  if (!sqlite3_get_autocommit(db) || tr_is_writing(db)) return HAS_CHANGES;
  for (sqlite3_stmt *s = NULL; (s = sqlite3_next_stmt(db, s)) != NULL;) {
    if (sqlite3_stmt_busy(s)) return HAS_SNAPSHOT;
  }
  return NO_SNAPSHOT;
}

static snapshot_state state_of(sqlite3 *db, const char *schema) {
#if SQLITE_VERSION_NUMBER >= 3034000
  if (sqlite3_libversion_number() >= 3034000) {
    int state = sqlite3_txn_state(db, schema);
    return state == SQLITE_TXN_WRITE  ? HAS_CHANGES
           : state == SQLITE_TXN_READ ? HAS_SNAPSHOT
                                      : NO_SNAPSHOT;
  }
#else
  (void)schema;
#endif
  return state_by_statements(db);
}

/* --- Connections -------------------------------------------------------------------------- */

static void close_connection(connection *c) {
  if (c->release != NULL) c->release(c->data);
  sqlite3_finalize(c->begin);
  sqlite3_finalize(c->look);
  sqlite3_finalize(c->end);
  sqlite3_close(c->db);
  *c = (connection){.db = NULL};
}

/* The caller's limits and restrictions also hold for the connections that read for it. */
static void copy_settings(sqlite3 *from, sqlite3 *to) {
  static const int settings[] = {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_DQS_DML};
  for (int id = SQLITE_LIMIT_LENGTH; id <= SQLITE_LIMIT_WORKER_THREADS; id++) {
    sqlite3_limit(to, id, sqlite3_limit(from, id, -1));
  }
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    int value = 0;
    if (sqlite3_db_config(from, settings[i], -1, &value) == SQLITE_OK) {
      sqlite3_db_config(to, settings[i], value, NULL);
    }
  }
}

static int open_connection(tr_snapshot_pool *pool, connection *c) {
  int flags =
      SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_URI;
  int rc = sqlite3_open_v2(pool->uri, &c->db, flags, pool->vfs->zName);
  if (rc == SQLITE_OK) {
    sqlite3_vfs *vfs = NULL;
    sqlite3_file_control(c->db, "main", SQLITE_FCNTL_VFS_POINTER, &vfs);
    if (vfs != pool->vfs) rc = SQLITE_CANTOPEN;
  }
  if (rc == SQLITE_OK) {
    sqlite3_busy_timeout(c->db, BUSY_MILLISECONDS);
    copy_settings(pool->caller, c->db);
    rc = sqlite3_exec(c->db, "PRAGMA mmap_size = " MAP_SIZE, NULL, NULL, NULL);
  }
  if (rc == SQLITE_OK) rc = sqlite3_prepare_v2(c->db, "BEGIN", -1, &c->begin, NULL);
  if (rc == SQLITE_OK) {
    rc = sqlite3_prepare_v2(c->db, "SELECT 1 FROM sqlite_master LIMIT 1", -1, &c->look, NULL);
  }
  if (rc == SQLITE_OK) rc = sqlite3_prepare_v2(c->db, "COMMIT", -1, &c->end, NULL);
  if (rc != SQLITE_OK) close_connection(c);
  return rc;
}

static void forget_file(tr_snapshot_pool *pool) {
  sqlite3_free(pool->schema);
  sqlite3_free(pool->uri);
  pool->schema = pool->uri = NULL;
  pool->has_note = 0;
  pool->open_count = 0;
}

static void close_all(tr_snapshot_pool *pool) {
  sqlite3_finalize(pool->data_version);
  pool->data_version = NULL;
  close_connection(&pool->spare);
  for (int i = 0; i < pool->open_count; i++) close_connection(&pool->connections[i]);
  forget_file(pool);
}

/* In a child process the connections are the parent's, which goes on using them. */
static void leave_to_parent(tr_snapshot_pool *pool) {
  pool->data_version = NULL;
  memset(&pool->spare, 0, sizeof pool->spare);
  memset(pool->connections, 0, sizeof pool->connections);
  pool->begun_count = 0;
  forget_file(pool);
  pool->process = getpid();
}

static int open_spare(tr_snapshot_pool *pool) {
  if (pool->spare.db != NULL) return SQLITE_OK;
  int rc = open_connection(pool, &pool->spare);
  if (rc == SQLITE_OK) {
    rc = sqlite3_prepare_v2(pool->spare.db, "PRAGMA data_version", -1, &pool->data_version, NULL);
    if (rc != SQLITE_OK) close_connection(&pool->spare);
  }
  return rc;
}

/* Reads the number that changes with every commit of others. Returns 0 if that fails now. */
static int read_data_version(tr_snapshot_pool *pool, int64_t *version) {
  int has = sqlite3_step(pool->data_version) == SQLITE_ROW;
  if (has) *version = sqlite3_column_int64(pool->data_version, 0);
  return sqlite3_reset(pool->data_version) == SQLITE_OK && has;
}

/*
** Makes the pool serve the file of `schema`. Returns NULL, or the reason why it cannot. `*rc` is
** SQLITE_NOMEM if that is the reason.
*/
static const char *turn_to(tr_snapshot_pool *pool, const char *schema, int *rc) {
  *rc = SQLITE_OK;
  if (pool->process != getpid()) leave_to_parent(pool);
  if (!has_threads()) return "this SQLite was built or configured without threads";
  const char *filename = sqlite3_db_filename(pool->caller, schema);
  if (filename == NULL || filename[0] == '\0') return "the database is in memory or temporary";
  sqlite3_vfs *vfs = NULL;
  sqlite3_file_control(pool->caller, schema, SQLITE_FCNTL_VFS_POINTER, &vfs);
  if (vfs == NULL || !is_file_vfs(vfs)) return "the file's VFS is not one of SQLite's own";
  if (sqlite3_uri_boolean(filename, "nolock", 0))
    return "the file is opened without locks (nolock)";
  if (has_moved(pool->caller, schema)) return "the file was moved or deleted";
  char *uri = uri_of(filename);
  if (uri == NULL) {
    *rc = SQLITE_NOMEM;
    return "out of memory";
  }
  int is_same = pool->uri != NULL && strcmp(uri, pool->uri) == 0 && vfs == pool->vfs &&
                strcmp(schema, pool->schema) == 0 &&
                (pool->spare.db == NULL || !has_moved(pool->spare.db, "main"));
  if (is_same) {
    sqlite3_free(uri);
    return NULL;
  }
  close_all(pool);
  pool->uri = uri;
  pool->vfs = vfs;
  pool->schema = sqlite3_mprintf("%s", schema);
  if (pool->schema == NULL) {
    *rc = SQLITE_NOMEM;
    close_all(pool);
    return "out of memory";
  }
  return NULL;
}

/* --- The pool ----------------------------------------------------------------------------- */

tr_snapshot_pool *tr_snapshot_pool_create(sqlite3 *db) {
  tr_snapshot_pool *pool = tr_malloc(sizeof *pool);
  if (pool == NULL) return NULL;
  memset(pool, 0, sizeof *pool);
  pool->caller = db;
  pool->process = getpid();
  return pool;
}

void tr_snapshot_pool_free(tr_snapshot_pool *pool) {
  if (pool == NULL) return;
  tr_snapshot_pool_close(pool);
  tr_free(pool);
}

void tr_snapshot_pool_note(tr_snapshot_pool *pool, const char *schema) {
  int rc;
  if (state_of(pool->caller, schema) != NO_SNAPSHOT) return;
  if (turn_to(pool, schema, &rc) != NULL || open_spare(pool) != SQLITE_OK) return;
  pool->has_note = read_data_version(pool, &pool->note);
}

/* --- One snapshot ------------------------------------------------------------------------- */

static void pause_a_little(void) {
  struct timespec pause = {.tv_nsec = PAUSE_NANOSECONDS};
  nanosleep(&pause, NULL);
}

/* Makes the caller take its snapshot, and keep it until release_caller. */
static tr_code hold_caller(tr_snapshot_pool *pool, tr_error *err) {
  sqlite3_str *sql = sqlite3_str_new(pool->caller);
  sqlite3_str_appendall(sql, "SELECT 1 FROM ");
  tr_sql_append_table(sql, pool->schema, "sqlite_master");
  sqlite3_str_appendall(sql, " LIMIT 2");
  tr_code code = tr_sql_prepare(pool->caller, sql, &pool->hold, err);
  if (code != TR_OK) return code;
  int rc = sqlite3_step(pool->hold);
  return rc == SQLITE_ROW || rc == SQLITE_DONE ? TR_OK : tr_error_of_sqlite(err, pool->caller, rc);
}

static void release_caller(tr_snapshot_pool *pool) {
  sqlite3_finalize(pool->hold);
  pool->hold = NULL;
}

static int begin_connection(connection *c) {
  sqlite3_step(c->begin);
  int rc = sqlite3_reset(c->begin);
  if (rc == SQLITE_OK) {
    sqlite3_step(c->look);
    rc = sqlite3_reset(c->look);
  }
  return rc;
}

static void end_connection(connection *c) {
  if (sqlite3_get_autocommit(c->db)) return;
  sqlite3_step(c->end);
  sqlite3_reset(c->end);
}

static void end_all(tr_snapshot_pool *pool) {
  for (int i = 0; i < pool->begun_count; i++) end_connection(&pool->connections[i]);
  pool->begun_count = 0;
}

static int begin_all(tr_snapshot_pool *pool, int count) {
  int rc = SQLITE_OK;
  for (int i = 0; i < count && rc == SQLITE_OK; i++) {
    pool->begun_count = i + 1;
    rc = begin_connection(&pool->connections[i]);
  }
  return rc;
}

static int open_all(tr_snapshot_pool *pool, int count) {
  int rc = open_spare(pool);
  while (pool->open_count < count && rc == SQLITE_OK) {
    rc = open_connection(pool, &pool->connections[pool->open_count]);
    if (rc == SQLITE_OK) pool->open_count++;
  }
  return rc;
}

/* Whether the file is in rollback mode, where a reader's lock keeps writers from committing. */
static int is_locked_by_readers(connection *c) {
  sqlite3_stmt *stmt = NULL;
  int is_rollback = 0;
  if (sqlite3_prepare_v2(c->db, "PRAGMA journal_mode", -1, &stmt, NULL) == SQLITE_OK &&
      sqlite3_step(stmt) == SQLITE_ROW) {
    const char *mode = (const char *)sqlite3_column_text(stmt, 0);
    is_rollback = mode != NULL && sqlite3_stricmp(mode, "wal") != 0;
  }
  sqlite3_finalize(stmt);
  return is_rollback;
}

/* Whether an error is one for the user, and not a sign that the file cannot be shared now. */
static int is_to_be_told(tr_code code) {
  return code == TR_INTERRUPTED || code == TR_NO_MEMORY;
}

/* One attempt. 1: all have the same snapshot. 0: not this time. -1: failed. */
static int try_to_begin(tr_snapshot_pool *pool, int count, snapshot_state state, tr_error *err) {
  int64_t before = pool->note, after;
  int has_before = pool->has_note;
  if (state == NO_SNAPSHOT) {
    has_before = read_data_version(pool, &before);
    pool->has_note = has_before;
    pool->note = before;
    if (!has_before) return 0;
    tr_code code = hold_caller(pool, err);
    if (code != TR_OK) return is_to_be_told(code) ? -1 : 0;
  }
  if (begin_all(pool, count) != SQLITE_OK) return 0;
  if (has_before && read_data_version(pool, &after) && before == after) return 1;
  return is_locked_by_readers(&pool->connections[0]);
}

/*
** Whether the caller may read what others have not committed (with a shared cache): 1, 0, -1. 1
** also if an authorizer forbids the question.
*/
static int reads_uncommitted(sqlite3 *db, tr_error *err) {
  sqlite3_stmt *stmt = NULL;
  int rc = sqlite3_prepare_v2(db, "PRAGMA read_uncommitted", -1, &stmt, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_step(stmt);
  int reads = rc != SQLITE_ROW || sqlite3_column_int(stmt, 0) != 0;
  int is_told = rc != SQLITE_ROW && is_to_be_told(tr_error_of_sqlite(err, db, rc));
  sqlite3_finalize(stmt);
  return is_told ? -1 : reads;
}

static int begin(tr_snapshot_pool *pool, const char *schema, int count, const char **reason,
                 tr_error *err) {
  int rc;
  snapshot_state state = state_of(pool->caller, schema);
  *reason = "the connection has changes that are not committed";
  if (state == HAS_CHANGES) return 0;
  *reason = "the connection reads uncommitted changes of others, or may not be asked";
  int reads = reads_uncommitted(pool->caller, err);
  if (reads != 0) return reads < 0 ? -1 : 0;
  *reason = turn_to(pool, schema, &rc);
  if (*reason != NULL)
    return rc == SQLITE_NOMEM ? tr_error_no(err, TR_NO_MEMORY, "%s", *reason) : 0;
  rc = open_all(pool, count);
  if (rc == SQLITE_NOMEM) return tr_error_no(err, TR_NO_MEMORY, "out of memory");
  *reason = "another connection cannot read the file (locked, encrypted, or not permitted)";
  if (rc != SQLITE_OK) return 0;
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (attempt > 0) pause_a_little();
    int has_begun = try_to_begin(pool, count, state, err);
    if (has_begun > 0) return 1;
    end_all(pool);
    release_caller(pool);
    if (has_begun < 0) return -1;
  }
  *reason = "the file is being written, and one snapshot for all could not be proved";
  return 0;
}

/* Using the pool runs statements of the caller, which may learn of a change and close the pool. */
static void leave(tr_snapshot_pool *pool) {
  pool->is_in_use = 0;
  if (pool->is_to_close) tr_snapshot_pool_close(pool);
}

int tr_snapshot_pool_begin(tr_snapshot_pool *pool, const char *schema, int count,
                           const char **reason, tr_error *err) {
  pool->is_in_use = 1;
  int has_begun = begin(pool, schema, count, reason, err);
  if (has_begun != 1) leave(pool);
  return has_begun;
}

sqlite3 *tr_snapshot_pool_connection(tr_snapshot_pool *pool, int index) {
  return pool->connections[index].db;
}

void *tr_snapshot_pool_data(tr_snapshot_pool *pool, int index) {
  return pool->connections[index].data;
}

void tr_snapshot_pool_set_data(tr_snapshot_pool *pool, int index, void *data,
                               void (*release)(void *data)) {
  pool->connections[index].data = data;
  pool->connections[index].release = release;
}

void tr_snapshot_pool_end(tr_snapshot_pool *pool) {
  end_all(pool);
  release_caller(pool);
  leave(pool);
}

void tr_snapshot_pool_close(tr_snapshot_pool *pool) {
  pool->is_to_close = pool->is_in_use;
  if (pool->is_in_use) return;
  if (pool->process != getpid()) leave_to_parent(pool);
  close_all(pool);
}

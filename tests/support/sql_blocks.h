/*
** Reads blocks of SQL from a file, one for each surface, and runs one with a hash of its answers.
** So a run in which something was made to fail can be compared with an undisturbed one.
**
** In the file a line `--- name` begins a block. The first block is the set-up for all others. What
** comes before a line `-- from here on` prepares its block. A line `-- once` means that the block
** has effects that no transaction undoes (on a tracker, for example), so that its statements cannot
** be run again.
*/
#ifndef TR_TEST_SQL_BLOCKS_H
#define TR_TEST_SQL_BLOCKS_H

#include <sqlite3.h>
#include <stdint.h>

typedef struct sql_block {
  char name[64];
  char *before; /* NULL: there is none */
  char *sql;
  int is_once;
} sql_block;

typedef struct sql_blocks {
  sql_block items[128];
  int count;
} sql_blocks;

/* Reads the file. Ends the process if it does not exist. */
void sql_blocks_read(sql_blocks *blocks, const char *path);
void sql_blocks_free(sql_blocks *blocks);

/*
** Runs the first statement of `sql` through all its rows. If it succeeds, adds the hash of its rows
** to `*answers`. The hash is a sum, because the rows may come in another order. If the statement
** compiles, `*rest` becomes what follows it. Returns a SQLite code; SQLITE_NOMEM also if a value
** could not be read.
*/
int sql_blocks_run_statement(sqlite3 *db, const char *sql, const char **rest, uint64_t *answers);

/*
** Runs all statements, up to the first that fails. `*answers` starts at 0. Returns a SQLite code.
*/
int sql_blocks_run(sqlite3 *db, const char *sql, uint64_t *answers);

/* Loads $TRANCHE, or ./tranche. Returns a SQLite code. */
int sql_blocks_load(sqlite3 *db);

#endif

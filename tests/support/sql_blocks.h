/*
** Blocks of SQL out of a file, each covering one surface, and a run of one with a hash over what it
** answered, so that a run in which something was made to fail can be compared with one unharmed.
**
** In the file a line `--- name` opens a block; the first is the set-up of all others. What stands
** before a line `-- from here on` prepares for the block. A line `-- once` says that the block has
** effects that no transaction takes back (a tracker's), so that a statement of it cannot be run
** again.
*/
#ifndef TR_TEST_SQL_BLOCKS_H
#define TR_TEST_SQL_BLOCKS_H

#include <sqlite3.h>
#include <stdint.h>

typedef struct sql_block {
  char name[64];
  char *before; /* or NULL */
  char *sql;
  int is_once;
} sql_block;

typedef struct sql_blocks {
  sql_block items[128];
  int count;
} sql_blocks;

/* Ends the process if there is no such file. */
void sql_blocks_read(sql_blocks *blocks, const char *path);
void sql_blocks_free(sql_blocks *blocks);

/*
** Runs the statement that `sql` begins with through all its rows. If that goes well, adds the hash
** of its rows to `*answers`: a sum, as they may come in another order. `*rest` is what follows the
** statement, if it could be compiled. A SQLite code; SQLITE_NOMEM also if a value could not be
** read.
*/
int sql_blocks_run_statement(sqlite3 *db, const char *sql, const char **rest, uint64_t *answers);

/* All statements, up to the first that fails. `*answers` begins at 0. */
int sql_blocks_run(sqlite3 *db, const char *sql, uint64_t *answers);

/* Loads $TRANCHE, or ./tranche. A SQLite code. */
int sql_blocks_load(sqlite3 *db);

#endif

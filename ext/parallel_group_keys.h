/*
** The keys of a source as one worker sees them: their SQL, and look-ups of single keys.
**
** A key is the rowid or the columns of a primary key. The columns of a primary key always become
** byte_key's encoding here, whatever their declared type, since it can hold any value.
**
** Thread-safety: a tr_group_keys belongs to the thread of its connection.
** Errors: those of SQLite, and TR_NO_MEMORY.
*/
#ifndef TR_EXT_PARALLEL_GROUP_KEYS_H
#define TR_EXT_PARALLEL_GROUP_KEYS_H

#include "host/source_table.h"
#include "host/statement_reader.h"

/* What can be looked up, besides the first key at or above a bound. */
typedef enum tr_key_look_up {
  TR_KEY_LAST,
  TR_KEY_LAST_BELOW,
  TR_KEY_BEHIND,
  TR_KEY_LOOK_UPS
} tr_key_look_up;

/* All zero at first, which means that it knows no table. */
typedef struct tr_group_keys {
  sqlite3 *db;
  tr_source_table source;
  tr_statement_reader *reader;
  sqlite3_stmt *look_ups[TR_KEY_LOOK_UPS];
  tr_buffer scratch; /* for the values of a key */
  tr_buffer bound;   /* for the bound of a look-up */
} tr_group_keys;

/*
** Reads the table of that name in the connection's main schema, unless it is already known and has
** not changed.
*/
tr_code tr_group_keys_look_at(tr_group_keys *keys, sqlite3 *db, const char *table, tr_error *err);

/* Resets the reader, so that the connection can end its transaction. */
void tr_group_keys_reset(tr_group_keys *keys);

/* Frees what it owns and makes it all zero. */
void tr_group_keys_free(tr_group_keys *keys);

/* `k1, k2` */
void tr_group_keys_append_columns(const tr_group_keys *keys, sqlite3_str *sql);

/*
** `(k1, k2) >= (?3, ?4)`. The parameters follow number `*parameter`, which becomes the last one
** used.
*/
void tr_group_keys_append_bound(const tr_group_keys *keys, const char *comparison, int *parameter,
                                sqlite3_str *sql);

/* Binds the values of an existing key, from parameter `*parameter` on, which is moved past them. */
tr_code tr_group_keys_bind(tr_group_keys *keys, sqlite3_stmt *stmt, tr_bytes key, int *parameter,
                           tr_error *err);

/* Sets `key` to the key in the first columns of the statement's row. */
tr_code tr_group_keys_read(tr_group_keys *keys, sqlite3_stmt *stmt, tr_buffer *key, tr_error *err);

/* The functions first_key, last_key and key_behind of tr_work, and their answers: 1, 0, -1. */
int tr_group_keys_first(tr_group_keys *keys, tr_bytes from, tr_buffer *key, tr_error *err);
int tr_group_keys_last(tr_group_keys *keys, tr_bytes below, tr_buffer *key, tr_error *err);
int tr_group_keys_behind(tr_group_keys *keys, tr_bytes from, uint32_t rows, tr_buffer *key,
                         tr_error *err);

#endif

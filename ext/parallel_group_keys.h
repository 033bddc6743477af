/*
** The keys of a source as one worker sees them: how SQL says them, and looking some up.
**
** Keys are the rowid, or the columns of a primary key, which are read as byte_key's encoding here
** whatever their declared type, since any value has its place in it.
**
** Thread-safety: a tr_group_keys belongs to the thread of its connection. Errors: what SQLite says,
** and TR_NO_MEMORY.
*/
#ifndef TR_EXT_PARALLEL_GROUP_KEYS_H
#define TR_EXT_PARALLEL_GROUP_KEYS_H

#include "host/source_table.h"
#include "host/statement_reader.h"

/* Looked up besides the first key at a bound. */
typedef enum tr_key_look_up {
  TR_KEY_LAST,
  TR_KEY_LAST_BELOW,
  TR_KEY_BEHIND,
  TR_KEY_LOOK_UPS
} tr_key_look_up;

/* All zero is one that knows nothing yet. */
typedef struct tr_group_keys {
  sqlite3 *db;
  tr_source_table source;
  tr_statement_reader *reader;
  sqlite3_stmt *look_ups[TR_KEY_LOOK_UPS];
  tr_buffer scratch; /* of a key's values */
  tr_buffer bound;   /* of a look-up */
} tr_group_keys;

/* Makes it know the table of that name in the connection's main schema, unless it does. */
tr_code tr_group_keys_look_at(tr_group_keys *keys, sqlite3 *db, const char *table, tr_error *err);

/* Ends what is under way, so that the connection may end its transaction. */
void tr_group_keys_reset(tr_group_keys *keys);

/* Makes it all zero. */
void tr_group_keys_free(tr_group_keys *keys);

/* `k1, k2` */
void tr_group_keys_append_columns(const tr_group_keys *keys, sqlite3_str *sql);

/* `(k1, k2) >= (?3, ?4)`, behind parameter number `*parameter`, which becomes the last one used. */
void tr_group_keys_append_bound(const tr_group_keys *keys, const char *operator, int * parameter,
                                sqlite3_str *sql);

/* Binds the values of a key that there is, from parameter `*parameter` on. */
tr_code tr_group_keys_bind(tr_group_keys *keys, sqlite3_stmt *stmt, tr_bytes key, int *parameter,
                           tr_error *err);

/* The key that a statement's row begins with. */
tr_code tr_group_keys_read(tr_group_keys *keys, sqlite3_stmt *stmt, tr_buffer *key, tr_error *err);

/* As tr_work wants them: 1, 0, -1. */
int tr_group_keys_first(tr_group_keys *keys, tr_bytes from, tr_buffer *key, tr_error *err);
int tr_group_keys_last(tr_group_keys *keys, tr_bytes below, tr_buffer *key, tr_error *err);
int tr_group_keys_behind(tr_group_keys *keys, tr_bytes from, uint32_t rows, tr_buffer *key,
                         tr_error *err);

#endif

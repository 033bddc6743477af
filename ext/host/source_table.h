/*
** What a scan knows about a table: its columns, and the key in whose order the table can be read.
**
** A key is the rowid, the primary key of a WITHOUT ROWID table, or the columns of a unique index.
** A key is usable if SQLite orders it as its bytes are ordered: all columns are BINARY, and text is
** stored as UTF-8. (DESC columns do not matter: such an index is read backwards.) The bytes have
** one of four forms. The schema alone decides which one, so that a stored restriction keeps its
** meaning whatever rows are added:
**
**   TR_KEY_ROWID    eight bytes
**   TR_KEY_TEXT     one column of TEXT affinity. The raw bytes of the text. Values without such
**                   bytes go into two escapes at the ends: 00 + byte_key for NULL, numbers, '' and
**                   text that begins with a zero byte; ff + byte_key for blobs and for text that
**                   begins with ff
**   TR_KEY_BLOB     one column declared BLOB. The raw bytes. NULL, numbers, text and x'' sort below
**                   every other blob, and no bytes are left for them: a row with one is an error
**   TR_KEY_ENCODED  all else, and any key asked for as key(byte_key(k)): byte_key(columns...)
**
** A unique index may hold many rows with NULLs. If a column of the key is NULL, the byte_key of the
** rowid follows that of the columns, as the rowid does in the index. So these rows have distinct
** keys, too.
**
** Ownership: a source owns its texts. Thread-safety: belongs to the thread of its connection.
*/
#ifndef TR_HOST_SOURCE_TABLE_H
#define TR_HOST_SOURCE_TABLE_H

#include "host/module_arguments.h"
#include "host/sqlite_host.h"

typedef enum tr_source_kind {
  TR_SOURCE_ROWID_TABLE,
  TR_SOURCE_WITHOUT_ROWID,
  TR_SOURCE_VIEW,
  TR_SOURCE_VIRTUAL
} tr_source_kind;

typedef enum tr_affinity {
  TR_AFFINITY_BLOB, /* also for columns without a type */
  TR_AFFINITY_TEXT,
  TR_AFFINITY_NUMERIC, /* this and the following are numeric */
  TR_AFFINITY_INTEGER,
  TR_AFFINITY_REAL
} tr_affinity;

typedef struct tr_source_column {
  char *name;
  char *type;      /* as declared; "": none */
  char *collation; /* BINARY, NOCASE, ...; always BINARY for columns of views and virtual tables */
  tr_affinity affinity;
  int is_hidden; /* a hidden column of a virtual table */
  int is_generated;
  int is_not_null;
  int primary_key; /* position in the primary key, from 1; 0: not in it */
} tr_source_column;

typedef enum tr_key_form {
  TR_KEY_NONE, /* the source has no key, or none was asked for */
  TR_KEY_ROWID,
  TR_KEY_TEXT,
  TR_KEY_BLOB,
  TR_KEY_ENCODED
} tr_key_form;

#define TR_KEY_COLUMNS_MAX 32

typedef struct tr_source_key {
  tr_key_form form;
  int columns[TR_KEY_COLUMNS_MAX]; /* column indexes; TR_KEY_ROWID: the alias, if any */
  int column_count;                /* TR_KEY_ROWID: 1, or 0 if the rowid has no alias */
  int has_null_breaker; /* in rows with a NULL in the key, the rowid follows the columns */
  char *index;          /* the unique index; NULL: the order of the table itself */
} tr_source_key;

typedef struct tr_source_table {
  char *schema; /* main, temp, or as attached */
  char *name;   /* as SQLite spells it */
  tr_source_kind kind;
  int is_strict;
  int is_utf8; /* its database's encoding is UTF-8 */
  tr_source_column *columns;
  int column_count;
  char *rowid_name; /* a name for the rowid; NULL: no rowid, or columns hide all three names */
  int64_t schema_version; /* of the table's schema, when the table was read */
  uint64_t file;          /* a hash of the file name of that schema at that time */
  tr_source_key key;
} tr_source_table;

/*
** Whether the rows of a WITHOUT ROWID table are stored in the ascending order of its primary key:
** 1, 0, or -1. A source with TR_KEY_ROWID always gives 1.
*/
int tr_source_table_ascends(const tr_source_table *source, sqlite3 *db, tr_error *err);

/*
** Reads the present version of the table's schema, or returns the SQL for that, for callers that
** ask often and prepare it. If SQLite gives none, `*version` stays as it is. TR_HOST, TR_NO_MEMORY.
*/
tr_code tr_source_table_read_version(const tr_source_table *source, sqlite3 *db, int64_t *version,
                                     tr_error *err);
sqlite3_str *tr_source_version_sql(const tr_source_table *source, sqlite3 *db);

/*
** 1 if the table's schema is still in the same file and has this version, so that all that was read
** about the table is still true. Else 0.
*/
int tr_source_table_has_version(const tr_source_table *source, sqlite3 *db, int64_t version);

/* Whether there is a table or view of that name. */
int tr_has_table(sqlite3 *db, const char *schema, const char *name);

/*
** Reads a table, view or virtual table. With `schema` NULL it looks where SQLite would: temp, main,
** then attached databases. key.form is TR_KEY_NONE. `function` is for errors. `*source` is
** overwritten; on failure it owns nothing. TR_INVALID_ARGUMENT: no such table. TR_HOST,
** TR_NO_MEMORY.
*/
tr_code tr_source_table_read(tr_source_table *source, sqlite3 *db, const char *function,
                             const char *schema, const char *table, tr_error *err);
void tr_source_table_free(tr_source_table *source);

/*
** Sets the key. Each item of `columns` is a column, or the only item is byte_key(columns...). If it
** is NULL or empty, the key is the table's own order. TR_INVALID_ARGUMENT, with the reason: a view
** or virtual table, no such column, not unique, only partly unique, another collation than BINARY,
** text in a UTF-16 database, a rowid that no name reaches.
*/
tr_code tr_source_table_set_key(tr_source_table *source, sqlite3 *db, const char *function,
                                const tr_argument_list *columns, tr_error *err);

/*
** Appends what the key's bytes are made of, and a terminator: `rowid`, `text(k)`, `byte_key(a
** INTEGER, b TEXT)`. The bytes of two keys can be compared if this text is the same. TR_NO_MEMORY.
*/
tr_code tr_source_key_describe(const tr_source_table *source, tr_buffer *text, tr_error *err);

/*
** Reads the table that `value` names and sets its key. `value` is the argument `argument` of
** `function`. On failure `*source` owns nothing.
*/
tr_code tr_source_table_of_argument(tr_source_table *source, sqlite3 *db, const char *function,
                                    const char *argument, sqlite3_value *value,
                                    const tr_argument_list *key, tr_error *err);

/* The index of the column with that name, compared without case; -1: none. */
int tr_source_table_find_column(const tr_source_table *source, const char *name);

/* Whether it is one of SQLite's names for the rowid: rowid, _rowid_ or oid. */
int tr_is_rowid_name(const char *name);

/*
** Whether the source is a view that is a compound SELECT (UNION and the like), or may be one. In
** such a view SQLite compares the values of each SELECT by the affinities that they have in it.
*/
int tr_source_table_is_compound(const tr_source_table *source, sqlite3 *db);

/*
** Appends `"table"."column"`, or the rowid for -1. A qualified name that is gone is an error; an
** unqualified one in quotes SQLite would take for a string.
*/
void tr_source_append_column(const tr_source_table *source, int column, sqlite3_str *sql);

/* Appends a column's declaration for sqlite3_declare_vtab: `"name" TYPE COLLATE NOCASE`. */
void tr_source_column_declare(const tr_source_column *column, const char *name, sqlite3_str *sql);

#endif

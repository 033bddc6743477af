/*
** What a table looks like to a scan: its columns, and the key in whose order it can be walked.
**
** A key is the rowid, the primary key of a WITHOUT ROWID table, or the columns of a unique index.
** It is usable when SQLite's order of it is the order of its bytes: every column BINARY, and text
** stored as UTF-8. (DESC columns do no harm: such an index is read backwards.) Its bytes have one
** of four forms, which the schema alone decides, so that a restriction that was written down means
** the same whatever the rows are by then:
**
**   TR_KEY_ROWID    eight bytes
**   TR_KEY_TEXT     one column of TEXT affinity. A text's raw bytes; what has none of its own goes
**                   into two escapes at the ends: 00 + byte_key for NULL, numbers, '' and text that
**                   begins with a zero byte, ff + byte_key for blobs and text that begins with ff
**   TR_KEY_BLOB     one column declared BLOB. The raw bytes. NULL, numbers, text and x'' sort before
**                   every other blob and have no bytes to go to: a row with one is an error
**   TR_KEY_ENCODED  all else, and what is asked for as key(byte_key(k)): byte_key(columns...)
**
** A unique index may hold many rows with NULLs. Where a column of the key is NULL, the rowid's
** byte_key follows the columns' (the order of the index), so such rows have keys of their own.
**
** Ownership: a source owns its texts. Thread-safety: none; it belongs to one connection's thread.
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
  TR_AFFINITY_BLOB, /* also that of columns without a type */
  TR_AFFINITY_TEXT,
  TR_AFFINITY_NUMERIC, /* this and below: numeric */
  TR_AFFINITY_INTEGER,
  TR_AFFINITY_REAL
} tr_affinity;

typedef struct tr_source_column {
  char *name;
  char *type;      /* as declared; "" for none */
  char *collation; /* BINARY, NOCASE, ...; BINARY for the columns of views and virtual tables */
  tr_affinity affinity;
  int is_hidden; /* a hidden column of a virtual table */
  int is_generated;
  int is_not_null;
  int primary_key; /* 1 for the first column of the primary key, ...; 0 */
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
  int columns
      [TR_KEY_COLUMNS_MAX]; /* indexes of columns; TR_KEY_ROWID: the alias, if there is one */
  int column_count;         /* TR_KEY_ROWID: 1, or 0 where the rowid has no alias */
  int has_null_breaker;     /* the rowid follows where a column is NULL */
  char *index;              /* the unique index; NULL: the table's own order */
} tr_source_key;

typedef struct tr_source_table {
  char *schema; /* main, temp, or as attached */
  char *name;   /* as SQLite spells it */
  tr_source_kind kind;
  int is_strict;
  int is_utf8; /* its database's encoding is UTF-8 */
  tr_source_column *columns;
  int column_count;
  char *rowid_name; /* a name that gives the rowid; NULL: there is none, or three columns hide it */
  int64_t schema_version; /* of its schema, when it was read */
  uint64_t file;          /* a hash of that schema's file name then */
  tr_source_key key;
} tr_source_table;

/*
** Whether the rows of a table WITHOUT ROWID lie in the ascending order of its primary key: 1, 0,
** -1. Others do.
*/
int tr_source_table_ascends(const tr_source_table *source, sqlite3 *db, tr_error *err);

/*
** Whether its schema is still the same file, with this version: 1, 0. What was read of it is then
** still true.
*/
int tr_source_table_has_version(const tr_source_table *source, sqlite3 *db, int64_t version);

/* The SQL whose one row is the version of its schema, to be prepared by whoever asks often. */
sqlite3_str *tr_source_version_sql(const tr_source_table *source, sqlite3 *db);

/* Whether there is a table or view of that name. */
int tr_has_table(sqlite3 *db, const char *schema, const char *name);

/*
** Reads a table, view or virtual table; `schema` NULL looks where SQLite would (temp, main,
** attached). key.form is TR_KEY_NONE. `function` is named in errors. TR_INVALID_ARGUMENT: no such
** table. `*source` is overwritten; on failure it owns nothing.
*/
tr_code tr_source_table_read(tr_source_table *source, sqlite3 *db, const char *function,
                             const char *schema, const char *table, tr_error *err);
void tr_source_table_free(tr_source_table *source);

/*
** Settles the key: `columns` names it (each item a column, or all in one byte_key(...)), NULL or
** empty takes the table's own order. TR_INVALID_ARGUMENT gives the reason when it cannot be one: a
** view, a virtual table, no such column, not unique, only partly unique, another collation than
** BINARY, text in a UTF-16 database, a rowid that no name reaches.
*/
tr_code tr_source_table_set_key(tr_source_table *source, sqlite3 *db, const char *function,
                                const tr_argument_list *columns, tr_error *err);

/*
** Appends what the key's bytes are made of, and a zero byte: `rowid`, `text(k)`, `byte_key(a
** INTEGER, b TEXT)`. Bytes of two keys can be compared where this is the same. TR_NO_MEMORY.
*/
tr_code tr_source_key_describe(const tr_source_table *source, tr_buffer *text, tr_error *err);

/*
** Both at once, of the table that is named by `value`, the argument `argument` of `function`. On
** failure `*source` owns nothing.
*/
tr_code tr_source_table_of_argument(tr_source_table *source, sqlite3 *db, const char *function,
                                    const char *argument, sqlite3_value *value,
                                    const tr_argument_list *key, tr_error *err);

/* The index of the column of that name (without case), or -1. */
int tr_source_table_find_column(const tr_source_table *source, const char *name);

/* Whether it is a name of the rowid where no column has it: rowid, _rowid_ or oid. */
int tr_is_rowid_name(const char *name);

/*
** Whether the table still is what was read: 1, or 0 (it was changed in a way that matters, or is
** gone; `err` says how), or -1. Costs a look at the schema's version while nothing changes.
*/
int tr_source_table_is_current(tr_source_table *source, sqlite3 *db, const char *function,
                               tr_error *err);

/*
** The same, asked of `now`, which is what the table is: no statement is run, and `then` stays as it
** is. Not whether the key is one still. 1 or 0 (`err` says how it was changed).
*/
int tr_source_table_is_as_before(const tr_source_table *then, const tr_source_table *now,
                                 const char *function, tr_error *err);

/*
** Whether it is a view that puts rows of several SELECTs together (UNION and the like), or may be
** one: there SQLite compares what comes from each by the affinities that it has in that one.
*/
int tr_source_table_is_compound(const tr_source_table *source, sqlite3 *db);

/*
** Roughly how many rows: from sqlite_stat1 where ANALYZE was run, else guessed from the size of the
** file and the span of the rowids. Never fails.
*/
int64_t tr_source_table_estimated_rows(const tr_source_table *source, sqlite3 *db);

/*
** Appends `"table"."column"`, or with -1 the rowid: qualified, so that a name that is gone is an
** error and not a string.
*/
void tr_source_append_column(const tr_source_table *source, int column, sqlite3_str *sql);

/* Appends what a column's declaration is in sqlite3_declare_vtab: `"name" TYPE COLLATE NOCASE`. */
void tr_source_column_declare(const tr_source_column *column, const char *name, sqlite3_str *sql);

#endif

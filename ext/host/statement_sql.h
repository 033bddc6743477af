/*
** The SQL text of the SELECTs of a statement reader (statement_reader.h).
**
** Each function returns a new sqlite3_str, to be given to tr_sql_prepare, which frees it and
** reports if memory failed. Thread-safety: as SQLite's own for one connection.
*/
#ifndef TR_HOST_STATEMENT_SQL_H
#define TR_HOST_STATEMENT_SQL_H

#include "host/key_bytes.h"
#include "host/source_table.h"

/* What all SELECTs of one reader have in common. Borrowed. */
typedef struct tr_statement_parts {
  const tr_source_table *source;
  int has_key;            /* rows are read in key order, and begin with the key */
  const char *outputs;    /* `a, b` */
  const char *conditions; /* `(a) AND (b)`; `1`: there is none */
  int parameter_count;    /* that the outputs and conditions use: ?1, ?2, ... */
} tr_statement_parts;

/* What depends on the range. The members have the meaning of a tr_key_segment's and its bounds'. */
typedef struct tr_statement_shape {
  tr_segment_nulls nulls;
  int from;
  int lower_count;
  int lower_is_strict;
  int upper_count;
  int upper_is_strict;
} tr_statement_shape;

/* Whether the rowid is selected, behind the key's columns. */
int tr_statement_selects_rowid(const tr_statement_parts *parts);

/*
** The SELECT that reads a range: the columns of the key, the rowid, the outputs. The parameters of
** the lower and then of the upper bound follow the reader's own.
*/
sqlite3_str *tr_statement_sql(sqlite3 *db, const tr_statement_parts *parts,
                              const tr_statement_shape *shape);

/* The SELECT that finds the table's first or last key. */
sqlite3_str *tr_statement_end_sql(sqlite3 *db, const tr_statement_parts *parts, int is_last);

/*
** The SELECT that finds the greatest rowid. It is a statement of its own: if it were inside another
** SELECT and an authorizer had it ignored, SQLite would read a register that was never set.
*/
sqlite3_str *tr_statement_last_rowid_sql(sqlite3 *db, const tr_statement_parts *parts);

#endif

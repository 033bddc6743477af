/*
** Terms of a WHERE clause over a source's columns, as SQLite hands them to a virtual table:
** conditions for an inner SELECT, and what they leave of the range of keys.
**
** SQLite compares a column with a value after the affinity of both sides was applied, and of the
** right side a virtual table sees the value alone. Where the column's own affinity is numeric that
** does not matter. Beside a TEXT or BLOB column a number may have come in three ways: as it is (`k
** = 5`: a TEXT column compares it as text), from a numeric column of a join (k is compared as a
** number), or from a column without a type (a number is below all text). The condition allows them
** all, no range is cut, and SQLite's own check afterwards decides. A text beside such a column may
** have come from a numeric column that holds text: then what spells a number in ours is one, and
** below it. So an upper limit is never below the first text that cannot spell a number, ":".
*/
#ifndef TR_HOST_KEY_CONSTRAINTS_H
#define TR_HOST_KEY_CONSTRAINTS_H

#include "host/source_table.h"
#include "range/byte_key_range.h"

/*
** SQLITE_INDEX_CONSTRAINT_... as one of ours: all that can be passed on. <>, IS NOT, IS NOT NULL,
** LIKE and GLOB are never: SQLite (3.53, too) offers them for the left side of an outer join out of
** its ON, where they take no row away, and an xBestIndex cannot see that. `=`, `<` and their like
** it offers where they hold.
*/
typedef enum tr_operator {
  TR_EQ,
  TR_GT,
  TR_GE,
  TR_LT,
  TR_LE,
  TR_IS,
  TR_IS_NULL,
  TR_IN, /* TR_EQ with a list of values */
  TR_OPERATORS
} tr_operator;

typedef struct tr_term {
  int column; /* of the source; -1: the rowid */
  tr_operator op;
  int is_binary;          /* compares BINARY, whatever the column's collation */
  int may_be_of_pattern;  /* a TR_LT, see tr_may_be_of_pattern */
  sqlite3_value **values; /* one; with TR_IN any number; owned by whoever made the term */
  int value_count;
} tr_term;

/* The operator of SQLite's constraint code; TR_OPERATORS: one that is not passed on. */
tr_operator tr_operator_of_constraint(int op);

/* Whether the condition says just what SQLite's own check would say, whatever the value is. */
int tr_term_is_exact(const tr_source_table *source, int column, tr_operator op);

/*
** SQLite adds the range of a pattern's beginning to LIKE and GLOB: d >= 'A' and d < 'b' to d LIKE
** 'a%'. No blob is below 'b', although one may be LIKE the pattern, unless SQLite was compiled so
** that none is. (Tables of its own it reads twice for that.) So where there are blobs such an upper
** limit must not be passed on. And a table must not take both limits from SQLite: 3.40 then looks
** at the pattern itself too late in an outer join, and loses rows.
**
** The first says whether two values may have come so: texts of which the upper is the one behind
** the lower, without case or with it. The second asks that of a constraint and all those on its
** column that may be its lower limit. A host before 3.38 does not tell values: there every pair
** may.
*/
int tr_may_be_of_pattern(sqlite3_value *lower, sqlite3_value *upper);
int tr_constraint_may_be_of_pattern(sqlite3_index_info *info, int i);

/* The term's value `i` as the condition's parameter is to have it. */
tr_value tr_term_value(const tr_source_table *source, const tr_term *term, int i);

/*
** Appends the term as an SQL condition whose parameters are ?first and following, one for each
** value. Its text depends on the values' types and their number, not on the values.
*/
void tr_term_append_condition(const tr_source_table *source, const tr_term *term, int first,
                              sqlite3_str *sql);

/*
** Makes `range` the keys that the terms leave: each row that satisfies them all has its key in it.
** It is as narrow as the terms on leading key columns allow. `*range` is overwritten; TR_NO_MEMORY.
*/
tr_code tr_terms_range(const tr_source_table *source, const tr_term *terms, int count,
                       tr_byte_key_range *range, tr_error *err);

#endif

/*
** Terms of a WHERE clause on a source's columns, as SQLite hands them to a virtual table. They
** become conditions of an inner SELECT, and narrow the range of keys.
**
** SQLite applies the affinities of both sides before it compares a column with a value, but shows a
** virtual table only the value. If the column's affinity is numeric, that makes no difference.
** Beside a TEXT or BLOB column a number may mean three things:
**
**   - it is a literal: `k = 5` compares a TEXT column as text;
**   - it is from a numeric column of a join: k is compared as a number;
**   - it is from a column without a type: a number is below all text.
**
** The condition allows all three, no range is cut, and SQLite's own check decides afterwards.
**
** A text beside such a column may be from a numeric column that holds text. Then any text of ours
** that spells a number is compared as a number, and so is below it. An upper limit is therefore
** never below ":", the first text that cannot spell a number.
*/
#ifndef TR_HOST_KEY_CONSTRAINTS_H
#define TR_HOST_KEY_CONSTRAINTS_H

#include "host/source_table.h"
#include "range/byte_key_range.h"

/*
** The operators that can be passed on, each for one of SQLite's constraint codes. <>, IS NOT, IS
** NOT NULL, LIKE and GLOB cannot: SQLite (also 3.53) offers them for the left table of an outer
** join from its ON clause, where they remove no rows, and xBestIndex cannot tell. It offers `=`,
** `<` and their like only where they must hold.
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
  int is_binary;          /* compares by BINARY, whatever the column's collation is */
  int may_be_of_pattern;  /* for TR_LT: see tr_may_be_of_pattern */
  sqlite3_value **values; /* one, or any number with TR_IN; borrowed */
  int value_count;
  int parameter_count; /* of its condition; see tr_term_count_parameters */
  int is_too_long; /* a list that SQLite has not enough parameters for: it only narrows the range */
} tr_term;

/* The operator for SQLite's constraint code; TR_OPERATORS if it cannot be passed on. */
tr_operator tr_operator_of_constraint(int op);

/*
** For xBestIndex: whether at most one value of a table's column can equal what constraint `i`
** gives. Beside a number, which several texts may equal, that is so only if the column turns them
** into numbers. What affinity the other side has is not known here.
*/
int tr_equals_one_value(sqlite3_index_info *info, int i, tr_affinity affinity);

/* Whether the condition is true exactly when SQLite's own check is, for any value. */
int tr_term_is_exact(const tr_source_table *source, int column, tr_operator op);

/*
** For LIKE and GLOB SQLite adds a range from the beginning of the pattern: d LIKE 'a%' gets d >=
** 'A' and d < 'b'. No blob is below 'b', but a blob can be LIKE the pattern, unless SQLite was
** compiled so that none can. (SQLite reads its own tables twice for that reason.) So if a column
** may hold blobs, such an upper limit must not be passed on. A table must also not take both limits
** from SQLite: 3.40 then checks the pattern itself too late in an outer join, and loses rows.
**
** tr_may_be_of_pattern says whether two values may be such limits: texts of which `upper` is the
** successor of `lower`, with or without case. tr_constraint_may_be_of_pattern says it of constraint
** `i` and any constraint on the same column that may be its lower limit. Before 3.38 SQLite does
** not show values, so there every pair may be one.
*/
int tr_may_be_of_pattern(sqlite3_value *lower, sqlite3_value *upper);
int tr_constraint_may_be_of_pattern(sqlite3_index_info *info, int i);

/*
** Sets how many parameters the condition has. To be called before the condition is appended: a list
** with an ambiguous value has two for each value.
*/
void tr_term_count_parameters(const tr_source_table *source, tr_term *term);

/* The value that must be bound to parameter `i` of the condition, counted from 0. */
tr_value tr_term_parameter(const tr_source_table *source, const tr_term *term, int i);

/*
** Appends the term as an SQL condition. Its parameters are ?first and following; what stands before
** it in the statement has the parameters below `first`. The text depends on the number of the
** values and on their types, not on the values themselves.
*/
void tr_term_append_condition(const tr_source_table *source, const tr_term *term, int first,
                              sqlite3_str *sql);

/*
** Sets `*range` to the keys that the terms leave: the key of every row that satisfies all terms is
** in it. It is as narrow as the terms on leading key columns allow. `*range` is overwritten.
** TR_NO_MEMORY.
*/
tr_code tr_terms_range(const tr_source_table *source, const tr_term *terms, int count,
                       tr_byte_key_range *range, tr_error *err);

#endif

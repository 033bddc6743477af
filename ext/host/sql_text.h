/*
** What can be told of SQL text without SQLite: the names in it, and whether an expression stays
** inside its parentheses.
**
** Pure except for memory; thread-safe. Copies are released with tr_free.
*/
#ifndef TR_HOST_SQL_TEXT_H
#define TR_HOST_SQL_TEXT_H

#include "base/bytes.h"

/*
** Whether the text of a CREATE TABLE has the option `word` (STRICT) behind its columns. 1 or 0;
** also 0 if it is not such a text. -1: TR_NO_MEMORY.
*/
int tr_sql_has_table_option(tr_bytes sql, const char *word, tr_error *err);

/* Whether the text is empty or has nothing but blanks, which in an argument means its default. */
int tr_sql_is_blank(tr_bytes text);

/*
** Reads a table's name: `t`, `aux.t`, `"my table"` or `'t'`. `*schema` (NULL if there is none) and
** `*table` are unquoted; the caller frees both. Text of another form (`my table`) is the table's
** name as it is. TR_INVALID_ARGUMENT: blank, or with a zero byte.
*/
tr_code tr_table_name_parse(tr_bytes text, char **schema, char **table, tr_error *err);

/*
** Appends `(text)`, with an expression that can stand inside other SQL text. TR_INVALID_ARGUMENT:
** it is empty, its quotes, comments or parentheses are not closed, or it has a parameter or a ';'.
*/
tr_code tr_expression_append(tr_buffer *sql, const char *text, tr_error *err);

/*
** Copies an expression that can stand inside other SQL text, without the blanks around it; the
** caller frees the copy. Errors: as tr_expression_append; then there is none.
*/
tr_code tr_expression_copy(tr_bytes text, char **copy, tr_error *err);

/* What tr_expression_visit finds. */
typedef enum tr_expression_part {
  TR_EXPRESSION_CALL,  /* a function, by its name or by an operator that is one: like, match */
  TR_EXPRESSION_SELECT /* a word that reads another table: SELECT, VALUES, EXISTS, IN t */
} tr_expression_part;

typedef tr_code (*tr_expression_visitor)(void *state, tr_expression_part part, const char *name,
                                         tr_error *err);

/*
** Calls `visit` for each part of an expression, in order, until it returns an error. `name` is
** unquoted and valid during the call. Whatever may be a call counts as one.
*/
tr_code tr_expression_visit(const char *text, tr_expression_visitor visit, void *state,
                            tr_error *err);

#endif

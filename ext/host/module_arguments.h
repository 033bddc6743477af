/*
** The arguments of a module: what stands in the parentheses of `CREATE VIRTUAL TABLE t USING
** group_by_fields(...)`, and the same text when an ad hoc form gets it as a value.
**
** It is SQL, so it is cut as SQL is: names in "", ``, [], literals in '', comments, nested
** parentheses. What it means is not looked at: an expression is passed on as it was written, for
** SQLite to judge. A module says in a table which clauses it takes (`key(a, b)`, `workers(4)`).
**
** Ownership: what is parsed owns its texts; all are terminated. Pure but for memory; thread-safe.
** Errors: TR_INVALID_ARGUMENT with a text that names the module and the argument; TR_NO_MEMORY.
*/
#ifndef TR_HOST_MODULE_ARGUMENTS_H
#define TR_HOST_MODULE_ARGUMENTS_H

#include "base/bytes.h"

/* --- Lists -------------------------------------------------------------------------------- */

/* One item of a list, `sum(cost) AS total`, seen in every way that may be wanted. */
typedef struct tr_argument {
  char *text;     /* as written, without blanks around it and without its AS; never empty */
  char *alias;    /* the name behind AS, unquoted; NULL without one */
  char *name;     /* where one name is all of the text: the name, unquoted; else NULL */
  char *literal;  /* where one string literal is all of it: its value; else NULL */
  char *function; /* where `f(...)`, FILTER or not, is all of it: f, unquoted; else NULL */
  char *inner;    /* with `function`: what stands in its parentheses, trimmed, maybe empty */
  char *filter; /* with `function`: the condition of `f(...) FILTER (WHERE condition)`; else NULL */
} tr_argument;

typedef struct tr_argument_list {
  tr_argument *items;
  int count;
} tr_argument_list;

/*
** Cuts `text` at its outermost commas. Blank text gives an empty list; an empty item (`a,,b`), an
** unclosed quote, comment or parenthesis and a zero byte are errors that say where. `*list` is
** overwritten; on failure it is empty.
*/
tr_code tr_argument_list_parse(tr_argument_list *list, tr_bytes text, tr_error *err);
void tr_argument_list_free(tr_argument_list *list);

/*
** Whether the option `word` (STRICT) stands behind the columns in the text of a CREATE TABLE: 1; 0,
** also of text that is none; -1: TR_NO_MEMORY.
*/
int tr_sql_has_table_option(tr_bytes sql, const char *word, tr_error *err);

/*
** Reads the name of a table, `t`, `aux.t`, `"my table"`, `'t'`, into `*schema` (NULL where none is
** given) and `*table`, unquoted; the caller frees both. Text that is no such name (`my table`) is
** taken as the table's name as it stands. TR_INVALID_ARGUMENT: blank, or with a zero byte.
*/
tr_code tr_table_name_parse(tr_bytes text, char **schema, char **table, tr_error *err);

/*
** An expression in a form that can be put into other SQL text: where it ends in a comment that
** would swallow what follows, or has unbalanced parentheses, an error. Appends `(text)`.
*/
tr_code tr_expression_append(tr_buffer *sql, const char *text, tr_error *err);

/* What tr_expression_visit meets. */
typedef enum tr_expression_part {
  TR_EXPRESSION_CALL,  /* a function, by its own name or by an operator that is one: like, match */
  TR_EXPRESSION_SELECT /* a word with which another table is read: SELECT, VALUES, EXISTS, IN t */
} tr_expression_part;

typedef tr_code (*tr_expression_visitor)(void *state, tr_expression_part part, const char *name,
                                         tr_error *err);

/*
** Shows the parts of an expression to `visit`, in their order, until one is an error; `name` is
** unquoted and valid during the call. What may be a call is taken for one.
*/
tr_code tr_expression_visit(const char *text, tr_expression_visitor visit, void *state,
                            tr_error *err);

/* --- Clauses ------------------------------------------------------------------------------ */

typedef enum tr_clause_form {
  TR_CLAUSE_LIST,       /* key(a, b): one item or more */
  TR_CLAUSE_EXPRESSION, /* where(cost > 0): one expression, commas and all, as written */
  TR_CLAUSE_INTEGER,    /* workers(4): one integer, minimum to maximum */
  TR_CLAUSE_WORD,       /* emit(accumulators): one of the words */
  TR_CLAUSE_EMPTY       /* globally() */
} tr_clause_form;

/* A clause that a module takes, at most once. Its name is compared without case. */
typedef struct tr_clause {
  const char *name;
  tr_clause_form form;
  int64_t minimum; /* TR_CLAUSE_INTEGER */
  int64_t maximum;
  const char *const *words; /* TR_CLAUSE_WORD: ends with NULL */
} tr_clause;

/* What a module takes behind its source. */
typedef struct tr_module_syntax {
  const char *module;
  const tr_clause *clauses;
  int clause_count; /* at most TR_CLAUSES_MAX */
  int takes_others; /* whether other arguments (aggregates) are kept; else they are refused */
} tr_module_syntax;

#define TR_CLAUSES_MAX 16

/* What was given for one clause. */
typedef struct tr_clause_value {
  int is_given;
  tr_argument_list list; /* TR_CLAUSE_LIST */
  char *expression;      /* TR_CLAUSE_EXPRESSION */
  int64_t integer;       /* TR_CLAUSE_INTEGER; TR_CLAUSE_WORD: the word's index */
} tr_clause_value;

typedef struct tr_module_arguments {
  char *schema; /* of the source; NULL where not given */
  char *table;
  tr_clause_value clauses[TR_CLAUSES_MAX]; /* in the order of the syntax table */
  tr_argument_list others;
} tr_module_arguments;

/*
** Reads the arguments of CREATE VIRTUAL TABLE: argv[0] of these is xCreate's argv[3]. `*arguments`
** is overwritten; on failure it owns nothing.
*/
tr_code tr_module_arguments_parse(tr_module_arguments *arguments, const tr_module_syntax *syntax,
                                  int argc, const char *const *argv, tr_error *err);
void tr_module_arguments_free(tr_module_arguments *arguments);

/* The value of one clause of one text, as an ad hoc form gets it: `index` is the clause's. */
tr_code tr_clause_value_parse(tr_clause_value *value, const tr_module_syntax *syntax, int index,
                              tr_bytes text, tr_error *err);
void tr_clause_value_free(tr_clause_value *value);

#endif

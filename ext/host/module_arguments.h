/*
** The arguments of a module: the text in the parentheses of `CREATE VIRTUAL TABLE t USING
** group_by_fields(...)`. A table function that takes the same text as a value uses this, too.
**
** The text is SQL, so it is divided as SQL is: names in "", `` or [], literals in '', comments,
** nested parentheses. Its meaning does not matter here: expressions are passed on as written, and
** SQLite judges them. A module lists the clauses that it takes (`key(a, b)`, `workers(4)`) in a
** table.
**
** Ownership: parsed structs own their texts, which are all terminated. Pure except for memory;
** thread-safe. Errors: TR_INVALID_ARGUMENT with a text that names the module and the argument;
** TR_NO_MEMORY.
*/
#ifndef TR_HOST_MODULE_ARGUMENTS_H
#define TR_HOST_MODULE_ARGUMENTS_H

#include "host/sql_text.h"

/* --- Lists -------------------------------------------------------------------------------- */

/* One item of a list, `sum(cost) AS total`, in all the ways that a module may look at it. */
typedef struct tr_argument {
  char *text;    /* as written, without blanks around it and without its AS; never empty */
  char *alias;   /* the name behind AS, unquoted; NULL: none */
  char *name;    /* if the whole text is one name: that name, unquoted; else NULL */
  char *literal; /* if the whole text is one string literal: its value; else NULL */
  /* if the whole text is `f(...)`, with or without FILTER: f, unquoted; else NULL */
  char *function;
  char *inner;  /* with `function`: the text in its parentheses, trimmed; may be empty */
  char *filter; /* with `function`: the condition of FILTER (WHERE condition); NULL: none */
} tr_argument;

typedef struct tr_argument_list {
  tr_argument *items;
  int count;
} tr_argument_list;

/*
** Divides `text` at its outermost commas. Blank text gives an empty list. An empty item (`a,,b`),
** an unclosed quote, comment or parenthesis, and a zero byte are errors that give the position.
** `*list` is overwritten; on failure it is empty.
*/
tr_code tr_argument_list_parse(tr_argument_list *list, tr_bytes text, tr_error *err);
void tr_argument_list_free(tr_argument_list *list);

/* --- Clauses ------------------------------------------------------------------------------ */

typedef enum tr_clause_form {
  TR_CLAUSE_LIST,       /* key(a, b): one or more items */
  TR_CLAUSE_EXPRESSION, /* where(cost > 0): one expression as written, which may have commas */
  TR_CLAUSE_INTEGER,    /* workers(4): one integer, minimum to maximum */
  TR_CLAUSE_WORD,       /* emit(accumulators): one of the words */
  TR_CLAUSE_EMPTY       /* globally() */
} tr_clause_form;

/* A clause that a module takes at most once. Its name is compared without case. */
typedef struct tr_clause {
  const char *name;
  tr_clause_form form;
  int64_t minimum; /* TR_CLAUSE_INTEGER */
  int64_t maximum;
  const char *const *words; /* TR_CLAUSE_WORD: ends with NULL */
} tr_clause;

/* The arguments that a module takes behind its source. */
typedef struct tr_module_syntax {
  const char *module;
  const tr_clause *clauses;
  int clause_count; /* at most TR_CLAUSES_MAX */
  int takes_others; /* whether other arguments (aggregates) are kept; else they are an error */
} tr_module_syntax;

#define TR_CLAUSES_MAX 16

/* The value that was given for a clause. */
typedef struct tr_clause_value {
  int is_given;
  tr_argument_list list; /* TR_CLAUSE_LIST */
  char *expression;      /* TR_CLAUSE_EXPRESSION */
  int64_t integer;       /* TR_CLAUSE_INTEGER; TR_CLAUSE_WORD: the word's index */
} tr_clause_value;

typedef struct tr_module_arguments {
  char *schema; /* of the source; NULL: not given */
  char *table;
  tr_clause_value clauses[TR_CLAUSES_MAX]; /* in the order of the syntax table */
  tr_argument_list others;
} tr_module_arguments;

/*
** Reads the arguments of CREATE VIRTUAL TABLE; argv[0] is xCreate's argv[3]. `*arguments` is
** overwritten; on failure it owns nothing.
*/
tr_code tr_module_arguments_parse(tr_module_arguments *arguments, const tr_module_syntax *syntax,
                                  int argc, const char *const *argv, tr_error *err);
void tr_module_arguments_free(tr_module_arguments *arguments);

/* Reads the value of one clause, as a table function gets it. `index` is that of the clause. */
tr_code tr_clause_value_parse(tr_clause_value *value, const tr_module_syntax *syntax, int index,
                              tr_bytes text, tr_error *err);
void tr_clause_value_free(tr_clause_value *value);

#endif

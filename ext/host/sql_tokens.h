/*
** The tokens of SQL text, each with the depth of the parentheses around it. Blanks and comments
** are between tokens.
**
** Pure except for memory; thread-safe.
*/
#ifndef TR_HOST_SQL_TOKENS_H
#define TR_HOST_SQL_TOKENS_H

#include "base/bytes.h"

typedef enum tr_sql_token_kind {
  TR_SQL_END,
  TR_SQL_NAME,    /* bare, or in "", `` or [] */
  TR_SQL_LITERAL, /* '...' */
  TR_SQL_NUMBER,
  TR_SQL_PARAMETER, /* ?, ?1, :a, @a, $a */
  TR_SQL_CHARACTER  /* any other single byte */
} tr_sql_token_kind;

typedef struct tr_sql_token {
  tr_sql_token_kind kind;
  int depth;    /* parentheses around it; a parenthesis itself has the depth outside */
  size_t start; /* offsets in the text */
  size_t end;
} tr_sql_token;

typedef struct tr_sql_tokens {
  tr_bytes text; /* borrowed */
  tr_sql_token *tokens;
  int count;
  int capacity;
} tr_sql_tokens;

/*
** Reads all tokens of `text`. `*list` is overwritten; also on an error the caller releases it, and
** it then has the tokens before the error. TR_INVALID_ARGUMENT: a quote, a comment or a parenthesis
** is not closed, or there is a zero byte; the message has the offset. TR_NO_MEMORY.
*/
tr_code tr_sql_tokens_read(tr_sql_tokens *list, tr_bytes text, tr_error *err);
void tr_sql_tokens_free(tr_sql_tokens *list);

/* What token `i` is: the single byte `c`; the bare name `word`, in any case; a name or literal. */
int tr_sql_is_character(const tr_sql_tokens *list, int i, char c);
int tr_sql_is_word(const tr_sql_tokens *list, int i, const char *word);
int tr_sql_is_name_or_literal(const tr_sql_tokens *list, int i);

/* The parenthesis that closes the one at `open`. */
int tr_sql_closing(const tr_sql_tokens *list, int open);

/*
** Copies, to be released with tr_free; NULL: out of memory. Of a token without its quotes, if it
** has any; and of the text of the tokens [from, to) as written, which is empty if there are none.
*/
char *tr_sql_copy_unquoted(tr_bytes text, const tr_sql_token *t);
char *tr_sql_copy_tokens(const tr_sql_tokens *list, int from, int to);

#endif

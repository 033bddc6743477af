/*
** One pass over the text. Nothing here knows more of SQL's grammar than quotes, comments and
** parentheses.
*/
#include "host/sql_tokens.h"

#include <string.h>

#include "base/memory.h"
#include "host/sqlite_api.h"

/* --- Reading ------------------------------------------------------------------------------ */

static int is_blank(uint8_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r' && c != '\v');
}

static int is_digit(uint8_t c) {
  return c >= '0' && c <= '9';
}

static int is_name_byte(uint8_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$' ||
         c >= 0x80;
}

static uint8_t byte_at(tr_bytes text, size_t at) {
  return at < text.size ? text.data[at] : 0;
}

/* Moves `*at` over blanks and comments. */
static tr_code skip_blanks(tr_bytes text, size_t *at, tr_error *err) {
  for (;;) {
    uint8_t c = byte_at(text, *at);
    uint8_t next = byte_at(text, *at + 1);
    if (is_blank(c)) {
      (*at)++;
    } else if (c == '-' && next == '-') {
      while (*at < text.size && text.data[*at] != '\n') (*at)++;
    } else if (c == '/' && next == '*') {
      size_t end = *at + 2;
      while (end + 1 < text.size && !(text.data[end] == '*' && text.data[end + 1] == '/')) end++;
      if (end + 1 >= text.size) {
        return tr_error_set(err, TR_INVALID_ARGUMENT, "the comment at offset %zu is not closed",
                            *at);
      }
      *at = end + 2;
    } else {
      return TR_OK;
    }
  }
}

/* The end of the quoted text at `start`, in which a doubled quote stands for one. 0: not closed. */
static size_t end_of_quoted(tr_bytes text, size_t start, uint8_t close) {
  for (size_t at = start + 1; at < text.size; at++) {
    if (text.data[at] != close) continue;
    if (close == ']' || byte_at(text, at + 1) != close) return at + 1;
    at++;
  }
  return 0;
}

/* Reads the next token at or after `*at`, and moves `*at` to its end. */
static tr_code next_token(tr_bytes text, size_t *at, tr_sql_token *t, tr_error *err) {
  if (skip_blanks(text, at, err) != TR_OK) return TR_INVALID_ARGUMENT;
  *t = (tr_sql_token){TR_SQL_END, 0, *at, *at};
  if (*at >= text.size) return TR_OK;
  uint8_t c = text.data[*at];
  if (c == 0) {
    return tr_error_set(err, TR_INVALID_ARGUMENT, "a zero byte at offset %zu", *at);
  }
  size_t end = *at + 1;
  if (c == '\'' || c == '"' || c == '`' || c == '[') {
    t->kind = c == '\'' ? TR_SQL_LITERAL : TR_SQL_NAME;
    end = end_of_quoted(text, *at, c == '[' ? ']' : c);
    if (end == 0) {
      return tr_error_set(err, TR_INVALID_ARGUMENT, "the quote at offset %zu is not closed", *at);
    }
    const uint8_t *zero = memchr(text.data + *at, 0, end - *at);
    if (zero != NULL) {
      return tr_error_set(err, TR_INVALID_ARGUMENT, "a zero byte at offset %zu",
                          (size_t)(zero - text.data));
    }
  } else if (is_digit(c)) {
    t->kind = TR_SQL_NUMBER;
    while (is_name_byte(byte_at(text, end)) || byte_at(text, end) == '.') end++;
  } else if (c == '?' || c == ':' || c == '@' || c == '$' || c == '#') {
    t->kind = TR_SQL_PARAMETER;
    while (is_name_byte(byte_at(text, end))) end++;
  } else if (is_name_byte(c)) {
    t->kind = TR_SQL_NAME;
    while (is_name_byte(byte_at(text, end))) end++;
  } else {
    t->kind = TR_SQL_CHARACTER;
  }
  t->end = end;
  *at = end;
  return TR_OK;
}

int tr_sql_is_character(const tr_sql_tokens *list, int i, char c) {
  const tr_sql_token *t = &list->tokens[i];
  return t->kind == TR_SQL_CHARACTER && list->text.data[t->start] == (uint8_t)c;
}

int tr_sql_is_word(const tr_sql_tokens *list, int i, const char *word) {
  const tr_sql_token *t = &list->tokens[i];
  size_t size = strlen(word);
  return t->kind == TR_SQL_NAME && t->end - t->start == size &&
         sqlite3_strnicmp((const char *)list->text.data + t->start, word, (int)size) == 0;
}

static tr_code add_token(tr_sql_tokens *list, const tr_sql_token *t, tr_error *err) {
  if (list->count == list->capacity) {
    int capacity = list->capacity == 0 ? 16 : list->capacity * 2;
    tr_sql_token *tokens = tr_realloc(list->tokens, (size_t)capacity * sizeof *tokens);
    if (tokens == NULL) return tr_error_no_memory(err);
    list->tokens = tokens;
    list->capacity = capacity;
  }
  list->tokens[list->count++] = *t;
  return TR_OK;
}

tr_code tr_sql_tokens_read(tr_sql_tokens *list, tr_bytes text, tr_error *err) {
  *list = (tr_sql_tokens){.text = text};
  int depth = 0;
  size_t at = 0;
  size_t outermost = 0;
  for (;;) {
    tr_sql_token t;
    tr_code code = next_token(text, &at, &t, err);
    if (code != TR_OK) return code;
    if (t.kind == TR_SQL_END) break;
    uint8_t c = t.kind == TR_SQL_CHARACTER ? text.data[t.start] : 0;
    if (c == ')' && --depth < 0) {
      return tr_error_set(err, TR_INVALID_ARGUMENT, "a ')' without a '(' at offset %zu", t.start);
    }
    t.depth = depth;
    if (c == '(' && depth++ == 0) outermost = t.start;
    if (add_token(list, &t, err) != TR_OK) return TR_NO_MEMORY;
  }
  if (depth == 0) return TR_OK;
  return tr_error_set(err, TR_INVALID_ARGUMENT, "the '(' at offset %zu is not closed", outermost);
}

void tr_sql_tokens_free(tr_sql_tokens *list) {
  tr_free(list->tokens);
  *list = (tr_sql_tokens){.tokens = NULL};
}

/* --- Looking ------------------------------------------------------------------------------ */

int tr_sql_is_name_or_literal(const tr_sql_tokens *list, int i) {
  tr_sql_token_kind kind = list->tokens[i].kind;
  return kind == TR_SQL_NAME || kind == TR_SQL_LITERAL;
}

int tr_sql_closing(const tr_sql_tokens *list, int open) {
  int close = open + 1;
  while (!(tr_sql_is_character(list, close, ')') &&
           list->tokens[close].depth == list->tokens[open].depth)) {
    close++;
  }
  return close;
}

/* --- Copies ------------------------------------------------------------------------------- */

static tr_bytes slice(tr_bytes text, size_t start, size_t end) {
  return (tr_bytes){text.data + start, end - start};
}

char *tr_sql_copy_unquoted(tr_bytes text, const tr_sql_token *t) {
  uint8_t open = text.data[t->start];
  if (open != '\'' && open != '"' && open != '`' && open != '[') {
    return tr_bytes_to_text(slice(text, t->start, t->end));
  }
  char *copy = tr_bytes_to_text(slice(text, t->start + 1, t->end - 1));
  if (copy == NULL || open == '[') return copy;
  char *to = copy;
  for (const char *from = copy; *from != '\0'; from++) {
    *to++ = *from;
    if ((uint8_t)*from == open) from++;
  }
  *to = '\0';
  return copy;
}

char *tr_sql_copy_tokens(const tr_sql_tokens *list, int from, int to) {
  if (from >= to) return tr_bytes_to_text((tr_bytes){0});
  return tr_bytes_to_text(slice(list->text, list->tokens[from].start, list->tokens[to - 1].end));
}

/*
** Divides SQL text at its commas, and recognizes the clauses of a module.
**
** A text is read once into tokens, each with the depth of the parentheses around it. All else works
** on the tokens. Blanks and comments are between tokens. So the text from the first to the last
** token of an item has neither around it, and a comment inside is closed inside.
*/
#include "host/module_arguments.h"

#include <string.h>

#include "base/memory.h"
#include "host/sqlite_api.h"

/* --- Tokens ------------------------------------------------------------------------------- */

typedef enum token_kind {
  TOKEN_END,
  TOKEN_NAME,    /* bare, or in "", `` or [] */
  TOKEN_LITERAL, /* '...' */
  TOKEN_NUMBER,
  TOKEN_PARAMETER, /* ?, ?1, :a, @a, $a */
  TOKEN_CHARACTER  /* any other single byte */
} token_kind;

typedef struct token {
  token_kind kind;
  int depth; /* parentheses around it; a parenthesis itself has the depth outside */
  size_t start;
  size_t end;
} token;

typedef struct token_list {
  tr_bytes text;
  token *tokens;
  int count;
  int capacity;
} token_list;

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
static tr_code next_token(tr_bytes text, size_t *at, token *t, tr_error *err) {
  if (skip_blanks(text, at, err) != TR_OK) return TR_INVALID_ARGUMENT;
  *t = (token){TOKEN_END, 0, *at, *at};
  if (*at >= text.size) return TR_OK;
  uint8_t c = text.data[*at];
  if (c == 0) {
    return tr_error_set(err, TR_INVALID_ARGUMENT, "a zero byte at offset %zu", *at);
  }
  size_t end = *at + 1;
  if (c == '\'' || c == '"' || c == '`' || c == '[') {
    t->kind = c == '\'' ? TOKEN_LITERAL : TOKEN_NAME;
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
    t->kind = TOKEN_NUMBER;
    while (is_name_byte(byte_at(text, end)) || byte_at(text, end) == '.') end++;
  } else if (c == '?' || c == ':' || c == '@' || c == '$' || c == '#') {
    t->kind = TOKEN_PARAMETER;
    while (is_name_byte(byte_at(text, end))) end++;
  } else if (is_name_byte(c)) {
    t->kind = TOKEN_NAME;
    while (is_name_byte(byte_at(text, end))) end++;
  } else {
    t->kind = TOKEN_CHARACTER;
  }
  t->end = end;
  *at = end;
  return TR_OK;
}

static int is_character(const token_list *list, int i, char c) {
  const token *t = &list->tokens[i];
  return t->kind == TOKEN_CHARACTER && list->text.data[t->start] == (uint8_t)c;
}

static int is_word(const token_list *list, int i, const char *word) {
  const token *t = &list->tokens[i];
  size_t size = strlen(word);
  return t->kind == TOKEN_NAME && t->end - t->start == size &&
         sqlite3_strnicmp((const char *)list->text.data + t->start, word, (int)size) == 0;
}

static tr_code add_token(token_list *list, const token *t, tr_error *err) {
  if (list->count == list->capacity) {
    int capacity = list->capacity == 0 ? 16 : list->capacity * 2;
    token *tokens = tr_realloc(list->tokens, (size_t)capacity * sizeof *tokens);
    if (tokens == NULL) return tr_error_no_memory(err);
    list->tokens = tokens;
    list->capacity = capacity;
  }
  list->tokens[list->count++] = *t;
  return TR_OK;
}

/* Reads all tokens of `text`. Its parentheses must match. The caller frees list->tokens. */
static tr_code read_tokens(token_list *list, tr_bytes text, tr_error *err) {
  *list = (token_list){.text = text};
  int depth = 0;
  size_t at = 0;
  size_t outermost = 0;
  for (;;) {
    token t;
    tr_code code = next_token(text, &at, &t, err);
    if (code != TR_OK) return code;
    if (t.kind == TOKEN_END) break;
    uint8_t c = t.kind == TOKEN_CHARACTER ? text.data[t.start] : 0;
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

int tr_sql_has_table_option(tr_bytes sql, const char *word, tr_error *err) {
  token_list list;
  tr_code code = read_tokens(&list, sql, err);
  int has_option = 0;
  for (int i = list.count - 1; code == TR_OK && i >= 0 && !is_character(&list, i, ')'); i--) {
    has_option |= is_word(&list, i, word);
  }
  tr_free(list.tokens);
  return code == TR_NO_MEMORY ? -1 : has_option;
}

/* --- Copies ------------------------------------------------------------------------------- */

static tr_bytes slice(tr_bytes text, size_t start, size_t end) {
  return (tr_bytes){text.data + start, end - start};
}

/* A terminated copy of a name or literal, without its quotes. NULL: out of memory. */
static char *copy_unquoted(tr_bytes text, const token *t) {
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

/* The text of the tokens [from, to) as written; empty if there are none. NULL: out of memory. */
static char *copy_tokens(const token_list *list, int from, int to) {
  if (from >= to) return tr_bytes_to_text((tr_bytes){0});
  return tr_bytes_to_text(slice(list->text, list->tokens[from].start, list->tokens[to - 1].end));
}

/* --- Lists -------------------------------------------------------------------------------- */

static void free_argument(tr_argument *a) {
  tr_free(a->text);
  tr_free(a->alias);
  tr_free(a->name);
  tr_free(a->literal);
  tr_free(a->function);
  tr_free(a->inner);
  tr_free(a->filter);
}

void tr_argument_list_free(tr_argument_list *list) {
  for (int i = 0; i < list->count; i++) free_argument(&list->items[i]);
  tr_free(list->items);
  *list = (tr_argument_list){0};
}

static int is_name_or_literal(const token_list *list, int i) {
  token_kind kind = list->tokens[i].kind;
  return kind == TOKEN_NAME || kind == TOKEN_LITERAL;
}

/* The parenthesis that closes the one at `open`. */
static int closing(const token_list *list, int open) {
  int close = open + 1;
  while (
      !(is_character(list, close, ')') && list->tokens[close].depth == list->tokens[open].depth)) {
    close++;
  }
  return close;
}

/*
** Whether the tokens [from, to) are exactly `name ( ... )`, with or without `FILTER ( WHERE
** condition )`. `*end` is then just behind the first closing parenthesis.
*/
static int is_call(const token_list *list, int from, int to, int *end) {
  if (to - from < 3 || list->tokens[from].kind != TOKEN_NAME) return 0;
  if (!is_character(list, from + 1, '(')) return 0;
  *end = closing(list, from + 1) + 1;
  if (*end == to) return 1;
  return to - *end >= 5 && is_word(list, *end, "filter") && is_character(list, *end + 1, '(') &&
         is_word(list, *end + 2, "where") && closing(list, *end + 1) == to - 1;
}

/* Copies the parts of a call. */
static tr_code split_call(tr_argument *a, const token_list *list, int from, int end, int to,
                          tr_error *err) {
  a->inner = copy_tokens(list, from + 2, end - 1);
  if (end < to) a->filter = copy_tokens(list, end + 3, to - 1);
  return a->inner == NULL || (end < to && a->filter == NULL) ? tr_error_no_memory(err) : TR_OK;
}

/*
** Makes an argument of the tokens [from, to), of which there is at least one. On failure it owns
** what was copied so far.
*/
static tr_code make_argument(tr_argument *a, const token_list *list, int from, int to,
                             tr_error *err) {
  if (to - from >= 3 && is_word(list, to - 2, "as") && is_name_or_literal(list, to - 1)) {
    a->alias = copy_unquoted(list->text, &list->tokens[to - 1]);
    if (a->alias == NULL) return tr_error_no_memory(err);
    to -= 2;
  }
  char **single = NULL;
  token_kind kind = list->tokens[from].kind;
  if (to - from == 1 && kind == TOKEN_NAME) single = &a->name;
  if (to - from == 1 && kind == TOKEN_LITERAL) single = &a->literal;
  int end;
  if (is_call(list, from, to, &end)) {
    single = &a->function;
    tr_code code = split_call(a, list, from, end, to, err);
    if (code != TR_OK) return code;
  }
  if (single != NULL) {
    *single = copy_unquoted(list->text, &list->tokens[from]);
    if (*single == NULL) return tr_error_no_memory(err);
  }
  a->text = copy_tokens(list, from, to);
  return a->text == NULL ? tr_error_no_memory(err) : TR_OK;
}

static int count_items(const token_list *list) {
  int count = list->count > 0;
  for (int i = 0; i < list->count; i++) {
    if (list->tokens[i].depth == 0 && is_character(list, i, ',')) count++;
  }
  return count;
}

tr_code tr_argument_list_parse(tr_argument_list *list, tr_bytes text, tr_error *err) {
  *list = (tr_argument_list){0};
  token_list tokens;
  tr_code code = read_tokens(&tokens, text, err);
  int items = code == TR_OK ? count_items(&tokens) : 0;
  if (items == 0) goto done;
  list->items = tr_malloc((size_t)items * sizeof *list->items);
  if (list->items == NULL) {
    code = tr_error_no_memory(err);
    goto done;
  }
  int from = 0;
  for (int to = 0; to <= tokens.count && code == TR_OK; to++) {
    int is_end = to == tokens.count;
    if (!is_end && !(tokens.tokens[to].depth == 0 && is_character(&tokens, to, ','))) continue;
    if (from == to) {
      code = tr_error_set(err, TR_INVALID_ARGUMENT, "nothing between the commas at offset %zu",
                          is_end ? text.size : tokens.tokens[to].start);
      break;
    }
    tr_argument *a = &list->items[list->count++];
    *a = (tr_argument){0};
    code = make_argument(a, &tokens, from, to, err);
    from = to + 1;
  }
done:
  tr_free(tokens.tokens);
  if (code != TR_OK) tr_argument_list_free(list);
  return code;
}

/* --- Names and expressions ---------------------------------------------------------------- */

int tr_sql_is_blank(tr_bytes text) {
  size_t i = 0;
  while (i < text.size && (is_blank(text.data[i]) || text.data[i] == '\v')) i++;
  return i == text.size;
}

tr_code tr_table_name_parse(tr_bytes text, char **schema, char **table, tr_error *err) {
  *schema = NULL;
  *table = NULL;
  if (text.size > 0 && memchr(text.data, 0, text.size) != NULL) {
    return tr_error_set(err, TR_INVALID_ARGUMENT, "a table's name has a zero byte");
  }
  token_list list;
  tr_code code = read_tokens(&list, text, err);
  if (code == TR_NO_MEMORY) goto done;
  int is_plain = code == TR_OK && list.count == 1 && is_name_or_literal(&list, 0);
  int is_qualified = code == TR_OK && list.count == 3 && is_name_or_literal(&list, 0) &&
                     is_character(&list, 1, '.') && is_name_or_literal(&list, 2);
  code = TR_OK;
  if (list.count == 0) {
    code = tr_error_set(err, TR_INVALID_ARGUMENT, "a table's name is empty");
    goto done;
  }
  if (is_qualified) {
    *schema = copy_unquoted(text, &list.tokens[0]);
    *table = *schema == NULL ? NULL : copy_unquoted(text, &list.tokens[2]);
  } else {
    *table = is_plain ? copy_unquoted(text, &list.tokens[0]) : tr_bytes_to_text(text);
  }
  if (*table == NULL) {
    tr_free(*schema);
    *schema = NULL;
    code = tr_error_no_memory(err);
  }
done:
  tr_free(list.tokens);
  return code;
}

/* Copies an expression, if it has nothing that reaches outside of it, such as a ';'. */
static tr_code copy_expression(tr_bytes text, char **copy, tr_error *err) {
  token_list list;
  tr_code code = read_tokens(&list, text, err);
  if (code == TR_OK && list.count == 0) {
    code = tr_error_set(err, TR_INVALID_ARGUMENT, "it is empty");
  }
  for (int i = 0; i < list.count && code == TR_OK; i++) {
    if (list.tokens[i].kind == TOKEN_PARAMETER) {
      code = tr_error_set(err, TR_INVALID_ARGUMENT,
                          "a parameter at offset %zu; parameters have no value here",
                          list.tokens[i].start);
    } else if (is_character(&list, i, ';')) {
      code = tr_error_set(err, TR_INVALID_ARGUMENT, "a ';' at offset %zu", list.tokens[i].start);
    }
  }
  if (code == TR_OK) {
    *copy = copy_tokens(&list, 0, list.count);
    if (*copy == NULL) code = tr_error_no_memory(err);
  }
  tr_free(list.tokens);
  return code;
}

tr_code tr_expression_append(tr_buffer *sql, const char *text, tr_error *err) {
  char *copy = NULL;
  tr_code code = copy_expression(tr_bytes_of_text(text), &copy, err);
  if (code == TR_OK) code = tr_buffer_printf(sql, err, "(%s)", copy);
  tr_free(copy);
  return code;
}

/* --- What an expression calls ------------------------------------------------------------- */

static int is_one_of(const token_list *list, int i, const char *const *words) {
  while (*words != NULL && !is_word(list, i, *words)) words++;
  return *words != NULL;
}

/* Whether the token is a part to visit, and which. A word in quotes is only a name. */
static int is_part(const token_list *list, int i, tr_expression_part *part) {
  /* Reserved words that may stand before a parenthesis. */
  static const char *const syntax[] = {
      "and",  "or",     "not",    "in",   "when",     "then", "else",    "case",  "between", "is",
      "cast", "isnull", "escape", "from", "distinct", "on",   "notnull", "where", NULL};
  static const char *const operators[] = {"like", "glob", "regexp", "match", NULL};
  static const char *const selects[] = {"select", "values", "exists", "with", NULL};
  static const char *const behind_calls[] = {"filter", "over", NULL};
  if (list->tokens[i].kind != TOKEN_NAME) return 0;
  int is_before_parenthesis = i + 1 < list->count && is_character(list, i + 1, '(');
  *part = TR_EXPRESSION_SELECT;
  if (is_one_of(list, i, selects)) return 1;
  if (is_word(list, i, "in")) return !is_before_parenthesis;
  *part = TR_EXPRESSION_CALL;
  if (is_one_of(list, i, operators)) return 1;
  if (!is_before_parenthesis || is_one_of(list, i, syntax)) return 0;
  return !(i > 0 && is_character(list, i - 1, ')') && is_one_of(list, i, behind_calls));
}

tr_code tr_expression_visit(const char *text, tr_expression_visitor visit, void *state,
                            tr_error *err) {
  token_list list;
  tr_expression_part part;
  tr_code code = read_tokens(&list, tr_bytes_of_text(text), err);
  for (int i = 0; i < list.count && code == TR_OK; i++) {
    if (!is_part(&list, i, &part)) continue;
    char *name = copy_unquoted(list.text, &list.tokens[i]);
    code = name == NULL ? tr_error_no_memory(err) : visit(state, part, name, err);
    tr_free(name);
  }
  tr_free(list.tokens);
  return code;
}

/* --- Clauses ------------------------------------------------------------------------------ */

void tr_clause_value_free(tr_clause_value *value) {
  tr_argument_list_free(&value->list);
  tr_free(value->expression);
  *value = (tr_clause_value){0};
}

static tr_code parse_list(tr_clause_value *value, const tr_clause *clause, tr_bytes text,
                          tr_error *err) {
  (void)clause;
  tr_code code = tr_argument_list_parse(&value->list, text, err);
  if (code != TR_OK || value->list.count > 0) return code;
  return tr_error_set(err, TR_INVALID_ARGUMENT, "it is empty");
}

static tr_code parse_expression(tr_clause_value *value, const tr_clause *clause, tr_bytes text,
                                tr_error *err) {
  (void)clause;
  return copy_expression(text, &value->expression, err);
}

static tr_code parse_integer(tr_clause_value *value, const tr_clause *clause, tr_bytes text,
                             tr_error *err) {
  size_t at = 0;
  int64_t integer = 0;
  int is_right = text.size > 0;
  for (; at < text.size && is_right; at++) {
    is_right = is_digit(text.data[at]) && integer <= (INT64_MAX - 9) / 10;
    if (is_right) integer = integer * 10 + (text.data[at] - '0');
  }
  if (!is_right || integer < clause->minimum || integer > clause->maximum) {
    return tr_error_set(err, TR_INVALID_ARGUMENT, "must be an integer from %lld to %lld",
                        (long long)clause->minimum, (long long)clause->maximum);
  }
  value->integer = integer;
  return TR_OK;
}

static tr_code parse_word(tr_clause_value *value, const tr_clause *clause, tr_bytes text,
                          tr_error *err) {
  for (int i = 0; clause->words[i] != NULL; i++) {
    size_t size = strlen(clause->words[i]);
    if (text.size == size &&
        sqlite3_strnicmp(clause->words[i], (const char *)text.data, (int)size) == 0) {
      value->integer = i;
      return TR_OK;
    }
  }
  tr_error_set(err, TR_INVALID_ARGUMENT, "must be ");
  for (int i = 0; clause->words[i] != NULL; i++) {
    tr_error_append(err, "%s%s", i == 0 ? "" : " or ", clause->words[i]);
  }
  return TR_INVALID_ARGUMENT;
}

static tr_code parse_empty(tr_clause_value *value, const tr_clause *clause, tr_bytes text,
                           tr_error *err) {
  (void)value, (void)clause;
  if (text.size == 0) return TR_OK;
  return tr_error_set(err, TR_INVALID_ARGUMENT, "takes nothing in its parentheses");
}

/* The function that reads each form of clause. Its error says only what is wrong. */
static tr_code (*const clause_parsers[])(tr_clause_value *, const tr_clause *, tr_bytes,
                                         tr_error *) = {
    [TR_CLAUSE_LIST] = parse_list,       [TR_CLAUSE_EXPRESSION] = parse_expression,
    [TR_CLAUSE_INTEGER] = parse_integer, [TR_CLAUSE_WORD] = parse_word,
    [TR_CLAUSE_EMPTY] = parse_empty,
};

tr_code tr_clause_value_parse(tr_clause_value *value, const tr_module_syntax *syntax, int index,
                              tr_bytes text, tr_error *err) {
  const tr_clause *clause = &syntax->clauses[index];
  tr_error reason = {0};
  *value = (tr_clause_value){.is_given = 1};
  tr_code code = clause_parsers[clause->form](value, clause, text, &reason);
  if (code == TR_OK) return TR_OK;
  tr_clause_value_free(value);
  if (code == TR_NO_MEMORY) return tr_error_no_memory(err);
  return tr_error_set(err, code, "%s: %s(%.*s): %s", syntax->module, clause->name, (int)text.size,
                      text.size == 0 ? "" : (const char *)text.data, reason.message);
}

static int find_clause(const tr_module_syntax *syntax, const char *name) {
  for (int i = 0; name != NULL && i < syntax->clause_count; i++) {
    if (sqlite3_stricmp(syntax->clauses[i].name, name) == 0) return i;
  }
  return -1;
}

static tr_code refuse_argument(const tr_module_syntax *syntax, const char *argument,
                               tr_error *err) {
  tr_error_set(err, TR_INVALID_ARGUMENT, "%s: argument %s: not known; after the table come ",
               syntax->module, argument);
  for (int i = 0; i < syntax->clause_count; i++) {
    tr_error_append(err, "%s%s(...)", i == 0 ? "" : ", ", syntax->clauses[i].name);
  }
  return TR_INVALID_ARGUMENT;
}

/* Puts one parsed argument where it belongs. `a` is empty afterwards if it was moved. */
static tr_code place_argument(tr_module_arguments *arguments, const tr_module_syntax *syntax,
                              tr_argument *a, tr_error *err) {
  int is_plain = a->alias == NULL && a->filter == NULL;
  int index = is_plain ? find_clause(syntax, a->function) : -1;
  if (index >= 0) {
    if (arguments->clauses[index].is_given) {
      return tr_error_set(err, TR_INVALID_ARGUMENT, "%s: argument %s: %s(...) is given twice",
                          syntax->module, a->text, syntax->clauses[index].name);
    }
    return tr_clause_value_parse(&arguments->clauses[index], syntax, index,
                                 tr_bytes_of_text(a->inner), err);
  }
  if (!syntax->takes_others) return refuse_argument(syntax, a->text, err);
  tr_argument_list *others = &arguments->others;
  tr_argument *items =
      tr_realloc(others->items, (size_t)(others->count + 1) * sizeof *others->items);
  if (items == NULL) return tr_error_no_memory(err);
  others->items = items;
  items[others->count++] = *a;
  *a = (tr_argument){0};
  return TR_OK;
}

static tr_code parse_one(tr_module_arguments *arguments, const tr_module_syntax *syntax,
                         const char *text, tr_error *err) {
  tr_argument_list list;
  tr_error reason = {0};
  tr_code code = tr_argument_list_parse(&list, tr_bytes_of_text(text), &reason);
  if (code == TR_NO_MEMORY) return tr_error_no_memory(err);
  if (code != TR_OK) {
    return tr_error_set(err, code, "%s: argument %s: %s", syntax->module, text, reason.message);
  }
  if (list.count == 0) {
    code = tr_error_set(err, TR_INVALID_ARGUMENT, "%s: an argument is empty", syntax->module);
  }
  for (int i = 0; i < list.count && code == TR_OK; i++) {
    code = place_argument(arguments, syntax, &list.items[i], err);
  }
  tr_argument_list_free(&list);
  return code;
}

tr_code tr_module_arguments_parse(tr_module_arguments *arguments, const tr_module_syntax *syntax,
                                  int argc, const char *const *argv, tr_error *err) {
  *arguments = (tr_module_arguments){0};
  tr_error reason = {0};
  tr_bytes source = tr_bytes_of_text(argc > 0 ? argv[0] : "");
  tr_code code = tr_table_name_parse(source, &arguments->schema, &arguments->table, &reason);
  if (code == TR_NO_MEMORY) return tr_error_no_memory(err);
  if (code != TR_OK) {
    return tr_error_set(err, code, "%s: the first argument must be a table: %s", syntax->module,
                        reason.message);
  }
  for (int i = 1; i < argc && code == TR_OK; i++) {
    code = parse_one(arguments, syntax, argv[i], err);
  }
  if (code != TR_OK) tr_module_arguments_free(arguments);
  return code;
}

void tr_module_arguments_free(tr_module_arguments *arguments) {
  tr_free(arguments->schema);
  tr_free(arguments->table);
  for (int i = 0; i < TR_CLAUSES_MAX; i++) tr_clause_value_free(&arguments->clauses[i]);
  tr_argument_list_free(&arguments->others);
  *arguments = (tr_module_arguments){0};
}

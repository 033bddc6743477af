/*
** Divides a text at its commas, and recognizes the clauses of a module.
**
** Blanks and comments are between tokens. So the text from the first to the last token of an item
** has neither around it, and a comment inside is closed inside.
*/
#include "host/module_arguments.h"

#include <string.h>

#include "base/memory.h"
#include "host/sql_tokens.h"
#include "host/sqlite_api.h"

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

/*
** Whether the tokens [from, to) are exactly `name ( ... )`, with or without `FILTER ( WHERE
** condition )`. `*end` is then just behind the first tr_sql_closing parenthesis.
*/
static int is_call(const tr_sql_tokens *list, int from, int to, int *end) {
  if (to - from < 3 || list->tokens[from].kind != TR_SQL_NAME) return 0;
  if (!tr_sql_is_character(list, from + 1, '(')) return 0;
  *end = tr_sql_closing(list, from + 1) + 1;
  if (*end == to) return 1;
  return to - *end >= 5 && tr_sql_is_word(list, *end, "filter") &&
         tr_sql_is_character(list, *end + 1, '(') && tr_sql_is_word(list, *end + 2, "where") &&
         tr_sql_closing(list, *end + 1) == to - 1;
}

/* Copies the parts of a call. */
static tr_code split_call(tr_argument *a, const tr_sql_tokens *list, int from, int end, int to,
                          tr_error *err) {
  a->inner = tr_sql_copy_tokens(list, from + 2, end - 1);
  if (end < to) a->filter = tr_sql_copy_tokens(list, end + 3, to - 1);
  return a->inner == NULL || (end < to && a->filter == NULL) ? tr_error_no_memory(err) : TR_OK;
}

/*
** Makes an argument of the tokens [from, to), of which there is at least one. On failure it owns
** what was copied so far.
*/
static tr_code make_argument(tr_argument *a, const tr_sql_tokens *list, int from, int to,
                             tr_error *err) {
  if (to - from >= 3 && tr_sql_is_word(list, to - 2, "as") &&
      tr_sql_is_name_or_literal(list, to - 1)) {
    a->alias = tr_sql_copy_unquoted(list->text, &list->tokens[to - 1]);
    if (a->alias == NULL) return tr_error_no_memory(err);
    to -= 2;
  }
  char **single = NULL;
  tr_sql_token_kind kind = list->tokens[from].kind;
  if (to - from == 1 && kind == TR_SQL_NAME) single = &a->name;
  if (to - from == 1 && kind == TR_SQL_LITERAL) single = &a->literal;
  int end;
  if (is_call(list, from, to, &end)) {
    single = &a->function;
    tr_code code = split_call(a, list, from, end, to, err);
    if (code != TR_OK) return code;
  }
  if (single != NULL) {
    *single = tr_sql_copy_unquoted(list->text, &list->tokens[from]);
    if (*single == NULL) return tr_error_no_memory(err);
  }
  a->text = tr_sql_copy_tokens(list, from, to);
  return a->text == NULL ? tr_error_no_memory(err) : TR_OK;
}

static int count_items(const tr_sql_tokens *list) {
  int count = list->count > 0;
  for (int i = 0; i < list->count; i++) {
    if (list->tokens[i].depth == 0 && tr_sql_is_character(list, i, ',')) count++;
  }
  return count;
}

tr_code tr_argument_list_parse(tr_argument_list *list, tr_bytes text, tr_error *err) {
  *list = (tr_argument_list){0};
  tr_sql_tokens tokens;
  tr_code code = tr_sql_tokens_read(&tokens, text, err);
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
    if (!is_end && !(tokens.tokens[to].depth == 0 && tr_sql_is_character(&tokens, to, ',')))
      continue;
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
  tr_sql_tokens_free(&tokens);
  if (code != TR_OK) tr_argument_list_free(list);
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
  return tr_expression_copy(text, &value->expression, err);
}

static tr_code parse_integer(tr_clause_value *value, const tr_clause *clause, tr_bytes text,
                             tr_error *err) {
  size_t at = 0;
  int64_t integer = 0;
  int is_right = text.size > 0;
  for (; at < text.size && is_right; at++) {
    is_right = text.data[at] >= '0' && text.data[at] <= '9' && integer <= (INT64_MAX - 9) / 10;
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

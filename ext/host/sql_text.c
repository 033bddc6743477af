/*
** Works on the tokens of a text (sql_tokens.h); SQLite judges the rest when it compiles the text.
*/
#include "host/sql_text.h"

#include <string.h>

#include "base/memory.h"
#include "host/sql_tokens.h"

/* --- Tables ------------------------------------------------------------------------------- */

int tr_sql_has_table_option(tr_bytes sql, const char *word, tr_error *err) {
  tr_sql_tokens list;
  tr_code code = tr_sql_tokens_read(&list, sql, err);
  int has_option = 0;
  for (int i = list.count - 1; code == TR_OK && i >= 0 && !tr_sql_is_character(&list, i, ')');
       i--) {
    has_option |= tr_sql_is_word(&list, i, word);
  }
  tr_sql_tokens_free(&list);
  return code == TR_NO_MEMORY ? -1 : has_option;
}

int tr_sql_is_blank(tr_bytes text) {
  size_t i = 0;
  while (i < text.size && (text.data[i] == ' ' || (text.data[i] >= '\t' && text.data[i] <= '\r'))) {
    i++;
  }
  return i == text.size;
}

tr_code tr_table_name_parse(tr_bytes text, char **schema, char **table, tr_error *err) {
  *schema = NULL;
  *table = NULL;
  if (text.size > 0 && memchr(text.data, 0, text.size) != NULL) {
    return tr_error_set(err, TR_INVALID_ARGUMENT, "a table's name has a zero byte");
  }
  tr_sql_tokens list;
  tr_code code = tr_sql_tokens_read(&list, text, err);
  if (code == TR_NO_MEMORY) goto done;
  if (code == TR_OK && list.count == 0) {
    code = tr_error_set(err, TR_INVALID_ARGUMENT, "a table's name is empty");
    goto done;
  }
  int is_plain = code == TR_OK && list.count == 1 && tr_sql_is_name_or_literal(&list, 0);
  int is_qualified = code == TR_OK && list.count == 3 && tr_sql_is_name_or_literal(&list, 0) &&
                     tr_sql_is_character(&list, 1, '.') && tr_sql_is_name_or_literal(&list, 2);
  code = TR_OK; /* what is no SQL may be a name */
  if (is_qualified) {
    *schema = tr_sql_copy_unquoted(text, &list.tokens[0]);
    *table = *schema == NULL ? NULL : tr_sql_copy_unquoted(text, &list.tokens[2]);
  } else {
    *table = is_plain ? tr_sql_copy_unquoted(text, &list.tokens[0]) : tr_bytes_to_text(text);
  }
  if (*table == NULL) {
    tr_free(*schema);
    *schema = NULL;
    code = tr_error_no_memory(err);
  }
done:
  tr_sql_tokens_free(&list);
  return code;
}

/* --- Expressions -------------------------------------------------------------------------- */

tr_code tr_expression_copy(tr_bytes text, char **copy, tr_error *err) {
  tr_sql_tokens list;
  tr_code code = tr_sql_tokens_read(&list, text, err);
  if (code == TR_OK && list.count == 0) {
    code = tr_error_set(err, TR_INVALID_ARGUMENT, "it is empty");
  }
  for (int i = 0; i < list.count && code == TR_OK; i++) {
    if (list.tokens[i].kind == TR_SQL_PARAMETER) {
      code = tr_error_set(err, TR_INVALID_ARGUMENT,
                          "a parameter at offset %zu; parameters have no value here",
                          list.tokens[i].start);
    } else if (tr_sql_is_character(&list, i, ';')) {
      code = tr_error_set(err, TR_INVALID_ARGUMENT, "a ';' at offset %zu", list.tokens[i].start);
    }
  }
  if (code == TR_OK) {
    *copy = tr_sql_copy_tokens(&list, 0, list.count);
    if (*copy == NULL) code = tr_error_no_memory(err);
  }
  tr_sql_tokens_free(&list);
  return code;
}

tr_code tr_expression_append(tr_buffer *sql, const char *text, tr_error *err) {
  char *copy = NULL;
  tr_code code = tr_expression_copy(tr_bytes_of_text(text), &copy, err);
  if (code == TR_OK) code = tr_buffer_printf(sql, err, "(%s)", copy);
  tr_free(copy);
  return code;
}

static int is_one_of(const tr_sql_tokens *list, int i, const char *const *words) {
  while (*words != NULL && !tr_sql_is_word(list, i, *words)) words++;
  return *words != NULL;
}

/* Whether the token is a part to visit, and which. A word in quotes is only a name. */
static int is_part(const tr_sql_tokens *list, int i, tr_expression_part *part) {
  /* Reserved words that may stand before a parenthesis. */
  static const char *const syntax[] = {
      "and",  "or",     "not",    "in",   "when",     "then", "else",    "case",  "between", "is",
      "cast", "isnull", "escape", "from", "distinct", "on",   "notnull", "where", NULL};
  static const char *const operators[] = {"like", "glob", "regexp", "match", NULL};
  static const char *const selects[] = {"select", "values", "exists", "with", NULL};
  static const char *const behind_calls[] = {"filter", "over", NULL};
  if (list->tokens[i].kind != TR_SQL_NAME) return 0;
  int is_before_parenthesis = i + 1 < list->count && tr_sql_is_character(list, i + 1, '(');
  *part = TR_EXPRESSION_SELECT;
  if (is_one_of(list, i, selects)) return 1;
  if (tr_sql_is_word(list, i, "in")) return !is_before_parenthesis;
  *part = TR_EXPRESSION_CALL;
  if (is_one_of(list, i, operators)) return 1;
  if (!is_before_parenthesis || is_one_of(list, i, syntax)) return 0;
  return !(i > 0 && tr_sql_is_character(list, i - 1, ')') && is_one_of(list, i, behind_calls));
}

tr_code tr_expression_visit(const char *text, tr_expression_visitor visit, void *state,
                            tr_error *err) {
  tr_sql_tokens list;
  tr_expression_part part;
  tr_code code = tr_sql_tokens_read(&list, tr_bytes_of_text(text), err);
  for (int i = 0; i < list.count && code == TR_OK; i++) {
    if (!is_part(&list, i, &part)) continue;
    char *name = tr_sql_copy_unquoted(list.text, &list.tokens[i]);
    code = name == NULL ? tr_error_no_memory(err) : visit(state, part, name, err);
    tr_free(name);
  }
  tr_sql_tokens_free(&list);
  return code;
}

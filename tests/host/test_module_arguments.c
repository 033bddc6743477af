/*
** host/module_arguments.h and host/sql_text.h: cutting SQL text, and telling clauses apart.
*/
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "host/module_arguments.h"

/* An argument as text: text|alias|name|literal|function|inner, with - for what is not there. */
static void describe(const tr_argument *a, char *text, size_t size) {
  const char *parts[] = {a->text, a->alias, a->name, a->literal, a->function, a->inner};
  text[0] = '\0';
  for (size_t i = 0; i < 6; i++) {
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", i == 0 ? "" : "|",
             parts[i] == NULL ? "-" : parts[i]);
  }
}

static void lists_are_cut_as_sql_is(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *items; /* joined by newlines; or the error */
  } cases[] = {
      {"", ""},
      {"  \n /* nothing */ -- at all", ""},
      {"a", "a|-|a|-|-|-"},
      {" a , b ", "a|-|a|-|-|-\nb|-|b|-|-|-"},
      {"y AS z", "y|z|y|-|-|-"},
      {"y as \"two words\"", "y|two words|y|-|-|-"},
      {"\"a \"\"b\"\"\"", "\"a \"\"b\"\"\"|-|a \"b\"|-|-|-"},
      {"[a b], `c``d`", "[a b]|-|a b|-|-|-\n`c``d`|-|c`d|-|-|-"},
      {"'it''s'", "'it''s'|-|-|it's|-|-"},
      {"sum(cost) AS total", "sum(cost)|total|-|-|sum|cost"},
      {"f(a, (b), ')', \")\")", "f(a, (b), ')', \")\")|-|-|-|f|a, (b), ')', \")\""},
      {"f ( ) ", "f ( )|-|-|-|f|"},
      {"f(a) + g(b)", "f(a) + g(b)|-|-|-|-|-"},
      {"(f(a))", "(f(a))|-|-|-|-|-"},
      {"a /* , */ + b -- , c\n, d", "a /* , */ + b|-|-|-|-|-\nd|-|d|-|-|-"},
      {"items[*].sku, 'attrs{*}.x'", "items[*].sku|-|-|-|-|-\n'attrs{*}.x'|-|-|attrs{*}.x|-|-"},
      {"x'61', 1.5e3", "x'61'|-|-|-|-|-\n1.5e3|-|-|-|-|-"},
      {"CAST(a AS TEXT)", "CAST(a AS TEXT)|-|-|-|CAST|a AS TEXT"},
      {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f|-|gr\xc3\xbc\xc3\x9f|-|-|-"},
      {"a,,b", "nothing between the commas at offset 2"},
      {"a,", "nothing between the commas at offset 2"},
      {",a", "nothing between the commas at offset 0"},
      {"f(a", "the '(' at offset 1 is not closed"},
      {"a)", "a ')' without a '(' at offset 1"},
      {"'a", "the quote at offset 0 is not closed"},
      {"a \"b", "the quote at offset 2 is not closed"},
      {"a /* b", "the comment at offset 2 is not closed"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tr_argument_list list;
    tr_error err = {0};
    char all[500] = "";
    tr_code code = tr_argument_list_parse(&list, tr_bytes_of_text(cases[i].text), &err);
    for (int j = 0; j < list.count; j++) {
      char text[250];
      describe(&list.items[j], text, sizeof text);
      snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", j == 0 ? "" : "\n", text);
    }
    assert_string_equal(code == TR_OK ? all : err.message, cases[i].items);
    tr_argument_list_free(&list);
  }
}

static void names_of_tables(void **state) {
  (void)state;
  static const struct {
    const char *text, *schema, *table;
  } cases[] = {
      {"t", NULL, "t"},
      {" aux . t ", "aux", "t"},
      {"\"a.b\"", NULL, "a.b"},
      {"main.\"x \"\"y\"\"\"", "main", "x \"y\""},
      {"'t'", NULL, "t"},
      {"[my table]", NULL, "my table"},
      {"my table", NULL, "my table"},
      {"a.b.c", NULL, "a.b.c"},
      {"it's", NULL, "it's"},
      {"'tis", NULL, "'tis"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *schema, *table;
    assert_int_equal(tr_table_name_parse(tr_bytes_of_text(cases[i].text), &schema, &table, NULL),
                     TR_OK);
    assert_string_equal(table, cases[i].table);
    assert_int_equal(schema == NULL, cases[i].schema == NULL);
    if (schema != NULL) assert_string_equal(schema, cases[i].schema);
    tr_free(schema);
    tr_free(table);
  }
  char *schema, *table;
  assert_int_equal(tr_table_name_parse(tr_bytes_of_text("  "), &schema, &table, NULL),
                   TR_INVALID_ARGUMENT);
  assert_int_equal(
      tr_table_name_parse((tr_bytes){(const uint8_t *)"a\0b", 3}, &schema, &table, NULL),
      TR_INVALID_ARGUMENT);
}

static void expressions_cannot_reach_out(void **state) {
  (void)state;
  static const struct {
    const char *text, *sql;
  } cases[] = {
      {"cost > 0 -- yes", "(cost > 0)"},
      {"a IN (1, 2) /* b */", "(a IN (1, 2))"},
      {"1) OR (1", "a ')' without a '(' at offset 1"},
      {"1; DROP TABLE t", "a ';' at offset 1"},
      {"a > :x", "a parameter at offset 4; parameters have no value here"},
      {" ", "it is empty"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tr_buffer sql = {0};
    tr_error err = {0};
    tr_code code = tr_expression_append(&sql, cases[i].text, &err);
    if (code == TR_OK) assert_int_equal(tr_buffer_append_byte(&sql, 0, NULL), TR_OK);
    assert_string_equal(code == TR_OK ? (const char *)sql.data : err.message, cases[i].sql);
    tr_buffer_free(&sql);
  }
}

enum { KEY, WHERE, WORKERS, EMIT, GLOBALLY };

static const char *const words[] = {"values", "accumulators", NULL};
static const tr_clause clauses[] = {
    [KEY] = {.name = "key", .form = TR_CLAUSE_LIST},
    [WHERE] = {.name = "where", .form = TR_CLAUSE_EXPRESSION},
    [WORKERS] = {.name = "workers", .form = TR_CLAUSE_INTEGER, .minimum = 1, .maximum = 64},
    [EMIT] = {.name = "emit", .form = TR_CLAUSE_WORD, .words = words},
    [GLOBALLY] = {.name = "globally", .form = TR_CLAUSE_EMPTY},
};
static const tr_module_syntax syntax = {"m", clauses, 5, 0};
static const tr_module_syntax open_syntax = {"m", clauses, 5, 1};

static void clauses_of_a_module(void **state) {
  (void)state;
  const char *const argv[] = {"aux.t",        "KEY(a, b)",          "where(x > 1, 2)",
                              "workers( 4 )", "emit(Accumulators)", "globally()",
                              "sum(a) AS s"};
  tr_module_arguments arguments;
  assert_int_equal(tr_module_arguments_parse(&arguments, &open_syntax, 7, argv, NULL), TR_OK);
  assert_string_equal(arguments.schema, "aux");
  assert_string_equal(arguments.table, "t");
  assert_int_equal(arguments.clauses[KEY].list.count, 2);
  assert_string_equal(arguments.clauses[WHERE].expression, "x > 1, 2");
  assert_int_equal(arguments.clauses[WORKERS].integer, 4);
  assert_int_equal(arguments.clauses[EMIT].integer, 1);
  assert_true(arguments.clauses[GLOBALLY].is_given);
  assert_int_equal(arguments.others.count, 1);
  assert_string_equal(arguments.others.items[0].alias, "s");
  tr_module_arguments_free(&arguments);
}

static void arguments_that_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *argument, *message;
  } cases[] = {
      {"sum(a)", "m: argument sum(a): not known; after the table come key(...), where(...), "
                 "workers(...), emit(...), globally(...)"},
      {"key()", "m: key(): it is empty"},
      {"key(a) AS b", "m: argument key(a): not known; after the table come key(...), where(...), "
                      "workers(...), emit(...), globally(...)"},
      {"where()", "m: where(): it is empty"},
      {"workers(0)", "m: workers(0): must be an integer from 1 to 64"},
      {"workers(99999999999999999999)",
       "m: workers(99999999999999999999): must be an integer from 1 to 64"},
      {"workers(two)", "m: workers(two): must be an integer from 1 to 64"},
      {"emit(rows)", "m: emit(rows): must be values or accumulators"},
      {"globally(x)", "m: globally(x): takes nothing in its parentheses"},
      {"", "m: an argument is empty"},
      {"key('a)", "m: argument key('a): the quote at offset 4 is not closed"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tr_module_arguments arguments;
    tr_error err = {0};
    const char *const argv[] = {"t", cases[i].argument};
    assert_int_equal(tr_module_arguments_parse(&arguments, &syntax, 2, argv, &err),
                     TR_INVALID_ARGUMENT);
    assert_string_equal(err.message, cases[i].message);
    assert_null(arguments.table);
  }
  tr_module_arguments arguments;
  tr_error err = {0};
  const char *const twice[] = {"t", "key(a)", "key(b)"};
  assert_int_equal(tr_module_arguments_parse(&arguments, &syntax, 3, twice, &err),
                   TR_INVALID_ARGUMENT);
  assert_string_equal(err.message, "m: argument key(b): key(...) is given twice");
  assert_int_equal(tr_module_arguments_parse(&arguments, &syntax, 0, NULL, &err),
                   TR_INVALID_ARGUMENT);
  assert_string_equal(err.message,
                      "m: the first argument must be a table: a table's name is empty");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lists_are_cut_as_sql_is),      cmocka_unit_test(names_of_tables),
      cmocka_unit_test(expressions_cannot_reach_out), cmocka_unit_test(clauses_of_a_module),
      cmocka_unit_test(arguments_that_are_refused),
  };
  return cmocka_run_group_tests_name("module arguments", tests, NULL, NULL);
}

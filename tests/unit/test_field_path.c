/*
** Paths to fields: what is read, and where and why what is refused is refused.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/field_path.h"
#include "test_memory.h"

/* A path written out: names in quotes, qualifiers behind them, steps with blanks between. */
static const char *show(const tr_field_path *path) {
  static char text[400];
  size_t size = 0;
  text[0] = 0;
  for (int i = 0; i < path->step_count; i++) {
    const tr_field_step *step = &path->steps[i];
    size += (size_t)snprintf(text + size, sizeof text - size, "%s'%s'%s", i == 0 ? "" : " ",
                             step->name, step->qualifiers);
  }
  if (path->takes_all) snprintf(text + size, sizeof text - size, "%s*", size == 0 ? "" : " ");
  return text;
}

static void test_accepted(void **state) {
  (void)state;
  static const struct {
    const char *text, *shown;
  } cases[] = {
      {"a", "'a'"},
      {"A1_$", "'A1_$'"},
      {"7", "'7'"},
      {"a.b.c", "'a' 'b' 'c'"},
      {" a . b\t", "'a' 'b'"},
      {"*", "*"},
      {" * ", "*"},
      {"a.*", "'a' *"},
      {"a[].b", "'a'[ 'b'"},
      {"a[*].b", "'a'[ 'b'"},
      {"a{}.b", "'a'{ 'b'"},
      {"a{*}.b", "'a'{ 'b'"},
      {"a [] . b", "'a'[ 'b'"},
      {"a[]{*} [].b.c", "'a'[{[ 'b' 'c'"},
      {"a[]", "'a'["},
      {"a[].*", "'a'[ *"},
      {"\"first name\".\"x\"\"y\"[]", "'first name' 'x\"y'["},
      {"\"*\".\"a.b\"", "'*' 'a.b'"},
      {"`first name`.`x``y`[]", "'first name' 'x`y'["},
      {"[first name].[x\"y][].[a.b]", "'first name' 'x\"y'[ 'a.b'"},
      {"stra\xc3\x9f"
       "e",
       "'stra\xc3\x9f"
       "e'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_field_path path;
    tr_error err = {0};
    tr_code code = tr_field_path_parse(&path, tr_bytes_of_text(cases[i].text), &err);
    if (code != TR_OK) fail_msg("%s: %s", cases[i].text, err.message);
    assert_string_equal(show(&path), cases[i].shown);
    tr_field_path_free(&path);
  }
}

static void test_refused(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int at;
    const char *reason;
  } cases[] = {
      {"", 1, "a name or * must stand here"},
      {"  ", 3, "a name or * must stand here"},
      {".a", 1, "a name or * must stand here"},
      {"a..b", 3, "a name or * must stand here"},
      {"a.", 3, "a name or * must stand here"},
      {"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x.y.z.a.b.c.d.e.f.g", 65,
       "more than 32 names"},
      {"a[]{}.b[][].c[].d", 14, "more than 4 lists and maps"},
      {"``", 1, "a name is empty"},
      {"a.`b", 3, "this quote is not closed"},
      {"a.[b", 3, "this quote is not closed"},
      {"[*]", 1, "a name or * must stand here"},
      {"[]", 1, "a name or * must stand here"},
      {"a b", 3, "a dot, a qualifier or the end must stand here"},
      {"a-b", 2, "a dot, a qualifier or the end must stand here"},
      {"a,b", 2, "a dot, a qualifier or the end must stand here"},
      {"a:b", 2, "a dot, a qualifier or the end must stand here"},
      {"a]", 2, "a dot, a qualifier or the end must stand here"},
      {"a[]b", 4, "a dot, a qualifier or the end must stand here"},
      {"a*", 2, "a dot, a qualifier or the end must stand here"},
      {"a[", 2, "only [] and [*] are allowed"},
      {"a[0]", 2, "only [] and [*] are allowed"},
      {"a[ ]", 2, "only [] and [*] are allowed"},
      {"a[}", 2, "only [] and [*] are allowed"},
      {"a.b{x}", 4, "only {} and {*} are allowed"},
      {"**", 2, "nothing can follow *"},
      {"*.a", 2, "nothing can follow *"},
      {"a.*.b", 4, "nothing can follow *"},
      {"a.*[]", 4, "nothing can follow *"},
      {"a.\"b", 3, "this quote is not closed"},
      {"\"\"", 1, "a name is empty"},
      {"'a'", 1, "a name or * must stand here"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_field_path path;
    tr_error err = {0};
    char expected[200];
    assert_int_equal(tr_field_path_parse(&path, tr_bytes_of_text(cases[i].text), &err),
                     TR_INVALID_ARGUMENT);
    snprintf(expected, sizeof expected, "field path '%s', at %d: %s", cases[i].text, cases[i].at,
             cases[i].reason);
    assert_memory_equal(err.message, expected, strlen(expected));
    assert_null(path.steps);
  }
  tr_field_path path;
  tr_error err;
  tr_bytes with_zero = {(const uint8_t *)"\"a\0b\"", 5};
  assert_int_equal(tr_field_path_parse(&path, with_zero, &err), TR_INVALID_ARGUMENT);
}

static void test_name_and_cover(void **state) {
  (void)state;
  static const struct {
    const char *path, *other;
    int covers, covered;
  } cases[] = {
      {"a", "a", 1, 1},         {"a", "b", 0, 0},       {"*", "a", 1, 0},
      {"*", "*", 1, 1},         {"a", "a.b", 1, 0},     {"a", "a.*", 1, 0},
      {"a.*", "a.b", 1, 0},     {"a.*", "a.*", 1, 1},   {"a.b", "a.c", 0, 0},
      {"a.b", "a.b.c.d", 1, 0}, {"a[].b", "a.b", 1, 1}, {"*", "a.b", 1, 0},
      {"a.*", "a.b.c", 1, 0},   {"ab", "a", 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tr_field_path path, other;
    assert_int_equal(tr_field_path_parse(&path, tr_bytes_of_text(cases[i].path), NULL), TR_OK);
    assert_int_equal(tr_field_path_parse(&other, tr_bytes_of_text(cases[i].other), NULL), TR_OK);
    assert_int_equal(tr_field_path_covers(&path, &other), cases[i].covers);
    assert_int_equal(tr_field_path_covers(&other, &path), cases[i].covered);
    if (path.step_count == 0) assert_null(tr_field_path_name(&path));
    tr_field_path_free(&path);
    tr_field_path_free(&other);
  }
  tr_field_path path;
  assert_int_equal(tr_field_path_parse(&path, tr_bytes_of_text("a.b[].\"c d\".*"), NULL), TR_OK);
  assert_string_equal(tr_field_path_name(&path), "c d");
  tr_field_path_free(&path);
}

static void test_failing_allocations(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    tr_field_path path;
    long live = test_memory_live();
    test_memory_fail_at(n);
    tr_code code = tr_field_path_parse(&path, tr_bytes_of_text("a.b[].c"), NULL);
    int failed = test_memory_has_failed();
    test_memory_fail_at(0);
    assert_int_equal(code, failed ? TR_NO_MEMORY : TR_OK);
    tr_field_path_free(&path);
    assert_int_equal(test_memory_live(), live);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_accepted),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_name_and_cover),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
** The laws of combine functions, for every function in the registry and all its shapes:
**
**   identity           merging an empty accumulator, into or from, changes nothing
**   commutativity,     rows in any order, cut in any way, and merged in any tree, with some parts
**   associativity      written and read on the way, give the bytes and the output of adding all
**                      rows to one accumulator
**   inverse            rows that are added and removed leave no trace
**   patience           extracting, writing and merging from an accumulator do not change it
**   memory             a failing allocation is an error, adds nothing, and loses nothing
**
** Functions that are not canonical obey the first and the last three. Their own tests check how
** close their outputs are. Bindings that draw random numbers are tested in test_sample.c.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "combining.h"
#include "effort.h"
#include "test_memory.h"

enum { MOST_PARTS = 8 };

static void assert_same(const tr_combine *combine, const char *law, const void *a, const void *b) {
  tr_buffer bytes_a = combining_write(combine, a), bytes_b = combining_write(combine, b);
  if (tr_bytes_compare(tr_buffer_bytes(&bytes_a), tr_buffer_bytes(&bytes_b)) != 0) {
    fail_msg("%s, %d arguments: %s: other bytes", combine->fn->name, combine->argument_count, law);
  }
  tr_buffer_free(&bytes_a);
  tr_buffer_free(&bytes_b);
  char *output_a = combining_output(combine, a), *output_b = combining_output(combine, b);
  if (strcmp(output_a, output_b) != 0) {
    fail_msg("%s: %s: %s, not %s", combine->fn->name, law, output_b, output_a);
  }
  free(output_a);
  free(output_b);
}

static void merge(const tr_combine *combine, void *into, const void *from) {
  tr_error err;
  if (combine->fn->merge_accumulators(combine, into, from, &err) != TR_OK) {
    fail_msg("%s: %s", combine->fn->name, err.message);
  }
}

static void *accumulate(const tr_combine *combine, const combining_row *rows, size_t count) {
  void *state = combining_create(combine);
  for (size_t i = 0; i < count; i++) combining_add(combine, state, &rows[i]);
  return state;
}

/* Writes an accumulator and reads it back. */
static void *round_trip(const tr_combine *combine, void *state) {
  tr_combine read;
  tr_buffer blob = combining_write(combine, state);
  void *copy = combining_read(tr_buffer_bytes(&blob), &read);
  tr_buffer_free(&blob);
  combining_free(combine, state);
  return copy;
}

static void shuffle(test_random *random, combining_row *rows, size_t count) {
  for (size_t i = count; i > 1; i--) {
    size_t other = test_random_below(random, i);
    combining_row moved = rows[i - 1];
    rows[i - 1] = rows[other];
    rows[other] = moved;
  }
}

/* --- the laws ------------------------------------------------------------------------------- */

static void identity(test_random *random, const tr_combine *combine, combining_row *rows,
                     size_t count) {
  (void)random;
  void *state = accumulate(combine, rows, count), *same = accumulate(combine, rows, count);
  void *empty = combining_create(combine), *nothing = combining_create(combine);
  merge(combine, same, empty);
  assert_same(combine, "merging an empty one", state, same);
  assert_same(combine, "being merged", nothing, empty);
  merge(combine, empty, nothing);
  assert_same(combine, "two empty ones", nothing, empty);
  merge(combine, empty, state);
  assert_same(combine, "merging into an empty one", state, empty);
  assert_same(combine, "being merged", same, state);
  combining_free(combine, state);
  combining_free(combine, same);
  combining_free(combine, empty);
  combining_free(combine, nothing);
}

static void order_and_cut(test_random *random, const tr_combine *combine, combining_row *rows,
                          size_t count) {
  if (!combine->fn->is_canonical) return;
  void *direct = accumulate(combine, rows, count);
  shuffle(random, rows, count);
  void *parts[MOST_PARTS];
  size_t part_count = 1 + test_random_below(random, MOST_PARTS), from = 0;
  for (size_t p = 0; p < part_count; p++) {
    size_t left = count - from;
    size_t size = p + 1 == part_count ? left : test_random_below(random, left + 1);
    parts[p] = accumulate(combine, rows + from, size);
    from += size;
  }
  while (part_count > 1) {
    size_t into = test_random_below(random, part_count), last = --part_count;
    if (into == last) into = test_random_below(random, last);
    if (test_random_below(random, 2)) parts[into] = round_trip(combine, parts[into]);
    if (test_random_below(random, 2)) parts[last] = round_trip(combine, parts[last]);
    merge(combine, parts[into], parts[last]);
    combining_free(combine, parts[last]);
  }
  assert_same(combine, "another order and cut", direct, parts[0]);
  combining_free(combine, direct);
  combining_free(combine, parts[0]);
}

static void written_and_read(test_random *random, const tr_combine *combine, combining_row *rows,
                             size_t count) {
  (void)random;
  void *state = accumulate(combine, rows, count);
  void *read = round_trip(combine, accumulate(combine, rows, count));
  assert_same(combine, "written and read", state, read);
  assert_same(combine, "asked twice", state, state);
  combining_free(combine, state);
  combining_free(combine, read);
}

/* Adds all rows, and then removes those after the first `kept`, in another order. */
static void inverse(test_random *random, const tr_combine *combine, combining_row *rows,
                    size_t count) {
  if (combine->fn->remove_input == NULL) return;
  size_t kept = test_random_below(random, count + 1);
  void *direct = accumulate(combine, rows, kept), *state = accumulate(combine, rows, count);
  shuffle(random, rows + kept, count - kept);
  for (size_t i = kept; i < count; i++) {
    tr_error err;
    assert_int_equal(combine->fn->remove_input(combine, state, rows[i].values, &err), TR_OK);
  }
  assert_same(combine, "rows taken back", direct, state);
  combining_free(combine, direct);
  combining_free(combine, state);
}

/* --- memory --------------------------------------------------------------------------------- */

typedef struct life {
  const tr_combine *combine;
  const combining_row *rows;
  size_t count;
} life;

/* Adds a row. If memory fails, the row must not have been added, and a second try must succeed. */
static tr_code add_again(const tr_combine *combine, void *state, const combining_row *row,
                         tr_code so_far) {
  tr_error err;
  tr_code code = combine->fn->add_input(combine, state, row->values, &err);
  if (code != TR_NO_MEMORY) return so_far;
  combining_add(combine, state, row);
  return TR_NO_MEMORY;
}

/* The whole life of two accumulators. Every call must return an error if its memory fails. */
static tr_code live(void *context) {
  const life *l = context;
  const tr_combine *combine = l->combine;
  tr_accumulator merged = {0};
  tr_buffer blob = {0};
  tr_combine_output output = {0};
  tr_error err;
  void *state = combining_create(combine);
  tr_code added = TR_OK;
  for (size_t i = 0; i < l->count; i++) added = add_again(combine, state, &l->rows[i], added);
  if (added != TR_OK && combine->fn->is_canonical) {
    void *direct = accumulate(combine, l->rows, l->count);
    assert_same(combine, "a row added at the second try", direct, state);
    combining_free(combine, direct);
  }
  tr_code code = added;
  if (code == TR_OK) code = tr_accumulator_write(combine, state, &blob, &err);
  for (int i = 0; i < 2 && code == TR_OK; i++) {
    code = tr_accumulator_merge(&merged, tr_buffer_bytes(&blob), &err);
  }
  int extracts = combine->argument_count - tr_combine_accumulator_arguments(combine);
  if (code == TR_OK) {
    code = tr_accumulator_extract(&merged, combine->parameters + combine->argument_count - extracts,
                                  extracts, &output, &err);
    if (code != TR_NO_MEMORY) code = TR_OK; /* an overflow, or a BLOB that JSON cannot hold */
  }
  tr_combine_output_free(&output);
  tr_buffer_free(&blob);
  tr_accumulator_free(&merged);
  combining_free(combine, state);
  return code;
}

static void memory(test_random *random, const tr_combine *combine, combining_row *rows,
                   size_t count) {
  (void)random;
  life l = {combine, rows, count < 12 ? count : 12};
  assert_true(test_memory_fail_each(live, &l) >= 0);
}

/* --- all functions -------------------------------------------------------------------------- */

static void check(test_random *random, const tr_combine *combine, size_t count) {
  static void (*const laws[])(test_random *, const tr_combine *, combining_row *, size_t) = {
      identity, order_and_cut, written_and_read, inverse, memory};
  for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
    combining_row *rows = combining_random_rows(random, combine->fn, count);
    laws[i](random, combine, rows, count);
    free(rows);
    if (test_memory_live() != 0) fail_msg("%s: lost memory in law %zu", combine->fn->name, i);
  }
}

static void laws_hold_for_all(void **unused) {
  (void)unused;
  test_random random = test_random_begin("test_combine_laws");
  const tr_combine_fn *fn;
  long checked = 0;
  for (int f = 0; (fn = tr_combine_fn_at(f)) != NULL; f++) {
    tr_combine bindings[COMBINING_MOST_BINDINGS];
    int count = combining_bindings(fn, bindings);
    assert_true(count > 0);
    for (long round = 0; round < test_effort(500); round++) {
      static const size_t sizes[] = {0, 1, 2, 5, 20, 100};
      tr_combine *binding = &bindings[test_random_below(&random, (uint64_t)count)];
      if (tr_combine_is_random(binding)) continue;
      check(&random, binding, sizes[test_random_below(&random, 6)]);
      checked++;
    }
  }
  printf("%ld bindings checked\n", checked);
}

/* What the documentation and group_by_fields rely on. */
static void functions_are_well_formed(void **unused) {
  (void)unused;
  const tr_combine_fn *fn;
  for (int f = 0; (fn = tr_combine_fn_at(f)) != NULL; f++) {
    assert_ptr_equal(tr_combine_fn_by_name(tr_bytes_of_text(fn->name)), fn);
    assert_ptr_equal(tr_combine_fn_by_tag(fn->tag), fn);
    int roles = 0, optional = 0;
    for (const tr_combine_argument *a = fn->arguments; a->name != NULL; a++) {
      assert_true(a->is_optional || !optional);
      assert_true(a->role == TR_ARGUMENT_EXTRACT || roles != (int)TR_ARGUMENT_EXTRACT);
      optional = a->is_optional;
      roles = (int)a->role;
    }
  }
  assert_null(tr_combine_fn_by_name(tr_bytes_of_text("summ")));
  assert_null(tr_combine_fn_by_name(tr_bytes_of_text("su")));
  assert_non_null(tr_combine_fn_by_name(tr_bytes_of_text("SUM")));
  assert_null(tr_combine_fn_by_tag(0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions_are_well_formed),
      cmocka_unit_test(laws_hold_for_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

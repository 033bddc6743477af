/*
** Accumulators for tests. What cannot fail in a correct program aborts the test if it does.
*/
#include "combining.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static void must(tr_code code, const char *what, const tr_error *err) {
  if (code == TR_OK) return;
  fprintf(stderr, "%s: %s\n", what, err->message);
  abort();
}

const tr_combine_fn *combining_function(const char *name) {
  const tr_combine_fn *fn = tr_combine_fn_by_name(tr_bytes_of_text(name));
  if (fn == NULL) {
    fprintf(stderr, "no function %s\n", name);
    abort();
  }
  return fn;
}

tr_combine combining_bind(const char *name, const tr_value *arguments, int count) {
  tr_combine combine;
  tr_error err;
  must(tr_combine_bind(combining_function(name), arguments, count, &combine, &err), name, &err);
  return combine;
}

void *combining_create(const tr_combine *combine) {
  tr_error err;
  void *state = calloc(1, combine->fn->state_size);
  if (state == NULL) abort();
  if (combine->fn->create_accumulator != NULL) {
    must(combine->fn->create_accumulator(combine, state, &err), combine->fn->name, &err);
  }
  return state;
}

void combining_free(const tr_combine *combine, void *state) {
  if (combine->fn->free_accumulator != NULL) combine->fn->free_accumulator(state);
  free(state);
}

tr_buffer combining_write(const tr_combine *combine, const void *state) {
  tr_buffer blob = {0};
  tr_error err;
  must(tr_accumulator_write(combine, state, &blob, &err), combine->fn->name, &err);
  return blob;
}

void *combining_read(tr_bytes blob, tr_combine *combine) {
  tr_error err;
  tr_bytes payload;
  must(tr_accumulator_open(blob, combine, &payload, &err), "open", &err);
  void *state = calloc(1, combine->fn->state_size);
  if (state == NULL) abort();
  must(combine->fn->read_accumulator(combine, state, payload, &err), combine->fn->name, &err);
  return state;
}

char *combining_text(const tr_value *value, int is_json) {
  static const char *const types[] = {"NULL", "INTEGER", "REAL", "TEXT", "BLOB"};
  size_t size = value->type >= TR_TEXT ? value->bytes.size : 0;
  char *text = malloc(64 + 2 * size);
  if (text == NULL) abort();
  int length = sprintf(text, "%s ", is_json ? "JSON" : types[value->type]);
  switch (value->type) {
  case TR_NULL: break;
  case TR_INTEGER: sprintf(text + length, "%lld", (long long)value->integer); break;
  case TR_REAL: sprintf(text + length, "%.17g", value->real); break;
  case TR_TEXT: sprintf(text + length, "%.*s", (int)size, (const char *)value->bytes.data); break;
  case TR_BLOB:
    for (size_t i = 0; i < size; i++) sprintf(text + length + 2 * i, "%02x", value->bytes.data[i]);
    break;
  }
  return text;
}

char *combining_output(const tr_combine *combine, const void *state) {
  tr_combine_output output = {0};
  tr_error err;
  char *text;
  if (combine->fn->extract_output(combine, state, &output, &err) == TR_OK) {
    text = combining_text(&output.value, output.is_json);
  } else {
    text = malloc(sizeof err.message + 8);
    if (text == NULL) abort();
    sprintf(text, "error %s", err.message);
  }
  tr_combine_output_free(&output);
  return text;
}

/* --- random rows ---------------------------------------------------------------------------- */

#define BYTES(text) \
  { (const uint8_t *)(text), sizeof(text) - 1 }

/*
** Prefixes of each other, UTF-8 characters of every length, a zero byte inside, characters that
** JSON escapes.
*/
static const tr_bytes texts[] = {
    BYTES(""),
    BYTES("a"),
    BYTES("ab"),
    BYTES("A"),
    BYTES("a\0b"),
    BYTES("\303\251t\303\251"),
    BYTES("\320\234\320\270\321\200"),
    BYTES("\345\214\227\344\272\254"),
    BYTES("\360\237\230\200"),
    BYTES("\331\205\330\261\330\255\330\250\330\247"),
    BYTES("\"\\\n\x1f"),
    BYTES("12"),
    BYTES("a text that is longer than the others and does not fit in a few words"),
};

static const tr_bytes blobs[] = {BYTES(""), BYTES("\0"), BYTES("\0\0"), BYTES("a"),
                                 BYTES("\377\376")};

tr_value combining_random_value(test_random *random, int is_numeric) {
  test_tuple tuple;
  uint64_t choice = test_random_below(random, 12);
  if (choice == 0) return tr_value_null();
  if (!is_numeric && choice <= 3) {
    return tr_value_text(texts[test_random_below(random, sizeof texts / sizeof *texts)]);
  }
  if (!is_numeric && choice == 4) {
    return tr_value_blob(blobs[test_random_below(random, sizeof blobs / sizeof *blobs)]);
  }
  do {
    test_random_tuple(random, 1, &tuple);
  } while (tuple.values[0].type >= TR_TEXT);
  return tuple.values[0];
}

/* One of a few numbers; some are equal in SQL but of different types. */
static tr_value random_tie(test_random *random) {
  static const double numbers[] = {0, -0.0, 1, 2};
  double number = numbers[test_random_below(random, 4)];
  return test_random_below(random, 2) ? tr_value_real(number) : tr_value_integer((int64_t)number);
}

combining_row *combining_random_rows(test_random *random, const tr_combine_fn *fn, size_t count) {
  combining_row *rows = calloc(count + 1, sizeof *rows);
  if (rows == NULL) abort();
  int has_ties = test_random_below(random, 3) == 0;
  for (size_t i = 0; i < count; i++) {
    for (int a = 0; a < TR_COMBINE_MAX_ARGUMENTS; a++) {
      rows[i].values[a] = has_ties && test_random_below(random, 4) > 0
                              ? random_tie(random)
                              : combining_random_value(random, fn->is_numeric);
    }
  }
  return rows;
}

int combining_bindings(const tr_combine_fn *fn, tr_combine *bindings) {
  static const double constants[] = {0, 1, 3, 10, 0.5};
  int least, most, found = 0;
  tr_combine_argument_counts(fn, 0, &least, &most);
  for (int count = least; count <= most; count++) {
    for (size_t c = 0; c < sizeof constants / sizeof *constants; c++) {
      tr_value arguments[TR_COMBINE_MAX_ARGUMENTS];
      int has_constant = 0;
      for (int a = 0; a < count; a++) {
        arguments[a] = tr_value_real(constants[c]);
        has_constant |= fn->arguments[a].role != TR_ARGUMENT_INPUT;
      }
      if (tr_combine_bind(fn, arguments, count, &bindings[found], NULL) == TR_OK) found++;
      if (!has_constant) break;
    }
  }
  return found;
}

int combining_add(const tr_combine *combine, void *state, const combining_row *row) {
  tr_error err;
  tr_code code = combine->fn->add_input(combine, state, row->values, &err);
  if (code == TR_INVALID_ARGUMENT) return 0;
  must(code, combine->fn->name, &err);
  return 1;
}

/*
** Accumulators for tests: whatever cannot fail in a correct program ends the test if it does.
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

/*
** Accumulators as sketches that other engines read, and back.
**
**   sketch_of(accumulator)               -> BLOB in the binary form of Apache DataSketches
**   accumulator_of(sketch, kind [, n])   -> accumulator of such a BLOB
**
** `kind` is the function whose accumulator is made, followed by the type of the items if the bytes
** do not tell it: 'approx_count_distinct', 'approx_quantile', 'approx_quantiles text',
** 'approx_top_count integer' (combine/sketch.h has them all). `n` is the function's own argument. A
** NULL accumulator or sketch gives NULL.
*/
#include "surfaces.h"

#include <string.h>

#include "base/argument.h"
#include "base/memory.h"
#include "combine/accumulator.h"
#include "combine/sketch.h"

static void sketch_of(sqlite3_context *context, int count, sqlite3_value **from) {
  (void)count;
  if (sqlite3_value_type(from[0]) == SQLITE_NULL) return;
  tr_bytes blob;
  tr_accumulator accumulator = {0};
  tr_buffer sketch = {0};
  tr_error err, reason;
  tr_code code = tr_argument_blob("sketch_of", "accumulator", from[0], &blob, &err);
  if (code == TR_OK &&
      (tr_accumulator_merge(&accumulator, blob, &reason) != TR_OK ||
       tr_sketch_write(&accumulator.combine, accumulator.state, &sketch, &reason) != TR_OK)) {
    tr_value value = tr_value_blob(blob);
    code = tr_argument_refused(&err, "sketch_of", "accumulator", &value, &reason);
  }
  if (code == TR_OK) {
    tr_result_blob(context, &sketch);
  } else {
    tr_result_error(context, NULL, &err);
  }
  tr_buffer_free(&sketch);
  tr_accumulator_free(&accumulator);
}

static tr_code kind_error(tr_bytes name, tr_error *err) {
  tr_value value = tr_value_text(name);
  tr_argument_error(err, "accumulator_of", "kind", &value, "is no kind of sketch; there are ");
  for (size_t i = 0; tr_sketch_kind_name(i) != NULL; i++) {
    tr_error_append(err, "%s'%s'", i > 0 ? ", " : "", tr_sketch_kind_name(i));
  }
  return TR_INVALID_ARGUMENT;
}

/* Checks that there is an n where the kind needs one, and only there. */
static tr_code check_count(const tr_combine_fn *fn, int count, sqlite3_value **from,
                           tr_error *err) {
  int least, most;
  tr_combine_argument_counts(fn, 1, &least, &most);
  if (count <= least) {
    tr_value kind = tr_value_of_sqlite(from[1]);
    return tr_argument_error(err, "accumulator_of", "kind", &kind, "needs a third argument, n");
  }
  if (count - 1 > most) {
    tr_value n = tr_value_of_sqlite(from[2]);
    return tr_argument_error(err, "accumulator_of", "n", &n, "this kind takes none");
  }
  return TR_OK;
}

/* Reads the kind, and binds its function with n, if that is given. */
static tr_code bind_kind(int count, sqlite3_value **from, const tr_sketch_kind **kind,
                         tr_combine *combine, tr_error *err) {
  tr_bytes name;
  tr_code code = tr_argument_text("accumulator_of", "kind", from[1], &name, err);
  if (code != TR_OK) return code;
  *kind = tr_sketch_kind_of(name);
  if (*kind == NULL) return kind_error(name, err);
  const tr_combine_fn *fn = tr_sketch_kind_fn(*kind);
  code = check_count(fn, count, from, err);
  if (code != TR_OK) return code;
  tr_error reason;
  tr_value arguments[] = {tr_value_null(), tr_value_null()};
  if (count > 2) arguments[1] = tr_value_of_sqlite(from[2]);
  code = tr_combine_bind_accumulator(fn, arguments, count - 1, combine, &reason);
  return code == TR_OK ? code
                       : tr_argument_refused(err, "accumulator_of", "n", &arguments[1], &reason);
}

static tr_code write_accumulator(const tr_sketch_kind *kind, const tr_combine *combine,
                                 tr_bytes sketch, tr_buffer *blob, tr_error *err) {
  tr_accumulator accumulator = {.combine = *combine, .state = tr_malloc(combine->fn->state_size)};
  if (accumulator.state == NULL) return tr_error_no_memory(err);
  memset(accumulator.state, 0, combine->fn->state_size);
  tr_code code = tr_sketch_read(kind, combine, sketch, accumulator.state, err);
  if (code != TR_OK) {
    tr_free(accumulator.state);
    return code;
  }
  code = tr_accumulator_write(combine, accumulator.state, blob, err);
  tr_accumulator_free(&accumulator);
  return code;
}

static void accumulator_of(sqlite3_context *context, int count, sqlite3_value **from) {
  if (sqlite3_value_type(from[0]) == SQLITE_NULL) return;
  tr_bytes sketch;
  const tr_sketch_kind *kind;
  tr_combine combine;
  tr_buffer blob = {0};
  tr_error err, reason;
  tr_code code = tr_argument_blob("accumulator_of", "sketch", from[0], &sketch, &err);
  if (code == TR_OK) code = bind_kind(count, from, &kind, &combine, &err);
  if (code == TR_OK && write_accumulator(kind, &combine, sketch, &blob, &reason) != TR_OK) {
    tr_value value = tr_value_blob(sketch);
    code = tr_argument_refused(&err, "accumulator_of", "sketch", &value, &reason);
  }
  if (code == TR_OK) {
    tr_result_blob(context, &blob);
  } else {
    tr_result_error(context, NULL, &err);
  }
  tr_buffer_free(&blob);
}

int tr_register_sketches(tr_host *host) {
  static const tr_function functions[] = {
      {.name = "sketch_of", .argument_count = 1, .flags = TR_PURE, .call = sketch_of},
      {.name = "accumulator_of", .argument_count = 2, .flags = TR_PURE, .call = accumulator_of},
      {.name = "accumulator_of", .argument_count = 3, .flags = TR_PURE, .call = accumulator_of},
  };
  return tr_host_register_functions(host, functions, sizeof functions / sizeof functions[0]);
}

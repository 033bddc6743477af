/*
** Combine functions as SQL: src/combine as aggregates, and accumulators as BLOBs.
**
**   sum(x), top_largest(x, n), ...     the function as an aggregate (SQLite's own are left alone)
**   sum_accumulator(x), ...            the same rows as a BLOB
**   merge_accumulators(blob)           aggregate: BLOBs of one function and shape as one
**   extract_output(blob [, argument])  the output of one
**   describe_accumulator(blob)         what it is, as JSON
**
** The context of an aggregate is a binding and its state. The binding is made at the first row,
** because SQLite passes constant arguments with every row; it is an error if they change. If there
** is no row, the arguments are not known, and the output is that of an empty accumulator.
**
** A function that can exactly take rows back is also a window function. For any other, SQLite
** itself says that it may not be used as one.
*/
#include "surfaces.h"

#include <stdio.h>

#include "combine/accumulator.h"

/* The context that SQLite keeps for a group. It is all zero at first, which means: not bound. */
typedef struct aggregate {
  tr_combine combine; /* fn is NULL until the first row */
  int has_constants;  /* whether there are arguments that must be the same for all rows */
  uint64_t state[];
} aggregate;

/* --- rows ----------------------------------------------------------------------------------- */

static tr_code read_arguments(const tr_combine_fn *fn, int count, sqlite3_value **from,
                              tr_value *arguments, tr_error *err) {
  for (int i = 0; i < count; i++) {
    int is_number = fn->is_numeric && fn->arguments[i].role == TR_ARGUMENT_INPUT;
    arguments[i] = is_number ? tr_number_of_sqlite(from[i]) : tr_value_of_sqlite(from[i]);
    if (tr_value_lacks_bytes(&arguments[i])) return tr_error_no_memory(err);
  }
  return TR_OK;
}

typedef tr_code (*bind_function)(const tr_combine_fn *fn, const tr_value *arguments, int count,
                                 tr_combine *combine, tr_error *err);

/* Binds the arguments of the first row and makes the state. */
static tr_code begin(aggregate *group, const tr_combine_fn *fn, const tr_value *arguments,
                     int count, bind_function bind, tr_error *err) {
  tr_combine combine;
  tr_code code = bind(fn, arguments, count, &combine, err);
  if (code != TR_OK) return code;
  combine.randomness = sqlite3_randomness;
  if (fn->create_accumulator != NULL) {
    code = fn->create_accumulator(&combine, group->state, err);
    if (code != TR_OK) return code;
  }
  group->combine = combine;
  for (int i = 0; i < count; i++) {
    group->has_constants |= fn->arguments[i].role != TR_ARGUMENT_INPUT;
  }
  return TR_OK;
}

static tr_code refuse_change(const tr_combine_fn *fn, int changed, const tr_value *arguments,
                             tr_error *err) {
  return tr_argument_error(err, fn->name, fn->arguments[changed].name, &arguments[changed],
                           "not the same for all rows");
}

static tr_code add_row(aggregate *group, const tr_combine_fn *fn, int count, sqlite3_value **from,
                       bind_function bind, tr_error *err) {
  tr_value arguments[TR_COMBINE_MAX_ARGUMENTS];
  tr_code code = read_arguments(fn, count, from, arguments, err);
  if (code != TR_OK) return code;
  if (group->combine.fn == NULL) {
    code = begin(group, fn, arguments, count, bind, err);
    if (code != TR_OK) return code;
  } else if (group->has_constants) {
    int changed = tr_combine_changed_argument(&group->combine, arguments);
    if (changed >= 0) return refuse_change(fn, changed, arguments, err);
  }
  return fn->add_input(&group->combine, group->state, arguments, err);
}

static void step(sqlite3_context *context, int count, sqlite3_value **from, bind_function bind) {
  const tr_combine_fn *fn = tr_function_data(context);
  tr_error err;
  aggregate *group = sqlite3_aggregate_context(context, (int)(sizeof(aggregate) + fn->state_size));
  if (group == NULL) {
    sqlite3_result_error_nomem(context);
  } else if (add_row(group, fn, count, from, bind, &err) != TR_OK) {
    tr_result_error(context, NULL, &err);
  }
}

static void step_output(sqlite3_context *context, int count, sqlite3_value **from) {
  step(context, count, from, tr_combine_bind);
}

static void step_accumulator(sqlite3_context *context, int count, sqlite3_value **from) {
  step(context, count, from, tr_combine_bind_accumulator);
}

/* Takes back a row that has left the frame of the window. */
static void inverse(sqlite3_context *context, int count, sqlite3_value **from) {
  const tr_combine_fn *fn = tr_function_data(context);
  aggregate *group = sqlite3_aggregate_context(context, 0);
  tr_value arguments[TR_COMBINE_MAX_ARGUMENTS];
  tr_error err;
  if (group == NULL || group->combine.fn == NULL) return;
  tr_code code = read_arguments(fn, count, from, arguments, &err);
  if (code == TR_OK) code = fn->remove_input(&group->combine, group->state, arguments, &err);
  if (code != TR_OK) tr_result_error(context, NULL, &err);
}

/* --- results -------------------------------------------------------------------------------- */

static void give_output(sqlite3_context *context, tr_code code, const tr_combine_output *output,
                        const tr_error *err) {
  if (code != TR_OK) {
    tr_result_error(context, NULL, err);
    return;
  }
  tr_result_value(context, &output->value);
  if (output->is_json) sqlite3_result_subtype(context, TR_JSON_SUBTYPE);
}

/* The group, or NULL if it was never bound: there was no row, or the first one failed. */
static aggregate *group_of(sqlite3_context *context) {
  aggregate *group = sqlite3_aggregate_context(context, 0);
  return group != NULL && group->combine.fn != NULL ? group : NULL;
}

static void value_output(sqlite3_context *context) {
  const tr_combine_fn *fn = tr_function_data(context);
  const aggregate *group = group_of(context);
  tr_combine_output output = {0};
  tr_error err;
  tr_code code =
      group != NULL
          ? fn->extract_output(&group->combine, group->state, &output, &err)
          : tr_accumulator_extract_empty(fn, tr_function_argument_count(context), &output, &err);
  give_output(context, code, &output, &err);
  tr_combine_output_free(&output);
}

static void value_accumulator(sqlite3_context *context) {
  const tr_combine_fn *fn = tr_function_data(context);
  const aggregate *group = group_of(context);
  tr_buffer blob = {0};
  tr_error err;
  tr_code code = group != NULL ? tr_accumulator_write(&group->combine, group->state, &blob, &err)
                               : tr_accumulator_write_empty(fn, tr_function_argument_count(context),
                                                            &blob, &err);
  if (code == TR_OK)
    tr_result_blob(context, &blob);
  else
    tr_result_error(context, NULL, &err);
  tr_buffer_free(&blob);
}

static void free_group(sqlite3_context *context) {
  aggregate *group = group_of(context);
  if (group == NULL) return;
  if (group->combine.fn->free_accumulator != NULL) {
    group->combine.fn->free_accumulator(group->state);
  }
  group->combine.fn = NULL;
}

static void final_output(sqlite3_context *context) {
  value_output(context);
  free_group(context);
}

static void final_accumulator(sqlite3_context *context) {
  value_accumulator(context);
  free_group(context);
}

/* --- accumulators --------------------------------------------------------------------------- */

static void step_merge(sqlite3_context *context, int count, sqlite3_value **from) {
  (void)count;
  tr_accumulator *merged = sqlite3_aggregate_context(context, sizeof *merged);
  if (merged == NULL) {
    sqlite3_result_error_nomem(context);
    return;
  }
  if (sqlite3_value_type(from[0]) == SQLITE_NULL) return;
  tr_bytes blob;
  tr_error err, reason;
  tr_code code = tr_argument_blob("merge_accumulators", "blob", from[0], &blob, &err);
  if (code == TR_OK && tr_accumulator_merge(merged, blob, &reason) != TR_OK) {
    tr_value value = tr_value_blob(blob);
    code = tr_argument_refused(&err, "merge_accumulators", "blob", &value, &reason);
  }
  if (code != TR_OK) tr_result_error(context, NULL, &err);
}

static void final_merge(sqlite3_context *context) {
  tr_accumulator *merged = sqlite3_aggregate_context(context, 0);
  if (merged == NULL || merged->combine.fn == NULL) return;
  tr_buffer blob = {0};
  tr_error err;
  if (tr_accumulator_write(&merged->combine, merged->state, &blob, &err) == TR_OK) {
    tr_result_blob(context, &blob);
  } else {
    tr_result_error(context, NULL, &err);
  }
  tr_buffer_free(&blob);
  tr_accumulator_free(merged);
}

/* Reads the BLOB that a function was given as its first argument. */
static tr_code read_accumulator(const char *function, sqlite3_value *from,
                                tr_accumulator *accumulator, tr_error *err) {
  tr_bytes blob;
  tr_error reason;
  tr_code code = tr_argument_blob(function, "blob", from, &blob, err);
  if (code != TR_OK || tr_accumulator_merge(accumulator, blob, &reason) == TR_OK) return code;
  tr_value value = tr_value_blob(blob);
  return tr_argument_refused(err, function, "blob", &value, &reason);
}

static void extract_output(sqlite3_context *context, int count, sqlite3_value **from) {
  if (sqlite3_value_type(from[0]) == SQLITE_NULL) return;
  tr_accumulator accumulator = {0};
  tr_combine_output output = {0};
  tr_error err;
  tr_value argument = count > 1 ? tr_value_of_sqlite(from[1]) : tr_value_null();
  tr_code code = read_accumulator("extract_output", from[0], &accumulator, &err);
  if (code == TR_OK) {
    code = tr_accumulator_extract(&accumulator, &argument, count - 1, &output, &err);
  }
  give_output(context, code, &output, &err);
  tr_combine_output_free(&output);
  tr_accumulator_free(&accumulator);
}

static void describe_accumulator(sqlite3_context *context, int count, sqlite3_value **from) {
  (void)count;
  if (sqlite3_value_type(from[0]) == SQLITE_NULL) return;
  tr_bytes blob;
  tr_buffer json = {0};
  tr_error err, reason;
  tr_code code = tr_argument_blob("describe_accumulator", "blob", from[0], &blob, &err);
  if (code == TR_OK && tr_accumulator_describe(blob, &json, &reason) != TR_OK) {
    tr_value value = tr_value_blob(blob);
    code = tr_argument_refused(&err, "describe_accumulator", "blob", &value, &reason);
  }
  if (code == TR_OK)
    tr_result_json(context, &json);
  else
    tr_result_error(context, NULL, &err);
  tr_buffer_free(&json);
}

/* --- registering ---------------------------------------------------------------------------- */

/* Each combine function is registered twice: as an aggregate, and for its accumulator. */
static const struct {
  const char *suffix;
  int is_accumulator;
  void (*step)(sqlite3_context *, int, sqlite3_value **);
  void (*final)(sqlite3_context *);
  void (*value)(sqlite3_context *);
} faces[] = {
    {"", 0, step_output, final_output, value_output},
    {"_accumulator", 1, step_accumulator, final_accumulator, value_accumulator},
};

static int register_face(tr_host *host, const tr_combine_fn *fn, size_t face, int count) {
  char name[64];
  snprintf(name, sizeof name, "%s%s", fn->name, faces[face].suffix);
  tr_combine combine = tr_combine_unbound(fn, count);
  int is_random = tr_combine_is_random(&combine), is_window = fn->remove_input != NULL;
  tr_function function = {
      .name = name,
      .argument_count = count,
      .flags = SQLITE_INNOCUOUS | SQLITE_RESULT_SUBTYPE | (is_random ? 0 : SQLITE_DETERMINISTIC),
      .step = faces[face].step,
      .final = faces[face].final,
      .value = is_window ? faces[face].value : NULL,
      .inverse = is_window ? inverse : NULL,
      .data = fn,
  };
  return tr_host_register_functions(host, &function, 1);
}

static int register_function(tr_host *host, const tr_combine_fn *fn) {
  int rc = SQLITE_OK;
  for (size_t face = 0; face < sizeof faces / sizeof faces[0]; face++) {
    if (fn->is_builtin && !faces[face].is_accumulator) continue;
    int least, most;
    tr_combine_argument_counts(fn, faces[face].is_accumulator, &least, &most);
    for (int count = least; count <= most && rc == SQLITE_OK; count++) {
      rc = register_face(host, fn, face, count);
    }
  }
  return rc;
}

int tr_register_combine_functions(tr_host *host) {
  static const tr_function accumulators[] = {
      {.name = "merge_accumulators",
       .argument_count = 1,
       .flags = TR_PURE,
       .step = step_merge,
       .final = final_merge},
      {.name = "extract_output",
       .argument_count = 1,
       .flags = TR_PURE | SQLITE_RESULT_SUBTYPE,
       .call = extract_output},
      {.name = "extract_output",
       .argument_count = 2,
       .flags = TR_PURE | SQLITE_RESULT_SUBTYPE,
       .call = extract_output},
      {.name = "describe_accumulator",
       .argument_count = 1,
       .flags = TR_PURE | SQLITE_RESULT_SUBTYPE,
       .call = describe_accumulator},
  };
  int rc = SQLITE_OK;
  const tr_combine_fn *fn;
  for (int i = 0; (fn = tr_combine_fn_at(i)) != NULL && rc == SQLITE_OK; i++) {
    rc = register_function(host, fn);
  }
  if (rc != SQLITE_OK) return rc;
  return tr_host_register_functions(host, accumulators,
                                    sizeof accumulators / sizeof accumulators[0]);
}

/*
** The table of combine functions, and the binding of their arguments.
*/
#include <stdio.h>

#include "base/argument.h"
#include "combine/functions.h"
#include "combine/held_value.h"

static const tr_combine_fn *const functions[] = {
    &tr_combine_count,
    &tr_combine_sum,
    &tr_combine_min,
    &tr_combine_max,
    &tr_combine_mean,
    &tr_combine_var_pop,
    &tr_combine_var_samp,
    &tr_combine_stddev_pop,
    &tr_combine_stddev_samp,
    &tr_combine_bit_and,
    &tr_combine_bit_or,
    &tr_combine_bit_xor,
    &tr_combine_top_largest,
    &tr_combine_top_smallest,
    &tr_combine_max_by,
    &tr_combine_min_by,
    &tr_combine_latest,
    &tr_combine_any_value,
    &tr_combine_sample,
    &tr_combine_approx_quantiles,
    &tr_combine_approx_quantile,
    &tr_combine_approx_count_distinct,
    &tr_combine_approx_top_count,
    &tr_combine_histogram,
};

#define FUNCTION_COUNT ((int)(sizeof functions / sizeof functions[0]))

const tr_combine_fn *tr_combine_fn_at(int index) {
  return index >= 0 && index < FUNCTION_COUNT ? functions[index] : NULL;
}

const tr_combine_fn *tr_combine_fn_by_name(tr_bytes name) {
  for (int i = 0; i < FUNCTION_COUNT; i++) {
    if (tr_bytes_is_name(name, functions[i]->name)) return functions[i];
  }
  return NULL;
}

const tr_combine_fn *tr_combine_fn_by_tag(uint8_t tag) {
  for (int i = 0; i < FUNCTION_COUNT; i++) {
    if (functions[i]->tag == tag) return functions[i];
  }
  return NULL;
}

void tr_combine_argument_counts(const tr_combine_fn *fn, int for_accumulator, int *least,
                                int *most) {
  *least = *most = 0;
  for (const tr_combine_argument *a = fn->arguments; a->name != NULL; a++) {
    if (for_accumulator && a->role == TR_ARGUMENT_EXTRACT) break;
    *most += 1;
    *least += !a->is_optional;
  }
}

int tr_combine_accumulator_arguments(const tr_combine *combine) {
  int least, most;
  tr_combine_argument_counts(combine->fn, 1, &least, &most);
  return combine->argument_count < most ? combine->argument_count : most;
}

static tr_code check_count(const tr_combine_fn *fn, const char *takes, int count, int least,
                           int most, tr_error *err) {
  if (count >= least && count <= most) return TR_OK;
  char range[32];
  if (least == most)
    snprintf(range, sizeof range, "%d", most);
  else
    snprintf(range, sizeof range, "%d to %d", least, most);
  return tr_error_set(err, TR_INVALID_ARGUMENT, "%s(): %s %s argument%s, not %d", fn->name, takes,
                      range, least == 1 && most == 1 ? "" : "s", count);
}

/* An integral REAL becomes an INTEGER, so that 3 and 3.0 are one shape. */
static tr_value parameter_of(const tr_value *argument) {
  int64_t integer;
  if (argument->type != TR_REAL || !tr_real_is_integer(argument->real, &integer)) return *argument;
  return tr_value_integer(integer);
}

/* Copies the arguments from..from+count-1 that are constant, then checks all parameters. */
static tr_code bind_parameters(tr_combine *combine, const tr_value *arguments, int from, int count,
                               tr_error *err) {
  const tr_combine_fn *fn = combine->fn;
  tr_combine bound = *combine;
  bound.argument_count = from + count;
  for (int i = 0; i < count; i++) {
    const tr_combine_argument *a = &fn->arguments[from + i];
    if (a->role == TR_ARGUMENT_INPUT) continue;
    if (arguments[i].type != TR_INTEGER && arguments[i].type != TR_REAL) {
      return tr_argument_error(err, fn->name, a->name, &arguments[i], "must be a number");
    }
    bound.parameters[from + i] = parameter_of(&arguments[i]);
  }
  if (fn->check_parameters != NULL) {
    tr_code code = fn->check_parameters(&bound, err);
    if (code != TR_OK) return code;
  }
  *combine = bound;
  return TR_OK;
}

static tr_code bind(const tr_combine_fn *fn, int for_accumulator, const tr_value *arguments,
                    int count, tr_combine *combine, tr_error *err) {
  int least, most;
  tr_combine_argument_counts(fn, for_accumulator, &least, &most);
  tr_code code = check_count(fn, "takes", count, least, most, err);
  tr_combine bound = {.fn = fn};
  if (code == TR_OK) code = bind_parameters(&bound, arguments, 0, count, err);
  if (code == TR_OK) *combine = bound;
  return code;
}

tr_code tr_combine_bind(const tr_combine_fn *fn, const tr_value *arguments, int count,
                        tr_combine *combine, tr_error *err) {
  return bind(fn, 0, arguments, count, combine, err);
}

tr_code tr_combine_bind_accumulator(const tr_combine_fn *fn, const tr_value *arguments, int count,
                                    tr_combine *combine, tr_error *err) {
  return bind(fn, 1, arguments, count, combine, err);
}

int tr_combine_changed_argument(const tr_combine *combine, const tr_value *arguments) {
  for (int i = 0; i < combine->argument_count; i++) {
    if (combine->fn->arguments[i].role == TR_ARGUMENT_INPUT) continue;
    const tr_value *parameter = &combine->parameters[i];
    if (parameter->type == TR_INTEGER && arguments[i].type == TR_INTEGER &&
        parameter->integer == arguments[i].integer) {
      continue;
    }
    tr_value now = parameter_of(&arguments[i]);
    if (tr_tuple_compare(parameter, &now, 1) != 0) return i;
  }
  return -1;
}

/*
** Extract arguments come after all others. A function that has any has no optional arguments before
** them.
*/
tr_code tr_combine_bind_extract(tr_combine *combine, const tr_value *arguments, int count,
                                tr_error *err) {
  int least, most, before, unused;
  tr_combine_argument_counts(combine->fn, 0, &least, &most);
  tr_combine_argument_counts(combine->fn, 1, &unused, &before);
  least = least > before ? least - before : 0;
  tr_code code =
      check_count(combine->fn, "to extract its output takes", count, least, most - before, err);
  return code == TR_OK && count > 0 ? bind_parameters(combine, arguments, before, count, err)
                                    : code;
}

tr_combine tr_combine_unbound(const tr_combine_fn *fn, int count) {
  return (tr_combine){.fn = fn, .argument_count = count};
}

int tr_combine_is_bound(const tr_combine *combine) {
  for (int i = 0; i < combine->argument_count; i++) {
    int is_shape = combine->fn->arguments[i].role == TR_ARGUMENT_SHAPE;
    if (is_shape && combine->parameters[i].type == TR_NULL) return 0;
  }
  return 1;
}

int tr_combine_is_random(const tr_combine *combine) {
  return combine->argument_count < combine->fn->random_below;
}

int tr_combine_is_same_shape(const tr_combine *a, const tr_combine *b) {
  int count = tr_combine_accumulator_arguments(a);
  if (a->fn != b->fn || count != tr_combine_accumulator_arguments(b)) return 0;
  for (int i = 0; i < count; i++) {
    if (a->fn->arguments[i].role != TR_ARGUMENT_SHAPE) continue;
    if (tr_tuple_compare(&a->parameters[i], &b->parameters[i], 1) != 0) return 0;
  }
  return 1;
}

tr_code tr_combine_check_integer(const tr_combine *combine, int index, int64_t minimum,
                                 int64_t maximum, tr_error *err) {
  if (index >= combine->argument_count) return TR_OK;
  const tr_value *value = &combine->parameters[index];
  if (value->type == TR_INTEGER && value->integer >= minimum && value->integer <= maximum) {
    return TR_OK;
  }
  char reason[96];
  snprintf(reason, sizeof reason, "must be an integer from %lld to %lld", (long long)minimum,
           (long long)maximum);
  return tr_argument_error(err, combine->fn->name, combine->fn->arguments[index].name, value,
                           reason);
}

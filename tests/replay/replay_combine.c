/*
** Replays combine.jsonl: the reference's combine functions over shards. Here each shard is an
** accumulator of its own, which is written, read and merged.
**
** The model computes again, in the plainest way, what docs/combine_functions.md promises: from a
** sorted list of all values that are not NULL. Sums and means are Python's exact fractions, rounded
** once (combine_exact.jsonl, which vectors/make_exact_sums.py writes). The table of differences
** lists everything that we do differently from the reference, and why.
*/
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "combining.h"
#include "verdict.h"

enum { LINES = 1170, MOST_ROWS = 100000 };

/* What a line is about: the rows as SQLite would have them, and what is notable of them. */
typedef struct line_rows {
  combining_row *rows;
  size_t count, non_null;
  size_t shard_ends[64];
  int shards;
  int has_null, has_nan, has_zeros; /* zeros: of both signs */
  int is_int32, is_real;
  const char *exact; /* the output in combine_exact.jsonl */
} line_rows;

/* --- reading lines -------------------------------------------------------------------------- */

static tr_value value_of(jsonl *file, const char *item, line_rows *line) {
  if (strcmp(item, "null") == 0) {
    line->has_null = 1;
    return tr_value_null();
  }
  const char *string = item[0] == '"' ? jsonl_text(file, item, "$") : "";
  if (strcmp(string, "NaN") == 0) {
    line->has_nan = 1;
    return tr_value_null();
  }
  int is_infinity = strstr(string, "Infinity") != NULL;
  if (item[0] == '"' && !is_infinity) return tr_value_text(tr_bytes_of_text(string));
  if (is_infinity || line->is_real) return tr_value_real(jsonl_double(file, item, "$"));
  return tr_value_integer(jsonl_integer(file, item, "$"));
}

static void read_row(jsonl *file, const char *function, const char *item, line_rows *line) {
  combining_row *row = &line->rows[line->count++];
  if (strcmp(function, "latest") == 0) {
    const char **pair = jsonl_items(file, item, "$");
    row->values[0] = value_of(file, pair[0], line);
    row->values[1] = value_of(file, pair[1], line);
  } else {
    row->values[0] = value_of(file, item, line);
  }
  if (strcmp(function, "top_by_rank_string") == 0) {
    row->values[1] = tr_value_integer(atoll((const char *)row->values[0].bytes.data));
  }
  if (strncmp(function, "sample", 6) == 0) {
    row->values[2] = tr_value_integer((int64_t)line->count);
  }
  line->non_null += row->values[0].type != TR_NULL;
}

static void note_zeros(line_rows *line) {
  int signs = 0;
  for (size_t i = 0; i < line->count; i++) {
    const tr_value *x = &line->rows[i].values[0];
    if (x->type == TR_REAL && x->real == 0) signs |= signbit(x->real) ? 1 : 2;
  }
  line->has_zeros = signs == 3;
}

static void read_shards(jsonl *file, const char *json, const char *function, line_rows *line) {
  for (const char **shard = jsonl_items(file, json, "shards"); *shard != NULL; shard++) {
    for (const char **item = jsonl_items(file, *shard, "$"); *item != NULL; item++) {
      read_row(file, function, *item, line);
    }
    line->shard_ends[line->shards++] = line->count;
  }
  note_zeros(line);
}

/* Values of the generator that the vectors' README describes: one draw each, modulo `mod`. */
static void generate(jsonl *file, const char *json, line_rows *line) {
  uint64_t s = (uint64_t)jsonl_integer(file, json, "$.generator.seed");
  int64_t n = jsonl_integer(file, json, "$.generator.n");
  int64_t mod = jsonl_integer(file, json, "$.generator.mod");
  for (int64_t i = 0; i < n; i++) {
    s = s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    line->rows[line->count++].values[0] = tr_value_integer((int64_t)(s >> 33) % mod);
  }
  line->shard_ends[line->shards++] = line->count;
}

/* --- texts of answers ----------------------------------------------------------------------- */

static void put_value(text to, const tr_value *value) {
  char *shown = combining_text(value, 0);
  put(to, shown);
  free(shown);
}

static void append(text to, const char *more) {
  size_t size = strlen(to);
  snprintf(to + size, TEXT_SIZE - size, "%s", more);
}

/* A recorded or our own JSON value: numbers by value, not by digits. */
static void append_json(jsonl *file, const char *json, int is_real, text to) {
  line_rows unused = {.is_real = is_real};
  text item;
  if (json[0] != '[') {
    tr_value value = value_of(file, json, &unused);
    if (unused.has_nan)
      put(item, "NaN");
    else
      put_value(item, &value);
    append(to, item);
    return;
  }
  append(to, "[");
  for (const char **at = jsonl_items(file, json, "$"); *at != NULL; at++) {
    append(to, " ");
    append_json(file, *at, is_real, to);
  }
  append(to, " ]");
}

static size_t array_size(jsonl *file, const char *json) {
  size_t size = 0;
  for (const char **at = jsonl_items(file, json, "$"); *at != NULL; at++) size++;
  return size;
}

/* --- ours ----------------------------------------------------------------------------------- */

/* All shards, each written and read, merged in their order. */
static void *accumulate(const tr_combine *combine, const line_rows *line) {
  void *all = combining_create(combine);
  size_t row = 0;
  for (int s = 0; s < line->shards; s++) {
    tr_combine read;
    tr_error err;
    void *shard = combining_create(combine);
    for (; row < line->shard_ends[s]; row++) combining_add(combine, shard, &line->rows[row]);
    tr_buffer blob = combining_write(combine, shard);
    void *copy = combining_read(tr_buffer_bytes(&blob), &read);
    if (combine->fn->merge_accumulators(combine, all, copy, &err) != TR_OK) abort();
    tr_buffer_free(&blob);
    combining_free(combine, shard);
    combining_free(combine, copy);
  }
  return all;
}

/* Binds n as argument `at` and gives the output, or the error. */
static void answer(jsonl *file, const char *name, int64_t n, int count, const line_rows *line,
                   text ours) {
  tr_value arguments[3] = {tr_value_null(), tr_value_integer(n), tr_value_integer(n)};
  tr_combine combine;
  tr_error err;
  tr_combine_output output = {0};
  if (tr_combine_bind(combining_function(name), arguments, count, &combine, &err) != TR_OK) {
    put(ours, err.message);
    return;
  }
  void *state = accumulate(&combine, line);
  if (combine.fn->extract_output(&combine, state, &output, &err) != TR_OK) {
    put(ours, err.message);
  } else if (output.is_json) {
    text json;
    put_bytes(json, output.value.bytes);
    ours[0] = '\0';
    append_json(file, json, line->is_real, ours);
  } else {
    put_value(ours, &output.value);
  }
  tr_combine_output_free(&output);
  combining_free(&combine, state);
}

/* --- the model ------------------------------------------------------------------------------ */

/* Numbers by value, -0.0 below 0.0; text byte by byte; NULL lowest. */
static int plain_compare(const tr_value *a, const tr_value *b) {
  if (a->type == TR_NULL || b->type == TR_NULL) return (b->type == TR_NULL) - (a->type == TR_NULL);
  if (a->type == TR_TEXT) {
    return strcmp((const char *)a->bytes.data, (const char *)b->bytes.data);
  }
  if (a->type == TR_INTEGER) return (a->integer > b->integer) - (a->integer < b->integer);
  if (a->real != b->real) return a->real > b->real ? 1 : -1;
  return (signbit(a->real) == 0) - (signbit(b->real) == 0);
}

static int by_first(const void *a, const void *b) {
  return plain_compare(&((const combining_row *)a)->values[0],
                       &((const combining_row *)b)->values[0]);
}

static int by_second_then_first(const void *a, const void *b) {
  int order =
      plain_compare(&((const combining_row *)a)->values[1], &((const combining_row *)b)->values[1]);
  return order != 0 ? order : by_first(a, b);
}

/* A sorted copy; NULLs of the first column, if they are to be ignored, are left out. */
static combining_row *sorted(const line_rows *line, int keeps_null,
                             int (*order)(const void *, const void *), size_t *count) {
  combining_row *copy = calloc(line->count + 1, sizeof *copy);
  if (copy == NULL) abort();
  *count = 0;
  for (size_t i = 0; i < line->count; i++) {
    if (keeps_null || line->rows[i].values[0].type != TR_NULL) copy[(*count)++] = line->rows[i];
  }
  qsort(copy, *count, sizeof *copy, order);
  return copy;
}

/* The first n values from the end that is greatest (or least). */
static void put_top(const line_rows *line, int64_t n, int greatest,
                    int (*order)(const void *, const void *), text to) {
  size_t count;
  combining_row *rows = sorted(line, 0, order, &count);
  put(to, "[");
  for (size_t i = 0; i < count && (int64_t)i < n; i++) {
    text item;
    put_value(item, &rows[greatest ? count - 1 - i : i].values[0]);
    append(to, " ");
    append(to, item);
  }
  append(to, " ]");
  free(rows);
}

static void put_extremum(const line_rows *line, int greatest, int keeps_null,
                         int (*order)(const void *, const void *), text to) {
  size_t count;
  combining_row *rows = sorted(line, keeps_null, order, &count);
  const tr_value null = tr_value_null();
  put_value(to, count == 0 ? &null : &rows[greatest ? count - 1 : 0].values[0]);
  free(rows);
}

/*
** The exact sum or mean: a number, null, or the digits of an integer that needs more than 64 bits.
*/
static void put_exact(jsonl *file, const line_rows *line, int is_mean, text to) {
  to[0] = '\0';
  if (line->exact[0] == '"' && strstr(line->exact, "Infinity") == NULL) {
    snprintf(to, TEXT_SIZE, "integer overflow: sum() is %s", jsonl_text(file, line->exact, "$"));
  } else {
    append_json(file, line->exact, line->is_real || is_mean, to);
  }
}

static void put_refused_n(const char *name, int64_t n, text to) {
  snprintf(to, TEXT_SIZE, "%s(): argument n = %lld: must be an integer from 0 to 2147483647", name,
           (long long)n);
}

/* --- one line ------------------------------------------------------------------------------- */

static void judge_top(jsonl *file, const char *function, int64_t n, line_rows *line, step *s) {
  int greatest = strncmp(function, "top_largest", 11) == 0;
  const char *name = greatest ? "top_largest" : "top_smallest";
  s->op = "top";
  answer(file, name, n, 2, line, s->ours);
  if (n < 0)
    put_refused_n(name, n, s->documented);
  else
    put_top(line, n, greatest, by_first, s->documented);
}

static void judge_sample(jsonl *file, const char *json, const char *function, line_rows *line,
                         step *s) {
  int is_any = strcmp(function, "sample_any") == 0;
  int64_t n = jsonl_integer(file, json, is_any ? "$.params.limit" : "$.params.n");
  size_t size = line->non_null < (uint64_t)n ? line->non_null : (size_t)n;
  s->op = function;
  tr_value arguments[3] = {tr_value_null(), tr_value_integer(n), tr_value_null()};
  tr_combine combine;
  tr_error err;
  if (tr_combine_bind(combining_function("sample"), arguments, 3, &combine, &err) != TR_OK) {
    put(s->ours, err.message);
    put_refused_n("sample", n, s->documented);
    return;
  }
  void *state = accumulate(&combine, line);
  char *output = combining_output(&combine, state);
  snprintf(s->ours, TEXT_SIZE, "%zu values", array_size(file, strchr(output, '[')));
  snprintf(s->documented, TEXT_SIZE, "%zu values", size);
  if (jsonl_has(file, json, "out")) {
    snprintf(s->recorded, TEXT_SIZE, "%zu values", array_size(file, jsonl_json(file, json, "out")));
  } else if (jsonl_has(file, json, "out_size")) {
    snprintf(s->recorded, TEXT_SIZE, "%lld values",
             (long long)jsonl_integer(file, json, "out_size"));
  }
  free(output);
  combining_free(&combine, state);
}

/* Our sketch is another one, and exact for so few: it must be within 5 %, and exact up to 100. */
static void judge_distinct(jsonl *file, const char *json, line_rows *line, step *s) {
  generate(file, json, line);
  int64_t distinct = jsonl_integer(file, json, "distinct");
  tr_value none[1] = {tr_value_null()};
  tr_combine combine = combining_bind("approx_count_distinct", none, 1);
  void *state = accumulate(&combine, line);
  char *output = combining_output(&combine, state);
  int64_t estimate = strtoll(strchr(output, ' '), NULL, 10);
  int64_t margin = distinct <= 100 ? 0 : distinct / 20;
  int64_t shown = llabs(estimate - distinct) <= margin ? distinct : estimate;
  snprintf(s->ours, TEXT_SIZE, "INTEGER %lld", (long long)shown);
  snprintf(s->documented, TEXT_SIZE, "INTEGER %lld", (long long)distinct);
  free(output);
  combining_free(&combine, state);
}

static void judge_hash(jsonl *file, const char *json, step *s) {
  tr_hash128 hash = tr_hash128_of(jsonl_hex(file, json, "encoded"), 0);
  snprintf(s->ours, TEXT_SIZE, "%lld", (long long)(int64_t)hash.low);
  put(s->documented, s->ours);
  put(s->recorded, jsonl_text(file, json, "hash"));
}

static void judge_parameter(step *s) {
  tr_value arguments[2] = {tr_value_null(), tr_value_integer(16)};
  tr_combine combine;
  tr_error err = {0};
  tr_combine_bind(combining_function("approx_count_distinct"), arguments, 2, &combine, &err);
  put(s->ours, err.message);
  put(s->documented, "approx_count_distinct(): takes 1 argument, not 2");
}

/* Functions of numbers that are a name and a type: sum_int, min_natural_double, ... */
static void judge_plain(jsonl *file, const char *function, line_rows *line, step *s) {
  if (strncmp(function, "sum", 3) == 0 || strncmp(function, "mean", 4) == 0) {
    int is_mean = function[0] == 'm';
    s->op = is_mean ? "mean" : "sum";
    put_exact(file, line, is_mean, s->documented);
  } else if (strncmp(function, "count", 5) == 0) {
    s->op = "count";
    snprintf(s->documented, TEXT_SIZE, "INTEGER %zu", line->non_null);
  } else {
    s->op = strncmp(function, "min", 3) == 0 ? "min" : "max";
    put_extremum(line, strcmp(s->op, "max") == 0, 0, by_first, s->documented);
  }
  answer(file, s->op, 0, 1, line, s->ours);
}

static void put_recorded(jsonl *file, const char *json, const char *function, int is_real,
                         text to) {
  to[0] = '\0';
  if (jsonl_has(file, json, "err")) {
    put_error(to, jsonl_text(file, json, "err"),
              jsonl_has(file, json, "msg") ? jsonl_text(file, json, "msg") : NULL);
  } else if (jsonl_has(file, json, "out")) {
    int is_mean = strncmp(function, "mean", 4) == 0;
    append_json(file, jsonl_json(file, json, "out"), is_real || is_mean, to);
  } else {
    put(to, "accepted");
  }
}

static void judge(jsonl *file, const char *json, const char *function, line_rows *line, step *s) {
  int is_unique = strncmp(function, "approximate_unique", 18) == 0;
  if (!is_unique && jsonl_has(file, json, "shards")) read_shards(file, json, function, line);
  put_recorded(file, json, function, line->is_real, s->recorded);
  s->op = function;
  if (strcmp(function, "approximate_unique") == 0) {
    judge_distinct(file, json, line, s);
  } else if (strcmp(function, "approximate_unique_hash") == 0) {
    judge_hash(file, json, s);
  } else if (strcmp(function, "approximate_unique_new") == 0) {
    judge_parameter(s);
  } else if (strcmp(function, "top_by_rank_string") == 0) {
    int64_t n = jsonl_integer(file, json, "$.params.n");
    answer(file, "max_by", n, 3, line, s->ours);
    put_top(line, n, 1, by_second_then_first, s->documented);
  } else if (strncmp(function, "top_", 4) == 0) {
    judge_top(file, function, jsonl_integer(file, json, "$.params.n"), line, s);
  } else if (strncmp(function, "sample", 6) == 0) {
    judge_sample(file, json, function, line, s);
  } else if (strcmp(function, "latest") == 0) {
    answer(file, "latest", 0, 2, line, s->ours);
    put_extremum(line, 1, 1, by_second_then_first, s->documented);
  } else {
    judge_plain(file, function, line, s);
  }
}

/* --- differences ---------------------------------------------------------------------------- */

static const line_rows *rows_of(const step *s) {
  return s->before;
}

static int has_null(const step *s) {
  return rows_of(s)->has_null;
}

static int has_nan(const step *s) {
  return rows_of(s)->has_nan && !rows_of(s)->has_null;
}

static int is_empty(const step *s) {
  return rows_of(s)->count == 0;
}

static int is_overflow(const step *s) {
  return strncmp(s->documented, "integer overflow", 16) == 0 && !has_null(s);
}

static int is_wrapped(const step *s) {
  return rows_of(s)->is_int32 && !is_empty(s) && !has_null(s);
}

static int is_nan_of_infinities(const step *s) {
  return strcmp(s->recorded, "NaN") == 0 && !has_nan(s) && !is_empty(s);
}

static int is_rounding(const step *s) {
  return !has_null(s) && !has_nan(s) && !is_empty(s) && strncmp(s->documented, "REAL", 4) == 0 &&
         strncmp(s->recorded, "REAL", 4) == 0;
}

static int is_rounding_to_infinity(const step *s) {
  return is_rounding(s) && isinf(strtod(s->recorded + 5, NULL)) &&
         !isinf(strtod(s->documented + 5, NULL));
}

static int has_zeros(const step *s) {
  return rows_of(s)->has_zeros && !has_null(s) && !has_nan(s);
}

static int is_error(const step *s) {
  return strstr(s->recorded, "IllegalArgumentException") != NULL;
}

static const char *digits_before(const char *start, const char *end) {
  while (end > start && end[-1] >= '0' && end[-1] <= '9') end--;
  return end;
}

/* The same ranks in the same order: only which of equal ones differs. */
static int has_same_ranks(const step *s) {
  const char *theirs = s->recorded, *ours = s->documented;
  for (;;) {
    const char *their_end = strchr(theirs, ':'), *our_end = strchr(ours, ':');
    if (their_end == NULL || our_end == NULL) return their_end == our_end;
    long their_rank = strtol(digits_before(theirs, their_end), NULL, 10);
    long our_rank = strtol(digits_before(ours, our_end), NULL, 10);
    if (their_rank != our_rank) return 0;
    theirs = their_end + 1;
    ours = our_end + 1;
  }
}

static int is_estimate(const step *s) {
  return rows_of(s)->count >= 16;
}

static int always(const step *s) {
  (void)s;
  return 1;
}

#define EVERY "2.20 2.30"
#define NULLS "NULLs are ignored, as by SQLite's own aggregates; there an exception, or counted"
#define NANS "NaN cannot occur: SQLite stores it as NULL, which is ignored"
#define EMPTY "NULL over no rows, as SQLite's own aggregates; there 0, NaN or the identity"
#define TYPED_ERROR "a refused argument is named with its function and its value"

static const difference differences[] = {
    {OURS, EVERY, "sum", has_null, 0, NULLS},
    {OURS, EVERY, "mean", has_null, 0, NULLS},
    {OURS, EVERY, "min", has_null, 0, NULLS},
    {OURS, EVERY, "max", has_null, 0, NULLS},
    {OURS, EVERY, "count", has_null, 0, NULLS},
    {OURS, EVERY, "sum", has_nan, 0, NANS},
    {OURS, EVERY, "mean", has_nan, 0, NANS},
    {OURS, EVERY, "min", has_nan, 0, NANS},
    {OURS, EVERY, "max", has_nan, 0, NANS},
    {OURS, "2.20", "top", is_error, 0, TYPED_ERROR},
    {OURS, "2.20", "top", has_null, 0, NULLS},
    {OURS, "2.20", "top", has_nan, 0, NANS},
    {OURS, EVERY, "sum", is_empty, 0, EMPTY},
    {OURS, EVERY, "mean", is_empty, 0, EMPTY},
    {OURS, EVERY, "min", is_empty, 0, EMPTY},
    {OURS, EVERY, "max", is_empty, 0, EMPTY},
    {OURS, EVERY, "sum", is_overflow, 0, "an integer that needs more than 64 bits is an error"},
    {OURS, EVERY, "sum", is_wrapped, 0, "integers have 64 bits; there sum_int wraps at 32"},
    {OURS, EVERY, "sum", is_nan_of_infinities, 0, "infinities of both signs give NULL"},
    {OURS, EVERY, "mean", is_nan_of_infinities, 0, "infinities of both signs give NULL"},
    {OURS, EVERY, "sum", is_rounding_to_infinity, 0,
     "only the whole sum can be beyond all doubles"},
    {OURS, EVERY, "sum", is_rounding, 0, "the exact sum is rounded once; there every addition"},
    {OURS, EVERY, "mean", is_rounding, 0, "the exact mean is rounded once; there every addition"},
    {OURS, EVERY, "min", has_zeros, 0, "-0.0 comes before 0.0; there the first one stays"},
    {OURS, EVERY, "max", has_zeros, 0, "-0.0 comes before 0.0; there the first one stays"},
    {OURS, "2.20", "top_by_rank_string", has_same_ranks, 0,
     "of equal ranks the greatest value comes first; there the heap decides"},
    {OURS, "2.20", "sample_any", has_null, 0, NULLS},
    {OURS, "2.20", "sample_fixed_size", is_error, 0, TYPED_ERROR},
    {OURS, "2.20", "approximate_unique", is_estimate, 0,
     "estimates are each algorithm's own; ours must be within 5 %"},
    {OURS, "2.20", "approximate_unique_new", always, 0,
     "approx_count_distinct has no sample size to choose"},
};

/* --- the replay ----------------------------------------------------------------------------- */

static int ends_in(const char *name, const char *end) {
  size_t size = strlen(name), end_size = strlen(end);
  return size >= end_size && strcmp(name + size - end_size, end) == 0;
}

/*
** The exact result of this line, if it has one: the lines of the other file are in the same order.
*/
static const char *next_exact(jsonl *exact, const char *function) {
  if (strncmp(function, "sum", 3) != 0 && strncmp(function, "mean", 4) != 0) return NULL;
  const char *line = jsonl_next(exact);
  return line == NULL ? NULL : jsonl_json(exact, line, "out");
}

int main(void) {
  jsonl *file = jsonl_open("tests/vectors/combine.jsonl");
  jsonl *exact = jsonl_open("tests/vectors/combine_exact.jsonl");
  verdict v = {.name = "combine",
               .differences = differences,
               .count = sizeof differences / sizeof *differences};
  combining_row *rows = malloc(MOST_ROWS * sizeof *rows);
  if (rows == NULL) abort();
  for (const char *json; (json = jsonl_next(file)) != NULL;) {
    const char *function = jsonl_text(file, json, "fn");
    line_rows line = {.rows = rows,
                      .is_int32 = ends_in(function, "_int"),
                      .is_real = ends_in(function, "_double"),
                      .exact = next_exact(exact, function)};
    step s = {.version = jsonl_text(file, json, "ver"), .argument = function, .before = &line};
    verdict_line(&v);
    judge(file, json, function, &line, &s);
    verdict_step(&v, file, &s);
  }
  free(rows);
  jsonl_close(file);
  jsonl_close(exact);
  return verdict_report(&v, LINES);
}

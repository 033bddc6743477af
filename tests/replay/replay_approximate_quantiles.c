/*
** Replays tests/vectors/approximate_quantiles.jsonl against approx_quantiles.
**
** The reference sketches differently, so each line is checked in one of these ways. The number of
** lines of each way is printed:
**   exact     our sketch is exact and the reference dropped nothing either: all values are equal
**   picks     ours is exact, the reference's is not: ours are the picks from the sorted values
**   bound     neither is exact: minimum and maximum are, and ranks are within count/n
**   refused   both refuse the number of quantiles
**   own       the reference refuses a parameter that ours does not have: ours are the exact picks
**   size      parameters that only the reference has: ours takes that n with an error within its
**             epsilon, or refuses it
*/
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "combine/approx_quantiles.h"
#include "combine/functions.h"
#include "jsonl.h"

enum { EXACT, PICKS, BOUND, REFUSED, OWN, SIZE, WAYS };
static const char *const way_names[WAYS] = {"exact", "picks", "bound", "refused", "own", "size"};

#define MOST_SHARDS 64

typedef struct replay {
  jsonl *file;
  const char *line;
  long checked[WAYS], wrong;
} replay;

/* The values of a line, and what comes after them. */
typedef struct generator {
  const char *kind;
  uint64_t seed;
  int64_t count, mod;
} generator;

static void expect(replay *r, int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "line %ld: %s: %.200s\n", jsonl_line_number(r->file), what, r->line);
  r->wrong++;
}

static void must(tr_code code) {
  if (code != TR_OK) abort();
}

static int64_t generate(generator *g, int64_t i) {
  if (strcmp(g->kind, "sorted") == 0) return i;
  if (strcmp(g->kind, "reversed") == 0) return g->count - 1 - i;
  if (strcmp(g->kind, "constant") == 0) return 42;
  if (strcmp(g->kind, "organ_pipe") == 0) return i < g->count - 1 - i ? i : g->count - 1 - i;
  if (strcmp(g->kind, "two_values") == 0) return i % 10 == 0;
  if (strcmp(g->kind, "lcg_mod") != 0) abort();
  g->seed = g->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int64_t)(g->seed >> 33) % g->mod;
}

static tr_combine bind(int64_t n) {
  tr_combine combine = {.fn = &tr_combine_approx_quantiles, .argument_count = 2};
  combine.parameters[0] = tr_value_null();
  combine.parameters[1] = tr_value_integer(n);
  return combine;
}

static void create(const tr_combine *combine, tr_quantiles *state) {
  memset(state, 0, sizeof *state);
  must(combine->fn->create_accumulator(combine, state, NULL));
}

static void add(const tr_combine *combine, tr_quantiles *state, int64_t x) {
  tr_value value = tr_value_integer(x);
  must(combine->fn->add_input(combine, state, &value, NULL));
}

static void merge(const tr_combine *combine, tr_quantiles *state, tr_quantiles *other) {
  must(combine->fn->merge_accumulators(combine, state, other, NULL));
  combine->fn->free_accumulator(other);
}

static void round_trip(const tr_combine *combine, tr_quantiles *state) {
  tr_buffer bytes = {0};
  must(combine->fn->write_accumulator(combine, state, &bytes, NULL));
  combine->fn->free_accumulator(state);
  memset(state, 0, sizeof *state);
  must(combine->fn->read_accumulator(combine, state, tr_buffer_bytes(&bytes), NULL));
  tr_buffer_free(&bytes);
}

/* Merges as the line says into shards[0]. */
static void merge_shards(const tr_combine *combine, const char *how, tr_quantiles *shards,
                         int64_t count) {
  if (strcmp(how, "tree") == 0) {
    for (; count > 1; count = (count + 1) / 2) {
      for (int64_t i = 0; i < count / 2; i++) {
        merge(combine, &shards[2 * i], &shards[2 * i + 1]);
        shards[i] = shards[2 * i];
      }
      if (count % 2 == 1) shards[count / 2] = shards[count - 1];
    }
  } else {
    for (int64_t i = 1; i < count; i++) merge(combine, &shards[0], &shards[i]);
  }
}

static int compare_integers(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Position (from 0) of the value that quantile j of n has among `count` sorted ones. */
static int64_t position_of(int64_t j, int64_t n, int64_t count) {
  if (j == 0) return 0;
  if (j == n - 1) return count - 1;
  double target =
      (double)(j - 1) * ((double)count / (double)(n - 1)) + (double)(count - 1) / (double)(n - 1);
  int64_t position = (int64_t)floor(target);
  return position < count ? position : count - 1;
}

/* How far a value's ranks are from `position`. */
static int64_t distance(const int64_t *sorted, int64_t count, int64_t value, int64_t position) {
  int64_t below = 0, not_above = 0;
  for (int64_t low = 0, high = count; low < high;) {
    int64_t middle = (low + high) / 2;
    if (sorted[middle] < value)
      low = middle + 1;
    else
      high = middle;
    below = low;
  }
  for (int64_t low = below, high = count; low < high;) {
    int64_t middle = (low + high) / 2;
    if (sorted[middle] <= value)
      low = middle + 1;
    else
      high = middle;
    not_above = low;
  }
  if (not_above <= below) return count; /* not one of the values */
  if (position < below) return below - position;
  return position >= not_above ? position - not_above + 1 : 0;
}

/* The output against the sorted values, and against the recorded one where that is exact too. */
static int check_output(replay *r, const tr_combine *combine, const char *json,
                        const int64_t *sorted, int64_t count) {
  int64_t n = combine->parameters[1].integer;
  const char **items = jsonl_items(r->file, json, "$");
  int64_t found = 0;
  while (items[found] != NULL) found++;
  expect(r, found == (count == 0 ? 0 : n), "another number of quantiles");
  if (found != n) return EXACT;
  int is_exact = count <= tr_quantiles_k(combine);
  for (int64_t j = 0; j < n; j++) {
    int64_t value = strtoll(items[j], NULL, 10), position = position_of(j, n, count);
    if (is_exact || j == 0 || j == n - 1) {
      expect(r, value == sorted[position], "another value");
    } else {
      int64_t off = distance(sorted, count, value, position);
      expect(r, (double)off <= (double)count / (double)n, "a rank out of its bound");
    }
  }
  if (!is_exact) return BOUND;
  if (!jsonl_has(r->file, r->line, "out")) return OWN;
  int64_t buffers = 0, size = 0;
  if (jsonl_has(r->file, r->line, "num_buffers")) {
    buffers = jsonl_integer(r->file, r->line, "num_buffers");
    size = jsonl_integer(r->file, r->line, "buffer_size");
  }
  if (count >= (buffers + 1) * size) return PICKS;
  const char **recorded = jsonl_items(r->file, r->line, "out");
  for (int64_t j = 0; j < n; j++) {
    expect(r, recorded[j] != NULL && strtoll(recorded[j], NULL, 10) == strtoll(items[j], NULL, 10),
           "a value unlike the recorded one");
  }
  return EXACT;
}

static int replay_values(replay *r, const tr_combine *combine) {
  tr_quantiles shards[MOST_SHARDS];
  int64_t *values = NULL, count = 0, shard_count = 1, more = 0;
  const char *how = "none";
  generator g = {0};
  if (jsonl_has(r->file, r->line, "values")) {
    const char **items = jsonl_items(r->file, r->line, "values");
    while (items[count] != NULL) count++;
    values = malloc((size_t)(count + 1) * sizeof *values);
    for (int64_t i = 0; i < count; i++) values[i] = strtoll(items[i], NULL, 10);
  } else {
    how = jsonl_text(r->file, r->line, "merge");
    shard_count = jsonl_integer(r->file, r->line, "k");
    g.kind = jsonl_text(r->file, r->line, "$.generator.kind");
    g.count = jsonl_integer(r->file, r->line, "$.generator.n");
    if (strcmp(g.kind, "lcg_mod") == 0) {
      g.seed = (uint64_t)jsonl_integer(r->file, r->line, "$.generator.seed");
      g.mod = jsonl_integer(r->file, r->line, "$.generator.mod");
    }
    more = strcmp(how, "all_then_add") == 0 ? g.count / 2 : 0;
    count = g.count;
    values = malloc((size_t)(count + more + 1) * sizeof *values);
    for (int64_t i = 0; i < count; i++) values[i] = generate(&g, i);
  }
  if (values == NULL || shard_count > MOST_SHARDS) abort();
  for (int64_t i = 0; i < shard_count; i++) create(combine, &shards[i]);
  for (int64_t i = 0; i < count; i++) add(combine, &shards[i % shard_count], values[i]);
  if (jsonl_has(r->file, r->line, "coder_round_trip")) {
    for (int64_t i = 0; i < shard_count; i++) round_trip(combine, &shards[i]);
  }
  merge_shards(combine, how, shards, shard_count);
  for (int64_t i = 0; i < more; i++) {
    values[count + i] = generate(&g, i);
    add(combine, &shards[0], values[count + i]);
  }
  count += more;
  qsort(values, (size_t)count, sizeof *values, compare_integers);
  tr_combine_output output = {0};
  must(combine->fn->extract_output(combine, &shards[0], &output, NULL));
  must(tr_buffer_append_byte(&output.storage, 0, NULL));
  int way = check_output(r, combine, (const char *)output.storage.data, values, count);
  tr_buffer_free(&output.storage);
  combine->fn->free_accumulator(&shards[0]);
  free(values);
  return way;
}

static int replay_parameters(replay *r, const tr_combine *combine, int64_t n) {
  double epsilon = jsonl_double(r->file, r->line, "epsilon");
  tr_error err;
  if (combine->fn->check_parameters(combine, &err) != TR_OK) {
    expect(r, n > TR_QUANTILES_MAX, "a number of quantiles refused");
  } else if (epsilon == 1.0 / (double)n) {
    expect(r, tr_kll_rank_error(tr_quantiles_k(combine)) <= epsilon, "too small a sketch");
  }
  return SIZE;
}

int main(void) {
  replay r = {.file = jsonl_open("tests/vectors/approximate_quantiles.jsonl")};
  while ((r.line = jsonl_next(r.file)) != NULL) {
    int64_t n = jsonl_integer(r.file, r.line, "num_quantiles");
    tr_combine combine = bind(n);
    tr_error err;
    int way;
    if (jsonl_has(r.file, r.line, "op")) {
      way = replay_parameters(&r, &combine, n);
    } else if (n < 2) {
      expect(&r, combine.fn->check_parameters(&combine, &err) == TR_INVALID_ARGUMENT,
             "not refused");
      expect(&r, jsonl_has(r.file, r.line, "err"), "the reference takes it");
      way = REFUSED;
    } else {
      way = replay_values(&r, &combine);
    }
    r.checked[way]++;
  }
  long lines = 0;
  printf("approximate_quantiles:");
  for (int way = 0; way < WAYS; way++) {
    printf(" %ld %s,", r.checked[way], way_names[way]);
    lines += r.checked[way];
  }
  printf(" %ld lines checked, %ld wrong\n", lines, r.wrong);
  jsonl_close(r.file);
  return r.wrong == 0 && lines > 0 ? 0 : 1;
}

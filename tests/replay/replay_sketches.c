/*
** Reads every sketch of tests/vectors/sketches.jsonl, made by other implementations, and checks
** what the file says of it: counts, estimates, extremes, ranks, bounds. Then
** - it is merged with one of ours of the same values, if those can be made again;
** - it is written by us and read again;
** - every prefix of it is an error, and no flipped bit does harm.
*/
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "combine/frequent_items.h"
#include "combine/hll.h"
#include "combine/kll.h"
#include "jsonl.h"
#include "test_memory.h"

#define FOLDER "tests/vectors/sketches/"

typedef struct replay {
  jsonl *file;
  const char *line;
  const char *name;
  tr_buffer image; /* the sketch as its maker wrote it */
  long sketches, prefixes, flips, flips_refused, wrong;
} replay;

static void expect(replay *r, int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", r->name, what);
  r->wrong++;
}

static void must(tr_code code) {
  if (code != TR_OK) abort();
}

static void load_image(replay *r) {
  char path[512];
  uint8_t bytes[4096];
  size_t count;
  snprintf(path, sizeof path, FOLDER "%s", r->name);
  FILE *stream = fopen(path, "rb");
  if (stream == NULL) {
    fprintf(stderr, "%s cannot be read\n", path);
    exit(1);
  }
  r->image.size = 0;
  while ((count = fread(bytes, 1, sizeof bytes, stream)) > 0) {
    must(tr_buffer_append(&r->image, (tr_bytes){bytes, count}, NULL));
  }
  fclose(stream);
}

/* --- HLL ---------------------------------------------------------------------------------- */

static void add_value(tr_hll *hll, const char *values, int64_t i) {
  char text[32];
  tr_value value = tr_value_integer(i);
  if (strcmp(values, "texts") == 0) {
    snprintf(text, sizeof text, "t%" PRId64, i);
    value = tr_value_text(tr_bytes_of_text(text));
  } else if (strcmp(values, "halves") == 0) {
    value = tr_value_real((double)i + 0.5);
  }
  must(tr_hll_add(hll, &value, NULL));
}

static void check_hll(replay *r, int unused) {
  (void)unused;
  tr_hll theirs, again;
  tr_error err;
  if (tr_hll_read(&theirs, tr_buffer_bytes(&r->image), &err) != TR_OK) {
    expect(r, 0, err.message);
    return;
  }
  int64_t n = jsonl_integer(r->file, r->line, "n");
  int lg_k = (int)jsonl_integer(r->file, r->line, "lg_k");
  double estimate = jsonl_double(r->file, r->line, "estimate"), k = (double)(1 << lg_k);
  double off = fabs(tr_hll_estimate(&theirs) - estimate);
  /*
  ** Their estimate is stored in the sketch. After merging, each side computes its own from the
  ** registers.
  */
  int is_merged = jsonl_integer(r->file, r->line, "merged") != 0;
  double most = theirs.registers == NULL || !is_merged ? 1e-9 : 2 * 1.04 / sqrt(k);
  expect(r, off <= most * estimate, "another estimate");
  expect(r, fabs(tr_hll_estimate(&theirs) - (double)n) <= 3 * 1.04 / sqrt(k) * (double)n,
         "an estimate far from the truth");
  expect(r, theirs.lg_k == lg_k, "another lg_k");

  tr_buffer written = {0}, merged = {0};
  must(tr_hll_write(&theirs, &written, NULL));
  must(tr_hll_read(&again, tr_buffer_bytes(&written), NULL));
  expect(r, tr_hll_estimate(&again) == tr_hll_estimate(&theirs),
         "another estimate when read again");
  tr_hll_free(&again);
  theirs.hip = 0; /* as any merge does */
  written.size = 0;
  must(tr_hll_write(&theirs, &written, NULL));

  /* One of ours of the same values adds nothing: the registers are the very same. */
  const char *values = jsonl_text(r->file, r->line, "values");
  tr_hll ours = tr_hll_empty(lg_k > TR_HLL_LG_K ? lg_k : TR_HLL_LG_K);
  for (int64_t i = 0; i < n; i++) add_value(&ours, values, i);
  must(tr_hll_merge(&ours, &theirs, NULL));
  must(tr_hll_write(&ours, &merged, NULL));
  if (n > 0) {
    expect(r, tr_bytes_compare(tr_buffer_bytes(&written), tr_buffer_bytes(&merged)) == 0,
           "ours of the same values differs");
  }
  tr_buffer_free(&written);
  tr_buffer_free(&merged);
  tr_hll_free(&ours);
  tr_hll_free(&theirs);
}

/* --- KLL ---------------------------------------------------------------------------------- */

static int is_at_most(const tr_value *a, const tr_value *b) {
  return tr_value_compare(a, b) <= 0;
}

/* The fraction of values at or below x. */
static double rank_of(const tr_kll *kll, const tr_value *x) {
  tr_kll_view view;
  uint64_t weight = 0;
  must(tr_kll_view_of(kll, &view, NULL));
  for (size_t i = 0; i < view.count; i++) {
    tr_value value = tr_kll_value(kll, view.entries[i].item);
    if (is_at_most(&value, x)) weight += view.entries[i].weight;
  }
  tr_kll_view_free(&view);
  return (double)weight / (double)tr_kll_count(kll);
}

static tr_value json_value(replay *r, const char *json, const char *path, int items) {
  if (items == TR_KLL_STRING) {
    return tr_value_text(tr_bytes_of_text(jsonl_text(r->file, json, path)));
  }
  if (items == TR_KLL_INT64) return tr_value_integer(jsonl_integer(r->file, json, path));
  return tr_value_real(jsonl_double(r->file, json, path));
}

static void expect_extremes(replay *r, const tr_kll *kll, const tr_value *low,
                            const tr_value *high) {
  tr_kll_view view;
  must(tr_kll_view_of(kll, &view, NULL));
  tr_value minimum = tr_kll_value(kll, view.minimum), maximum = tr_kll_value(kll, view.maximum);
  expect(r, tr_value_compare(&minimum, low) == 0, "another minimum");
  expect(r, tr_value_compare(&maximum, high) == 0, "another maximum");
  tr_kll_view_free(&view);
}

/* The values that the makers of the sketches put in, in any order. */
static void add_same_values(tr_kll *kll, int64_t n, int is_cpp) {
  char text[32];
  for (int64_t i = 1; i <= n; i++) {
    if (kll->kind == TR_KLL_TEXT) {
      snprintf(text, sizeof text, "%07" PRId64, i);
      must(tr_kll_add_text(kll, tr_bytes_of_text(text), NULL));
    } else if (kll->kind == TR_KLL_INTEGER) {
      must(tr_kll_add_integer(kll, i * (INT64_C(1) << 40), NULL));
    } else {
      must(tr_kll_add_real(kll, (double)i / (is_cpp ? 1 : 4), NULL));
    }
  }
}

/*
** Merged with ours of the same values: twice as many, the same extremes, ranks within both errors.
*/
static void merge_kll(replay *r, const tr_kll *theirs, int items, int is_cpp, const tr_value *low,
                      const tr_value *high) {
  int64_t n = jsonl_integer(r->file, r->line, "n");
  tr_kll ours = tr_kll_empty((tr_kll_kind)theirs->kind, 1024);
  add_same_values(&ours, n, is_cpp);
  must(tr_kll_merge(&ours, theirs, NULL));
  expect(r, tr_kll_count(&ours) == 2 * (uint64_t)n, "another count when merged");
  expect_extremes(r, &ours, low, high);
  /* DataSketches' error of k, at 99 %, and as much again, halved by our half. */
  double bound = n <= theirs->k ? 0.002 : 2.3 / pow(theirs->k, 0.9);
  int64_t place = 0, points = 0;
  const char **ranks = jsonl_items(r->file, r->line, "ranks");
  while (ranks[points] != NULL) points++;
  for (; *ranks != NULL; ranks++, place++) {
    tr_value x = json_value(r, *ranks, "$[0]", items);
    double truth = (double)(1 + place * (n / points > 0 ? n / points : 1)) / (double)n;
    if (n / points * points == n || n <= points) {
      expect(r, fabs(rank_of(&ours, &x) - truth) <= bound, "a rank out of bounds when merged");
    }
  }
  tr_kll_free(&ours);
}

/* Each retained text of the C++ library's sketches is one of 1..n. */
static void expect_decimal_texts(replay *r, const tr_kll *kll, int64_t n) {
  tr_kll_view view;
  must(tr_kll_view_of(kll, &view, NULL));
  for (size_t i = 0; i < view.count; i++) {
    char text[16] = {0};
    tr_value value = tr_kll_value(kll, view.entries[i].item);
    if (value.bytes.size < sizeof text) memcpy(text, value.bytes.data, value.bytes.size);
    long number = strtol(text, NULL, 10);
    expect(r, number >= 1 && number <= n && text[0] != '0', "an item that was not put in");
  }
  tr_kll_view_free(&view);
}

static void check_kll(replay *r, int items) {
  tr_kll theirs, again;
  tr_error err;
  if (tr_kll_read(&theirs, (tr_kll_items)items, tr_buffer_bytes(&r->image), &err) != TR_OK) {
    expect(r, 0, err.message);
    return;
  }
  int64_t n = jsonl_integer(r->file, r->line, "n");
  int is_cpp = strstr(r->name, "_cpp") != NULL;
  expect(r, tr_kll_count(&theirs) == (uint64_t)n, "another count");
  expect(r, theirs.k == jsonl_integer(r->file, r->line, "k"), "another k");
  if (n > 0) {
    tr_value low = json_value(r, r->line, "minimum", items);
    tr_value high = json_value(r, r->line, "maximum", items);
    expect_extremes(r, &theirs, &low, &high);
    for (const char **rank = jsonl_items(r->file, r->line, "ranks"); *rank != NULL; rank++) {
      tr_value x = json_value(r, *rank, "$[0]", items);
      double wanted = jsonl_double(r->file, *rank, "$[1]");
      expect(r, fabs(rank_of(&theirs, &x) - wanted) < 1e-12, "another rank");
    }
    if (is_cpp && items == TR_KLL_STRING) {
      expect_decimal_texts(r, &theirs, n);
    } else {
      merge_kll(r, &theirs, items, is_cpp, &low, &high);
    }
  }
  tr_buffer written = {0};
  int form = items == TR_KLL_FLOAT ? TR_KLL_DOUBLE : items;
  must(tr_kll_write(&theirs, (tr_kll_items)form, &written, NULL));
  must(tr_kll_read(&again, (tr_kll_items)form, tr_buffer_bytes(&written), NULL));
  expect(r, tr_kll_count(&again) == tr_kll_count(&theirs), "another count when read again");
  tr_kll_free(&again);
  tr_kll_free(&theirs);
  tr_buffer_free(&written);
}

/* --- frequent items ----------------------------------------------------------------------- */

static const tr_frequent_entry *find_entry(const tr_frequent_items *items, const tr_value *value) {
  for (uint32_t i = 0; i < items->active; i++) {
    tr_value at = tr_frequent_value(&items->entries[i]);
    if (tr_value_compare(&at, value) == 0) return &items->entries[i];
  }
  return NULL;
}

static void check_frequent(replay *r, int of) {
  tr_frequent_items theirs, again, ours = tr_frequent_empty(12, 0);
  tr_error err;
  if (tr_frequent_read(&theirs, (tr_frequent_class)of, tr_buffer_bytes(&r->image), &err) != TR_OK) {
    expect(r, 0, err.message);
    return;
  }
  expect(r, theirs.weight == jsonl_integer(r->file, r->line, "n"), "another total");
  expect(r, theirs.lg_max == jsonl_integer(r->file, r->line, "lg_max"), "another map size");
  uint32_t count = 0;
  const char **items = jsonl_items(r->file, r->line, "items");
  for (const char **item = items; *item != NULL; item++, count++) {
    tr_value value =
        json_value(r, *item, "$[0]", of == TR_FREQUENT_STRINGS ? TR_KLL_STRING : TR_KLL_INT64);
    const tr_frequent_entry *entry = find_entry(&theirs, &value);
    expect(r, entry != NULL, "an item is missing");
    if (entry == NULL) continue;
    expect(r, entry->count == jsonl_integer(r->file, *item, "$[2]"), "another lower bound");
    expect(r, entry->count + theirs.offset == jsonl_integer(r->file, *item, "$[3]"),
           "another upper bound");
    must(tr_frequent_add(&ours, &value, entry->count, NULL));
  }
  expect(r, count == theirs.active, "another number of items");

  /* Ours of the same items: all counts are there twice. */
  must(tr_frequent_merge(&ours, &theirs, NULL));
  expect(r, ours.offset == theirs.offset, "another offset when merged");
  for (uint32_t i = 0; i < theirs.active; i++) {
    tr_value value = tr_frequent_value(&theirs.entries[i]);
    const tr_frequent_entry *entry = find_entry(&ours, &value);
    expect(r, entry != NULL && entry->count == 2 * theirs.entries[i].count,
           "another count when merged");
  }
  tr_buffer written = {0}, second = {0};
  must(tr_frequent_write(&theirs, (tr_frequent_class)of, &written, NULL));
  must(tr_frequent_read(&again, (tr_frequent_class)of, tr_buffer_bytes(&written), NULL));
  must(tr_frequent_write(&again, (tr_frequent_class)of, &second, NULL));
  expect(r, tr_bytes_compare(tr_buffer_bytes(&written), tr_buffer_bytes(&second)) == 0,
         "other bytes when read and written again");
  tr_buffer_free(&written);
  tr_buffer_free(&second);
  tr_frequent_free(&again);
  tr_frequent_free(&ours);
  tr_frequent_free(&theirs);
}

/* --- damage ------------------------------------------------------------------------------- */

/* Reads bytes that may be anything; whatever was read is freed. */
static tr_code read_hll(int unused, tr_bytes bytes, tr_error *err) {
  (void)unused;
  tr_hll hll;
  tr_code code = tr_hll_read(&hll, bytes, err);
  if (code == TR_OK) tr_hll_free(&hll);
  return code;
}

static tr_code read_kll(int items, tr_bytes bytes, tr_error *err) {
  tr_kll kll;
  tr_code code = tr_kll_read(&kll, (tr_kll_items)items, bytes, err);
  if (code == TR_OK) tr_kll_free(&kll);
  return code;
}

static tr_code read_frequent(int of, tr_bytes bytes, tr_error *err) {
  tr_frequent_items items;
  tr_code code = tr_frequent_read(&items, (tr_frequent_class)of, bytes, err);
  if (code == TR_OK) tr_frequent_free(&items);
  return code;
}

static const struct {
  const char *kind;
  void (*check)(replay *r, int how);
  tr_code (*read)(int how, tr_bytes bytes, tr_error *err);
  int how;
} kinds[] = {
    {"hll", check_hll, read_hll, 0},
    {"kll_double", check_kll, read_kll, TR_KLL_DOUBLE},
    {"kll_float", check_kll, read_kll, TR_KLL_FLOAT},
    {"kll_integer", check_kll, read_kll, TR_KLL_INT64},
    {"kll_text", check_kll, read_kll, TR_KLL_STRING},
    {"frequent_integer", check_frequent, read_frequent, TR_FREQUENT_LONGS},
    {"frequent_text", check_frequent, read_frequent, TR_FREQUENT_STRINGS},
};

static void check_damage(replay *r, size_t kind) {
  tr_error err;
  size_t size = r->image.size, step = size < 1000 ? 1 : 7;
  /* A copy of its own for each, so that a read behind the end is seen by whoever watches. */
  for (size_t cut = 0; cut < size; cut += step, r->prefixes++) {
    uint8_t *copy = malloc(cut > 0 ? cut : 1);
    if (copy == NULL) abort();
    memcpy(copy, r->image.data, cut);
    tr_code code = kinds[kind].read(kinds[kind].how, (tr_bytes){copy, cut}, &err);
    expect(r, code == TR_CORRUPT && strstr(err.message, "sketch: ") != NULL, "a prefix was read");
    free(copy);
  }
  for (size_t bit = 0; bit < size * 8; bit += bit < 512 ? 1 : 8 * step + 1, r->flips++) {
    r->image.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    tr_code code = kinds[kind].read(kinds[kind].how, tr_buffer_bytes(&r->image), &err);
    expect(r, code == TR_OK || code == TR_CORRUPT, "a flipped bit is another error");
    r->flips_refused += code != TR_OK;
    r->image.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
}

int main(void) {
  replay r = {.file = jsonl_open("tests/vectors/sketches.jsonl")};
  while ((r.line = jsonl_next(r.file)) != NULL) {
    const char *kind = jsonl_text(r.file, r.line, "kind");
    size_t i = 0;
    while (i < sizeof kinds / sizeof kinds[0] && strcmp(kinds[i].kind, kind) != 0) i++;
    if (i == sizeof kinds / sizeof kinds[0]) abort();
    r.name = jsonl_text(r.file, r.line, "file");
    load_image(&r);
    kinds[i].check(&r, kinds[i].how);
    check_damage(&r, i);
    r.sketches++;
  }
  jsonl_close(r.file);
  tr_buffer_free(&r.image);
  expect(&r, test_memory_live() == 0, "memory was left behind");
  printf("sketches: %ld read, %ld prefixes refused, %ld flipped bits (%ld refused), %ld wrong\n",
         r.sketches, r.prefixes, r.flips, r.flips_refused, r.wrong);
  return r.wrong == 0 && r.sketches > 0 ? 0 : 1;
}

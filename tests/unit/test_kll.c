/*
** combine/kll.h: exact while small, the error bound for adversarial orders and any merge tree,
** kinds of value, bytes, memory, damage. tests/replay/replay_sketches.c reads sketches of other
** implementations.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "combine/kll_inside.h"
#include "effort.h"
#include "test_memory.h"
#include "test_random.h"

/* Orders of 0..n-1. The rank of a value is the value itself. */
static const char *const order_names[] = {"random",     "sorted",  "reversed",
                                          "organ pipe", "zoom in", "zoom out"};
enum { RANDOM, SORTED, REVERSED, ORGAN_PIPE, ZOOM_IN, ZOOM_OUT, ORDERS };

static int64_t *make_order(test_random *random, int order, int64_t n) {
  int64_t *values = malloc((size_t)n * sizeof *values);
  if (values == NULL) abort();
  for (int64_t i = 0; i < n; i++) {
    int64_t inward = i % 2 == 0 ? i / 2 : n - 1 - i / 2;
    const int64_t at[] = {i, i, n - 1 - i, i < n / 2 ? 2 * i : 2 * (n - 1 - i) + 1, inward, 0};
    values[i] = at[order];
  }
  if (order == ZOOM_OUT) {
    for (int64_t i = 0; i < n; i++) {
      int64_t from_end = n - 1 - i;
      values[i] = from_end % 2 == 0 ? from_end / 2 : n - 1 - from_end / 2;
    }
  }
  if (order == RANDOM) {
    for (int64_t i = n - 1; i > 0; i--) {
      int64_t j = (int64_t)test_random_below(random, (uint64_t)i + 1), swap = values[i];
      values[i] = values[j];
      values[j] = swap;
    }
  }
  return values;
}

/* Errors of ranks, in units of count / k. */
typedef struct rank_errors {
  double squares, worst;
  long ranks;
} rank_errors;

/* Adds a number: itself, or as a text of eight digits. */
static tr_code add_number(tr_kll *kll, int64_t x) {
  char text[32];
  if (kll->kind != TR_KLL_TEXT) return tr_kll_add_integer(kll, x, NULL);
  snprintf(text, sizeof text, "%08lld", (long long)x);
  return tr_kll_add_text(kll, tr_bytes_of_text(text), NULL);
}

static int64_t number_of(const tr_kll *kll, tr_kll_item item) {
  tr_value value = tr_kll_value(kll, item);
  char text[16] = {0};
  if (value.type == TR_INTEGER) return value.integer;
  memcpy(text, value.bytes.data, 8);
  return strtoll(text, NULL, 10);
}

/*
** Compares the ranks of 199 values with the true ones, for a sketch that has 0..n-1 `each` times.
*/
static void measure(const tr_kll *kll, int64_t n, int64_t each, rank_errors *errors) {
  tr_kll_view view;
  assert_int_equal(tr_kll_view_of(kll, &view, NULL), TR_OK);
  uint64_t below = 0, total = 0;
  size_t at = 0;
  for (size_t i = 0; i < view.count; i++) total += view.entries[i].weight;
  assert_true(total == (uint64_t)(n * each) && total == tr_kll_count(kll));
  assert_true(number_of(kll, view.minimum) == 0 && number_of(kll, view.maximum) == n - 1);
  for (int point = 1; point < 200; point++) {
    int64_t value = n * point / 200;
    for (; at < view.count && number_of(kll, view.entries[at].item) < value; at++) {
      below += view.entries[at].weight;
    }
    double off = ((double)below / (double)each - (double)value) * kll->k / (double)n;
    errors->squares += off * off;
    errors->worst = fmax(errors->worst, fabs(off));
    errors->ranks++;
  }
  tr_kll_view_free(&view);
}

static void assert_bounded(const rank_errors *errors, const char *order, const char *how) {
  double deviation = sqrt(errors->squares / (double)errors->ranks);
  /* The errors of one sketch are correlated, so the deviation is checked only over many. */
  int are_many = errors->ranks >= 20 * 199;
  if (errors->worst > 5 || (are_many && deviation > 5.0 / 6)) {
    fail_msg("%s, %s: off by %.2f, one deviation is %.2f (of count / k)", order, how, errors->worst,
             deviation);
  }
}

static void add_all(tr_kll *kll, const int64_t *values, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    assert_int_equal(tr_kll_add_integer(kll, values[i], NULL), TR_OK);
  }
}

/* Other coins than the last time. Otherwise the same order would give the same sketch. */
static tr_kll make_sketch(test_random *random, int k) {
  tr_kll kll = tr_kll_empty(TR_KLL_INTEGER, k);
  kll.random = test_random_next(random) | 1;
  return kll;
}

static void test_exact_up_to_k(void **state) {
  (void)state;
  test_random random = test_random_begin("kll exact");
  const int ks[] = {8, 200, 256, 1000, 1024, 5120};
  for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
    for (int order = 0; order < ORDERS; order++) {
      int64_t *values = make_order(&random, order, ks[i]);
      tr_kll kll = tr_kll_empty(TR_KLL_INTEGER, ks[i]);
      add_all(&kll, values, ks[i]);
      tr_kll_view view;
      assert_int_equal(tr_kll_view_of(&kll, &view, NULL), TR_OK);
      assert_int_equal(view.count, ks[i]);
      for (int j = 0; j < ks[i]; j++) {
        assert_true(view.entries[j].item.key == j && view.entries[j].weight == 1);
      }
      tr_kll_view_free(&view);
      tr_kll_free(&kll);
      free(values);
    }
  }
}

/* The bound, for each order, with and without the sampler, which starts at 3 / 8 * k^2 values. */
static void test_bound_of_orders(void **state) {
  (void)state;
  test_random random = test_random_begin("kll orders");
  const struct {
    int k;
    int64_t n;
    long trials;
  } cases[] = {{64, 1000, 100},  {64, 6000, 40},    {64, 50000, 20},
               {200, 500000, 3}, {1024, 200000, 4}, {1024, 3000000, 1}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    for (int order = 0; order < ORDERS; order++) {
      rank_errors errors = {0};
      int64_t n = test_effort(cases[c].n);
      if (n < 2 * cases[c].k) n = 2 * cases[c].k;
      int64_t *values = make_order(&random, order, n);
      for (long t = 0; t < cases[c].trials; t++) {
        tr_kll kll = make_sketch(&random, cases[c].k);
        add_all(&kll, values, n);
        measure(&kll, n, 1, &errors);
        tr_kll_free(&kll);
      }
      free(values);
      assert_bounded(&errors, order_names[order], "one sketch");
    }
  }
}

static void merge(tr_kll *into, const tr_kll *from) {
  assert_int_equal(tr_kll_merge(into, from, NULL), TR_OK);
}

/* Writes and reads a sketch, like an accumulator that is stored. */
static void store(tr_kll *kll) {
  tr_buffer bytes = {0};
  tr_kll_items items = kll->kind == TR_KLL_TEXT ? TR_KLL_STRING : TR_KLL_INT64;
  assert_int_equal(tr_kll_write(kll, items, &bytes, NULL), TR_OK);
  int k = kll->k;
  tr_kll_free(kll);
  assert_int_equal(tr_kll_read(kll, items, tr_buffer_bytes(&bytes), NULL), TR_OK);
  assert_int_equal(tr_kll_resume(kll, k, NULL), TR_OK);
  tr_buffer_free(&bytes);
}

typedef enum tree { CHAIN, BALANCED, ANY_TREE, TREES } tree;

/* Cuts the values into `parts` parts of random sizes and merges their sketches. */
static tr_kll merge_parts(test_random *random, const int64_t *values, int64_t n, int k, int parts,
                          tree how, int is_stored) {
  tr_kll *sketches = malloc((size_t)parts * sizeof *sketches);
  if (sketches == NULL) abort();
  int64_t from = 0;
  for (int p = 0; p < parts; p++) {
    int64_t rest = n - from, size = p == parts - 1 ? rest : rest * 2 / (parts - p);
    if (p < parts - 1) size = (int64_t)test_random_below(random, (uint64_t)size + 1);
    sketches[p] = make_sketch(random, k);
    add_all(&sketches[p], values + from, size);
    if (is_stored) store(&sketches[p]);
    from += size;
  }
  for (int left = parts; left > 1; left--) {
    int a = how == CHAIN ? 0 : (int)test_random_below(random, (uint64_t)left - 1), b = left - 1;
    if (how == BALANCED) a = left - 1 - left / 2;
    merge(&sketches[a], &sketches[b]);
    tr_kll_free(&sketches[b]);
    if (is_stored && left % 4 == 0) store(&sketches[a]);
  }
  tr_kll merged = sketches[0];
  free(sketches);
  return merged;
}

static void test_bound_of_merges(void **state) {
  (void)state;
  test_random random = test_random_begin("kll merges");
  const struct {
    int k;
    int64_t n;
    int parts;
    const char *what;
  } cases[] = {
      {64, 40000, 40, "some parts"},
      {64, 30000, 3000, "many small parts"},
      {200, 60000, 7, "few large parts"},
      {64, 400000, 15, "sampled parts"},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    for (int order = 0; order < ORDERS; order++) {
      rank_errors errors = {0};
      int64_t n = test_effort(cases[c].n) + 2 * cases[c].k;
      int64_t *values = make_order(&random, order, n);
      for (int how = 0; how < TREES; how++) {
        for (int is_stored = 0; is_stored < 2; is_stored++) {
          tr_kll merged =
              merge_parts(&random, values, n, cases[c].k, cases[c].parts, (tree)how, is_stored);
          measure(&merged, n, 1, &errors);
          tr_kll_free(&merged);
        }
      }
      free(values);
      assert_bounded(&errors, order_names[order], cases[c].what);
    }
  }
}

/* A thousand sketches of the same values with the same coins: their errors must not add up. */
static void test_merging_copies(void **state) {
  (void)state;
  enum { K = 64, N = 20000, COPIES = 1000 };
  test_random random = test_random_begin("kll copies");
  rank_errors errors = {0};
  int64_t *values = make_order(&random, RANDOM, N);
  tr_kll one = tr_kll_empty(TR_KLL_INTEGER, K), all = tr_kll_empty(TR_KLL_INTEGER, K);
  add_all(&one, values, N);
  for (int i = 0; i < COPIES; i++) merge(&all, &one);
  measure(&all, N, COPIES, &errors);
  assert_true(errors.worst <= 5);
  tr_kll_free(&one);
  tr_kll_free(&all);
  free(values);
}

/*
** A running total, to which a small part is merged each day. Both are stored. Coins must not repeat
** after a store, or the errors would add up. Only the sketches' own coins are random here.
*/
static void test_bound_of_stored_totals(void **state) {
  (void)state;
  const struct {
    tr_kll_kind kind;
    int k;
    int64_t n; /* a prime, so that i * multiplier % n visits all of 0..n-1 */
    int64_t part;
    const char *what;
  } cases[] = {
      {TR_KLL_INTEGER, 64, 99991, 16, "parts of 16"},
      {TR_KLL_INTEGER, 64, 199999, 64, "parts of k"},
      {TR_KLL_INTEGER, 64, 399989, 256, "parts of a batch"},
      {TR_KLL_INTEGER, 64, 399989, 1000, "parts of 1000"},
      {TR_KLL_INTEGER, 256, 999983, 256, "parts of a batch, sampled"},
      {TR_KLL_TEXT, 64, 49999, 64, "texts"},
  };
  static const int64_t multipliers[] = {2654435761, 1, 48271, 3141592653, 6700417, -1};
  enum { MULTIPLIERS = sizeof multipliers / sizeof *multipliers };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    rank_errors errors = {0};
    for (size_t m = 0; m < MULTIPLIERS; m++) {
      tr_kll total = tr_kll_empty(cases[c].kind, cases[c].k);
      int64_t step = (multipliers[m] % cases[c].n + cases[c].n) % cases[c].n, value = 0;
      for (int64_t i = 0; i < cases[c].n;) {
        tr_kll part = tr_kll_empty(cases[c].kind, cases[c].k);
        for (int64_t end = i + cases[c].part; i < end && i < cases[c].n; i++) {
          assert_int_equal(add_number(&part, value), TR_OK);
          value = (value + step) % cases[c].n;
        }
        store(&part);
        merge(&total, &part);
        store(&total);
        tr_kll_free(&part);
      }
      measure(&total, cases[c].n, 1, &errors);
      tr_kll_free(&total);
    }
    assert_bounded(&errors, cases[c].what, "stored totals");
  }
}

static void test_merge_is_exact_while_small(void **state) {
  (void)state;
  test_random random = test_random_begin("kll small merges");
  for (long round = 0; round < test_effort(200); round++) {
    int64_t n = 1 + (int64_t)test_random_below(&random, 1024);
    int64_t *values = make_order(&random, RANDOM, n);
    tr_kll merged =
        merge_parts(&random, values, n, 1024, 1 + (int)(round % 20), ANY_TREE, (int)(round % 2));
    tr_kll_view view;
    assert_int_equal(tr_kll_view_of(&merged, &view, NULL), TR_OK);
    assert_int_equal(view.count, n);
    for (int64_t i = 0; i < n; i++) assert_true(view.entries[i].item.key == i);
    tr_kll_view_free(&view);
    tr_kll_free(&merged);
    free(values);
  }
}

static void test_empty_changes_nothing(void **state) {
  (void)state;
  const int64_t sizes[] = {0, 1, 300, 50000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    tr_kll kll = tr_kll_empty(TR_KLL_INTEGER, 200), empty = tr_kll_empty(TR_KLL_INTEGER, 200);
    for (int64_t x = 0; x < sizes[i]; x++)
      assert_int_equal(tr_kll_add_integer(&kll, x, NULL), TR_OK);
    tr_buffer before = {0}, after = {0};
    assert_int_equal(tr_kll_write(&kll, TR_KLL_INT64, &before, NULL), TR_OK);
    merge(&kll, &empty);
    assert_int_equal(tr_kll_write(&kll, TR_KLL_INT64, &after, NULL), TR_OK);
    assert_int_equal(tr_bytes_compare(tr_buffer_bytes(&before), tr_buffer_bytes(&after)), 0);
    tr_buffer_free(&before);
    tr_buffer_free(&after);
    tr_kll_free(&kll);
  }
}

/*
** The same values in the same order give the same sketch, because the coins are a fixed sequence.
*/
static void test_repeatable(void **state) {
  (void)state;
  tr_buffer bytes[2] = {{0}, {0}};
  for (int i = 0; i < 2; i++) {
    tr_kll kll = tr_kll_empty(TR_KLL_REAL, 64);
    for (int64_t x = 0; x < 50000; x++)
      assert_int_equal(tr_kll_add_real(&kll, sin((double)x), NULL), TR_OK);
    assert_int_equal(tr_kll_write(&kll, TR_KLL_DOUBLE, &bytes[i], NULL), TR_OK);
    tr_kll_free(&kll);
  }
  assert_int_equal(tr_bytes_compare(tr_buffer_bytes(&bytes[0]), tr_buffer_bytes(&bytes[1])), 0);
  tr_buffer_free(&bytes[0]);
  tr_buffer_free(&bytes[1]);
}

static void test_order_of_reals(void **state) {
  (void)state;
  const double ascending[] = {-HUGE_VAL, -1e308, -1.5,  -0x1p-1074, 0.0,
                              0x1p-1074, 1.5,    1e308, HUGE_VAL};
  for (size_t i = 0; i < sizeof ascending / sizeof *ascending; i++) {
    int64_t key = tr_kll_key_of_real(ascending[i]);
    assert_true(tr_kll_real_of_key(key) == ascending[i]);
    if (i > 0) assert_true(tr_kll_key_of_real(ascending[i - 1]) < key);
  }
  assert_true(tr_kll_key_of_real(-0.0) == tr_kll_key_of_real(0.0));
}

static tr_value entry_value(const tr_kll *kll, const tr_kll_view *view, size_t i) {
  return tr_kll_value(kll, view->entries[i].item);
}

/* INTEGERs keep all their bits until a REAL comes, added or merged, before or after them. */
static void test_integers_and_reals(void **state) {
  (void)state;
  const int64_t large = 9007199254740993; /* 2^53 + 1 */
  for (int how = 0; how < 5; how++) {
    tr_kll kll = tr_kll_empty(TR_KLL_INTEGER, 200), reals = tr_kll_empty(TR_KLL_INTEGER, 200);
    tr_kll_view view;
    assert_int_equal(tr_kll_add_real(&reals, 0.5, NULL), TR_OK);
    if (how == 1) assert_int_equal(tr_kll_add_real(&kll, 0.5, NULL), TR_OK);
    if (how == 2) merge(&kll, &reals);
    assert_int_equal(tr_kll_add_integer(&kll, large, NULL), TR_OK);
    if (how == 3) assert_int_equal(tr_kll_add_real(&kll, 0.5, NULL), TR_OK);
    if (how == 4) merge(&kll, &reals);
    assert_int_equal(tr_kll_view_of(&kll, &view, NULL), TR_OK);
    tr_value last = entry_value(&kll, &view, view.count - 1);
    if (how == 0) {
      assert_true(last.type == TR_INTEGER && last.integer == large);
    } else {
      assert_true(last.type == TR_REAL && last.real == 9007199254740992.0);
      assert_true(entry_value(&kll, &view, 0).real == 0.5);
    }
    tr_kll_view_free(&view);
    tr_kll_free(&kll);
    tr_kll_free(&reals);
  }
}

static int compare_values(const void *a, const void *b) {
  return tr_value_compare(a, b);
}

/* Text is ordered by its bytes, for every length and with long common prefixes. */
static void test_texts(void **state) {
  (void)state;
  enum { COUNT = 700, ROOM = 24 };
  test_random random = test_random_begin("kll texts");
  static uint8_t bytes[COUNT][ROOM];
  tr_value values[COUNT];
  tr_kll kll = tr_kll_empty(TR_KLL_TEXT, 1024), half = tr_kll_empty(TR_KLL_TEXT, 1024), read;
  for (int i = 0; i < COUNT; i++) {
    values[i] = tr_value_text(test_random_bytes(&random, bytes[i], ROOM));
    assert_int_equal(tr_kll_add_text(i % 2 == 0 ? &kll : &half, values[i].bytes, NULL), TR_OK);
  }
  merge(&kll, &half);
  qsort(values, COUNT, sizeof *values, compare_values);
  tr_buffer image = {0};
  assert_int_equal(tr_kll_write(&kll, TR_KLL_STRING, &image, NULL), TR_OK);
  assert_int_equal(tr_kll_read(&read, TR_KLL_STRING, tr_buffer_bytes(&image), NULL), TR_OK);
  const tr_kll *sketches[] = {&kll, &read};
  for (int s = 0; s < 2; s++) {
    tr_kll_view view;
    assert_int_equal(tr_kll_view_of(sketches[s], &view, NULL), TR_OK);
    assert_int_equal(view.count, COUNT);
    for (int i = 0; i < COUNT; i++) {
      tr_value value = entry_value(sketches[s], &view, (size_t)i);
      assert_int_equal(tr_value_compare(&value, &values[i]), 0);
    }
    tr_kll_view_free(&view);
  }
  tr_buffer_free(&image);
  tr_kll_free(&kll);
  tr_kll_free(&half);
  tr_kll_free(&read);
  assert_int_equal(test_memory_live(), 0);
}

/* Texts keep to the error bound, and their sketch to its memory. */
static void test_many_texts(void **state) {
  (void)state;
  enum { K = 64 };
  int64_t n = test_effort(60000) + 1000;
  rank_errors errors = {0};
  tr_kll kll = tr_kll_empty(TR_KLL_TEXT, K);
  for (int64_t i = 0; i < n; i++) {
    char text[32];
    snprintf(text, sizeof text, "%08lld", (long long)(i * 7919 % n));
    assert_int_equal(tr_kll_add_text(&kll, tr_bytes_of_text(text), NULL), TR_OK);
  }
  tr_kll_view view;
  uint64_t below = 0;
  assert_int_equal(tr_kll_view_of(&kll, &view, NULL), TR_OK);
  for (size_t i = 0; i < view.count; i++) {
    char text[16] = {0};
    memcpy(text, entry_value(&kll, &view, i).bytes.data, 8);
    errors.worst = fmax(errors.worst, fabs((double)below - strtod(text, NULL)) * K / (double)n);
    below += view.entries[i].weight;
  }
  assert_true(errors.worst <= 5);
  tr_kll_view_free(&view);
  assert_in_range(tr_kll_heap_size(&kll), 1, 80 * 1024);
  tr_kll_free(&kll);
  assert_int_equal(test_memory_live(), 0);
}

/* At most 56 KB at k = 1024; little for few values. */
static void test_memory_is_bounded(void **state) {
  (void)state;
  tr_kll kll = tr_kll_empty(TR_KLL_INTEGER, 1024);
  int64_t n = test_effort(2000000);
  for (int64_t i = 0; i < n; i++) {
    assert_int_equal(tr_kll_add_integer(&kll, i * 1000003 % n, NULL), TR_OK);
    if (i == 3) assert_in_range(tr_kll_heap_size(&kll), 1, 64);
    if (i % 1000 == 0) assert_in_range(tr_kll_heap_size(&kll), 1, 56 * 1024);
  }
  tr_buffer bytes = {0};
  assert_int_equal(tr_kll_write(&kll, TR_KLL_INT64, &bytes, NULL), TR_OK);
  assert_in_range(bytes.size, 1, 8 * (tr_kll_capacity(1024, kll.level_count) + 1280) + 512);
  tr_buffer_free(&bytes);
  tr_kll_free(&kll);
}

/* Doubling a sketch again and again ends with an error, not with a wrong count. */
static void test_too_many_values(void **state) {
  (void)state;
  tr_kll kll = tr_kll_empty(TR_KLL_INTEGER, 8);
  tr_error err;
  tr_code code = TR_OK;
  for (int64_t x = 0; x < 5; x++) assert_int_equal(tr_kll_add_integer(&kll, x, NULL), TR_OK);
  for (int doubled = 0; code == TR_OK && doubled < 70; doubled++) {
    tr_kll copy;
    tr_buffer bytes = {0};
    assert_int_equal(tr_kll_write(&kll, TR_KLL_INT64, &bytes, NULL), TR_OK);
    assert_int_equal(tr_kll_read(&copy, TR_KLL_INT64, tr_buffer_bytes(&bytes), NULL), TR_OK);
    uint64_t before = tr_kll_count(&kll);
    code = tr_kll_merge(&kll, &copy, &err);
    assert_true(tr_kll_count(&kll) == (code == TR_OK ? 2 * before : before));
    tr_buffer_free(&bytes);
    tr_kll_free(&copy);
  }
  assert_int_equal(code, TR_OVERFLOW);
  tr_kll_free(&kll);
}

/* Every form of an image, with numbers of all widths. */
static void test_round_trip(void **state) {
  (void)state;
  const int64_t sizes[] = {0, 1, 2, 200, 201, 5000, 100000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (int items = TR_KLL_INT64; items <= TR_KLL_DOUBLE; items++) {
      tr_kll kll = tr_kll_empty(items == TR_KLL_INT64 ? TR_KLL_INTEGER : TR_KLL_REAL, 200), read;
      tr_buffer first = {0}, second = {0};
      for (int64_t x = 0; x < sizes[i]; x++)
        assert_int_equal(tr_kll_add_integer(&kll, x - 7, NULL), TR_OK);
      assert_int_equal(tr_kll_write(&kll, (tr_kll_items)items, &first, NULL), TR_OK);
      assert_int_equal(tr_kll_read(&read, (tr_kll_items)items, tr_buffer_bytes(&first), NULL),
                       TR_OK);
      assert_int_equal(tr_kll_resume(&read, 200, NULL), TR_OK);
      assert_int_equal(tr_kll_write(&read, (tr_kll_items)items, &second, NULL), TR_OK);
      assert_int_equal(tr_bytes_compare(tr_buffer_bytes(&first), tr_buffer_bytes(&second)), 0);
      tr_buffer_free(&first);
      tr_buffer_free(&second);
      tr_kll_free(&kll);
      tr_kll_free(&read);
    }
  }
}

/* Images with one changed byte, and the errors for them. */
static void test_damage_is_named(void **state) {
  (void)state;
  const struct {
    size_t at;
    uint8_t value;
    const char *message;
  } cases[] = {
      {0, 2, "KLL sketch: 2 preamble ints, its form has 5"},
      {1, 3, "KLL sketch: serial version 3, its form has 1"},
      {2, 7, "KLL sketch: family 7, KLL is 15"},
      {4, 7, "KLL sketch: k is 7, at least 8"},
      {6, 9, "KLL sketch: m is 9, known is 8"},
      {8, 0, "KLL sketch: its items stand for 300 values, its count is 256"},
      {15, 0x80, "KLL sketch: its items stand for 300 values, its count is 9223372036854776108"},
      {16, 1, "KLL sketch: smallest k 1, k is 200"},
      {18, 0, "KLL sketch: 0 levels, from 1 to 61 are possible"},
      {18, 62, "KLL sketch: 62 levels, from 1 to 61 are possible"},
      {23, 1, "KLL sketch: level 0 from slot 16777"},
      {35, 0x7f, "KLL sketch: its minimum is NaN"},
  };
  tr_kll kll = tr_kll_empty(TR_KLL_REAL, 100), read;
  tr_buffer bytes = {0};
  tr_error err;
  for (int64_t x = 0; x < 300; x++) assert_int_equal(tr_kll_add_integer(&kll, x, NULL), TR_OK);
  assert_int_equal(tr_kll_write(&kll, TR_KLL_DOUBLE, &bytes, NULL), TR_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t before[2] = {bytes.data[cases[i].at], bytes.data[cases[i].at - (cases[i].at > 0)]};
    bytes.data[cases[i].at] = cases[i].value;
    if (cases[i].at == 4) bytes.data[5] = 0;
    if (cases[i].at == 35) bytes.data[34] = 0xf8;
    assert_int_equal(tr_kll_read(&read, TR_KLL_DOUBLE, tr_buffer_bytes(&bytes), &err), TR_CORRUPT);
    if (strncmp(err.message, cases[i].message, strlen(cases[i].message)) != 0) {
      fail_msg("byte %zu: %s", cases[i].at, err.message);
    }
    bytes.data[cases[i].at] = before[0];
    if (cases[i].at > 0) bytes.data[cases[i].at - 1] = before[1];
  }
  /* Too many bytes, and too few. */
  assert_int_equal(tr_buffer_append_byte(&bytes, 0, NULL), TR_OK);
  assert_int_equal(tr_kll_read(&read, TR_KLL_DOUBLE, tr_buffer_bytes(&bytes), &err), TR_CORRUPT);
  assert_string_equal(err.message, "KLL sketch: 1 bytes behind its end");
  bytes.size -= 2;
  assert_int_equal(tr_kll_read(&read, TR_KLL_DOUBLE, tr_buffer_bytes(&bytes), &err), TR_CORRUPT);
  assert_string_equal(err.message, "KLL sketch: cut short in its items");
  tr_buffer_free(&bytes);
  tr_kll_free(&kll);
  assert_int_equal(test_memory_live(), 0);
}

/* Items of four bytes: floats are read if they are expected, 32-bit integers never are. */
static void test_width_is_named(void **state) {
  (void)state;
  static const char four[] =
      "KLL sketch: its items are of 4 bytes (floats or 32-bit integers), not 8";
  static const char eight[] =
      "KLL sketch: its items are of 8 bytes (doubles or 64-bit integers), not 4";
  const struct {
    tr_kll_items items;
    int size;          /* of an item */
    uint32_t first[2]; /* the low four bytes of two items; 0x3f800000 is the float 1.0 */
    const char *message;
  } cases[] = {
      {TR_KLL_FLOAT, 4, {0x3f800000, 0x40000000}, NULL},
      {TR_KLL_FLOAT, 4, {0, 0}, NULL},
      {TR_KLL_INT64, 8, {1, 2}, NULL},
      {TR_KLL_DOUBLE, 4, {0x3f800000, 0x40000000}, four},
      {TR_KLL_INT64, 4, {1, 2}, four},
      {TR_KLL_FLOAT, 8, {1, 2}, eight},
      {TR_KLL_FLOAT,
       4,
       {1, 2},
       "KLL sketch: its items are no floats, but seem to be 32-bit integers"},
      {TR_KLL_FLOAT,
       4,
       {0xffffffff, 2},
       "KLL sketch: its minimum is NaN, or a 32-bit integer and no float"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    /* An image with k = 8: minimum, maximum, and two items on one level. */
    uint8_t bytes[24 + 4 * 8] = {5, 1, 15, 2, 8, 0, 8, 0, 2, [16] = 8, [18] = 1, [20] = 6};
    for (int j = 0; j < 4; j++) {
      uint32_t low = cases[i].first[j % 2];
      for (int b = 0; b < 4; b++) bytes[24 + j * cases[i].size + b] = (uint8_t)(low >> 8 * b);
    }
    tr_kll read;
    tr_error err;
    tr_bytes image = {bytes, 24 + 4 * (size_t)cases[i].size};
    tr_code code = tr_kll_read(&read, cases[i].items, image, &err);
    assert_int_equal(code, cases[i].message == NULL ? TR_OK : TR_CORRUPT);
    if (code == TR_OK) {
      assert_int_equal(tr_kll_count(&read), 2);
      tr_kll_free(&read);
    } else {
      assert_string_equal(err.message, cases[i].message);
    }
  }
}

/* Uses everything, for numbers and for texts, with any allocation failing. */
static tr_code use_all(void *context) {
  tr_kll_kind kind = *(const tr_kll_kind *)context;
  tr_kll_items items = kind == TR_KLL_TEXT ? TR_KLL_STRING : TR_KLL_INT64;
  tr_kll a = tr_kll_empty(kind, 8), b = tr_kll_empty(kind, 8), read = tr_kll_empty(kind, 8);
  tr_buffer bytes = {0};
  tr_kll_view view = {0};
  tr_code code = TR_OK;
  uint64_t added = 0;
  for (int64_t i = 0; i < 1200 && code == TR_OK; i++) {
    code = add_number(&a, i * 77 % 1200);
    added += code == TR_OK;
  }
  assert_true(tr_kll_count(&a) == added);
  for (int64_t i = 0; i < 300 && code == TR_OK; i++) code = add_number(&b, -i);
  if (code == TR_OK) code = tr_kll_write(&b, items, &bytes, NULL);
  if (code == TR_OK) code = tr_kll_read(&read, items, tr_buffer_bytes(&bytes), NULL);
  if (code == TR_OK) code = tr_kll_merge(&a, &read, NULL);
  if (code == TR_OK) code = tr_kll_merge(&b, &a, NULL);
  if (code == TR_OK) code = tr_kll_view_of(&b, &view, NULL);
  tr_kll_view_free(&view);
  tr_buffer_free(&bytes);
  tr_kll_free(&a);
  tr_kll_free(&b);
  tr_kll_free(&read);
  return code;
}

static void test_out_of_memory(void **state) {
  (void)state;
  tr_kll_kind numbers = TR_KLL_INTEGER, texts = TR_KLL_TEXT;
  assert_in_range(test_memory_fail_each(use_all, &numbers), 50, 1000);
  assert_in_range(test_memory_fail_each(use_all, &texts), 1500, 10000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact_up_to_k),
      cmocka_unit_test(test_bound_of_orders),
      cmocka_unit_test(test_bound_of_merges),
      cmocka_unit_test(test_merging_copies),
      cmocka_unit_test(test_bound_of_stored_totals),
      cmocka_unit_test(test_merge_is_exact_while_small),
      cmocka_unit_test(test_empty_changes_nothing),
      cmocka_unit_test(test_repeatable),
      cmocka_unit_test(test_order_of_reals),
      cmocka_unit_test(test_integers_and_reals),
      cmocka_unit_test(test_texts),
      cmocka_unit_test(test_many_texts),
      cmocka_unit_test(test_memory_is_bounded),
      cmocka_unit_test(test_too_many_values),
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_damage_is_named),
      cmocka_unit_test(test_width_is_named),
      cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

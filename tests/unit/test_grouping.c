/*
** Groupings, compared with a list that is searched from end to end with tr_value_compare. Random
** rows of every type, with every collation, must give the same groups, in the same order, with the
** keys of their first rows, the same counts and the same texts. Then come growth to a million
** groups, merging by parts, waiting rows, the memory limit, and failing allocations.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "add_row.h"
#include "combine/grouping.h"
#include "effort.h"
#include "next_group.h"
#include "test_memory.h"

/*
** --- two combine functions: one that owns no memory, one that does -----------------------------
*/

static tr_code count_add(const tr_combine *combine, void *state, const tr_value *inputs,
                         tr_error *err) {
  (void)combine, (void)inputs, (void)err;
  ++*(int64_t *)state;
  return TR_OK;
}

static tr_code count_merge(const tr_combine *combine, void *state, const void *other,
                           tr_error *err) {
  (void)combine, (void)err;
  *(int64_t *)state += *(const int64_t *)other;
  return TR_OK;
}

static const tr_combine_fn count_fn = {.name = "count",
                                       .state_size = sizeof(int64_t),
                                       .add_input = count_add,
                                       .merge_accumulators = count_merge};

/* Appends the text of the second argument, and a byte for the type of the third. */
static tr_code collect_add(const tr_combine *combine, void *state, const tr_value *inputs,
                           tr_error *err) {
  (void)combine;
  uint8_t type = (uint8_t)('0' + inputs[2].type);
  if (inputs[1].type < TR_TEXT) return tr_buffer_append_byte(state, type, err);
  tr_code code = tr_buffer_reserve(state, inputs[1].bytes.size + 1, err);
  if (code == TR_OK) code = tr_buffer_append(state, inputs[1].bytes, err);
  return code == TR_OK ? tr_buffer_append_byte(state, type, err) : code;
}

static tr_code collect_merge(const tr_combine *combine, void *state, const void *other,
                             tr_error *err) {
  (void)combine;
  return tr_buffer_append(state, tr_buffer_bytes(other), err);
}

static size_t collect_heap(const void *state) {
  return ((const tr_buffer *)state)->capacity;
}

static void collect_free(void *state) {
  tr_buffer_free(state);
}

static const tr_combine_fn collect_fn = {
    .name = "collect",
    .arguments = {{"n", TR_ARGUMENT_SHAPE, 0},
                  {"x", TR_ARGUMENT_INPUT, 0},
                  {"y", TR_ARGUMENT_INPUT, 0}},
    .state_size = sizeof(tr_buffer),
    .add_input = collect_add,
    .merge_accumulators = collect_merge,
    .heap_size = collect_heap,
    .free_accumulator = collect_free,
};

/* --- random rows --------------------------------------------------------------------------- */

#define KEYS 3
#define INPUTS 2
#define FILLER_SIZE 2000 /* a key that no random row has */
#define FILLERS 2000

typedef struct row {
  tr_value keys[KEYS];
  tr_value inputs[INPUTS];
} row;

static uint64_t random_state;

static uint32_t random_below(uint32_t n) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(random_state >> 33) % n;
}

static void seed_randomness(void) {
  const char *given = getenv("TRANCHE_SEED");
  random_state = given != NULL ? strtoull(given, NULL, 10) : 20240607;
  print_message("TRANCHE_SEED=%llu\n", (unsigned long long)random_state);
}

static const char *const texts[] = {"",
                                    "a",
                                    "A",
                                    "b ",
                                    "b",
                                    "B  ",
                                    "\xc3\xa4",
                                    "\xc3\x84",
                                    "0",
                                    "1.0",
                                    "sixteen bytes ...",
                                    "SIXTEEN bytes ...",
                                    "a\0b",
                                    "a\0c",
                                    "a\0"};
static const size_t text_sizes[] = {0, 1, 1, 2, 1, 3, 2, 2, 1, 3, 17, 17, 3, 3, 2};
static uint8_t long_text[400];

static tr_value random_value(void) {
  static const int64_t integers[] = {0,   1,      -1,    127,       128,           -129,      32768,
                                     255, -32768, 65536, INT64_MAX, -987654321098, 2147483648};
  static const double reals[] = {0.0, -0.0, 1.0, 1.5, -1.0, 0x1p62, 0x1p63, -0x1p63, 1e300, 128.0};
  uint32_t pick;
  switch (random_below(6)) {
  case 0: return tr_value_null();
  case 1: return tr_value_integer(integers[random_below(sizeof integers / sizeof *integers)]);
  case 2: return tr_value_real(reals[random_below(sizeof reals / sizeof *reals)]);
  case 3: return tr_value_text((tr_bytes){long_text, 100 + random_below(60)});
  default:
    pick = random_below(sizeof texts / sizeof *texts);
    tr_bytes bytes = {(const uint8_t *)texts[pick], text_sizes[pick]};
    return random_below(5) == 0 ? tr_value_blob(bytes) : tr_value_text(bytes);
  }
}

static row random_row(void) {
  row r;
  for (int i = 0; i < KEYS; i++) r.keys[i] = random_value();
  for (int i = 0; i < INPUTS; i++) r.inputs[i] = random_value();
  return r;
}

/*
** Rows of small integers and NULLs, which wait in another form than other rows. Some have 1.0 for
** 1.
*/
static row random_short_row(void) {
  row r = {.keys = {tr_value_null()}};
  r.keys[0] = tr_value_integer((int64_t)random_below(300) - 150);
  r.keys[1] = random_below(2) == 0 ? tr_value_null() : tr_value_integer(random_below(2));
  if (random_below(20) == 0) r.keys[0] = tr_value_real((double)r.keys[0].integer);
  for (int i = 0; i < INPUTS; i++) {
    r.inputs[i] = random_below(5) == 0 ? tr_value_null() : tr_value_integer(random_below(1000000));
  }
  return r;
}

/* Runs of short rows and runs of others. */
static void fill_with_runs(row *rows, size_t count) {
  for (size_t r = 0; r < count;) {
    int is_short = random_below(3) > 0;
    for (uint32_t left = 1 + random_below(400); left > 0 && r < count; left--) {
      rows[r++] = is_short ? random_short_row() : random_row();
    }
  }
}

/* --- the oracle ---------------------------------------------------------------------------- */

/*
** Whether two texts are equal by a collation, as SQLite's documentation describes it. (Zero bytes
** are as in SQLite's code.)
*/
static int equal_text(tr_bytes a, tr_bytes b, tr_collation collation) {
  if (collation == TR_COLLATION_RTRIM) {
    while (a.size > 0 && a.data[a.size - 1] == ' ') a.size--;
    while (b.size > 0 && b.data[b.size - 1] == ' ') b.size--;
  }
  if (a.size != b.size) return 0;
  for (size_t i = 0; i < a.size; i++) {
    uint8_t x = a.data[i], y = b.data[i];
    if (collation == TR_COLLATION_NOCASE) {
      if (x >= 'A' && x <= 'Z') x = (uint8_t)(x + 32);
      if (y >= 'A' && y <= 'Z') y = (uint8_t)(y + 32);
      if (x == 0 && y == 0) return 1;
    }
    if (x != y) return 0;
  }
  return 1;
}

static int equal_keys(const row *a, const row *b, const tr_collation *collations) {
  for (int i = 0; i < KEYS; i++) {
    const tr_value *x = &a->keys[i], *y = &b->keys[i];
    if (x->type == TR_TEXT && y->type == TR_TEXT) {
      if (!equal_text(x->bytes, y->bytes, collations[i])) return 0;
    } else if (tr_value_compare(x, y) != 0) {
      return 0;
    }
  }
  return 1;
}

typedef struct expected_group {
  const row *first;
  int64_t count;
  tr_buffer collected;
} expected_group;

static size_t group_plainly(const row *rows, size_t count, const tr_collation *collations,
                            expected_group *groups) {
  size_t found = 0;
  for (size_t r = 0; r < count; r++) {
    size_t g = 0;
    while (g < found && !equal_keys(groups[g].first, &rows[r], collations)) g++;
    if (g == found) groups[found++] = (expected_group){.first = &rows[r]};
    groups[g].count++;
    tr_value arguments[3] = {tr_value_null(), rows[r].inputs[0], rows[r].inputs[1]};
    assert_int_equal(collect_add(NULL, &groups[g].collected, arguments, NULL), TR_OK);
  }
  return found;
}

/* The same value of the same type; zeros with the same sign. */
static int is_same(const tr_value *a, const tr_value *b) {
  if (a->type != b->type) return 0;
  if (a->type == TR_REAL) return memcmp(&a->real, &b->real, sizeof a->real) == 0;
  return tr_value_compare(a, b) == 0;
}

static const tr_collation all_collations[KEYS] = {TR_COLLATION_BINARY, TR_COLLATION_NOCASE,
                                                  TR_COLLATION_RTRIM};

static const tr_group_aggregate aggregates[] = {
    {.combine = {.fn = &count_fn}},
    {.combine = {.fn = &collect_fn, .argument_count = 3}, .inputs = {-1, 0, 1}},
    {.combine = {.fn = &collect_fn, .argument_count = 3}, .inputs = {-1, 1, 0}},
};

static tr_group_shape shape_of(const tr_collation *collations) {
  return (tr_group_shape){.key_count = KEYS,
                          .collations = collations,
                          .aggregate_count = 3,
                          .aggregates = aggregates,
                          .input_count = INPUTS,
                          .seed = random_state};
}

static void check_groups(tr_grouping *table, const expected_group *groups, size_t count) {
  assert_int_equal(tr_grouping_count(table), count);
  tr_grouping_cursor cursor = {0};
  for (size_t g = 0; g < count; g++) {
    const tr_group *group = next_group(table, &cursor);
    assert_non_null(group);
    for (int i = 0; i < KEYS; i++) {
      tr_value field = tr_group_key_field(group, i);
      assert_true(is_same(&field, &groups[g].first->keys[i]));
    }
    assert_int_equal(*(const int64_t *)tr_grouping_state(table, group, 0), groups[g].count);
    tr_bytes collected = tr_buffer_bytes(tr_grouping_state(table, group, 1));
    assert_int_equal(tr_bytes_compare(collected, tr_buffer_bytes(&groups[g].collected)), 0);
  }
  assert_null(next_group(table, &cursor));
}

static void free_groups(expected_group *groups, size_t count) {
  for (size_t g = 0; g < count; g++) tr_buffer_free(&groups[g].collected);
  free(groups);
}

static void test_groups_of_random_rows(void **state) {
  (void)state;
  long rounds = test_effort(30);
  for (long round = 0; round < rounds; round++) {
    size_t count = 1 + random_below(3000);
    tr_collation collations[KEYS];
    for (int i = 0; i < KEYS; i++) collations[i] = all_collations[random_below(3)];
    row *rows = calloc(count, sizeof *rows);
    expected_group *groups = calloc(count, sizeof *groups);
    for (size_t r = 0; r < count; r++) rows[r] = random_row();
    size_t expected = group_plainly(rows, count, collations, groups);
    tr_group_shape shape = shape_of(collations);
    tr_grouping *table;
    tr_error err;
    assert_int_equal(tr_grouping_create(&shape, &table, &err), TR_OK);
    for (size_t r = 0; r < count; r++) {
      row copy = rows[r];
      assert_int_equal(add_row(table, copy.keys, copy.inputs, &err), TR_OK);
    }
    assert_int_equal(tr_grouping_flush(table, &err), TR_OK);
    check_groups(table, groups, expected);
    tr_grouping_free(table);
    free_groups(groups, expected);
    free(rows);
  }
}

/* --- one integer key, many groups ---------------------------------------------------------- */

static const tr_collation binary[1] = {TR_COLLATION_BINARY};

static tr_group_shape counting_shape(uint64_t memory_limit) {
  return (tr_group_shape){.key_count = 1,
                          .collations = binary,
                          .aggregate_count = 1,
                          .aggregates = aggregates,
                          .seed = random_state,
                          .memory_limit = memory_limit};
}

static tr_grouping *table_of(const tr_group_shape *shape, int64_t from, int64_t to) {
  tr_grouping *table;
  assert_int_equal(tr_grouping_create(shape, &table, NULL), TR_OK);
  for (int64_t i = from; i < to; i++) {
    tr_value key = tr_value_integer(i % 700000);
    assert_int_equal(add_row(table, &key, NULL, NULL), TR_OK);
  }
  assert_int_equal(tr_grouping_flush(table, NULL), TR_OK);
  return table;
}

static void test_many_groups(void **state) {
  (void)state;
  tr_group_shape shape = counting_shape(0);
  int64_t rows = test_effort(1500000);
  int64_t groups = rows < 700000 ? rows : 700000;
  tr_grouping *table = table_of(&shape, 0, rows);
  assert_int_equal(tr_grouping_count(table), groups);
  tr_grouping_cursor cursor = {0};
  uint8_t *is_seen = calloc(1, (size_t)groups);
  for (int64_t i = 0; i < groups; i++) {
    const tr_group *group = next_group(table, &cursor);
    int64_t key = tr_group_key_field(group, 0).integer;
    assert_in_range(key, 0, groups - 1);
    assert_false(is_seen[key]);
    is_seen[key] = 1;
    assert_int_equal(*(const int64_t *)tr_grouping_state(table, group, 0),
                     (rows - 1 - key) / 700000 + 1);
  }
  assert_null(next_group(table, &cursor));
  free(is_seen);
  /*
  ** The documentation promises at most 8 + 8 + 8 bytes and 32 of index for each group. The bound is
  ** a little wider.
  */
  if (groups > 100000) {
    uint64_t memory = tr_grouping_memory(table);
    print_message("%lld groups of one integer, one count: %.1f bytes each\n", (long long)groups,
                  (double)memory / (double)groups);
    /*
    ** 4 MB are for the unused rest of the arena's last block, which does not grow with the groups.
    */
    assert_true(memory < (uint64_t)groups * (16 + 8 + 8 + 18 + 10) + (4 << 20));
  }
  tr_grouping_free(table);
}

static void test_merge_of_many(void **state) {
  (void)state;
  tr_group_shape shape = counting_shape(0);
  int64_t rows = test_effort(300000);
  tr_grouping *merged, *a = table_of(&shape, 0, rows);
  tr_grouping *b = table_of(&shape, rows / 2, rows + rows / 2);
  int64_t total_groups = rows + rows / 2 < 700000 ? rows + rows / 2 : 700000, counted = 0;
  assert_int_equal(tr_grouping_create(&shape, &merged, NULL), TR_OK);
  assert_int_equal(tr_grouping_merge(merged, a, NULL), TR_OK);
  assert_int_equal(tr_grouping_merge(merged, b, NULL), TR_OK);
  assert_int_equal(tr_grouping_count(merged), total_groups);
  tr_grouping_cursor cursor = {0};
  for (const tr_group *g; (g = next_group(merged, &cursor)) != NULL;) {
    int64_t key = tr_group_key_field(g, 0).integer;
    int64_t count = *(const int64_t *)tr_grouping_state(merged, g, 0);
    assert_int_equal(count, key >= rows / 2 && key < rows ? 2 : 1);
    counted += count;
  }
  assert_int_equal(counted, 2 * rows);
  tr_grouping_free(merged);
  tr_grouping_free(a);
  tr_grouping_free(b);
}

/* The groups of the table, without the fillers, are `groups`, in any order. */
static void check_groups_in_any_order(tr_grouping *table, const expected_group *groups,
                                      size_t count) {
  tr_grouping_cursor cursor = {0};
  size_t found = 0;
  for (const tr_group *g; (g = next_group(table, &cursor)) != NULL;) {
    tr_value fields[KEYS];
    for (int k = 0; k < KEYS; k++) fields[k] = tr_group_key_field(g, k);
    if (fields[0].type == TR_BLOB && fields[0].bytes.size == FILLER_SIZE) continue;
    size_t i = 0;
    for (; i < count; i++) {
      int same = 1;
      for (int k = 0; k < KEYS; k++) same = same && is_same(&fields[k], &groups[i].first->keys[k]);
      if (same) break;
    }
    assert_true(i < count);
    found++;
    assert_int_equal(*(const int64_t *)tr_grouping_state(table, g, 0), groups[i].count);
    tr_bytes collected = tr_buffer_bytes(tr_grouping_state(table, g, 1));
    assert_int_equal(tr_bytes_compare(collected, tr_buffer_bytes(&groups[i].collected)), 0);
  }
  assert_int_equal(found, count);
}

/* Adds groups that only make a table large, so that it is cut into parts. */
static tr_code add_filler(tr_grouping *table, size_t key_count, int count, tr_error *err) {
  static uint8_t bytes[FILLER_SIZE];
  row filler = {.keys = {{.type = TR_BLOB, .bytes = {bytes, sizeof bytes}}}};
  assert_true(key_count <= KEYS);
  tr_code code = TR_OK;
  for (int i = 0; i < count && code == TR_OK; i++) {
    memcpy(bytes, &i, sizeof i);
    code = add_row(table, filler.keys, filler.inputs, err);
  }
  return code;
}

static void test_random_rows_in_parts(void **state) {
  (void)state;
  long rounds = test_effort(4);
  for (long round = 0; round < rounds; round++) {
    size_t count = 2500, half = random_below(2500);
    row *rows = calloc(count, sizeof *rows);
    expected_group *groups = calloc(count, sizeof *groups);
    fill_with_runs(rows, count);
    size_t expected = group_plainly(rows, count, all_collations, groups);
    tr_group_shape shape = shape_of(all_collations);
    tr_grouping *table;
    assert_int_equal(tr_grouping_create(&shape, &table, NULL), TR_OK);
    for (size_t r = 0; r < count; r++) {
      if (r == half) assert_int_equal(add_filler(table, KEYS, FILLERS, NULL), TR_OK);
      row copy = rows[r];
      assert_int_equal(add_row(table, copy.keys, copy.inputs, NULL), TR_OK);
    }
    assert_int_equal(tr_grouping_flush(table, NULL), TR_OK);
    assert_int_equal(tr_grouping_count(table), expected + FILLERS);
    check_groups_in_any_order(table, groups, expected);
    tr_grouping *merged;
    assert_int_equal(tr_grouping_create(&shape, &merged, NULL), TR_OK);
    assert_int_equal(tr_grouping_merge(merged, table, NULL), TR_OK);
    assert_int_equal(tr_grouping_count(merged), expected + FILLERS);
    check_groups_in_any_order(merged, groups, expected);
    tr_grouping_free(merged);
    tr_grouping_free(table);
    free_groups(groups, expected);
    free(rows);
  }
}

/*
** Merging tables of parts of the rows gives the groups of all rows, with keys as the first part has
** them.
*/
static void test_merge_is_whole(void **state) {
  (void)state;
  size_t count = 2000;
  row *rows = calloc(count, sizeof *rows);
  expected_group *groups = calloc(count, sizeof *groups);
  for (size_t r = 0; r < count; r++) rows[r] = random_row();
  size_t expected = group_plainly(rows, count, all_collations, groups);
  tr_group_shape shape = shape_of(all_collations);
  tr_grouping *whole, *part;
  assert_int_equal(tr_grouping_create(&shape, &whole, NULL), TR_OK);
  for (size_t from = 0; from < count; from += 500) {
    assert_int_equal(tr_grouping_create(&shape, &part, NULL), TR_OK);
    for (size_t r = from; r < from + 500; r++) {
      assert_int_equal(add_row(part, rows[r].keys, rows[r].inputs, NULL), TR_OK);
    }
    assert_int_equal(tr_grouping_flush(part, NULL), TR_OK);
    assert_int_equal(tr_grouping_merge(whole, part, NULL), TR_OK);
    tr_grouping_free(part);
  }
  assert_int_equal(tr_grouping_count(whole), expected);
  check_groups(whole, groups, expected);
  tr_grouping_free(whole);
  free_groups(groups, expected);
  free(rows);
}

static void test_no_keys(void **state) {
  (void)state;
  tr_group_shape shape = {.aggregate_count = 1, .aggregates = aggregates};
  tr_grouping *table;
  tr_grouping_cursor cursor = {0};
  assert_int_equal(tr_grouping_create(&shape, &table, NULL), TR_OK);
  assert_null(next_group(table, &cursor));
  for (int i = 0; i < 2; i++) assert_int_equal(tr_grouping_ensure_one(table, NULL), TR_OK);
  assert_int_equal(tr_grouping_count(table), 1);
  for (int i = 0; i < 5; i++) assert_int_equal(add_row(table, NULL, NULL, NULL), TR_OK);
  const tr_group *group = next_group(table, &cursor);
  assert_int_equal(*(const int64_t *)tr_grouping_state(table, group, 0), 5);
  assert_null(next_group(table, &cursor));
  tr_grouping_free(table);
}

/* A single group is never cut into parts, however much memory it owns. */
static void test_no_keys_and_much_memory(void **state) {
  (void)state;
  static uint8_t bytes[100000];
  tr_value inputs[INPUTS] = {tr_value_text((tr_bytes){bytes, sizeof bytes}), tr_value_null()};
  tr_group_shape shape = {.aggregate_count = 3,
                          .aggregates = aggregates,
                          .input_count = INPUTS,
                          .memory_limit = UINT64_C(200) << 20};
  tr_grouping *table;
  assert_int_equal(tr_grouping_create(&shape, &table, NULL), TR_OK);
  for (int i = 0; i < 50; i++) {
    assert_int_equal(add_row(table, NULL, inputs, NULL), TR_OK);
  }
  assert_int_equal(tr_grouping_flush(table, NULL), TR_OK);
  assert_int_equal(tr_grouping_ensure_one(table, NULL), TR_OK);
  tr_grouping_cursor cursor = {0};
  const tr_group *group = next_group(table, &cursor);
  assert_int_equal(*(const int64_t *)tr_grouping_state(table, group, 0), 50);
  assert_null(next_group(table, &cursor));
  tr_grouping_free(table);
}

/* Keys longer than a chunk, among short ones. */
static void test_long_keys(void **state) {
  (void)state;
  tr_group_shape shape = counting_shape(0);
  tr_grouping *table;
  tr_error err;
  assert_int_equal(tr_grouping_create(&shape, &table, &err), TR_OK);
  size_t size = (size_t)3 << 20;
  uint8_t *big = calloc(1, size);
  for (int turn = 0; turn < 2; turn++) {
    for (uint8_t i = 0; i < 5; i++) {
      big[size - 1] = i;
      tr_value key = tr_value_blob((tr_bytes){big, size});
      assert_int_equal(add_row(table, &key, NULL, &err), TR_OK);
      key = tr_value_integer(i);
      assert_int_equal(add_row(table, &key, NULL, &err), TR_OK);
    }
  }
  assert_int_equal(tr_grouping_flush(table, &err), TR_OK);
  assert_int_equal(tr_grouping_count(table), 10);
  tr_grouping_cursor cursor = {0};
  int seen = 0;
  for (const tr_group *group; (group = next_group(table, &cursor)) != NULL;) {
    tr_value key = tr_group_key_field(group, 0);
    int number = key.type == TR_BLOB ? key.bytes.data[size - 1] : (int)key.integer;
    seen |= 1 << (number + (key.type == TR_BLOB ? 5 : 0));
    assert_int_equal(*(const int64_t *)tr_grouping_state(table, group, 0), 2);
  }
  assert_int_equal(seen, 0x3ff);
  free(big);
  tr_grouping_free(table);
}

/*
** A row longer than a buffer is added at once, but after the rows of its group that wait in both
** buffers of the part.
*/
static void test_long_rows_keep_their_place(void **state) {
  (void)state;
  enum { WAITING = 200000, LONG = 1 << 20 };
  static const tr_collation collations[] = {TR_COLLATION_BINARY};
  static const tr_group_aggregate collects[] = {
      {.combine = {.fn = &collect_fn, .argument_count = 3}, .inputs = {0, 0, 1}}};
  tr_group_shape shape = {.key_count = 1,
                          .collations = collations,
                          .aggregate_count = 1,
                          .aggregates = collects,
                          .input_count = INPUTS};
  tr_grouping *table;
  tr_error err;
  assert_int_equal(tr_grouping_create(&shape, &table, &err), TR_OK);
  assert_int_equal(add_filler(table, 1, FILLERS, &err), TR_OK);
  uint8_t *big = malloc(LONG);
  memset(big, 'b', LONG);
  tr_value key = tr_value_integer(7), inputs[INPUTS] = {tr_value_text((tr_bytes){big, 0})};
  for (int i = 0; i < WAITING; i++) {
    inputs[1] = tr_value_integer(i);
    if (i == WAITING - 1) inputs[0] = tr_value_text((tr_bytes){big, LONG});
    assert_int_equal(add_row(table, &key, inputs, &err), TR_OK);
  }
  assert_int_equal(tr_grouping_flush(table, &err), TR_OK);
  tr_grouping_cursor cursor = {0};
  int seen = 0;
  for (const tr_group *group; (group = next_group(table, &cursor)) != NULL;) {
    if (tr_group_key_field(group, 0).type != TR_INTEGER) continue;
    tr_bytes collected = tr_buffer_bytes(tr_grouping_state(table, group, 0));
    assert_int_equal(collected.size, WAITING + LONG);
    assert_int_equal(collected.data[WAITING - 2], '1');
    assert_int_equal(collected.data[WAITING - 1], 'b');
    seen++;
  }
  assert_int_equal(seen, 1);
  free(big);
  tr_grouping_free(table);
}

static void test_memory_limit(void **state) {
  (void)state;
  for (uint64_t limit = 100; limit <= 100000000; limit *= 10) {
    tr_group_shape shape = counting_shape(limit);
    tr_grouping *table;
    tr_error err;
    tr_code code = tr_grouping_create(&shape, &table, &err);
    for (int64_t i = 0; code == TR_OK; i++) {
      tr_value key = tr_value_integer(i);
      code = add_row(table, &key, NULL, &err);
      assert_true(tr_grouping_memory(table) <= limit);
      assert_true((uint64_t)i < limit);
    }
    assert_int_equal(code, TR_TOO_BIG);
    assert_non_null(strstr(err.message, "limit of 1"));
    tr_grouping_free(table);
  }
  /* What accumulators own counts too. */
  tr_group_shape shape = shape_of(all_collations);
  shape.memory_limit = 1000000;
  tr_grouping *table;
  tr_error err;
  tr_code code = tr_grouping_create(&shape, &table, &err);
  row r = random_row();
  r.inputs[0] = tr_value_text((tr_bytes){long_text, sizeof long_text});
  long rows = 0;
  for (; code == TR_OK; rows++) code = add_row(table, r.keys, r.inputs, &err);
  assert_int_equal(code, TR_TOO_BIG);
  assert_in_range(rows, 300, 1000000 / sizeof long_text);
  tr_grouping_free(table);
}

/* A run that grows, splits, lets rows wait, and merges. */
static tr_code run_all(const row *rows, size_t count, tr_error *err) {
  tr_group_shape shape = shape_of(all_collations);
  tr_group_shape counting = counting_shape(0);
  tr_grouping *table = NULL, *merged = NULL, *numbers = NULL;
  tr_code code = tr_grouping_create(&shape, &table, err);
  for (size_t i = 0; i < count && code == TR_OK; i++) {
    code = add_row(table, rows[i].keys, rows[i].inputs, err);
  }
  if (code == TR_OK) code = tr_grouping_flush(table, err);
  if (code == TR_OK) code = tr_grouping_create(&shape, &merged, err);
  if (code == TR_OK) code = tr_grouping_merge(merged, table, err);
  if (code == TR_OK) code = tr_grouping_create(&counting, &numbers, err);
  if (code == TR_OK) code = add_filler(numbers, 1, FILLERS, err);
  for (int64_t i = 0; i < 500 && code == TR_OK; i++) {
    tr_value key = tr_value_integer(i);
    code = add_row(numbers, &key, NULL, err);
  }
  if (code == TR_OK) code = tr_grouping_flush(numbers, err);
  tr_grouping_free(table);
  tr_grouping_free(merged);
  tr_grouping_free(numbers);
  return code;
}

/* Runs that with the n-th allocation failing, for all n. */
static void test_failing_allocations(void **state) {
  (void)state;
  row rows[100];
  for (size_t i = 0; i < 100; i++) rows[i] = random_row();
  long live = test_memory_live(), step = 100 / test_effort(100);
  for (long n = 1;; n += step) {
    tr_error err = {0};
    test_memory_fail_at(n);
    tr_code code = run_all(rows, 100, &err);
    int failed = test_memory_has_failed();
    test_memory_fail_at(0);
    assert_int_equal(test_memory_live(), live);
    assert_int_equal(code, failed ? TR_NO_MEMORY : TR_OK);
    if (!failed) break;
    assert_int_equal(err.code, TR_NO_MEMORY);
  }
}

int main(void) {
  memset(long_text, 'x', sizeof long_text);
  seed_randomness();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_groups_of_random_rows),
      cmocka_unit_test(test_many_groups),
      cmocka_unit_test(test_merge_of_many),
      cmocka_unit_test(test_merge_is_whole),
      cmocka_unit_test(test_random_rows_in_parts),
      cmocka_unit_test(test_no_keys),
      cmocka_unit_test(test_no_keys_and_much_memory),
      cmocka_unit_test(test_long_keys),
      cmocka_unit_test(test_long_rows_keep_their_place),
      cmocka_unit_test(test_memory_limit),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
** histogram(x, bins): a small picture of how the numbers of a column are distributed, as text.
**
**    -50 ..   0   9123  ██████████████████████
**      0 ..  50  16840  ████████████████████████████████████████
**     50 .. 100   1577  ███▊
**
** Bins are equally wide and half open: an edge belongs to the bin above it. The width is 1, 2 or 5
** times a power of ten: the least with which at most `bins` bins cover all values. With INTEGERs
** alone it is at least 1. Edges are multiples of the width, so that they are easy to read.
** Infinities have rows of their own, beyond `bins`. NULLs are ignored; text and BLOBs are errors.
** Without numbers the output is NULL.
**
** The counts come from a KLL sketch (kll.h) with k = 2048. They are exact up to 2048 values, and
** beyond that within 1/400 of all values. They always sum to the number of values. The rows of the
** minimum and the maximum, which are known exactly, show at least 1. So one pass over any number of
** rows needs some 100 KB, and histograms of parts can be merged.
**
** An edge is a whole number of units of 10^exponent. Printed from that, 0.3 is not
** 0.30000000000000004. With INTEGERs alone all arithmetic is done in integers and is right for all
** 64 bits. With REALs an edge is a double, and bins are wide enough for doubles to tell edges
** apart.
*/
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "base/memory.h"
#include "combine/functions.h"
#include "combine/kll.h"

#define K 2048
/* Zero is always an edge, so values on both sides of it need two bins. */
#define MIN_BINS 2
#define MAX_BINS 1000
/* The longest bar in characters. Each can show eighths. */
#define BAR_WIDTH 40
#define EDGE_SIZE 48

static tr_code check_parameters(const tr_combine *combine, tr_error *err) {
  return tr_combine_check_integer(combine, 1, MIN_BINS, MAX_BINS, err);
}

static tr_code create_accumulator(const tr_combine *combine, void *state, tr_error *err) {
  (void)combine, (void)err;
  *(tr_kll *)state = tr_kll_empty(TR_KLL_INTEGER, K);
  return TR_OK;
}

static tr_code add_input(const tr_combine *combine, void *state, const tr_value *inputs,
                         tr_error *err) {
  switch (inputs[0].type) {
  case TR_NULL: return TR_OK;
  case TR_INTEGER: return tr_kll_add_integer(state, inputs[0].integer, err);
  case TR_REAL: return tr_kll_add_real(state, inputs[0].real, err);
  default: return tr_argument_error(err, combine->fn->name, "x", &inputs[0], "must be a number");
  }
}

/* Adds NULLs and numbers, but not the number that fills the batch. */
static int add_rows(const tr_combine_rows *rows, int first) {
  if (rows->has_one_state && first < rows->count) {
    return first + tr_kll_add_run_in_place(tr_combine_rows_state(rows, first),
                                           tr_combine_rows_input(rows, first), rows->stride,
                                           rows->count - first);
  }
  for (int i = first; i < rows->count; i++) {
    const tr_value *input = tr_combine_rows_input(rows, i);
    if (input->type == TR_NULL) continue;
    if (input->type >= TR_TEXT || !tr_kll_add_in_place(tr_combine_rows_state(rows, i), input)) {
      return i;
    }
  }
  return rows->count;
}

static tr_code merge_accumulators(const tr_combine *combine, void *state, const void *other,
                                  tr_error *err) {
  (void)combine;
  return tr_kll_merge(state, other, err);
}

/* --- bins --------------------------------------------------------------------------------- */

/*
** Bin i goes from (first + i) * step units to (first + i + 1) * step units. A unit is 10^exponent.
*/
typedef struct bins {
  int64_t first;
  int step, exponent;
  int count;
  uint64_t *counts; /* then two more: -infinity, infinity */
} bins;

/* Bins of INTEGERs. A width is at most 10^19, which an unsigned 64-bit integer can hold. */

static uint64_t integer_width(const bins *b) {
  uint64_t width = (uint64_t)b->step;
  for (int i = 0; i < b->exponent; i++) width *= 10;
  return width;
}

static int64_t floor_of_quotient(int64_t x, uint64_t width) {
  if (x >= 0) return (int64_t)((uint64_t)x / width);
  return -(int64_t)((UINT64_MAX - (uint64_t)x) / width) - 1; /* UINT64_MAX - x is -x - 1 */
}

static void choose_integer_width(bins *b, int64_t low, int64_t high, int most) {
  static const int steps[] = {1, 2, 5};
  for (b->exponent = 0;; b->exponent++) {
    for (int i = 0; i < 3; i++) {
      b->step = steps[i];
      uint64_t width = integer_width(b);
      b->first = floor_of_quotient(low, width);
      uint64_t beyond = (uint64_t)floor_of_quotient(high, width) - (uint64_t)b->first;
      if (beyond >= (uint64_t)most) continue;
      b->count = (int)beyond + 1;
      return;
    }
  }
}

static void count_integers(const tr_kll_entry *entries, size_t count, bins *b) {
  uint64_t width = integer_width(b);
  for (size_t i = 0; i < count; i++) {
    int64_t bin = floor_of_quotient(entries[i].item.key, width);
    b->counts[bin - b->first] += entries[i].weight;
  }
}

/* Bins of REALs. */

static double scaled(double units, int exponent) {
  return exponent < 0 ? units / pow(10, -exponent) : units * pow(10, exponent);
}

static double edge_at(const bins *b, int64_t i) {
  return scaled((double)((b->first + i) * b->step), b->exponent);
}

/*
** 1: low..high fits into at most `most` bins of the current width; sets `first` and `count`. 0: it
** needs more.
*/
static int try_width(bins *b, double low, double high, int most) {
  double width = scaled(b->step, b->exponent);
  double first = floor(low / width), last = floor(high / width);
  if (!(last - first < most)) return 0;
  b->first = (int64_t)first;
  b->count = (int)(last - first) + 1;
  /* The division may have rounded past an edge. */
  if (edge_at(b, 0) > low) b->first--, b->count++;
  if (edge_at(b, b->count) <= high) b->count++;
  return b->count <= most;
}

/* Chooses the narrowest bins that are wide enough for a double to tell their edges apart. */
static void choose_real_width(bins *b, double low, double high, int most) {
  static const int steps[] = {1, 2, 5};
  double largest = fmax(fabs(low), fabs(high));
  /* Divides first, because the difference could overflow. */
  double least = fmax(high / most - low / most, largest * 0x1p-50);
  if (low == high) least = fmax(least, 1);
  least = fmax(least, DBL_MIN);
  for (b->exponent = (int)floor(log10(least)) - 1;; b->exponent++) {
    for (int i = 0; i < 3; i++) {
      b->step = steps[i];
      if (scaled(b->step, b->exponent) >= least && try_width(b, low, high, most)) return;
    }
  }
}

/* Finds the lowest and the highest finite value. Returns 0 if there is none. */
static int find_finite(const tr_kll_view *view, double *low, double *high) {
  *low = INFINITY, *high = -INFINITY;
  double ends[] = {tr_kll_real_of_key(view->minimum.key), tr_kll_real_of_key(view->maximum.key)};
  for (int i = 0; i < 2; i++) {
    if (isfinite(ends[i])) *low = fmin(*low, ends[i]), *high = fmax(*high, ends[i]);
  }
  for (size_t i = 0; i < view->count; i++) {
    double x = tr_kll_real_of_key(view->entries[i].item.key);
    if (isfinite(x)) *low = fmin(*low, x), *high = fmax(*high, x);
  }
  return *low <= *high;
}

static void count_reals(const tr_kll_entry *entries, size_t count, bins *b) {
  int bin = 0;
  for (size_t i = 0; i < count; i++) {
    double x = tr_kll_real_of_key(entries[i].item.key);
    while (bin < b->count - 1 && x >= edge_at(b, bin + 1)) bin++;
    int at = x == -INFINITY ? b->count : x == INFINITY ? b->count + 1 : bin;
    b->counts[at] += entries[i].weight;
  }
}

/* Bins of INTEGERs or REALs, for a sketch that is not empty. */

static void choose_width(const tr_kll *kll, const tr_kll_view *view, int most, bins *b) {
  double low, high;
  if (kll->kind == TR_KLL_INTEGER) {
    choose_integer_width(b, view->minimum.key, view->maximum.key, most);
  } else if (find_finite(view, &low, &high)) {
    choose_real_width(b, low, high, most);
  }
}

/*
** An entry for the minimum or the maximum, if the sketch has dropped it; else its weight is 0. The
** dropped value is one of those that other entries stand for. So its weight is taken from the
** nearest entry that has more than 1. There is one, unless the image was false: the weights above 1
** together count just the dropped values.
*/
static tr_kll_entry dropped_end(tr_kll_view *view, tr_kll_item end, int is_minimum) {
  size_t last = view->count - 1;
  tr_kll_entry entry = {.item = end, .weight = 0};
  if (view->entries[is_minimum ? 0 : last].item.key == end.key) return entry;
  for (size_t i = 0; i <= last && entry.weight == 0; i++) {
    tr_kll_entry *nearest = &view->entries[is_minimum ? i : last - i];
    if (nearest->weight == 1) continue;
    nearest->weight--;
    entry.weight = 1;
  }
  return entry;
}

static void count_all(const tr_kll *kll, tr_kll_view *view, bins *b) {
  void (*count)(const tr_kll_entry *, size_t, bins *) =
      kll->kind == TR_KLL_INTEGER ? count_integers : count_reals;
  tr_kll_entry minimum = dropped_end(view, view->minimum, 1);
  tr_kll_entry maximum = dropped_end(view, view->maximum, 0);
  count(&minimum, 1, b);
  count(view->entries, view->count, b);
  count(&maximum, 1, b);
}

static tr_code make_bins(const tr_kll *kll, int most, bins *b, tr_error *err) {
  tr_kll_view view;
  tr_code code = tr_kll_view_of(kll, &view, err);
  if (code != TR_OK) return code;
  *b = (bins){.count = 0};
  choose_width(kll, &view, most, b);
  size_t size = (size_t)(b->count + 2) * sizeof *b->counts;
  b->counts = tr_malloc(size);
  if (b->counts == NULL) {
    code = tr_error_no_memory(err);
  } else {
    memset(b->counts, 0, size);
    count_all(kll, &view, b);
  }
  tr_kll_view_free(&view);
  return code;
}

/* --- the picture -------------------------------------------------------------------------- */

/* Prints `units` of 10^exponent as plain digits, or with an exponent if that would be long. */
static void print_edge(int is_negative, uint64_t units, int exponent, char *text) {
  char digits[24];
  const char *sign = is_negative ? "-" : "";
  if (units == 0 || (exponent >= 0 && exponent <= 12)) {
    int zeros = units == 0 ? 0 : exponent;
    snprintf(text, EDGE_SIZE, "%s%llu%.*s", sign, (unsigned long long)units, zeros, "000000000000");
    return;
  }
  if (exponent > 12 || exponent < -12) {
    snprintf(text, EDGE_SIZE, "%s%llue%d", sign, (unsigned long long)units, exponent);
    return;
  }
  /* At least one digit before the point. */
  snprintf(digits, sizeof digits, "%0*llu", 1 - exponent, (unsigned long long)units);
  int whole = (int)strlen(digits) + exponent;
  snprintf(text, EDGE_SIZE, "%s%.*s.%s", sign, whole, digits, digits + whole);
}

/*
** An edge may be just outside the signed 64-bit range, so the sign and the size are computed apart.
*/
static void print_bin_edge(const bins *b, int i, char *text) {
  uint64_t first = (uint64_t)b->first, edge = first + (uint64_t)i;
  int is_negative = b->first < 0 && (uint64_t)i < 0 - first;
  print_edge(is_negative, (is_negative ? 0 - edge : edge) * (uint64_t)b->step, b->exponent, text);
}

static tr_code append_bar(tr_buffer *text, uint64_t count, uint64_t highest, tr_error *err) {
  /* U+2588 is a full block; U+258F to U+2589 are one to seven eighths. */
  int eighths = (int)(8.0 * BAR_WIDTH * (double)count / (double)highest + 0.5);
  if (eighths == 0 && count > 0) eighths = 1;
  tr_code code = eighths > 0 ? tr_buffer_append_text(text, "  ", err) : TR_OK;
  for (; code == TR_OK && eighths > 0; eighths -= 8) {
    uint8_t block[] = {0xe2, 0x96, (uint8_t)(eighths >= 8 ? 0x88 : 0x90 - eighths)};
    code = tr_buffer_append(text, (tr_bytes){block, sizeof block}, err);
  }
  return code;
}

/* Columns: lower and upper edge, count, bar. */
typedef struct picture {
  const bins *bins;
  int edge_width, count_width;
  uint64_t highest;
  tr_buffer *text;
} picture;

static tr_code append_row(picture *p, const char *low, const char *high, uint64_t count,
                          tr_error *err) {
  tr_code code = TR_OK;
  if (p->text->size > 0) code = tr_buffer_append_byte(p->text, '\n', err);
  if (code != TR_OK) return code;
  const char *between = low[0] != '\0' && high[0] != '\0' ? " .. " : "    ";
  code = tr_buffer_printf(p->text, err, "%*s%s%*s  %*llu", p->edge_width, low, between,
                          p->edge_width, high, p->count_width, (unsigned long long)count);
  return code == TR_OK ? append_bar(p->text, count, p->highest, err) : code;
}

static void measure(picture *p) {
  const bins *b = p->bins;
  char text[EDGE_SIZE];
  int has_infinities = b->counts[b->count] > 0 || b->counts[b->count + 1] > 0;
  p->edge_width = has_infinities ? (int)strlen("-infinity") : 1;
  for (int i = 0; i <= b->count && b->count > 0; i++) {
    print_bin_edge(b, i, text);
    if ((int)strlen(text) > p->edge_width) p->edge_width = (int)strlen(text);
  }
  for (int i = 0; i < b->count + 2; i++) {
    if (b->counts[i] > p->highest) p->highest = b->counts[i];
  }
  p->count_width = snprintf(NULL, 0, "%llu", (unsigned long long)p->highest);
}

static tr_code draw(const bins *b, tr_buffer *text, tr_error *err) {
  picture p = {.bins = b, .text = text};
  char low[EDGE_SIZE], high[EDGE_SIZE];
  measure(&p);
  tr_code code = TR_OK;
  if (b->counts[b->count] > 0) code = append_row(&p, "-infinity", "", b->counts[b->count], err);
  for (int i = 0; code == TR_OK && i < b->count; i++) {
    print_bin_edge(b, i, low);
    print_bin_edge(b, i + 1, high);
    code = append_row(&p, low, high, b->counts[i], err);
  }
  if (code == TR_OK && b->counts[b->count + 1] > 0) {
    code = append_row(&p, "", "infinity", b->counts[b->count + 1], err);
  }
  return code;
}

static tr_code extract_output(const tr_combine *combine, const void *state,
                              tr_combine_output *output, tr_error *err) {
  const tr_kll *kll = state;
  output->value = tr_value_null();
  if (tr_kll_count(kll) == 0) return TR_OK;
  bins b = {.counts = NULL};
  tr_code code = make_bins(kll, (int)combine->parameters[1].integer, &b, err);
  if (code == TR_OK) code = draw(&b, &output->storage, err);
  tr_free(b.counts);
  if (code == TR_OK) output->value = tr_value_text(tr_buffer_bytes(&output->storage));
  return code;
}

/* --- bytes -------------------------------------------------------------------------------- */

/* A byte for the form of the numbers, then the sketch. */
static tr_code write_accumulator(const tr_combine *combine, const void *state, tr_buffer *bytes,
                                 tr_error *err) {
  (void)combine;
  const tr_kll *kll = state;
  tr_kll_items items = kll->kind == TR_KLL_INTEGER ? TR_KLL_INT64 : TR_KLL_DOUBLE;
  tr_code code = tr_buffer_append_byte(bytes, (uint8_t)items, err);
  if (code != TR_OK) return code;
  code = tr_kll_write(kll, items, bytes, err);
  if (code != TR_OK) bytes->size--;
  return code;
}

static tr_code read_accumulator(const tr_combine *combine, void *state, tr_bytes bytes,
                                tr_error *err) {
  (void)combine;
  if (bytes.size == 0 || bytes.data[0] > TR_KLL_DOUBLE) {
    return tr_error_set(err, TR_CORRUPT, "histogram: no numbers of a known form");
  }
  tr_bytes image = {bytes.data + 1, bytes.size - 1};
  return tr_kll_read_own(state, K, (tr_kll_items)bytes.data[0], image, err);
}

static size_t heap_size(const void *state) {
  return tr_kll_heap_size(state);
}

static void free_accumulator(void *state) {
  tr_kll_free(state);
}

const tr_combine_fn tr_combine_histogram = {
    .name = "histogram",
    .tag = 24,
    .arguments = {{"x", TR_ARGUMENT_INPUT, 0}, {"bins", TR_ARGUMENT_SHAPE, 0}},
    .state_size = sizeof(tr_kll),
    .check_parameters = check_parameters,
    .create_accumulator = create_accumulator,
    .add_input = add_input,
    .add_rows = add_rows,
    .merge_accumulators = merge_accumulators,
    .extract_output = extract_output,
    .write_accumulator = write_accumulator,
    .read_accumulator = read_accumulator,
    .heap_size = heap_size,
    .free_accumulator = free_accumulator,
};

/*
** Converts the states of functions to sketches and back; one table says which state has which form.
** Sketches from outside have their own parameters. So they are read into a sketch of their own,
** which is then merged into the state.
*/
#include "combine/sketch.h"

#include "combine/approx_quantiles.h"
#include "combine/approx_top_count.h"
#include "combine/functions.h"
#include "combine/hll.h"

/* --- approx_count_distinct ---------------------------------------------------------------- */

static tr_code write_hll(const void *state, tr_buffer *sketch, tr_error *err) {
  tr_hll empty = tr_hll_empty(TR_HLL_LG_K);
  return tr_hll_write(state == NULL ? &empty : state, sketch, err);
}

static tr_code read_hll(int items, tr_bytes sketch, void *state, tr_error *err) {
  (void)items;
  tr_hll read;
  tr_code code = tr_hll_read(&read, sketch, err);
  if (code != TR_OK) return code;
  code = tr_hll_merge(state, &read, err);
  tr_hll_free(&read);
  return code;
}

/* --- quantiles ---------------------------------------------------------------------------- */

static tr_code write_kll(const void *state, tr_buffer *sketch, tr_error *err) {
  tr_kll empty = tr_kll_empty(TR_KLL_REAL, TR_QUANTILES_LEAST_K);
  if (state == NULL) return tr_kll_write(&empty, TR_KLL_DOUBLE, sketch, err);
  const tr_quantiles *quantiles = state;
  if (tr_kll_count(&quantiles->texts) == 0) {
    return tr_kll_write(&quantiles->numbers, TR_KLL_DOUBLE, sketch, err);
  }
  if (tr_kll_count(&quantiles->numbers) == 0) {
    return tr_kll_write(&quantiles->texts, TR_KLL_STRING, sketch, err);
  }
  return tr_error_set(err, TR_INVALID_ARGUMENT,
                      "holds both numbers and text, a sketch one of them");
}

/*
** A sketch with the k that our images declare replaces ours, so that nothing is lost: merged into
** ours, which has half that k, it would be compacted. (An empty one is merged. It must not turn the
** numbers into REALs.)
*/
static tr_code read_kll(int items, tr_bytes sketch, void *state, tr_error *err) {
  tr_quantiles *quantiles = state;
  tr_kll read;
  tr_code code = tr_kll_read(&read, (tr_kll_items)items, sketch, err);
  if (code != TR_OK) return code;
  tr_kll *into = items == TR_KLL_STRING ? &quantiles->texts : &quantiles->numbers;
  if (read.k != tr_kll_image_k(into->k) || tr_kll_count(&read) == 0) {
    code = tr_kll_merge(into, &read, err);
  } else if ((code = tr_kll_resume(&read, into->k, err)) == TR_OK) {
    tr_kll_free(into);
    *into = read;
    return TR_OK;
  }
  tr_kll_free(&read);
  return code;
}

/* --- approx_top_count --------------------------------------------------------------------- */

static tr_code write_frequent(const void *state, tr_buffer *sketch, tr_error *err) {
  tr_frequent_items empty = tr_frequent_empty(TR_TOP_COUNT_LEAST_LG, 0);
  const tr_frequent_items *items = state == NULL ? &empty : state;
  int has_integers = items->classes >> TR_FREQUENT_LONGS & 1;
  int has_texts = items->classes >> TR_FREQUENT_STRINGS & 1;
  if (items->classes >> TR_FREQUENT_OTHERS & 1) {
    return tr_error_set(err, TR_INVALID_ARGUMENT,
                        "holds REALs or BLOBs, a sketch INTEGERs or text");
  }
  if (has_integers && has_texts) {
    return tr_error_set(err, TR_INVALID_ARGUMENT,
                        "holds both INTEGERs and text, a sketch one of them");
  }
  return tr_frequent_write(items, has_texts ? TR_FREQUENT_STRINGS : TR_FREQUENT_LONGS, sketch, err);
}

static tr_code read_frequent(int items, tr_bytes sketch, void *state, tr_error *err) {
  tr_frequent_items read;
  tr_code code = tr_frequent_read(&read, (tr_frequent_class)items, sketch, err);
  if (code != TR_OK) return code;
  code = tr_frequent_merge(state, &read, err);
  tr_frequent_free(&read);
  return code;
}

/* --- the table ---------------------------------------------------------------------------- */

struct tr_sketch_kind {
  const char *name;
  const tr_combine_fn *fn;
  int items; /* their form: tr_kll_items or tr_frequent_class */
  tr_code (*read)(int items, tr_bytes sketch, void *state, tr_error *err);
  tr_code (*write)(const void *state, tr_buffer *sketch, tr_error *err);
};

#define QUANTILE &tr_combine_approx_quantile
#define QUANTILES &tr_combine_approx_quantiles
#define TOP_COUNT &tr_combine_approx_top_count

static const tr_sketch_kind kinds[] = {
    {"approx_count_distinct", &tr_combine_approx_count_distinct, 0, read_hll, write_hll},
    {"approx_quantile", QUANTILE, TR_KLL_DOUBLE, read_kll, write_kll},
    {"approx_quantile real", QUANTILE, TR_KLL_DOUBLE, read_kll, write_kll},
    {"approx_quantile float", QUANTILE, TR_KLL_FLOAT, read_kll, write_kll},
    {"approx_quantile integer", QUANTILE, TR_KLL_INT64, read_kll, write_kll},
    {"approx_quantile text", QUANTILE, TR_KLL_STRING, read_kll, write_kll},
    {"approx_quantiles", QUANTILES, TR_KLL_DOUBLE, read_kll, write_kll},
    {"approx_quantiles real", QUANTILES, TR_KLL_DOUBLE, read_kll, write_kll},
    {"approx_quantiles float", QUANTILES, TR_KLL_FLOAT, read_kll, write_kll},
    {"approx_quantiles integer", QUANTILES, TR_KLL_INT64, read_kll, write_kll},
    {"approx_quantiles text", QUANTILES, TR_KLL_STRING, read_kll, write_kll},
    {"approx_top_count integer", TOP_COUNT, TR_FREQUENT_LONGS, read_frequent, write_frequent},
    {"approx_top_count text", TOP_COUNT, TR_FREQUENT_STRINGS, read_frequent, write_frequent},
};

const tr_sketch_kind *tr_sketch_kind_of(tr_bytes name) {
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (tr_bytes_is_name(name, kinds[i].name)) return &kinds[i];
  }
  return NULL;
}

const tr_combine_fn *tr_sketch_kind_fn(const tr_sketch_kind *kind) {
  return kind->fn;
}

const char *tr_sketch_kind_name(size_t index) {
  return index < sizeof kinds / sizeof kinds[0] ? kinds[index].name : NULL;
}

tr_code tr_sketch_write(const tr_combine *combine, const void *state, tr_buffer *sketch,
                        tr_error *err) {
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (kinds[i].fn != combine->fn) continue;
    return kinds[i].write(tr_combine_is_bound(combine) ? state : NULL, sketch, err);
  }
  return tr_error_set(err, TR_INVALID_ARGUMENT, "is of %s, which has no sketch", combine->fn->name);
}

tr_code tr_sketch_read(const tr_sketch_kind *kind, const tr_combine *combine, tr_bytes sketch,
                       void *state, tr_error *err) {
  tr_code code = kind->fn->create_accumulator(combine, state, err);
  if (code != TR_OK) return code;
  code = kind->read(kind->items, sketch, state, err);
  if (code != TR_OK) kind->fn->free_accumulator(state);
  return code;
}

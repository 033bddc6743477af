/*
** KLL: a sketch of ordered values that answers "which value has this rank?" within a stated error,
** in a few kilobytes. The bound holds for every order of the values and every way to cut and merge
** them.
**
** How it works. Values are kept in levels. A value at level h stands for 2^h values. When there are
** too many, a level is compacted: it is sorted, every other value moves up one level (a coin
** decides whether the odd or the even ones), and the rest is dropped. No rank changes by more than
** 2^h, and on average ranks do not change. The top level may hold k values, each lower one 2/3 of
** the one above, but at least 8.
**
** Three things differ from the paper's basic form. New values wait in a batch of 256 and then in an
** input of k, so that many are sorted at once. When there are so many values that the lowest levels
** no longer matter, one value of each block of 2^b is drawn and the others are dropped at once (the
** paper's sampler); the blocks are small enough for the stated error to hold. And coins come in
** opposite pairs, which nearly halves the variance.
**
** Up to k values the sketch is exact, because nothing has been compacted.
**
** Error. Ranks are within tr_kll_rank_error(k) of the true ones, as a fraction of the number of
** values. That is six standard deviations, measured in tests/unit/test_kll.c for adversarial orders
** and merge trees. A rank is beyond that about once in 10^9 cases.
**
** Coins. They start with a fixed pseudo-random sequence. A merge mixes in the coins of the other
** sketch, and reading an image mixes in a hash of it. So the same values in the same order, with
** the same merges and stores, give the same sketch. But no chain of stores and merges repeats its
** coins: the error would grow with the chain if each step rounded in the same way.
**
** Kinds of value. Numbers are INTEGERs (in all 64 bits) until a REAL comes. Then all are REALs, and
** INTEGERs beyond 2^53 are rounded. Text is ordered by its bytes, as in SQLite's BINARY collation.
**
** Bytes: Apache DataSketches' KLL image, serial versions 1 and 2. The items are doubles, eight-byte
** integers, or strings after a length of four bytes; floats can be read too. An image declares
** twice the k.
**
** Sources: Karnin, Lang, Liberty, "Optimal Quantile Approximation in Streams" (FOCS 2016); Ivkin,
** Liberty, Lang, Karnin, Braverman, "Streaming Quantiles Algorithms with Small Space and Update
** Time" (2019; sampling, paired coins); Apache DataSketches' published preamble layout of KLL
** sketches.
**
** Thread-safety: a sketch belongs to one thread at a time.
*/
#ifndef TR_COMBINE_KLL_H
#define TR_COMBINE_KLL_H

#include "base/bytes.h"
#include "base/value.h"

#define TR_KLL_MIN_K 8
#define TR_KLL_MAX_K 65535 /* the k of an image */
/* Values that the batch holds. A power of two, like the sampler's blocks. */
#define TR_KLL_BATCH 256

typedef enum tr_kll_kind { TR_KLL_INTEGER, TR_KLL_REAL, TR_KLL_TEXT } tr_kll_kind;

typedef struct tr_kll_text tr_kll_text;

/* A value: for a number an integer that sorts like it, or a text that the sketch owns. */
typedef union tr_kll_item {
  int64_t key;
  tr_kll_text *text;
} tr_kll_item;

typedef struct tr_kll_level {
  tr_kll_item *items; /* sorted */
  uint32_t count, capacity;
} tr_kll_level;

/* All zeros but kind, k and min_k are the empty sketch. Release it with tr_kll_free. */
typedef struct tr_kll {
  uint8_t kind;
  uint8_t lg_block; /* a value of the input stands for 2^lg_block values */
  uint16_t k;
  uint16_t min_k;       /* the smallest k declared by the images of all merged sketches */
  uint8_t is_borrowing; /* the texts belong to another sketch */
  uint8_t has_extremes; /* minimum and maximum are valid */
  uint8_t level_count;
  uint32_t batch_count, batch_capacity;
  uint32_t input_count, input_capacity;
  tr_kll_item *batch;           /* in the order they came; weight 1 */
  tr_kll_item *input;           /* unsorted; weight 2^lg_block */
  tr_kll_level *levels;         /* level h holds values of weight 2^h */
  uint64_t count;               /* values added, without those in the batch */
  tr_kll_item minimum, maximum; /* of these values */
  uint64_t random;
  /* A bit for each level: the last coin, and whether the next one is its opposite. */
  uint64_t coins, paired;
  size_t heap_size; /* bytes owned */
} tr_kll;

/* The empty sketch. */
tr_kll tr_kll_empty(tr_kll_kind kind, int k);

/*
** The k that an image declares for a sketch of k: 2k, or the maximum if that is less. With 2k all
** that a sketch of k may hold in levels, input and batch fits an image, so storing loses nothing.
*/
int tr_kll_image_k(int k);

/*
** Turns a sketch that was read from such an image back into the sketch of k that it was. Without
** this it is a sketch of the image's k, which can be read and merged. TR_NO_MEMORY: it still is.
*/
tr_code tr_kll_resume(tr_kll *kll, int k, tr_error *err);

/* Adds a value. The sketch must be of the right kind. TR_NO_MEMORY: not added. */
/* To an INTEGER or REAL sketch. */
tr_code tr_kll_add_integer(tr_kll *kll, int64_t x, tr_error *err);
/* The same; an INTEGER sketch becomes REAL. */
tr_code tr_kll_add_real(tr_kll *kll, double x, tr_error *err);
tr_code tr_kll_add_text(tr_kll *kll, tr_bytes text, tr_error *err);

/*
** Adds the values of `other`: numbers to numbers, text to text. `kll` keeps its k, but its error is
** then tr_kll_rank_error of the smaller of both. TR_NO_MEMORY: `kll` is valid, with part of the
** other's values. TR_OVERFLOW: there would be 2^63 values or more.
*/
tr_code tr_kll_merge(tr_kll *kll, const tr_kll *other, tr_error *err);

/* How many values were added. */
uint64_t tr_kll_count(const tr_kll *kll);

/* The greatest error of a rank for a sketch of k that is not exact, as a fraction of the count. */
double tr_kll_rank_error(int k);

/* A value of the sketch as an SQL value. Text is borrowed. */
tr_value tr_kll_value(const tr_kll *kll, tr_kll_item item);

/*
** All retained values in order, with the number of values that each stands for. These numbers sum
** to the count.
*/
typedef struct tr_kll_entry {
  tr_kll_item item;
  uint64_t weight;
} tr_kll_entry;

typedef struct tr_kll_view {
  tr_kll_entry *entries;
  size_t count;
  tr_kll_item minimum, maximum; /* exact; valid if count > 0 */
} tr_kll_view;

/* Makes a view; its texts belong to the sketch. TR_NO_MEMORY. */
tr_code tr_kll_view_of(const tr_kll *kll, tr_kll_view *view, tr_error *err);
void tr_kll_view_free(tr_kll_view *view);

size_t tr_kll_heap_size(const tr_kll *kll);
void tr_kll_free(tr_kll *kll);

/* --- bytes (kll_image.c) ------------------------------------------------------------------ */

/* The form of the items in an image. An image does not say it itself. */
typedef enum tr_kll_items { TR_KLL_INT64, TR_KLL_DOUBLE, TR_KLL_FLOAT, TR_KLL_STRING } tr_kll_items;

/*
** Appends the image of `kll`: numbers as INT64 (only from an INTEGER sketch) or DOUBLE, text as
** STRING. TR_NO_MEMORY. TR_TOO_BIG: a text has 2^32 bytes or more.
*/
tr_code tr_kll_write(const tr_kll *kll, tr_kll_items items, tr_buffer *bytes, tr_error *err);

/*
** Reads an image into `kll`, which need not be initialised. Its coins depend on the image.
** TR_CORRUPT: the message names the defect. It allocates at most a small multiple of bytes.size.
** After a failure `kll` owns nothing.
*/
tr_code tr_kll_read(tr_kll *kll, tr_kll_items items, tr_bytes bytes, tr_error *err);

/*
** Reads what tr_kll_write made of a sketch of k; the result is that sketch again. Errors: as
** tr_kll_read; TR_CORRUPT also if the image is of another k.
*/
tr_code tr_kll_read_own(tr_kll *kll, int k, tr_kll_items items, tr_bytes bytes, tr_error *err);

/* The integer that sorts like a double, and back. The double must not be NaN; -0.0 becomes 0.0. */
static inline int64_t tr_kll_key_of_real(double x) {
  union {
    double real;
    int64_t bits;
  } pun = {x + 0.0};
  return pun.bits < 0 ? pun.bits ^ INT64_MAX : pun.bits;
}

static inline double tr_kll_real_of_key(int64_t key) {
  union {
    int64_t bits;
    double real;
  } pun = {key < 0 ? key ^ INT64_MAX : key};
  return pun.real;
}

/*
** Adds a number if that is quick: there is room in the batch, and the sketch need not change its
** kind. 1: added. 0: the caller must call tr_kll_add_integer or tr_kll_add_real.
*/
static inline int tr_kll_add_in_place(tr_kll *kll, const tr_value *number) {
  int64_t key = number->integer;
  if (kll->batch_count == kll->batch_capacity) return 0;
  if (kll->kind == TR_KLL_REAL) {
    key = tr_kll_key_of_real(number->type == TR_REAL ? number->real : (double)number->integer);
  } else if (number->type == TR_REAL) {
    return 0;
  }
  kll->batch[kll->batch_count++].key = key;
  return 1;
}

/*
** The same for `count` values that lie `stride` apart, and NULLs, which are passed over. Returns
** how many come before the first that is not a number or not quick to add.
*/
static inline int tr_kll_add_run_in_place(tr_kll *kll, const tr_value *values, size_t stride,
                                          int count) {
  uint32_t filled = kll->batch_count, capacity = kll->batch_capacity;
  int is_real = kll->kind == TR_KLL_REAL, i = 0;
  for (; i < count; i++) {
    const tr_value *value = &values[(size_t)i * stride];
    if (value->type == TR_NULL) continue;
    if (value->type >= TR_TEXT || filled == capacity) break;
    int64_t key = value->integer;
    if (value->type == TR_REAL) {
      if (!is_real) break;
      key = tr_kll_key_of_real(value->real);
    } else if (is_real) {
      key = tr_kll_key_of_real((double)key);
    }
    kll->batch[filled++].key = key;
  }
  kll->batch_count = filled;
  return i;
}

#endif

/*
** KLL: a sketch of ordered values that answers "which value has this rank" to a stated error, in a
** few kilobytes, whatever the order of the values and however they were cut and merged.
**
** How it works. Values are kept in levels; one at level h stands for 2^h values. When there are too
** many, a level is compacted: sorted, every other value (the odd or the even ones, by a coin) moves
** up a level, the rest is dropped. No rank moves by more than 2^h, and on average not at all. Upper
** levels may hold k values, each lower one 2/3 of the one above, at least 8.
** Three things are ours. New values wait in a batch of 256 and then in an input of k, so that
** sorting is done in bulk. When so many values have come that the lowest levels no longer matter,
** one value of each block of 2^b is drawn and the others are not looked at further (the paper's
** sampler; blocks are chosen such that this adds at most a tenth to the error). And coins come in
** opposite pairs, which nearly halves the variance.
**
** Exact up to k values: nothing has been compacted then.
**
** Error. Ranks are within tr_kll_rank_error(k) of the true ones, as a fraction of the number of
** values: six standard deviations, measured in tests/unit/test_kll.c for adversarial orders and
** merge trees. How often that bad luck can happen is about once in 10^9.
**
** Coins. They begin with a fixed pseudo-random sequence; a merge stirs in the other's, and reading
** an image stirs in a hash of it. So the same values in the same order, with the same merges and
** stores, give the same sketch, and no chain of stores and merges tosses the same coins twice:
** rounding the same way each time would be an error that grows with the chain.
**
** Kinds of value. Numbers are INTEGER (all 64 bits) until a REAL comes, then REAL (an INTEGER
** beyond 2^53 is then rounded); text is ordered by its bytes, as SQLite's BINARY collation does.
**
** Bytes: Apache DataSketches' KLL image, serial versions 1 and 2 (doubles, items of eight-byte
** integers, and strings with a length of four bytes before them; floats are read too). An image
** declares twice the k.
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
#define TR_KLL_MAX_K 65535 /* of an image */
/* Values that wait to be looked at; a power of two, as are blocks of the sampler. */
#define TR_KLL_BATCH 256

typedef enum tr_kll_kind { TR_KLL_INTEGER, TR_KLL_REAL, TR_KLL_TEXT } tr_kll_kind;

typedef struct tr_kll_text tr_kll_text;

/* A value: a number as the integer that sorts like it, or a text that the sketch owns. */
typedef union tr_kll_item {
  int64_t key;
  tr_kll_text *text;
} tr_kll_item;

typedef struct tr_kll_level {
  tr_kll_item *items; /* sorted */
  uint32_t count, capacity;
} tr_kll_level;

/* All zero but kind, k and min_k is the empty sketch. Release with tr_kll_free. */
typedef struct tr_kll {
  uint8_t kind;
  uint8_t lg_block; /* of the sampler: values of the input stand for 2^lg_block */
  uint16_t k;
  uint16_t min_k;       /* the smallest k of images among all that was merged: for others' errors */
  uint8_t is_borrowing; /* texts belong to another sketch */
  uint8_t has_extremes; /* minimum and maximum are valid */
  uint8_t level_count;
  uint32_t batch_count, batch_capacity;
  uint32_t input_count, input_capacity;
  tr_kll_item *batch;           /* as they came, of weight 1 */
  tr_kll_item *input;           /* unsorted */
  tr_kll_level *levels;         /* level h holds values of weight 2^h */
  uint64_t count;               /* values seen, without those of the batch */
  tr_kll_item minimum, maximum; /* of these */
  uint64_t random;
  uint64_t coins, paired; /* for each level: the last coin, and whether its opposite is due */
  size_t heap_size;       /* bytes owned */
} tr_kll;

/* The empty sketch. */
tr_kll tr_kll_empty(tr_kll_kind kind, int k);

/*
** The k that an image declares: 2k, because then all that a sketch of k may hold in levels, input
** and batch fits an image (unless that is over the maximum), and storing loses nothing.
*/
int tr_kll_image_k(int k);

/*
** Goes on with a sketch that was read from such an image, as the sketch of k that it was. Without
** that it is one of the image's k, good for reading and for being merged. TR_NO_MEMORY leaves it
** that.
*/
tr_code tr_kll_resume(tr_kll *kll, int k, tr_error *err);

/* Adds a value of a kind that the sketch takes. TR_NO_MEMORY: not added. */
tr_code tr_kll_add_integer(tr_kll *kll, int64_t x, tr_error *err); /* INTEGER or REAL sketch */
tr_code tr_kll_add_real(tr_kll *kll, double x, tr_error *err);     /* INTEGER becomes REAL */
tr_code tr_kll_add_text(tr_kll *kll, tr_bytes text, tr_error *err);

/*
** Adds what `other` has seen: numbers to numbers, text to text. TR_NO_MEMORY leaves `kll` valid,
** with part of the other's values. TR_OVERFLOW if there were more than 2^63 values.
*/
tr_code tr_kll_merge(tr_kll *kll, const tr_kll *other, tr_error *err);

/* How many values were added. */
uint64_t tr_kll_count(const tr_kll *kll);

/*
** The largest error of a rank, as a fraction of the count, for a sketch of this k; 0 if it is
** exact.
*/
double tr_kll_rank_error(int k);

/* A value of the sketch as SQL has it; text is borrowed. */
tr_value tr_kll_value(const tr_kll *kll, tr_kll_item item);

/* All retained values in order, with what each stands for; the weights' sum is the count. */
typedef struct tr_kll_entry {
  tr_kll_item item;
  uint64_t weight;
} tr_kll_entry;

typedef struct tr_kll_view {
  tr_kll_entry *entries;
  size_t count;
  tr_kll_item minimum, maximum; /* the true ones; valid when count > 0 */
} tr_kll_view;

/* Makes the view, whose texts are the sketch's. TR_NO_MEMORY. */
tr_code tr_kll_view_of(const tr_kll *kll, tr_kll_view *view, tr_error *err);
void tr_kll_view_free(tr_kll_view *view);

size_t tr_kll_heap_size(const tr_kll *kll);
void tr_kll_free(tr_kll *kll);

/* --- bytes (kll_image.c) ------------------------------------------------------------------ */

/* How items stand in an image; it does not say so itself. */
typedef enum tr_kll_items { TR_KLL_INT64, TR_KLL_DOUBLE, TR_KLL_FLOAT, TR_KLL_STRING } tr_kll_items;

/*
** Appends the image of `kll`: numbers as INT64 (an INTEGER sketch only) or DOUBLE, text as STRING.
** TR_NO_MEMORY; TR_TOO_BIG for a text of 2^32 bytes.
*/
tr_code tr_kll_write(const tr_kll *kll, tr_kll_items items, tr_buffer *bytes, tr_error *err);

/*
** Reads an image into `kll`, which owns nothing before and, on failure, after; its coins follow
** from the image. TR_CORRUPT names the defect. Allocates at most a small multiple of bytes.size.
*/
tr_code tr_kll_read(tr_kll *kll, tr_kll_items items, tr_bytes bytes, tr_error *err);

/*
** The same for what tr_kll_write made of a sketch of k, which it is again. TR_CORRUPT also of
** another k.
*/
tr_code tr_kll_read_own(tr_kll *kll, int k, tr_kll_items items, tr_bytes bytes, tr_error *err);

/* The integer that sorts like a double (not NaN), and back. -0.0 is 0.0. */
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
** Adds a number if that is quick: while there is room in the batch, and the sketch's kind takes it
** as it is. 1: added; 0: not, and tr_kll_add_integer or tr_kll_add_real has to.
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

#endif

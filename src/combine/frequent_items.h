/*
** Frequent items: the most frequent values of a column and how often they came, with bounds that
** hold always, in bounded memory.
**
** How it works. A hash table counts values. When it would hold more than 3/4 * 2^lg_max of them, it
** is purged: the median count is taken off every counter, those that are then not above zero are
** dropped, and the median is added to `offset`. So a value that is in the table came at least
** `count` and at most `count + offset` times, one that is not at most `offset` times. Each purge
** takes the median off at least half of the counters, so offset <= total / (3/8 * 2^lg_max), for
** certain and for any order. Merging adds counts and offsets, and the bound with them. Nothing is
** random.
**
** A purge leaves at least `least` entries, even if all counts are alike. What it takes off is,
** instead of the median, the count that is `least` places before it in order; and where too few are
** above that, some that are equal to it stay, with a count of 1, which is as true of them as 0. At
** least half of the counters are lowered by all of it even so.
**
** Values are equal as in SQL: an integral REAL is the INTEGER, so 1 = 1.0; '1' and x'31' differ.
** NULLs are the caller's business.
**
** Bytes: Apache DataSketches' frequent-items image, serial version 1: 64-bit integers ("longs") for
** INTEGERs, strings with a length of four bytes for text, and a form of our own for REAL and BLOB
** (a type byte before the value). One image holds one of these classes; all share the offset.
**
** Sources: Misra, Gries, "Finding Repeated Elements" (1982); Anderson, Bevan, Lang, Liberty,
** Rhodes, Thaler, "A High-Performance Algorithm for Identifying Frequent Items in Data Streams"
** (IMC 2017; we take the exact median where they sample it); Agarwal et al., "Mergeable Summaries"
** (2012); Apache DataSketches' published preamble layout of frequent-items sketches.
**
** Thread-safety: a sketch belongs to one thread at a time.
*/
#ifndef TR_COMBINE_FREQUENT_ITEMS_H
#define TR_COMBINE_FREQUENT_ITEMS_H

#include "base/bytes.h"
#include "base/value.h"

#define TR_FREQUENT_MIN_LG 3
#define TR_FREQUENT_MAX_LG 26

/* What an image can hold. */
typedef enum tr_frequent_class {
  TR_FREQUENT_LONGS,   /* INTEGER */
  TR_FREQUENT_STRINGS, /* TEXT */
  TR_FREQUENT_OTHERS   /* REAL and BLOB */
} tr_frequent_class;
#define TR_FREQUENT_CLASSES 3

/* Bytes that fit an entry. */
#define TR_FREQUENT_SHORT 16

/* A value with its count. */
typedef struct tr_frequent_entry {
  int64_t count;
  uint32_t hash;
  uint32_t
      form; /* tr_type, and above its eight bits how many bytes it is here, or that it is long */
  union {
    int64_t integer;
    double real;
    uint8_t bytes[TR_FREQUENT_SHORT];
    struct {
      uint8_t *data;
      size_t size;
    } own; /* of a long one: bytes that do not fit */
  };
} tr_frequent_entry;

/* A cell of the hash table: where the entry of a value is. */
typedef struct tr_frequent_cell {
  uint32_t hash;
  uint32_t place; /* in `entries`, from 1; 0: the cell is free */
} tr_frequent_cell;

/* All zero but lg_max and least is the empty sketch. Release with tr_frequent_free. */
typedef struct tr_frequent_items {
  uint8_t lg_max;
  uint8_t
      lg_map; /* of the present map, which holds 3/4 * 2^lg_map entries in twice as many cells */
  uint16_t least;  /* entries that a purge leaves at least */
  uint32_t active; /* entries in it */
  tr_frequent_entry *entries;
  tr_frequent_cell *cells;
  int64_t offset;
  int64_t weight;  /* how many values came */
  uint8_t classes; /* of which classes any came: bits 1 << tr_frequent_class */
  size_t own_size; /* bytes outside of entries */
} tr_frequent_items;

/* The empty sketch; `least` is at most 2^lg_max / 8. */
tr_frequent_items tr_frequent_empty(int lg_max, int least);

/*
** Adds a value, not NULL, `times` > 0 times. TR_NO_MEMORY, TR_OVERFLOW (more than 2^63 values): not
** added.
*/
tr_code tr_frequent_add(tr_frequent_items *items, const tr_value *value, int64_t times,
                        tr_error *err);

/*
** Adds a value once if that is quick: a number, or a text or BLOB of at most TR_FREQUENT_SHORT
** bytes, while there is room. 1: added; 0: not, and tr_frequent_add has to, if it is not NULL.
*/
int tr_frequent_add_short(tr_frequent_items *items, const tr_value *value);

/* Adds what `other` has seen. On failure `items` is valid, with part of the other's counts. */
tr_code tr_frequent_merge(tr_frequent_items *items, const tr_frequent_items *other, tr_error *err);

/* The value of an entry; bytes are the entry's. */
tr_value tr_frequent_value(const tr_frequent_entry *entry);

/*
** All entries, the most frequent first, equal counts by value; to be released with tr_free. NULL
** and TR_OK if there are none.
*/
tr_code tr_frequent_sorted(const tr_frequent_items *items, const tr_frequent_entry ***entries,
                           tr_error *err);

/* The class of a value; -1 for NULL. */
int tr_frequent_class_of(const tr_value *value);

size_t tr_frequent_heap_size(const tr_frequent_items *items);
void tr_frequent_free(tr_frequent_items *items);

/* --- bytes (frequent_items_image.c) ------------------------------------------------------- */

/*
** Appends an image of the values of one class; its total weight is that of all values.
** TR_NO_MEMORY; TR_TOO_BIG for a text of 2^32 bytes.
*/
tr_code tr_frequent_write(const tr_frequent_items *items, tr_frequent_class of, tr_buffer *bytes,
                          tr_error *err);

/*
** Reads an image of values of one class into `items`, which owns nothing before and, on failure,
** after. TR_CORRUPT names the defect. Allocates at most a small multiple of bytes.size.
*/
tr_code tr_frequent_read(tr_frequent_items *items, tr_frequent_class of, tr_bytes bytes,
                         tr_error *err);

#endif

/*
** Frequent items: the most frequent values of a column and their counts, in bounded memory, with
** bounds that always hold.
**
** How it works. A hash table counts the values. Before it would hold more than 3/4 * 2^lg_max of
** them, it is purged: the median of the counts is subtracted from every counter and added to
** `offset`, and counters that are then not above zero are dropped. So a value in the table came at
** least `count` and at most `count + offset` times. A value that is not in it came at most `offset`
** times. Each purge subtracts the median from at least half of the counters, so offset <= total /
** (3/8 * 2^lg_max), always and for every order. A merge adds counts and offsets, and so also the
** bounds. Nothing is random.
**
** A purge always leaves at least `least` entries, even if all counts are equal. For that it
** subtracts not the median but the count that is `least` places below it. If fewer than `least`
** counters are above that, some that are equal to it stay with a count of 1, for which the bounds
** hold as well as for 0. At least half of the counters are still lowered by the whole amount.
**
** Values are equal as in SQL: a REAL that is an integer is that INTEGER, so 1 = 1.0; '1' and x'31'
** differ. The caller handles NULLs.
**
** Bytes: Apache DataSketches' frequent-items image, serial version 1. INTEGERs are 64-bit integers
** ("longs"). Text is strings with a length of four bytes. REALs and BLOBs have a form of our own,
** with a type byte before the value. An image holds one of these three classes. All have the same
** offset.
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

/* The classes of values. An image holds one class. */
typedef enum tr_frequent_class {
  TR_FREQUENT_LONGS,   /* INTEGER */
  TR_FREQUENT_STRINGS, /* TEXT */
  TR_FREQUENT_OTHERS   /* REAL and BLOB */
} tr_frequent_class;
#define TR_FREQUENT_CLASSES 3

/* The most bytes of a text or BLOB that an entry holds itself. */
#define TR_FREQUENT_SHORT 16

/* A value with its count. */
typedef struct tr_frequent_entry {
  int64_t count;
  uint32_t hash;
  uint32_t form; /* the tr_type; above its 8 bits the size here, or LONG_FORM */
  union {
    int64_t integer;
    double real;
    uint8_t bytes[TR_FREQUENT_SHORT];
    struct {
      uint8_t *data;
      size_t size;
    } own; /* of a text or BLOB that is too long to be here */
  };
} tr_frequent_entry;

/* A cell of the hash table: the place of an entry. */
typedef struct tr_frequent_cell {
  uint32_t hash;
  uint32_t place; /* in `entries`, from 1; 0: the cell is free */
} tr_frequent_cell;

/* All zeros but lg_max and least are the empty sketch. Release it with tr_frequent_free. */
typedef struct tr_frequent_items {
  uint8_t lg_max;
  uint8_t lg_map;  /* of the current map: room for 3/4 * 2^lg_map entries, and 2 * 2^lg_map cells */
  uint16_t least;  /* the least number of entries that a purge leaves */
  uint32_t active; /* entries in the map */
  tr_frequent_entry *entries;
  tr_frequent_cell *cells;
  int64_t offset;
  int64_t weight;  /* how many values were added */
  uint8_t classes; /* the classes of all values added: bits 1 << tr_frequent_class */
  size_t own_size; /* bytes that the entries own */
} tr_frequent_items;

/* The empty sketch. `least` is at most 2^lg_max / 8. */
tr_frequent_items tr_frequent_empty(int lg_max, int least);

/*
** Adds `value`, which must not be NULL, `times` times (above 0). TR_NO_MEMORY, TR_OVERFLOW (more
** than 2^63 - 1 values): not added.
*/
tr_code tr_frequent_add(tr_frequent_items *items, const tr_value *value, int64_t times,
                        tr_error *err);

/*
** Adds a value once if that is quick: a number, or a text or BLOB of at most TR_FREQUENT_SHORT
** bytes, as long as there is room. 1: added. 0: not added; unless the value is NULL, the caller
** must call tr_frequent_add.
*/
int tr_frequent_add_short(tr_frequent_items *items, const tr_value *value);

/*
** Adds all values of `other`. After a failure `items` is valid and has a part of the other's
** counts. Errors: as tr_frequent_add.
*/
tr_code tr_frequent_merge(tr_frequent_items *items, const tr_frequent_items *other, tr_error *err);

/* The value of an entry. Text and BLOBs are views of the entry. */
tr_value tr_frequent_value(const tr_frequent_entry *entry);

/*
** All entries, the most frequent first, equal counts by value. The caller frees `*entries` with
** tr_free; it is NULL if there are none. TR_NO_MEMORY.
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
** TR_NO_MEMORY.
** TR_TOO_BIG: a text or BLOB has 2^32 bytes or more. After a failure `bytes` is unchanged.
*/
tr_code tr_frequent_write(const tr_frequent_items *items, tr_frequent_class of, tr_buffer *bytes,
                          tr_error *err);

/*
** Reads an image of values of one class into `items`, which need not be initialised. TR_CORRUPT:
** the message names the defect. It allocates at most a small multiple of bytes.size. After a
** failure `items` owns nothing.
*/
tr_code tr_frequent_read(tr_frequent_items *items, tr_frequent_class of, tr_bytes bytes,
                         tr_error *err);

#endif

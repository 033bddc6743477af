/*
** The bytes of HLL sketches, as Apache DataSketches stores them. All numbers are little-endian.
**
**    0  length of the preamble in ints     4  lg of the coupon table
**    1  serial version                     5  flags
**    2  family                             6  coupons in a list, or lowest register
**    3  lg_k                               7  mode
**
**   list:       8  coupons
**   set:        8  count                  12  coupons
**   registers:  8  HIP                    32  how many registers are the lowest
**              16  sum of 2^-register,    36  number of exceptions
**                  registers below 32     40  registers, then exceptions
**              24  the same from 32 on
**
** Exceptions are registers that do not fit their nibble. An updatable image stores its tables with
** the free cells (0), a compact one without. We do not read the two sums and the number of lowest
** registers, because they follow from the registers. HIP is valid unless the flag "out of order" is
** set.
*/
#include "combine/hll_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/little_endian.h"
#include "base/memory.h"

#define SERIAL_VERSION 1
#define FAMILY_HLL 7
#define LG_LIST_CAPACITY 3
#define SET_START 12
#define REGISTERS_START 40
#define FLAG_BIG_ENDIAN 1
#define FLAG_EMPTY 4
#define FLAG_COMPACT 8
#define FLAG_OUT_OF_ORDER 16
/* This nibble means that the register is among the exceptions. */
#define EXCEPTION 15

enum { MODE_LIST, MODE_SET, MODE_REGISTERS };
enum { HLL_4, HLL_6, HLL_8 };

/* --- writing ------------------------------------------------------------------------------ */

static int compare_u32(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* The lg of the smallest table that is at most three quarters full with `count` entries. */
static int lg_table_for(uint32_t count, int least) {
  int lg = least;
  while ((uint64_t)count * 4 > (uint64_t)3 << lg) lg++;
  return lg;
}

/* Writes the first eight bytes. */
static void put_preamble(uint8_t *at, const tr_hll *hll, int ints, int lg_table, int flags,
                         uint32_t sixth, int mode) {
  at[0] = (uint8_t)ints;
  at[1] = SERIAL_VERSION;
  at[2] = FAMILY_HLL;
  at[3] = hll->lg_k;
  at[4] = (uint8_t)lg_table;
  at[5] = (uint8_t)(flags | FLAG_COMPACT);
  at[6] = (uint8_t)sixth;
  at[7] = (uint8_t)(mode | HLL_4 << 2);
}

static tr_code write_coupons(const tr_hll *hll, tr_buffer *bytes, tr_error *err) {
  uint32_t count = hll->coupon_count;
  int is_list = count < TR_HLL_LIST_CAPACITY;
  size_t start = is_list ? 8 : SET_START;
  tr_code code = tr_buffer_reserve(bytes, start + 4 * (size_t)count, err);
  if (code != TR_OK) return code;
  uint8_t *at = bytes->data + bytes->size;
  if (is_list) {
    put_preamble(at, hll, 2, LG_LIST_CAPACITY, count == 0 ? FLAG_EMPTY : 0, count, MODE_LIST);
  } else {
    put_preamble(at, hll, 3, lg_table_for(count, 5), 0, 0, MODE_SET);
    tr_store_u32(at + 8, count);
  }
  if (count > 0) {
    uint32_t *sorted = tr_malloc(count * sizeof *sorted);
    if (sorted == NULL) return tr_error_no_memory(err);
    uint32_t found = 0;
    for (uint32_t i = 0; i < UINT32_C(1) << hll->lg_table; i++) {
      if (hll->coupons[i] != 0) sorted[found++] = hll->coupons[i];
    }
    qsort(sorted, count, sizeof *sorted, compare_u32);
    for (uint32_t i = 0; i < count; i++) tr_store_u32(at + start + 4 * (size_t)i, sorted[i]);
    tr_free(sorted);
  }
  bytes->size += start + 4 * (size_t)count;
  return TR_OK;
}

static tr_code write_registers(const tr_hll *hll, tr_buffer *bytes, tr_error *err) {
  size_t k = (size_t)1 << hll->lg_k;
  uint32_t counts[TR_HLL_MAX_RANK + 1] = {0};
  for (size_t i = 0; i < k; i++) counts[hll->registers[i]]++;
  uint32_t lowest = 0, exceptions = 0;
  while (lowest < TR_HLL_MAX_RANK && counts[lowest] == 0) lowest++;
  for (uint32_t rank = lowest + EXCEPTION; rank <= TR_HLL_MAX_RANK; rank++)
    exceptions += counts[rank];
  /* These sums of powers of two are exact: no term is small enough to be rounded off. */
  double low_sum = 0, high_sum = 0;
  for (int rank = 0; rank < 32; rank++) low_sum += ldexp(counts[rank], -rank);
  for (int rank = 32; rank <= TR_HLL_MAX_RANK; rank++) high_sum += ldexp(counts[rank], -rank);

  size_t size = REGISTERS_START + k / 2 + 4 * (size_t)exceptions;
  tr_code code = tr_buffer_reserve(bytes, size, err);
  if (code != TR_OK) return code;
  uint8_t *at = bytes->data + bytes->size;
  put_preamble(at, hll, 10, exceptions == 0 ? 0 : lg_table_for(exceptions, 2),
               hll->hip > 0 ? 0 : FLAG_OUT_OF_ORDER, lowest, MODE_REGISTERS);
  tr_store_double(at + 8, hll->hip);
  tr_store_double(at + 16, low_sum);
  tr_store_double(at + 24, high_sum);
  tr_store_u32(at + 32, counts[lowest]);
  tr_store_u32(at + 36, exceptions);
  uint8_t *nibbles = at + REGISTERS_START, *exception = nibbles + k / 2;
  memset(nibbles, 0, k / 2);
  for (size_t i = 0; i < k; i++) {
    uint32_t above = hll->registers[i] - lowest;
    if (above >= EXCEPTION) {
      tr_store_u32(exception, (uint32_t)hll->registers[i] << TR_HLL_ADDRESS_BITS | (uint32_t)i);
      exception += 4;
      above = EXCEPTION;
    }
    nibbles[i / 2] = (uint8_t)(nibbles[i / 2] | above << (i % 2 * 4));
  }
  bytes->size += size;
  return TR_OK;
}

tr_code tr_hll_write(const tr_hll *hll, tr_buffer *bytes, tr_error *err) {
  return hll->registers == NULL ? write_coupons(hll, bytes, err) : write_registers(hll, bytes, err);
}

/* --- reading ------------------------------------------------------------------------------ */

/* The contents of the preamble, checked. */
typedef struct hll_image {
  tr_bytes bytes;
  int lg_k, mode, type, lg_table;
  int is_compact;
  uint32_t sixth; /* coupons in a list, or lowest register */
} hll_image;

static tr_code check_size(const hll_image *image, uint64_t size, tr_error *err) {
  if (image->bytes.size == size) return TR_OK;
  return tr_error_set(err, TR_CORRUPT, "HLL sketch: %zu bytes where its preamble needs %llu",
                      image->bytes.size, (unsigned long long)size);
}

static tr_code read_preamble(tr_bytes bytes, hll_image *image, tr_error *err) {
  static const int preamble_ints[] = {2, 3, 10};
  const uint8_t *at = bytes.data;
  if (bytes.size < 8) {
    return tr_error_set(err, TR_CORRUPT, "HLL sketch: %zu bytes, a preamble has 8", bytes.size);
  }
  if (at[2] != FAMILY_HLL) {
    return tr_error_set(err, TR_CORRUPT, "HLL sketch: family %d, HLL is %d", at[2], FAMILY_HLL);
  }
  if (at[1] != SERIAL_VERSION) {
    return tr_error_set(err, TR_CORRUPT, "HLL sketch: serial version %d, known is %d", at[1],
                        SERIAL_VERSION);
  }
  if (at[3] < TR_HLL_MIN_LG_K || at[3] > TR_HLL_MAX_LG_K) {
    return tr_error_set(err, TR_CORRUPT, "HLL sketch: lg_k %d is not within %d..%d", at[3],
                        TR_HLL_MIN_LG_K, TR_HLL_MAX_LG_K);
  }
  if (at[5] & FLAG_BIG_ENDIAN) {
    return tr_error_set(err, TR_CORRUPT, "HLL sketch: big-endian form is not known");
  }
  image->bytes = bytes;
  image->lg_k = at[3];
  image->lg_table = at[4];
  image->is_compact = (at[5] & FLAG_COMPACT) != 0;
  image->sixth = at[6];
  image->mode = at[7] & 3;
  image->type = at[7] >> 2 & 3;
  if (image->mode > MODE_REGISTERS || image->type > HLL_8) {
    return tr_error_set(err, TR_CORRUPT, "HLL sketch: mode byte %d is not known", at[7]);
  }
  if (at[0] != preamble_ints[image->mode]) {
    return tr_error_set(err, TR_CORRUPT, "HLL sketch: %d preamble ints, its mode has %d", at[0],
                        preamble_ints[image->mode]);
  }
  return TR_OK;
}

/*
** Reads `cells` cells, which must hold `count` distinct coupons. In an updatable image a cell of 0
** is free.
*/
static tr_code read_coupons(tr_hll *hll, const hll_image *image, size_t start, uint32_t cells,
                            uint32_t count, tr_error *err) {
  tr_code code = check_size(image, start + 4 * (uint64_t)cells, err);
  uint32_t seen = 0;
  for (uint32_t i = 0; code == TR_OK && i < cells; i++) {
    uint32_t coupon = tr_load_u32(image->bytes.data + start + 4 * (size_t)i);
    if (coupon == 0 && !image->is_compact) continue;
    if (coupon >> TR_HLL_ADDRESS_BITS == 0) {
      return tr_error_set(err, TR_CORRUPT, "HLL sketch: coupon %u of rank 0", coupon);
    }
    code = tr_hll_add_coupon(hll, coupon, err);
    seen++;
  }
  if (code == TR_OK && (seen != count || (hll->registers == NULL && hll->coupon_count != count))) {
    return tr_error_set(err, TR_CORRUPT, "HLL sketch: %u distinct coupons, its count is %u",
                        hll->registers == NULL ? hll->coupon_count : seen, count);
  }
  return code;
}

static tr_code read_list(tr_hll *hll, const hll_image *image, tr_error *err) {
  uint32_t count = image->sixth;
  if (count > TR_HLL_LIST_CAPACITY) {
    return tr_error_set(err, TR_CORRUPT, "HLL sketch: a list of %u coupons, at most %d", count,
                        TR_HLL_LIST_CAPACITY);
  }
  return read_coupons(hll, image, 8, image->is_compact ? count : TR_HLL_LIST_CAPACITY, count, err);
}

static tr_code read_set(tr_hll *hll, const hll_image *image, tr_error *err) {
  if (image->bytes.size < SET_START) return check_size(image, SET_START, err);
  uint32_t count = tr_load_u32(image->bytes.data + 8);
  uint32_t most = tr_hll_coupon_limit(image->lg_k);
  if (count > most) {
    return tr_error_set(err, TR_CORRUPT, "HLL sketch: a set of %u coupons, at most %u", count,
                        most);
  }
  if (!image->is_compact && image->lg_table > TR_HLL_MAX_LG_K) {
    return tr_error_set(err, TR_CORRUPT, "HLL sketch: a set of 2^%d cells", image->lg_table);
  }
  uint32_t cells = image->is_compact ? count : UINT32_C(1) << image->lg_table;
  return read_coupons(hll, image, SET_START, cells, count, err);
}

/* Reads the exceptions of HLL_4 into the registers that wait for one. */
static tr_code read_exceptions(tr_hll *hll, const hll_image *image, uint32_t marked, uint32_t cells,
                               tr_error *err) {
  const uint8_t *at = image->bytes.data + REGISTERS_START + ((size_t)1 << image->lg_k) / 2;
  uint32_t marker = image->sixth + EXCEPTION, seen = 0;
  for (uint32_t i = 0; i < cells; i++, at += 4) {
    uint32_t pair = tr_load_u32(at), slot = pair & TR_HLL_ADDRESS_MASK,
             rank = pair >> TR_HLL_ADDRESS_BITS;
    if (pair == 0 && !image->is_compact) continue;
    /* Each register that names an exception must get exactly one. */
    if (slot >> image->lg_k != 0 || rank < marker || hll->registers[slot] != TR_HLL_MAX_RANK + 1) {
      return tr_error_set(err, TR_CORRUPT, "HLL sketch: exception %u for register %u", rank, slot);
    }
    hll->registers[slot] = (uint8_t)rank;
    seen++;
  }
  if (seen == marked) return TR_OK;
  return tr_error_set(err, TR_CORRUPT, "HLL sketch: %u exceptions, its registers name %u", seen,
                      marked);
}

/* How many cells the exceptions of HLL_4 have. `rest` bytes are left for them. */
static tr_code count_exception_cells(const hll_image *image, size_t rest, uint32_t *cells,
                                     tr_error *err) {
  *cells = tr_load_u32(image->bytes.data + 36);
  if (image->is_compact) return TR_OK;
  if (image->lg_table > image->lg_k) {
    return tr_error_set(err, TR_CORRUPT, "HLL sketch: 2^%d exceptions", image->lg_table);
  }
  /* An updatable image without exceptions still has a table for them. It does not say how large. */
  *cells = *cells == 0 ? (uint32_t)(rest / 4) : UINT32_C(1) << image->lg_table;
  return TR_OK;
}

static tr_code read_hll4(tr_hll *hll, const hll_image *image, tr_error *err) {
  size_t k = (size_t)1 << image->lg_k, start = REGISTERS_START + k / 2;
  const uint8_t *nibbles = image->bytes.data + REGISTERS_START;
  uint32_t cells;
  tr_code code = count_exception_cells(image, image->bytes.size - start, &cells, err);
  if (code == TR_OK) code = check_size(image, start + 4 * (uint64_t)cells, err);
  if (code != TR_OK) return code;
  uint32_t marked = 0;
  for (size_t i = 0; i < k; i++) {
    uint32_t above = nibbles[i / 2] >> (i % 2 * 4) & 15, rank = image->sixth + above;
    if (above == EXCEPTION) {
      rank = TR_HLL_MAX_RANK + 1; /* until its exception is read */
      marked++;
    } else if (rank > TR_HLL_MAX_RANK) {
      return tr_error_set(err, TR_CORRUPT, "HLL sketch: register %zu of rank %u", i, rank);
    }
    hll->registers[i] = (uint8_t)rank;
  }
  return read_exceptions(hll, image, marked, cells, err);
}

static tr_code read_hll6(tr_hll *hll, const hll_image *image, tr_error *err) {
  size_t k = (size_t)1 << image->lg_k;
  const uint8_t *packed = image->bytes.data + REGISTERS_START;
  tr_code code = check_size(image, REGISTERS_START + k * 3 / 4 + 1, err);
  for (size_t i = 0; code == TR_OK && i < k; i++) {
    size_t bit = i * 6;
    hll->registers[i] = (uint8_t)(tr_load_u16(packed + bit / 8) >> bit % 8 & TR_HLL_MAX_RANK);
  }
  return code;
}

static tr_code read_hll8(tr_hll *hll, const hll_image *image, tr_error *err) {
  size_t k = (size_t)1 << image->lg_k;
  const uint8_t *ranks = image->bytes.data + REGISTERS_START;
  tr_code code = check_size(image, REGISTERS_START + k, err);
  for (size_t i = 0; code == TR_OK && i < k; i++) {
    if (ranks[i] > TR_HLL_MAX_RANK) {
      return tr_error_set(err, TR_CORRUPT, "HLL sketch: register %zu of rank %u", i, ranks[i]);
    }
    hll->registers[i] = ranks[i];
  }
  return code;
}

static tr_code read_registers(tr_hll *hll, const hll_image *image, tr_error *err) {
  static tr_code (*const read_type[])(tr_hll *, const hll_image *,
                                      tr_error *) = {read_hll4, read_hll6, read_hll8};
  size_t k = (size_t)1 << image->lg_k;
  if (image->bytes.size < REGISTERS_START + k / 2) {
    return check_size(image, REGISTERS_START + k / 2, err);
  }
  tr_code code = tr_hll_turn_to_registers(hll, err);
  if (code == TR_OK) code = read_type[image->type](hll, image, err);
  if (code != TR_OK || image->bytes.data[5] & FLAG_OUT_OF_ORDER) return code;
  double hip = tr_load_double(image->bytes.data + 8);
  if (tr_hll_is_plausible(hll, hip)) hll->hip = hip;
  return TR_OK;
}

tr_code tr_hll_read(tr_hll *hll, tr_bytes bytes, tr_error *err) {
  static tr_code (*const read_mode[])(tr_hll *, const hll_image *,
                                      tr_error *) = {read_list, read_set, read_registers};
  hll_image image;
  tr_code code = read_preamble(bytes, &image, err);
  *hll = tr_hll_empty(code == TR_OK ? image.lg_k : TR_HLL_LG_K);
  if (code == TR_OK) code = read_mode[image.mode](hll, &image, err);
  if (code != TR_OK) tr_hll_free(hll);
  return code;
}

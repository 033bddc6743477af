/*
** HyperLogLog, as hll.h describes it: a set of coupons that turns into registers.
**
** Invariants:  coupons are distinct, and no more than the limit of lg_k;  there are coupons or
**              registers, not both;  every register is 0..63;  hip is 0 unless there are registers.
*/
#include "combine/hll_inside.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* The smallest coupon table. */
#define LG_LEAST_TABLE 3
/* Any other seed would do. This is "blob" in ASCII. */
#define BLOB_HASH_SEED 0x626c6f62

/* --- values to coupons -------------------------------------------------------------------- */

static uint32_t coupon_of_real(double real) {
  int64_t integer;
  if (tr_real_is_integer(real, &integer)) return tr_hll_coupon_of_u64((uint64_t)integer);
  uint64_t bits;
  memcpy(&bits, &real, sizeof bits);
  return tr_hll_coupon_of_u64(bits);
}

uint32_t tr_hll_coupon_of(const tr_value *value) {
  switch (value->type) {
  case TR_NULL: return 0;
  case TR_INTEGER: return tr_hll_coupon_of_u64((uint64_t)value->integer);
  case TR_REAL: return coupon_of_real(value->real);
  case TR_TEXT: return tr_hll_coupon_of_hash(tr_hash128_of(value->bytes, TR_HLL_HASH_SEED));
  case TR_BLOB: return tr_hll_coupon_of_hash(tr_hash128_of(value->bytes, BLOB_HASH_SEED));
  }
  return 0;
}

/* --- coupons and registers ---------------------------------------------------------------- */

uint32_t tr_hll_coupon_limit(int lg_k) {
  return lg_k < 8 ? TR_HLL_LIST_CAPACITY - 1 : (UINT32_C(3) << (lg_k - 3)) / 4;
}

/* The cell that holds `coupon`, or the free one where it belongs. */
static uint32_t *find_cell(uint32_t *table, int lg_table, uint32_t coupon) {
  uint32_t mask = (UINT32_C(1) << lg_table) - 1;
  uint32_t at = coupon & mask;
  while (table[at] != 0 && table[at] != coupon) at = (at + 1) & mask;
  return &table[at];
}

int tr_hll_has_coupon(const tr_hll *hll, uint32_t coupon) {
  return hll->coupons != NULL && *find_cell(hll->coupons, hll->lg_table, coupon) == coupon;
}

static tr_code resize_table(tr_hll *hll, int lg_table, tr_error *err) {
  size_t size = ((size_t)1 << lg_table) * sizeof *hll->coupons;
  uint32_t *table = tr_malloc(size);
  if (table == NULL) return tr_error_no_memory(err);
  memset(table, 0, size);
  for (uint32_t i = 0; hll->coupons != NULL && i < UINT32_C(1) << hll->lg_table; i++) {
    if (hll->coupons[i] != 0) *find_cell(table, lg_table, hll->coupons[i]) = hll->coupons[i];
  }
  tr_free(hll->coupons);
  hll->coupons = table;
  hll->lg_table = (uint8_t)lg_table;
  return TR_OK;
}

static void drop_coupons(tr_hll *hll) {
  tr_free(hll->coupons);
  hll->coupons = NULL;
  hll->coupon_count = 0;
  hll->lg_table = 0;
}

tr_code tr_hll_turn_to_registers(tr_hll *hll, tr_error *err) {
  size_t k = (size_t)1 << hll->lg_k;
  hll->registers = tr_malloc(k);
  if (hll->registers == NULL) return tr_error_no_memory(err);
  memset(hll->registers, 0, k);
  for (uint32_t i = 0; hll->coupons != NULL && i < UINT32_C(1) << hll->lg_table; i++) {
    if (hll->coupons[i] != 0) tr_hll_raise_register(hll, hll->coupons[i]);
  }
  drop_coupons(hll);
  return TR_OK;
}

static tr_code add_to_set(tr_hll *hll, uint32_t coupon, tr_error *err) {
  if (hll->coupons == NULL) {
    tr_code code = resize_table(hll, LG_LEAST_TABLE, err);
    if (code != TR_OK) return code;
  }
  uint32_t *cell = find_cell(hll->coupons, hll->lg_table, coupon);
  if (*cell == coupon) return TR_OK;
  tr_code code = TR_OK;
  if (hll->coupon_count == tr_hll_coupon_limit(hll->lg_k)) {
    code = tr_hll_turn_to_registers(hll, err);
    if (code == TR_OK) tr_hll_raise_register(hll, coupon);
    return code;
  }
  if ((hll->coupon_count + 1) * 4 > UINT32_C(3) << hll->lg_table) {
    code = resize_table(hll, hll->lg_table + 1, err);
    if (code != TR_OK) return code;
    cell = find_cell(hll->coupons, hll->lg_table, coupon);
  }
  *cell = coupon;
  hll->coupon_count++;
  return TR_OK;
}

tr_code tr_hll_add_coupon(tr_hll *hll, uint32_t coupon, tr_error *err) {
  return tr_hll_add_coupon_in_place(hll, coupon) ? TR_OK : add_to_set(hll, coupon, err);
}

tr_hll tr_hll_empty(int lg_k) {
  return (tr_hll){.lg_k = (uint8_t)lg_k};
}

tr_code tr_hll_add(tr_hll *hll, const tr_value *value, tr_error *err) {
  uint32_t coupon = tr_hll_coupon_of(value);
  return coupon == 0 ? TR_OK : tr_hll_add_coupon(hll, coupon, err);
}

static int is_empty(const tr_hll *hll) {
  return hll->registers == NULL && hll->coupon_count == 0;
}

/*
** Raises k registers to the maxima with `count` others, count >= k. A register's number is the low
** end of the address, so the others fold onto the k.
*/
static void max_registers(uint8_t *registers, size_t k, const uint8_t *others, size_t count) {
  for (size_t start = 0; start < count; start += k) {
    for (size_t i = 0; i < k; i++) {
      uint8_t rank = others[start + i];
      registers[i] = registers[i] < rank ? rank : registers[i];
    }
  }
}

/* Folds the sketch to a smaller lg_k. */
static tr_code reduce_lg_k(tr_hll *hll, int lg_k, tr_error *err) {
  if (hll->registers == NULL) {
    int old = hll->lg_k;
    hll->lg_k = (uint8_t)lg_k;
    tr_code code =
        hll->coupon_count > tr_hll_coupon_limit(lg_k) ? tr_hll_turn_to_registers(hll, err) : TR_OK;
    if (code != TR_OK) hll->lg_k = (uint8_t)old;
    return code;
  }
  size_t k = (size_t)1 << lg_k;
  uint8_t *folded = tr_malloc(k);
  if (folded == NULL) return tr_error_no_memory(err);
  memset(folded, 0, k);
  max_registers(folded, k, hll->registers, (size_t)1 << hll->lg_k);
  tr_free(hll->registers);
  hll->registers = folded;
  hll->lg_k = (uint8_t)lg_k;
  return TR_OK;
}

static tr_code copy_into_empty(tr_hll *hll, const tr_hll *other, tr_error *err) {
  tr_hll copy = *other;
  size_t size = tr_hll_heap_size(other);
  void *memory = tr_malloc(size);
  if (memory == NULL) return tr_error_no_memory(err);
  if (other->registers != NULL) {
    copy.registers = memcpy(memory, other->registers, size);
  } else {
    copy.coupons = memcpy(memory, other->coupons, size);
  }
  tr_hll_free(hll);
  *hll = copy;
  return TR_OK;
}

tr_code tr_hll_merge(tr_hll *hll, const tr_hll *other, tr_error *err) {
  if (is_empty(hll) && is_empty(other)) {
    if (other->lg_k < hll->lg_k) hll->lg_k = other->lg_k;
    return TR_OK;
  }
  if (is_empty(other)) return TR_OK;
  if (is_empty(hll)) return copy_into_empty(hll, other, err);
  tr_code code = TR_OK;
  hll->hip = 0;
  if (other->lg_k < hll->lg_k) code = reduce_lg_k(hll, other->lg_k, err);
  if (code == TR_OK && other->registers != NULL && hll->registers == NULL) {
    code = tr_hll_turn_to_registers(hll, err);
  }
  for (uint32_t i = 0;
       code == TR_OK && other->coupons != NULL && i < UINT32_C(1) << other->lg_table; i++) {
    if (other->coupons[i] != 0) code = tr_hll_add_coupon(hll, other->coupons[i], err);
  }
  if (code != TR_OK || other->registers == NULL) return code;
  max_registers(hll->registers, (size_t)1 << hll->lg_k, other->registers, (size_t)1 << other->lg_k);
  return TR_OK;
}

size_t tr_hll_heap_size(const tr_hll *hll) {
  if (hll->registers != NULL) return (size_t)1 << hll->lg_k;
  return hll->coupons == NULL ? 0 : ((size_t)1 << hll->lg_table) * sizeof *hll->coupons;
}

void tr_hll_free(tr_hll *hll) {
  tr_free(hll->coupons);
  tr_free(hll->registers);
  *hll = tr_hll_empty(hll->lg_k);
}

/* --- the estimate ------------------------------------------------------------------------- */

/*
** How many distinct values `count` distinct coupons stand for, on average. Two values share a
** coupon with probability 2^-26 * (the sum of 4^-rank over all ranks) = 2^-26 / 3. At the most
** coupons that there can be, this adds less than half a value.
*/
static double estimate_of_coupons(double count) {
  double pairs = count * (count - 1) / 2;
  return count + pairs / (3 * (double)(UINT32_C(1) << TR_HLL_ADDRESS_BITS));
}

/* Ertl's sigma, for the registers that are still 0. x in [0, 1). */
static double sigma(double x) {
  double y = 1, z = x, before;
  do {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  } while (z != before);
  return z;
}

/* Ertl's tau, for the registers with the highest rank. x in [0, 1]. */
static double tau(double x) {
  if (x == 0 || x == 1) return 0;
  double y = 1, z = 1 - x, before;
  do {
    x = sqrt(x);
    before = z;
    y *= 0.5;
    z -= (1 - x) * (1 - x) * y;
  } while (z != before);
  return z / 3;
}

/*
** If no register is 0 any more, the mean over k registers is too high by the factor 1 + 1.079 / k
** (Flajolet et al., figure 3). If most are 0, it is right. Between, the excess is in proportion to
** the registers that are not 0; this was measured for k from 16 on.
*/
static double estimate_of_registers(const uint8_t *registers, int lg_k) {
  uint32_t counts[TR_HLL_MAX_RANK + 1] = {0};
  for (size_t i = 0; i < (size_t)1 << lg_k; i++) counts[registers[i]]++;
  double k = (double)(UINT32_C(1) << lg_k);
  if (counts[0] == UINT32_C(1) << lg_k) return 0;
  double z = k * tau(1 - counts[TR_HLL_MAX_RANK] / k);
  for (int rank = TR_HLL_MAX_RANK - 1; rank >= 1; rank--) z = 0.5 * (z + counts[rank]);
  z += k * sigma(counts[0] / k);
  double estimate = k * k / (2 * 0.69314718055994530942 * z);
  return estimate / (1 + 1.079 / k * (1 - counts[0] / k));
}

int tr_hll_is_plausible(const tr_hll *hll, double hip) {
  /* Within ten standard errors up or down, and not NaN. */
  double estimate = estimate_of_registers(hll->registers, hll->lg_k);
  double most = 1 + 10 * 1.04 / sqrt((double)(UINT32_C(1) << hll->lg_k));
  return hip > 0 && hip <= estimate * most && hip >= estimate / most;
}

double tr_hll_estimate(const tr_hll *hll) {
  if (hll->hip > 0) return hll->hip;
  if (hll->registers == NULL) return estimate_of_coupons(hll->coupon_count);
  return estimate_of_registers(hll->registers, hll->lg_k);
}

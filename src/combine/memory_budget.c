/*
** Accounts take a little more from the budget than they need, so that threads seldom contend for
** it.
*/
#include "combine/memory_budget.h"

/* An account may hold this part of the limit in advance. */
#define LEASES_OF_LIMIT 8192
#define LEAST_LEASE 1024

/* 1 if the budget has so much left, else 0. */
static int lease(tr_memory_budget *budget, uint64_t size) {
  uint64_t leased = atomic_load_explicit(&budget->leased, memory_order_relaxed);
  do {
    if (leased > budget->limit || size > budget->limit - leased) return 0;
  } while (!atomic_compare_exchange_weak(&budget->leased, &leased, leased + size));
  return 1;
}

static tr_code take_from_budget(tr_memory_account *account, uint64_t more, tr_error *err) {
  tr_memory_budget *budget = account->budget;
  uint64_t need = account->used + more - account->leased, extra = budget->limit / LEASES_OF_LIMIT;
  if (extra < LEAST_LEASE) extra = 0;
  if (lease(budget, need + extra)) {
    account->leased += need + extra;
  } else if (lease(budget, need)) {
    account->leased += need;
  } else {
    return tr_error_set(err, TR_TOO_BIG, "the groups need more than the limit of %llu bytes",
                        (unsigned long long)budget->limit);
  }
  account->used += more;
  return TR_OK;
}

tr_code tr_memory_account_take(tr_memory_account *account, uint64_t more, tr_error *err) {
  if (account->budget->limit != 0 && account->used + more > account->leased) {
    return take_from_budget(account, more, err);
  }
  account->used += more;
  return TR_OK;
}

void tr_memory_account_close(tr_memory_account *account) {
  atomic_fetch_sub(&account->budget->leased, account->leased);
  account->used = account->leased = 0;
}

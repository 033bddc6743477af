/*
** Counts the memory of groups and keeps it below a limit.
**
** Thread-safety: any number of threads may use a budget. An account belongs to one thread at a
** time.
*/
#ifndef TR_COMBINE_MEMORY_BUDGET_H
#define TR_COMBINE_MEMORY_BUDGET_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"

/*
** What all tables of a run together may use, in bytes. Initialise with `{.limit = n}`. Thread-safe.
*/
typedef struct tr_memory_budget {
  uint64_t limit; /* 0: no limit */
  _Atomic uint64_t leased;
} tr_memory_budget;

/*
** What some of the tables use; they belong to one thread at a time. An account takes a little more
** from the budget than it needs, so that threads seldom contend for the budget.
*/
typedef struct tr_memory_account {
  uint64_t used;
  uint64_t leased;
  tr_memory_budget *budget;
} tr_memory_account;

/* Takes `more` bytes. TR_TOO_BIG: that would exceed the limit; nothing changed. */
tr_code tr_memory_account_take(tr_memory_account *account, uint64_t more, tr_error *err);

/* Gives everything back to the budget. */
void tr_memory_account_close(tr_memory_account *account);

#endif

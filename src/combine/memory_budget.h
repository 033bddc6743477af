/*
** Counting the memory of groups, and keeping it below a limit.
**
** Thread-safety: a budget may be used by any number of threads; an account belongs to one at a
** time.
*/
#ifndef TR_COMBINE_MEMORY_BUDGET_H
#define TR_COMBINE_MEMORY_BUDGET_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"

/* What all tables of a run may use together, in bytes. `{.limit = n}`; thread-safe. */
typedef struct tr_memory_budget {
  uint64_t limit; /* 0: none */
  _Atomic uint64_t leased;
} tr_memory_budget;

/*
** What some of the tables use, of one thread at a time: it takes a little more from the budget than
** it needs at once, so that threads seldom meet there.
*/
typedef struct tr_memory_account {
  uint64_t used;
  uint64_t leased;
  tr_memory_budget *budget;
} tr_memory_account;

/* Takes `more` bytes. TR_TOO_BIG: they are over the limit, and nothing has changed. */
tr_code tr_memory_account_take(tr_memory_account *account, uint64_t more, tr_error *err);

/* Gives all back to the budget. */
void tr_memory_account_close(tr_memory_account *account);

#endif

/*
** A new block has an eighth of the size of all blocks so far, so that little of it stays unused. A
** large block must begin where a large page can. So it is allocated with that much more room, and
** the bytes before and after it are never touched: the system need not provide them.
*/
#include "combine/group_arena.h"

#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "base/memory.h"
#include "base/thread.h"

#define LARGE_PAGE ((size_t)2 << 20)
#define FIRST_BLOCK LARGE_PAGE
#define LARGEST_BLOCK ((size_t)32 << 20)

typedef struct block {
  struct block *next;
  uint8_t *begin; /* a multiple of TR_LINE, or of LARGE_PAGE */
  size_t size, used;
} block;

/* A piece that was given back, while it waits to be taken again. */
typedef struct spare {
  struct spare *next;
  size_t size;
} spare;

/* There is a list of spares for each logarithm of their size. */
#define CLASSES 64

struct tr_group_reserve {
  pthread_mutex_t mutex;
  block *blocks;
  uint64_t memory, most;
};

struct tr_group_arena {
  pthread_mutex_t mutex;
  tr_memory_account account;
  tr_group_reserve *reserve;
  block *blocks; /* the first is the one in use */
  spare *spares[CLASSES];
};

/* --- the reserve ------------------------------------------------------------------------------ */

tr_code tr_group_reserve_create(uint64_t most, tr_group_reserve **created, tr_error *err) {
  *created = NULL;
  tr_group_reserve *reserve = tr_malloc(sizeof *reserve);
  if (reserve == NULL) return tr_error_no_memory(err);
  *reserve = (tr_group_reserve){.most = most};
  tr_code code = tr_mutex_init(&reserve->mutex, err);
  if (code != TR_OK) {
    tr_free(reserve);
    return code;
  }
  *created = reserve;
  return TR_OK;
}

uint64_t tr_group_reserve_memory(tr_group_reserve *reserve) {
  pthread_mutex_lock(&reserve->mutex);
  uint64_t memory = reserve->memory;
  pthread_mutex_unlock(&reserve->mutex);
  return memory;
}

static void free_blocks(block *b) {
  while (b != NULL) {
    block *next = b->next;
    tr_free(b);
    b = next;
  }
}

void tr_group_reserve_free(tr_group_reserve *reserve) {
  if (reserve == NULL) return;
  free_blocks(reserve->blocks);
  pthread_mutex_destroy(&reserve->mutex);
  tr_free(reserve);
}

/*
** Takes the smallest block that has at least `size` bytes and at most about twice as many. NULL:
** there is none.
*/
static block *take_from_reserve(tr_group_reserve *reserve, size_t size) {
  block **best = NULL;
  pthread_mutex_lock(&reserve->mutex);
  for (block **at = &reserve->blocks; *at != NULL; at = &(*at)->next) {
    if ((*at)->size < size || (*at)->size / 2 > size) continue;
    if (best == NULL || (*at)->size < (*best)->size) best = at;
  }
  block *b = best == NULL ? NULL : *best;
  if (b != NULL) {
    *best = b->next;
    reserve->memory -= b->size;
  }
  pthread_mutex_unlock(&reserve->mutex);
  return b;
}

static void let_system_take(const block *b) {
#if defined(MADV_FREE)
  madvise(b->begin, b->size, MADV_FREE);
#else
  (void)b;
#endif
}

/* Keeps a block, or frees it. */
static void give_to_reserve(tr_group_reserve *reserve, block *b) {
  pthread_mutex_lock(&reserve->mutex);
  int is_kept = b->size >= LARGE_PAGE && b->size <= reserve->most - reserve->memory;
  if (is_kept) {
    let_system_take(b);
    b->next = reserve->blocks;
    reserve->blocks = b;
    reserve->memory += b->size;
  }
  pthread_mutex_unlock(&reserve->mutex);
  if (!is_kept) tr_free(b);
}

/* --- the arena -------------------------------------------------------------------------------- */

tr_code tr_group_arena_create(tr_memory_budget *budget, tr_group_reserve *reserve,
                              tr_group_arena **created, tr_error *err) {
  *created = NULL;
  tr_group_arena *arena = tr_malloc(sizeof *arena);
  if (arena == NULL) return tr_error_no_memory(err);
  *arena =
      (tr_group_arena){.account.budget = budget, .reserve = budget->limit == 0 ? reserve : NULL};
  tr_code code = tr_mutex_init(&arena->mutex, err);
  if (code != TR_OK) {
    tr_free(arena);
    return code;
  }
  *created = arena;
  return TR_OK;
}

static void ask_for_large_pages(const block *b) {
#if defined(MADV_HUGEPAGE)
  /* If the system refuses, that does not matter. */
  if (b->size >= LARGE_PAGE) madvise(b->begin, b->size, MADV_HUGEPAGE);
#else
  (void)b;
#endif
}

static block *new_block(size_t size) {
  size_t alignment = size >= LARGE_PAGE ? LARGE_PAGE : TR_LINE;
  block *b = tr_malloc(sizeof *b + alignment + size);
  if (b == NULL) return NULL;
  uintptr_t first = (uintptr_t)(b + 1);
  size_t skipped = (alignment - first % alignment) % alignment;
  *b = (block){NULL, (uint8_t *)(b + 1) + skipped, size, 0};
  ask_for_large_pages(b);
  return b;
}

/* Adds a block with room for `size` bytes; it becomes the one in use. */
static tr_code add_block(tr_group_arena *arena, size_t size, tr_error *err) {
  block *b = arena->reserve == NULL ? NULL : take_from_reserve(arena->reserve, size);
  if (b != NULL) size = b->size;
  tr_code code = tr_memory_account_take(&arena->account, size, err);
  if (code == TR_OK && b == NULL) b = new_block(size);
  if (code == TR_OK && b == NULL) {
    arena->account.used -= size;
    code = tr_error_no_memory(err);
  }
  /*
  ** No block of the reserve is lost: with a reserve there is no limit, so a block from it cannot
  ** fail.
  */
  if (code != TR_OK) return code;
  b->next = arena->blocks;
  b->used = 0;
  arena->blocks = b;
  return TR_OK;
}

/* The size of the next block. It is a whole number of large pages if it has at least one. */
static size_t wanted_size(const tr_group_arena *arena, size_t size) {
  uint64_t limit = arena->account.budget->limit;
  size_t wanted = (size_t)(arena->account.used / 8);
  if (wanted < FIRST_BLOCK) wanted = FIRST_BLOCK;
  if (wanted > LARGEST_BLOCK) wanted = LARGEST_BLOCK;
  if (limit != 0 && wanted > limit / 64) wanted = (size_t)(limit / 64);
  if (wanted < size) wanted = size;
  return wanted < LARGE_PAGE ? wanted : (wanted + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
}

static size_t round_up(size_t size) {
  return (size + TR_LINE - 1) & ~(size_t)(TR_LINE - 1);
}

static spare **spares_of(tr_group_arena *arena, size_t size) {
  int log = 0;
  while (size >>= 1) log++;
  return &arena->spares[log];
}

tr_code tr_group_arena_take(tr_group_arena *arena, size_t size, void **piece, tr_error *err) {
  tr_code code = TR_OK;
  size = round_up(size);
  pthread_mutex_lock(&arena->mutex);
  spare **spares = spares_of(arena, size);
  if (*spares != NULL && (*spares)->size == size) {
    *piece = *spares;
    *spares = (*spares)->next;
    pthread_mutex_unlock(&arena->mutex);
    return TR_OK;
  }
  if (arena->blocks == NULL || arena->blocks->size - arena->blocks->used < size) {
    code = add_block(arena, wanted_size(arena, size), err);
    if (code == TR_TOO_BIG) code = add_block(arena, size, err); /* the rest of the limit */
  }
  if (code == TR_OK) {
    *piece = arena->blocks->begin + arena->blocks->used;
    arena->blocks->used += size;
  }
  pthread_mutex_unlock(&arena->mutex);
  return code;
}

void tr_group_arena_give_back(tr_group_arena *arena, void *piece, size_t size) {
  spare *given = piece;
  size = round_up(size);
  pthread_mutex_lock(&arena->mutex);
  spare **spares = spares_of(arena, size);
  *given = (spare){*spares, size};
  *spares = given;
  pthread_mutex_unlock(&arena->mutex);
}

uint64_t tr_group_arena_memory(tr_group_arena *arena) {
  pthread_mutex_lock(&arena->mutex);
  uint64_t memory = arena->account.used;
  pthread_mutex_unlock(&arena->mutex);
  return memory;
}

void tr_group_arena_free(tr_group_arena *arena) {
  if (arena == NULL) return;
  while (arena->blocks != NULL && arena->reserve != NULL) {
    block *b = arena->blocks;
    arena->blocks = b->next;
    give_to_reserve(arena->reserve, b);
  }
  free_blocks(arena->blocks);
  tr_memory_account_close(&arena->account);
  pthread_mutex_destroy(&arena->mutex);
  tr_free(arena);
}

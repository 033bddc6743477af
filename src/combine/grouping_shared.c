/*
** What several groupings share, and how they are joined.
**
** Late rows. After all rows have been read, some still wait in their buffers. Adding them takes as
** long as reading a tenth of the source. But while the groups are given out, only one thread is
** busy. So these rows stay in the buffers when the groupings are joined, and are added part by
** part: by the thread that asks for the first group of a part, and by helper threads, which take
** the next part that nobody has taken. Each of them adds the rows of that part from the buffers of
** all groupings.
**
** Whether any group has keys that look different must be known before the first group is given out.
** So rows are late only if neither their keys nor those of the groups can look different from each
** other. Buffers whose rows have heads (waiting_rows.h) are worked off before. If the table of any
** part has such keys, all buffers are. Under a memory limit too no rows are late, so that a query
** over the limit fails before it gives out a group.
*/
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/thread.h"
#include "combine/grouping_inside.h"

/* --- shared parts ---------------------------------------------------------------------------- */

tr_code tr_group_parts_create(const tr_group_shape *shape, int most, tr_group_parts **created,
                              tr_error *err) {
  *created = NULL;
  tr_group_parts *parts = tr_malloc(sizeof *parts);
  if (parts == NULL) return tr_error_no_memory(err);
  memset(parts, 0, sizeof *parts);
  parts->shape = *shape;
  parts->most = most;
  parts->budget.limit = shape->memory_limit;
  tr_code code = tr_group_arena_create(&parts->budget, shape->reserve, &parts->arena, err);
  for (; code == TR_OK && parts->count < TR_PARTS; parts->count++) {
    tr_shared_part *part = &parts->parts[parts->count];
    part->account.budget = &parts->budget;
    code = tr_mutex_init(&part->mutex, err);
    if (code != TR_OK) break;
  }
  if (code != TR_OK) {
    tr_group_parts_free(parts);
    return code;
  }
  *created = parts;
  return TR_OK;
}

void tr_group_parts_stop(tr_group_parts *parts) {
  atomic_store(&parts->is_stopped, 1);
}

void tr_group_parts_free(tr_group_parts *parts) {
  if (parts == NULL) return;
  for (int i = 0; i < parts->count; i++) {
    tr_group_table_free(parts->parts[i].table);
    pthread_mutex_destroy(&parts->parts[i].mutex);
  }
  tr_group_arena_free(parts->arena);
  tr_free(parts);
}

/* --- late rows ------------------------------------------------------------------------------- */

typedef enum late_state { WAITS, TAKEN, ADDED } late_state;

/* A grouping, and the thread that uses its `inputs`. */
typedef struct late_seat {
  tr_late_rows *late;
  tr_grouping *grouping;
  pthread_t thread;
  int has_thread;
} late_seat;

struct tr_late_rows {
  pthread_mutex_t mutex;
  pthread_cond_t is_added;
  pid_t process; /* the one that the threads belong to */
  late_state states[TR_PARTS];
  int left;     /* parts that are not ADDED */
  tr_error err; /* the first error; after it nothing is added */
  int count;
  /* The first is the caller's, with the grouping that the others were joined to. */
  late_seat seats[];
};

/* TR_NO_MEMORY: the others still belong to the caller. */
static tr_code create_late_rows(tr_grouping *grouping, tr_grouping *const *others, int count,
                                tr_error *err) {
  size_t size = sizeof(tr_late_rows) + ((size_t)count + 1) * sizeof(late_seat);
  tr_late_rows *late = tr_malloc(size);
  if (late == NULL) return tr_error_no_memory(err);
  memset(late, 0, size);
  late->process = getpid();
  late->left = TR_PARTS;
  late->count = count + 1;
  for (int i = 0; i <= count; i++) {
    late->seats[i] = (late_seat){.late = late, .grouping = i == 0 ? grouping : others[i - 1]};
  }
  tr_code code = tr_mutex_init(&late->mutex, err);
  if (code == TR_OK) {
    code = tr_condition_init(&late->is_added, err);
    if (code != TR_OK) pthread_mutex_destroy(&late->mutex);
  }
  if (code != TR_OK) {
    tr_free(late);
    return code;
  }
  grouping->late = late;
  return TR_OK;
}

/* Adds all rows of a part. The caller holds the mutex; it is released meanwhile. */
static void add_part(late_seat *seat, int number) {
  tr_late_rows *late = seat->late;
  tr_error err;
  tr_code code = TR_OK;
  late->states[number] = TAKEN;
  pthread_mutex_unlock(&late->mutex);
  for (int i = 0; i < late->count && code == TR_OK; i++) {
    code = tr_grouping_work_off(late->seats[i].grouping, number, seat->grouping->inputs, &err);
  }
  pthread_mutex_lock(&late->mutex);
  late->states[number] = ADDED;
  if (code != TR_OK && late->err.code == TR_OK) late->err = err;
  if (--late->left == 0) {
    for (int i = 0; i < late->count; i++) tr_grouping_drop_buffers(late->seats[i].grouping);
  }
  pthread_cond_broadcast(&late->is_added);
}

static void *help(void *pointer) {
  late_seat *seat = pointer;
  tr_late_rows *late = seat->late;
  pthread_mutex_lock(&late->mutex);
  for (int i = 0; i < TR_PARTS && late->err.code == TR_OK; i++) {
    if (late->states[i] == WAITS) add_part(seat, i);
  }
  pthread_mutex_unlock(&late->mutex);
  return NULL;
}

int tr_grouping_is_late(const tr_grouping *grouping) {
  return grouping->late != NULL;
}

void tr_grouping_start_helpers(tr_grouping *grouping) {
  tr_late_rows *late = grouping->late;
  for (int i = 1; late != NULL && i < late->count; i++) {
    late_seat *seat = &late->seats[i];
    seat->has_thread = tr_thread_start(&seat->thread, help, seat);
  }
}

tr_code tr_late_rows_settle(tr_grouping *grouping, int number, tr_error *err) {
  tr_late_rows *late = grouping->late;
  if (late == NULL) return TR_OK;
  /*
  ** The helpers belong to the parent process. What a forked child sees of their work may be
  ** inconsistent.
  */
  if (late->process != getpid())
    return tr_error_set(err, TR_INTERRUPTED, "the process was forked while groups were made");
  pthread_mutex_lock(&late->mutex);
  if (late->states[number] == WAITS && late->err.code == TR_OK) add_part(&late->seats[0], number);
  while (late->states[number] != ADDED && late->err.code == TR_OK) {
    pthread_cond_wait(&late->is_added, &late->mutex);
  }
  tr_code code = late->err.code;
  if (code != TR_OK && err != NULL) *err = late->err;
  pthread_mutex_unlock(&late->mutex);
  return code;
}

int tr_late_rows_free(tr_late_rows *late) {
  if (late == NULL) return 1;
  if (late->process != getpid()) return 0;
  tr_group_parts_stop(late->seats[0].grouping->shared);
  for (int i = 1; i < late->count; i++) {
    if (late->seats[i].has_thread) pthread_join(late->seats[i].thread, NULL);
  }
  for (int i = 1; i < late->count; i++) tr_grouping_free(late->seats[i].grouping);
  pthread_cond_destroy(&late->is_added);
  pthread_mutex_destroy(&late->mutex);
  tr_free(late);
  return 1;
}

/* --- finishing and joining ------------------------------------------------------------------- */

/* Whether rows may stay in the buffers of a grouping; see the top of this file. */
static int may_be_late(const tr_grouping *grouping) {
  const tr_group_parts *shared = grouping->shared;
  return shared != NULL && shared->most > 1 && shared->budget.limit == 0 && grouping->parts != NULL;
}

/* Works off all buffers whose rows have heads. */
static tr_code work_off_heads(tr_grouping *grouping, tr_error *err) {
  tr_code code = TR_OK;
  for (int i = 0; i < TR_PARTS && code == TR_OK; i++) {
    const tr_hash_part *part = &grouping->parts[i];
    if (!tr_waiting_rows_are_plain(&part->older) || !tr_waiting_rows_are_plain(&part->rows))
      code = tr_grouping_work_off(grouping, i, grouping->inputs, err);
  }
  return code;
}

tr_code tr_grouping_finish(tr_grouping *grouping, tr_error *err) {
  if (may_be_late(grouping)) return work_off_heads(grouping, err);
  tr_code code = tr_grouping_flush(grouping, err);
  int is_used = grouping->shared != NULL && atomic_load(&grouping->shared->is_used);
  return code == TR_OK && is_used && grouping->table != NULL ? tr_grouping_cut(grouping, err)
                                                             : code;
}

static int are_parts_plain(const tr_group_parts *parts) {
  int are_plain = 1;
  for (int i = 0; i < TR_PARTS; i++) {
    const tr_group_table *table = parts->parts[i].table;
    are_plain &= table == NULL || tr_group_table_is_plain(table);
  }
  return are_plain;
}

static tr_code flush_all(tr_grouping *grouping, tr_grouping *const *others, int count,
                         tr_error *err) {
  tr_code code = tr_grouping_flush(grouping, err);
  for (int i = 0; i < count && code == TR_OK; i++) code = tr_grouping_flush(others[i], err);
  return code;
}

tr_code tr_grouping_join(tr_grouping *grouping, tr_grouping *const *others, int count,
                         tr_error *err) {
  tr_group_parts *shared = grouping->shared;
  int is_in_parts = atomic_load(&shared->is_used), is_late = is_in_parts && may_be_late(grouping);
  tr_code code = TR_OK;
  grouping->owns_shared = 1;
  if (is_late && !are_parts_plain(shared)) {
    is_late = 0;
    code = flush_all(grouping, others, count, err);
  }
  for (int i = 0; i < count && code == TR_OK; i++) {
    grouping->has_looks |= tr_grouping_has_looks(others[i]);
    if (!is_in_parts) code = tr_grouping_merge(grouping, others[i], err);
  }
  if (code == TR_OK && is_late) code = create_late_rows(grouping, others, count, err);
  if (grouping->late != NULL) return TR_OK;
  for (int i = 0; i < count; i++) tr_grouping_free(others[i]);
  return code;
}

/*
** Trackers by name. A plain name is private to its connection; a name that begins with `shared:` is
** one for the whole process, so that another thread's connection can split a running scan.
**
** A tracker belongs to the connection that opened it and leaves the registry when that connection
** closes or closes it by name. Whoever works with one holds a reference, so a tracker whose owner
** is gone is freed by the last holder and never used after free. One scan at a time uses a tracker:
** `tr_named_tracker_begin_scan` takes it, `..._end_scan` gives it back.
**
** Thread-safety: the shared part is guarded by one process-wide mutex, held for a look-up in a
** short list; a private name belongs to its connection's thread.
*/
#ifndef TR_HOST_TRACKER_REGISTRY_H
#define TR_HOST_TRACKER_REGISTRY_H

#include "range/tracker.h"

typedef struct tr_tracker_registry tr_tracker_registry;

typedef struct tr_named_tracker {
  char *name;
  tr_tracker *tracker;
} tr_named_tracker;

/* One per connection. NULL: out of memory. Freeing it closes every tracker that it opened. */
tr_tracker_registry *tr_tracker_registry_create(void);
void tr_tracker_registry_free(tr_tracker_registry *registry);

/*
** Opens a tracker over a copy of `restriction` and returns a reference to it. TR_INVALID_STATE when
** the name is open already (for a shared name: in any connection); TR_INVALID_ARGUMENT for an empty
** name or one with a zero byte; TR_NO_MEMORY. NULL on failure.
*/
tr_named_tracker *tr_tracker_registry_open(tr_tracker_registry *registry, tr_bytes name,
                                           const tr_restriction *restriction, tr_error *err);

/* A reference to an open tracker; NULL without one (`err` is TR_INVALID_STATE: no tracker ...). */
tr_named_tracker *tr_tracker_registry_find(tr_tracker_registry *registry, tr_bytes name,
                                           tr_error *err);

/*
** Closes a tracker: the name is free at once, running scans keep what they hold. TR_INVALID_STATE
** when there is none or another connection opened it.
*/
tr_code tr_tracker_registry_close(tr_tracker_registry *registry, tr_bytes name, tr_error *err);

/* Gives a reference back; NULL is fine. */
void tr_named_tracker_release(tr_named_tracker *named);

/* Takes the tracker for one scan. TR_INVALID_STATE: another scan is using it. */
tr_code tr_named_tracker_begin_scan(tr_named_tracker *named, tr_error *err);
void tr_named_tracker_end_scan(tr_named_tracker *named);

/*
** For the scan that has taken it: says what its keys are made of. What was claimed by one kind of
** key means nothing to another. TR_INVALID_STATE: an earlier scan had other keys; TR_NO_MEMORY.
** Copies `keys`.
*/
tr_code tr_named_tracker_agree_on_keys(tr_named_tracker *named, const char *keys, tr_error *err);

/*
** References to all trackers that the connection sees, its own private ones and all shared ones, in
** the order of their names: a tr_malloc'ed array of `*count` (NULL when 0), whose elements and
** itself the caller releases. TR_NO_MEMORY.
*/
tr_code tr_tracker_registry_list(tr_tracker_registry *registry, tr_named_tracker ***list,
                                 int *count, tr_error *err);

#endif

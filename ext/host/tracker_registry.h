/*
** Trackers by name. A plain name is private to its connection. A name that begins with `shared:` is
** known to the whole process, so that the connection of another thread can split a running scan.
**
** A tracker belongs to the connection that opened it. It leaves the registry when that connection
** closes, or closes the tracker by name. Code that uses a tracker holds a reference; a tracker that
** has left the registry is freed when the last reference is released. Only one scan at a time uses
** a tracker: tr_named_tracker_begin_scan takes it, and tr_named_tracker_end_scan gives it back.
**
** Thread-safety: one mutex of the process guards the shared part, and is held for a look-up in a
** short list. A private name belongs to the thread of its connection.
*/
#ifndef TR_HOST_TRACKER_REGISTRY_H
#define TR_HOST_TRACKER_REGISTRY_H

#include "range/tracker.h"

typedef struct tr_tracker_registry tr_tracker_registry;

typedef struct tr_named_tracker {
  char *name;
  tr_tracker *tracker;
} tr_named_tracker;

/* One for each connection. NULL: out of memory. Freeing it closes the trackers that it opened. */
tr_tracker_registry *tr_tracker_registry_create(void);
void tr_tracker_registry_free(tr_tracker_registry *registry);

/*
** Opens a tracker over a copy of `restriction`. Returns a reference, or NULL: TR_INVALID_STATE if
** the name is already open (a shared name: in any connection); TR_INVALID_ARGUMENT if the name is
** empty or has a zero byte; TR_NO_MEMORY.
*/
tr_named_tracker *tr_tracker_registry_open(tr_tracker_registry *registry, tr_bytes name,
                                           const tr_restriction *restriction, tr_error *err);

/* Returns a reference to an open tracker, or NULL with TR_INVALID_STATE if none is open. */
tr_named_tracker *tr_tracker_registry_find(tr_tracker_registry *registry, tr_bytes name,
                                           tr_error *err);

/*
** The two together, for a scan: returns a reference to the open tracker, or opens one; then
** `*is_new` is 1. Another connection may open or close a shared name meanwhile. Errors: those of
** tr_tracker_registry_open.
*/
tr_named_tracker *tr_tracker_registry_find_or_open(tr_tracker_registry *registry, tr_bytes name,
                                                   const tr_restriction *restriction, int *is_new,
                                                   tr_error *err);

/*
** Closes a tracker. The name is free at once; running scans keep the tracker. TR_INVALID_STATE: it
** is not open, or another connection opened it.
*/
tr_code tr_tracker_registry_close(tr_tracker_registry *registry, tr_bytes name, tr_error *err);

/* Releases a reference, which may be NULL. */
void tr_named_tracker_release(tr_named_tracker *named);

/* Takes the tracker for one scan. TR_INVALID_STATE: another scan is using it. */
tr_code tr_named_tracker_begin_scan(tr_named_tracker *named, tr_error *err);
void tr_named_tracker_end_scan(tr_named_tracker *named);

/*
** For the scan that has taken the tracker: says what the scan's keys are made of. What was claimed
** with one kind of key means nothing with another. `keys` is copied. TR_INVALID_STATE: an earlier
** scan had other keys. TR_NO_MEMORY.
*/
tr_code tr_named_tracker_agree_on_keys(tr_named_tracker *named, const char *keys, tr_error *err);

/*
** Lists all trackers that the connection sees, its private ones and all shared ones, in the order
** of their names. `*list` is an array of `*count` references, or NULL if there are none. The caller
** releases each reference, and frees the array with tr_free. TR_NO_MEMORY.
*/
tr_code tr_tracker_registry_list(tr_tracker_registry *registry, tr_named_tracker ***list,
                                 int *count, tr_error *err);

#endif

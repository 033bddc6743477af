/*
** Trackers by name: a private list for each connection, and one list for the process.
**
** Both are plain linked lists, because a program has few trackers, and each scan or call makes one
** look-up. One static mutex guards the shared list and all reference counts. Claims and splits
** never take that mutex: they work on the tracker itself.
*/
#include "host/tracker_registry.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/*
** A registered tracker. `named` is the first member, so that a reference can be cast to its entry.
*/
typedef struct entry {
  tr_named_tracker named;
  struct entry *next;
  const tr_tracker_registry *owner; /* NULL once closed */
  int references;
  int is_scanned;
  char *keys; /* what the keys of its scans are made of; NULL: no scan yet */
} entry;

struct tr_tracker_registry {
  entry *private_entries;
};

static pthread_mutex_t shared_mutex = PTHREAD_MUTEX_INITIALIZER;
static entry *shared_entries;

static const char shared_prefix[] = "shared:";

static int is_shared(tr_bytes name) {
  size_t prefix = sizeof shared_prefix - 1;
  return name.size >= prefix && memcmp(name.data, shared_prefix, prefix) == 0;
}

static entry **list_of(tr_tracker_registry *registry, tr_bytes name) {
  return is_shared(name) ? &shared_entries : &registry->private_entries;
}

/* The link that points to the entry of that name, or the last link of the list. */
static entry **find_link(entry **list, tr_bytes name) {
  while (*list != NULL && tr_bytes_compare(tr_bytes_of_text((*list)->named.name), name) != 0) {
    list = &(*list)->next;
  }
  return list;
}

static void free_entry(entry *e) {
  tr_tracker_free(e->named.tracker);
  tr_free(e->named.name);
  tr_free(e->keys);
  tr_free(e);
}

tr_tracker_registry *tr_tracker_registry_create(void) {
  tr_tracker_registry *registry = tr_malloc(sizeof *registry);
  if (registry != NULL) *registry = (tr_tracker_registry){0};
  return registry;
}

/* Removes every entry that `registry` owns from `list` and releases the list's reference. */
static void close_all(entry **list, const tr_tracker_registry *registry) {
  entry *closed = NULL;
  pthread_mutex_lock(&shared_mutex);
  while (*list != NULL) {
    entry *e = *list;
    if (e->owner != registry) {
      list = &e->next;
      continue;
    }
    *list = e->next;
    e->owner = NULL;
    e->next = closed;
    closed = e;
  }
  pthread_mutex_unlock(&shared_mutex);
  while (closed != NULL) {
    entry *e = closed;
    closed = e->next;
    tr_named_tracker_release(&e->named);
  }
}

void tr_tracker_registry_free(tr_tracker_registry *registry) {
  close_all(&registry->private_entries, registry);
  close_all(&shared_entries, registry);
  tr_free(registry);
}

static tr_code check_name(tr_bytes name, tr_error *err) {
  if (name.size == 0) return tr_error_set(err, TR_INVALID_ARGUMENT, "a tracker's name is empty");
  if (memchr(name.data, 0, name.size) != NULL) {
    return tr_error_set(err, TR_INVALID_ARGUMENT, "a tracker's name has a zero byte");
  }
  return TR_OK;
}

tr_named_tracker *tr_tracker_registry_open(tr_tracker_registry *registry, tr_bytes name,
                                           const tr_restriction *restriction, tr_error *err) {
  if (check_name(name, err) != TR_OK) return NULL;
  entry *e = tr_malloc(sizeof *e);
  if (e == NULL) {
    tr_error_no_memory(err);
    return NULL;
  }
  /* One reference for the registry, one for the caller. */
  *e = (entry){.owner = registry, .references = 2};
  e->named.name = tr_bytes_to_text(name);
  if (e->named.name == NULL) tr_error_no_memory(err);
  if (e->named.name == NULL || tr_tracker_create(restriction, &e->named.tracker, err) != TR_OK) {
    free_entry(e);
    return NULL;
  }
  pthread_mutex_lock(&shared_mutex);
  entry **list = list_of(registry, name);
  int is_open = *find_link(list, name) != NULL;
  if (!is_open) {
    e->next = *list;
    *list = e;
  }
  pthread_mutex_unlock(&shared_mutex);
  if (!is_open) return &e->named;
  tr_error_set(err, TR_INVALID_STATE, "tracker '%s' is open already", e->named.name);
  free_entry(e);
  return NULL;
}

static void set_no_tracker(tr_error *err, tr_bytes name) {
  tr_error_set(err, TR_INVALID_STATE, "no tracker '%.*s' is open", (int)name.size,
               name.size == 0 ? "" : (const char *)name.data);
}

tr_named_tracker *tr_tracker_registry_find(tr_tracker_registry *registry, tr_bytes name,
                                           tr_error *err) {
  pthread_mutex_lock(&shared_mutex);
  entry *e = *find_link(list_of(registry, name), name);
  if (e != NULL) e->references++;
  pthread_mutex_unlock(&shared_mutex);
  if (e != NULL) return &e->named;
  set_no_tracker(err, name);
  return NULL;
}

tr_named_tracker *tr_tracker_registry_find_or_open(tr_tracker_registry *registry, tr_bytes name,
                                                   const tr_restriction *restriction, int *is_new,
                                                   tr_error *err) {
  tr_named_tracker *named = NULL;
  /* Two attempts: another connection may open a shared name after we did not find it. */
  for (int attempt = 0; attempt < 2 && named == NULL; attempt++) {
    *is_new = 0;
    named = tr_tracker_registry_find(registry, name, err);
    if (named != NULL) break;
    *is_new = 1;
    named = tr_tracker_registry_open(registry, name, restriction, err);
  }
  return named;
}

tr_code tr_tracker_registry_close(tr_tracker_registry *registry, tr_bytes name, tr_error *err) {
  pthread_mutex_lock(&shared_mutex);
  entry **link = find_link(list_of(registry, name), name);
  entry *e = *link;
  int is_own = e != NULL && e->owner == registry;
  if (is_own) {
    *link = e->next;
    e->owner = NULL;
  }
  pthread_mutex_unlock(&shared_mutex);
  if (e == NULL) {
    set_no_tracker(err, name);
    return TR_INVALID_STATE;
  }
  if (!is_own) {
    return tr_error_set(err, TR_INVALID_STATE, "tracker '%.*s' was opened by another connection",
                        (int)name.size, (const char *)name.data);
  }
  tr_named_tracker_release(&e->named);
  return TR_OK;
}

void tr_named_tracker_release(tr_named_tracker *named) {
  if (named == NULL) return;
  entry *e = (entry *)named;
  pthread_mutex_lock(&shared_mutex);
  int references = --e->references;
  pthread_mutex_unlock(&shared_mutex);
  if (references == 0) free_entry(e);
}

tr_code tr_named_tracker_begin_scan(tr_named_tracker *named, tr_error *err) {
  entry *e = (entry *)named;
  pthread_mutex_lock(&shared_mutex);
  int was_scanned = e->is_scanned;
  e->is_scanned = 1;
  pthread_mutex_unlock(&shared_mutex);
  if (!was_scanned) return TR_OK;
  return tr_error_set(err, TR_INVALID_STATE, "tracker '%s' is in use by another scan", named->name);
}

void tr_named_tracker_end_scan(tr_named_tracker *named) {
  pthread_mutex_lock(&shared_mutex);
  ((entry *)named)->is_scanned = 0;
  pthread_mutex_unlock(&shared_mutex);
}

/* Needs no mutex: only the scan that has taken the tracker uses its keys. */
tr_code tr_named_tracker_agree_on_keys(tr_named_tracker *named, const char *keys, tr_error *err) {
  entry *e = (entry *)named;
  if (e->keys == NULL) {
    e->keys = tr_bytes_to_text(tr_bytes_of_text(keys));
    return e->keys == NULL ? tr_error_no_memory(err) : TR_OK;
  }
  if (strcmp(e->keys, keys) == 0) return TR_OK;
  return tr_error_set(err, TR_INVALID_STATE,
                      "tracker '%s' has been used for keys %s, and these are %s; close the tracker "
                      "or take another name",
                      named->name, e->keys, keys);
}

static int compare_names(const void *a, const void *b) {
  return strcmp((*(tr_named_tracker *const *)a)->name, (*(tr_named_tracker *const *)b)->name);
}

tr_code tr_tracker_registry_list(tr_tracker_registry *registry, tr_named_tracker ***list,
                                 int *count, tr_error *err) {
  entry *heads[2];
  tr_named_tracker **found = NULL;
  int size = 0;
  pthread_mutex_lock(&shared_mutex);
  heads[0] = registry->private_entries;
  heads[1] = shared_entries;
  for (int i = 0; i < 2; i++) {
    for (entry *e = heads[i]; e != NULL; e = e->next) size++;
  }
  if (size > 0) found = tr_malloc((size_t)size * sizeof *found);
  int filled = 0;
  for (int i = 0; i < 2 && found != NULL; i++) {
    for (entry *e = heads[i]; e != NULL; e = e->next) {
      e->references++;
      found[filled++] = &e->named;
    }
  }
  pthread_mutex_unlock(&shared_mutex);
  if (filled < size) return tr_error_no_memory(err);
  if (size > 1) qsort(found, (size_t)size, sizeof *found, compare_names);
  *list = found;
  *count = size;
  return TR_OK;
}

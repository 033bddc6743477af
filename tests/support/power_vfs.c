/*
** For each file: its current contents, its safe contents, and the changes between them.
*/
#include "power_vfs.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 16, SECTOR = 512, NAME = 256 };

/* A write of `size` bytes at `offset`. Without `data` it is a truncation to `offset`. */
typedef struct change {
  struct change *next;
  int64_t offset;
  int64_t size;
  uint8_t *data;
} change;

typedef struct image {
  uint8_t *data;
  int64_t size;
} image;

typedef struct disk_file {
  char name[NAME];
  int is_there;
  int is_safely_there;
  image now;
  image safe;
  /* A file of this name was deleted, and the directory has not been synced since. */
  int has_deleted;
  image deleted;
  change *first; /* the changes since the last sync */
  change *last;
} disk_file;

typedef struct open_file {
  sqlite3_file base;
  disk_file *file;
  int deletes_on_close;
} open_file;

static disk_file files[FILES];
static sqlite3_vfs *real;
static long changes_left; /* 0: no failure is planned */
static int is_off;

static void *must(void *memory) {
  if (memory == NULL) abort();
  return memory;
}

/* --- Images ---------------------------------------------------------------------------------- */

static void apply(image *to, const change *c) {
  int64_t end = c->data == NULL ? c->offset : c->offset + c->size;
  if (end > to->size || c->data == NULL) {
    to->data = must(realloc(to->data, (size_t)end + 1));
    if (end > to->size) memset(to->data + to->size, 0, (size_t)(end - to->size));
    to->size = end;
  }
  if (c->data != NULL) memcpy(to->data + c->offset, c->data, (size_t)c->size);
}

static void copy_image(image *to, const image *from) {
  to->data = must(realloc(to->data, (size_t)from->size + 1));
  to->size = from->size;
  if (from->size > 0) memcpy(to->data, from->data, (size_t)from->size);
}

static void drop_changes(disk_file *file) {
  while (file->first != NULL) {
    change *c = file->first;
    file->first = c->next;
    free(c->data);
    free(c);
  }
  file->last = NULL;
}

static void clear_file(disk_file *file) {
  drop_changes(file);
  free(file->now.data);
  free(file->safe.data);
  free(file->deleted.data);
  *file = (disk_file){0};
}

/* Now there is no file of this name. After a power failure the old one may come back as a whole. */
static void keep_deleted(disk_file *file) {
  if (file->is_safely_there) {
    copy_image(&file->deleted, file->first == NULL ? &file->now : &file->safe);
    file->has_deleted = 1;
  }
  drop_changes(file);
  file->is_there = file->is_safely_there = 0;
  file->now.size = file->safe.size = 0;
}

/* All files are in one directory. This makes its current state safe. */
static void sync_directory(void) {
  for (int i = 0; i < FILES; i++) {
    files[i].has_deleted = 0;
    files[i].is_safely_there = files[i].is_there;
  }
}

static disk_file *find(const char *name) {
  for (int i = 0; i < FILES; i++) {
    if (strcmp(files[i].name, name) == 0) return &files[i];
  }
  return NULL;
}

static disk_file *find_or_add(const char *name) {
  disk_file *file = find(name);
  if (file == NULL) file = must(find(""));
  sqlite3_snprintf(NAME, file->name, "%s", name);
  return file;
}

/* --- The power ------------------------------------------------------------------------------- */

/* Counts one more change. Returns 1 if the power is off, which may happen during this change. */
static int goes_off(void) {
  if (changes_left > 0 && --changes_left == 0) is_off = 1;
  return is_off;
}

void power_vfs_fail_after(long n) {
  changes_left = n;
}

int power_vfs_is_off(void) {
  return is_off;
}

void power_vfs_clear(void) {
  for (int i = 0; i < FILES; i++) clear_file(&files[i]);
  is_off = 0;
  changes_left = 0;
}

void power_vfs_settle(void) {
  for (int i = 0; i < FILES; i++) {
    if (!files[i].is_there) continue;
    copy_image(&files[i].safe, &files[i].now);
    drop_changes(&files[i]);
  }
  sync_directory();
}

static uint64_t next_random(uint64_t *state) {
  *state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t x = *state;
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

/* Applies a random part of a change to the safe contents. */
static void apply_some(image *to, const change *c, uint64_t *random) {
  if (c->data == NULL) {
    if (next_random(random) % 2 == 0) apply(to, c);
    return;
  }
  for (int64_t at = 0; at < c->size;) {
    int64_t size = SECTOR - (c->offset + at) % SECTOR;
    if (size > c->size - at) size = c->size - at;
    change sector = {NULL, c->offset + at, size, c->data + at};
    if (next_random(random) % 2 == 0) apply(to, &sector);
    at += size;
  }
}

void power_vfs_restore(uint64_t seed) {
  for (int i = 0; i < FILES; i++) {
    disk_file *file = &files[i];
    if (file->name[0] == '\0') continue;
    if (!file->is_safely_there && next_random(&seed) % 2 == 0) {
      /* The directory goes back to its last sync. */
      drop_changes(file);
      file->is_there = file->has_deleted;
      if (file->has_deleted) copy_image(&file->safe, &file->deleted);
    }
    file->has_deleted = 0;
    for (const change *c = file->first; c != NULL; c = c->next) apply_some(&file->safe, c, &seed);
    if (!file->is_there) {
      clear_file(file);
      continue;
    }
    drop_changes(file);
    copy_image(&file->now, &file->safe);
    file->is_safely_there = 1;
  }
  is_off = 0;
  changes_left = 0;
}

/* --- Files ----------------------------------------------------------------------------------- */

static int close_file(sqlite3_file *base) {
  open_file *opened = (open_file *)base;
  if (opened->deletes_on_close) clear_file(opened->file);
  return SQLITE_OK;
}

static int read_file(sqlite3_file *base, void *to, int size, sqlite3_int64 offset) {
  const image *now = &((open_file *)base)->file->now;
  if (is_off) return SQLITE_IOERR_READ;
  int64_t there = now->size - offset;
  if (there >= size) {
    memcpy(to, now->data + offset, (size_t)size);
    return SQLITE_OK;
  }
  memset(to, 0, (size_t)size);
  if (there > 0) memcpy(to, now->data + offset, (size_t)there);
  return SQLITE_IOERR_SHORT_READ;
}

/*
** Records a change and makes it. A change during which the power fails is recorded, and may happen
** in part.
*/
static int add_change(disk_file *file, int64_t offset, const void *data, int64_t size) {
  if (is_off) return SQLITE_IOERR_WRITE;
  change *c = must(calloc(1, sizeof *c));
  c->offset = offset;
  c->size = size;
  if (data != NULL) {
    c->data = must(malloc((size_t)size + 1));
    memcpy(c->data, data, (size_t)size);
  }
  if (file->last == NULL) {
    file->first = c;
  } else {
    file->last->next = c;
  }
  file->last = c;
  if (goes_off()) return SQLITE_IOERR_WRITE;
  apply(&file->now, c);
  return SQLITE_OK;
}

static int write_file(sqlite3_file *base, const void *from, int size, sqlite3_int64 offset) {
  return add_change(((open_file *)base)->file, offset, from, size);
}

static int truncate_file(sqlite3_file *base, sqlite3_int64 size) {
  disk_file *file = ((open_file *)base)->file;
  return size < file->now.size ? add_change(file, size, NULL, 0) : SQLITE_OK;
}

static int sync_file(sqlite3_file *base, int flags) {
  (void)flags;
  disk_file *file = ((open_file *)base)->file;
  if (is_off || goes_off()) return SQLITE_IOERR_FSYNC;
  copy_image(&file->safe, &file->now);
  drop_changes(file);
  if (!file->is_safely_there)
    sync_directory(); /* SQLite syncs the directory with the first sync of a new file */
  return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size) {
  *size = ((open_file *)base)->file->now.size;
  return is_off ? SQLITE_IOERR_FSTAT : SQLITE_OK;
}

static int lock(sqlite3_file *base, int level) {
  (void)base, (void)level;
  return SQLITE_OK;
}

static int check_lock(sqlite3_file *base, int *is_locked) {
  (void)base;
  *is_locked = 0;
  return SQLITE_OK;
}

static int control(sqlite3_file *base, int op, void *argument) {
  (void)base, (void)op, (void)argument;
  return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *base) {
  (void)base;
  return SECTOR;
}

static int characteristics(sqlite3_file *base) {
  (void)base;
  return 0;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = file_size,
    .xLock = lock,
    .xUnlock = lock,
    .xCheckReservedLock = check_lock,
    .xFileControl = control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
};

/* --- The VFS --------------------------------------------------------------------------------- */

static int open_vfs(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags,
                    int *flags_out) {
  static int unnamed;
  char temporary[NAME];
  (void)vfs;
  base->pMethods = NULL;
  if (is_off) return SQLITE_CANTOPEN;
  sqlite3_snprintf(sizeof temporary, temporary, "temporary-%d", unnamed++);
  if (name == NULL) name = temporary;
  disk_file *file = find(name);
  if ((file == NULL || !file->is_there) && (flags & SQLITE_OPEN_CREATE) == 0)
    return SQLITE_CANTOPEN;
  file = find_or_add(name);
  file->is_there = 1;
  *(open_file *)base = (open_file){{&methods}, file, (flags & SQLITE_OPEN_DELETEONCLOSE) != 0};
  if (flags_out != NULL) *flags_out = flags;
  return SQLITE_OK;
}

static int delete_vfs(sqlite3_vfs *vfs, const char *name, int syncs_directory) {
  (void)vfs;
  disk_file *file = find(name);
  if (is_off) return SQLITE_IOERR_DELETE;
  if (file == NULL || !file->is_there) return SQLITE_IOERR_DELETE_NOENT;
  if (goes_off()) return SQLITE_IOERR_DELETE;
  keep_deleted(file);
  if (syncs_directory) sync_directory();
  return SQLITE_OK;
}

static int access_vfs(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
  (void)vfs, (void)flags;
  const disk_file *file = find(name);
  *result = file != NULL && file->is_there;
  return is_off ? SQLITE_IOERR_ACCESS : SQLITE_OK;
}

static int full_name(sqlite3_vfs *vfs, const char *name, int size, char *full) {
  (void)vfs;
  sqlite3_snprintf(size, full, "%s", name);
  return SQLITE_OK;
}

static int randomness(sqlite3_vfs *vfs, int size, char *bytes) {
  (void)vfs;
  return real->xRandomness(real, size, bytes);
}

static int pause(sqlite3_vfs *vfs, int microseconds) {
  (void)vfs;
  return real->xSleep(real, microseconds);
}

static int current_time(sqlite3_vfs *vfs, double *time) {
  (void)vfs;
  return real->xCurrentTime(real, time);
}

static int last_error(sqlite3_vfs *vfs, int size, char *message) {
  (void)vfs, (void)size, (void)message;
  return 0;
}

int power_vfs_register(void) {
  static sqlite3_vfs vfs = {
      .iVersion = 1,
      .szOsFile = sizeof(open_file),
      .mxPathname = NAME - 1,
      .zName = POWER_VFS,
      .xOpen = open_vfs,
      .xDelete = delete_vfs,
      .xAccess = access_vfs,
      .xFullPathname = full_name,
      .xRandomness = randomness,
      .xSleep = pause,
      .xCurrentTime = current_time,
      .xGetLastError = last_error,
  };
  real = sqlite3_vfs_find(NULL);
  return sqlite3_vfs_register(&vfs, 0);
}

/*
** A disk in memory that can lose its power: a VFS for one connection at a time.
**
** A write is safe only after its file was synced. The creation or deletion of a file is safe only
** after the directory was synced: with the first sync of a new file, or when SQLite asks for it.
** When the power fails, each write that was not safe has happened or not, at random for each sector
** of 512 bytes. A deleted file may be back as a whole, and a created file may be gone. A real disk
** promises no more.
**
** There is no shared memory and no locking, so WAL needs PRAGMA locking_mode = EXCLUSIVE. One
** thread.
*/
#ifndef TR_TEST_POWER_VFS_H
#define TR_TEST_POWER_VFS_H

#include <stdint.h>

#define POWER_VFS "power"

/* Registers the VFS as POWER_VFS, not as the default. Returns a SQLite code. */
int power_vfs_register(void);

/* Removes every file. */
void power_vfs_clear(void);

/* Makes the current state of everything safe. */
void power_vfs_settle(void);

/*
** The power fails in the middle of the n-th change from now (a write, truncation, sync or
** deletion). 0: never.
*/
void power_vfs_fail_after(long n);

/* Whether the power has failed. After that every access fails. */
int power_vfs_is_off(void);

/*
** Switches the power on again. `seed` decides which of the unsafe changes have happened. All files
** must be closed.
*/
void power_vfs_restore(uint64_t seed);

#endif

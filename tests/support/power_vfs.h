/*
** A disk in memory that loses its power: a VFS for one connection at a time.
**
** What was written counts as safe only when its file was synced; what was created and deleted, when
** the directory was: with the first sync of a new file, and where SQLite asks for it. When the
** power goes, every write that was not safe has happened or not, at random, 512-byte sector by
** sector; a file that was deleted may be back as a whole, one that was created may be gone. A real
** disk promises no more.
**
** There is no shared memory and no locking: WAL needs PRAGMA locking_mode = EXCLUSIVE. One thread.
*/
#ifndef TR_TEST_POWER_VFS_H
#define TR_TEST_POWER_VFS_H

#include <stdint.h>

#define POWER_VFS "power"

/* Registers the VFS under POWER_VFS, not as the default. A SQLite code. */
int power_vfs_register(void);

/* Removes every file. */
void power_vfs_clear(void);

/* Everything is safe as it is now. */
void power_vfs_settle(void);

/*
** The power goes in the middle of the n-th change from now (write, truncation, sync, deletion); 0:
** never.
*/
void power_vfs_fail_after(long n);

/* Whether it went; from then on every access fails. */
int power_vfs_is_off(void);

/*
** Power again: decides by `seed` what of the unsafe changes has happened. All files must be closed.
*/
void power_vfs_restore(uint64_t seed);

#endif

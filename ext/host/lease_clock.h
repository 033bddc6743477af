/*
** The time by which leases run out.
**
** A wall clock may be set back, and a lease that was to end at noon would end at noon twice. So
** time is taken from the clock that counts since the machine was booted and cannot be set (sleep
** included), and goes together with the name of the boot. What was noted during another boot, or by
** another machine with the same file, is compared by the wall clock instead: such a lease holds
** while the wall clock stands less than the length of the lease before or behind its beginning, and
** no longer.
**
** Thread-safe. Allocates nothing.
*/
#ifndef TR_HOST_LEASE_CLOCK_H
#define TR_HOST_LEASE_CLOCK_H

#include <stdint.h>

#define TR_BOOT_NAME_SIZE 40

typedef struct tr_moment {
  int64_t ticks; /* microseconds since the boot */
  int64_t wall;  /* milliseconds since 1970 UTC: 1 to 2^53, whatever the clock was set to */
  char boot[TR_BOOT_NAME_SIZE]; /* names the boot; "": this system has no names for them */
} tr_moment;

void tr_moment_now(tr_moment *now);

/*
** The time from `ticks` of the boot of that name until `now`, in seconds; -1 where it was another
** boot.
*/
double tr_seconds_since(const tr_moment *now, const char *boot, int64_t ticks);

#endif

/*
** The clock that decides when a lease has run out.
**
** A wall clock can be set back, and then a lease until noon would end at noon twice. So time is
** taken from the clock that counts since the machine was booted. That clock cannot be set, and
** includes sleep. Each time is stored with the name of the boot.
**
** A time that was noted during another boot, or by another machine that shares the file, can only
** be compared by the wall clock. Such a lease holds while the wall clock is less than the length of
** the lease before or after the lease's beginning, and no longer.
**
** Thread-safe. Allocates nothing.
*/
#ifndef TR_HOST_LEASE_CLOCK_H
#define TR_HOST_LEASE_CLOCK_H

#include <stdint.h>

#define TR_BOOT_NAME_SIZE 40

typedef struct tr_moment {
  int64_t ticks; /* microseconds since the boot */
  int64_t wall;  /* milliseconds since 1970 UTC, within 1 to 2^53 even if the clock is set wrong */
  char boot[TR_BOOT_NAME_SIZE]; /* the name of the boot; "": this system does not name its boots */
} tr_moment;

void tr_moment_now(tr_moment *now);

/* Seconds from `ticks`, of the boot of that name, until `now`. -1: `now` is of another boot. */
double tr_seconds_since(const tr_moment *now, const char *boot, int64_t ticks);

#endif

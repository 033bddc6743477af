/*
** Reads the system's clocks, and once in a process the name of the boot.
*/
#include "host/lease_clock.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

/* On Linux CLOCK_MONOTONIC stands still while the machine sleeps; CLOCK_BOOTTIME does not. */
#if defined(CLOCK_BOOTTIME)
#define LEASE_CLOCK CLOCK_BOOTTIME
#else
#define LEASE_CLOCK CLOCK_MONOTONIC
#endif

static char boot_name[TR_BOOT_NAME_SIZE]; /* written once, by read_boot_name */

static void read_boot_name(void) {
#if defined(__APPLE__)
  size_t size = sizeof boot_name;
  if (sysctlbyname("kern.bootsessionuuid", boot_name, &size, NULL, 0) != 0) boot_name[0] = '\0';
#else
  FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
  if (file == NULL) return;
  if (fgets(boot_name, sizeof boot_name, file) == NULL) boot_name[0] = '\0';
  fclose(file);
#endif
  boot_name[strcspn(boot_name, "\n")] = '\0';
}

/* Kept within bounds that can be read back, even if the clock is set to before 1970. */
static int64_t wall_milliseconds(const struct timespec *wall) {
  static const int64_t most = INT64_C(1) << 53;
  if (wall->tv_sec < 0) return 1;
  if (wall->tv_sec >= most / 1000) return most;
  int64_t milliseconds = (int64_t)wall->tv_sec * 1000 + wall->tv_nsec / 1000000;
  return milliseconds > 0 ? milliseconds : 1;
}

void tr_moment_now(tr_moment *now) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  struct timespec ticks;
  struct timespec wall;
  pthread_once(&once, read_boot_name);
  clock_gettime(LEASE_CLOCK, &ticks);
  clock_gettime(CLOCK_REALTIME, &wall);
  now->ticks = (int64_t)ticks.tv_sec * 1000000 + ticks.tv_nsec / 1000;
  now->wall = wall_milliseconds(&wall);
  memcpy(now->boot, boot_name, sizeof now->boot);
}

double tr_seconds_since(const tr_moment *now, const char *boot, int64_t ticks) {
  if (now->boot[0] == '\0' || strcmp(now->boot, boot) != 0) return -1;
  return (double)(now->ticks - ticks) / 1e6;
}

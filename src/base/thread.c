/*
** Threads, mutexes and conditions of the system. Its errors become ours.
*/
#include "base/thread.h"

#include <signal.h>
#include <time.h>

int tr_thread_start(pthread_t *thread, void *(*run)(void *), void *argument) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int is_started = pthread_create(thread, NULL, run, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return is_started;
}

tr_code tr_mutex_init(pthread_mutex_t *mutex, tr_error *err) {
  return pthread_mutex_init(mutex, NULL) == 0 ? TR_OK : tr_error_no_memory(err);
}

tr_code tr_condition_init(pthread_cond_t *condition, tr_error *err) {
  pthread_condattr_t monotonic;
  if (pthread_condattr_init(&monotonic) != 0) return tr_error_no_memory(err);
  int failed = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  if (failed == 0) failed = pthread_cond_init(condition, &monotonic);
  pthread_condattr_destroy(&monotonic);
  return failed == 0 ? TR_OK : tr_error_no_memory(err);
}

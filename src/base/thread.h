/*
** Starts our own threads, and creates their mutexes and conditions, so that every failure is
** reported in the same way. They are used and destroyed with the system's own functions:
** pthread_mutex_lock, pthread_cond_wait, pthread_mutex_destroy.
*/
#ifndef TR_BASE_THREAD_H
#define TR_BASE_THREAD_H

#include <pthread.h>

#include "base/error.h"

/*
** Starts a thread that the caller joins. Returns 1, or 0 if the system has no thread to give. All
** signals are blocked in the new thread: they are for the threads of the program.
*/
int tr_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

/* Creates a mutex. TR_NO_MEMORY: the system has none left, and there is nothing to destroy. */
tr_code tr_mutex_init(pthread_mutex_t *mutex, tr_error *err);

/* The same for a condition. Timed waits use CLOCK_MONOTONIC, which nobody can set. */
tr_code tr_condition_init(pthread_cond_t *condition, tr_error *err);

#endif

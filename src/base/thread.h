/*
** Starts our own threads, and makes the mutexes and conditions that they meet at, so that each
** failure is reported in one way. From then on these are the system's own: pthread_mutex_lock,
** pthread_cond_wait, and pthread_mutex_destroy when nobody uses them any more.
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

/* TR_NO_MEMORY: the system has none left; there is nothing to destroy. */
tr_code tr_mutex_init(pthread_mutex_t *mutex, tr_error *err);

/* The same. Timed waits are until a time of CLOCK_MONOTONIC, which nobody can set. */
tr_code tr_condition_init(pthread_cond_t *condition, tr_error *err);

#endif

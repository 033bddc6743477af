/*
** Starts our own threads.
*/
#ifndef TR_BASE_THREAD_H
#define TR_BASE_THREAD_H

#include <pthread.h>

/*
** Starts a thread that the caller joins. Returns 1, or 0 if the system has no thread to give. All
** signals are blocked in the new thread: they are for the threads of the program.
*/
int tr_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

#endif

/*
** Starting a thread of ours.
*/
#ifndef TR_BASE_THREAD_H
#define TR_BASE_THREAD_H

#include <pthread.h>

/*
** Starts a thread, which gets no signals: they are for the program's own threads. 1; 0: the system
** gives none. The caller joins it.
*/
int tr_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

#endif

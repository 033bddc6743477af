/*
** The SQL functions of scan_job: job_claim, job_done and the others.
*/
#ifndef TR_EXT_JOB_FUNCTIONS_H
#define TR_EXT_JOB_FUNCTIONS_H

#include "host/sqlite_host.h"

/* Registers them. Returns a SQLite code. */
int tr_register_job_functions(tr_host *host);

#endif

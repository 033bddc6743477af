/*
** Checks the tables of a job, for PRAGMA integrity_check (since SQLite 3.44).
*/
#ifndef TR_EXT_JOB_INTEGRITY_H
#define TR_EXT_JOB_INTEGRITY_H

#include "job.h"

/* TR_CORRUPT: `err` says what is wrong. Any other error: it could not be found out. */
tr_code tr_job_check_integrity(tr_job *job, tr_error *err);

#endif

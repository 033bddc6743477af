/*
** job_progress(job): one row about how far a job is.
*/
#ifndef TR_EXT_JOB_PROGRESS_H
#define TR_EXT_JOB_PROGRESS_H

#include "host/table_function.h"

extern const tr_table_function tr_job_progress;

#endif

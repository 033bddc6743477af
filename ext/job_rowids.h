/*
** job_rowids(job, bundle): the rowids of a bundle, as ranges.
*/
#ifndef TR_EXT_JOB_ROWIDS_H
#define TR_EXT_JOB_ROWIDS_H

#include "host/table_function.h"

extern const tr_table_function tr_job_rowids;

#endif

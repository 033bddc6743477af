/*
** The SQL surfaces. Each has one function, which registers it on the host's connection and returns
** a SQLite code. extension.c calls them all. This list is the table of contents of ext/.
*/
#ifndef TR_EXT_SURFACES_H
#define TR_EXT_SURFACES_H

#include "host/sqlite_host.h"

int tr_register_about(tr_host *host);
int tr_register_keys(tr_host *host);
int tr_register_trackers(tr_host *host);
int tr_register_group_by_fields(tr_host *host);
int tr_register_byte_key_scan(tr_host *host);
int tr_register_scan_splits(tr_host *host);
int tr_register_combine_functions(tr_host *host);
int tr_register_counting_input(tr_host *host);
int tr_register_scan_job(tr_host *host);
int tr_register_sketches(tr_host *host);
int tr_register_run_report(tr_host *host);

#endif

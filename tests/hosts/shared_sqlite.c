/*
** Another SQLite as a shared library that the installed sqlite3 shell runs with.
**
** The shell compares sqlite3_sourceid() with the header it was compiled with and refuses to start
** on another version; here the library answers with that header's text (-DSHELL_SOURCE_ID).
** sqlite3_libversion() stays what it is.
*/
#define sqlite3_sourceid sqlite3_sourceid_of_this_library
#include "sqlite3.c"
#undef sqlite3_sourceid

SQLITE_API const char *sqlite3_sourceid(void) {
  return SHELL_SOURCE_ID;
}

/*
** tranche for programs that link SQLite themselves and want to contain the extension, without a
** file to load:
**
**   #include <sqlite3.h>
**   #include <tranche.h>
**   ...
**   sqlite3_auto_extension((void (*)(void))sqlite3_tranche_init);  once, for all later connections
**   sqlite3_tranche_init(db, &message, NULL);                      or for this one
**
** Link with libtranche.a, SQLite, the maths library and threads (`pkg-config --libs --static
** tranche`). A program that loads tranche.so at run time does not need this header.
*/
#ifndef TRANCHE_H
#define TRANCHE_H

#define TRANCHE_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

struct sqlite3;
struct sqlite3_api_routines;

/*
** Registers every function and module on `db`. Returns a SQLite code. On failure `*message` may be
** set; the caller frees it with sqlite3_free. `api` is SQLite's table of functions when SQLite
** itself loads us, and NULL in a static link.
*/
int sqlite3_tranche_init(struct sqlite3 *db, char **message,
                         const struct sqlite3_api_routines *api);

#ifdef __cplusplus
}
#endif

#endif

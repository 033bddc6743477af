/*
** Text that is shown: cut between two characters, and UTF-8 whatever its bytes are. Who reads a
** message as UTF-8 fails on half a character, and then the reader of the message learns nothing.
**
** Thread-safety: all pure functions.
*/
#ifndef TR_BASE_UTF8_H
#define TR_BASE_UTF8_H

#include "base/bytes.h"

/*
** How many bytes of `text` to show, `most` at most: the last character is whole, where there are
** characters.
*/
size_t tr_utf8_cut(tr_bytes text, size_t most);

/* Replaces each byte that belongs to no character (as Unicode has them: no surrogates) by '?'. */
void tr_utf8_make_valid(char *text);

#endif

/*
** Text for messages: cut between two characters, and valid UTF-8 whatever its bytes are. A program
** that decodes a message as UTF-8 fails on half a character, and its user then sees no message.
**
** Thread-safety: all functions are pure.
*/
#ifndef TR_BASE_UTF8_H
#define TR_BASE_UTF8_H

#include "base/bytes.h"

/*
** How many bytes of `text` to show: at most `most`, and not ending inside a character. Bytes that
** are not UTF-8 may be cut anywhere.
*/
size_t tr_utf8_cut(tr_bytes text, size_t most);

/* Replaces each byte that is not part of valid UTF-8 by '?'. Surrogates are not valid. */
void tr_utf8_make_valid(char *text);

#endif

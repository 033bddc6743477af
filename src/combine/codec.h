/*
** The parts that accumulators are written in: varints, doubles and values, each with one possible
** spelling, so that equal states give equal bytes. docs/accumulators.md has them byte by byte.
**
** Writers append to a buffer and fail with TR_NO_MEMORY alone, unless they say so. Readers take
** from a decoder and fail with TR_CORRUPT, which names the function and the part: `sum accumulator:
** count is cut short`; `err` may be NULL. Nothing here allocates by what bytes say of themselves.
** Thread-safety: as bytes.h.
*/
#ifndef TR_COMBINE_CODEC_H
#define TR_COMBINE_CODEC_H

#include "base/value.h"

/*
** Unsigned: seven bits a byte, lowest first, the high bit says that more follow; no leading zeros.
*/
tr_code tr_put_varint(tr_buffer *bytes, uint64_t x, tr_error *err);
/* Signed: 0, -1, 1, -2, ... are the varints 0, 1, 2, 3, ... */
tr_code tr_put_signed(tr_buffer *bytes, int64_t x, tr_error *err);
/* The four or eight bytes of a word or a double, lowest first. */
tr_code tr_put_u32(tr_buffer *bytes, uint32_t x, tr_error *err);
tr_code tr_put_u64(tr_buffer *bytes, uint64_t x, tr_error *err);
tr_code tr_put_double(tr_buffer *bytes, double x, tr_error *err);
/* A byte with the type (tr_type), then signed, double, or a varint with the size and the bytes. */
tr_code tr_put_value(tr_buffer *bytes, const tr_value *value, tr_error *err);
/* As sketches have them: the size in four bytes, then the bytes. TR_TOO_BIG too. */
tr_code tr_put_sized(tr_buffer *bytes, tr_bytes sized, tr_error *err);

/* What is left to read, and whose it is. */
typedef struct tr_decoder {
  tr_bytes rest;
  const char *function; /* for errors */
} tr_decoder;

/* `part` is what the error calls it. A value's text or blob is a view of the decoder's bytes. */
tr_code tr_take_varint(tr_decoder *from, const char *part, uint64_t *x, tr_error *err);
tr_code tr_take_signed(tr_decoder *from, const char *part, int64_t *x, tr_error *err);
tr_code tr_take_value(tr_decoder *from, const char *part, tr_value *value, tr_error *err);
tr_code tr_take_bytes(tr_decoder *from, const char *part, uint64_t size, tr_bytes *bytes,
                      tr_error *err);
/* TR_CORRUPT unless all has been read. */
tr_code tr_take_end(const tr_decoder *from, tr_error *err);

/* TR_CORRUPT: `function accumulator: part reason`. */
tr_code tr_take_fail(const tr_decoder *from, const char *part, const char *reason, tr_error *err);

#endif

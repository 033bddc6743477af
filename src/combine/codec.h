/*
** The parts that accumulators are written in: varints, doubles and values. Each has only one
** possible encoding, so that equal states give equal bytes. docs/accumulators.md has them byte by
** byte.
**
** Writers append to a buffer. They fail only with TR_NO_MEMORY unless they say otherwise. Readers
** take from a decoder. They fail with TR_CORRUPT, and the message names the function and the part:
** `sum accumulator: count is cut short`. `err` may be NULL. No reader allocates memory.
**
** Thread-safety: as bytes.h.
*/
#ifndef TR_COMBINE_CODEC_H
#define TR_COMBINE_CODEC_H

#include "base/value.h"

/*
** Unsigned: seven bits a byte, the lowest first; the high bit says that another byte follows. No
** leading zeros.
*/
tr_code tr_put_varint(tr_buffer *bytes, uint64_t x, tr_error *err);
/* Signed: 0, -1, 1, -2, ... are the varints 0, 1, 2, 3, ... */
tr_code tr_put_signed(tr_buffer *bytes, int64_t x, tr_error *err);
/* Fixed size: four or eight bytes, the lowest first. */
tr_code tr_put_u32(tr_buffer *bytes, uint32_t x, tr_error *err);
tr_code tr_put_u64(tr_buffer *bytes, uint64_t x, tr_error *err);
tr_code tr_put_double(tr_buffer *bytes, double x, tr_error *err);
/*
** A byte with the type (tr_type), then a signed, a double, or a varint with the size and the bytes.
*/
tr_code tr_put_value(tr_buffer *bytes, const tr_value *value, tr_error *err);
/*
** The form of the sketches: four bytes with the size, then the bytes. Also fails with TR_TOO_BIG.
*/
tr_code tr_put_sized(tr_buffer *bytes, tr_bytes sized, tr_error *err);

/* The bytes that are left to read, and the function they belong to. */
typedef struct tr_decoder {
  tr_bytes rest;
  const char *function; /* for errors */
} tr_decoder;

/* `part` is the name for errors. The bytes of a text or BLOB are a view of the decoder's. */
tr_code tr_take_varint(tr_decoder *from, const char *part, uint64_t *x, tr_error *err);
tr_code tr_take_signed(tr_decoder *from, const char *part, int64_t *x, tr_error *err);
tr_code tr_take_value(tr_decoder *from, const char *part, tr_value *value, tr_error *err);
tr_code tr_take_bytes(tr_decoder *from, const char *part, uint64_t size, tr_bytes *bytes,
                      tr_error *err);
/* TR_CORRUPT unless everything has been read. */
tr_code tr_take_end(const tr_decoder *from, tr_error *err);

/* Returns TR_CORRUPT with the message `function accumulator: part reason`. */
tr_code tr_take_fail(const tr_decoder *from, const char *part, const char *reason, tr_error *err);

#endif

/*
** Any bytes as a restriction's text: an error that says where, or a restriction whose canonical text
** reads back as the same one, and whose pieces are restrictions too.
*/
#include <stdint.h>
#include <stdlib.h>

#include "range/restriction.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds) {
  if (!holds) abort();
}

static tr_code check_piece(void *unused, const tr_restriction *piece, tr_error *err) {
  (void)unused, (void)err;
  tr_buffer text = {0};
  must(tr_restriction_text(piece, &text, NULL) == TR_OK && text.size > 0);
  tr_buffer_free(&text);
  return TR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tr_restriction read, again;
  tr_error err = {0};
  if (tr_restriction_parse(&read, (tr_bytes){data, size}, &err) != TR_OK) {
    must(err.code == TR_INVALID_ARGUMENT && err.message[0] != '\0');
    return 0;
  }
  tr_buffer text = {0};
  must(tr_restriction_text(&read, &text, &err) == TR_OK);
  must(tr_restriction_parse(&again, tr_buffer_bytes(&text), &err) == TR_OK);
  must(tr_restriction_equals(&read, &again));
  must(tr_restriction_split(&read, 3, check_piece, NULL, &err) == TR_OK);
  tr_restriction_free(&again);
  tr_restriction_free(&read);
  tr_buffer_free(&text);
  return 0;
}

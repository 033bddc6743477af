/*
** Whether two restrictions are of the same kind with the same ends. Claims are not compared.
*/
#ifndef TESTS_SUPPORT_SAME_RESTRICTION_H
#define TESTS_SUPPORT_SAME_RESTRICTION_H

#include "range/restriction.h"

static inline int is_same_range(const tr_byte_key_range *a, const tr_byte_key_range *b) {
  return tr_bytes_compare(tr_buffer_bytes(&a->start), tr_buffer_bytes(&b->start)) == 0 &&
         tr_bytes_compare(tr_buffer_bytes(&a->end), tr_buffer_bytes(&b->end)) == 0;
}

static inline int is_same_restriction(const tr_restriction *a, const tr_restriction *b) {
  if (a->kind != b->kind) return 0;
  if (a->kind == TR_BYTES) return is_same_range(&a->bytes, &b->bytes);
  return a->integers.from == b->integers.from && a->integers.to == b->integers.to;
}

#endif

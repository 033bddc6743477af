/*
** Ranges of 64-bit integers. Differences are computed in unsigned arithmetic, which is exact for
** any from <= to.
*/
#include "range/offset_range.h"

tr_code tr_offset_range_init(tr_offset_range *range, int64_t from, int64_t to, tr_error *err) {
  if (from > to) {
    return tr_error_set(err, TR_INVALID_ARGUMENT, "Malformed range [%lld, %lld)", (long long)from,
                        (long long)to);
  }
  *range = (tr_offset_range){from, to};
  return TR_OK;
}

tr_code tr_offset_range_text(const tr_offset_range *range, tr_buffer *text, tr_error *err) {
  return tr_buffer_printf(text, err, "[%lld, %lld)", (long long)range->from, (long long)range->to);
}

uint64_t tr_offset_range_width(const tr_offset_range *range) {
  return (uint64_t)range->to - (uint64_t)range->from;
}

int tr_offset_range_contains(const tr_offset_range *range, int64_t offset) {
  return range->from <= offset && offset < range->to;
}

tr_code tr_offset_range_split(const tr_offset_range *range, int64_t desired, int64_t min,
                              tr_code (*emit)(void *context, tr_offset_range piece, tr_error *err),
                              void *context, tr_error *err) {
  if (desired < 1) {
    return tr_error_set(err, TR_INVALID_ARGUMENT,
                        "desired size of a piece %lld must be a positive integer",
                        (long long)desired);
  }
  /* If less than this is left behind a piece, it is joined to the piece. */
  uint64_t too_small = (uint64_t)desired / 4;
  if (min > 0 && (uint64_t)min > too_small) too_small = (uint64_t)min;

  tr_offset_range left = *range;
  while (left.from < left.to) {
    tr_offset_range piece = left;
    uint64_t width = tr_offset_range_width(&left);
    if (width > (uint64_t)desired && width - (uint64_t)desired >= too_small) {
      piece.to = left.from + desired;
    }
    tr_code code = emit(context, piece, err);
    if (code != TR_OK) return code;
    left.from = piece.to;
  }
  return TR_OK;
}

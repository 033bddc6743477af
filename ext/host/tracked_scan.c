/*
** Opens trackers for scans, and finds where a scan goes on.
*/
#include "host/tracked_scan.h"

#include "range/byte_key_tracker.h"

/* The restriction, cut to what was asked for. The caller frees it. */
static tr_code cut_restriction(const tr_scan_request *request, tr_restriction *cut, tr_error *err) {
  tr_restriction asked = {.kind = TR_BYTES, .bytes = *request->asked_for};
  if (request->restriction == NULL) return tr_restriction_copy(cut, &asked, err);
  tr_code code = tr_restriction_copy(cut, request->restriction, err);
  if (code != TR_OK) return code;
  code = tr_restriction_intersect(cut, &asked, err);
  if (code != TR_OK) tr_restriction_free(cut);
  return code;
}

static tr_code text_of(const tr_restriction *restriction, tr_buffer *text, tr_error *err) {
  tr_code code = tr_restriction_text(restriction, text, err);
  if (code == TR_OK) code = tr_buffer_append_byte(text, 0, err);
  return code;
}

/*
** An open tracker must be within the given restriction. Else the scan would either give rows
** outside the restriction, or leave rows of the tracker unread.
*/
static tr_code check_within(const tr_scan_request *request, const tr_restriction *current,
                            tr_error *err) {
  if (request->restriction == NULL) return TR_OK;
  const tr_byte_key_range *given = &request->restriction->bytes;
  const tr_byte_key_range *open = &current->bytes;
  int starts_within =
      tr_bytes_compare(tr_buffer_bytes(&open->start), tr_buffer_bytes(&given->start)) >= 0;
  int ends_within = given->end.size == 0 ||
                    (open->end.size > 0 && tr_bytes_compare(tr_buffer_bytes(&open->end),
                                                            tr_buffer_bytes(&given->end)) <= 0);
  if (starts_within && ends_within) return TR_OK;
  tr_buffer given_text = {0};
  tr_buffer open_text = {0};
  tr_code code = text_of(request->restriction, &given_text, err);
  if (code == TR_OK) code = text_of(current, &open_text, err);
  if (code == TR_OK) {
    code =
        tr_error_set(err, TR_INVALID_STATE,
                     "%s(): argument restriction = '%s': tracker '%.*s' is open over %s, which "
                     "reaches beyond it; close the tracker or take another name",
                     request->function, (const char *)given_text.data, (int)request->tracker->size,
                     (const char *)request->tracker->data, (const char *)open_text.data);
  }
  tr_buffer_free(&given_text);
  tr_buffer_free(&open_text);
  return code;
}

static tr_code refuse_integers(const char *function, const char *argument, tr_bytes text,
                               tr_error *err) {
  tr_value value = tr_value_text(text);
  return tr_argument_error(err, function, argument, &value,
                           "is one of integers; a table is read by byte keys");
}

static tr_code refuse_restriction(const tr_scan_request *request, tr_error *err) {
  tr_buffer text = {0};
  tr_code code = tr_restriction_text(request->restriction, &text, err);
  if (code == TR_OK) {
    code = refuse_integers(request->function, "restriction", tr_buffer_bytes(&text), err);
  }
  tr_buffer_free(&text);
  return code;
}

/* What to read: the tracker's range, from behind the last attempt on if there was one. */
static tr_code place_of(tr_tracker *tracker, tr_restriction *place, tr_error *err) {
  tr_code code = tr_tracker_current_restriction(tracker, place, err);
  if (code != TR_OK) return code;
  tr_buffer attempted = {0};
  int has_attempted = tr_tracker_last_attempted(tracker, &attempted, NULL, err);
  if (has_attempted > 0) code = tr_buffer_append_byte(&attempted, 0, err);
  if (has_attempted < 0) code = TR_NO_MEMORY;
  if (code == TR_OK && has_attempted > 0) {
    code = tr_buffer_set(&place->bytes.start, tr_buffer_bytes(&attempted), err);
  }
  tr_buffer_free(&attempted);
  if (code != TR_OK) tr_restriction_free(place);
  return code;
}

/*
** Tells a new tracker where the table's keys are, so that its splits and fractions are about rows
** that exist. This is only a hint. If an end of the table cannot be a key, the scan that meets it
** will report it.
*/
static tr_code set_extent(tr_tracker *tracker, tr_statement_reader *statement_reader,
                          tr_error *err) {
  tr_buffer first = {0};
  tr_buffer last = {0};
  int has_keys = tr_statement_reader_end_key(statement_reader, 0, &first, NULL, err);
  if (has_keys == 1) has_keys = tr_statement_reader_end_key(statement_reader, 1, &last, NULL, err);
  tr_code code = TR_OK;
  if (has_keys == 1) {
    code = tr_byte_key_tracker_set_extent(tr_byte_key_tracker_of(tracker), tr_buffer_bytes(&first),
                                          tr_buffer_bytes(&last), err);
  } else if (has_keys < 0 && err->code != TR_INVALID_STATE) {
    code = err->code;
  }
  tr_buffer_free(&first);
  tr_buffer_free(&last);
  return code;
}

static tr_code agree_on_keys(const tr_tracked_scan *scan, const char *function,
                             const tr_source_table *source, tr_error *err) {
  tr_buffer keys = {0};
  tr_error reason;
  tr_code code = tr_source_key_describe(source, &keys, &reason);
  if (code == TR_OK) {
    code = tr_named_tracker_agree_on_keys(scan->named, (const char *)keys.data, &reason);
  }
  tr_buffer_free(&keys);
  return code == TR_OK ? TR_OK : tr_error_set(err, code, "%s(): %s", function, reason.message);
}

/* Takes the tracker of that name for this scan. Opens it if it is not open. */
static tr_code take_named(tr_tracked_scan *scan, tr_tracker_registry *trackers,
                          tr_statement_reader *statement_reader, const tr_scan_request *request,
                          tr_error *err) {
  tr_error reason;
  tr_restriction cut;
  int is_new;
  tr_code code = cut_restriction(request, &cut, err);
  if (code != TR_OK) return code;
  scan->named =
      tr_tracker_registry_find_or_open(trackers, *request->tracker, &cut, &is_new, &reason);
  tr_restriction_free(&cut);
  if (scan->named == NULL) {
    tr_value name = tr_value_text(*request->tracker);
    return tr_argument_refused(err, request->function, "tracker", &name, &reason);
  }
  code = tr_named_tracker_begin_scan(scan->named, &reason);
  if (code != TR_OK) {
    tr_named_tracker_release(scan->named);
    scan->named = NULL;
    return tr_error_set(err, code, "%s(): %s", request->function, reason.message);
  }
  if (tr_tracker_kind(scan->named->tracker) != TR_BYTES) {
    return refuse_integers(request->function, "tracker", *request->tracker, err);
  }
  if (!is_new && request->restriction != NULL) {
    tr_restriction current;
    code = tr_tracker_current_restriction(scan->named->tracker, &current, err);
    if (code != TR_OK) return code;
    code = check_within(request, &current, err);
    tr_restriction_free(&current);
    if (code != TR_OK) return code;
  }
  code = agree_on_keys(scan, request->function, tr_statement_reader_source(statement_reader), err);
  if (code != TR_OK || !is_new) return code;
  return set_extent(scan->named->tracker, statement_reader, err);
}

/* --- Tables that grow by what is read ------------------------------------------------------ */

/*
** Notes where the table ends. If its last row cannot have a key, no row has a key that can be read.
** Then the limit stays empty, as for a table without rows, and every key is beyond it.
*/
static tr_code set_limit(tr_scan_limit *limit, tr_statement_reader *statement_reader,
                         tr_error *err) {
  tr_error reason;
  limit->last_rowid = INT64_MAX;
  int has_key = tr_statement_reader_end_key(statement_reader, 1, &limit->last_key,
                                            &limit->last_rowid, &reason);
  if (has_key < 0 && reason.code != TR_INVALID_STATE) {
    *err = reason;
    return err->code;
  }
  if (has_key <= 0) limit->last_key.size = 0;
  limit->is_set = 1;
  return TR_OK;
}

static tr_code take_limit(tr_tracked_scan *scan, tr_statement_reader *statement_reader,
                          tr_scan_limit *limit, tr_error *err) {
  scan->limit = limit;
  scan->limited_rows = statement_reader;
  if (limit == NULL || limit->is_set) return TR_OK;
  return set_limit(limit, statement_reader, err);
}

static int is_beyond(const tr_tracked_scan *scan, tr_bytes key) {
  return tr_bytes_compare(key, tr_buffer_bytes(&scan->limit->last_key)) > 0;
}

/*
** The next row of a scan with a name. A row beyond the limit ends the scan with an error, so that
** neither that row nor the end is claimed. They are left for the next scan.
*/
static int limited_next(void *cursor, tr_position *position, tr_error *err) {
  tr_tracked_scan *scan = cursor;
  int has_row = tr_statement_reader_next(scan->limited_rows, position, err);
  if (has_row <= 0 || !is_beyond(scan, position->key)) return has_row;
  scan->is_at_limit = 1;
  return tr_error_no(err, TR_INVALID_STATE, "the scan is at its limit");
}

static void limited_close(void *cursor) {
  tr_statement_reader_reset(((tr_tracked_scan *)cursor)->limited_rows);
}

static const tr_cursor_class limited_class = {limited_next, limited_close};

/* The next row of a scan without a name. Rows with a rowid that no row had are left out, too. */
static int next_plain(tr_tracked_scan *scan, tr_error *err) {
  int has_row;
  do {
    has_row = tr_statement_reader_next(scan->rows, &scan->position, err);
    if (has_row <= 0 || scan->limit == NULL) return has_row;
    if (is_beyond(scan, scan->position.key)) return 0;
  } while (tr_statement_reader_has_rowid(scan->rows) &&
           tr_statement_reader_rowid(scan->rows) > scan->limit->last_rowid);
  return 1;
}

int tr_tracked_scan_next_limited(tr_tracked_scan *scan, tr_error *err) {
  if (scan->rows != NULL) return next_plain(scan, err);
  int has_row = tr_reader_advance(&scan->reader, err);
  return scan->is_at_limit ? 0 : has_row;
}

/* --- Beginning ----------------------------------------------------------------------------- */

/* A scan without a name reads the restriction, cut to what was asked for. */
static int begin_plain(tr_tracked_scan *scan, tr_statement_reader *statement_reader,
                       const tr_scan_request *request, tr_error *err) {
  tr_restriction cut;
  if (cut_restriction(request, &cut, err) != TR_OK) return -1;
  scan->rows = statement_reader;
  tr_code code = tr_statement_reader_open(statement_reader, tr_buffer_bytes(&cut.bytes.start),
                                          tr_buffer_bytes(&cut.bytes.end), err);
  tr_restriction_free(&cut);
  return code == TR_OK ? next_plain(scan, err) : -1;
}

/*
** A tracker that is done has nothing to claim. But values that cannot be keys sort before all keys,
** and a scan from the beginning must report them. Returns 0, or -1 if there is one.
*/
static int look_before_keys(tr_statement_reader *statement_reader, const tr_byte_key_range *place,
                            tr_error *err) {
  tr_position position;
  if (place->start.size > 0) return 0;
  tr_code code = tr_statement_reader_open(statement_reader, tr_buffer_bytes(&place->start),
                                          tr_buffer_bytes(&place->end), err);
  int has_row = code == TR_OK ? tr_statement_reader_next(statement_reader, &position, err) : -1;
  tr_statement_reader_reset(statement_reader);
  return has_row < 0 ? -1 : 0;
}

static int begin_named(tr_tracked_scan *scan, tr_tracker_registry *trackers,
                       tr_statement_reader *statement_reader, const tr_scan_request *request,
                       tr_error *err) {
  tr_restriction place = {0};
  if (take_named(scan, trackers, statement_reader, request, err) != TR_OK) return -1;
  tr_tracker *tracker = scan->named->tracker;
  int is_done = tr_tracker_is_done(tracker);
  if (place_of(tracker, &place, err) != TR_OK) return -1;
  if (is_done) {
    int result = look_before_keys(statement_reader, &place.bytes, err);
    tr_restriction_free(&place);
    return result;
  }
  tr_code code = tr_statement_reader_open(statement_reader, tr_buffer_bytes(&place.bytes.start),
                                          tr_buffer_bytes(&place.bytes.end), err);
  tr_restriction_free(&place);
  if (code != TR_OK) return -1;
  if (scan->limit != NULL) {
    code = tr_reader_init(&scan->reader, &limited_class, scan, tracker, err);
  } else {
    code = tr_reader_init(&scan->reader, &tr_borrowed_statement_cursor_class, statement_reader,
                          tracker, err);
  }
  if (code != TR_OK) return -1;
  scan->is_reading = 1;
  int has_row = tr_reader_start(&scan->reader, err);
  return scan->is_at_limit ? 0 : has_row;
}

int tr_tracked_scan_begin(tr_tracked_scan *scan, tr_tracker_registry *trackers,
                          tr_statement_reader *statement_reader, const tr_scan_request *request,
                          tr_error *err) {
  int has_row = -1;
  int looks_at_ends = request->tracker != NULL || request->limit != NULL;
  *scan = (tr_tracked_scan){0};
  if (looks_at_ends && tr_statement_reader_check(statement_reader, err) != TR_OK) return -1;
  if (request->restriction != NULL && request->restriction->kind != TR_BYTES) {
    refuse_restriction(request, err);
  } else if (take_limit(scan, statement_reader, request->limit, err) != TR_OK) {
    has_row = -1;
  } else if (request->tracker != NULL) {
    has_row = begin_named(scan, trackers, statement_reader, request, err);
  } else {
    has_row = begin_plain(scan, statement_reader, request, err);
  }
  if (has_row != 1) tr_tracked_scan_end(scan);
  return has_row;
}

void tr_tracked_scan_end(tr_tracked_scan *scan) {
  if (scan->is_reading) tr_reader_close(&scan->reader);
  if (scan->rows != NULL) tr_statement_reader_reset(scan->rows);
  if (scan->named != NULL) {
    tr_named_tracker_end_scan(scan->named);
    tr_named_tracker_release(scan->named);
  }
  *scan = (tr_tracked_scan){0};
}

/*
** counting_input: an arithmetic sequence as a table. The numbers are computed one by one, paced if
** asked, and claimed from a range tracker if one is named.
**
**   SELECT value FROM counting_input(1000);            0 .. 999
**   SELECT value FROM counting_input(100, 10, 5);      up_to, start, step
**   SELECT value FROM counting_input WHERE rate = 10;  unbounded, ten a second
**   SELECT value FROM counting_input(1000) WHERE tracker = 'w1';
**
** Three files. counting_input_plan.c is xBestIndex: it decides which terms of a query are taken and
** writes a plan, a string with a mark for each value that xFilter will be given.
** counting_input_request.c reads those values. This file has the table and the scan.
**
** Before a scan begins, all terms are applied to the ends of a tr_counting_source. So a range, an
** OFFSET, a reversed order or max() costs nothing. The scan is then one of
**   plain     value += step until last; nobody can split it, so nothing is claimed
**   list      the numbers of an IN that are in the sequence
**   tracked   a tr_reader over the tracker: each number is claimed before it is returned
** Each of them can be paced.
*/
#include "surfaces.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/argument.h"
#include "base/memory.h"
#include "counting_input_request.h"
#include "host/in_lists.h"
#include "host/interrupt.h"
#include "host/tracker_registry.h"
#include "host/value_expression.h"
#include "reader/counting_reader.h"
#include "reader/pacing.h"

typedef struct counting_table {
  sqlite3_vtab base;
  tr_host *host;
} counting_table;

typedef struct counting_cursor {
  sqlite3_vtab_cursor base;
  /* The current value, and the last one of a plain scan. */
  int64_t value;
  int64_t step;
  int64_t last;
  int is_plain; /* the scan needs only these three */
  int is_eof;
  /* The numbers of an IN, in the order of the scan. */
  int64_t *list;
  size_t list_size;
  size_t list_next;
  /* A tracked scan. */
  tr_named_tracker *tracker; /* NULL: not tracked */
  tr_reader reader;
  tr_counting_cursor reader_cursor;
  int is_started;
  /* A paced scan. */
  int is_paced;
  tr_pacing pacing;
  /* The columns other than value. */
  tr_value given[COUNTING_ARGUMENTS]; /* text is stored in `texts` */
  tr_buffer texts[COUNTING_ARGUMENTS];
  tr_value_expression *timestamp_expression;
  int has_timestamp; /* `timestamp` belongs to the row `timestamp_of` */
  int64_t timestamp_of;
  tr_value timestamp;
  tr_interrupt interrupt;
} counting_cursor;

static tr_host *host_of(const counting_cursor *cursor) {
  return ((counting_table *)cursor->base.pVtab)->host;
}

/* --- Setting up a scan ---------------------------------------------------------------------- */

/* Keeps the arguments for their columns. Text is copied. */
static tr_code keep_arguments(counting_cursor *cursor, const counting_request *r, tr_error *err) {
  for (int i = 0; i < COUNTING_ARGUMENTS; i++) {
    cursor->given[i] = r->given[i];
    if (r->given[i].type != TR_TEXT) continue;
    tr_code code = tr_buffer_set(&cursor->texts[i], r->given[i].bytes, err);
    if (code != TR_OK) {
      cursor->given[i] = tr_value_null();
      return code;
    }
    cursor->given[i] = tr_value_text(tr_buffer_bytes(&cursor->texts[i]));
  }
  if (!counting_request_has(r, COUNTING_START)) cursor->given[COUNTING_START] = tr_value_integer(0);
  if (!counting_request_has(r, COUNTING_STEP)) cursor->given[COUNTING_STEP] = tr_value_integer(1);
  return TR_OK;
}

static void end_scan(counting_cursor *cursor) {
  if (cursor->tracker != NULL) {
    tr_reader_close(&cursor->reader);
    tr_named_tracker_end_scan(cursor->tracker);
    tr_named_tracker_release(cursor->tracker);
    cursor->tracker = NULL;
  }
  tr_free(cursor->list);
  cursor->list = NULL;
  cursor->is_started = cursor->is_paced = 0;
  cursor->is_plain = cursor->is_eof = 1;
}

static int compare_integers(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* How many numbers of an IN are read between two polls for an interrupt. */
#define LIST_POLL 4096

/* Reads the numbers of `value IN (...)` that are in `source`: ascending, each once. */
static tr_code read_list(counting_cursor *cursor, sqlite3_value *in,
                         const tr_counting_source *source, tr_error *err) {
  size_t capacity = 0, size = 0;
  sqlite3 *db = tr_host_db(host_of(cursor));
  sqlite3_value *item = NULL;
  int has_item;
  for (size_t seen = 1; (has_item = tr_in_list_next(db, in, &item, err)) == 1; seen++) {
    tr_integer_bounds is = tr_integer_bounds_all();
    tr_integer_bounds_apply(&is, SQLITE_INDEX_CONSTRAINT_EQ, item);
    if (is.low == is.high && tr_counting_source_contains(source, is.low)) {
      if (size == capacity) {
        capacity = capacity == 0 ? 16 : capacity * 2;
        int64_t *grown = tr_realloc(cursor->list, capacity * sizeof *grown);
        if (grown == NULL) return tr_error_no_memory(err);
        cursor->list = grown;
      }
      cursor->list[size++] = is.low;
    }
    if (seen % LIST_POLL == 0) {
      tr_code code = tr_interrupt_poll(&cursor->interrupt, err);
      if (code != TR_OK) return code;
    }
  }
  if (has_item < 0) return err->code;
  if (size > 1) qsort(cursor->list, size, sizeof *cursor->list, compare_integers);
  cursor->list_size = 0;
  for (size_t i = 0; i < size; i++) {
    if (i == 0 || cursor->list[i] != cursor->list[i - 1]) {
      cursor->list[cursor->list_size++] = cursor->list[i];
    }
  }
  return TR_OK;
}

/* Puts the list into the order of the scan and applies OFFSET and LIMIT. */
static void arrange_list(counting_cursor *cursor, int is_down, uint64_t offset, int64_t limit) {
  int64_t *list = cursor->list;
  for (size_t i = 0, j = cursor->list_size; is_down && i + 1 < j; i++) {
    int64_t other = list[--j];
    list[j] = list[i];
    list[i] = other;
  }
  cursor->list_next = offset < cursor->list_size ? (size_t)offset : cursor->list_size;
  size_t left = cursor->list_size - cursor->list_next;
  if (limit >= 0 && (uint64_t)limit < left) {
    cursor->list_size = cursor->list_next + (size_t)limit;
  }
}

/* Begins a scan without a tracker. Nobody can split it, so every term cuts the sequence at once. */
static tr_code begin_untracked(counting_cursor *cursor, const counting_request *r, int order,
                               tr_error *err) {
  tr_counting_source source;
  tr_code code = counting_request_source(r, &source, err);
  if (code != TR_OK) return code;
  /* max_records limits the table itself, so it is applied before the terms of the query. */
  if (counting_request_has(r, COUNTING_MAX_RECORDS)) {
    tr_counting_source_take(&source, (uint64_t)r->given[COUNTING_MAX_RECORDS].integer);
  }
  tr_counting_source_restrict(&source, r->bounds.low, r->bounds.high);
  uint64_t offset = r->offset > 0 ? (uint64_t)r->offset : 0;
  int is_down = order == COUNTING_ORDER_NONE ? source.step < 0 : order == COUNTING_ORDER_DOWN;
  if (r->list != NULL) {
    code = read_list(cursor, r->list, &source, err);
    if (code != TR_OK) return code;
    arrange_list(cursor, is_down, offset, r->limit);
    cursor->is_plain = 0;
    cursor->is_eof = cursor->list_next == cursor->list_size;
    return TR_OK;
  }
  if (is_down != (source.step < 0)) tr_counting_source_reverse(&source);
  tr_counting_source_skip(&source, offset);
  if (r->limit >= 0) tr_counting_source_take(&source, (uint64_t)r->limit);
  cursor->value = source.first;
  cursor->step = source.step;
  cursor->last = source.last;
  cursor->is_eof = source.is_empty;
  return TR_OK;
}

/* Cuts `source` to what the tracker has left: its restriction, after the last attempt. */
static tr_code cut_to_tracker(tr_tracker *tracker, tr_counting_source *source, tr_error *err) {
  tr_restriction left;
  tr_code code = tr_tracker_current_restriction(tracker, &left, err);
  if (code != TR_OK) return code;
  int64_t attempted;
  int has_attempted = tr_tracker_last_attempted(tracker, NULL, &attempted, err);
  if (has_attempted < 0) return TR_NO_MEMORY;
  if (has_attempted && attempted >= left.integers.from) {
    left.integers.from = attempted < left.integers.to ? attempted + 1 : left.integers.to;
  }
  tr_counting_source_restrict_offsets(source, &left.integers);
  return TR_OK;
}

/* Begins a scan that claims each number. */
static tr_code begin_tracked(counting_cursor *cursor, const counting_request *r, tr_error *err) {
  const tr_value *name = &r->given[COUNTING_TRACKER];
  tr_counting_source source;
  tr_restriction restriction = {.kind = TR_INTEGERS};
  tr_code code = counting_request_source(r, &source, err);
  if (code == TR_OK) code = counting_request_range(r, &restriction.integers, err);
  if (code != TR_OK) return code;
  tr_counting_source_restrict(&source, r->bounds.low, r->bounds.high);

  int is_new;
  tr_error reason;
  tr_named_tracker *tracker = tr_tracker_registry_find_or_open(
      tr_host_trackers(host_of(cursor)), name->bytes, &restriction, &is_new, &reason);
  if (tracker == NULL) return tr_argument_refused(err, COUNTING_FUNCTION, "tracker", name, &reason);
  if (tr_tracker_kind(tracker->tracker) != TR_INTEGERS) {
    code = tr_argument_error(err, COUNTING_FUNCTION, "tracker", name, "is over byte keys");
  } else if (tr_named_tracker_begin_scan(tracker, &reason) != TR_OK) {
    code = tr_argument_refused(err, COUNTING_FUNCTION, "tracker", name, &reason);
  }
  if (code != TR_OK) {
    tr_named_tracker_release(tracker);
    return code;
  }
  code = tr_reader_init(&cursor->reader, &tr_counting_cursor_class, &cursor->reader_cursor,
                        tracker->tracker, err);
  if (code != TR_OK) {
    tr_named_tracker_end_scan(tracker);
    tr_named_tracker_release(tracker);
    return code;
  }
  cursor->tracker = tracker;
  cursor->reader_cursor.rest = source;
  cursor->step = source.step;
  cursor->is_plain = 0;
  cursor->is_eof = 0;
  return cut_to_tracker(tracker->tracker, &cursor->reader_cursor.rest, err);
}

static int64_t clock_now(void *interrupt) {
  (void)interrupt;
  return tr_monotonic_now();
}

static tr_code clock_wait_until(void *interrupt, int64_t time, tr_error *err) {
  return tr_interrupt_sleep_until(interrupt, time, err);
}

/* Begins pacing, if the arguments ask for it. */
static tr_code begin_pacing(counting_cursor *cursor, const counting_request *r, tr_error *err) {
  int has_rate = counting_request_has(r, COUNTING_RATE) || counting_request_has(r, COUNTING_PERIOD);
  /* begin_untracked has already applied max_records. */
  int64_t max_records =
      cursor->tracker == NULL ? -1 : counting_request_integer(r, COUNTING_MAX_RECORDS, -1);
  tr_pace pace = {
      .rate = has_rate ? counting_request_integer(r, COUNTING_RATE, 1) : 0,
      .period = counting_request_nanoseconds(r, COUNTING_PERIOD, 1000000000),
      .max_records = max_records,
      .max_read_time = counting_request_nanoseconds(r, COUNTING_MAX_READ_TIME, -1),
  };
  cursor->is_paced = has_rate || max_records >= 0 || pace.max_read_time >= 0;
  if (!cursor->is_paced) return TR_OK;
  cursor->is_plain = 0;
  tr_clock clock = {clock_now, clock_wait_until, &cursor->interrupt};
  return tr_pacing_init(&cursor->pacing, &pace, clock, err);
}

/* Compiles timestamp_expr, unless the last scan of this cursor had the same text. */
static tr_code begin_timestamps(counting_cursor *cursor, const counting_request *r, tr_error *err) {
  const tr_value *text = &r->given[COUNTING_TIMESTAMP_EXPR];
  cursor->has_timestamp = 0;
  if (cursor->timestamp_expression != NULL && text->type == TR_TEXT &&
      tr_bytes_compare(text->bytes, tr_buffer_bytes(&cursor->texts[COUNTING_TIMESTAMP_EXPR])) ==
          0) {
    return TR_OK;
  }
  tr_value_expression_free(cursor->timestamp_expression);
  cursor->timestamp_expression = NULL;
  if (text->type == TR_NULL) return TR_OK;
  tr_error reason;
  tr_code code = tr_value_expression_create(text->bytes, &cursor->interrupt,
                                            &cursor->timestamp_expression, &reason);
  if (code == TR_OK) return TR_OK;
  return tr_argument_refused(err, COUNTING_FUNCTION, "timestamp_expr", text, &reason);
}

/* --- Moving --------------------------------------------------------------------------------- */

/* Claims the next number. 1: it is in cursor->value. 0: the scan ends. -1: failed. */
static int next_claimed(counting_cursor *cursor, tr_error *err) {
  int moved = cursor->is_started ? tr_reader_advance(&cursor->reader, err)
                                 : tr_reader_start(&cursor->reader, err);
  cursor->is_started = 1;
  if (moved <= 0) return moved;
  tr_position position;
  if (tr_reader_current(&cursor->reader, &position, err) != TR_OK) return -1;
  cursor->value = tr_counting_value(position.offset, cursor->step);
  return 1;
}

/* Whether there is another number. With a tracker this is only a first look: the claim may fail. */
static int is_more(const counting_cursor *cursor, int is_first) {
  if (cursor->tracker != NULL) return !cursor->reader_cursor.rest.is_empty;
  if (cursor->list != NULL) return cursor->list_next < cursor->list_size;
  return is_first || cursor->value != cursor->last;
}

/* Moves a scan that is not plain. The first number of an untracked sequence is already set. */
static int move(counting_cursor *cursor, int is_first) {
  tr_error err;
  int has_row = is_more(cursor, is_first);
  if (has_row && cursor->is_paced) has_row = tr_pacing_admit(&cursor->pacing, &err);
  if (cursor->tracker != NULL && (has_row == 1 || cursor->reader_cursor.rest.is_empty)) {
    /* Called even when no number is left, so that the reader claims the end. */
    has_row = next_claimed(cursor, &err);
  } else if (has_row == 1 && cursor->list != NULL) {
    cursor->value = cursor->list[cursor->list_next++];
  } else if (has_row == 1 && !is_first) {
    cursor->value = (int64_t)((uint64_t)cursor->value + (uint64_t)cursor->step);
  }
  cursor->is_eof = has_row != 1;
  return has_row < 0 ? tr_vtab_error(cursor->base.pVtab, &err) : SQLITE_OK;
}

static int counting_next(sqlite3_vtab_cursor *base) {
  counting_cursor *cursor = (counting_cursor *)base;
  if (!cursor->is_plain) return move(cursor, 0);
  if (cursor->value == cursor->last) {
    cursor->is_eof = 1;
  } else {
    cursor->value = (int64_t)((uint64_t)cursor->value + (uint64_t)cursor->step);
  }
  return SQLITE_OK;
}

static int counting_filter(sqlite3_vtab_cursor *base, int order, const char *plan, int argc,
                           sqlite3_value **argv) {
  counting_cursor *cursor = (counting_cursor *)base;
  counting_request r;
  tr_error err;
  end_scan(cursor);
  tr_code code = counting_request_read(&r, plan, argc, argv, &err);
  if (code == TR_OK && r.has_null) return SQLITE_OK;
  if (code == TR_OK) code = begin_timestamps(cursor, &r, &err);
  if (code == TR_OK) code = keep_arguments(cursor, &r, &err);
  if (code == TR_OK) {
    code = counting_request_has(&r, COUNTING_TRACKER) ? begin_tracked(cursor, &r, &err)
                                                      : begin_untracked(cursor, &r, order, &err);
  }
  if (code == TR_OK) code = begin_pacing(cursor, &r, &err);
  if (code != TR_OK) {
    end_scan(cursor);
    tr_value_expression_free(cursor->timestamp_expression);
    cursor->timestamp_expression = NULL;
    return tr_vtab_error(base->pVtab, &err);
  }
  return cursor->is_plain || cursor->is_eof ? SQLITE_OK : move(cursor, 1);
}

/* --- Columns -------------------------------------------------------------------------------- */

static int64_t milliseconds_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Takes the timestamp of the current row, once. */
static tr_code take_timestamp(counting_cursor *cursor, tr_error *err) {
  if (cursor->has_timestamp && cursor->timestamp_of == cursor->value) return TR_OK;
  tr_value timestamp = tr_value_integer(0);
  if (cursor->timestamp_expression == NULL) {
    timestamp.integer = milliseconds_now();
  } else {
    const tr_value *text = &cursor->given[COUNTING_TIMESTAMP_EXPR];
    tr_error reason;
    tr_code code = tr_value_expression_evaluate(cursor->timestamp_expression, cursor->value,
                                                &timestamp, &reason);
    if (code == TR_INTERRUPTED) {
      *err = reason;
      return code;
    }
    if (code != TR_OK) {
      return tr_argument_refused(err, COUNTING_FUNCTION, "timestamp_expr", text, &reason);
    }
    if (timestamp.type == TR_REAL && fabs(timestamp.real) < 0x1p63) {
      timestamp = tr_value_integer((int64_t)round(timestamp.real));
    }
    if (timestamp.type != TR_INTEGER && timestamp.type != TR_NULL) {
      return tr_argument_error(err, COUNTING_FUNCTION, "timestamp_expr", text,
                               "must give milliseconds, a number that fits 64 bits");
    }
  }
  cursor->timestamp = timestamp;
  cursor->timestamp_of = cursor->value;
  cursor->has_timestamp = 1;
  return TR_OK;
}

static int counting_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
  counting_cursor *cursor = (counting_cursor *)base;
  if (column == COUNTING_VALUE) {
    sqlite3_result_int64(context, cursor->value);
  } else if (column == COUNTING_TIMESTAMP) {
    tr_error err;
    if (take_timestamp(cursor, &err) == TR_OK) {
      tr_result_value(context, &cursor->timestamp);
    } else {
      tr_result_error(context, NULL, &err);
    }
  } else {
    int argument = column - COUNTING_FIRST_ARGUMENT;
    const tr_value *given = &cursor->given[argument];
    tr_result_value(context, given);
    if (argument == COUNTING_RESTRICTION && given->type == TR_TEXT) {
      sqlite3_result_subtype(context, TR_JSON_SUBTYPE);
    }
  }
  return SQLITE_OK;
}

static int counting_eof(sqlite3_vtab_cursor *base) {
  return ((counting_cursor *)base)->is_eof;
}

/* The value: unique within a scan, and the same row has the same rowid in every scan. */
static int counting_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
  *rowid = ((counting_cursor *)base)->value;
  return SQLITE_OK;
}

/* --- The table ------------------------------------------------------------------------------ */

static int counting_connect(sqlite3 *db, void *host, int argc, const char *const *argv,
                            sqlite3_vtab **vtab, char **message) {
  (void)argc, (void)argv;
  int rc = tr_declare_vtab(
      db,
      "CREATE TABLE x(value INTEGER NOT NULL, timestamp INTEGER, up_to HIDDEN, start HIDDEN, "
      "step HIDDEN,"
      " rate HIDDEN, period HIDDEN, max_records HIDDEN, max_read_time HIDDEN,"
      " timestamp_expr HIDDEN, tracker HIDDEN, restriction HIDDEN)",
      message);
  if (rc == SQLITE_OK) rc = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  if (rc != SQLITE_OK) return rc;
  counting_table *table = tr_malloc(sizeof *table);
  if (table == NULL) return SQLITE_NOMEM;
  *table = (counting_table){.host = host};
  *vtab = &table->base;
  return SQLITE_OK;
}

static int counting_disconnect(sqlite3_vtab *vtab) {
  tr_free(vtab);
  return SQLITE_OK;
}

static int counting_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **opened) {
  counting_cursor *cursor = tr_malloc(sizeof *cursor);
  if (cursor == NULL) return SQLITE_NOMEM;
  *cursor = (counting_cursor){.is_plain = 1, .is_eof = 1};
  cursor->interrupt.db = tr_host_db(((counting_table *)vtab)->host);
  *opened = &cursor->base;
  return SQLITE_OK;
}

static int counting_close(sqlite3_vtab_cursor *base) {
  counting_cursor *cursor = (counting_cursor *)base;
  end_scan(cursor);
  tr_value_expression_free(cursor->timestamp_expression);
  tr_interrupt_close(&cursor->interrupt);
  for (int i = 0; i < COUNTING_ARGUMENTS; i++) tr_buffer_free(&cursor->texts[i]);
  tr_free(cursor);
  return SQLITE_OK;
}

int tr_register_counting_input(tr_host *host) {
  static const sqlite3_module module = {
      .iVersion = 0,
      .xConnect = counting_connect,
      .xBestIndex = counting_best_index,
      .xDisconnect = counting_disconnect,
      .xOpen = counting_open,
      .xClose = counting_close,
      .xFilter = counting_filter,
      .xNext = counting_next,
      .xEof = counting_eof,
      .xColumn = counting_column,
      .xRowid = counting_rowid,
  };
  return tr_host_register_module(host, COUNTING_FUNCTION, &module);
}

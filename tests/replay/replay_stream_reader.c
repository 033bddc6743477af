/*
** Replays tests/vectors/stream_reader.jsonl: what the reference's reader over a paged remote stream
** does, compared with tr_reader.
**
** Ours needs no server. The stream s0 is a scripted cursor over its pages, whose rows have the
** positions 0, 1, ...; a tracker over [0, number of rows) decides. For a split, ours is asked for a
** fraction that fits the server's recorded answer:
** - a primary of k rows: the fraction at row k;
** - the reader has passed the split: the fraction of the present row;
** - no answer: a fraction that no reader grants.
**
** Then the rows that follow, the source and what was given away must be those of the primary and
** the remainder.
**
** What a reader without a server has no equivalent for is counted at the end: the calls to the
** server (`rpc`), and what pages say about themselves. The order of rows, the ends, the splits and
** their refusals all carry over. Our fractions are compared with the model's and must never fall.
** They differ from the recorded ones by definition.
*/
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "jsonl.h"
#include "reader/reader.h"
#include "verdict.h"

enum { MOST_ROWS = 256 };

/* The rows of all pages, and where each page ends. */
typedef struct stream {
  int64_t rows[MOST_ROWS];
  int page_ends[MOST_ROWS];
  int row_count, page_count;
} stream;

typedef enum phase { UNSTARTED, RUNNING, ENDED, CLOSED } phase;

typedef struct model {
  phase phase;
  int64_t row, end; /* of the present row; of the source */
} model;

typedef struct replay {
  jsonl *file;
  const char *line;
  stream stream;
  int next_row, page;
  tr_tracker *tracker;
  tr_reader reader;
  double last_fraction;
  int splits_asked;
  model model;
  long calls_to_server, fractions_in_drains;
} replay;

static void append(text to, const char *format, ...) TR_PRINTF(2, 3);

static void append(text to, const char *format, ...) {
  size_t size = strlen(to);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(to + size, TEXT_SIZE - size, format, arguments);
  va_end(arguments);
}

/* ---- The stream ----------------------------------------------------------------------------- */

/* Goes to the page of the next row, past those without rows. */
static int stream_next(void *cursor, tr_position *position, tr_error *err) {
  replay *r = cursor;
  (void)err;
  while (r->page < r->stream.page_count && r->next_row == r->stream.page_ends[r->page]) r->page++;
  if (r->page == r->stream.page_count) return 0;
  *position = tr_position_of_offset(r->next_row++);
  return 1;
}

static void stream_close(void *cursor) {
  (void)cursor;
}

static const tr_cursor_class stream_class = {stream_next, stream_close};

static void read_stream(replay *r, const char *name, stream *s) {
  char path[32];
  snprintf(path, sizeof path, "$.streams.%s", name);
  s->row_count = s->page_count = 0;
  for (const char **page = jsonl_items(r->file, r->line, path); *page != NULL; page++) {
    for (const char **row = jsonl_items(r->file, *page, "rows"); *row != NULL; row++) {
      s->rows[s->row_count++] = jsonl_integer(r->file, *row, "$");
    }
    s->page_ends[s->page_count++] = s->row_count;
  }
}

static int count_rows(replay *r, const char *name) {
  static stream s;
  read_stream(r, name, &s);
  return s.row_count;
}

/* ---- Each step ------------------------------------------------------------------------------ */

static void put_answer(text to, int yes, const tr_error *err) {
  put(to, yes > 0 ? "true" : "false");
  if (yes < 0) put_our_error(to, err);
}

static void put_range(text to, int64_t from, int64_t end) {
  snprintf(to, TEXT_SIZE, "[%" PRId64 ", %" PRId64 ")", from, end);
}

static int move_model(model *m) {
  if (m->phase == ENDED) return 0;
  m->row = m->phase == UNSTARTED ? 0 : m->row + 1;
  m->phase = m->row < m->end ? RUNNING : ENDED;
  return m->phase == RUNNING;
}

static void ask_move(replay *r, const char *json, step *s) {
  (void)json;
  model *m = &r->model;
  tr_error err;
  int is_start = strcmp(s->op, "start") == 0;
  int moved = is_start ? tr_reader_start(&r->reader, &err) : tr_reader_advance(&r->reader, &err);
  put_answer(s->ours, moved, &err);
  if (m->phase == CLOSED) {
    put_error(s->documented, "IllegalStateException", "the reader is closed");
  } else if (is_start != (m->phase == UNSTARTED)) {
    put_error(s->documented, "IllegalStateException",
              is_start ? "the reader was started already" : "the reader has not been started");
  } else {
    put(s->documented, move_model(m) ? "true" : "false");
  }
}

static void ask_current(replay *r, const char *json, step *s) {
  (void)json;
  const model *m = &r->model;
  tr_position position;
  tr_error err;
  if (tr_reader_current(&r->reader, &position, &err) == TR_OK) {
    snprintf(s->ours, TEXT_SIZE, "%" PRId64, r->stream.rows[position.offset]);
  } else {
    put_our_error(s->ours, &err);
  }
  if (m->phase == RUNNING) {
    snprintf(s->documented, TEXT_SIZE, "%" PRId64, r->stream.rows[m->row]);
  } else {
    put_error(s->documented, "IllegalStateException", "the reader has no current record");
  }
}

static double fraction_of_model(const model *m) {
  if (m->phase == RUNNING) return (double)m->row / (double)m->end;
  return m->phase == ENDED;
}

static void put_fraction(replay *r, step *s) {
  double fraction = tr_reader_fraction_consumed(&r->reader);
  append(s->ours, "%.17g", fraction);
  if (!(fraction >= r->last_fraction)) append(s->ours, " has fallen");
  r->last_fraction = fraction;
  append(s->documented, "%.17g", fraction_of_model(&r->model));
}

static void ask_fraction(replay *r, const char *json, step *s) {
  (void)json;
  put(s->ours, "");
  put(s->documented, "");
  put_fraction(r, s);
}

/* All rows that are left. */
static void ask_drain(replay *r, const char *json, step *s) {
  (void)json;
  tr_position position;
  put(s->ours, "rows");
  put(s->documented, "rows");
  while (tr_reader_advance(&r->reader, NULL) == 1) {
    step fraction = {.op = s->op};
    tr_reader_current(&r->reader, &position, NULL);
    append(s->ours, " %" PRId64, r->stream.rows[position.offset]);
    if (move_model(&r->model)) append(s->documented, " %" PRId64, r->stream.rows[r->model.row]);
    put_fraction(r, &fraction);
    if (strcmp(fraction.ours, fraction.documented) != 0) append(s->ours, " at %s", fraction.ours);
    r->fractions_in_drains++;
  }
  move_model(&r->model);
}

static void ask_current_source(replay *r, const char *json, step *s) {
  (void)json;
  tr_restriction source;
  tr_reader_current_source(&r->reader, &source, NULL);
  put_range(s->ours, source.integers.from, source.integers.to);
  put_range(s->documented, 0, r->model.end);
}

static void ask_close(replay *r, const char *json, step *s) {
  (void)json;
  tr_reader_close(&r->reader);
  r->model.phase = CLOSED;
  put(s->ours, "ok");
  put(s->documented, "ok");
}

/* The server's reply to the next split: where it would split, or -1. */
static int64_t split_row(replay *r) {
  const char **replies = jsonl_items(r->file, r->line, "split_replies");
  for (int i = 0; i < r->splits_asked && *replies != NULL; i++) replies++;
  r->splits_asked++;
  if (*replies == NULL) return -1;
  const char *primary = jsonl_text(r->file, *replies, "primary");
  if (primary == NULL || jsonl_text(r->file, *replies, "remainder") == NULL) return -1;
  const char *read_error = jsonl_text(r->file, *replies, "read_error");
  if (read_error == NULL) return count_rows(r, primary);
  return strcmp(read_error, "failed_precondition") == 0 ? r->model.row : -1;
}

static void put_parts(text to, int64_t at, int64_t end) {
  text primary, residual;
  put_range(primary, 0, at);
  put_range(residual, at, end);
  snprintf(to, TEXT_SIZE, "%.100s and %.100s", primary, residual);
}

static void ask_split(replay *r, const char *json, step *s) {
  (void)json;
  model *m = &r->model;
  int64_t row = split_row(r);
  double fraction = row < 0 ? 0 : ((double)row + 0.5) / (double)m->end;
  tr_restriction residual, primary;
  tr_error err;
  int split = tr_reader_split_at_fraction(&r->reader, fraction, &residual, &err);
  put(s->ours, "refused");
  if (split < 0) put_our_error(s->ours, &err);
  if (split > 0) {
    tr_reader_current_source(&r->reader, &primary, NULL);
    put_parts(s->ours, primary.integers.to, residual.integers.to);
    if (residual.integers.from != primary.integers.to) put(s->ours, "parts that do not meet");
  }
  put(s->documented, "refused");
  if (m->phase == RUNNING && row > m->row && row < m->end) {
    put_parts(s->documented, row, m->end);
    m->end = row;
  }
}

static const struct {
  const char *op;
  void (*ask)(replay *r, const char *json, step *s);
} asks[] = {
    {"start", ask_move},      {"advance", ask_move},
    {"current", ask_current}, {"fraction_consumed", ask_fraction},
    {"drain", ask_drain},     {"current_source", ask_current_source},
    {"close", ask_close},     {"split_at_fraction", ask_split},
};

/* ---- What differs, and why ------------------------------------------------------------------ */

static const model *before(const step *s) {
  return s->before;
}

static int is_running(const step *s) {
  return before(s)->phase == RUNNING;
}

static int has_no_record(const step *s) {
  return before(s)->phase != RUNNING;
}

static int is_unstarted(const step *s) {
  return before(s)->phase == UNSTARTED;
}

static int has_ended(const step *s) {
  return before(s)->phase == ENDED;
}

static int has_empty_remainder(const step *s) {
  text all;
  put_parts(all, before(s)->end, before(s)->end);
  return strcmp(s->recorded, all) == 0;
}

static int is_closed(const step *s) {
  return before(s)->phase == CLOSED;
}

static int refuses_page(const step *s) {
  return strstr(s->recorded, "current response (") != NULL;
}

static const char trusts_no_page[] =
    "a page's own row count and fraction decide nothing: there is nothing to refuse";

static const difference differences[] = {
    {OURS, "2.20", "fraction_consumed", is_running, 0,
     "the rows before the present one, of the source; the reference's: with it, of what pages say"},
    {OURS, "2.20", "current", has_no_record, 0, "without a record, current is an error"},
    {OURS, "2.20", "start", refuses_page, 1, trusts_no_page},
    {OURS, "2.20", "advance", refuses_page, 1, trusts_no_page},
    {OURS, "2.20", "split_at_fraction", is_unstarted, 0,
     "refused before the start; there it fails"},
    {OURS, "2.20", "split_at_fraction", has_ended, 1,
     "refused after the end: there is nothing to give"},
    {OURS, "2.20", "split_at_fraction", has_empty_remainder, 0,
     "a split that gives nothing away is refused"},
    {OURS, "2.20", "advance", is_closed, 1, "a closed reader does not go on"},
};
enum { DIFFERENCES = sizeof differences / sizeof *differences };

/* ---- The replay ----------------------------------------------------------------------------- */

static void read_answer(replay *r, const char *json, const char *op, text to) {
  jsonl *file = r->file;
  if (jsonl_has(file, json, "err")) {
    put_error(to, jsonl_text(file, json, "err"), jsonl_text(file, json, "msg"));
  } else if (!jsonl_has(file, json, "ret")) {
    put(to, "ok");
  } else if (strcmp(op, "fraction_consumed") == 0) {
    snprintf(to, TEXT_SIZE, "%.17g", jsonl_double(file, json, "ret"));
  } else if (strcmp(op, "drain") == 0) {
    put(to, "rows");
    for (const char **row = jsonl_items(file, json, "ret"); *row != NULL; row++) {
      append(to, " %" PRId64, jsonl_integer(file, *row, "$[0]"));
    }
  } else if (strcmp(op, "current_source") == 0) {
    put_range(to, 0, count_rows(r, jsonl_text(file, json, "ret")));
  } else if (jsonl_is_null(file, json, "ret")) {
    put(to, strcmp(op, "split_at_fraction") == 0 ? "refused" : "null");
  } else if (strcmp(op, "split_at_fraction") == 0) {
    int at = count_rows(r, jsonl_text(file, json, "$.ret.primary"));
    put_parts(to, at, at + count_rows(r, jsonl_text(file, json, "$.ret.residual")));
  } else if (strcmp(op, "current") == 0) {
    snprintf(to, TEXT_SIZE, "%" PRId64, jsonl_integer(file, json, "ret"));
  } else {
    put(to, jsonl_bool(file, json, "ret") ? "true" : "false");
  }
}

static void replay_step(replay *r, verdict *v, const char *json) {
  static step s;
  static model before_it;
  s.version = "2.20";
  s.op = jsonl_text(r->file, json, "op");
  s.argument = "";
  s.before = &before_it;
  before_it = r->model;
  read_answer(r, json, s.op, s.recorded);
  put(s.ours, "an operation that nobody knows");
  for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
    if (strcmp(asks[i].op, s.op) == 0) asks[i].ask(r, json, &s);
  }
  if (jsonl_has(r->file, json, "rpc")) r->calls_to_server++;
  verdict_step(v, r->file, &s);
}

static void replay_line(replay *r, verdict *v) {
  read_stream(r, "s0", &r->stream);
  r->next_row = r->page = r->splits_asked = 0;
  r->last_fraction = 0;
  r->model = (model){.phase = UNSTARTED, .row = -1, .end = r->stream.row_count};
  tr_restriction all = {.kind = TR_INTEGERS, .integers = {0, r->stream.row_count}};
  if (tr_tracker_create(&all, &r->tracker, NULL) != TR_OK) return;
  if (tr_reader_init(&r->reader, &stream_class, r, r->tracker, NULL) != TR_OK) return;
  verdict_line(v);
  for (const char **json = jsonl_items(r->file, r->line, "steps"); *json != NULL; json++) {
    replay_step(r, v, *json);
  }
  tr_reader_close(&r->reader);
  tr_tracker_free(r->tracker);
}

int main(void) {
  static replay r;
  verdict v = {"stream reader", differences, DIFFERENCES, .lines = 0};
  r.file = jsonl_open("tests/vectors/stream_reader.jsonl");
  while ((r.line = jsonl_next(r.file)) != NULL) replay_line(&r, &v);
  jsonl_close(r.file);
  int status = verdict_report(&v, 149);
  printf("%6ld fractions inside drains compared with the model alone\n", r.fractions_in_drains);
  printf("%6ld lists of calls to the server that ours has no need of\n", r.calls_to_server);
  return status;
}

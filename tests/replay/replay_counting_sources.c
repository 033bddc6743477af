/*
** Replays what tests/vectors/counting.jsonl says about sources: what a source may be, and how it
** splits. (The lines about readers: replay_counting_readers.c.)
**
** Which of ours is compared with what: a source is counting_source.h; cutting it by bytes is
** tr_offset_range_split with 8 bytes for a number, as in the reference; the n interleaved sources
** of an unbounded one are sequences of n times the step; the shards of a bounded read are the
** pieces of tr_restriction_split. The model does the same by plain loops in 128 bits.
*/
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "jsonl.h"
#include "range/restriction.h"
#include "reader/counting_source.h"
#include "reader/pacing.h"
#include "verdict.h"

__extension__ typedef __int128 wide;

/* What is listed of a long result. */
enum { LISTED_PIECES = 40, LISTED_NUMBERS = 4, BYTES_OF_NUMBER = 8 };

typedef struct model {
  int64_t from, to, n;
} model;

typedef struct replay {
  jsonl *file;
  const char *line;
  model model;
} replay;

static void append(text to, const char *format, ...) TR_PRINTF(2, 3);

static void append(text to, const char *format, ...) {
  size_t size = strlen(to);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(to + size, TEXT_SIZE - size, format, arguments);
  va_end(arguments);
}

static int64_t integer(const replay *r, const char *path) {
  return jsonl_integer(r->file, r->line, path);
}

/* ---- Ends, limits, rates -------------------------------------------------------------------- */

static void put_source(text to, int64_t from, int64_t end) {
  tr_offset_range range = tr_counting_offsets(from, &end, 1);
  snprintf(to, TEXT_SIZE, "[%" PRId64 ", %" PRId64 ")", range.from, range.to);
}

static void ask_up_to(replay *r, step *s) {
  int64_t n = r->model.n = integer(r, "n");
  put_source(s->ours, 0, n);
  snprintf(s->documented, TEXT_SIZE, "[0, %" PRId64 ")", n < 0 ? 0 : n);
  if (jsonl_has(r->file, r->line, "ret")) put(s->recorded, jsonl_text(r->file, r->line, "ret"));
}

static void ask_pace(step *s, tr_pace pace) {
  tr_pacing pacing;
  tr_error err;
  put(s->ours, "ok");
  if (tr_pacing_init(&pacing, &pace, (tr_clock){0}, &err) != TR_OK) put_our_error(s->ours, &err);
  put(s->documented, "ok");
  if (pace.rate < 0 || pace.max_records < -1) {
    put_error(s->documented, "IllegalArgumentException", "a pace cannot be negative");
  }
}

static void ask_with_max_num_records(replay *r, step *s) {
  int64_t n = r->model.n = integer(r, "n");
  ask_pace(s, (tr_pace){.max_records = n, .max_read_time = -1});
}

static void ask_with_rate(replay *r, step *s) {
  int64_t n = r->model.n = integer(r, "elements");
  ask_pace(s, (tr_pace){n, integer(r, "period_ms") * 1000000, -1, -1});
  /* 1.9.1 looks at the rate when the source is used. */
  if (jsonl_has(r->file, r->line, "apply_err")) {
    put_error(s->recorded, jsonl_text(r->file, r->line, "apply_err"),
              jsonl_text(r->file, r->line, "apply_msg"));
  }
}

/* No duration: in SQL a NULL argument, and no rows (tests/sql/counting_input.sql). */
static void ask_with_max_read_time(replay *r, step *s) {
  (void)r;
  put(s->ours, "no rows");
  put(s->documented, "no rows");
}

/* The last `to` counts. */
static void ask_generate_sequence(replay *r, step *s) {
  model *m = &r->model;
  m->from = integer(r, "from");
  for (const char **to = jsonl_items(r->file, r->line, "to_calls"); *to != NULL; to++) {
    m->to = jsonl_integer(r->file, *to, "$");
  }
  put_source(s->ours, m->from, m->to);
  snprintf(s->documented, TEXT_SIZE, "[%" PRId64 ", %" PRId64 ")", m->from,
           m->to < m->from ? m->from : m->to);
  if (jsonl_has(r->file, r->line, "source")) {
    put(s->recorded, jsonl_text(r->file, r->line, "source"));
  } else if (jsonl_has(r->file, r->line, "unbounded")) {
    put(s->recorded, "unbounded");
  } else if (jsonl_has(r->file, r->line, "expand_err")) {
    put(s->recorded, "an error when applied");
  }
}

/* ---- Splits --------------------------------------------------------------------------------- */

/* How many pieces came, the first ones and the last. */
typedef struct pieces {
  int64_t count;
  tr_offset_range first[LISTED_PIECES], last;
} pieces;

static void add_piece(pieces *p, int64_t from, int64_t to) {
  p->last = (tr_offset_range){from, to};
  if (p->count < LISTED_PIECES) p->first[p->count] = p->last;
  p->count++;
}

static tr_code add_range(void *context, tr_offset_range piece, tr_error *err) {
  (void)err;
  add_piece(context, piece.from, piece.to);
  return TR_OK;
}

static void put_pieces(text to, uint64_t bytes, const pieces *p) {
  snprintf(to, TEXT_SIZE, "%" PRIu64 " bytes, %" PRId64 " pieces", bytes, p->count);
  for (int64_t i = 0; i < p->count && i < LISTED_PIECES; i++) {
    append(to, " %" PRId64 "-%" PRId64, p->first[i].from, p->first[i].to);
  }
  if (p->count > 0) append(to, " ... %" PRId64 "-%" PRId64, p->last.from, p->last.to);
}

static void ask_bounded_split(replay *r, step *s) {
  model *m = &r->model;
  m->from = integer(r, "from");
  m->to = integer(r, "to");
  int64_t desired = integer(r, "desired_bytes");
  int64_t unit = desired / BYTES_OF_NUMBER > 1 ? desired / BYTES_OF_NUMBER : 1;

  tr_counting_source source;
  tr_counting_source_init(&source, m->from, m->to, 1, NULL);
  tr_offset_range range = tr_counting_offsets(m->from, &m->to, 1);
  pieces ours = {.count = 0}, models = {.count = 0};
  tr_error err;
  if (tr_offset_range_split(&range, unit, 1, add_range, &ours, &err) != TR_OK) {
    put_our_error(s->ours, &err);
  } else {
    put_pieces(s->ours, tr_counting_source_count(&source) * BYTES_OF_NUMBER, &ours);
  }

  for (wide from = m->from, to; from < m->to; from = to) {
    to = from + unit;
    if (m->to - to < unit / 4 || m->to - to < 1) to = m->to;
    add_piece(&models, (int64_t)from, (int64_t)to);
  }
  wide numbers = m->to < m->from ? 0 : (wide)m->to - m->from;
  put_pieces(s->documented, (uint64_t)(numbers * BYTES_OF_NUMBER), &models);

  if (jsonl_has(r->file, r->line, "err")) return;
  pieces recorded = {.count = 0};
  for (const char **piece = jsonl_items(r->file, r->line, "ranges"); *piece != NULL; piece++) {
    add_piece(&recorded, jsonl_integer(r->file, *piece, "$[0]"),
              jsonl_integer(r->file, *piece, "$[1]"));
  }
  recorded.count = integer(r, "count");
  if (jsonl_has(r->file, r->line, "last")) {
    recorded.last = (tr_offset_range){integer(r, "$.last[0]"), integer(r, "$.last[1]")};
  }
  put_pieces(s->recorded, (uint64_t)integer(r, "estimated_bytes"), &recorded);
}

/*
** The first numbers of one of several sources that take turns. A source that would begin beyond
** 2^63-1 has none. The reference's begins at a number that wrapped around, and has none either.
*/
static void append_ours(text to, wide start, int64_t stride) {
  append(to, " | by %" PRId64 ":", stride);
  tr_counting_source source;
  if (start > INT64_MAX) return;
  tr_counting_source_init_unbounded(&source, (int64_t)start, stride, NULL);
  for (int i = 0; i < LISTED_NUMBERS && !source.is_empty; i++) {
    append(to, " %" PRId64, source.first);
    tr_counting_source_skip(&source, 1);
  }
}

static void append_models(text to, wide start, int64_t stride) {
  append(to, " | by %" PRId64 ":", stride);
  for (int i = 0; i < LISTED_NUMBERS && start + (wide)i * stride <= INT64_MAX; i++) {
    append(to, " %" PRId64, (int64_t)(start + (wide)i * stride));
  }
}

static void ask_unbounded_split(replay *r, step *s) {
  wide start = integer(r, "start");
  int64_t stride = 1, count = 1;
  put(s->ours, "");
  put(s->documented, "");
  /* Each count splits the last source of the one before. */
  for (const char **n = jsonl_items(r->file, r->line, "split_counts"); *n != NULL; n++) {
    start += (wide)(count - 1) * stride;
    stride *= count;
    count = jsonl_integer(r->file, *n, "$");
  }
  for (int64_t i = 0; i < count; i++) {
    append_ours(s->ours, start + (wide)i * stride, stride * count);
    append_models(s->documented, start + (wide)i * stride, stride * count);
  }
  put(s->recorded, "");
  for (const char **split = jsonl_items(r->file, r->line, "splits"); *split != NULL; split++) {
    append(s->recorded, " | by %" PRId64 ":", jsonl_integer(r->file, *split, "stride"));
    for (const char **first = jsonl_items(r->file, *split, "first"); *first != NULL; first++) {
      append(s->recorded, " %" PRId64, jsonl_integer(r->file, *first, "$"));
    }
  }
}

typedef struct shards {
  int64_t count, least, most, sum;
} shards;

static void add_shard(shards *all, int64_t size) {
  if (all->count == 0 || size < all->least) all->least = size;
  if (all->count == 0 || size > all->most) all->most = size;
  all->count++;
  all->sum += size;
}

static tr_code add_restriction(void *context, const tr_restriction *piece, tr_error *err) {
  (void)err;
  add_shard(context, (int64_t)tr_offset_range_width(&piece->integers));
  return TR_OK;
}

static void put_shards(text to, const shards *all) {
  snprintf(to, TEXT_SIZE, "%" PRId64 " shards of %" PRId64 " to %" PRId64 ", in all %" PRId64,
           all->count, all->least, all->most, all->sum);
}

static void ask_max_num_records_shards(replay *r, step *s) {
  int64_t n = r->model.n = integer(r, "max_records"), count = integer(r, "num_splits");
  int64_t records = n < 0 ? 0 : n;
  tr_restriction whole = {.kind = TR_INTEGERS, .integers = {0, records}};
  shards ours = {0}, models = {0};
  tr_restriction_split(&whole, count, add_restriction, &ours, NULL);
  for (int64_t i = 0; i < count; i++) add_shard(&models, records / count + (i < records % count));
  put_shards(s->ours, &ours);
  put_shards(s->documented, &models);
  put_shards(s->recorded,
             &(shards){count, integer(r, "min"), integer(r, "max"), integer(r, "sum")});
}

/* ---- What differs, and why ------------------------------------------------------------------ */

static const model *of(const step *s) {
  return s->before;
}

static int is_below_1(const step *s) {
  return of(s)->n < 1;
}

static int is_backward(const step *s) {
  return of(s)->to < of(s)->from;
}

static int is_negative_start(const step *s) {
  return of(s)->from < 0;
}

static int always(const step *s) {
  (void)s;
  return 1;
}

#define ALL "beam 2.20 df1.9.1"

static const difference differences[] = {
    {OURS, ALL, "up_to", is_below_1, 0, "an end before the start is an empty sequence"},
    {OURS, ALL, "with_max_num_records", is_below_1, 0,
     "0 records are none and -1 is no limit; SQL refuses what is negative"},
    {OURS, ALL, "with_max_read_time", always, 0, "no duration is SQL's NULL: no rows"},
    {OURS, ALL, "with_rate", is_below_1, 0,
     "a rate of 0 is none, less has a message of ours; SQL refuses both"},
    {OURS, ALL, "bounded_split", is_backward, 0, "an end before the start is an empty sequence"},
    {OURS, ALL, "max_num_records_shards", is_below_1, 0, "a negative number of records is none"},
    {OURS, ALL, "generate_sequence", is_negative_start, 0, "a sequence may begin below 0"},
    {OURS, ALL, "generate_sequence", is_backward, 0,
     "-1 is an end like any other, and the last end given counts"},
    {OURS, ALL, "generate_sequence", always, 0, "an end may be given again"},
};
enum { DIFFERENCES = sizeof differences / sizeof *differences };

static const struct {
  const char *op;
  void (*ask)(replay *r, step *s);
} asks[] = {
    {"up_to", ask_up_to},
    {"with_max_num_records", ask_with_max_num_records},
    {"with_max_read_time", ask_with_max_read_time},
    {"with_rate", ask_with_rate},
    {"generate_sequence", ask_generate_sequence},
    {"bounded_split", ask_bounded_split},
    {"unbounded_split", ask_unbounded_split},
    {"max_num_records_shards", ask_max_num_records_shards},
};

static int is_reader_line(const char *op) {
  return strcmp(op, "bounded_reader") == 0 || strcmp(op, "unbounded_reader") == 0;
}

static void replay_line(replay *r, verdict *v, const char *op) {
  static step s;
  r->model = (model){0};
  s.version = jsonl_has(r->file, r->line, "ver") ? jsonl_text(r->file, r->line, "ver") : "beam";
  s.op = op;
  s.argument = "";
  s.before = &r->model;
  put(s.recorded, "ok");
  if (jsonl_has(r->file, r->line, "err")) {
    put_error(s.recorded, jsonl_text(r->file, r->line, "err"), jsonl_text(r->file, r->line, "msg"));
  }
  put(s.ours, "an operation that nobody knows");
  for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
    if (strcmp(asks[i].op, op) == 0) asks[i].ask(r, &s);
  }
  verdict_step(v, r->file, &s);
}

int main(void) {
  static replay r;
  verdict v = {"counting, sources", differences, DIFFERENCES, .lines = 0};
  r.file = jsonl_open("tests/vectors/counting.jsonl");
  while ((r.line = jsonl_next(r.file)) != NULL) {
    const char *op = jsonl_text(r.file, r.line, "op");
    if (is_reader_line(op)) continue;
    verdict_line(&v);
    replay_line(&r, &v, op);
  }
  jsonl_close(r.file);
  return verdict_report(&v, 453);
}

/*
** Replays the `tracker` lines of tests/vectors/offset_range.jsonl: every step of every version
** against the splittable tracker over integers. (The `split` lines: replay_offset_range.c.)
**
** The model keeps its integers in 128 bits, where nothing wraps. The one thing that it does not
** compute is where a split goes: it takes the recorded position, so that ours must be the same.
*/
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "jsonl.h"
#include "range/offset_tracker.h"
#include "verdict.h"

__extension__ typedef __int128 wide;

/* ---- The model ------------------------------------------------------------------------------ */

typedef struct model {
  wide from, to, attempted, claimed;
  int has_attempted, has_claimed;
} model;

static long long ll(wide x) {
  return (long long)x;
}

static int is_past_end(const model *m) {
  return m->has_attempted && m->attempted >= m->to;
}

static wide next_of(const model *m) {
  return m->has_attempted ? m->attempted + 1 : m->from;
}

static wide remaining(const model *m) {
  if (is_past_end(m)) return 0;
  return m->to - (m->has_attempted ? m->attempted : m->from);
}

static double fraction(const model *m) {
  if (m->from == m->to || is_past_end(m)) return 1;
  return m->has_attempted ? (double)(m->attempted - m->from) / (double)(m->to - m->from) : 0;
}

static void put_range(text to, wide from, wide end) {
  snprintf(to, TEXT_SIZE, "[%lld, %lld)", ll(from), ll(end));
}

static void model_claim(model *m, wide offset, text answer) {
  text message;
  if (m->has_attempted && offset <= m->attempted) {
    snprintf(message, TEXT_SIZE, "Trying to claim offset %lld while last attempted was %lld",
             ll(offset), ll(m->attempted));
    put_error(answer, "IllegalArgumentException", message);
    return;
  }
  if (offset < m->from) {
    snprintf(message, TEXT_SIZE,
             "Trying to claim offset %lld before start of the range [%lld, %lld)", ll(offset),
             ll(m->from), ll(m->to));
    put_error(answer, "IllegalArgumentException", message);
    return;
  }
  m->has_attempted = 1;
  m->attempted = offset;
  put(answer, "false");
  if (offset >= m->to) return;
  m->has_claimed = 1;
  m->claimed = offset;
  put(answer, "true");
}

static void model_check_done(const model *m, text answer) {
  text message;
  put(answer, "ok");
  if (next_of(m) >= m->to) return;
  if (!m->has_attempted) {
    snprintf(message, TEXT_SIZE,
             "Last attempted offset should not be null. No work was claimed in non-empty range "
             "[%lld, %lld).",
             ll(m->from), ll(m->to));
  } else {
    snprintf(message, TEXT_SIZE,
             "Last attempted offset was %lld in range [%lld, %lld), claiming work in [%lld, %lld) "
             "was not attempted",
             ll(m->attempted), ll(m->from), ll(m->to), ll(next_of(m)), ll(m->to));
  }
  put_error(answer, "IllegalStateException", message);
}

static void model_checkpoint(model *m, text residual) {
  if (!m->has_claimed) {
    put_error(residual, "IllegalStateException",
              "Can't checkpoint before any offset was successfully claimed");
    return;
  }
  put_range(residual, m->claimed + 1, m->to);
  m->to = m->claimed + 1;
}

static void put_offset_or_null(text to, wide offset, int has_offset) {
  if (has_offset) {
    snprintf(to, TEXT_SIZE, "%lld", ll(offset));
  } else {
    put(to, "null");
  }
}

static void model_text(const model *m, text answer) {
  text claimed, attempted;
  put_offset_or_null(claimed, m->claimed, m->has_claimed);
  put_offset_or_null(attempted, m->attempted, m->has_attempted);
  snprintf(answer, TEXT_SIZE,
           "OffsetRangeTracker{range=[%lld, %lld), lastClaimedOffset=%.30s, "
           "lastAttemptedOffset=%.30s}",
           ll(m->from), ll(m->to), claimed, attempted);
}

/* ---- What may differ, and why --------------------------------------------------------------- */

static const model *before(const step *s) {
  return s->before;
}

static int is_one_point(const step *s) {
  return before(s)->from == before(s)->to;
}

static int is_untouched(const step *s) {
  return !before(s)->has_attempted;
}

static int is_wide(const step *s) {
  return before(s)->to - before(s)->from > INT64_MAX || remaining(before(s)) > INT64_MAX;
}

static int attempted_last_integer(const step *s) {
  return before(s)->has_attempted && before(s)->attempted == INT64_MAX;
}

#define OLDER "2.15 2.20"

static const difference differences[] = {
    {4, OLDER, "check_done", is_one_point, 0, "[x,x) is done from the beginning"},
    {4, "2.30", "progress", is_one_point, 0, "[x,x) is done from the beginning"},
    {0, OLDER, "check_done", is_untouched, 0, "null pointer in the reference; ours as 2.30"},
    {0, OLDER, "size", is_wide, 0, "the reference wraps at 2^63"},
    {0, "2.30", "try_split", attempted_last_integer, 0,
     "the reference wraps at 2^63; ours refuses"},
};
enum { DIFFERENCES = sizeof differences / sizeof *differences };

/* ---- The replay ----------------------------------------------------------------------------- */

typedef struct replay {
  jsonl *file;
  const char *line;
  tr_tracker *tracker;
  model model;
} replay;

static void put_restriction(text to, const tr_restriction *restriction) {
  put_range(to, restriction->integers.from, restriction->integers.to);
}

static void put_our_restriction(text to, tr_tracker *tracker) {
  tr_restriction restriction;
  tr_tracker_current_restriction(tracker, &restriction, NULL);
  put_restriction(to, &restriction);
}

static void put_pair(text to, const char *a, const char *b) {
  snprintf(to, TEXT_SIZE, "%.2000s %.2000s", a, b);
}

/* Each op asks the tracker and the model and gives both answers; the record's is in s->recorded. */
typedef void ask_function(replay *r, const char *json, step *s);

static void ask_new(replay *r, const char *json, step *s) {
  (void)json;
  tr_restriction restriction = {.kind = TR_INTEGERS};
  tr_error err;
  int64_t from = jsonl_integer(r->file, r->line, "from");
  int64_t to = jsonl_integer(r->file, r->line, "to");
  tr_code code = tr_offset_range_init(&restriction.integers, from, to, &err);
  put(s->ours, "ok");
  if (code != TR_OK) put_our_error(s->ours, &err);
  if (code == TR_OK) tr_tracker_create(&restriction, &r->tracker, &err);

  r->model = (model){.from = from, .to = to};
  put(s->documented, "ok");
  if (from > to) {
    snprintf(s->documented, TEXT_SIZE, "IllegalArgumentException: Malformed range [%lld, %lld)",
             ll(from), ll(to));
  }
}

static void ask_try_claim(replay *r, const char *json, step *s) {
  static const char *const answers[] = {"false", "true"};
  tr_error err;
  int64_t offset = jsonl_integer(r->file, json, "pos");
  int claimed = tr_tracker_try_claim(r->tracker, tr_position_of_offset(offset), &err);
  if (claimed < 0) {
    put_our_error(s->ours, &err);
  } else {
    put(s->ours, answers[claimed]);
  }
  model_claim(&r->model, offset, s->documented);
}

static void ask_check_done(replay *r, const char *json, step *s) {
  (void)json;
  tr_error err;
  tr_code code = tr_tracker_check_done(r->tracker, &err);
  put(s->ours, "ok");
  if (code != TR_OK) put_our_error(s->ours, &err);
  if ((code == TR_OK) != tr_tracker_is_done(r->tracker)) put(s->ours, "is_done says otherwise");
  model_check_done(&r->model, s->documented);
}

static void ask_checkpoint(replay *r, const char *json, step *s) {
  (void)json;
  tr_error err;
  tr_restriction residual;
  if (tr_tracker_checkpoint(r->tracker, &residual, &err) == TR_OK) {
    put_restriction(s->ours, &residual);
  } else {
    put_our_error(s->ours, &err);
  }
  model_checkpoint(&r->model, s->documented);
}

/* In 2.20 the fraction of a split does not count: it is a checkpoint, told as a split. */
static void ask_checkpoint_as_split(replay *r, const char *json, step *s) {
  text residual, primary;
  ask_checkpoint(r, json, s);
  if (!r->model.has_claimed) return;
  put(residual, s->documented);
  put_range(primary, r->model.from, r->model.to);
  put_pair(s->documented, primary, residual);
  put(residual, s->ours);
  put_our_restriction(primary, r->tracker);
  put_pair(s->ours, primary, residual);
}

static void ask_try_split(replay *r, const char *json, step *s) {
  text primary, residual_text;
  tr_restriction residual;
  double at = jsonl_double(r->file, json, "fraction");
  put(s->ours, "null");
  if (tr_tracker_try_split(r->tracker, at, &residual, NULL)) {
    put_our_restriction(primary, r->tracker);
    put_restriction(residual_text, &residual);
    put_pair(s->ours, primary, residual_text);
  }
  put(s->documented, jsonl_has(r->file, json, "err") ? "null" : s->recorded);
  if (strcmp(s->documented, "null") != 0) {
    r->model.to = jsonl_integer(r->file, json, "$.ret.primary.end");
  }
}

static void ask_current_restriction(replay *r, const char *json, step *s) {
  (void)json;
  put_our_restriction(s->ours, r->tracker);
  put_range(s->documented, r->model.from, r->model.to);
}

static void ask_size(replay *r, const char *json, step *s) {
  (void)json;
  snprintf(s->ours, TEXT_SIZE, "%.17g", tr_tracker_size(r->tracker));
  snprintf(s->documented, TEXT_SIZE, "%.17g", (double)remaining(&r->model));
}

/*
** The record has how many are completed and how many remain; we say the share and how many remain.
*/
static void ask_progress(replay *r, const char *json, step *s) {
  double completed = jsonl_double(r->file, json, "$.ret.completed");
  double width = (double)(r->model.to - r->model.from);
  snprintf(s->recorded, TEXT_SIZE, "%.17g %.17g", width == 0 ? 0 : completed / width,
           jsonl_double(r->file, json, "$.ret.remaining"));
  snprintf(s->ours, TEXT_SIZE, "%.17g %.17g", tr_tracker_fraction_consumed(r->tracker),
           tr_tracker_size(r->tracker));
  snprintf(s->documented, TEXT_SIZE, "%.17g %.17g", fraction(&r->model),
           (double)remaining(&r->model));
}

static void ask_to_string(replay *r, const char *json, step *s) {
  (void)json;
  tr_buffer buffer = {0};
  tr_tracker_text(r->tracker, &buffer, NULL);
  put_bytes(s->ours, tr_buffer_bytes(&buffer));
  tr_buffer_free(&buffer);
  model_text(&r->model, s->documented);
}

static void read_range(jsonl *file, const char *json, const char *path, text to) {
  char from[64], end[64];
  snprintf(from, sizeof from, "%s.start", path);
  snprintf(end, sizeof end, "%s.end", path);
  put_range(to, jsonl_integer(file, json, from), jsonl_integer(file, json, end));
}

static void read_answer(jsonl *file, const char *json, const char *op, text answer) {
  text primary, residual;
  if (jsonl_has(file, json, "err")) {
    put_error(answer, jsonl_text(file, json, "err"), jsonl_text(file, json, "msg"));
  } else if (!jsonl_has(file, json, "ret")) {
    put(answer, "ok");
  } else if (jsonl_is_null(file, json, "ret")) {
    put(answer, "null");
  } else if (strcmp(op, "try_claim") == 0) {
    put(answer, jsonl_bool(file, json, "ret") ? "true" : "false");
  } else if (strcmp(op, "try_split") == 0) {
    read_range(file, json, "$.ret.primary", primary);
    read_range(file, json, "$.ret.residual", residual);
    put_pair(answer, primary, residual);
  } else if (strcmp(op, "size") == 0) {
    snprintf(answer, TEXT_SIZE, "%.17g", jsonl_double(file, json, "ret"));
  } else if (strcmp(op, "to_string") == 0) {
    put(answer, jsonl_text(file, json, "ret"));
  } else if (strcmp(op, "progress") != 0) {
    read_range(file, json, "$.ret", answer);
  }
}

#define ALL "2.15 2.20 2.30"

static const struct {
  const char *versions, *op;
  ask_function *ask;
} asks[] = {
    {ALL, "new", ask_new},
    {ALL, "try_claim", ask_try_claim},
    {ALL, "check_done", ask_check_done},
    {ALL, "current_restriction", ask_current_restriction},
    {ALL, "to_string", ask_to_string},
    {"2.15", "checkpoint", ask_checkpoint},
    {"2.20", "try_split", ask_checkpoint_as_split},
    {"2.30", "try_split", ask_try_split},
    {"2.15 2.20", "size", ask_size},
    {"2.30", "progress", ask_progress},
};

static ask_function *ask_of(const step *s) {
  for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
    if (verdict_is_among(asks[i].versions, s->version) && strcmp(asks[i].op, s->op) == 0) {
      return asks[i].ask;
    }
  }
  return NULL;
}

static void replay_step(replay *r, verdict *v, const char *version, const char *json) {
  static step s;
  char argument[32] = "";
  model before_it = r->model;
  s.version = version;
  s.op = jsonl_text(r->file, json, "op");
  s.argument = argument;
  s.before = &before_it;
  if (jsonl_has(r->file, json, "pos")) {
    snprintf(argument, sizeof argument, "%" PRId64, jsonl_integer(r->file, json, "pos"));
  }
  read_answer(r->file, json, s.op, s.recorded);
  ask_function *ask = ask_of(&s);
  put(s.ours, "an operation that nobody knows");
  if (ask != NULL) ask(r, json, &s);
  verdict_step(v, r->file, &s);
}

int main(void) {
  static replay r;
  verdict v = {"offset_range, tracker lines", differences, DIFFERENCES, .lines = 0};
  r.file = jsonl_open("tests/vectors/offset_range.jsonl");
  while ((r.line = jsonl_next(r.file)) != NULL) {
    if (strcmp(jsonl_text(r.file, r.line, "op"), "tracker") != 0) continue;
    verdict_line(&v);
    const char *version = jsonl_text(r.file, r.line, "ver");
    for (const char **json = jsonl_items(r.file, r.line, "steps"); *json != NULL; json++) {
      replay_step(&r, &v, version, *json);
    }
    tr_tracker_free(r.tracker);
    r.tracker = NULL;
  }
  jsonl_close(r.file);
  return verdict_report(&v, 777);
}

/*
** Replays tests/vectors/range_tracker.jsonl: every step of the two trackers of bounded readers, of
** Beam 2.15 and of Dataflow 1.9.1.
**
** The model holds a byte key as hexadecimal text, whose order is the keys' order, and an offset in
** 128 bits, where nothing wraps. First comes what both kinds share, then the model of each kind.
*/
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonl.h"
#include "range/byte_key_record_tracker.h"
#include "range/offset_record_tracker.h"
#include "verdict.h"

__extension__ typedef __int128 wide;

/* The members of the kind that the line is about. */
typedef struct model {
  text start, end, position; /* byte keys, in hexadecimal */
  wide from, to, last, split_point;
  int is_bytes;
  int has_position, is_done;
  long split_points;
} model;

typedef struct replay {
  jsonl *file;
  const char *line;
  tr_byte_key_record_tracker *bytes;
  tr_offset_record_tracker *integers;
  model model;
} replay;

static const char *const yes_or_no[] = {"false", "true"};

static void put_double(text to, double x) {
  snprintf(to, TEXT_SIZE, "%.17g", x);
}

static void put_count(text to, int64_t count) {
  snprintf(to, TEXT_SIZE, "%" PRId64, count);
}

static void put_answer(text to, int yes, const tr_error *err) {
  if (yes < 0) {
    put_our_error(to, err);
  } else {
    put(to, yes_or_no[yes]);
  }
}

/* ---- Byte keys ------------------------------------------------------------------------------ */

static tr_bytes bytes_of(const char *hex, tr_buffer *buffer) {
  buffer->size = 0;
  for (; *hex != '\0'; hex += 2) {
    char digits[3] = {hex[0], hex[1], '\0'};
    tr_buffer_append_byte(buffer, (uint8_t)strtol(digits, NULL, 16), NULL);
  }
  return tr_buffer_bytes(buffer);
}

static tr_byte_key_range range_of(const model *m) {
  tr_buffer start = {0}, end = {0};
  tr_byte_key_range range;
  tr_byte_key_range_init(&range, bytes_of(m->start, &start), bytes_of(m->end, &end), NULL);
  tr_buffer_free(&start);
  tr_buffer_free(&end);
  return range;
}

static int is_at_or_above_end(const model *m, const char *key) {
  return m->end[0] != '\0' && strcmp(key, m->end) >= 0;
}

static void put_key_range(text to, const char *start, const char *end) {
  snprintf(to, TEXT_SIZE, "[%.2000s,%.2000s)", start, end);
}

static void model_return_key(model *m, int is_split_point, const char *key, text answer) {
  const char *why = NULL;
  put(answer, "false");
  if (m->is_done) return;
  if (!m->has_position && !is_split_point) {
    why = "The first record must be at a split point";
  } else if (strcmp(key, m->start) < 0) {
    why = "Trying to return record which is before the start key";
  } else if (m->has_position && strcmp(key, m->position) < 0) {
    why = "Trying to return record which is before the last-returned record";
  }
  if (why != NULL) {
    put_error(answer, "IllegalStateException", why);
    return;
  }
  int is_past_end = is_at_or_above_end(m, key);
  if (!m->has_position && (!is_past_end || strcmp(key, m->end) == 0)) put(m->start, key);
  put(m->position, key);
  m->has_position = 1;
  if (is_split_point && is_past_end) {
    m->is_done = 1;
    return;
  }
  m->split_points += is_split_point;
  put(answer, "true");
}

static int model_split_at_key(model *m, const char *key) {
  if (strcmp(key, m->start) < 0 || is_at_or_above_end(m, key)) return 0;
  if (!m->has_position || strcmp(key, m->position) <= 0) return 0;
  put(m->end, key);
  return 1;
}

static double model_key_fraction(const model *m) {
  double fraction = 0;
  if (!m->has_position) return 0;
  if (m->is_done || is_at_or_above_end(m, m->position)) return 1;
  tr_byte_key_range range = range_of(m);
  tr_buffer key = {0};
  /* Fails for the empty key, which lies at the beginning. */
  tr_byte_key_range_estimate_fraction(&range, bytes_of(m->position, &key), &fraction, NULL);
  tr_buffer_free(&key);
  tr_byte_key_range_free(&range);
  return fraction;
}

static void model_key_text(const model *m, text answer) {
  text position;
  put(position, "null");
  if (m->has_position) snprintf(position, TEXT_SIZE, "[%.900s]", m->position);
  snprintf(answer, TEXT_SIZE,
           "ByteKeyRangeTracker{range=ByteKeyRange{startKey=[%.900s], endKey=[%.900s]}, "
           "position=%.1000s}",
           m->start, m->end, position);
}

/* Interpolates the model's range: the text of the key, or of the error. 1: a key. */
static int model_key_for_fraction(const model *m, double fraction, text answer) {
  tr_byte_key_range range = range_of(m);
  tr_buffer key = {0}, hex = {0};
  tr_error err;
  tr_code code = tr_byte_key_range_interpolate(&range, fraction, &key, &err);
  if (code == TR_OK) {
    tr_buffer_append_hex(&hex, tr_buffer_bytes(&key), NULL);
    put_bytes(answer, tr_buffer_bytes(&hex));
  } else {
    put_our_error(answer, &err);
  }
  tr_buffer_free(&key);
  tr_buffer_free(&hex);
  tr_byte_key_range_free(&range);
  return code == TR_OK;
}

/* ---- Integers ------------------------------------------------------------------------------- */

static int is_started(const model *m) {
  return m->is_bytes ? m->has_position : m->split_points > 0 || m->is_done;
}

static int is_infinite(const model *m) {
  return m->to == INT64_MAX;
}

static void model_offset_text(const model *m, text answer) {
  char at[64] = "unstarted in", to[32] = "infinity";
  if (m->has_position) snprintf(at, sizeof at, "at [starting at %lld] of", (long long)m->last);
  if (!is_infinite(m)) snprintf(to, sizeof to, "%lld", (long long)m->to);
  snprintf(answer, TEXT_SIZE, "<%s offset range [%lld, %s)>", at, (long long)m->from, to);
}

static void model_return_offset(model *m, int is_split_point, wide offset, text answer) {
  long long p = (long long)offset;
  text message = "";
  if (!is_started(m) && !is_split_point) {
    snprintf(message, TEXT_SIZE, "The first record [starting at %lld] must be at a split point", p);
  } else if (offset < m->from) {
    snprintf(message, TEXT_SIZE,
             "Trying to return record [starting at %lld] which is before the start offset [%lld]",
             p, (long long)m->from);
  } else if (m->has_position && offset < m->last) {
    snprintf(message, TEXT_SIZE,
             "Trying to return record [starting at %lld] which is before the last-returned record "
             "[starting at %lld]",
             p, (long long)m->last);
  } else if (is_split_point && m->split_points > 0 && offset == m->split_point) {
    snprintf(message, TEXT_SIZE,
             "Record at a split point has same offset as the previous split point: previous split "
             "point at %lld, current record starts at %lld",
             (long long)m->split_point, p);
  }
  if (message[0] != '\0') {
    put_error(answer, "IllegalStateException", message);
    return;
  }
  if (!m->has_position) m->from = offset;
  m->has_position = 1;
  m->last = offset;
  put(answer, "false");
  if (is_split_point && offset >= m->to) {
    m->is_done = 1;
    return;
  }
  if (is_split_point) m->split_point = offset;
  m->split_points += is_split_point;
  put(answer, "true");
}

static int model_split_at_offset(model *m, wide offset) {
  if (is_infinite(m) || !is_started(m) || (m->has_position && offset <= m->last)) return 0;
  if (offset < m->from || offset >= m->to) return 0;
  m->to = offset;
  return 1;
}

static double model_offset_fraction(const model *m) {
  if (!is_started(m)) return 0;
  if (m->is_done) return 1;
  if (is_infinite(m)) return 0;
  if (m->last >= m->to) return 1;
  return fmin(1, (double)(m->last - m->from) / (double)(m->to - m->from));
}

/* The text of the position, or of the error. 1: a position. */
static int model_offset_for_fraction(const model *m, double fraction, wide *offset, text answer) {
  if (is_infinite(m)) {
    text who, message;
    model_offset_text(m, who);
    snprintf(message, TEXT_SIZE,
             "getPositionForFractionConsumed is not applicable to an unbounded range: %.200s", who);
    put_error(answer, "IllegalArgumentException", message);
    return 0;
  }
  double at = floor((double)m->from + fraction * (double)(m->to - m->from));
  *offset = at >= 0x1p63 ? INT64_MAX : at < -0x1p63 ? INT64_MIN : (wide)at;
  put_count(answer, (int64_t)*offset);
  return 1;
}

/* ---- What may differ, and why --------------------------------------------------------------- */

static const model *before(const step *s) {
  return s->before;
}

static int has_open_end(const step *s) {
  return before(s)->is_bytes && before(s)->end[0] == '\0' && before(s)->has_position;
}

static int first_is_past_end(const step *s) {
  return before(s)->is_bytes && !before(s)->has_position &&
         is_at_or_above_end(before(s), s->argument);
}

static int is_at_empty_key(const step *s) {
  return before(s)->is_bytes && before(s)->has_position && before(s)->position[0] == '\0';
}

static int is_past_end(const step *s) {
  return before(s)->is_bytes && before(s)->has_position &&
         is_at_or_above_end(before(s), before(s)->position);
}

static int is_one_point(const step *s) {
  return before(s)->is_bytes && strcmp(before(s)->start, before(s)->end) == 0;
}

static int is_marked_done(const step *s) {
  return before(s)->is_bytes && before(s)->has_position && before(s)->is_done;
}

static int is_negative(const step *s) {
  return !before(s)->is_bytes && before(s)->from < 0;
}

#define BOTH "2.15 df1.9.1"

static const difference differences[] = {
    {5, "2.15", "fraction_consumed", has_open_end, 0, "with an open end the fraction is estimated"},
    {6, BOTH, "try_return", first_is_past_end, 1, "a first record past the end is not returned"},
    {0, BOTH, "fraction_consumed", is_at_empty_key, 0,
     "the reference has no fraction at the empty key"},
    {0, "df1.9.1", "fraction_consumed", is_past_end, 0, "1.9.1 has no fraction past the end"},
    {0, "df1.9.1", "fraction_consumed", is_marked_done, 0, "1.9.1 goes on estimating once done"},
    {0, "df1.9.1", "new", is_one_point, 1, "1.9.1 refuses [x,x)"},
    {0, BOTH, "try_return", is_negative, 1, "the reference takes the offset -1 for none"},
};
enum { DIFFERENCES = sizeof differences / sizeof *differences };

/* ---- The replay ----------------------------------------------------------------------------- */

/* Each op asks the tracker and the model and gives both answers. */
typedef void ask_function(replay *r, const char *json, text ours, text models);

static void ask_new(replay *r, const char *json, text ours, text models) {
  (void)json;
  tr_error err;
  tr_code code = TR_OK;
  model *m = &r->model;
  *m = (model){.is_bytes = strcmp(jsonl_text(r->file, r->line, "type"), "byte_key") == 0};
  put(models, "ok");
  if (m->is_bytes) {
    put(m->start, jsonl_text(r->file, r->line, "start"));
    put(m->end, jsonl_text(r->file, r->line, "end"));
    tr_byte_key_range range;
    code = tr_byte_key_range_init(&range, jsonl_hex(r->file, r->line, "start"),
                                  jsonl_hex(r->file, r->line, "end"), &err);
    if (code == TR_OK) code = tr_byte_key_record_tracker_create(&range, &r->bytes, &err);
    tr_byte_key_range_free(&range);
    if (m->end[0] != '\0' && strcmp(m->start, m->end) > 0) put(models, "start > end");
  } else {
    m->from = jsonl_integer(r->file, r->line, "start");
    m->to = jsonl_integer(r->file, r->line, "end");
    code = tr_offset_record_tracker_create((int64_t)m->from, (int64_t)m->to, &r->integers, &err);
  }
  put(ours, "ok");
  if (code != TR_OK) put_our_error(ours, &err);
}

static void ask_try_return(replay *r, const char *json, text ours, text models) {
  tr_error err;
  int is_split_point = jsonl_bool(r->file, json, "split_point"), yes;
  if (r->bytes != NULL) {
    yes = tr_byte_key_record_tracker_try_return_record_at(r->bytes, is_split_point,
                                                          jsonl_hex(r->file, json, "pos"), &err);
    model_return_key(&r->model, is_split_point, jsonl_text(r->file, json, "pos"), models);
  } else {
    int64_t offset = jsonl_integer(r->file, json, "pos");
    yes = tr_offset_record_tracker_try_return_record_at(r->integers, is_split_point, offset, &err);
    model_return_offset(&r->model, is_split_point, offset, models);
  }
  put_answer(ours, yes, &err);
}

static void ask_try_split_at(replay *r, const char *json, text ours, text models) {
  tr_restriction residual = {.kind = TR_INTEGERS};
  int yes;
  if (r->bytes != NULL) {
    text end;
    put(end, r->model.end);
    tr_bytes key = jsonl_hex(r->file, json, "pos");
    yes = tr_byte_key_record_tracker_try_split_at_position(r->bytes, key, &residual, NULL);
    put(models, yes_or_no[model_split_at_key(&r->model, jsonl_text(r->file, json, "pos"))]);
    if (yes) {
      tr_buffer old_end = {0};
      if (tr_bytes_compare(tr_buffer_bytes(&residual.bytes.start), key) != 0 ||
          tr_bytes_compare(tr_buffer_bytes(&residual.bytes.end), bytes_of(end, &old_end)) != 0) {
        put(models, "another residual");
      }
      tr_buffer_free(&old_end);
      tr_restriction_free(&residual);
    }
  } else {
    int64_t offset = jsonl_integer(r->file, json, "pos");
    wide end = r->model.to;
    yes = tr_offset_record_tracker_try_split_at_position(r->integers, offset, &residual);
    put(models, yes_or_no[model_split_at_offset(&r->model, offset)]);
    if (yes && (residual.integers.from != offset || residual.integers.to != end)) {
      put(models, "another residual");
    }
  }
  put(ours, yes_or_no[yes]);
}

static void ask_position_for_fraction(replay *r, const char *json, text ours, text models) {
  tr_error err;
  int64_t offset;
  wide models_offset;
  double fraction = jsonl_double(r->file, json, "fraction");
  tr_code code =
      tr_offset_record_tracker_position_for_fraction(r->integers, fraction, &offset, &err);
  if (code == TR_OK) {
    put_count(ours, offset);
  } else {
    put_our_error(ours, &err);
  }
  model_offset_for_fraction(&r->model, fraction, &models_offset, models);
}

static void split_offset_at_fraction(replay *r, double fraction, text ours, text models) {
  wide offset;
  int64_t position;
  text where;
  tr_error err;
  if (model_offset_for_fraction(&r->model, fraction, &offset, where)) {
    snprintf(models, TEXT_SIZE, "%.40s %s", where,
             yes_or_no[model_split_at_offset(&r->model, offset)]);
  } else {
    put(models, where);
  }
  if (tr_offset_record_tracker_position_for_fraction(r->integers, fraction, &position, &err) !=
      TR_OK) {
    put_our_error(ours, &err);
    return;
  }
  snprintf(ours, TEXT_SIZE, "%" PRId64 " %s", position,
           yes_or_no[tr_offset_record_tracker_try_split_at_position(r->integers, position, NULL)]);
}

static void split_key_at_fraction(replay *r, double fraction, text ours, text models) {
  text where;
  tr_error err;
  tr_buffer key = {0}, hex = {0};
  if (model_key_for_fraction(&r->model, fraction, where)) {
    snprintf(models, TEXT_SIZE, "%.2000s %s", where,
             yes_or_no[model_split_at_key(&r->model, where)]);
  } else {
    put(models, where);
  }
  if (tr_byte_key_record_tracker_position_for_fraction(r->bytes, fraction, &key, &err) != TR_OK) {
    put_our_error(ours, &err);
    return;
  }
  int yes =
      tr_byte_key_record_tracker_try_split_at_position(r->bytes, tr_buffer_bytes(&key), NULL, NULL);
  tr_buffer_append_hex(&hex, tr_buffer_bytes(&key), NULL);
  snprintf(ours, TEXT_SIZE, "%.*s %s", (int)hex.size, (const char *)hex.data, yes_or_no[yes]);
  tr_buffer_free(&key);
  tr_buffer_free(&hex);
}

static void ask_try_split_fraction(replay *r, const char *json, text ours, text models) {
  double fraction = jsonl_double(r->file, json, "fraction");
  if (r->bytes != NULL) {
    split_key_at_fraction(r, fraction, ours, models);
  } else {
    split_offset_at_fraction(r, fraction, ours, models);
  }
}

static void ask_fraction_consumed(replay *r, const char *json, text ours, text models) {
  (void)json;
  if (r->bytes != NULL) {
    put_double(ours, tr_byte_key_record_tracker_fraction_consumed(r->bytes));
    put_double(models, model_key_fraction(&r->model));
  } else {
    put_double(ours, tr_offset_record_tracker_fraction_consumed(r->integers));
    put_double(models, model_offset_fraction(&r->model));
  }
}

static void ask_split_points_consumed(replay *r, const char *json, text ours, text models) {
  (void)json;
  const model *m = &r->model;
  put_count(ours, r->bytes != NULL ? tr_byte_key_record_tracker_split_points_consumed(r->bytes)
                                   : tr_offset_record_tracker_split_points_consumed(r->integers));
  put_count(models, m->split_points - (is_started(m) && !m->is_done));
}

static void ask_is_done(replay *r, const char *json, text ours, text models) {
  (void)json;
  put(ours, yes_or_no[r->bytes != NULL ? tr_byte_key_record_tracker_is_done(r->bytes)
                                       : tr_offset_record_tracker_is_done(r->integers)]);
  put(models, yes_or_no[r->model.is_done]);
}

static void ask_is_started(replay *r, const char *json, text ours, text models) {
  (void)json;
  put(ours, yes_or_no[tr_offset_record_tracker_is_started(r->integers)]);
  put(models, yes_or_no[is_started(&r->model)]);
}

static void ask_mark_done(replay *r, const char *json, text ours, text models) {
  (void)json;
  if (r->bytes != NULL) {
    tr_byte_key_record_tracker_mark_done(r->bytes);
  } else {
    tr_offset_record_tracker_mark_done(r->integers);
  }
  r->model.is_done = 1;
  put(ours, "false");
  put(models, "false");
}

static void ask_range(replay *r, const char *json, text ours, text models) {
  (void)json;
  if (r->bytes == NULL) {
    int64_t start, stop;
    tr_offset_record_tracker_range(r->integers, &start, &stop);
    snprintf(ours, TEXT_SIZE, "[%" PRId64 ",%" PRId64 ")", start, stop);
    snprintf(models, TEXT_SIZE, "[%lld,%lld)", (long long)r->model.from, (long long)r->model.to);
    return;
  }
  tr_restriction restriction;
  tr_buffer hex = {0};
  tr_tracker_current_restriction(tr_byte_key_record_tracker_base(r->bytes), &restriction, NULL);
  tr_buffer_append_text(&hex, "[", NULL);
  tr_buffer_append_hex(&hex, tr_buffer_bytes(&restriction.bytes.start), NULL);
  tr_buffer_append_text(&hex, ",", NULL);
  tr_buffer_append_hex(&hex, tr_buffer_bytes(&restriction.bytes.end), NULL);
  tr_buffer_append_text(&hex, ")", NULL);
  put_bytes(ours, tr_buffer_bytes(&hex));
  tr_buffer_free(&hex);
  tr_restriction_free(&restriction);
  put_key_range(models, r->model.start, r->model.end);
}

static void ask_to_string(replay *r, const char *json, text ours, text models) {
  (void)json;
  tr_buffer buffer = {0};
  tr_tracker_text(r->bytes != NULL ? tr_byte_key_record_tracker_base(r->bytes)
                                   : tr_offset_record_tracker_base(r->integers),
                  &buffer, NULL);
  put_bytes(ours, tr_buffer_bytes(&buffer));
  tr_buffer_free(&buffer);
  if (r->bytes != NULL) {
    model_key_text(&r->model, models);
  } else {
    model_offset_text(&r->model, models);
  }
}

static const struct {
  const char *op;
  ask_function *ask;
} asks[] = {
    {"new", ask_new},
    {"try_return", ask_try_return},
    {"try_split_at", ask_try_split_at},
    {"try_split_fraction", ask_try_split_fraction},
    {"position_for_fraction", ask_position_for_fraction},
    {"fraction_consumed", ask_fraction_consumed},
    {"split_points_consumed", ask_split_points_consumed},
    {"is_done", ask_is_done},
    {"is_started", ask_is_started},
    {"mark_done", ask_mark_done},
    {"range", ask_range},
    {"to_string", ask_to_string},
};

static ask_function *ask_of(const char *op) {
  for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
    if (strcmp(asks[i].op, op) == 0) return asks[i].ask;
  }
  return NULL;
}

/* A position is text or an integer, as the line's kind has it. */
static void read_position(jsonl *file, const char *json, const char *path, int is_bytes, text to) {
  if (is_bytes) {
    put(to, jsonl_text(file, json, path));
  } else {
    put_count(to, jsonl_integer(file, json, path));
  }
}

static void read_answer(jsonl *file, const char *json, const char *op, int is_bytes, text to) {
  text start, end;
  if (jsonl_has(file, json, "err")) {
    put_error(to, jsonl_text(file, json, "err"), jsonl_text(file, json, "msg"));
  } else if (!jsonl_has(file, json, "ret")) {
    put(to, "ok");
  } else if (strcmp(op, "range") == 0) {
    read_position(file, json, "$.ret.start", is_bytes, start);
    read_position(file, json, "$.ret.end", is_bytes, end);
    put_key_range(to, start, end);
  } else if (strcmp(op, "try_split_fraction") == 0) {
    read_position(file, json, "$.ret.pos", is_bytes, start);
    snprintf(to, TEXT_SIZE, "%.2000s %s", start, yes_or_no[jsonl_bool(file, json, "$.ret.ok")]);
  } else if (strcmp(op, "to_string") == 0) {
    put(to, jsonl_text(file, json, "ret"));
  } else if (strcmp(op, "fraction_consumed") == 0) {
    put_double(to, jsonl_double(file, json, "ret"));
  } else if (strcmp(op, "split_points_consumed") == 0 || strcmp(op, "position_for_fraction") == 0) {
    put_count(to, jsonl_integer(file, json, "ret"));
  } else {
    put(to, yes_or_no[jsonl_bool(file, json, "ret")]);
  }
}

static void replay_step(replay *r, verdict *v, const char *version, const char *json) {
  static step s;
  static model before_it;
  static text argument;
  int is_bytes = strcmp(jsonl_text(r->file, r->line, "type"), "byte_key") == 0;
  before_it = r->model;
  s.version = version;
  s.op = jsonl_text(r->file, json, "op");
  s.argument = argument;
  s.before = &before_it;
  argument[0] = '\0';
  if (jsonl_has(r->file, json, "pos")) read_position(r->file, json, "pos", is_bytes, argument);
  read_answer(r->file, json, s.op, is_bytes, s.recorded);
  ask_function *ask = ask_of(s.op);
  put(s.ours, "an operation that nobody knows");
  if (ask != NULL) ask(r, json, s.ours, s.documented);
  if (ask == ask_new) before_it = r->model;
  verdict_step(v, r->file, &s);
}

int main(void) {
  static replay r;
  verdict v = {"range_tracker", differences, DIFFERENCES, .lines = 0};
  r.file = jsonl_open("tests/vectors/range_tracker.jsonl");
  while ((r.line = jsonl_next(r.file)) != NULL) {
    verdict_line(&v);
    const char *version = jsonl_text(r.file, r.line, "ver");
    for (const char **json = jsonl_items(r.file, r.line, "steps"); *json != NULL; json++) {
      replay_step(&r, &v, version, *json);
    }
    if (r.bytes != NULL) tr_tracker_free(tr_byte_key_record_tracker_base(r.bytes));
    if (r.integers != NULL) tr_tracker_free(tr_offset_record_tracker_base(r.integers));
    r.bytes = NULL;
    r.integers = NULL;
  }
  jsonl_close(r.file);
  return verdict_report(&v, 960);
}

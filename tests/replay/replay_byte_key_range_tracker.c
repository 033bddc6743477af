/*
** Replays tests/vectors/byte_key_range_tracker.jsonl: every step of every version against the
** tracker. The model holds keys as hexadecimal text, whose order is the keys' order.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonl.h"
#include "range/byte_key_tracker.h"
#include "verdict.h"

/* ---- The model ------------------------------------------------------------------------------ */

typedef struct model {
  text start, end, attempted, claimed; /* hexadecimal */
  int has_attempted, has_claimed;
  int is_cut; /* by a checkpoint that left the last attempted key in hand */
} model;

static void put_next(text to, const char *key) {
  snprintf(to, TEXT_SIZE, "%.4000s00", key);
}

static int has_end(const model *m) {
  return m->end[0] != '\0';
}

static int is_no_keys(const model *m) {
  return m->start[0] == '\0' && strcmp(m->end, "00") == 0;
}

static int is_one_point(const model *m) {
  return has_end(m) && strcmp(m->start, m->end) == 0;
}

static int is_end_claimed(const model *m) {
  return m->has_attempted && m->attempted[0] == '\0';
}

static int is_at_or_above_end(const model *m, const char *key) {
  return has_end(m) && strcmp(key, m->end) >= 0;
}

/* "done" as 2.15 has it. */
static int is_past_end(const model *m) {
  return is_end_claimed(m) || (m->has_attempted && is_at_or_above_end(m, m->attempted));
}

static void put_frontier(text to, const model *m) {
  if (m->has_attempted) {
    put_next(to, m->attempted);
  } else {
    put(to, m->start);
  }
}

static int is_done(const model *m) {
  text frontier;
  put_frontier(frontier, m);
  return is_no_keys(m) || is_end_claimed(m) || is_at_or_above_end(m, frontier);
}

static tr_bytes bytes_of(const char *hex, tr_buffer *buffer) {
  buffer->size = 0;
  for (; *hex != '\0'; hex += 2) {
    char digits[3] = {hex[0], hex[1], '\0'};
    tr_buffer_append_byte(buffer, (uint8_t)strtol(digits, NULL, 16), NULL);
  }
  return tr_buffer_bytes(buffer);
}

static tr_byte_key_range range_of(const char *start, const char *end) {
  tr_buffer from = {0}, to = {0};
  tr_byte_key_range range;
  tr_byte_key_range_init(&range, bytes_of(start, &from), bytes_of(end, &to), NULL);
  tr_buffer_free(&from);
  tr_buffer_free(&to);
  return range;
}

static double fraction_of(const model *m) {
  double fraction = 0;
  if (is_done(m)) return 1;
  if (!m->has_attempted) return 0;
  tr_byte_key_range range = range_of(m->start, m->end);
  tr_buffer key = {0};
  tr_byte_key_range_estimate_fraction(&range, bytes_of(m->attempted, &key), &fraction, NULL);
  tr_buffer_free(&key);
  tr_byte_key_range_free(&range);
  return fraction;
}

static void put_range(text to, const char *start, const char *end) {
  snprintf(to, TEXT_SIZE, "[%.2000s,%.2000s)", start, end);
}

static void put_range_text(text to, const model *m) {
  snprintf(to, TEXT_SIZE, "ByteKeyRange{startKey=[%.1000s], endKey=[%.1000s]}", m->start, m->end);
}

static void model_claim(model *m, const char *key, text answer) {
  text message;
  put(answer, "");
  if (m->has_attempted && (is_end_claimed(m) || (*key && strcmp(key, m->attempted) <= 0))) {
    snprintf(message, TEXT_SIZE,
             "Trying to claim key [%.1000s] while last attempted key was [%.1000s]", key,
             m->attempted);
    put_error(answer, "IllegalArgumentException", message);
    return;
  }
  if (*key && strcmp(key, m->start) < 0) {
    text range;
    put_range_text(range, m);
    snprintf(message, TEXT_SIZE, "Trying to claim key [%.500s] before start of the range %.3000s",
             key, range);
    put_error(answer, "IllegalArgumentException", message);
    return;
  }
  put(m->attempted, key);
  m->has_attempted = 1;
  if (*key == '\0' || is_at_or_above_end(m, key)) {
    put(answer, "false");
    return;
  }
  put(m->claimed, key);
  m->has_claimed = 1;
  put(answer, "true");
}

static void model_check_done(model *m, text answer) {
  text message, range, frontier;
  put(answer, "ok");
  if (is_done(m)) return;
  put_range_text(range, m);
  put_frontier(frontier, m);
  if (!m->has_attempted) {
    snprintf(message, TEXT_SIZE, "Key range is non-empty %.3000s and no keys have been attempted.",
             range);
  } else {
    snprintf(message, TEXT_SIZE,
             "Last attempted key was [%.500s] in range %.2000s, claiming work in [[%.500s], "
             "[%.500s]) was not attempted",
             m->attempted, range, frontier, m->end);
  }
  put_error(answer, "IllegalStateException", message);
}

static void model_checkpoint(model *m, text residual) {
  text frontier;
  if (!m->has_attempted) {
    put_range(residual, m->start, m->end);
    put(m->start, "");
    put(m->end, "00");
    return;
  }
  if (is_past_end(m)) {
    put_range(residual, "", "00");
    return;
  }
  put_frontier(frontier, m);
  put_range(residual, frontier, m->end);
  put(m->end, frontier);
  m->is_cut = 1;
}

static void model_try_split(model *m, double fraction, text answer) {
  text at, primary, residual;
  put(answer, "null");
  put_frontier(at, m);
  if (is_no_keys(m) || is_one_point(m) || is_end_claimed(m) || is_at_or_above_end(m, at)) return;
  if (fraction != 0) {
    tr_byte_key_range rest = range_of(at, m->end);
    tr_buffer key = {0}, hex = {0};
    tr_code code = tr_byte_key_range_interpolate(&rest, fraction, &key, NULL);
    tr_buffer_append_hex(&hex, tr_buffer_bytes(&key), NULL);
    snprintf(at, TEXT_SIZE, "%.*s", (int)hex.size, (const char *)hex.data);
    tr_buffer_free(&key);
    tr_buffer_free(&hex);
    tr_byte_key_range_free(&rest);
    if (code != TR_OK || is_at_or_above_end(m, at)) return;
  }
  put_range(residual, at, m->end);
  put(m->end, at[0] == '\0' ? "00" : at);
  put_range(primary, m->start, m->end);
  snprintf(answer, TEXT_SIZE, "%.2000s %.2000s", primary, residual);
}

static void put_key_or_null(text to, const char *key, int has_key) {
  if (has_key) {
    snprintf(to, TEXT_SIZE, "[%.4000s]", key);
  } else {
    put(to, "null");
  }
}

static void model_text(const model *m, text answer) {
  text range, claimed, attempted;
  put_range_text(range, m);
  put_key_or_null(claimed, m->claimed, m->has_claimed);
  put_key_or_null(attempted, m->attempted, m->has_attempted);
  snprintf(answer, TEXT_SIZE,
           "ByteKeyRangeTracker{range=%.2000s, lastClaimedKey=%.900s, lastAttemptedKey=%.900s}",
           range, claimed, attempted);
}

/* ---- What may differ, and why --------------------------------------------------------------- */

static const model *before(const step *s) {
  return s->before;
}

static int always(const step *s) {
  (void)s;
  return 1;
}

static int cut_in_hand(const step *s) {
  text frontier;
  put_frontier(frontier, before(s));
  return before(s)->has_attempted && is_at_or_above_end(before(s), frontier);
}

static int one_point_untouched(const step *s) {
  return is_one_point(before(s)) && !before(s)->has_attempted;
}

static int end_was_claimed(const step *s) {
  return is_end_claimed(before(s));
}

static int is_running(const step *s) {
  return before(s)->has_attempted && !is_past_end(before(s));
}

static int is_untouched(const step *s) {
  return !before(s)->has_attempted;
}

static int holds_nothing(const step *s) {
  return is_no_keys(before(s));
}

static int claims_empty_key(const step *s) {
  return s->argument[0] == '\0';
}

static int text_of_28(const step *s) {
  return strstr(s->recorded, " while last attempted was ") != NULL &&
         strstr(s->ours, " while last attempted key was ") != NULL;
}

static int is_past_end_before(const step *s) {
  return is_past_end(before(s));
}

static int nothing_claimed(const step *s) {
  return !before(s)->has_claimed;
}

static int has_no_end(const step *s) {
  return !has_end(before(s));
}

#define NEWER "2.15 2.20 2.30"

static const difference differences[] = {
    {1, "2.15 2.20", "size", is_running, 0, "size is what remains, not what is consumed"},
    {2, NEWER, "check_done", cut_in_hand, 0, "nothing lies between the last key and the end"},
    {2, "2.30", "progress", cut_in_hand, 0, "nothing lies between the last key and the end"},
    {3, NEWER, "try_claim", end_was_claimed, 1, "after the empty key every claim is an error"},
    {4, "2.15 2.20", "size", one_point_untouched, 0, "[x,x) is done from the beginning"},
    {4, "2.30", "progress", one_point_untouched, 0, "[x,x) is done from the beginning"},
    {0, "2.30", "progress", holds_nothing, 0, "2.30 has nothing completed where nothing was to do"},
    {0, "2.8", "try_claim", text_of_28, 0, "2.8 says `last attempted was`"},
    {0, "2.8", "try_claim", end_was_claimed, 1, "2.8 has no empty key that claims the end"},
    {0, "2.8", "try_claim", claims_empty_key, 1, "2.8 has no empty key that claims the end"},
    {0, "2.8", "checkpoint", nothing_claimed, 1, "2.8 has no checkpoint before a claim"},
    {0, "2.8", "checkpoint", is_past_end_before, 1, "2.8 cuts behind the last claim when done"},
    {0, "2.8", "check_done", is_untouched, 0, "2.8 has no question before the first attempt"},
    {0, "2.8", "check_done", has_no_end, 0, "2.8 takes any range without an end for done"},
    {0, "2.8", "mark_done", always, 1, "2.8 marks the end itself as attempted"},
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
  tr_buffer hex = {0};
  tr_buffer_append_text(&hex, "[", NULL);
  tr_buffer_append_hex(&hex, tr_buffer_bytes(&restriction->bytes.start), NULL);
  tr_buffer_append_text(&hex, ",", NULL);
  tr_buffer_append_hex(&hex, tr_buffer_bytes(&restriction->bytes.end), NULL);
  tr_buffer_append_text(&hex, ")", NULL);
  snprintf(to, TEXT_SIZE, "%.*s", (int)hex.size, (const char *)hex.data);
  tr_buffer_free(&hex);
}

static void put_our_restriction(text to, tr_tracker *tracker) {
  tr_restriction restriction;
  tr_tracker_current_restriction(tracker, &restriction, NULL);
  put_restriction(to, &restriction);
  tr_restriction_free(&restriction);
}

static void put_doubles(text to, double a, double b) {
  snprintf(to, TEXT_SIZE, "%.17g %.17g", a, b);
}

/* Each op asks the tracker and the model and gives both answers; the record's is read below. */
typedef void ask_function(replay *r, const char *json, text ours, text models);

static void ask_new(replay *r, const char *json, text ours, text models) {
  (void)json;
  tr_restriction restriction = {.kind = TR_BYTES};
  tr_error err;
  const char *start = jsonl_text(r->file, r->line, "start");
  const char *end = jsonl_text(r->file, r->line, "end");
  tr_code code = tr_byte_key_range_init(&restriction.bytes, jsonl_hex(r->file, r->line, "start"),
                                        jsonl_hex(r->file, r->line, "end"), &err);
  put(ours, "ok");
  if (code != TR_OK) put_our_error(ours, &err);
  if (code == TR_OK) tr_tracker_create(&restriction, &r->tracker, &err);
  tr_restriction_free(&restriction);

  r->model = (model){.has_attempted = 0};
  put(r->model.start, start);
  put(r->model.end, end);
  put(models, "ok");
  if (*end && strcmp(start, end) > 0) {
    snprintf(models, TEXT_SIZE,
             "IllegalArgumentException: Start [%.900s] must be less than or equal to end [%.900s]",
             start, end);
  }
}

static void ask_try_claim(replay *r, const char *json, text ours, text models) {
  static const char *const answers[] = {"false", "true"};
  tr_error err;
  int claimed =
      tr_tracker_try_claim(r->tracker, tr_position_of_key(jsonl_hex(r->file, json, "key")), &err);
  if (claimed < 0) {
    put_our_error(ours, &err);
  } else {
    put(ours, answers[claimed]);
  }
  model_claim(&r->model, jsonl_text(r->file, json, "key"), models);
}

static void ask_check_done(replay *r, const char *json, text ours, text models) {
  (void)json;
  tr_error err;
  tr_code code = tr_tracker_check_done(r->tracker, &err);
  put(ours, "ok");
  if (code != TR_OK) put_our_error(ours, &err);
  if ((code == TR_OK) != tr_tracker_is_done(r->tracker)) put(ours, "is_done says otherwise");
  model_check_done(&r->model, models);
}

static void ask_checkpoint(replay *r, const char *json, text ours, text models) {
  (void)json;
  tr_restriction residual;
  tr_tracker_checkpoint(r->tracker, &residual, NULL);
  put_restriction(ours, &residual);
  tr_restriction_free(&residual);
  model_checkpoint(&r->model, models);
}

/* In 2.20 the fraction of a split does not count: it is a checkpoint, told as a split. */
static void ask_checkpoint_as_split(replay *r, const char *json, text ours, text models) {
  text residual, primary;
  ask_checkpoint(r, json, ours, residual);
  put_our_restriction(primary, r->tracker);
  snprintf(models, TEXT_SIZE, "%.2000s %.2000s", primary, residual);
  put(residual, ours);
  put_range(primary, r->model.start, r->model.end);
  snprintf(ours, TEXT_SIZE, "%.2000s %.2000s", primary, residual);
}

static void ask_try_split(replay *r, const char *json, text ours, text models) {
  text primary, residual_text;
  double fraction = jsonl_double(r->file, json, "fraction");
  tr_restriction residual;
  put(ours, "null");
  if (tr_tracker_try_split(r->tracker, fraction, &residual, NULL)) {
    put_our_restriction(primary, r->tracker);
    put_restriction(residual_text, &residual);
    tr_restriction_free(&residual);
    snprintf(ours, TEXT_SIZE, "%.2000s %.2000s", primary, residual_text);
  }
  model_try_split(&r->model, fraction, models);
}

static void ask_current_restriction(replay *r, const char *json, text ours, text models) {
  (void)json;
  put_our_restriction(ours, r->tracker);
  put_range(models, r->model.start, r->model.end);
}

static void ask_size(replay *r, const char *json, text ours, text models) {
  (void)json;
  snprintf(ours, TEXT_SIZE, "%.17g", tr_tracker_size(r->tracker));
  snprintf(models, TEXT_SIZE, "%.17g", 1 - fraction_of(&r->model));
}

static void ask_progress(replay *r, const char *json, text ours, text models) {
  (void)json;
  double fraction = fraction_of(&r->model);
  put_doubles(ours, tr_tracker_fraction_consumed(r->tracker), tr_tracker_size(r->tracker));
  put_doubles(models, fraction, 1 - fraction);
}

static void ask_to_string(replay *r, const char *json, text ours, text models) {
  (void)json;
  tr_buffer buffer = {0};
  tr_tracker_text(r->tracker, &buffer, NULL);
  snprintf(ours, TEXT_SIZE, "%.*s", (int)buffer.size, (const char *)buffer.data);
  tr_buffer_free(&buffer);
  model_text(&r->model, models);
}

static void ask_mark_done(replay *r, const char *json, text ours, text models) {
  (void)json;
  put(ours, tr_tracker_claim_end(r->tracker, NULL) == TR_OK ? "end claimed" : "error");
  r->model.has_attempted = 1;
  put(r->model.attempted, "");
  put(models, "end claimed");
}

static void read_range(jsonl *file, const char *json, const char *path, text to) {
  char start[64], end[64];
  snprintf(start, sizeof start, "%s.start", path);
  snprintf(end, sizeof end, "%s.end", path);
  put_range(to, jsonl_text(file, json, start), jsonl_text(file, json, end));
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
    snprintf(answer, TEXT_SIZE, "%.2000s %.2000s", primary, residual);
  } else if (strcmp(op, "size") == 0) {
    snprintf(answer, TEXT_SIZE, "%.17g", jsonl_double(file, json, "ret"));
  } else if (strcmp(op, "progress") == 0) {
    put_doubles(answer, jsonl_double(file, json, "$.ret.completed"),
                jsonl_double(file, json, "$.ret.remaining"));
  } else if (strcmp(op, "to_string") == 0) {
    put(answer, jsonl_text(file, json, "ret"));
  } else {
    read_range(file, json, "$.ret", answer);
  }
}

static const struct {
  const char *versions, *op;
  ask_function *ask;
} asks[] = {
    {"2.8 2.15 2.20 2.30", "new", ask_new},
    {"2.8 2.15 2.20 2.30", "try_claim", ask_try_claim},
    {"2.8 2.15 2.20 2.30", "check_done", ask_check_done},
    {"2.8 2.15 2.20 2.30", "current_restriction", ask_current_restriction},
    {"2.8 2.15 2.20 2.30", "to_string", ask_to_string},
    {"2.8 2.15", "checkpoint", ask_checkpoint},
    {"2.20", "try_split", ask_checkpoint_as_split},
    {"2.30", "try_split", ask_try_split},
    {"2.15 2.20", "size", ask_size},
    {"2.30", "progress", ask_progress},
    {"2.8", "mark_done", ask_mark_done},
};

static ask_function *ask_of(const char *version, const char *op) {
  for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
    if (verdict_is_among(asks[i].versions, version) && strcmp(asks[i].op, op) == 0)
      return asks[i].ask;
  }
  return NULL;
}

static void replay_step(replay *r, verdict *v, const char *version, const char *json) {
  static step s;
  static model before_it;
  s.version = version;
  s.op = jsonl_text(r->file, json, "op");
  s.argument = jsonl_has(r->file, json, "key") ? jsonl_text(r->file, json, "key") : "";
  before_it = r->model;
  s.before = &before_it;
  read_answer(r->file, json, s.op, s.recorded);
  ask_function *ask = ask_of(version, s.op);
  put(s.ours, "an operation that nobody knows");
  if (ask != NULL) ask(r, json, s.ours, s.documented);
  verdict_step(v, r->file, &s);
}

int main(void) {
  static replay r;
  verdict v = {"byte_key_range_tracker", differences, DIFFERENCES, .lines = 0};
  r.file = jsonl_open("tests/vectors/byte_key_range_tracker.jsonl");
  while ((r.line = jsonl_next(r.file)) != NULL) {
    verdict_line(&v);
    const char *version = jsonl_text(r.file, r.line, "ver");
    for (const char **json = jsonl_items(r.file, r.line, "steps"); *json != NULL; json++) {
      replay_step(&r, &v, version, *json);
    }
    tr_tracker_free(r.tracker);
    r.tracker = NULL;
  }
  jsonl_close(r.file);
  return verdict_report(&v, 2119);
}

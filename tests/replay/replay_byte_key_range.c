/*
** Replays tests/vectors/byte_key_range.jsonl: what the reference's ByteKeyRange answers, including
** the texts of errors and trailing zero bytes. One known difference is counted: the class of
** Dataflow 1.9.1 refuses [x, x); later ones and ours do not.
*/
#include <stdio.h>
#include <string.h>

#include "jsonl.h"
#include "range/byte_key_range.h"
#include "test_memory.h"

typedef struct replay {
  jsonl *file;
  const char *line;
  long steps, wrong, empty_range_allowed;
} replay;

static void complain(replay *r, const char *what) {
  fprintf(stderr, "line %ld: %s: %s\n", jsonl_line_number(r->file), what, r->line);
  r->wrong++;
}

static void expect(replay *r, int holds, const char *what) {
  r->steps++;
  if (!holds) complain(r, what);
}

/* Compares the outcome of a call that must fail. Returns 1 if the line is such a call. */
static int check_error(replay *r, tr_code code, const tr_error *err) {
  const char *class = jsonl_text(r->file, r->line, "err");
  if (class == NULL) {
    if (code != TR_OK) complain(r, err->message);
    return code != TR_OK;
  }
  static const struct {
    const char *class;
    tr_code code;
  } codes[] = {{"IllegalArgumentException", TR_INVALID_ARGUMENT},
               {"IllegalStateException", TR_INVALID_STATE}};
  tr_code wanted = TR_OK;
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    if (strcmp(codes[i].class, class) == 0) wanted = codes[i].code;
  }
  const char *message = jsonl_text(r->file, r->line, "msg");
  expect(r,
         code == wanted && code == err->code && message != NULL &&
             strcmp(message, err->message) == 0,
         "another error");
  return 1;
}

static int is_same(tr_bytes a, tr_bytes b) {
  return tr_bytes_compare(a, b) == 0;
}

static void replay_new(replay *r, const tr_byte_key_range *range) {
  tr_buffer text = {0};
  tr_error err;
  if (!check_error(r, tr_byte_key_range_text(range, &text, &err), &err)) {
    tr_bytes wanted = tr_bytes_of_text(jsonl_text(r->file, r->line, "ret"));
    expect(r, is_same(tr_buffer_bytes(&text), wanted), "another text");
  }
  tr_buffer_free(&text);
}

/* The digits of `4.9E-324`. */
static tr_double_digits digits_of_text(const char *text) {
  tr_double_digits number = {0};
  const char *at = text;
  for (; *at != '\0' && *at != 'E'; at++) {
    if (*at == '.') {
      number.exponent = number.count;
    } else {
      number.digits[number.count++] = *at;
    }
  }
  int exponent = 0;
  if (*at == 'E') sscanf(at + 1, "%d", &exponent);
  number.exponent += exponent;
  return number;
}

static void replay_interpolate(replay *r, const tr_byte_key_range *range) {
  tr_buffer key = {0};
  tr_error err;
  double fraction = jsonl_double(r->file, r->line, "fraction");
  const char *decimal = jsonl_text(r->file, r->line, "fraction_decimal");
  tr_code code = tr_byte_key_range_interpolate(range, fraction, &key, &err);
  if (decimal != NULL) {
    tr_double_digits digits = digits_of_text(decimal);
    code = tr_byte_key_range_interpolate_decimal(range, &digits, &key, &err);
  }
  if (!check_error(r, code, &err)) {
    expect(r, is_same(tr_buffer_bytes(&key), jsonl_hex(r->file, r->line, "ret")), "another key");
  }
  tr_buffer_free(&key);
}

static void replay_estimate(replay *r, const tr_byte_key_range *range) {
  double fraction = -1;
  tr_error err;
  tr_bytes key = jsonl_hex(r->file, r->line, "key");
  tr_code code = tr_byte_key_range_estimate_fraction(range, key, &fraction, &err);
  if (check_error(r, code, &err)) return;
  expect(r, fraction == jsonl_double(r->file, r->line, "ret"), "another fraction");
}

static void replay_contains(replay *r, const tr_byte_key_range *range) {
  int contains = tr_byte_key_range_contains(range, jsonl_hex(r->file, r->line, "key"));
  expect(r, contains == jsonl_bool(r->file, r->line, "ret"), "another answer");
}

static void replay_overlaps(replay *r, const tr_byte_key_range *range) {
  tr_byte_key_range other;
  tr_error err;
  tr_code code = tr_byte_key_range_init(&other, jsonl_hex(r->file, r->line, "$.other.start"),
                                        jsonl_hex(r->file, r->line, "$.other.end"), &err);
  if (check_error(r, code, &err)) return;
  int overlaps = tr_byte_key_range_overlaps(range, &other);
  expect(r, overlaps == jsonl_bool(r->file, r->line, "ret"), "another answer");
  tr_byte_key_range_free(&other);
}

/* The bounds that are still to come. */
typedef struct bounds {
  replay *replay;
  const char **next;
} bounds;

static tr_code check_bound(void *context, tr_bytes bound, tr_error *err) {
  bounds *b = context;
  (void)err;
  replay *r = b->replay;
  int holds = *b->next != NULL && is_same(bound, jsonl_hex(r->file, *b->next, "$"));
  expect(r, holds, "another bound");
  if (*b->next != NULL) b->next++;
  return TR_OK;
}

static void replay_split(replay *r, const tr_byte_key_range *range) {
  static const char *none[] = {NULL};
  tr_error err;
  int is_list = jsonl_has(r->file, r->line, "ret");
  bounds b = {r, is_list ? jsonl_items(r->file, r->line, "ret") : none};
  int64_t count = jsonl_integer(r->file, r->line, "n");
  tr_code code = tr_byte_key_range_split(range, count, check_bound, &b, &err);
  if (!check_error(r, code, &err)) expect(r, *b.next == NULL, "too few bounds");
}

static const struct {
  const char *op;
  void (*run)(replay *r, const tr_byte_key_range *range);
} ops[] = {
    {"new", replay_new},           {"interpolate", replay_interpolate},
    {"estimate", replay_estimate}, {"contains", replay_contains},
    {"overlaps", replay_overlaps}, {"split", replay_split},
};

static void replay_line(replay *r) {
  tr_byte_key_range range;
  tr_error err;
  tr_bytes start = jsonl_hex(r->file, r->line, "start");
  tr_bytes end = jsonl_hex(r->file, r->line, "end");
  tr_code code = tr_byte_key_range_init(&range, start, end, &err);

  const char *version = jsonl_text(r->file, r->line, "ver");
  if (version != NULL && strcmp(version, "df1.9.1") == 0 && end.size > 0 && is_same(start, end)) {
    expect(r, code == TR_OK, "an empty range is refused");
    r->empty_range_allowed++;
  } else if (code != TR_OK) {
    check_error(r, code, &err);
  } else {
    const char *op = jsonl_text(r->file, r->line, "op");
    size_t i = 0, count = sizeof ops / sizeof *ops;
    while (i < count && strcmp(ops[i].op, op) != 0) i++;
    if (i == count) {
      complain(r, "an unknown op");
    } else {
      ops[i].run(r, &range);
    }
  }
  if (code == TR_OK) tr_byte_key_range_free(&range);
}

int main(void) {
  replay r = {.file = jsonl_open("tests/vectors/byte_key_range.jsonl")};
  long lines = 0;
  for (; (r.line = jsonl_next(r.file)) != NULL; lines++) replay_line(&r);
  jsonl_close(r.file);
  if (test_memory_live() != 0) {
    fprintf(stderr, "%ld blocks leaked\n", test_memory_live());
    r.wrong++;
  }
  printf("byte_key_range: %ld lines, %ld steps checked, %ld wrong, %ld by deviation "
         "(an empty range may be made, unlike in df1.9.1)\n",
         lines, r.steps, r.wrong, r.empty_range_allowed);
  return r.wrong != 0 || lines != 3733;
}

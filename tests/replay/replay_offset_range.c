/*
** Replays the `split` lines of tests/vectors/offset_range.jsonl. (The `tracker` lines:
** replay_offset_tracker.c.) There are no recorded lines for ranges on which the reference loops for
** ever or wraps around and ours does not; tests/unit/test_offset_range.c has those.
*/
#include <stdio.h>
#include <string.h>

#include "jsonl.h"
#include "range/offset_range.h"

typedef struct replay {
  jsonl *file;
  const char *line;
  long lines, pieces, wrong;
} replay;

static void expect(replay *r, int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "line %ld: %s: %s\n", jsonl_line_number(r->file), what, r->line);
  r->wrong++;
}

/* The listed pieces that are still to come, how many came, and the last one. */
typedef struct pieces {
  replay *replay;
  const char **next;
  int64_t count;
  tr_offset_range last;
} pieces;

static int is_piece(jsonl *file, const char *json, const char *from, const char *to,
                    tr_offset_range piece) {
  return jsonl_integer(file, json, from) == piece.from && jsonl_integer(file, json, to) == piece.to;
}

static tr_code check_piece(void *context, tr_offset_range piece, tr_error *err) {
  pieces *p = context;
  (void)err;
  if (*p->next != NULL) {
    expect(p->replay, is_piece(p->replay->file, *p->next, "$[0]", "$[1]", piece), "another piece");
    p->next++;
  }
  p->last = piece;
  p->count++;
  return TR_OK;
}

static void replay_split(replay *r) {
  tr_offset_range range;
  tr_error err;
  tr_code code = tr_offset_range_init(&range, jsonl_integer(r->file, r->line, "from"),
                                      jsonl_integer(r->file, r->line, "to"), &err);
  const char *message = jsonl_text(r->file, r->line, "msg");
  if (message != NULL) {
    expect(r, code == TR_INVALID_ARGUMENT && strcmp(err.message, message) == 0, "another error");
    return;
  }
  pieces p = {r, jsonl_items(r->file, r->line, "ranges"), 0, {0, 0}};
  if (code == TR_OK) {
    code = tr_offset_range_split(&range, jsonl_integer(r->file, r->line, "desired"),
                                 jsonl_integer(r->file, r->line, "min"), check_piece, &p, &err);
  }
  expect(r, code == TR_OK, "an error");
  expect(r, *p.next == NULL && p.count == jsonl_integer(r->file, r->line, "count"),
         "another number of pieces");
  if (jsonl_has(r->file, r->line, "last")) {
    expect(r, is_piece(r->file, r->line, "$.last[0]", "$.last[1]", p.last), "another last piece");
  }
  r->pieces += (long)p.count;
}

int main(void) {
  replay r = {.file = jsonl_open("tests/vectors/offset_range.jsonl")};
  while ((r.line = jsonl_next(r.file)) != NULL) {
    if (strcmp(jsonl_text(r.file, r.line, "op"), "split") != 0) continue;
    r.lines++;
    replay_split(&r);
  }
  jsonl_close(r.file);
  printf("offset_range: %ld split lines, %ld pieces checked, %ld wrong\n", r.lines, r.pieces,
         r.wrong);
  return r.wrong != 0 || r.lines != 1124;
}

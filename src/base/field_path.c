/*
** A parser of one pass. It copies names and qualifiers into one block, whose size follows from the
** text: names are no longer than in the text, a qualifier of at least two bytes becomes one byte,
** and each component adds two terminators.
*/
#include "base/field_path.h"

#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

#define TEXT_OF_TOKEN(token) #token
#define TEXT_OF(macro) TEXT_OF_TOKEN(macro)

typedef struct parser {
  tr_bytes text;
  size_t at;
  char *out; /* the next free byte of path->texts */
  int qualifier_count;
} parser;

static tr_code fail(const parser *p, const char *reason, tr_error *err) {
  size_t shown = tr_utf8_cut(p->text, 200);
  return tr_error_set(err, TR_INVALID_ARGUMENT, "field path '%.*s', at %llu: %s", (int)shown,
                      p->text.size == 0 ? "" : (const char *)p->text.data,
                      (unsigned long long)p->at + 1, reason);
}

/* The next byte, or -1 at the end. */
static int peek(const parser *p) {
  return p->at < p->text.size ? p->text.data[p->at] : -1;
}

static void skip_blanks(parser *p) {
  for (int c = peek(p); c == ' ' || (c >= '\t' && c <= '\r'); c = peek(p)) p->at++;
}

static int is_name_byte(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c >= 0x80;
}

/*
** If a quoted name begins at `p`: the byte that closes it. Else 0. [] and [*] are qualifiers, not
** names.
*/
static int closing_quote(const parser *p) {
  int c = peek(p);
  if (c == '"' || c == '`') return c;
  if (c != '[' || p->at + 1 >= p->text.size) return 0;
  return memchr("]*", p->text.data[p->at + 1], 2) == NULL ? ']' : 0;
}

static tr_code parse_quoted_name(parser *p, int close, tr_error *err) {
  size_t opened = p->at++;
  const char *begin = p->out;
  for (int c; (c = peek(p)) != -1; *p->out++ = (char)c) {
    if (c == 0) return fail(p, "a name cannot hold a zero byte", err);
    p->at++;
    if (c != close) continue;
    if (close != ']' && peek(p) == close) {
      p->at++;
      continue;
    }
    if (p->out == begin) {
      p->at = opened;
      return fail(p, "a name is empty", err);
    }
    return TR_OK;
  }
  p->at = opened;
  return fail(p, "this quote is not closed", err);
}

static tr_code parse_name(parser *p, tr_field_step *step, tr_error *err) {
  step->name = p->out;
  int close = closing_quote(p);
  if (close != 0) {
    tr_code code = parse_quoted_name(p, close, err);
    if (code != TR_OK) return code;
  } else {
    if (!is_name_byte(peek(p))) return fail(p, "a name or * must stand here", err);
    while (is_name_byte(peek(p))) *p->out++ = (char)p->text.data[p->at++];
  }
  *p->out++ = 0;
  return TR_OK;
}

/* Reads all qualifiers of a component, and the blanks around them. */
static tr_code parse_qualifiers(parser *p, tr_field_step *step, tr_error *err) {
  step->qualifiers = p->out;
  for (skip_blanks(p); peek(p) == '[' || peek(p) == '{'; skip_blanks(p)) {
    size_t opened = p->at;
    if (p->qualifier_count++ == TR_FIELD_PATH_MAX_QUALIFIERS) {
      return fail(p, "more than " TEXT_OF(TR_FIELD_PATH_MAX_QUALIFIERS) " lists and maps", err);
    }
    int open = peek(p), close = open == '[' ? ']' : '}';
    p->at++;
    if (peek(p) == '*') p->at++;
    if (peek(p) != close) {
      p->at = opened;
      return fail(p, open == '[' ? "only [] and [*] are allowed" : "only {} and {*} are allowed",
                  err);
    }
    p->at++;
    *p->out++ = (char)open;
  }
  *p->out++ = 0;
  return TR_OK;
}

static size_t count_dots(tr_bytes text) {
  size_t dots = 0;
  for (size_t i = 0; i < text.size; i++) dots += text.data[i] == '.';
  return dots;
}

static tr_code parse_components(parser *p, tr_field_path *path, tr_error *err) {
  for (;;) {
    skip_blanks(p);
    if (peek(p) == '*') {
      p->at++;
      path->takes_all = 1;
    } else if (path->step_count == TR_FIELD_PATH_MAX_STEPS) {
      return fail(p, "more than " TEXT_OF(TR_FIELD_PATH_MAX_STEPS) " names", err);
    } else {
      tr_field_step *step = &path->steps[path->step_count];
      tr_code code = parse_name(p, step, err);
      if (code == TR_OK) code = parse_qualifiers(p, step, err);
      if (code != TR_OK) return code;
      path->step_count++;
    }
    skip_blanks(p);
    if (peek(p) == -1) return TR_OK;
    if (path->takes_all) return fail(p, "nothing can follow *: x.* is allowed, x.*.y is not", err);
    if (peek(p) != '.') return fail(p, "a dot, a qualifier or the end must stand here", err);
    p->at++;
  }
}

tr_code tr_field_path_parse(tr_field_path *path, tr_bytes text, tr_error *err) {
  *path = (tr_field_path){0};
  size_t most_steps = count_dots(text) + 1;
  path->steps = tr_malloc(most_steps * sizeof *path->steps);
  path->texts = tr_malloc(2 * text.size + 2 * most_steps);
  if (path->steps == NULL || path->texts == NULL) {
    tr_field_path_free(path);
    return tr_error_no_memory(err);
  }
  parser p = {.text = text, .out = path->texts};
  tr_code code = parse_components(&p, path, err);
  if (code != TR_OK) tr_field_path_free(path);
  return code;
}

void tr_field_path_free(tr_field_path *path) {
  tr_free(path->steps);
  tr_free(path->texts);
  *path = (tr_field_path){0};
}

const char *tr_field_path_name(const tr_field_path *path) {
  return path->step_count == 0 ? NULL : path->steps[path->step_count - 1].name;
}

int tr_field_path_covers(const tr_field_path *path, const tr_field_path *other) {
  if (path->step_count > other->step_count) return 0;
  for (int i = 0; i < path->step_count; i++) {
    if (strcmp(path->steps[i].name, other->steps[i].name) != 0) return 0;
  }
  /* x covers x, x.y and x.*. x.* covers x.y and x.*, but not x, which has a name of its own. */
  return !path->takes_all || path->step_count == 0 || other->takes_all ||
         other->step_count > path->step_count;
}

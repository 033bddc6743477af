/*
** Judges replays of recorded sequences of calls.
*/
#include "verdict.h"

#include <stdio.h>
#include <string.h>

#include "test_memory.h"

void put(text to, const char *from) {
  snprintf(to, TEXT_SIZE, "%s", from);
}

void put_bytes(text to, tr_bytes bytes) {
  snprintf(to, TEXT_SIZE, "%.*s", (int)bytes.size, (const char *)bytes.data);
}

void put_error(text to, const char *class, const char *message) {
  snprintf(to, TEXT_SIZE, "%s: %.4000s", class, message == NULL ? "no message" : message);
}

void put_our_error(text to, const tr_error *err) {
  put_error(to,
            err->code == TR_INVALID_STATE ? "IllegalStateException" : "IllegalArgumentException",
            err->message);
}

int verdict_is_among(const char *versions, const char *version) {
  size_t size = strlen(version);
  for (const char *at = versions; (at = strstr(at, version)) != NULL; at += size) {
    if ((at == versions || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0')) return 1;
  }
  return 0;
}

void verdict_line(verdict *v) {
  v->lines++;
  v->parted = NULL;
}

static const difference *find(const verdict *v, const step *s) {
  for (int i = 0; i < v->count; i++) {
    const difference *d = &v->differences[i];
    if (verdict_is_among(d->versions, s->version) && strcmp(d->op, s->op) == 0 && d->applies(s)) {
      return d;
    }
  }
  return NULL;
}

static void complain(verdict *v, const jsonl *file, const step *s, const char *what) {
  fprintf(stderr, "line %ld, %s %s %s: %s\n  recorded    %s\n  ours        %s\n  documented  %s\n",
          jsonl_line_number(file), s->version, s->op, s->argument, what, s->recorded, s->ours,
          s->documented);
  v->wrong++;
}

void verdict_step(verdict *v, const jsonl *file, const step *s) {
  v->steps++;
  if (strcmp(s->ours, s->documented) != 0) {
    complain(v, file, s, "ours is not as documented");
    return;
  }
  if (strcmp(s->ours, s->recorded) == 0) {
    v->equal++;
    return;
  }
  const difference *d = find(v, s);
  if (d != NULL) {
    v->covered[d - v->differences]++;
    if (d->leaves_other_state && v->parted == NULL) v->parted = d;
  } else if (v->parted != NULL) {
    v->followed[v->parted - v->differences]++;
  } else {
    complain(v, file, s, "a difference without a reason");
  }
}

int verdict_report(const verdict *v, long lines_expected) {
  int is_unused = 0;
  printf("%s: %ld lines, %ld steps checked, %ld as recorded, %ld wrong\n", v->name, v->lines,
         v->steps, v->equal, v->wrong);
  for (int i = 0; i < v->count; i++) {
    const difference *d = &v->differences[i];
    char name[32] = "versions";
    if (d->deviation == OURS) snprintf(name, sizeof name, "ours");
    if (d->deviation > 0) snprintf(name, sizeof name, "deviation %d", d->deviation);
    printf("%6ld and %4ld after it: %s, %s of %s: %s\n", v->covered[i], v->followed[i], name, d->op,
           d->versions, d->why);
    is_unused |= v->covered[i] == 0;
  }
  if (is_unused) fprintf(stderr, "%s: a difference never applies\n", v->name);
  if (v->lines != lines_expected) {
    fprintf(stderr, "%s: there should be %ld lines\n", v->name, lines_expected);
  }
  if (test_memory_live() != 0) {
    fprintf(stderr, "%s: %ld blocks leak\n", v->name, test_memory_live());
  }
  return v->wrong != 0 || is_unused || v->lines != lines_expected || test_memory_live() != 0;
}

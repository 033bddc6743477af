/*
** Judges replays of recorded sequences of calls.
**
** For each step there are three answers, as text: ours, the recorded one, and that of a small model
** of what we document, which the replay has written once more in the plainest way. Ours must always
** be the model's. Where it is not the recorded one, a line of the replay's table of differences
** must say why; there is no other way past a difference. Some differences leave us and the record
** in different states: the steps that differ after such a one are counted under the same reason. A
** line of the table that never applies is an error too.
*/
#ifndef TR_TEST_VERDICT_H
#define TR_TEST_VERDICT_H

#include "base/error.h"
#include "jsonl.h"

#define TEXT_SIZE 4096
typedef char text[TEXT_SIZE];

typedef struct step {
  const char *version, *op;
  const char *argument; /* of the call, for the table and for messages; "" where there is none */
  const void *before;   /* the model before the step */
  text recorded, ours, documented;
} step;

enum { OURS = -1 };

typedef struct difference {
  /* Its number in docs and headers; 0: one between versions of the reference; OURS: one of a surface
  ** whose header says so. */
  int deviation;
  const char *versions; /* blanks between them */
  const char *op;
  int (*applies)(const step *s);
  int leaves_other_state;
  const char *why;
} difference;

enum { MOST_DIFFERENCES = 32 };

typedef struct verdict {
  const char *name;
  const difference *differences;
  int count;
  const difference *parted;
  long lines, steps, equal, wrong;
  long covered[MOST_DIFFERENCES];
  long followed[MOST_DIFFERENCES];
} verdict;

/* A new sequence begins. */
void verdict_line(verdict *v);

void verdict_step(verdict *v, const jsonl *file, const step *s);

/* Prints what was checked and what each difference covered; the exit code of the program. */
int verdict_report(const verdict *v, long lines_expected);

/* 1 if `version` is among `versions`. */
int verdict_is_among(const char *versions, const char *version);

/* For answers: a copy, an exception's class with its message, and our error as the same. */
void put(text to, const char *from);
void put_error(text to, const char *class, const char *message);
void put_our_error(text to, const tr_error *err);
/* Bytes that need not end in a zero. */
void put_bytes(text to, tr_bytes bytes);

#endif

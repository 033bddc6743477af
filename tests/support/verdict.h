/*
** Judges replays of recorded sequences of calls.
**
** For each step there are three answers, as text: ours, the recorded one, and the documented one.
** The replay computes the documented answer with a small model of our documentation, written in the
** simplest way. Our answer must always be the documented one. If it is not the recorded one, a row
** of the replay's table of differences must give the reason; otherwise the step is wrong. After
** some differences our state is not the recorded one any more. Later steps that differ are then
** counted under the same reason. A row of the table that never applies is an error too.
*/
#ifndef TR_TEST_VERDICT_H
#define TR_TEST_VERDICT_H

#include "base/error.h"
#include "jsonl.h"

#define TEXT_SIZE 4096
typedef char text[TEXT_SIZE];

typedef struct step {
  const char *version, *op;
  const char *argument; /* of the call, for the table and for messages; "" if there is none */
  const void *before;   /* the model before the step */
  text recorded, ours, documented;
} step;

enum { OURS = -1 };

typedef struct difference {
  /*
  ** The number of the deviation in docs and headers. 0: the versions of the reference differ. OURS:
  ** the header of the surface documents it.
  */
  int deviation;
  const char *versions; /* separated by blanks */
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

/* Begins a new sequence. */
void verdict_line(verdict *v);

void verdict_step(verdict *v, const jsonl *file, const step *s);

/*
** Prints what was checked and what each difference covered. Returns the exit code of the program.
*/
int verdict_report(const verdict *v, long lines_expected);

/* 1 if `version` is among `versions`. */
int verdict_is_among(const char *versions, const char *version);

/*
** Answers as text: a copy; the class of an exception with its message; our error in the same form.
*/
void put(text to, const char *from);
void put_error(text to, const char *class, const char *message);
void put_our_error(text to, const tr_error *err);
/* Bytes that need not end with a zero. */
void put_bytes(text to, tr_bytes bytes);

#endif

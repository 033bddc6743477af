/*
** What it costs to encode a value as a byte key, against appending the same number of bytes
** unchanged. Prints one line for each kind of value; tests/README.md says how to read it.
*/
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "range/byte_key.h"

enum { ROUNDS = 9, CALLS = 1000000 };

static double now_in_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void check(tr_code code) {
  if (code == TR_OK) return;
  fprintf(stderr, "an append failed: %d\n", (int)code);
  exit(1);
}

/* ns for each value appended to an emptied buffer. */
static double time_keys(const tr_value *value, tr_buffer *key) {
  double start = now_in_ns();
  for (int i = 0; i < CALLS; i++) {
    key->size = 0;
    check(tr_byte_key_append(key, value, NULL));
  }
  return (now_in_ns() - start) / CALLS;
}

/* The same for bytes as they are. */
static double time_copies(tr_bytes bytes, tr_buffer *copy) {
  double start = now_in_ns();
  for (int i = 0; i < CALLS; i++) {
    copy->size = 0;
    check(tr_buffer_append(copy, bytes, NULL));
  }
  return (now_in_ns() - start) / CALLS;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *times) {
  qsort(times, ROUNDS, sizeof *times, compare_doubles);
  return times[ROUNDS / 2];
}

/* The buffers have grown before the clock runs. */
static void compare(const char *what, tr_value value) {
  tr_buffer key = {0}, copy = {0};
  double keys[ROUNDS], copies[ROUNDS];
  check(tr_byte_key_append(&key, &value, NULL));
  tr_buffer same = {0};
  check(tr_buffer_append(&same, tr_buffer_bytes(&key), NULL));
  for (int i = 0; i < ROUNDS; i++) {
    keys[i] = time_keys(&value, &key);
    copies[i] = time_copies(tr_buffer_bytes(&same), &copy);
  }
  double ours = median(keys), theirs = median(copies);
  printf("byte key of %s, against copying it\t%.1f ns\t%.1f ns\t%.2f\t\n", what, ours, theirs,
         ours / theirs);
  tr_buffer_free(&key);
  tr_buffer_free(&copy);
  tr_buffer_free(&same);
}

int main(void) {
  compare("an integer", tr_value_integer(123456789));
  compare("a real", tr_value_real(12.99));
  compare("a short text", tr_value_text(tr_bytes_of_text("user-123456")));
  return 0;
}

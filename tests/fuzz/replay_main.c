/*
** Runs a fuzz target over the files it is given, without libFuzzer. So `make test` runs the corpora
** with any compiler. Each target is a file fuzz_X.c with LLVMFuzzerTestOneInput, its corpus is the
** folder corpus/X.
*/
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return 0;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  /* Exactly as many bytes as the file has, so that a sanitizer sees a read behind them. */
  uint8_t *data = size < 0 ? NULL : malloc(size > 0 ? (size_t)size : 1);
  int is_read = data != NULL && fread(data, 1, (size_t)size, file) == (size_t)size;
  fclose(file);
  if (is_read) LLVMFuzzerTestOneInput(data, (size_t)size);
  free(data);
  return is_read;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (!run_file(argv[i])) {
      fprintf(stderr, "cannot read %s\n", argv[i]);
      return 1;
    }
  }
  printf("%d inputs\n", argc - 1);
  return argc > 1 ? 0 : 1;
}

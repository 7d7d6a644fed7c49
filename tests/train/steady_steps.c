/* Preloaded into the workers of a test: a line of a step takes LINAC_TEST_STEP_MS to be written, so that a step has a length of its own.
   What is disturbed while it trains needs time between its steps, and no arithmetic that fills it. And while the file that LINAC_TEST_HELD
   names has a number, the lines of that step and of later ones are not written: the run is there until the test has done what it does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_held(int step) {
  const char* path = getenv("LINAC_TEST_HELD");
  FILE* file = path == NULL ? NULL : fopen(path, "r");
  int held = 0;
  if (file == NULL) return 0;
  const int fields = fscanf(file, "%d", &held);
  fclose(file);
  return fields == 1 && step >= held;
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static const char kStep[] = "\"kind\":\"step\"", kNumber[] = "\"global_step\":";
  const char* milliseconds = getenv("LINAC_TEST_STEP_MS");
  if (milliseconds != NULL && memmem(bytes, size, kStep, sizeof kStep - 1) != NULL) {
    const char* number = memmem(bytes, size, kNumber, sizeof kNumber - 1);
    while (number != NULL && is_held(atoi(number + sizeof kNumber - 1))) usleep(5000);
    usleep(1000 * (useconds_t)atoi(milliseconds));
  }
  ssize_t (*next)(int, const void*, size_t) = dlsym(RTLD_NEXT, "write");
  return next(descriptor, bytes, size);
}

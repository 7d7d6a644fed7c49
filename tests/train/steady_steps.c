/* Preloaded into the workers of a test: a line of a step takes LINAC_TEST_STEP_MS to be written, so that a step has a length of its own.
   What is disturbed while it trains needs time between its steps, and no arithmetic that fills it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static const char kStep[] = "\"kind\":\"step\"";
  const char* milliseconds = getenv("LINAC_TEST_STEP_MS");
  if (milliseconds != NULL && memmem(bytes, size, kStep, sizeof kStep - 1) != NULL) usleep(1000 * (useconds_t)atoi(milliseconds));
  ssize_t (*next)(int, const void*, size_t) = dlsym(RTLD_NEXT, "write");
  return next(descriptor, bytes, size);
}

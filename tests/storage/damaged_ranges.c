/* Preloaded into a worker of a test: what it keeps of a store's files for its neighbours is damaged. LINAC_TEST_DAMAGE names where: `memory`, a
   byte of each range is another one when it is sent, and stays so; `disk`, of each that is written to the file without a name. Answers wait for
   LINAC_TEST_ANSWER_MS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_wanted(const char* where) {
  const char* said = getenv("LINAC_TEST_DAMAGE");
  return said != NULL && strcmp(said, where) == 0;
}

/* The head of an answer says how many bytes follow (train/comm/transport/neighbour_links.cpp). */
int SSL_write_ex(void* link, void* bytes, size_t size, size_t* written) {
  static __thread uint64_t announced[2];
  int (*next)(void*, const void*, size_t, size_t*) = dlsym(RTLD_NEXT, "SSL_write_ex");
  if (size == sizeof announced) {
    memcpy(announced, bytes, sizeof announced);
  } else if (announced[0] != 0 && announced[0] == size && is_wanted("memory")) {
    const char* milliseconds = getenv("LINAC_TEST_ANSWER_MS");
    if (milliseconds != NULL) usleep(1000 * (useconds_t)atoi(milliseconds));
    ++((unsigned char*)bytes)[size / 2];
    announced[0] = 0;
  }
  return next(link, bytes, size, written);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  ssize_t (*next)(int, const void*, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
  const ssize_t put = next(file, bytes, size, offset);
  char link[64], name[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  if (put <= 0 || !is_wanted("disk") || readlink(link, name, sizeof name - 1) < 0) return put;
  const unsigned char other = ((const unsigned char*)bytes)[put / 2] + 1;
  if (strstr(name, "/.ranges-") != NULL && next(file, &other, 1, offset + put / 2) != 1) abort();
  return put;
}

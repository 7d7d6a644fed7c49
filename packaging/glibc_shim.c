// What libraries of Debian 12 take from a glibc that is newer than 2.34, by the only system call behind it. Without versions, so the
// loader takes it for any. `archive.py` puts it beside those libraries.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

void arc4random_buf(void* buffer, size_t size) {
  unsigned char* at = buffer;
  while (size > 0) {
    const ssize_t got = getrandom(at, size > 256 ? 256 : size, 0);
    if (got < 0) continue;  // a signal came
    at += got;
    size -= (size_t)got;
  }
}

uint32_t arc4random(void) {
  uint32_t value;
  arc4random_buf(&value, sizeof(value));
  return value;
}

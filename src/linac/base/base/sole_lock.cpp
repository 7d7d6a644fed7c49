#include "linac/base/base/sole_lock.h"

#include <sys/file.h>

#include <cerrno>
#include <thread>

namespace linac {
namespace {

bool lock(int descriptor, int how) {
  int result = 0;
  do result = ::flock(descriptor, how);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

}  // namespace

bool try_lock_alone(int descriptor) {
  return lock(descriptor, LOCK_EX | LOCK_NB);
}

bool lock_alone(int descriptor, std::chrono::milliseconds wait) {
  if (wait == kForever) return lock(descriptor, LOCK_EX);
  constexpr std::chrono::milliseconds kPause{20};
  const auto until = std::chrono::steady_clock::now() + wait;
  while (!try_lock_alone(descriptor)) {
    const int why = errno;
    if (why != EWOULDBLOCK || std::chrono::steady_clock::now() >= until) {
      errno = why;
      return false;
    }
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

void unlock(int descriptor) {
  ::flock(descriptor, LOCK_UN);
}

bool try_lock_shared(int descriptor) {
  return lock(descriptor, LOCK_SH | LOCK_NB);
}

}  // namespace linac

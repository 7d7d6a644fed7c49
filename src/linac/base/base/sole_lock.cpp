#include "linac/base/base/sole_lock.h"

#include <sys/file.h>

#include <cerrno>
#include <thread>

namespace linac {

bool lock_alone(int descriptor, std::chrono::milliseconds wait) {
  constexpr std::chrono::milliseconds kPause{20};
  const auto until = std::chrono::steady_clock::now() + wait;
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    const int why = errno;
    if ((why != EWOULDBLOCK && why != EINTR) || std::chrono::steady_clock::now() >= until) {
      errno = why;
      return false;
    }
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

}  // namespace linac

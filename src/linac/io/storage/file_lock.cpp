#include "linac/io/storage/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "linac/base/base/piece_of_work.h"

namespace linac::storage {
namespace {

constexpr std::chrono::milliseconds kAskAgain{20};

}  // namespace

FileLock::FileLock(const std::filesystem::path& path) noexcept
    : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) return;
  // Whoever has it works: this process waits for it and does not hang.
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && (errno == EINTR || errno == EWOULDBLOCK)) {
    piece_is_done();
    std::this_thread::sleep_for(kAskAgain);
  }
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace linac::storage

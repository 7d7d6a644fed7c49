#include "linac/io/storage/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "linac/base/base/piece_of_work.h"
#include "linac/base/base/sole_lock.h"

namespace linac::storage {
namespace {

constexpr std::chrono::milliseconds kAskAgain{20};

}  // namespace

FileLock::FileLock(const std::filesystem::path& path) noexcept
    : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) return;
  // Whoever has it works: this process waits for it and does not hang.
  while (!lock_alone(descriptor_, kAskAgain) && errno == EWOULDBLOCK) piece_is_done();
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace linac::storage

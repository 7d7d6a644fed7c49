#include "linac/control/launch/pilots/piece.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"

namespace linac::launch {
namespace {

[[noreturn]] void fail(const char* name, const char* why) {
  throw environment_error(fmt::format("[pilots] {}: cannot be written ({})", name, why));
}

}  // namespace

int64_t add_piece(int folder, const char* name, int64_t from, std::string_view bytes) {
  const Descriptor file(
      ::openat(folder, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) fail(name, std::strerror(errno));
  if (!S_ISREG(about.st_mode)) fail(name, "it is no file");
  int64_t size = about.st_size;
  if (from < 0 || from > size || size - from >= static_cast<int64_t>(bytes.size())) return size;
  bytes.remove_prefix(static_cast<size_t>(size - from));
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(name, std::strerror(errno));
    size += written;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return size;
}

}  // namespace linac::launch

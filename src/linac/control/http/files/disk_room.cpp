#include "linac/control/http/files/disk_room.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "linac/base/base/error.h"

namespace linac::http {

int64_t room_below(const std::filesystem::path& folder) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0)
    throw environment_error(
        fmt::format("[files] {}: the disk does not tell its room ({})", folder.string(), std::strerror(errno)));
  const unsigned __int128 bytes = static_cast<unsigned __int128>(disk.f_bavail) * disk.f_frsize;
  constexpr auto kMost = static_cast<unsigned __int128>(std::numeric_limits<int64_t>::max());
  return static_cast<int64_t>(bytes < kMost ? bytes : kMost);
}

void check_room(const std::filesystem::path& folder, int64_t bytes, int64_t keep_free) {
  const int64_t room = room_below(folder);
  if (room >= keep_free && room - keep_free >= bytes) return;
  throw environment_error(fmt::format(
      "[files] the service's disk has {} MB left, of which {} MB are kept free, and {} MB more are wanted; remove "
      "what is not needed, or `serve --keep-free` less",
      room >> 20, keep_free >> 20, bytes >> 20));
}

}  // namespace linac::http

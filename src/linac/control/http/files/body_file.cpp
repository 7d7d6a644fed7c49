#include "linac/control/http/files/body_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "linac/base/base/error.h"
#include "linac/base/base/secure_random.h"
#include "linac/control/http/files/disk_room.h"

namespace linac::http {
namespace {

constexpr int64_t kLookEvery = 16 << 20;  // bytes

}  // namespace

BodyFile::BodyFile(const std::filesystem::path& folder, int64_t keep_free)
    : path_(folder / random_hex(32)),
      file_(::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0640)),
      keep_free_(keep_free) {
  if (!file_) throw environment_error(fmt::format("[files] an upload cannot be written ({})", std::strerror(errno)));
}

BodyFile::~BodyFile() {
  ::unlink(path_.c_str());
}

void BodyFile::append(std::string_view bytes) {
  unchecked_ += static_cast<int64_t>(bytes.size());
  if (keep_free_ > 0 && unchecked_ >= kLookEvery) {
    check_room(path_.parent_path(), 0, keep_free_);
    unchecked_ = 0;
  }
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      throw environment_error(fmt::format("[files] an upload cannot be written ({})", std::strerror(errno)));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace linac::http

#include "linac/control/execution/record/log_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"

namespace linac::execution {
namespace {

int64_t bytes_of(const std::filesystem::path& file) {
  std::error_code none;
  const auto size = std::filesystem::file_size(file, none);
  return none ? 0 : static_cast<int64_t>(size);
}

}  // namespace

int64_t LogCopy::copied() const {
  if (!std::filesystem::exists(begin_file_)) return 0;
  return std::max<int64_t>(0, bytes_of(log_) - std::stoll(read_file(begin_file_)));
}

void LogCopy::append(const std::string& bytes) {
  if (!std::filesystem::exists(begin_file_)) {
    make_folder(begin_file_.parent_path());
    write_file_atomically(begin_file_, std::to_string(bytes_of(log_)) + "\n");
  }
  const Descriptor file(::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t written = file ? ::write(file.get(), bytes.data() + done, bytes.size() - done) : -1;
    if (written < 0 && errno == EINTR && file) continue;
    if (written < 0)
      throw environment_error(fmt::format("[queue] {}: cannot be written ({})", log_.string(), std::strerror(errno)));
    done += static_cast<size_t>(written);
  }
}

}  // namespace linac::execution

#include "linac/base/base/private_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"

namespace linac {
namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

Error cannot(const std::filesystem::path& path, const char* what) {
  return environment_error(fmt::format("[files] {}: cannot be {} ({})", path.string(), what, std::strerror(errno)));
}

bool write_all(const Descriptor& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return ::fsync(file.get()) == 0;
}

}  // namespace

void write_private_file(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::path part = path;
  part += ".part";
  ::unlink(part.c_str());  // of who was killed over it
  const Descriptor file(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (!file) throw cannot(path, "written");
  if (write_all(file, bytes) && put_in_place(part, path)) return;
  const int error = errno;
  ::unlink(part.c_str());
  errno = error;
  throw cannot(path, "written");
}

std::optional<std::string> read_private_file(const std::filesystem::path& path, size_t bytes_max) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  struct stat about {};
  if (!file && errno != ELOOP) throw cannot(path, "read");
  if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))
    throw user_error(fmt::format("[files] {}: not a file; remove it", path.string()));
  if ((about.st_mode & kOthers) != 0 || about.st_uid != ::geteuid())
    throw user_error(
        fmt::format("[files] {}: others can reach it, so it holds no secret; make it this account's own, "
                    "chmod 600",
                    path.string()));
  std::string bytes(bytes_max + 1, '\0');
  size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw cannot(path, "read");
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  if (size > bytes_max)
    throw environment_error(fmt::format("[files] {}: has more than {} bytes", path.string(), bytes_max));
  bytes.resize(size);
  return bytes;
}

}  // namespace linac

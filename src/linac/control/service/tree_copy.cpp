#include "linac/control/service/tree_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/folder_walk.h"
#include "linac/base/base/log.h"
#include "linac/base/base/utf8.h"

namespace linac::service {
namespace {

constexpr size_t kPieceBytes = 1 << 20;

Error failed(const std::string& name, const char* what) {
  return environment_error(fmt::format("[backup] {}: cannot be {} ({})", printable(name), what, std::strerror(errno)));
}

void write_all(int to, const char* bytes, size_t count, off_t at) {
  while (count > 0) {
    const ssize_t written = ::pwrite(to, bytes, count, at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw failed("the copy", "written");
    bytes += written, at += written, count -= static_cast<size_t>(written);
  }
}

/// False (errno) if it cannot be read.
bool copy_bytes(int from, int to, off_t at, off_t end) {
  static thread_local std::vector<char> piece(kPieceBytes);
  while (at < end) {
    const ssize_t got = ::pread(from, piece.data(), std::min(piece.size(), static_cast<size_t>(end - at)), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) return true;  // it has become shorter
    write_all(to, piece.data(), static_cast<size_t>(got), at);
    at += got;
  }
  return true;
}

/// Its holes stay holes. The bytes that it had; -1 (errno) if it cannot be read.
off_t copy_content(int from, int to, off_t size) {
  for (off_t at = 0; at < size;) {
    off_t data = ::lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;
    off_t hole = data < 0 ? size : ::lseek(from, data, SEEK_HOLE);
    if (data < 0) data = at;  // a file system that does not tell
    if (hole < 0) hole = size;
    hole = std::min(hole, size);
    if (!copy_bytes(from, to, data, hole)) return -1;
    at = std::max(hole, data + 1);
  }
  struct stat now {};
  if (::fstat(from, &now) != 0) return -1;
  size = std::min(size, now.st_size);
  if (::ftruncate(to, size) != 0) throw failed("the copy", "written");
  return size;
}

/// Owner (if this process may give files away), mode and times.
void make_alike(int copy, const struct stat& about, const std::string& name) {
  if (::geteuid() == 0 && ::fchown(copy, about.st_uid, about.st_gid) != 0) throw failed(name, "given its owner");
  ::fchmod(copy, about.st_mode & 07777);
  const timespec times[2] = {about.st_atim, about.st_mtim};
  ::futimens(copy, times);
}

class Copier : public FolderVisitor {
 public:
  Copier(const TreeCopy& settings, Descriptor to) : settings_(settings), to_(std::move(to)) {}

  bool enter(int at, const std::string& name, const struct stat& about) override {
    if (settings_.leaves_out && settings_.leaves_out(name)) return false;
    if (S_ISLNK(about.st_mode)) copy_link(at, name, about);
    if (S_ISREG(about.st_mode)) copy_file(at, name);
    if (!S_ISDIR(about.st_mode)) return false;
    go_into(name, about);
    return true;
  }
  void leave(int, const std::string& name) override { go_up(name); }
  void unreadable(const std::string& name, const struct stat& about) override {
    // Of a job: it does not stop everybody's backup.
    if (errno != EACCES || about.st_uid != ::geteuid()) throw failed(name, "read");
    left_out(name, "its account may not read it");
  }

  void go_into(const std::string& name, const struct stat& about) {
    if (::mkdirat(to_.get(), name.c_str(), 0700) != 0) throw failed(name, "made");
    Descriptor below = open_folder_at(to_.get(), name);
    if (!below) throw failed(name, "made");
    to_ = std::move(below);
    folders_.push_back(about);
  }
  // Nobody else works in the copy.
  void go_up(const std::string& name) {
    make_alike(to_.get(), folders_.back(), name);
    folders_.pop_back();
    to_ = open_folder_at(to_.get(), "..");
    if (!to_) throw failed(name, "left");
  }

 private:
  static void left_out(const std::string& name, const char* why) {
    log::warn(fmt::format("[backup] {}: left out ({})", printable(name), why));
  }

  void copy_link(int at, const std::string& name, const struct stat& about) {
    std::string leads(PATH_MAX, '\0');
    const ssize_t size = ::readlinkat(at, name.c_str(), leads.data(), leads.size());
    if (size < 0) return;  // another thing by now, or gone
    leads.resize(static_cast<size_t>(size));
    if (::symlinkat(leads.c_str(), to_.get(), name.c_str()) != 0) throw failed(name, "made");
    if (::geteuid() == 0 && ::fchownat(to_.get(), name.c_str(), about.st_uid, about.st_gid, AT_SYMLINK_NOFOLLOW) != 0)
      throw failed(name, "given its owner");
    const timespec times[2] = {about.st_atim, about.st_mtim};
    ::utimensat(to_.get(), name.c_str(), times, AT_SYMLINK_NOFOLLOW);
  }

  void copy_file(int at, const std::string& name) {
    const Descriptor from(::openat(at, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat about {};
    if (!from && (errno == ENOENT || errno == ELOOP || errno == ENXIO || errno == ESTALE)) return;
    if (!from) {
      const int error = errno;
      ::fstatat(at, name.c_str(), &about, AT_SYMLINK_NOFOLLOW);
      errno = error;
      return unreadable(name, about);
    }
    if (::fstat(from.get(), &about) != 0) throw failed(name, "read");
    if (!S_ISREG(about.st_mode)) return;
    if (settings_.kept_back.contains({about.st_dev, about.st_ino}))
      return left_out(name, "it is another name of a file of the service's own");
    if (about.st_nlink > 1 && about.st_uid != folders_.back().st_uid)
      return left_out(name, "it has further names, and another owner than its folder");
    const Descriptor to(::openat(to_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!to) throw failed(name, "made");
    const off_t size = copy_content(from.get(), to.get(), about.st_size);
    if (size < 0) throw failed(name, "read");
    make_alike(to.get(), about, name);
    if (settings_.copied) settings_.copied(size);
  }

  const TreeCopy& settings_;
  Descriptor to_;
  std::vector<struct stat> folders_;  // from `part` on, as they are where they are copied from
};

class Numbers : public FolderVisitor {
 public:
  bool enter(int, const std::string&, const struct stat& about) override {
    if (S_ISREG(about.st_mode)) found.emplace(about.st_dev, about.st_ino);
    return S_ISDIR(about.st_mode);
  }
  void leave(int, const std::string&) override {}
  void unreadable(const std::string& name, const struct stat&) override { throw failed(name, "read"); }

  std::set<FileNumber> found;
};

}  // namespace

std::set<FileNumber> numbers_below(const std::filesystem::path& folder) {
  Numbers numbers;
  Descriptor opened = open_folder_at(AT_FDCWD, folder.string());
  if (!opened && errno != ENOENT) throw failed(folder.string(), "read");
  if (opened) walk(std::move(opened), numbers);
  return numbers.found;
}

void copy_tree(const std::filesystem::path& from, const std::filesystem::path& to, const std::string& part,
               const TreeCopy& copy) {
  Descriptor folder = open_folder_at(AT_FDCWD, (from / part).string());
  if (!folder && errno == ENOENT) return;
  struct stat about {};
  if (!folder || ::fstat(folder.get(), &about) != 0) throw failed((from / part).string(), "read");
  Descriptor place(::open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!place) throw failed(to.string(), "written");
  Copier copier(copy, std::move(place));
  copier.go_into(part, about);
  walk(std::move(folder), copier);
  copier.go_up(part);
}

}  // namespace linac::service

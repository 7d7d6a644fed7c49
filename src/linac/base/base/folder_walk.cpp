#include "linac/base/base/folder_walk.h"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace linac {
namespace {

struct Level {
  std::string name;
  dev_t device = 0;
  ino_t number = 0;
  std::vector<std::string> left{};  // names that were not yet looked at
};

bool gone() {
  return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ESTALE;
}

/// False (errno) if it cannot be read.
bool read_names(int folder, std::vector<std::string>& names) {
  const Descriptor same = open_folder_at(folder, ".");
  if (!same) return false;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(::dup(same.get())), ::closedir);
  if (!entries) return false;
  errno = 0;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return errno == 0;
}

class Walk {
 public:
  Walk(Descriptor folder, FolderVisitor& visitor) : root_(std::move(folder)), visitor_(visitor) {}

  void carry_out() {
    at_ = open_folder_at(root_.get(), ".");
    struct stat about {};
    if (!at_ || ::fstat(at_.get(), &about) != 0 || !go_into("", about)) return visitor_.unreadable(".", about);
    for (;;) {
      Level& level = levels_.back();
      if (!level.left.empty()) {
        const std::string name = std::move(level.left.back());
        level.left.pop_back();
        look_at(name);
        continue;
      }
      const std::string name = std::move(level.name);
      levels_.pop_back();
      if (levels_.empty()) return;
      go_up();
      visitor_.leave(at_.get(), name);
    }
  }

 private:
  bool go_into(const std::string& name, const struct stat& about) {
    Level level{name, about.st_dev, about.st_ino};
    if (!read_names(at_.get(), level.left)) return false;
    levels_.push_back(std::move(level));
    return true;
  }

  void look_at(const std::string& name) {
    struct stat about {};
    if (::fstatat(at_.get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) {
      if (!gone()) visitor_.unreadable(name, about);
      return;
    }
    if (!visitor_.enter(at_.get(), name, about)) return;
    Descriptor above = std::exchange(at_, open_folder_at(at_.get(), name));
    if (at_ && ::fstat(at_.get(), &about) == 0 && go_into(name, about)) return;
    if (!gone()) visitor_.unreadable(name, about);
    at_ = std::move(above);
    visitor_.leave(at_.get(), name);
  }

  // Whoever moves a folder gives it another parent. Then the way is looked for from the root, by names.
  void go_up() {
    if (at_) at_ = open_folder_at(at_.get(), "..");
    if (at_ && is_innermost()) return;
    at_ = open_folder_at(root_.get(), ".");
    for (size_t i = 1; at_ && i < levels_.size(); ++i) at_ = open_folder_at(at_.get(), levels_[i].name);
    if (at_ && is_innermost()) return;
    at_.reset();
    levels_.back().left.clear();
  }
  bool is_innermost() const {
    struct stat about {};
    return ::fstat(at_.get(), &about) == 0 && about.st_dev == levels_.back().device &&
           about.st_ino == levels_.back().number;
  }

  const Descriptor root_;
  FolderVisitor& visitor_;
  Descriptor at_;  // the innermost level; empty if it has vanished
  std::vector<Level> levels_;
};

}  // namespace

Descriptor open_folder_at(int at, const std::string& name) {
  return Descriptor(::openat(at, name.c_str(), O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_RDONLY));
}

void walk(Descriptor folder, FolderVisitor& visitor) {
  Walk(std::move(folder), visitor).carry_out();
}

}  // namespace linac

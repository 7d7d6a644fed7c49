#include "linac/base/base/safe_path.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "linac/base/base/error.h"
#include "linac/base/base/folder_walk.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"

namespace linac {
namespace {

constexpr int kDepthMax = 64;

Refusal invalid(std::string_view name, const char* why) {
  return {RefusalKind::kInvalid, fmt::format("[files] '{}' is no path here ({})", printable(name), why)};
}

Refusal missing(std::string_view name) {
  return {RefusalKind::kNotFound, fmt::format("[files] no file '{}'", printable(name))};
}

Error failed(std::string_view name, const char* what) {
  return environment_error(fmt::format("[files] {}: cannot be {} ({})", printable(name), what, std::strerror(errno)));
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  size_t from = 0;
  while (from < path.size()) {
    const size_t slash = std::min(path.find('/', from), path.size());
    parts.push_back(path.substr(from, slash - from));
    from = slash + 1;
  }
  return parts;
}

/// Whether the error means that the way there does not exist, or leads over a symbolic link or a file.
bool no_way() {
  return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG;
}

/// Not even a part of the root's own path may be a link: whoever may write beside it leads nobody elsewhere.
Descriptor open_root(const std::filesystem::path& root) {
  const std::string path = root.string();
  Descriptor at(::open(path.starts_with('/') ? "/" : ".", O_DIRECTORY | O_CLOEXEC | O_RDONLY));
  for (const std::string& part : parts_of(path)) {
    if (!at) break;
    if (!part.empty() && part != ".") at = open_folder_at(at.get(), part);
  }
  return at;
}

Descriptor open_folder(const std::filesystem::path& root, const std::vector<std::string>& parts, size_t count,
                       bool make) {
  Descriptor at = open_root(root);
  for (size_t i = 0; i < count && at; ++i) {
    if (make) {
      const bool made = ::mkdirat(at.get(), parts[i].c_str(), 0750) == 0;
      if (!made && errno != EEXIST) return Descriptor();
      if (made && ::fsync(at.get()) != 0) return Descriptor();
    }
    at = open_folder_at(at.get(), parts[i]);
  }
  return at;
}

class Remover : public FolderVisitor {
 public:
  bool enter(int at, const std::string& name, const struct stat& about) override {
    if (!S_ISDIR(about.st_mode) && (::unlinkat(at, name.c_str(), 0) == 0 || errno == ENOENT)) return false;
    if (!S_ISDIR(about.st_mode) && errno != EISDIR) throw failed(name, "removed");
    if ((about.st_mode & S_IRWXU) != S_IRWXU) open_to_owner(at, name);
    return true;
  }
  void leave(int at, const std::string& name) override {
    if (at >= 0 && ::unlinkat(at, name.c_str(), AT_REMOVEDIR) != 0 && !no_way()) throw failed(name, "removed");
  }
  void unreadable(const std::string& name, const struct stat&) override { throw failed(name, "removed"); }

 private:
  // Who made it may have left nobody the right to look into it. By its descriptor: a link may be in its place by now.
  static void open_to_owner(int at, const std::string& name) {
    const Descriptor folder(::openat(at, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (folder) ::chmod(fmt::format("/proc/self/fd/{}", folder.get()).c_str(), S_IRWXU);
  }
};

/// A file or a whole folder; false if it was not there.
bool remove_at(int folder, const std::string& name) {
  struct stat about {};
  if (::fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) {
    if (no_way()) return false;
    throw failed(name, "removed");
  }
  Remover remover;
  if (!remover.enter(folder, name, about)) return true;
  Descriptor below = open_folder_at(folder, name);
  if (!below) throw failed(name, "removed");
  walk(std::move(below), remover);
  remover.leave(folder, name);
  return true;
}

}  // namespace

std::string harmless_path(std::string_view name) {
  if (!valid_text(name)) throw invalid(name, "it is no UTF-8");
  if (name.size() > 4096) throw invalid(name, "it is longer than 4096 bytes");
  if (name.starts_with('/')) throw invalid(name, "it is absolute");
  if (name.ends_with('/')) name.remove_suffix(1);
  if (name.empty() || name == ".") return "";
  const std::string path(name);
  int depth = 0;
  for (size_t from = 0; from <= path.size();) {
    const size_t slash = std::min(path.find('/', from), path.size());
    const std::string part = path.substr(from, slash - from);
    if (part.empty()) throw invalid(name, "it has an empty part");
    if (part == "." || part == "..") throw invalid(name, "it has a part '.' or '..'");
    if (part.size() > 255) throw invalid(name, "a part is longer than 255 bytes");
    if (++depth > kDepthMax) throw invalid(name, "it is too deep");
    from = slash + 1;
  }
  for (const char c : path)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\')
      throw invalid(name, "it has a character that is not allowed");
  return path;
}

Descriptor open_below(const std::filesystem::path& root, std::string_view name) {
  const std::string path = harmless_path(name);
  const std::vector<std::string> parts = parts_of(path);
  if (parts.empty()) throw missing(name);
  const Descriptor folder = open_folder(root, parts, parts.size() - 1, false);
  if (!folder) {
    if (no_way()) throw missing(name);
    throw failed(name, "opened");
  }
  Descriptor file(::openat(folder.get(), parts.back().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat about {};
  if (!file) {
    if (no_way()) throw missing(name);
    throw failed(name, "opened");
  }
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) throw missing(name);
  return file;
}

Descriptor folder_below(const std::filesystem::path& root, std::string_view name) {
  const std::vector<std::string> parts = parts_of(harmless_path(name));
  Descriptor folder = open_folder(root, parts, parts.size(), true);
  if (folder) return folder;
  if (no_way()) throw invalid(name, "a part of it is a file or a link");
  throw failed(name, "made");
}

std::vector<FolderEntry> entries_below(const std::filesystem::path& root, std::string_view name, size_t limit) {
  const std::string path = harmless_path(name);
  const std::vector<std::string> parts = parts_of(path);
  Descriptor at = open_folder(root, parts, parts.size(), false);
  if (!at) {
    if (no_way()) return {};
    throw failed(name, "opened");
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(::dup(at.get())), ::closedir);
  if (!folder) throw failed(name, "read");
  std::vector<FolderEntry> entries;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string part = entry->d_name;
    struct stat about {};
    if (part == "." || part == ".." || ::fstatat(at.get(), part.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) continue;
    const bool is_folder = S_ISDIR(about.st_mode);
    entries.push_back({path.empty() ? part : path + "/" + part, is_folder, is_folder ? 0 : about.st_size});
    if (entries.size() == limit) break;
  }
  std::sort(entries.begin(), entries.end(), [](const FolderEntry& a, const FolderEntry& b) { return a.path < b.path; });
  return entries;
}

void place_below(const std::filesystem::path& root, std::string_view name, const std::filesystem::path& file) {
  const std::string path = harmless_path(name);
  const std::vector<std::string> parts = parts_of(path);
  if (parts.empty()) throw invalid(name, "it names no file");
  const Descriptor written(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!written || ::fsync(written.get()) != 0) throw failed(name, "written");
  const Descriptor folder = open_folder(root, parts, parts.size() - 1, true);
  if (!folder) {
    if (no_way()) throw invalid(name, "a part of it is a file");
    throw failed(name, "written");
  }
  if (::renameat(AT_FDCWD, file.c_str(), folder.get(), parts.back().c_str()) != 0) {
    if (errno == EISDIR || errno == ENOTEMPTY) throw invalid(name, "it is a folder");
    throw failed(name, "written");
  }
  if (::fsync(folder.get()) != 0) throw failed(name, "written");
}

bool remove_below(const std::filesystem::path& root, std::string_view name) {
  const std::string path = harmless_path(name);
  const std::vector<std::string> parts = parts_of(path);
  if (parts.empty()) throw invalid(name, "it names no file");
  const Descriptor folder = open_folder(root, parts, parts.size() - 1, false);
  if (!folder) {
    if (no_way()) return false;
    throw failed(name, "removed");
  }
  return remove_at(folder.get(), parts.back());
}

void remove_tree(const std::filesystem::path& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  const std::filesystem::path place = whole.has_filename() ? whole : whole.parent_path();
  const Descriptor folder(::open(place.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder)
    remove_at(folder.get(), place.filename().string());
  else if (!no_way())
    throw failed(path.string(), "removed");
}

}  // namespace linac

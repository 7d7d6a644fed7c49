#include "linac/io/storage/cache_contents.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/sole_lock.h"
#include "linac/io/storage/cache_files.h"
#include "linac/io/storage/copy_note.h"
#include "linac/io/storage/file_lock.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScans = "index";  // no copies, and of no size
constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;

int64_t mtime_ns(const struct stat& status) {
  return status.st_mtim.tv_sec * kNanosecondsPerSecond + status.st_mtim.tv_nsec;
}

CacheKind kind_of(const fs::path& file, const std::string& folder) {
  if (role_of(file) == FileRole::kPart) return CacheKind::kPart;
  if (folder == "tables") return file.extension() == ".pack" ? CacheKind::kTable : CacheKind::kShowers;
  if (folder == "models") return CacheKind::kModel;
  if (folder == "copies") return CacheKind::kCopyNote;
  return folder == kScans ? CacheKind::kScan : CacheKind::kDownload;
}

bool is_locked(const fs::path& file) {
  const Descriptor open(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  return open && !try_lock_shared(open.get());
}

/// A process that makes a copy has said that it uses it; `data copy` locks its part.
bool is_in_use(const Cached& copy, const fs::path& root, const std::set<std::string>& used) {
  const auto said = [&](const fs::path& file) { return used.contains(file.lexically_relative(root).string()); };
  if (copy.kind != CacheKind::kPart) return said(copy.file);
  const fs::path whole = whole_of(copy.file);
  return said(whole) || is_locked(whole.string() + ".part");
}

std::optional<Cached> described(const fs::path& file, const struct stat& status, const std::string& folder) {
  const FileRole role = role_of(file);
  if (role == FileRole::kLock || (role == FileRole::kNote && folder != "copies")) return std::nullopt;
  Cached copy{.file = file, .kind = kind_of(file, folder)};
  copy.bytes = status.st_size;
  copy.mtime_ns = mtime_ns(status);
  copy.inode = status.st_ino;
  copy.used_s = std::max(status.st_atim.tv_sec, status.st_mtim.tv_sec);
  copy.is_bounded = folder != kScans && copy.kind != CacheKind::kCopyNote;
  if (const auto note = copy.kind == CacheKind::kCopyNote ? std::nullopt : read_note(file)) copy.source = note->source;
  return copy;
}

/// Why it could not be removed.
std::string unlinked(const Cached& copy) {
  if (::unlink(copy.file.c_str()) != 0 && errno != ENOENT)
    return fmt::format("{}: cannot be removed ({})", copy.file.string(), std::strerror(errno));
  if (copy.kind != CacheKind::kCopyNote) ::unlink(note_of(copy.file).c_str());
  return {};
}

}  // namespace

const char* to_string(CacheKind kind) {
  switch (kind) {
    case CacheKind::kDownload:
      return "download";
    case CacheKind::kTable:
      return "table";
    case CacheKind::kShowers:
      return "showers";
    case CacheKind::kModel:
      return "model";
    case CacheKind::kScan:
      return "scan";
    case CacheKind::kCopyNote:
      return "copy note";
    case CacheKind::kPart:
      return "part";
  }
  return "";
}

bool is_as_found(const Cached& copy) {
  struct stat status {};
  return ::lstat(copy.file.c_str(), &status) == 0 && status.st_ino == copy.inode && status.st_size == copy.bytes &&
         mtime_ns(status) == copy.mtime_ns;
}

std::vector<Cached> cache_contents(const fs::path& root) {
  std::vector<Cached> contents;
  std::vector<std::string> folders(std::begin(kBoundedFolders), std::end(kBoundedFolders));
  folders.emplace_back(kScans);
  for (const std::string& folder : folders) {
    each_file(root / folder, [&](const fs::path& file, const struct stat& status) {
      if (auto copy = described(file, status, folder)) contents.push_back(std::move(*copy));
    });
  }
  if (contents.empty()) return contents;
  const FileLock turn(turn_of(root));
  const std::set<std::string> used = used_paths(root);
  for (Cached& copy : contents) copy.in_use = is_in_use(copy, root, used);
  std::ranges::stable_sort(contents, std::greater<>(), &Cached::used_s);
  return contents;
}

Removal remove_cached(const fs::path& root, const std::vector<Cached>& wanted, bool dry_run) {
  Removal removal;
  if (wanted.empty()) return removal;
  const FileLock turn(turn_of(root));
  const std::set<std::string> used = used_paths(root);
  for (const Cached& copy : wanted) {
    if (is_in_use(copy, root, used)) {
      removal.in_use.push_back(copy);
    } else if (is_as_found(copy)) {
      const std::string error = dry_run ? "" : unlinked(copy);
      if (error.empty())
        removal.removed.push_back(copy);
      else
        removal.error = error;
    }
  }
  return removal;
}

}  // namespace linac::storage

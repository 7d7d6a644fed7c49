#include "linac/io/storage/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "linac/base/base/bytes.h"
#include "linac/base/base/error.h"
#include "linac/base/base/host.h"
#include "linac/base/base/log.h"
#include "linac/base/base/sole_lock.h"
#include "linac/io/storage/cache_files.h"
#include "linac/io/storage/copy_note.h"
#include "linac/io/storage/file_lock.h"
#include "linac/io/storage/storage.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr time_t kMakingMax_s = 24 * 3600;  // no longer than a day without a new byte

// One a process and cache: the paths that the process uses, a line each. It stays open and locked until the process
// ends.
class Uses {
 public:
  explicit Uses(const fs::path& root) {
    std::error_code error;
    fs::create_directories(root / "uses", error);
    const fs::path path = root / "uses" / fmt::format("{}-{}", host_name(), ::getpid());
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor_ >= 0) try_lock_alone(descriptor_);
  }
  void add(const std::string& path) {
    if (++times_[path] == 1) write(path);
  }
  void release(const std::string& path) {
    const auto found = times_.find(path);
    if (found == times_.end() || --found->second > 0) return;
    times_.erase(found);
    write(kReleased + path);
  }

 private:
  void write(const std::string& text) {
    if (descriptor_ < 0) return;
    const std::string line = text + "\n";
    [[maybe_unused]] const ssize_t written = ::write(descriptor_, line.data(), line.size());
  }

  int descriptor_;
  std::map<std::string, int> times_;
};

struct Copy {
  fs::path path;
  int64_t bytes = 0;
  timespec used{};
};

bool counts(const fs::path& path, const struct stat& status) {
  const FileRole role = role_of(path);
  return role == FileRole::kCopy ||
         (role == FileRole::kPart && std::time(nullptr) - status.st_mtim.tv_sec >= kMakingMax_s);
}

std::vector<Copy> copies_in(const fs::path& root) {
  std::vector<Copy> copies;
  for (const char* folder : kBoundedFolders) {
    each_file(root / folder, [&](const fs::path& path, const struct stat& status) {
      if (counts(path, status)) copies.push_back({path, status.st_size, status.st_atim});
    });
  }
  std::sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  return copies;
}

// Removes what nobody uses, the first copies first, until so many bytes have gone; returns how many did.
int64_t evict(const fs::path& root, const std::vector<Copy>& copies, int64_t bytes) {
  const std::set<std::string> used = used_paths(root);
  int64_t removed = 0;
  for (const Copy& copy : copies) {
    if (removed >= bytes) break;
    if (used.contains(copy.path.lexically_relative(root).string()) || ::unlink(copy.path.c_str()) != 0) continue;
    ::unlink(note_of(copy.path).c_str());
    removed += copy.bytes;
  }
  return removed;
}

}  // namespace

int64_t cache_bytes_max() {
  const auto set = [](const char* name) -> const char* {
    const char* const text = std::getenv(name);
    return text != nullptr && *text != '\0' ? text : nullptr;
  };
  const auto wrong = [](const char* name, const char* text, const char* wanted) {
    return user_error(
        fmt::format("[storage] {}={}: not {}; unset it for {}", name, text, wanted, format_bytes(kCacheBytesDefault)));
  };
  if (const char* const text = set("LINAC_CACHE_SIZE")) {
    if (const auto bytes = parse_bytes(text)) return *bytes;
    throw wrong("LINAC_CACHE_SIZE", text, "a number of bytes above 0, or one with KiB, MiB, GiB or TiB");
  }
  if (const char* const text = set("LINAC_CACHE_GIB")) {
    if (const auto bytes = parse_bytes(fmt::format("{}GiB", text))) return *bytes;
    throw wrong("LINAC_CACHE_GIB", text, "a number of GiB above 0");
  }
  return kCacheBytesDefault;
}

namespace {

/// Of this process, until it ends.
void with_uses(const fs::path& root, const std::function<void(Uses&)>& change) {
  static std::mutex mutex;
  static std::map<fs::path, Uses>& processes_uses = *new std::map<fs::path, Uses>;
  const FileLock turn(turn_of(root));
  const std::scoped_lock lock(mutex);
  change(processes_uses.try_emplace(root, root).first->second);
}

}  // namespace

bool lies_in_cache(const std::filesystem::path& file) {
  const std::string below = file.lexically_relative(cache_folder()).string();
  return !below.empty() && !below.starts_with("..");
}

void use_cached(const fs::path& file, const fs::path& root) {
  with_uses(root, [&](Uses& uses) { uses.add(file.lexically_relative(root).string()); });
  // The time of the last use is the access time, which readers alone would not keep on many file systems.
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW}, {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  ::utimensat(AT_FDCWD, file.c_str(), times, 0);
}

void use_cached(const fs::path& file) {
  use_cached(file, cache_folder());
}

void release_cached(const fs::path& file) {
  const fs::path root = cache_folder();
  with_uses(root, [&](Uses& uses) { uses.release(file.lexically_relative(root).string()); });
}

int64_t make_room(const fs::path& root, int64_t bytes_max, int64_t wanted) {
  const FileLock turn(turn_of(root));
  const std::vector<Copy> copies = copies_in(root);
  int64_t held = 0;
  for (const Copy& copy : copies) held += copy.bytes;
  const int64_t allowed = std::max<int64_t>(0, bytes_max - wanted);
  const int64_t removed = held > allowed ? evict(root, copies, held - allowed) : 0;
  if (held - removed > allowed) {
    log::warn(fmt::format("[storage] {}: holds {}, more than {}: the rest is in use; see LINAC_CACHE_SIZE",
                          root.string(), format_bytes(held - removed), format_bytes(allowed)));
  }
  return removed;
}

int64_t make_room() {
  return make_room(cache_folder(), cache_bytes_max());
}

int64_t free_bytes(const fs::path& root, int64_t bytes) {
  const FileLock turn(turn_of(root));
  return evict(root, copies_in(root), bytes);
}

}  // namespace linac::storage

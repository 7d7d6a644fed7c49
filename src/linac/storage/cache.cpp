#include "linac/storage/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"
#include "linac/base/host.h"
#include "linac/base/log.h"
#include "linac/storage/file_lock.h"
#include "linac/storage/storage.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 10> kBoundedFolders{"az", "gs",     "http",   "root",   "rucio",
                                                      "s3", "tables", "models", "copies", "folders"};
constexpr time_t kMakingMax_s = 24 * 3600;  // no longer than a day without a new byte
constexpr double kBytesPerGib = 1024.0 * 1024 * 1024;

fs::path turn_of(const fs::path& root) {
  return root / "room.lock";
}

// One a process and cache: the paths that the process uses, a line each. It stays open and locked until the process
// ends.
class Uses {
 public:
  explicit Uses(const fs::path& root) {
    std::error_code error;
    fs::create_directories(root / "uses", error);
    const fs::path path = root / "uses" / fmt::format("{}-{}", host_name(), ::getpid());
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor_ >= 0) ::flock(descriptor_, LOCK_EX | LOCK_NB);
  }
  void add(const std::string& path) {
    if (descriptor_ < 0 || !paths_.insert(path).second) return;
    const std::string line = path + "\n";
    [[maybe_unused]] const ssize_t written = ::write(descriptor_, line.data(), line.size());
  }

 private:
  int descriptor_;
  std::set<std::string> paths_;
};

// The lines of all processes that live; the files of those that ended are removed.
std::set<std::string> used_paths(const fs::path& root) {
  std::set<std::string> used;
  std::error_code error;
  for (fs::directory_iterator entry(root / "uses", error), end; !error && entry != end; entry.increment(error)) {
    const int descriptor = ::open(entry->path().c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) continue;
    if (::flock(descriptor, LOCK_SH | LOCK_NB) == 0) {
      ::unlink(entry->path().c_str());
    } else {
      std::istringstream lines(read_file(entry->path()));
      for (std::string line; std::getline(lines, line);) used.insert(line);
    }
    ::close(descriptor);
  }
  return used;
}

struct Copy {
  fs::path path;
  int64_t bytes = 0;
  timespec used{};
};

// What belongs to a copy, and what becomes one; a process that was killed leaves the latter behind.
bool is_no_copy(const fs::path& path, const struct stat& status) {
  if (path.extension() == ".lock" || path.extension() == ".json") return true;
  const std::string name = path.filename().string();
  const bool in_the_making = name.find(".part") != std::string::npos || name.find(".tmp.") != std::string::npos;
  return in_the_making && std::time(nullptr) - status.st_mtim.tv_sec < kMakingMax_s;
}

std::vector<Copy> copies_in(const fs::path& root) {
  std::vector<Copy> copies;
  for (const char* folder : kBoundedFolders) {
    std::error_code error;
    for (fs::recursive_directory_iterator entry(root / folder, error), end; !error && entry != end;
         entry.increment(error)) {
      struct stat status {};
      if (::lstat(entry->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
      if (!is_no_copy(entry->path(), status)) copies.push_back({entry->path(), status.st_size, status.st_atim});
    }
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
    ::unlink((copy.path.string() + ".json").c_str());
    removed += copy.bytes;
  }
  return removed;
}

}  // namespace

int64_t cache_bytes_max() {
  double gib = kCacheGibDefault;
  if (const char* const text = std::getenv("LINAC_CACHE_GIB"); text != nullptr && *text != '\0') {
    const char* const end = text + std::char_traits<char>::length(text);
    const auto read = std::from_chars(text, end, gib);
    if (read.ec != std::errc{} || read.ptr != end || !(gib > 0) || !std::isfinite(gib)) {
      throw user_error(fmt::format("[storage] LINAC_CACHE_GIB={}: not a number of GiB above 0; unset it for {}", text,
                                   kCacheGibDefault));
    }
  }
  constexpr double kGibMax = 1 << 30;
  return static_cast<int64_t>(std::min(gib, kGibMax) * kBytesPerGib);
}

void use_cached(const fs::path& file, const fs::path& root) {
  static std::mutex mutex;
  static std::map<fs::path, Uses>& processes_uses = *new std::map<fs::path, Uses>;  // until the process ends
  {
    const FileLock turn(turn_of(root));
    const std::scoped_lock lock(mutex);
    processes_uses.try_emplace(root, root).first->second.add(file.lexically_relative(root).string());
  }
  // The time of the last use is the access time, which readers alone would not keep on many file systems.
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW}, {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  ::utimensat(AT_FDCWD, file.c_str(), times, 0);
}

void use_cached(const fs::path& file) {
  use_cached(file, cache_folder());
}

int64_t make_room(const fs::path& root, int64_t bytes_max, int64_t wanted) {
  const FileLock turn(turn_of(root));
  const std::vector<Copy> copies = copies_in(root);
  int64_t held = 0;
  for (const Copy& copy : copies) held += copy.bytes;
  const int64_t allowed = std::max<int64_t>(0, bytes_max - wanted);
  const int64_t removed = held > allowed ? evict(root, copies, held - allowed) : 0;
  if (held - removed > allowed) {
    log::warn(fmt::format("[storage] {}: holds {:.1f} GiB, more than {:.1f}: the rest is in use; see LINAC_CACHE_GIB",
                          root.string(), static_cast<double>(held - removed) / kBytesPerGib,
                          static_cast<double>(allowed) / kBytesPerGib));
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

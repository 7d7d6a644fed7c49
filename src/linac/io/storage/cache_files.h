#pragma once
// Which files of a cache folder are what. For the sources of the cache alone. Thread-safe.

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

namespace linac::storage {

/// The folders of a cache with copies that can be made again.
inline constexpr const char* kBoundedFolders[] = {"az", "gs",     "http",   "root",   "rucio",
                                                  "s3", "tables", "models", "copies", "folders"};
/// Before a path that a process uses no more, in its file of uses.
inline constexpr char kReleased = '-';

enum class FileRole {
  kCopy,  // can be made again
  kPart,  // becomes a copy; a process that was killed leaves it behind
  kNote,  // belongs to a copy
  kLock,
};
FileRole role_of(const std::filesystem::path& file);

/// The file that a part becomes: its name without ".part..." and ".tmp....".
std::filesystem::path whole_of(const std::filesystem::path& part);

/// Calls `take` for each regular file below `folder`; none where it is not there or cannot be read.
void each_file(const std::filesystem::path& folder,
               const std::function<void(const std::filesystem::path&, const struct stat&)>& take);

/// The paths below `root` that living processes have said they use. Files of processes that ended are removed. Who
/// relies on it holds the cache's turn.
std::set<std::string> used_paths(const std::filesystem::path& root);

/// What a turn locks.
std::filesystem::path turn_of(const std::filesystem::path& root);

}  // namespace linac::storage

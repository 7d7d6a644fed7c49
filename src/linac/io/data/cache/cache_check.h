#pragma once
// The copies of the cache (io/storage/cache_contents.h) read and compared with their checksums: those of downloads in
// their notes, those of packed tables and scans in the files. Several at a time. Thread-safe.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "linac/io/storage/cache_contents.h"

namespace linac::data {

/// The contents with what only this module can read: where tables and scans come from.
std::vector<storage::Cached> described_cache(const std::filesystem::path& root);

enum class CopyState {
  kSound,
  kUnchecked,  // has no checksum
  kDamaged,
  kGone,     // removed or replaced by another process meanwhile
  kUnread,   // the disk or the permissions fail
  kStopped,  // not looked at
};
const char* to_string(CopyState state);  // "sound"

struct CheckedCopy {
  storage::Cached copy;
  CopyState state = CopyState::kStopped;
  std::string what{};    // kDamaged, kUnread: why
  bool removed = false;  // kDamaged
};

struct CacheCheckOptions {
  int jobs = 4;       // files at a time
  bool keep = false;  // what is damaged stays
  /// Bytes that were read, of all. Called from several threads.
  std::function<void(int64_t done, int64_t all)> progress{};
  /// Looked at between pieces.
  std::function<bool()> stop{};
};

/// One row for each copy. What is damaged is removed, unless a living process uses it. The time of a copy's last use
/// stays.
std::vector<CheckedCopy> check_cache(const std::filesystem::path& root, const std::vector<storage::Cached>& copies,
                                     const CacheCheckOptions& options);

}  // namespace linac::data

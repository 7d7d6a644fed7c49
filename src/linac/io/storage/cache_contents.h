#pragma once
// What lies in a cache folder, for people: where each copy comes from, how large it is, when it was used last and
// whether a living process uses it. Copies go one by one. A folder that is absent holds nothing. Thread-safe.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace linac::storage {

enum class CacheKind {
  kDownload,  // a file of another host
  kTable,     // packed columns of an event file
  kShowers,   // packed, of a TFRecord file
  kModel,     // of a service's catalog
  kScan,      // what a look through a file of showers has found
  kCopyNote,  // what `data copy` has copied
  kPart,      // becomes one of these, or was left behind
};
const char* to_string(CacheKind kind);  // "download"

struct Cached {
  std::filesystem::path file;
  CacheKind kind = CacheKind::kDownload;
  std::string source{};  // URL without secrets, or path, as its note says; empty: nothing says it
  int64_t bytes = 0;
  int64_t mtime_ns = 0;
  uint64_t inode = 0;
  int64_t used_s = 0;  // since 1970
  bool in_use = false;
  bool is_bounded = true;  // counts to what the cache may hold (cache.h)
};

/// The one that was used last first.
std::vector<Cached> cache_contents(const std::filesystem::path& root);

/// Whether its file is there and no other one meanwhile.
bool is_as_found(const Cached& copy);

struct Removal {
  std::vector<Cached> removed, in_use;  // in_use: these stay
  std::string error{};                  // why one could not be removed, which is in neither
};
/// Removes what is `wanted`, with its note, unless a living process uses it or it is another file meanwhile than the
/// one that cache_contents() found. With `dry_run`: says what would be done.
Removal remove_cached(const std::filesystem::path& root, const std::vector<Cached>& wanted, bool dry_run = false);

}  // namespace linac::storage

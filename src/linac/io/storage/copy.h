#pragma once
// Copies of files between any two stores: several files and several ranges of each at a time, compared after they are
// written, whole or absent for readers, and going on where a former try stopped. What was copied is noted in the cache,
// so that a second call sends nothing again. Thread-safe functions.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace linac::storage {

struct CopyItem {
  std::string from, to;  // one file each, by path or URL
};

/// Which file becomes which, as `cp` has it: `to` is a folder if it ends with a slash, is one of this host, or there
/// are several sources; a source that is a folder stands for the files directly in it. User error for two sources of
/// one name, a source that is its own target, or a name that is none; data error for what is not there.
std::vector<CopyItem> plan_copy(const std::vector<std::string>& from, const std::string& to);

struct CopyOptions {
  int jobs = 4;            // requests at a time
  bool overwrite = false;  // targets that have another content
  bool verify = true;      // targets of other hosts are read once more; those of this host always are
  bool dry_run = false;
  /// Bytes that are there, of all. Called from several threads.
  std::function<void(int64_t done, int64_t all)> progress{};
  /// Looked at between ranges; what is there stays for the next call.
  std::function<bool()> stop{};
};

enum class CopyResult { kCopied, kWasThere, kFailed, kStopped };
const char* to_string(CopyResult result);  // "copied"

struct CopiedFile {
  CopyItem item;
  int64_t bytes = 0;  // of the file
  int64_t sent = 0;   // of these by this call
  CopyResult result = CopyResult::kStopped;
  std::string error{};  // of kFailed
  int error_code = 0;   // an ErrorCode
};

/// One row for each item. A file that fails leaves the others alone; its former target stays. With dry_run: what would
/// be done (kCopied, kWasThere), and nothing is written.
std::vector<CopiedFile> copy_files(const std::vector<CopyItem>& items, const CopyOptions& options);

}  // namespace linac::storage

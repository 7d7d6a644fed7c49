#pragma once
// Lets one of several processes do a piece of work (download a file, scan a data set) while the others wait for it.

#include <filesystem>

namespace linac::storage {

/// Holds the advisory lock of the file `path` (made if needed) while it lives; waits for its turn. Advisory means: on a
/// file system without locks, or in a folder that cannot be written, work is only done twice, so this never throws.
/// Locks separate processes and the threads of one process alike.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path) noexcept;
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace linac::storage

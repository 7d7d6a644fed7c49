#pragma once
// One file of the cache in the making: whoever has it holds its lock, so that processes which want the same file fetch
// it once; it appears whole or not at all, beside a note of what the server said of it.

#include <filesystem>
#include <optional>
#include <string>

#include "linac/io/storage/copy_note.h"
#include "linac/io/storage/file_lock.h"

namespace linac::storage {

class CachedCopy {
 public:
  /// In the folder `scheme` of the cache `root`; waits for its turn, and marks the file as in use (cache.h). `key`
  /// names the content for ever, `url` is for people.
  CachedCopy(const std::filesystem::path& root, const std::string& scheme, const std::string& key,
             const std::string& url);
  /// What has not been put in place goes.
  ~CachedCopy();
  CachedCopy(const CachedCopy&) = delete;
  CachedCopy& operator=(const CachedCopy&) = delete;

  const std::filesystem::path& file() const { return file_; }
  /// Where the content is written.
  const std::filesystem::path& part() const { return part_; }
  /// What the server said of the copy that is there; nothing where there is none.
  const std::optional<Validators>& known() const { return known_; }
  /// The finished and synced part, whose checksums are `sums`, becomes the file; environment error.
  void put_in_place(const Validators& said, const PieceSums& sums);
  /// Environment error: the cache cannot be written.
  [[noreturn]] void fail_to_write() const;

 private:
  const std::filesystem::path root_;
  const std::string scheme_, url_;
  const std::filesystem::path file_, part_;
  std::optional<FileLock> lock_;
  std::optional<Validators> known_;
};

}  // namespace linac::storage

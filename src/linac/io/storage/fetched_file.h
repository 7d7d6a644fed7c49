#pragma once
// A file that is brought to this host in segments, several side by side, beside its place until it is whole. A journal
// beside it keeps which segments are there and their checksums, so that a copy that was killed goes on; what it says is
// read and compared before it is believed. One process at a time has it, by the lock of the part.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/io/storage/source.h"

namespace linac::storage {

class FetchedFile {
 public:
  static constexpr int64_t kSegmentBytes = int64_t{8} << 20;
  /// Of a file of so many bytes; at least one, which may be empty.
  static int64_t segments_of(int64_t bytes);

  /// Opens or makes `part`. What is there of another version of the source is dropped. User error if another process
  /// writes it, environment error if it cannot be written or is no regular file.
  FetchedFile(std::shared_ptr<const Source> source, std::filesystem::path part);

  /// Thread-safe for different segments; nothing if it is there. Returns the bytes fetched. Errors of the source, and
  /// environment errors of the disk.
  int64_t fetch(int64_t segment);
  /// All segments are there: onto the disk, and each compared with what the source sent. Data error if one differs.
  void check();
  /// "SIZE:TIME" of the file, as of state_of_file(); rename() keeps it.
  std::string state() const;
  /// Over a former file. Environment error.
  void rename_to(const std::filesystem::path& path);
  /// The part and its journal go.
  void remove();

 private:
  struct Segment {
    bool there = false;
    uint64_t checksum = 0;
  };
  int64_t bytes_of(int64_t segment) const;
  uint64_t checksum_on_disk(int64_t segment, std::vector<std::byte>& room) const;
  bool read_journal();
  void begin_journal();
  [[noreturn]] void fail(const char* what) const;

  const std::shared_ptr<const Source> source_;
  const std::filesystem::path part_, journal_;
  const std::string said_;  // the journal's first line: of which source it is
  Descriptor file_, journal_file_;
  std::vector<Segment> segments_;
  std::mutex mutex_;
};

/// "SIZE:TIME" of a file of this host, which another content has not.
std::string state_of_file(const std::filesystem::path& path);

}  // namespace linac::storage

#pragma once
// Ranges that no longer fit into memory, in one file of this host that has no name: it goes with the process, however
// that ends. What is there stays until clear(); what finds no room is not kept. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "linac/base/base/descriptor.h"
#include "linac/io/storage/neighbours/file_range.h"

namespace linac::storage {

class RangeSpill {
 public:
  /// At most so many bytes, in a file that is made in `folder` when the first range comes.
  RangeSpill(std::filesystem::path folder, int64_t bytes_max);

  /// Does nothing where it is there, the bound is reached, the disk becomes full (a twentieth of it stays free, at most
  /// 2 GiB) or cannot be written.
  void add(const FileRange& range, std::span<const std::byte> content, uint64_t checksum);
  /// The checksum that was added with it, when `content` is filled and has that checksum; nothing where the range is
  /// not there, or is damaged: then it is not there any more, a warning names the folder, and nothing more is added.
  std::optional<uint64_t> read(const FileRange& range, std::span<std::byte> content);
  void clear();

 private:
  struct Place {
    int64_t offset = 0;
    uint64_t checksum = 0;
  };
  bool is_room_for(int64_t bytes);

  const std::filesystem::path folder_;
  const int64_t bytes_max_;
  std::mutex mutex_;
  Descriptor file_;
  bool failed_ = false;
  int64_t end_ = 0;
  std::map<FileRange, Place> places_;
};

}  // namespace linac::storage

#pragma once
// Memory for ranges of files that are read ahead. Fresh memory costs more than what is copied into it, so rooms are
// used again as long as somebody keeps them: by the next ranges of a file, and by those of the next file. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace linac::storage {

/// Of `size` bytes, which hold anything; none before it is taken.
struct RangeRoom {
  std::unique_ptr<std::byte[]> bytes;
  int64_t size = 0;
};

class RangeRooms {
 public:
  /// Those of this process. Whoever reads several files after each other keeps them meanwhile.
  static std::shared_ptr<RangeRooms> shared();

  /// Of so many bytes at least.
  RangeRoom take(int64_t bytes);
  /// What is too much goes.
  void give(RangeRoom room);

 private:
  std::mutex mutex_;
  std::vector<RangeRoom> rooms_;
  int64_t bytes_ = 0;
};

}  // namespace linac::storage

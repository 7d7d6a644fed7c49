#pragma once
// The checksums by which Rucio knows a file. One thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace linac::storage::rucio {

class Checksums {
 public:
  Checksums();
  ~Checksums();
  void add(std::span<const std::byte> bytes);
  /// Hexadecimal, 8 digits.
  std::string adler32() const;
  /// Hexadecimal, 32 digits. Once, after the last byte.
  std::string md5();

 private:
  struct Digest;
  std::unique_ptr<Digest> md5_;
  uint64_t adler32_ = 1;  // of nothing
};

}  // namespace linac::storage::rucio

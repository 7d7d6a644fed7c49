#pragma once
// Bytes of a file at a place of it, all of them, whatever signals come. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <span>

namespace linac {

/// False (errno) if they cannot be written.
bool write_at(int file, std::span<const std::byte> bytes, int64_t offset);
/// False (errno; 0 where the file ends before) if they cannot be read.
bool read_at(int file, std::span<std::byte> bytes, int64_t offset);

}  // namespace linac

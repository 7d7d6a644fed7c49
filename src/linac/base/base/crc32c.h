#pragma once
// CRC-32C (Castagnoli), the checksum of TFRecord files. Uses the processor's instruction where there is one. Pure,
// thread-safe.

#include <cstddef>
#include <cstdint>
#include <span>

namespace linac {

uint32_t crc32c(std::span<const std::byte> bytes);
/// The same in portable code; only tests need to choose.
uint32_t crc32c_portable(std::span<const std::byte> bytes);

/// As stored in TFRecord files: rotated and shifted, because a CRC of data that holds its own CRC is weak.
uint32_t masked_crc32c(std::span<const std::byte> bytes);

}  // namespace linac

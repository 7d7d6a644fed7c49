#pragma once
// bfloat16, the upper half of a float. Thread-safe.

#include <bit>
#include <cmath>
#include <cstdint>

namespace linac {

/// To nearest, ties to even; NaN stays NaN.
inline uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

inline float from_bfloat16(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

}  // namespace linac

#pragma once
// For tests of sums: one buffer a replica, and floats as bits. Thread-safe functions.

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "linac/base/base/rng.h"

namespace linac::comm {

using Buffers = std::vector<std::vector<float>>;

/// Values over 40 powers of two and of both signs: any other order of addition shows in the bits.
inline Buffers random_buffers(int replicas, size_t size) {
  Buffers buffers(static_cast<size_t>(replicas), std::vector<float>(size));
  for (uint32_t replica = 0; replica < buffers.size(); ++replica) {
    std::vector<float> exponent(size);
    fill_normal({.seed = 7, .stream = Stream::kNoise, .replica = replica}, buffers[replica]);
    fill_uniform({.seed = 8, .replica = replica}, exponent);
    for (size_t i = 0; i < size; ++i)
      buffers[replica][i] = std::ldexp(buffers[replica][i], static_cast<int>(40 * exponent[i]) - 20);
  }
  return buffers;
}

inline std::vector<uint32_t> bits(std::span<const float> values) {
  std::vector<uint32_t> result;
  for (const float value : values) result.push_back(std::bit_cast<uint32_t>(value));
  return result;
}

}  // namespace linac::comm

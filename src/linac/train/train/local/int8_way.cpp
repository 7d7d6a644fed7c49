#include "linac/train/train/local/int8_way.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "linac/base/base/error.h"

namespace linac::train {
namespace {

constexpr size_t kBlock = 256;  // weights that share a scale
constexpr float kMost = 127;

size_t blocks_of(size_t floats) {
  return (floats + kBlock - 1) / kBlock;
}

}  // namespace

size_t int8_bytes(size_t floats) {
  return blocks_of(floats) * sizeof(float) + floats;
}

std::vector<std::byte> to_int8(std::span<const float> way, std::span<float> left_out) {
  LINAC_CHECK(way.size() == left_out.size());
  std::vector<std::byte> bytes(int8_bytes(way.size()));
  std::byte* scales = bytes.data();
  auto* values = reinterpret_cast<int8_t*>(bytes.data() + blocks_of(way.size()) * sizeof(float));
  for (size_t begin = 0; begin < way.size(); begin += kBlock, scales += sizeof(float)) {
    const size_t end = std::min(way.size(), begin + kBlock);
    float greatest = 0;
    for (size_t i = begin; i < end; ++i) {
      left_out[i] += way[i];
      greatest = std::max(greatest, std::fabs(left_out[i]));
    }
    const float scale = greatest / kMost;
    std::memcpy(scales, &scale, sizeof(float));
    for (size_t i = begin; i < end; ++i) {
      const float value = scale > 0 ? std::clamp(std::nearbyint(left_out[i] / scale), -kMost, kMost) : 0.0F;
      values[i] = static_cast<int8_t>(value);
      left_out[i] -= scale * value;
    }
  }
  return bytes;
}

void from_int8(std::span<const std::byte> bytes, std::span<float> way) {
  LINAC_CHECK(bytes.size() == int8_bytes(way.size()));
  const std::byte* scales = bytes.data();
  const auto* values = reinterpret_cast<const int8_t*>(bytes.data() + blocks_of(way.size()) * sizeof(float));
  for (size_t begin = 0; begin < way.size(); begin += kBlock, scales += sizeof(float)) {
    float scale = 0;
    std::memcpy(&scale, scales, sizeof(float));
    const size_t end = std::min(way.size(), begin + kBlock);
    for (size_t i = begin; i < end; ++i) way[i] = scale * static_cast<float>(values[i]);
  }
}

}  // namespace linac::train

#include "linac/train/train/local/ways.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "linac/base/base/bfloat16.h"
#include "linac/train/train/local/int8_way.h"

namespace linac::train {
namespace {

std::vector<std::byte> bytes_of_floats(std::span<const float> way) {
  const auto bytes = std::as_bytes(way);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> to_two_bytes(std::span<const float> way) {
  std::vector<std::byte> bytes(way.size() * sizeof(uint16_t));
  for (size_t i = 0; i < way.size(); ++i) {
    const uint16_t value = to_bfloat16(way[i]);
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return bytes;
}

void from_two_bytes(std::span<const std::byte> bytes, std::span<float> way) {
  for (size_t i = 0; i < way.size(); ++i) {
    uint16_t value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    way[i] = from_bfloat16(value);
  }
}

std::vector<std::byte> encoded(const std::string& exchange, std::span<const float> way, IslandState& kept, size_t n) {
  if (exchange == "int8") return to_int8(way, kept.left_out[n]);
  return exchange == "bf16" ? to_two_bytes(way) : bytes_of_floats(way);
}

void decode(const std::string& exchange, std::span<const std::byte> bytes, std::span<float> way) {
  if (exchange == "int8")
    from_int8(bytes, way);
  else if (exchange == "bf16")
    from_two_bytes(bytes, way);
  else
    std::memcpy(way.data(), bytes.data(), bytes.size());
}

}  // namespace

size_t bytes_of_way(const std::string& exchange, size_t floats) {
  if (exchange == "int8") return int8_bytes(floats);
  return floats * (exchange == "bf16" ? sizeof(uint16_t) : sizeof(float));
}

void see_ways(const std::string& exchange, Islands& islands, std::span<const size_t> sizes,
              const std::map<int, AlignedFloats>& told, std::map<int, IslandState>& kept, const SeeWay& see) {
  size_t size = 0;
  for (const size_t floats : sizes) size += bytes_of_way(exchange, floats);
  std::vector<std::vector<std::byte>> parts;
  for (const auto& [island, values] : told) {
    std::vector<std::byte> bytes;
    bytes.reserve(size);
    size_t at = 0;
    for (size_t n = 0; n < sizes.size(); at += sizes[n++]) {
      const auto made = encoded(exchange, std::span(values).subspan(at, sizes[n]), kept.at(island), n);
      bytes.insert(bytes.end(), made.begin(), made.end());
    }
    if (islands.leads(island)) parts.push_back(std::move(bytes));
  }
  std::vector<std::vector<std::byte>> all(static_cast<size_t>(islands.count()), std::vector<std::byte>(size));
  islands.gather(parts, all);
  AlignedFloats way;
  for (size_t island = 0; island < all.size(); ++island) {
    size_t from = 0;
    for (size_t n = 0; n < sizes.size(); ++n) {
      const size_t bytes = bytes_of_way(exchange, sizes[n]);
      way.resize(sizes[n]);
      decode(exchange, std::span(all[island]).subspan(from, bytes), way);
      see(static_cast<int>(island), n, way);
      from += bytes;
    }
  }
}

}  // namespace linac::train

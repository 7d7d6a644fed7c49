#include "linac/control/catalog/points.h"

#include <endian.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "linac/base/base/error.h"

namespace linac::catalog {
namespace {

constexpr size_t kPointBytes = 24;

void put(std::byte* to, uint64_t word) {
  word = htole64(word);
  std::memcpy(to, &word, sizeof word);
}

uint64_t word_at(const std::byte* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return le64toh(word);
}

}  // namespace

bool same(const Point& a, const Point& b) {
  return a.step == b.step && a.time_ms == b.time_ms &&
         (a.value == b.value || (std::isnan(a.value) && std::isnan(b.value)));
}

Bytes packed(std::span<const Point> points) {
  Bytes bytes(points.size() * kPointBytes);
  std::byte* to = bytes.data();
  for (const Point& point : points) {
    put(to, static_cast<uint64_t>(point.step));
    put(to + 8, static_cast<uint64_t>(point.time_ms));
    put(to + 16, std::bit_cast<uint64_t>(point.value));
    to += kPointBytes;
  }
  return bytes;
}

std::vector<Point> unpacked(std::span<const std::byte> bytes) {
  if (bytes.size() % kPointBytes != 0)
    throw data_error(
        fmt::format("[catalog] a block of {} bytes holds no whole points ({} each); it is damaged: restore a backup",
                    bytes.size(), kPointBytes));
  std::vector<Point> points(bytes.size() / kPointBytes);
  const std::byte* from = bytes.data();
  for (Point& point : points) {
    point = {static_cast<int64_t>(word_at(from)), static_cast<int64_t>(word_at(from + 8)),
             std::bit_cast<double>(word_at(from + 16))};
    from += kPointBytes;
  }
  return points;
}

}  // namespace linac::catalog

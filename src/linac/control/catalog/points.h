#pragma once
// A point of a metric's curve, and many of them as bytes: 24 each, little-endian: step, time in ms, value as IEEE
// double. Bytes keep NaN and Inf, which SQL does not carry alike.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "linac/control/catalog/database.h"

namespace linac::catalog {

struct Point {
  int64_t step = 0;
  int64_t time_ms = 0;
  double value = 0;
  friend bool operator==(const Point&, const Point&) = default;  // NaN is not itself, as ever
};

struct KeyedPoint {
  std::string key;
  Point point;
};

/// Whether they are the same in all parts; NaN is NaN here.
bool same(const Point& a, const Point& b);

Bytes packed(std::span<const Point> points);
/// Data error if the length is no multiple of a point's.
std::vector<Point> unpacked(std::span<const std::byte> bytes);

}  // namespace linac::catalog

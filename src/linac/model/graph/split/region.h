#pragma once
// Which cells of an image a part of it has, and which it needs. Axes are those of cells: neither events nor channels.
// Plain values, pure functions.

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// Of one axis. What is needed may reach beyond the image.
struct Cells {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const Cells&) const = default;
};

using Region = std::vector<Cells>;  // by axis

/// Into how many parts each axis is cut. Part 0 has the first cells of all axes; the last axis counts fastest.
struct PartGrid {
  std::array<int, 3> axes{1, 1, 1};

  int count() const { return axes[0] * axes[1] * axes[2]; }
  /// Where a part lies along each axis.
  std::array<int, 3> place(int part) const;
  /// Whether each part of an image of that shape (with channels) has a cell, and no two parts have the same.
  bool divides(const Shape& image) const;
  /// The cells of a part; `image` is divided by the grid.
  Region own(const Shape& image, int part) const;
};

/// The whole image.
Region all_cells(const Shape& image);
Region common(const Region& a, const Region& b);
bool is_empty(const Region& region);
bool holds(const Region& outer, const Region& inner);
Region moved(Region region, const std::vector<int64_t>& by);
/// With as many channels.
Shape shape_of(const Region& region, int64_t channels);

/// [begin, end, begin, end, ...]
nlohmann::json to_json(const Region& region);
Region region_from(const nlohmann::json& json);

}  // namespace linac::graph

#include "linac/model/graph/split/region.h"

#include <algorithm>

namespace linac::graph {

std::array<int, 3> PartGrid::place(int part) const {
  return {part / (axes[1] * axes[2]), part / axes[2] % axes[1], part % axes[2]};
}

bool PartGrid::divides(const Shape& image) const {
  const size_t cells = image.empty() ? 0 : image.size() - 1;
  if (cells > axes.size()) return false;
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis] > 1 && (axis >= cells || image[axis] < axes[axis])) return false;
  }
  return cells > 0;
}

Region PartGrid::own(const Shape& image, int part) const {
  const std::array<int, 3> at = place(part);
  Region region;
  for (size_t axis = 0; axis + 1 < image.size(); ++axis)
    region.push_back({image[axis] * at[axis] / axes[axis], image[axis] * (at[axis] + 1) / axes[axis]});
  return region;
}

Region all_cells(const Shape& image) {
  Region region;
  for (size_t axis = 0; axis + 1 < image.size(); ++axis) region.push_back({0, image[axis]});
  return region;
}

Region common(const Region& a, const Region& b) {
  Region both;
  for (size_t axis = 0; axis < a.size(); ++axis)
    both.push_back({std::max(a[axis].begin, b[axis].begin), std::min(a[axis].end, b[axis].end)});
  return both;
}

bool is_empty(const Region& region) {
  return std::ranges::any_of(region, [](const Cells& cells) { return cells.size() <= 0; });
}

bool holds(const Region& outer, const Region& inner) {
  return common(outer, inner) == inner;
}

Region moved(Region region, const std::vector<int64_t>& by) {
  for (size_t axis = 0; axis < region.size(); ++axis) {
    region[axis].begin += by[axis];
    region[axis].end += by[axis];
  }
  return region;
}

Shape shape_of(const Region& region, int64_t channels) {
  Shape shape;
  for (const Cells& cells : region) shape.push_back(cells.size());
  shape.push_back(channels);
  return shape;
}

nlohmann::json to_json(const Region& region) {
  nlohmann::json json = nlohmann::json::array();
  for (const Cells& cells : region) json.insert(json.end(), {cells.begin, cells.end});
  return json;
}

Region region_from(const nlohmann::json& json) {
  Region region;
  for (size_t i = 0; i + 1 < json.size(); i += 2) region.push_back({json[i], json[i + 1]});
  return region;
}

}  // namespace linac::graph

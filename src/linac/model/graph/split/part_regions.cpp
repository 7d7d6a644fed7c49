#include "linac/model/graph/split/part_regions.h"

namespace linac::graph {

PartRegions regions_of(const Node& node) {
  const PartGrid grid{node.attributes.at("grid").get<std::array<int, 3>>()};
  const auto image = node.attributes.at("image").get<Shape>();
  PartRegions regions{.image = all_cells(image), .own = {}, .needed = {}};
  for (int part = 0; part < grid.count(); ++part) regions.own.push_back(grid.own(image, part));
  regions.needed = node.attributes.contains("needed") ? needed_regions(node)
                                                      : std::vector<Region>(regions.own.size(), regions.image);
  return regions;
}

std::vector<Region> needed_regions(const Node& node) {
  std::vector<Region> needed;
  for (const auto& one : node.attributes.at("needed")) needed.push_back(region_from(one));
  return needed;
}

}  // namespace linac::graph

#pragma once
// What a PartHalo or PartGather (split_graph.h) says of the parts of its image. Pure, thread-safe.

#include <vector>

#include "linac/model/graph/graph.h"
#include "linac/model/graph/split/region.h"

namespace linac::graph {

struct PartRegions {
  Region image;                     // all of it
  std::vector<Region> own, needed;  // by part
};

/// Of a PartGather each part needs the whole image.
PartRegions regions_of(const Node& node);
/// The regions "needed" alone, which a PartSlice has too.
std::vector<Region> needed_regions(const Node& node);

}  // namespace linac::graph

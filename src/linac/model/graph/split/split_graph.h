#pragma once
// One replica's graph divided into parts of its images, each a graph of its own: what a part computes, with the
// exchanges between the parts as nodes (docs/internals/decisions/split.md).
//
// A value is divided (each part has its cells of it, by PartGrid::own) or whole (every part computes it alike). A layer
// is divided if reach_of() knows how and its output has cells enough; what it needs beyond the part's own cells is
// fetched from the others by a PartHalo, or cut out of a whole value by a PartSlice. All others are whole, and a
// PartGather brings them what is divided. Divided outputs are gathered: the graph of a part has the same inputs,
// outputs and weights as the whole one, whose weights' gradients are the sum over the parts, of the whole layers alone
// those of one part.

#include <string>
#include <vector>

#include "linac/model/graph/graph.h"
#include "linac/model/graph/split/region.h"

namespace linac::graph {

/// The nodes that are put in. Attributes: "needed", the region of each part (to_json), "part", and what is said here.
inline constexpr const char* kPartHalo = "PartHalo";    // divided -> a region; "image": the whole value's shape, "grid"
inline constexpr const char* kPartSlice = "PartSlice";  // whole -> a region
/// Both: "lowest", whether the cells beyond the image are the least number, or zeros.
inline constexpr const char* kPartGather = "PartGather";  // divided -> whole; "image", "grid"
inline constexpr const char* kPartJoin = "PartJoin";      // one value of each part -> their sum or maximum; "how"

/// Attributes of layers of a part.
inline constexpr const char* kAllParts = "all_parts";  // BatchNormalization: its statistics are those of all parts
inline constexpr const char* kRegion = "region";       // Dropout and its kin: which cells ...
inline constexpr const char* kImage = "image";         // ... of an image of that shape they draw for
inline constexpr const char* kOutside = "outside";     // AveragePooling: cells before and behind each axis, uncounted
inline constexpr const char* kLane = "lane";           // of random numbers: the node's index in the whole graph as run

struct SplitGraph {
  std::vector<Graph> parts;
  std::vector<bool> whole;          // by node of the given graph: whether it is computed by each part alike
  std::vector<bool> whole_weights;  // likewise, by slot of Parameters::trainable_layout
  /// Layers that need all of a divided value, by node of the given graph: what they bring together.
  std::vector<int> gathers;
};

/// User error if no layer of the graph can be divided. `lanes`: of the nodes, see kLane; -1: none.
SplitGraph split_graph(const Graph& graph, const PartGrid& grid, const std::vector<int>& lanes);

}  // namespace linac::graph

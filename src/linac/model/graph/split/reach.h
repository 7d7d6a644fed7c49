#pragma once
// The one rule by which a layer is divided: which cells of its input a range of its output cells needs. Layers of which
// nothing is said here need all of their input. Pure, thread-safe.

#include <functional>
#include <optional>
#include <vector>

#include "linac/model/graph/graph.h"
#include "linac/model/graph/split/region.h"

namespace linac::graph {

struct Reach {
  enum class Kind {
    kCell,        // a cell of the output needs the same cell of each input
    kStatistics,  // the same, and what all cells of the first input are like (BatchNormalization)
    kDraw,        // the same, and numbers drawn for each cell (Dropout)
    kWindow,      // windows slide over the input (convolutions, pools)
    kSpread,      // an input cell becomes several (transposed convolutions, up-sampling)
    kMoved,       // the input at another place (ZeroPadding, Cropping)
    kSum,         // all cells become one (GlobalAveragePooling)
    kMax,
  };
  Kind kind;
  /// kWindow, kSpread, kMoved: of the input along an axis; may reach beyond it.
  std::function<Cells(size_t axis, const Cells& output)> needed = {};
  /// kSpread: where, in the cells of the whole output, that of the first needed input cell begins.
  std::function<int64_t(size_t axis, int64_t input)> first_output = {};
  /// What is beyond the input: the least number there is, or zeros.
  bool lowest_outside = false;
};

/// Nothing: the layer needs all of its inputs.
std::optional<Reach> reach_of(const Node& node, const std::vector<Shape>& inputs);

}  // namespace linac::graph

#pragma once
// What the layers of a model ask of the values of its inputs, which files hold. Pure, thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// Whole numbers from `least` to `largest`, of which a cast on the way cuts fractions off.
struct Indices {
  std::string layer;
  std::string taker;  // "Embedding of 5 rows"
  int64_t least = 0, largest = 0;
  bool cut = false;
};

/// Of a Masking that hides steps of another value than 0.
struct Hidden {
  std::string layer;
  float value = 0;
};

struct InputRule {
  std::optional<Hidden> hidden = std::nullopt;
  std::vector<Indices> indices = {};  // of each layer that takes its values as such
};

/// One an input, in the graph's order. Layers that only move values on their way, and casts to integers, hand the rules
/// on; behind others the values are not those of the file.
std::vector<InputRule> input_rules(const Graph& graph);

}  // namespace linac::graph

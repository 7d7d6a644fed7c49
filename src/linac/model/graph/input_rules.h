#pragma once
// What the layers of a model ask of the values of its inputs, which files hold. Pure, thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// Whole numbers from 0 to count - 1.
struct Indices {
  std::string layer;  // the Embedding that takes rows of its table by them
  int64_t count = 0;
};

/// Of a Masking that hides steps of another value than 0.
struct Hidden {
  std::string layer;
  float value = 0;
};

struct InputRule {
  std::optional<Hidden> hidden = std::nullopt;
  /// Of the smallest table, if there are several.
  std::optional<Indices> indices = std::nullopt;
};

/// One an input, in the graph's order. Layers that only move values on their way hand the rules on; behind others the
/// values are not those of the file.
std::vector<InputRule> input_rules(const Graph& graph);

}  // namespace linac::graph

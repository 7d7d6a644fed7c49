#include "linac/model/graph/last_activation.h"

#include <algorithm>

namespace linac::graph {
namespace {

constexpr const char* kReshaping[] = {"Reshape",  "Flatten",     "Permute",     "Dropout",
                                      "Identity", "ops.Reshape", "ops.Squeeze", "ops.ExpandDims"};

}  // namespace

std::string last_activation(const Graph& graph, int node) {
  const Node* at = &graph.nodes[static_cast<size_t>(node)];
  const auto named = [](const nlohmann::json& attributes) {
    const nlohmann::json value =
        attributes.is_object() ? attributes.value("activation", nlohmann::json()) : nlohmann::json();
    return value.is_string() ? value.get<std::string>() : std::string("linear");
  };
  while (std::ranges::find(kReshaping, at->op) != std::end(kReshaping) ||
         (at->op == "Activation" && named(at->attributes) == "linear"))
    at = &graph.nodes[static_cast<size_t>(at->inputs.front())];
  if (at->op == kForeignModule || at->op == kForeignOutput || at->op == kPart) return "";
  if (at->op == "Softmax" || at->op == "ops.Softmax") return "softmax";
  if (at->op == "ops.Sigmoid") return "sigmoid";
  if (at->op != "TimeDistributed") return named(at->attributes);
  const nlohmann::json& layer = at->attributes.at("layer");
  return layer.value("op", "") == "Softmax" ? "softmax" : named(layer.value("attributes", nlohmann::json()));
}

}  // namespace linac::graph

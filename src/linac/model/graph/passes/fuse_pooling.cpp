#include "linac/model/graph/passes/fuse_pooling.h"

#include <algorithm>

#include "linac/model/graph/layers/window.h"
#include "linac/model/graph/passes/rewrite.h"

namespace linac::graph {
namespace {

/// Of a max pooling whose windows lie side by side without padding; empty for all else.
std::vector<int64_t> plain_window(const Node& node) {
  if (node.op != "MaxPooling1D" && node.op != "MaxPooling2D" && node.op != "MaxPooling3D") return {};
  if (node.attributes.value("padding", "valid") != "valid") return {};
  const Window window = pool_window(node, node.output.size() - 1);
  return window.strides == window.size ? window.size : std::vector<int64_t>{};
}

bool is_convolution(const Node& node) {
  constexpr const char* kOps[] = {"Conv1D",          "Conv2D",          "Conv3D",         "DepthwiseConv1D",
                                  "DepthwiseConv2D", "SeparableConv1D", "SeparableConv2D"};
  return node.shares < 0 && std::find(std::begin(kOps), std::end(kOps), node.op) != std::end(kOps);
}

void make_identity(Node& node) {
  node.op = "Activation";
  node.attributes = {{"activation", "linear"}};
}

}  // namespace

std::optional<double> slope_of_activation(const Node& node) {
  if (node.op == "Activation" && node.attributes.value("activation", "linear") == "relu") return 0;
  const bool plain = node.op == "ReLU" && node.attributes.value("max_value", nlohmann::json()).is_null() &&
                     node.attributes.value("threshold", 0.0) == 0;
  if (node.op != "LeakyReLU" && !plain) return std::nullopt;
  const double slope = node.attributes.value("negative_slope", plain ? 0.0 : 0.3);
  return slope >= 0 ? std::optional(slope) : std::nullopt;
}

Graph fuse_pooling(const Graph& graph) {
  Graph fused = graph;
  for (const Node& pool : graph.nodes) {
    const std::vector<int64_t> window = plain_window(pool);
    if (window.empty() || pool.mask >= 0 || pool.shares >= 0) continue;
    int source = pool.inputs.at(0);
    std::optional<double> slope;
    const Node* between = &graph.nodes[static_cast<size_t>(source)];
    if (slope_of_activation(*between) && readers(graph, source) == 1 && between->shares < 0) {
      slope = slope_of_activation(*between);
      source = between->inputs.at(0);
    }
    const Node& convolution = graph.nodes[static_cast<size_t>(source)];
    const std::string activation = convolution.attributes.value("activation", "linear");
    if (!is_convolution(convolution) || readers(graph, source) != 1) continue;
    if (activation != "linear" && (activation != "relu" || slope)) continue;
    Node& target = fused.nodes[static_cast<size_t>(source)];
    target.attributes[kFusedPool] = window;
    if (slope) {
      target.attributes["fused_negative_slope"] = *slope;
      make_identity(fused.nodes[static_cast<size_t>(pool.inputs[0])]);
    }
    make_identity(fused.nodes[static_cast<size_t>(&pool - graph.nodes.data())]);
  }
  return fused;
}

}  // namespace linac::graph

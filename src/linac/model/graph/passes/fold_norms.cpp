#include "linac/model/graph/passes/fold_norms.h"

#include <algorithm>
#include <iterator>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/passes/fuse_pooling.h"
#include "linac/model/graph/passes/rewrite.h"

namespace linac::graph {
namespace {

bool is_shared(const Graph& graph, int index) {
  return graph.nodes[static_cast<size_t>(index)].shares >= 0 ||
         std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.shares == index; });
}

// Its last weights are the kernel, whose last axis are the channels, and the bias.
bool scales_by_kernel(const Node& node) {
  constexpr const char* kOps[] = {"Conv1D", "Conv2D", "Conv3D", "SeparableConv1D", "SeparableConv2D"};
  return std::find(std::begin(kOps), std::end(kOps), node.op) != std::end(kOps) &&
         node.attributes.value("activation", "linear") == "linear" &&
         !node.attributes.contains("fused_negative_slope") && !node.attributes.contains(kFusedPool);
}

}  // namespace

std::vector<int> foldable_norms(const Graph& graph) {
  std::vector<int> norms(graph.nodes.size(), -1);
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    const Node& norm = graph.nodes[static_cast<size_t>(i)];
    if (norm.op != "BatchNormalization" || is_shared(graph, i)) continue;
    const int source = norm.inputs.at(0);
    const bool channels = axes_of(norm, "axis", norm.output.size(), -1)[0] + 1 == norm.output.size();
    if (channels && scales_by_kernel(graph.nodes[static_cast<size_t>(source)]) && !is_shared(graph, source) &&
        readers(graph, source) == 1)
      norms[static_cast<size_t>(source)] = i;
  }
  return norms;
}

}  // namespace linac::graph

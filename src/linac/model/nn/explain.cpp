#include "linac/model/nn/explain.h"

#include <fmt/format.h>

#include "linac/model/nn/conv_chain.h"

namespace linac::nn {
namespace {

std::string line(const std::string& name, const std::string& what, const graph::Shape& shape, double flop,
                 double elements) {
  return fmt::format("  {:<38} {:<20} {:<18} {:>8.3f} GFLOP {:>8.2f} MB\n", name, what, graph::to_string(shape),
                     flop / 1e9, elements * sizeof(float) / 1e6);
}

std::string node_line(const graph::Graph& graph, size_t i) {
  const graph::Node& node = graph.nodes[i];
  return line(node.name, node.op, node.output, graph::forward_flop(graph, static_cast<int>(i)),
              static_cast<double>(graph::elements(node.output)));
}

}  // namespace

std::string explain(const graph::Graph& before, const Executable& after) {
  std::string text = fmt::format("{} as Keras knows it: {} layers, {:.2f} GFLOP an event forward\n", before.name,
                                 before.nodes.size(), graph::forward_flop(before) / 1e9);
  for (size_t i = 0; i < before.nodes.size(); ++i) text += node_line(before, i);
  const graph::Graph& graph = after.graph();
  text += fmt::format("{} as it runs: {:.2f} GFLOP an event forward by the direct algorithm\n", before.name,
                      graph::forward_flop(graph) / 1e9);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (after.chain(i) == nullptr) {
      text += node_line(graph, i);
      continue;
    }
    for (const StageReport& stage : after.chain(i)->report()) {
      text += line(stage.layers, "linac, " + stage.method, stage.output, stage.flop,
                   static_cast<double>(graph::elements(stage.output)));
    }
  }
  return text;
}

}  // namespace linac::nn

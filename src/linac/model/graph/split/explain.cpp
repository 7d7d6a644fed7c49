#include "linac/model/graph/split/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/model/graph/layers.h"

namespace linac::graph {
namespace {

constexpr double kMiB = 1 << 20;

double mib(const Shape& shape) {
  return static_cast<double>(elements(shape) * static_cast<int64_t>(sizeof(float))) / kMiB;
}

std::string cells_in_words(const Region& region) {
  std::string text;
  for (const Cells& cells : region) text += fmt::format("{}{}", text.empty() ? "" : " x ", cells.size());
  return text;
}

/// Cells that the largest part of a node's values has.
Region largest_part(const Shape& image, const PartGrid& grid) {
  Region largest;
  for (int part = 0; part < grid.count(); ++part) {
    const Region own = grid.own(image, part);
    if (largest.empty() || elements(shape_of(own, 1)) > elements(shape_of(largest, 1))) largest = own;
  }
  return largest;
}

}  // namespace

std::string explain(const Graph& graph, const PartGrid& grid, const SplitGraph& split) {
  double divided = 0, all = 0;  // values of an event
  std::string text =
      fmt::format("{}: each image in {} x {} x {} parts\n", graph.name, grid.axes[0], grid.axes[1], grid.axes[2]);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    all += mib(node.output);
    const bool gathers = std::ranges::count(split.gathers, static_cast<int>(i)) > 0;
    if (!split.whole[i]) divided += mib(node.output);
    const std::string where =
        split.whole[i] ? "whole on each worker"
                       : fmt::format("divided, at most {}{}", cells_in_words(largest_part(node.output, grid)),
                                     gathers ? "; then brought together" : "");
    text += fmt::format("  {:<24} {:<22} {:<20} {}\n", node.name, node.op, to_string(node.output), where);
  }
  return text + fmt::format("  of {:.1f} MiB an event {:.1f} are divided\n", all, divided);
}

}  // namespace linac::graph

#include "linac/model/graph/split/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/model/graph/layers.h"
#include "linac/model/graph/split/part_regions.h"

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

double cells_of(const Region& region) {
  return is_empty(region) ? 0 : static_cast<double>(elements(shape_of(region, 1)));
}

/// Cells that part `me` sends for a node of its graph.
double cells_sent(const Node& node, size_t me) {
  if (node.op != kPartHalo && node.op != kPartGather) return 0;
  const PartRegions regions = regions_of(node);
  double cells = 0;
  for (size_t part = 0; part < regions.own.size(); ++part)
    if (part != me) cells += cells_of(common(regions.own[me], regions.needed[part]));
  return cells;
}

/// The layers that are computed whole and read all of divided value `i`.
std::vector<std::string> readers_of_all(const Graph& graph, const SplitGraph& split, int i) {
  std::vector<std::string> names;
  for (size_t reader = 0; reader < graph.nodes.size(); ++reader) {
    const Node& node = graph.nodes[reader];
    if (split.whole[reader] && std::ranges::count(node.inputs, i) > 0)
      names.push_back(fmt::format("'{}' ({})", node.name, node.op));
  }
  if (std::ranges::count(graph.outputs, i) > 0) names.emplace_back("the loss");
  return names;
}

}  // namespace

PartTraffic traffic_of(const SplitGraph& split) {
  PartTraffic traffic;
  for (size_t part = 0; part < split.parts.size(); ++part) {
    double bytes = 0;
    int exchanges = 0;
    for (const Node& node : split.parts[part].nodes) {
      const bool halo = node.op == kPartHalo,
                 back = halo || node.op == kPartSlice || node.attributes.contains(kAllParts);
      const double sent = cells_sent(node, part) * static_cast<double>(node.output.empty() ? 0 : node.output.back());
      bytes += (halo ? 2 : 1) * sent * sizeof(float);
      const bool forth = halo || node.op == kPartGather || node.op == kPartJoin || node.attributes.contains(kAllParts);
      exchanges += (forth ? 1 : 0) + (back ? 1 : 0);
    }
    traffic.bytes = std::max(traffic.bytes, bytes);
    traffic.exchanges = std::max(traffic.exchanges, exchanges);
  }
  return traffic;
}

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

std::string in_brief(const Graph& graph, const PartGrid& grid, const SplitGraph& split) {
  double whole_flop = 0;
  std::vector<std::string> whole;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const double flop = forward_flop(graph, static_cast<int>(i));
    if (!split.whole[i] || graph.nodes[i].weights.empty()) continue;
    whole_flop += flop;
    whole.push_back(graph.nodes[i].name);
  }
  const PartTraffic traffic = traffic_of(split);
  std::string text =
      fmt::format("each image in {} x {} x {} parts; a part sends up to {:.2f} MiB an event and step, in {} exchanges",
                  grid.axes[0], grid.axes[1], grid.axes[2], traffic.bytes / kMiB, traffic.exchanges);
  if (!whole.empty())
    text += fmt::format("\n  computed whole by each part, {:.2g} % of the FLOP: {}",
                        100 * whole_flop / std::max(1.0, forward_flop(graph)), fmt::join(whole, ", "));
  for (const int i : split.gathers) {
    const Node& node = graph.nodes[static_cast<size_t>(i)];
    text += fmt::format("\n  all of '{}', {:.2f} MiB an event, is on each worker for {}", node.name, mib(node.output),
                        fmt::join(readers_of_all(graph, split, i), ", "));
  }
  return text;
}

}  // namespace linac::graph

#include "linac/model/graph/open_sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/model/graph/layers/attributes.h"

namespace linac::graph {
namespace {

std::vector<std::vector<Shape>> weight_shapes(const Graph& graph) {
  std::vector<std::vector<Shape>> shapes;
  for (const Node& node : graph.nodes) {
    shapes.emplace_back();
    for (const Weight& weight : node.weights) shapes.back().push_back(weight.shape);
  }
  return shapes;
}

}  // namespace

std::vector<size_t> open_axes(const Node& input) {
  std::vector<size_t> axes;
  for (const auto& axis : input.attributes.value("open", nlohmann::json::array())) axes.push_back(axis.get<size_t>());
  return axes;
}

bool has_open_sizes(const Graph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                     [&](int input) { return !open_axes(graph.nodes[static_cast<size_t>(input)]).empty(); });
}

bool is_open_sequence(const Node& input) {
  return input.output.size() <= 2 && open_axes(input) == std::vector<size_t>{0};
}

std::string describe_open_shape(const Node& input) {
  std::vector<std::string> sizes;
  for (const int64_t size : input.output) sizes.push_back(fmt::format("{}", size));
  for (const size_t axis : open_axes(input)) sizes.at(axis) = "None";
  return fmt::format("({})", fmt::join(sizes, ", "));
}

Graph with_input_shapes(Graph graph, const std::vector<Shape>& shapes) {
  LINAC_CHECK(shapes.size() == graph.inputs.size());
  const auto before = weight_shapes(graph);
  for (size_t i = 0; i < shapes.size(); ++i) {
    Node& input = graph.nodes[static_cast<size_t>(graph.inputs[i])];
    const std::vector<size_t> open = open_axes(input);
    bool fits = shapes[i].size() == input.output.size();
    for (size_t axis = 0; fits && axis < shapes[i].size(); ++axis)
      fits = shapes[i][axis] == input.output[axis] || std::find(open.begin(), open.end(), axis) != open.end();
    if (!fits) refuse(input, fmt::format("takes {}, not {}", describe_open_shape(input), to_string(shapes[i])));
    input.attributes["shape"] = shapes[i];
  }
  infer_shapes(graph);
  const auto after = weight_shapes(graph);
  for (size_t i = 0; i < after.size(); ++i)
    if (after[i] != before[i]) refuse(graph.nodes[i], "has weights that depend on a size that the model leaves open");
  return graph;
}

Graph at_other_sizes(const Graph& graph) {
  std::vector<Shape> shapes;
  for (const int input : graph.inputs) {
    const Node& node = graph.nodes[static_cast<size_t>(input)];
    shapes.push_back(node.output);
    for (const size_t axis : open_axes(node)) shapes.back()[axis] = 2 * node.output[axis] + kProvisionalSize;
  }
  return with_input_shapes(graph, shapes);
}

std::vector<std::vector<bool>> following_axes(const Graph& graph) {
  Graph other = graph;
  if (has_open_sizes(graph)) {
    try {
      other = at_other_sizes(graph);
    } catch (const Error&) {  // other inputs fix what is open here
    }
  }
  std::vector<std::vector<bool>> following;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Shape &here = graph.nodes[i].output, &there = other.nodes[i].output;
    following.emplace_back(here.size(), false);
    for (size_t axis = 0; axis < here.size() && here.size() == there.size(); ++axis)
      following.back()[axis] = here[axis] != there[axis];
  }
  return following;
}

}  // namespace linac::graph

#include "linac/model/onnx/write_onnx.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/model/graph/open_sizes.h"
#include "linac/model/graph/passes/fold_upsample.h"
#include "linac/model/onnx/layers.h"

namespace linac::onnx {
namespace {

/// By node, the weights that it uses; another call of a layer has the first one's.
std::vector<std::vector<LayerWeight>> weights_by_node(const graph::Graph& graph, const graph::WeightValues& weights) {
  std::vector<std::vector<LayerWeight>> all;
  size_t next = 0;
  for (const graph::Node& node : graph.nodes) {
    all.emplace_back();
    if (node.shares >= 0) all.back() = all[static_cast<size_t>(node.shares)];
    for (const graph::Weight& weight : node.weights) {
      LINAC_CHECK(next < weights.values.size());
      all.back().push_back({node.name + "/" + weight.name, weight.shape, weights.values[next++]});
    }
  }
  LINAC_CHECK(next == weights.values.size());
  return all;
}

Model written(const graph::Graph& given, const graph::WeightValues& weights, Metadata metadata) {
  const graph::Graph graph = graph::fold_upsample(given);  // keeps the weights and their order
  Emitter emit(graph.name);
  const auto weights_of = weights_by_node(graph, weights);
  std::vector<Value> values(graph.nodes.size()), masks(graph.nodes.size());
  std::vector<std::vector<Value>> more(graph.nodes.size());  // outputs 1, 2, ... of a node
  for (const int input : graph.inputs) {
    const graph::Node& node = graph.nodes[static_cast<size_t>(input)];
    values[static_cast<size_t>(input)] = emit.input(node.name, node.output);
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const graph::Node& node = graph.nodes[i];
    if (node.op == "InputLayer") continue;
    emit.begin(node.name);
    LayerCall call{emit, node, {}, {}, weights_of[i], {}};
    for (const int input : node.inputs) {
      call.inputs.push_back(node.op == graph::kPart ? more[static_cast<size_t>(input)].at(graph::part_number(node) - 1)
                                                    : values[static_cast<size_t>(input)]);
      call.masks.push_back(masks[static_cast<size_t>(input)]);
    }
    if (node.mask >= 0) call.masks[0] = emit.as(Type::kBool, values[static_cast<size_t>(node.mask)]);
    call.more = &more[i];
    const LayerFunction write = layer_function(node);
    call.own_mask = masks[i] = output_mask(call);
    values[i] = write(call);
  }
  std::vector<int> outputs;
  for (const int output : graph.outputs) {
    if (std::find(outputs.begin(), outputs.end(), output) == outputs.end()) outputs.push_back(output);
  }
  Emitter::Names names;
  std::vector<Value> results;
  for (const int output : outputs) {
    names.push_back(graph.nodes[static_cast<size_t>(output)].name);
    results.push_back(values[static_cast<size_t>(output)]);
  }
  Model model = emit.finish(names, results);
  model.metadata = std::move(metadata);
  return model;
}

/// The sizes of the ports that follow those that the graph leaves open become free, if the model is the same at others.
void free_sizes(const graph::Graph& graph, const graph::WeightValues& weights, Model& model) {
  std::optional<Model> other;
  try {
    other = written(graph::at_other_sizes(graph), weights, {});
  } catch (const Error&) {  // other inputs fix what is open
    return;
  }
  if (other->nodes != model.nodes || other->constants != model.constants) return;
  for (auto [ports, others] : {std::pair{&model.inputs, &other->inputs}, {&model.outputs, &other->outputs}}) {
    for (size_t i = 0; i < ports->size(); ++i) {
      Shape& shape = (*ports)[i].shape;
      for (size_t axis = 0; axis < shape.size(); ++axis)
        if (shape[axis] != (*others)[i].shape[axis]) shape[axis] = kFreeSize;
    }
  }
}

}  // namespace

Model to_onnx(const graph::Graph& graph, const graph::WeightValues& weights, Metadata metadata) {
  Model model = written(graph, weights, std::move(metadata));
  if (graph::has_open_sizes(graph)) free_sizes(graph, weights, model);
  return model;
}

bool has_free_sizes(const Model& model) {
  return std::any_of(model.inputs.begin(), model.inputs.end(), [](const Port& port) {
    return std::find(port.shape.begin(), port.shape.end(), kFreeSize) != port.shape.end();
  });
}

void write_onnx(const graph::Graph& graph, const graph::WeightValues& weights, const std::filesystem::path& path,
                const Metadata& metadata) {
  write_file_atomically(path, encode(to_onnx(graph, weights, metadata)));
}

}  // namespace linac::onnx

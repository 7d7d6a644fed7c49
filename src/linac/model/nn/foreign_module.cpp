#include "linac/model/nn/foreign_module.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/model/nn/tensor_view.h"

namespace linac::nn {
namespace {

constexpr const char* kModule = "module";  // the node with the weights

graph::Node& add_node(graph::Graph& graph, const std::string& op, const std::string& name, std::vector<int> inputs,
                      graph::Shape shape) {
  graph.nodes.push_back({.name = name,
                         .op = op,
                         .attributes = nlohmann::json::object(),
                         .inputs = std::move(inputs),
                         .output = std::move(shape),
                         .weights = {}});
  return graph.nodes.back();
}

bool is_float(const ForeignWeight& weight) {
  return weight.value.scalar_type() == at::kFloat;
}

}  // namespace

graph::Graph foreign_graph(const std::string& name, const std::vector<ForeignInput>& inputs,
                           const std::vector<ForeignWeight>& weights) {
  graph::Graph graph;
  graph.name = name;
  for (const ForeignInput& input : inputs) {
    graph.inputs.push_back(static_cast<int>(graph.nodes.size()));
    add_node(graph, "InputLayer", input.name, {}, input.shape);
  }
  graph::Node& node = add_node(graph, graph::kForeignModule, kModule, graph.inputs, {});
  for (const ForeignWeight& weight : weights) {
    if (!weight.value.is_cpu()) throw user_error(fmt::format("{}: weight '{}' is not on the CPU", name, weight.name));
    if (is_float(weight)) node.weights.push_back({weight.name, weight.value.sizes().vec(), "zeros", weight.trainable});
  }
  return graph;
}

graph::Parameters foreign_parameters(const graph::Graph& graph, const std::vector<ForeignWeight>& weights) {
  graph::Parameters parameters = graph::Parameters::of(graph);
  for (const ForeignWeight& weight : weights) {
    if (!is_float(weight)) continue;
    const at::Tensor values = weight.value.detach().contiguous();
    std::copy_n(values.const_data_ptr<float>(), values.numel(),
                parameters.values(fmt::format("{}/{}", kModule, weight.name)).begin());
  }
  return parameters;
}

std::vector<float> changes(const graph::Layout& statistics, const std::vector<at::Tensor>& before,
                           const std::vector<at::Tensor>& after) {
  std::vector<float> flat(static_cast<size_t>(statistics.total), 0.0F);
  for (size_t i = 0; i < statistics.slots.size(); ++i) {
    const at::Tensor change = (after[i].detach() - before[i].detach()).contiguous();
    std::copy_n(change.const_data_ptr<float>(), change.numel(), flat.begin() + statistics.slots[i].offset);
  }
  return flat;
}

void ForeignModule::describe(const std::string& name, const std::vector<ForeignInput>& inputs,
                             const std::vector<ForeignWeight>& weights) {
  graph_ = foreign_graph(name, inputs, weights);
  if (graph::count_weights(graph_, true) == 0)
    throw user_error(fmt::format("[fit] {}: no parameter of the module wants a gradient: nothing to train", name));
  parameters_ = foreign_parameters(graph_, weights);
}

void ForeignModule::find_outputs() {
  constexpr int64_t kEvents = 2;
  std::vector<at::Tensor> zeros;
  for (const int input : graph_.inputs)
    zeros.push_back(at::zeros(batch_shape(kEvents, graph_.nodes[static_cast<size_t>(input)].output)));
  const int node = static_cast<int>(graph_.nodes.size()) - 1;
  const at::NoGradGuard no_gradient;
  const auto outputs = run(weights(parameters_, Gradients::kNone), zeros, {});
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].dim() < 1 || outputs[i].size(0) != kEvents || outputs[i].scalar_type() != at::kFloat)
      throw user_error(fmt::format("{}: output {} of forward() is not (events, ...) of floats", graph_.name, i));
    graph_.outputs.push_back(static_cast<int>(graph_.nodes.size()));
    add_node(graph_, graph::kForeignOutput, outputs.size() == 1 ? "output" : fmt::format("output_{}", i), {node},
             graph::Shape(outputs[i].sizes().begin() + 1, outputs[i].sizes().end()));
  }
}

}  // namespace linac::nn

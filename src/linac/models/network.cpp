#include "linac/models/network.h"

#include <ATen/core/grad_mode.h>

#include <optional>

#include "linac/base/error.h"
#include "linac/graph/parameters.h"
#include "linac/nn/executable.h"
#include "linac/nn/foreign_module.h"

namespace linac::models {

struct Network::Parts {
  Parts(const graph::Graph& graph, graph::Parameters values) : parameters(std::move(values)) {
    for (const int input : graph.inputs) inputs.push_back(graph.nodes[static_cast<size_t>(input)]);
    for (const int output : graph.outputs) outputs.push_back(graph.nodes[static_cast<size_t>(output)]);
  }

  std::vector<at::Tensor> run(const std::vector<at::Tensor>& tensors) const {
    if (foreign) return foreign->run(foreign->weights(parameters, nn::Gradients::kNone), tensors, {});
    return executable->run(weights, tensors, {});
  }

  std::vector<graph::Node> inputs, outputs;
  graph::Parameters parameters;
  std::optional<nn::Executable> executable;          // one of
  std::shared_ptr<const nn::ForeignModule> foreign;  // the two
  nn::Weights weights;                               // of the executable
};

Network::Network(const graph::KerasModel& model) {
  auto parts = std::make_unique<Parts>(model.graph, graph::from_weight_values(model.graph, model.weights));
  parts->executable.emplace(model.graph);
  parts->weights = nn::make_weights(parts->executable->graph(), parts->parameters, nn::Gradients::kNone);
  parts_ = std::move(parts);
}
Network::Network(const ForeignModel& model, graph::Parameters parameters) {
  auto parts = std::make_unique<Parts>(model.graph(), std::move(parameters));
  parts->foreign = model.module();
  parts_ = std::move(parts);
}
Network::Network(Network&&) noexcept = default;
Network::~Network() = default;

const std::vector<graph::Node>& Network::inputs() const {
  return parts_->inputs;
}
const std::vector<graph::Node>& Network::outputs() const {
  return parts_->outputs;
}

std::vector<std::vector<float>> Network::run(const std::vector<std::vector<float>>& values, int64_t events) const {
  LINAC_CHECK(values.size() == inputs().size());
  const at::NoGradGuard no_gradient;
  std::vector<at::Tensor> tensors;
  for (size_t i = 0; i < values.size(); ++i) {
    std::vector<int64_t> shape{events};
    shape.insert(shape.end(), inputs()[i].output.begin(), inputs()[i].output.end());
    LINAC_CHECK(static_cast<int64_t>(values[i].size()) == events * graph::elements(inputs()[i].output));
    // from_blob takes a mutable pointer; nothing writes through it.
    tensors.push_back(at::from_blob(const_cast<float*>(values[i].data()), shape, at::kFloat));
  }
  std::vector<std::vector<float>> results;
  for (const at::Tensor& output : parts_->run(tensors)) {
    const at::Tensor dense = output.to(at::kFloat).contiguous();
    results.emplace_back(dense.const_data_ptr<float>(), dense.const_data_ptr<float>() + dense.numel());
  }
  return results;
}

}  // namespace linac::models

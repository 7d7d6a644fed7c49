#include "linac/model/models/predictor.h"

#include <ATen/core/grad_mode.h>

#include "linac/base/base/error.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/models/runnable.h"
#include "linac/model/nn/tensor_view.h"

namespace linac::models {

struct Predictor::Parts {
  Parts(const graph::Graph& graph, graph::Parameters values, Runnable runnable)
      : parameters(std::move(values)), network(std::move(runnable)) {
    for (const int input : graph.inputs) inputs.push_back(graph.nodes[static_cast<size_t>(input)]);
    for (const int output : graph.outputs) outputs.push_back(graph.nodes[static_cast<size_t>(output)]);
  }

  std::vector<graph::Node> inputs, outputs;
  graph::Parameters parameters;
  Runnable network;
};

Predictor::Predictor(const keras::KerasModel& model)
    : parts_(std::make_unique<const Parts>(model.graph, graph::from_weight_values(model.graph, model.weights),
                                           Runnable(model.graph, {}))) {}
Predictor::Predictor(const ForeignModel& model, graph::Parameters parameters)
    : parts_(std::make_unique<const Parts>(model.graph(), std::move(parameters), Runnable(model))) {}
Predictor::Predictor(Predictor&&) noexcept = default;
Predictor::~Predictor() = default;

const std::vector<graph::Node>& Predictor::inputs() const {
  return parts_->inputs;
}
const std::vector<graph::Node>& Predictor::outputs() const {
  return parts_->outputs;
}

std::vector<std::vector<float>> Predictor::run(const std::vector<std::vector<float>>& values, int64_t events,
                                               std::vector<std::vector<uint8_t>>* masks) const {
  LINAC_CHECK(values.size() == inputs().size());
  const at::NoGradGuard no_gradient;
  std::vector<at::Tensor> tensors;
  for (size_t i = 0; i < values.size(); ++i) {
    LINAC_CHECK(static_cast<int64_t>(values[i].size()) == events * graph::elements(inputs()[i].output));
    tensors.push_back(nn::tensor_view(values[i], nn::batch_shape(events, inputs()[i].output)));
  }
  std::vector<std::vector<float>> results;
  std::vector<at::Tensor> found;
  nn::RunOptions options;
  options.output_masks = masks == nullptr ? nullptr : &found;
  for (const at::Tensor& output :
       parts_->network.run(parts_->network.weights(parts_->parameters, nn::Gradients::kNone), tensors, options)) {
    const at::Tensor dense = output.to(at::kFloat).contiguous();
    results.emplace_back(dense.const_data_ptr<float>(), dense.const_data_ptr<float>() + dense.numel());
  }
  if (masks == nullptr) return results;
  masks->assign(results.size(), {});
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i].defined()) continue;
    const at::Tensor dense = found[i].to(at::kByte).contiguous();
    (*masks)[i].assign(dense.const_data_ptr<uint8_t>(), dense.const_data_ptr<uint8_t>() + dense.numel());
  }
  return results;
}

}  // namespace linac::models

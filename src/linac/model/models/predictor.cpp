#include "linac/model/models/predictor.h"

#include <ATen/core/grad_mode.h>

#include "linac/base/base/error.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/models/runnable.h"
#include "linac/model/nn/tensor_view.h"

namespace linac::models {

struct Predictor::Parts {
  Parts(const graph::Graph& given, graph::Parameters values, Runnable runnable)
      : graph(given), parameters(std::move(values)), network(std::move(runnable)) {
    for (const int input : graph.inputs) inputs.push_back(graph.nodes[static_cast<size_t>(input)]);
    for (const int output : graph.outputs) outputs.push_back(graph.nodes[static_cast<size_t>(output)]);
  }

  graph::Graph graph;
  std::vector<graph::Node> inputs, outputs;
  graph::Parameters parameters;
  Runnable network;
  std::vector<graph::OutputUnits> units = {};  // empty: the graph has them
};

namespace {

void rescale(const graph::OutputUnits& units, std::vector<float>& values) {
  const size_t period = units.scale.size();
  for (size_t i = 0; i < values.size() && period > 0; ++i)
    values[i] = values[i] * units.scale[i % period] + units.offset[i % period];
}

}  // namespace

Predictor::Predictor(const keras::KerasModel& model)
    : parts_(std::make_unique<const Parts>(model.graph, graph::from_weight_values(model.graph, model.weights),
                                           Runnable(model.graph, {}))) {}
Predictor::Predictor(const ForeignModel& model, graph::Parameters parameters, std::vector<graph::OutputUnits> units) {
  auto parts = std::make_unique<Parts>(model.graph(), std::move(parameters), Runnable(model));
  parts->units = std::move(units);
  parts_ = std::move(parts);
}
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
    if (!parts_->units.empty()) rescale(parts_->units.at(results.size() - 1), results.back());
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

std::optional<NotFinite> Predictor::find_not_finite(const std::vector<std::vector<float>>& values,
                                                    int64_t events) const {
  return models::find_not_finite(parts_->graph, parts_->parameters, {values.begin(), values.end()}, events, {});
}

}  // namespace linac::models

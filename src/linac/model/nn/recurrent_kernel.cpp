#include "linac/model/nn/recurrent_kernel.h"

#include <algorithm>
#include <map>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/base/base/lender.h"
#include "linac/model/kernels/recurrent.h"
#include "linac/model/nn/autograd.h"

namespace linac::nn {
namespace {

using kernels::Recurrent;
using kernels::RecurrentActivation;
using kernels::RecurrentWorkspace;

/// The functions that the kernels have, by Keras's names.
std::optional<RecurrentActivation> find_activation(const std::string& name) {
  static const std::map<std::string, RecurrentActivation> table{
      {"tanh", RecurrentActivation::kTanh},
      {"sigmoid", RecurrentActivation::kSigmoid},
      {"linear", RecurrentActivation::kLinear},
      {"relu", RecurrentActivation::kRelu},
      {"hard_sigmoid", RecurrentActivation::kHardSigmoid},
      {"keras2_hard_sigmoid", RecurrentActivation::kSteepHardSigmoid}};
  const auto found = table.find(name);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

struct FoundActivations {
  std::optional<RecurrentActivation> state, gates;

  explicit FoundActivations(const graph::Node& layer)
      : state(find_activation(layer.attributes.value("activation", "tanh"))),
        gates(find_activation(layer.attributes.value("recurrent_activation", "sigmoid"))) {}
};

kernels::RecurrentShape shape_of(const graph::Node& layer, const at::Tensor& x,
                                 const std::vector<at::Tensor>& weights) {
  const nlohmann::json& settings = layer.attributes;
  kernels::RecurrentShape shape;
  const bool after = settings.value("reset_after", true);
  shape.cell = layer.op == "LSTM" ? kernels::RecurrentCell::kLstm
               : after            ? kernels::RecurrentCell::kGruResetAfter
                                  : kernels::RecurrentCell::kGruResetBefore;
  shape.steps = x.size(1), shape.features = x.size(2), shape.units = weights[1].size(0);
  shape.has_bias = weights.size() > 2;
  shape.go_backwards = settings.value("go_backwards", false);
  shape.return_sequences = settings.value("return_sequences", false);
  const FoundActivations found(layer);
  shape.activations = {found.state.value(), found.gates.value()};
  return shape;
}

/// One forward pass and what its backward pass needs.
struct Pass {
  std::unique_ptr<const Recurrent> layer;
  std::shared_ptr<RecurrentWorkspace> workspace;
  std::vector<at::Tensor> weights;
  std::vector<int64_t> x_shape, out_shape;
  at::Tensor x_kept, state_kept;  // undefined: nothing is dropped

  kernels::RecurrentMultipliers multipliers() const {
    const auto pointer = [](const at::Tensor& values) {
      return values.defined() ? values.const_data_ptr<float>() : nullptr;
    };
    return {pointer(x_kept), pointer(state_kept)};
  }

  kernels::RecurrentWeights pointers() const {
    const auto pointer = [this](size_t i) { return i < weights.size() ? weights[i].const_data_ptr<float>() : nullptr; };
    return {pointer(0), pointer(1), pointer(2)};
  }
};

std::shared_ptr<RecurrentWorkspace> borrow_workspace() {
  static const auto lender = std::make_shared<Lender<RecurrentWorkspace>>();
  return lender->borrow();
}

/// The layer as one node of autograd: inputs are x, the weights and, where they are given, the states to begin with;
/// results the output and the states at the end.
struct RecurrentBackward : public torch::autograd::Node {
  std::shared_ptr<Pass> pass;

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    LINAC_CHECK(pass != nullptr);  // autograd asks no more once it has released the node
    const at::NoGradGuard no_gradient;
    const at::Tensor out_gradient =
        gradients[0].defined() ? gradients[0].contiguous() : at::zeros(pass->out_shape, at::kFloat);
    const at::Tensor end_gradient =
        gradients.size() > 1 && gradients[1].defined() ? gradients[1].contiguous() : at::Tensor();
    const size_t begin = pass->weights.size() + 1;
    std::vector<at::Tensor> results(num_outputs());
    for (size_t i = 0; i < pass->weights.size(); ++i) results[i + 1] = at::empty_like(pass->weights[i]);
    if (task_should_compute_output(0)) results[0] = at::empty(pass->x_shape, at::kFloat);
    if (begin < results.size())
      results[begin] = at::empty({pass->x_shape[0], pass->layer->shape().state_floats()}, at::kFloat);
    const auto pointer = [&](size_t i) {
      return i < results.size() && results[i].defined() ? results[i].mutable_data_ptr<float>() : nullptr;
    };
    const bool has_bias = pass->weights.size() > 2;
    pass->layer->backward(pass->x_shape[0], pass->pointers(), out_gradient.const_data_ptr<float>(),
                          {pointer(1), pointer(2), has_bias ? pointer(3) : nullptr, pointer(0)}, *pass->workspace,
                          kernels::serially, pass->multipliers(),
                          {end_gradient.defined() ? end_gradient.const_data_ptr<float>() : nullptr, pointer(begin)});
    return results;
  }

  /// Autograd's word that this was the last time: the workspace is free again.
  void release_variables() override { pass = nullptr; }
};

}  // namespace

bool recurrent_kernel_possible(const LayerCall& call, const graph::Node& layer,
                               const std::vector<at::Tensor>& weights) {
  const FoundActivations found(layer);
  const auto is_float_on_cpu = [](const at::Tensor& tensor) {
    return tensor.device().is_cpu() && tensor.scalar_type() == at::kFloat;
  };
  return call.kernels == Kernels::kLinac && (layer.op == "GRU" || layer.op == "LSTM") && found.state && found.gates &&
         is_float_on_cpu(call.x()) && std::all_of(weights.begin(), weights.end(), is_float_on_cpu);
}

KernelResult recurrent_kernel(const graph::Node& layer, const at::Tensor& x, const at::Tensor& mask,
                              const std::vector<at::Tensor>& weights, const Dropped& dropped, const at::Tensor& begin,
                              StatesWanted states_wanted, Precision kept) {
  torch::autograd::variable_list inputs{x};
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  if (begin.defined()) inputs.push_back(begin);
  const bool differentiable = wants_gradient(inputs);
  const auto pass = std::make_shared<Pass>();
  kernels::RecurrentShape wanted = shape_of(layer, x, weights);
  wanted.drops = !dropped.state.empty();
  if (wanted.drops) pass->state_kept = at::stack(dropped.state, 1);
  if (!dropped.x.empty()) pass->x_kept = at::cat(dropped.x, 1);
  pass->layer = std::make_unique<const Recurrent>(
      wanted, kernels::best_isa(), kept == Precision::kFloat ? kernels::Storage::kFloat : kernels::Storage::kBfloat16);
  pass->workspace = borrow_workspace();
  const kernels::RecurrentShape& shape = pass->layer->shape();
  pass->x_shape = x.sizes().vec();
  pass->out_shape = shape.return_sequences ? std::vector<int64_t>{x.size(0), shape.steps, shape.units}
                                           : std::vector<int64_t>{x.size(0), shape.units};
  for (const at::Tensor& weight : weights) pass->weights.push_back(weight.detach().contiguous());
  KernelResult result;
  {
    const at::NoGradGuard no_gradient;
    const at::Tensor dense = x.detach().contiguous();
    const at::Tensor valid = mask.defined() ? mask.to(at::kByte).contiguous() : mask;
    const at::Tensor first = begin.defined() ? begin.detach().contiguous() : begin;
    result.output = at::empty(pass->out_shape, at::kFloat);
    if (states_wanted == StatesWanted::kYes) result.states = at::empty({x.size(0), shape.state_floats()}, at::kFloat);
    pass->layer->forward(x.size(0), dense.const_data_ptr<float>(),
                         valid.defined() ? valid.const_data_ptr<uint8_t>() : nullptr, pass->pointers(),
                         result.output.mutable_data_ptr<float>(),
                         differentiable ? kernels::Keep::kForBackward : kernels::Keep::kNothing, *pass->workspace,
                         kernels::serially, pass->multipliers(),
                         {first.defined() ? first.const_data_ptr<float>() : nullptr,
                          result.states.defined() ? result.states.mutable_data_ptr<float>() : nullptr});
  }
  if (!differentiable) return result;
  const auto node = std::make_shared<RecurrentBackward>();
  node->pass = pass;
  attach(node, inputs, result.output);
  if (result.states.defined()) torch::autograd::set_history(result.states, node);
  return result;
}

}  // namespace linac::nn

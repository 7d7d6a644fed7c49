#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/model/graph/layers.h"
#include "linac/model/nn/layers/families.h"
#include "linac/model/nn/recurrent.h"

namespace linac::nn {
namespace {

at::Tensor masking(const LayerCall& call) {
  // What is masked is zero already; only a gradient would have to be cut off.
  if (call.node.attributes.value("mask_value", 0.0) == 0 && !call.x().requires_grad()) return call.x();
  return call.x() * call.own_mask.unsqueeze(-1);
}

// Values of files are looked at before (model/graph/input_rules.h); those that layers have made are not.
at::Tensor embedding(const LayerCall& call) {
  const at::Tensor indices = call.x().to(at::kLong);
  const int64_t rows = call.weights[0].size(0);
  if (indices.numel() > 0) {
    const auto [least, largest] = at::aminmax(indices);
    for (const at::Tensor& index : {least, largest}) {
      if (const auto value = index.item<int64_t>(); value < 0 || value >= rows) {
        throw data_error(
            fmt::format("[nn] layer '{}' (Embedding): {} is not one of its rows, 0 to {}; mend the values "
                        "that lead to it, or give it a larger input_dim",
                        call.node.name, value, rows - 1));
      }
    }
  }
  return at::embedding(call.weights[0], indices);
}

std::span<const at::Tensor> initial_states(const LayerCall& call) {
  return std::span(call.inputs).subspan(1);
}

at::Tensor recurrent(const LayerCall& call) {
  RecurrentResult result =
      run_recurrent(call, call.node, call.weights, initial_states(call), zeroes_masked_steps(call.node));
  if (call.more != nullptr) *call.more = std::move(result.states);
  return result.output;
}

// The layer and one that reads the steps from the last to the first.
at::Tensor bidirectional(const LayerCall& call) {
  const graph::Shape steps(call.x().sizes().begin() + 1, call.x().sizes().end());
  const graph::Node forward = graph::inner_layer(call.node, "layer", steps),
                    backward = graph::inner_layer(call.node, "backward_layer", steps);
  const auto middle = call.weights.begin() + static_cast<int64_t>(forward.weights.size());
  // Keras: a masked step is zero where both hand on sequences, whatever the layers say.
  const bool sequences = forward.output.size() == 2;
  const std::span<const at::Tensor> states = initial_states(call);
  const size_t half = states.size() / 2;
  const RecurrentResult ahead =
      run_recurrent(call, forward, {call.weights.begin(), middle}, states.first(half), sequences);
  const RecurrentResult behind =
      run_recurrent(call, backward, {middle, call.weights.end()}, states.subspan(half), sequences, DrawsOf::kSecond);
  const at::Tensor& y = ahead.output;
  const at::Tensor back = sequences ? at::flip(behind.output, {1}) : behind.output;
  const std::string merge = call.node.attributes.value("merge_mode", "none");
  if (call.more != nullptr) {
    if (merge == "none") call.more->push_back(back);
    for (const auto* const result : {&ahead, &behind})
      call.more->insert(call.more->end(), result->states.begin(), result->states.end());
  }
  if (merge == "none") return y;
  if (merge == "concat") return at::cat({y, back}, -1);
  if (merge == "mul") return y * back;
  return merge == "ave" ? (y + back) / 2 : y + back;
}

// All steps as one batch.
at::Tensor time_distributed(const LayerCall& call) {
  const at::Tensor& x = call.x();
  const graph::Shape step(x.sizes().begin() + 2, x.sizes().end());
  const graph::Node inner = graph::inner_layer(call.node, "layer", step);
  const std::vector<at::Tensor> inputs{x.flatten(0, 1)};
  const LayerCall inner_call{inner, inputs,       call.weights,   call.options, call.dropout_key,
                             {},    call.kernels, call.precision, {{}},         {}};
  return layer_function(inner.op)(inner_call).unflatten(0, {x.size(0), x.size(1)});
}

}  // namespace

std::vector<NamedLayer> sequence_layers() {
  return {{"Masking", masking},
          {"Embedding", embedding},
          {"SimpleRNN", recurrent},
          {"GRU", recurrent},
          {"LSTM", recurrent},
          {"Bidirectional", bidirectional},
          {"TimeDistributed", time_distributed}};
}

}  // namespace linac::nn

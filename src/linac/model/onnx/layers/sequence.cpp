#include "linac/model/graph/layers.h"
#include "linac/model/graph/layers/attributes.h"
#include "linac/model/onnx/layers/families.h"
#include "linac/model/onnx/recurrent.h"

namespace linac::onnx {
namespace {

Value masking(const LayerCall& call) {
  Emitter& emit = call.emit;
  const std::string counts = emit.cast(emit.unsqueeze(call.own_mask.name, {2}), Type::kBool, Type::kFloat);
  return call.result(emit.op("Mul", {call.x(), counts}));
}

Value embedding(const LayerCall& call) {
  const std::string words = call.emit.cast(call.x(), Type::kFloat, Type::kInt64);
  return call.result(call.emit.op("Gather", {call.weight(0), words}));
}

Emitter::Names initial_states(const LayerCall& call) {
  Emitter::Names states;
  for (size_t i = 1; i < call.inputs.size(); ++i) states.push_back(call.x(i));
  return states;
}

/// The node's outputs behind the first, in their order.
void hand_out(const LayerCall& call, const Emitter::Names& tensors) {
  for (size_t i = 0; i < call.node.more.size(); ++i) call.more->push_back({tensors.at(i), call.node.more[i]});
}

Value recurrent(const LayerCall& call) {
  const bool zeroed = graph::flag(call.node, "zero_output_for_mask", false);
  const RecurrentTensors made =
      recurrent_layer(call, call.node, call.weights, initial_states(call), {StepOrder::kAsRead, zeroed});
  hand_out(call, made.states);
  return call.result(made.output);
}

// The layer and one that reads the steps from the last to the first.
Value bidirectional(const LayerCall& call) {
  Emitter& emit = call.emit;
  const Shape& steps = call.inputs[0].shape;
  const graph::Node forward = graph::inner_layer(call.node, "layer", steps),
                    backward = graph::inner_layer(call.node, "backward_layer", steps);
  const std::span<const LayerWeight> weights(call.weights);
  // Keras: a masked step is zero where both hand on sequences, whatever the layers say.
  const RecurrentOutput wanted{StepOrder::kAsGiven, forward.output.size() == 2};
  const Emitter::Names states = initial_states(call);
  const auto ahead_states = std::span(states).first(states.size() / 2);
  const RecurrentTensors ahead = recurrent_layer(call, forward, weights.first(forward.weights.size()), ahead_states,
                                                 wanted),
                         behind = recurrent_layer(call, backward, weights.subspan(forward.weights.size()),
                                                  std::span(states).subspan(states.size() / 2), wanted);
  const std::string &a = ahead.output, &b = behind.output;
  const std::string merge = graph::text(call.node, "merge_mode", "none");
  Emitter::Names more;
  if (merge == "none") more.push_back(b);
  for (const auto* const layer : {&ahead, &behind}) more.insert(more.end(), layer->states.begin(), layer->states.end());
  hand_out(call, more);
  if (merge == "none") return call.result(a);
  if (merge == "concat") return call.result(emit.op("Concat", {a, b}, {{"axis", int64_t{-1}}}));
  if (merge == "mul") return call.result(emit.op("Mul", {a, b}));
  const std::string sum = emit.op("Add", {a, b});
  return call.result(merge == "ave" ? emit.op("Mul", {sum, emit.scalar(0.5)}) : sum);
}

// All steps as one batch.
Value time_distributed(const LayerCall& call) {
  Emitter& emit = call.emit;
  const Shape& in = call.inputs[0].shape;
  const Shape step(in.begin() + 1, in.end());
  const graph::Node inner = graph::inner_layer(call.node, "layer", step);
  const auto all_steps = [](Shape shape) {
    shape.insert(shape.begin(), -1);
    return shape;
  };
  const Value x{emit.reshape(call.x(), all_steps(step)), step};
  const Value y = layer_function(inner)({emit, inner, {x}, {{}}, call.weights, {}});
  return call.result(emit.reshape(emit.in(Layout::kChannelsLast, y), all_steps(call.node.output)));
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

}  // namespace linac::onnx

#include "linac/model/onnx/recurrent.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/masks.h"

namespace linac::onnx {
namespace {

/// An activation as the operators name it, with its parameters.
struct CellActivation {
  std::string name;
  std::optional<float> alpha = {}, beta = {};
};

CellActivation cell_activation(const graph::Node& layer, const std::string& name) {
  static const std::map<std::string, CellActivation> known{{"tanh", {"Tanh"}},
                                                           {"sigmoid", {"Sigmoid"}},
                                                           {"relu", {"Relu"}},
                                                           {"linear", {"Affine", 1.0F, 0.0F}},
                                                           {"hard_sigmoid", {"HardSigmoid", 1.0F / 6, 0.5F}},
                                                           {"leaky_relu", {"LeakyRelu", 0.2F}},
                                                           {"elu", {"Elu", 1.0F}},
                                                           {"softsign", {"Softsign"}},
                                                           {"softplus", {"Softplus"}}};
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  throw user_error(
      fmt::format("[onnx] layer '{}' ({}): ONNX's recurrent operators have no activation '{}' (they have "
                  "tanh, sigmoid, relu, linear, hard_sigmoid, leaky_relu, elu, softsign, softplus)",
                  layer.name, layer.op, name));
}

std::vector<Attribute> activations(const graph::Node& layer) {
  const std::string gate = graph::text(layer, "recurrent_activation", "sigmoid"),
                    state = graph::text(layer, "activation", "tanh");
  std::vector<std::string> order{state};
  if (layer.op == "GRU") order = {gate, state};
  if (layer.op == "LSTM") order = {gate, state, state};
  std::vector<std::string> names;
  std::vector<float> alphas, betas;
  for (const std::string& name : order) {
    const CellActivation activation = cell_activation(layer, name);
    names.push_back(activation.name);
    if (activation.alpha) alphas.push_back(*activation.alpha);
    if (activation.beta) betas.push_back(*activation.beta);
  }
  std::vector<Attribute> attributes{{"activations", names}};
  if (!alphas.empty()) attributes.push_back({"activation_alpha", alphas});
  if (!betas.empty()) attributes.push_back({"activation_beta", betas});
  return attributes;
}

/// (rows, gates * U) with Keras's gates -> (1, gates * U, rows) with ONNX's: an LSTM's are input, output, forget and
/// candidate instead of input, forget, candidate and output; those of a GRU agree.
std::vector<float> gates_first(const graph::Node& layer, std::span<const float> values, int64_t rows) {
  const auto columns = static_cast<int64_t>(values.size()) / rows;
  const std::vector<float> turned = permute(values, {rows, columns}, {1, 0});
  if (layer.op != "LSTM") return turned;
  std::vector<float> result;
  const auto block = static_cast<int64_t>(turned.size() / 4);
  for (const int64_t gate : {0, 3, 1, 2})
    result.insert(result.end(), turned.begin() + gate * block, turned.begin() + (gate + 1) * block);
  return result;
}

/// The operator's inputs W, R and B (none: "").
Emitter::Names operator_weights(Emitter& emit, const graph::Node& layer, std::span<const LayerWeight> weights) {
  Emitter::Names names;
  for (const LayerWeight& weight : weights.first(2)) {
    names.push_back(emit.weight(weight.name + "/gates_first", {1, weight.shape[1], weight.shape[0]},
                                gates_first(layer, weight.values, weight.shape[0])));
  }
  if (weights.size() < 3) {
    names.emplace_back();
    return names;
  }
  // Of the input, then of the state, which has one in a GRU with reset_after only.
  const int64_t gates = weights[2].shape.back();
  std::vector<float> both(static_cast<size_t>(2 * gates), 0);
  for (size_t row = 0; row < weights[2].values.size() / static_cast<size_t>(gates); ++row) {
    const auto one = weights[2].values.subspan(row * static_cast<size_t>(gates), static_cast<size_t>(gates));
    std::ranges::copy(gates_first(layer, one, 1), both.begin() + static_cast<int64_t>(row) * gates);
  }
  names.push_back(emit.weight(weights[2].name + "/gates_first", {1, 2 * gates}, both));
  return names;
}

/// The steps that count, in the order in which they are read and without gaps.
struct Compacted {
  std::string steps;    // (N, T, F); what is behind the last that counts is of no meaning
  std::string lengths;  // (N) int32, at least 1: the operators' kernels do not all take sequences of no step
  std::string none;     // (N, 1): whether none counts
};

Compacted compact(Emitter& emit, const std::string& x, const std::string& mask, int64_t steps, bool backwards) {
  std::vector<int64_t> rank(static_cast<size_t>(steps));  // the larger, the earlier it is read
  for (int64_t t = 0; t < steps; ++t) rank[static_cast<size_t>(t)] = backwards ? t + 1 : steps - t;
  const std::string key = emit.op("Mul", {emit.cast(mask, Type::kBool, Type::kInt64), emit.ints(rank)});
  const std::string order = emit.op("TopK", {key, emit.ints({steps})}, {{"axis", int64_t{1}}}, 2)[1];
  const std::string count = emit.reduce("ReduceSum", emit.cast(mask, Type::kBool, Type::kInt32), {1}, false);
  return {emit.op("GatherND", {x, emit.unsqueeze(order, {2})}, {{"batch_dims", int64_t{1}}}),
          emit.op("Max", {count, emit.scalar(1, Type::kInt32)}),
          emit.unsqueeze(emit.op("Equal", {count, emit.scalar(0, Type::kInt32)}), {1})};
}

/// Outputs of compacted steps (N, T, U) at the steps of the mask, in the order of the input; a masked step has that of
/// the one before it in reading, or zeros.
std::string spread(Emitter& emit, const std::string& y, const std::string& mask, bool backwards, bool zero_masked) {
  const std::string read = emit.op("CumSum", {emit.cast(mask, Type::kBool, Type::kInt64), emit.scalar(1, Type::kInt64)},
                                   {{"reverse", int64_t{backwards}}});
  const std::string zero = emit.scalar(0, Type::kInt64);
  const std::string place = emit.op("Max", {emit.op("Sub", {read, emit.scalar(1, Type::kInt64)}), zero});
  const std::string moved = emit.op("GatherND", {y, emit.unsqueeze(place, {2})}, {{"batch_dims", int64_t{1}}});
  const std::string there = zero_masked ? mask : emit.op("Greater", {read, zero});
  return emit.op("Where", {emit.unsqueeze(there, {2}), moved, emit.scalar(0)});
}

std::string reversed_steps(Emitter& emit, const std::string& y) {
  return emit.op(
      "Slice", {y, emit.ints({-1}), emit.ints({std::numeric_limits<int64_t>::min()}), emit.ints({1}), emit.ints({-1})});
}

}  // namespace

RecurrentTensors recurrent_layer(const LayerCall& call, const graph::Node& layer, std::span<const LayerWeight> weights,
                                 std::span<const std::string> initial, const RecurrentOutput& wanted) {
  Emitter& emit = call.emit;
  const bool backwards = graph::flag(layer, "go_backwards", false),
             sequences = graph::flag(layer, "return_sequences", false),
             masked = call.mask().defined() && graph::masks_steps(call.node);
  const int64_t steps = call.inputs[0].shape[0];
  const std::string& mask = call.mask().name;
  Compacted compacted{call.x(), "", ""};
  if (masked) compacted = compact(emit, compacted.steps, mask, steps, backwards);

  auto attributes = activations(layer);
  attributes.push_back({"hidden_size", weights[1].shape[0]});
  attributes.push_back({"direction", backwards && !masked ? "reverse" : "forward"});
  if (layer.op == "GRU")
    attributes.push_back({"linear_before_reset", int64_t{graph::flag(layer, "reset_after", true)}});
  Emitter::Names inputs{emit.transpose(compacted.steps, {1, 0, 2})};
  for (std::string& weight : operator_weights(emit, layer, weights)) inputs.push_back(std::move(weight));
  if (masked || !initial.empty()) inputs.push_back(compacted.lengths);
  for (const std::string& state : initial) inputs.push_back(emit.unsqueeze(state, {0}));
  const bool has_cell = layer.op == "LSTM" && graph::flag(layer, "return_state", false);
  const auto outputs =
      emit.op(layer.op == "SimpleRNN" ? "RNN" : layer.op, std::move(inputs), std::move(attributes), has_cell ? 3 : 2);

  RecurrentTensors result;
  for (size_t i = 1; i < outputs.size(); ++i) {
    std::string state = emit.squeeze(outputs[i], {0});
    if (masked) {
      const std::string first = initial.empty() ? emit.scalar(0) : initial[i - 1];
      state = emit.op("Where", {compacted.none, first, state});
    }
    result.states.push_back(std::move(state));
  }
  if (!sequences) {
    result.output = emit.squeeze(outputs[1], {0});
    if (!masked) return result;
    result.output = emit.op("Where", {compacted.none, emit.scalar(0), result.output});
    if (!wanted.zero_masked_steps) return result;
    const std::string read_last =
        emit.op("Gather", {mask, emit.ints({backwards ? 0 : steps - 1})}, {{"axis", int64_t{1}}});
    result.output = emit.op("Where", {read_last, result.output, emit.scalar(0)});
    return result;
  }
  result.output = emit.transpose(emit.squeeze(outputs[0], {1}), {1, 0, 2});
  if (masked) result.output = spread(emit, result.output, mask, backwards, wanted.zero_masked_steps);
  if (backwards && wanted.order == StepOrder::kAsRead) result.output = reversed_steps(emit, result.output);
  return result;
}

}  // namespace linac::onnx

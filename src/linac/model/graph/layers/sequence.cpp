#include <fmt/format.h>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/families.h"

namespace linac::graph {
namespace {

using nlohmann::json;
using enum SettingKind;

void infer_masking(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], 2);
  node.output = inputs[0];
}

void infer_embedding(Node& node, const std::vector<Shape>& inputs) {
  const int64_t words = integer(node, "input_dim"), size = integer(node, "output_dim");
  node.output = inputs[0];
  node.output.push_back(size);
  node.weights.push_back({"embeddings", {words, size}, text(node, "embeddings_initializer", "uniform"), true});
}

/// Of a recurrent layer: h, and of an LSTM c.
size_t count_states(const Node& layer) {
  return layer.op == "LSTM" ? 2 : 1;
}

/// Behind the sequence come the states to begin with, or none of them.
void check_initial_states(const Node& node, const std::vector<Shape>& inputs, const std::vector<Shape>& states) {
  if (inputs.size() != 1 && inputs.size() != 1 + states.size()) {
    refuse(node, fmt::format("takes a sequence and {} initial states, or none, and has {} inputs", states.size(),
                             inputs.size()));
  }
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i] == states[i - 1]) continue;
    refuse(node, fmt::format("its initial state {} has the shape {} and not {}", i, to_string(inputs[i]),
                             to_string(states[i - 1])));
  }
}

/// `gates`: how many products of the input and of the state make a unit.
void infer_recurrent(Node& node, const std::vector<Shape>& inputs, int64_t gates) {
  const Shape& in = inputs[0];
  need_rank(node, in, 2);
  check_activation(node, "activation", "tanh");
  check_activation(node, "recurrent_activation", "sigmoid");
  const int64_t units = integer(node, "units");
  node.output = {units};
  if (flag(node, "return_sequences", false)) node.output.insert(node.output.begin(), in[0]);
  const std::vector<Shape> states(count_states(node), Shape{units});
  check_initial_states(node, inputs, states);
  if (flag(node, "return_state", false)) node.more = states;
  const auto add = [&](const char* name, Shape shape, const std::string& initializer) {
    node.weights.push_back({name, std::move(shape), initializer, true, "cell/vars"});
  };
  add("kernel", {in[1], gates * units}, text(node, "kernel_initializer", "glorot_uniform"));
  add("recurrent_kernel", {units, gates * units}, text(node, "recurrent_initializer", "orthogonal"));
  if (!flag(node, "use_bias", true)) return;
  const bool forget = node.op == "LSTM" && flag(node, "unit_forget_bias", true);
  const bool two = node.op == "GRU" && flag(node, "reset_after", true);
  add("bias", two ? Shape{2, gates * units} : Shape{gates * units},
      forget ? "unit_forget_bias" : text(node, "bias_initializer", "zeros"));
}

void infer_simple_rnn(Node& node, const std::vector<Shape>& inputs) {
  infer_recurrent(node, inputs, 1);
}
void infer_gru(Node& node, const std::vector<Shape>& inputs) {
  infer_recurrent(node, inputs, 3);
}
void infer_lstm(Node& node, const std::vector<Shape>& inputs) {
  infer_recurrent(node, inputs, 4);
}

/// Of as many steps as the input has; those that a mask hides cost nothing, but the graph does not know them.
double flop_recurrent(const Node& node, const Shape& input) {
  const auto units = static_cast<double>(integer(node, "units"));
  const double gates = node.op == "LSTM" ? 4 : node.op == "GRU" ? 3 : 1;
  return 2 * static_cast<double>(input[0]) * gates * units * (units + static_cast<double>(input[1]));
}

bool is_recurrent(const Node& node) {
  return node.op == "SimpleRNN" || node.op == "GRU" || node.op == "LSTM";
}

void take_weights(Node& node, const Node& inner, const std::string& prefix, const std::string& group) {
  for (Weight weight : inner.weights) {
    weight.name = prefix + weight.name;
    weight.group = group + "/" + weight.group;
    node.weights.push_back(std::move(weight));
  }
}

void infer_bidirectional(Node& node, const std::vector<Shape>& inputs) {
  const Node forward = inner_layer(node, "layer", inputs[0]), backward = inner_layer(node, "backward_layer", inputs[0]);
  if (!is_recurrent(forward) || !is_recurrent(backward)) refuse(node, "wraps no recurrent layer");
  if (forward.output != backward.output || forward.more.size() != backward.more.size())
    refuse(node, "its two layers have different outputs");
  if (flag(forward, "go_backwards", false) || !flag(backward, "go_backwards", false))
    refuse(node, "its first layer must go forwards and its second backwards");
  const std::string merge = text(node, "merge_mode", "none");
  node.output = forward.output;
  if (merge == "concat")
    node.output.back() *= 2;
  else if (merge == "none")
    node.more.push_back(backward.output);
  else if (merge != "sum" && merge != "mul" && merge != "ave")
    refuse(node, fmt::format("merge_mode '{}' is not supported (only concat, sum, mul, ave, none)", merge));
  std::vector<Shape> states;
  for (const Node* const layer : {&forward, &backward}) {
    states.insert(states.end(), count_states(*layer), Shape{integer(*layer, "units")});
    node.more.insert(node.more.end(), layer->more.begin(), layer->more.end());
  }
  check_initial_states(node, inputs, states);
  if (inputs.size() > 1 && count_states(forward) != count_states(backward))
    refuse(node, "its two layers have different states");
  take_weights(node, forward, "forward_", "forward_layer");
  take_weights(node, backward, "backward_", "backward_layer");
}

double flop_bidirectional(const Node& node, const Shape& input) {
  return flop_recurrent(inner_layer(node, "layer", input), input) +
         flop_recurrent(inner_layer(node, "backward_layer", input), input);
}

void infer_time_distributed(Node& node, const std::vector<Shape>& inputs) {
  if (inputs[0].size() < 2) refuse(node, "needs steps of at least one axis");
  const Node inner = inner_layer(node, "layer", {inputs[0].begin() + 1, inputs[0].end()});
  if (is_recurrent(inner) || inner.op == "Masking" || inner.op == "BatchNormalization" || !inner.more.empty())
    refuse(node, fmt::format("cannot wrap a {}", inner.op));
  node.output = inner.output;
  node.output.insert(node.output.begin(), inputs[0][0]);
  take_weights(node, inner, "", "layer");
}

double flop_time_distributed(const Node& node, const Shape& input) {
  const Shape step{input.begin() + 1, input.end()};
  const Node inner = inner_layer(node, "layer", step);
  return static_cast<double>(input[0]) * layer_kind(inner).flop(inner, step);
}

std::vector<Setting> recurrent_settings(const std::vector<Setting>& more) {
  std::vector<Setting> settings{{"units", kKept, nullptr},
                                {"activation", kActivation, "tanh"},
                                {"use_bias", kKept, true},
                                {"kernel_initializer", kInitializer, "glorot_uniform"},
                                {"recurrent_initializer", kInitializer, "orthogonal"},
                                {"bias_initializer", kInitializer, "zeros"},
                                {"dropout", kKept, 0.0},
                                {"recurrent_dropout", kKept, 0.0},
                                {"return_sequences", kKept, false},
                                {"go_backwards", kKept, false},
                                {"zero_output_for_mask", kKept, false},
                                {"return_state", kKept, false},
                                {"stateful", kDefaultOnly, false},
                                {"time_major", kDefaultOnly, false},
                                {"unroll", kIgnored, false},
                                {"use_cudnn", kIgnored, nullptr},
                                {"implementation", kIgnored, nullptr},
                                {"seed", kIgnored, nullptr}};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

}  // namespace

std::vector<LayerKind> sequence_layers() {
  const Setting gate{"recurrent_activation", kActivation, "sigmoid"};
  return {
      {"Masking", 1, infer_masking, flop_per_element, {{"mask_value", kKept, 0.0}}},
      {"Embedding",
       1,
       infer_embedding,
       flop_none,
       {{"input_dim", kKept, nullptr},
        {"output_dim", kKept, nullptr},
        {"embeddings_initializer", kInitializer, "uniform"},
        {"mask_zero", kKept, false},
        {"input_length", kIgnored, nullptr}}},
      {"SimpleRNN", kOneAndStates, infer_simple_rnn, flop_recurrent, recurrent_settings({})},
      {"GRU", kOneAndStates, infer_gru, flop_recurrent, recurrent_settings({gate, {"reset_after", kKept, true}})},
      {"LSTM", kOneAndStates, infer_lstm, flop_recurrent,
       recurrent_settings({gate, {"unit_forget_bias", kKept, true}})},
      {"Bidirectional",
       kOneAndStates,
       infer_bidirectional,
       flop_bidirectional,
       {{"layer", kLayer, nullptr}, {"backward_layer", kLayer, nullptr}, {"merge_mode", kKept, nullptr}}},
      {"TimeDistributed", 1, infer_time_distributed, flop_time_distributed, {{"layer", kLayer, nullptr}}},
  };
}

}  // namespace linac::graph

#include "linac/model/models/not_finite.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "linac/model/nn/executable.h"
#include "linac/model/nn/tensor_view.h"

namespace linac::models {
namespace {

// Beyond this no scaled input and no trained weight goes; values on their way to Inf do.
constexpr float kGrown = 1e8F;

bool is_broken(const at::Tensor& values) {
  return values.is_floating_point() && !at::isfinite(values).all().item<bool>();
}

float largest_of(const at::Tensor& values) {
  if (!values.is_floating_point() || values.numel() == 0) return 0;
  return is_broken(values) ? std::numeric_limits<float>::infinity() : values.abs().max().item<float>();
}

std::vector<int64_t> broken_events(const at::Tensor& values, int64_t events) {
  std::vector<int64_t> broken;
  const bool by_event = values.dim() > 0 && values.size(0) == events;
  const at::Tensor sound =
      by_event ? at::isfinite(values).reshape({events, -1}).all(1) : at::zeros({events}, at::TensorOptions(at::kBool));
  for (int64_t event = 0; event < events; ++event)
    if (!sound[event].item<bool>()) broken.push_back(event);
  return broken;
}

std::vector<std::string> empty_inputs(const graph::Graph& graph, const std::vector<std::span<const float>>& inputs,
                                      int64_t event) {
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const graph::Node& input = graph.nodes[static_cast<size_t>(graph.inputs[i])];
    const auto size = static_cast<size_t>(graph::elements(input.output));
    const auto values = inputs[i].subspan(static_cast<size_t>(event) * size, size);
    if (size > 1 && std::ranges::all_of(values, [](float value) { return value == 0; })) names.push_back(input.name);
  }
  return names;
}

}  // namespace

std::optional<NotFinite> find_not_finite(const graph::Graph& graph, const graph::Parameters& parameters,
                                         const std::vector<std::span<const float>>& inputs, int64_t events,
                                         const std::optional<RngKey>& training) {
  if (std::ranges::find(graph.nodes, graph::kForeignModule, &graph::Node::op) != graph.nodes.end()) return std::nullopt;
  const at::NoGradGuard no_gradient;
  graph::Graph every = graph;  // node by node, as it is before the passes
  every.outputs.resize(graph.nodes.size());
  std::iota(every.outputs.begin(), every.outputs.end(), 0);
  const nn::Executable network(every, nn::Kernels::kAten);
  const nn::Weights weights = nn::make_weights(graph, parameters, nn::Gradients::kNone);
  std::vector<at::Tensor> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const graph::Node& input = graph.nodes[static_cast<size_t>(graph.inputs[i])];
    given.push_back(nn::tensor_view(inputs[i], nn::batch_shape(events, input.output)));
  }
  std::vector<float> statistics;
  nn::RunOptions options;
  if (training) options = {.mode = nn::Mode::kTraining, .dropout_key = *training, .batch_statistics = &statistics};
  const std::vector<at::Tensor> values = network.run(weights, given, options);
  const auto broken = [&](int node) { return is_broken(values[static_cast<size_t>(node)]); };
  const auto begin = std::ranges::find_if(graph.outputs, broken);
  if (begin == graph.outputs.end()) return std::nullopt;
  int node = *begin;
  for (;;) {
    const std::vector<int>& read = graph.nodes[static_cast<size_t>(node)].inputs;
    const auto before = std::ranges::find_if(read, broken);
    if (before == read.end()) break;
    node = *before;
  }
  NotFinite found;
  found.events = broken_events(values[static_cast<size_t>(node)], events);
  if (graph.nodes[static_cast<size_t>(node)].op == graph::kPart)
    node = graph.nodes[static_cast<size_t>(node)].inputs[0];
  const graph::Node& layer = graph.nodes[static_cast<size_t>(node)];
  found.layer = fmt::format("layer '{}' ({})", layer.name, layer.op);
  for (const int input : layer.inputs)
    found.largest = std::max(found.largest, largest_of(values[static_cast<size_t>(input)]));
  for (const at::Tensor& weight : weights.nodes[static_cast<size_t>(node)])
    found.largest = std::max(found.largest, largest_of(weight));
  found.empty = empty_inputs(graph, inputs, found.events.front());
  return found;
}

std::string reason_of(const NotFinite& found) {
  if (found.empty.empty() || found.largest > kGrown)
    return fmt::format("what it reads goes up to {:.3g}", found.largest);
  return fmt::format(
      "the event's input '{}' holds zeros alone, an empty list, of which this layer makes no number, in "
      "Keras neither",
      fmt::join(found.empty, "', '"));
}

std::string advice_for_training(const NotFinite& found) {
  if (found.largest > kGrown)
    return "the training has run away: lower train.optimizer.lr, or set train.optimizer.global_clipnorm";
  if (found.empty.empty())
    return "the learning rate is hardly the cause: look at this event's values, and at what the layer makes of them";
  return "the learning rate is not the cause: select events that have entries by data.filter, \"len(COLUMN) > 0\" or, "
         "of rows, \"len(COLUMN[:, 0]) > 0\", or change the layer";
}

}  // namespace linac::models

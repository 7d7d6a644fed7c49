#include "linac/model/nn/executable.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "linac/base/base/error.h"
#include "linac/base/base/trace.h"
#include "linac/model/graph/calls.h"
#include "linac/model/graph/passes/chain_convolutions.h"
#include "linac/model/graph/passes/fold_norms.h"
#include "linac/model/graph/passes/fuse_activations.h"
#include "linac/model/graph/passes/fuse_pooling.h"
#include "linac/model/graph/passes/join_masks.h"
#include "linac/model/graph/place.h"
#include "linac/model/graph/split/split_graph.h"
#include "linac/model/nn/conv_chain.h"
#include "linac/model/nn/folded_norm.h"
#include "linac/model/nn/layers.h"
#include "linac/model/nn/turned_values.h"

namespace linac::nn {
namespace {

at::Tensor view_of(const AlignedFloats& buffer, const graph::Slot& slot, Device device) {
  const float* const placed = graph::current_place().copy_of(buffer.data());
  const bool on_gpu = device == Device::kCuda && placed != buffer.data();
  const at::TensorOptions options = at::TensorOptions(at::kFloat).device(on_gpu ? torch_device(device) : at::kCPU);
  // from_blob takes a mutable pointer; nothing writes through it.
  const at::Tensor view = at::from_blob(const_cast<float*>(placed) + slot.offset, slot.shape, options);
  return on_gpu ? view : view.to(torch_device(device));
}

/// Of each node the values that it reads as the last one.
std::vector<std::vector<size_t>> values_read_last(const graph::Graph& graph) {
  std::vector<size_t> last(graph.nodes.size(), graph.nodes.size());  // nobody
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const int input : graph.nodes[i].inputs) last[static_cast<size_t>(input)] = i;
    if (graph.nodes[i].mask >= 0) last[static_cast<size_t>(graph.nodes[i].mask)] = i;
  }
  for (const int output : graph.outputs) last[static_cast<size_t>(output)] = graph.nodes.size();
  std::vector<std::vector<size_t>> read_last(graph.nodes.size());
  for (size_t i = 0; i < last.size(); ++i) {
    if (last[i] < read_last.size()) read_last[last[i]].push_back(i);
  }
  return read_last;
}

}  // namespace

graph::Graph as_run(graph::Graph graph, Kernels kernels, Device device) {
  if (kernels != Kernels::kLinac) return graph;
  graph = graph::join_masks(graph);
  if (device == Device::kCpu) graph = graph::fuse_pooling(graph::chain_convolutions(graph));
  return graph::fuse_activations(graph);
}

std::vector<int> lanes_of(const graph::Graph& graph, Kernels kernels) {
  std::map<std::string, int> by_name;
  const graph::Graph run = as_run(graph, kernels, Device::kCpu);
  for (size_t i = 0; i < run.nodes.size(); ++i) {
    by_name[run.nodes[i].name] = static_cast<int>(i);
    if (run.nodes[i].op != "ConvolutionChain") continue;
    for (const auto& layer : run.nodes[i].attributes.at("layers")) by_name[layer.at("name")] = layer.at("index");
  }
  std::vector<int> lanes;
  for (const graph::Node& node : graph.nodes) lanes.push_back(by_name.contains(node.name) ? by_name.at(node.name) : -1);
  return lanes;
}

Weights make_weights(const graph::Graph& graph, const graph::Parameters& parameters, Gradients gradients,
                     Device device) {
  Weights weights;
  size_t trainable = 0, statistics = 0;
  for (const graph::Node& node : graph.nodes) {
    weights.nodes.emplace_back();
    if (node.shares >= 0) weights.nodes.back() = weights.nodes[static_cast<size_t>(node.shares)];
    for (const graph::Weight& weight : node.weights) {
      at::Tensor tensor =
          weight.trainable
              ? view_of(parameters.trainable, parameters.trainable_layout.slots.at(trainable++), device)
              : view_of(parameters.statistics, parameters.statistics_layout.slots.at(statistics++), device);
      if (weight.trainable) {
        tensor.set_requires_grad(gradients == Gradients::kWanted);
        weights.trainable.push_back(tensor);
      }
      weights.nodes.back().push_back(std::move(tensor));
    }
  }
  return weights;
}

Executable::Executable(graph::Graph graph, Kernels kernels, Precision precision, Device device)
    : graph_(as_run(std::move(graph), kernels, device)), kernels_(kernels), precision_(precision), device_(device) {
  norms_ = kernels == Kernels::kLinac ? graph::foldable_norms(graph_) : std::vector<int>(graph_.nodes.size(), -1);
  when_applied_.resize(graph_.nodes.size());
  for (size_t i = 0; i < norms_.size(); ++i) {
    if (norms_[i] < 0) continue;
    graph::Node& norm =
        when_applied_[static_cast<size_t>(norms_[i])].emplace(graph_.nodes[static_cast<size_t>(norms_[i])]);
    when_applied_[i] = with_norm(graph_.nodes[i], norm);
    norm.op = "Activation";
    norm.attributes = {{"activation", "linear"}};
  }
  statistics_layout_ = graph::Parameters::of(graph_).statistics_layout;
  statistics_shares_ = graph::statistics_shares(graph_);
  size_t slots = 0;
  for (const graph::Node& node : graph_.nodes) {
    statistics_slots_.emplace_back();
    if (node.shares >= 0) statistics_slots_.back() = statistics_slots_[static_cast<size_t>(node.shares)];
    for (const graph::Weight& weight : node.weights)
      if (!weight.trainable) statistics_slots_.back().push_back(slots++);
  }
  read_last_ = values_read_last(graph_);
  for (size_t i = 0; i < graph_.nodes.size(); ++i)
    lanes_.push_back(graph_.nodes[i].attributes.value(graph::kLane, static_cast<uint32_t>(i)));
  parts_read_.resize(graph_.nodes.size());
  for (const graph::Node& node : graph_.nodes) {
    if (node.op == graph::kPart) parts_read_[static_cast<size_t>(node.inputs.at(0))] = true;
    chains_.push_back(
        node.op != "ConvolutionChain"
            ? nullptr
            : std::make_unique<const ConvChain>(
                  node, graph_.nodes[static_cast<size_t>(node.inputs.at(0))].output,
                  precision == Precision::kFloat ? kernels::Storage::kFloat : kernels::Storage::kBfloat16));
  }
}

Executable::Executable(Executable&&) noexcept = default;
Executable::~Executable() = default;

std::vector<at::Tensor> Executable::run(const Weights& weights, const std::vector<at::Tensor>& inputs,
                                        const RunOptions& options) const {
  LINAC_CHECK(inputs.size() == graph_.inputs.size());
  const trace::Span span("forward", -1, graph_.name);
  if (options.batch_statistics != nullptr)
    options.batch_statistics->assign(static_cast<size_t>(statistics_layout_.total), 0.0F);
  TurnedValues turned(graph_.nodes.size());
  RunOptions to_predict = options;
  to_predict.mode = Mode::kInference;
  std::vector<at::Tensor> values(graph_.nodes.size()), masks(graph_.nodes.size());
  std::vector<std::vector<at::Tensor>> more(graph_.nodes.size());  // outputs 1, 2, ... of a node
  for (size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<size_t>(graph_.inputs[i])] = inputs[i].to(torch_device(device_));
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const bool applied = options.mode == Mode::kInference && when_applied_[i];
    const graph::Node& node = applied ? *when_applied_[i] : graph_.nodes[i];
    if (node.op == "InputLayer") continue;
    const trace::Span layer(node.name);
    std::vector<at::Tensor> folded;
    if (applied && norms_[i] >= 0) {
      const auto norm = static_cast<size_t>(norms_[i]);
      folded = weights_with_norm(graph_.nodes[i], weights.nodes[i], graph_.nodes[norm], weights.nodes[norm]);
    }
    std::vector<at::Tensor> arguments, argument_masks;
    for (const int input : node.inputs) {
      arguments.push_back(node.op == graph::kPart ? more[static_cast<size_t>(input)].at(graph::part_number(node) - 1)
                                                  : values[static_cast<size_t>(input)]);
      argument_masks.push_back(masks[static_cast<size_t>(input)]);
    }
    if (node.mask >= 0) argument_masks[0] = values[static_cast<size_t>(node.mask)];
    RngKey key = options.dropout_key;
    if (chains_[i] == nullptr) key.lane += lanes_[i];  // a chain knows its layers' indices
    LayerCall call{node,
                   arguments,
                   folded.empty() ? weights.nodes[i] : folded,
                   graph::always_predicts(node) ? to_predict : options,
                   key,
                   {},
                   kernels_,
                   precision_,
                   std::move(argument_masks),
                   {}};
    call.own_mask = masks[i] = output_mask(call);
    if (parts_read_[i]) call.more = &more[i];
    std::vector<float> of_call;  // where the layer has several
    if (options.batch_statistics != nullptr && !statistics_slots_[i].empty()) {
      const bool one_of_several = statistics_shares_[i] < 1;
      if (one_of_several) of_call.resize(options.batch_statistics->size());
      const std::span<float> all(one_of_several ? of_call : *options.batch_statistics);
      for (const size_t index : statistics_slots_[i]) {
        const graph::Slot& slot = statistics_layout_.slots[index];
        call.statistics.push_back(all.subspan(static_cast<size_t>(slot.offset), static_cast<size_t>(slot.size)));
      }
    }
    values[i] = chains_[i] != nullptr ? chains_[i]->run(call) : layer_function(node.op)(call);
    turned.see(i, values[i]);
    for (size_t at = 0; at < of_call.size(); ++at)
      (*options.batch_statistics)[at] += statistics_shares_[i] * of_call[at];
    // Its memory is used again while the caches still hold it.
    for (const size_t done : read_last_[i]) values[done].reset();
  }
  std::vector<at::Tensor> outputs;
  for (const int output : graph_.outputs) {
    outputs.push_back(values[static_cast<size_t>(output)]);
    if (options.output_masks != nullptr) options.output_masks->push_back(masks[static_cast<size_t>(output)]);
  }
  return outputs;
}

}  // namespace linac::nn

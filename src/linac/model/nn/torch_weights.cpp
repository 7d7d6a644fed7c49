#include "linac/model/nn/torch_weights.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/model/nn/tensor_view.h"

namespace linac::nn {
namespace {

// The module's tensors of floats, as foreign_graph takes them.
std::vector<at::Tensor> tensors_of(const torch::nn::Module& module) {
  std::vector<at::Tensor> tensors;
  for (const ForeignWeight& weight : weights_of(module))
    if (weight.value.scalar_type() == at::kFloat) tensors.push_back(weight.value);
  return tensors;
}

const std::vector<graph::Weight>& weights_in(const graph::Graph& graph) {
  return graph.nodes[graph.inputs.size()].weights;
}

}  // namespace

std::vector<ForeignWeight> weights_of(const torch::nn::Module& module) {
  std::vector<ForeignWeight> weights;
  for (const auto& parameter : module.named_parameters())
    weights.push_back({parameter.key(), parameter.value(), parameter.value().requires_grad()});
  for (const auto& buffer : module.named_buffers()) weights.push_back({buffer.key(), buffer.value(), false});
  return weights;
}

std::vector<at::Tensor> fill(torch::nn::Module& module, const graph::Graph& graph, const graph::Parameters& parameters,
                             Gradients gradients) {
  const auto& list = weights_in(graph);
  std::vector<at::Tensor> tensors = tensors_of(module);
  if (tensors.size() != list.size())
    throw user_error(
        fmt::format("{}: has {} weights now and had {} when it was made", graph.name, tensors.size(), list.size()));
  for (size_t i = 0; i < list.size(); ++i) {
    const at::NoGradGuard no_gradient;
    tensors[i].copy_(tensor_view(parameters.values("module/" + list[i].name), list[i].shape));
    if (list[i].trainable)
      tensors[i].set_requires_grad(gradients == Gradients::kWanted);
    else
      tensors[i] = tensors[i].clone();
  }
  return tensors;
}

std::vector<float> changes_since(const torch::nn::Module& module, const graph::Graph& graph,
                                 const graph::Parameters& parameters, const std::vector<at::Tensor>& filled) {
  const auto& list = weights_in(graph);
  const std::vector<at::Tensor> tensors = tensors_of(module);
  std::vector<at::Tensor> before, after;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].trainable) continue;
    before.push_back(filled[i]);
    after.push_back(tensors[i]);
  }
  return changes(parameters.statistics_layout, before, after);
}

}  // namespace linac::nn

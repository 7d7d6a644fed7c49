#pragma once
// What linac's own nodes of LibTorch's autograd share. Thread-safe.

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

namespace linac::nn {

/// Whether somebody will ask for the gradient of a result of these inputs.
inline bool wants_gradient(const torch::autograd::variable_list& inputs) {
  return at::GradMode::is_enabled() && torch::autograd::any_variable_requires_grad(inputs);
}

/// Makes `node` the way back from the result to the inputs, in their order.
inline void attach(const std::shared_ptr<torch::autograd::Node>& node, const torch::autograd::variable_list& inputs,
                   const at::Tensor& result) {
  node->set_next_edges(torch::autograd::collect_next_edges(inputs));
  torch::autograd::set_history(result, node);
}

}  // namespace linac::nn

#include "linac/model/nn/conv_chain.h"

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/base/lender.h"
#include "linac/model/nn/autograd.h"
#include "linac/model/nn/chain_pass.h"

namespace linac::nn {
namespace {

/// The chain as one node of autograd: inputs are the image and the weights.
struct ChainBackward : public torch::autograd::Node {
  std::shared_ptr<ChainPass> pass;
  std::vector<at::Tensor> weights;  // nothing else uses them (model/graph/passes/chain_convolutions.h)

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    LINAC_CHECK(pass != nullptr);  // autograd asks no more once it has released the node
    const at::NoGradGuard no_gradient;
    std::vector<bool> wanted;
    for (size_t i = 0; i < weights.size(); ++i) wanted.push_back(task_should_compute_output(i + 1));
    // The weights' hooks hear of each stage as it is done; autograd calls them again when the chain is.
    const auto ready = [&](size_t weight, const at::Tensor& gradient) {
      for (const auto& hook : torch::autograd::impl::hooks(weights[weight])) (*hook)({gradient});
    };
    return pass->backward(gradients[0].contiguous(), task_should_compute_output(0), wanted, ready);
  }

  /// Autograd's word that this was the last time: the buffers are free again.
  void release_variables() override { pass = nullptr; }
};

/// In inference the chain keeps nothing that moving statistics would need.
struct NoBackward : public torch::autograd::Node {
  torch::autograd::variable_list apply(torch::autograd::variable_list&&) override {
    throw Error(ErrorCode::kInternal, "[nn] no gradients of convolutions with batch normalization in inference");
  }
};

}  // namespace

ConvChain::ConvChain(const graph::Node& chain, const graph::Shape& input, kernels::Storage storage)
    : plan_(std::make_shared<const ChainPlan>(chain, input, storage)),
      buffers_(std::make_shared<Lender<ChainBuffers>>()) {}

ConvChain::~ConvChain() = default;

std::vector<StageReport> ConvChain::report() const {
  std::vector<StageReport> reports;
  for (const Stage& stage : plan_->stages) {
    const kernels::Extent3& cells = stage.out.cells;
    reports.push_back({stage.layers, stage.method, stage.flop, {cells[0], cells[1], cells[2], stage.out.channels}});
  }
  return reports;
}

at::Tensor ConvChain::run(const LayerCall& call) const {
  const at::Tensor& x = call.inputs[0];
  LINAC_CHECK(x.scalar_type() == at::kFloat && x.device().is_cpu() && x.size(-1) == plan_->stages.front().in.channels);
  torch::autograd::variable_list inputs{x};
  inputs.insert(inputs.end(), call.weights.begin(), call.weights.end());
  const bool differentiable = wants_gradient(inputs);
  const bool changes = std::any_of(plan_->stages.begin(), plan_->stages.end(),
                                   [](const Stage& stage) { return stage.normalized() || stage.dropped(); });
  const bool training = call.training() || (differentiable && !changes);
  std::vector<at::Tensor> weights;
  for (const at::Tensor& weight : call.weights) weights.push_back(weight.detach().contiguous());
  const auto pass = std::make_shared<ChainPass>(plan_, buffers_->borrow(), std::move(weights), x.size(0), training,
                                                call.options.dropout_key, call.options.part);
  at::Tensor result;
  {
    const at::NoGradGuard no_gradient;
    result = pass->forward(x.contiguous());
  }
  if (!training) {
    if (differentiable) attach(std::make_shared<NoBackward>(), inputs, result);
    return result;
  }
  size_t next = 0;
  for (size_t s = 0; s < plan_->stages.size(); ++s) {
    if (plan_->stages[s].by_batch() && !call.statistics.empty()) {
      const auto& state = pass->kept(s);
      std::copy(state.mean.begin(), state.mean.end(), call.statistics[next].begin());
      std::copy(state.variance.begin(), state.variance.end(), call.statistics[next + 1].begin());
    }
    next += plan_->stages[s].statistics();
    if (plan_->stages[s].dropped() && call.options.dropout_masks != nullptr)
      call.options.dropout_masks->push_back(pass->mask_tensor(s));
  }
  if (differentiable) {
    const auto node = std::make_shared<ChainBackward>();
    node->pass = pass;
    node->weights = call.weights;
    attach(node, inputs, result);
  }
  return result;
}

}  // namespace linac::nn
